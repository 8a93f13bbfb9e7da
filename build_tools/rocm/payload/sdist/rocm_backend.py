"""Builds the wheel of ``rocm`` from its source distribution, with nothing but the standard library (PEP 517).

The source distribution holds the wheel's files as they are, so the wheel is the published one, byte for byte, on every machine: nothing
is asked of the machine at hand, no index is needed, and a wheel that an installer keeps of it is right everywhere.
"""

from __future__ import annotations

import base64
import csv
import email.parser
import hashlib
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
    "sdist_file",
    "wheel_file",
]

_PACKAGE: Final = "rocm_sdk/"
_METADATA: Final = "PKG-INFO"
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
"""The first date that a zip can state: the date of every member."""

_EARLIEST_SECONDS: Final = 315_532_800
_WHEEL: Final = b"Wheel-Version: 1.0\nGenerator: rocm_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_ENTRY_POINTS: Final = b"[console_scripts]\nrocm-sdk = rocm_sdk.__main__:main\n"
_UNIX: Final = 3
_BLOCK: Final = 0xFFFF


def get_requires_for_build_wheel(config_settings: Mapping[str, str] | None = None) -> list[str]:
    """Say what is needed to build the wheel: nothing."""
    del config_settings  # nothing can be chosen
    return []


def get_requires_for_build_sdist(config_settings: Mapping[str, str] | None = None) -> list[str]:
    """Say what is needed to build the source distribution: nothing."""
    del config_settings  # nothing can be chosen
    return []


def prepare_metadata_for_build_wheel(
    metadata_directory: str,
    config_settings: Mapping[str, str] | None = None,
) -> str:
    """Write the wheel's metadata into a folder, and return the name of its ``.dist-info`` folder."""
    del config_settings  # nothing can be chosen
    files = _tree(Path.cwd())
    name = _dist_info(files[_METADATA])
    folder = Path(metadata_directory, name)
    folder.mkdir()
    for member, data in _info_files(files[_METADATA]).items():
        (folder / member).write_bytes(data)
    return name


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, str] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Write the wheel into a folder, and return its name."""
    del config_settings, metadata_directory  # nothing can be chosen
    name, data = wheel_file(_tree(Path.cwd()))
    Path(wheel_directory, name).write_bytes(data)
    return name


def build_sdist(sdist_directory: str, config_settings: Mapping[str, str] | None = None) -> str:
    """Write the source distribution into a folder, and return its name."""
    del config_settings  # nothing can be chosen
    name, data = sdist_file(_tree(Path.cwd()))
    Path(sdist_directory, name).write_bytes(data)
    return name


def wheel_file(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Return name and bytes of the wheel that a source tree stands for, given as paths with their bytes.

    Members are stored and not deflated: compressed bytes depend on the zlib at hand.
    """
    metadata = files[_METADATA]
    info = _dist_info(metadata)
    members = {name: data for name, data in files.items() if name.startswith(_PACKAGE)}
    members = dict(sorted(members.items())) | {f"{info}/{name}": data for name, data in sorted(_info_files(metadata).items())}
    record = io.StringIO(newline="")
    rows = csv.writer(record, lineterminator="\n")
    for name, data in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")
        rows.writerow((name, f"sha256={digest}", len(data)))
    rows.writerow((f"{info}/RECORD", "", ""))
    members[f"{info}/RECORD"] = record.getvalue().encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, data)
    return f"{info.removesuffix('.dist-info')}-py3-none-any.whl", whole.getvalue()


def sdist_file(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """Return name and bytes of the source distribution of a source tree, given as paths with their bytes."""
    stem = _dist_info(files[_METADATA]).removesuffix(".dist-info")
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size = len(data)
            entry.mtime = _EARLIEST_SECONDS
            archive.addfile(entry, io.BytesIO(data))
    return f"{stem}.tar.gz", b"".join(_stored_gzip(whole.getvalue()))


def _stored_gzip(data: bytes) -> Iterable[bytes]:
    """Give the parts of a gzip file that holds bytes as they are (RFC 1951, 1952), so that they do not depend on the zlib at hand."""
    yield b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    starts = range(0, len(data), _BLOCK)
    for start in starts:
        block = data[start : start + _BLOCK]
        yield struct.pack("<BHH", start == starts[-1], len(block), len(block) ^ 0xFFFF)
        yield block
    yield struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def _tree(root: Path) -> dict[str, bytes]:
    """Read a source tree; byte code that a run left there is no part of it."""
    paths = sorted(path for path in root.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def _info_files(metadata: bytes) -> dict[str, bytes]:
    return {"METADATA": metadata, "WHEEL": _WHEEL, "entry_points.txt": _ENTRY_POINTS}


def _dist_info(metadata: bytes) -> str:
    fields = email.parser.BytesHeaderParser().parsebytes(metadata)
    return f"{fields['Name'].replace('-', '_')}-{fields['Version']}.dist-info"
