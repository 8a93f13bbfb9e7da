"""A package file that was chosen, with what it requires: what one resolver run reads of it, and another need not read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from build_tools.environments.candidate import Candidate
    from build_tools.environments.requires import Requires
    from build_tools.types import Sha256

__all__ = ["Chosen"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """A file that was chosen, what it requires, and the SHA-256 of its bytes."""

    candidate: Candidate
    requires: Requires
    sha256: Sha256
