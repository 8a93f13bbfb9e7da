"""Install packages into an environment with uv or pip: files by hash, or one resolver run over the base index.

Both are shut off from every configuration but what they are given: no ``PIP_*``, no ``pip.conf``, no ``uv.toml``, no download of
interpreters. An owned package is always named by a file and its hash (PEP 508 ``name @ file:…``), which an index cannot answer.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from build_tools.environments.pins import parse as parse_pins
from build_tools.environments.resolved import Resolved, from_pylock, from_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from packaging.tags import Tag

    from build_tools.environments.settings import BaseIndex
    from build_tools.process import Runner

__all__ = ["Installer", "PipInstaller", "UvInstaller", "choose_installer"]

_SECONDS: Final = 2 * 3600.0
_OLDEST_UV: Final = (0, 9)
"""The first uv that is known to write and install ``pylock.toml`` (PEP 751) as is done here."""

_NO_PIP_CONFIGURATION: Final = {"PIP_CONFIG_FILE": os.devnull}
_NO_UV_CONFIGURATION: Final = {"UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}


class Installer(Protocol):
    """Puts packages into one environment."""

    @property
    def program(self) -> str:
        """What installs: ``uv`` or ``pip``."""
        ...

    def install_files(self, requirements: Path) -> None:
        """Install files that ``requirements`` names by ``file:`` addresses with hashes: no index, no dependencies."""
        ...

    def install_pins(self, requirements: Path) -> tuple[Resolved, ...]:
        """Install the pinned packages of a hash-pinned requirements file from the base index, without dependencies."""
        ...

    def install_base(self, requirements: Path, constraints: Sequence[str]) -> tuple[Resolved, ...]:
        """Install requirements from the base index in one resolver run; what is installed already is kept where it fits."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PipInstaller:
    """hipwright's own pip, working on another environment's interpreter (``pip --python``).

    Parameters
    ----------
    pip
        The interpreter that has pip.
    target
        The environment's interpreter.
    notes
        A folder for requirement files and reports.
    base
        The base index.
    runner
        Starts pip.
    log
        Where its output goes.
    """

    pip: Path
    target: Path
    notes: Path
    base: BaseIndex
    runner: Runner
    log: Path

    @property
    def program(self) -> str:
        """What installs."""
        return "pip"

    def install_files(self, requirements: Path) -> None:
        """See :meth:`Installer.install_files`."""
        self._install(["--no-index", "--no-deps", "--require-hashes", "--requirement", str(requirements)])

    def install_pins(self, requirements: Path) -> tuple[Resolved, ...]:
        """See :meth:`Installer.install_pins`."""
        return self._reported(["--no-deps", "--require-hashes", "--requirement", str(requirements)], "pins")

    def install_base(self, requirements: Path, constraints: Sequence[str]) -> tuple[Resolved, ...]:
        """See :meth:`Installer.install_base`."""
        given = [part for constraint in constraints for part in ("--constraint", constraint)]
        return self._reported(["--requirement", str(requirements), *given], "base")

    def build_wheel(self, sdist: Path, target: Path) -> None:
        """Build a source distribution into a wheel with what the environment holds; pip's cache of old builds is not used."""
        options = [
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            "--no-cache-dir",
            "--wheel-dir",
            str(target),
            sdist.as_uri(),
        ]
        self._run(["wheel", *options])

    def _reported(self, options: list[str], name: str) -> tuple[Resolved, ...]:
        report = self.notes / f"{name}-report.json"
        self._install([*_pip_places(self.base), *options, "--report", str(report)])
        return from_report(report)

    def _install(self, options: list[str]) -> None:
        self._run(["install", "--no-compile", *options])

    def _run(self, arguments: list[str]) -> None:
        command: list[str | Path] = [
            self.pip,
            "-I",
            "-m",
            "pip",
            "--python",
            self.target,
            "--isolated",
            "--no-input",
            "--no-color",
        ]
        command += ["--disable-pip-version-check", *arguments[:1], "--progress-bar", "off", *arguments[1:]]
        # pip starts itself anew under the target: the bytecode of the made environment must not be written on the way.
        self.runner.run(
            command, cwd=self.notes, log=self.log, env=_NO_PIP_CONFIGURATION, timeout=_SECONDS, code="install-failed", what="pip"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class UvInstaller:
    """uv; parameters as for :class:`PipInstaller`, and ``ranks`` orders wheel tags, best first."""

    uv: Path
    target: Path
    notes: Path
    base: BaseIndex
    runner: Runner
    log: Path
    ranks: Mapping[Tag, int]

    @property
    def program(self) -> str:
        """What installs."""
        return "uv"

    def install_files(self, requirements: Path) -> None:
        """See :meth:`Installer.install_files`."""
        self._run(["install", "--no-index", "--no-deps", "--require-hashes", "--requirement", str(requirements)])

    def install_pins(self, requirements: Path) -> tuple[Resolved, ...]:
        """See :meth:`Installer.install_pins`."""
        places = _uv_places(self.base)
        self._run(["install", "--no-deps", "--require-hashes", "--requirement", str(requirements), *places])
        # The lock tells which of the pinned hashes were taken, and what the next resolver run is to prefer.
        self._compile("pins", [str(requirements), "--no-deps", *places])
        pins = parse_pins(requirements.read_text(encoding="utf-8"), name=str(requirements))
        pinned = {pin.name: frozenset(text.removeprefix("sha256:") for text in pin.hashes) for pin in pins}
        return from_pylock(self._lock_file("pins"), self.ranks, pinned)

    def install_base(self, requirements: Path, constraints: Sequence[str]) -> tuple[Resolved, ...]:
        """See :meth:`Installer.install_base`."""
        pins = self._lock_file("pins")
        if pins.is_file():
            # uv prefers the versions that the output file holds already, as pip prefers what is installed.
            self._lock_file("base").write_bytes(pins.read_bytes())
        given = [part for constraint in constraints for part in ("--constraints", constraint)]
        places = _uv_places(self.base)
        self._compile("base", [str(requirements), *given, *places])
        resolved = from_pylock(self._lock_file("base"), self.ranks)
        self._run(["install", "--preview-features", "pylock", "--requirement", str(self._lock_file("base")), *places])
        return resolved

    def _lock_file(self, name: str) -> Path:
        return self.notes / f"pylock.{name}.toml"

    def _compile(self, name: str, arguments: list[str]) -> None:
        """Resolve into a lock file (PEP 751), so that every file is known by its hash."""
        options = ["--quiet", "--no-header", "--no-annotate", "--format", "pylock.toml"]
        self._run(["compile", *options, "--output-file", str(self._lock_file(name)), *arguments])

    def _run(self, arguments: list[str]) -> None:
        command: list[str | Path] = [
            self.uv,
            "pip",
            *arguments[:1],
            "--python",
            self.target,
            "--no-progress",
            "--color",
            "never",
            *arguments[1:],
        ]
        env = {**_NO_UV_CONFIGURATION, **_uv_environment(self.base)}
        self.runner.run(command, cwd=self.notes, log=self.log, env=env, timeout=_SECONDS, code="install-failed", what="uv")


def choose_installer(
    *, pip: Path, target: Path, notes: Path, base: BaseIndex, runner: Runner, log: Path, ranks: Mapping[Tag, int]
) -> UvInstaller | PipInstaller:
    """Return uv where the children's path has one that is new enough, else pip; parameters as for the two classes."""
    masked = replace(runner, secrets=runner.secrets | base.secrets())
    uv = runner.find("uv")
    if uv is not None:
        shown = runner.capture([uv, "--version"], cwd=notes, env=_NO_UV_CONFIGURATION, check=False)
        found = re.match(r"uv (\d+)\.(\d+)", shown.text)
        if found and (int(found[1]), int(found[2])) >= _OLDEST_UV:
            return UvInstaller(uv=uv, target=target, notes=notes, base=base, runner=masked, log=log, ranks=ranks)
    return PipInstaller(pip=pip, target=target, notes=notes, base=base, runner=masked, log=log)


def _pip_places(base: BaseIndex) -> list[str]:
    """Return the base index as pip's options; ``--index-url`` and the like of pip's configuration are shut off."""
    options = ["--no-index"] if base.no_index else []
    if base.index_url is not None and not base.no_index:
        options += ["--index-url", base.index_url]
    for url in () if base.no_index else base.extra_index_urls:
        options += ["--extra-index-url", url]
    for place in base.find_links:
        options += ["--find-links", place]
    for host in base.trusted_hosts:
        options += ["--trusted-host", host]
    for option, value in (
        ("--cert", base.cert),
        ("--client-cert", base.client_cert),
        ("--proxy", base.proxy),
        ("--cache-dir", base.cache_dir),
        ("--timeout", f"{base.timeout:g}"),
    ):
        if value is not None:
            options += [option, str(value)]
    return options


def _uv_places(base: BaseIndex) -> list[str]:
    """Return the base index as uv's options, with pip's rule that all places count alike and the best version wins."""
    options = ["--no-index"] if base.no_index else ["--index-strategy", "unsafe-best-match"]
    if base.index_url is not None and not base.no_index:
        options += ["--default-index", base.index_url]
    for url in () if base.no_index else base.extra_index_urls:
        options += ["--index", url]
    for place in base.find_links:
        options += ["--find-links", place]
    for host in base.trusted_hosts:
        options += ["--allow-insecure-host", host]
    return options


def _uv_environment(base: BaseIndex) -> dict[str, str]:
    """Return what uv takes from its environment alone."""
    found = {"UV_HTTP_TIMEOUT": str(max(1, int(base.timeout)))}
    if base.cert is not None:
        found["SSL_CERT_FILE"] = str(base.cert)
    if base.client_cert is not None:
        found["SSL_CLIENT_CERT"] = str(base.client_cert)
    if base.proxy is not None:
        found |= {"HTTP_PROXY": base.proxy, "HTTPS_PROXY": base.proxy}
    return found
