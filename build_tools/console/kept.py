"""A renderer that shows what another one shows, and keeps it in a log too."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from build_tools.console.render import TerminalRenderer

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.console.events import Event, Renderer

__all__ = ["KeptRenderer"]


@dataclass(kw_only=True)
class KeptRenderer:
    """Shows events by another renderer, and writes them to a log as people read them, up to the failure that ends the command.

    The log is begun anew with the first event. That it cannot be written is no failure of what is done.
    """

    shown_by: Renderer
    log: Path
    _text: io.StringIO = field(init=False, default_factory=io.StringIO)
    _plain: TerminalRenderer = field(init=False)
    _mode: str = field(init=False, default="w")

    def __post_init__(self) -> None:
        self._plain = TerminalRenderer(out=self._text, err=self._text)

    def show(self, event: Event) -> None:
        """Show one event, and keep it."""
        self.shown_by.show(event)
        self._plain.show(event)
        with contextlib.suppress(OSError):
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open(self._mode, encoding="utf-8") as stream:
                stream.write(self._text.getvalue())
            self._mode = "a"
            self._text.seek(0)
            self._text.truncate()

    def close(self) -> None:
        """Take down anything live."""
        self.shown_by.close()
