"""``update_deps_index``: keep the index of what the owned packages require beside them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from build_tools.config.deps_index import deps_index
from build_tools.counted import counted
from build_tools.environments.base_listing import base_listing
from build_tools.environments.download import download_all
from build_tools.errors import HipwrightError
from build_tools.pipeline.publishing import index_lines, store_to_read, warn_when_closed
from build_tools.publish.current import read_current
from build_tools.publish.deps import DEPS_INDEX, choose_deps, plan_deps, served
from build_tools.publish.deps_proof import prove_deps
from build_tools.publish.offer import offer_file
from build_tools.publish.upload import publish_offers

if TYPE_CHECKING:
    from build_tools.publish.deps import DepsPlan, Served
    from build_tools.stores.base import Store
    from build_tools.workplace import Workplace

__all__ = ["update_deps_index"]


def update_deps_index(workplace: Workplace) -> dict[str, Any]:
    """Add to the deps index what the data or ``--packages`` ask for and it lacks.

    ``--python`` and ``--platform`` limit what is served, ``--packages`` takes the place of the list in the data.

    Returns
    -------
    dict
        Under ``deps_index``: what is served, which files were (or would be) added and which were there, where the index is.

    Raises
    ------
    HipwrightError
        ``owned-name-leak``, ``requirement-missing``, ``hash-mismatch``, ``name-taken``, ``source-unreachable``, ``store-unusable``.
    """
    settings, console = workplace.settings, workplace.console
    targets = _served(workplace)
    requirements = settings.packages or deps_index().requirements
    dry = settings.dry_run
    store = store_to_read(workplace, workplace.store_address) if dry else workplace.open_store(writing=True)
    offers = base_listing(workplace.base)
    with console.group("choosing wheels"):
        chosen = choose_deps(requirements, targets, offers=offers, cache=workplace.cache, say=console.line)
    plan = plan_deps(chosen, read_current(store, DEPS_INDEX).snapshot)
    if not dry:
        _publish(plan, store, workplace)
        warn_when_closed(workplace, store, DEPS_INDEX)
    _tell(plan, store, workplace)
    return {
        "deps_index": {
            "dry_run": dry,
            "requirements": list(requirements),
            "served": [{"python": target.python, "platform": target.platform.value} for target in targets],
            "added": [_row(file.filename, file.url, file.sha256) for file in plan.added],
            "kept": [file.filename for file in plan.kept],
            "store": store.address,
            "prefix": DEPS_INDEX.prefix,
            "index_url": DEPS_INDEX.index_url(store) if store.serves_folders else None,
            "find_links_url": DEPS_INDEX.find_links_url(store),
        }
    }


def _served(workplace: Workplace) -> tuple[Served, ...]:
    """Return the Pythons and platforms to choose for: those of the data that the options leave.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the data serve no such platform, or a Python is no version.
    """
    settings, table = workplace.settings, deps_index()
    platforms = [one for one in table.platform if settings.platform in {None, one.name.value}]
    if not platforms:
        listed = ", ".join(one.name for one in table.platform)
        message = f"the deps index serves {listed}, not {settings.platform}"
        raise HipwrightError("bad-option-value", message, hint="leave --platform out, or name one that it serves")
    return tuple(served(python, platform) for platform in platforms for python in settings.python or table.pythons)


def _publish(plan: DepsPlan, store: Store, workplace: Workplace) -> None:
    console = workplace.console
    network = workplace.base.network()
    many = len(plan.added)
    with console.group(f"fetching {counted(many, 'wheel')}") if many else nullcontext():
        paths = download_all(plan.added, cache=workplace.cache, network=network, say=console.line)
    chosen = {canonicalize_name(file.distribution) for file in (*plan.added, *plan.kept)}
    for note in prove_deps(paths, chosen=chosen):
        console.say(note)
    # With nothing to add the pages are still brought to what the snapshot says: an earlier run may have been cut short.
    offers = [offer_file(path, sha256=file.sha256) for path, file in zip(paths, plan.added, strict=True)]
    publish_offers(offers, store=store, place=DEPS_INDEX, replace=False, say=console.say)


def _tell(plan: DepsPlan, store: Store, workplace: Workplace) -> None:
    added = {file.filename for file in plan.added}
    rows: dict[tuple[str, str], list[int]] = {}
    for file in (*plan.added, *plan.kept):
        counts = rows.setdefault((canonicalize_name(file.distribution), file.version), [0, 0])
        counts[file.filename not in added] += 1
    would = "would be added" if workplace.settings.dry_run else "added"
    workplace.console.table(
        "Deps index",
        ("package", "version", would, "there already"),
        [(name, version, str(new), str(old)) for (name, version), (new, old) in sorted(rows.items())],
        note=index_lines(store, DEPS_INDEX),
    )


def _row(filename: str, url: str, sha256: str) -> dict[str, str]:
    return {"filename": filename, "url": url, "sha256": sha256}
