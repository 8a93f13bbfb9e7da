"""A package source, and what it offers: folders, flat pages and indexes, told apart by looking.

A flat page given as an index, and an index given as a flat page, offer nothing to installers and no word why. Here each is an error
with the option that is right.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from packaging.utils import NormalizedName, canonicalize_name

from build_tools.environments.candidate import Candidate, candidate_of
from build_tools.environments.network import Network, path_of
from build_tools.environments.page import ACCEPT, Link, Page, is_package_file, read_page
from build_tools.errors import HipwrightError
from build_tools.process import printable
from build_tools.urls import foreign_scheme, is_url, redact, without_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Listing", "NotThereYet", "PackageSource", "bears_query", "parse_source"]

_PAGE_SUFFIXES: Final = frozenset({".html", ".htm", ".json"})


class NotThereYet(HipwrightError):  # noqa: N818 - it need not stay an error
    """Something that a source does not offer, and that it may offer a while later: a page, a package, a version."""


_DIST: Final = "dist"
"""The folder that commands which make packages put them in, below the one that they are given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageSource:
    """A place that owned packages come from.

    Parameters
    ----------
    find_links
        Folders and pages that list files; absolute paths or addresses.
    index_url
        The root of an index (PEP 503, PEP 691).
    option_prefix
        How the options that name such a place begin, for hints: ``--`` or ``--rocm-``; empty for a place of pip's settings.
    known_as
        The address, ending in ``/``, by which locks and people know a place that lies elsewhere on every machine.
    """

    find_links: tuple[str, ...] = ()
    index_url: str | None = None
    option_prefix: str = "--"
    known_as: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Its folders and pages, and its index."""
        return (*self.find_links, *((self.index_url,) if self.index_url is not None else ()))

    def describe(self) -> str:
        """Return the places in words, without passwords."""
        if self.known_as is not None:
            return self.known_as
        places = [without_query(place) for place in self.find_links]
        if self.index_url is not None:
            places.append(f"the index {without_query(self.index_url)}")
        return " and ".join(places) or "no source"

    @property
    def is_local(self) -> bool:
        """Whether all that it offers lies in folders of this disk, so that no address is read."""
        folders = [path_of(place) if is_url(place) else Path(place) for place in self.find_links]
        return self.index_url is None and all(folder is not None and _holds_packages(folder) for folder in folders)

    def way_out(self) -> str:
        """Return what to do where a package is not there."""
        prefix, likely = self.option_prefix, self._likely_folder()
        if likely is not None:
            return f"the packages lie in its folder {_DIST}: {prefix}find-links {printable([str(likely)])}"
        return f"name a source that has it with {prefix}find-links or {prefix}index-url"

    def _likely_folder(self) -> Path | None:
        """Return the folder that is meant where none of those that are named holds package files, and ``dist`` in one of them does."""
        folders = [path_of(place) if is_url(place) else Path(place) for place in self.find_links]
        if any(folder is None or _holds_packages(folder) for folder in folders):
            return None
        return next((folder / _DIST for folder in folders if folder is not None and _holds_packages(folder / _DIST)), None)


def _holds_packages(folder: Path) -> bool:
    return folder.is_dir() and any(is_package_file(path.name) for path in folder.iterdir())


def parse_source(
    *,
    find_links: Iterable[str] = (),
    index_url: str | None = None,
    folder: Path,
    option_prefix: str = "--",
) -> PackageSource:
    """Return the source that options name; relative paths are relative to ``folder``.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for an empty value, for an address of a kind that hipwright does not read, and for one with a query.
    """

    def place(text: str, option: str) -> str:
        if not text.strip():
            raise HipwrightError("bad-option-value", f"{option_prefix}{option} is empty; a folder or an address is needed")
        if (scheme := foreign_scheme(text)) is not None:
            message = f"{option_prefix}{option} {redact(text)}: hipwright does not read addresses of the kind {scheme}:"
            hint = "name a folder, or an address that begins with https:, http: or file:"
            if text.lower().startswith("s3://"):
                run = f"{option_prefix if option_prefix != '--' else '--from-'}run-id"
                hint = f"fetch them, aws s3 sync {redact(text)} DIR, and name DIR; a run's packages are named by {run} ID --store s3://BUCKET"
            raise HipwrightError("bad-option-value", message, hint=hint)
        if is_url(text) and bears_query(text):
            message = (
                f"{option_prefix}{option} {redact(text).partition('?')[0]}: its query may be a secret, and addresses are recorded"
            )
            hint = "name a page without one, or a server with https://USER:PASSWORD@HOST/…; or fetch the files, and name their folder"
            raise HipwrightError("bad-option-value", message, hint=hint)
        return _without_steps_up(text if is_url(text) else str(folder / text))

    return PackageSource(
        find_links=tuple(place(text, "find-links") for text in find_links),
        index_url=None if index_url is None else place(index_url, "index-url"),
        option_prefix=option_prefix,
    )


def _without_steps_up(place: str) -> str:
    """Return a place on this disk without ``..``, which installers cross out without looking whether a link stands before it."""
    path = path_of(place) if is_url(place) else Path(place)
    if path is None or ".." not in path.parts:
        return place
    real = path.resolve()
    return real.as_uri() if is_url(place) else str(real)


def bears_query(url: str) -> bool:
    """Return whether an address of the web has a query: signed addresses have their signatures there, others their tokens."""
    return path_of(url) is None and bool(urlsplit(url).query)


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """A source that is being read; each page and folder is read once.

    Parameters
    ----------
    source
        The source.
    network
        How addresses are read; it learns the users and passwords that the source's places hold.
    """

    source: PackageSource
    network: Network
    _flat: dict[str, tuple[Link, ...]] = field(default_factory=dict)
    _projects: dict[NormalizedName, tuple[Link, ...]] = field(default_factory=dict)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        object.__setattr__(self, "network", self.network.knowing(self.source.places))

    def files(self, name: str) -> tuple[Candidate, ...]:
        """Return every wheel and source distribution of a package that the source offers.

        Raises
        ------
        HipwrightError
            ``source-unreachable``; ``bad-option-value`` when a place is of the other kind than its option says.
        """
        wanted = canonicalize_name(name)
        links = [link for place in self.source.find_links for link in self._flat_links(place)]
        if self.source.index_url is not None:
            links += self._project_links(self.source.index_url, wanted)
        found = (candidate_of(link) for link in links)
        return tuple(candidate for candidate in found if candidate is not None and candidate.name == wanted)

    def _flat_links(self, place: str) -> tuple[Link, ...]:
        # Several packages are asked for at once, and one page lists them all.
        with self._reading:
            if place not in self._flat:
                self._flat[place] = self._read_flat(place)
            return self._flat[place]

    def _read_flat(self, place: str) -> tuple[Link, ...]:
        path = path_of(place) if is_url(place) else Path(place)
        if path is not None and path.is_dir():
            links = _folder_links(path)
            if links or not (path / "index.html").is_file():
                if not links and _has_projects(path):
                    raise self._other_kind(place, "is the root of an index, not a folder of files", "find-links", "index-url")
                return links
        if path is not None:
            self._demand_page(place, path, "find-links")
        page = self._page(place if path is None else path.as_uri())
        if page is None:
            hint = f"name what is there with {self.source.option_prefix or '--'}find-links; when it is still appearing: --timeout 600"
            raise NotThereYet("source-unreachable", f"there is nothing at {without_query(place)}", hint=hint)
        if not page.files and page.pages:
            raise self._other_kind(place, "is the root of an index, not a page of files", "find-links", "index-url")
        return page.files

    def _project_links(self, root: str, name: NormalizedName) -> tuple[Link, ...]:
        if name not in self._projects:
            self._projects[name] = self._read_project(root, name)
        return self._projects[name]

    def _read_project(self, root: str, name: NormalizedName) -> tuple[Link, ...]:
        base = root if is_url(root) else Path(root).as_uri()
        page = self._page(_below(base, f"{name}/"))
        if page is None or not page.files:
            # A bucket without a server before it has nothing, or an empty object, at an address that ends in a slash.
            page = self._page(_below(base, f"{name}/index.html")) or page
        if page is not None:
            return page.files
        path = path_of(base)
        if path is not None:
            self._demand_page(root, path, "index-url")
        if path is not None and path.is_dir() and _folder_links(path):
            raise self._other_kind(root, "is a folder of files, not the root of an index", "index-url", "find-links")
        top = self._page(_below(base, "")) or self._page(_below(base, "index.html")) or self._page(base)
        if top is None and not (path is not None and path.is_dir() and _has_projects(path)):
            looked = [without_query(_below(base, rest)) for rest in ("", f"{name}/")]
            message = f"there is no index at {without_query(root)}: neither {looked[0]} nor {looked[1]} is there"
            raise NotThereYet("source-unreachable", message)
        if top is not None and top.files:
            raise self._other_kind(root, "is a flat page of files, not the root of an index", "index-url", "find-links")
        return ()

    def _demand_page(self, place: str, path: Path, option: str) -> None:
        """Refuse a file that is no page: read as one it would offer nothing, without a word why."""
        if path.is_dir() or not path.exists() or (path.is_file() and path.suffix.lower() in _PAGE_SUFFIXES):
            return
        if is_package_file(path.name):
            what, hint = "is a package file", f"say {self.source.option_prefix}find-links {path.parent}"
        else:
            what, hint = "is a file", "name a folder of wheels, a page of links (.html, .json), or an index"
        message = f"{without_query(place)} {what}, not a folder or a page, and was given as {self.source.option_prefix}{option}"
        raise HipwrightError("bad-option-value", message, hint=hint)

    def _page(self, url: str) -> Page | None:
        try:
            response = self.network.read(url, accept=ACCEPT)
        except HipwrightError as error:
            if error.hint is not None or not self.source.option_prefix:
                raise
            hint = f"try again later, or {self.source.way_out()}"
            raise HipwrightError(error.code.name, error.message, hint=hint) from error.__cause__ or error
        return read_page(response) if response is not None else None

    def _other_kind(self, place: str, what: str, wrong: str, right: str) -> HipwrightError:
        prefix = self.source.option_prefix
        message = f"{without_query(place)} {what}, and was given as {prefix}{wrong}"
        return HipwrightError("bad-option-value", message, hint=f"say {prefix}{right} {without_query(place)}")


def _below(root: str, rest: str) -> str:
    """Return the address of something below another one, which keeps its query: a server that wants a token there wants it everywhere."""
    start, mark, query = root.partition("?")
    return f"{start.rstrip('/')}/{rest}{mark}{query}"


def _folder_links(folder: Path) -> tuple[Link, ...]:
    paths: Sequence[Path] = sorted(path for path in folder.iterdir() if is_package_file(path.name) and path.is_file())
    return tuple(Link(filename=path.name, url=path.as_uri()) for path in paths)


def _has_projects(folder: Path) -> bool:
    return any((path / page).is_file() for path in folder.iterdir() if path.is_dir() for page in ("index.html", "index.json"))
