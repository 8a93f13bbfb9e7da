from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from packaging.markers import default_environment

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.publish.closure import judge_closure
from build_tools.publish.offer import Offer
from build_tools.types import ObjectKey

if TYPE_CHECKING:
    from build_tools.receipts.snapshot import IndexedFile


def offer(
    project: str, version: str, *requires: str, extras: tuple[str, ...] = (), tag: str = "cp312-cp312-manylinux_2_28_x86_64"
) -> Offer:
    lines = ["Metadata-Version: 2.1", f"Name: {project}", f"Version: {version}"]
    lines += [f"Provides-Extra: {extra}" for extra in extras] + [f"Requires-Dist: {one}" for one in requires]
    return Offer(
        project=project,
        filename=f"{project}-{version}-{tag}.whl",
        version=version,
        sha256=digest.of_bytes(f"{project} {version}".encode()),
        size=1,
        requires_python=None,
        metadata="\n".join([*lines, ""]).encode(),
        opened=lambda: contextlib.nullcontext(Path()),
    )


def row(one: Offer, *, yanked: str | None = None) -> IndexedFile:
    found = one.indexed(ObjectKey(f"dist/{one.filename}"), uploaded="2026-01-02T03:04:05Z")
    return msgspec.structs.replace(found, yanked=yanked)


TORCH = offer("torch", "2.9.0+rocm7.1")
AUDIO = offer("torchaudio", "2.9.0+rocm7.1", "torch==2.9.0+rocm7.1")


def unmet(*offers: Offer, there: tuple[IndexedFile, ...] = (), elsewhere: dict[str, list[str]] | None = None) -> tuple[str, ...]:
    return judge_closure(offers, there, elsewhere=lambda name: (elsewhere or {}).get(name, [])).unmet


def test_a_requirement_is_met_by_the_channel_the_list_or_a_named_index() -> None:
    assert unmet(AUDIO) == (f"{AUDIO.filename} requires torch==2.9.0+rocm7.1",)
    assert unmet(AUDIO, TORCH) == ()
    assert unmet(AUDIO, there=(row(TORCH),)) == ()
    assert unmet(AUDIO, elsewhere={"torch": ["2.9.0+rocm7.1", "no version"]}) == ()


@pytest.mark.parametrize("version", ["2.9.0", "2.9.0+rocm7.2", "2.9.0+rocm7.1.local0a1b2c3d", "1!2.9.0+rocm7.1"])
def test_another_version_does_not_meet_it(version: str) -> None:
    other = offer("torch", version)
    assert unmet(AUDIO, other) != ()
    assert unmet(AUDIO, elsewhere={"torch": [version]}) != ()


@pytest.mark.parametrize(
    ("tag", "meets"),
    [
        ("cp312-cp312-linux_x86_64", True),
        ("py3-none-any", True),
        ("cp310-abi3-manylinux_2_28_x86_64", True),
        ("cp311-cp311-manylinux_2_28_x86_64", False),
        ("cp312-cp312-win_amd64", False),
        ("cp312-cp312-manylinux_2_28_aarch64", False),
        ("cp312-cp312t-manylinux_2_28_x86_64", False),
    ],
)
def test_a_file_that_no_environment_may_have_with_it_does_not_meet_it(tag: str, *, meets: bool) -> None:
    other = offer("torch", "2.9.0+rocm7.1", tag=tag)
    expected = (
        () if meets else (f"{AUDIO.filename} requires torch==2.9.0+rocm7.1, which is there for other Pythons or platforms",)
    )
    assert unmet(AUDIO, other) == unmet(AUDIO, there=(row(other),)) == expected


def test_a_yanked_file_meets_nothing() -> None:
    assert unmet(AUDIO, there=(row(TORCH, yanked="broken"),)) != ()


def test_markers_of_the_other_system_and_of_other_pythons_do_not_count() -> None:
    asked = ("triton==3.5; platform_system == 'Linux'", "rocm==7.1; python_version < '3.12'")
    assert unmet(offer("torch", "2.9", *asked, tag="cp312-cp312-win_amd64")) == ()
    assert len(unmet(offer("torch", "2.9", *asked))) == 1
    assert len(unmet(offer("torch", "2.9", *asked, tag="cp311-cp311-manylinux_2_28_x86_64"))) == 2
    assert len(unmet(offer("torch", "2.9", *asked, tag="py3-none-any"))) == 2
    newer = ("rocm==7.1; python_version >= '3.14'",)
    assert len(unmet(offer("torch", "2.9", *newer, tag="cp310-abi3-linux_x86_64"))) == 1
    assert unmet(offer("torch", "2.9", *newer, tag="cp310-cp310-linux_x86_64")) == ()


def test_markers_are_judged_for_the_machine_of_the_wheel_and_not_for_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {**default_environment(), "platform_machine": "riscv64"}
    monkeypatch.setattr("build_tools.publish.closure.default_environment", lambda: here)
    asked = ("triton==3.5; platform_machine == 'x86_64'", "rocm==7.1; platform_machine == 'AMD64'")
    for tag, count in (("manylinux_2_28_x86_64", 1), ("win_amd64", 1), ("manylinux_2_28_aarch64", 0)):
        assert len(unmet(offer("torch", "2.9", *asked, tag=f"cp312-cp312-{tag}"))) == count


def test_what_an_extra_asks_for_must_be_there_too() -> None:
    assert unmet(offer("torch", "2.9", "rocm==7.1; extra == 'rocm'", extras=("rocm",))) != ()


def test_an_address_is_met_by_nothing() -> None:
    assert unmet(offer("torchaudio", "2.9", "torch @ https://example.org/torch.whl"), TORCH) != ()


def test_other_packages_are_not_judged_and_that_is_said() -> None:
    closure = judge_closure([offer("torch", "2.9", "NumPy", "sympy>=1.13")], (), elsewhere=lambda _name: ())
    assert closure.unmet == ()
    assert closure.unjudged == ("not judged, as the base index of each machine gives them: numpy, sympy",)


def test_what_is_not_owned_and_comes_along_or_is_there_needs_no_word() -> None:
    wheels = [offer("companion", "1.0", "sample==1.0"), offer("sample", "1.0")]
    assert judge_closure(wheels, (), elsewhere=lambda _name: ()).unjudged == ()
    assert judge_closure(wheels[:1], [row(wheels[1])], elsewhere=lambda _name: ()).unjudged == ()
    yanked = judge_closure(wheels[:1], [row(wheels[1], yanked="broken")], elsewhere=lambda _name: ())
    assert yanked.unjudged == ("not judged, as the base index of each machine gives them: sample",)


def test_a_side_file_that_cannot_be_read_is_an_error() -> None:
    broken = msgspec.structs.replace(TORCH, metadata=b"Name: torch\nRequires-Dist: ===\n")
    with pytest.raises(HipwrightError) as caught:
        unmet(broken)
    assert caught.value.code.name == "bad-wheel"
    assert broken.filename in caught.value.message
