"""What a project's wheel must be and hold, as ``project.toml`` says it; the rules of :mod:`build_tools.checks` judge by it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from build_tools.config.fields import NonEmpty, PlatformName, Table

__all__ = ["Check", "Flag", "RuleSetting", "SourceCommit", "Wheel"]


class SourceCommit(Table, frozen=True, kw_only=True):
    """Where a wheel says which commit it was built from: a Python member, and the name in it that is assigned the commit."""

    member: NonEmpty
    name: NonEmpty = "git_version"


class Flag(Table, frozen=True, kw_only=True):
    """What an installed package must say of itself: the whole name of an attribute, or of a function without parameters, and its value.

    ``platforms`` are those where it counts, all when none is named.
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    value: bool | int | str
    platforms: tuple[PlatformName, ...] = ()


class Wheel(Table, frozen=True, kw_only=True):
    """What the built wheel must be: its distribution name, members that must be there or not, requirements that must be exact pins.

    ``version_suffix = "rocm"`` appends the local version of the ROCm packages; ``"none"`` keeps the base version.
    Without it, a project that needs ROCm packages gets their version, and another one none; ``windows_version_suffix`` says it for Windows
    alone. ``optional_pins`` are requirements that are
    pinned where the build has such a package. ``import_name`` is the module that must be importable in a clean process before anything is
    built on the wheel. ``linux_preloads`` and ``windows_preloads`` are the libraries of ROCm packages that the package loads by itself, in
    that order, by the short names that ``rocm_sdk`` takes. With ``development_commit`` the versions of builds for the release types ``ci``
    and ``dev`` name the upstream commit. ``flags`` are read in a clean process wherever the installed wheel is imported: before anything is
    built on it, and before its tests.
    """

    distribution: NonEmpty
    version_suffix: Literal["rocm", "none"] | None = None
    windows_version_suffix: Literal["rocm", "none"] | None = None
    required_members: tuple[str, ...] = ()
    linux_members: tuple[str, ...] = ()
    windows_members: tuple[str, ...] = ()
    forbidden_members: tuple[str, ...] = ()
    pinned_requirements: tuple[str, ...] = ()
    optional_pins: tuple[str, ...] = ()
    import_name: str | None = None
    linux_preloads: tuple[str, ...] = ()
    windows_preloads: tuple[str, ...] = ()
    source_commit: SourceCommit | None = None
    development_commit: bool = False
    flags: tuple[Flag, ...] = ()

    def flags_on(self, platform: str) -> tuple[Flag, ...]:
        """Return the flags that count on a platform."""
        return tuple(flag for flag in self.flags if not flag.platforms or platform in flag.platforms)


class RuleSetting(Table, frozen=True, kw_only=True):
    """How bad a rule's findings are for a project, or that it does not run, and why that is right."""

    severity: Literal["error", "warning", "note", "off"]
    why: NonEmpty


class Check(Table, frozen=True, kw_only=True):
    """What the rules demand of a project's wheels beyond what they demand of any.

    Names of members and libraries may be shell patterns; ``*`` spans folders. ``rules`` sets a rule's severity by its name.
    ``system_libraries`` are needed libraries that the machine has, beyond those of PEP 600 or of Windows. ``run_path`` is the kind of
    run path that ELF files may have, ``glibc`` the newest version of glibc whose symbols they may need. ``vendor`` are members that
    others compiled: their faults are told apart from ours. ``device_code`` are members that must have code for every target.
    ``size_limit`` is of the whole wheel, in MiB; ``growth_limit`` is how much larger than the baseline it may be, in percent;
    ``may_vanish`` are members that a later wheel need not have. ``may_name_paths`` are members that may name folders of the machine that
    built them: what is found there is a warning. ``path_limit`` is how many characters a path may have below the folder
    that a wheel is installed in on Windows, which has 260 for all of it as long as nobody asks it for more.
    """

    rules: dict[str, RuleSetting] = msgspec.field(default_factory=dict)
    system_libraries: tuple[str, ...] = ()
    run_path: Literal["rpath", "runpath", "either"] = "either"
    glibc: Annotated[str, msgspec.Meta(pattern=r"^2\.[0-9]{1,3}$")] | None = None
    vendor: tuple[str, ...] = ()
    device_code: tuple[str, ...] = ()
    size_limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    growth_limit: Annotated[int, msgspec.Meta(ge=0)] = 10
    may_vanish: tuple[str, ...] = ()
    may_name_paths: tuple[str, ...] = ()
    path_limit: Annotated[int, msgspec.Meta(ge=1)] = 180
