"""The base index: where packages that nobody owns come from, as the machine's pip configuration and ``PIP_*`` say.

pip itself is asked, so that every place that it reads counts, in its order. What is found is passed on explicitly and
never applies to owned names. uv gets the same settings; its own configuration is not read.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.environments.network import Network, path_of
from build_tools.errors import HipwrightError
from build_tools.urls import is_url, redact, secrets_in, without_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.process import Runner

__all__ = ["DECIDING_NAMES", "BaseIndex", "SettingRow", "read_base_index", "settings_files"]

_ROW: Final = re.compile(r"(?P<section>:env:|[\w-]+)\.(?P<key>[\w-]+)=(?P<value>['\"].*)")
_DEFAULT: Final = re.compile(r"--index-url <url>.*?\(default\s+(?P<url>\S+?)\)", re.DOTALL)
_ASK_DEFAULT: Final = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
_ASK: Final = """
from pip._internal.configuration import Configuration
from pip._internal.models.index import PyPI
found = Configuration(isolated=False)
found.load()
for key, value in sorted(found.items()):
    for name, text in sorted(value.items()) if isinstance(value, dict) else [(key, value)]:
        print(f"{name}={text!r}")
print(PyPI.simple_url)
"""
"""Asks pip's own code for what ``pip config list`` prints, and then for the index that pip takes by itself.

pip's command line takes three times as long, and says nothing at all where its configuration wants it quiet.
"""

_SECTIONS: Final = ("global", "install", ":env:")
"""Where ``pip install`` takes its settings, the last one winning."""

_LISTS: Final = frozenset({"extra-index-url", "find-links", "trusted-host", "constraint"})
_ALIASES: Final = {"default-timeout": "timeout", "pypi-url": "index-url"}
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})
_TIMEOUT: Final = 60.0
_SHOWN: Final = (
    "index-url", "extra-index-url", "find-links", "no-index", "constraint", "cert", "client-cert", "proxy", "trusted-host",
    "timeout", "cache-dir", "no-cache-dir",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingRow:
    """One setting for people: its name, its value without secrets, and where it was set."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseIndex:
    """Where packages that nobody owns come from, and how that place is reached.

    Parameters
    ----------
    index_url
        The root of the index (PEP 503); None stands for what installers take by themselves.
    extra_index_urls, find_links
        Further indexes, folders and pages; all absolute.
    no_index
        Whether no index is asked at all.
    constraints
        Constraint files or addresses.
    cert, client_cert
        Certificate files.
    proxy
        The proxy for every address.
    proxies, no_proxy
        What the machine's own proxy variables say; used without ``proxy``.
    trusted_hosts
        Hosts whose certificates are not checked.
    timeout
        Seconds that a connection may be silent.
    cache_dir
        pip's cache, where the machine names another one than pip's default.
    no_cache
        Whether installers neither take from their caches nor keep anything there.
    owned_places
        Where owned packages come from, for their users and passwords alone; no part of the base index.
    origins
        Where each setting was made, by pip's name for it.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    constraints: tuple[str, ...] = ()
    cert: Path | None = None
    client_cert: Path | None = None
    proxy: str | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)
    no_proxy: str = ""
    trusted_hosts: tuple[str, ...] = ()
    timeout: float = _TIMEOUT
    cache_dir: Path | None = None
    no_cache: bool = False
    owned_places: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)

    def knowing(self, places: Iterable[str]) -> BaseIndex:
        """Return the same, with the places of owned packages known, so that their locked files can be read without the option."""
        return replace(self, owned_places=(*self.owned_places, *places))

    def network(self) -> Network:
        """Return how addresses are read on this machine."""
        proxies = {"http": self.proxy, "https": self.proxy} if self.proxy else dict(self.proxies)
        return Network(
            cert=self.cert,
            client_cert=self.client_cert,
            proxies=proxies,
            no_proxy=self.no_proxy,
            trusted_hosts=frozenset(self.trusted_hosts),
            timeout=self.timeout,
        ).knowing((*self._places, *self.owned_places))

    @property
    def _places(self) -> tuple[str, ...]:
        return (*((self.index_url,) if self.index_url else ()), *self.extra_index_urls, *self.find_links, *self.constraints)

    def secrets(self) -> frozenset[str]:
        """Return the users and passwords of all addresses, and what their queries say, for masking in logs."""
        urls = (*self._places, *self.owned_places, self.proxy or "", *self.proxies.values())
        return frozenset().union(*map(secrets_in, urls))

    def identity(self) -> list[str]:
        """Return what decides which packages the index offers, as texts for a digest: places, and the bytes of constraint files.

        Another password opens the same place, so none is part of it.
        """
        index = redact(self.index_url) if self.index_url is not None else None
        rows = [f"index {index}", *(f"extra {redact(url)}" for url in self.extra_index_urls)]
        rows += [*(f"links {redact(url)}" for url in self.find_links), f"no-index {self.no_index}"]
        for constraint in self.constraints:
            path = path_of(constraint) if is_url(constraint) else Path(constraint)
            known = path is not None and path.is_file()
            rows.append(f"constraint {digest.of_file(path) if path is not None and known else redact(constraint)}")
        return rows

    def rows(self) -> tuple[SettingRow, ...]:
        """Return the settings for people, with where each was made and without secrets."""
        values: dict[str, str] = {
            "index-url": without_query(self.index_url or ""),
            "extra-index-url": " ".join(map(without_query, self.extra_index_urls)),
            "find-links": " ".join(map(without_query, self.find_links)),
            "no-index": "true" if self.no_index else "",
            "constraint": " ".join(map(without_query, self.constraints)),
            "cert": str(self.cert or ""),
            "client-cert": str(self.client_cert or ""),
            "proxy": redact(self.proxy or ""),
            "trusted-host": " ".join(self.trusted_hosts),
            "timeout": f"{self.timeout:g}",
            "cache-dir": str(self.cache_dir or ""),
            "no-cache-dir": "true" if self.no_cache else "",
        }
        return tuple(
            SettingRow(name=name, value=values[name], origin=self.origins.get(name, "default")) for name in _SHOWN if values[name]
        )


DECIDING_NAMES: Final = frozenset(
    {
        "PIP_CONFIG_FILE",
        "PIP_CONSTRAINT",
        "PIP_EXTRA_INDEX_URL",
        "PIP_FIND_LINKS",
        "PIP_INDEX_URL",
        "PIP_NO_INDEX",
        "PIP_PYPI_URL",
    }
)
"""The environment names that decide what the base index offers; see :meth:`BaseIndex.identity`."""

_CONFIGURATION_FILE: Final = re.compile(r"(?P<path>.+), exists: (?:True|False)")


def read_base_index(
    machine: Mapping[str, str],
    runner: Runner,
    *,
    python: Path = Path(sys.executable),
    cwd: Path | None = None,
) -> BaseIndex:
    """Ask pip what its configuration and ``PIP_*`` say about indexes.

    Parameters
    ----------
    machine
        The machine's environment as found; ``PIP_*``, ``XDG_*`` and the proxy variables are read.
    runner
        Starts pip.
    python
        An interpreter that has pip: hipwright's own.
    cwd
        The folder that relative paths in ``PIP_*`` are relative to: where the command was typed. Without it they are refused.

    Raises
    ------
    HipwrightError
        ``missing-tool`` when pip cannot be run; ``bad-data-file`` when its configuration cannot be read.
    """
    seen = {name: value for name, value in machine.items() if name.startswith(("PIP_", "XDG_"))}
    folder = cwd or python.parent
    pip: list[str | Path] = [python, "-I", "-m", "pip", "--disable-pip-version-check"]
    asked = runner.capture([*pip[:2], "-c", _ASK], cwd=folder, env=seen, check=False)
    listed, _, default = asked.text.rpartition("\n")
    values, origins = _parse(listed)
    if asked.returncode != 0 or not default or "isolated" in values:
        # pip's code has moved, or the configuration cannot be read, which pip has words for.
        told = runner.capture([*pip, "config", "list"], cwd=folder, env=seen, code="bad-data-file", what="pip's configuration")
        values, origins = _parse(told.text)
        default = ""
    index_url = values.get("index-url")
    no_index = values.get("no-index", "").lower() not in _FALSE
    if index_url is None and not no_index:
        index_url = default or _default_index(pip, runner, folder, seen)
        origins["index-url"] = "pip's default"

    def place(text: str) -> str:
        return _absolute(text, cwd, machine)

    def file(name: str) -> Path | None:
        return Path(place(values[name])) if values.get(name) else None

    def several(name: str) -> tuple[str, ...]:
        return tuple(place(text) for text in values.get(name, "").split())

    return BaseIndex(
        index_url=place(index_url) if index_url else None,
        extra_index_urls=several("extra-index-url"),
        find_links=several("find-links"),
        no_index=no_index,
        constraints=several("constraint"),
        cert=file("cert"),
        client_cert=file("client-cert"),
        proxy=values.get("proxy") or None,
        proxies=_proxies(machine),
        no_proxy=machine.get("no_proxy") or machine.get("NO_PROXY", ""),
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
        timeout=_seconds(values),
        cache_dir=file("cache-dir"),
        # pip takes any value of this setting for yes, `false` too.
        no_cache="no-cache-dir" in values,
        origins=origins,
    )


def _default_index(pip: list[str | Path], runner: Runner, folder: Path, seen: Mapping[str, str]) -> str | None:
    """Return the index that pip takes by itself, as pip's own code has it; as its help says where that code has moved."""
    asked = runner.capture([*pip[:2], "-c", _ASK_DEFAULT], cwd=folder, env=seen, check=False)
    if asked.returncode == 0 and asked.text:
        return asked.text
    shown = runner.capture([*pip, "install", "--help"], cwd=folder, env=seen, code="missing-tool", what="pip")
    found = _DEFAULT.search(shown.text)
    return found["url"] if found else None


def settings_files(
    machine: Mapping[str, str], runner: Runner, *, base: BaseIndex, python: Path = Path(sys.executable), cwd: Path | None = None
) -> tuple[Path, ...]:
    """Return the files that decide what the base index is: pip's configuration files, those not there too, and constraint files.

    Parameters
    ----------
    machine, runner, python, cwd
        As for :func:`read_base_index`.
    base
        The base index as it was read.

    Raises
    ------
    HipwrightError
        ``missing-tool`` when pip cannot be run.
    """
    seen = {name: value for name, value in machine.items() if name.startswith(("PIP_", "XDG_"))}
    command: list[str | Path] = [python, "-I", "-m", "pip", "--disable-pip-version-check", "config", "debug"]
    told = runner.capture(command, cwd=cwd or python.parent, env=seen, code="missing-tool", what="pip")
    files = [Path(found["path"]) for line in told.text.splitlines() if (found := _CONFIGURATION_FILE.fullmatch(line.strip()))]
    files += [place for text in base.constraints if (place := path_of(text) if is_url(text) else Path(text)) is not None]
    return tuple(files)


def _parse(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return pip's settings for ``pip install`` and where each was made, from what ``pip config list`` prints."""
    values: dict[str, str] = {}
    origins: dict[str, str] = {}
    found = [match for line in text.splitlines() if (match := _ROW.fullmatch(line.strip()))]
    for section in _SECTIONS:
        for row in found:
            if row["section"] != section:
                continue
            # `PIP_DEFAULT_TIMEOUT` and `PIP_PYPI_URL` are older spellings of the same options.
            key = row["key"].replace("_", "-")
            key = _ALIASES.get(key, key)
            values[key] = str(ast.literal_eval(row["value"])).strip()
            variable = f"PIP_{row['key'].replace('-', '_').upper()}"
            origins[key] = f"environment {variable}" if section == ":env:" else f"pip configuration, {section}.{key}"
    return values, origins


def _absolute(text: str, folder: Path | None, machine: Mapping[str, str]) -> str:
    if is_url(text):
        return text
    home = machine.get("HOME") or machine.get("USERPROFILE")
    if home and (text == "~" or text.startswith(("~/", "~\\"))):
        return str(Path(home) / text[2:])
    if folder is None and not Path(text).is_absolute():
        message = f"pip's configuration names {text}, and relative to which folder is not known here"
        raise HipwrightError("bad-data-file", message, hint="write the whole path there")
    return str(folder / text) if folder is not None else text


def _proxies(machine: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for scheme in ("http", "https"):
        value = machine.get(f"{scheme}_proxy") or machine.get(f"{scheme.upper()}_PROXY")
        if value:
            found[scheme] = value
    return found


def _seconds(values: Mapping[str, str]) -> float:
    text = values.get("timeout")
    if text is None:
        return _TIMEOUT
    try:
        return float(text)
    except ValueError:
        raise HipwrightError("bad-data-file", f"pip's configuration has the timeout {text!r}, which is no number") from None
