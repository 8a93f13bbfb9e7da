from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.stores.base import Abilities
from build_tools.stores.listing import ListingStore
from build_tools.stores.s3 import S3Store
from build_tools.stores.s3_abilities import AMAZON, is_amazon
from build_tools.stores.s3_access import Access

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("server", "amazon"),
    [
        ("https://bucket.s3.amazonaws.com", True),
        ("https://s3.eu-west-1.amazonaws.com", True),
        ("https://s3.cn-north-1.amazonaws.com.cn", True),
        ("http://127.0.0.1:9000", False),
        ("https://amazonaws.com.example.org", False),
        ("https://s3.myamazonaws.com", False),
    ],
)
def test_amazons_servers_are_known_by_their_names(server: str, *, amazon: bool) -> None:
    assert is_amazon(server) is amazon


def test_what_amazons_servers_can_is_known_without_asking(tmp_path: Path) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    for writing in (True, False):
        assert S3Store("bucket", access=Access(machine=keys), writing=writing).abilities == AMAZON
    (tmp_path / "config").write_text("[profile other]\nendpoint_url = http://127.0.0.1:9\n")
    machine = {**keys, "AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_PROFILE": "other"}
    assert S3Store("bucket", access=Access(machine=machine)).abilities == Abilities()


def test_of_what_is_only_read_nothing_is_found_out() -> None:
    nothing = Abilities(slash_keys=False, conditional_copy=False, byte_order=False)
    assert S3Store("bucket", access=Access(endpoint_url="http://127.0.0.1:9")).abilities == nothing
    assert ListingStore("http://127.0.0.1:9/x").abilities == nothing


def test_accesses_are_the_same_by_server_and_credentials() -> None:
    here = Access(machine={"AWS_PROFILE": "a", "HOME": "/x"}, endpoint_url="http://127.0.0.1:9/")
    assert here.reaches_what(Access(machine={"AWS_PROFILE": "a"}, endpoint_url="http://127.0.0.1:9", region="eu-west-1"))
    assert not here.reaches_what(Access(machine={"AWS_PROFILE": "b"}, endpoint_url="http://127.0.0.1:9"))
    assert not here.reaches_what(Access(machine={"AWS_PROFILE": "a"}, endpoint_url="http://127.0.0.1:8"))
