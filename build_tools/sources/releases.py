"""What kind of ref a name is for a project, and which of an origin's release branches is the newest stable one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.version import Version

from build_tools.config.project import VERSION_PLACE

if TYPE_CHECKING:
    from build_tools.config.project import RefKind, Refs
    from build_tools.sources.mirror import RemoteRefs

__all__ = ["Stable", "newest_stable", "ref_kind"]

_NUMBER: Final = r"(?P<version>[0-9]+(?:\.[0-9]+)*)"
_CANDIDATE: Final = r"(?:-?rc[0-9]+)?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stable:
    """A release branch, and the tag that says that it is a stable one."""

    branch: str
    tag: str


def ref_kind(refs: Refs, ref: str) -> RefKind | None:
    """Return what kind of ref a name is by a project's ``[refs]``: one of its nightly branches, a release branch or tag; None for others.

    Every tag of a release counts, its patch releases and candidates too: ``v2.9.1`` and ``v2.9.0-rc3`` where the tag of a stable release
    is ``v{version}.0``.
    """
    if ref in refs.nightly:
        return "nightly"
    if refs.release is not None and _form(refs.release).fullmatch(ref):
        return "release"
    if refs.release_tag is not None:
        before = refs.release_tag.partition(VERSION_PLACE)[0]
        if re.fullmatch(re.escape(before) + _NUMBER + _CANDIDATE, ref) or _form(refs.release_tag).fullmatch(ref):
            return "release"
    return None


def newest_stable(refs: Refs, remote: RemoteRefs) -> Stable | None:
    """Return the release branch of the highest version whose tag the origin has; None where no branch has one."""
    if refs.release is None or refs.release_tag is None:
        return None
    form, found = _form(refs.release), {}
    for name in remote.commits:
        branch = name.removeprefix("refs/heads/")
        match = form.fullmatch(branch) if branch != name else None
        if match is not None:
            tag = refs.release_tag.replace(VERSION_PLACE, match["version"])
            if f"refs/tags/{tag}" in remote.commits:
                found[Version(match["version"]), branch] = Stable(branch=branch, tag=tag)
    return found[max(found)] if found else None


def _form(text: str) -> re.Pattern[str]:
    before, _, after = text.partition(VERSION_PLACE)
    return re.compile(re.escape(before) + _NUMBER + re.escape(after))
