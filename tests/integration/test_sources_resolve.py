"""From a ref to exact commits, with real origins."""

from __future__ import annotations

import subprocess
import threading

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.mirror import mirror_of
from build_tools.types import CommitId
from tests.support.source_trees import Yard, git, head, raw


def test_branches_tags_commits_and_head_resolve_to_exact_commits(yard: Yard) -> None:
    origin = yard.person("toy")
    first = origin.commit({"version.txt": "1.0\n"})
    git(origin.folder, "tag", "-a", "-m", "t", "v1.0")
    git(origin.folder, "branch", "release/1.0")
    second = origin.commit({"version.txt": "1.1\n"})
    git(origin.folder, "tag", "light")
    found = {ref: yard.lock(origin, ref) for ref in ("main", "release/1.0", "v1.0", "light", "refs/tags/v1.0", first, "HEAD")}
    assert {ref: locked.commit for ref, locked in found.items()} == {
        "main": second,
        "release/1.0": first,
        "v1.0": first,
        "light": second,
        "refs/tags/v1.0": first,
        first: first,
        "HEAD": second,
    }
    assert found["HEAD"].ref == "main"
    assert found["main"].base_version == "1.1"
    assert found["v1.0"].base_version == "1.0"
    assert found["main"].tree == git(origin.folder, "rev-parse", "main^{tree}")
    assert (found["main"].reason, found["main"].origin) == ("asked for", str(origin.folder))
    assert yard.lock(origin, None, refs={"default": "release/1.0"}).commit == first


def test_a_branch_comes_before_a_tag_of_the_same_name(yard: Yard) -> None:
    origin = yard.person("toy")
    origin.commit({"version.txt": "1.0\n"})
    git(origin.folder, "tag", "both")
    commit = origin.commit({"version.txt": "1.1\n"})
    git(origin.folder, "branch", "both")
    assert yard.lock(origin, "both").commit == commit


@pytest.mark.parametrize("whole", [True, False])
def test_a_tag_of_something_else_than_a_commit_is_told(yard: Yard, *, whole: bool) -> None:
    origin = yard.person("toy")
    commit = origin.commit({"version.txt": "1.0\n"})
    tree, blob = (git(origin.folder, "rev-parse", f"{commit}{rest}") for rest in ("^{tree}", ":version.txt"))
    git(origin.folder, "tag", "of-a-tree", tree)
    git(origin.folder, "tag", "of-a-blob", blob)
    git(origin.folder, "tag", "-a", "-m", "t", "annotated", tree)
    annotated = git(origin.folder, "rev-parse", "annotated")
    for ref, words in (
        ("of-a-tree", r"refs/tags/of-a-tree of .* is a tree, not a commit"),
        ("of-a-blob", r"refs/tags/of-a-blob of .* is a blob, not a commit"),
        ("annotated", r"refs/tags/annotated of .* is a tree, not a commit"),
        (tree, f"{tree} of .* is a tree, not a commit"),
        (blob, f"{blob} of .* is a blob, not a commit"),
        (annotated, f"{annotated} of .* is a tree, not a commit"),
    ):
        with pytest.raises(HipwrightError, match=words) as caught:
            yard.lock(origin, ref, whole=whole)
        assert caught.value.code.name == "unknown-ref"


@pytest.mark.parametrize("whole", [True, False])
def test_the_id_of_a_tag_stands_for_its_commit_and_ids_may_be_in_capitals(yard: Yard, *, whole: bool) -> None:
    origin = yard.person("toy")
    commit = origin.commit({"version.txt": "1.0\n"})
    git(origin.folder, "tag", "-a", "-m", "t", "v1.0")
    tag = git(origin.folder, "rev-parse", "v1.0")
    assert tag != commit
    found = yard.lock(origin, tag, whole=whole)
    assert (found.ref, found.ref_is, found.commit) == (tag, "commit", commit)
    found = yard.lock(origin, commit.upper(), whole=whole)
    assert (found.ref, found.commit) == (commit, commit)


def test_an_unknown_ref_names_the_origin_and_close_refs(yard: Yard) -> None:
    origin = yard.person("toy")
    origin.commit({"version.txt": "1.0\n"})
    for branch in ("release/2.6", "release/2.7", "unlike"):
        git(origin.folder, "branch", branch)
    with pytest.raises(HipwrightError, match=r"has no branch, tag or commit 'relase/2\.6'") as caught:
        yard.lock(origin, "relase/2.6")
    assert caught.value.code.name == "unknown-ref"
    assert str(origin.folder) in caught.value.message
    assert "release/2.6, release/2.7" in str(caught.value.hint)
    assert "unlike" not in str(caught.value.hint)
    git(origin.folder, "tag", "release/2.6")
    with pytest.raises(HipwrightError) as caught:
        yard.lock(origin, "relase/2.6")
    assert str(caught.value.hint).count("release/2.6") == 1
    with pytest.raises(HipwrightError) as caught:
        yard.lock(origin, head(origin.folder)[:12])
    assert "40 digits" in str(caught.value.hint)
    with pytest.raises(HipwrightError, match=f"has no commit {'1' * 40}") as caught:
        yard.lock(origin, "1" * 40)
    assert caught.value.code.name == "unknown-ref"


def test_an_origin_that_cannot_be_read_is_told_from_an_unknown_ref(yard: Yard) -> None:
    origin = yard.person("toy")
    commit = origin.commit({"version.txt": "1.0\n"})
    origin.folder.rename(origin.folder.with_name("gone"))
    for ref in ("main", commit):
        with pytest.raises(HipwrightError, match="cannot be read") as caught:
            yard.lock(origin, ref)
        assert caught.value.code.name == "origin-unreachable"
        assert "does not appear to be a git repository" in str(caught.value.excerpt)


@pytest.mark.parametrize(
    ("tree", "words"),
    [({"a": "b"}, "no file version.txt"), ({"version.txt": "1\n2\n"}, "one line"), ({"version.txt": "\n"}, "one line")],
)
def test_a_tree_without_a_version_is_no_source_tree(yard: Yard, tree: dict[str, str | bytes], words: str) -> None:
    origin = yard.person("toy")
    origin.commit(tree)
    with pytest.raises(HipwrightError, match=words) as caught:
        yard.lock(origin)
    assert caught.value.code.name == "bad-source-tree"
    assert yard.lock(origin, version={"fixed": "3.0"}).base_version == "3.0"


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (b"1.0\xff\n", "bad-source-tree", "no UTF-8 text"),
        (b"\xff\xfe1\x00.\x000\x00", "bad-source-tree", "no UTF-8 text"),
        (b"1.0\x00\n", "bad-version", "no version"),
        (b"banana\n", "bad-version", "'banana': no version"),
        (b"<<<<<<< HEAD\n", "bad-version", "no version"),
        (b"1.0+rocm+x\n", "bad-version", "no version"),
    ],
)
def test_a_version_that_is_none_stops_the_lock(yard: Yard, content: bytes, code: str, words: str) -> None:
    origin = yard.person("toy")
    commit = origin.commit({"version.txt": content})
    with pytest.raises(HipwrightError, match=words) as caught:
        yard.lock(origin)
    assert caught.value.code.name == code
    assert str(caught.value.where) == f"version.txt, key commit {commit}"


SETUP = """from setuptools import setup
VERSION = "2.9"
setup(name="toy", version="3.2.0" + suffix())
"""


def test_a_pattern_finds_the_one_line_that_says_the_version(yard: Yard) -> None:
    origin = yard.person("toy")
    origin.commit({"setup.py": f"\n\n{SETUP}", "none.py": "x = 1\n", "empty.py": 'version=""\n'})
    for pattern, found in ((r'version="([^"]+)"', "3.2.0"), (r'^VERSION = "(.*)"$', "2.9")):
        assert yard.lock(origin, version={"file": "setup.py", "pattern": pattern}).base_version == found
    for name, pattern, words in (
        ("setup.py", r'(?i)version ?= ?"([^"]+)"', "lines 4, 5 fit"),
        ("none.py", r'version="([^"]+)"', "no line fits"),
        ("empty.py", r'version="([^"]*)"', "line 1 fits without a version"),
    ):
        with pytest.raises(HipwrightError, match=words) as caught:
            yard.lock(origin, version={"file": name, "pattern": pattern})
        assert caught.value.code.name == "bad-source-tree"
        assert str(caught.value.where).startswith(name)
        assert pattern in caught.value.message
    with pytest.raises(HipwrightError, match="'x': no version") as caught:
        yard.lock(origin, version={"file": "none.py", "pattern": "(x)"})
    assert caught.value.code.name == "bad-version"


def test_a_version_file_that_is_a_link_stops_the_lock(yard: Yard) -> None:
    origin = yard.person("toy")
    origin.folder.joinpath("version.txt").symlink_to("1.0")
    commit = origin.commit({"1.0": "1.0\n"})
    with pytest.raises(HipwrightError, match="is a link") as caught:
        yard.lock(origin)
    assert caught.value.code.name == "bad-source-tree"
    assert commit in str(caught.value.where)


def test_a_fixed_version_that_is_none_stops_the_lock(yard: Yard) -> None:
    origin = yard.person("toy")
    origin.commit({"a": "a"})
    with pytest.raises(HipwrightError, match="'soon': no version") as caught:
        yard.lock(origin, version={"fixed": "soon"})
    assert (caught.value.code.name, str(caught.value.where)) == ("bad-version", "project.toml, key version.fixed")


def test_submodules_are_pinned_recursively_with_their_resolved_addresses(yard: Yard) -> None:
    deep, middle, origin = yard.person("deep"), yard.person("mid dle"), yard.person("toy")
    deep_commit = deep.commit({"c": "c"})
    middle.submodule(deep, "dé\neper/deep", url="../deep", name="deep")
    middle_commit = head(middle.folder)
    origin.commit({"version.txt": "1.0\n"})
    origin.submodule(middle, "third party/middle", url="../mid dle")
    origin.submodule(deep, "again")
    locked = yard.lock(origin)
    assert [(pin.path, pin.url, pin.commit) for pin in locked.submodules] == [
        ("again", str(deep.folder), deep_commit),
        ("third party/middle", str(middle.folder), middle_commit),
        ("third party/middle/dé\neper/deep", str(deep.folder), deep_commit),
    ]


def test_a_submodule_commit_that_its_address_lacks_is_named_with_its_parent(yard: Yard) -> None:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"a": "a"})
    origin.commit({"version.txt": "1.0\n"})
    parent = origin.submodule(lib, "third_party/lib")
    lost = head(lib.folder)
    git(lib.folder, "commit", "--amend", "--quiet", "-m", "rewritten")
    git(lib.folder, "reflog", "expire", "--expire=now", "--all")
    git(lib.folder, "gc", "--quiet", "--prune=now")
    with pytest.raises(HipwrightError) as caught:
        yard.lock(origin)
    assert caught.value.code.name == "submodule-commit-missing"
    for part in ("third_party/lib", lost, str(lib.folder), parent):
        assert part in caught.value.message


def test_a_submodule_without_an_address_is_named(yard: Yard) -> None:
    origin = yard.person("toy")
    origin.commit({"version.txt": "1.0\n", ".gitmodules": ""})
    git(origin.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lost")
    git(origin.folder, "commit", "--quiet", "-m", "lost")
    with pytest.raises(HipwrightError, match="lost is recorded as a submodule") as caught:
        yard.lock(origin)
    assert caught.value.code.name == "bad-source-tree"


@pytest.mark.parametrize("name", ["../../evil", "a/../../b", "/outside/evil", "C:evil", "a//b", "./a", "\\\\\\\\host\\\\share"])
def test_submodule_names_that_leave_the_repository_are_refused(yard: Yard, name: str) -> None:
    origin = yard.person("toy")
    origin.commit({"version.txt": "1.0\n", ".gitmodules": f'[submodule "{name}"]\n\tpath = lib\n\turl = /x\n'})
    git(origin.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    git(origin.folder, "commit", "--quiet", "-m", "evil")
    with pytest.raises(HipwrightError, match="unsafe name") as caught:
        yard.lock(origin)
    assert caught.value.code.name == "bad-source-tree"


def test_submodules_whose_repositories_would_lie_in_each_other_are_refused(yard: Yard) -> None:
    origin = yard.person("toy")
    sections = "".join(f'[submodule "{name}"]\n\tpath = {path}\n\turl = /x\n' for name, path in (("m", "one"), ("m/refs", "two")))
    origin.commit({"version.txt": "1.0\n", ".gitmodules": sections})
    for path in ("one", "two"):
        git(origin.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{path}")
    git(origin.folder, "commit", "--quiet", "-m", "evil")
    with pytest.raises(HipwrightError, match="m/refs would lie inside that of m") as caught:
        yard.lock(origin)
    assert caught.value.code.name == "bad-source-tree"


def test_what_was_fetched_once_is_not_fetched_again(yard: Yard) -> None:
    origin = yard.person("toy")
    commit = origin.commit({"version.txt": "1.0\n"})
    yard.lock(origin)
    yard.said.clear()
    origin.folder.rename(origin.folder.with_name("gone"))
    mirror_of(str(origin.folder), cache=yard.cache, git=yard.git, say=yard.said.append).fetch(CommitId(commit))
    assert yard.said == []


def test_a_mirror_follows_branches_that_are_rewritten_or_change_into_folders(yard: Yard) -> None:
    origin = yard.person("toy")
    origin.commit({"version.txt": "1.0\n"})
    git(origin.folder, "branch", "release")
    yard.lock(origin, "release")
    git(origin.folder, "branch", "-D", "release")
    git(origin.folder, "branch", "release/1.0")
    git(origin.folder, "commit", "--amend", "--quiet", "-m", "rewritten")
    git(origin.folder, "branch", "--force", "release/1.0", "main")
    assert yard.lock(origin, "release/1.0").commit == head(origin.folder)
    git(origin.folder, "branch", "-D", "release/1.0")
    git(origin.folder, "branch", "release")
    assert yard.lock(origin, "release").commit == head(origin.folder)


def test_many_at_once_share_one_mirror(yard: Yard) -> None:
    origin = yard.person("toy")
    for number in range(3):
        origin.commit({"version.txt": f"1.{number}\n"})
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(yard.lock(origin).commit)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [head(origin.folder)] * 4
    mirrors = [path for path in (yard.cache / "git").iterdir() if path.is_dir()]
    assert len(mirrors) == 1
    raw(mirrors[0], "fsck", "--strict")


def test_one_origin_has_one_mirror_however_its_address_ends(yard: Yard) -> None:
    def folder(url: str) -> str:
        return mirror_of(url, cache=yard.cache, git=yard.git, say=yard.said.append).folder.name

    ways = (
        "https://host.example/o/a",
        "https://host.example/o/a/",
        "https://host.example/o/a.git",
        "https://host.example/o/a.git/",
    )
    assert len({folder(url) for url in ways}) == 1
    others = (ways[0], "https://host.example/o/a/.git", "https://host.example/a", "https://host.example/o/a.gitx")
    assert len({folder(url) for url in others}) == len(others)


@pytest.mark.parametrize("path", ["..", "lib/..", ".git", ".GIT/lib", "lib/git~1", ".git ", "a\\..\\b"])
def test_submodules_that_lead_out_of_the_tree_are_refused(yard: Yard, path: str) -> None:
    lib, origin = yard.person("lib"), yard.person("toy")
    commit = lib.commit({"lib.txt": "lib\n"})
    origin.commit({"version.txt": "1.0\n", ".gitmodules": f'[submodule "lib"]\n\tpath = "{path}"\n\turl = {lib.folder}\n'})
    tree = git(origin.folder, "rev-parse", "HEAD^{tree}")
    listed = raw(origin.folder, "ls-tree", "-z", tree)
    for depth, part in enumerate(reversed(path.split("/"))):
        own = f"{'160000 commit' if depth == 0 else '040000 tree'} {commit if depth == 0 else tree}\t{part}\0".encode()
        beside = listed if depth == path.count("/") else b""
        tree = (
            subprocess.run(["git", "mktree", "-z"], cwd=origin.folder, input=beside + own, capture_output=True, check=True)
            .stdout.decode()
            .strip()
        )
    git(origin.folder, "update-ref", "refs/heads/main", git(origin.folder, "commit-tree", tree, "-m", "x"))
    with pytest.raises(HipwrightError, match="leads out of the tree or into git's own files") as caught:
        yard.lock(origin)
    assert caught.value.code.name == "bad-source-tree"


def test_two_origins_with_the_same_last_name_have_two_mirrors(yard: Yard) -> None:
    one, two = yard.person("a/toy"), yard.person("b/toy")
    one.commit({"version.txt": "1.0\n"})
    two.commit({"version.txt": "2.0\n"})
    assert [yard.lock(origin).base_version for origin in (one, two)] == ["1.0", "2.0"]
