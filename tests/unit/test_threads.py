from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from build_tools.threads import StoppedError, Threads, go_on, in_time

if TYPE_CHECKING:
    from collections.abc import Iterator

SOON = 5.0


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What a server that says nothing is waited for with; at the end it speaks."""
    monkeypatch.setattr("build_tools.threads._GRACE", 0.3)
    monkeypatch.setattr("build_tools.threads._INNER_GRACE", 0.1)
    event = threading.Event()
    yield event
    event.set()


def test_jobs_give_their_results_in_order_and_are_waited_for() -> None:
    done: list[int] = []
    with Threads(3) as pool:
        assert list(pool.map(lambda number: number * 2, range(20))) == list(range(0, 40, 2))
        for number in range(5):
            pool.submit(done.append, number)
    assert sorted(done) == list(range(5))


def test_no_more_are_under_way_than_is_said() -> None:
    together = threading.Barrier(2)
    with Threads(2) as pool:
        # Of two at once each sees the other; of three the last waits for its turn.
        assert sorted(pool.map(lambda _: together.wait(SOON), range(4))) == [0, 0, 1, 1]


def test_a_failure_cancels_what_has_not_begun() -> None:
    begun = threading.Event()
    told: list[int] = []

    def fail() -> None:
        begun.wait(SOON)
        raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"), Threads(1) as pool:
        failing = pool.submit(fail)
        later = [pool.submit(told.append, number) for number in range(3)]
        begun.set()
        failing.result()
    assert all(future.cancelled() or future.done() for future in later)
    assert len(told) <= len([future for future in later if not future.cancelled()])


def test_an_interruption_leaves_behind_what_waits(silence: threading.Event) -> None:
    began = time.monotonic()
    pool = Threads(2)
    with pytest.raises(KeyboardInterrupt), pool:
        futures = [pool.submit(silence.wait) for _ in range(6)]
        raise KeyboardInterrupt
    assert time.monotonic() - began < SOON
    assert all(isinstance(future.exception(0), StoppedError) for future in futures)
    with pytest.raises(StoppedError):
        pool.submit(silence.wait)


def test_threads_of_a_job_are_stopped_with_it_and_may_put_away_what_they_hold(silence: threading.Event) -> None:
    begun, put_away = threading.Event(), threading.Event()

    def outer() -> None:
        try:
            with Threads(2) as inner:
                waiting = [inner.submit(silence.wait) for _ in range(2)]
                begun.set()
                waiting[0].result()
        finally:
            # A server is told even now.
            if in_time(SOON, lambda: True):
                put_away.set()

    with pytest.raises(KeyboardInterrupt), Threads(1) as pool:
        pool.submit(outer)
        assert begun.wait(SOON)
        raise KeyboardInterrupt
    assert put_away.is_set()


def test_stopped_work_does_nothing_more(silence: threading.Event) -> None:
    after: list[str] = []
    begun, ended = threading.Event(), threading.Event()

    def job() -> None:
        try:
            begun.set()
            silence.wait()
            go_on()
            after.append("went on")
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt), Threads(1) as pool:
        pool.submit(job)
        assert begun.wait(SOON)
        pool.stop(grace=0)
        raise KeyboardInterrupt
    silence.set()
    assert ended.wait(SOON)
    assert after == []
    go_on()


def test_what_takes_too_long_is_left_behind(silence: threading.Event) -> None:
    with pytest.raises(TimeoutError):
        in_time(0.01, silence.wait)
    assert in_time(SOON, lambda: "there") == "there"
    with pytest.raises(ValueError, match="wrong"):
        in_time(SOON, lambda: int("wrong"))
