"""What a person put into an environment: told, and never removed without their word, when the environment is made anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.environments.installed import installed_distributions, installed_files, site_packages
from build_tools.errors import HipwrightError, Where
from build_tools.files import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.types import Platform

__all__ = ["added_by_hand", "note_files", "refuse_loss"]

_NOTES: Final = ".hipwright"
_FILES: Final = f"{_NOTES}/files"
"""The list of what was there when an environment was made; of a file that no installer wrote down, with its SHA-256 after a tab."""

_OURS: Final = frozenset({"environment.json", ".lock"})
_BYTECODE: Final = "__pycache__"
_EXPANDED: Final = ".rocm_sdk"
"""How the marks begin that ROCm's own packages leave in what they expand."""

_SHOWN: Final = 5


def added_by_hand(record: EnvironmentRecord, platform: Platform) -> tuple[str, ...]:
    """Return the packages of an environment that hipwright did not put there, as ``name version``."""
    ours = {package.name for package in record.packages}
    here = installed_distributions(site_packages(Path(record.folder), platform))
    return tuple(f"{one.name} {one.version}" for one in here if one.name not in ours)


def note_files(folder: Path, platform: Platform) -> None:
    """Write down which files, links and empty folders an environment has, once it is made."""
    packages = site_packages(folder, platform)
    recorded = {path for files in installed_files(packages).values() for path, size in files.items() if size is not None}
    lines = []
    for path in _walk(folder):
        # There are thousands, and nearly all are recorded: each is one look into a set of texts.
        hashed = ""
        if f"{folder}{os.sep}{path}" not in recorded:
            whole = folder / path
            hashed = f"\t{digest.of_file(whole)}" if whole.is_file() and not whole.is_symlink() else ""
        lines.append(f"{path.replace(os.sep, '/')}{hashed}\n")
    write_text(folder / _FILES, "".join(lines))


def refuse_loss(folder: Path, record: EnvironmentRecord | None, platform: Platform, *, why: str, renew: bool) -> None:
    """Refuse to make an environment anew that holds what nobody but a person put there.

    Parameters
    ----------
    folder
        The environment.
    record
        What was made there, where that is known.
    platform
        Its operating system.
    why
        Why it is to be made anew.
    renew
        Whether the person said so: then packages and modules that were put in by hand go, and files beside them still do not.

    Raises
    ------
    HipwrightError
        ``foreign-folder`` naming what would be lost.
    """
    try:
        packages = site_packages(folder, platform)
    except HipwrightError:
        packages = folder / _NOTES
    added = () if record is None else added_by_hand(record, platform)
    beside: list[str] = []
    inside: list[str] = []
    for path in _foreign(folder, packages):
        (inside if (folder / path).is_relative_to(packages) else beside).append(str(path))
    if beside:
        raise _refusal(folder, why, beside, "move that elsewhere")
    if (added or inside) and not renew:
        raise _refusal(folder, why, [*added, *inside], "keep a note of it, and make the environment anew without it: --clean")


def _refusal(folder: Path, why: str, lost: list[str], hint: str) -> HipwrightError:
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    message = f"{folder} is to be made anew ({why}), and {', '.join(lost[:_SHOWN])}{more} in it would be lost"
    return HipwrightError("foreign-folder", message, where=Where(file=folder), hint=hint)


def _foreign(folder: Path, packages: Path) -> list[Path]:
    """Return the files that neither the making nor an installer accounts for, relative to the environment."""
    noted = folder / _FILES
    if not noted.is_file():
        # It was left half-made: what its making put there is not known, and nobody has worked with it.
        return [Path(path.name) for path in sorted(folder.iterdir()) if path.name not in _SKELETON]
    stated = dict(line.partition("\t")[::2] for line in noted.read_text(encoding="utf-8").splitlines())
    known = set(stated)
    for files in (installed_files(packages) if packages.is_dir() else {}).values():
        known |= {os.path.relpath(path, folder).replace(os.sep, "/") for path in files}
    infos = {path.name for path in packages.glob("*.dist-info")} if packages.is_dir() else set()
    return [
        path
        for path in map(Path, _walk(folder))
        if path.as_posix() not in _OURS
        and (path.as_posix() not in known or _is_edited(folder / path, stated.get(path.as_posix(), "")))
        and not (path.name.startswith(_EXPANDED) and (folder / path).is_relative_to(packages))
        and not (_is_empty(folder / path) and (folder / path).is_relative_to(packages))
        and path.parent.name not in infos
    ]


def _is_edited(path: Path, sha256: str) -> bool:
    return bool(sha256) and (not path.is_file() or digest.of_file(path) != sha256)


def _is_empty(path: Path) -> bool:
    """Return whether a path is a folder, of which :func:`_walk` yields the empty ones; packages make and leave such by themselves."""
    return path.is_dir() and not path.is_symlink()


def _walk(folder: Path) -> Iterator[str]:
    """Yield the files, links and empty folders of an environment, bytecode and hipwright's own notes left out, relative to it, in order."""
    top = str(folder)
    for root, folders, files in os.walk(top):
        here = root[len(top) + 1 :]
        if not folders and not files and here:
            yield here
        links = [name for name in folders if os.path.islink(f"{root}{os.sep}{name}")]  # noqa: PTH114 - hundreds, each a text already
        folders[:] = sorted(name for name in folders if name != _BYTECODE and (here or name) != _NOTES)
        start = f"{here}{os.sep}" if here else ""
        yield from (f"{start}{name}" for name in sorted([*files, *links]))


_SKELETON: Final = frozenset(
    {
        "bin", "etc", "include", "lib", "lib64", "man", "share", "pyvenv.cfg", "Include", "Lib", "Scripts", "Share",
        ".gitignore", _NOTES, "CACHEDIR.TAG", *_OURS,
    }
)  # fmt: skip
"""What lies in the folder of an environment, as venv, installers and hipwright put it there."""
