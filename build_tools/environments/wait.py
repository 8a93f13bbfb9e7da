"""Wait, within a bound, for what a package source does not offer yet: a page lags behind its uploads, and parts of a set come one by one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypeVar

from build_tools.environments.listing import NotThereYet
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["rest_of", "when_there"]

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 15.0

T = TypeVar("T")


def when_there(
    ask: Callable[[], T],
    *,
    within: float | None,
    say: Callable[[str], None],
    pause: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """Return what ``ask`` returns, asked again while it says that something is not there yet.

    Parameters
    ----------
    ask
        Reads the source anew at each call.
    within
        Seconds that it may take in all; None asks once.
    say
        Told what is waited for, whenever that changes.
    pause
        Seconds at the most between two calls; a quarter of a minute when not given.
    clock, sleep
        The seconds that have gone by, and how to let some go by.

    Raises
    ------
    HipwrightError
        What ``ask`` raises; when the time is over, its last word with how long was waited. What can never appear is not waited for.
    """
    began = clock()
    longest = _LONGEST_PAUSE if pause is None else pause
    following, told = min(_FIRST_PAUSE, longest), ""
    while True:
        try:
            return ask()
        except NotThereYet as error:
            if within is None:
                hint = f"{error.hint}; when it is still appearing there: --timeout 600" if error.hint else None
                raise HipwrightError(error.code.name, error.message, where=error.where, hint=hint) from error
            left = within - (clock() - began)
            if left <= 0:
                message = f"{error.message}; it was waited for during {within:g} s"
                raise HipwrightError(error.code.name, message, where=error.where, hint=error.hint) from error
            if error.message != told:
                told = error.message
                say(f"waiting for at most {left:.0f} s: {told}")
        sleep(min(following, left))
        following = min(following * 2, longest)


def rest_of(within: float | None, *, since: float, clock: Callable[[], float] = time.monotonic) -> float | None:
    """Return the seconds that are left of a bound that began at ``since``, by the clock; None where there is no bound."""
    return None if within is None else max(0.0, within - (clock() - since))
