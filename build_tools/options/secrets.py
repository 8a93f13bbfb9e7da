"""What of a call must never be shown: values that are secret by their names, by their options, or within addresses."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from build_tools.options.model import OPTIONS
from build_tools.process import base_environment
from build_tools.urls import parts_of_secret, secrets_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from build_tools.options.model import Settings

__all__ = ["secrets_of_call", "secrets_of_settings"]

_NAMES: Final = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "ACCESS_KEY", "API_KEY", "APIKEY", "PRIVATE_KEY")
_LEAST: Final = 6
"""Shorter values are no secrets, and masking them would blot words out everywhere."""


def secrets_of_call(machine: Mapping[str, str], arguments: Sequence[str]) -> frozenset[str]:
    """Return what is secret of a call before its options are read.

    Parameters
    ----------
    machine
        The machine's environment: values whose name says so, and addresses in what children get of it and in pip's settings.
    arguments
        What was typed: addresses, and values of secret options.
    """
    found = set(_in_environment(machine)).union(*map(secrets_in, arguments))
    for option in OPTIONS.values():
        if option.secret:
            found |= parts_of_secret(machine.get(option.environment, ""))
            for word, following in itertools.pairwise([*arguments, ""]):
                flag, equals, value = word.partition("=")
                found |= parts_of_secret(value if equals else following) if flag == option.flag else frozenset()
    return frozenset(found)


def secrets_of_settings(settings: Settings) -> frozenset[str]:
    """Return what is secret of the values of the options, wherever they came from."""
    found = set(_in_environment({**settings.build_env, **settings.env})).union(*map(secrets_in, _texts(settings)))
    for option in OPTIONS.values():
        if option.secret:
            found |= parts_of_secret(getattr(settings, option.field_name) or "")
    return frozenset(found)


def _in_environment(machine: Mapping[str, str]) -> frozenset[str]:
    named = (value for name, value in machine.items() if any(word in name.upper() for word in _NAMES) and len(value) >= _LEAST)
    inherited = base_environment(machine).values()
    of_pip = [value for name, value in machine.items() if name.upper().startswith("PIP_")]
    return frozenset(named).union(*map(secrets_in, (*inherited, *of_pip)))


def _texts(settings: Settings) -> Iterator[str]:
    """Yield every text among the values of the options."""
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        for part in value.values() if isinstance(value, Mapping) else (value,):
            yield from (text for text in (part if isinstance(part, tuple) else (part,)) if isinstance(text, str))
