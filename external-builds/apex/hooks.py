"""What apex's data cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.builds.hooks import BuildContext

__all__ = ["prepare_sources"]


def prepare_sources(tree: Path, context: BuildContext) -> None:
    """Write the version that the wheel is to have where apex's ``setup.py`` reads it: not all of its releases know a variable."""
    (tree / "version.txt").write_text(f"{context.version}\n", encoding="utf-8", newline="\n")
