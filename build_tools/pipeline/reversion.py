"""``promote --reversion``: a tested set made anew under another version, with the verdicts that still speak of it."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from build_tools import digest
from build_tools.checks.run import check_wheels, raise_for
from build_tools.config.version_members import version_members
from build_tools.errors import HipwrightError
from build_tools.index.snapshots import by_filename
from build_tools.pipeline.reversion_papers import papers_of_remade
from build_tools.publish.current import read_current
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verdicts import put_verdict, read_verdicts
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.values import WheelFile
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from build_tools.wheels.name import parse_wheel_name
from build_tools.wheels.reversion import Remade, is_of_version, remake_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from build_tools.publish.promote import Request
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.types import Sha256
    from build_tools.wheels.reversion import Reversion
    from build_tools.workplace import Workplace

__all__ = ["remade_request"]


@contextlib.contextmanager
def remade_request(request: Request, rows: Sequence[IndexedFile], rule: Reversion, workplace: Workplace) -> Iterator[Request]:
    """Give a request for the same files under another version for the time of the block.

    They are made in the work dir, checked, and indexed there with their verdicts; afterwards they are gone. One that has nothing of the
    version that is left goes on with the bytes that it has.

    A verdict goes on to the new wheels only where all wheels that it speaks of, as far as they are of this set, differ in nothing but what
    states their version. A failure goes on in any case.

    Parameters
    ----------
    request
        What is to be promoted.
    rows
        Its files, as their index has them.
    rule
        Which version becomes which.
    workplace
        Where and with what.

    Raises
    ------
    HipwrightError
        ``version-left``, ``bad-version`` when all would stay as they are, ``name-taken`` when the channel has one of them that keeps its
        name, ``check-failed``, ``nothing-published``, ``output-changed``, and what making a wheel raises.
    """
    above = workplace.work_dir / "reversion"
    above.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=above) as made_in:
        yield _remake_all(request, rows, rule, Path(made_in), workplace)


def _remake_all(request: Request, rows: Sequence[IndexedFile], rule: Reversion, folder: Path, workplace: Workplace) -> Request:
    made = {row.sha256: _remade(request, row, rule, folder / "wheels", workplace) for row in rows}
    if all(digest.of_file(one.path) == sha256 for sha256, one in made.items()):
        names = ", ".join(row.filename for row in rows)
        message = f"none of {names} is of the version {rule.old}, nor for a ROCm of that version, nor does it require any"
        raise HipwrightError("bad-version", message, hint="name the version that they have: --reversion OLD=NEW")
    _refuse_taken(request, made, rule)
    paths = [one.path for one in made.values()]
    raise_for(check_wheels(paths, expectations=None, say=workplace.console.say, jobs=workplace.jobs))
    store, place = FolderStore(folder), IndexFolder(request.origin.prefix)
    links = {one.path.name: one.source for one in made.values()}
    index = publish_wheels(
        [(path, _wheel_file(path)) for path in paths],
        store=store,
        prefix=place.prefix,
        replace=False,
        say=lambda _line: None,
        papers=lambda offers: papers_of_remade(offers, rows, links=links, rule=rule, route=request.route, workplace=workplace),
    )
    new_bytes = {links[file.filename]: file for file in index.files}
    for verdict in read_verdicts(request.source, request.origin, set(made)):
        mine = [wheel for wheel in verdict.wheels if wheel.sha256 in made]
        if verdict.outcome == "passed" and not all(made[wheel.sha256].same_content for wheel in mine):
            continue
        wheels = tuple(
            JudgedWheel(filename=new_bytes[wheel.sha256].filename, sha256=new_bytes[wheel.sha256].sha256) for wheel in mine
        )
        put_verdict(store, place, msgspec.structs.replace(verdict, wheels=wheels))
    return dataclasses.replace(
        request,
        files=tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files),
        source=store,
        origin=place,
    )


def _remade(request: Request, row: IndexedFile, rule: Reversion, target: Path, workplace: Workplace) -> Remade:
    workplace.console.say(f"giving {row.filename} the version {rule.of(row.version)}")
    with request.source.as_file(request.origin.key(row.key)) as path:
        found = digest.of_file(path)
        if not is_of_version(path, rule):
            workplace.console.say(f"{row.filename} has nothing of {rule.old} in it, and stays as it is")
            target.mkdir(parents=True, exist_ok=True)
            kept = target / row.filename
            shutil.copyfile(path, kept)
            return Remade(path=kept, source=found, same_content=True)
        return remake_wheel(path, target, rule, source=found, members=version_members(), jobs=workplace.jobs)


def _refuse_taken(request: Request, made: Mapping[Sha256, Remade], rule: Reversion) -> None:
    """Refuse wheels that keep their version, and so their name, where the channel has it already for what they were made of."""
    there = by_filename(read_current(request.target, request.place).snapshot)
    names = [
        one.path.name
        for one in made.values()
        if (row := there.get(one.path.name)) is not None and row.sha256 == one.source != digest.of_file(one.path)
    ]
    if names:
        message = (
            f"{', '.join(names)} of the channel {request.channel.name} would need other bytes under the same name: the version stays, "
            f"and what is required of {rule.old} does not"
        )
        hint = "leave them out with --projects, or build them with a version or build number of their own"
        by_file = {name: [f"{name} is there already, as it was made for {rule.old}"] for name in names}
        raise HipwrightError("name-taken", message, hint=hint, document={"refused": by_file})


def _wheel_file(path: Path) -> WheelFile:
    name = parse_wheel_name(path.name)
    return WheelFile(
        path=path.name,
        filename=path.name,
        distribution=name.distribution,
        version=name.version,
        sha256=digest.of_file(path),
        size=path.stat().st_size,
    )
