"""What is demanded of the wheels that a chain built: the project's data, and what the chain knows of builds and packages."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools import digest
from build_tools.checks.baseline import has_rocm_inside
from build_tools.checks.libraries import libraries_among, libraries_of_folder
from build_tools.checks.profile import demands_for
from build_tools.config.owned import is_rocm
from build_tools.environments.installed import installed_files, site_packages
from build_tools.pipeline.baselines import baseline_identity, named_baselines, promoted_before, promoted_sizes
from build_tools.pipeline.chain_set import resolve_chain, set_parts
from build_tools.pipeline.engine import watch
from build_tools.receipts.record import plain
from build_tools.types import GfxTarget, Stage
from build_tools.wheels.limits import read_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.checks.demands import Demands
    from build_tools.pipeline.chain import Chain
    from build_tools.types import Sha256

__all__ = ["chain_demands", "demand_parts"]


def chain_demands(chain: Chain, *, watched: dict[str, Sha256 | None]) -> dict[str, Demands]:
    """Return what is demanded of each built wheel, by file name.

    Parameters
    ----------
    chain
        The project, with its build.
    watched
        Gets the files of the machine that decide what the base index is, where it was asked; see :func:`build_tools.pipeline.engine.watch`.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when ``project.toml`` sets a rule that there is not; ``no-wheel`` when ``--baseline`` names nothing to compare with;
        what :func:`build_tools.pipeline.chain_set.resolve_chain` raises.
    """
    built, place = chain.built(), chain.workplace
    baselines = named_baselines([wheel.filename for wheel in built.wheels], place) or _promoted(chain)
    libraries = _libraries(chain)
    resolution = resolve_chain(chain)
    if resolution.base_asked:
        watched.update({str(path): watch(path) for path in place.settings_files()})
    return {
        wheel.filename: demands_for(
            chain.project,
            place.platform,
            targets=tuple(map(GfxTarget, built.targets)),
            libraries=libraries,
            packages=_packages(chain),
            unmet=resolution.unmet.get(wheel.filename),
            unasked=resolution.unasked,
            build_places=_build_places(chain),
            baseline=baselines.get(wheel.filename),
        )
        for wheel in built.wheels
    }


def demand_parts(chain: Chain) -> dict[str, str]:
    """Return what of the demands decides whether a check is done already.

    The folders of the build do not: the bytes of the wheels are the same whether somebody moved the work dir since or not.
    """
    built = chain.built()
    baselines = [
        [wheel.filename, earlier.sha256 if (earlier := promoted_before(wheel.filename, chain.workplace)) else "none"]
        for wheel in built.wheels
    ]
    return {
        "project's demands": digest.of_value(plain(chain.project.check)),
        "packages beside it": digest.of_value(sorted(_packages(chain).items())),
        "baseline": baseline_identity(chain.workplace) or digest.of_value(baselines),
        **set_parts(chain),
    }


def _libraries(chain: Chain) -> frozenset[str] | None:
    """Return the libraries of the packages that a wheel will have beside it, None when they are not at hand.

    What else is in the environment of the build, its tools and the files that the devel package expands, is not there at run time.
    """
    environment, rocm = _environment(chain), chain.locked().rocm
    if environment is None or not environment.is_dir():
        return None
    beside = _packages(chain).keys()
    files = installed_files(site_packages(environment, chain.workplace.platform))
    packed = (
        Path(path).name for name, rows in files.items() if name in beside for path, size in rows.items() if size is not None
    )
    if rocm is None or rocm.folder is None or _without_rocm(chain):
        return libraries_among(packed)
    return libraries_among(packed) | libraries_of_folder(Path(rocm.folder))


def _promoted(chain: Chain) -> dict[str, Mapping[str, int]]:
    earlier = {wheel.filename: promoted_before(wheel.filename, chain.workplace) for wheel in chain.built().wheels}
    return {name: promoted_sizes(file, chain.workplace) for name, file in earlier.items() if file is not None}


def _packages(chain: Chain) -> dict[str, str]:
    """Return what will be beside the wheels: the ROCm packages and other owned ones of the lock, and what they were built against."""
    locked, built = chain.locked(), chain.built()
    rocm = locked.rocm.files if locked.rocm is not None else ()
    found = {file.distribution: file.version for file in (*rocm, *locked.owned)}
    if locked.rocm is not None and locked.rocm.folder is not None:
        # A ROCm of the machine stands for packages of its version, which the wheel pins.
        found[canonicalize_name(chain.project.rocm.requirement)] = locked.rocm.version
    if _without_rocm(chain):
        found = {name: version for name, version in found.items() if not is_rocm(name)}
    return found | {wheel.distribution: wheel.version for wheel in built.against}


def _without_rocm(chain: Chain) -> bool:
    """Tell whether the wheels run without the ROCm packages that they were built with: ROCm is inside of them, or of what they need."""
    built = chain.built()
    return built.bundled is not None or any(has_rocm_inside(read_version(wheel.version)) for wheel in built.against)


def _environment(chain: Chain) -> Path | None:
    done = chain.done.get(Stage.PROVISION)
    return Path(chain.sdk().environment.folder) if done is not None else None


def _build_places(chain: Chain) -> list[str]:
    """Return the folders of this machine that a wheel must not name: those of the work, of the person, and for passing files."""
    place = chain.workplace
    environment = _environment(chain)
    home = place.machine.get("HOME") or place.machine.get("USERPROFILE")
    shared = {"/", "/root", tempfile.gettempdir()}
    places = [str(place.work_dir), str(place.clone), str(place.cache), str(chain.tree)]
    places += [str(environment)] if environment is not None else []
    # A home that every container has is in many a text; so is the folder for passing files itself.
    places += [home] if home and home not in shared else []
    return places
