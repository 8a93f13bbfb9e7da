"""The code of a wheel that makes a process ready for the ROCm inside of it, in the place of the one that asks for ROCm's packages."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LOADER", "loader_code", "with_loader"]

LOADER: Final = "_rocm_init.py"
"""The module of a package that is called before any library of ROCm is needed; PyTorch looks for one of this name."""

_CODE: Final = '''"""Makes a process ready for the ROCm libraries that this package brings."""

import ctypes
import os
import sys

ROCM_VERSION = {version!r}

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), *{folder!r})
_SEARCHED = {searched!r}
_LIBRARIES = {libraries!r}

_held = []


def initialize():
    """Load the libraries, so that whatever needs them finds these; the second time it does nothing."""
    if _held:
        return
    if sys.platform == "win32":
        # A folder is searched for as long as its handle lives.
        _held.extend(os.add_dll_directory(os.path.join(_FOLDER, *name)) for name in _SEARCHED)
    for name in _LIBRARIES:
        _held.append(ctypes.CDLL(os.path.join(_FOLDER, *name), mode=ctypes.RTLD_GLOBAL))
'''

_CALL: Final = (
    "from ._rocm_init import initialize as _initialize_rocm",
    "_initialize_rocm()",
    "del _initialize_rocm",
)


def loader_code(*, version: str, folder: str, libraries: Sequence[str], searched: Sequence[str]) -> bytes:
    """Return the module that loads the ROCm inside of a package.

    Parameters
    ----------
    version
        The version of ROCm.
    folder
        Where it is, below the folder of the package, with forward slashes.
    libraries
        What is loaded, in this order, below ``folder``.
    searched
        The folders below ``folder`` that Windows looks for libraries in.
    """
    return _CODE.format(
        version=version,
        folder=tuple(folder.split("/")),
        searched=tuple(tuple(name.split("/")) for name in searched),
        libraries=tuple(tuple(name.split("/")) for name in libraries),
    ).encode()


def with_loader(code: bytes, *, member: str) -> bytes:
    """Return the code of a package that calls the loader before anything else: right behind its docstring and ``__future__``.

    Raises
    ------
    HipwrightError
        ``bundle-incomplete`` when the code cannot be read, or has no line of its own there.
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError) as error:
        message = f"{member} cannot be read as Python, and has to call what loads ROCm: {error}"
        raise HipwrightError("bundle-incomplete", message, where=Where(member=member)) from None
    first = [
        number
        for number, statement in enumerate(body)
        if (number == 0 and _is_text(statement)) or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")
    ]
    before = body[: first[-1] + 1] if first else []
    after = body[len(before) :]
    line = (before[-1].end_lineno or 0) if before else 0
    if after and after[0].lineno <= line:
        message = f"line {line} of {member} has several statements, and ROCm has to be loaded between them"
        raise HipwrightError("bundle-incomplete", message, where=Where(member=member, line=line))
    lines = code.splitlines(keepends=True)
    if not before:
        # An interpreter line, a declared encoding and other comments stay first.
        line = next((number for number, text in enumerate(lines) if not text.startswith(b"#")), len(lines))
    end = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
    head = b"".join(lines[:line])
    if head and not head.endswith((b"\n", b"\r")):
        head += end
    return head + b"".join(text.encode() + end for text in _CALL) + b"".join(lines[line:])


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
    )
