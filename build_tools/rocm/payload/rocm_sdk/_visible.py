"""Which of AMD's GPUs the environment lets programs use: what ``ROCR_VISIBLE_DEVICES``, ``HIP_VISIBLE_DEVICES`` and ``CUDA_VISIBLE_DEVICES`` say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CUDA", "HIP", "NAMES", "ROCR", "chosen", "visible"]

ROCR = "ROCR_VISIBLE_DEVICES"
HIP = "HIP_VISIBLE_DEVICES"
CUDA = "CUDA_VISIBLE_DEVICES"
NAMES = (ROCR, HIP, CUDA)


def chosen(uuids: Sequence[str | None], setting: str | None) -> list[int]:
    """Return the places of the devices that one variable names, in its order; all of them where it is not set.

    As in the runtimes a list ends at the first entry that names no device, or one that was named before.

    Parameters
    ----------
    uuids
        The devices in the order in which programs count them, each by its name that never moves; None where it has none.
    setting
        The variable's value: numbers, or such names, which may be cut short as long as one device alone begins with them.
    """
    if setting is None:
        return list(range(len(uuids)))
    found: list[int] = []
    for entry in setting.split(","):
        place = _named(uuids, entry.strip())
        if place is None or place in found:
            break
        found.append(place)
    return found


def visible(uuids: Sequence[str | None], settings: Mapping[str, str]) -> tuple[list[int], list[int]]:
    """Return what ROCR leaves of AMD's devices, as places among all, and what HIP leaves of these, as places among them.

    Parameters
    ----------
    uuids
        As of :func:`chosen`.
    settings
        The environment. ``CUDA_VISIBLE_DEVICES`` stands for HIP's own variable where that is not set, or empty.
    """
    left = chosen(uuids, settings.get(ROCR))
    return left, chosen([uuids[place] for place in left], settings.get(HIP) or settings.get(CUDA))


def _named(uuids: Sequence[str | None], entry: str) -> int | None:
    if entry.isascii() and entry.isdigit():
        # A number of many digits is not read: Python refuses one of thousands.
        return int(entry) if len(entry) < 10 and int(entry) < len(uuids) else None  # noqa: PLR2004
    named = [place for place, uuid in enumerate(uuids) if uuid and entry and uuid.lower().startswith(entry.lower())]
    return named[0] if len(named) == 1 else None
