from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.targets import (
    Target,
    expand_family,
    family_name,
    family_names,
    known_targets,
    offers,
    parse_target,
    parse_targets,
    target_of,
)
from build_tools.errors import HipwrightError
from build_tools.locking.places import wanted_family, wanted_targets
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

FEATURES = st.lists(
    st.tuples(st.sampled_from(["xnack", "sramecc"]), st.sampled_from("+-")), max_size=2, unique_by=lambda pair: pair[0]
)


def test_families_and_short_names_lead_to_known_targets() -> None:
    table = known_targets()
    assert len(table.targets) == len(set(table.targets)) == 28
    for family, members in table.families.items():
        assert set(members) <= set(table.targets), family
        assert members
    assert not table.families.keys() & set(table.targets)
    for alias, family in table.aliases.items():
        assert family in table.families, alias
        assert alias not in table.families
        assert alias not in table.targets


@pytest.mark.parametrize(
    ("name", "full", "members"),
    [
        ("gfx94x", "gfx94X-dcgpu", ("gfx942",)),
        ("gfx120x", "gfx120X-all", ("gfx1200", "gfx1201")),
        ("gfx110x", "gfx110X-all", ("gfx1100", "gfx1101", "gfx1102", "gfx1103")),
        ("gfx950", "gfx950", ("gfx950",)),
        ("gfx950-dcgpu", "gfx950-dcgpu", ("gfx950",)),
    ],
)
def test_a_family_has_a_name_and_members(name: str, full: str, members: tuple[str, ...]) -> None:
    assert family_name(name) == full
    assert expand_family(name) == members


@pytest.mark.parametrize(("name", "near"), [("gfx94X", "gfx94X"), ("gfx9420", "gfx942"), ("x", "families: ")])
def test_a_family_that_is_none_is_refused_with_what_is_near(name: str, near: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        expand_family(name)
    assert caught.value.code.name == "bad-option-value"
    assert near in (caught.value.hint or "")


@given(st.sampled_from(known_targets().targets), FEATURES)
def test_a_target_is_read_by_its_parts_in_any_order(base: str, features: list[tuple[str, str]]) -> None:
    words = [name + state for name, state in features]
    target = parse_target(":".join([base, *words]))
    assert target == parse_target(":".join([base, *reversed(words)])) == Target(base, tuple(sorted(words)))
    assert parse_target(str(target)) == target


@given(st.text(alphabet="gfx0123456789abcXd:+-n", max_size=14))
def test_a_text_that_is_read_as_a_target_has_a_known_base(text: str) -> None:
    target = parse_target(text)
    assert target is None or target.base in known_targets().targets


@pytest.mark.parametrize("text", ["", "gfx9420", "gfx94", "gfx942:", "gfx942:xnack", "gfx942:xnack+:xnack-", "gfx942 ", "GFX942"])
def test_what_is_no_target_is_refused(text: str) -> None:
    assert parse_target(text) is None
    with pytest.raises(HipwrightError) as caught:
        target_of(text)
    assert caught.value.code.name == "bad-option-value"
    with pytest.raises(HipwrightError):
        parse_targets(("gfx942", text))


def test_targets_are_kept_as_written_each_once() -> None:
    assert parse_targets(("gfx942:xnack+", "gfx1201", "gfx942:xnack+")) == ("gfx942:xnack+", "gfx1201")


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ("gfx942", ["gfx942", "gfx942:xnack+", "gfx942:xnack-"]),
        ("gfx942:xnack+", ["gfx942", "gfx942:xnack+"]),
        ("gfx942:xnack-", ["gfx942", "gfx942:xnack-"]),
        ("gfx94X-dcgpu", ["gfx94X-dcgpu", "gfx942", "gfx942:xnack+", "gfx942:xnack-"]),
        ("gfx94x", ["gfx94X-dcgpu", "gfx942", "gfx942:xnack+", "gfx942:xnack-"]),
        ("gfx120X-all", ["gfx1200", "gfx1201"]),
        ("gfx1103", []),
    ],
)
def test_a_target_takes_what_is_its_own_by_the_parts_of_the_name(wanted: str, taken: list[str]) -> None:
    offered = ["gfx94X-dcgpu", "gfx942", "gfx942:xnack+", "gfx942:xnack-", "gfx9420", "gfx94", "gfx1200", "gfx1201", "generic"]
    assert list(offers(wanted, offered)) == taken


def test_what_is_wanted_must_be_something() -> None:
    with pytest.raises(HipwrightError):
        offers("gfx9420", ["gfx9420"])


def test_targets_that_are_parted_by_other_than_commas_are_told_so() -> None:
    for text in ("gfx942;gfx1201", "gfx942 gfx1201"):
        with pytest.raises(HipwrightError) as caught:
            parse_targets((text,))
        assert caught.value.hint == "part them by commas: gfx942,gfx1201"


def test_a_build_is_for_several_families_as_systems_part_them(tmp_path: Path) -> None:
    for text in ("gfx94x,gfx120X-all", "gfx94x;gfx120X-all", "gfx94x gfx120X-all,, gfx94X-dcgpu"):
        assert family_names(text) == ("gfx94X-dcgpu", "gfx120X-all")
    place = workplace(tmp_path, gpu_family="gfx94x,gfx942,gfx120X-all")
    assert wanted_targets(place) == ("gfx942", "gfx1200", "gfx1201")
    assert wanted_family(place) is None
    assert wanted_family(workplace(tmp_path, gpu_family="gfx94x")) == "gfx94X-dcgpu"
    with pytest.raises(HipwrightError, match="there is no GPU family 'gfx1'"):
        family_names("gfx94x,gfx1")
