"""Fat binaries are walked by the sizes that they record, compressed or not, and never crash who reads them."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.wheels.code_object import target_of_code
from build_tools.wheels.fatbin import read_bundles
from tests.support.hip_objects import bundle, code_object, compressed, section

_ALL = ("gfx906:xnack-", "gfx90a:sramecc+:xnack+", "gfx942", "gfx1201")


def _targets(data: bytes) -> tuple[list[tuple[str, ...]], str | None]:
    bundles, fault = read_bundles(io.BytesIO(data), 0, len(data))
    return [one.targets for one in bundles], fault


def test_the_targets_of_a_bundle_are_those_of_its_ids() -> None:
    assert _targets(bundle(_ALL)) == ([_ALL], None)


@pytest.mark.parametrize("kind", ["hip", "hipv4"])
def test_both_kinds_of_ids_are_known(kind: str) -> None:
    assert _targets(bundle(["gfx942"], kind=kind)) == ([("gfx942",)], None)


def test_generic_targets_and_spirv_are_told_by_their_names() -> None:
    names = ("gfx9-generic", "gfx9-4-generic", "gfx10-3-generic:xnack-", "amdgcnspirv")
    assert _targets(bundle(names)) == ([names], None)


def test_bundles_follow_each_other_past_alignment() -> None:
    found, fault = _targets(
        section(bundle(["gfx942"]), bundle(["gfx942", "gfx1201"]), compressed(bundle(["gfx906"])), bundle(_ALL))
    )
    assert found == [("gfx942",), ("gfx942", "gfx1201"), ("gfx906",), _ALL]
    assert fault is None


def test_what_looks_like_a_bundle_inside_of_code_is_code() -> None:
    inner = b"x" * 100 + bundle(["gfx900"])
    assert _targets(section(bundle(["gfx942"], code={"gfx942": inner}), bundle(["gfx1201"]))) == (
        [("gfx942",), ("gfx1201",)],
        None,
    )


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_each_compressed_form_is_read_and_what_follows_it(version: int, method: str) -> None:
    large = bundle(_ALL, code={"gfx942": bytes(range(256)) * 2000})
    data = section(compressed(large, version=version, method=method), bundle(["gfx1201"]))
    assert _targets(data) == ([_ALL, ("gfx1201",)], None)


def test_a_target_without_code_is_not_inside() -> None:
    bundles, fault = read_bundles(io.BytesIO(data := bundle(["gfx942", "gfx1201"], code={"gfx942": b""})), 0, len(data))
    assert (bundles[0].targets, bundles[0].empty, fault) == (("gfx1201",), ("gfx942",), None)


def test_code_of_another_target_than_its_entry_says_is_not_inside() -> None:
    wrong = bundle(["gfx942", "gfx1201"], code={"gfx942": code_object("gfx1201"), "gfx1201": code_object("gfx1201")})
    assert _targets(wrong) == ([("gfx1201",)], None)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (bundle(["gfx942"])[:-1], "ends before"),
        (bundle(["gfx942"])[:60], "cannot be read"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1 << 60), "entries"),
        (section(bundle(["gfx942"])) + b"something else", "begins with"),
        (compressed(bundle(["gfx942"]))[:-4], "bytes, and"),
        (compressed(bundle(["gfx942"]), version=1)[:-4], "no end"),
        (b"CCOB" + struct.pack("<2H", 9, 1) + bytes(40), "version 9"),
        (b"CCOB" + struct.pack("<2HIIQ", 2, 7, 40, 10, 0) + bytes(16), "method 7"),
        (compressed(b"no bundle at all"), "no bundle"),
        (compressed(bundle(["gfx942"]))[:34].ljust(len(compressed(bundle(["gfx942"]))), b"\1"), "damaged"),
    ],
)
def test_what_cannot_be_is_said(data: bytes, says: str) -> None:
    fault = _targets(data)[1]
    assert fault is not None
    assert says in fault


def test_nothing_and_zeros_hold_no_bundle() -> None:
    assert _targets(b"") == ([], None)
    assert _targets(bytes(100_000)) == ([], None)


@pytest.mark.parametrize(
    ("start", "size"),
    [(0, 10_000), (10_000, 1), (1 << 62, 1 << 62), ((1 << 63) - 1, 1), (1 << 63, 1), ((1 << 64) - 1, (1 << 64) - 1)],
)
def test_a_place_beyond_the_end_of_the_file_is_a_fault(start: int, size: int) -> None:
    _, fault = read_bundles(io.BytesIO(bytes(5000)), start, size)
    assert fault == "the place for its GPU code reaches beyond the end of the file"


def test_the_beginning_of_what_is_compressed_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr("build_tools.wheels.fatbin._Unpacked.add", lambda _self, _packed, size: made.append(size))
    packed = compressed(bundle(_ALL, code={"gfx942": bytes(64 << 20)}))
    assert _targets(packed) == ([_ALL], None)
    assert sum(made) <= 32 << 20


@pytest.mark.parametrize(("version", "count"), [(1, 1), (2, 40), (3, 40)])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_a_bomb_is_a_fault_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch, version: int, count: int, method: str) -> None:
    monkeypatch.setattr("build_tools.wheels.fatbin._BOMB_SIZE", 1 << 20)
    part = compressed(bundle(["gfx942"], code={"gfx942": bytes(8 << 20)}), version=version, method=method)
    found, fault = _targets(part * count)
    assert fault is not None
    assert "and more is not read" in fault
    assert len(found) < count


@given(data=st.data())
def test_damage_is_a_fault_and_never_a_crash(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([bundle(_ALL)[:600], compressed(bundle(["gfx942"])), section(bundle(["gfx942"]))]))
    changed = bytearray(whole)
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=8)):
        changed[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(changed)))
    _targets(bytes(changed[:cut]))


@pytest.mark.parametrize("target", ["gfx942", "gfx90a:sramecc+:xnack-", "gfx906:xnack+", "gfx1030"])
def test_a_code_object_tells_its_target(target: str) -> None:
    assert target_of_code(code_object(target)) == target


def test_what_is_no_code_object_has_no_target() -> None:
    assert target_of_code(b"\x7fELF") is None
    assert target_of_code(code_object("gfx942")[:18] + b"\x3e\0" + code_object("gfx942")[20:]) is None
    unknown = bytearray(code_object("gfx942"))
    unknown[48] = 0xFE
    assert target_of_code(bytes(unknown)) == "?"
