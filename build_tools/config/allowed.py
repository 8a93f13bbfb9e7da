"""Which values a place in a model takes, where it takes a few that can be named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["allowed_values"]


def allowed_values(model: type[Any], steps: Sequence[str | int]) -> tuple[str, ...]:
    """Return the values that a place takes, as a person types them; none where it takes more than a list of values.

    Parameters
    ----------
    model
        The model of the whole file.
    steps
        The keys and indices that lead to the place.
    """
    return _at(msgspec.inspect.type_info(model), tuple(steps))


def _at(kind: msgspec.inspect.Type, steps: tuple[str | int, ...]) -> tuple[str, ...]:
    if isinstance(kind, msgspec.inspect.UnionType):
        return next((found for one in kind.types if (found := _at(one, steps))), ())
    if not steps:
        return tuple(map(str, kind.values)) if isinstance(kind, msgspec.inspect.LiteralType) else ()
    below = _below(kind, steps[0])
    return _at(below, steps[1:]) if below is not None else ()


def _below(kind: msgspec.inspect.Type, step: str | int) -> msgspec.inspect.Type | None:
    if isinstance(kind, msgspec.inspect.StructType):
        return next((field.type for field in kind.fields if field.encode_name == step), None)
    if isinstance(kind, msgspec.inspect.CollectionType):
        return kind.item_type
    return kind.value_type if isinstance(kind, msgspec.inspect.DictType) else None
