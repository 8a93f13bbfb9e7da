"""How much of a long piece of work a log tells: where it begins, now and then a line, and where it ends."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from build_tools.console.events import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.console.events import Line

__all__ = ["Pace"]

_SEVERAL: Final = 5
"""Of fewer steps, when they are quick, a log tells nothing: what comes after them is told at once."""

_MANY: Final = 20
"""From so many steps on it is worth a line that they begin."""

_LONGEST: Final = 30.0
"""Seconds without a line, after which a step is told however small it is."""

_SHORTEST: Final = 5.0
"""Seconds after a line in which no tenth is worth one."""

_QUIET: Final = 60.0
"""Seconds without a line after which a program's own line is told: it does something, and counts nothing."""

_PARTS: Final = 10


@dataclass(kw_only=True, slots=True)
class Pace:
    """Decides which steps and which lines of programs a log tells.

    Of steps: the first of many, then one when a tenth more is done, or when nobody has said anything for half a minute, and the last.
    Of a program's lines: one when nobody has said anything for a minute.

    Parameters
    ----------
    now
        The time in seconds.
    """

    now: Callable[[], float] = time.monotonic
    _told: float = field(init=False)
    _total: int = field(init=False, default=-1)
    _done: int = field(init=False, default=0)
    _part: int = field(init=False, default=0)
    _begun: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._told = self.now()

    def told(self) -> None:
        """Note that the log has a line of something else."""
        self._told = self.now()

    def tells(self, event: Progress | Line) -> bool:
        """Say whether a log tells a step or a line, and note that it does."""
        wanted = self._of_step(event) if isinstance(event, Progress) else self.now() - self._told >= _QUIET
        if wanted:
            self._told = self.now()
        return wanted

    def _of_step(self, step: Progress) -> bool:
        # How many steps there will be may change on the way; other work begins where this one went back, or was at its end.
        ended = 0 < self._total <= self._done
        begins = self._total < 0 or step.done < self._done or (ended and step.total != self._total)
        self._total, self._done = step.total, step.done
        since = self.now() - self._told
        part = step.done * _PARTS // step.total if step.total else 0
        if begins:
            self._part, self._begun = part, False
        if step.total and step.done >= step.total:
            return self._begun or step.total >= _SEVERAL
        wanted = (begins and step.total >= _MANY) or since >= _LONGEST or (part > self._part and since >= _SHORTEST)
        if wanted:
            self._part, self._begun = part, True
        return wanted
