"""What holds for every test: no network but loopback, and nothing of the machine's own settings."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.s3 import S3Server

# How long an example takes says how busy the machine is, and nothing of the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

collect_ignore: Final = ["cases"]
"""Inputs of tests: the tests in there are for wheels that are made of them."""

KEPT: Final = ("HIPWRIGHT_TEST_",)
SCRUBBED: Final = (
    "AMDGPU_",
    "AWS_",
    "CI",
    "FORCE_COLOR",
    "GITHUB_",
    "GIT_",
    "HIPWRIGHT_",
    "HIP_",
    "MAX_JOBS",
    "NOX",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTORCH_",
    "RELEASE_TYPE",
    "ROCM_",
    "RUNNER_",
    "THEROCK_",
    "VIRTUAL_ENV",
)
"""How the names begin that a person's or a CI machine's environment may hold and hipwright or its children would read."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the environment the same everywhere, for this process and its children, and keep both off the network."""
    del config
    for name in list(os.environ):
        if name.startswith(SCRUBBED) and not name.startswith(KEPT):
            del os.environ[name]
    # Where Python is told to keep nothing that it compiles, each command of a test would compile all of build_tools, for half a second.
    sys.dont_write_bytecode = False
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", PIP_NO_INDEX="1", TZ="UTC")
    # Only a loss of power tells what the disk has from what the system has, and to wait for the disk takes its time.
    os.fsync = _leave_to_the_system
    # Credentials of the machine's own would make a test reach what it must not; to ask for some takes seconds.
    os.environ.update(AWS_CONFIG_FILE=os.devnull, AWS_SHARED_CREDENTIALS_FILE=os.devnull, AWS_EC2_METADATA_DISABLED="true")
    _guard("connect")
    _guard("connect_ex")


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server, for all tests of this process; each makes buckets of its own."""
    from tests.support.s3 import seaweed  # noqa: PLC0415 - most processes need none

    with seaweed(tmp_path_factory.mktemp("s3") / "server") as server:
        yield server


@pytest.fixture(scope="session")
def s3_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A twin of Amazon's S3 in this process, for its behaviours that the real server has not; each test makes buckets of its own."""
    from tests.support.s3 import twin  # noqa: PLC0415 - most processes need none

    with twin(tmp_path_factory.mktemp("s3")) as server:
        yield server


def _leave_to_the_system(fd: object) -> None:
    """Stand for ``os.fsync``, which waits until the disk has a file."""
    del fd


def _guard(name: str) -> None:
    """Let a socket's method reach this machine only."""
    original = getattr(socket.socket, name)

    def guarded(self: socket.socket, address: Any) -> Any:  # noqa: ANN401 - as the method that it stands for
        if self.family in {socket.AF_INET, socket.AF_INET6} and not _is_loopback(address[0]):
            message = f"tests stay on this machine, and this one wants to reach {address[0]}"
            raise PermissionError(message)
        return original(self, address)

    setattr(socket.socket, name, guarded)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
