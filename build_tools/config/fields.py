"""What the tables of data files have in common: strict keys, and values that mean something."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

__all__ = ["Minutes", "NonEmpty", "PlatformName", "Sha256Text", "Table"]


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """One table of a data file: keys in kebab case, none unknown."""


Sha256Text = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
Minutes = Annotated[int, msgspec.Meta(gt=0, le=7 * 24 * 60)]
PlatformName = Literal["linux", "windows"]
