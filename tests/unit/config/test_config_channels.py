from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.config.channels import CHANNELS_FILE, load_channels
from build_tools.errors import HipwrightError
from build_tools.stores.base import parse_key

if TYPE_CHECKING:
    from pathlib import Path


def test_rehearsal_alone_accepts_verdicts_without_a_gpu() -> None:
    table = load_channels()
    assert [channel.name for channel in table.channel if channel.accepts_cpu_only] == ["rehearsal"]
    assert {channel.name for channel in table.channel} == {"rehearsal", "dev", "nightly", "prerelease", "release"}


def test_every_channel_has_its_own_folder_that_a_store_can_hold() -> None:
    for channel in load_channels().channel:
        assert parse_key(channel.prefix) == f"channels/{channel.name}"


def test_release_types_say_what_is_built_against_and_what_may_be_superseded() -> None:
    table = load_channels()
    assert table.find_release_type(table.desk_release_type).rocm_index_url == "https://nightly.repo.amd.com/rocm/whl-next/"
    assert table.find_release_type("ci").rocm_index_url is None
    assert [one.name for one in table.release_type if one.supersede] == ["ci", "dev"]
    urls = [one.rocm_index_url for one in table.release_type if one.rocm_index_url is not None]
    assert all(url.startswith("https://") and url.endswith("/") for url in urls)
    assert len(set(urls)) == len(urls) == 4


def test_an_unknown_channel_is_named_with_the_close_ones() -> None:
    with pytest.raises(HipwrightError) as caught:
        load_channels().find_channel("nightyl")
    assert caught.value.code.name == "unknown-channel"
    assert "did you mean nightly?" in (caught.value.hint or "")
    assert "rehearsal" in (caught.value.hint or "")


def test_an_unknown_release_type_is_named() -> None:
    with pytest.raises(HipwrightError) as caught:
        load_channels().find_release_type("weekly")
    assert caught.value.code.name == "bad-option-value"
    assert "prerelease" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "dev"\nsummary', 'name = "nightly"\nsummary', "the channel nightly is there twice"),
        ("channels/dev", "channels/nightly", "two channels have the prefix channels/nightly/"),
        ("channels/dev", "channels/nightly/dev", "the prefix channels/nightly/dev/ lies inside channels/nightly/"),
        ('name = "dev"\nsupersede', 'name = "ci"\nsupersede', "the release type ci is there twice"),
        ('desk-release-type = "nightly"', 'desk-release-type = "weekly"', "weekly"),
        ("accepts-cpu-only = true", "accepts-cpu = true", "accepts-cpu"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = CHANNELS_FILE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "channels.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        load_channels(path)
    assert caught.value.code.name == "bad-data-file"
    assert said in caught.value.message
    assert str(path) in str(caught.value.where)


@pytest.mark.parametrize(
    ("release_type", "may"), [(None, True), ("ci", True), ("dev", True), ("nightly", False), ("release", False)]
)
def test_only_outputs_that_nobody_relies_on_may_be_superseded(release_type: str | None, may: bool) -> None:  # noqa: FBT001 - a value
    assert load_channels().may_supersede(release_type) is may
