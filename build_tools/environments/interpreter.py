"""Find the Python interpreter that an environment is made for, on this machine; none is ever downloaded."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.tags import Tag, compatible_tags, cpython_tags, platform_tags
from packaging.version import Version

from build_tools.errors import HipwrightError
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from build_tools.process import Runner

__all__ = ["Interpreter", "Wanted", "find_interpreter", "parse_wanted", "probe", "supported_tags"]

_OLDEST: Final = (3, 10)
_SECONDS: Final = 30.0
_WANTED: Final = re.compile(r"(?:python|cpython|cp)?@?(?P<major>3)\.?(?P<minor>\d+)(?:\.(?P<patch>\d+))?(?P<threaded>t)?")

_PROBE: Final = """
import importlib.machinery, json, os, platform, sys, sysconfig
info = sys.implementation.version
number = "{0.major}.{0.minor}.{0.micro}".format(info)
if info.releaselevel != "final":
    number += info.releaselevel[0] + str(info.serial)
found = importlib.machinery.PathFinder.find_spec("ensurepip")
folders = [os.path.join(os.path.dirname(found.origin), "_bundled")] if found and found.origin else []
folders = [folder for folder in (*folders, sysconfig.get_config_var("WHEEL_PKG_DIR")) if folder and os.path.isdir(folder)]
wheels = [os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder))
          if name.startswith("pip-") and name.endswith(".whl")]
print(json.dumps({
    "path": getattr(sys, "_base_executable", None) or sys.executable,
    "version": list(sys.version_info[:3]),
    "threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "pip": wheels[-1] if wheels else None,
    "markers": {
        "implementation_name": sys.implementation.name,
        "implementation_version": number,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    },
}))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Interpreter:
    """A CPython interpreter: the base one, never that of an environment.

    ``version`` is the full version, ``python_tag`` such as ``cp312`` or ``cp313t``; ``markers`` is what environment markers (PEP 508)
    see in it; ``platforms`` are the platform tags that this machine takes, best first; ``own_pip`` is the wheel of the pip that it brings:
    ensurepip's own, or one where a distribution of Linux keeps its wheels; None where it brings none.
    """

    path: Path
    version: str
    python_tag: str
    markers: Mapping[str, str]
    platforms: tuple[str, ...]
    own_pip: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """A version as a person asks for it: ``3.12``, ``3.12.4``, ``3.13t``."""

    major: int
    minor: int
    patch: int | None
    threaded: bool

    def met_by(self, found: Interpreter) -> bool:
        """Return whether an interpreter is of this version."""
        version = Version(found.version).release
        same = version[:2] == (self.major, self.minor) and found.python_tag.endswith("t") == self.threaded
        return same and (self.patch is None or version[2] == self.patch)

    def __str__(self) -> str:
        patch = f".{self.patch}" if self.patch is not None else ""
        return f"{self.major}.{self.minor}{patch}{'t' if self.threaded else ''}"


class _Answer(msgspec.Struct, kw_only=True):
    path: str
    version: tuple[int, int, int]
    threaded: bool
    markers: dict[str, str]
    pip: str | None = None


def parse_wanted(text: str) -> Wanted | None:
    """Read a version as a person spells it (``3.12``, ``3.12.4``, ``3.13t``, ``cp312``, ``python3.12``); None for anything else."""
    found = _WANTED.fullmatch(text.strip().lower())
    if not found:
        return None
    return Wanted(
        major=int(found["major"]),
        minor=int(found["minor"]),
        patch=int(found["patch"]) if found["patch"] else None,
        threaded=bool(found["threaded"]),
    )


def find_interpreter(wanted: str | None, *, default: Path, runner: Runner, platform: Platform) -> Interpreter:
    """Find an interpreter.

    Looked at, in this order: ``default`` itself, the children's ``PATH``, then the folders where pyenv, uv, the manylinux images and
    the Windows installer keep versions, newest first, then the Windows launcher.

    Parameters
    ----------
    wanted
        A version such as ``3.12``, ``3.12.4`` or ``3.13t``, or the path of an interpreter; None takes ``default``.
    default
        The interpreter that hipwright runs in.
    runner
        Starts the interpreters that are asked what they are.
    platform
        The operating system of this machine.

    Raises
    ------
    HipwrightError
        ``no-interpreter`` listing what was found; ``bad-option-value`` for a text that is neither a version nor a path.
    """
    if wanted is None:
        return _needed(default, runner)
    version = parse_wanted(wanted)
    if version is None:
        if os.sep not in wanted and not Path(wanted).is_absolute():
            message = f"{wanted!r} is no Python version and no path of an interpreter"
            raise HipwrightError("bad-option-value", message, hint="say --python 3.12, --python 3.13t, or a full path")
        return _needed(Path(wanted), runner)
    if (version.major, version.minor) < _OLDEST:
        message = f"Python {version} is too old: environments are made for {_OLDEST[0]}.{_OLDEST[1]} and newer"
        raise HipwrightError("bad-option-value", message)
    seen: dict[Path, Interpreter | None] = {}
    # Version managers put small scripts on the path, each of which takes long to say no: they come last.
    for path in (default, *sorted(_places(version, runner, platform), key=_is_script)):
        if path in seen:
            continue
        found = seen[path] = probe(path, runner)
        if found is not None and version.met_by(found):
            return found
    others = sorted(
        {f"{found.version} ({found.path})" for found in (*seen.values(), *_all(runner, platform)) if found is not None}
    )
    listed = ", ".join(others) or "none"
    message = f"there is no Python {version} on this machine; found: {listed}"
    raise HipwrightError("no-interpreter", message, hint="install it, or give the full path of one with --python")


def probe(path: Path, runner: Runner) -> Interpreter | None:
    """Ask an interpreter what it is; None when there is no working CPython at ``path``."""
    if not path.is_file():
        return None
    try:
        done = runner.capture([path, "-I", "-S", "-X", "utf8", "-c", _PROBE], cwd=path.parent, timeout=_SECONDS, check=False)
        answer = msgspec.json.decode(done.stdout, type=_Answer) if done.returncode == 0 else None
    except (HipwrightError, msgspec.DecodeError):
        return None
    if answer is None or answer.markers["implementation_name"] != "cpython":
        return None
    major, minor, _ = answer.version
    return Interpreter(
        path=Path(answer.path),
        version=".".join(map(str, answer.version)),
        python_tag=f"cp{major}{minor}{'t' if answer.threaded else ''}",
        markers=answer.markers,
        platforms=tuple(platform_tags()),
        own_pip=Path(answer.pip) if answer.pip is not None else None,
    )


def supported_tags(interpreter: Interpreter) -> tuple[Tag, ...]:
    """Return the wheel tags that an interpreter takes, best first (PEP 425)."""
    version = Version(interpreter.version).release[:2]
    tags = cpython_tags(version, [interpreter.python_tag], interpreter.platforms)
    return (*tags, *compatible_tags(version, interpreter.python_tag.removesuffix("t"), interpreter.platforms))


def _needed(path: Path, runner: Runner) -> Interpreter:
    found = probe(path, runner)
    if found is None:
        raise HipwrightError("no-interpreter", f"{path} is no working CPython interpreter", hint="give another with --python")
    return found


def _places(version: Wanted, runner: Runner, platform: Platform) -> Iterator[Path]:
    """Give every path where an interpreter of a version may be, best first."""
    suffix = "t" if version.threaded else ""
    names = [f"python{version.major}.{version.minor}{suffix}", f"python{version.major}{suffix}", f"python{suffix}"]
    yield from _on_path(names, runner, platform)
    yield from _in_folders(runner, platform, f"{version.major}.{version.minor}", f"{version.major}{version.minor}")
    if platform is Platform.WINDOWS:
        yield from _launcher(f"{version.major}.{version.minor}{suffix}", runner)


def _on_path(names: Sequence[str], runner: Runner, platform: Platform) -> Iterator[Path]:
    separator, ending = (";", ".exe") if platform is Platform.WINDOWS else (":", "")
    folders = [Path(text) for text in runner.environment.get("PATH", "").split(separator) if text]
    for name in names:
        yield from (
            folder / f"{name}{ending}" for folder in folders if folder.is_absolute() and (folder / f"{name}{ending}").is_file()
        )


def _in_folders(runner: Runner, platform: Platform, dotted: str, plain: str) -> Iterator[Path]:
    """Give the interpreters in the folders where version managers keep them, newest version first."""
    environment = runner.environment
    home = environment.get("USERPROFILE" if platform is Platform.WINDOWS else "HOME")
    patterns: list[tuple[Path, str]] = []
    if platform is Platform.WINDOWS:
        for name in ("LOCALAPPDATA", "PROGRAMFILES"):
            if environment.get(name):
                patterns.append((Path(environment[name]), f"Programs/Python/Python{plain}*/python*.exe"))
                patterns.append((Path(environment[name]), f"Python{plain}*/python*.exe"))
        if home:
            patterns.append((Path(home), f".pyenv/pyenv-win/versions/{dotted}*/python*.exe"))
        if environment.get("APPDATA"):
            patterns.append((Path(environment["APPDATA"]), f"uv/python/cpython-{dotted}*/python*.exe"))
    else:
        if home:
            patterns.append((Path(home), f".pyenv/versions/{dotted}*/bin/python3"))
            patterns.append((Path(home), f".local/share/uv/python/cpython-{dotted}*/bin/python3"))
        patterns.append((Path("/opt/python"), f"cp{plain}*/bin/python3"))
    for folder, pattern in patterns:
        yield from sorted(folder.glob(pattern), key=_by_number, reverse=True)


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(2) == b"#!"
    except OSError:
        return False


def _described(interpreters: Iterable[Interpreter | None]) -> list[str]:
    """Return interpreters for people, each once, oldest first; those that are too old are left out."""
    found: dict[Path, tuple[Version, str]] = {}
    for one in interpreters:
        if one is not None and Version(one.version).release[:2] >= _OLDEST:
            threaded = "t" if one.python_tag.endswith("t") else ""
            found.setdefault(one.path.resolve(), (Version(one.version), f"{one.version}{threaded} ({one.path})"))
    return [text for _, text in sorted(found.values())]


def _by_number(path: Path) -> list[tuple[int, str]]:
    return [(int(number or -1), text) for text, number in re.findall(r"(\D*)(\d*)", str(path))]


def _launcher(version: str, runner: Runner) -> Iterator[Path]:
    launcher = runner.find("py")
    if launcher is None:
        return
    command: list[str | Path] = [launcher, f"-{version}", "-c", "import sys; print(sys.executable)"]
    done = runner.capture(command, cwd=launcher.parent, timeout=_SECONDS, check=False)
    if done.returncode == 0 and done.text:
        yield Path(done.text)


def _all(runner: Runner, platform: Platform) -> Iterator[Interpreter]:
    """Give every interpreter that can be found, for the message that says what there is."""
    names = ["python3", "python", *(f"python3.{minor}" for minor in range(_OLDEST[1], 20))]
    for path in (*_on_path(names, runner, platform), *_in_folders(runner, platform, "3.", "3")):
        found = probe(path, runner)
        if found is not None:
            yield found
