from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from build_tools.builds.developer_prompt import VisualStudio
from build_tools.builds.plan import BuildWishes
from build_tools.builds.preflight import Compiler
from build_tools.pipeline import preflight, show_environment
from build_tools.pipeline.build_wishes import tell_plan, tools_of, wish_parts
from build_tools.types import Platform, Stage
from tests.support.builds import plan, project
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    import pytest

    from build_tools.pipeline.chain import Chain
    from build_tools.workplace import Workplace

STUDIO = VisualStudio(
    about="Visual Studio 2022", variables={"INCLUDE": "C:\\vc", "VCTOOLSREDISTDIR": "C:\\redist"}, path=("C:\\bin", "C:\\kits")
)
TOY = project(build={"variables": {"version": "TOY_VERSION"}, "machine-variables": ["VCToolsRedistDir", "MINE"]})


def test_what_visual_studio_sets_is_an_input_of_a_build_on_windows() -> None:
    wishes = BuildWishes(machine={"MINE": "m", "OTHER": "o"}, studio=STUDIO, overrides={"A": "1"})
    assert wish_parts(TOY, wishes, Platform.WINDOWS) == {
        "--build-env A": "1",
        "the machine's MINE": "m",
        "Visual Studio's INCLUDE": "C:\\vc",
        "Visual Studio's VCToolsRedistDir": "C:\\redist",
        "Visual Studio's PATH": "C:\\bin;C:\\kits",
    }
    assert wish_parts(TOY, wishes, Platform.LINUX) == {"--build-env A": "1", "the machine's MINE": "m"}


def test_a_person_and_the_receipt_are_told_what_is_visual_studio_s(tmp_path: Path) -> None:
    made = plan(TOY)
    mixed = replace(made, studio=STUDIO, context=replace(made.context, machine={"MINE": "m", **STUDIO.variables}))
    tools = tools_of(mixed, Compiler(path=Path("/cl"), version="19.44"), None)
    assert tools == {"compiler": "/cl: 19.44", "Visual Studio": "Visual Studio 2022"}
    place = workplace(tmp_path)
    tell_plan(mixed, tools, place.console)
    assert "taken from this machine's environment: MINE" in memory_of(place).said
    assert "taken from Visual Studio 2022: INCLUDE, PATH, VCTOOLSREDISTDIR" in memory_of(place).said
    assert "Visual Studio" not in tools_of(made, Compiler(path=Path("/cc"), version="1"), None)


def test_the_script_of_a_build_s_environment_tells_what_is_visual_studio_s() -> None:
    made = plan(TOY)
    assert show_environment._from_studio(made) == ()
    (line,) = show_environment._from_studio(replace(made, studio=STUDIO))
    assert line == "From Visual Studio 2022: INCLUDE, VCTOOLSREDISTDIR, the first folders of PATH behind ROCm's."


def proved_in(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> object:
    """Return the environment in which a workplace's compilers are proved."""
    given: dict[str, object] = {}
    monkeypatch.setattr(preflight, "prove_compiler", lambda _runner, **named: given.update(named))

    class OfToy:
        workplace = place
        project = TOY

    preflight.prove_build(cast("Chain", OfToy()), [Stage.BUILD])
    return given["environment"]


def test_compilers_are_proved_in_visual_studio_s_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = replace(workplace(tmp_path, build_env={"CXX": "clang-cl"}), platform=Platform.WINDOWS)
    place.__dict__["_studio"] = STUDIO
    path = place.runner.environment["PATH"]
    assert proved_in(place, monkeypatch) == {**STUDIO.variables, "CXX": "clang-cl", "PATH": f"C:\\bin;C:\\kits;{path}"}


def test_compilers_are_proved_with_all_that_a_person_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"INCLUDE": "i", "LIB": "l", "PATH": "p"}
    place = replace(workplace(tmp_path, build_env=said), platform=Platform.WINDOWS)
    assert proved_in(place, monkeypatch) == said
