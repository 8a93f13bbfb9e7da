"""What a machine is and has, as far as it could be found out; written by one machine, it can be judged on another."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec

from build_tools.receipts.record import Record

__all__ = ["Bytes", "MachineFacts"]

Bytes: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""How much there is of something; never less than nothing."""


class MachineFacts(Record, frozen=True, kw_only=True):
    """A machine. What is None was not found out; what is empty was looked for and is not there.

    ``os_name`` is a distribution's own short name (``ubuntu``) or ``windows``; versions are texts. ``memory_bytes`` is all there is,
    ``disk_bytes`` what is free where the work dir lies. ``tools`` and ``packages`` have the version of each that is there. ``reached``
    says of each host that was named whether it answered.
    """

    MADE_BY: ClassVar[str | None] = "nox -s doctor -- --role test --json prints one as fitness.facts"

    schema: Literal[1] = 1
    platform: Literal["linux", "windows"]
    os_name: str | None = None
    os_version: str | None = None
    driver: str | None = None
    rocm: str | None = None
    memory_bytes: Bytes | None = None
    disk_bytes: Bytes | None = None
    python: str | None = None
    python_venv: bool | None = None
    visual_studio: str | None = None
    tools: dict[str, str] | None = None
    packages: dict[str, str] | None = None
    groups: tuple[str, ...] | None = None
    gpus: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    reached: dict[str, bool] | None = None
