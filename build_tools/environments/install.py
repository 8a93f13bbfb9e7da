"""Install packages into an environment with uv or pip: files by hash, or one resolver run over the base index.

Both are shut off from every configuration but what they are given: no ``PIP_*``, no ``pip.conf``, no ``uv.toml``, no download of
interpreters. An owned package is always named by a file and its hash (PEP 508 ``name @ file:…``), which an index cannot answer.

Nothing that an index offers is run: only wheels are taken, and what is resolved is returned before any of it is installed. pip would
still build a source distribution that a package names by its address, so it works where no program can be started at all.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

from build_tools.environments.listing import bears_query
from build_tools.environments.pins import parse as parse_pins
from build_tools.environments.resolved import Resolved, from_pylock, from_report
from build_tools.errors import HipwrightError
from build_tools.files import remove_tree, write_text
from build_tools.urls import without_query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from packaging.tags import Tag
    from packaging.utils import NormalizedName

    from build_tools.environments.settings import BaseIndex
    from build_tools.process import Runner

__all__ = ["Installer", "PipInstaller", "UvInstaller", "choose_installer", "pip_places"]

_SECONDS: Final = 2 * 3600.0
_OLDEST_UV: Final = (0, 9)
"""The first uv that is known to write and install ``pylock.toml`` (PEP 751) as is done here."""

_WHEELS_ONLY: Final = ("--only-binary", ":all:")

_COPIED: Final = ("--link-mode", "copy")
"""Whose files a build changes in place must not be those of uv's cache, which are the person's other environments' too."""

_GUARDED: Final = """
import runpy, sys
BARRED = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile",
          "pty.spawn", "_winapi.CreateProcess")
def refuse(event, details):
    if event in BARRED:
        raise PermissionError("no program is started for what an index offers: " + event)
sys.addaudithook(refuse)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs pip's runner for another interpreter, which pip itself starts for ``pip --python``, in a process that can start no other."""

_WHERE_PIP_IS: Final = "import pathlib, pip; print(pathlib.Path(pip.__file__).with_name('__pip-runner__.py'))"

_NO_PIP_CONFIGURATION: Final = {"PIP_CONFIG_FILE": os.devnull}
_NO_UV_CONFIGURATION: Final = {"UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}
_TEMPORARY: Final = ("TMPDIR", "TMP", "TEMP")
"""Where programs make temporary files, by the names that Linux and Windows have for it."""


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

    def resolve_base(self, requirements: Path, constraints: Sequence[str], links: Sequence[Path]) -> tuple[Resolved, ...]:
        """Return what requirements stand for, in one resolver run over the base index and folders of wheels; nothing is installed.

        What is installed already is kept where it fits, and need not be among what is returned.
        """
        ...

    def install_base(self, resolved: Sequence[Resolved], links: Sequence[Path]) -> None:
        """Install what :meth:`resolve_base` returned last, or the part of it that is not named by its file."""
        ...

    def askers(self, name: NormalizedName, requirements: Path, links: Sequence[Path]) -> tuple[str, ...]:
        """Return which packages of what :meth:`resolve_base` returned last require another one, where that can be told."""
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
        options = ["--no-deps", "--require-hashes", "--requirement", str(requirements)]
        self._install([*pip_places(self.base), *options, "--report", str(self._report("pins"))])
        return from_report(self._report("pins"))

    def resolve_base(self, requirements: Path, constraints: Sequence[str], links: Sequence[Path]) -> tuple[Resolved, ...]:
        """See :meth:`Installer.resolve_base`."""
        given = [part for constraint in constraints for part in ("--constraint", constraint)]
        options = ["--dry-run", "--requirement", str(requirements), *given, *_links(links)]
        self._install([*pip_places(self.base), *options, "--report", str(self._report("base"))])
        return from_report(self._report("base"))

    def install_base(self, resolved: Sequence[Resolved], links: Sequence[Path]) -> None:
        """See :meth:`Installer.install_base`."""
        exact = [one for one in resolved if one.url is None]
        if not exact:
            return
        hashed = all(one.sha256 for one in exact)
        lines = [f"{one.name}=={one.version}{f' --hash=sha256:{one.sha256}' if hashed else ''}" for one in exact]
        requirements = self.notes / "resolved.txt"
        write_text(requirements, "\n".join(lines) + "\n")
        options = ["--no-deps", *(("--require-hashes",) if hashed else ()), "--requirement", str(requirements), *_links(links)]
        self._install([*pip_places(self.base), *options])

    def askers(self, name: NormalizedName, requirements: Path, links: Sequence[Path]) -> tuple[str, ...]:  # noqa: ARG002 - uv needs them
        """See :meth:`Installer.askers`."""
        return tuple(str(one.name) for one in from_report(self._report("base")) if name in one.requires)

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
        self._run([self.pip, "-I", "-m", "pip", "--python", self.target], ["wheel", *options])

    def _report(self, name: str) -> Path:
        return self.notes / f"{name}-report.json"

    def _install(self, options: list[str]) -> None:
        shown = self.runner.capture(
            [self.pip, "-I", "-c", _WHERE_PIP_IS], cwd=self.notes, env=_NO_PIP_CONFIGURATION, code="missing-tool", what="pip"
        )
        pip: list[str | Path] = [self.target, "-I", "-B", "-c", _GUARDED, shown.text.strip()]
        self._run(pip, ["install", "--no-compile", *_WHEELS_ONLY, *options])

    def _run(self, pip: Sequence[str | Path], arguments: list[str]) -> None:
        command: list[str | Path] = [*pip, "--isolated", "--no-input", "--no-color"]
        command += ["--disable-pip-version-check", *arguments[:1], "--progress-bar", "off", *arguments[1:]]
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
        """See :meth:`Installer.install_files`.

        uv compares the hash of a file when it unpacks it, and links what it unpacked once into every environment: what changes in one
        of them changes in its cache. So these files are unpacked for this environment alone, in a folder that uv makes and removes. It
        is below one on the environment's own disk, since links lead to no other.
        """
        unpacked = self.notes / "unpacked"
        unpacked.mkdir()
        options = ["--no-index", "--no-deps", "--require-hashes", "--requirement", str(requirements), *_WHEELS_ONLY]
        try:
            self._run(["install", "--no-cache", *options], dict.fromkeys(_TEMPORARY, str(unpacked)))
        finally:
            # One that was killed leaves what it made.
            remove_tree(unpacked)

    def install_pins(self, requirements: Path) -> tuple[Resolved, ...]:
        """See :meth:`Installer.install_pins`."""
        places = [*_WHEELS_ONLY, *_uv_places(self.base)]
        self._run(["install", *_COPIED, "--no-deps", "--require-hashes", "--requirement", str(requirements), *places])
        # The lock tells which of the pinned hashes were taken, and what the next resolver run is to prefer.
        self._compile("pins", [str(requirements), "--no-deps", *places])
        pins = parse_pins(requirements.read_text(encoding="utf-8"), name=str(requirements))
        pinned = {pin.name: frozenset(text.removeprefix("sha256:") for text in pin.hashes) for pin in pins}
        return from_pylock(self._lock_file("pins"), self.ranks, pinned)

    def resolve_base(self, requirements: Path, constraints: Sequence[str], links: Sequence[Path]) -> tuple[Resolved, ...]:
        """See :meth:`Installer.resolve_base`."""
        pins = self._lock_file("pins")
        if pins.is_file():
            # uv prefers the versions that the output file holds already, as pip prefers what is installed.
            self._lock_file("base").write_bytes(pins.read_bytes())
        given = [part for constraint in constraints for part in ("--constraints", constraint)]
        self._compile("base", [str(requirements), *given, *_WHEELS_ONLY, *_uv_places(self.base), *_links(links)])
        return from_pylock(self._lock_file("base"), self.ranks)

    def install_base(self, resolved: Sequence[Resolved], links: Sequence[Path]) -> None:  # noqa: ARG002 - the lock file has it
        """See :meth:`Installer.install_base`."""
        places = [*_WHEELS_ONLY, *_uv_places(self.base), *_links(links)]
        self._run(["install", *_COPIED, "--preview-features", "pylock", "--requirement", str(self._lock_file("base")), *places])

    def askers(self, name: NormalizedName, requirements: Path, links: Sequence[Path]) -> tuple[str, ...]:
        """See :meth:`Installer.askers`."""
        shown = self.notes / "asked.txt"
        places = [*_WHEELS_ONLY, *_uv_places(self.base), *_links(links)]
        try:
            self._run(["compile", "--quiet", "--no-header", "--output-file", str(shown), str(requirements), *places])
            text = shown.read_text(encoding="utf-8")
        except (HipwrightError, OSError):
            return ()
        found = re.search(rf"^{re.escape(name)}==.*\n((?: +#.*\n?)+)", text, re.MULTILINE)
        words = found[1].replace("#", " ").split() if found else []
        return tuple(word.rstrip(",") for word in words if word != "via")

    def _lock_file(self, name: str) -> Path:
        return self.notes / f"pylock.{name}.toml"

    def _compile(self, name: str, arguments: list[str]) -> None:
        """Resolve into a lock file (PEP 751), so that every file is known by its hash."""
        options = ["--quiet", "--no-header", "--no-annotate", "--format", "pylock.toml"]
        self._run(["compile", *options, "--output-file", str(self._lock_file(name)), *arguments])

    def _run(self, arguments: list[str], more: Mapping[str, str] | None = None) -> None:
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
        env = {**_NO_UV_CONFIGURATION, **_uv_environment(self.base), **(more or {})}
        self.runner.run(command, cwd=self.notes, log=self.log, env=env, timeout=_SECONDS, code="install-failed", what="uv")


def choose_installer(
    *,
    pip: Path,
    target: Path,
    notes: Path,
    base: BaseIndex,
    runner: Runner,
    log: Path,
    ranks: Mapping[Tag, int],
    program: Literal["pip", "uv"] | None = None,
) -> UvInstaller | PipInstaller:
    """Return uv where the children's path has one that is new enough, else pip; parameters as for the two classes.

    Parameters
    ----------
    program
        The one that is asked for.

    Raises
    ------
    HipwrightError
        ``missing-tool`` when uv is asked for and there is none that is new enough.
    """
    masked = replace(runner, secrets=runner.secrets | base.secrets())
    uv = runner.find("uv") if program != "pip" else None
    if uv is not None:
        shown = runner.capture([uv, "--version"], cwd=notes, env=_NO_UV_CONFIGURATION, check=False)
        found = re.match(r"uv (\d+)\.(\d+)", shown.text)
        if found and (int(found[1]), int(found[2])) >= _OLDEST_UV:
            return UvInstaller(uv=uv, target=target, notes=notes, base=base, runner=masked, log=log, ranks=ranks)
    if program == "uv":
        oldest = ".".join(map(str, _OLDEST_UV))
        message = f"uv is asked for, and {f'{uv} is older than {oldest}' if uv else 'there is none on the path'}"
        raise HipwrightError("missing-tool", message, hint="install uv, or leave --installer out")
    return PipInstaller(pip=pip, target=target, notes=notes, base=base, runner=masked, log=log)


def _links(folders: Sequence[Path]) -> list[str]:
    return [part for folder in folders for part in ("--find-links", str(folder))]


def pip_places(base: BaseIndex) -> list[str]:
    """Return the base index as pip's options; ``--index-url`` and the like of pip's configuration are shut off.

    Raises
    ------
    HipwrightError
        ``source-unreachable`` for an index whose address has a query: pip puts the names of packages behind that.
    """
    for url in () if base.no_index else (base.index_url or "", *base.extra_index_urls):
        if bears_query(url):
            message = f"pip cannot read the base index {without_query(url)}: it puts the names of packages behind the query"
            hint = (
                "install with uv, which can (--installer uv), or name the index as https://USER:PASSWORD@HOST/… without a query"
            )
            raise HipwrightError("source-unreachable", message, hint=hint)
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
        ("--cache-dir", None if base.no_cache else base.cache_dir),
        ("--timeout", f"{base.timeout:g}"),
    ):
        if value is not None:
            options += [option, str(value)]
    return [*options, *(["--no-cache-dir"] if base.no_cache else [])]


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
    return [*options, *(["--no-cache"] if base.no_cache else [])]


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
