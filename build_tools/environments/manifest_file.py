"""Reading a source manifest from where a person says that it is: a file, or an address."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.environments.network import path_of
from build_tools.errors import HipwrightError, Where
from build_tools.urls import foreign_scheme, is_url, redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from build_tools.environments.network import Network

__all__ = ["read_manifest_file"]

_SILENT_SECONDS: Final = 30.0
_MANIFEST_SECONDS: Final = 120.0
"""How long a server may be silent that has a source manifest, and how long it may take in all."""


def read_manifest_file(place: str, *, network: Callable[[], Network], say: Callable[[str], None]) -> bytes:
    """Return the bytes of a source manifest.

    Parameters
    ----------
    place
        A path, or an address of ``file``, ``http`` or ``https``.
    network
        What tells how addresses are read; asked only for one.
    say
        Takes one line of talk.

    Raises
    ------
    HipwrightError
        ``bad-manifest`` when nothing is there; ``source-unreachable``.
    """
    named = redact(place)
    if foreign_scheme(place) is not None:
        message = f"{named} is an address of a kind that no source manifest is read from"
        raise HipwrightError("bad-manifest", message, where=Where(file=named), hint="name a file, or an http address")
    path = path_of(place) if is_url(place) else Path(place)
    if path is None:
        say(f"reading the source manifest {named}")
        patient = network()
        patient = replace(patient, timeout=min(patient.timeout, _SILENT_SECONDS))
        answer = patient.read(place, within=_MANIFEST_SECONDS)
        if answer is None:
            hint = "look at the address in a browser, or keep a copy and name the file"
            raise HipwrightError("bad-manifest", f"there is no source manifest at {named}", where=Where(file=named), hint=hint)
        return answer.body
    try:
        # Asked before it is opened: to open a pipe waits for somebody who writes into it.
        if path.exists() and not path.is_file():
            message = f"the source manifest {named} is no regular file"
            raise HipwrightError("bad-manifest", message, where=Where(file=named), hint="name a JSON file")
        return path.read_bytes()
    except OSError as error:
        message = f"cannot read the source manifest {named}: {error.strerror}"
        hint = "name a JSON file that can be read, or an http address"
        raise HipwrightError("bad-manifest", message, where=Where(file=named), hint=hint) from error
