"""The retention table: a policy that is broken anywhere deletes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.config.retention import RETENTION_FILE, load_retention
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("grace-days = 14", "grace-days = 0", ">= 1"),
        ("grace-days = 14\n", "", "grace-days"),
        ("keep-days = 7", "keep-days = -7", ">= 1"),
        ("keep-days = 7", "keep-day = 7", "keep-day"),
        ("keep-days = 7", 'keep-days = "seven"', "int"),
        ('name = "nightly"', 'name = "nightli"', "nightly has no entry; there is no channel nightli"),
        ('name = "nightly"', 'name = "dev"', "dev is there twice"),
        ('keep-bytes-of = ["prerelease",', 'keep-bytes-of = ["prereleases",', "no channel prereleases"),
        ('release-type = "ci"', 'release-type = "dev"', "release type ci has no entry; the release type dev is there twice"),
        ('release-type = "ci"', 'release-type = "desk"', "desk"),
        ("schema = 1", "schema = 2", "2"),
        ("schema = 1", "schema 1", "line"),
    ],
)
def test_a_broken_policy_is_an_error_that_names_the_file(tmp_path: Path, before: str, after: str, said: str) -> None:
    text = RETENTION_FILE.read_text(encoding="utf-8")
    assert before in text
    path = tmp_path / "retention.toml"
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_retention(path)
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.file == path
    assert said in f"{caught.value} {caught.value.where} {caught.value.hint}"


def test_the_policy_here_can_be_read_and_keeps_releases_for_ever() -> None:
    table = load_retention()
    assert (table.of_channel("release").keep_days, table.of_runs("release").keep_days) == (None, None)
