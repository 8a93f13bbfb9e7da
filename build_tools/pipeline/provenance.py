"""The papers of what is published: of a chain by its own receipts, of any wheels by the receipts that the work dir has of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.config.project import load_project, project_names
from build_tools.errors import HipwrightError
from build_tools.locking.manifest import make_manifest, manifest_bytes
from build_tools.patches.series import load_series
from build_tools.pipeline.engine import RECEIPT
from build_tools.pipeline.uploading import reason_of
from build_tools.publish.build_facts import BuildFacts
from build_tools.publish.papers import PaperFile, bind_papers
from build_tools.publish.portable import Portable
from build_tools.publish.statement import builder_of, statement
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import read_record
from build_tools.receipts.stage import BuildResult, CheckResult, StageReceipt
from build_tools.stores.run_outputs import MANIFEST
from build_tools.types import Platform, ProjectName, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from build_tools.patches.series import Patch
    from build_tools.pipeline.chain import Chain
    from build_tools.publish.offer import Offer
    from build_tools.publish.papers import MakePapers, Papers
    from build_tools.receipts.check import CheckReport
    from build_tools.receipts.lock import LockedProject
    from build_tools.rocm.packages.receipt import PackagesReceipt
    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["papers_of_chain", "papers_of_packages", "papers_of_wheels", "portable_of"]

_BEFORE_PUBLISH: Final = tuple(stage for stage in Stage if stage.number < Stage.PUBLISH.number)
_MOST: Final = 64
"""Receipts on the way from a build back to its lock; a circle of them is no way."""


def papers_of_chain(chain: Chain) -> MakePapers:
    """Return what makes the papers of a chain's wheels, of the receipts that this run has."""
    place = chain.workplace
    receipts = {stage: done.receipt for stage, done in chain.done.items() if stage in _BEFORE_PUBLISH}
    facts = BuildFacts(project=chain.project.name, receipts=receipts, patches=_patches(chain.project.name, receipts, place))
    return lambda offers: _papers(offers, [facts], place)


def papers_of_wheels(workplace: Workplace) -> MakePapers:
    """Return what makes the papers of any wheels: the work dir's receipts are asked for those that made them."""

    def make(offers: Sequence[Offer]) -> Papers:
        return _papers(offers, _facts_in_work_dir({offer.sha256 for offer in offers}, workplace), workplace)

    return make


def papers_of_packages(workplace: Workplace, receipt: PackagesReceipt) -> MakePapers:
    """Return what makes the papers of a set of ROCm packages, of the receipt that came with it."""
    paper = PaperFile(name="packages.json", kind="receipt", data=portable_of(workplace).json(receipt))
    return lambda offers: _papers(offers, [], workplace, given=(paper,))


def portable_of(workplace: Workplace) -> Portable:
    """Return what takes this machine's folders and secrets out of records."""
    home = workplace.machine.get("HOME") or workplace.machine.get("USERPROFILE")
    places = {"work-dir": workplace.work_dir, "clone": workplace.clone, "cache": workplace.cache}
    places["python"] = workplace.python.parents[1]
    if home and Path(home).is_absolute() and Path(home) != Path(Path(home).anchor):
        places["home"] = Path(home)
    return Portable(places=places, mask=workplace.runner.mask)


def _papers(
    offers: Sequence[Offer], facts: Sequence[BuildFacts], workplace: Workplace, *, given: Sequence[PaperFile] = ()
) -> Papers:
    """Make the papers of files; ``given`` is what already says how they came to be, where no receipts of stages do."""
    from build_tools.publish.sbom import bill_of_materials  # noqa: PLC0415 - the library costs more time than many a command has

    portable = portable_of(workplace)
    missing: list[str] = []
    files = [
        PaperFile(name=f"receipt-{build.label}-{stage}.json", kind="receipt", data=portable.json(receipt))
        for build in facts
        for stage, receipt in build.receipts.items()
        if stage is not Stage.CHECK
    ]
    files += _locks(facts, portable, missing)
    files += given or _reports(offers, facts, workplace, portable, missing)
    known = {wheel.sha256 for build in facts if build.built is not None for wheel in build.built.wheels}
    unknown = [offer.filename for offer in offers if offer.sha256 not in known]
    if unknown and not given:
        missing.append(f"no receipt at hand says how {', '.join(unknown)} came to be: no lock, no commands, no sources")
    sbom = bill_of_materials(offers, facts, portable=portable)
    files.append(PaperFile(name="sbom.cdx.json", kind="sbom", data=sbom))
    words = statement(offers, facts, files, builder=builder_of(workplace.machine), portable=portable)
    files.append(PaperFile(name="provenance.intoto.json", kind="statement", data=words))
    judged = (JudgedWheel(filename=one.filename, sha256=one.sha256) for one in offers)
    return bind_papers(judged, files, missing=missing, reason=reason_of(workplace))


def _locks(facts: Sequence[BuildFacts], portable: Portable, missing: list[str]) -> list[PaperFile]:
    """Return the lock of the builds and its source manifest."""
    entries: dict[str, LockedProject] = {build.project: build.locked for build in facts if build.locked is not None}
    if not entries:
        return []
    lock = Lock(projects=entries)
    files = [PaperFile(name="lock.json", kind="lock", data=portable.json(lock))]
    try:
        manifest = portable.text(manifest_bytes(make_manifest(lock)).decode()).encode()
        files.append(PaperFile(name=MANIFEST, kind="source-manifest", data=manifest))
    except HipwrightError as error:
        missing.append(f"no source manifest: {error.message}")
    return files


def _reports(
    offers: Sequence[Offer], facts: Sequence[BuildFacts], workplace: Workplace, portable: Portable, missing: list[str]
) -> list[PaperFile]:
    """Return the check reports of the wheels: those of their builds, else what the work dir has of checks on these bytes."""
    wanted = {offer.sha256: offer.filename for offer in offers}
    found: dict[str, CheckReport] = {build.label: build.report for build in facts if build.report is not None}
    judged = {wheel.sha256 for report in found.values() for wheel in report.wheels}
    for receipt in _receipts(workplace, Stage.CHECK):
        if isinstance(receipt.result, CheckResult):
            fresh = {wheel.sha256 for wheel in receipt.result.value.wheels} & (wanted.keys() - judged)
            if fresh:
                found[f"{receipt.project}-{receipt.digest[:8]}"] = receipt.result.value
                judged |= fresh
    unjudged = sorted(name for sha256, name in wanted.items() if sha256 not in judged)
    if unjudged:
        missing.append(f"no check report at hand is about {', '.join(unjudged)}: nox -s check_wheels judges them")
    return [
        PaperFile(name=f"check-report-{label}.json", kind="check-report", data=portable.json(report))
        for label, report in found.items()
    ]


def _facts_in_work_dir(wanted: Iterable[Sha256], workplace: Workplace) -> list[BuildFacts]:
    """Return the builds of the work dir that made some of the wanted bytes, each with the receipts that it stands on."""
    left, found = set(wanted), []
    for path in sorted((workplace.work_dir / Stage.BUILD.value).glob(f"*/*/{RECEIPT}")):
        receipt = _read(path)
        if receipt is None or not isinstance(receipt.result, BuildResult):
            continue
        made = {wheel.sha256 for wheel in receipt.result.value.wheels} & left
        if made:
            left -= made
            receipts = _chain_to(path, receipt)
            found.append(
                BuildFacts(project=receipt.project, receipts=receipts, patches=_patches(receipt.project, receipts, workplace))
            )
    return found


def _chain_to(path: Path, receipt: StageReceipt) -> dict[Stage, StageReceipt]:
    """Return a build's receipt and those of its own project that it stands on, by their stages."""
    found = {receipt.stage: receipt}
    ahead = [(path.parent, upstream) for upstream in receipt.upstream]
    for _ in range(_MOST):
        if not ahead:
            break
        folder, upstream = ahead.pop()
        place = folder / upstream.receipt
        earlier = _read(place) if upstream.stage not in found else None
        if earlier is not None and (earlier.project, earlier.digest) == (receipt.project, upstream.digest):
            found[earlier.stage] = earlier
            ahead += [(place.parent, one) for one in earlier.upstream]
    return {stage: found[stage] for stage in Stage if stage in found}


def _receipts(workplace: Workplace, stage: Stage) -> Iterable[StageReceipt]:
    paths = sorted((workplace.work_dir / stage.value).glob(f"*/*/{RECEIPT}"))
    return (receipt for path in paths if (receipt := _read(path)) is not None)


def _read(path: Path) -> StageReceipt | None:
    """Return a receipt; None for what is none, which says nothing of any wheel."""
    try:
        return read_record(path, StageReceipt)
    except HipwrightError:
        return None


def _patches(name: str, receipts: Mapping[Stage, StageReceipt], workplace: Workplace) -> tuple[Patch, ...]:
    """Return the patches of a build's line that are for its platform, when the clone still has the very series that it was locked to."""
    locked = BuildFacts(project=name, receipts=receipts).locked
    if locked is None or name not in project_names(workplace.external_builds):
        return ()
    try:
        folder = workplace.external_builds / load_project(workplace.external_builds, ProjectName(name)).name
        series = load_series(folder, locked.patches.line)
    except HipwrightError:
        return ()
    if series.digest != locked.patches.digest:
        return ()
    return tuple(patch for patch in series.patches if patch.applies_on(Platform(workplace.meant_platform)))
