"""Locks that are compared without any project."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.bodies import BODIES
from build_tools.errors import HipwrightError
from build_tools.files import write_bytes
from build_tools.options.commands import COMMANDS
from build_tools.pipeline.lock_stage import lock_chains
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import to_json
from build_tools.types import Stage
from tests.support.locks import locked
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from typing import Any

    from build_tools.workplace import Workplace


def desk(tmp_path: Path, *, origins: dict[str, str] | None = None, **settings: object) -> Workplace:
    """Return a workplace with a lock and an earlier one, in a clone that has no projects at all."""
    for name, commit in (("work/lock.json", "1" * 40), ("old.json", "2" * 40)):
        write_bytes(tmp_path / name, to_json(Lock(projects={"toy": locked("toy", commit=commit)})))
    made = workplace(tmp_path, diff=tmp_path / "old.json", **settings)
    resolved = dataclasses.replace(made.resolved, origins={"diff": "command line --diff", **(origins or {})})
    return dataclasses.replace(made, clone=tmp_path / "clone", resolved=resolved)


def compared(place: Workplace) -> dict[str, Any]:
    return BODIES["lock"](COMMANDS["lock"], None, place)


def test_locks_are_compared_without_reading_any_project(tmp_path: Path) -> None:
    moved = compared(desk(tmp_path))["moved"]
    assert [(row["project"], row["what"], row["before"], row["after"]) for row in moved] == [
        ("toy", "commit", "2" * 40, "1" * 40)
    ]


@pytest.mark.parametrize(
    ("settings", "field", "flag"),
    [
        ({"relock": True}, "relock", "--relock"),
        ({"ref": {"toy": "next"}}, "ref.toy", "--toy-ref"),
        ({"submodule_url": {"toy": ("a=/b",)}}, "submodule_url.toy", "--toy-submodule-url"),
        ({"manifest": "nowhere.json"}, "manifest", "--manifest"),
        ({"pins": "require"}, "pins", "--pins"),
        ({"rocm_version": "7"}, "rocm_version", "--rocm-version"),
    ],
)
def test_what_asks_for_something_to_be_locked_is_not_passed_by(
    tmp_path: Path, settings: dict[str, Any], field: str, flag: str
) -> None:
    with pytest.raises(HipwrightError) as caught:
        compared(desk(tmp_path, origins={field: f"command line {flag}"}, **settings))
    assert caught.value.code.name == "option-conflict"
    assert f"{flag} says what to lock" in caught.value.message
    assert "--projects" in str(caught.value.hint)
    # What stands in the settings of a desk asks for nothing here.
    assert compared(desk(tmp_path, origins={field: "hipwright.toml"}, **settings))["moved"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no devices and pipes among its files")
@pytest.mark.parametrize("projects", [(), ("toy",)])
def test_a_manifest_is_written_over_files_alone(tmp_path: Path, projects: tuple[str, ...]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for out, words in (
        (tmp_path / "pipe", "no regular file"),
        (Path(os.devnull), "no regular file"),
        (tmp_path / "folder", "is a folder"),
        (tmp_path / "file" / "m.json", "is no folder"),
    ):
        place = desk(tmp_path, manifest_out=out, projects=projects)
        with pytest.raises(HipwrightError, match=words) as caught:
            if projects:
                lock_chains([], place, Stage.LOCK)
            else:
                compared(place)
        assert caught.value.code.name == "bad-option-value"
    compared(desk(tmp_path, manifest_out=tmp_path / "file"))
    compared(desk(tmp_path, manifest_out=tmp_path / "deep" / "er" / "m.json"))
