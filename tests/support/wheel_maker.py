"""Wheels for tests: right by default, and wrong in the one way that a test asks for."""

from __future__ import annotations

import base64
import hashlib
import stat
import warnings
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["WheelMaker", "row"]


def row(name: str, data: bytes) -> str:
    """Return a ``RECORD`` row, written here from the specification and not by the code under test."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}"


@dataclass(kw_only=True)
class WheelMaker:
    """A wheel of the parts that its name says; each part can be replaced before :meth:`write`."""

    name: str = "demo"
    version: str = "1.0"
    tag: str = "py3-none-any"
    files: dict[str, bytes] = field(default_factory=lambda: {"demo/__init__.py": b"answer = 42\n"})
    metadata: str | None = None
    wheel: str | None = None
    dist_info: str | None = None
    filename: str | None = None
    edit_record: Callable[[list[str]], list[str]] = lambda rows: rows
    edit_entry: Callable[[zipfile.ZipInfo], None] = lambda _entry: None
    extra: list[tuple[str, bytes]] = field(default_factory=list)
    without: tuple[str, ...] = ()
    compress: bool = True

    def write(self, folder: Path) -> Path:
        """Write the wheel into ``folder``."""
        info = self.dist_info or f"{self.name}-{self.version}.dist-info"
        metadata = self.metadata or f"Metadata-Version: 2.4\nName: {self.name}\nVersion: {self.version}\n"
        wheel = self.wheel or f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {self.tag}\n"
        files = {**self.files, f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": wheel.encode()}
        files = {name: data for name, data in files.items() if name.rpartition("/")[2] not in self.without}
        rows = self.edit_record([*(row(name, data) for name, data in files.items()), f"{info}/RECORD,,"])
        everything = [*files.items(), *self.extra]
        if "RECORD" not in self.without:
            everything.append((f"{info}/RECORD", ("\n".join(rows) + "\n").encode()))
        path = folder / (self.filename or f"{self.name}-{self.version}-{self.tag}.whl")
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Duplicate name")
            for name, data in everything:
                entry = zipfile.ZipInfo(name, (2024, 2, 29, 12, 0, 0))
                entry.filename = name  # unchanged: no NUL cut, no backslash turned
                entry.create_system = 3
                entry.external_attr = (stat.S_IFREG | 0o644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED if self.compress else zipfile.ZIP_STORED
                self.edit_entry(entry)
                archive.writestr(entry, data)
        return path
