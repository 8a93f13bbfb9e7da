"""What the local part of a version tells, as builds write it: words of its own, the upstream commit, the ROCm, a person's changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from packaging.version import Version

__all__ = ["local_line", "rocm_of_local"]

_ROCM: Final = re.compile(r"(?:^|\.)(?:dev)?rocm(?P<version>[0-9][0-9a-z]*(?:\.[0-9a-z]+)*?)(?:\.local[0-9a-f]{8})?$")
"""What the local version of a package that is built with ROCm ends in."""

_BUILD: Final = re.compile(r"git[0-9a-f]+|local[0-9a-f]{8}")
"""Words that tell one build from the next, and not what it is for."""


def rocm_of_local(version: Version) -> str | None:
    """Return the version of the ROCm that a local version names, as it stands there; None when it names none.

    >>> from packaging.version import Version
    >>> rocm_of_local(Version("2.9.0+git1a2b3c4d.devrocm7.10.0.dev0")), rocm_of_local(Version("2.9.0+cpu"))
    ('7.10.0.dev0', None)
    """
    found = _ROCM.search(version.local or "")
    return None if found is None else found["version"]


def local_line(version: Version) -> str:
    """Return what a local version says that many builds have in common: its words, and the first two numbers of the ROCm.

    >>> from packaging.version import Version
    >>> local_line(Version("3.5.0+git1a2b3c4d.rocm7.10.0a20260101")), local_line(Version("2.9.0+bundled.rocm7.10.0"))
    ('rocm7.10', 'bundled.rocm7.10')
    """
    local = version.local or ""
    found = _ROCM.search(local)
    before = local if found is None else local[: found.start("version")]
    words = [word for word in before.split(".") if word and not _BUILD.fullmatch(word)]
    if found is None:
        return ".".join(words[:2])
    return ".".join(words) + ".".join(found["version"].split(".")[:2])
