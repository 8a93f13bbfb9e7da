"""What tests of environments share: a runner with or without uv, an interpreter, and a base index of this test's own."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from build_tools import digest
from build_tools.environments.interpreter import Interpreter, probe
from build_tools.environments.listing import PackageSource
from build_tools.environments.make import EnvironmentRequest, make_environment
from build_tools.environments.resolve import lock_owned
from build_tools.environments.settings import BaseIndex
from build_tools.process import Runner, base_environment
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.receipts.lock import LockedFile
    from build_tools.receipts.values import EnvironmentRecord

PLATFORM = Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX


def find_uv() -> Path:
    """Return uv, which the tests' own environment holds."""
    found = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    assert found is not None, "uv is one of the tests' dependencies"
    return Path(found)


def runner_with(installer: str, folder: Path) -> Runner:
    """Return a runner whose children find uv or do not, and whose home is a folder of the test's own."""
    home = folder / "home"
    path = folder / f"path-{installer}"
    home.mkdir(parents=True, exist_ok=True)
    path.mkdir(exist_ok=True)
    if installer == "uv" and not (path / "uv").exists():
        (path / "uv").symlink_to(find_uv())
    environment = base_environment(os.environ) | {"HOME": str(home), "PATH": f"{path}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    return Runner(environment=environment)


@functools.cache
def this_interpreter() -> Interpreter:
    """Return the interpreter that the tests run in."""
    found = probe(Path(sys.executable), Runner(environment=base_environment(os.environ)))
    assert found is not None
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A folder to make environments in, with one installer."""

    folder: Path
    runner: Runner
    said: list[str]

    def make(self, request: EnvironmentRequest, base: BaseIndex, **changes: Any) -> EnvironmentRecord:  # noqa: ANN401 - as make_environment takes them
        """Make an environment."""
        arguments: dict[str, Any] = {
            "envs": self.folder / "envs",
            "cache": self.folder / "cache",
            "base": base,
            "runner": self.runner,
            "platform": PLATFORM,
            "say": self.said.append,
            "wait": True,
            "log": self.folder / "install.log",
        }
        return make_environment(request, **{**arguments, **changes})


def place_with(installer: str, folder: Path) -> Place:
    """Return a place for environments whose runner has uv on its path, or has not."""
    return Place(folder=folder, runner=runner_with(installer, folder), said=[])


def base_of(*folders: Path, index: Path | str | None = None, extra: Sequence[Path | str] = ()) -> BaseIndex:
    """Return a base index made of folders of files and, when given, an index and further ones."""

    def url(place: Path | str) -> str:
        return place.as_uri() if isinstance(place, Path) else place

    return BaseIndex(
        index_url=url(index) if index is not None else None,
        extra_index_urls=tuple(map(url, extra)),
        find_links=tuple(map(str, folders)),
        no_index=index is None and not extra,
        timeout=10,
    )


def names_in(record: EnvironmentRecord) -> dict[str, str]:
    """Return name and version of everything in an environment."""
    return {package.name: package.version for package in record.packages}


def lock_from(place: Place, source: Path | str, *requirements: str) -> tuple[LockedFile, ...]:
    return lock_owned(
        requirements,
        source=PackageSource(find_links=(str(source),)),
        interpreter=this_interpreter(),
        network=BaseIndex().network(),
        cache=place.folder / "cache",
    )


def marks_in(folder: str, *modules: str) -> list[str]:
    """Import modules in an environment and return their marks."""
    lines = [f"import {module}; print({module}.MARK)" for module in modules]
    python = Path(folder, "bin", "python")
    return subprocess.run([python, "-I", "-c", "\n".join(lines)], check=True, capture_output=True, text=True).stdout.split()


def pin_file(path: Path, wheels: Sequence[Path]) -> Path:
    rows = []
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        rows.append(f"{name.replace('_', '-')}=={version} \\\n    --hash=sha256:{digest.of_file(wheel)}")
    path.write_text("\n".join(rows) + "\n")
    return path
