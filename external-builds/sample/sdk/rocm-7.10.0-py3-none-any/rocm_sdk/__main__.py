"""``rocm-sdk``: where the SDK lies, its version and its GPU targets."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_sdk import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def _root() -> Path:
    spec = find_spec("_rocm_sdk_core")
    if spec is None or spec.origin is None:
        sys.exit("rocm-sdk: the package rocm-sdk-core is not installed; install rocm[libraries,devel]")
    return Path(spec.origin).parent


def _targets() -> str:
    info = json.loads((_root() / "share" / "therock" / "dist_info.json").read_text(encoding="utf-8"))
    return str(info["dist_amdgpu_targets"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="rocm-sdk", description="What the installed ROCm SDK is")
    commands = parser.add_subparsers(dest="command", required=True)
    path = commands.add_parser("path", help="print a folder of the SDK").add_mutually_exclusive_group(required=True)
    path.add_argument("--root", dest="part", action="store_const", const="", help="the SDK itself")
    path.add_argument("--bin", dest="part", action="store_const", const="bin", help="its programs")
    path.add_argument("--cmake", dest="part", action="store_const", const="lib/cmake", help="its CMake packages")
    commands.add_parser("version", help="print the version")
    commands.add_parser("targets", help="print the GPU targets")
    wanted = parser.parse_args(arguments)
    if wanted.command == "path":
        print(_root() / wanted.part)
    elif wanted.command == "version":
        print(__version__)
    else:
        print(_targets())


if __name__ == "__main__":
    main()
