"""``--dist-dir``: wheels that were built are put into a folder of a person's as well, byte for byte.

What is put there is noted in the work dir, so that the next build of the same wheel may take its place and nothing else ever is replaced.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import copy_file, hold, write_bytes
from build_tools.receipts.ids import Sha256
from build_tools.receipts.record import Record, read_record, to_json
from build_tools.sources.git import Git
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.values import WheelFile
    from build_tools.workplace import Workplace

__all__ = ["put_wheels", "refuse_dist_folder"]

_OPTION: Final = "--dist-dir"
_NOTES: Final = "put"


class _Put(Record, frozen=True, kw_only=True):
    """A wheel that was put into a folder: of which project, for which interpreter and GPU targets, its bytes.

    ``before`` are the bytes whose place it takes, as long as either may lie there.
    """

    project: str
    python: str | None
    targets: tuple[str, ...]
    sha256: Sha256
    before: Sha256 | None = None

    @property
    def about(self) -> str:
        """What the wheel is of and for, as people are told it."""
        python = f" and {self.python}" if self.python is not None else ""
        return f"{self.project}{python}, {'GPU targets ' + ', '.join(self.targets) if self.targets else 'no GPU target'}"


class _Notes(Record, frozen=True, kw_only=True):
    """The wheels that a work dir has put into a folder, by file name."""

    schema: Literal[1] = 1
    folder: str
    wheels: dict[str, _Put]


def refuse_dist_folder(projects: Sequence[Project], last: Stage, workplace: Workplace) -> None:
    """Refuse a folder that wheels cannot be put into, or in which they would be taken for sources, before anything is built.

    Raises
    ------
    HipwrightError
        ``bad-option-value``; ``folder-not-writable``.
    """
    folder = workplace.settings.dist_dir
    if folder is None or last.number < Stage.BUILD.number:
        return
    real = Path(os.path.realpath(folder))
    if real.is_relative_to(workplace.work_dir / "src") or ".git" in real.parts:
        message = f"{_OPTION} {folder} lies inside a source tree of hipwright's, where a wheel would count as an edit of yours"
        raise HipwrightError("bad-option-value", message, hint="name a folder outside")
    for name in (project.name for project in projects if project.name in workplace.settings.dir):
        tree = Path(os.path.realpath(workplace.settings.dir[name]))
        seen = real.is_relative_to(tree) and (tree / ".git").exists()
        if seen and not Git(runner=workplace.runner).at(tree).succeeds("check-ignore", "--quiet", "--", real / "a.whl"):
            message = f"{_OPTION} {folder} lies inside the tree of {name}, where git does not ignore it: a wheel would be an edit of yours"
            hint = f"add /{real.relative_to(tree).as_posix()}/ to .gitignore or .git/info/exclude there, or name a folder outside"
            raise HipwrightError("bad-option-value", message, hint=hint)
    there = next((place for place in (real, *real.parents) if place.exists()), real)
    if not there.is_dir() or not os.access(there, os.W_OK):
        message = f"cannot write in {folder}: {there} is {'not writable' if there.is_dir() else 'no folder'}"
        raise HipwrightError("folder-not-writable", message, hint=f"choose another folder with {_OPTION}")


def put_wheels(chain: Chain) -> None:
    """Put the wheels of a finished build into the folder that ``--dist-dir`` names, and note in the chain where they are.

    The same bytes there are fine, and stay whose they are. What this work dir had put there of the same project, interpreter and GPU targets
    is replaced. Nothing is written when any other file has a wheel's name. A dry run says what would be put there, and where.

    Parameters
    ----------
    chain
        The project, with its build done, or found by a dry run to have to run.

    Raises
    ------
    HipwrightError
        ``name-taken``; ``locked``; ``folder-not-writable``, ``disk-space``.
    """
    place, folder = chain.workplace, chain.workplace.settings.dist_dir
    if folder is None:
        return
    if Stage.BUILD not in chain.done:
        place.console.say(f"the wheel of {chain.project.name} would be put into {folder}")
        return
    wheels = {
        folder / wheel.filename: (path, wheel) for path, wheel in zip(chain.wheel_paths(), chain.built().wheels, strict=True)
    }
    key = digest.short(digest.of_value(os.path.realpath(folder)), 16)
    note = place.work_dir / _NOTES / f"{key}.json"
    if place.settings.dry_run:
        _missing(chain, wheels, _notes(note, folder))
        place.console.say(f"{', '.join(target.name for target in wheels)} would be put into {folder}")
    else:
        purpose = f"putting wheels into {folder}"
        guard = place.lock_file(f"put-{key}")
        with hold(guard, purpose=purpose, wait=place.settings.wait, on_wait=lambda text: place.console.say(f"waiting: {text}")):
            notes = _notes(note, folder)
            missing = _missing(chain, wheels, notes)
            # Before the copies: a run that ends between the two must not leave a file that nobody knows to be ours.
            _write_note(note, notes, missing)
            for target in missing:
                copy_file(wheels[target][0], target, option=_OPTION)
                place.console.say(f"put into {folder}: {target.name}")
            _write_note(note, notes, {target: msgspec.structs.replace(put, before=None) for target, put in missing.items()})
    chain.put = tuple(wheels)


def _missing(chain: Chain, wheels: dict[Path, tuple[Path, WheelFile]], notes: _Notes) -> dict[Path, _Put]:
    """Return what has to be written, with what is to be noted of it; none of it would replace what is not ours to replace."""
    missing = {}
    for target, (path, wheel) in wheels.items():
        there = digest.of_file(target) if target.is_file() else None
        if there == wheel.sha256:
            continue
        put = _Put(
            project=chain.project.name,
            python=chain.done[Stage.BUILD].receipt.python,
            targets=tuple(sorted(chain.built().targets)),
            sha256=wheel.sha256,
            before=there,
        )
        ours = _ours(target, there, notes)
        if os.path.lexists(target) and (ours is None or ours.about != put.about):
            whose = (
                "not put there by this work dir" if ours is None else f"put there for {ours.about}; this build is for {put.about}"
            )
            message = f"{target} is there already with other bytes than {put.project}'s build has, and was {whose}"
            hint = f"move it away, or name another folder with {_OPTION}; the wheel that was built is {path}"
            raise HipwrightError("name-taken", message, where=Where(file=target), hint=hint)
        missing[target] = put
    return missing


def _ours(target: Path, there: Sha256 | None, notes: _Notes) -> _Put | None:
    """Return what is noted of the file that lies there, None when it is not what was put there."""
    known = notes.wheels.get(target.name)
    if known is None or there not in {known.sha256, known.before} - {None} or target.is_symlink():
        return None
    return known


def _write_note(path: Path, notes: _Notes, puts: dict[Path, _Put]) -> None:
    """Note what is put into a folder, beside what is noted already."""
    if puts:
        wheels = {**notes.wheels, **{target.name: put for target, put in puts.items()}}
        write_bytes(path, to_json(msgspec.structs.replace(notes, wheels=wheels)))


def _notes(path: Path, folder: Path) -> _Notes:
    """Return what was noted of a folder; what cannot be read stands for nothing, and then nothing is replaced."""
    try:
        return read_record(path, _Notes) if path.is_file() else _Notes(folder=str(folder), wheels={})
    except HipwrightError:
        return _Notes(folder=str(folder), wheels={})
