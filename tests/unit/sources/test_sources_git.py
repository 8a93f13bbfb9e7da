from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.process import Runner
from build_tools.sources.git import Git
from build_tools.types import CommitId
from tests.support.source_trees import Person, git, new_git, write

if TYPE_CHECKING:
    from pathlib import Path


def fake_git(folder: Path, answer: str) -> Git:
    write(folder, {"git": f"#!/bin/sh\necho '{answer}'\n"})
    (folder / "git").chmod(0o755)
    return Git(runner=Runner(environment={"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}))


def test_a_git_that_is_too_old_is_named(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match=r"1\.8\.3 is too old; 2\.32") as caught:
        fake_git(tmp_path, "git version 1.8.3").require(cwd=tmp_path)
    assert caught.value.code.name == "missing-tool"


def test_no_git_is_named(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="no program git") as caught:
        Git(runner=Runner(environment={"PATH": str(tmp_path)})).require(cwd=tmp_path)
    assert caught.value.code.name == "missing-tool"


def test_the_git_here_is_new_enough(tmp_path: Path) -> None:
    assert new_git().require(cwd=tmp_path)[0] == "2"


def test_every_command_may_write_long_paths() -> None:
    environment = new_git().environment()
    keys = {environment[f"GIT_CONFIG_KEY_{number}"]: number for number in range(int(environment["GIT_CONFIG_COUNT"]))}
    assert environment[f"GIT_CONFIG_VALUE_{keys['core.longPaths']}"] == "true"
    # What a repository says of links is what its file system can hold.
    assert "core.symlinks" not in keys


def test_a_folder_without_a_repository_is_never_taken_for_the_repository_around_it(tmp_path: Path) -> None:
    person = Person(tmp_path / "outer")
    person.commit({"a": "b"})
    inner = person.folder / "inner"
    inner.mkdir()
    assert new_git().at(inner).commit_of("HEAD") is None
    assert new_git().at(person.folder).commit_of("HEAD") is not None


def test_redirects_take_the_longest_prefix(tmp_path: Path) -> None:
    person = Person(tmp_path / "b")
    commit = person.commit({"a": "b"})
    redirected = new_git().redirected({"embedded://x/": "file:///nowhere/", "embedded://x/b": f"file://{tmp_path}/b"})
    assert redirected.place_of("embedded://x/c") == "file:///nowhere/c"
    assert redirected.place_of("embedded://x/b") == f"file://{tmp_path}/b"
    assert redirected.place_of("https://other") == "https://other"
    assert redirected.capture("ls-remote", "embedded://x/b", "HEAD", cwd=tmp_path).text.startswith(commit)


def test_commits_of_ours_depend_on_their_content_alone(tmp_path: Path) -> None:
    ids = set()
    for number in range(2):
        person = Person(tmp_path / str(number))
        parent = CommitId(person.commit({"a": "b"}))
        git(person.folder, "config", "user.name", f"Somebody {number}")
        git(person.folder, "config", "i18n.commitEncoding", "iso-8859-1" if number else "utf-8")
        git(person.folder, "config", "commit.gpgSign", "true")
        repository = new_git().at(person.folder)
        ids.add(repository.commit(repository.tree_of(parent), parent=parent, message="é\n", date=1_700_000_000))
        shown = git(person.folder, "show", "--no-patch", "--format=%an %ae %at %cn %ce %ct", next(iter(ids)))
        assert shown == "hipwright hipwright@localhost 1700000000 hipwright hipwright@localhost 1700000000"
    assert len(ids) == 1


def test_facts_of_commits_are_true(tmp_path: Path) -> None:
    person = Person(tmp_path / "a")
    commit = CommitId(person.commit({"a": "b"}))
    repository = new_git().at(person.folder)
    assert repository.tree_of(commit) == git(person.folder, "rev-parse", "HEAD^{tree}")
    assert repository.date_of(commit) == int(git(person.folder, "show", "-s", "--format=%ct"))
    assert repository.head() == commit
    assert repository.refs("refs/heads/") == {"main": commit}
    assert new_git().at(tmp_path).head() is None
