"""A small real environment with one installed distribution, made without pip; pytest comes from the one that runs these tests."""

from __future__ import annotations

import base64
import hashlib
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from build_tools import digest
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.values import EnvironmentRecord, InstalledPackage

WHEEL = JudgedWheel(filename="toywheel-1.0-py3-none-any.whl", sha256=digest.of_bytes(b"the wheel"))

TOY = {
    "toywheel/__init__.py": "def answer():\n    return 42\n",
    "toywheel-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toywheel\nVersion: 1.0\n",
    "toywheel-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToyEnvironment:
    """The environment's record and its site-packages folder."""

    record: EnvironmentRecord
    site: Path


def make_tested(folder: Path, contents: dict[str, str] | None = None) -> ToyEnvironment:
    """Make an environment in ``folder`` that holds the toy wheel, or a distribution with these files in its place."""
    venv.EnvBuilder(with_pip=False, symlinks=sys.platform != "win32").create(folder)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "installed_base": str(folder)}))
    install_files(site, TOY if contents is None else contents)
    (site / "pytest-from-here.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    record = EnvironmentRecord(
        folder=str(folder),
        digest=digest.of_bytes(b"environment"),
        python=str(python),
        python_version="{}.{}.{}".format(*sys.version_info),
        python_tag="cp{}{}".format(*sys.version_info),
        packages=(
            InstalledPackage(name="toywheel", version="1.0", source="the index", sha256=WHEEL.sha256),
            InstalledPackage(name="pytest", version="9.0", source="base index"),
        ),
    )
    return ToyEnvironment(record=record, site=site)


def install_files(site: Path, contents: dict[str, str]) -> None:
    """Put files into site-packages and write the RECORD of the one dist-info folder among them."""
    rows = []
    for name, text in contents.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        value = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={value},{len(text)}")
    info = next(name.partition("/")[0] for name in contents if ".dist-info/" in name)
    rows.append(f"{info}/RECORD,,")
    (site / info / "RECORD").write_text("\n".join(rows) + "\n", encoding="utf-8")
