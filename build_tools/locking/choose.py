"""Which ref a project gets, and why: what is asked for, else its pins in order, else what the mode of pins says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NoReturn

from build_tools.config.project import CommitFilePin, RelatedCommitsPin, VersionFilePin
from build_tools.errors import HipwrightError, Where
from build_tools.options.commands import COMMANDS
from build_tools.options.render import spelled, to_arguments
from build_tools.process import printable
from build_tools.sources.contents import PLAIN_FILES, entry_at, read_file
from build_tools.sources.mirror import mirror_of
from build_tools.sources.pins import PinFile, branch_for, parse_commit_file, parse_related_commits, parse_version_file
from build_tools.sources.releases import newest_stable, ref_kind
from build_tools.sources.urls import same_place
from build_tools.types import ProjectName
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.config.project import Pin, Project, RefKind
    from build_tools.receipts.lock import LockedProject, Requested
    from build_tools.sources.git import Repository
    from build_tools.types import CommitId
    from build_tools.workplace import Workplace

__all__ = ["PINNED", "Choice", "Chooser", "Stating"]

PINNED: Final = "pinned by "
"""What the reason begins with for what a pin says."""

_NO: Final = frozenset({"", "0", "false", "no", "off"})
_SHORT: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What a project gets: a ref or, with ``commit``, exactly that commit of it; the origin that states it has; and why."""

    ref: str
    reason: str
    commit: CommitId | None = None
    origin: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stating:
    """A project that states pins of others, and what it is locked to."""

    project: Project
    entry: LockedProject

    @property
    def named(self) -> str:
        """The project with its ref and commit, for messages."""
        return f"{self.project.name} at {self.at}"

    @property
    def at(self) -> str:
        """The ref and commit."""
        sources = self.entry.sources
        short = f"commit {sources.commit[:_SHORT]}"
        return short if sources.ref == sources.commit else f"{sources.ref} ({short})"

    @property
    def kind(self) -> RefKind | None:
        """What kind of ref it is locked to."""
        return ref_kind(self.project.refs, self.entry.sources.ref)


@dataclass(frozen=True, kw_only=True)
class Chooser:
    """Chooses refs for the projects of one command; a pin file is read once for all of them.

    Parameters
    ----------
    workplace
        Where and with what.
    stating
        Gives a project that states pins, by its name: locked earlier, or first now.
    """

    workplace: Workplace
    stating: Callable[[ProjectName], Stating]
    _files: dict[tuple[str, str], PinFile | None] = field(default_factory=dict)

    def choose(self, project: Project, requested: Requested) -> Choice:
        """Return what a project gets.

        Raises
        ------
        HipwrightError
            ``no-pin`` when no place states it and one must; ``bad-pin`` when a place cannot be read as one; ``unknown-ref`` when the
            newest stable release is wanted and there is none; what locking a project that states pins raises.
        """
        if requested.commit is not None:
            return Choice(ref=requested.ref or requested.commit, commit=requested.commit, reason="the source manifest names it")
        if requested.ref is not None:
            return Choice(ref=requested.ref, reason="asked for")
        searched = []
        for pin in project.pins:
            found = self._ask(pin, project)
            if isinstance(found, Choice):
                return found
            searched.append(f"{_place(pin, self._row_os(pin))}: {found}")
        if not searched:
            return self._unpinned(project, requested)
        names = dict.fromkeys(pin.project for pin in project.pins if pin.project is not None)
        stating = [self.stating(ProjectName(name)) for name in names]
        if self._pins_required():
            self._refuse(project, stating, searched)
        choice = self._of_the_same_kind(project, requested, stating)
        said = "; ".join(
            [*searched, *(f"pins are kept in {place}: {line}" for place, line in self._kept_elsewhere(project, stating))]
        )
        self.workplace.console.warn(f"no place states the pin of {project.name}, which gets {choice.ref}; looked in {said}")
        return choice

    def _kept_elsewhere(self, project: Project, stating: list[Stating]) -> list[tuple[str, str]]:
        """Return repositories of stating projects that have the pin files, where others were asked, each with the line that asks it."""
        place, found = self.workplace, {}
        for pin in project.pins:
            held_by = pin.held_by if isinstance(pin, RelatedCommitsPin) else None
            asked = next((one for one in stating if one.project.name == pin.project), None)
            if held_by is None or asked is None or same_place(held_by, asked.entry.sources.origin):
                continue
            name = asked.project.name
            if name not in place.settings.dir:
                extra = {"projects": f"{name},{project.name}"}
                words = to_arguments(place.resolved, COMMANDS["lock"], project=None, extra=extra, omit=("origin",))
                words += [*spelled(f"--{name}-origin", held_by), "--relock"]
                found[held_by] = printable([*place.nox, "-s", "lock", "--", *words])
        return list(found.items())

    def _pins_required(self) -> bool:
        asked = self.workplace.settings.pins
        if asked is not None:
            return asked == "require"
        return self.workplace.machine.get("CI", "").strip().lower() not in _NO

    def _ask(self, pin: Pin, project: Project) -> Choice | str:
        """Return what a pin says, or in words why it says nothing."""
        platform = self.workplace.platform.value
        if platform not in pin.platforms:
            return f"speaks for {' and '.join(pin.platforms)} only, and this is {platform}"
        stating = None if pin.project is None else self.stating(ProjectName(pin.project))
        if stating is not None and pin.when is not None and pin.when != stating.kind:
            return f"speaks for {pin.when} refs only, and {stating.named} is {_kind_words(stating.kind)}"
        file = self._file(pin, stating, project)
        if file is None:
            return "there is no such file" if stating is None else f"{stating.at} has no such file"
        return self._read(pin, file, stating)

    def _read(self, pin: Pin, file: PinFile, stating: Stating | None) -> Choice | str:
        by = f"{PINNED}{stating.named}, {file.name}" if stating is not None else f"{PINNED}{file.name} beside project.toml"
        match pin:
            case RelatedCommitsPin():
                system = self._row_os(pin)
                rows = parse_related_commits(file)
                for row in rows:
                    if (row.os, row.project) == (system, pin.row):
                        why = f"{by}, row {row.os}|{row.project}"
                        return Choice(ref=row.branch, commit=row.commit, origin=row.origin, reason=why)
                known = ", ".join(f"{row.os}|{row.project}" for row in rows) or "none"
                return f"has no such row; its rows: {known}"
            case CommitFilePin():
                commit = parse_commit_file(file)
                return Choice(ref=pin.branch or commit, commit=commit, origin=pin.origin, reason=by)
            case VersionFilePin():
                version = parse_version_file(file)
                return Choice(ref=branch_for(pin.branch, version), reason=f"{by} says {version}")

    def _row_os(self, pin: Pin) -> str | None:
        """Return the first field of the rows that count on this platform."""
        if not isinstance(pin, RelatedCommitsPin):
            return None
        return pin.windows if self.workplace.platform.value == "windows" else pin.linux

    def _file(self, pin: Pin, stating: Stating | None, project: Project) -> PinFile | None:
        """Return a pin file, None when there is none."""
        if stating is None:
            path = self.workplace.external_builds / project.name / pin.file
            return PinFile(name=pin.file, of=None, data=path.read_bytes(), path=path) if path.is_file() else None
        key = (stating.project.name, pin.file)
        if key not in self._files:
            self._files[key] = self._file_of(stating, pin.file)
        return self._files[key]

    def _file_of(self, stating: Stating, name: str) -> PinFile | None:
        """Read a file of the project that states pins, at the commit that it is locked to."""
        commit = stating.entry.sources.commit
        repository = self._repository(stating)
        entry = entry_at(repository, commit, name)
        if entry is None:
            return None
        file = PinFile(name=name, of=stating.named, data=b"")
        if entry.mode not in PLAIN_FILES:
            file.refuse(f"{name} of {stating.named} is no plain file")
        data = read_file(repository, commit, name)
        if data is None:
            message = f"{name} of {stating.named} cannot be read from {redact(stating.entry.sources.origin)}"
            raise HipwrightError("origin-unreachable", message, hint="check the network, and try again")
        return PinFile(name=name, of=stating.named, data=data)

    def _repository(self, stating: Stating) -> Repository:
        """Return a repository that has the commit that the project is locked to: a tree of the person's own, or the mirror."""
        place, sources = self.workplace, stating.entry.sources
        git = place.origin(stating.project, stating.entry.requested.origin).git
        own: Path | None = place.settings.dir.get(stating.project.name)
        if own is not None:
            return git.at(own)
        mirror = mirror_of(sources.origin, cache=place.cache, git=git, say=place.console.say)
        return mirror.facts(sources.commit)

    def _unpinned(self, project: Project, requested: Requested) -> Choice:
        """Return what a project without pins gets."""
        if project.refs.default is not None:
            return Choice(ref=project.refs.default, reason="the default of its project.toml")
        if project.refs.release is not None and project.refs.release_tag is not None:
            return self._newest_stable(project, requested)
        return Choice(ref="HEAD", reason="what its origin's HEAD names")

    def _of_the_same_kind(self, project: Project, requested: Requested, stating: list[Stating]) -> Choice:
        """Return what a project gets whose pins say nothing: nightly goes with nightly, everything else with the newest stable release."""
        first = stating[0] if stating else None
        if first is not None and first.kind == "nightly" and project.refs.nightly:
            why = f"no pin names it, and {first.project.name} is at {first.entry.sources.ref}: the branch of the same kind"
            return Choice(ref=project.refs.nightly[0], reason=why)
        choice = self._unpinned(project, requested)
        return Choice(ref=choice.ref, reason=f"no pin names it: {choice.reason}")

    def _newest_stable(self, project: Project, requested: Requested) -> Choice:
        place = self.workplace
        origin = place.origin(project, requested.origin)
        mirror = mirror_of(origin.url, cache=place.cache, git=origin.git, say=place.console.say)
        found = newest_stable(project.refs, mirror.remote_refs())
        if found is None:
            message = (
                f"{redact(origin.url)} has no stable release of {project.name}: no branch {project.refs.release} whose tag "
                f"{project.refs.release_tag} is there"
            )
            raise HipwrightError("unknown-ref", message, hint=f"name a ref: --{project.name}-ref")
        return Choice(ref=found.branch, reason=f"the newest stable release: its tag {found.tag} is there")

    def _refuse(self, project: Project, stating: list[Stating], searched: list[str]) -> NoReturn:
        place = self.workplace
        goes = f" that goes with {' and '.join(one.named for one in stating)}" if stating else ""
        message = f"no place states the commit of {project.name}{goes}; looked in {'; '.join(searched)}"
        extra = {"projects": project.name, "pins": "allow-defaults"}
        words = to_arguments(place.resolved, COMMANDS["lock"], project=None, extra=extra, omit=("pins",))
        line = printable([*place.nox, "-s", "lock", "--", *words])
        kept = "".join(f", or ask {where}, which keeps pins: {words}" for where, words in self._kept_elsewhere(project, stating))
        hint = f"name its ref, --{project.name}-ref{kept}, or take the branch of the same kind: {line}"
        where = Where(file=place.external_builds / project.name / "project.toml", key="pins")
        raise HipwrightError("no-pin", message, where=where, hint=hint)


def _place(pin: Pin, row_os: str | None) -> str:
    """Return a pin's place for messages."""
    whose = "beside project.toml" if pin.project is None else f"of {pin.project}"
    row = f", row {row_os}|{pin.row}" if isinstance(pin, RelatedCommitsPin) else ""
    return f"{pin.file} {whose}{row}"


def _kind_words(kind: RefKind | None) -> str:
    return "neither a release nor a nightly branch" if kind is None else f"a {kind} ref"
