"""A store that is only read, over HTTP: a bucket that lists its objects to everybody, or folders with pages that link to their files."""

from __future__ import annotations

import contextlib
import http
import http.client
import io
import re
from typing import IO, TYPE_CHECKING, Final, NoReturn
from urllib.parse import quote, unquote, unquote_plus, urlencode, urlsplit, urlunsplit

import defusedxml.ElementTree

from build_tools import digest
from build_tools.environments.network import Network, Response
from build_tools.environments.page import read_hrefs
from build_tools.errors import HipwrightError
from build_tools.stores.base import READ_ONLY, Abilities, Content, Listed, ObjectInfo, parse_key
from build_tools.stores.reading import SMALL_BYTES, body_stream, compare_noted, copied, nothing_there, too_large
from build_tools.threads import Threads
from build_tools.types import ObjectKey, Sha256
from build_tools.urls import redact, without_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from build_tools.stores.base import Store

__all__ = ["ListingStore", "refusal_of"]

_AMAZON: Final = re.compile(r"[a-z0-9.-]+\.s3[a-z0-9.-]*\.amazonaws\.com", re.IGNORECASE)
_SPACE: Final = "{http://s3.amazonaws.com/doc/2006-03-01/}"
_KNOWS_NO_HEAD: Final = frozenset({http.HTTPStatus.METHOD_NOT_ALLOWED, http.HTTPStatus.NOT_IMPLEMENTED})
_MOST_PAGES: Final = 5_000
_AT_ONCE: Final = 8
_SKIPPED: Final = 1 << 20
_WEB_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_MAX_AGE: Final = re.compile(r"max-age=(\d{1,10})(?!\d)")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


class ListingStore:
    """A store behind a web server.

    Parameters
    ----------
    address
        The ``http`` or ``https`` address of the folder.
    network
        How addresses are read.

    Raises
    ------
    HipwrightError
        ``store-unusable`` when the address has a query or a fragment.
    """

    def __init__(self, address: str, *, network: Network | None = None) -> None:
        parts = urlsplit(address)
        if parts.query or parts.fragment or not parts.hostname:
            message = f"{without_query(address)} is no store that hipwright can use: a folder's address has a host, and no ? or #"
            raise HipwrightError("store-unusable", message, hint="name another one with --store")
        self._network: Final = (network or Network()).knowing((address,))
        self._root: Final = redact(address).rstrip("/") + "/"

    def __repr__(self) -> str:
        return f"ListingStore({self._root!r})"

    @property
    def address(self) -> str:
        """The address, without a password."""
        return self._root.rstrip("/")

    def url(self, key: str = "") -> str:
        """Return the address of a key."""
        return self._root + quote(key, safe="/")

    @property
    def abilities(self) -> Abilities:
        """None: it is only read."""
        return READ_ONLY

    @property
    def serves_folders(self) -> bool:
        """True: listings are read at such addresses."""
        return True

    def is_open(self, key: str) -> bool:
        """Return whether the server gives the object."""
        return self.head(key) is not None

    def refusal(self, key: str) -> HipwrightError | None:
        """Return the failure that the server refuses to say what lies under a key; None where it says that nothing does."""
        return self._network.refusal(self.url(key))

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """Yield the objects below a prefix, by key; a page tells no sizes, so that each file that one links to is asked for its own."""
        below = f"{parse_key(prefix, foreign=True)}/" if prefix else ""
        found = self._bucket_objects(below)
        if found is None:
            keys = self._linked(below)
            with Threads(_AT_ONCE) as pool:
                infos = list(pool.map(self.head, keys))
            found = [Listed(key=info.key, size=info.size) for info in infos if info is not None]
        yield from sorted(found, key=lambda one: one.key.encode())

    def head(self, key: str) -> ObjectInfo | None:
        """Return what the server says of an object."""
        url = self.url(parse_key(key, foreign=True))
        try:
            with self._network.answer(url, method="HEAD") as answer:
                return None if answer is None else _info(key, answer)
        except HipwrightError as error:
            if getattr(error.__cause__, "code", None) not in _KNOWS_NO_HEAD:
                raise
        with self._network.answer(url) as answer:
            return None if answer is None else _info(key, answer)

    def get(self, key: str) -> Content | None:
        """Return an object whole; for a key that ends in ``/``, what the server gives there."""
        with self._network.answer(self.url(parse_key(key, foreign=True, slash=True))) as answer:
            if answer is None:
                return None
            info = _info(key, answer)
            self._refuse_web_page(info, answer.url)
            try:
                stated = _length(answer)
                # Read to its stated end, an answer that broke off is told; read up to a bound, it is not.
                data = answer.read(None if stated is not None and stated <= SMALL_BYTES else SMALL_BYTES + 1)
            except (OSError, http.client.HTTPException) as error:
                message = f"cannot read {key} of {self.address}: {error}"
                raise HipwrightError("source-unreachable", message, hint="try again later") from error
        if len(data) > SMALL_BYTES:
            raise too_large(key, self)
        actual = digest.of_bytes(data)
        compare_noted(self, key, info.sha256, actual)
        return Content(data=data, info=_info(key, answer, sha256=actual, size=len(data)))

    @contextlib.contextmanager
    def stream(self, key: str, *, start: int = 0, end: int | None = None, etag: str | None = None) -> Iterator[IO[bytes]]:
        """Give an object's bytes; of a server that knows no ranges, those before ``start`` are read and thrown away."""
        ranged = start > 0 or end is not None
        if end is not None and end <= start:
            yield io.BytesIO()
            return
        headers = {"Range": f"bytes={start}-{'' if end is None else end - 1}"} if ranged else {}
        try:
            opening = self._network.answer(self.url(parse_key(key, foreign=True)), headers=headers)
            answer = opening.__enter__()
        except HipwrightError as error:
            if getattr(error.__cause__, "code", None) != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            yield io.BytesIO()
            return
        with contextlib.ExitStack() as stack:
            stack.push(opening.__exit__)
            if answer is None:
                raise nothing_there(key, self)
            if etag is not None and _etag(answer) != etag:
                raise HipwrightError("write-conflict", f"{key} in {self.address} was changed by someone else")
            partial = answer.status == http.HTTPStatus.PARTIAL_CONTENT
            yield _body(answer, start=0 if partial else start, end=None if partial else end)

    def as_file(self, key: str) -> AbstractContextManager[Path]:
        """Give the object in a file of its name, in a folder that goes with the block."""
        return copied(self, key)

    def put(  # noqa: D102 - nothing is written here
        self,
        key: str,
        body: bytes | Path,
        *,
        content_type: str,
        cache_seconds: int,
        sha256: Sha256 | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        del body, content_type, cache_seconds, sha256, if_absent, if_match, on_bytes
        self._refuse(key)

    def copy_from(  # noqa: D102 - as above
        self,
        source: Store,
        source_key: str,
        key: str,
        *,
        sha256: Sha256,
        content_type: str,
        cache_seconds: int,
        size: int | None = None,
        if_absent: bool = False,
        if_match: str | None = None,
        on_bytes: Callable[[int], None] | None = None,
    ) -> ObjectInfo:
        del source, source_key, sha256, content_type, cache_seconds, size, if_absent, if_match, on_bytes
        self._refuse(key)

    def delete(self, key: str) -> None:
        """Refuse."""
        self._refuse(key)

    def _refuse_web_page(self, info: ObjectInfo, came_from: str) -> None:
        """Prove that an answer is no web page in place of a record: who is not logged in is given one, with the status of success."""
        if info.content_type in _WEB_PAGES and info.key.endswith(".json"):
            url = self.url(info.key)
            led = f", from {without_query(came_from)}" if came_from != url else ""
            message = f"cannot read {url}: the server gives a web page in its place{led}"
            hint = (
                "a browser shows what it says; where it asks to log in, name the server as https://USER:PASSWORD@HOST/…, "
                "else see whether the address is right"
            )
            raise HipwrightError("source-unreachable", message, hint=hint)

    def _refuse(self, key: str) -> NoReturn:
        message = f"cannot write {key} in the store {self.address}: it can only be read"
        raise HipwrightError("store-unusable", message, hint="name a folder or s3://bucket with --store")

    def _bucket_objects(self, below: str) -> Sequence[Listed] | None:
        """Return the objects that a bucket lists below a prefix; None where the server is none that lists as S3 does."""
        for place, inside in self._buckets():
            found = self._listed(place, inside, below)
            if found is not None:
                return found
        return None

    def _buckets(self) -> Iterator[tuple[str, str]]:
        """Yield where a bucket may be, with the folder of it that this store is: at the first folder of the address, or at its host."""
        parts = urlsplit(self._root)
        first, _, rest = unquote(parts.path).strip("/").partition("/")
        if first and not _AMAZON.fullmatch(parts.hostname or ""):
            yield urlunsplit(parts._replace(path=f"/{quote(first)}")), f"{rest}/" if rest else ""
        yield urlunsplit(parts._replace(path="/")), "".join(f"{part}/" for part in (first, rest) if part)

    def _listed(self, place: str, inside: str, below: str) -> Sequence[Listed] | None:
        found: list[Listed] = []
        query = {"list-type": "2", "encoding-type": "url", "prefix": inside + below}
        tokens: set[str] = set()
        while True:
            page = self._read_listing(f"{place}?{urlencode(query)}")
            tree = None if page is None else _listing_of(page)
            if tree is None:
                return None
            found += [one for one in _rows(tree, len(inside)) if one is not None]
            token = tree.findtext(f"{_SPACE}NextContinuationToken")
            if not token:
                return found
            if token in tokens or len(tokens) == _MOST_PAGES:
                raise HipwrightError(
                    "source-unreachable",
                    f"the listing of {redact(place)} has no end",
                    hint="name another place that has these files, or the folder itself",
                )
            tokens.add(token)
            query["continuation-token"] = token

    def _read_listing(self, url: str) -> Response | None:
        try:
            return self._network.read(url)
        except HipwrightError as error:
            status = getattr(error.__cause__, "code", None)
            if isinstance(status, int) and http.HTTPStatus.BAD_REQUEST <= status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                # The server does not know what a bucket is.
                return None
            raise

    def _linked(self, below: str) -> Sequence[ObjectKey]:
        """Return what the pages of a folder and of those below it link to."""
        found: dict[ObjectKey, None] = {}
        seen = {below}
        waiting = [below]
        while waiting:
            folder = waiting.pop()
            page = self._folder_page(folder)
            for href in read_hrefs(page) if page else ():
                key = self._key_of(href)
                if key is None or not key.startswith(below) or key in seen:
                    continue
                if key.endswith("/"):
                    if len(seen) == _MOST_PAGES:
                        raise HipwrightError(
                            "source-unreachable",
                            f"{self.address} links to more than {_MOST_PAGES} folders",
                            hint="name a folder further down that has what is wanted",
                        )
                    seen.add(key)
                    waiting.append(key)
                else:
                    with contextlib.suppress(HipwrightError):
                        found[parse_key(key, foreign=True)] = None
        return list(found)

    def _folder_page(self, folder: str) -> Response | None:
        for name in ("", "index.html"):
            page = self._network.read(self.url(folder) + name)
            if page is not None and page.content_type in _WEB_PAGES:
                return page
        return None

    def _key_of(self, href: str) -> str | None:
        """Return the key that an absolute address names, with its final ``/``; None when it is outside the store."""
        # What is no address is not among the links of a page that was read.
        bare = urlunsplit(urlsplit(href)._replace(query="", fragment=""))
        if not bare.startswith(self._root):
            return None
        return unquote(bare[len(self._root) :]) or None


def refusal_of(store: Store, key: str) -> HipwrightError | None:
    """Return the failure that the server behind a store refuses to say what lies under a key.

    A bucket that is asked as one, and a folder, tell themselves that they refuse.
    """
    return store.refusal(key) if isinstance(store, ListingStore) else None


def _listing_of(page: Response) -> Element | None:
    if not page.content_type.endswith("xml") or b"<ListBucketResult" not in page.body[:4096]:
        return None
    try:
        tree: Element = defusedxml.ElementTree.fromstring(page.body)
    except (defusedxml.DefusedXmlException, defusedxml.ElementTree.ParseError) as error:
        message = f"{redact(page.url)} says that it lists a bucket, and is not well-formed: {error}"
        raise HipwrightError(
            "source-unreachable", message, hint="see whether the address is right, or name another place that has these files"
        ) from error
    return tree


def _rows(tree: Element, cut: int) -> Iterator[Listed | None]:
    quoted = tree.findtext(f"{_SPACE}EncodingType") == "url"
    for row in tree.iter(f"{_SPACE}Contents"):
        text, size = row.findtext(f"{_SPACE}Key") or "", row.findtext(f"{_SPACE}Size") or "0"
        key = (unquote_plus(text) if quoted else text)[cut:]
        try:
            yield Listed(key=parse_key(key, foreign=True), size=int(size)) if _NUMBER.fullmatch(size) else None
        except HipwrightError:
            # A mark of a folder, or an object that somebody put under a name that leads out of its folder.
            yield None


def _body(answer: http.client.HTTPResponse, *, start: int, end: int | None) -> IO[bytes]:
    """Return the wanted bytes of an answer, whose first ``start`` are not wanted."""
    left = start
    while left and (piece := answer.read(min(left, _SKIPPED))):
        left -= len(piece)
    if left:
        return io.BytesIO()
    length = _length(answer)
    if length is None:
        return answer
    rest = length - start
    size = rest if end is None else min(rest, end - start)
    return body_stream(answer, size, failures=http.client.HTTPException)


def _length(answer: http.client.HTTPResponse) -> int | None:
    """Return the size of an answer's body in bytes; None when the server does not say it, or says what is no number."""
    text = answer.headers.get("Content-Length", "")
    return int(text) if _NUMBER.fullmatch(text) else None


def _etag(answer: http.client.HTTPResponse) -> str:
    """Return what tells an object from an earlier one: the server's own mark, or when and how large it was written."""
    headers = answer.headers
    own = headers.get("ETag")
    if own:
        return own.removeprefix("W/")
    size = (headers.get("Content-Range") or "").rpartition("/")[2] or headers.get("Content-Length") or ""
    return f"{headers.get('Last-Modified') or ''} {size}"


def _info(key: str, answer: http.client.HTTPResponse, *, sha256: Sha256 | None = None, size: int | None = None) -> ObjectInfo:
    headers = answer.headers
    noted = headers.get("x-amz-meta-sha256", "")
    aged = _MAX_AGE.search(headers.get("Cache-Control", ""))
    return ObjectInfo(
        key=ObjectKey(key),
        size=(_length(answer) or 0) if size is None else size,
        etag=_etag(answer),
        sha256=sha256 or (Sha256(noted) if _HEX.fullmatch(noted) else None),
        content_type=headers.get_content_type(),
        cache_seconds=int(aged[1]) if aged else 0,
    )
