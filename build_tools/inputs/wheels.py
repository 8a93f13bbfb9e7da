"""Pinned wheels, fetched by pip with the machine's own settings; the wheel's name says what pip has to be asked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from build_tools.errors import HipwrightError
from build_tools.files import temporary_folder, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.inputs.catalogue import WheelFile
    from build_tools.process import Runner

__all__ = ["fetch_wheels", "pip_settings", "requirement_lines", "target_arguments"]

_SECONDS: Final = 3600.0

# Settings that would fetch something else, or to somewhere else, than is asked for.
_NOT_OURS: Final = frozenset(
    {"PIP_DEST", "PIP_REQUIREMENT", "PIP_REQUIRE_HASHES", "PIP_NO_DEPS", "PIP_PLATFORM", "PIP_PYTHON_VERSION", "PIP_ABI"}
    | {"PIP_IMPLEMENTATION", "PIP_ONLY_BINARY", "PIP_NO_BINARY", "PIP_REQUIRE_VIRTUALENV", "PIP_LOG", "PIP_QUIET", "PIP_VERBOSE"}
)


def pip_settings(machine: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a machine's environment that say where and how pip fetches packages."""
    return {name: value for name, value in machine.items() if name.startswith("PIP_") and name not in _NOT_OURS}


def target_arguments(filename: str) -> tuple[str, ...]:
    """Return the arguments that make pip choose for the interpreter and system that a wheel's name says, not for its own.

    Raises
    ------
    ValueError
        The name is not a wheel's (PEP 427).
    """
    try:
        *_, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise ValueError(str(error)) from error
    platforms = sorted({tag.platform for tag in tags})
    if platforms == ["any"]:
        return ()
    tag = min(tags, key=str)
    version = tag.interpreter.removeprefix("cp")
    arguments = ["--implementation", "cp", "--python-version", f"{version[0]}.{version[1:]}", "--abi", tag.abi]
    for name in platforms:
        arguments += ["--platform", name]
    return tuple(arguments)


def requirement_lines(files: Iterable[WheelFile]) -> str:
    """Return a requirement file that only these wheels' bytes satisfy."""
    lines = []
    for file in files:
        name, version, *_ = parse_wheel_filename(file.file)
        lines.append(f"{name}=={version} --hash=sha256:{file.sha256}\n")
    return "".join(lines)


def fetch_wheels(
    files: Sequence[WheelFile], *, scratch: Path, runner: Runner, machine: Mapping[str, str], log: Path
) -> Iterator[tuple[WheelFile, Path]]:
    """Fetch wheels; nobody but pip has compared their bytes yet.

    Parameters
    ----------
    files
        What to fetch.
    scratch
        A folder to work in; the files lie below it until the next one is asked for.
    runner
        Starts pip.
    machine
        The machine's environment, of which pip's settings are used.
    log
        Where pip's talk goes.

    Raises
    ------
    HipwrightError
        ``input-unavailable``.
    """
    batches: dict[tuple[tuple[str, ...], str | None], list[WheelFile]] = {}
    for file in files:
        batches.setdefault((target_arguments(file.file), file.fallback_index), []).append(file)
    settings = pip_settings(machine)
    for (target, fallback), batch in batches.items():
        with temporary_folder(scratch, "wheels") as folder:
            wanted = folder / "wanted.txt"
            write_text(wanted, requirement_lines(batch))
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--no-deps"]
            pip += ["--only-binary=:all:", "--require-hashes", "--dest", str(folder / "files"), *target, "-r", str(wanted)]
            sources: list[list[str]] = [[]] if fallback is None else [[], ["--index-url", fallback]]
            _first_that_has(sources, pip, batch, folder=folder, runner=runner, settings=settings, log=log)
            for file in batch:
                yield file, folder / "files" / file.file


def _first_that_has(
    sources: Sequence[Sequence[str]],
    pip: Sequence[str],
    batch: Sequence[WheelFile],
    *,
    folder: Path,
    runner: Runner,
    settings: Mapping[str, str],
    log: Path,
) -> None:
    what = ", ".join(file.file for file in batch)
    for number, source in enumerate(sources, start=1):
        try:
            runner.run([*pip, *source], cwd=folder, env=settings, log=log, timeout=_SECONDS, what="pip download")
        except HipwrightError as error:
            if number == len(sources):
                message = f"{what} could not be fetched: {error.message}"
                hint = "`pip config list` shows where pip looks for packages on this machine"
                raise HipwrightError("input-unavailable", message, hint=hint, log=log, excerpt=error.excerpt) from error
        else:
            return
