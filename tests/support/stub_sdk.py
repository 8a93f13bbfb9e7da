"""A set of ROCm packages that are a few small files each: all that a build looks for, and a ``rocm_sdk`` that answers as it is told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tests.support.packages import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["StubSdk"]

_MAIN = """
import importlib.metadata, json, os, pathlib, sys
SAID = json.loads({said!r})
ROOT = pathlib.Path(__file__).parent.parent / "_rocm_sdk_devel"
words = " ".join(sys.argv[1:])
names = {{each.metadata["Name"].lower() for each in importlib.metadata.distributions()}}
installed = [family for family in SAID["families"] if f"rocm-sdk-libraries-{{family.lower()}}" in names]
if len(installed) > 1 and os.environ.get("ROCM_SDK_TARGET_FAMILY", "").lower() not in map(str.lower, installed):
    sys.exit("installed for several families; name one of them in ROCM_SDK_TARGET_FAMILY")
answers = {{
    "version": SAID["version"],
    "targets": ";".join(SAID["targets"]),
    "path --root": str(ROOT),
    "path --bin": str(ROOT / "bin"),
    "path --cmake": str(ROOT / "lib" / "cmake"),
}}
if words in answers:
    print(answers[words])
elif words.startswith("test") and not (SAID["test"] is None and "--json" in words):
    print("testing", file=sys.stderr)
    if SAID["test"] is not None:
        print(json.dumps(SAID["test"]))
    sys.exit(SAID["exit"])
else:
    sys.exit("no such question: " + words)
"""

_FILES = {
    "bin/hipcc": "#!/bin/sh\n",
    "lib/libamdhip64.so.7": "a library\n",
    "include/hip/hip_runtime.h": "#pragma once\n",
    "lib/cmake/hip/hip-config.cmake": "# hip\n",
}
_SUITE = {"status": "passed", "passed": 3, "failed": [], "untested": [], "seconds": 0.1}


@dataclass(frozen=True, kw_only=True)
class StubSdk:
    """What the packages are.

    ``says`` is the version that ``rocm_sdk`` tells, the packages' own when None; ``hip`` is what the header states. ``test`` is what
    ``rocm-sdk test --json`` prints, None for packages that know no JSON; ``exit_status`` is what it ends with. ``without`` are files
    that the tree lacks, ``leave_out`` packages that are not made.
    """

    version: str = "7.10.0"
    says: str | None = None
    hip: tuple[int, int] = (7, 10)
    targets: tuple[str, ...] = ("gfx942", "gfx1201")
    families: tuple[str, ...] = ()
    test: dict[str, Any] | None = field(default_factory=lambda: {"suites": {"base": _SUITE, "core": _SUITE}})
    exit_status: int = 0
    without: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    mark: str = "own"
    main: str | None = None

    def changed(self, **changes: Any) -> StubSdk:  # noqa: ANN401 - as the fields are
        """Return another one."""
        return replace(self, **changes)

    @property
    def tree(self) -> dict[str, str]:
        """The files of the SDK, relative to its root."""
        header = (
            f"#define HIP_VERSION_MAJOR {self.hip[0]}\n#define HIP_VERSION_MINOR {self.hip[1]}\n#define HIP_VERSION_PATCH 0\n"
        )
        files = {**_FILES, "include/hip/hip_version.h": header}
        return {path: text for path, text in files.items() if path not in self.without}

    def write_tree(self, folder: Path) -> Path:
        """Write the SDK as a folder without packages."""
        for path, text in {**self.tree, ".info/version": f"{self.version}-42\n"}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder

    def write(self, folder: Path) -> Path:
        """Write the packages into a folder, and return it."""
        version = self.version
        extras = {"devel": [f"rocm-sdk-devel=={version}"]}
        devel = ["rocm-sdk-devel"]
        if self.families:
            lower = [family.lower() for family in self.families]
            names = [f"rocm-sdk-libraries-{family}" for family in lower]
            devel = [f"rocm-sdk-devel-{family}" for family in lower]
            for key in ("libraries", "devel"):
                extras |= {key: [f"rocm-sdk-{key}-{family}=={version}" for family in lower]}
                extras |= {f"{key}-{family}": [f"rocm-sdk-{key}-{family}=={version}"] for family in lower}
        else:
            names = ["rocm-sdk-libraries", *(f"rocm-sdk-device-{target}" for target in self.targets)]
            extras |= {"libraries": [f"rocm-sdk-libraries=={version}"]}
            extras |= {f"device-{target}": [f"rocm-sdk-device-{target}=={version}"] for target in self.targets}
        test = None if self.test is None else {"schema": 1, "status": "passed", "version": version, "gpus": [], **self.test}
        said = {"version": self.says or version, "targets": list(self.targets), "test": test, "exit": self.exit_status}
        said["families"] = list(self.families)
        files = {"rocm_sdk/__init__.py": "", "rocm_sdk/__main__.py": self.main or _MAIN.format(said=json.dumps(said))}
        wheels: dict[str, dict[str, Any]] = {
            "rocm": {"requires": [f"rocm-sdk-core=={version}"], "extras": extras, "files": files},
            "rocm-sdk-core": {},
            **{name: {"files": {f"_rocm_sdk_devel/{path}": text for path, text in self.tree.items()}} for name in devel},
            **{name: {} for name in names},
        }
        for name, parts in wheels.items():
            if name not in self.leave_out:
                make_wheel(folder, name, version, mark=self.mark, **parts)
        return folder
