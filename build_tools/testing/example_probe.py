"""The program that runs one example in the environment under test, and writes down what it took.

It is started by path with that environment's interpreter (3.10 or newer), in isolated mode, and is never imported by ``build_tools``.
It needs the standard library alone; a framework is asked only when the example has loaded it.

Its one argument is a JSON file:

``script``, ``arguments``
    The example, and what it finds in ``sys.argv``.
``started``
    The file that gets this process's number, so that its memory can be watched.
``report``
    The file that gets what the run took, as JSON; it is not there when the process crashed.
``stacks_after``
    Seconds after which the stacks of all threads are printed once: the run is about to be stopped.
``missing``
    Names of exceptions, with their module, that say that an asset is not there.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import runpy
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_MIB = 2**20

# What is used after the example: it may have put others in their places.
_now, _replace, _dump, _open = time.perf_counter, os.replace, json.dump, open


if sys.platform == "win32":

    def own_peak() -> float | None:
        """Return None: whoever started this process has to look at its memory."""
        return None

else:
    import resource

    def own_peak() -> float | None:
        """Return the peak of this process's and its ended children's memory in MiB, the largest one."""
        # macOS counts in bytes, the others in KiB.
        unit = 1 if sys.platform == "darwin" else 2**10
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # What getrusage says of a process begins on Linux with the memory of the one that started it.
        with contextlib.suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as stream:  # noqa: PTH123
            own = next((int(line.split()[1]) for line in stream if line.startswith("VmHWM:")), own)
        return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) * unit / _MIB


def framework() -> tuple[dict[str, Any] | None, float | None]:
    """Return what the loaded torch says of itself, and the peak of the memory that it took of its devices in MiB."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "__version__"):
        return None, None
    told: dict[str, Any] = {
        "torch": str(torch.__version__),
        "hip": _text(getattr(torch.version, "hip", None)),
        "cuda": _text(getattr(torch.version, "cuda", None)),
        "devices": [],
    }
    # One that never touched the device is not made to: that would take memory of its own.
    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return told, None
    count = torch.cuda.device_count()
    told["devices"] = [str(torch.cuda.get_device_name(number)) for number in range(count)]
    peak = float(sum(torch.cuda.max_memory_reserved(number) for number in range(count))) / _MIB
    return told, peak if 0 <= peak < float("inf") else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def missing_asset(error: BaseException, names: Sequence[str]) -> str | None:
    """Return the asset that an exception, or the one that it was raised from, says is not there; None when it speaks of something else.

    What was merely being handled when another one arose does not count: that would make a skip of a fault.
    """
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(at).__mro__}
        if kinds & set(names):
            return " ".join(str(getattr(at, "filename", None) or _first_line(at)).split())
        at = at.__cause__
    return None


def run(script: str, arguments: Sequence[str], missing: Sequence[str]) -> dict[str, Any]:
    """Run the example as a program is run, and return how it ended."""
    sys.argv = [script, *arguments]
    # As for a script that is started by its name: what lies beside it can be imported.
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))  # noqa: PTH100, PTH120 - nothing more is imported before it
    began = _now()
    outcome: dict[str, Any] = {"status": "passed", "error": None, "missing": None}
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            outcome = {"status": "failed", "error": f"it ended with {_first_line(end)}", "missing": None}
    except BaseException as error:  # noqa: BLE001 - whatever an example does is told
        traceback.print_exc()
        asset = missing_asset(error, missing)
        kind = type(error).__name__
        words = _first_line(error)
        outcome = {
            "status": "skipped" if asset is not None else "failed",
            "error": f"{kind}: {words}" if words else kind,
            "missing": asset,
        }
    outcome["duration_s"] = _now() - began
    return outcome


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:500] if lines else ""


def main(argv: Sequence[str]) -> int:
    """Run the example that the plan file names; the exit status is that of a program that ended the same way."""
    with open(argv[1], encoding="utf-8") as stream:  # noqa: PTH123 - pathlib would be one more import before the example
        plan = json.load(stream)
    me = os.getpid()
    with open(plan["started"], "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(str(me))
    faulthandler.enable()
    faulthandler.dump_traceback_later(plan["stacks_after"], exit=False)
    outcome = run(plan["script"], plan["arguments"], plan["missing"])
    if os.getpid() != me:
        # A process that the example forked off came back here: it speaks for nobody.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(0)
    faulthandler.cancel_dump_traceback_later()
    try:
        outcome["framework"], outcome["peak_device_memory_mb"] = framework()
    except Exception:  # noqa: BLE001 - a framework that is broken must not hide what the example did
        traceback.print_exc()
        outcome["framework"], outcome["peak_device_memory_mb"] = None, None
    outcome["peak_memory_mb"] = own_peak()
    partial = plan["report"] + ".partial"
    # A name that is no text is told as far as it is one.
    with _open(partial, "w", encoding="utf-8", errors="replace") as stream:
        _dump(outcome, stream, ensure_ascii=False)
    _replace(partial, plan["report"])
    return 0 if outcome["status"] == "passed" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
