"""``upload_run_logs``: what this work dir can tell of a run goes into the run's outputs, after a failure as after a success.

These are the logs, the receipts and reports of all stages, the lock with its source manifest, and the artifacts of a folder that is named.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import humanize

from build_tools.errors import HipwrightError
from build_tools.locking.manifest import make_manifest, manifest_bytes
from build_tools.pipeline.uploading import destination
from build_tools.publish.run_files import plan_run_files, put_listing, put_run_files
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import read_record
from build_tools.sources.modules import own_folder
from build_tools.types import ObjectKey, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.workplace import Workplace

__all__ = ["upload_run_logs"]

_ODD: Final = re.compile(r"[^A-Za-z0-9._+/-]")
"""What of a file's name not every store can hold, or an address has to encode."""

_WHOLE_RUN: Final = "generic"
_LOCK: Final = "lock.json"
_PAPERS: Final = (".json", ".xml")


def upload_run_logs(workplace: Workplace) -> dict[str, Any]:
    """Put logs, receipts, reports, lock, source manifest and artifacts of this work dir into the outputs of the run.

    Returns
    -------
    dict
        Under ``logs``: every file with its key and whether it was there, and the page that lists them.

    Raises
    ------
    HipwrightError
        ``nothing-to-upload`` when there is nothing at all, ``name-taken`` when an artifact of the run has other bytes, and what
        :func:`build_tools.pipeline.uploading.destination` raises.
    """
    settings, console = workplace.settings, workplace.console
    logs = sorted(_logs(workplace), key=lambda one: one[1])
    artifacts = _artifacts(settings.artifact_dir)
    if not logs and not artifacts:
        message = f"there is no log and no receipt in {workplace.work_dir}, and no artifact is named"
        hint = "name the work dir of the build with --work-dir, or a folder of artifacts with --artifact-dir"
        raise HipwrightError("nothing-to-upload", message, hint=hint)
    target = destination(workplace)
    store, run = target.store, target.run
    folder = run.logs(settings.artifact_group or _WHOLE_RUN)
    planned = list(plan_run_files(artifacts, store=store, folder=run.prefix, kind="fixed"))
    planned += plan_run_files(logs, store=store, folder=folder, kind="attempt")
    manifest = _manifest(workplace)
    if manifest is not None:
        where, _, name = run.manifest(settings.artifact_group).rpartition("/")
        planned += plan_run_files([(manifest, name)], store=store, folder=ObjectKey(where), kind="attempt")
    page = ObjectKey(f"{folder}/index.html")
    if not settings.dry_run:
        target.claim(workplace)
        put_run_files(planned, store=store, progress=console.progress)
        page = put_listing(folder, store=store)
    document = {
        "dry_run": settings.dry_run,
        "run_id": settings.run_id,
        "artifact_group": settings.artifact_group,
        "store": store.address,
        "page": store.url(page),
        "manifest": store.url(run.manifest(settings.artifact_group)) if manifest is not None else None,
        "files": [
            {"key": one.key, "size": one.size, "sha256": one.sha256, "action": "keep" if one.there else "publish"}
            for one in planned
        ],
    }
    _tell(document, workplace)
    return {"logs": document}


def _logs(workplace: Workplace) -> Iterator[tuple[Path, str]]:
    """Give the logs of a work dir, its lock, and what its stages wrote down, each with its name in the outputs of the run."""
    work_dir = workplace.work_dir
    for path in sorted(path for path in (work_dir / "logs").rglob("*") if path.is_file() and not path.is_symlink()):
        yield path, _name(path.relative_to(work_dir / "logs"))
    if (work_dir / _LOCK).is_file():
        yield work_dir / _LOCK, _LOCK
    for stage in Stage:
        for path in sorted((work_dir / stage.value).glob("*/*/*")):
            if path.is_file() and path.suffix in _PAPERS:
                yield path, _name(Path("receipts", path.relative_to(work_dir)))
    for tree in sorted((work_dir / "src").glob("*")):
        for stage in Stage:
            path = own_folder(tree) / f"{stage}.json"
            if path.is_file():
                yield path, _name(Path("receipts", stage, tree.name, "receipt.json"))


def _name(relative: Path) -> str:
    """Return a file's name as every store can hold it."""
    return _ODD.sub("_", relative.as_posix())


def _artifacts(folder: Path | None) -> list[tuple[Path, str]]:
    """Return the files right in a folder of artifacts.

    Raises
    ------
    HipwrightError
        ``nothing-to-upload`` when there is no such folder, or no file in it.
    """
    if folder is None:
        return []
    found = [(path, path.name) for path in sorted(folder.glob("*")) if path.is_file()] if folder.is_dir() else []
    if not found:
        raise HipwrightError(
            "nothing-to-upload", f"there is no artifact in {folder}", hint="name their folder with --artifact-dir"
        )
    return found


def _manifest(workplace: Workplace) -> bytes | None:
    """Return the source manifest of what the work dir is locked to; None without a lock, or when one manifest cannot say it."""
    path = workplace.work_dir / _LOCK
    if not path.is_file():
        return None
    try:
        return manifest_bytes(make_manifest(read_record(path, Lock)))
    except HipwrightError as error:
        workplace.console.warn(f"no source manifest is uploaded: {error.message}")
        return None


def _tell(document: dict[str, Any], workplace: Workplace) -> None:
    """Show how many files there are of each kind, and the pages to look at."""
    dry, files = document["dry_run"], document["files"]
    rows = []
    for action, words in (("publish", "would be uploaded" if dry else "uploaded"), ("keep", "there already")):
        some = [one for one in files if one["action"] == action]
        rows.append((words, str(len(some)), humanize.naturalsize(sum(one["size"] for one in some), binary=True)))
    lines = [f"logs: {document['page']}"]
    lines += [f"source manifest: {document['manifest']}"] if document["manifest"] else []
    title = f"Logs of the run {document['run_id']}"
    workplace.console.table(title, ("what", "files", "size"), rows, note="\n".join(lines))
