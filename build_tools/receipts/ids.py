"""Ids as records hold them: what is read back from a file is judged, because programs are given these as arguments."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from build_tools import types

__all__ = ["CommitId", "Sha256", "TreeId"]

CommitId: TypeAlias = Annotated[types.CommitId, msgspec.Meta(pattern="^[0-9a-f]{40}$", max_length=40)]
"""A full git commit id; the length keeps out what the pattern's end lets pass, a final newline."""

TreeId: TypeAlias = Annotated[types.TreeId, msgspec.Meta(pattern="^[0-9a-f]{40}$", max_length=40)]
"""A full git tree id."""

Sha256: TypeAlias = Annotated[types.Sha256, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
"""A SHA-256."""
