"""What comes from the base index: resolved without running anything, looked through for owned names, and only then installed.

The code of a source distribution runs as soon as an installer asks what it requires. So the resolver sees wheels alone; a package that
the base index has as nothing else is built here first, by name, and its wheel is given to the resolver. An owned name is never built.
"""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from build_tools.environments.constraints import without_owned
from build_tools.environments.network import path_of
from build_tools.errors import HipwrightError
from build_tools.files import write_text
from build_tools.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from build_tools.environments.install import Installer
    from build_tools.environments.resolved import Resolved

__all__ = ["BaseInstall"]

_ROUNDS: Final = 20
_UNMET: Final = re.compile(
    r"(?:No matching distribution found for|satisfies the requirement)\s+"
    r"(?P<pip>[A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?(?P<wanted>[=<>!~][^\s;()]*)?"
    r"|(?P<uv>[A-Za-z0-9][A-Za-z0-9._-]*)(?P<found>==\S+)?\s+(?:has|have)\s+no\s+usable\s+wheels"
)
"""How pip and uv name a package, or a version of it, that they find no wheel of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseInstall:
    """Installs from the base index into one environment.

    Parameters
    ----------
    installer
        Resolves and installs.
    notes
        A folder for requirement files.
    constraints
        The constraint files and addresses of the base index.
    places
        The files of owned packages that requirements name.
    owns
        Which names the base index may not give.
    by
        Who requires it, for messages.
    log
        The installer's log.
    build
        Makes the wheel of a package of which the base index has nothing but source distributions that meet a requirement, and returns
        the folder that it is in; None where it has wheels that fit, or nothing.
    """

    installer: Installer
    notes: Path
    constraints: Sequence[str]
    places: Mapping[NormalizedName, Path]
    owns: Callable[[str], bool]
    by: str
    log: Path
    build: Callable[[Requirement], Path | None] = lambda _requirement: None
    _links: list[Path] = field(default_factory=list)

    def install(self, lines: Iterable[str]) -> tuple[Resolved, ...]:
        """Install what the lines of a requirements file stand for, and return it.

        Raises
        ------
        HipwrightError
            ``owned-name-leak`` naming the owned packages that the base index would have to give, before anything is installed;
            ``install-failed``.
        """
        requirements = self.notes / "base.txt"
        write_text(requirements, "".join(f"{line}\n" for line in lines))
        constraints = without_owned(self.constraints, owns=self.owns, folder=self.notes)
        resolved = self._resolved(requirements, constraints)
        self._look_through(resolved, requirements)
        self.installer.install_base(resolved, self._links)
        return resolved

    def _resolved(self, requirements: Path, constraints: Sequence[str]) -> tuple[Resolved, ...]:
        tried: set[str] = set()
        for _ in range(_ROUNDS):
            began = self.log.stat().st_size if self.log.exists() else 0
            try:
                return self.installer.resolve_base(requirements, constraints, self._links)
            except HipwrightError as error:
                text = self._said_since(began)
                self._refuse_named(text, error)
                lacking = {str(one): one for one in _unmet(text) if str(one) not in tried}
                folders = [folder for one in lacking.values() if (folder := self.build(one)) is not None]
                if not folders:
                    raise
                tried |= lacking.keys()
                self._links.extend(folders)
        message = f"{self.by} needs more than {_ROUNDS} packages that are not there as wheels"
        raise HipwrightError("install-failed", message, log=self.log)

    def _said_since(self, began: int) -> str:
        with self.log.open("rb") as stream:
            stream.seek(began)
            return stream.read().decode("utf-8", "replace").replace("│", " ")

    def _refuse_named(self, text: str, error: HipwrightError) -> None:
        """Say which owned package an installer did not find: the base index need not have any file of it."""
        for one in _unmet(text):
            if self.owns(one.name) and canonicalize_name(one.name) not in self.places:
                raise self._leak(one.name, "", ()) from error
        missing = re.search(r"Because (?P<name>\S+) was not found", text)
        if missing and self.owns(missing["name"]) and canonicalize_name(missing["name"]) not in self.places:
            raise self._leak(missing["name"], "", ()) from error

    def _look_through(self, resolved: Sequence[Resolved], requirements: Path) -> None:
        for one in resolved:
            place = self.places.get(one.name)
            if place is None and self.owns(one.name):
                raise self._leak(one.name, f" {one.version}", self.installer.askers(one.name, requirements, self._links))
            if one.url is not None and (place is None or self._local(one.url) != place):
                message = f"{one.name} {one.version} would come from {one.url}, which a package names; only names and versions are taken"
                raise HipwrightError("install-failed", message, log=self.log)

    def _local(self, place: str) -> Path | None:
        """Return the local path that an address names, or a path, as uv writes it relative to its lock file."""
        return path_of(place) if is_url(place) else Path(os.path.normpath(self.notes / place))

    def _leak(self, name: str, version: str, askers: Sequence[str]) -> HipwrightError:
        reason = f"it is required by {', '.join(sorted(askers))}" if askers else f"{self.by} requires it"
        message = (
            f"{name}{version} would come from the base index, and it is an owned name; {reason}. Nothing of it was installed"
        )
        return HipwrightError(
            "owned-name-leak", message, hint="name a source that has it, so that it can be locked", log=self.log
        )


def _unmet(text: str) -> list[Requirement]:
    """Return what an installer says that it finds no wheel of, each once."""
    found: dict[str, Requirement] = {}
    for match in _UNMET.finditer(text):
        name = canonicalize_name(match["pip"] or match["uv"])
        try:
            one = Requirement(f"{name}{match['wanted'] or match['found'] or ''}")
        except InvalidRequirement:
            one = Requirement(name)
        found.setdefault(str(one), one)
    return list(found.values())
