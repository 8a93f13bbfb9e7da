"""What hipify did on two states of a project's sources, compared file by file: by what came of each, whatever it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.receipts.record import Record
from build_tools.sources.written import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.hipify.record import HipifyRecord
    from build_tools.sources.contents import Entry

__all__ = ["ModuleComparison", "Outputs", "compare_outputs", "outputs_of"]

Outputs = dict[str, dict[str, str]]
"""By module and spelled path: what hipify made of each file that it added, changed or removed."""


class ModuleComparison(Record, frozen=True, kw_only=True):
    """One module: files that hipify did not make, change or remove before and does now, does otherwise now, and no longer does."""

    path: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def outputs_of(record: HipifyRecord, results: Mapping[str, Mapping[bytes, Entry]]) -> Outputs:
    """Return what hipify made, by module and path.

    Parameters
    ----------
    record
        The record of the run.
    results
        Each module's files afterwards, by module.
    """
    found: Outputs = {}
    for part in record.modules:
        files = {spelled(path): entry for path, entry in results[part.path].items()}
        words = {
            **{path: _made(files.get(path)) for path in (*part.added, *part.changed)},
            **dict.fromkeys(part.removed, "removed"),
        }
        if words:
            found[part.path] = words
    return found


def compare_outputs(old: Outputs, new: Outputs) -> tuple[ModuleComparison, ...]:
    """Return what differs between two outputs, for each module in which something does."""
    found = []
    for path in sorted(old.keys() | new.keys()):
        before, after = old.get(path, {}), new.get(path, {})
        part = ModuleComparison(
            path=path,
            added=tuple(sorted(after.keys() - before.keys())),
            changed=tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
            gone=tuple(sorted(before.keys() - after.keys())),
        )
        if part.added or part.changed or part.gone:
            found.append(part)
    return tuple(found)


def _made(entry: Entry | None) -> str:
    return "removed" if entry is None else f"{entry.mode.decode()} {entry.object_id}"
