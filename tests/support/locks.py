"""Lock entries for tests, made without resolving anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from build_tools.receipts.lock import Lock, LockedFile, LockedPatches, LockedProject, LockedSources, Requested, SubmodulePin
from build_tools.receipts.record import to_json
from build_tools.types import CommitId, Sha256, TreeId

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["locked", "write_lock"]


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


def write_lock(path: Path, filename: str, sha256: Sha256) -> Path:
    """Write a lock of a project whose builds use a package file, and return it."""
    name, version = filename.split("-")[:2]
    file = LockedFile(
        distribution=name, version=version, filename=filename, url=f"https://host.example/{filename}", sha256=sha256
    )
    path.write_bytes(to_json(Lock(projects={"user": msgspec.structs.replace(locked("user"), owned=(file,))})))
    return path
