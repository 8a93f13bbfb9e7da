"""Where a project's sources come from: the address that the lock names, and where git finds it on this machine.

A git origin is found at its own address. Embedded sources and source distributions are imported into the cache first; the lock names them
by an address that is the same on every machine (``embedded://<project>/<repository>.git``, ``sdist://<name>-<version>.git``), and the
returned git is redirected to the import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from build_tools.config.project import EmbeddedOrigin, GitOrigin, SdistOrigin
from build_tools.errors import HipwrightError
from build_tools.sources.embedded import import_embedded
from build_tools.sources.sdist import import_sdist
from build_tools.sources.urls import file_url, place_with_secrets
from build_tools.types import Sha256
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.sources.git import Git

__all__ = ["Origin", "open_origin"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """An origin that git can read: its address as locks and messages name it, and the git that finds it.

    ``sdist_sha256`` is the digest of the source distribution that it was imported from.
    """

    url: str
    git: Git
    sdist_sha256: Sha256 | None = None

    @property
    def imported(self) -> bool:
        """Whether the repository was made on this machine, from files that may be others tomorrow."""
        return self.url.startswith(("embedded://", "sdist://"))


def open_origin(
    project: Project,
    *,
    folder: Path,
    url: str | None,
    sdist: Path | None,
    cache: Path,
    git: Git,
    say: Callable[[str], None],
) -> Origin:
    """Return a project's origin, imported into ``cache`` when it is no git repository.

    Parameters
    ----------
    project
        The project.
    folder
        The project's folder, ``external-builds/<name>``.
    url
        An origin that the person named; it takes the place of the project's own.
    sdist
        The fetched source distribution, for a project whose origin is one.
    cache
        The cache folder.
    git
        How git is run.
    say
        Takes one line of talk.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` or ``bad-source-tree`` when the embedded sources or the source distribution cannot be imported.
    """
    if url is not None:
        # Locks, markers and logs name the address without its secrets; git alone is told where that really is.
        secret = place_with_secrets(url)
        return Origin(url=redact(url), git=git.redirected(secret) if secret else git)
    origin = project.origin
    match origin:
        case GitOrigin():
            return Origin(url=origin.url, git=git)
        case EmbeddedOrigin():
            place, first = import_embedded(folder / origin.folder, cache=cache, git=git, say=say)
            prefix = f"embedded://{project.name}/"
            return Origin(url=f"{prefix}{first}.git", git=git.redirected({prefix: f"{file_url(place)}/"}))
        case SdistOrigin():
            if sdist is None:
                message = (
                    f"{project.name} is built from the source distribution {origin.name} {origin.version}, which was not fetched"
                )
                raise HipwrightError("bad-source-tree", message)
            place = import_sdist(sdist, name=origin.name, version=origin.version, cache=cache, git=git, say=say)
            named = f"sdist://{origin.name}-{origin.version}.git"
            redirected = git.redirected({named: file_url(place / f"{origin.name}-{origin.version}.git")})
            return Origin(url=named, git=redirected, sdist_sha256=Sha256(origin.sha256))
