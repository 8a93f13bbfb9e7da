from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.pipeline.activate import job_files

if TYPE_CHECKING:
    from pathlib import Path


def read_environment(text: str) -> dict[str, str]:
    """Read the file as the runner does: ``NAME<<DELIMITER`` up to a line that is the delimiter."""
    found, lines = {}, text.splitlines()
    while lines:
        name, _, delimiter = lines.pop(0).partition("<<")
        value = []
        while lines[0] != delimiter:
            value.append(lines.pop(0))
        lines.pop(0)
        found[name] = "\n".join(value)
    return found


@pytest.mark.parametrize("before", ["", "/one\n", "/one"])
def test_a_line_each_whatever_was_there(tmp_path: Path, before: str) -> None:
    path, environment = tmp_path / "path", tmp_path / "environment"
    path.write_text(before)
    files = job_files({"GITHUB_PATH": str(path), "GITHUB_ENV": str(environment)})
    files.activate(tmp_path / "env", tmp_path / "env" / "bin")
    files.activate(tmp_path / "other", tmp_path / "other" / "bin")
    assert path.read_text().splitlines() == [*before.split(), f"{tmp_path}/env/bin", f"{tmp_path}/other/bin"]
    assert read_environment(environment.read_text()) == {"VIRTUAL_ENV": f"{tmp_path}/other"}


@given(name=st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_no_folder_s_name_becomes_a_command(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    place = tmp_path_factory.mktemp("job")
    files = job_files({"GITHUB_PATH": str(place / "path"), "GITHUB_ENV": str(place / "environment")})
    folder = place / name
    if "\n" in name or "\r" in name:
        with pytest.raises(HipwrightError, match="line end"):
            files.activate(folder, folder / "bin")
        assert not (place / "path").exists()
        return
    files.activate(folder, folder / "bin")
    assert (place / "path").read_text().split("\n") == [str(folder / "bin"), ""]
    assert (place / "environment").read_text().split("\n")[1] == str(folder)


def test_outside_of_a_job_it_is_refused(tmp_path: Path) -> None:
    for machine in ({}, {"GITHUB_PATH": str(tmp_path)}, {"GITHUB_ENV": str(tmp_path)}):
        with pytest.raises(HipwrightError) as caught:
            job_files(machine)
        assert caught.value.code.name == "bad-option-value"


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    files = job_files({"GITHUB_PATH": str(tmp_path), "GITHUB_ENV": str(tmp_path)})
    with pytest.raises(HipwrightError) as caught:
        files.activate(tmp_path / "env", tmp_path / "env" / "bin")
    assert caught.value.code.name == "folder-not-writable"
