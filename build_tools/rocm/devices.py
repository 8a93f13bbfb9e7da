"""Which extras of a package bring the code for GPU targets: a device package for each target, or the libraries of a family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from build_tools.config.targets import known_targets, offers, target_of
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ALL_DEVICES", "FAMILY_VARIABLE", "device_code", "extras_for", "installed_families", "installed_family", "is_devel"]

FAMILY_VARIABLE: Final = "ROCM_SDK_TARGET_FAMILY"
"""The environment name by which ROCm's own packages are told which family of several that are installed is meant."""

ALL_DEVICES: Final = "device-all"
"""The extra that brings the device packages of all targets."""

_OTHERS: Final = "name targets that it has, --gfx, or packages that have yours: --rocm-find-links, --rocm-index-url"
_DEVICE: Final = "device-"
_LIBRARIES: Final = "libraries"
_DEVEL: Final = "rocm-sdk-devel"
_OF_FAMILY: Final = f"{_LIBRARIES}-"
_PACKAGES_OF_FAMILY: Final = ("rocm-sdk-libraries-", f"{_DEVEL}-")


def is_devel(distribution: str) -> bool:
    """Return whether a package is the one with development files, or one of several that are each for a GPU family."""
    return distribution == _DEVEL or distribution.startswith(f"{_DEVEL}-")


def device_code(distributions: Iterable[str]) -> tuple[str, ...]:
    """Return what GPU code installed packages bring: the targets of device packages, or the families that libraries are made for; sorted."""
    starts = (f"rocm-sdk-{_DEVICE}", f"rocm-sdk-{_OF_FAMILY}")
    names = [canonicalize_name(name) for name in distributions]
    return tuple(sorted({name.removeprefix(start) for name in names for start in starts if name.startswith(start)}))


def installed_families(distributions: Iterable[str]) -> tuple[str, ...]:
    """Return the GPU families that installed packages are made for, as :data:`FAMILY_VARIABLE` takes them, sorted."""
    names = [canonicalize_name(name) for name in distributions]
    return tuple(sorted({name.removeprefix(start) for name in names for start in _PACKAGES_OF_FAMILY if name.startswith(start)}))


def installed_family(distributions: Iterable[str], *, targets: Sequence[str] = (), family: str | None = None) -> str | None:
    """Return which GPU family's packages are meant, as :data:`FAMILY_VARIABLE` takes it: the only one that is installed, or the one named.

    Parameters
    ----------
    distributions
        The names of the installed packages.
    targets, family
        The GPU targets that are wanted, and the family that named them.

    Returns
    -------
    str or None
        None where the packages are not made for families, or it cannot be told which is meant.
    """
    found = list(installed_families(distributions))
    if len(found) > 1 and (targets or family):
        chosen = _of_families([f"{_OF_FAMILY}{name}" for name in found], targets, family)
        found = sorted(extra.removeprefix(_OF_FAMILY) for extra in chosen)
    return found[0] if len(found) == 1 else None


def extras_for(
    extras: Iterable[str], offered: Iterable[str], *, targets: Sequence[str], family: str | None, package: str
) -> tuple[str, ...]:
    """Return the extras to ask a package for, so that it comes with code for GPU targets; sorted.

    Parameters
    ----------
    extras
        Those that are asked for already. In packages that are made for families, ``libraries``, ``devel`` and the like become those of
        the family; where none of them is asked for, its libraries are added.
    offered
        Those that the package has.
    targets
        The targets.
    family
        The family that named them, if one did.
    package
        The package and its version, for messages.

    Raises
    ------
    HipwrightError
        ``requirement-missing`` naming every target that the package has no code for.
    """
    there = {canonicalize_name(extra) for extra in offered}
    asked = {canonicalize_name(extra) for extra in extras}
    devices = sorted(extra for extra in there if extra.startswith(_DEVICE) and extra != ALL_DEVICES)
    families = sorted(extra for extra in there if extra.startswith(_OF_FAMILY))
    if not targets or not (devices or families):
        return tuple(sorted(asked))
    if devices:
        wanted = {f"{_DEVICE}{target_of(target).base}" for target in targets}
        missing = sorted(wanted - there)
        if missing:
            names = ", ".join(extra.removeprefix(_DEVICE) for extra in missing)
            message = (
                f"{package} has no device package for {names}; it has: {', '.join(e.removeprefix(_DEVICE) for e in devices)}"
            )
            raise HipwrightError("requirement-missing", message, hint=_OTHERS)
        return tuple(sorted(asked | wanted))
    chosen = _of_families(families, targets, family)
    if not chosen:
        named = family or ", ".join(targets)
        has = ", ".join(extra.removeprefix(_OF_FAMILY) for extra in families)
        message = f"{package} has no libraries for {named}; it has: {has}"
        raise HipwrightError("requirement-missing", message, hint=_OTHERS)
    narrower = {extra.removeprefix(_OF_FAMILY) for extra in chosen}
    narrowed = {key: {f"{key}-{name}" for name in narrower} for key in asked | {_LIBRARIES}}
    narrowed = {key: extras for key, extras in narrowed.items() if extras <= there}
    narrow = {extra for key in asked & narrowed.keys() for extra in narrowed[key]} or narrowed[_LIBRARIES]
    return tuple(sorted((asked - narrowed.keys()) | narrow))


def _of_families(families: Sequence[str], targets: Sequence[str], family: str | None) -> set[str]:
    """Return the extras of the families that are meant: the one that was named, else those whose targets include all that were."""
    spelled = {
        str(canonicalize_name(f"{_OF_FAMILY}{name}")): name for name in (*known_targets().families, *known_targets().targets)
    }
    if family is not None and canonicalize_name(f"{_OF_FAMILY}{family}") in families:
        return {canonicalize_name(f"{_OF_FAMILY}{family}")}
    found = set()
    for target in targets:
        fitting = [extra for extra in families if extra in spelled and target in offers(spelled[extra], [target])]
        if not fitting:
            return set()
        found.add(fitting[0])
    return found
