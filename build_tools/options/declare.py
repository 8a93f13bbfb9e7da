"""How a field of a dataclass is declared to be an option, and the options that a class declares."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import TYPE_CHECKING, Any

from build_tools.options.option import Option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.options.option import Group, OptionKind

__all__ = ["declare", "declared"]


def declare(default: Any, kind: OptionKind, group: Group, help_text: str, **more: Any) -> Any:  # noqa: ANN401 - a dataclass field
    """Return a dataclass field that is an option.

    Parameters
    ----------
    default
        Its value when nobody gives one.
    kind, group, help_text
        As :class:`~build_tools.options.option.Option` has them.
    more
        Further fields of the option; its name is the field's, with hyphens, when ``name`` is not among them.
    """
    metadata = {"option": (kind, group, help_text, more)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def declared(settings: type) -> Iterator[Option]:
    """Yield the options that the fields of a dataclass declare, in their order."""
    for entry in dataclasses.fields(settings):
        if "option" not in entry.metadata:
            continue
        kind, group, text, more = entry.metadata["option"]
        rest = dict(more)
        name = rest.pop("name", entry.name.replace("_", "-"))
        yield Option(name=name, field_name=entry.name, kind=kind, group=group, help=text, **rest)
