"""The console scripts: a function for each name in ``scripts.json``, which the packager wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._run import script_function

if TYPE_CHECKING:
    from collections.abc import Callable


def __getattr__(name: str) -> Callable[[], None]:
    if name.startswith("__"):
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return script_function(Path(__file__).with_name("scripts.json"), "_rocm_sdk_core", name)
