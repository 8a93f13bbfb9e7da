"""Contents of files that a repository of partial history lacks, fetched from its origin when they are wanted.

They are always asked for by name. Left to fetch what it misses by itself, git before 2.45 starts itself over and over when the origin is a
shallow clone, as a checkout of a hosted runner is; ``--depth`` keeps it from looking for what the origin lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.sources.retry import unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from build_tools.sources.git import Repository
    from build_tools.types import CommitId

__all__ = ["bring_files", "bring_objects"]


def bring_files(repository: Repository, commit: CommitId, *, url: str, say: Callable[[str], None]) -> None:
    """Fetch all files of a commit that a repository lacks, in one go.

    Parameters
    ----------
    repository
        The repository; its remote ``origin`` is asked.
    commit
        The commit, which is there.
    url
        The origin's address, for people.
    say
        Takes one line of talk.

    Raises
    ------
    HipwrightError
        ``origin-unreachable``.
    """
    listed = repository.capture("rev-list", "--objects", "--no-walk", "--missing=print", commit).stdout
    missing = [line[1:].decode() for line in listed.splitlines() if line.startswith(b"?")]
    _fetch(repository, missing, url=url, say=say)


def bring_objects(repository: Repository, objects: Iterable[str]) -> None:
    """Fetch objects that a repository lacks, from its ``source``; one without a source lacks none.

    Raises
    ------
    HipwrightError
        ``origin-unreachable``.
    """
    source = repository.source
    if source is not None:
        missing = [name for name in objects if not repository.succeeds("cat-file", "-e", name)]
        _fetch(repository, missing, url=source.url, say=source.say)


def _fetch(repository: Repository, missing: list[str], *, url: str, say: Callable[[str], None]) -> None:
    if not missing:
        return
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", "--filter=blob:none", "--stdin")
    arguments = ("-c", "fetch.negotiationAlgorithm=noop", "fetch", *options, "origin")
    done = repository.ask(*arguments, url=url, say=say, stdin="".join(f"{name}\n" for name in missing).encode())
    if done.returncode != 0:
        raise unreachable(url, done.stderr.decode("utf-8", "replace"))
