"""A quilt series: the file ``series`` and the patches that it names, as Debian's source packages and many others keep them.

What is read here is what ``quilt(1)`` and ``dpkg-source(1)`` read: a name in each line, then options, then a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NoReturn

from build_tools.errors import HipwrightError, Where
from build_tools.patches.dep3 import ForeignHeader, read_header
from build_tools.patches.foreign import begins_diff, read_foreign
from build_tools.patches.mail import date_fault
from build_tools.process import printable
from build_tools.shown import shown

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Quilt", "QuiltPatch", "read_quilt"]

_SERIES: Final = "series"
_PLACES: Final = ("", "patches", "debian/patches")
_SUFFIXES: Final = (".patch", ".diff")
_STRIP: Final = re.compile(r"-p(?P<strip>[0-9]+|ab)")
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")
_ENCODED: Final = re.compile(rb"^content-transfer-encoding:\s*(?:base64|quoted-printable)\s*$", re.IGNORECASE | re.MULTILINE)
_DATED: Final = re.compile(rb"(?:date|last-update):", re.IGNORECASE)
_DEFAULT_STRIP: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class QuiltPatch:
    """One patch of a quilt series.

    Parameters
    ----------
    name
        As the series names it.
    file
        Where it lies.
    line
        The line of the series that names it.
    strip
        How many folders are taken off the names of files in it.
    header
        What it says of itself.
    diff
        The bytes from where the diff begins; none for a patch that changes nothing.
    diff_line
        The line of the file where that is.
    """

    name: str
    file: Path
    line: int
    strip: int
    header: ForeignHeader
    diff: bytes
    diff_line: int

    @property
    def stem(self) -> str:
        """The name without its folder's slashes and its suffix."""
        return _stem(self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quilt:
    """A quilt series: its file, its patches in order, those that it has switched off by a comment, and those that it does not name."""

    file: Path
    patches: tuple[QuiltPatch, ...]
    disabled: tuple[str, ...]
    unnamed: tuple[str, ...]


def read_quilt(folder: Path) -> Quilt:
    """Read a quilt series.

    Parameters
    ----------
    folder
        The folder that holds the file ``series``, or has it in ``patches`` or ``debian/patches``; or that file.

    Raises
    ------
    HipwrightError
        ``bad-import`` when there is none, it names no patch, a patch is missing or in a form that cannot be read, or has an option that
        means something that no patch here can say.
    """
    file = _find(folder)
    try:
        rows = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        _refuse(f"{file} cannot be read: {error}", file)
    patches: list[QuiltPatch] = []
    disabled = []
    for number, row in enumerate(rows, start=1):
        words = _COMMENT.sub("", row).split()
        if words:
            if any(words[0] == patch.name for patch in patches):
                _refuse(f"{words[0]} is named twice", file, number)
            patches.append(_patch(file, number, words))
        elif row.lstrip().startswith("#"):
            disabled += [word for word in row.lstrip("# \t").split()[:1] if (file.parent / word).is_file()]
    if not patches:
        _refuse(f"{file} names no patch", file)
    named = {patch.name for patch in patches} | set(disabled)
    found = sorted(path.relative_to(file.parent).as_posix() for path in file.parent.rglob("*") if path.suffix in _SUFFIXES)
    unnamed = tuple(name for name in found if name not in named)
    return Quilt(file=file, patches=tuple(patches), disabled=tuple(disabled), unnamed=unnamed)


def _find(folder: Path) -> Path:
    if folder.is_file() and folder.name == _SERIES:
        return folder
    files = [folder / place / _SERIES for place in _PLACES]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        message = f"{folder} holds no quilt series: there is no file {_SERIES}, nor {_PLACES[2]}/{_SERIES} in it"
        raise HipwrightError("bad-import", message, where=Where(file=folder), hint="name the folder of the file `series`")
    return found


def _patch(series: Path, number: int, words: list[str]) -> QuiltPatch:
    name, *options = words
    strip = _DEFAULT_STRIP
    for option in options:
        given = _STRIP.fullmatch(option)
        if given is None:
            back = option in {"-R", "--reverse"}
            what = "takes the patch back" if back else "is none that is known"
            turned = printable(["interdiff", series.parent / name, "/dev/null"])
            hint = f"`{turned}` shows it turned around: keep that in its place, and" if back else "where it applies without,"
            message = f"{shown(name)} has the option {shown(option)}, which {what}"
            where = Where(file=series, line=number)
            raise HipwrightError("bad-import", message, where=where, hint=f"{hint} take the option away")
        # Both of diff's folders, a/ and b/.
        strip = 1 if given["strip"] == "ab" else int(given["strip"])
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        _refuse(f"{shown(name)} leads out of the folder of the series", series, number)
    file = series.parent / name
    if not file.resolve().is_relative_to(series.parent.resolve()):
        _refuse(f"{shown(name)} leads out of the folder of the series by a symbolic link", series, number)
    try:
        data = file.read_bytes()
    except OSError as error:
        _refuse(f"{shown(name)} is named, and cannot be read: {error.strerror}", series, number)
    if path.suffix in {".gz", ".bz2", ".xz"}:
        _refuse(f"{shown(name)} is compressed: unpack it, and name it without {path.suffix}", series, number)
    lines = data.split(b"\n")
    start = _diff_start(lines)
    head = b"\n".join(lines[:start])
    if _ENCODED.search(head):
        _refuse(f"{shown(name)} is a mail whose content is encoded: save it decoded", file)
    diff = _checked_diff(name, file, lines, start=start, strip=strip)
    header = read_header([_text(line.removesuffix(b"\r")) for line in lines[:start]], name=_stem(name))
    _refuse_date(name, file, header, lines[:start])
    return QuiltPatch(
        name=name,
        file=file,
        line=number,
        strip=strip,
        header=header,
        diff=diff,
        diff_line=start + 1,
    )


def _refuse_date(name: str, file: Path, header: ForeignHeader, lines: list[bytes]) -> None:
    """Refuse a date that a patch of a series cannot say; ``lines`` are those above the diff."""
    undated = None if header.when is None else date_fault(header.when)
    if undated is not None:
        dated = next((number for number, line in enumerate(lines, start=1) if _DATED.match(line)), None)
        hint = "nothing is written; write another date into the patch, or leave it out of its `series`"
        where = Where(file=file, line=dated)
        raise HipwrightError("bad-import", f"{shown(name)} has a date that no patch can: {undated}", where=where, hint=hint)


def _checked_diff(name: str, file: Path, lines: list[bytes], *, start: int, strip: int) -> bytes:
    """Return the bytes of a patch's diff, when git takes all of them."""
    if start < len(lines) and lines[start].endswith(b"\r"):
        hint = "something converted its line ends: take it as its authors have it"
        raise HipwrightError(
            "bad-import", f"{shown(name)} has CR LF line ends", where=Where(file=file, line=start + 1), hint=hint
        )
    diff = b"\n".join(lines[start:])
    fault = min(read_foreign(diff, line=start + 1, strip=strip).faults, key=lambda one: one.line, default=None)
    if fault is not None:
        hint = "nothing is written; have the patch refreshed by those who keep it, or leave it out of its `series`"
        where = Where(file=file, line=fault.line)
        raise HipwrightError("bad-import", f"{shown(name)}: {fault.message}", where=where, hint=fault.hint or hint)
    return diff


def _diff_start(lines: list[bytes]) -> int:
    """Return the number of lines above the diff: a description may hold what looks like one end of a diff's header, but not both."""
    return next((number for number in range(len(lines)) if begins_diff(lines, number)), len(lines))


def _stem(name: str) -> str:
    stem = name.replace("/", "-")
    suffix = next((suffix for suffix in _SUFFIXES if stem.endswith(suffix)), "")
    return stem.removesuffix(suffix) or stem


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # What is no UTF-8 comes from a time when this was what there was.
        return raw.decode("latin-1")


def _refuse(message: str, file: Path, line: int | None = None) -> NoReturn:
    raise HipwrightError("bad-import", message, where=Where(file=file, line=line))
