"""Moving the real PyTorch tree: fresh checkouts are the same everywhere, edits stop a move, and two releases differ in 41 submodules."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.real_runs import Ran, nox
from tests.support.source_trees import Person, Yard, git, head, identity, new_git, raw, status

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = [pytest.mark.real("ci"), pytest.mark.timeout(900), pytest.mark.xdist_group("real-switch")]

HOSTS = "https://"
NESTED = "https://host.example/nested.git"
MARKERS = ("base", "finished", "hipified", "upstream")


def checkout(place: Path, origin: Path, ref: str = "release/2.6", *words: str) -> Ran:
    options = ("--pytorch-origin", origin, "--pytorch-ref", ref, "--work-dir", place / "work", "--cache-dir", place / "cache")
    return nox("checkout_pytorch", *options, *words, cwd=place)


def markers(tree: Path) -> dict[str, str]:
    lines = git(tree, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/hipwright/").splitlines()
    return {name: commit for name, _, commit in (line.partition(" ") for line in lines) if name in MARKERS}


def plumb(repository: Path, *words: str, index: Path | None = None, given: bytes | None = None) -> str:
    environment = identity() | ({"GIT_INDEX_FILE": str(index)} if index is not None else {})
    done = subprocess.run(["git", *words], cwd=repository, env=environment, input=given, capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.fixture(scope="module")
def origin(inputs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the origin with one tag more, of a commit that changes two files."""
    place = tmp_path_factory.mktemp("origin")
    copy, index = place / "pytorch.git", place / "index"
    git(place, "clone", "--quiet", "--bare", inputs["pytorch-origin"], copy)
    plumb(copy, "read-tree", "release/2.6", index=index)
    for name in ("README.md", "new.txt"):
        blob = plumb(copy, "hash-object", "-w", "--stdin", given=b"another\n")
        plumb(copy, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", index=index)
    tree = plumb(copy, "write-tree", index=index)
    plumb(copy, "tag", "v2.6.1", plumb(copy, "commit-tree", tree, "-p", "release/2.6", "-m", "another"))
    return copy


def test_two_fresh_checkouts_have_the_same_commits_in_all_markers(origin: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "another é place"):
        place = tmp_path / name
        place.mkdir()
        ran = checkout(place, origin)
        assert ran.status == 0, ran.talk
        found.append(markers(place / "work" / "src" / "pytorch"))
    assert found[0].keys() == set(MARKERS)
    assert len(set(found[0].values())) == len(MARKERS), "each phase of this release puts something on top"
    assert found[0] == found[1]


def test_an_edit_stops_a_move_and_is_listed(origin: Path, tmp_path: Path) -> None:
    words = ("--until", "base-patches")
    assert checkout(tmp_path, origin, "release/2.6", *words).status == 0
    tree = tmp_path / "work" / "src" / "pytorch"
    before = markers(tree), head(tree)
    with (tree / "README.md").open("a", encoding="utf-8") as stream:
        stream.write("mine\n")
    (tree / "third_party" / "mine, too.txt").write_text("mine\n", encoding="utf-8")
    (tree / "aten" / "CMakeLists.txt").unlink()
    ran = checkout(tmp_path, origin, "v2.6.1", "--relock", *words)
    assert ran.status != 0
    error = ran.document["error"]
    assert error["code"] == "unsaved-work"
    assert sorted(error["excerpt"].splitlines()) == [
        "deleted aten/CMakeLists.txt",
        "edited README.md",
        "untracked third_party/mine, too.txt",
    ]
    assert (markers(tree), head(tree)) == before
    assert (tree / "README.md").read_text(encoding="utf-8").endswith("mine\n")
    ran = checkout(tmp_path, origin, "v2.6.1", "--relock", "--discard-local", *words)
    assert ran.status == 0, ran.talk
    assert (tree / "README.md").read_text(encoding="utf-8") == "another\n"
    assert git(tree, "status", "--porcelain") == ""
    (bundle,) = (tree / ".git" / "hipwright" / "discarded").iterdir()
    git(tree, "fetch", "--quiet", bundle, "refs/hipwright-discarded/changes:refs/heads/back")
    assert git(tree, "show", "back:README.md").endswith("mine")


def recorded(repository: Path, branch: str) -> dict[str, tuple[str, str]]:
    """Return what a branch's ``.gitmodules`` says: name and address by path."""
    table: dict[str, dict[str, str]] = {}
    listed = raw(repository, "config", "--blob", f"{branch}:.gitmodules", "-z", "--get-regexp", r"^submodule\.")
    for record in listed.decode().rstrip("\0").split("\0"):
        key, _, value = record.partition("\n")
        name, _, variable = key.removeprefix("submodule.").rpartition(".")
        table.setdefault(name, {})[variable] = value
    return {values["path"]: (name, values["url"]) for name, values in table.items()}


def publish(place: Path, url: str, files: Mapping[str, str]) -> Person:
    """Make the repository that an address stands for."""
    person = Person(place / url.removeprefix(HOSTS).rstrip("/"))
    person.commit(files)
    return person


def digests(tree: Path) -> dict[str, str]:
    """Return what each file of a tree is, repositories left out."""
    found = {}
    for folder, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *folders]:
            path = os.path.join(folder, name)  # noqa: PTH118 - as os.walk has them, thousands of times
            key = os.path.relpath(path, tree)
            if os.path.islink(path):  # noqa: PTH114
                found[key] = f"link {os.readlink(path)}"  # noqa: PTH115
            elif os.path.isfile(path) and name != ".git":  # noqa: PTH113
                with open(path, "rb") as stream:  # noqa: PTH123
                    found[key] = f"{os.stat(path).st_mode:o} {hashlib.file_digest(stream, 'sha256').hexdigest()}"  # noqa: PTH116
            elif os.path.isdir(path) and not os.listdir(path):  # noqa: PTH112, PTH208
                found[key] = "an empty folder"
    return found


@pytest.mark.real("real")
def test_switching_between_two_releases_gives_what_fresh_checkouts_give(inputs: dict[str, Path], tmp_path: Path) -> None:
    """1.13.1 records 41 submodules and 2.6.0 none; their repositories are small ones under the addresses that 1.13.1 names."""
    hosted, copy, index = tmp_path / "hosts", tmp_path / "pytorch.git", tmp_path / "index"
    git(tmp_path, "clone", "--quiet", "--bare", inputs["pytorch-origin"], copy)
    modules = recorded(copy, "release/1.13")
    assert len(modules) == 41
    people = {url: publish(hosted, url, {"README.md": f"{url}\n", "include/x.h": "//\n"}) for _, url in modules.values()}
    # One of them has a submodule of its own, as real ones do.
    nested = publish(hosted, NESTED, {"deep.h": "//\n"})
    path, (_, url) = next(iter(modules.items()))
    middle = people[url].record("middle", {"README.md": "x\n"}, {"third_party/nested": ("nested", nested, head(nested.folder))})
    git(people[url].folder, "checkout", "--quiet", "middle")
    text = git(people[url].folder, "show", "HEAD:.gitmodules").replace(str(nested.folder), NESTED)
    middle = people[url].commit({".gitmodules": f"{text}\n"})

    plumb(copy, "read-tree", "release/1.13", index=index)
    for place, (_, address) in modules.items():
        commit = middle if place == path else head(people[address].folder)
        plumb(copy, "update-index", "--add", "--cacheinfo", f"160000,{commit},{place}", index=index)
    tree_id = plumb(copy, "write-tree", index=index)
    recording = plumb(copy, "commit-tree", tree_id, "-p", "release/1.13", "-m", "record the submodules")
    plumb(copy, "update-ref", "refs/heads/release/1.13", recording)

    yard = Yard(tmp_path / "yard", git=new_git().redirected({HOSTS: f"{hosted.as_uri()}/"}))
    yard.place.mkdir()
    upstream = Person(copy, fresh=False)
    locked = {ref: yard.lock(upstream, ref) for ref in ("release/1.13", "release/2.6")}
    assert (len(locked["release/1.13"].submodules), len(locked["release/2.6"].submodules)) == (42, 0)
    assert {pin.url for pin in locked["release/1.13"].submodules} == {url for _, url in modules.values()} | {NESTED}
    wanted = {}
    for ref, one in locked.items():
        fresh = tmp_path / "fresh" / ref
        yard.checkout(one, fresh)
        wanted[ref] = digests(fresh)
        assert status(fresh) == b""
    tree = tmp_path / "work" / "pytorch"
    for ref in ("release/1.13", "release/2.6", "release/1.13", "release/2.6"):
        yard.checkout(locked[ref], tree)
        assert digests(tree) == wanted[ref], ref
        assert head(tree) == locked[ref].commit
        for pin in locked[ref].submodules:
            assert head(tree / pin.path) == pin.commit
            assert git(tree / pin.path, "config", "remote.origin.url") == yard.git.place_of(pin.url)
        assert status(tree) == b""
