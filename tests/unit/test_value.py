"""Values are what they are declared to be, whatever module declares them."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from typing import TYPE_CHECKING

import msgspec
import pytest

import build_tools
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator


class Named(Value, frozen=True, kw_only=True):
    name: str
    words: tuple[str, ...] = ()


def every_value() -> Iterator[type[Value]]:
    for module in pkgutil.walk_packages(build_tools.__path__, "build_tools."):
        importlib.import_module(module.name)
    return (kind for kind in Value.__subclasses__() if kind.__module__.startswith("build_tools."))


def test_a_value_is_compared_by_what_it_holds_and_stays_as_it_is() -> None:
    value = Named(name="a")
    assert value == Named(name="a", words=())
    assert hash(value) == hash(Named(name="a"))
    assert msgspec.structs.replace(value, name="b") == Named(name="b")
    with pytest.raises(AttributeError, match="immutable"):
        value.name = "b"  # type: ignore[misc]


def test_every_value_is_frozen_and_its_defaults_are_values() -> None:
    kinds = list(every_value())
    assert len(kinds) > 50
    for kind in kinds:
        assert kind.__struct_config__.frozen, kind
        # A dataclass's field would be taken for the very default.
        assert not [one for one in kind.__struct_defaults__ if isinstance(one, dataclasses.Field)], kind
