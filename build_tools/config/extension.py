"""How an extension is tried in an environment that is there, as ``project.toml`` says it."""

from __future__ import annotations

from typing import Annotated

import msgspec

from build_tools.config.fields import Minutes, NonEmpty, PlatformName, Table

__all__ = ["Extension"]


class Extension(Table, frozen=True, kw_only=True):
    """How an extension is tried: from its own tree, installed editable.

    ``extras`` are installed with it. ``tests`` are its unit tests, and ``hip_tests`` those that need a GPU, run on ``hip_platforms``; both
    are arguments of pytest, relative to the tree. ``detect_targets`` is the project's own function that finds the GPU targets, such as
    ``setup.detect_hip_arches``: a module of the tree, and a function without parameters that returns names. ``examples`` are what
    ``profile`` measures when the command names none: scripts, each perhaps with arguments, or ``@FILE`` for a list, relative to the tree.
    """

    extras: tuple[NonEmpty, ...] = ("dev",)
    tests: tuple[NonEmpty, ...] = ("tests",)
    hip_tests: tuple[NonEmpty, ...] = ()
    hip_platforms: tuple[PlatformName, ...] = ("linux",)
    examples: tuple[NonEmpty, ...] = ()
    detect_targets: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")] | None = None
    time_limit_minutes: Minutes = 60
