"""Which wheels are imported before something is built on them or tested with them, and which of their flags are read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.pipeline import built_with
from build_tools.pipeline.built_with import flag_parts, prove_flags_of, prove_imports_of
from build_tools.receipts.values import FlagValue
from build_tools.types import Platform
from tests.support.builds import environment, project
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.config.project import Project

LINUX_FLAG = {"name": "toy.has_sparse", "value": False, "platforms": ["linux"]}
WINDOWS_FLAG = {"name": "toy.has_more", "value": True, "platforms": ["windows"]}


def toy(*flags: dict[str, object], **more: object) -> Project:
    return project(wheel={"distribution": "toy", "flags": list(flags), **more})


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """What is imported: module, wheel, and what does not happen when it fails; flags are found as they should be."""
    calls: list[tuple[str, str, str]] = []

    def prove(module: str, wheel: str, **given: Any) -> tuple[FlagValue, ...]:  # noqa: ANN401
        calls.append((module, wheel, given["so"]))
        return tuple(FlagValue(name=flag.name, value=flag.value) for flag in given["flags"])

    monkeypatch.setattr(built_with, "prove_import", prove)
    return calls


def chain_of(folder: Path, *before: Project, own: Project | None = None) -> Any:  # noqa: ANN401 - stands for a chain
    place = workplace(folder)
    object.__setattr__(place, "platform", Platform.LINUX)
    wheels = (SimpleNamespace(filename="own.whl"),)
    return SimpleNamespace(
        workplace=place,
        project=own or toy(),
        before=[SimpleNamespace(project=one, filename=f"{number}.whl") for number, one in enumerate(before)],
        built=lambda: SimpleNamespace(wheels=wheels),
    )


def making(folder: Path) -> Any:  # noqa: ANN401 - stands for what a stage is given
    return SimpleNamespace(folder=folder, runner=None, log=folder / "log")


def test_flags_of_what_was_built_before_are_read_where_it_is_imported(tmp_path: Path, proved: list[tuple[str, str, str]]) -> None:
    chain = chain_of(tmp_path, toy(LINUX_FLAG, WINDOWS_FLAG), toy(**{"import-name": "thing"}), toy(), toy(WINDOWS_FLAG))
    found = prove_imports_of(chain, environment(), making(tmp_path))
    assert found == (FlagValue(name="toy.has_sparse", value=False),)
    # One that names no module and has no flag on this system is not imported.
    assert proved == [("toy", "0.whl", "nothing is built on it"), ("thing", "1.whl", "nothing is built on it")]
    assert "importing toy of 0.whl" in memory_of(chain.workplace).said


def test_a_project_s_own_are_read_before_its_tests(tmp_path: Path, proved: list[tuple[str, str, str]]) -> None:
    chain = chain_of(tmp_path, own=toy(LINUX_FLAG, **{"import-name": "toy.inner"}))
    assert prove_flags_of(chain, environment(), making(tmp_path)) == (FlagValue(name="toy.has_sparse", value=False),)
    assert proved == [("toy.inner", "own.whl", "it is not tested")]
    none = chain_of(tmp_path, own=toy(WINDOWS_FLAG, **{"import-name": "toy"}))
    assert prove_flags_of(none, environment(), making(tmp_path)) == ()
    assert len(proved) == 1


def test_other_flags_are_another_input_and_none_are_nothing() -> None:
    assert flag_parts([toy(), toy(WINDOWS_FLAG)], Platform.LINUX) == {}
    one = flag_parts([toy(LINUX_FLAG)], Platform.LINUX)
    other = flag_parts([toy({**LINUX_FLAG, "value": True})], Platform.LINUX)
    assert one.keys() == other.keys() == {"flags"}
    assert one != other
