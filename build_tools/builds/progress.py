"""How far a build is: its phase, objects compiled and to compile, and the time that is left, read from what its programs say."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BuildProgress", "Earlier", "spoken_time"]

_NINJA: Final = re.compile(r"\s*\[(\d+)/(\d+)\]\s*(.*)")
_MAKE: Final = re.compile(r"\[\s*(\d+)%\]\s*(.*)")
_COMPILES: Final = re.compile(
    r"^(Building \S+ object|Building HIPCC object|Building \S+ (Host|Device) object|Generating .*\.o\b)|(\s|^)-c\s"
)
_DISTUTILS: Final = re.compile(
    r"^(\+ )?\S*?(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|hipcc|cl|ccache|sccache)(\.exe)?(?=[\s\"'])(?=.*\s[-/]c\s)"
)
_PHASES: Final = (
    ("configuring", re.compile(r"^(-- |CMake \w+ |running configure|\* Getting build dependencies)")),
    (
        "linking",
        re.compile(r"^(Linking |.*Linking \S+ (shared|static|executable))|^\S*(gcc|g\+\+|c\+\+|cc|clang\+\+) .*-shared\b"),
    ),
    ("packing", re.compile(r"^(running (bdist_wheel|install_lib)|creating '.*\.whl'|adding '|Successfully built)")),
)
_LEAST_DONE: Final = 5
_HOUR: Final = 3600
_MINUTE: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """What an earlier build of the project took: compiled objects, None when it did not tell, and seconds."""

    objects: int | None
    seconds: float


@dataclass(kw_only=True, slots=True)
class BuildProgress:
    """Reads the lines of a build and tells what they mean.

    A build may run several tools that count, one after another or one inside another (external projects have their own); each count that
    begins again is another tool's. ``objects`` is how many were compiled in all, None when no line spoke of one.

    Parameters
    ----------
    name
        What is built.
    say
        Told of each phase.
    progress
        Told of how many steps are done, of how many; of 0 where nobody knows.
    earlier
        An earlier build.
    clock
        The time in seconds.
    """

    name: str
    say: Callable[[str], None]
    progress: Callable[[str, int, int], None]
    earlier: Earlier | None = None
    clock: Callable[[], float] = time.monotonic
    objects: int | None = None
    phase: str = ""
    _began: float = field(default=-1.0)
    _counting: float = field(default=-1.0)
    _total: int = 0
    _done: int = 0
    _first: int = 0
    _repeats: bool = False

    def line(self, text: str) -> None:
        """Take a line of output."""
        if self._began < 0:
            self._began = self.clock()
        if found := _NINJA.match(text):
            self._step(int(found[1]), int(found[2]), found[3])
        elif found := _MAKE.match(text):
            # Per cent of all, a few of which are links.
            self._step(int(found[1]), 100, found[2])
        elif _DISTUTILS.match(text) and not self._repeats:
            self._enter("compiling")
            self._compiled()
            done = self.objects or 0
            # Without an earlier build, or past what that had, nobody knows how many there will be.
            before = (self.earlier.objects or 0) if self.earlier is not None else 0
            total = before if done <= before else 0
            self.progress(self._words(done, total), done, total)
        else:
            self._look_for_phase(text)
        # Of a step that failed ninja prints the command again.
        self._repeats = text.startswith("FAILED: ")

    def _step(self, done: int, total: int, what: str) -> None:
        if total <= 0 or done > total:
            return
        self._enter("compiling")
        if done < self._done or self._counting < 0:
            self._counting, self._first = self.clock(), done
        self._done, self._total = done, total
        if _COMPILES.search(what):
            self._compiled()
        self.progress(self._words(done, total), done, total)

    def _compiled(self) -> None:
        self.objects = (self.objects or 0) + 1

    def _look_for_phase(self, text: str) -> None:
        for phase, pattern in _PHASES:
            if pattern.match(text):
                # Tools configure and link parts while others are compiled.
                if phase in {"configuring", "linking"} and self.phase == "compiling" and self._done < self._total:
                    return
                # `bdist_wheel` names itself before it has anything compiled, and CMake configures once more to install.
                if (phase == "packing" and not self.objects and text.startswith("running ")) or (
                    phase == "configuring" and self.phase in {"linking", "packing"}
                ):
                    return
                self._enter(phase)
                return

    def _enter(self, phase: str) -> None:
        if phase != self.phase:
            self.phase = phase
            self.say(f"{self.name}: {phase}")

    def _words(self, done: int, total: int) -> str:
        left = self._left(done, total)
        return f"{self.name}: compiling" if left is None else f"{self.name}: compiling, {spoken_time(left)} left"

    def _left(self, done: int, total: int) -> float | None:
        """Return the seconds that are left: by the pace of this build once it has one, else by what the earlier one took."""
        since = done - self._first
        if since >= _LEAST_DONE and self._counting >= 0 and self.clock() > self._counting:
            return (self.clock() - self._counting) / since * (total - done)
        if self.earlier is not None and total:
            return max(0.0, self.earlier.seconds * (1 - done / total))
        return None


def spoken_time(seconds: float) -> str:
    """Return a duration as people say it.

    >>> spoken_time(20), spoken_time(200), spoken_time(7900)
    ('less than a minute', 'about 3 min', 'about 2 h 12 min')
    """
    if seconds < _MINUTE:
        return "less than a minute"
    hours, rest = divmod(round(seconds / _MINUTE), _HOUR // _MINUTE)
    return f"about {hours} h {rest} min" if hours else f"about {rest} min"
