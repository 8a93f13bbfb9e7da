"""The program that finds out, in the environment under test, whether HIP can be used there, and for which GPU targets.

It is started by path with that environment's interpreter (3.10 or newer), in isolated mode, and is never imported by ``build_tools``.

Arguments: ``torch ANSWER``, or ``targets ANSWER TREE MODULE FUNCTION``. ANSWER is the file that gets the answer as JSON: what is imported
may print whatever it likes.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_RUNTIME = "amdhip64"


def runtime_version() -> str | None:
    """Return the version of the HIP runtime that this process has loaded; None where it has loaded none."""
    for name in _loaded_runtimes():
        with contextlib.suppress(OSError, AttributeError):
            number = ctypes.c_int(0)
            if ctypes.CDLL(name).hipRuntimeGetVersion(ctypes.byref(number)) == 0:
                # HIP_VERSION: major, two digits of minor's place, five of patch's.
                return f"{number.value // 10**7}.{number.value // 10**5 % 100}.{number.value % 10**5}"
    return None


if sys.platform == "win32":

    def _loaded_runtimes() -> list[str]:
        """Return the names that the HIP runtime may have among the libraries that are loaded."""
        return [f"{_RUNTIME}_{major}.dll" for major in (8, 7, 6)] + [f"{_RUNTIME}.dll"]

else:

    def _loaded_runtimes() -> list[str]:
        """Return the files of the HIP runtime that this process has loaded."""
        with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
            paths = {line.split(maxsplit=5)[5].strip() for line in stream if f"lib{_RUNTIME}.so" in line}
            return sorted(paths)
        return []


def ask_torch() -> dict[str, Any]:
    """Return what torch says of itself and of its devices."""
    try:
        torch = importlib.import_module("torch")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    told: dict[str, Any] = {
        "torch": str(torch.__version__),
        "hip": torch.version.hip,
        "cuda": torch.version.cuda,
        "available": False,
        "devices": [],
    }
    try:
        told["available"] = bool(torch.cuda.is_available())
        for number in range(torch.cuda.device_count() if told["available"] else 0):
            found = torch.cuda.get_device_properties(number)
            arch = getattr(found, "gcnArchName", None)
            told["devices"].append({"name": found.name, "target": arch, "memory_mb": found.total_memory / 2**20})
    except Exception as error:  # noqa: BLE001
        told["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
    told["runtime"] = runtime_version() if told["hip"] else None
    return told


def ask_targets(tree: str, module: str, function: str) -> dict[str, Any]:
    """Return what a function of a tree's module says, as a list of names."""
    # What lies in the tree may import what lies beside it.
    sys.path.insert(0, tree)
    sys.argv = [os.path.join(tree, f"{module}.py")]  # noqa: PTH118 - a text, as every program has it
    try:
        found: Any = importlib.import_module(module)
        for part in function.split("."):
            found = getattr(found, part)
        said = found()
    except BaseException as error:  # noqa: BLE001 - a setup.py that was not meant to be imported ends the process
        words = str(error).splitlines()
        return {"error": f"{type(error).__name__}: {words[0] if words else ''}".rstrip(": ")}
    if isinstance(said, str):
        said = said.replace(";", ",").split(",")
    try:
        return {"targets": [str(name).strip() for name in said if str(name).strip()]}
    except TypeError:
        return {"error": f"it returned {said!r}, and a list of names is wanted"}


def main(argv: Sequence[str]) -> int:
    """Answer what is asked."""
    what, answer, *rest = argv[1:]
    told = ask_torch() if what == "torch" else ask_targets(*rest)
    partial = f"{answer}.partial"
    # Words that are no text are told as far as they are one.
    with open(partial, "w", encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
        json.dump(told, stream, ensure_ascii=False)
    os.replace(partial, answer)  # noqa: PTH105
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
