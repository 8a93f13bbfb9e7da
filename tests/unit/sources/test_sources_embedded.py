from __future__ import annotations

import json
import os
import socket
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.embedded import import_embedded
from tests.support.source_trees import Tree, git, new_git, raw, write

if TYPE_CHECKING:
    from pathlib import Path

DESCRIPTION = """
[[repository]]
name = "sample"

[[repository.branch]]
name = "release/1.0"
folders = ["release"]

[[repository.branch.submodule]]
path = "third party/greeter"
repository = "greeter"
branch = "main"

[[repository.branch]]
name = "nightly"
folders = ["release", "nightly"]

[[repository]]
name = "greeter"

[[repository.branch]]
name = "main"
folders = ["greeter"]

[[repository.branch.submodule]]
path = "deep"
repository = "deep"
branch = "main"

[[repository]]
name = "deep"

[[repository.branch]]
name = "main"
folders = ["deep"]
"""

FILES: Tree = {
    "repository.toml": DESCRIPTION,
    "release/version.txt": "1.0\n",
    "release/run.sh": "#!/bin/sh\n",
    "release/.gitignore": "hidden\n",
    "release/hidden/x": b"\x00\xff\r\n",
    'release/odd "name"\n é': "odd",
    "release/crlf.txt": "a\r\nb\r\n",
    "release/.gitattributes": "*.txt text\n",
    "nightly/version.txt": "2.0\n",
    "greeter/a": "a",
    "deep/b": "b",
}


def make(folder: Path, cache: Path, files: Tree | None = None) -> Path:
    write(folder, FILES if files is None else files)
    place, name = import_embedded(folder, cache=cache, git=new_git(), say=lambda _line: None)
    return place / f"{name}.git"


def changed(old: str, new: str) -> Tree:
    assert old in DESCRIPTION
    return {**FILES, "repository.toml": DESCRIPTION.replace(old, new, 1)}


def test_the_same_bytes_give_the_same_commits_anywhere(tmp_path: Path) -> None:
    first, second = make(tmp_path / "a", tmp_path / "c1"), make(tmp_path / "b é\n", tmp_path / "c 2")
    (tmp_path / "a" / "release" / "version.txt").chmod(0o755)
    third = make(tmp_path / "a", tmp_path / "c3")
    heads = {git(place, "for-each-ref") for place in (first, second, third)}
    assert len(heads) == 1
    assert first.parent.name == second.parent.name


def test_branches_lay_folders_over_each_other_and_record_submodules(tmp_path: Path) -> None:
    place = make(tmp_path / "a", tmp_path / "cache")
    assert git(place, "symbolic-ref", "HEAD") == "refs/heads/release/1.0"
    assert git(place, "show", "release/1.0:version.txt") == "1.0"
    assert git(place, "show", "nightly:version.txt") == "2.0"
    assert raw(place, "show", "nightly:crlf.txt") == b"a\r\nb\r\n"
    assert raw(place, "show", "release/1.0:hidden/x") == b"\x00\xff\r\n"
    assert raw(place, "show", 'release/1.0:odd "name"\n é') == b"odd"
    assert git(place, "ls-tree", "release/1.0", "run.sh").startswith("100755")
    assert git(place, "rev-list", "--count", "--all") == "2"
    git(tmp_path, "clone", "--quiet", "--recurse-submodules", place, "clone")
    assert (tmp_path / "clone" / "third party" / "greeter" / "deep" / "b").read_text() == "b"
    assert git(tmp_path / "clone", "config", "submodule.third party/greeter.url").endswith("/greeter.git")
    git(place, "fsck", "--strict")


def test_other_bytes_give_another_place_and_the_old_one_stays(tmp_path: Path) -> None:
    first = make(tmp_path / "a", tmp_path / "cache")
    second = make(tmp_path / "a", tmp_path / "cache", {"release/version.txt": "1.1\n"})
    assert first != second
    assert git(first, "show", "HEAD:version.txt") == "1.0"
    assert git(second, "show", "HEAD:version.txt") == "1.1"


def test_byte_code_beside_the_sources_changes_nothing(tmp_path: Path) -> None:
    first = make(tmp_path / "a", tmp_path / "cache")
    assert make(tmp_path / "a", tmp_path / "cache", {"release/__pycache__/x.pyc": b"\0"}) == first


def test_two_at_once_get_the_same_whole_place(tmp_path: Path) -> None:
    write(tmp_path / "a", FILES)
    places = []
    threads = [threading.Thread(target=lambda: places.append(make(tmp_path / "a", tmp_path / "cache", {}))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(places) == 4
    assert len(set(places)) == 1
    assert not [path for path in (tmp_path / "cache" / "embedded").iterdir() if ".partial-" in path.name]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (changed('folders = ["deep"]', 'folders = ["deeper"]'), "no folder 'deeper'"),
        (changed('folders = ["deep"]', 'folders = ["../a/deep"]'), "no folder"),
        (changed('repository = "deep"', 'repository = "nobody"'), "no repository is called nobody"),
        (changed('branch = "main"\n\n[[repository.branch]]\nname = "nightly"', 'branch = "x"\n\n[[repository.branch]]\nname = "nightly"'), "no branch 'x'"),
        (changed('repository = "deep"', 'repository = "sample"'), "circle: "),
        (changed('name = "deep"', 'name = "sample"'), "same name"),
        (changed('name = "nightly"', 'nam = "nightly"'), "unknown field"),
        (changed('name = "deep"', 'name = "deep\\n"'), "no name for a repository"),
    ],
    ids=["folder", "outside", "repository", "branch", "circle", "twice", "key", "newline"],
)  # fmt: skip
def test_what_is_wrong_in_the_description_is_named_with_the_file(tmp_path: Path, files: Tree, words: str) -> None:
    with pytest.raises(HipwrightError, match=words) as caught:
        make(tmp_path / "a", tmp_path / "cache", files)
    assert caught.value.code.name == "bad-data-file"
    assert str(tmp_path / "a" / "repository.toml") in str(caught.value.where)
    left = [path.name for path in (tmp_path / "cache").rglob("*.partial-*")]
    assert left == []


BRANCH = "repository sample, branch "


@pytest.mark.parametrize(
    ("files", "words", "key"),
    [
        *(
            (changed('name = "nightly"', f"name = {json.dumps(name)}"), "no name for a branch", BRANCH)
            for name in ("release/1.0..x", "a b", "x.lock", "/x", "x/", "a~1", "-x", "a\x00b", "a\nb", "@{")
        ),
        (changed('name = "nightly"', 'name = "release/1.0"'), "two branches", f"{BRANCH}release/1.0"),
        (changed('name = "nightly"', 'name = "release"'), "cannot hold the branches", f"{BRANCH}release"),
        *(
            (changed('path = "third party/greeter"', f"path = {json.dumps(path)}"), "no path for a submodule", ", submodule ")
            for path in (".git/x", "x/.GIT", "../x", "/x", "x/", "a//b", "./x", ".git ", "git~1", "a\nb", ".g\u200cit")
        ),
        (changed('path = "third party/greeter"', 'path = "run.sh"'), "something else lies at", "submodule run.sh"),
        (changed('path = "third party/greeter"', 'path = "run.sh/x"'), "together with 'run.sh/x'", BRANCH),
        (changed('path = "third party/greeter"', 'path = "hidden"'), "together with 'hidden/x'", BRANCH),
        ({**FILES, "nightly/run.sh/x": "x"}, "together with 'run.sh/x'", f"{BRANCH}nightly"),
        ({**FILES, "release/.gitmodules": "x"}, "folder holds one too", BRANCH),
        (changed('repository = "deep"', 'repository = "sample"'), "circle: ", "submodule third party/greeter"),
        (changed('repository = "deep"', 'repository = "greeter"'), "circle: ", "submodule third party/greeter"),
        ({**FILES, "repository.toml": f"date = 1960-01-01T00:00:00Z\n{DESCRIPTION}"}, "older than 1970", "date"),
    ],
)
def test_what_git_would_refuse_is_named_with_its_entry(tmp_path: Path, files: Tree, words: str, key: str) -> None:
    with pytest.raises(HipwrightError, match=words) as caught:
        make(tmp_path / "a", tmp_path / "cache", files)
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.file == tmp_path / "a" / "repository.toml"
    assert key in str(caught.value.where.key)
    assert not list((tmp_path / "cache").rglob("*.git"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither")
@pytest.mark.parametrize("kind", ["fifo", "socket", "git folder", "git file"])
def test_what_git_cannot_hold_is_refused_by_name(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a", FILES)
    place = tmp_path / "a" / "deep" / ("odd" if kind in {"fifo", "socket"} else ".git")
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "socket":
        # The path of a socket is short.
        monkeypatch.chdir(place.parent)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(place.name)
    elif kind == "git folder":
        write(place, {"HEAD": "x"})
    else:
        place.write_text("gitdir: elsewhere\n")
    with pytest.raises(HipwrightError, match="cannot be part of a repository") as caught:
        make(tmp_path / "a", tmp_path / "cache", {})
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.file == place


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a" / "deep").mkdir(parents=True)
    files = {name: data for name, data in FILES.items() if not name.startswith("deep/")}
    with pytest.raises(HipwrightError, match="'deep' holds no files"):
        make(tmp_path / "a", tmp_path / "cache", files)
