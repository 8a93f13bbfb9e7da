"""What is fetched and how: as little as answers a question, again where a failure can pass, and never half."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.contents import read_file
from build_tools.sources.mirror import WHOLE, History, Mirror, mirror_of
from build_tools.sources.origin import Origin, open_origin
from build_tools.sources.resolve import resolve_sources
from build_tools.types import CommitId
from tests.support.git_server import Failure, serving_git
from tests.support.serving import serving
from tests.support.source_trees import Person, Yard, git, head, new_git, snapshot, status, write
from tests.support.warm_python import run_python

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.receipts.lock import LockedSources

BIG = "a line of a big file\n" * 5000


def resolve(
    yard: Yard,
    url: str,
    ref: str | None = "main",
    *,
    commit: str | None = None,
    whole: bool = True,
    urls: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> LockedSources:
    return resolve_sources(
        yard.project(),
        origin=Origin(url=url, git=yard.git),
        ref=ref,
        commit=None if commit is None else CommitId(commit),
        reason="asked for",
        submodule_urls=urls,
        cache=yard.cache,
        say=yard.said.append,
        progress=progress,
        whole=whole,
    )


def with_history(yard: Yard, name: str = "toy") -> Person:
    """Return an origin with four commits and files of which only some matter."""
    origin = yard.person(name)
    for number in range(4):
        origin.commit({"version.txt": f"1.{number}\n", "big.txt": BIG + str(number), "old.txt": f"{number}\n"})
    return origin


def mirror(yard: Yard, url: str, history: History = WHOLE) -> Mirror:
    return mirror_of(url, cache=yard.cache, git=yard.git, say=yard.said.append, history=history)


def mirrors(yard: Yard) -> list[str]:
    """Return what kinds of mirrors there are, without the digests of their origins' addresses."""
    names = [path.name.split("-") for path in (yard.cache / "git").iterdir() if path.is_dir()]
    return sorted(f"{name[0]}.{rest[16:].strip('.')}" for name, rest in ((parts, "-".join(parts[1:])) for parts in names))


def missing(repository: Path, commit: str) -> int:
    """Return how many of a commit's objects a repository lacks."""
    listed = git(repository, "rev-list", "--objects", "--no-walk", "--missing=print", commit)
    return sum(line.startswith("?") for line in listed.splitlines())


def commits(repository: Path, commit: str) -> int:
    return int(git(repository, "rev-list", "--count", commit))


@pytest.mark.parametrize("filters", ["true", "false"])
def test_locking_alone_brings_no_history_and_only_the_files_that_it_reads(yard: Yard, filters: str) -> None:
    origin, lib = with_history(yard), with_history(yard, "lib")
    origin.submodule(lib, "third_party/lib", url=f"file://{lib.folder}")
    for person in (origin, lib):
        git(person.folder, "config", "uploadpack.allowFilter", filters)
    commit = head(origin.folder)
    url = f"file://{origin.folder}"
    locked = resolve(yard, url, whole=False)
    assert (locked.commit, locked.base_version) == (commit, "1.3")
    assert locked.tree == git(origin.folder, "rev-parse", "HEAD^{tree}")
    assert [(pin.path, pin.commit) for pin in locked.submodules] == [("third_party/lib", head(lib.folder))]
    assert mirrors(yard) == ["lib.facts.git", "toy.facts.git"]
    for facts, wanted, lacks in (
        (mirror(yard, url).facts(CommitId(commit)), commit, 2),
        (mirror(yard, f"file://{lib.folder}").facts(locked.submodules[0].commit), locked.submodules[0].commit, 3),
    ):
        assert commits(facts.folder, wanted) == 1
        # The whole files where the server leaves none out.
        assert missing(facts.folder, wanted) == (lacks if filters == "true" else 0)
    assert resolve(yard, url, whole=True) == locked
    assert mirrors(yard) == ["lib.facts.git", "lib.git", "toy.facts.git", "toy.git"]


def test_a_mirror_that_has_the_commit_answers_without_any_fetch(yard: Yard) -> None:
    origin = with_history(yard)
    locked = resolve(yard, str(origin.folder))
    yard.said.clear()
    origin.folder.rename(origin.folder.with_name("gone"))
    facts = mirror(yard, str(origin.folder)).facts(locked.commit)
    assert read_file(facts, locked.commit, "old.txt") == b"3\n"
    assert (yard.said, mirrors(yard)) == ([], ["toy.git"])


def test_a_plain_file_server_is_read_as_a_whole(yard: Yard) -> None:
    origin = with_history(yard)
    git(origin.folder, "update-server-info")
    with serving(yard.place / "origins") as url:
        locked = resolve(yard, f"{url}toy/.git", whole=False)
        assert (locked.commit, locked.base_version) == (head(origin.folder), "1.3")
        with pytest.raises(HipwrightError, match="as a whole only") as caught:
            mirror(yard, f"{url}toy/.git", History(depth=1)).fetch(locked.commit, ref="refs/heads/main")
        assert caught.value.code.name == "origin-unreachable"
        assert "--depth" in str(caught.value.hint)


def test_a_server_that_takes_no_commit_ids_is_read_as_a_whole(yard: Yard) -> None:
    origin = with_history(yard)
    earlier = git(origin.folder, "rev-parse", "HEAD~2")
    with serving_git(yard.place / "origins") as server:
        server.old = True
        assert resolve(yard, f"{server.url}toy", earlier, whole=False).base_version == "1.1"
        with pytest.raises(HipwrightError, match=f"has no commit {'1' * 40}") as caught:
            resolve(yard, f"{server.url}toy", "1" * 40, whole=False)
        assert caught.value.code.name == "unknown-ref"


@pytest.mark.parametrize(
    "history", [WHOLE, History(depth=1), History(depth=9), History(partial=True)], ids=lambda history: history.suffix
)
def test_an_origin_may_be_a_shallow_clone(yard: Yard, history: History) -> None:
    origin, shallow = with_history(yard), yard.place / "origins" / "shallow"
    git(yard.place, "clone", "--quiet", "--depth", "2", f"file://{origin.folder}", shallow)
    tree = yard.place / "src" / "toy"
    for _ in range(2):
        locked = resolve(yard, str(shallow), whole=False)
        assert locked.base_version == git(shallow, "show", "HEAD:version.txt")
        yard.checkout(locked, tree, history=history)
        assert commits(tree, "HEAD") >= min(history.depth or 2, 2)
        assert missing(tree, "HEAD") == 0
        assert status(tree) == b""
        origin.commit({"version.txt": "2.0\n"})
        git(shallow, "fetch", "--quiet", "--depth", "2", "origin", "+main:main", "--update-head-ok")


def test_files_that_cannot_be_fetched_as_they_are_read_are_not_taken_for_absent(yard: Yard) -> None:
    origin = with_history(yard)
    commit = CommitId(head(origin.folder))
    git(origin.folder, "config", "uploadpack.allowFilter", "true")
    pauses: list[float] = []
    yard.git = new_git(pauses=pauses)
    with serving_git(yard.place / "origins") as server:
        facts = mirror(yard, f"{server.url}toy").facts(commit)
        server.failures = [503]
        assert read_file(facts, commit, "old.txt") == b"3\n"
        assert len(pauses) == 1
        assert read_file(facts, commit, "none.txt") is None
        server.failures = [403]
        with pytest.raises(HipwrightError, match="cannot be read") as caught:
            read_file(facts, commit, "big.txt")
        assert caught.value.code.name == "origin-unreachable"
        assert "403" in str(caught.value.excerpt)
        assert len(pauses) == 1


FAILING = """#!/bin/sh
case "$1" in
  ls-remote|fetch)
    n=$(($(cat '{place}/count') - 1))
    if [ "$n" -ge 0 ]; then
      echo $n > '{place}/count'
      cat '{place}/words' >&2
      exit 128
    fi;;
esac
exec '{git}' "$@"
"""


def failing(yard: Yard, times: int, words: str) -> list[float]:
    """Make the yard's git fail at the network so many times with these words; return the pauses that are made."""
    place = yard.place / "bin"
    write(place, {"count": str(times), "words": words, "git": FAILING.format(place=place, git=shutil.which("git"))})
    (place / "git").chmod(0o755)
    pauses: list[float] = []
    yard.git = new_git({**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}, pauses=pauses)
    return pauses


HICCUP = "fatal: unable to access 'https://host.example/': Failed to connect to host.example port 443: Connection refused\n"
NO_REF = f"fatal: remote error: upload-pack: not our ref {'1' * 40}\n"


@pytest.mark.parametrize("whole", [True, False])
def test_network_failures_are_tried_again_with_numbers_and_reasons(yard: Yard, whole: bool) -> None:  # noqa: FBT001
    origin = with_history(yard)
    pauses = failing(yard, 3, HICCUP)
    assert resolve(yard, str(origin.folder), whole=whole).base_version == "1.3"
    assert len(pauses) == 3
    told = [line for line in yard.said if "attempt" in line]
    assert [line.split(" to reach ")[0] for line in told] == ["attempt 1 of 4", "attempt 2 of 4", "attempt 3 of 4"]
    assert all("Connection refused" in line for line in told)


def test_a_network_that_stays_away_ends_with_the_number_of_attempts(yard: Yard) -> None:
    origin = with_history(yard)
    commit = CommitId(head(origin.folder))
    pauses = failing(yard, 99, HICCUP)
    for ask in (
        lambda: resolve(yard, str(origin.folder)),
        lambda: mirror(yard, str(origin.folder)).fetch(commit, ref="refs/heads/main"),
        lambda: mirror(yard, str(origin.folder)).facts(commit),
    ):
        pauses.clear()
        with pytest.raises(HipwrightError, match="cannot be read: 4 attempts failed") as caught:
            ask()
        assert caught.value.code.name == "origin-unreachable"
        assert len(pauses) == 3


def test_what_no_attempt_changes_is_asked_once(yard: Yard) -> None:
    origin = with_history(yard)
    pauses = failing(yard, 1, NO_REF)
    with pytest.raises(HipwrightError) as caught:
        mirror(yard, str(origin.folder)).fetch(CommitId("1" * 40))
    assert caught.value.code.name == "unknown-ref"
    assert pauses == []


@pytest.mark.parametrize("failure", [408, 429, 500, 503, "hang up", "cut short"])
@pytest.mark.parametrize("before", range(4))
def test_a_server_that_fails_for_a_while_is_asked_again(yard: Yard, failure: Failure, before: int) -> None:
    with_history(yard)
    pauses: list[float] = []
    yard.git = new_git(pauses=pauses)
    with serving_git(yard.place / "origins") as server:
        server.failures = [*[None] * before, failure]
        assert resolve(yard, f"{server.url}toy").base_version == "1.3"
    assert len(pauses) == 1


@pytest.mark.parametrize("failure", [401, 403, 404])
def test_a_server_that_refuses_is_asked_once(yard: Yard, failure: int) -> None:
    with_history(yard)
    pauses: list[float] = []
    yard.git = new_git(pauses=pauses)
    with serving_git(yard.place / "origins") as server:
        server.failures = [failure]
        with pytest.raises(HipwrightError, match="toy cannot be read") as caught:
            resolve(yard, f"{server.url}toy")
        assert caught.value.code.name == "origin-unreachable"
        assert (len(server.asked), pauses) == (1, [])


def test_an_exact_commit_counts_before_where_its_branch_stands_now(yard: Yard) -> None:
    origin = with_history(yard)
    earlier = git(origin.folder, "rev-parse", "HEAD~2")
    for whole in (False, True):
        locked = resolve(yard, str(origin.folder), "main", commit=earlier, whole=whole)
        assert (locked.ref, locked.commit, locked.base_version) == ("main", earlier, "1.1")
    gone = resolve(yard, str(origin.folder), "nightly-of-then", commit=earlier)
    assert (gone.ref, gone.commit) == ("nightly-of-then", earlier)
    assert resolve(yard, str(origin.folder), None, commit=earlier).ref == earlier
    for whole in (False, True):
        with pytest.raises(HipwrightError, match=f"has no commit {'1' * 40}") as caught:
            resolve(yard, str(origin.folder), "main", commit="1" * 40, whole=whole)
        assert caught.value.code.name == "unknown-ref"


def lost_submodule(yard: Yard) -> tuple[Person, Person, str]:
    """Return an origin that records a commit which its submodule's address no longer has, and a repository that still has it."""
    lib, origin, deep = yard.person("lib"), yard.person("toy"), yard.person("deep")
    deep.commit({"d": "d"})
    lib.commit({"a": "a"})
    lib.submodule(deep, "deep")
    origin.commit({"version.txt": "1.0\n"})
    origin.submodule(lib, "third_party/lib")
    lost = head(lib.folder)
    keeper = Person(yard.place / "elsewhere" / "lib")
    git(keeper.folder, "fetch", "--quiet", str(lib.folder), "+main:main", "--update-head-ok")
    git(lib.folder, "commit", "--amend", "--quiet", "-m", "rewritten")
    git(lib.folder, "reflog", "expire", "--expire=now", "--all")
    git(lib.folder, "gc", "--quiet", "--prune=now")
    return origin, keeper, lost


@pytest.mark.parametrize("whole", [True, False])
def test_another_address_for_a_submodule_helps_where_its_own_lacks_the_commit(yard: Yard, whole: bool) -> None:  # noqa: FBT001
    origin, keeper, lost = lost_submodule(yard)
    with pytest.raises(HipwrightError) as caught:
        resolve(yard, str(origin.folder), whole=whole)
    assert caught.value.code.name == "submodule-commit-missing"
    for part in ("third_party/lib", lost, str(yard.place / "origins" / "lib"), head(origin.folder)):
        assert part in caught.value.message
    assert "--toy-submodule-url third_party/lib=URL" in str(caught.value.hint)
    locked = resolve(yard, str(origin.folder), urls={"third_party/lib": str(keeper.folder)}, whole=whole)
    found = {pin.path: (pin.url, pin.commit) for pin in locked.submodules}
    assert found["third_party/lib"] == (str(keeper.folder), lost)
    assert found["third_party/lib/deep"][0] == str(yard.place / "origins" / "deep")
    tree = yard.place / "src" / "toy"
    yard.checkout(locked, tree)
    assert (tree / "third_party" / "lib" / "deep" / "d").read_text() == "d"


def test_relative_submodules_of_an_origin_with_a_password_are_reached_with_it_and_nothing_keeps_it(yard: Yard) -> None:
    lib, origin = yard.person("lib"), yard.person("toy")
    commit = lib.commit({"a": "a"})
    origin.commit({"version.txt": "1.0\n"})
    origin.submodule(lib, "third_party/lib", url="../lib")
    tree = yard.place / "src" / "toy"
    with serving_git(yard.place / "origins") as server:
        server.login = "me:secret-word"
        with_login = server.url.replace("://", f"://{server.login}@")
        yard.git = open_origin(
            yard.project(),
            folder=yard.folder,
            url=f"{with_login}toy",
            sdist=None,
            cache=yard.cache,
            git=yard.git,
            say=yard.said.append,
        ).git
        locked = resolve(yard, f"{server.url}toy")
        yard.checkout(locked, tree)
    assert [(pin.url, pin.commit) for pin in locked.submodules] == [(f"{server.url}lib", commit)]
    assert (tree / "third_party" / "lib" / "a").read_text() == "a"
    configs = [path for path in yard.place.rglob("config") if path.is_file()]
    assert len(configs) > 3
    assert not [path for path in configs if "secret-word" in path.read_text(encoding="utf-8")]


def test_a_password_that_gitmodules_names_is_in_no_lock_and_no_message(yard: Yard) -> None:
    lib, origin = yard.person("lib"), yard.person("toy")
    lib.commit({"a": "a"})
    origin.commit({"version.txt": "1.0\n"})
    with serving_git(yard.place / "origins") as server:
        url = server.url.replace("://", "://me:secret-word@")
        origin.submodule(lib, "lib", url=f"{url}lib/.git")
        assert [pin.url for pin in resolve(yard, f"{server.url}toy/.git").submodules] == [f"{server.url}lib/.git"]
        lib.folder.rename(lib.folder.with_name("away"))
        shutil.rmtree(yard.cache)
        with pytest.raises(HipwrightError) as caught:
            resolve(yard, f"{server.url}toy/.git")
    assert caught.value.where is not None
    assert caught.value.where.module == "lib"
    assert "secret-word" not in f"{caught.value.message} {caught.value.hint} {caught.value.excerpt} {yard.said}"


def test_an_origin_elsewhere_cannot_make_a_submodule_of_what_lies_on_this_machine(yard: Yard) -> None:
    lib, origin = yard.person("lib"), yard.person("toy")
    commit = lib.commit({"a": "a"})
    origin.commit({"version.txt": "1.0\n"})
    origin.submodule(lib, "third_party/lib", url=lib.folder.as_uri())
    assert yard.lock(origin).submodules[0].commit == commit
    with serving_git(yard.place / "origins") as server:
        with pytest.raises(HipwrightError, match="a place on this machine") as caught:
            resolve(yard, f"{server.url}toy/.git")
        assert caught.value.code.name == "bad-source-tree"
        assert lib.folder.as_uri() in caught.value.message
        assert "--toy-submodule-url third_party/lib=URL" in str(caught.value.hint)
        named = resolve(yard, f"{server.url}toy/.git", urls={"third_party/lib": str(lib.folder)})
    assert [(pin.url, pin.commit) for pin in named.submodules] == [(str(lib.folder), commit)]


def test_an_address_for_no_submodule_is_named_with_those_near_it(yard: Yard) -> None:
    origin, keeper, _ = lost_submodule(yard)
    urls = {"third_party/lib": str(keeper.folder), "third_party/lob": "/x"}
    with pytest.raises(HipwrightError, match="no submodule 'third_party/lob'") as caught:
        resolve(yard, str(origin.folder), urls=urls)
    assert caught.value.code.name == "bad-option-value"
    assert "third_party/lib" in str(caught.value.hint)


def test_a_commit_that_appears_between_two_runs_is_found_by_the_second(yard: Yard) -> None:
    origin, keeper, lost = lost_submodule(yard)
    with pytest.raises(HipwrightError, match=lost):
        resolve(yard, str(origin.folder))
    git(yard.place / "origins" / "lib", "fetch", "--quiet", str(keeper.folder), f"{lost}:refs/heads/back")
    locked = resolve(yard, str(origin.folder))
    assert lost in {pin.commit for pin in locked.submodules}


def test_progress_counts_all_levels_in_one_line(yard: Yard) -> None:
    origin, deep = yard.person("toy"), yard.person("deep")
    deep.commit({"d": "d"})
    origin.commit({"version.txt": "1.0\n"})
    for number in range(6):
        lib = yard.person(f"lib{number}")
        lib.commit({"a": str(number)})
        lib.submodule(deep, "deep")
        origin.submodule(lib, f"lib{number}")
    told: list[tuple[str, int, int]] = []
    resolve(yard, str(origin.folder), progress=lambda *now: told.append(now))
    assert told[-1] == ("submodules read", 12, 12)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert {total for _, _, total in told} == {6, 12}
    # One line says what is fetched; the submodules are counted.
    assert [line for line in yard.said if line.startswith("fetching")] == [f"fetching {origin.folder}"]


DEPTHS = [History(depth=1), History(depth=2), History(partial=True), History(depth=2, partial=True)]


@pytest.mark.parametrize("history", DEPTHS, ids=lambda history: history.suffix)
def test_a_tree_of_less_history_is_as_usable_and_needs_no_network_afterwards(yard: Yard, history: History) -> None:
    origin, lib = with_history(yard), with_history(yard, "lib")
    origin.submodule(lib, "lib")
    locked = resolve(yard, str(origin.folder), whole=False)
    tree, usual = yard.place / "src" / "toy", yard.place / "src" / "whole"
    yard.checkout(locked, tree, history=history)
    assert mirrors(yard) == [f"{name}{kind}.git" for name in ("lib", "toy") for kind in sorted((".facts", history.suffix))]
    yard.checkout(locked, usual)
    (yard.place / "origins").rename(yard.place / "gone")
    shutil.rmtree(yard.cache)
    assert snapshot(tree) == snapshot(usual)
    assert status(tree) == b""
    for folder, all_of_them in ((tree, 5), (tree / "lib", 4)):
        assert commits(folder, "HEAD") == (history.depth or all_of_them)
        assert missing(folder, "HEAD") == 0
    assert git(tree, "rev-parse", "origin/main") == locked.commit
    old = git(usual, "rev-parse", "HEAD~3:big.txt")
    had = subprocess.run(["git", "-C", tree, "cat-file", "-e", old], check=False, capture_output=True).returncode == 0
    assert not had
    write(tree, {"old.txt": "changed\n"})
    git(tree, "commit", "--quiet", "--all", "-m", "mine")
    git(tree, "reset", "--quiet", "--hard", "HEAD~1")


@pytest.mark.parametrize("history", DEPTHS, ids=lambda history: history.suffix)
def test_a_tree_of_less_history_moves_on(yard: Yard, history: History) -> None:
    origin, lib = with_history(yard), with_history(yard, "lib")
    origin.submodule(lib, "lib")
    tree = yard.place / "src" / "toy"
    yard.checkout(resolve(yard, str(origin.folder), whole=False), tree, history=history)
    earlier = git(origin.folder, "rev-parse", "HEAD~3")
    for number in range(3):
        origin.commit({"version.txt": f"2.{number}\n", "big.txt": f"other {number}\n"})
    for ref in ("main", earlier, "main"):
        locked = resolve(yard, str(origin.folder), ref, whole=False)
        yard.checkout(locked, tree, history=history)
        assert head(tree) == locked.commit
        assert missing(tree, locked.commit) == 0
        assert status(tree) == b""
    # Without the option, what is fetched is fetched whole.
    origin.commit({"version.txt": "3.0\n"})
    yard.checkout(resolve(yard, str(origin.folder)), tree)
    assert commits(tree, "HEAD") == 9
    assert missing(tree, "HEAD") == 0


@pytest.mark.parametrize("history", DEPTHS, ids=lambda history: history.suffix)
def test_a_whole_tree_stays_whole(yard: Yard, history: History) -> None:
    origin, lib, new = with_history(yard), with_history(yard, "lib"), with_history(yard, "new")
    origin.submodule(lib, "lib")
    tree = yard.place / "src" / "toy"
    yard.checkout(resolve(yard, str(origin.folder)), tree)
    lib.commit({"a": "b"})
    git(origin.folder / "lib", "pull", "--quiet", "origin", "main")
    origin.commit({"version.txt": "2.0\n"})
    origin.submodule(new, "new")
    yard.checkout(resolve(yard, str(origin.folder), whole=False), tree, history=history)
    for folder, number in ((tree, 7), (tree / "lib", 5), (tree / "new", 4)):
        assert commits(folder, "HEAD") == number
        assert not git(folder, "rev-list", "--objects", "--all", "--missing=print").count("\n?")
        git(folder, "fsck", "--connectivity-only")


LEFT = ("packed-refs.lock", "config.lock", "HEAD.lock", "shallow.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_aBcDeF")


@pytest.mark.parametrize("history", [WHOLE, *DEPTHS], ids=lambda history: history.suffix)
def test_what_a_killed_git_left_in_a_mirror_stops_no_fetch(yard: Yard, history: History) -> None:
    origin = with_history(yard)
    place = mirror(yard, str(origin.folder), history)
    place.fetch(CommitId(head(origin.folder)), ref="refs/heads/main")
    write(place.folder, {**dict.fromkeys(LEFT, "left"), "objects/incoming-x/pack/p": "left"})
    commit = origin.commit({"version.txt": "2.0\n"})
    place.fetch(CommitId(commit), ref="refs/heads/main")
    assert git(place.folder, "rev-parse", "refs/heads/main") == commit
    assert not [name for name in LEFT if (place.folder / name).exists()]


def test_commits_that_a_killed_fetch_left_without_their_history_are_fetched_again(yard: Yard) -> None:
    origin = with_history(yard)
    commit = CommitId(head(origin.folder))
    one, other = mirror(yard, f"file://{origin.folder}", History(depth=2)), yard.place / "other"
    one.fetch(CommitId(git(origin.folder, "rev-parse", "HEAD~3")))
    # What git leaves that dies between storing what it got and noting where that ends.
    git(yard.place, "clone", "--quiet", "--depth", "1", f"file://{origin.folder}", other)
    for path in (other / ".git" / "objects" / "pack").iterdir():
        shutil.copy(path, one.folder / "objects" / "pack")
    assert one.repository.has_commit(commit)
    one.fetch(commit, ref="refs/heads/main")
    assert commits(one.folder, commit) == 2
    git(one.folder, "fsck")


@pytest.mark.parametrize("history", [WHOLE, *DEPTHS], ids=lambda history: history.suffix)
def test_a_fetch_is_one_pack_so_that_one_that_is_cut_off_leaves_nothing(yard: Yard, history: History) -> None:
    origin = with_history(yard)
    place = mirror(yard, f"file://{origin.folder}", history)
    place.fetch(CommitId(head(origin.folder)), ref="refs/heads/main")
    assert git(place.folder, "count-objects").startswith("0 objects")


FETCH = """
import sys
from pathlib import Path
from tests.support.source_trees import Yard
from build_tools.sources.mirror import History, mirror_of
yard = Yard(Path(sys.argv[1]))
history = History(depth=int(sys.argv[4]) or None, partial=len(sys.argv) > 5)
mirror_of(sys.argv[2], cache=yard.cache, git=yard.git, say=print, history=history).fetch(sys.argv[3], ref="refs/heads/main")
"""


@pytest.mark.parametrize("depth", [0, 2])
def test_processes_share_a_mirror(yard: Yard, depth: int) -> None:
    origin = with_history(yard)
    commit = head(origin.folder)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", FETCH, str(yard.place), f"file://{origin.folder}", commit, str(depth)]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert sum(f"fetching file://{origin.folder}\n" in text for text in said) == 1
    place = mirror(yard, f"file://{origin.folder}", History(depth=depth or None))
    assert commits(place.folder, commit) == (depth or 4)
    git(place.folder, "fsck", "--strict")


KILLING = """#!/bin/sh
echo "$1" >> '{place}/calls'
if [ "$(wc -l < '{place}/calls')" = '{number}' ]; then
  if [ '{mode}' = after ]; then '{git}' "$@" > /dev/null 2>&1; fi
  kill -9 $PPID
  exit 1
fi
exec '{git}' "$@"
"""


@pytest.mark.skipif(os.name == "nt", reason="a shell script as git")
@pytest.mark.parametrize("words", [("0",), ("2", "partial")], ids=["whole", "part"])
@pytest.mark.parametrize("mode", ["before", "after"])
def test_a_fetch_that_is_killed_at_any_git_is_carried_out_by_the_next(yard: Yard, words: tuple[str, ...], mode: str) -> None:
    origin, bin_folder = with_history(yard), yard.place / "bin"
    git(origin.folder, "config", "uploadpack.allowFilter", "true")
    commit, url = head(origin.folder), f"file://{origin.folder}"
    clone = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": str(clone),
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
    }
    history = History(depth=int(words[0]) or None, partial=len(words) > 1)
    number, status_code = 0, -9
    while status_code == -9:
        number += 1
        shutil.rmtree(yard.cache, ignore_errors=True)
        script = KILLING.format(place=bin_folder, git=shutil.which("git"), number=number, mode=mode)
        write(bin_folder, {"calls": "", "git": script})
        (bin_folder / "git").chmod(0o755)
        command = ["-c", FETCH, str(yard.place), url, commit, *words]
        status_code = run_python(command, clone=clone, cwd=clone, env=environment).returncode
        place = mirror(yard, url, history)
        place.fetch(CommitId(commit), ref="refs/heads/main")
        assert commits(place.folder, commit) == (history.depth or 4)
        assert missing(place.folder, commit) == 0
        git(place.folder, "fsck", "--connectivity-only")
        assert not list((yard.cache / "git").glob("*.partial-*"))
    assert (status_code, number > 4) == (0, True)


def test_an_empty_folder_is_filled_and_not_replaced(yard: Yard) -> None:
    origin = with_history(yard)
    tree = yard.place / "src" / "toy"
    # What a run left that was killed while it filled the folder.
    write(tree, {".git.partial-0a1b/.git/HEAD": "ref: refs/heads/main\n"})
    was = tree.stat().st_ino
    yard.checkout(resolve(yard, str(origin.folder)), tree)
    assert tree.stat().st_ino == was
    assert sorted(path.name for path in tree.iterdir()) == [".git", "big.txt", "old.txt", "version.txt"]
    assert sorted(path.name for path in tree.parent.iterdir()) == ["toy"]
    assert status(tree) == b""


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="file modes do not stop everybody")
def test_a_folder_is_filled_in_one_that_is_not_ours_to_write(yard: Yard) -> None:
    origin = with_history(yard)
    tree = yard.place / "src" / "toy"
    tree.mkdir(parents=True)
    tree.parent.chmod(0o555)
    try:
        yard.checkout(resolve(yard, str(origin.folder)), tree)
    finally:
        tree.parent.chmod(0o755)
    assert status(tree) == b""
