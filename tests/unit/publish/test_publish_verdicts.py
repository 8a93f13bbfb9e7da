from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.publish.verdicts import put_verdict, read_verdicts
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import to_json
from build_tools.receipts.verdict import TestCounts, Verdict
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.memory_store import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

PLACE = IndexFolder("7-linux/pytorch/gfx94X-dcgpu")
ONE, TWO = digest.of_bytes(b"one"), digest.of_bytes(b"two")


def verdict(*wheels: str, target: str = "gfx942") -> Verdict:
    return Verdict(
        project="demo",
        wheels=tuple(JudgedWheel(filename=f"demo-{sha[:4]}.whl", sha256=sha) for sha in wheels),  # type: ignore[arg-type]
        target=target,
        outcome="passed",
        counts=TestCounts(passed=3),
        report_sha256=digest.of_bytes(b"report"),
        python_version="3.12.1",
        platform="linux",
    )


def test_a_verdict_lies_under_its_digest_and_is_written_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    name = put_verdict(store, PLACE, verdict(ONE))
    path = tmp_path / PLACE.prefix / "verdicts" / f"{name}.json"
    assert path.read_bytes() == to_json(verdict(ONE))
    written = path.stat().st_mtime_ns
    assert put_verdict(store, PLACE, verdict(ONE)) == name
    assert path.stat().st_mtime_ns == written


def test_verdicts_are_found_by_the_bytes_that_they_speak_of() -> None:
    store = MemoryStore()
    for one in (verdict(ONE), verdict(ONE, TWO, target="gfx1201"), verdict(TWO)):
        put_verdict(store, PLACE, one)
    found = read_verdicts(store, PLACE, [ONE])
    assert sorted(found, key=lambda one: one.target) == [verdict(ONE, TWO, target="gfx1201"), verdict(ONE)]
    assert read_verdicts(store, PLACE, [digest.of_bytes(b"other")]) == ()
    assert read_verdicts(store, IndexFolder("elsewhere"), [ONE]) == ()


def test_a_verdict_of_the_same_name_in_a_neighbour_index_is_not_taken_for_ones_own() -> None:
    store = MemoryStore()
    put_verdict(store, IndexFolder(f"{PLACE.prefix}-staging"), verdict(ONE))
    assert read_verdicts(store, PLACE, [ONE]) == ()


@pytest.mark.parametrize("data", [b"", b"{}\n", to_json(msgspec.structs.replace(verdict(ONE), outcome="failed"))])
def test_a_verdict_that_is_not_what_its_name_says_stops_the_reader(data: bytes) -> None:
    store = MemoryStore()
    name = put_verdict(store, PLACE, verdict(ONE))
    store.put(f"{PLACE.prefix}/verdicts/{name}.json", data, content_type="application/json", cache_seconds=0)
    with pytest.raises(HipwrightError, match="has other bytes than its name says") as caught:
        read_verdicts(store, PLACE, [ONE])
    assert caught.value.code.name == "bad-index"


def test_what_is_no_verdict_at_all_stops_the_reader_even_under_its_own_digest() -> None:
    store = MemoryStore()
    key = f"{PLACE.prefix}/verdicts/{digest.of_bytes(b'{}')}.json"
    store.put(key, b"{}", content_type="application/json", cache_seconds=0)
    with pytest.raises(HipwrightError, match="states no schema") as caught:
        read_verdicts(store, PLACE, [ONE])
    assert caught.value.code.name == "bad-index"
