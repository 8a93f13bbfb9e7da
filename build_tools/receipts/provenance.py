"""The papers of one published set: what says where its wheels come from."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record

__all__ = ["Paper", "PaperKind", "ProvenanceSet"]

PaperKind = Literal["lock", "receipt", "check-report", "source-manifest", "sbom", "statement"]
"""What a paper is: the lock, the receipt of a stage, the report of the checks, the source manifest, the CycloneDX bill of materials, the in-toto statement."""

PaperName = Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$", max_length=200)]
"""One plain part of a key."""


class Paper(Record, frozen=True, kw_only=True):
    """A paper: its name beside the list that names it, its bytes, and what it is."""

    name: PaperName
    kind: PaperKind
    sha256: Sha256
    size: int


class ProvenanceSet(Record, frozen=True, kw_only=True):
    """The wheels that were published together and their papers, both sorted by name; the digest of its bytes names the set.

    ``missing`` says which papers the set came without, and why, a line each. ``reason`` is why names that held other bytes got these,
    where somebody had to say it.
    """

    schema: Literal[1] = 1
    wheels: tuple[JudgedWheel, ...]
    papers: tuple[Paper, ...]
    missing: tuple[str, ...] = ()
    reason: str | None = None
