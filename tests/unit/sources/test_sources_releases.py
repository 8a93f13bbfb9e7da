"""What kind of ref a name is, and which release branch is the newest stable one."""

from __future__ import annotations

import pytest

from build_tools.config.project import RefKind, Refs
from build_tools.sources.mirror import RemoteRefs
from build_tools.sources.releases import Stable, newest_stable, ref_kind
from build_tools.types import CommitId

PYTORCH = Refs(release="release/{version}", release_tag="v{version}.0", nightly=("nightly", "main"))
TRITON = Refs(release="release/{version}.x", release_tag="v{version}.0", nightly=("main",))


@pytest.mark.parametrize(
    ("refs", "ref", "kind"),
    [
        (PYTORCH, "nightly", "nightly"),
        (PYTORCH, "main", "nightly"),
        (PYTORCH, "release/2.9", "release"),
        (PYTORCH, "v2.9.0", "release"),
        (PYTORCH, "v2.9.1", "release"),
        (PYTORCH, "v2.9.0-rc3", "release"),
        (PYTORCH, "release/2.9x", None),
        (PYTORCH, "xrelease/2.9", None),
        (PYTORCH, "release/2.9/fix", None),
        (PYTORCH, "vision", None),
        (PYTORCH, "1" * 40, None),
        (TRITON, "release/3.5.x", "release"),
        (TRITON, "release/3.5", None),
        (TRITON, "release/3.5zx", None),
        (Refs(), "v2.9.0", None),
        (Refs(release="{version}"), "2.9", "release"),
    ],
)
def test_a_ref_is_of_the_kind_that_the_projects_forms_say(refs: Refs, ref: str, kind: RefKind | None) -> None:
    assert ref_kind(refs, ref) == kind


def remote(*names: str) -> RemoteRefs:
    return RemoteRefs(commits=dict.fromkeys(names, CommitId("1" * 40)), head=None)


def test_the_newest_stable_release_is_the_highest_whose_tag_is_there() -> None:
    names = [f"refs/heads/release/{version}" for version in ("2.8", "2.9", "2.10", "2.11")]
    tags = [f"refs/tags/v{version}.0" for version in ("2.8", "2.9", "2.10")]
    more = ["refs/heads/main", "refs/tags/v2.11.0-rc1", "refs/heads/release/2.12-fixes", "refs/tags/v9.0", "HEAD"]
    assert newest_stable(PYTORCH, remote(*names, *tags, *more)) == Stable(branch="release/2.10", tag="v2.10.0")
    assert newest_stable(TRITON, remote("refs/heads/release/3.5.x", "refs/tags/v3.5.0")) == Stable(
        branch="release/3.5.x", tag="v3.5.0"
    )


def test_without_a_tag_or_a_form_there_is_no_stable_release() -> None:
    branches = ("refs/heads/release/2.9", "refs/tags/release/2.8", "refs/tags/v2.8.0")
    assert newest_stable(PYTORCH, remote(*branches)) is None
    assert newest_stable(Refs(release="release/{version}"), remote(*branches, "refs/tags/v2.9.0")) is None
    assert newest_stable(Refs(), remote(*branches)) is None
