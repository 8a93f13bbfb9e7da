"""The papers of wheels that were made anew under another version: what they were made of, and what was known of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from build_tools.index import layout
from build_tools.pipeline.provenance import portable_of
from build_tools.publish.channel_copy import proved_paper
from build_tools.publish.papers import PaperFile, bind_papers
from build_tools.publish.statement import builder_of, statement
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.provenance import ProvenanceSet
from build_tools.receipts.record import from_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.publish.channel_copy import Route
    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import Papers
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.types import Sha256
    from build_tools.wheels.reversion import Reversion
    from build_tools.workplace import Workplace

__all__ = ["papers_of_remade"]

_SHORT = 12
"""So many digits of a set's name tell its papers from those of another set."""


def papers_of_remade(
    offers: Sequence[Offer],
    rows: Sequence[IndexedFile],
    *,
    links: Mapping[str, Sha256],
    rule: Reversion,
    route: Route,
    workplace: Workplace,
) -> Papers:
    """Return the papers of remade wheels: their own, and all papers of the sets that they were made of, by names that tell the set.

    Parameters
    ----------
    offers
        The new wheels.
    rows
        The files that they were made of, as their index has them.
    links
        For the name of each new wheel the bytes that it was made of.
    rule
        Which version became which.
    route
        From where they are promoted.
    workplace
        Where they are made.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when a paper is gone, ``output-changed`` when one is not what its set says, ``bad-index``.
    """
    from build_tools.publish.sbom import bill_of_materials  # noqa: PLC0415 - the library costs more time than many a command has

    portable = portable_of(workplace)
    files = [PaperFile(name="reversion.json", kind="receipt", data=_told(rule, links))]
    missing = [f"no papers say how {row.filename} came to be" for row in rows if row.provenance is None]
    for name in sorted({row.provenance for row in rows if row.provenance is not None}):
        kept, lacking = _kept(name, route)
        files += kept
        missing += lacking
    files.append(PaperFile(name="sbom.cdx.json", kind="sbom", data=bill_of_materials(offers, (), portable=portable)))
    materials = [JudgedWheel(filename=row.filename, sha256=row.sha256) for row in rows]
    words = statement(offers, (), files, builder=builder_of(workplace.machine), portable=portable, materials=materials)
    files.append(PaperFile(name="provenance.intoto.json", kind="statement", data=words))
    wheels = [JudgedWheel(filename=one.filename, sha256=one.sha256) for one in offers]
    return bind_papers(wheels, files, missing=missing)


def _kept(name: Sha256, route: Route) -> tuple[list[PaperFile], tuple[str, ...]]:
    """Return the papers of a set, and what it came without."""
    listing = proved_paper(route, layout.paper_key(name), name)
    record = from_json(listing, ProvenanceSet, name=layout.SET_PAPER, code="bad-index")
    before = f"from-{name[:_SHORT]}-"
    files = [PaperFile(name=f"{before}{layout.SET_PAPER}", kind="receipt", data=listing)]
    for paper in record.papers:
        data = proved_paper(route, layout.paper_key(name, paper.name), paper.sha256)
        files.append(PaperFile(name=f"{before}{paper.name}", kind=paper.kind, data=data))
    return files, record.missing


def _told(rule: Reversion, links: Mapping[str, Sha256]) -> bytes:
    """Return the paper that says of each new wheel which bytes it was made from."""
    document = {"schema": 1, "old": str(rule.old), "new": str(rule.new), "made_from": dict(sorted(links.items()))}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
