"""The program that runs pytest inside the environment under test, and writes down what happens while it happens.

It is started by path with that environment's interpreter (3.10 or newer), in isolated mode, and is never imported by
``build_tools``: nothing of hipwright may be importable where a wheel is judged. It needs the standard library and pytest.

Its one argument is a JSON file:

``arguments``
    What pytest is given.
``events``
    The file that gets one JSON line per event, flushed as it comes: ``begin``, ``collected``, ``start``, ``result``, ``finish``,
    ``end``, and ``forked``; each with ``at``, seconds of the machine's monotonic clock.
``packages``
    The import packages under test; the end event says what was loaded of them, and from where.
``environment``
    The environment's folder; modules of these packages that come from elsewhere are listed as ``foreign``.
``limits``
    Seconds for ``collection``, for one ``test`` and for the ``whole`` run. When one has passed, the stacks of all threads are printed
    once: the run is about to be stopped.
``plugins``
    Pairs of files: a Python file whose ``make_plugin(pytest, settings)`` returns a further plugin, and the settings that it is given.
``exit_grace``
    Seconds that the process may take to end after the last test; then the stacks are printed and it is ended.
``gpu``
    Whether tests marked ``gpu`` are run; where not, each is told as ``not-run``. Null leaves it to their own conditions.
"""

from __future__ import annotations

import faulthandler
import importlib
import importlib.util
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TextIO

__all__ = ["main"]

_MOST_FOREIGN = 20
_MOST_MESSAGE = 400
_MOMENT = 1.0
_FORKED = 70
_NO_GPU = "needs a GPU, and this run was given none"


class Diary:
    """Writes events so that a crash loses none that was written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        # Tests put other clocks in place of these, and forget to take them away.
        self._now, self._text = time.monotonic, json.dumps

    def write(self, event: str, **values: object) -> None:
        """Append one event."""
        self._stream.write(self._text({"event": event, "at": self._now(), **values}, ensure_ascii=False) + "\n")
        self._stream.flush()


class Watch:
    """Has the stacks printed when a phase takes longer than it may.

    The interpreter's own watchdog prints them, which needs neither its lock nor the cooperation of what hangs.
    """

    def __init__(self, limits: Mapping[str, float], stderr: TextIO) -> None:
        self._limits = limits
        self._stderr = stderr
        self._now = time.monotonic
        self._end = self._now() + limits["whole"]
        self._phase = ""
        self._planned = 0.0

    def begin(self, phase: str) -> None:
        """Begin a phase; the one before has ended."""
        now = self._now()
        limit, left = self._limits[phase], self._end - now
        # Each plan costs a thread, so one serves all tests that begin within a moment, and is that much later.
        moment = min(_MOMENT, limit / 10)
        same = phase == self._phase and now - self._planned < moment
        # What was planned for the end of the whole run has been printed when no time is left.
        if not same and left > 0:
            self._phase, self._planned = phase, now
            faulthandler.dump_traceback_later(min(limit + moment, left), exit=False, file=self._stderr)

    def leave(self, seconds: float) -> None:
        """Have the process ended, its stacks printed, unless it ends by itself."""
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)


class Result:
    """What the reports of one test add up to: its phases, its subtests, and attempts that a plugin has repeated."""

    def __init__(self) -> None:
        self.outcome = "passed"
        self.message = ""
        self.seconds = 0.0
        self.attempts = 1

    def add(self, report: Any) -> None:  # noqa: ANN401 - pytest's, which is imported at run time
        """Add the report of one phase."""
        self.seconds += getattr(report, "duration", 0.0)
        if report.outcome == "rerun":
            self.attempts += 1
        elif report.outcome == "failed":
            self._set("failed" if report.when == "call" else "error", reason_of(report))
        elif report.outcome == "skipped" and self.outcome == "passed":
            expected = getattr(report, "wasxfail", None)
            self._set("skipped", f"expected to fail: {expected}" if expected is not None else reason_of(report))

    def _set(self, outcome: str, message: str) -> None:
        # A test that failed keeps its reason, whatever its way out adds.
        if self.outcome not in ("failed", "error"):
            self.outcome, self.message = outcome, message

    def values(self) -> dict[str, object]:
        """Return what the diary says of it."""
        return {
            "outcome": self.outcome,
            "message": self.message[:_MOST_MESSAGE],
            "seconds": round(self.seconds, 4),
            "attempts": self.attempts,
        }


def reason_of(report: Any) -> str:  # noqa: ANN401 - pytest's
    """Return the first line of why a test failed or was skipped."""
    found = report.longrepr
    if isinstance(found, tuple):
        text = str(found[-1]).removeprefix("Skipped: ")
    else:
        crash = getattr(found, "reprcrash", None)
        # Of an error that is only text, such as one of an import, the last line says most.
        text = crash.message if crash is not None else "\n".join(reversed(str(found or "").strip().splitlines()))
    return next(iter(text.strip().splitlines()), "")


def loaded_modules(packages: Sequence[str], environment: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of the loaded packages, and those of their modules that lie outside ``environment``."""
    inside = os.path.realpath(environment) + os.sep
    loaded: dict[str, str] = {}
    foreign: dict[str, str] = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] not in packages:
            continue
        file = getattr(module, "__file__", None)
        if name in packages:
            loaded[name] = str(file or "")
        # A module without a spec was made by code and not imported: torch.ops says that its file is "_ops.py".
        if not isinstance(file, str) or getattr(module, "__spec__", None) is None:
            continue
        if not os.path.realpath(file).startswith(inside) and len(foreign) < _MOST_FOREIGN:
            foreign[name] = file
    return loaded, foreign


class GpuGate:
    """Keeps back what is marked as needing a GPU, where a run was given none."""

    def __init__(self, skip: Any, *, closed: bool) -> None:  # noqa: ANN401 - pytest's mark
        self._skip = skip
        self._closed = closed
        self.withheld: set[str] = set()

    def pytest_configure(self, config: Any) -> None:  # noqa: ANN401
        """Make the mark known."""
        config.addinivalue_line("markers", "gpu: needs a GPU; without one it is told as not run")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Have tests with the mark skipped."""
        for item in items if self._closed else []:
            if item.get_closest_marker("gpu") is not None:
                self.withheld.add(item.nodeid)
                # Before any condition of its own, which could ask a framework for a GPU.
                item.add_marker(self._skip, append=False)


class ForkGuard:
    """Ends a process that a test has forked and that comes back out of it: it would run all that follows, and write the reports, again.

    It has no watchdog either, and would wait for that for ever.
    """

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        self._number = os.getpid
        self._own = self._number()

    def end_if_forked(self, test: str, error: object = None) -> None:
        """End this process when it is another one than pytest was started in, and say so."""
        if self._number() != self._own:
            message = "" if error is None else f"{type(error).__name__}: {error}"
            self._diary.write("forked", test=test, message=message[:_MOST_MESSAGE])
            os._exit(_FORKED)


def make_plugin(
    pytest: Any,  # noqa: ANN401 - imported at run time
    diary: Diary,
    plan: dict[str, Any],
    watch: Watch,
    gate: GpuGate,
) -> object:
    """Return the pytest plugin that keeps the diary."""
    guard = ForkGuard(diary)

    class Plugin:
        finished: set[str] = set()  # noqa: RUF012 - one plugin, one run
        open: dict[str, Result] = {}  # noqa: RUF012

        def pytest_collectreport(self, report: Any) -> None:  # noqa: ANN401
            # A file that can't be read, or that skips itself, has no tests to speak of and is told as one.
            if report.outcome != "passed":
                outcome = "skipped" if report.outcome == "skipped" else "error"
                diary.write("result", test=report.nodeid, outcome=outcome, message=reason_of(report)[:_MOST_MESSAGE])

        def pytest_collection_finish(self, session: Any) -> None:  # noqa: ANN401
            guard.end_if_forked("a test file")
            diary.write("collected", tests=list(dict.fromkeys(item.nodeid for item in session.items)))
            watch.begin("test")

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            diary.write("start", test=nodeid)
            watch.begin("test")
            self.open[nodeid] = Result()

        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_runtest_makereport(self, item: Any, call: Any) -> None:  # noqa: ANN401
            guard.end_if_forked(item.nodeid, call.excinfo and call.excinfo.value)

        def pytest_runtest_logreport(self, report: Any) -> None:  # noqa: ANN401
            self.open.setdefault(report.nodeid, Result()).add(report)

        def pytest_runtest_logfinish(self, nodeid: str) -> None:
            self.finished.add(nodeid)
            values = self.open.pop(nodeid, Result()).values()
            if nodeid in gate.withheld and values["outcome"] == "skipped":
                values["outcome"] = "not-run"
            diary.write("result", test=nodeid, **values)
            diary.write("finish", test=nodeid)

        # The outermost wrapper: what follows the yield comes after every other plugin's end, the report's writing included.
        @pytest.hookimpl(wrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_sessionfinish(self, session: Any) -> Iterator[None]:  # noqa: ANN401
            yield
            watch.leave(plan["exit_grace"])
            loaded, foreign = loaded_modules(plan["packages"], plan["environment"])
            diary.write("end", status=int(session.exitstatus), finished=len(self.finished), loaded=loaded, foreign=foreign)

    return Plugin()


def load_plugin(pytest: Any, file: str, settings: str) -> object:  # noqa: ANN401 - pytest's
    """Return the plugin that a file makes of settings; the file is loaded by path, for nothing of hipwright can be imported here."""
    spec = importlib.util.spec_from_file_location("_hipwright_plugin", file)
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_plugin(pytest, settings)


def main(argv: Sequence[str]) -> int:
    """Run pytest as the plan file says and return its exit status."""
    with open(argv[1], encoding="utf-8") as stream:  # noqa: PTH123 - pathlib would be one more import before the tests
        plan = json.load(stream)
    # pytest replaces descriptor 2 while tests run; stacks have to reach the log all the same.
    stderr = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    faulthandler.enable(file=stderr)
    watch = Watch(plan["limits"], stderr)
    watch.begin("collection")
    # What a test failed with may be no text, and no reader of JSON takes half a surrogate pair.
    with open(plan["events"], "w", encoding="utf-8", errors="replace") as events:  # noqa: PTH123
        diary = Diary(events)
        diary.write("begin")
        # pytest belongs to the environment under test, not to hipwright's own requirements.
        pytest = importlib.import_module("pytest")
        more = [load_plugin(pytest, file, settings) for file, settings in plan.get("plugins", ())]
        gate = GpuGate(pytest.mark.skip(reason=_NO_GPU), closed=plan["gpu"] is False)
        plugin = make_plugin(pytest, diary, plan, watch, gate)
        return int(pytest.main(plan["arguments"], plugins=[gate, plugin, *more]))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
