"""A program of its own: import a module with the interpreter that runs this, say that it went well, and then what some names stand for.

Arguments: the module, a file that is made once it is imported, a file for the answers, and the names. It runs where ``build_tools`` is not.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from pathlib import Path

_LONGEST = 200


def _read(name: str) -> dict[str, object]:
    """Return what a name is found to be: its value where that is a plain one, and words in any case."""
    try:
        found = pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        return _told(f"is not there ({type(error).__name__}: {error})")
    try:
        found = found() if callable(found) else found
        answer = _told(f"is {found!r}"[:_LONGEST])
    except Exception as error:  # noqa: BLE001 - whatever the package raises is the answer
        return _told(f"cannot be called ({type(error).__name__}: {error})")
    if type(found) in {bool, int} or (type(found) is str and _is_text(found)):
        answer["value"] = found
    return answer


def _told(words: str) -> dict[str, object]:
    return {"told": words.encode(errors="backslashreplace").decode()}


def _is_text(found: str) -> bool:
    """Tell whether text can be written down: half a surrogate pair is no character."""
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True


def main(module: str, mark: str, answers: str, *names: str) -> None:
    """Import, and answer."""
    importlib.import_module(module)
    Path(mark).touch()
    Path(answers).write_text(json.dumps([_read(name) for name in names]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
