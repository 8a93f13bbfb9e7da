from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.config import buckets
from build_tools.config.buckets import bucket_table, external_folder, is_repository
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path

OWNER = "ROCm/TheRock"
ACCOUNT = "arn:aws:iam::692859939525:role"


@pytest.mark.parametrize(
    ("repository", "fork", "release_type", "bucket", "role", "external"),
    [
        (OWNER, False, "ci", "therock-ci-artifacts", "therock-ci", ""),
        ("rocm/therock", False, "ci", "therock-ci-artifacts", "therock-ci", ""),
        (OWNER, True, "ci", "therock-ci-artifacts-external", None, "ROCm-TheRock/"),
        ("ROCm/rocm-libraries", False, "ci", "therock-ci-artifacts-external", "therock-ci-external", "ROCm-rocm-libraries/"),
        ("me/TheRock", False, "ci", "therock-ci-artifacts-external", "therock-ci-external", "me-TheRock/"),
        (OWNER, False, "dev", "therock-dev-artifacts", "therock-dev", ""),
        ("ROCm/rocm-systems", False, "dev", "therock-dev-artifacts", "therock-dev", ""),
        (OWNER, False, "nightly", "therock-nightly-artifacts", "therock-nightly", ""),
        (OWNER, False, "prerelease", "therock-prerelease-artifacts", "therock-prerelease", ""),
        (OWNER, False, "release", "therock-release-artifacts", None, ""),
    ],
)
def test_repository_fork_and_release_type_choose_the_bucket_of_a_run(
    repository: str, release_type: str, bucket: str, role: str | None, external: str, *, fork: bool
) -> None:
    chosen = bucket_table().of_run(repository=repository, release_type=release_type, fork=fork)
    assert (chosen.bucket.name, chosen.external_repo, chosen.bucket.region) == (bucket, external, "us-east-2")
    assert chosen.bucket.role_arn == (f"{ACCOUNT}/{role}" if role else None)
    assert chosen.bucket.anonymous


def test_a_release_type_without_a_bucket_is_refused() -> None:
    with pytest.raises(HipwrightError) as caught:
        bucket_table().of_run(repository=OWNER, release_type="weekly")
    assert caught.value.code.name == "bad-option-value"
    assert "nightly" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "text", ["", "x", "a/b/c", "../b", "a/..", "a/.", "a b/c", "a/b\n", "-a/b", "a/", "/b", "a/b?x", "a//b", "é/b"]
)
def test_what_is_no_repository_is_refused(text: str) -> None:
    assert not is_repository(text)
    with pytest.raises(HipwrightError) as caught:
        external_folder(text)
    assert caught.value.code.name == "bad-option-value"
    with pytest.raises(HipwrightError):
        bucket_table().of_run(repository=text)


@pytest.mark.parametrize(
    ("release_type", "product", "name"),
    [
        ("dev", "core", "therock-repo-amd-dev-core"),
        ("dev", "jax", "therock-repo-amd-dev-jax"),
        ("nightly", "pytorch", "therock-repo-amd-nightly-pytorch"),
        ("prerelease", "pytorch", "therock-repo-amd-rc-pytorch"),
    ],
)
def test_a_product_has_a_bucket_for_each_stream(release_type: str, product: str, name: str) -> None:
    bucket = bucket_table().of_product(release_type=release_type, product=product)
    stream = name.split("-")[3]
    assert bucket.name == name
    assert bucket.role_arn == f"arn:aws:iam::324352301041:role/therock-repo-{stream}-{product}"
    assert (bucket.anonymous, bucket.prefix) == (False, "v5")


@pytest.mark.parametrize(("release_type", "product"), [("ci", "core"), ("release", "core"), ("dev", "tensorflow")])
def test_what_is_not_published_has_no_bucket(release_type: str, product: str) -> None:
    with pytest.raises(HipwrightError):
        bucket_table().of_product(release_type=release_type, product=product)


def test_buckets_are_known_by_name() -> None:
    table = bucket_table()
    trial = table.find(table.trial)
    assert trial is not None
    assert trial.role_arn is None
    packages = table.find("therock-nightly-packages")
    assert packages is not None
    assert not packages.anonymous
    assert table.find("somebody-elses") is None


def test_a_run_in_a_bucket_without_a_table_is_an_error_of_the_file(tmp_path: Path) -> None:
    text = buckets._FILE.read_text(encoding="utf-8")
    file = tmp_path / "buckets.toml"
    file.write_text(text.replace("[bucket.therock-dev-artifacts]", "[bucket.renamed]"))
    with pytest.raises(HipwrightError) as caught:
        bucket_table(file)
    assert caught.value.code.name == "bad-data-file"
    assert "therock-dev-artifacts" in caught.value.message
