"""Whether one environment may have two files, told by their tags alone."""

from __future__ import annotations

import functools
from typing import Final

from build_tools.wheels.name import is_wheel_name, parse_wheel_name

__all__ = ["FileTags", "go_together", "tags_of"]

FileTags = tuple[str, str, str]
"""Python, ABI and platform, as a file name has them."""

_ARM: Final = ("aarch64", "arm64")


@functools.lru_cache(maxsize=1 << 14)
def tags_of(filename: str) -> FileTags:
    """Return the tags of a file; an sdist is built for any environment.

    >>> tags_of("torch-2.9.0-cp312-cp312-win_amd64.whl"), tags_of("rocm-7.1.tar.gz")
    (('cp312', 'cp312', 'win_amd64'), ('py3', 'none', 'any'))
    """
    if not is_wheel_name(filename):
        return ("py3", "none", "any")
    name = parse_wheel_name(filename)
    return (name.python, name.abi, name.platform)


def go_together(one: FileTags, other: FileTags) -> bool:
    """Return whether an environment may have both; what cannot be told from tags counts as yes.

    >>> linux, windows = ("cp313", "cp313", "linux_x86_64"), ("cp313", "cp313", "win_amd64")
    >>> go_together(linux, ("py3", "none", "any")), go_together(linux, windows), go_together(linux, ("cp313", "cp313t", "linux_x86_64"))
    (True, False, False)
    """
    pythons, platforms = {one[0], other[0]}, {one[2], other[2]}
    same_python = len(pythons) == 1 or any(
        not tag.startswith("cp3") or tag == "cp3" or "abi3" in (one[1], other[1]) for tag in pythons
    )
    return same_python and len({*map(_threads, (one, other))} - {None}) < 2 and _same_machine(platforms)  # noqa: PLR2004


def _threads(tags: FileTags) -> bool | None:
    """Return whether a file is for a free-threaded Python; None when its tags do not tie it to either."""
    return tags[1].endswith("t") if tags[1].startswith("cp3") else False if tags[1] == "abi3" else None


def _same_machine(platforms: set[str]) -> bool:
    """Return whether platform tags may be of one machine."""
    if "any" in platforms:
        return True
    return len({(tag.startswith("win"), tag.endswith(_ARM)) for tag in platforms}) == 1
