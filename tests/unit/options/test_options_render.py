"""What the environment gave is said as arguments that give the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS
from build_tools.options.render import given_by_environment
from build_tools.options.resolve import Resolved, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROJECTS = ["pytorch", "pytorch-audio"]


def resolved(name: str, words: Sequence[str], environment: dict[str, str], folder: Path) -> Resolved:
    command = {**COMMANDS, **PROJECT_COMMANDS}[name]
    return resolve(command, words, environment=environment, typed_in=folder, clone=folder / "clone", projects=PROJECTS)


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        (
            "pipeline",
            {"HIPWRIGHT_PROJECTS": "pytorch,pytorch-audio", "HIPWRIGHT_UNTIL": "build", "HIPWRIGHT_FORCE": "lock,build"},
        ),
        ("pipeline", {"HIPWRIGHT_PYTORCH_AUDIO_REF": "main", "HIPWRIGHT_PYTORCH_DIR": "tree", "HIPWRIGHT_PYTHON": "3.12,3.13"}),
        ("pipeline", {"HIPWRIGHT_NO_WAIT": "true", "HIPWRIGHT_DRY_RUN": "true", "HIPWRIGHT_RELOCK": "false"}),
        ("pipeline", {"HIPWRIGHT_EXPLAIN": "true", "HIPWRIGHT_ROCM_FIND_LINKS": "https://rocm.example/x", "HIPWRIGHT_JOBS": "3"}),
        (
            "build",
            {"HIPWRIGHT_BUILD_ENV": "A=b c", "PYTORCH_ROCM_ARCH": "gfx942;gfx1201", "HIPWRIGHT_WORK_DIR": "/elsewhere/work"},
        ),
        ("upload_wheels", {"HIPWRIGHT_STORE": "out/store", "HIPWRIGHT_RUN_ID": "7", "HIPWRIGHT_REPLACE": "a good reason"}),
        ("setup_venv", {"HIPWRIGHT_PACKAGES": "torch torchvision==1.0", "HIPWRIGHT_FIND_LINKS": "dist"}),
    ],
)
def test_the_arguments_give_the_same_settings(tmp_path: Path, name: str, environment: dict[str, str]) -> None:
    before = resolved(name, [], environment, tmp_path)
    command = {**COMMANDS, **PROJECT_COMMANDS}[name]
    words = given_by_environment(before, command, typed_in=tmp_path)
    assert not any(str(tmp_path) in word for word in words)
    assert resolved(name, words, {}, tmp_path).settings == before.settings


def test_secrets_and_documents_are_left_out_and_what_was_typed_is_not_said_twice(tmp_path: Path) -> None:
    environment = {
        "HIPWRIGHT_NOTIFY_URLS": "json://host/secret",
        "HIPWRIGHT_RESULTS": "x" * 3000,
        "HIPWRIGHT_PREVIOUS": "failure",
    }
    found = resolved("notify", ["--work-dir", "w"], environment, tmp_path)
    assert given_by_environment(found, COMMANDS["notify"], typed_in=tmp_path) == ["--previous", "failure"]
