from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.sources.git import shown
from build_tools.sources.urls import file_url, resolve_relative
from tests.support.source_trees import Person, git, new_git, write

ORIGINS = (
    "https://host.example/owner/sample.git",
    "https://host.example/owner/sample.git/",
    "https://host.example:8443/sample",
    "git@host.example:owner/sample.git",
    "host.example:sample.git",
    "ssh://git@host.example/owner/sample.git",
    "/srv/git/sample.git",
    "file:///srv/git/sample.git",
    "embedded://sample/sample.git",
)


@pytest.mark.parametrize(
    "url", ["../greeter.git", "./greeter.git", "../../other/greeter.git", "../greeter.git/", "/abs/x", "https://h/x"]
)
@pytest.mark.parametrize("origin", ORIGINS)
def test_relative_addresses_resolve_as_git_resolves_them(tmp_path: Path, origin: str, url: str) -> None:
    person = Person(tmp_path / "tree")
    write(person.folder, {".gitmodules": f'[submodule "greeter"]\n\tpath = greeter\n\turl = {url}\n'})
    git(person.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},greeter")
    git(person.folder, "add", ".gitmodules")
    git(person.folder, "remote", "add", "origin", origin)
    git(person.folder, "submodule", "--quiet", "init")
    assert resolve_relative(origin, url) == git(person.folder, "config", "submodule.greeter.url")


@pytest.mark.parametrize("name", ["plain", "with space", "é", "new\nline", "per%20cent", "quest?ion#hash", "co:lon"])
def test_git_reads_a_file_address_back_to_the_folder(tmp_path: Path, name: str) -> None:
    person = Person(tmp_path / name)
    commit = person.commit({"a": "b"})
    done = new_git().capture("ls-remote", file_url(person.folder), "HEAD", cwd=tmp_path)
    assert done.text.startswith(commit)


def test_file_addresses_of_windows_folders_have_three_slashes() -> None:
    class Windows(type(Path())):  # type: ignore[misc]
        def as_posix(self) -> str:
            return "C:/cache/a b"

    assert file_url(Windows()) == "file:///C:/cache/a%20b"


@given(st.binary())
def test_shown_paths_are_one_printable_line(path: bytes) -> None:
    assert all(char.isprintable() for char in shown(path))


def test_shown_paths_keep_what_can_be_read() -> None:
    assert shown("é b".encode()) == "é b"
    assert shown(b"a\nb\xff") == "a\\nb\\xff"
