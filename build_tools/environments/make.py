"""Make an environment: the one place where packages are put together, always in the same steps.

1. An empty environment, in place; the record is written last, as the done mark.
2. The hash-pinned packages that hipwright itself needs there, from the base index.
3. The owned files, by path and hash: no index, no dependencies. A source distribution is built into a wheel first, without isolation.
4. One resolver run over the base index for all that is still missing, with every owned package named by its file.
5. What is installed is compared with what was meant: owned names only as locked, every requirement met.

Environments of stages lie in folders named by the digest of what goes in; one that a person asks for lies where the person says.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from build_tools.counted import counted
from build_tools.environments.installed import damaged_files, installed_distributions, python_in, scripts_in, site_packages
from build_tools.environments.loss import added_by_hand, note_files, refuse_loss
from build_tools.environments.maker import BASE_INDEX, MARK, Maker
from build_tools.environments.request import EnvironmentRequest, environment_digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold, make_folder, remove_tree, write_bytes
from build_tools.receipts.record import read_record, to_json
from build_tools.receipts.values import EnvironmentRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from packaging.utils import NormalizedName

    from build_tools.environments.settings import BaseIndex
    from build_tools.process import Runner
    from build_tools.types import Platform, Sha256

__all__ = [
    "BASE_INDEX",
    "MARK",
    "EnvironmentRequest",
    "added_by_hand",
    "environment_digest",
    "finished_environment",
    "half_made",
    "make_environment",
    "make_environment_in",
    "python_in",
    "scripts_in",
]

_DONE: Final = "environment.json"
_PIP: Final = "pip"
_NAME_LENGTH: Final = 16


def make_environment(
    request: EnvironmentRequest,
    *,
    envs: Path,
    cache: Path,
    base: BaseIndex,
    runner: Runner,
    platform: Platform,
    say: Callable[[str], None],
    wait: bool,
    log: Path,
    pip: Path = Path(sys.executable),
    renew: bool = False,
) -> EnvironmentRecord:
    """Make an environment, or return the one that is there already.

    Parameters
    ----------
    request
        What it is to hold.
    envs
        The folder of all environments; each is a folder there, never renamed.
    cache
        hipwright's cache folder.
    base
        The base index.
    runner
        Starts the interpreter, pip and uv; uv is used when it is on the runner's path.
    platform
        The operating system of this machine.
    say
        Told what happens, a line each.
    wait
        Whether to wait for another run that makes the same environment.
    log
        Where the output of pip and uv goes.
    pip
        An interpreter that has pip.
    renew
        Whether to make it again although it is there.

    Raises
    ------
    HipwrightError
        ``requirement-missing`` for an owned name that nobody gave a file for; ``hash-mismatch``; ``source-unreachable``;
        ``install-failed`` with the log; ``owned-name-leak``; ``locked``; ``disk-space``; ``folder-not-writable``.
    """
    whole = environment_digest(request, base)
    folder = envs / whole[:_NAME_LENGTH]
    record = finished_environment(folder, whole, platform)
    if record is not None and not renew and not _changed_packages(record, request, platform):
        return record
    make_folder(envs)
    with hold(envs / f"{folder.name}.lock", purpose=f"making {request.purpose}", wait=wait, on_wait=say):
        record = finished_environment(folder, whole, platform)
        changed = _changed_packages(record, request, platform) if record is not None else ()
        if record is not None and not changed and not renew:
            return record
        maker = Maker(
            request=request, folder=folder, cache=cache, base=base, runner=runner, platform=platform, say=say, log=log, pip=pip
        )
        files = maker.fetch()
        if folder.exists():
            say(f"making {folder.name} again: {_why_anew(folder, changed, same=record is not None)}")
            # The done mark goes first, so that a removal that is cut short leaves nothing that looks whole.
            (folder / _DONE).unlink(missing_ok=True)
            remove_tree(folder)
        return _made(maker, whole, files)


def make_environment_in(
    folder: Path,
    request: EnvironmentRequest,
    *,
    guard: Path | None,
    cache: Path,
    base: BaseIndex,
    runner: Runner,
    platform: Platform,
    say: Callable[[str], None],
    wait: bool,
    log: Path,
    pip: Path = Path(sys.executable),
    renew: bool = False,
    option: str | None = "--work-dir",
) -> tuple[EnvironmentRecord, bool]:
    """Make an environment in a folder of a person's choice, or keep the one that is there; return it, and whether it was made.

    One of hipwright's own that was made for something else, or was changed in what it was made for, is made anew, unless that would take
    away what a person put there; where that fails, the one that was there is there again. A folder that is something else is never
    touched.

    Parameters
    ----------
    folder
        Where; absolute, without links.
    guard
        The lock file that other runs wait at; None where whoever asks holds it already, because more is done to the environment after.
    request, cache, base, runner, platform, say, wait, log, pip, renew
        As for :func:`make_environment`.
    option
        What names another folder, for hints; None where the folder itself is what is named.

    Raises
    ------
    HipwrightError
        ``foreign-folder`` when the folder is not empty and no environment of hipwright's, or what a person put there would be lost;
        what :func:`make_environment` raises.
    """
    whole = environment_digest(request, base)
    purpose = f"making {request.purpose}"
    held = contextlib.nullcontext() if guard is None else hold(guard, purpose=purpose, wait=wait, on_wait=say)
    with held:
        _bring_back(folder)
        _refuse_foreign(folder)
        record = finished_environment(folder, whole, platform)
        changed = _changed_packages(record, request, platform) if record is not None else ()
        if record is not None and not changed and not renew:
            return record, False
        if (folder / MARK).exists():
            why = _why_anew(folder, changed, same=record is not None)
            refuse_loss(folder, _record_in(folder), platform, why=why, renew=renew)
            say(f"making {folder} anew: {why}")
        make_folder(folder.parent, option=option)
        maker = Maker(
            request=request,
            folder=folder,
            cache=cache,
            base=base,
            runner=runner,
            platform=platform,
            say=say,
            log=log,
            pip=pip,
            option=option,
        )
        # What takes longest comes first: until all is at hand, the environment that is there stays usable.
        files = maker.fetch()
        with _set_aside(folder, say=say):
            return _made(maker, whole, files), True


def half_made(folder: Path) -> str | None:
    """Return what is to be told of an environment whose making was cut short, None for every other folder."""
    old = _aside(folder)
    beside = (old / MARK).is_file()
    if (folder / _DONE).is_file() or not (beside or (folder / MARK).is_file()):
        return None
    kept = (
        f"; the one that was there before is kept in {old}, and the next setup_venv of {folder} brings it back" if beside else ""
    )
    return f"the making of {folder} was cut short, or goes on{kept}"


def _made(maker: Maker, whole: Sha256, files: Mapping[NormalizedName, Path]) -> EnvironmentRecord:
    try:
        record = maker.make(whole, files)
    except HipwrightError:
        remove_tree(maker.folder)
        raise
    note_files(maker.folder, maker.platform)
    write_bytes(maker.folder / _DONE, to_json(record))
    return record


def _aside(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.hipwright-before"


@contextlib.contextmanager
def _set_aside(folder: Path, *, say: Callable[[str], None]) -> Iterator[None]:
    """Free an environment's name for the block; a finished one comes back when the block fails, and goes when it ends well."""
    old = _aside(folder)
    if (folder / _DONE).is_file():
        folder.rename(old)
    else:
        remove_tree(folder)
    try:
        yield
    except BaseException:
        if old.exists():
            _bring_back(folder)
            say(f"{folder} is again what it was before")
        raise
    remove_tree(old)


def _bring_back(folder: Path) -> None:
    """Give a name back to the environment that was set aside for one that did not come to be; a kill leaves both."""
    old = _aside(folder)
    if not (old / MARK).is_file():
        return
    if (folder / _DONE).is_file():
        remove_tree(old)
        return
    if folder.exists() and not (folder / MARK).is_file() and any(folder.iterdir()):
        return
    remove_tree(folder)
    old.rename(folder)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is there and that hipwright did not make."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())) or (folder / MARK).is_file():
        return
    what = "a file" if not folder.is_dir() else "an environment" if (folder / "pyvenv.cfg").is_file() else "a folder"
    message = f"{folder} is {what} that hipwright did not make"
    hint = "name a folder that is not there yet, or remove this one yourself"
    raise HipwrightError("foreign-folder", message, where=Where(file=folder), hint=hint)


def _why_anew(folder: Path, changed: tuple[str, ...], *, same: bool) -> str:
    if changed:
        return f"what it was made for is not there any more: {'; '.join(changed)}"
    if same:
        return "it is asked for"
    return "it was made for something else" if (folder / _DONE).is_file() else "it was left half-made"


def _changed_packages(record: EnvironmentRecord, request: EnvironmentRequest, platform: Platform) -> tuple[str, ...]:
    """Return what of a recorded environment is gone, and which owned packages are of another version; a sentence each.

    A person may bring other packages of the base index, pip among them, to other versions without losing the environment.
    """
    try:
        packages = site_packages(Path(record.folder), platform)
        here = {str(one.name): one.version for one in installed_distributions(packages)}
    except HipwrightError as error:
        return (error.message,)
    owned = {canonicalize_name(file.distribution) for file in request.owned}
    damaged = damaged_files(packages, owned)
    gone = [f"no {package.name}" for package in record.packages if package.name not in here and package.name != _PIP]
    return (
        *gone,
        *(
            f"{package.name} {here[package.name]} instead of {package.version}"
            for package in record.packages
            if canonicalize_name(package.name) in owned and here.get(package.name, package.version) != package.version
        ),
        *(f"{counted(len(paths), 'file')} of {name}, such as {paths[0]}" for name, paths in damaged.items()),
    )


def finished_environment(folder: Path, whole: Sha256, platform: Platform) -> EnvironmentRecord | None:
    """Return the record of an environment that is whole and stands where it was made."""
    record = _record_in(folder)
    if record is None:
        return None
    whole_and_here = record.digest == whole and record.folder == str(folder) and python_in(folder, platform).exists()
    return record if whole_and_here else None


def _record_in(folder: Path) -> EnvironmentRecord | None:
    if not (folder / _DONE).is_file():
        return None
    try:
        return read_record(folder / _DONE, EnvironmentRecord)
    except HipwrightError:
        return None
