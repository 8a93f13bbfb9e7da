"""What triton's data cannot say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.builds.hooks import BuildContext

__all__ = ["prepare_sources"]

_BRANCH: Final = "refs/heads/release/hipwright"


def prepare_sources(tree: Path, context: BuildContext) -> None:
    """Put the copy's HEAD on a branch whose name begins with ``release``, at the commit that it names already.

    On any other HEAD triton's ``setup.py`` puts the commit into the local version, in front of what it is given.
    """
    git = tree / ".git"
    branch = git / _BRANCH
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(f"{context.upstream}\n", encoding="utf-8", newline="\n")
    (git / "HEAD").write_text(f"ref: {_BRANCH}\n", encoding="utf-8", newline="\n")
