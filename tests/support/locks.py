"""Lock entries for tests, made without resolving anything."""

from __future__ import annotations

from typing import Literal

from build_tools.receipts.lock import LockedPatches, LockedProject, LockedSources, Requested, SubmodulePin
from build_tools.types import CommitId, Sha256, TreeId

__all__ = ["locked"]


def locked(
    name: str,
    *,
    commit: str = "a" * 40,
    ref: str = "main",
    ref_is: Literal["branch", "tag", "commit"] | None = "branch",
    origin: str | None = None,
    reason: str = "asked for",
    version: str = "1.0",
    submodules: tuple[SubmodulePin, ...] = (),
    requested: Requested | None = None,
    recipe: str = "e" * 64,
) -> LockedProject:
    """Return an entry of a project with these sources, and nothing else of note."""
    return LockedProject(
        name=name,
        requested=requested or Requested(),
        recipe=Sha256(recipe),
        sources=LockedSources(
            origin=origin or f"https://host.example/{name}.git",
            ref=ref,
            ref_is=ref_is,
            reason=reason,
            commit=CommitId(commit),
            tree=TreeId("b" * 40),
            base_version=version,
            submodules=submodules,
        ),
        patches=LockedPatches(line=None, reason="declared", digest=Sha256("c" * 64), submodules=submodules),
        hipify=None,
        rocm=None,
    )
