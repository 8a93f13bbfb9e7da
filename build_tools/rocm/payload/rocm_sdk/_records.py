"""``RECORD``: the list of files by which an installer removes a package; what is made later is added, so that it goes too.

The file is replaced and never written in place: an installer may share its bytes with other environments (hard links into a cache).
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import secrets
from typing import TYPE_CHECKING

from ._errors import SdkError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["find_record", "recorded", "replace_file", "set_rows"]


def find_record(site: Path, distribution: str) -> Path | None:
    """Return the ``RECORD`` of an installed distribution; None when its files are not an installer's to remove.

    Raises
    ------
    SdkError
        When the distribution is there twice.
    """
    escaped = re.sub(r"[-_.]+", "_", distribution).lower()
    found = sorted(site.glob(f"{escaped}-*.dist-info/RECORD"))
    if len(found) > 1:
        listed = ", ".join(path.parent.name for path in found)
        message = f"{distribution} is installed twice in {site} ({listed}); uninstall it, twice, and install it again"
        raise SdkError(message)
    return found[0] if found else None


def recorded(record: Path) -> list[str]:
    """Return the paths that a ``RECORD`` lists, as they stand there."""
    text = record.read_text("utf-8")
    return [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]


def set_rows(record: Path, *, prefix: str | tuple[str, ...], rows: Iterable[str]) -> None:
    """Make the rows of a ``RECORD`` that begin with a prefix, or one of several, these, without hash and size, and leave all others as they are.

    The file is replaced whole, and left alone when nothing changes.
    """
    with record.open(encoding="utf-8", newline="") as stream:
        old = list(csv.reader(stream))
    wanted = sorted(set(rows))
    others = [row for row in old if row and not row[0].startswith(prefix)]
    own = [row[0] for row in old if row and row[0].startswith(prefix)]
    if own == wanted:
        return
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([*others, *([path, "", ""] for path in wanted)])
    replace_file(record, out.getvalue().encode())


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, in place of one that may be there; its mode stays."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        partial.write_bytes(data)
        with contextlib.suppress(OSError):
            partial.chmod(path.stat().st_mode & 0o7777)
        partial.replace(path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
