"""The tree of development files, made, mended and kept up to date.

It is made under another name and renamed when it is whole. Its mark lies inside and names the archives and device packages that it was
made of, so a tree that another process left half-done, or that packages installed later have made stale, is told and mended.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ._devices import list_name
from ._errors import SdkError
from ._extract import Tree, unpack
from ._follow import follow
from ._keep import keep_others
from ._links import Linker
from ._plan import FILES, LOCK, MARK, PENDING, SIZES, faults_of, files_of, install_again, read_mark
from ._records import find_record, recorded, replace_file, set_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._plan import Place, Plan

__all__ = ["bring", "writable"]

_INIT = b'"""ROCm\'s development files, expanded by `rocm-sdk init`; they are removed with their package."""\n'


def writable(places: list[Place], plan: Plan) -> Place:
    """Return the first place that can be written, with its folder made.

    Raises
    ------
    SdkError
        When there is none; says why.
    """
    why: dict[Path, str] = {}
    for place in places:
        reason = _why_not(place, plan)
        if reason is None:
            return place
        why[place.base] = reason
    listed = "; ".join(f"{folder}: {reason}" for folder, reason in why.items()) or "no home folder"
    message = f"there is no place for the development files that can be written: {listed}"
    raise SdkError(message)


def bring(place: Place, plan: Plan, *, repair: bool, say: Callable[[str], None]) -> None:
    """Make the tree what the plan says, whatever is there; the caller holds the place's lock.

    Parameters
    ----------
    place
        Where.
    plan
        What it is made of.
    repair
        Whether each file is looked for, and not only the mark.
    say
        Told what takes long.

    Raises
    ------
    BadArchiveError
        When an archive is not what its package says.
    SdkError
        When there is no room, or a file that is needed is gone.
    """
    mark = read_mark(place.tree)
    if any(mark.get(key) != value for key, value in plan.made_of.items()) or (repair and faults_of(place.tree)):
        _expand(place, plan, say)
        mark = read_mark(place.tree)
    stated = mark.get("devices")
    linked = set(map(str, stated)) if isinstance(stated, list) else set()
    good = {
        target: device
        for target, device in plan.devices.items()
        if not repair and target in linked and (place.tree / list_name(target)).is_file()
    }
    kept = frozenset(files_of(place.tree)) | {path for device in good.values() for path in device.files}
    follow(
        place.tree,
        {target: device for target, device in plan.devices.items() if target not in good},
        linked=sorted(linked - set(good)),
        kept=kept,
        linker=_linker(place.tree, place, plan),
        site=place.site,
    )
    _settle(place.tree, _linker(place.tree, place, plan))
    _write_mark(place.tree, plan, sorted(plan.devices))


def _why_not(place: Place, plan: Plan) -> str | None:
    """Return why a place cannot be written, found by trying; None when it can."""
    try:
        folders = {place.base, place.lock.parent}
        if place.site is None:
            place.base.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            folders.add(_record(place, plan).parent)
        for folder in folders:
            Path(tempfile.mkdtemp(prefix=".rocm_sdk.probe-", dir=folder)).rmdir()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _record(place: Place, plan: Plan) -> Path:
    """Return the list by which an installer removes the tree's package; where there is none, nothing may be added to its folder."""
    distribution = plan.parts[-1].package.distribution
    record = find_record(place.base, distribution)
    if record is None:
        message = f"no installer recorded the files of {distribution}"
        raise FileNotFoundError(message)
    return record


def _settle(tree: Path, linker: Linker) -> None:
    """Make the links to what device packages bring, and remove those to what they took away."""
    pending: dict[str, str] = json.loads((tree / PENDING).read_bytes())
    for path in pending:
        if (tree / path).is_symlink() and not (tree / path).exists():
            (tree / path).unlink()
    linker.make_all({path: led for path, led in pending.items() if not os.path.lexists(tree / path)})


def _expand(place: Place, plan: Plan, say: Callable[[str], None]) -> None:
    lost = [part for part in plan.parts if not part.archive.is_file()]
    if lost:
        message = f"{lost[0].archive} is gone, and {place.tree} is not whole; {install_again(lost[0].package)}"
        raise SdkError(message)
    needed, free = sum(part.size for part in plan.parts), shutil.disk_usage(place.base).free
    if free < needed:
        message = f"the development files need {needed / 2**30:.1f} GiB, and {place.base} has {free / 2**30:.1f} GiB free"
        raise SdkError(message)
    say(f"expanding ROCm's development files into {place.tree}")
    made, old = (place.base / f".{plan.name}.{word}" for word in ("new", "old"))
    ours = _recorded(place, plan)
    # Somebody who was killed left them: before a tree took the place of another, or after it.
    if os.path.lexists(old) and not os.path.lexists(place.tree):
        old.rename(place.tree)
    keep_others(old, place.tree, recorded=ours, say=say)
    for left in (made, old):
        _remove_tree(left)
    if place.site is None:
        for name, folder in plan.siblings.items():
            _stand_in(place.base / name, folder)
    try:
        files = _fill(made, place, plan)
        if place.site is not None:
            prefixes = (f"{plan.name}/", f"{place.lock.parent.name}/{LOCK}")
            rows = [*(f"{plan.name}/{path}" for path in files), prefixes[1]]
            set_rows(_record(place, plan), prefix=prefixes, rows=rows)
        if os.path.lexists(place.tree):
            place.tree.rename(old)
        made.rename(place.tree)
        keep_others(old, place.tree, recorded=ours, say=say)
    finally:
        _remove_tree(made)
        if os.path.lexists(place.tree):
            _remove_tree(old)


def _recorded(place: Place, plan: Plan) -> list[str]:
    """Return the paths in the tree that the installer's list of its package has."""
    if place.site is None:
        return []
    start = f"{plan.name}/"
    return [row.removeprefix(start) for row in recorded(_record(place, plan)) if row.startswith(start)]


def _fill(made: Path, place: Place, plan: Plan) -> list[str]:
    """Make the tree under another name, and return the paths that may be in it; what one archive holds counts before those that come before it."""
    made.mkdir()
    tree = Tree()
    for part in reversed(plan.parts):
        top = part.package.module
        unpack(part.archive, made, tree, sha256=part.sha256, top=top, siblings=frozenset({*plan.siblings, plan.name, top}))
    linker = _linker(made, place, plan)
    links = {path: _in_this_tree(led, plan) for path, led in tree.links.items()}
    made_links = linker.make_all(links)
    pending = {path: links[path] for path in set(links) - set(made_links)}
    if not os.path.lexists(made / "__init__.py"):
        replace_file(made / "__init__.py", _INIT)
        tree.files.add("__init__.py")
    files = sorted({*tree.files, *made_links})
    sizes = {path: status.st_size for path in files if stat.S_ISREG((status := (made / path).lstat()).st_mode)}
    # Written beside and renamed: a name that an archive made a link of another package's file must not be written through.
    replace_file(made / FILES, "".join(f"{path}\n" for path in files).encode())
    for name, what in ((SIZES, sizes), (PENDING, pending)):
        replace_file(made / name, json.dumps(what, indent=1, sort_keys=True).encode())
    _write_mark(made, plan, [])
    return [*files, *pending, FILES, SIZES, PENDING, MARK]


def _in_this_tree(led: str, plan: Plan) -> str:
    """Return where a link leads when all archives make one tree, whichever of them it is from."""
    first, slash, rest = led.partition("/")
    return f"{plan.name}{slash}{rest}" if first in {part.package.module for part in plan.parts} else led


def _linker(into: Path, place: Place, plan: Plan) -> Linker:
    siblings = {name: place.base / name if place.site is None else folder for name, folder in plan.siblings.items()}
    return Linker(into=into, name=plan.name, siblings=siblings)


def _write_mark(tree: Path, plan: Plan, devices: list[str]) -> None:
    replace_file(tree / MARK, json.dumps({**plan.made_of, "devices": devices}, indent=1, sort_keys=True).encode())


def _stand_in(link: Path, folder: Path) -> None:
    """Make the name of a package's folder lead to it, beside a tree that does not lie beside it."""
    if os.path.lexists(link):
        return
    if sys.platform == "win32":
        import _winapi  # noqa: PLC0415 - only there

        _winapi.CreateJunction(str(folder), str(link))
    else:
        link.symlink_to(folder, target_is_directory=True)


def _remove_tree(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    elif os.path.lexists(path):
        shutil.rmtree(path)
