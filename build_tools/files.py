"""Files and folders: atomic writes, finished-or-absent folders, locks that name their holder, free space, fingerprints."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "append_text",
    "copy_file",
    "finished_folder",
    "free_space",
    "hold",
    "is_device",
    "is_windows_name",
    "machine_failure",
    "make_folder",
    "open_regular",
    "prove_writable",
    "remove_tree",
    "temporary_folder",
    "utc_now",
    "write_bytes",
    "write_text",
]

_PARTIAL: Final = ".partial-"
_DEVICES: Final = frozenset(
    {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}
)
_WINDOWS_REFUSES: Final = frozenset('<>:"|?*')

_UNITS: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_IN_THE_WAY: Final = frozenset({errno.EISDIR, errno.ENOTDIR})
_LIMITS: Final = {
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), unless the disk takes none so large",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "this machine has too many open files: end what has them",
    errno.ENAMETOOLONG: "a path is longer than the disk takes",
    errno.ELOOP: "links lead in a circle: remove one of them",
    errno.EBUSY: "a disk is mounted there, or a program uses it",
    errno.ETXTBSY: "a program there is running: end it",
    errno.EIO: "look whether the disk is sound",
    errno.ESTALE: "mount the disk anew",
}
"""What the operating system refuses whatever a program does, and what helps."""


def utc_now() -> str:
    """Return the time now in UTC as ISO 8601 with a final ``Z``, whole seconds."""
    return datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_device(name: str) -> bool:
    """Return whether Windows takes a file or folder of this name for a device, whatever its suffix.

    >>> is_device("nul"), is_device("aux.x"), is_device("console")
    (True, True, False)
    """
    return name.partition(".")[0].upper() in _DEVICES


def is_windows_name(name: str) -> bool:
    """Return whether Windows can have a file or folder of this name, which is one part of a path.

    >>> is_windows_name("a.dll"), is_windows_name("aux.h"), is_windows_name("a."), is_windows_name("a:b")
    (True, False, False, False)
    """
    return not (_WINDOWS_REFUSES & set(name) or name[-1:] in {".", " "} or is_device(name))


def make_folder(path: Path, *, option: str | None = "--work-dir") -> Path:
    """Make a folder with its parents and prove that it can be written; ``option`` is what names another one.

    Raises
    ------
    HipwrightError
        ``folder-not-writable``.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        _probe(path)
    except OSError as error:
        message = f"cannot write in {path}: {error.strerror}"
        raise HipwrightError("folder-not-writable", message, hint=_another(option)) from error
    return path


def prove_writable(path: Path, *, option: str | None = "--work-dir") -> None:
    """Prove that a folder can be written, or could be made where it is missing; nothing stays. ``option`` is what names another one.

    Raises
    ------
    HipwrightError
        ``folder-not-writable``.
    """
    try:
        _probe(_nearest(path))
    except OSError as error:
        message = f"cannot write in {path}: {error.strerror}"
        raise HipwrightError("folder-not-writable", message, hint=_another(option)) from error


def free_space(path: Path, needed: int, *, option: str | None = "--work-dir") -> None:
    """Prove that a folder's disk has ``needed`` bytes free; missing folders are judged by their nearest parent.

    ``option`` is what names another folder.

    Raises
    ------
    HipwrightError
        ``disk-space`` with both figures.
    """
    free = shutil.disk_usage(_nearest(path)).free
    if free < needed:
        unit, name = next(((size, name) for size, name in _UNITS if needed >= size / 10), _UNITS[-1])
        message = f"{path} has {free / unit:.1f} {name} free, and {needed / unit:.1f} {name} are needed"
        raise HipwrightError("disk-space", message, hint=f"free some space there, or {_another(option)}")


def machine_failure(failure: OSError, *, option: str | None = None) -> HipwrightError | None:
    """Return a failure of the disk or of its permissions as what it is; None for another one, which is a fault of the program.

    Parameters
    ----------
    failure
        What the operating system said.
    option
        What names another folder than the one that it happened in.
    """
    place = f" {failure.filename}" if failure.filename is not None else ""
    code, doing = "folder-not-writable", f"cannot read or write{place}"
    if failure.errno in _FULL:
        code, doing, hint = "disk-space", f"cannot write{place}", "free some space there"
    elif failure.errno in _LIMITS:
        hint = _LIMITS[failure.errno]
    elif failure.errno in _FORBIDDEN and place:
        hint = "see who owns it and what its permissions are"
    elif failure.errno in _IN_THE_WAY and place:
        hint = "something else is in its place: move that away"
    else:
        return None
    error = HipwrightError(code, f"{doing}: {failure.strerror}", hint=f"{hint}, or {_another(option)}")
    error.__cause__ = failure
    return error


def _nearest(path: Path) -> Path:
    """Return a folder, or of one that is missing the nearest that is there above it."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _probe(folder: Path) -> None:
    probe = folder / f".write-probe-{secrets.token_hex(4)}"
    probe.touch()
    probe.unlink()


def _another(option: str | None) -> str:
    return f"choose another folder{f' with {option}' if option else ''}"


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading that others may have put there; of a pipe, which would be waited for, no byte is awaited.

    Raises
    ------
    OSError
        As :func:`open`, and for what is no regular file.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def write_bytes(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write a file whole or not at all: a temporary name beside it, then a rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}{_PARTIAL}{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def copy_file(source: Path, target: Path, *, option: str | None = None) -> None:
    """Copy a file's bytes whole or not at all: a temporary name beside the target, then a rename; ``option`` names another folder.

    Raises
    ------
    HipwrightError
        ``folder-not-writable``, ``disk-space``.
    """
    make_folder(target.parent, option=option)
    temporary = target.with_name(f"{target.name}{_PARTIAL}{secrets.token_hex(4)}")
    try:
        shutil.copyfile(source, temporary)
        temporary.replace(target)
    except OSError as error:
        raise machine_failure(error, option=option) or error from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all, in UTF-8 with the line ends as given."""
    write_bytes(path, text.encode())


def append_text(path: Path, text: str) -> None:
    """Add lines to a file whose last line somebody may have left without an end.

    Raises
    ------
    HipwrightError
        ``folder-not-writable``.
    """
    try:
        with path.open("ab+") as stream:
            if stream.tell():
                stream.seek(-1, os.SEEK_END)
                text = text if stream.read(1) == b"\n" else f"\n{text}"
            stream.write(text.encode())
    except OSError as error:
        raise HipwrightError(
            "folder-not-writable",
            f"cannot write {path}: {error.strerror}",
            hint="see who may write there, and whether its disk is full",
        ) from error


def remove_tree(path: Path) -> None:
    """Remove a folder that is ours, read-only files included; nothing happens when it is absent."""

    def writable_then_again(function: Callable[..., object], name: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            Path(name).parent.chmod(stat.S_IRWXU)
            Path(name).chmod(stat.S_IRWXU)
        with contextlib.suppress(FileNotFoundError):
            function(name)

    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path, onerror=writable_then_again)


@contextlib.contextmanager
def finished_folder(target: Path) -> Iterator[Path]:
    """Give a fresh folder to fill, and let it take ``target``'s name when the block ends well; otherwise nothing is left.

    An existing ``target`` is replaced only at that moment. Left-overs of killed runs are removed: hold the target's lock.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    for left_over in target.parent.glob(f"{target.name}{_PARTIAL}*"):
        remove_tree(left_over)
    partial = target.with_name(f"{target.name}{_PARTIAL}{secrets.token_hex(4)}")
    partial.mkdir()
    try:
        yield partial
        if target.exists():
            old = target.with_name(f"{target.name}{_PARTIAL}old-{secrets.token_hex(4)}")
            target.rename(old)
            partial.rename(target)
            remove_tree(old)
        else:
            partial.rename(target)
    except BaseException:
        remove_tree(partial)
        raise


@contextlib.contextmanager
def temporary_folder(parent: Path, name: str) -> Iterator[Path]:
    """Give a fresh folder below ``parent`` and remove it at the end of the block, however that comes."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / f"{name}{_PARTIAL}{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        yield folder
    finally:
        remove_tree(folder)


@contextlib.contextmanager
def hold(path: Path, *, purpose: str, wait: bool, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock file ``path`` for the block; another run's hold is waited for, or is an error without ``wait``.

    Parameters
    ----------
    path
        The lock file; a file beside it names the holder.
    purpose
        What the holder does, for those who wait.
    wait
        Whether to wait.
    on_wait
        Called once with a sentence that names the holder, before waiting.

    Raises
    ------
    HipwrightError
        ``locked`` when somebody holds it and ``wait`` is off.
    """
    import filelock  # noqa: PLC0415 - takes as long as all else here together, and not every command holds something

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path)
    owner = path.with_name(f"{path.name}.holder")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        sentence = _holder_sentence(path, owner)
        if not wait:
            raise HipwrightError("locked", sentence, hint="wait for it to end, or run again without --no-wait") from None
        on_wait(sentence)
        lock.acquire()
    try:
        write_text(owner, json.dumps({"pid": os.getpid(), "purpose": purpose, "since": utc_now()}) + "\n")
        yield
    finally:
        with contextlib.suppress(OSError):
            owner.unlink()
        lock.release()


def _holder_sentence(path: Path, owner: Path) -> str:
    for _ in range(20):
        try:
            holder = json.loads(owner.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # The holder writes its name just after it takes the lock.
            time.sleep(0.05)
            continue
        return f"{holder['purpose']} (process {holder['pid']}, since {holder['since']}) holds {path.parent}"
    return f"another run holds {path.parent}"
