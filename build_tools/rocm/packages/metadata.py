"""The metadata of ROCm's runtime, device and development wheels, and the small files that bind them into a set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from packaging.tags import Tag

from build_tools.types import Platform
from build_tools.wheels.metadata import WheelFields, render_wheel_fields
from build_tools.wheels.name import escaped_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from build_tools.config.rocm_packages import PackageTable
    from build_tools.rocm.packages.select import Portion
    from build_tools.types import Sha256

__all__ = ["devel_record", "device_links", "info_files", "scripts_file", "scripts_of", "set_file"]

_PYTHON: Final = ">=3.10"
_GENERATOR: Final = "hipwright"
_SUFFIXES: Final = {Platform.LINUX: ("",), Platform.WINDOWS: (".exe", ".bat", "")}


def info_files(portion: Portion, *, version: str, requires: Sequence[str], platform_tag: str) -> dict[str, bytes]:
    """Return ``METADATA`` and ``WHEEL`` of a wheel, with the names of their members.

    ``requires`` are the distributions of the set that it needs, each at the very same version.
    """
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {portion.distribution}",
        f"Version: {version}",
        f"Summary: {portion.summary}",
        f"Requires-Python: {_PYTHON}",
        *(f"Requires-Dist: {name}=={version}" for name in requires),
    ]
    fields = WheelFields(
        wheel_version="1.0", generator=_GENERATOR, root_is_purelib=False, tags=frozenset({Tag("py3", "none", platform_tag)})
    )
    folder = f"{escaped_name(portion.distribution)}-{version}.dist-info"
    return {f"{folder}/METADATA": ("\n".join(lines) + "\n").encode(), f"{folder}/WHEEL": render_wheel_fields(fields)}


def set_file(portion: Portion, *, version: str, set_id: Sha256, rocm: Sha256, without: Collection[str] = ()) -> bytes:
    """Return what tells which set a package belongs to: its ``_set.json``.

    That of the core package, which all others require, bears the digest of the description in ``rocm`` too, so that a ``rocm`` of another
    build is told. ``without`` are the libraries of the table that the package was made without.
    """
    document: dict[str, Any] = {"schema": 1, "set_id": set_id, "version": version, "distribution": portion.distribution}
    if portion.key == "core":
        document["rocm"] = rocm
    if without:
        document["without"] = sorted(without)
    return _json(document)


def device_links(portion: Portion, files: Collection[str], *, version: str, set_id: Sha256) -> bytes:
    """Return what tells which files of the libraries' folder a device package brought, so that a devel tree gets them too."""
    set_of = {"schema": 1, "set_id": set_id, "version": version, "distribution": portion.distribution}
    return _json(set_of | {"target": portion.target, "files": sorted(files)})


def devel_record(*, version: str, set_id: Sha256, archive: str, sha256: str, entries: int, size: int) -> bytes:
    """Return what is told of the archive of a devel package; ``size`` counts the bytes of the files of its own."""
    set_of = {"schema": 1, "set_id": set_id, "version": version}
    return _json(set_of | {"archive": archive, "sha256": sha256, "entries": entries, "bytes": size})


def scripts_of(table: PackageTable, files: Collection[str], *, platform: Platform) -> dict[str, dict[str, Any]]:
    """Return the programs of a package that become console scripts, by the scripts' names."""
    found: dict[str, dict[str, Any]] = {}
    for script in table.script:
        file = next((name for suffix in _SUFFIXES[platform] if (name := f"{script.file}{suffix}") in files), None)
        if file is not None and platform in script.platforms:
            found[script.name] = {"file": file, "expand": script.expand}
    return dict(sorted(found.items()))


def scripts_file(scripts: Mapping[str, dict[str, Any]]) -> bytes:
    """Return the table of scripts as it lies in a package."""
    return _json(dict(scripts))


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
