"""What a compiler cache did for one build, by language."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from build_tools.receipts.values import CacheUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["of_ccache", "of_sccache", "rows", "warning"]

_LANGUAGES: Final = {
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".c++", ".ii", ".i"), "C/C++"),
    **dict.fromkeys((".hip", ".cu"), "HIP"),
    **dict.fromkeys((".s", ".asm"), "Assembler"),
}
_HITS: Final = frozenset({"direct_cache_hit", "preprocessed_cache_hit"})
_ERRORS: Final = frozenset(
    {"internal_error", "compiler_check_failed", "error_hashing_extra_file", "missing_cache_file", "remote_storage_error"}
)


def of_ccache(log: Iterable[str], *, held: bool) -> CacheUse:
    """Return what ccache's account of each compilation says (``CCACHE_STATSLOG``): a line ``# file``, then what was counted for it.

    ccache's own counters are those of all builds that share a folder; this account is of one build. It names no languages, so the files'
    names tell them.
    """
    hits: Counter[str] = Counter()
    misses: Counter[str] = Counter()
    errors = 0
    language = "other"
    for raw in log:
        line = raw.strip()
        if line.startswith("# "):
            language = _LANGUAGES.get(PurePath(line[2:]).suffix.lower(), "other")
        elif line in _HITS:
            hits[language] += 1
        elif line == "cache_miss":
            misses[language] += 1
        elif line in _ERRORS:
            errors += 1
    return CacheUse(tool="ccache", hits=dict(hits), misses=dict(misses), errors=errors, held=held)


def of_sccache(document: str | bytes, *, held: bool) -> CacheUse:
    """Return what ``sccache --show-stats --stats-format=json`` says; nothing counted where that is not what it says."""
    try:
        stats = json.loads(document)["stats"]
        hits, misses = (
            {str(name): int(count) for name, count in stats[kind]["counts"].items()} for kind in ("cache_hits", "cache_misses")
        )
        failed = sum(int(count) for count in stats["cache_errors"]["counts"].values())
        errors = failed + int(stats["cache_write_errors"]) + int(stats["cache_read_errors"]) + int(stats["cache_timeouts"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return CacheUse(tool="sccache", held=held)
    return CacheUse(tool="sccache", hits=hits, misses=misses, errors=errors, held=held)


def rows(use: CacheUse) -> Sequence[tuple[str, str, str, str]]:
    """Return a table's rows: language, from the cache, compiled, share; the sum last when there are several languages."""
    languages = sorted({*use.hits, *use.misses})
    counts = [(name, use.hits.get(name, 0), use.misses.get(name, 0)) for name in languages]
    if len(counts) != 1:
        counts.append(("all", sum(use.hits.values()), sum(use.misses.values())))
    return [
        (name, str(hit), str(missed), f"{100 * hit // (hit + missed)} %" if hit + missed else "nothing went through it")
        for name, hit, missed in counts
    ]


def warning(use: CacheUse, *, key: str) -> str | None:
    """Return what people should know of a cache that did not do what it is for; None when it did."""
    hits, misses = sum(use.hits.values()), sum(use.misses.values())
    if hits + misses == 0:
        return (
            f"nothing was compiled through {use.tool}: the build does not use the launchers that it was given; where setuptools runs the "
            'compilers, compiles = "setuptools" under [build] of project.toml gets it between'
        )
    if use.held and hits == 0:
        return f"{use.tool} held objects for {key}, and none of {misses} was among them: compilers, flags or headers are others"
    if use.errors:
        return f"{use.tool} failed {use.errors} times, and the compilers ran instead"
    return None
