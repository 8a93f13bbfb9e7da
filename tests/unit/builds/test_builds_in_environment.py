"""What a build in a person's own tree and environment gets, on both systems: by the rules of a wheel's build, and the person says the last word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.builds.developer_prompt import VisualStudio
from build_tools.builds.hooks import BuildContext, ProjectHooks
from build_tools.builds.in_environment import variables_in_environment
from build_tools.config.build_recipe import Build
from build_tools.config.project import EmbeddedOrigin, Project, Version
from build_tools.config.wheel_demands import Wheel
from build_tools.receipts.values import EnvironmentRecord, Sdk
from build_tools.types import CommitId, GfxTarget, Platform, Sha256

if TYPE_CHECKING:
    from collections.abc import Mapping

STUDIO = VisualStudio(about="17", variables={"INCLUDE": r"C:\vs\include", "VCTOOLSREDISTDIR": r"C:\redist"}, path=(r"C:\vs\bin",))
PROJECT = Project(
    schema=1,
    name="ext",
    summary="an extension",
    origin=EmbeddedOrigin(folder="sources"),
    version=Version(fixed="1.2"),
    sdk="rocm",
    wheel=Wheel(distribution="ext"),
    build=Build(
        environment={"KIND": "plain", "BOTH": "data"},
        windows={"KIND": "windows"},
        variables={
            "version": "EXT_VERSION",
            "targets": "EXT_ARCH",
            "install-requirements": "EXT_REQUIRES",
            "rocm-home": "EXT_ROCM",
        },
        target_variable="EXT_HIP_ARCHES",
        machine_variables=("VCToolsRedistDir", "LET_IN"),
    ),
)


def variables(
    platform: Platform, *, hook: Mapping[str, str] | None = None, root: str | None = "/rocm", **given: str
) -> dict[str, str]:
    context = BuildContext(
        project="ext",
        version="1.2",
        rocm_version="7.0",
        rocm_root=Path(root) if root is not None else None,
        targets=(GfxTarget("gfx90a"), GfxTarget("gfx942")),
        platform=platform,
        upstream=CommitId("c" * 40),
        source_date=0,
        environment=Path("/venv"),
    )
    record = EnvironmentRecord(
        folder="/venv",
        digest=Sha256("d" * 64),
        python="/venv/bin/python",
        python_version="3.12.1",
        python_tag="cp312",
        packages=(),
    )
    return variables_in_environment(
        PROJECT,
        context,
        hooks=ProjectHooks(file=Path("hooks.py"), functions={"build_environment": lambda _: dict(hook or {})}),
        sdk=Sdk(environment=record, root=root, cmake=f"{root}/lib/cmake") if root is not None else None,
        studio=STUDIO,
        machine={"LET_IN": "yes", "KEPT_OUT": "no"},
        given=given,
    )


def test_the_recipe_the_hook_and_the_person_are_heard_in_this_order() -> None:
    found = variables(Platform.LINUX, hook={"BOTH": "hook", "OWN": "hook"}, OWN="person", LET_IN="")
    assert (found["KIND"], found["BOTH"], found["OWN"]) == ("plain", "hook", "person")
    assert (found["EXT_HIP_ARCHES"], found["EXT_ARCH"], found["EXT_VERSION"]) == ("gfx90a,gfx942", "gfx90a;gfx942", "1.2")
    assert (found["EXT_ROCM"], found["ROCM_HOME"], found["CMAKE_PREFIX_PATH"]) == ("/rocm", "/rocm", "/rocm/lib/cmake")
    # Nothing of Visual Studio is in a build on Linux, nothing is in any that the recipe does not let in, nor what is taken away.
    assert not {"INCLUDE", "KEPT_OUT", "LET_IN", "EXT_REQUIRES"} & found.keys()


def test_windows_has_what_visual_studio_sets_by_the_names_of_the_recipe() -> None:
    found = variables(Platform.WINDOWS)
    assert (found["KIND"], found["INCLUDE"], found["VCToolsRedistDir"]) == ("windows", r"C:\vs\include", r"C:\redist")
    assert found["LET_IN"] == "yes"


@pytest.mark.parametrize("name", ["ROCM_HOME", "EXT_ROCM", "CMAKE_PREFIX_PATH"])
def test_without_a_rocm_no_variable_names_one(name: str) -> None:
    assert name not in variables(Platform.LINUX, root=None)
