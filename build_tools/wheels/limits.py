"""How much of a text out of a wheel is taken for a number, a version or a tag.

Whoever made the wheel wrote these texts. Python refuses numbers above 4300 digits with an error that no reader of versions expects, and
a tag of a few hundred parts in each field stands for millions of tags. What is absurdly large is refused here, before anything reads it.
"""

from __future__ import annotations

import math
import re
from typing import Final

from packaging.tags import Tag, parse_tag
from packaging.version import InvalidVersion, Version

__all__ = ["MOST_TAGS", "absurd_number", "count_of_tags", "read_tags", "read_version"]

_LONGEST_NUMBER: Final = 100
"""Digits in a row: no version or size has so many, and a hash in a local version has 40."""

MOST_TAGS: Final = 1000
"""Tags that one compressed tag may stand for; real ones stand for a dozen."""

_ABSURD: Final = re.compile(rf"\d{{{_LONGEST_NUMBER + 1},}}")


def absurd_number(text: str) -> str | None:
    """Say what is wrong with a text that has more digits in a row than any number there has; None when it has not.

    >>> absurd_number("2.9.1+rocm7.10.0"), absurd_number("1." + 5000 * "9")
    (None, 'it has a number of 5000 digits')
    """
    found = _ABSURD.search(text)
    return f"it has a number of {len(found[0])} digits" if found is not None else None


def read_version(text: str) -> Version:
    """Read a version (PEP 440).

    Raises
    ------
    packaging.version.InvalidVersion
        It is none, or it has an absurd number.
    """
    if absurd_number(text) is not None:
        raise InvalidVersion(f"{text[:_LONGEST_NUMBER]}… is no version")
    return Version(text)


def count_of_tags(text: str) -> int:
    """Return for how many tags a compressed one stands at most (PEP 425).

    >>> count_of_tags("py2.py3-none-any")
    2
    """
    return math.prod(field.count(".") + 1 for field in text.split("-"))


def read_tags(text: str) -> frozenset[Tag]:
    """Return all tags that a compressed one stands for (PEP 425).

    Raises
    ------
    ValueError
        It is none, or it stands for more than any wheel has.
    """
    if (count := count_of_tags(text)) > MOST_TAGS:
        message = f"it stands for {count} tags, and more than {MOST_TAGS} are not read"
        raise ValueError(message)
    return parse_tag(text)
