from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.builds.hooks import BuildContext, ProjectHooks
from build_tools.builds.plan import BuildWishes, requirement_pins
from build_tools.errors import HipwrightError
from build_tools.types import Sha256
from tests.support.builds import DIGEST, lock, plan, project, sdk, tree

FOLDER = Path("/projects/toy")


def pins(*wanted: str, rocm: str | None = "7.10.0", owned: dict[str, str] | None = None, **changes: object) -> tuple[str, ...]:
    toy = project(wheel={"distribution": "toy", "pinned-requirements": list(wanted)}, **changes)
    return requirement_pins(toy, FOLDER, sdk=sdk(rocm), locked=lock(rocm=rocm, owned=owned))


def test_rocm_is_pinned_to_the_version_that_the_build_has() -> None:
    assert pins("rocm") == ("rocm[libraries]==7.10.0",)


def test_extras_in_the_project_s_data_win() -> None:
    assert pins("rocm[profiler,libraries]") == ("rocm[libraries,profiler]==7.10.0",)


def test_owned_packages_are_pinned_to_their_locked_versions() -> None:
    assert pins("rocm", "torch", owned={"torch": "2.13.0"}) == ("rocm[libraries]==7.10.0", "torch==2.13.0")


@pytest.mark.parametrize("wanted", ["triton", "rocm==7", "no good"])
def test_a_pin_that_the_build_cannot_give_names_the_key(wanted: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        pins(wanted)
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.key == "wheel.pinned-requirements"


def test_rocm_cannot_be_pinned_in_a_build_without_it() -> None:
    with pytest.raises(HipwrightError):
        pins("rocm", rocm=None)


def test_the_version_reaches_the_variable_and_the_record() -> None:
    made = plan(project(), source=tree(local=DIGEST))
    assert made.version == made.environment["TOY_VERSION"] == "1.2.0+rocm7.10.0.localabababab"


def test_a_persons_changes_in_what_it_is_built_with_are_a_persons_changes() -> None:
    other = Sha256("cd" * 32)
    assert BuildWishes().local_digest(tree()) is None
    assert BuildWishes(edited_before=(other,)).local_digest(tree()) == other
    assert BuildWishes().local_digest(tree(local=DIGEST)) == DIGEST
    both = BuildWishes(edited_before=(other,)).local_digest(tree(local=DIGEST))
    assert both not in {None, other, DIGEST}


def test_a_project_that_takes_no_version_keeps_the_sources_own() -> None:
    toy = project(sdk="none", build={}, wheel={"distribution": "toy", "version-suffix": "none"})
    made = plan(toy, source=tree(local=DIGEST), with_sdk=sdk(None), locked=lock(rocm=None), targets=())
    assert made.version == "1.2.0"


def test_sources_with_a_version_of_their_own_get_the_local_part() -> None:
    made = plan(project(build={"variables": {"version-suffix": "TOY_SUFFIX"}}))
    assert (made.version, made.environment["TOY_SUFFIX"]) == ("1.2.0+rocm7.10.0", "+rocm7.10.0")


def test_a_suffix_without_a_variable_for_the_version_names_the_key() -> None:
    with pytest.raises(HipwrightError) as caught:
        plan(project(build={}))
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.key == "build.variables.version"


def test_another_sdk_than_the_locked_one_is_refused() -> None:
    with pytest.raises(HipwrightError) as caught:
        plan(project(), with_sdk=sdk("7.11.0"), locked=lock(rocm="7.10.0"))
    assert caught.value.code.name == "lock-conflict"
    assert "7.10.0" in caught.value.message
    assert "7.11.0" in caught.value.message


def test_layers_win_in_order() -> None:
    def build_environment(context: BuildContext) -> dict[str, str]:
        assert context.rocm_version == "7.10.0"
        assert context.targets == ("gfx942", "gfx1201")
        return {"A": "hook", "CXXFLAGS": "-hook"}

    toy = project(
        build={
            "environment": {"A": "constant", "B": "constant", "ROCM_HOME": "/elsewhere", "CXXFLAGS": "-constant"},
            "variables": {"version": "B"},
        }
    )
    hooks = ProjectHooks(file=FOLDER / "hooks.py", functions={"build_environment": build_environment})
    made = plan(toy, hooks=hooks).environment
    assert made["A"] == "hook"
    assert made["B"] == "1.2.0+rocm7.10.0"
    assert made["ROCM_HOME"] == "/elsewhere"
    assert made["CXXFLAGS"] == "-ffile-prefix-map=/w/scratch/src=. -constant -hook"
