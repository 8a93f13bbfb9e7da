"""Which projects a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.config.project import project_names
from build_tools.options.commands import COMMANDS
from build_tools.options.model import Settings
from build_tools.pipeline.concerned import projects_about
from tests.support.packages import make_wheel

EXTERNAL_BUILDS = Path(__file__).parents[3] / "external-builds"


@pytest.mark.parametrize("named", [(), ("sample",)])
def test_a_judge_of_wheels_is_about_the_projects_of_the_wheels(tmp_path: Path, named: tuple[str, ...]) -> None:
    def about(*paths: Path) -> list[str]:
        settings = Settings(projects=named, paths=paths)
        known = project_names(EXTERNAL_BUILDS)
        return sorted(projects_about(COMMANDS["check_wheels"], None, settings, known, external_builds=EXTERNAL_BUILDS))

    folder = tmp_path / "wheels"
    for distribution in ("torch", "hipwright_sample", "of_nobody"):
        make_wheel(folder, distribution, "1.0")
    assert about(folder) == ["pytorch", "sample"]
    assert about(next(folder.glob("torch-*"))) == ["pytorch"]
    # Judging them tells why.
    assert about(tmp_path / "gone") == []
