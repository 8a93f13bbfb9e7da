"""Find out what this machine is and has; what programs and files say is read by pure functions, for both systems on either.

Each question has a time limit, and what cannot be answered stays unknown: a probe that fails is no answer.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from build_tools.builds.developer_prompt import parse_installations
from build_tools.builds.visual_studio import machine_programs
from build_tools.errors import HipwrightError
from build_tools.receipts.machine import MachineFacts
from build_tools.rocm.reach import find_reach
from build_tools.testing.gpu import rocm_targets, visible_devices
from build_tools.threads import Threads
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.process import Runner

__all__ = [
    "Asked",
    "machine_facts",
    "parse_build_number",
    "parse_dpkg",
    "parse_groups",
    "parse_os_release",
    "parse_targets_here",
    "parse_version",
    "reaches",
    "windows_driver",
]

_SECONDS: Final = 30.0
_REACH_SECONDS: Final = 10.0
_HTTPS: Final = 443
_TOOLS: Final = ("git", "cmake", "ninja")
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")
_TARGET: Final = re.compile(r"\bgfx[0-9a-f]{3,5}\b")
_NAMES_GPUS: Final = ("bin/offload-arch.exe", "lib/llvm/bin/offload-arch.exe", "bin/hipInfo.exe", "bin/amdgpu-arch.exe")
"""Programs of a ROCm for Windows that name the GPUs of a machine, the first that is there is asked."""

_RUNTIME: Final = re.compile(r"amdhip64_(\d+)\.dll", re.IGNORECASE)
_AMDGPU: Final = Path("/sys/module/amdgpu")
_OS_RELEASE: Final = Path("/etc/os-release")
_VENV: Final = "import ensurepip, venv"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What is asked of a machine: the folder whose disk counts, packages and hosts that are looked for, labels that it has."""

    disk_of: Path
    packages: Sequence[str] = ()
    hosts: Sequence[str] = ()
    labels: Sequence[str] = ()


def machine_facts(asked: Asked, *, machine: Mapping[str, str], platform: Platform, runner: Runner, python: Path) -> MachineFacts:
    """Find out what this machine is and has.

    Parameters
    ----------
    asked
        What is asked.
    machine
        The environment as found.
    platform
        The operating system of this machine.
    runner
        Starts the programs that are asked.
    python
        The interpreter that hipwright runs in, which is asked where the search path has none.
    """
    asking = _Asking(runner=runner, cwd=_existing(asked.disk_of))
    linux = platform is Platform.LINUX
    os_name, os_version = parse_os_release(_text(_OS_RELEASE)) if linux else ("windows", _windows_version())
    interpreter = runner.find("python3" if linux else "python") or python
    reach = find_reach(machine, platform=platform)
    with Threads(8) as pool:
        reached = dict(zip(asked.hosts, pool.map(lambda host: reaches(host, machine), asked.hosts), strict=True))
    return MachineFacts(
        platform=platform.value,
        os_name=os_name,
        os_version=os_version,
        driver=_linux_driver() if linux else windows_driver(_system_files(machine)),
        # A folder that does not say its version is an answer that is not known.
        rocm=reach.version if reach.folder is not None else "",
        memory_bytes=_memory(),
        disk_bytes=_free(asking.cwd),
        python=asking.version(interpreter),
        python_venv=asking.succeeds([interpreter, "-I", "-c", _VENV]),
        visual_studio=None if linux else _visual_studio(machine, asking, python),
        tools={name: version for name in _TOOLS if (version := asking.version_of(name)) is not None},
        packages=_packages(asked.packages, asking) if linux else None,
        groups=_groups(asking) if linux else None,
        gpus=rocm_targets(visible_devices(platform, runner, machine)) if linux else _windows_gpus(reach.folder, asking),
        labels=tuple(asked.labels) or None,
        reached=reached or None,
    )


def parse_os_release(text: str) -> tuple[str | None, str | None]:
    """Return the short name and version of a distribution, as ``/etc/os-release`` says them.

    >>> parse_os_release('NAME="Ubuntu"' + chr(10) + "ID=ubuntu" + chr(10) + 'VERSION_ID="22.04"')
    ('ubuntu', '22.04')
    """
    values = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals:
            values[key] = value.strip().strip("\"'")
    return values.get("ID") or None, values.get("VERSION_ID") or None


def parse_build_number(major: int, minor: int, build: int) -> str:
    """Return the version of Windows as its parts say it; Windows 11 22H2 is ``10.0.22621``."""
    return f"{major}.{minor}.{build}"


def parse_version(text: str) -> str | None:
    """Return the first version in what a program says of itself; None where there is none.

    >>> parse_version("git version 2.43.0.windows.1"), parse_version("cmake version 3.28.3" + chr(10) + "by 1.0"), parse_version("no")
    ('2.43.0', '3.28.3', None)
    """
    found = _VERSION.search(text)
    return None if found is None else found[0]


def parse_targets_here(text: str) -> tuple[str, ...]:
    """Return the GPU targets in what a program of ROCm says of this machine, one entry for each time that it names one.

    >>> parse_targets_here("device#  0" + chr(10) + "gcnArchName:  gfx1201" + chr(10)), parse_targets_here("no devices")
    (('gfx1201',), ())
    """
    return tuple(_TARGET.findall(text))


def parse_dpkg(text: str) -> dict[str, str]:
    """Return the version of each package that is installed, of lines ``STATUS<tab>NAME<tab>VERSION`` as ``dpkg-query`` prints them."""
    found = {}
    for line in text.splitlines():
        status, _, rest = line.partition("\t")
        name, tab, version = rest.partition("\t")
        # Packages that were removed keep their settings, and stay in the list.
        if tab and status.strip() == "installed":
            found[name] = version
    return found


def parse_groups(text: str) -> tuple[str, ...]:
    """Return the names of groups, as ``id -Gn`` prints them."""
    return tuple(text.split())


def windows_driver(files: Sequence[str] | None) -> str | None:
    """Return the major version of ROCm that the graphics driver of Windows is for, by the HIP runtime that it brings; empty for none.

    Parameters
    ----------
    files
        The names of the files in ``System32``; None where they cannot be listed.
    """
    if files is None:
        return None
    numbers = [int(found[1]) for name in files if (found := _RUNTIME.fullmatch(name))]
    return str(max(numbers)) if numbers else ""


def reaches(host: str, machine: Mapping[str, str], *, seconds: float = _REACH_SECONDS) -> bool:
    """Say whether a host answers, through the machine's proxy where that is to be used; nothing is sent to the host itself.

    Parameters
    ----------
    host
        A name, or a name and a port with a colon between; 443 without.
    machine
        The environment as found; its ``HTTPS_PROXY`` and ``NO_PROXY`` count.
    seconds
        How long each step may take.
    """
    name, colon, port = host.rpartition(":")
    name, number = (name, int(port)) if colon and port.isdigit() else (host, _HTTPS)
    settings = {key.lower(): value for key, value in machine.items()}
    proxy = urllib.parse.urlsplit(settings.get("https_proxy", ""))
    without = [part.strip().lstrip("*.") for part in settings.get("no_proxy", "").split(",") if part.strip()]
    passed_by = any(part in {"", name} or name.endswith(f".{part}") for part in without)
    try:
        if proxy.hostname and not passed_by:
            through = http.client.HTTPConnection(proxy.hostname, proxy.port or 80, timeout=seconds)
            through.set_tunnel(name, number)
            with contextlib.closing(through):
                through.connect()
            return True
        with socket.create_connection((name, number), timeout=seconds):
            return True
    except (OSError, http.client.HTTPException, ValueError):
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asking:
    """Asks programs; one that is not there, fails or takes too long has no answer."""

    runner: Runner
    cwd: Path

    def text(self, command: Sequence[str | Path]) -> str | None:
        """Return what a program prints when it ends well."""
        try:
            done = self.runner.capture(command, cwd=self.cwd, timeout=_SECONDS, check=False)
        except HipwrightError:
            return None
        return done.text if done.returncode == 0 else None

    def succeeds(self, command: Sequence[str | Path]) -> bool | None:
        """Say whether a program ends well; None where it cannot be started or takes too long."""
        try:
            return self.runner.capture(command, cwd=self.cwd, timeout=_SECONDS, check=False).returncode == 0
        except HipwrightError:
            return None

    def version(self, program: Path) -> str | None:
        """Return the version that a program states."""
        text = self.text([program, "--version"])
        return None if text is None else parse_version(text)

    def version_of(self, name: str) -> str | None:
        """Return the version of a program of the search path; None when it is not there or does not say one."""
        program = self.runner.find(name)
        return None if program is None else self.version(program)


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _linux_driver() -> str | None:
    if not _AMDGPU.is_dir():
        return ""
    return _text(_AMDGPU / "version").strip() or "the kernel's own"


def _packages(names: Sequence[str], asking: _Asking) -> dict[str, str] | None:
    """Return the versions of those packages that are installed; None on a machine whose packages are not Debian's."""
    if asking.runner.find("dpkg-query") is None:
        return None
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Status}\\t${Package}\\t${Version}\\n", *names]
    try:
        # It ends with 1 when one of them is unknown to it, and prints the others.
        done = asking.runner.capture(command, cwd=asking.cwd, timeout=_SECONDS, check=False)
    except HipwrightError:
        return None
    return parse_dpkg(done.text)


def _groups(asking: _Asking) -> tuple[str, ...] | None:
    text = asking.text(["id", "-Gn"])
    return None if text is None else parse_groups(text)


def _visual_studio(machine: Mapping[str, str], asking: _Asking, python: Path) -> str | None:
    vswhere = machine_programs(machine, python).vswhere
    if not vswhere.is_file():
        return ""
    # The component of the C++ compilers: an installation without it builds nothing.
    needs = ["-requires", "Microsoft.VisualStudio.Component.VC.Tools.x86.x64"]
    text = asking.text([vswhere, "-products", "*", *needs, "-format", "json", "-utf8", "-nologo"])
    if text is None:
        return None
    try:
        versions = [one.version for one in parse_installations(text.encode())]
    except HipwrightError:
        return None
    return max(versions, key=lambda version: [int(part) for part in re.findall(r"\d+", version)], default="")


def _windows_gpus(rocm: Path | None, asking: _Asking) -> tuple[str, ...] | None:
    """Return the GPU targets that a ROCm's own program names: the driver of Windows lists none; None where there is no answer."""
    program = next((rocm / name for name in _NAMES_GPUS if (rocm / name).is_file()), None) if rocm is not None else None
    text = asking.text([program]) if program is not None else None
    return None if text is None else parse_targets_here(text)


def _system_files(machine: Mapping[str, str]) -> list[str] | None:
    root = next((value for name, value in machine.items() if name.upper() == "SYSTEMROOT"), r"C:\Windows")
    try:
        return [path.name for path in Path(root, "System32").glob("amdhip64_*.dll")] if Path(root, "System32").is_dir() else None
    except OSError:
        return None


if sys.platform == "win32":

    def _windows_version() -> str | None:
        told = sys.getwindowsversion()
        return parse_build_number(told.major, told.minor, told.build)

else:

    def _windows_version() -> str | None:
        return None


def _memory() -> int | None:
    try:
        return int(psutil.virtual_memory().total)
    except (OSError, psutil.Error):
        return None


def _free(folder: Path) -> int | None:
    try:
        return int(psutil.disk_usage(str(folder)).free)
    except OSError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
