"""The program that runs pytest inside the environment under test, and writes down what happens while it happens.

It is started by path with that environment's interpreter (3.10 or newer), in isolated mode, and is never imported by
``build_tools``: nothing of hipwright may be importable where a wheel is judged. It needs the standard library and pytest.

Its one argument is a JSON file:

``arguments``
    What pytest is given.
``events``
    The file that gets one JSON line per event, flushed as it comes: ``collected``, ``start``, ``finish``, ``end``.
``packages``
    The import packages under test; the end event says what was loaded of them, and from where.
``environment``
    The environment's folder; modules of these packages that come from elsewhere are listed as ``foreign``.
``stacks_after``
    Seconds after which the stacks of all threads are printed once: the run is about to be stopped.
``exit_grace``
    Seconds that the process may take to end after the last test; then the stacks are printed and it is ended.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

__all__ = ["main"]

_MOST_FOREIGN = 20


class Diary:
    """Writes events so that a crash loses none that was written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, event: str, **values: object) -> None:
        """Append one event."""
        self._stream.write(json.dumps({"event": event, **values}) + "\n")
        self._stream.flush()


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


def make_plugin(pytest: Any, diary: Diary, plan: dict[str, Any], stderr: TextIO) -> object:  # noqa: ANN401 - imported at run time
    """Return the pytest plugin that keeps the diary."""

    class Plugin:
        finished: set[str] = set()  # noqa: RUF012 - one plugin, one run

        def pytest_collection_finish(self, session: Any) -> None:  # noqa: ANN401
            diary.write("collected", count=len({item.nodeid for item in session.items}))

        def pytest_runtest_logstart(self, nodeid: str) -> None:
            diary.write("start", test=nodeid)

        def pytest_runtest_logfinish(self, nodeid: str) -> None:
            self.finished.add(nodeid)
            diary.write("finish", test=nodeid)

        # The outermost wrapper: what follows the yield comes after every other plugin's end, the report's writing included.
        @pytest.hookimpl(wrapper=True, tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_sessionfinish(self, session: Any) -> Iterator[None]:  # noqa: ANN401
            yield
            faulthandler.dump_traceback_later(plan["exit_grace"], exit=True, file=stderr)
            loaded, foreign = loaded_modules(plan["packages"], plan["environment"])
            diary.write("end", status=int(session.exitstatus), finished=len(self.finished), loaded=loaded, foreign=foreign)

    return Plugin()


def main(argv: Sequence[str]) -> int:
    """Run pytest as the plan file says and return its exit status."""
    with open(argv[1], encoding="utf-8") as stream:  # noqa: PTH123 - pathlib would be one more import before the tests
        plan = json.load(stream)
    # pytest replaces descriptor 2 while tests run; stacks have to reach the log all the same.
    stderr = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="backslashreplace")
    faulthandler.enable(file=stderr)
    faulthandler.dump_traceback_later(plan["stacks_after"], exit=False, file=stderr)
    # pytest belongs to the environment under test, not to hipwright's own requirements.
    pytest = importlib.import_module("pytest")
    with open(plan["events"], "w", encoding="utf-8") as events:  # noqa: PTH123
        return int(pytest.main(plan["arguments"], plugins=[make_plugin(pytest, Diary(events), plan, stderr)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv))
