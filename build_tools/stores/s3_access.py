"""How a bucket is reached: the server, the region, and credentials or none; and what its refusals mean.

Everything is taken from the environment as found by whoever starts hipwright; what that does not say (a profile's keys, a role, what a
machine in Amazon's own net is given) Amazon's library finds as it always does.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from build_tools.errors import HipwrightError
from build_tools.stores.s3_model import loader
from build_tools.threads import go_on
from build_tools.urls import mask_userinfo, redact, without_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from botocore.credentials import Credentials
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import Session
    from mypy_boto3_s3.client import S3Client

__all__ = ["Access", "Client", "can_pass", "client_for", "code_behind", "code_of", "status_of", "translated", "unsigned"]

_UNSIGNED: Final = contextvars.ContextVar("unsigned", default=False)

_CONNECT_SECONDS: Final = 10
_SILENT_SECONDS: Final = 60
_TRIES: Final = 5
_CONNECTIONS: Final = 64
_RACING: Final = "ConditionalRequestConflict"
"""What Amazon's servers call a write with a condition that met another one under way, so that neither is the first yet; it wants to be sent again."""

_RACE_SECONDS: Final = 0.5
"""The first pause before such a write is sent again; each further one is twice as long."""

_REGION: Final = "us-east-1"
"""Where Amazon is asked for a bucket whose region is not known; it answers where the bucket is."""

_NO_ADDRESS: Final = "name it as http://host:port with --endpoint-url"
_NO_KEYS: Final = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
_UNREACHABLE: Final = (
    "try again later, or name a store that can be reached with --store: a folder on this machine, or another bucket"
)
_CREDENTIALS: Final[Mapping[str, str]] = {
    "SignatureDoesNotMatch": "AWS_SECRET_ACCESS_KEY is not the secret of AWS_ACCESS_KEY_ID",
    "InvalidAccessKeyId": "AWS_ACCESS_KEY_ID is of another server or account",
    "InvalidToken": "AWS_SESSION_TOKEN does not go with the other two",
    "InvalidIdentityToken": "see which tokens the role of AWS_ROLE_ARN takes",
    "IDPRejectedClaim": "see which tokens the role of AWS_ROLE_ARN takes",
    "ExpiredToken": "get new credentials: these have run out",
    "ExpiredTokenException": "get new credentials: these have run out",
    "TokenRefreshRequired": "get new credentials: these have run out",
    "RequestTimeTooSkewed": "set this machine's clock",
    "AccessDenied": "ask who owns the bucket, or use other credentials",
    "AllAccessDisabled": "ask who owns the bucket",
    "AccountProblem": "ask who owns the bucket",
    "403": "ask who owns the bucket, or use other credentials",
    "401": "use other credentials",
}
_ELSEWHERE: Final = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301"})
_OVERTAKEN: Final = frozenset({"PreconditionFailed", _RACING, "412", "409"})
_BUSY: Final = frozenset({"SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "408", "429"})
_DAMAGED: Final = frozenset({"BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """How a server is reached.

    Parameters
    ----------
    machine
        The environment as found.
    endpoint_url
        The server, when it is not Amazon's; what the environment names when None.
    region
        Where the bucket is, when that is known.
    """

    machine: Mapping[str, str] = field(default_factory=dict, repr=False)
    endpoint_url: str | None = None
    region: str | None = None

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """What the environment says to Amazon's library."""
        return tuple(sorted((name, value) for name, value in self.machine.items() if name.startswith("AWS_")))

    def reaches_what(self, other: Access) -> bool:
        """Return whether this is how the other's server is reached, by the same credentials."""
        return (self.server, self.names) == (other.server, other.names)

    @property
    def server(self) -> str | None:
        """The address of a server that is not Amazon's, without a final ``/``.

        Raises
        ------
        HipwrightError
            ``store-unusable`` for an address with a query, which would be sent along nowhere and shown everywhere.
        """
        named = self.endpoint_url or self.machine.get("AWS_ENDPOINT_URL_S3") or self.machine.get("AWS_ENDPOINT_URL")
        if named and ("?" in named or "#" in named):
            message = f"{without_query(named.partition('#')[0])} is no address of an S3 server: such a one has no ? or #"
            raise HipwrightError("store-unusable", message, hint=_NO_ADDRESS)
        return named.rstrip("/") if named else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """Amazon's client, and whether it signs what it asks for."""

    s3: S3Client
    signed: bool


def client_for(access: Access, *, anonymous: bool = False) -> Client:
    """Return a client that is safe to use from several threads; it signs when this machine has credentials.

    Stores of one server share it, with its open connections: to make one takes a tenth of a second.

    Parameters
    ----------
    access
        The server.
    anonymous
        Whether nothing is signed in any case.

    Raises
    ------
    HipwrightError
        ``no-credentials`` when credentials are set up and cannot be had; ``store-unusable`` for an address that is no server's.
    """
    return _make_client(access.names, access.server, access.region, anonymous=anonymous)


@functools.lru_cache(maxsize=16)
def _make_client(names: tuple[tuple[str, str], ...], server: str | None, region: str | None, *, anonymous: bool) -> Client:
    # These take nearly a second, which only those pay who ask a bucket.
    import botocore.session  # noqa: PLC0415
    from botocore import UNSIGNED  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415
    from botocore.handlers import add_expect_header  # noqa: PLC0415

    session = botocore.session.Session()
    session.register_component("data_loader", loader())
    # Nobody looks at times that a server tells, and to read that of each row of a listing takes longer than all else about it.
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
    machine = dict(names)
    for name, variable in (
        ("AWS_CONFIG_FILE", "config_file"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials_file"),
        ("AWS_PROFILE", "profile"),
        ("AWS_CA_BUNDLE", "ca_bundle"),
    ):
        if machine.get(name):
            session.set_config_variable(variable, machine[name])
    named = region or machine.get("AWS_REGION") or machine.get("AWS_DEFAULT_REGION")
    try:
        signed = not anonymous and _find_credentials(session, machine, named)
        config = Config(
            signature_version=None if signed else UNSIGNED,
            region_name=named or session.get_config_variable("region") or _REGION,
            # Tried again is what can pass: a lost connection, silence, the answers 500, 502, 503, 504 and 429, and what says that too
            # much was asked. Whatever else a server refuses, it would refuse again.
            retries={"mode": "standard", "total_max_attempts": _TRIES},
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_SILENT_SECONDS,
            max_pool_connections=_CONNECTIONS,
            tcp_keepalive=True,
            # What is written carries a checksum of our own, which every server knows.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            # To sign bytes they would be hashed once more; what is signed is the SHA-256 that goes with them.
            s3={"addressing_style": "path" if server else "auto", "payload_signing_enabled": False},
        )
        client: Any = session.create_client("s3", endpoint_url=server, config=config)
    except BotoCoreError as error:
        raise translated(error, "use S3", server or "s3:") from error
    except ValueError as error:
        message = f"{redact(server or '')} is no address of an S3 server: {error}"
        raise HipwrightError("store-unusable", message, hint=_NO_ADDRESS) from error
    # To ask whether bytes are wanted takes a turn of its own for each object; names that are taken are known before.
    client.meta.events.unregister("before-call.s3", add_expect_header)
    client.meta.events.register("before-send.s3", lambda **_: go_on())
    client.meta.events.register("choose-signer.s3", lambda **_: UNSIGNED if _UNSIGNED.get() else None)
    for operation in ("PutObject", "CopyObject"):
        client.meta.events.register(f"needs-retry.s3.{operation}", _pause_of_race)
    return Client(s3=client, signed=signed)


def _pause_of_race(response: tuple[object, Mapping[str, Any]] | None, attempts: int, **_more: object) -> float | None:
    """Return after how many seconds Amazon's library is to ask once more, for a write that raced with another; None for any other answer."""
    code = None if response is None else response[1].get("Error", {}).get("Code")
    return _RACE_SECONDS * 2 ** (attempts - 1) if code == _RACING and attempts < _TRIES else None


@contextlib.contextmanager
def unsigned() -> Iterator[None]:
    """Let clients that sign ask without credentials, as somebody does who has none, for the time of the block and this thread alone."""
    token = _UNSIGNED.set(True)
    try:
        yield
    finally:
        _UNSIGNED.reset(token)


def _find_credentials(session: Session, machine: Mapping[str, str], region: str | None) -> bool:
    """Give the session the credentials of this machine; return whether there are some.

    Their order is Amazon's own: keys of the environment, a profile that it names, a token of the platform's for a role (as CI has it),
    then whatever else Amazon's library finds.
    """
    key, secret = machine.get("AWS_ACCESS_KEY_ID"), machine.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        session.set_credentials(key, secret, machine.get("AWS_SESSION_TOKEN") or None)
        return True
    if key or secret:
        missing = "AWS_SECRET_ACCESS_KEY" if key else "AWS_ACCESS_KEY_ID"
        raise HipwrightError("no-credentials", f"of the credentials for S3, {missing} is not set", hint=_NO_KEYS)
    token, role = machine.get("AWS_WEB_IDENTITY_TOKEN_FILE"), machine.get("AWS_ROLE_ARN")
    if token and role and not machine.get("AWS_PROFILE"):
        if not os.access(token, os.R_OK):
            message = f"the token of this machine for S3, {token}, cannot be read"
            raise HipwrightError("no-credentials", message, hint="see what AWS_WEB_IDENTITY_TOKEN_FILE names")
        # It has no other way in.
        session._credentials = _of_token(session, machine, token, role, region)  # type: ignore[attr-defined] # noqa: SLF001
        return True
    return session.get_credentials() is not None


def _of_token(session: Session, machine: Mapping[str, str], token: str, role: str, region: str | None) -> Credentials:
    """Return a role's credentials, fetched now and whenever they run out, for what a file says who this machine is."""
    from botocore.credentials import (  # noqa: PLC0415 - as above
        AssumeRoleWithWebIdentityCredentialFetcher,
        DeferredRefreshableCredentials,
    )
    from botocore.utils import FileWebIdentityTokenLoader  # noqa: PLC0415

    server = machine.get("AWS_ENDPOINT_URL_STS") or machine.get("AWS_ENDPOINT_URL")
    create = functools.partial(session.create_client, region_name=region or _REGION, endpoint_url=server)
    named = {"RoleSessionName": name} if (name := machine.get("AWS_ROLE_SESSION_NAME")) else {}
    fetcher = AssumeRoleWithWebIdentityCredentialFetcher(
        client_creator=create, web_identity_token_loader=FileWebIdentityTokenLoader(token), role_arn=role, extra_args=named
    )
    return DeferredRefreshableCredentials(method="assume-role-with-web-identity", refresh_using=fetcher.fetch_credentials)


def code_of(error: ClientError) -> str:
    """Return the server's own name for what is wrong; the status where it gave none."""
    return str(error.response.get("Error", {}).get("Code") or status_of(error))


def code_behind(error: HipwrightError) -> str | None:
    """Return what the server called the failure that one of ours was made of; None when it was no answer of a server."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - as above

    return code_of(error.__cause__) if isinstance(error.__cause__, ClientError) else None


def status_of(error: ClientError) -> int:
    """Return the HTTP status of an answer."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") or 0)


def can_pass(error: ClientError) -> bool:
    """Return whether what a server refused may be taken by a later call: it was busy, or it wants other credentials."""
    code, status = code_of(error), status_of(error)
    if code in _BUSY or code in _CREDENTIALS or status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}:
        return True
    return status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def translated(error: BotoCoreError | ClientError, what: str, address: str) -> HipwrightError:
    """Return our own error for one of Amazon's library.

    Parameters
    ----------
    error
        What it raised.
    what
        What was tried, as in "cannot ``list``".
    address
        The store, or the server.
    """
    from botocore.exceptions import ClientError  # noqa: PLC0415 - as above

    doing = f"cannot {what} in the store {address}"
    if not isinstance(error, ClientError):
        return _of_library(error, doing)
    code, status = code_of(error), status_of(error)
    said = str(error.response.get("Error", {}).get("Message") or HTTPStatus(status).phrase if status else code)
    named = code if said == code or code.isdigit() else f"{code}: {said}"
    if code == "NoSuchBucket":
        return HipwrightError("store-unusable", f"{doing}: there is no such bucket", hint="name another one with --store")
    if code in _CREDENTIALS or status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return HipwrightError("no-credentials", f"{doing}: {named}", hint=_CREDENTIALS.get(code, _NO_KEYS))
    if code in _OVERTAKEN:
        return HipwrightError("write-conflict", f"{doing}: it was changed by someone else")
    if code in _DAMAGED:
        return HipwrightError("hash-mismatch", f"{doing}: the bytes were damaged on their way", hint="try again")
    if code in _ELSEWHERE or status == HTTPStatus.MOVED_PERMANENTLY:
        return HipwrightError("store-unusable", f"{doing}: the bucket is in another region", hint="set AWS_REGION to its region")
    if code == str(HTTPStatus.BAD_REQUEST.value):
        # To a question without a body there is an answer without one, which does not say what was bad.
        return HipwrightError("no-credentials", f"{doing}: {named}", hint="get new credentials, if these have run out")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or code in _BUSY:
        return HipwrightError("source-unreachable", f"{doing}: {named}", hint=_UNREACHABLE)
    return HipwrightError(
        "store-unusable",
        f"{doing}: {named}",
        hint="see whether --store and --endpoint-url name the bucket and the server that are meant",
    )


def _of_library(error: BotoCoreError, doing: str) -> HipwrightError:
    from botocore import exceptions  # noqa: PLC0415 - as above

    said = mask_userinfo(" ".join(str(error).split()))
    if isinstance(error, (exceptions.ParamValidationError, exceptions.InvalidRegionError)):
        return HipwrightError("store-unusable", f"{doing}: {said}", hint="name another store with --store")
    if isinstance(error, exceptions.EndpointProviderError):
        return HipwrightError("store-unusable", f"{doing}: {said}", hint=_NO_ADDRESS)
    unreachable = (exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.IncompleteReadError)
    if isinstance(error, unreachable):
        local = "127.0.0.1" in said or "localhost" in said
        hint = "look whether the server is up and --endpoint-url names it" if local else _UNREACHABLE
        return HipwrightError("source-unreachable", f"{doing}: {said}", hint=hint)
    return HipwrightError("no-credentials", f"{doing}: {said}", hint=_NO_KEYS)
