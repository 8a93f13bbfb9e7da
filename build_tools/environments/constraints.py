"""The machine's constraint files without the owned names, which no setting of the machine decides about."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

from build_tools.environments.network import path_of
from build_tools.errors import HipwrightError, Where
from build_tools.files import write_text
from build_tools.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["without_owned"]

_COMMENT: Final = re.compile(r"(^|\s)#.*$")
_OPTIONS: Final = re.compile(r"\s--hash[= ]\S+")
_INCLUDE: Final = re.compile(r"(?:-c|-r|--constraint|--requirement)[ =]\s*(?P<file>\S+)")


def without_owned(constraints: Sequence[str], *, owns: Callable[[str], bool], folder: Path) -> list[str]:
    """Return the constraints that apply to the base index: one file in ``folder`` made of all local ones, and the addresses.

    Parameters
    ----------
    constraints
        Files and addresses, absolute.
    owns
        Which names are left out.
    folder
        Where the file is written.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when a file cannot be read.
    """
    lines: list[str] = []
    addresses = []
    for constraint in constraints:
        path = path_of(constraint) if is_url(constraint) else Path(constraint)
        if path is None:
            addresses.append(constraint)
        else:
            lines += _lines(path, owns, ())
    if not lines:
        return addresses
    target = folder / "constraints.txt"
    write_text(target, "\n".join(lines) + "\n")
    return [str(target), *addresses]


def _lines(path: Path, owns: Callable[[str], bool], seen: tuple[Path, ...]) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"the constraint file {path}, which pip's configuration names, cannot be read: {error}"
        raise HipwrightError("bad-data-file", message, where=Where(file=path)) from error
    kept: list[str] = []
    for raw in text.replace("\\\n", " ").splitlines():
        line = _COMMENT.sub("", raw).strip()
        include = _INCLUDE.fullmatch(line)
        if include and not is_url(include["file"]):
            inner = path.parent / include["file"]
            if inner not in seen:
                kept += _lines(inner, owns, (*seen, path))
        elif line and not _is_owned(line, owns):
            kept.append(line)
    return kept


def _is_owned(line: str, owns: Callable[[str], bool]) -> bool:
    text = _OPTIONS.sub("", line)
    try:
        return owns(Requirement(text).name)
    except InvalidRequirement:
        # An address without a name, which a file of a package ends; or an option, the installer's business.
        filename = unquote(text.split()[0].partition("#")[0]).replace("\\", "/").rpartition("/")[2]
        return any(name is not None and owns(name) for name in (_wheel_name(filename), _sdist_name(filename)))


def _wheel_name(filename: str) -> str | None:
    try:
        return parse_wheel_filename(filename)[0]
    except InvalidWheelFilename:
        return None


def _sdist_name(filename: str) -> str | None:
    try:
        return parse_sdist_filename(filename)[0]
    except InvalidSdistFilename:
        return None
