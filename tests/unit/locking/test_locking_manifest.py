"""Source manifests: what is read, what is refused with its key, and that what is written is read back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.locking.manifest import Manifest, ManifestEntry, make_manifest, manifest_bytes, parse_manifest
from build_tools.receipts.lock import Lock, LockedRocm
from build_tools.types import CommitId, ProjectName
from tests.support.locks import locked

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECTS = tuple(map(ProjectName, ("pytorch", "pytorch-vision", "triton")))
ONE, TWO = "1" * 40, "2" * 40
PYTORCH = {"repo": "https://github.com/ROCm/pytorch", "commit": ONE, "branch": "release/2.9", "version": "2.9.0"}


def parse(value: object) -> Manifest:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return parse_manifest(data, name="m.json", projects=PROJECTS)


def bad(value: object, key: str | None) -> str:
    with pytest.raises(HipwrightError) as caught:
        parse(value)
    assert caught.value.code.name == "bad-manifest"
    where = caught.value.where
    assert where is not None
    assert (where.file, where.key) == ("m.json", key)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("head", [{"schema_version": 1}, {}])
def test_a_manifest_of_todays_builds_is_read(head: Mapping[str, Any]) -> None:
    vision = {"repo": "https://github.com/pytorch/vision", "commit": TWO}
    manifest = parse({**head, "pytorch": PYTORCH, "pytorch_vision": vision, "therock": {"version": "7.10.0", "commit": ONE}})
    assert manifest.projects == {
        "pytorch": ManifestEntry(
            repo="https://github.com/ROCm/pytorch", commit=CommitId(ONE), branch="release/2.9", version="2.9.0"
        ),
        "pytorch-vision": ManifestEntry(repo="https://github.com/pytorch/vision", commit=CommitId(TWO)),
    }
    assert manifest.rocm_version == "7.10.0"
    assert manifest.passed_by == ()


def test_a_commit_in_capitals_is_the_same_commit() -> None:
    assert parse({"pytorch": {**PYTORCH, "commit": "A" * 40}}).projects["pytorch"].commit == "a" * 40


def test_keys_that_mean_nothing_here_are_named() -> None:
    manifest = parse({"pytorch": {**PYTORCH, "color": "red"}, "jax": {"repo": 7}, "note": "words"})
    assert manifest.passed_by == ("pytorch.color", "jax", "note")


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ([], None),
        (b"{", None),
        (b"\xff", None),
        ({"schema_version": 2}, "schema_version"),
        ({"schema_version": "1"}, "schema_version"),
        ({"schema_version": True}, "schema_version"),
        ({"schema_version": None}, "schema_version"),
        ({"pytorch": "main"}, "pytorch"),
        ({"pytorch": {"commit": ONE}}, "pytorch.repo"),
        ({"pytorch": {**PYTORCH, "repo": 3}}, "pytorch.repo"),
        ({"pytorch": {**PYTORCH, "repo": "pytorch"}}, "pytorch.repo"),
        ({"pytorch": {**PYTORCH, "repo": "ext::sh"}}, "pytorch.repo"),
        ({"pytorch": {**PYTORCH, "repo": "https://me:secret@host.example/x"}}, "pytorch.repo"),
        ({"pytorch": {"repo": "https://host.example/x"}}, "pytorch.commit"),
        ({"pytorch": {**PYTORCH, "commit": "abc"}}, "pytorch.commit"),
        ({"pytorch": {**PYTORCH, "commit": ONE.replace("1", "g")}}, "pytorch.commit"),
        ({"pytorch": {**PYTORCH, "branch": 1}}, "pytorch.branch"),
        ({"pytorch": {**PYTORCH, "branch": "-x"}}, "pytorch.branch"),
        ({"pytorch": {**PYTORCH, "branch": "a b"}}, "pytorch.branch"),
        ({"pytorch": {**PYTORCH, "branch": "a:b"}}, "pytorch.branch"),
        ({"pytorch": {**PYTORCH, "branch": "a^{tree}"}}, "pytorch.branch"),
        ({"pytorch": {**PYTORCH, "repo": "https://host.example/a b"}}, "pytorch.repo"),
        ({"pytorch": {**PYTORCH, "branch": ""}}, "pytorch.branch"),
        ({"pytorch": {**PYTORCH, "version": ["2"]}}, "pytorch.version"),
        ({"therock": "7.10.0"}, "therock"),
        ({"therock": {"version": 7}}, "therock.version"),
        (b'{"pytorch": {}, "pytorch": {}}', "pytorch"),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_key(value: object, key: str | None) -> None:
    assert bad(value, key).startswith("m.json ")


def test_a_refusal_shows_no_secret() -> None:
    message = bad({"pytorch": {**PYTORCH, "repo": "https://me:secret@host.example/x"}}, "pytorch.repo")
    assert "secret" not in message


def test_what_is_locked_is_written_with_branches_and_versions() -> None:
    branch = locked(
        "pytorch-vision", origin="https://github.com/pytorch/vision.git", commit=TWO, ref="release/0.24", ref_is="branch"
    )
    tag = locked("pytorch", origin="https://github.com/pytorch/pytorch.git", commit=ONE, ref="v2.9.0", ref_is="tag")
    rocm = msgspec.structs.replace(tag, rocm=LockedRocm(source="s", version="7.10.0", files=()))
    data = manifest_bytes(make_manifest(Lock(projects={"pytorch-vision": branch, "pytorch": rocm})))
    assert json.loads(data) == {
        "schema_version": 1,
        "pytorch": {"repo": "https://github.com/pytorch/pytorch", "commit": ONE, "version": "1.0"},
        "pytorch_vision": {
            "repo": "https://github.com/pytorch/vision",
            "commit": TWO,
            "branch": "release/0.24",
            "version": "1.0",
        },
        "therock": {"version": "7.10.0"},
    }
    assert data == manifest_bytes(make_manifest(Lock(projects={"pytorch": rocm, "pytorch-vision": branch})))


def test_two_versions_of_rocm_fit_into_no_manifest() -> None:
    entries = {
        name: msgspec.structs.replace(locked(name), rocm=LockedRocm(source="s", version=version, files=()))
        for name, version in (("pytorch", "7.10.0"), ("triton", "7.11.0"))
    }
    with pytest.raises(HipwrightError, match=r"pytorch to 7\.10\.0, triton to 7\.11\.0") as caught:
        make_manifest(Lock(projects=entries))
    assert caught.value.code.name == "bad-manifest"


COMMITS = st.text(alphabet="0123456789abcdef", min_size=40, max_size=40).map(CommitId)
BRANCHES = st.none() | st.from_regex(r"[a-z][a-z0-9./-]{0,20}", fullmatch=True)
ENTRIES = st.builds(
    ManifestEntry,
    repo=st.from_regex(r"https://[a-z]{1,9}\.example/[a-z]{1,9}", fullmatch=True),
    commit=COMMITS,
    branch=BRANCHES,
    version=st.none() | st.just("2.9.0"),
)


@given(st.dictionaries(st.sampled_from([str(name) for name in PROJECTS]), ENTRIES), st.none() | st.just("7.10.0"))
def test_what_is_written_is_read_back(projects: dict[str, ManifestEntry], version: str | None) -> None:
    manifest = Manifest(projects=projects, rocm_version=version)
    assert parse(manifest_bytes(manifest)) == manifest


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_manifest_or_refused(data: bytes) -> None:
    codes = set()
    try:
        parse(data)
    except HipwrightError as error:
        codes.add(error.code.name)
    assert codes <= {"bad-manifest"}
