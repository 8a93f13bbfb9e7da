"""Files of Debian source packages, and binary packages, through the machine's own apt and without touching its lists.

apt knows where its archive is, how to get there and which keys vouch for it; a source list of our own asks the same archive for
another suite's, with a state folder of our own.
"""

from __future__ import annotations

import contextlib
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from build_tools.errors import HipwrightError
from build_tools.files import temporary_folder, write_text
from build_tools.inputs.catalogue import DebianFile, DebianPackage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from build_tools.process import Runner

__all__ = ["archives", "fetch_debian", "source_list"]

Kind = Literal["deb", "deb-src"]

_KEYRING: Final = "/usr/share/keyrings/debian-archive-keyring.gpg"
_MINUTES: Final = 60.0


def archives(index_targets: str, codename: str) -> tuple[str, ...]:
    """Return the addresses of the archives that serve the machine's own suite.

    Parameters
    ----------
    index_targets
        Lines ``address|suite|component``, as ``apt-get indextargets`` prints them with such a format.
    codename
        The machine's own suite; security and update archives have other suites and other content.
    """
    found: dict[str, None] = {}
    for line in index_targets.splitlines():
        address, _, rest = line.partition("|")
        if rest == f"{codename}|main":
            found[address.rstrip("/")] = None
    return tuple(found)


def source_list(addresses: Iterable[str], suites: Iterable[str], *, kind: Kind, keyring: str | None) -> str:
    """Return a source list in apt's deb822 format (sources.list(5)) that asks archives for the packages of suites."""
    lines = [f"Types: {kind}", f"URIs: {' '.join(addresses)}", f"Suites: {' '.join(suites)}", "Components: main"]
    if keyring is not None:
        lines.append(f"Signed-By: {keyring}")
    return "\n".join(lines) + "\n"


def fetch_debian(
    files: Sequence[DebianFile | DebianPackage], *, scratch: Path, runner: Runner, log: Path
) -> Iterator[tuple[DebianFile | DebianPackage, Path]]:
    """Fetch files of source packages, and binary packages, one after the other; nobody has compared their bytes yet.

    Parameters
    ----------
    files
        What to fetch.
    scratch
        A folder to work in; the files lie below it until the next one is asked for.
    runner
        Starts apt.
    log
        Where apt's talk goes.

    Raises
    ------
    HipwrightError
        ``input-unavailable`` when this is no Debian, or the archive does not serve a file.
    """
    addresses = _own_archives(runner, scratch)
    sources = [file for file in files if isinstance(file, DebianFile)]
    packages = [file for file in files if isinstance(file, DebianPackage)]
    if sources:
        with _apt("deb-src", addresses, sources, scratch=scratch, runner=runner, log=log) as apt:
            for file in sources:
                yield (
                    file,
                    apt.fetch(file, ["source", "--download-only", f"--{file.part}-only", f"{file.package}={file.version}"]),
                )
    if packages:
        with _apt("deb", addresses, packages, scratch=scratch, runner=runner, log=log) as apt:
            for package in packages:
                yield package, apt.fetch(package, ["download", f"{package.package}={package.version}"])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Apt:
    """apt with a source list and a state folder of its own."""

    folder: Path
    command: tuple[str, ...]
    runner: Runner
    log: Path

    def fetch(self, file: DebianFile | DebianPackage, ask: Sequence[str]) -> Path:
        """Return where a file lies that apt was asked for."""
        try:
            self.runner.run([*self.command, *ask], cwd=self.folder, log=self.log, timeout=30 * _MINUTES, what=f"apt-get {ask[0]}")
        except HipwrightError as error:
            raise _unavailable(f"{file.file} ({file.origin})", error) from error
        # apt writes the colon of an epoch into the name of a binary package.
        names = {file.file, f"{file.package}_{file.version.replace(':', '%3a')}_{file.file.rpartition('_')[2]}"}
        found = [self.folder / name for name in names if (self.folder / name).is_file()]
        if not found:
            message = f"{file.file} is not in {file.origin}"
            hint = "build_tools/config/data/inputs.toml pins the file's name: is it still this one?"
            raise HipwrightError("input-unavailable", message, hint=hint, log=self.log)
        return found[0]


@contextlib.contextmanager
def _apt(
    kind: Kind,
    addresses: Sequence[str],
    files: Sequence[DebianFile | DebianPackage],
    *,
    scratch: Path,
    runner: Runner,
    log: Path,
) -> Iterator[_Apt]:
    """Give apt with the lists of the suites that files are in."""
    suites = sorted({file.suite for file in files})
    with temporary_folder(scratch, "apt") as folder:
        keyring = _KEYRING if Path(_KEYRING).exists() else None
        listing = folder / "hipwright.sources"
        write_text(listing, source_list(addresses, suites, kind=kind, keyring=keyring))
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        settings = {
            "Dir::Etc::SourceList": listing,
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": folder / "lists",
            "Dir::Cache": folder / "cache",
            # The folder may be closed to apt's own user.
            "APT::Sandbox::User": "root",
            "Acquire::Retries": "3",
        }
        apt = ("apt-get", "--quiet", "--assume-yes", *(f"--option={key}={value}" for key, value in settings.items()))
        what = f"the {'sources' if kind == 'deb-src' else 'packages'} of Debian {', '.join(suites)}"
        try:
            runner.run([*apt, "update"], cwd=folder, log=log, timeout=10 * _MINUTES, what="apt-get update")
        except HipwrightError as error:
            raise _unavailable(what, error) from error
        yield _Apt(folder=folder, command=apt, runner=runner, log=log)


def _own_archives(runner: Runner, scratch: Path) -> tuple[str, ...]:
    hint = "fetch the inputs on a Debian machine, or put the files into the cache by hand"
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    codename = release.get("VERSION_CODENAME")
    if release.get("ID") != "debian" or codename is None or runner.find("apt-get") is None:
        raise HipwrightError("input-unavailable", "Debian's packages are fetched through apt, and this is no Debian", hint=hint)
    ask = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)|$(RELEASE)|$(COMPONENT)"]
    found = archives(runner.capture([*ask, "Created-By: Packages"], cwd=scratch).text, codename)
    if not found:
        message = f"apt on this machine knows no archive that serves Debian {codename}"
        raise HipwrightError("input-unavailable", message, hint=hint)
    return found


def _unavailable(what: str, error: HipwrightError) -> HipwrightError:
    message = f"{what} could not be fetched: {error.message}"
    hint = "what was fetched before stays: run it again later"
    return HipwrightError("input-unavailable", message, hint=hint, log=error.log, excerpt=error.excerpt)
