"""The first real error of a build's log, with what belongs to it: what the compiler, the linker, CMake or Python said before all else.

A build ends with the least telling of its lines, and in the middle of a parallel one hundreds of others go on after the error. Logs are
read as streams: those of PyTorch have tens of megabytes.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FirstError", "find_first_error"]

_BEFORE: Final = 6
_AFTER: Final = 14
_WIDTH: Final = 300
_MEMORY_HINT: Final = "this machine ran out of memory: use fewer jobs (--jobs), or more memory"
_DISK_HINT: Final = "free some space, or choose another folder with --work-dir"


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstError:
    """What went wrong first: who says it, the lines, and the number of the line in the log; a hint where one helps."""

    kind: str
    lines: tuple[str, ...]
    number: int
    hint: str | None = None

    @property
    def text(self) -> str:
        """The lines, with where they stand."""
        return "\n".join([*self.lines, f"({self.kind}, line {self.number} of the log)"])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Kind:
    name: str
    begins: re.Pattern[str]
    ends: re.Pattern[str] | None = None
    before: re.Pattern[str] | None = None
    hint: str | None = None
    weak: bool = False


_BLANK: Final = re.compile(r"\s*$")
_NEXT_STEP: Final = re.compile(
    r"\[\s*\d+(/\d+|%)\]|FAILED: |ninja: |make(\[\d+\])?: |\d+ errors? generated|compilation terminated|error: command "
)
_OF_THE_FRONT_END: Final = re.compile(r"(\x1b\[[0-9;]*m)*(TIP\b|ERROR Backend )")
"""What ``python -m build`` ends with: it repeats the command, and advises options of its own, which nobody here can give."""

_INTRODUCES: Final = re.compile(
    r"(In file included|\s+from )|.*: In (member |static member )?(function|lambda)|.*: At (global|top)|.*In instantiation of|FAILED: |.*:\d+:\d*:?\s+(required from|note:)"
)

# In this order where one line fits several.
_KINDS: Final = (
    _Kind(
        name="out of memory",
        begins=re.compile(
            r".*(fatal error: Killed signal|internal compiler error: Killed|virtual memory exhausted|Cannot allocate memory"
            r"|out of memory allocating|std::bad_alloc|LLVM ERROR: out of memory|compiler is out of heap space)|Killed\s*$"
        ),
        ends=_NEXT_STEP,
        hint=_MEMORY_HINT,
    ),
    _Kind(name="disk", begins=re.compile(r".*(No space left on device|Disk quota exceeded)"), ends=_NEXT_STEP, hint=_DISK_HINT),
    _Kind(
        name="CMake",
        begins=re.compile(r"CMake Error( at .+:\d+ \(.*\))?:?|CMake Error: |.*CMake \d\S* or higher is required"),
        ends=re.compile(r"(-- |CMake (Warning|Error|Deprecation)|\[\s*\d+(/|%))"),
    ),
    _Kind(
        name="compiler",
        begins=re.compile(
            r"(?:.+?:\d+(?::\d+)?: (?:fatal |internal compiler )?error:"
            r"|.+\(\d+(?:,\s?\d+)?\): (?:fatal )?error(?: [A-Z]+\d+)?:"
            r"|(?:\S*(?:clang|clang\+\+|clang-cl|cc1plus|cc1|gcc|g\+\+|c\+\+|hipcc|nvcc|cl)(?:-[\d.]+)?(?:\.exe)?: (?:fatal )?error:"
            r"|cl : Command line error)|Assembler messages:.*|LLVM ERROR: )"
        ),
        before=_INTRODUCES,
        ends=_NEXT_STEP,
    ),
    _Kind(
        name="linker",
        begins=re.compile(
            r".*(undefined reference to|multiple definition of|ld(\.lld|\.bfd|\.gold)?(\.exe)?: (error: )?(undefined|cannot find|.*: file not recognized)"
            r"|lld(-link)?: error:|(LINK|LIB|CVTRES|RC) : fatal error|mt(\.exe)? : general error|error LNK\d+|cannot find -l)"
        ),
        before=re.compile(r".*: in function |FAILED: "),
        ends=_NEXT_STEP,
    ),
    _Kind(name="ninja", begins=re.compile(r"ninja: error: |ninja: fatal: "), ends=_NEXT_STEP),
    _Kind(
        name="make",
        begins=re.compile(r"make(\[\d+\])?: \*\*\* No rule to make target|NMAKE : fatal error U"),
        ends=_NEXT_STEP,
    ),
    _Kind(name="ninja", begins=re.compile(r"FAILED: "), ends=re.compile(r"\[\d+/\d+\]|ninja: "), weak=True),
    _Kind(name="Python", begins=re.compile(r"\s*Traceback \(most recent call last\):"), weak=True),
    _Kind(name="build", begins=re.compile(r"(error|ERROR|Error|fatal): .+|.*\bcommand '.+' failed"), ends=_BLANK, weak=True),
)
_NOT_ERRORS: Final = re.compile(r"\s*(-- .*(Failed|not found)|.*-Werror|\$ |# )", re.IGNORECASE)


def find_first_error(log: Path, start: int = 0) -> FirstError | None:
    """Return the first real error of a log from the byte ``start`` on; None when nothing reads like one.

    A failed step of ninja and a traceback of Python only tell of an error that something else has: they count when nothing stronger is
    there. Of a traceback the end is what it is about.
    """
    weak: FirstError | None = None
    try:
        with log.open("rb") as stream:
            stream.seek(0)
            passed = sum(block.count(b"\n") for block in _blocks(stream, start))
            lines = ((number, raw.decode("utf-8", "replace").rstrip()) for number, raw in enumerate(stream, passed + 1))
            recent: deque[str] = deque(maxlen=_BEFORE)
            for number, line in lines:
                kind = _kind_of(line)
                if kind is not None and not (kind.weak and weak is not None and kind.name != "Python"):
                    found = FirstError(kind=kind.name, lines=_around(kind, recent, line, lines), number=number, hint=kind.hint)
                    inner = _stronger(found, kind)
                    if inner is not None:
                        return inner
                    if not kind.weak:
                        return found
                    weak = weak or found
                recent.append(line)
    except OSError:
        return None
    return weak


def _blocks(stream: object, size: int) -> Iterator[bytes]:
    left = size
    while left > 0:
        block: bytes = stream.read(min(left, 1 << 20))  # type: ignore[attr-defined]
        if not block:
            return
        left -= len(block)
        yield block


def _kind_of(line: str) -> _Kind | None:
    if _NOT_ERRORS.match(line):
        return None
    return next((kind for kind in _KINDS if kind.begins.match(line)), None)


def _stronger(found: FirstError, kind: _Kind) -> FirstError | None:
    """Return the error that the lines of a weak one hold: what a compiler says after ``FAILED:``."""
    if not kind.weak:
        return None
    for offset, line in enumerate(found.lines[1:], 1):
        inner = _kind_of(line)
        if inner is not None and not inner.weak:
            shown = found.lines[:1] + found.lines[max(1, offset - 2) :]
            return FirstError(kind=inner.name, lines=shown, number=found.number + offset, hint=inner.hint)
    return None


def _around(kind: _Kind, recent: deque[str], line: str, lines: Iterator[tuple[int, str]]) -> tuple[str, ...]:
    before: list[str] = []
    if kind.before is not None:
        for earlier in reversed(recent):
            if not kind.before.match(earlier):
                break
            before.insert(0, earlier)
    after: list[str] = []
    if kind.name == "Python":
        after = _traceback(lines)
    else:
        blank = 0
        for _, text in lines:
            if _OF_THE_FRONT_END.match(text) or (kind.ends is not None and kind.ends.match(text)):
                break
            blank = blank + 1 if _BLANK.match(text) else 0
            if blank > 1:
                break
            after.append(text)
            if len(after) >= _AFTER:
                break
    shown = [text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…" for text in (*before, line, *after)]
    while shown and not shown[-1].strip():
        shown.pop()
    return tuple(shown)


def _traceback(lines: Iterator[tuple[int, str]]) -> list[str]:
    """Return the last frames of a traceback and its end, the first line that is not indented."""
    frames: deque[str] = deque(maxlen=_AFTER // 2)
    for _, text in lines:
        if _OF_THE_FRONT_END.match(text):
            break
        frames.append(text)
        if text.strip() and not text.startswith((" ", "\t", "|", "+")):
            break
    return list(frames)
