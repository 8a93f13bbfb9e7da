"""Workplaces for tests: real folders, a console that remembers."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from build_tools.console.events import Console, Event, Said
from build_tools.options.model import Settings
from build_tools.options.resolve import Resolved
from build_tools.process import Runner, base_environment
from build_tools.types import Platform
from build_tools.workplace import Workplace

if TYPE_CHECKING:
    from typing import Any

CLONE = Path(__file__).parents[2]


@dataclass
class Memory:
    """A renderer that keeps the events."""

    events: list[Event] = field(default_factory=list)

    def show(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        pass

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Said)]


def workplace(folder: Path, **settings: object) -> Workplace:
    """Return a workplace whose work dir and cache lie in ``folder``."""
    memory = Memory()
    return Workplace(
        clone=CLONE,
        typed_in=folder,
        cache=folder / "cache",
        python=Path(sys.executable),
        platform=Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX,
        processors=2,
        machine=dict(os.environ),
        runner=Runner(environment=base_environment(os.environ)),
        console=Console(renderer=memory),
        resolved=Resolved(settings=Settings(work_dir=folder / "work", **cast("Any", settings))),
    )


def memory_of(place: Workplace) -> Memory:
    """Return what a workplace's console was told."""
    renderer = place.console.renderer
    assert isinstance(renderer, Memory)
    return renderer
