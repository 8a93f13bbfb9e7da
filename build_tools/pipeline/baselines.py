"""The earlier wheel that a check compares with: as an option names it, or the last promoted one of the line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from build_tools import digest
from build_tools.checks.baseline import choose_baseline, member_sizes, project_of
from build_tools.config.channels import load_channels
from build_tools.environments.download import fetch_link
from build_tools.environments.listing import Listing, parse_source
from build_tools.environments.network import path_of
from build_tools.environments.page import Link
from build_tools.errors import HipwrightError
from build_tools.publish.current import read_current
from build_tools.stores.run_outputs import IndexFolder
from build_tools.urls import is_url, redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.workplace import Workplace

__all__ = ["baseline_identity", "named_baselines", "promoted_before", "promoted_sizes"]


def named_baselines(filenames: Sequence[str], workplace: Workplace) -> dict[str, Mapping[str, int]]:
    """Return the sizes of the members of the wheels that ``--baseline`` names, by the file name of the wheel that is compared with each.

    A wheel that the place has nothing for is left out, and the report says so.

    Raises
    ------
    HipwrightError
        ``no-wheel`` when the place has nothing for any of them; ``source-unreachable``; ``bad-wheel``.
    """
    place = workplace.settings.baseline
    if place is None:
        return {}
    local = path_of(place) if is_url(place) else Path(place)
    if local is not None and not local.exists():
        message = f"--baseline names {redact(place)}, and there is no such file or folder"
        raise HipwrightError("no-wheel", message, hint="name a wheel, a folder of wheels, or a page that lists some")
    found = {name: sizes for name in filenames if (sizes := _named(name, place, workplace)) is not None}
    if not found:
        message = f"{redact(place)} has no wheel that {filenames[0]} can be compared with"
        hint = "name a wheel, or a folder or page with one of the same project, Python and system"
        raise HipwrightError("no-wheel", message, hint=hint)
    return found


def baseline_identity(workplace: Workplace) -> str | None:
    """Return what decides whether ``--baseline`` still names the same: of a place on this disk the wheels there, else its address."""
    place = workplace.settings.baseline
    if place is None:
        return None
    local = path_of(place) if is_url(place) else Path(place)
    if local is None:
        return place
    return digest.of_value([[path.name, stat.st_size, stat.st_mtime_ns] for path in _wheels_at(local) for stat in (path.stat(),)])


def _wheels_at(place: Path) -> list[Path]:
    return (
        [place] if place.is_file() else sorted(path for path in place.glob("*.whl") if path.is_file()) if place.is_dir() else []
    )


def _named(filename: str, place: str, workplace: Workplace) -> Mapping[str, int] | None:
    own = project_of(filename)
    if own is None:
        return None  # the rule `file-name` says so
    local = path_of(place) if is_url(place) else Path(place)
    if local is not None:
        files = {path.name: path for path in _wheels_at(local)}
        chosen = _chosen(filename, files, typed=local.is_file())
        return member_sizes(files[chosen]) if chosen is not None else None
    network = workplace.base.knowing((place,)).network()
    last = unquote(urlsplit(place).path).rpartition("/")[2]
    if last.endswith(".whl"):
        links = {last: Link(filename=last, url=place)}
    else:
        source = parse_source(find_links=(place,), folder=workplace.typed_in)
        offered = Listing(source=source, network=network).files(own)
        links = {file.link.filename: file.link for file in offered if file.kind == "wheel"}
    chosen = _chosen(filename, links, typed=last.endswith(".whl"))
    return member_sizes(fetch_link(links[chosen], cache=workplace.cache, network=network)[0]) if chosen is not None else None


def _chosen(filename: str, others: Iterable[str], *, typed: bool) -> str | None:
    """Choose among the wheels of a place; one that was typed itself needs to be of the same project alone, and may be of the same name."""
    names = list(others)
    if typed:
        return names[0] if project_of(names[0]) == project_of(filename) else None
    return choose_baseline(filename, names, same_line=False) or (filename if filename in names else None)


def promoted_before(filename: str, workplace: Workplace) -> IndexedFile | None:
    """Return the wheel of the same project, line, Python and system that the work dir's own store promoted last; None without one.

    Only a store that is a folder is asked: a check must not wait for a network that nobody named.
    """
    address = workplace.store_address
    if is_url(address) or not Path(address).is_dir():
        return None
    channel = load_channels().find_channel(workplace.settings.channel)
    try:
        store = workplace.open_store(writing=False)
        files = read_current(store, IndexFolder(channel.prefix)).snapshot.files
    except HipwrightError:
        return None  # publishing says what is wrong with it
    by_name = {file.filename: file for file in files if file.filename.endswith(".whl")}
    chosen = choose_baseline(filename, by_name, same_line=True)
    return by_name[chosen] if chosen is not None else None


def promoted_sizes(file: IndexedFile, workplace: Workplace) -> Mapping[str, int]:
    """Return the sizes of the members of a promoted wheel.

    Raises
    ------
    HipwrightError
        ``nothing-published`` when it is gone; ``bad-wheel``.
    """
    prefix = load_channels().find_channel(workplace.settings.channel).prefix
    with workplace.open_store(writing=False).as_file(f"{prefix}/{file.key}") as path:
        return member_sizes(path)
