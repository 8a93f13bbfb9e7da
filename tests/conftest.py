"""What holds for every test: no network but loopback, and nothing of the machine's own settings."""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pytest

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
    os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1", PIP_NO_INDEX="1", TZ="UTC")
    _guard("connect")
    _guard("connect_ex")


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
