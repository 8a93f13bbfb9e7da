"""A promotion that is refused, told as one that is planned: from where to where each file would go, and what stands against it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import humanize

from build_tools.errors import HipwrightError
from build_tools.index.layout import DIST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from build_tools.publish.promote import Request
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.workplace import Workplace

__all__ = ["telling_refusal"]


@contextlib.contextmanager
def telling_refusal(
    request: Request, rows: Sequence[IndexedFile], workplace: Workplace, *, renamed: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Show, when what is done in the block is refused, every file with what stands against it, and put that into the failure's document.

    Parameters
    ----------
    request
        What is to be promoted, from the index that its files stand in.
    rows
        These files, as that index has them.
    workplace
        Where it is shown.
    renamed
        The names that files would have in the channel, by their own, where a version is made of another one.

    Raises
    ------
    HipwrightError
        What the block raises.
    """
    try:
        yield
    except HipwrightError as error:
        refused = (error.document or {}).get("refused")
        if not isinstance(refused, dict):
            raise
        files = [_row(request, row, (renamed or {}).get(row.filename, row.filename), refused) for row in rows]
        channel = request.channel.name
        error.document = {
            "promotion": {
                "dry_run": workplace.settings.dry_run,
                "channel": channel,
                "source": request.source.url(request.origin.prefix),
                "target": request.target.url(request.place.prefix),
                "files": files,
            }
        }
        shown = [
            (
                one["from"],
                one["to"],
                humanize.naturalsize(one["size"], binary=True),
                "; ".join(one["reasons"]) or "nothing against it",
            )
            for one in files
        ]
        workplace.console.table(f"Refused by {channel}, all of them", ("from", "to", "size", "what"), shown)
        raise


def _row(request: Request, row: IndexedFile, name: str, refused: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    reasons = dict.fromkeys(
        reason.removeprefix(f"{known} ") for known in dict.fromkeys((row.filename, name)) for reason in refused.get(known, ())
    )
    return {
        "filename": name,
        "sha256": row.sha256,
        "size": row.size,
        "action": "refuse",
        "from": request.origin.key(row.key),
        "to": request.place.key(f"{DIST}/{name}"),
        "reasons": list(reasons),
    }
