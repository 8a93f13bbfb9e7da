"""The description of a set that goes into the package ``rocm``: the same from each platform's build that is told of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.config.targets import expand_family, family_name, known_targets
from build_tools.errors import HipwrightError
from build_tools.rocm.description import DescribedLibrary, DescribedPackage, SdkDescription
from build_tools.rocm.packages.select import distribution_of, module_of
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.config.rocm_packages import PackageTable
    from build_tools.rocm.packages.select import Selection
    from build_tools.types import GfxTarget

__all__ = ["describe", "families_of"]


def families_of(names: Iterable[str]) -> dict[str, tuple[GfxTarget, ...]]:
    """Return families with their targets, in the order of their names; a target is a family of its own.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a name that is neither.
    """
    return {name: expand_family(name) for name in sorted(map(family_name, names))}


def describe(
    selection: Selection,
    table: PackageTable,
    *,
    version: str,
    platform: Platform,
    elsewhere: Mapping[Platform, tuple[str, ...]],
) -> SdkDescription:
    """Return the description of a set.

    Parameters
    ----------
    selection, table
        What is made for this platform, and of what.
    version
        The set's.
    platform
        The operating system that the packages are for.
    elsewhere
        The targets or families that other platforms have, where they are known.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a target or family that is none; ``package-incomplete`` when this platform lacks a package that the other
        one's build has to describe without knowing.
    """
    by_family = selection.form == "family"
    theirs = {other: families_of(names) for other, names in elsewhere.items() if other is not platform}
    ours: dict[str, tuple[GfxTarget, ...]] = (
        selection.families if by_family else {str(name): (name,) for name in selection.targets}
    )
    offered: dict[Platform, Mapping[str, tuple[GfxTarget, ...]]] = {platform: ours, **theirs}
    made = {portion.key for portion in selection.runtime}
    packages: dict[str, tuple[DescribedPackage, ...]] = {}
    for package in table.package:
        having = {each for each in package.platforms if each in offered}
        if platform in having and package.key not in made:
            if theirs:
                message = (
                    f"the artifacts have nothing for {package.distribution}, which the rocm that several platforms share names"
                )
                hint = "fetch its artifacts too, or make a set for one platform alone: without the targets of the other"
                raise HipwrightError("package-incomplete", message, hint=hint)
            having.discard(platform)
        if not having:
            continue
        if package.key == "libraries" and by_family:
            packages[package.key] = _of_families(package.distribution, offered)
        else:
            name = package.distribution
            packages[package.key] = (
                DescribedPackage(distribution=name, module=module_of(name), platforms=_where(having, offered)),
            )
    names = {family for each in offered.values() for family in each}
    if by_family and len(names) > 1:
        packages["devel"] = _of_families(table.devel.distribution, offered)
    else:
        packages["devel"] = (DescribedPackage(distribution=table.devel.distribution, module=module_of(table.devel.distribution)),)
    return SdkDescription(
        version=version,
        form=selection.form,
        targets={each: _in_order(families.values()) for each, families in offered.items()},
        families={name: targets for each in offered.values() for name, targets in each.items()} if by_family else {},
        packages=packages,
        libraries={
            library.name: DescribedLibrary(
                package=library.package,
                patterns={
                    each: pattern
                    for each, pattern in ((Platform.LINUX, library.linux), (Platform.WINDOWS, library.windows))
                    if pattern is not None
                },
                optional=library.optional,
            )
            for library in table.library
        },
    )


def _of_families(
    distribution: str, offered: Mapping[Platform, Mapping[str, tuple[GfxTarget, ...]]]
) -> tuple[DescribedPackage, ...]:
    """Return the packages of a key that are made for a family each."""
    found = []
    for family in sorted({name for each in offered.values() for name in each}):
        name = distribution_of(distribution, family)
        having = {platform for platform, families in offered.items() if family in families}
        found.append(
            DescribedPackage(distribution=name, module=module_of(name), family=family, platforms=_where(having, offered))
        )
    return tuple(found)


def _where(having: set[Platform], offered: Iterable[Platform]) -> tuple[Platform, ...]:
    """Return the platforms that have something; nothing when all do."""
    return () if having == set(offered) else tuple(sorted(having))


def _in_order(groups: Iterable[tuple[GfxTarget, ...]]) -> tuple[GfxTarget, ...]:
    """Return the targets of groups, each once, in the order of the table of targets."""
    found = {target for group in groups for target in group}
    return tuple(sorted(found, key=known_targets().targets.index))
