"""The values of all options and of the machine's settings, each with its origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from build_tools.options.model import OPTIONS
from build_tools.rocm.stray import NAMING

if TYPE_CHECKING:
    from build_tools.workplace import Workplace

__all__ = ["settings_table"]


def settings_table(workplace: Workplace) -> dict[str, Any]:
    """Show every option's value with its origin, then what the machine says about indexes; return the same as plain data.

    Passwords are not among them.
    """
    resolved, console, mask = workplace.resolved, workplace.console, workplace.runner.mask
    rows: list[tuple[str, str, str]] = []
    in_effect = {
        "store": str(workplace.work_dir / "store"),
        "cache_dir": str(workplace.cache),
        "jobs": str(workplace.jobs),
        "python": next(iter(workplace.interpreters.values())).version,
    }
    for option in OPTIONS.values():
        value = getattr(resolved.settings, option.field_name)
        if option.per_project:
            rows += [
                (option.flag.replace("<project>", name), _text(one), resolved.origin(f"{option.field_name}.{name}"))
                for name, one in value.items()
            ]
        elif option.negative:
            rows.append((option.flag, "no" if value else "yes", resolved.origin(option.field_name)))
        elif option.name == "gfx":
            rows.append((option.flag, _text(value), resolved.origin(option.field_name)))
            rows += [
                (f"{option.flag} of {name}", _text(one), resolved.origin(f"own_gfx.{name}"))
                for name, one in resolved.settings.own_gfx.items()
            ]
        else:
            shown = _text(value) or in_effect.get(option.field_name, "")
            rows.append((option.flag, shown, resolved.origin(option.field_name)))
    rows = [(name, mask(value), origin) for name, value, origin in rows]
    console.table("Options", ("option", "value", "from"), rows)
    machine = [(row.name, row.value, row.origin) for row in workplace.base.rows()]
    console.table("Base index, as this machine's pip has it; never for owned names", ("setting", "value", "from"), machine)
    ignored = [(name, mask(workplace.machine[name]), "environment, ignored") for name in NAMING if workplace.machine.get(name)]
    if ignored:
        console.table("Seen and ignored", ("name", "value", "from"), ignored)
    return {
        "options": {name: {"value": value, "from": origin} for name, value, origin in rows},
        "base-index": {name: {"value": value, "from": origin} for name, value, origin in machine},
        "ignored": {name: value for name, value, _origin in ignored},
    }


def _text(value: object) -> str:
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(str(entry) for entry in value)
    return str(value)
