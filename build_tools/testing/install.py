"""The environment under test: the published wheels by hash through their index, and what they run with; never the work tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from build_tools.environments.listing import Listing, PackageSource
from build_tools.environments.make import EnvironmentRequest
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedFile
from build_tools.rocm.devices import is_devel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.environments.interpreter import Interpreter
    from build_tools.environments.network import Network
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.lock import LockedProject
    from build_tools.receipts.snapshot import PublishedIndex

__all__ = ["environment_under_test", "published_files", "runtime_files"]

_DEVEL: Final = "devel"
"""The extra of ``rocm`` that asks for what only builds need."""


def environment_under_test(
    project: Project,
    *,
    published: PublishedIndex,
    wheels: Sequence[JudgedWheel],
    pins: Iterable[str],
    locked: LockedProject,
    interpreter: Interpreter,
    requirements: Path,
    network: Network,
) -> EnvironmentRequest:
    """Return what the environment under test is to hold; :func:`build_tools.environments.make.make_environment` makes it.

    Parameters
    ----------
    project
        The project; ``[tests] requires`` come from the base index.
    published
        The index that the wheels are taken from.
    wheels
        The wheels under test, as they were judged.
    pins
        The requirements that the wheels state exactly.
    locked
        The project's exact inputs: the ROCm packages and other owned packages that the wheels run with.
    interpreter
        The interpreter that the wheels were built for.
    requirements
        The hash-pinned file with pytest and what it needs.
    network
        How addresses are read.

    Raises
    ------
    HipwrightError
        As :func:`published_files`.
    """
    return EnvironmentRequest(
        interpreter=interpreter,
        owned=(*published_files(published, wheels, network=network), *runtime_files(locked, pins)),
        pins=requirements,
        requires=project.tests.requires,
        purpose=f"the test environment of {project.name}",
    )


def published_files(published: PublishedIndex, wheels: Sequence[JudgedWheel], *, network: Network) -> tuple[LockedFile, ...]:
    """Return the wheels under test as their index offers them, each with the hash that its page states.

    Parameters
    ----------
    published
        The index.
    wheels
        The wheels that were judged.
    network
        How addresses are read.

    Raises
    ------
    HipwrightError
        ``no-wheel`` for no wheels; ``nothing-published`` when the index lacks a wheel or offers other bytes under its name.
    """
    if not wheels:
        raise HipwrightError("no-wheel", "there is no wheel to test")
    # A bucket serves no folders, so that the pages of its index need a server before it; its flat page needs none.
    flat = published.store.startswith("s3://")
    source = PackageSource(find_links=(published.find_links_url,)) if flat else PackageSource(index_url=published.index_url)
    listing = Listing(source=source, network=network)
    return tuple(_published_file(wheel, published, listing) for wheel in wheels)


def runtime_files(locked: LockedProject, pins: Iterable[str]) -> tuple[LockedFile, ...]:
    """Return the locked files that wheels run with: ROCm packages and other owned packages, without what only builds need.

    Parameters
    ----------
    locked
        The project's exact inputs.
    pins
        The requirements that the wheels state; one that names the extra of a build-only package keeps that package.
    """
    wanted = {canonicalize_name(extra) for pin in pins for extra in Requirement(pin).extras}
    rocm = locked.rocm.files if locked.rocm is not None else ()
    kept = [file for file in rocm if _DEVEL in wanted or not is_devel(canonicalize_name(file.distribution))]
    return (*kept, *locked.owned)


def _published_file(wheel: JudgedWheel, published: PublishedIndex, listing: Listing) -> LockedFile:
    name, version, _, _ = parse_wheel_filename(wheel.filename)
    offered = [candidate.link for candidate in listing.files(name) if candidate.link.filename == wheel.filename]
    if not offered:
        raise HipwrightError("nothing-published", f"the index {published.index_url} does not offer {wheel.filename}")
    link = offered[0]
    if link.sha256 != wheel.sha256:
        states = f"the sha256 {link.sha256}" if link.sha256 else "no sha256"
        message = f"the index {published.index_url} states {states} for {wheel.filename}, and {wheel.sha256} was judged"
        raise HipwrightError("nothing-published", message, hint="publish the wheels that were judged")
    return LockedFile(distribution=name, version=str(version), filename=wheel.filename, url=link.url, sha256=wheel.sha256)
