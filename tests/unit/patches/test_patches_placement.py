"""Where hunks fit in files that are not the ones they were made for."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from build_tools.patches.hunks import Hunk, hunks
from build_tools.patches.placement import apply_hunks, fits, lines_of, place, turned
from build_tools.patches.sections import sections
from tests.support.source_trees import identity

FEW = st.lists(st.sampled_from(["a\n", "b\n", "\n", "a\r\n"]), max_size=14).map("".join)


def hunk(text: str, *, start: int = 10, new_start: int | None = None) -> Hunk:
    lines = tuple(text.encode().split(b"\n"))
    old = sum(line[:1] in {b" ", b"-"} for line in lines)
    new = sum(line[:1] in {b" ", b"+"} for line in lines)
    return Hunk(
        line=1,
        old_start=start,
        old_count=old,
        new_start=new_start or start,
        new_count=new,
        header=b"@@",
        lines=lines,
    )


def difference(old: str, new: str, *, context: int = 3) -> tuple[Hunk, ...]:
    """Return the hunks that make one text of another, as git writes them."""
    with tempfile.TemporaryDirectory() as place_:
        for name, text in (("a", old), ("b", new)):
            Path(place_, name).write_bytes(text.encode())
        command = ["git", "diff", "--no-index", "--no-color", f"--unified={context}", "a", "b"]
        data = subprocess.run(command, cwd=place_, env=identity(), capture_output=True, check=False).stdout
    return tuple(one for part in sections(data) for one in hunks(part))


def test_a_hunk_fits_wherever_its_lines_stand() -> None:
    one = hunk(" a\n-b\n+c\n a")
    assert fits(one, lines_of(b"x\na\nb\na\nb\na\n")) == (1, 3)
    assert fits(one, lines_of(b"x\na\nb\na")) == ()
    assert fits(one, ()) == ()


def test_a_hunk_for_the_first_line_and_one_without_context_after_it_hold_on_to_the_ends() -> None:
    text = lines_of(b"a\nb\n" * 4)
    assert fits(hunk("-a\n b", start=1), text) == (0,)
    assert fits(hunk(" a\n-b"), text) == (6,)
    assert fits(hunk(" a\n-b", start=1), text) == ()
    assert fits(hunk(" a\n-b", start=1), lines_of(b"a\nb\n")) == (0,)
    assert fits(hunk("+a", start=0), ()) == (0,)


def test_a_missing_final_newline_is_a_difference() -> None:
    one = hunk(" a\n-b\n\\ No newline at end of file\n+b")
    assert fits(one, lines_of(b"a\na\nb")) == (1,)
    assert fits(one, lines_of(b"a\na\nb\n")) == ()
    assert apply_hunks(place([one], lines_of(b"a\na\nb"), own=False).places or (), lines_of(b"a\na\nb")) == b"a\na\nb\n"


def test_the_first_hunk_that_fits_nowhere_or_in_several_places_is_named() -> None:
    one, two = hunk(" x\n-y\n z"), hunk(" a\n-b\n c")
    text = lines_of(b"x\ny\nz\na\nb\nc\na\nb\nc\n")
    found = place([one, two], text, own=False)
    assert (found.places, found.hunk, found.fits) == (None, two, (3, 6))
    found = place([two, one], text, own=False)
    assert (found.places, found.hunk, found.fits) == (None, one, ()), "it stands before the other"


def test_in_its_own_file_a_hunk_lies_where_it_says() -> None:
    one = hunk(" a\n-b\n c", start=4)
    text = lines_of(b"a\nb\nc\n" * 3)
    assert place([one], text, own=False).places is None
    places = place([one], text, own=True).places
    assert places is not None
    assert [(at.at, at.moved) for at in places] == [(3, 0)]


@given(old=FEW, new=FEW, text=FEW)
@settings(max_examples=60, deadline=None)
def test_a_placement_is_the_only_one(old: str, new: str, text: str) -> None:
    found = difference(old, new, context=1)
    assume(found)
    lines = lines_of(text.encode())
    ways = 0
    for places in itertools.product(*(fits(one, lines) for one in found)):
        ends = [at + len(one.old) for one, at in zip(found, places, strict=True)]
        ways += all(end <= at for end, at in zip(ends, places[1:], strict=False))
    placement = place(found, lines, own=False)
    assert (placement.places is not None) == (ways == 1)
    assert (placement.fits != ()) == (ways > 1)


@given(old=FEW, new=FEW)
@settings(max_examples=60, deadline=None)
def test_hunks_make_one_file_of_another_and_turned_ones_take_it_back(old: str, new: str) -> None:
    found = difference(old, new)
    before, after = lines_of(old.encode()), lines_of(new.encode())
    places = place(found, before, own=True).places
    assert places is not None
    assert apply_hunks(places, before) == new.encode()
    back = [turned(one) for one in found]
    places = place(back, after, own=True).places
    assert places is not None
    assert apply_hunks(places, after) == old.encode()
