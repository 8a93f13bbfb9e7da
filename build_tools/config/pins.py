"""Where a project's commit may be stated: a file of another project's tree, or one beside ``project.toml``."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from build_tools.config.fields import NonEmpty, PlatformName, Table

__all__ = ["CommitFilePin", "Pin", "RefKind", "RelatedCommitsPin", "VersionFilePin"]

RefKind = Literal["release", "nightly"]


class _Pin(Table, frozen=True, kw_only=True):
    """A place that may state a project's commit.

    ``platforms`` are those that it speaks for. ``when`` limits it to refs of that kind of the project that states it.
    """

    platforms: Annotated[tuple[PlatformName, ...], msgspec.Meta(min_length=1)] = ("linux", "windows")
    when: RefKind | None = None


class RelatedCommitsPin(_Pin, frozen=True, kw_only=True, tag="related-commits", tag_field="kind"):
    """A row of another project's pin file: ``<os>|<source>|<project>|<branch>|<commit>|<origin>``.

    ``project`` is the project whose tree holds ``file``; ``row`` is the name in the third field, ``linux`` and ``windows``
    what the first one is for that platform. ``held_by`` is the repository of that project whose branches have the file, where its
    own origin's have not.
    """

    project: NonEmpty
    file: NonEmpty = "related_commits"
    row: NonEmpty
    held_by: NonEmpty | None = None
    linux: NonEmpty = "ubuntu"
    windows: NonEmpty = "ubuntu"


class CommitFilePin(_Pin, frozen=True, kw_only=True, tag="commit-file", tag_field="kind"):
    """A file that holds one commit: of another project's tree, or without ``project`` beside this ``project.toml``.

    ``origin`` is the repository that has the commit, where it is another one than the project's own; ``branch`` the one that holds it.
    """

    project: NonEmpty | None = None
    file: NonEmpty
    origin: NonEmpty | None = None
    branch: NonEmpty | None = None


class VersionFilePin(_Pin, frozen=True, kw_only=True, tag="version-file", tag_field="kind"):
    """A file of another project's tree that holds a version; ``branch`` says which branch that is (``release/{major}.{minor}.x``)."""

    project: NonEmpty
    file: NonEmpty
    branch: NonEmpty


Pin = RelatedCommitsPin | CommitFilePin | VersionFilePin
