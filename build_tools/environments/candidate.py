"""Files that may be chosen, and the order of their versions: PEP 440, with the ROCm part of local versions compared as a version.

PEP 440 compares ``rocm7.15`` and ``rocm10.1`` as text, so that the older is the higher; here ROCm 10 is above ROCm 7.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from packaging.utils import parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

if TYPE_CHECKING:
    from packaging.tags import Tag
    from packaging.utils import BuildTag, NormalizedName

    from build_tools.environments.page import Link

__all__ = ["Candidate", "VersionKey", "candidate_of", "version_key"]

VersionKey = tuple[Version, int, Version, tuple[tuple[int, int, str], ...]]
"""What versions are ordered by: the public version, the kind of local part, its ROCm version, and the local part as PEP 440 has it."""

_ROCM: Final = re.compile(
    r"(?P<before>(?:.*\.)?)(?P<dev>dev)?rocm\.?(?P<version>\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?)(?:\..*)?",
)
_ZERO: Final = Version("0")
_NO_LOCAL, _ROCM_INSIDE, _OTHER_LOCAL, _ROCM_DEV, _ROCM_RELEASE = range(5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A wheel or source distribution that a source offers; ``tags`` are empty for the latter."""

    name: NormalizedName
    version: Version
    kind: Literal["wheel", "sdist"]
    tags: frozenset[Tag]
    build: BuildTag
    link: Link


def candidate_of(link: Link) -> Candidate | None:
    """Return what a listed file is, or None when its name is neither a wheel's nor a source distribution's."""
    try:
        if link.filename.endswith(".whl"):
            name, version, build, tags = parse_wheel_filename(link.filename)
            return Candidate(name=name, version=version, kind="wheel", tags=tags, build=build, link=link)
        name, version = parse_sdist_filename(link.filename)
    except ValueError:
        return None  # also for a number of so many digits that Python does not read it
    return Candidate(name=name, version=version, kind="sdist", tags=frozenset(), build=(), link=link)


def version_key(version: Version) -> VersionKey:
    """Return what a version is ordered by: public part first, then the local part with ROCm versions compared as versions.

    Within one public version: no local part, then wheels with ROCm inside, then local parts that do not begin with ROCm, then development ROCm (``devrocm…``), then ROCm.
    """
    public = Version(version.public)
    if version.local is None:
        return public, _NO_LOCAL, _ZERO, ()
    text = tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in version.local.split("."))
    found = _ROCM.fullmatch(version.local)
    if found and found["before"]:
        # Of a wheel with ROCm inside, or of a development build: among their like they are ordered by their ROCm.
        inside = version.local.startswith("bundled.")
        return public, _ROCM_INSIDE if inside else _OTHER_LOCAL, Version(found["version"]), text
    if found:
        return public, _ROCM_DEV if found["dev"] else _ROCM_RELEASE, Version(found["version"]), text
    return public, _OTHER_LOCAL, _ZERO, text
