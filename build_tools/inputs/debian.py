"""Files of Debian source packages, through the machine's own apt and without touching its lists.

apt knows where its archive is, how to get there and which keys vouch for it; a source list of our own asks the same archive for
another suite's sources, with a state folder of our own.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError
from build_tools.files import temporary_folder, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from build_tools.inputs.catalogue import DebianFile
    from build_tools.process import Runner

__all__ = ["archives", "fetch_debian", "source_list"]

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


def source_list(addresses: Iterable[str], suites: Iterable[str], *, keyring: str | None) -> str:
    """Return a source list in apt's deb822 format (sources.list(5)) that asks archives for the sources of suites."""
    lines = ["Types: deb-src", f"URIs: {' '.join(addresses)}", f"Suites: {' '.join(suites)}", "Components: main"]
    if keyring is not None:
        lines.append(f"Signed-By: {keyring}")
    return "\n".join(lines) + "\n"


def fetch_debian(files: Sequence[DebianFile], *, scratch: Path, runner: Runner, log: Path) -> Iterator[tuple[DebianFile, Path]]:
    """Fetch files of source packages, one after the other; nobody has compared their bytes yet.

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
    suites = sorted({file.suite for file in files})
    with temporary_folder(scratch, "apt") as folder:
        keyring = _KEYRING if Path(_KEYRING).exists() else None
        listing = folder / "hipwright.sources"
        write_text(listing, source_list(addresses, suites, keyring=keyring))
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
        apt = ["apt-get", "--quiet", "--assume-yes", *(f"--option={key}={value}" for key, value in settings.items())]
        what = f"the sources of Debian {', '.join(suites)}"
        try:
            runner.run([*apt, "update"], cwd=folder, log=log, timeout=10 * _MINUTES, what="apt-get update")
        except HipwrightError as error:
            raise _unavailable(what, error) from error
        for file in files:
            ask = ["source", "--download-only", f"--{file.part}-only", f"{file.package}={file.version}"]
            try:
                runner.run([*apt, *ask], cwd=folder, log=log, timeout=30 * _MINUTES, what="apt-get source")
            except HipwrightError as error:
                raise _unavailable(f"{file.file} ({file.origin})", error) from error
            if not (folder / file.file).is_file():
                message = f"{file.file} is not in {file.origin}"
                hint = "build_tools/config/data/inputs.toml pins the file's name: is it still this one?"
                raise HipwrightError("input-unavailable", message, hint=hint, log=log)
            yield file, folder / file.file


def _own_archives(runner: Runner, scratch: Path) -> tuple[str, ...]:
    hint = "fetch the inputs on a Debian machine, or put the files into the cache by hand"
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    codename = release.get("VERSION_CODENAME")
    if release.get("ID") != "debian" or codename is None or runner.find("apt-get") is None:
        raise HipwrightError("input-unavailable", "Debian's sources are fetched through apt, and this is no Debian", hint=hint)
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
