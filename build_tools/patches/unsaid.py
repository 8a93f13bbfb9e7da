"""Commits that no patch can say, and histories that lost what the stages made: why, and the command that helps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.patches.commits import Commit, read_commits
from build_tools.patches.mail import body_faults
from build_tools.process import printable
from build_tools.shown import shown
from build_tools.sources.contents import GITLINK
from build_tools.sources.kept import kept_by_tag
from build_tools.sources.modules import MARKERS, ROOT
from build_tools.sources.told import called, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.sources.modules import Module
    from build_tools.types import CommitId

__all__ = ["Refusal", "anew", "is_merge", "is_nothing", "is_submodule_move", "lost_marker", "refused", "stage_commit", "unsaid"]

_LINES: Final = 20
_LIST: Final = b".gitmodules"
_ABSENT: Final = b"000000"
_DAY: Final = 86400
_LAST: Final = 253402300799
"""The last second of the year 9999."""

_ZONES: Final = 1400
"""The widest zone that ``git fast-import`` takes, as it is written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A commit that no patch can say: which, why, and the command that helps."""

    module: Module
    commit: Commit
    what: str
    hint: str

    @property
    def line(self) -> str:
        """The refusal as a sentence."""
        return f"{called(self.module.path)}: commit {self.commit.label} {self.what}"


def is_merge(module: Module, commit: Commit, *, start: CommitId) -> Refusal:
    """Return the refusal of a merge; ``start`` is the commit that a module's patches begin from."""
    hint = f"make its commits a line: {_git(module, 'rebase', start)}"
    return Refusal(module=module, commit=commit, what="is a merge, and a patch has one parent", hint=hint)


def is_nothing(module: Module, commit: Commit) -> Refusal:
    """Return the refusal of a commit that changes nothing."""
    return Refusal(module=module, commit=commit, what="changes nothing", hint=_dropped(module, commit))


def stage_commit(module: Module, commit: Commit) -> Refusal:
    """Return the refusal of a stage's own commit into which a person has put changes."""
    what = "is one that hipwright made, and holds changes of yours"
    if commit.id == module.store.head():
        apart = f"{_git(module, 'reset', '--soft', f'{MARKERS}finished')} && {_git(module, 'commit')}"
        return Refusal(module=module, commit=commit, what=what, hint=f"make the changes a commit of their own: {apart}")
    hint = f"make the changes a commit of their own, where it is picked: {_at(module, commit)}"
    return Refusal(module=module, commit=commit, what=what, hint=hint)


def is_submodule_move(module: Module, commit: Commit, paths: Iterable[bytes]) -> Refusal:
    """Return the refusal of a hipified commit that moves submodules."""
    moved = sorted(paths)
    names = ", ".join(shown(path) for path in moved)
    what = f"moves the submodule {names}, which only a base patch can do: hipify has read the submodules as they are"
    change, name = commit.changes[moved[0]], moved[0].decode("utf-8", "surrogateescape")
    back = _git(module, "update-index", "--add", "--cacheinfo", f"160000,{change.old},{name}")
    if change.old_mode != GITLINK:
        what = f"adds the submodule {names}, which only a base patch can do: hipify has read the submodules as they are"
        back = _git(module, "rm", "--cached", "--force", "--quiet", name)
    elif change.new_mode != GITLINK:
        what = f"removes the submodule {names}, which only a base patch can do: hipify has read the submodules as they are"
    if _LIST in commit.changes:
        back += f" && {_list_back(module, commit)}"
    if change.old_mode != GITLINK and commit.changes.keys() <= {*moved, _LIST}:
        # Without it, nothing is left of the commit; the folder stays, and is the person's.
        return Refusal(module=module, commit=commit, what=what, hint=_dropped(module, commit))
    line = f"{back} && {_git(module, 'commit', '--amend', '--no-edit')}"
    if commit.id == module.store.head():
        hint = f"take it out of the commit: {line}"
    else:
        hint = f"take it out of the commit, where {_at(module, commit)} stops for an edit: {line}"
    return Refusal(module=module, commit=commit, what=what, hint=hint)


def _list_back(module: Module, commit: Commit) -> str:
    """Return the command that takes a commit's change of the list of submodules back."""
    name = _LIST.decode()
    if commit.changes[_LIST].old_mode == _ABSENT:
        return _git(module, "rm", "--force", "--quiet", name)
    return _git(module, "checkout", f"{commit.id}~1", "--", name)


def _dropped(module: Module, commit: Commit) -> str:
    if commit.id == module.store.head():
        return f"take it out: {_git(module, 'rebase', '--onto', f'{commit.id}~1', commit.id)}"
    return f"take it out, by its line there: {_at(module, commit)}"


def unsaid(module: Module, commit: Commit) -> Refusal | None:
    """Return the refusal of a commit whose message a patch cannot say, as its mail is read; None when it says all."""
    if not _has_date(commit):
        seconds, zone = commit.when
        odd = f"has an author date that no mail keeps, {seconds} {zone}"
        return Refusal(module=module, commit=commit, what=odd, hint=anew(module, commit, "--no-edit", "--date=now"))
    what = _unsaid(commit)
    if what is None:
        return None
    if commit.id == module.store.head():
        hint = f"say it otherwise: {_git(module, 'commit', '--amend')}"
    else:
        hint = f"say it otherwise, where it is picked, with reword: {_at(module, commit)}"
    return Refusal(module=module, commit=commit, what=what, hint=hint)


def _has_date(commit: Commit) -> bool:
    """Return whether mail and git's importer take an author date: years have four digits, and zones end at 14 hours."""
    seconds, zone = commit.when
    return _DAY <= seconds <= _LAST - _DAY and abs(int(zone)) <= _ZONES


def anew(module: Module, commit: Commit, *words: str) -> str:
    """Return how a commit is made anew, with further words for ``git commit --amend``, for people."""
    amend = _git(module, "commit", "--amend", *words)
    if commit.id == module.store.head():
        return f"make it anew: {amend}"
    return (
        f"make it anew, with edit where it is picked: {_at(module, commit)} && {amend} && {_git(module, 'rebase', '--continue')}"
    )


def _unsaid(commit: Commit) -> str | None:
    """Return what of a commit's message a patch cannot say, as its mail is read; None when it says all."""
    first = commit.message.lstrip(b"\n").partition(b"\n\n")[0].rstrip(b"\n")
    if not commit.subject.strip():
        return "has no subject"
    if commit.subject != commit.subject.strip():
        return "has a subject with blanks around it, which no mail keeps"
    if b"\n" in first:
        return "has a subject that goes on in a second line: a blank line must end it"
    fault = next(body_faults(commit.body.encode("utf-8", "surrogateescape").split(b"\n")), None)
    return None if fault is None else f"has a message that does not survive: {fault.message}"


def _git(module: Module, *words: str) -> str:
    return printable(["git", "-C", str(module.folder), *words])


def _at(module: Module, commit: Commit) -> str:
    return _git(module, "rebase", "--interactive", f"{commit.id}~1")


def lost_marker(module: Module, name: str, commit: CommitId, head: CommitId, *, until_base: str) -> HipwrightError:
    """Return the error of a history without one of the markers, with the way back that fits how it came about.

    Parameters
    ----------
    module
        The module.
    name, commit
        The marker.
    head
        The module's HEAD.
    until_base
        The command that checks the tree out up to the base patches, for the hint.
    """
    marker = f"{MARKERS}{name}"
    what = {"upstream": "its upstream commit", "base": "its base patches as they were applied", "hipified": "what hipify made"}[
        name
    ]
    message = (
        f"the history of {called(module.path)} no longer holds {what}: {marker} ({commit[:12]}) is not below HEAD ({head[:12]})"
    )
    hint = _way_back(module, name, head, until_base)
    return HipwrightError("marker-lost", message, where=_place(module), hint=hint)


def _way_back(module: Module, name: str, head: CommitId, until_base: str) -> str:
    """Return the way back from a history without a marker; whatever is in the history and nowhere else is kept."""
    finished = f"{MARKERS}finished"
    tag, keep = kept_by_tag(module)
    back = _git(module, "checkout", "--detach", finished)
    fork = module.store.capture("merge-base", head, f"{MARKERS}{name}", check=False).text
    if not fork:
        return f"keep your commits, and go back to what the stages made: {keep} && {back}"
    above = read_commits(module.store, [f"{fork}..{head}"])
    if not above:
        return f"go back to what the stages made: {back}"
    if len(above) == 1 and above[0].is_ours and name != "upstream":
        way = f"{_git(module, 'reset', '--soft', finished)} && {_git(module, 'commit')}"
        return f"the stages' own commit was amended; make the change a commit of its own: {way}"
    for made in (finished, f"{MARKERS}hipified"):
        own = read_commits(module.store, [f"{fork}..{made}"])
        if own and [_says(one) for one in above[: len(own)]] == [_says(one) for one in own]:
            # The stages' commits as they were, committed anew.
            if above[len(own) :]:
                return f"put your commits back on top of what the stages made: {_git(module, 'rebase', '--onto', made, above[len(own) - 1].id)}"
            return f"go back to what the stages made, which is the same: {_git(module, 'checkout', '--detach', made)}"
    if not any(one.is_ours for one in above):
        rebase = _git(module, "rebase", "--onto", finished, fork)
        return f"keep your commits, and put them back on top of what the stages made: {keep} && {rebase}"
    below = _below_hipify(module, above) if name != "upstream" else None
    if below is not None:
        go = _git(module, "checkout", "--detach", below)
        return (
            f"commits below the stages' own were changed, and such changes are base patches: {keep} && {until_base} && {go}; "
            f"save, check out as before, and what is missing then is kept in the tag {tag}"
        )
    return (
        f"commits that the stages made were changed; keep them, and begin anew: {keep} && {until_base}; "
        f"then make your changes there again: {_git(module, 'log', '--patch', f'{fork}..{tag}')}"
    )


def _says(commit: Commit) -> tuple[str, bytes, bytes]:
    return commit.tree, commit.message, commit.author


def _below_hipify(module: Module, commits: Sequence[Commit]) -> CommitId | None:
    """Return the commit below the one that is hipify's, as far as one of a history is that, and others lie below."""
    base, hipified = (module.store.commit_of(f"{MARKERS}{name}") for name in ("base", "hipified"))
    if base == hipified:
        return None
    (own,) = read_commits(module.store, [f"{hipified}~1..{hipified}"])
    return next((below.id for below, one in itertools.pairwise(commits) if one.message == own.message), None)


def _place(module: Module) -> Where:
    """Return where to look: the root needs no name besides its folder."""
    return Where(file=module.folder, module=None if module.path == ROOT else module.path)


def refused(refusals: Iterable[Refusal]) -> HipwrightError:
    """Return the error of commits that no patch can say."""
    first, *others = refusals
    lines = shortened([one.line for one in (first, *others)], _LINES)
    return HipwrightError(
        "bad-commit", first.line, where=_place(first.module), hint=first.hint, excerpt="\n".join(lines) if others else None
    )
