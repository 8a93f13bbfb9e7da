"""The in-toto statement of a published set, with a SLSA provenance predicate: which bytes, made of what, by whom, as asked how.

The forms are in-toto Statement v1 and SLSA Provenance v1. Nothing in it names a folder of a machine.
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final

import build_tools
from build_tools import digest
from build_tools.publish.portable import is_local
from build_tools.receipts.record import plain
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from build_tools.publish.build_facts import BuildFacts
    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import PaperFile
    from build_tools.publish.portable import Portable
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.lock import LockedProject

__all__ = ["builder_of", "statement"]

_STATEMENT: Final = "https://in-toto.io/Statement/v1"
_PREDICATE: Final = "https://slsa.dev/provenance/v1"
_BUILD_TYPE: Final = "urn:hipwright:wheels:v1"
_DESK: Final = "urn:hipwright:desk"
_TOLD: Final = frozenset({"compiler", "targets", "platform", "interpreter"})
"""Of the named inputs of a build, those that a person chooses."""


def builder_of(machine: Mapping[str, str]) -> tuple[str, str | None]:
    """Return who builds here, and the name of the run in progress: a workflow and its run on GitHub, else a desk and none."""
    server, workflow = machine.get("GITHUB_SERVER_URL"), machine.get("GITHUB_WORKFLOW_REF")
    if not server or not workflow:
        return _DESK, None
    repository, run = machine.get("GITHUB_REPOSITORY"), machine.get("GITHUB_RUN_ID")
    attempt = machine.get("GITHUB_RUN_ATTEMPT", "1")
    return f"{server}/{workflow}", f"{server}/{repository}/actions/runs/{run}/attempts/{attempt}" if run else None


def statement(
    offers: Sequence[Offer],
    facts: Sequence[BuildFacts],
    papers: Sequence[PaperFile],
    *,
    builder: tuple[str, str | None],
    portable: Portable,
    materials: Sequence[JudgedWheel] = (),
) -> bytes:
    """Return the statement of a set as JSON; equal sets give equal bytes.

    Parameters
    ----------
    offers
        The wheels, which the statement is about.
    facts
        The builds that made them.
    papers
        The other papers of the set, which lie beside it.
    builder
        As :func:`builder_of` has it.
    portable
        Takes the machine out of texts.
    materials
        The wheels that these were made of, where no build made them.
    """
    who, run = builder
    builds = [receipt for build in facts if (receipt := build.receipts.get(Stage.BUILD)) is not None]
    metadata: dict[str, Any] = {} if run is None else {"invocationId": run}
    if builds:
        metadata["startedOn"] = min(receipt.started for receipt in builds)
    predicate = {
        "buildDefinition": {
            "buildType": _BUILD_TYPE,
            "externalParameters": {build.label: _parameters(build, portable) for build in facts},
            "resolvedDependencies": _unique(
                itertools.chain(
                    (entry for build in facts for entry in _dependencies(build, portable)),
                    ({"name": one.filename, "digest": {"sha256": one.sha256}} for one in materials),
                )
            ),
        },
        "runDetails": {
            "builder": {"id": who, "version": {"hipwright": build_tools.__version__, **_tools(facts)}},
            "metadata": metadata,
            "byproducts": [{"name": paper.name, "digest": {"sha256": digest.of_bytes(paper.data)}} for paper in papers],
        },
    }
    whole = {
        "_type": _STATEMENT,
        "subject": [{"name": offer.filename, "digest": {"sha256": offer.sha256}} for offer in offers],
        "predicateType": _PREDICATE,
        "predicate": predicate,
    }
    return (json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _parameters(build: BuildFacts, portable: Portable) -> dict[str, Any]:
    """Return what was asked for: the options of the lock, and what a person chooses of a build."""
    found: dict[str, Any] = {}
    if build.locked is not None:
        asked = plain(build.locked.requested)
        found["requested"] = {
            name: [portable.address(entry) for entry in value] if isinstance(value, list | tuple) else portable.address(value)
            for name, value in asked.items()
            if value
        }
        found["patchLine"] = build.locked.patches.line
    receipt = build.receipts.get(Stage.BUILD)
    if receipt is not None:
        words = {name: value for name, value in receipt.parts.items() if name in _TOLD}
        found["build"] = {name: portable.text(_without_paths(value)) for name, value in words.items()}
    return found


def _without_paths(value: str) -> str:
    """Return the words of a text that are no place on a machine."""
    return " ".join(word for word in value.split() if not is_local(word))


def _dependencies(build: BuildFacts, portable: Portable) -> Iterator[dict[str, Any]]:
    if build.locked is not None:
        yield from _sources(build.locked, portable)
        for file in build.locked.packages:
            yield {"name": file.filename, "uri": portable.address(file.url), "digest": {"sha256": file.sha256}}
    for patch in build.patches:
        yield {"name": f"patch {patch.name}", "digest": {"sha256": digest.of_bytes(patch.data)}}
    for other in build.built.against if build.built is not None else ():
        yield {"name": other.filename, "digest": {"sha256": other.sha256}}


def _sources(locked: LockedProject, portable: Portable) -> Iterator[dict[str, Any]]:
    sources = locked.sources
    yield {
        "name": locked.name,
        "uri": f"git+{portable.address(sources.origin)}",
        "digest": {"gitCommit": sources.commit, "gitTree": sources.tree},
    }
    for module in locked.patches.submodules or sources.submodules:
        yield {
            "name": f"{locked.name}/{module.path}",
            "uri": f"git+{portable.address(module.url)}",
            "digest": {"gitCommit": module.commit},
        }
    if sources.sdist_sha256 is not None:
        yield {"name": f"{locked.name} sdist", "digest": {"sha256": sources.sdist_sha256}}


def _unique(entries: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries, each once, in an order of their own."""
    known = {json.dumps(entry, sort_keys=True): entry for entry in entries}
    return [known[key] for key in sorted(known)]


def _tools(facts: Sequence[BuildFacts]) -> dict[str, str]:
    """Return the versions of the tools that builds had."""
    found: dict[str, str] = {}
    for build in facts:
        receipt = build.receipts.get(Stage.BUILD)
        if receipt is not None:
            # A compiler is told as where it lies and what it says it is.
            told = {name: value.partition(": ")[2] if is_local(value) else value for name, value in receipt.tools.items()}
            found |= {name: value for name, value in told.items() if value}
    return found
