"""Where a project's ROCm packages come from: what the command names, else what the project brings, else the release type's index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.config.channels import ChannelTable, load_channels
from build_tools.environments.listing import PackageSource, parse_source
from build_tools.errors import HipwrightError
from build_tools.rocm.embedded import pack_embedded, require_same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedFile
    from build_tools.types import Platform

__all__ = ["OPTION_PREFIX", "at_hand", "rocm_source"]

OPTION_PREFIX: Final = "--rocm-"
"""How the options begin that name a source of ROCm packages."""


def rocm_source(
    project: Project,
    project_folder: Path,
    *,
    find_links: Sequence[str] = (),
    index_url: str | None = None,
    release_type: str | None = None,
    cache: Path,
    runner: Runner,
    platform: Platform,
    channels: ChannelTable | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> PackageSource:
    """Return the one source of a project's ROCm packages.

    Parameters
    ----------
    project
        The project.
    project_folder
        Where its ``project.toml`` lies.
    find_links, index_url
        What the command names; either takes the place of everything else.
    release_type
        Decides the index when nothing else is named; a desk's own when None.
    cache
        hipwright's cache folder.
    runner, platform
        Start the compiler that the project's own packages are made with, and say whose layout they have.
    channels
        The channel table; the bundled one when None.
    say
        Told when another run is waited for.

    Raises
    ------
    HipwrightError
        ``no-rocm-source`` when the release type has no index; ``bad-option-value`` for an unknown release type or an empty place;
        what packing the project's own packages raises.
    """
    if find_links or index_url is not None:
        return parse_source(find_links=find_links, index_url=index_url, folder=project_folder, option_prefix=OPTION_PREFIX)
    if project.rocm.embedded is not None:
        address = _address_of(project.name, project.rocm.embedded)
        packed = pack_embedded(project_folder / project.rocm.embedded, cache=cache, runner=runner, platform=platform, say=say)
        return PackageSource(find_links=(str(packed),), option_prefix=OPTION_PREFIX, known_as=address)
    table = channels if channels is not None else load_channels()
    kind = table.find_release_type(release_type or table.desk_release_type)
    if kind.rocm_index_url is None:
        message = f"{project.name} needs ROCm packages, and the release type {kind.name} has no index of its own"
        raise HipwrightError("no-rocm-source", message, hint="name a source: --rocm-find-links DIR|URL or --rocm-index-url URL")
    return PackageSource(index_url=kind.rocm_index_url, option_prefix=OPTION_PREFIX)


def at_hand(
    files: Sequence[LockedFile],
    project: Project,
    project_folder: Path,
    *,
    cache: Path,
    runner: Runner,
    platform: Platform,
    say: Callable[[str], None] = lambda _line: None,
) -> tuple[LockedFile, ...]:
    """Return locked files with those that the project itself brings named by where they lie on this machine; the others as they are.

    Parameters
    ----------
    files
        What is locked: of the project's own packages, addresses that are the same on every machine.
    project, project_folder, cache, runner, platform, say
        As for :func:`rocm_source`.

    Raises
    ------
    HipwrightError
        ``lock-conflict`` when this machine's compiler makes other ones of the project's own packages than are locked; what making them raises.
    """
    if project.rocm.embedded is None:
        return tuple(files)
    address = _address_of(project.name, project.rocm.embedded)
    if not any(file.url.startswith(address) for file in files):
        return tuple(files)
    packed = pack_embedded(project_folder / project.rocm.embedded, cache=cache, runner=runner, platform=platform, say=say)
    require_same(packed, [file for file in files if file.url.startswith(address)], project=project.name)
    return tuple(
        msgspec.structs.replace(file, url=(packed / file.filename).as_uri()) if file.url.startswith(address) else file
        for file in files
    )


def _address_of(project: str, folder: str) -> str:
    """Return the address of the packages that a project brings in a folder of its own; such sources go by the same scheme."""
    return f"embedded://{project}/{folder.rstrip('/')}/"
