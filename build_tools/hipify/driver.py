"""Runs a Python script as if it had been started directly, and notes which files it opens for reading.

Started by its path, with the interpreter that runs the script: ``driver.py NOTES SCRIPT ARGUMENT…``. The file NOTES gets the interpreter's
version and then the absolute names of files, each with a final NUL, at once when a file is first opened, so that they are there however the
script ends. An audit hook (PEP 578) sees every open of the interpreter, whatever library asks for it, and those of forked children; programs
that the script starts are not seen. Standard library only.
"""

from __future__ import annotations

import os
import sys
import types
from importlib.machinery import SourceFileLoader

__all__ = ["main"]


def _watch(notes: str) -> None:
    """Append the name of each file to ``notes`` when it is first opened for reading."""
    sink = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    os.write(sink, sys.version.split()[0].encode() + b"\0")
    seen: set[bytes] = set()
    # What is opened to be emptied, or to be written alone, tells the script nothing.
    unread = os.O_WRONLY | os.O_TRUNC

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event != "open":
            return
        name, _mode, flags = arguments
        # A number is a file that is open already.
        if not isinstance(name, (str, bytes, os.PathLike)) or not isinstance(flags, int) or flags & unread:
            return
        try:
            path = os.path.join(os.getcwdb(), os.fsencode(name))
        except OSError:
            # The script removed the folder that it is in: there is nothing that this could name.
            return
        if path not in seen:
            seen.add(path)
            os.write(sink, path + b"\0")

    sys.addaudithook(hook)


def main() -> None:
    """Run the script that the command line names."""
    notes, script, *arguments = sys.argv[1:]
    # What the interpreter itself does for a script: its folder comes first on the path, its file name is absolute.
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(script))
    file = os.path.abspath(script)
    own = sys.modules["__main__"].__dict__
    module = types.ModuleType("__main__")
    # Which of these there are differs between versions of Python.
    module.__dict__.update({name: own[name] for name in ("__annotations__", "__builtins__", "__cached__") if name in own})
    module.__dict__.update(__file__=file, __loader__=SourceFileLoader("__main__", file))
    sys.modules["__main__"] = module
    _watch(notes)
    with open(file, "rb") as stream:
        source = stream.read()
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - what it is for
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - as the interpreter itself does
        # The first frame is this function's: a script that was started directly has none above it.
        trace = None if error.__traceback__ is None else error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)


if __name__ == "__main__":
    main()
