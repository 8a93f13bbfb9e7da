"""What programs and files say of a machine, read on any system; and this machine asked for real."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from build_tools.process import Runner, base_environment
from build_tools.testing.machine_facts import (
    Asked,
    machine_facts,
    parse_dpkg,
    parse_groups,
    parse_os_release,
    parse_version,
    reaches,
    windows_driver,
)
from build_tools.types import Platform


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('PRETTY_NAME="Ubuntu 22.04.5 LTS"\nVERSION_ID="22.04"\nID=ubuntu\n', ("ubuntu", "22.04")),
        ("ID='rhel'\nVERSION_ID='9.4'\n", ("rhel", "9.4")),
        ("ID=arch\n", ("arch", None)),
        ("# nothing\n\n=", (None, None)),
    ],
)
def test_distributions_say_who_they_are(text: str, found: tuple[str | None, str | None]) -> None:
    assert parse_os_release(text) == found


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("git version 2.50.1.windows.1", "2.50.1"),
        ("cmake version 3.28.3\n\nCMake suite maintained by Kitware", "3.28.3"),
        ("1.11.1.git.kitware.jobserver-1", "1.11.1"),
        ("Python 3.14.0rc2", "3.14.0"),
        ("", None),
    ],
)
def test_programs_say_their_version(text: str, version: str | None) -> None:
    assert parse_version(text) == version


def test_packages_that_were_removed_are_not_there() -> None:
    text = "installed\trocblas\t5.0.0-1\nconfig-files\thipfft\t1.0\nnot-installed\trocm-dev\t\nodd line\n"
    assert parse_dpkg(text) == {"rocblas": "5.0.0-1"}


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script")
@pytest.mark.parametrize(
    ("name", "text", "gpus"),
    [
        ("bin/hipInfo.exe", "echo 'device#  0'; echo 'gcnArchName:  gfx1201'", ("gfx1201",)),
        ("lib/llvm/bin/offload-arch.exe", "echo gfx1201; echo gfx1100", ("gfx1201", "gfx1100")),
        ("bin/hipInfo.exe", "echo no devices", ()),
        ("bin/hipInfo.exe", "echo gfx1201; exit 1", None),
        ("bin/other.exe", "echo gfx1201", None),
    ],
)
def test_on_windows_a_program_of_the_rocm_names_the_gpus(
    tmp_path: Path, name: str, text: str, gpus: tuple[str, ...] | None
) -> None:
    program = tmp_path / "rocm" / name
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)
    facts = machine_facts(
        Asked(disk_of=tmp_path),
        machine={"ROCM_PATH": str(tmp_path / "rocm"), "SYSTEMROOT": str(tmp_path)},
        platform=Platform.WINDOWS,
        runner=Runner(environment=base_environment({"PATH": os.defpath})),
        python=Path(sys.executable),
    )
    assert facts.gpus == gpus


def test_groups_are_words() -> None:
    assert parse_groups("me video  render\n") == ("me", "video", "render")


def test_the_driver_of_windows_is_known_by_the_runtime_that_it_brings() -> None:
    assert windows_driver(["AMDHIP64_6.dll", "amdhip64_7.dll", "amdhip64_7.dll.bak"]) == "7"
    assert windows_driver(["kernel32.dll"]) == ""
    assert windows_driver(None) is None


def listening(answer: bytes = b"") -> tuple[socket.socket, int]:
    """Return a server on loopback that answers each connection with a text."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                if answer:
                    connection.recv(4096)
                    connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return server, server.getsockname()[1]


def test_a_host_answers_or_does_not() -> None:
    server, port = listening()
    with server:
        assert reaches(f"127.0.0.1:{port}", {})
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert not reaches(f"127.0.0.1:{closed.getsockname()[1]}", {})
    assert not reaches("", {}, seconds=1)
    assert not reaches("127.0.0.1:99999", {}, seconds=1)


@pytest.mark.parametrize(("answer", "reached"), [(b"HTTP/1.1 200 OK\r\n\r\n", True), (b"HTTP/1.1 403 Forbidden\r\n\r\n", False)])
def test_a_proxy_is_asked_where_the_machine_has_one(answer: bytes, *, reached: bool) -> None:
    server, port = listening(answer)
    with server:
        machine = {"HTTPS_PROXY": f"http://127.0.0.1:{port}"}
        assert reaches("host.invalid", machine) is reached
        for without in ("127.0.0.1", "*", "example.org, 127.0.0.1"):
            assert not reaches("127.0.0.1:1", {**machine, "no_proxy": without}, seconds=1)


def facts_of(folder: Path, path: str, **asked: tuple[str, ...]):  # type: ignore[no-untyped-def] # noqa: ANN201 - the facts
    runner = Runner(environment=base_environment({**os.environ, "PATH": path}))
    return machine_facts(
        Asked(disk_of=folder / "not" / "there", **asked),
        machine={},
        platform=Platform.LINUX,
        runner=runner,
        python=Path(sys.executable),
    )


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts")
def test_this_machine_is_asked(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    program(tools, "git", "echo git version 2.40.1")
    program(tools, "cmake", "echo cmake version 3.9.1; exit 3")
    program(tools, "id", "echo me render")
    program(tools, "dpkg-query", 'printf "installed\\trocblas\\t5.0\\n"; exit 1')
    facts = facts_of(tmp_path, f"{tools}:/usr/bin:/bin", packages=("rocblas", "hipfft"), labels=("ROCm",))
    assert facts.tools is not None
    # One that ends with an error has not said its version.
    assert (facts.tools["git"], "cmake" in facts.tools) == ("2.40.1", False)
    assert facts.groups == ("me", "render")
    assert facts.packages == {"rocblas": "5.0"}
    assert facts.labels == ("ROCm",)
    assert facts.reached is None
    assert facts.memory_bytes is not None
    assert facts.memory_bytes > 2**28
    assert facts.disk_bytes is not None
    assert facts.disk_bytes > 0


@pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts")
def test_what_cannot_be_asked_is_unknown(tmp_path: Path) -> None:
    program(tmp_path, "python3", "exit 1")
    program(tmp_path, "id", "exit 1")
    facts = facts_of(tmp_path, str(tmp_path))
    assert (facts.groups, facts.packages, facts.python) == (None, None, None)
    assert facts.python_venv is False
    assert facts.tools == {}
