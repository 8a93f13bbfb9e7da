"""A pytest plugin that runs exactly the chosen tests, and skips others for a reason; loaded by path where a wheel is judged.

Like the driver it needs the standard library alone. Its settings are a JSON file:

``only``
    The ids of the tests to run; without it all.
``first``
    Ids that come before the others.
``skips``
    By test id, the reason that the report has.
``all``
    A file that gets the ids of everything that was collected, before any choice, as a JSON list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["make_plugin"]


def make_plugin(pytest: Any, settings: str) -> object:  # noqa: ANN401 - pytest belongs to the environment under test
    """Return the plugin.

    Parameters
    ----------
    pytest
        The module.
    settings
        The path of the settings.
    """
    chosen = json.loads(Path(settings).read_text(encoding="utf-8"))
    only = None if chosen.get("only") is None else set(chosen["only"])
    first = {name: number for number, name in enumerate(chosen.get("first", ()))}
    skips = chosen.get("skips", {})

    class Plugin:
        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator]
        def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:  # noqa: ANN401
            if chosen.get("all"):
                Path(chosen["all"]).write_text(json.dumps([item.nodeid for item in items]), encoding="utf-8")
            if only is not None:
                config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in only])
                items[:] = [item for item in items if item.nodeid in only]
            for item in items:
                if item.nodeid in skips:
                    item.add_marker(pytest.mark.skip(reason=skips[item.nodeid]), append=False)
            if first:
                items.sort(key=lambda item: first.get(item.nodeid, len(first)))

    return Plugin()
