"""A compiler cache at work for one build: proved before it begins, its account read after it.

sccache compiles in a server, which keeps the settings that it was started with. So each build has a server of its own, on a socket that
nobody else knows, started as a program of this process and ended with it. Only the server knows the credentials of a bucket.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.builds import cache_statistics
from build_tools.builds.compiler_cache import Bucket, tool_settings
from build_tools.errors import HipwrightError
from build_tools.files import make_folder
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from build_tools.builds.compiler_cache import CacheSettings
    from build_tools.process import Runner
    from build_tools.receipts.values import CacheUse
    from build_tools.stores.base import Store

__all__ = ["RunningCache", "build_settings", "running_cache"]

_START_SECONDS: Final = 60.0
_ASK_SECONDS: Final = 60.0
_STEP_SECONDS: Final = 0.05
_OPTION: Final = "--compiler-cache-store"
_SEEN: Final = "hipwright-keys"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningCache:
    """A cache that works: what a build's environment gets of it, and what tells its account."""

    settings: CacheSettings
    environment: Mapping[str, str]
    account: Callable[[], CacheUse]


@contextlib.contextmanager
def running_cache(
    settings: CacheSettings,
    *,
    runner: Runner,
    scratch: Path,
    credentials: Mapping[str, str] | None = None,
    store: Store | None = None,
) -> Iterator[RunningCache]:
    """Have a compiler cache for the time of the block.

    Parameters
    ----------
    settings
        The cache.
    runner
        Starts the tool.
    scratch
        A folder of this build alone.
    credentials
        What of the machine's environment lets a bucket be read and written; only sccache's server gets it.
    store
        The bucket, to see whether it holds anything.

    Raises
    ------
    HipwrightError
        ``cache-unusable`` when the tool cannot work with its folder or bucket; ``folder-not-writable``.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    values = tool_settings(settings, scratch=scratch)
    held = _holds(settings, store)
    if settings.tool == "ccache":
        with _ccache(settings, values, runner=runner, scratch=scratch, held=held) as cache:
            yield cache
    else:
        with _sccache(settings, values, runner=runner, scratch=scratch, credentials=credentials or {}, held=held) as cache:
            yield cache


@contextlib.contextmanager
def _ccache(
    settings: CacheSettings, values: dict[str, str], *, runner: Runner, scratch: Path, held: bool
) -> Iterator[RunningCache]:
    make_folder(Path(values["CCACHE_DIR"]), option=_OPTION)
    log = Path(values["CCACHE_STATSLOG"])
    log.unlink(missing_ok=True)
    try:
        runner.capture([settings.program, "--get-config", "stats_log"], cwd=scratch, env=values, timeout=_ASK_SECONDS)
    except HipwrightError as error:
        said = error.excerpt or error.message
        hint = "a ccache of 4.7 or newer is needed; --compiler-cache none builds without"
        raise HipwrightError("cache-unusable", f"{settings.program} does not work", excerpt=said, hint=hint) from error

    def account() -> CacheUse:
        with contextlib.suppress(OSError), log.open(encoding="utf-8", errors="replace") as lines:
            return cache_statistics.of_ccache(lines, held=held)
        return cache_statistics.of_ccache((), held=held)

    yield RunningCache(settings=settings, environment=values, account=account)
    use = account()
    if use.hits or use.misses:
        _note(settings)


@contextlib.contextmanager
def _sccache(
    settings: CacheSettings,
    values: dict[str, str],
    *,
    runner: Runner,
    scratch: Path,
    credentials: Mapping[str, str],
    held: bool,
) -> Iterator[RunningCache]:
    if "SCCACHE_DIR" in values:
        make_folder(Path(values["SCCACHE_DIR"]), option=_OPTION)
    # The names of sockets may have a hundred characters, which a work dir has soon.
    with _short_folder() as short:
        address = _address(settings.platform, short)
        client = build_settings(values)[0] | address
        server = _Server(settings=settings, runner=runner, scratch=scratch, address=address)
        server.start({**values, **address, **credentials})

        def ask(*words: str) -> bytes:
            done = runner.capture([settings.program, *words], cwd=short, env=client, timeout=_ASK_SECONDS, check=False)
            return done.stdout

        def account() -> CacheUse:
            # Asked of a server that is gone, the tool would start another one.
            told = ask("--show-stats", "--stats-format=json") if server.is_up else b""
            return cache_statistics.of_sccache(told, held=held)

        try:
            yield RunningCache(settings=settings, environment=client, account=account)
        finally:
            if server.is_up:
                with contextlib.suppress(HipwrightError):
                    ask("--stop-server")
            server.join()


_OF_SERVER: Final = frozenset(
    {"SCCACHE_BUCKET", "SCCACHE_REGION", "SCCACHE_ENDPOINT", "SCCACHE_S3_KEY_PREFIX", "SCCACHE_S3_USE_SSL"}
    | {"SCCACHE_S3_NO_CREDENTIALS", "SCCACHE_S3_RW_MODE", "SCCACHE_DIR", "SCCACHE_CACHE_SIZE"}
)
"""Settings that only the server needs: a build that finds no server compiles without a cache and not into another one."""


def build_settings(values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return a tool's settings in two parts: what a build gets of them, and what the build's own server alone gets."""
    of_server = {name: value for name, value in values.items() if name in _OF_SERVER}
    return {name: value for name, value in values.items() if name not in of_server}, of_server


@dataclass(kw_only=True, slots=True)
class _Server:
    """sccache's server as a program of this process, which ends with it."""

    settings: CacheSettings
    runner: Runner
    scratch: Path
    address: Mapping[str, str]
    said: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    @property
    def is_up(self) -> bool:
        return self.thread is not None and not self.ended.is_set()

    def start(self, environment: Mapping[str, str]) -> None:
        """Start it and wait until it answers; it reads and writes its store before it does."""
        whole = {**environment, "SCCACHE_START_SERVER": "1", "SCCACHE_NO_DAEMON": "1"}
        # Its account would be told among the programs of the build.
        runner = self.runner.with_record()

        def serve() -> None:
            try:
                done = runner.capture([self.settings.program], cwd=self.scratch, env=whole, check=False)
                self.said.append(self.runner.mask((done.stderr or done.stdout).decode("utf-8", "replace").strip()))
            except HipwrightError as error:
                self.said.append(error.excerpt or error.message)
            finally:
                self.ended.set()

        self.thread = threading.Thread(target=serve, daemon=True, name="sccache")
        self.thread.start()
        until = time.monotonic() + _START_SECONDS
        while not _answers(self.address):
            if self.ended.wait(_STEP_SECONDS):
                said = self.said[-1] if self.said else ""
                message = f"sccache cannot work with {self.settings.place}: {_last_word(said)}"
                raise HipwrightError("cache-unusable", message, excerpt=said or None, hint=_hint(self.settings))
            if time.monotonic() > until:
                message = f"sccache did not start within {_START_SECONDS:g} s with {self.settings.place}"
                raise HipwrightError("cache-unusable", message, hint=_hint(self.settings))

    def join(self) -> None:
        """Wait for its end."""
        if self.thread is not None:
            self.thread.join(_ASK_SECONDS)


def _hint(settings: CacheSettings) -> str:
    if isinstance(settings.store, Bucket):
        return "look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and --endpoint-url, or build with --compiler-cache none"
    return f"name another folder with {_OPTION}, or build with --compiler-cache none"


def _last_word(said: str) -> str:
    """Return the line of a chain of causes that says most: the last one that is a cause."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.strip().startswith("Context:")]
    told = [line for line in lines if ":" in line]
    return (told or lines or ["it ended without a word"])[-1]


def _address(platform: Platform, folder: Path) -> dict[str, str]:
    if platform is not Platform.WINDOWS:
        # Of this user alone; to a port everybody on the machine could talk.
        return {"SCCACHE_SERVER_UDS": str(folder / "s")}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return {"SCCACHE_SERVER_PORT": str(free.getsockname()[1])}


def _answers(address: Mapping[str, str]) -> bool:
    name = address.get("SCCACHE_SERVER_UDS")
    try:
        if name is None or sys.platform == "win32":
            socket.create_connection(("127.0.0.1", int(address["SCCACHE_SERVER_PORT"])), timeout=1).close()
        else:
            with socket.socket(socket.AF_UNIX) as caller:
                caller.connect(name)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _short_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="hw-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _holds(settings: CacheSettings, store: Store | None) -> bool:
    """Return whether the cache has objects for this key."""
    if isinstance(settings.store, Bucket):
        if store is None:
            return False
        try:
            return any(True for _ in store.list(settings.key.prefix))
        except HipwrightError as error:
            message = f"the bucket of compiled objects {settings.place} cannot be used: {error.message}"
            raise HipwrightError("cache-unusable", message, hint=error.hint or _hint(settings)) from error
    if settings.tool == "sccache":
        folder = settings.store.joinpath(*settings.key.prefix.split("/"))
        return folder.is_dir() and any(path.is_file() for path in folder.rglob("*"))
    # ccache's own folders tell no key from another, and may have been cleared since.
    seen = settings.store / _SEEN / settings.key.prefix.replace("/", "+")
    return seen.is_file() and any(len(path.name) == 1 for path in settings.store.iterdir())


def _note(settings: CacheSettings) -> None:
    if settings.tool == "ccache" and isinstance(settings.store, Path):
        seen = settings.store / _SEEN / settings.key.prefix.replace("/", "+")
        seen.parent.mkdir(parents=True, exist_ok=True)
        seen.touch()
