"""``upload_rocm_packages``: publish ROCm Python packages into a run's outputs, with an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools.config.runners import runner_table
from build_tools.config.targets import family_of_group, known_targets, offers
from build_tools.errors import HipwrightError
from build_tools.pipeline.provenance import papers_of_packages
from build_tools.pipeline.publishing import install_lines
from build_tools.pipeline.uploading import SHOWN_COLUMNS, carry_into, destination, file_rows, plan_into, refuse_inside, shown_rows
from build_tools.publish.rocm_packages import extras_to_install, packages_receipt, read_packages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.publish.offer import Offer
    from build_tools.publish.rocm_packages import PackageSet
    from build_tools.publish.upload_plan import UploadPlan
    from build_tools.receipts.snapshot import Snapshot
    from build_tools.rocm.packages.receipt import PackagesReceipt
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.workplace import Workplace

__all__ = ["upload_rocm_packages"]

_LAST: Final = 1 << 10


def upload_rocm_packages(workplace: Workplace) -> dict[str, Any]:
    """Publish the set in ``--packages-dir`` as ``…/python/<artifact group>`` of the run: files, pages, a flat page.

    ``--output-dir`` takes the place of the store: a folder of the same layout.

    Returns
    -------
    dict
        Under ``packages``: the set, each file with what was (or would be) done with it, where the index is, and how to install from it.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when no folder or no group is named, ``option-conflict`` for two places, ``package-incomplete``,
        ``output-changed``, ``name-taken``, ``store-unusable``, ``no-credentials``, ``write-conflict``.
    """
    settings, console = workplace.settings, workplace.console
    if settings.packages_dir is None:
        raise HipwrightError("bad-option-value", "no packages are named", hint="name their folder with --packages-dir DIR")
    dist, receipt = packages_receipt(settings.packages_dir)
    if settings.platform is not None and receipt.platform is not workplace.meant_platform:
        message = f"the packages are for {receipt.platform}, and --platform says {settings.platform}"
        raise HipwrightError(
            "option-conflict", message, hint="leave --platform out, or name the packages of that platform with --packages-dir"
        )
    group = settings.artifact_group
    if group is None:
        groups = " or ".join(_groups(receipt)) or "NAME"
        hint = f"say --artifact-group {groups}: the GPU family, with a build variant behind it where there is one"
        raise HipwrightError("bad-option-value", "no artifact group is named for the packages", hint=hint)
    _refuse_other_group(receipt, group)
    refuse_inside(workplace, dist)
    # Who may not write there hears it before gigabytes are read.
    target = destination(workplace, platform=receipt.platform)
    console.say(f"proving the packages in {settings.packages_dir}")
    packages = read_packages(settings.packages_dir, jobs=workplace.jobs)
    store, place, dry = target.store, target.run.python(group), settings.dry_run
    plan = plan_into(target, place, packages.offers, papers=papers_of_packages(workplace, packages.receipt))
    others = _others(packages.offers, plan.before)
    if others:
        console.warn(f"the index also holds {', '.join(others)} of this version, which are not of this set")
    if not dry:
        carry_into(plan, target, place, workplace)
    extras = extras_to_install(packages, group)
    document = _document(packages, plan, extras=extras, store=store, place=place, dry=dry)
    _tell(packages, document, workplace)
    return {"packages": {**document, "run_id": settings.run_id, "artifact_group": group}}


def _groups(receipt: PackagesReceipt) -> tuple[str, ...]:
    """Return what AMD's CI calls the groups that a set's code is for: its families, else those that its targets are built with."""
    known = (*known_targets().targets, *known_targets().families)
    rows = [runner_table().find(target) for target in receipt.targets if target in known]
    return tuple(receipt.families) or tuple(dict.fromkeys(row.name for row in rows if row is not None))


def _refuse_other_group(receipt: PackagesReceipt, group: str) -> None:
    """Refuse a group of a family that none of the set's code is for: who reads that group would find nothing."""
    found = family_of_group(group)
    listed = (*receipt.targets, *receipt.families)
    if found and listed and not offers(found[0], listed):
        message = f"the packages are for {', '.join(listed)}, and the artifact group {group} is for {found[0]}"
        raise HipwrightError("bad-option-value", message, hint="name their group with --artifact-group")


def _others(offers: Sequence[Offer], there: Snapshot) -> list[str]:
    """Return the files of the index that an install of this version could mix with the set."""
    names = {offer.filename for offer in offers}
    versions = {offer.version for offer in offers}
    return [file.filename for file in there.files if file.version in versions and file.filename not in names]


def _document(
    packages: PackageSet, plan: UploadPlan, *, extras: Sequence[str], store: Store, place: IndexFolder, dry: bool
) -> dict[str, Any]:
    receipt = packages.receipt
    named = f"[{','.join(extras)}]" if extras else ""
    requirement = f"rocm{named}=={receipt.version}"
    options = ["--no-index", "--find-links", place.find_links_url(store)]
    return {
        "dry_run": dry,
        "version": receipt.version,
        "set_id": receipt.set_id,
        "form": receipt.form,
        "platform": receipt.platform.value,
        "targets": list(receipt.targets),
        "families": list(receipt.families),
        "files": file_rows(plan),
        "writes": list(plan.writes()),
        "store": store.address,
        "prefix": place.prefix,
        "find_links_url": place.find_links_url(store),
        "index_url": place.index_url(store) if store.serves_folders else None,
        "extras": sorted(packages.extras),
        "requirement": requirement,
        "install": install_lines(requirement, version=receipt.version, places=options),
    }


def _tell(packages: PackageSet, document: Mapping[str, Any], workplace: Workplace) -> None:
    """Show the files, where they are, and the lines that install them."""
    dry = document["dry_run"]
    title = f"ROCm packages {packages.receipt.version}"
    rows = shown_rows(document["files"], dry=dry)
    devices = sorted(
        (extra for extra in packages.extras if extra.startswith(("device-", "libraries-", "devel-"))), key=_by_number
    )
    more = f"extras for GPUs: {', '.join(devices)}\n" if devices else ""
    if packages.receipt.form == "device" and devices and "device-" not in document["requirement"]:
        more += "these lines bring no code for a GPU, add the extra for yours:\n"
    note = f"page: {document['find_links_url']}\n{more}{document['install']['pip']}\n{document['install']['uv']}"
    workplace.console.table(title, SHOWN_COLUMNS, rows, note=note)


def _by_number(extra: str) -> tuple[str, int, str]:
    """Return what extras are sorted by: their kind, then targets by how long their numbers are, words such as ``all`` last."""
    kind, _, name = extra.partition("-")
    return kind, len(name) if name.startswith("gfx") else _LAST, name
