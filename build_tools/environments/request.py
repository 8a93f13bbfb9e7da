"""What an environment is to hold, and the digest of that, which is its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from build_tools import digest

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.environments.interpreter import Interpreter
    from build_tools.environments.settings import BaseIndex
    from build_tools.receipts.lock import LockedFile
    from build_tools.types import Sha256

__all__ = ["EnvironmentRequest", "environment_digest"]

_RECIPE: Final = 1
"""Counts up when the steps change, so that environments made in the old way are not taken for new ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentRequest:
    """What an environment is to hold.

    Parameters
    ----------
    interpreter
        The interpreter that it is for.
    owned
        Exact files that come only from where they were locked.
    pins
        A hash-pinned requirements file, installed from the base index.
    requires
        Further requirements. An owned name in them must be met by ``owned``; everything else comes from the base index.
    build_pins
        A hash-pinned requirements file with what source distributions among the owned files are built with, where the environment
        itself does not hold it; it is installed beside the environment.
    with_pip
        Whether the interpreter's own pip is put in: for an environment that people go on installing into.
    installer
        What installs: uv where there is one, when None. It changes nothing of what is installed.
    purpose
        What it is for, in words for people; no part of the digest.
    """

    interpreter: Interpreter
    owned: tuple[LockedFile, ...] = ()
    pins: Path | None = None
    requires: tuple[str, ...] = ()
    build_pins: Path | None = None
    with_pip: bool = False
    installer: Literal["pip", "uv"] | None = None
    purpose: str = "an environment"


def environment_digest(request: EnvironmentRequest, base: BaseIndex) -> Sha256:
    """Return the digest of what goes into an environment, which is its name."""
    interpreter = request.interpreter
    parts = {
        "recipe": _RECIPE,
        "python": [str(interpreter.path), interpreter.version, interpreter.python_tag],
        "owned": sorted([file.distribution, file.version, file.filename, file.sha256] for file in request.owned),
        "pins": digest.of_file(request.pins) if request.pins is not None else None,
        "requires": sorted(request.requires),
        "base": base.identity(),
    }
    return digest.of_value({**parts, **({"pip": True} if request.with_pip else {})})
