"""Which wheel of another project a project is built with, and what comes with it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools.console.events import Said
from build_tools.errors import HipwrightError
from build_tools.pipeline import companions
from build_tools.pipeline.built_with import against, before_parts, edits_before, inputs
from build_tools.pipeline.companions import find_built_before, planned
from build_tools.pipeline.earlier_builds import earlier_builds
from build_tools.pipeline.step import WouldRun
from build_tools.types import Sha256, Stage
from tests.support.earlier_builds import build, chain_of, locked_with, rocm_file
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.pipeline.chain import Chain
    from build_tools.pipeline.engine import Done
    from build_tools.pipeline.handover import Received
    from build_tools.workplace import Workplace

AUDIO, TORCH, TRITON, SAMPLE, COMPANION = "pytorch-audio", "pytorch", "triton", "sample", "sample-companion"
EDITS = Sha256("ed" * 32)


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return workplace(tmp_path)


@pytest.fixture
def here(place: Workplace) -> str:
    """The tag of the interpreter that the tests run in."""
    return place.interpreters[None].python_tag


def audio(place: Workplace, rocm: str = "7.10.0", *, targets: tuple[str, ...] = ()) -> Chain:
    return chain_of(place, AUDIO, locked_with(AUDIO, rocm), targets=targets)


def handed(*builds: Done) -> Received:
    return {(done.receipt.project, Stage.BUILD, done.receipt.python): done for done in builds}


def names(chain: Chain) -> list[str]:
    return [f"{one.distribution} {one.version}" for one in chain.before]


def warnings(place: Workplace) -> list[str]:
    return [event.text for event in memory_of(place).events if isinstance(event, Said) and event.level == "warning"]


class TestOfTheWorkDir:
    def test_the_newest_that_fits_is_taken_and_told(self, place: Workplace, here: str) -> None:
        build(place, TORCH, "2.12.0", python=here, started="2026-02-02T00:00:00Z")
        build(place, TORCH, "2.13.0", python=here, started="2026-01-01T00:00:00Z")
        chain = audio(place)
        chain.before = find_built_before(chain, [chain], {})
        assert names(chain) == ["torch 2.12.0"]
        assert any("torch-2.12.0" in line and "built earlier" in line for line in memory_of(place).said)

    @pytest.mark.parametrize(
        "other",
        [{"python": "cp39"}, {"targets": "gfx942"}, {"platform": "elsewhere"}, {"rocm": "7.11.0"}],
        ids=["another Python", "other targets", "another system", "another ROCm"],
    )
    def test_one_for_something_else_is_passed_by(self, place: Workplace, here: str, other: dict[str, str]) -> None:
        build(place, TORCH, "2.13.0", started="2026-09-09T00:00:00Z", **{"python": here, **other})  # type: ignore[arg-type]
        with pytest.raises(HipwrightError) as caught:
            find_built_before(audio(place), [], {})
        assert caught.value.code.name == "requirement-missing"
        assert "build_pytorch" in str(caught.value.hint)
        assert "build_pytorch_audio" in str(caught.value.hint)
        assert " -- " in str(caught.value.hint).split("or name")[1]
        build(place, TORCH, "2.12.0", python=here, started="2026-01-01T00:00:00Z")
        assert [one.version for one in find_built_before(audio(place), [], {})] == ["2.12.0"]

    def test_what_there_is_for_something_else_is_named(self, place: Workplace, here: str) -> None:
        build(place, TORCH, "2.13.0", python=here, targets="gfx942")
        with pytest.raises(HipwrightError, match=r"torch-2\.13\.0.*targets gfx942"):
            find_built_before(audio(place), [], {})
        chain = audio(place, targets=("gfx942",))
        assert [one.version for one in find_built_before(chain, [chain], {})] == ["2.13.0"]

    def test_a_project_s_own_targets_may_be_fewer_than_those_of_what_it_is_built_with(self, tmp_path: Path, here: str) -> None:
        own = workplace(tmp_path, own_gfx={AUDIO: ("gfx942",)})
        build(own, TORCH, "2.13.0", python=here, targets="gfx90a;gfx942")
        assert [one.version for one in find_built_before(audio(own, targets=("gfx942",)), [], {})] == ["2.13.0"]
        with pytest.raises(HipwrightError, match=r"targets gfx90a;gfx942"):
            find_built_before(audio(own, targets=("gfx1201",)), [], {})

    def test_one_with_rocm_inside_is_only_for_those_who_say_so(self, tmp_path: Path, place: Workplace, here: str) -> None:
        build(place, TORCH, "2.13.0", python=here, started="2026-01-01T00:00:00Z")
        build(place, TORCH, "2.13.0+bundled.rocm7.10.0", python=here, bundled="7.10.0", started="2026-02-02T00:00:00Z")
        assert [one.version for one in find_built_before(audio(place), [], {})] == ["2.13.0"]
        inside = workplace(tmp_path, bundle_rocm=True)
        assert [one.version for one in find_built_before(audio(inside), [], {})] == ["2.13.0+bundled.rocm7.10.0"]

    def test_without_one_with_rocm_inside_that_is_told(self, tmp_path: Path, here: str) -> None:
        inside = workplace(tmp_path, bundle_rocm=True)
        build(inside, TORCH, "2.13.0", python=here)
        with pytest.raises(HipwrightError, match=r"with ROCm inside; it has torch-2\.13\.0"):
            find_built_before(audio(inside), [], {})

    def test_the_wheel_of_the_sources_that_stand_comes_before_a_newer_one(
        self, place: Workplace, here: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        standing = {"sources": "s", "version": "2.13.0", "local changes": "none"}
        monkeypatch.setattr(companions, "standing_sources", lambda project, _place: project)
        monkeypatch.setattr(companions, "source_parts", lambda _source: standing)
        build(place, TORCH, "2.13.0", python=here, started="2026-01-01T00:00:00Z", sources=standing)
        edited = {**standing, "sources": "t", "local changes": "e"}
        build(place, TORCH, "2.13.0+local", python=here, started="2026-02-02T00:00:00Z", sources=edited, local=EDITS)
        assert [one.version for one in find_built_before(audio(place), [], {})] == ["2.13.0"]
        assert warnings(place) == []
        standing["sources"] = "moved on"
        (found,) = find_built_before(audio(place), [], {})
        assert found.version == "2.13.0+local"
        (told,) = warnings(place)
        assert "has a person's changes in it and is not of the sources of pytorch that stand there now" in told
        assert "build_pytorch" in told

    def test_the_changes_in_it_are_what_it_is_built_with_has_too(self, place: Workplace, here: str) -> None:
        build(place, TORCH, "2.13.0", python=here, local=EDITS)
        chain = audio(place)
        chain.before = find_built_before(chain, [chain], {})
        assert edits_before(chain) == (EDITS,)

    def test_one_whose_bytes_have_changed_is_refused(self, place: Workplace, here: str) -> None:
        done = build(place, TORCH, "2.13.0", python=here)
        next((done.folder / "dist").iterdir()).write_bytes(b"something else")
        with pytest.raises(HipwrightError) as caught:
            find_built_before(audio(place), [], {})
        assert caught.value.code.name == "output-changed"

    @pytest.mark.parametrize("gone", ["wheel", "receipt", "lock"])
    def test_one_that_is_not_whole_stands_for_nothing(self, place: Workplace, here: str, gone: str) -> None:
        done = build(place, TORCH, "2.13.0", python=here)
        if gone == "wheel":
            next((done.folder / "dist").iterdir()).unlink()
        elif gone == "receipt":
            done.path.write_bytes(done.path.read_bytes()[:99])
        else:
            next(place.work_dir.glob("lock/pytorch/*/receipt.json")).unlink()
        assert earlier_builds(place, chain_of(place, TORCH, locked_with(TORCH, None)).project, python=here) == ()

    def test_a_named_place_of_packages_counts_instead(self, tmp_path: Path, here: str) -> None:
        place = workplace(tmp_path, find_links=("/somewhere",))
        build(place, TORCH, "2.13.0", python=here)
        torch = rocm_file("2.12.0", "torch")
        chain = chain_of(place, AUDIO, locked_with(AUDIO, "7.10.0", owned=(torch,)))
        assert find_built_before(chain, [chain], {}) == ()
        assert planned([chain], {}, place)[AUDIO] == frozenset()
        assert torch in inputs(chain, at_hand=False).owned

    def test_a_project_that_asks_for_another_version_is_told(self, place: Workplace, here: str) -> None:
        build(place, TORCH, "2.14.0", python=here)
        chain = chain_of(place, "torch-spline-conv", locked_with("torch-spline-conv", None))
        with pytest.raises(HipwrightError, match=r"torch-spline-conv needs torch==2\.13\.0, and torch-2\.14\.0"):
            find_built_before(chain, [chain], {})


class TestOfTheRun:
    def test_it_counts_before_a_newer_one_of_the_work_dir_and_before_a_named_place(self, tmp_path: Path, here: str) -> None:
        place = workplace(tmp_path, find_links=("/somewhere",))
        build(place, TORCH, "2.14.0", python=here, started="2026-09-09T00:00:00Z")
        torch = chain_of(place, TORCH, locked_with(TORCH, "7.10.0"))
        torch.done[Stage.BUILD] = build(place, TORCH, "2.13.0", python=here)
        chain = audio(place)
        chain.before = find_built_before(chain, [torch, chain], {})
        assert names(chain) == ["torch 2.13.0"]
        assert planned([torch, chain], {}, place) == {TORCH: frozenset(), AUDIO: frozenset({"torch"})}

    def test_one_for_another_interpreter_is_another_thing(self, place: Workplace) -> None:
        torch = chain_of(place, TORCH, locked_with(TORCH, "7.10.0"))
        torch.done[Stage.BUILD] = build(place, TORCH, "2.13.0", python="cp39")
        with pytest.raises(HipwrightError) as caught:
            find_built_before(audio(place), [torch], {})
        assert caught.value.code.name in {"requirement-missing", "stage-missing"}

    def test_of_a_dry_run_it_would_come_first(self, tmp_path: Path) -> None:
        place = workplace(tmp_path, dry_run=True)
        torch, chain = chain_of(place, TORCH, locked_with(TORCH, "7.10.0")), audio(place)
        with pytest.raises(WouldRun):
            find_built_before(chain, [torch, chain], {})
        assert chain.would_run == {Stage.PROVISION: "comes after the build of pytorch"}

    def test_a_command_that_ends_before_it_is_built_says_so(self, place: Workplace) -> None:
        torch, chain = chain_of(place, TORCH, locked_with(TORCH, "7.10.0")), audio(place)
        with pytest.raises(HipwrightError, match="this command does not build it") as caught:
            find_built_before(chain, [torch, chain], {})
        assert caught.value.code.name == "stage-missing"


class TestOptional:
    def test_torch_is_built_with_the_triton_that_there_is(self, place: Workplace, here: str) -> None:
        torch = chain_of(place, TORCH, locked_with(TORCH, "7.10.0"))
        assert find_built_before(torch, [torch], {}) == ()
        build(place, TRITON, "3.4.0", python=here, rocm="7.11.0")
        assert find_built_before(torch, [torch], {}) == ()
        build(place, TRITON, "3.5.0", python=here)
        torch.before = find_built_before(torch, [torch], {})
        assert names(torch) == ["triton 3.5.0"]

    def test_what_torch_was_built_with_comes_along(self, place: Workplace, here: str) -> None:
        triton = build(place, TRITON, "3.5.0", python=here)
        build(place, TRITON, "3.6.0", python=here, started="2026-09-09T00:00:00Z")
        build(place, TORCH, "2.13.0", python=here, against=(triton,))
        chain = audio(place)
        chain.before = find_built_before(chain, [chain], {})
        assert names(chain) == ["torch 2.13.0", "triton 3.5.0"]
        assert {file.distribution for file in inputs(chain, at_hand=False).owned} == {"torch", "triton"}

    def test_what_torch_was_built_with_and_is_gone_is_told(self, place: Workplace, here: str) -> None:
        triton = build(place, TRITON, "3.5.0", python=here)
        build(place, TORCH, "2.13.0", python=here, against=(triton,))
        next((triton.folder / "dist").iterdir()).unlink()
        with pytest.raises(HipwrightError, match=r"built with triton-3\.5\.0.*not here"):
            find_built_before(audio(place), [], {})


class TestHandedOver:
    def test_a_build_that_was_handed_over_counts(self, tmp_path: Path, here: str) -> None:
        place, away = workplace(tmp_path / "a"), workplace(tmp_path / "b")
        done = build(away, TORCH, "2.13.0", python=here)
        chain = audio(place)
        assert planned([chain], handed(done), place) == {AUDIO: frozenset({"torch"})}
        assert [one.version for one in find_built_before(chain, [chain], handed(done))] == ["2.13.0"]

    def test_a_companion_that_was_handed_over_has_exactly_the_wheel_of_its_receipt(self, place: Workplace, here: str) -> None:
        torch = build(place, TORCH, "2.13.0", python=here)
        chain = audio(place)
        chain.done[Stage.BUILD] = build(place, AUDIO, "2.11.0", python=here, against=(torch,))
        build(place, TORCH, "2.13.0", python=here, content="later", started="2026-09-09T00:00:00Z")
        (found,) = find_built_before(chain, [chain], {})
        assert found.path == torch.folder / "dist" / found.filename


class TestInputs:
    def test_a_wheel_comes_by_address_and_digest_with_the_rocm_that_it_needs(self, place: Workplace, here: str) -> None:
        done = build(place, SAMPLE, "1.0.0", python=here)
        chain = chain_of(place, COMPANION, locked_with(COMPANION, None))
        chain.before = find_built_before(chain, [chain], {})
        wheel, core = inputs(chain, at_hand=False).owned
        assert (wheel.distribution, wheel.url) == ("hipwright-sample", chain.before[0].path.as_uri())
        assert wheel.sha256 == done.receipt.outputs[0].sha256
        assert core == rocm_file("7.10.0")

    def test_another_wheel_is_another_build(self, place: Workplace, here: str) -> None:
        chain = audio(place)
        assert before_parts(chain) == {}
        build(place, TORCH, "2.13.0", python=here)
        chain.before = find_built_before(chain, [chain], {})
        (first, parts) = against(chain), before_parts(chain)
        assert [(one.project, one.version) for one in first] == [(TORCH, "2.13.0")]
        build(place, TORCH, "2.13.0", python=here, content="other bytes", started="2026-09-09T00:00:00Z")
        chain.before = find_built_before(chain, [chain], {})
        assert before_parts(chain) != parts

    @pytest.mark.parametrize("how", ["in the run", "handed over"])
    def test_two_rocms_are_a_mixed_stack(self, place: Workplace, here: str, how: str) -> None:
        done = build(place, TORCH, "2.13.0", python=here, rocm="7.11.0")
        torch = chain_of(place, TORCH, locked_with(TORCH, "7.11.0"))
        torch.done[Stage.BUILD] = done
        chain = audio(place)
        with pytest.raises(HipwrightError, match=r"against ROCm 7\.11\.0.*against ROCm 7\.10\.0|7\.10\.0.*7\.11\.0") as caught:
            find_built_before(
                chain, [torch, chain] if how == "in the run" else [chain], {} if how == "in the run" else handed(done)
            )
        assert caught.value.code.name == "mixed-stack"

    def test_two_builds_of_one_rocm_are_one_too(self, place: Workplace, here: str) -> None:
        build(place, TORCH, "2.13.0", python=here, entry=locked_with(TORCH, "7.10.0", build="again"))
        chain = audio(place)
        chain.before = find_built_before(chain, [chain], {})
        with pytest.raises(HipwrightError, match="two builds of rocm-sdk-core") as caught:
            inputs(chain, at_hand=False)
        assert caught.value.code.name == "mixed-stack"

    def test_a_wheel_with_rocm_inside_needs_no_packages(self, place: Workplace, here: str) -> None:
        build(place, SAMPLE, "1.0.0", python=here)
        chain = chain_of(place, COMPANION, locked_with(COMPANION, None))
        (found,) = find_built_before(chain, [chain], {})
        inside = dataclasses.replace(found, built=msgspec.structs.replace(found.built, bundled="7.10.0"))
        chain.before = (inside,)
        assert [file.distribution for file in inputs(chain, at_hand=False).owned] == ["hipwright-sample"]
