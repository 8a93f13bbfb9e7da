"""The program that says, inside the environment under test, what is installed there and what an import would find.

Like :mod:`build_tools.testing.driver` it is started by path with that environment's interpreter, needs the standard library
alone, and is never imported. Its arguments are distribution names; it prints one JSON object: the environment's folder, and for
each name ``null`` or its version, its import packages with the files that an import would load, and what differs from its RECORD
(packaging specifications, "Recording installed projects"). Nothing under test is imported.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["describe", "main", "top_level_names"]

_PIECE = 1 << 20
_MOST_DIFFERENCES = 20


def top_level_names(files: Sequence[PurePosixPath]) -> list[str]:
    """Return the import packages and modules among a distribution's files; folders without ``__init__`` only when there is no other."""
    suffixes = tuple(importlib.machinery.all_suffixes())
    certain: set[str] = set()
    spaces: set[str] = set()
    for file in files:
        first = file.parts[0]
        if not file.name.endswith(suffixes) or file.suffix == ".pyc":
            continue
        stem = file.name.partition(".")[0]
        if len(file.parts) == 1:
            certain.add(stem)
        elif first.isidentifier():
            (certain if stem == "__init__" and len(file.parts) == 2 else spaces).add(first)  # noqa: PLR2004 - package/__init__.py
    return sorted(name for name in certain or spaces if name.isidentifier())


def describe(name: str) -> dict[str, Any] | None:
    """Return what is known of an installed distribution, or None when it is not installed."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    # `distribution.files` leaves out files that are missing, from Python 3.12 on.
    rows = [row for row in csv.reader((distribution.read_text("RECORD") or "").splitlines()) if row]
    places = {row[0]: os.path.realpath(str(distribution.locate_file(row[0]))) for row in rows}
    differences: list[str] = []
    for path, stated, *_ in rows:
        if stated and len(differences) < _MOST_DIFFERENCES:
            mode, _, value = stated.partition("=")
            found = _hash(places[path], mode)
            if found != value:
                differences.append(f"{path}: {'missing' if found is None else 'changed'}")
    recorded = set(places.values())
    tops = top_level_names([PurePosixPath(path) for path in places])
    return {
        "version": distribution.version,
        "files": len(rows),
        "differences": differences,
        "packages": {top: _origin(top, recorded) for top in tops},
    }


def _origin(name: str, recorded: set[str]) -> dict[str, Any]:
    spec = importlib.util.find_spec(name)
    if spec is None:
        return {"places": [], "recorded": False}
    if spec.has_location and spec.origin:
        return {"places": [spec.origin], "recorded": os.path.realpath(spec.origin) in recorded}
    return {"places": list(spec.submodule_search_locations or []), "recorded": True}


def _hash(path: str, mode: str) -> str | None:
    hasher = hashlib.new(mode)
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - many files, and names as RECORD has them
            while piece := stream.read(_PIECE):
                hasher.update(piece)
    except OSError:
        return None
    return base64.urlsafe_b64encode(hasher.digest()).rstrip(b"=").decode("ascii")


def main(names: Sequence[str]) -> None:
    """Print the description of the named distributions as JSON."""
    print(json.dumps({"environment": sys.prefix, "distributions": {name: describe(name) for name in names}}))  # noqa: T201 - a program


if __name__ == "__main__":
    main(sys.argv[1:])
