"""Environments with a small set of ROCm packages installed, and programs run in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.environments import find_uv

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["RocmEnvironment", "make_environment"]

EVERYTHING = "rocm[libraries,devel,device]"


@dataclass(frozen=True, kw_only=True)
class RocmEnvironment:
    """An environment, the installer that fills it, and the folder that packages come from."""

    folder: Path
    installer: str
    dist: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Its folder of installed packages."""
        return next(self.folder.glob("lib/python*/site-packages"))

    @property
    def tree(self) -> Path:
        """Where the development files are expanded."""
        return self.site / "_rocm_sdk_devel"

    def install(self, *arguments: str) -> None:
        """Install packages, from the folder alone."""
        self._installer("install", "--no-index", "--find-links", str(self.dist), *arguments)

    def uninstall(self, *names: str) -> None:
        """Uninstall packages."""
        self._installer("uninstall", *names)

    def run(self, *command: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, whatever comes of it."""
        program = [str(self.folder / "bin" / command[0]), *command[1:]]
        return subprocess.run(program, env=self._environment(environment), capture_output=True, text=True, check=False)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a program of the environment."""
        program = [str(self.folder / "bin" / command[0]), *command[1:]]
        return subprocess.Popen(
            program, env=self._environment(None), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def say(self, *command: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a program of the environment that has to end well, and return what it says."""
        done = self.run(*command, environment=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def code(self, text: str, *arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python code in the environment."""
        return self.run("python", "-I", "-c", text, *arguments, environment=environment)

    def tested(self) -> tuple[int, dict[str, Any]]:
        """Run ``rocm-sdk test`` and return its exit status and document."""
        done = self.run("rocm-sdk", "test", "--json")
        return done.returncode, json.loads(done.stdout)

    def pip(self, *arguments: str) -> None:
        """Run the tests' own pip on the environment."""
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(self.python), *arguments],
            env=self._environment(None),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def _installer(self, *command: str) -> None:
        if self.installer == "pip":
            self.pip(command[0], *(["-y"] if command[0] == "uninstall" else []), *command[1:])
            return
        program = [str(find_uv()), "pip", command[0], "--python", str(self.python), *command[1:]]
        done = subprocess.run(program, env=self._environment(None), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def _environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        return {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(home),
            "UV_CACHE_DIR": str(home / "uv"),
            "UV_NO_CONFIG": "1",
            "PIP_CONFIG_FILE": os.devnull,
            **(more or {}),
        }


def make_environment(
    folder: Path, dist: Path, *requirements: str, installer: str = "uv", python: str = sys.executable
) -> RocmEnvironment:
    """Make an environment and install packages from a folder: everything where nothing is named."""
    environment = RocmEnvironment(folder=folder / "env", installer=installer, dist=dist)
    command = [str(find_uv()), "venv", "--quiet", "--no-config", "--offline", "--python", python, str(environment.folder)]
    subprocess.run(command, check=True, capture_output=True)
    environment.install(*(requirements or (EVERYTHING,)))
    return environment
