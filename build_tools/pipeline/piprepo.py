"""``--index-format piprepo``: a plain index that piprepo itself writes, for places that take no other.

piprepo has the files right in the folder and pages with links to them below ``simple/``; no metadata side files, no digests, no history. It
goes by file names alone, so it is given the names and the store keeps the bytes: nothing is written over, and files come before pages.
It imports what newer setuptools has no more, so it runs in an environment of its own (``requirements/piprepo-env.txt``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from packaging.utils import canonicalize_name

from build_tools.environments.page import is_package_file
from build_tools.environments.request import EnvironmentRequest
from build_tools.errors import HipwrightError
from build_tools.files import temporary_folder
from build_tools.index.layout import HTML_TYPE, SIMPLE, SNAPSHOT
from build_tools.pipeline.uploading import SHOWN_COLUMNS, shown_rows
from build_tools.publish.current import ASK_EVERY_TIME, PUBLISH_AGAIN
from build_tools.publish.run_files import plan_run_files, put_run_files
from build_tools.types import ObjectKey
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from build_tools.pipeline.uploading import Destination
    from build_tools.publish.offer import Offer
    from build_tools.publish.run_files import RunFile
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.workplace import Workplace

__all__ = ["publish_by_piprepo"]

_TRIES: Final = 50
_ROOT: Final = f"{SIMPLE}/index.html"


def publish_by_piprepo(
    wheels: Sequence[Path], offers: Sequence[Offer], target: Destination, place: IndexFolder, workplace: Workplace
) -> dict[str, Any]:
    """Publish wheels with pages that piprepo writes.

    Parameters
    ----------
    wheels
        The wheels.
    offers
        What was read of them, in the same order.
    target
        The store and the run.
    place
        Where in it.
    workplace
        Where and with what.

    Raises
    ------
    HipwrightError
        ``option-conflict`` when the place holds an index of hipwright's own, ``--replace`` is given, or a wheel has a build number,
        ``name-taken`` when a name holds other bytes, ``write-conflict``, ``store-unusable``, and what making an environment raises.
    """
    settings, store = workplace.settings, target.store
    if target.reason is not None:
        raise HipwrightError(
            "option-conflict",
            "an index of piprepo's keeps no older bytes, so --replace has no place in it",
            hint="leave --replace out, or --index-format",
        )
    if store.head(place.key(SNAPSHOT)) is not None:
        message = f"{store.url(place.prefix)} holds an index of hipwright's own, and piprepo would write pages over it"
        raise HipwrightError("option-conflict", message, hint="leave --index-format out, or name another --artifact-group")
    _refuse_build_numbers(wheels)
    named = [(wheel, wheel.name) for wheel in wheels]
    files = plan_run_files(named, store=store, folder=ObjectKey(place.prefix), kind="fixed")
    before = _names(store, place)
    writes = _writes(files, offers, before)
    if not settings.dry_run:
        target.claim(workplace)
        put_run_files(files, store=store, progress=workplace.console.progress)
        _bring_pages(store, place, workplace)
    rows = [
        {
            "filename": offer.filename,
            "sha256": offer.sha256,
            "size": offer.size,
            "action": "keep" if file.there else "publish",
            "key": offer.filename,
        }
        for offer, file in zip(offers, files, strict=True)
    ]
    document = {
        "dry_run": settings.dry_run,
        "index_format": "piprepo",
        "run_id": settings.run_id,
        "release_type": target.release_type,
        "artifact_group": settings.artifact_group,
        "files": rows,
        "writes": writes,
        "provenance": None,
        "store": store.address,
        "prefix": place.prefix,
        "index_url": place.index_url(store),
    }
    note = f"page: {place.index_url(store)}\nno papers and no side files: an index of piprepo's has no place for them"
    shown = shown_rows(rows, dry=settings.dry_run)
    workplace.console.table(f"Wheels of the run {settings.run_id}, by piprepo", SHOWN_COLUMNS, shown, note=note)
    return {"upload": document}


def _refuse_build_numbers(wheels: Iterable[Path]) -> None:
    """Refuse wheels that nobody would find: piprepo takes the version before a build number for a part of the project's name."""
    numbered = [wheel.name for wheel in wheels if parse_wheel_name(wheel.name).build]
    if numbered:
        message = f"piprepo cannot list wheels with a build number, such as {numbered[0]}, under their project"
        raise HipwrightError("option-conflict", message, hint="leave --index-format out, or name wheels without build numbers")


def _names(store: Store, place: IndexFolder) -> frozenset[str]:
    """Return the names of the files that lie right in the folder."""
    cut = len(place.prefix) + 1 if place.prefix else 0
    found = (one.key[cut:] for one in store.list(place.prefix))
    return frozenset(name for name in found if "/" not in name and is_package_file(name))


def _writes(files: Iterable[RunFile], offers: Sequence[Offer], before: frozenset[str]) -> list[str]:
    """Return the keys that are written, relative to the folder: files, the pages of their projects, the root when a project is new."""
    new = [offer for offer, file in zip(offers, files, strict=True) if not file.there]
    known = {canonicalize_name(name.partition("-")[0]) for name in before}
    projects = sorted({offer.project for offer in new})
    pages = [f"{SIMPLE}/{project}/index.html" for project in projects]
    root = [_ROOT] if any(project not in known for project in projects) else []
    return [*(offer.filename for offer in new), *pages, *root]


def _bring_pages(store: Store, place: IndexFolder, workplace: Workplace) -> None:
    """Let piprepo write pages of all names that are there, and put those that differ, until nobody has added a name meanwhile."""
    interpreter = workplace.interpreters[None] if None in workplace.interpreters else next(iter(workplace.interpreters.values()))
    log = workplace.work_dir / "logs" / "upload_wheels" / "piprepo.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    request = EnvironmentRequest(
        interpreter=interpreter, pins=workplace.requirements / "piprepo-env.txt", purpose="the environment of piprepo"
    )
    python = workplace.environment(request, runner=workplace.runner, log=log).python
    for _ in range(_TRIES):
        names = _names(store, place)
        with temporary_folder(workplace.work_dir, "piprepo") as room:
            for name in names:
                (room / name).touch()
            workplace.runner.run([python, "-c", "from piprepo.command import main; main()", "build", room], cwd=room, log=log)
            pages = {
                f"{SIMPLE}/{path.relative_to(room / SIMPLE).as_posix()}": path.read_bytes()
                for path in (room / SIMPLE).rglob("*.html")
            }
        # The root names the projects, so it comes last.
        if _put_pages(store, place, sorted(pages.items(), key=lambda page: page[0] == _ROOT)) and _names(store, place) == names:
            return
    raise HipwrightError(
        "write-conflict",
        f"the pages at {store.url(place.prefix)} did not stand still for {_TRIES} tries",
        hint=PUBLISH_AGAIN,
    )


def _put_pages(store: Store, place: IndexFolder, pages: Iterable[tuple[str, bytes]]) -> bool:
    """Put pages that differ from what is there; return whether nobody else changed one meanwhile."""
    for name, data in pages:
        key = place.key(name)
        there = store.get(key)
        if there is not None and there.data == data:
            continue
        try:
            store.put(
                key,
                data,
                content_type=HTML_TYPE,
                cache_seconds=ASK_EVERY_TIME,
                if_absent=there is None,
                if_match=None if there is None else there.info.etag,
            )
        except HipwrightError as error:
            if error.code.name != "write-conflict":
                raise
            return False
    return True
