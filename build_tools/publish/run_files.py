"""Files of a run that no index names: logs, receipts, source manifest, artifacts. What lies there is never written over.

Logs of a later attempt of the same run lie in a folder of their own, ``attempt-2`` and so on, beside the first; the same bytes once more are
nothing to do. An artifact has one name, by which others fetch it, so other bytes under it are refused.
"""

from __future__ import annotations

import functools
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.index.layout import quoted
from build_tools.publish.current import ASK_EVERY_TIME, FOR_EVER, PUBLISH_AGAIN
from build_tools.publish.transfer import Meter, all_of, nobody
from build_tools.stores.base import parse_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.publish.transfer import Progress
    from build_tools.stores.base import Store
    from build_tools.types import ObjectKey, Sha256

__all__ = ["RunFile", "content_type_of", "plan_run_files", "put_listing", "put_run_files"]

_MOST_ATTEMPTS: Final = 1000
_TYPES: Final = {
    ".json": "application/json",
    ".html": "text/html; charset=utf-8",
    ".xml": "application/xml; charset=utf-8",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
    ".xz": "application/x-xz",
}
_TEXT: Final = "text/plain; charset=utf-8"
_PAGE: Final = "index.html"
_HEAD: Final = '<!DOCTYPE html>\n<meta charset="utf-8">\n'
_TRIES: Final = 20
_BYTES: Final = "application/octet-stream"
_TEXTS: Final = (".log", ".txt", ".sha256sum", ".toml", ".md", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFile:
    """A file, on the disk or as its bytes, and the key where it goes; ``there`` tells whether its bytes are there already."""

    body: Path | bytes
    key: ObjectKey
    sha256: Sha256
    size: int
    there: bool = False


def content_type_of(name: str) -> str:
    """Return what a file of a run is served as, by its name.

    >>> content_type_of("build.log"), content_type_of("receipt.json"), content_type_of("x.bin")
    ('text/plain; charset=utf-8', 'application/json', 'application/octet-stream')
    """
    suffix = f".{name.rpartition('.')[2]}" if "." in name else ""
    return _TYPES.get(suffix) or (_TEXT if suffix in _TEXTS else _BYTES)


def plan_run_files(
    files: Sequence[tuple[Path | bytes, str]], *, store: Store, folder: ObjectKey, kind: Literal["attempt", "fixed"]
) -> tuple[RunFile, ...]:
    """Say where files go; nothing is written.

    Parameters
    ----------
    files
        Each file, or its bytes, and its key relative to ``folder``.
    store
        Where to.
    folder
        The folder in it.
    kind
        Whether other bytes under a name send all files into a folder for a later attempt, or are refused.

    Raises
    ------
    HipwrightError
        ``name-taken`` when a fixed name holds other bytes, ``write-conflict`` after too many attempts, ``bad-key``.
    """
    hashed = [(body, name, *_measured(body)) for body, name in files]
    for number in range(1, _MOST_ATTEMPTS):
        within = f"{folder}/attempt-{number}" if number > 1 else folder
        planned = [_planned(body, f"{within}/{name}", sha256, size, store) for body, name, sha256, size in hashed]
        clashes = [one for one in planned if isinstance(one, str)]
        if not clashes:
            return tuple(one for one in planned if isinstance(one, RunFile))
        if kind == "fixed":
            message = f"{', '.join(clashes)} in {store.address}: there already, with other bytes"
            raise HipwrightError("name-taken", message, hint="upload as another run with --run-id")
    raise HipwrightError(
        "write-conflict",
        f"{folder} in {store.address} holds {_MOST_ATTEMPTS} attempts",
        hint="upload as another run with --run-id",
    )


def put_run_files(files: Sequence[RunFile], *, store: Store, progress: Progress = nobody) -> None:
    """Put what is not there yet, several at a time, none over another.

    Raises
    ------
    HipwrightError
        ``write-conflict`` when somebody else put other bytes under a name meanwhile, ``output-changed`` when a file changed,
        ``store-unusable``.
    """
    missing = sorted((one for one in files if not one.there), key=lambda one: -one.size)
    meter = Meter(what="uploading", total=sum(one.size for one in missing), progress=progress)

    def put(one: RunFile) -> None:
        store.put(
            one.key,
            one.body,
            content_type=content_type_of(one.key),
            cache_seconds=FOR_EVER,
            sha256=one.sha256,
            if_absent=True,
            on_bytes=meter.add,
        )

    all_of([functools.partial(put, one) for one in missing])


def put_listing(folder: ObjectKey, *, store: Store) -> ObjectKey:
    """Write the page that lists what lies in a folder of a run, and return its key; what it lists comes from the store itself.

    Raises
    ------
    HipwrightError
        ``write-conflict`` when others never pause, ``store-unusable``.
    """
    key = parse_key(f"{folder}/{_PAGE}")
    for _ in range(_TRIES):
        there = store.get(key)
        names = sorted(one.key.removeprefix(f"{folder}/") for one in store.list(folder) if not one.key.endswith(f"/{_PAGE}"))
        rows = "".join(f'<li><a href="{quoted(name)}">{html.escape(name)}</a></li>\n' for name in names)
        page = f"{_HEAD}<title>{html.escape(folder)}</title>\n<h1>{html.escape(folder)}</h1>\n<ul>\n{rows}</ul>\n".encode()
        if there is not None and there.data == page:
            return key
        try:
            store.put(
                key,
                page,
                content_type=content_type_of(_PAGE),
                cache_seconds=ASK_EVERY_TIME,
                if_absent=there is None,
                if_match=None if there is None else there.info.etag,
            )
        except HipwrightError as error:
            if error.code.name != "write-conflict":
                raise
            continue
        return key
    raise HipwrightError(
        "write-conflict",
        f"{key} in {store.address} did not stand still for {_TRIES} tries",
        hint=PUBLISH_AGAIN,
    )


def _measured(body: Path | bytes) -> tuple[Sha256, int]:
    """Return the SHA-256 and the size of a file or of bytes."""
    if isinstance(body, bytes):
        return digest.of_bytes(body), len(body)
    try:
        return digest.of_file(body), body.stat().st_size
    except OSError as error:
        raise HipwrightError(
            "nothing-to-upload",
            f"{body} cannot be read: {error.strerror}",
            where=Where(file=body),
            hint="see who may read it, or leave it out",
        ) from error


def _planned(body: Path | bytes, key: str, sha256: Sha256, size: int, store: Store) -> RunFile | str:
    """Return where a file goes, or the key when that holds other bytes."""
    there = store.head(parse_key(key))
    if there is not None and there.sha256 != sha256:
        return key
    return RunFile(body=body, key=parse_key(key), sha256=sha256, size=size, there=there is not None)
