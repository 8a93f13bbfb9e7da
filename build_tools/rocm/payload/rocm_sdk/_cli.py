"""The command ``rocm-sdk``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ._devices import installed_devices
from ._dist_info import description
from ._errors import SdkError
from ._packages import detected, extra_for, find_module, install_line, requirement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status: 0 done, 1 not, 2 for a command that is not one."""
    options = _parser().parse_args(argv)
    try:
        return int(options.run(options))
    except (SdkError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rocm-sdk", description="ROCm in this Python environment.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    path = commands.add_parser("path", help="print a folder of the development files, which are expanded when needed")
    which = path.add_mutually_exclusive_group(required=True)
    which.add_argument("--root", dest="below", action="store_const", const="", help="the root: ROCM_PATH, HIP_PATH")
    which.add_argument("--bin", dest="below", action="store_const", const="bin", help="the programs")
    which.add_argument(
        "--cmake", dest="below", action="store_const", const="lib/cmake", help="the CMake packages: CMAKE_PREFIX_PATH"
    )
    path.set_defaults(run=_path)

    init = commands.add_parser("init", help="expand the development files, and mend them when they are damaged")
    init.add_argument("--quiet", action="store_true", help="say nothing but what is wrong")
    init.add_argument(
        "--drop-archive", action="store_true", help="then remove their archive, which only mending needs, to free its space"
    )
    init.set_defaults(run=_init)

    test = commands.add_parser("test", help="test what is installed, as far as it can be tested here")
    test.add_argument("--json", action="store_true", help="print the result as one JSON document")
    test.set_defaults(run=_test)

    version = commands.add_parser("version", help="print the version")
    version.set_defaults(run=_version)

    targets = commands.add_parser("targets", help="print the GPU targets that this ROCm has device code for")
    which = targets.add_mutually_exclusive_group()
    which.add_argument("--installed", action="store_true", help="print those whose device code is installed here")
    which.add_argument(
        "--detect", action="store_true", help="print the targets of the GPUs at hand and the requirement that serves them"
    )
    targets.set_defaults(run=_targets)
    return parser


def _path(options: argparse.Namespace) -> int:
    from ._devel import devel_root  # noqa: PLC0415 - what other commands need not

    print(_below(devel_root(say=_say), options.below))
    return 0


def _below(root: Path, path: str) -> Path:
    folder = root / path if path else root
    if not folder.is_dir():
        message = f"the development files in {root} have no {path}"
        raise SdkError(message)
    return folder


def _init(options: argparse.Namespace) -> int:
    from ._devel import devel_root, drop_archives  # noqa: PLC0415 - what other commands need not

    root = devel_root(repair=True, say=_quiet if options.quiet else _say)
    freed = drop_archives() if options.drop_archive else 0
    if not options.quiet:
        print(f"ROCm's development files are in {root}")
        if freed:
            print(f"removed their archive: {freed / 2**20:.0f} MiB")
    return 0


def _test(options: argparse.Namespace) -> int:
    from .tests.run import run_suites  # noqa: PLC0415 - what other commands need not

    return run_suites(as_json=options.json)


def _version(_options: argparse.Namespace) -> int:
    print(description().version)
    return 0


def _targets(options: argparse.Namespace) -> int:
    if options.installed or not options.detect:
        return _listed(only_installed=options.installed)
    found = detected()
    served = ", ".join(description().targets_here())
    if not found:
        print(f"error: no AMD GPU is found here; this ROCm has device code for {served}", file=sys.stderr)
        return 1
    unserved = [target for target in found if target not in description().targets_here()]
    if unserved:
        print(f"error: this ROCm has no device code for {', '.join(unserved)}, which is here; it has: {served}", file=sys.stderr)
        return 1
    extras = _extras_for(found)
    print(";".join(found))
    print(requirement(extras))
    print(f"to install it: {install_line(extras)}", file=sys.stderr)
    return 0


def _listed(*, only_installed: bool) -> int:
    """Print the targets of the set, and say which of them are not installed; or print those that are."""
    targets = description().targets_here()
    try:
        there = _installed()
    except SdkError as error:
        if only_installed:
            raise
        print(";".join(targets))
        print(f"which of them are installed cannot be told: {error}", file=sys.stderr)
        return 0
    if only_installed and not there:
        print(f"error: no device code is installed here; to install that of all targets: {_line_for(targets)}", file=sys.stderr)
        return 1
    print(";".join(there if only_installed else targets))
    missing = [target for target in targets if target not in there]
    if missing and not only_installed:
        here = f"that of {', '.join(there)} is" if there else "none is"
        line = _line_for(missing[:1])
        print(f"device code: {here} installed here; to install that of {missing[0]}: {line}", file=sys.stderr)
    return 0


def _line_for(targets: Sequence[str]) -> str:
    everything = list(targets) == list(description().targets_here()) and description().form == "device"
    return install_line(["libraries", "device"] if everything and len(targets) > 1 else _extras_for(targets))


def _installed() -> tuple[str, ...]:
    """Return the targets whose device code is installed, in the order of the set."""
    packages = [package for package in description().packages.get("libraries", ()) if find_module(package.module) is not None]
    if description().form == "device":
        folders = [folder for package in packages if (folder := find_module(package.module)) is not None]
        there = set(installed_devices(folders))
    else:
        there = {target for package in packages for target in description().families.get(package.family or "", ())}
    return tuple(target for target in description().targets_here() if target in there)


def _extras_for(targets: Sequence[str]) -> list[str]:
    """Return the extras that bring device code for targets."""
    if description().form == "device":
        return ["libraries", *(f"device-{target.lower()}" for target in targets)]
    families = description().families
    packages = description().packages.get("libraries", ())
    fitting = [package for package in packages if package.family is None or set(targets) & set(families.get(package.family, ()))]
    return [extra_for("libraries", package) for package in fitting]


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _quiet(_sentence: str) -> None:
    """Say nothing."""
