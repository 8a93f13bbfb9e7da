"""Reading addresses, over HTTP and from the disk, with the machine's proxy and certificate settings given as values."""

from __future__ import annotations

import base64
import contextlib
import functools
import http
import http.client
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from build_tools.errors import HipwrightError
from build_tools.threads import go_on, in_time
from build_tools.urls import redact, userinfo_of, without_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from http.client import HTTPMessage

__all__ = ["ABSENT", "Network", "Response", "canonical_url", "path_of"]

_MOST_BYTES: Final = 256 << 20
"""No page and no record is larger: what is would fill the memory."""

ABSENT: Final = frozenset({403, 404, 410})
"""Statuses that say that nothing is there. An S3 bucket answers 403 for a missing key to those who may not list it."""

_TRANSIENT: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_SAFE: Final = "/:@!$&'()*,;=~"
_AGENT: Final = "hipwright"
_PORTS: Final = {"http": 80, "https": 443}

Server = tuple[str, str, int]
"""A server as credentials are kept for it: scheme, host, port."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """A page that was read: the address that it came from after redirects, its media type, and its bytes."""

    url: str
    content_type: str
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """How addresses are read.

    Parameters
    ----------
    cert
        A file with the certificates to trust; the system's when not given.
    client_cert
        A file with a client certificate and its key.
    proxies
        Proxy addresses by scheme (``http``, ``https``).
    no_proxy
        Hosts that are reached without a proxy, as the variable ``NO_PROXY`` lists them.
    trusted_hosts
        Hosts (``name`` or ``name:port``) whose certificates are not checked.
    timeout
        Seconds that a connection may be silent.
    retries
        How often a transient failure is tried again.
    pause
        Seconds before the first new try; doubled for each further one.
    credentials
        User and password, quoted and parted by a colon, by the server that they are sent to, and to no other; see :meth:`knowing`.
    tokens
        Tokens by the server that they are sent to, and to no other; see :meth:`bearing`.
    """

    cert: Path | None = None
    client_cert: Path | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)
    no_proxy: str = ""
    trusted_hosts: frozenset[str] = frozenset()
    timeout: float = 60.0
    retries: int = 2
    pause: float = 0.5
    credentials: Mapping[Server, str] = field(default_factory=dict, repr=False)
    tokens: Mapping[Server, str] = field(default_factory=dict, repr=False)

    def knowing(self, urls: Iterable[str]) -> Network:
        """Return the same, with the users and passwords that addresses hold known for their servers.

        Pages and files of such a server are read with them, whatever address leads there: what a page links to and what a lock records
        holds no password.
        """
        found = {
            server: userinfo
            for url in urls
            if (userinfo := userinfo_of(url)) is not None and (server := _server(url)) is not None
        }
        return replace(self, credentials={**self.credentials, **found}) if found else self

    def bearing(self, url: str, token: str) -> Network:
        """Return the same, with a token that the server of an address is shown (RFC 6750); it goes nowhere else, a redirect included."""
        server = _server(url)
        return self if server is None else replace(self, tokens={**self.tokens, server: token})

    def read(self, url: str, *, accept: str = "*/*", within: float | None = None) -> Response | None:
        """Return the page at an address, or None when nothing is there.

        A folder's address stands for its ``index.html``, else its ``index.json``, as pip reads ``file:`` addresses. ``within`` are the
        seconds that it may take in all, however slowly the server sends.

        Raises
        ------
        HipwrightError
            ``source-unreachable``.
        """
        path = path_of(url)
        if path is not None:
            return _read_file(path)
        if within is not None:
            return _limited(functools.partial(self.read, url, accept=accept), url=url, seconds=within)
        try:
            with self._open(url, accept) as answer:
                body = answer.read(_MOST_BYTES + 1)
                if len(body) > _MOST_BYTES:
                    raise _unreachable(url, f"it is larger than {_MOST_BYTES >> 20} MiB, and no page is")
                return Response(url=answer.geturl(), content_type=answer.headers.get_content_type(), body=body)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in ABSENT:
                return None
            raise _refused(url, error) from error
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(url, _reason(error)) from error

    def refusal(self, url: str) -> HipwrightError | None:
        """Return the failure that a server refuses to say what is at an address; None where it answers otherwise, or not at all.

        To be asked where nothing was found: the same status says that nothing is there, of a bucket, and that somebody may not see it.
        """
        if path_of(url) is not None:
            return None
        try:
            self._open(url, "*/*").close()
        except urllib.error.HTTPError as error:
            error.close()
            return _refused(url, error) if error.code == http.HTTPStatus.FORBIDDEN else None
        except (OSError, http.client.HTTPException):
            return None
        return None

    @contextlib.contextmanager
    def stream(self, url: str) -> Iterator[IO[bytes]]:
        """Give an open stream of the bytes at an address.

        Raises
        ------
        HipwrightError
            ``source-unreachable``, also when nothing is there.
        """
        path = path_of(url)
        try:
            with path.open("rb") if path is not None else self._open(url, "*/*") as stream:
                yield stream
        except urllib.error.HTTPError as error:
            error.close()
            raise _refused(url, error) from error
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(url, _reason(error)) from error

    @contextlib.contextmanager
    def answer(
        self, url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse | None]:
        """Give the open answer of an ``http`` address, with its headers; None when nothing is there.

        Parameters
        ----------
        url
            The address.
        method
            What is asked: ``GET``, or ``HEAD`` for the headers alone.
        headers
            Further headers of the request, such as the ``Range`` that is wanted.

        Raises
        ------
        HipwrightError
            ``source-unreachable``. What breaks while the answer is read is raised as it is.
        """
        try:
            opened = self._open(url, "*/*", method=method, headers=headers)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code not in ABSENT:
                raise _refused(url, error) from error
            opened = None
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(url, _reason(error)) from error
        with opened or contextlib.nullcontext():
            yield opened

    def _open(
        self, url: str, accept: str, *, method: str = "GET", headers: Mapping[str, str] | None = None
    ) -> http.client.HTTPResponse:
        """Open an ``http`` address; a transient failure is tried again."""
        known = self.knowing((url,)).credentials
        request = _request(url, accept, known)
        token = self.tokens.get(server) if (server := _server(url)) is not None else None
        if token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        request.method = method
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        opener = self._opener(request.host, known)
        for attempt in range(self.retries + 1):
            go_on()
            try:
                answer: http.client.HTTPResponse = opener.open(request, timeout=self.timeout)
            except urllib.error.HTTPError as error:
                if error.code not in _TRANSIENT or attempt == self.retries:
                    raise
                error.close()
            except (OSError, http.client.HTTPException):
                if attempt == self.retries:
                    raise
            except ValueError as error:
                raise urllib.error.URLError(f"it leads to an address that is none ({error})") from error
            else:
                return answer
            time.sleep(self.pause * 2**attempt)
        message = "the loop ends by return or raise"
        raise AssertionError(message)

    def _opener(self, host: str, known: Mapping[Server, str]) -> urllib.request.OpenerDirector:
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        trusted = host in self.trusted_hosts or name in self.trusted_hosts
        direct = urllib.request.proxy_bypass_environment(host, {"no": self.no_proxy})  # type: ignore[attr-defined]
        proxies = {} if direct else dict(self.proxies)
        context = _context(self.cert, self.client_cert, verify=not trusted)
        return urllib.request.build_opener(
            urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context), _Redirects(known)
        )


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect with what is known for the server that it leads to; nothing of the first server's goes there."""

    def __init__(self, known: Mapping[Server, str]) -> None:
        self.known = known

    def redirect_request(  # noqa: PLR0917 - the base class's signature
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request that follows."""
        following = super().redirect_request(req, fp, code, msg, headers, redact(newurl))
        if following is not None:
            _identify(following, newurl, self.known)
        return following


@functools.cache
def _context(cert: Path | None, client_cert: Path | None, *, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(cert) if cert else None)
    if client_cert:
        context.load_cert_chain(client_cert)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _request(url: str, accept: str, known: Mapping[Server, str]) -> urllib.request.Request:
    """Return a request whose user and password, if some are known for its server, are in a header."""
    parts = urlsplit(redact(url))
    headers = {"Accept": accept, "User-Agent": _AGENT}
    request = urllib.request.Request(urlunsplit(parts._replace(fragment="")), headers=headers)  # noqa: S310 - the scheme is known
    _identify(request, url, known)
    return request


def _identify(request: urllib.request.Request, url: str, known: Mapping[Server, str]) -> None:
    server = _server(url)
    userinfo = userinfo_of(url) or (known.get(server) if server is not None else None)
    if userinfo:
        user, _, password = userinfo.partition(":")
        pair = f"{unquote(user)}:{unquote(password)}"
        # A header of this kind stays behind when a redirect is followed.
        request.add_unredirected_header("Authorization", "Basic " + base64.b64encode(pair.encode()).decode())


def _server(url: str) -> Server | None:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname and port else None


def _read_file(path: Path) -> Response | None:
    try:
        if path.is_dir():
            inside = next((path / name for name in ("index.html", "index.json") if (path / name).is_file()), None)
            if inside is None:
                return None
            path = inside
        if not path.exists():
            return None
        kind = "application/vnd.pypi.simple.v1+json" if path.suffix == ".json" else "text/html"
        if path.stat().st_size > _MOST_BYTES:
            raise _unreachable(path.as_uri(), f"it is larger than {_MOST_BYTES >> 20} MiB, and no page is")
        return Response(url=path.as_uri(), content_type=kind, body=path.read_bytes())
    except OSError as error:
        raise _unreachable(path.as_uri(), _reason(error)) from error


def path_of(url: str) -> Path | None:
    """Return the path that a ``file:`` address names, None for another address."""
    parts = urlsplit(url)
    if parts.scheme.lower() != "file":
        return None
    host = f"//{parts.netloc}" if parts.netloc not in {"", "localhost"} else ""
    return Path(urllib.request.url2pathname(host + parts.path))


def canonical_url(url: str) -> str:
    """Return an address with its path quoted in one way: ``+`` as ``%2B``, because S3 reads a raw ``+`` as a space."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=quote(unquote(parts.path), safe=_SAFE)))


def _limited(read: Callable[[], Response | None], *, url: str, seconds: float) -> Response | None:
    """Return what ``read`` returns, if that is in time."""
    try:
        return in_time(seconds, read)
    except TimeoutError:
        raise _unreachable(url, f"it was not there in whole after {seconds:g} seconds") from None


def _refused(url: str, error: urllib.error.HTTPError) -> HipwrightError:
    hint = None
    if error.code == http.HTTPStatus.UNAUTHORIZED:
        hint = "give the option or the pip setting that names this server as https://USER:PASSWORD@HOST/…"
    elif error.code == http.HTTPStatus.FORBIDDEN:
        hint = (
            "ask who owns the server for access, and name it as https://USER:PASSWORD@HOST/…; a bucket that nobody may list "
            "answers so too where nothing is: see whether the address is right"
        )
    # Of a circle of redirections Python speaks in several lines.
    return _unreachable(url, f"the server answers {error.code} {' '.join(str(error.reason).split())}", hint=hint)


def _unreachable(url: str, reason: str, *, hint: str | None = None) -> HipwrightError:
    return HipwrightError("source-unreachable", f"cannot read {without_query(url)}: {reason}", hint=hint)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
