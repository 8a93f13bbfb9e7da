"""Names for values that have been parsed: holding one means that the check is done."""

from __future__ import annotations

import enum
import re
from typing import Final, Literal, NewType

__all__ = [
    "CommitId",
    "GfxTarget",
    "ObjectKey",
    "Platform",
    "ProjectName",
    "Severity",
    "Sha256",
    "Stage",
    "TreeId",
    "is_commit_id",
]

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")

CommitId = NewType("CommitId", str)
"""A full git commit id: 40 lower-case hex digits."""

TreeId = NewType("TreeId", str)
"""A full git tree id: 40 lower-case hex digits."""

Sha256 = NewType("Sha256", str)
"""A SHA-256 as 64 lower-case hex digits."""

GfxTarget = NewType("GfxTarget", str)
"""One GPU architecture, such as ``gfx942``."""

ProjectName = NewType("ProjectName", str)
"""A folder name under ``external-builds``."""

ObjectKey = NewType("ObjectKey", str)
"""A key in a store: relative, ``/`` between parts, no leading slash, never URL-encoded."""

Severity = Literal["error", "warning", "note"]
"""How bad a finding is: an error is one that must be mended, a note is nothing that needs to be."""


def is_commit_id(text: str) -> bool:
    """Return whether a text is a :data:`CommitId`.

    >>> is_commit_id("0" * 40), is_commit_id("0" * 39), is_commit_id("0" * 40 + chr(10))
    (True, False, False)
    """
    return _COMMIT.fullmatch(text) is not None


class Platform(enum.StrEnum):
    """The two operating systems that wheels are built for; a parameter of pure functions, never asked of ``sys`` deep inside."""

    LINUX = "linux"
    WINDOWS = "windows"


class Stage(enum.StrEnum):
    """The steps of the pipeline, in order, by the names that ``--from``, ``--until`` and ``--force`` take."""

    LOCK = "lock"
    CHECKOUT = "checkout"
    BASE_PATCHES = "base-patches"
    HIPIFY = "hipify"
    HIPIFIED_PATCHES = "hipified-patches"
    PROVISION = "provision"
    BUILD = "build"
    CHECK = "check"
    PUBLISH = "publish"
    TEST = "test"
    PROMOTE = "promote"

    @property
    def number(self) -> int:
        """Where it stands in the order, from 0: a stage with a higher number comes later."""
        return list(Stage).index(self)
