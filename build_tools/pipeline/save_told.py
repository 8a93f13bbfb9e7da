"""What people and programs are told of a save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools.process import printable
from build_tools.shown import shown

if TYPE_CHECKING:
    from build_tools.patches.save import Saved
    from build_tools.pipeline.chain import Chain

__all__ = ["document", "show"]

_WORDS: Final = {"real": "changed", "cosmetic": "same change, for other lines"}
"""What people are told of a change, where it is not its name."""


def show(chain: Chain, saved: Saved) -> None:
    """Tell people what is, or in a dry run would be, written."""
    console, project = chain.workplace.console, chain.project.name
    dry = chain.workplace.settings.dry_run
    if saved.patches:
        rows = [(one.file, _WORDS.get(one.change, one.change), one.was or shown(one.subject)) for one in saved.patches]
        title = f"{'Would save' if dry else 'Saved'} into {chain.locked().patches.line} of {project}"
        console.table(title, ("patch", "what", "subject, or earlier name"), rows)
    elif saved.files:
        console.say(f"{project}: the order of the series {'would change' if dry else 'has changed'}, and no patch")
    else:
        console.say(f"{project}: the series says already what the commits say")
    if saved.moved:
        moved = [(one.file, shown(one.path), str(one.old), str(one.new)) for one in saved.moved]
        console.table("Hunks that moved", ("patch", "file", "line before", "line after"), moved)
    clone = chain.workplace.clone
    if not dry and (clone / ".git").exists() and any(one.change in {"added", "moved"} for one in saved.patches):
        show = printable(["git", "-C", str(clone), "add", "--intent-to-add", "--", str(chain.folder / "patches")])
        console.say(f"{project}: git does not know the new files; to have git diff show them: {show}")


def document(chain: Chain, saved: Saved | None) -> dict[str, Any]:
    """Return what a save has done as plain data; None stands for nothing."""
    patches = () if saved is None else saved.patches
    moved = () if saved is None else saved.moved
    return {
        "line": chain.locked().patches.line,
        "written": [] if saved is None else sorted(saved.files),
        "patches": [{"file": one.file, "change": one.change, "subject": one.subject or None, "was": one.was} for one in patches],
        "moved": [{"file": one.file, "path": shown(one.path), "from": one.old, "to": one.new} for one in moved],
    }
