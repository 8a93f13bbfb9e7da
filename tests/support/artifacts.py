"""Archives of artifacts for tests: well made ones, and what nobody should make."""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["BASE", "Member", "archive_bytes", "manifest", "member", "pack", "plain_archive", "publish_run", "tar_bytes"]

BASE: Final = "core/clr/stage"
MANIFEST: Final = "artifact_manifest.txt"


@dataclass(frozen=True, kw_only=True)
class Member:
    """A member of an archive; ``kind`` is a type of :mod:`tarfile`, ``size`` another one than the data have."""

    name: str
    data: bytes = b""
    kind: bytes = tarfile.REGTYPE
    link: str = ""
    mode: int = 0o644
    size: int | None = None


def member(name: str, data: bytes | str = b"", **more: object) -> Member:
    return Member(name=name, data=data.encode() if isinstance(data, str) else data, **more)  # type: ignore[arg-type]


def manifest(*bases: str) -> Member:
    return member(MANIFEST, "".join(f"{base}\n" for base in bases or (BASE,)))


def tar_bytes(members: Iterable[Member]) -> bytes:
    """Return a tar archive with exactly these members, however wrong they are."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        for one in members:
            info = tarfile.TarInfo(one.name)
            info.type, info.linkname, info.mode = one.kind, one.link, one.mode
            info.size = len(one.data) if one.size is None else one.size
            if one.size is None:
                tar.addfile(info, io.BytesIO(one.data))
            else:
                tar.addfile(info)
                padding = -len(one.data) % tarfile.BLOCKSIZE
                tar.fileobj.write(one.data + bytes(padding))
    return sink.getvalue()


def pack(data: bytes, suffix: str) -> bytes:
    return lzma.compress(data, preset=0) if suffix == ".tar.xz" else zstandard.ZstdCompressor(level=1).compress(data)


def archive_bytes(members: Iterable[Member], suffix: str = ".tar.zst") -> bytes:
    return pack(tar_bytes(members), suffix)


def plain_archive(files: Mapping[str, bytes], suffix: str = ".tar.zst", base: str = BASE) -> bytes:
    """Return the archive of an artifact with these files below one base."""
    return archive_bytes([manifest(base), *(member(f"{base}/{name}", data) for name, data in files.items())], suffix)


def publish_run(root: Path, archives: Mapping[str, bytes], *, side_files: bool = True) -> Path:
    """Write archives as a run's outputs lie in a folder store, and return the run's folder."""
    root.mkdir(parents=True, exist_ok=True)
    for name, data in archives.items():
        (root / name).write_bytes(data)
        if side_files:
            (root / f"{name}.sha256sum").write_text(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    return root
