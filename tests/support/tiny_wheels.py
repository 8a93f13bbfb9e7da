"""Wheels of a few lines, for installers that are to be run for real and offline."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["make_wheel", "pin"]


def make_wheel(folder: Path, name: str, version: str, code: str, *, scripts: Mapping[str, str] | None = None) -> Path:
    """Write a pure wheel with one module, and console scripts given as ``{"name": "module:function"}``."""
    dist_info = f"{name}-{version}.dist-info"
    members = {
        f"{name}.py": code,
        f"{dist_info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{dist_info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if scripts:
        lines = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        members[f"{dist_info}/entry_points.txt"] = f"[console_scripts]\n{lines}"
    rows = [f"{member},{_record_hash(text)},{len(text.encode())}" for member, text in members.items()]
    members[f"{dist_info}/RECORD"] = "\n".join([*rows, f"{dist_info}/RECORD,,"]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return wheel


def pin(wheel: Path) -> str:
    """Return the line of a requirement file that pins a wheel by its hash."""
    name, version = wheel.name.split("-")[:2]
    return f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def _record_hash(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
