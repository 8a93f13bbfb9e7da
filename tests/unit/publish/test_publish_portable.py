"""What leaves a machine in the papers of what it publishes: words for its folders, last names, and the system's own places."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.publish.portable import Portable
from build_tools.receipts.record import from_json
from build_tools.receipts.stage import CommandRecord

PORTABLE = Portable(places={"work-dir": Path("/srv/jobs/7/work"), "home": Path("/home/ada")}, mask=lambda text: text)
NAMES = st.from_regex(re.compile(r"[a-z]{3,8}(?: [a-z]{3,8})?", re.ASCII), fullmatch=True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/srv/jobs/7/work/envs/1/bin/hipcc: HIP version: 7.10.0", "{work-dir}/envs/1/bin/hipcc: HIP version: 7.10.0"),
        ("/usr/bin/c++: c++ (Debian) 12.2.0", "/usr/bin/c++: c++ (Debian) 12.2.0"),
        ("/tools/acme/llvm/bin/clang++: clang 19", "local:clang++: clang 19"),
        ("/srv/jobs/7/work/bin:/tools/acme/bin:/usr/bin:/bin", "{work-dir}/bin:local:bin:/usr/bin:/bin"),
        (r"D:\agents\3\_tool\bin;C:\Windows\system32", r"local:bin;C:\Windows\system32"),
        (r"C:\Program Files (x86)\CMake\bin\cmake.exe", r"C:\Program Files (x86)\CMake\bin\cmake.exe"),
        ("-I/tools/acme/include -isystem/tools/acme/sys -L/usr/lib", "-Ilocal:include -isystemlocal:sys -L/usr/lib"),
        ("-ffile-prefix-map=/srv/jobs/7/work/src=.", "-ffile-prefix-map={work-dir}/src=."),
        ("file:///mirrors/acme/torch.whl", "local:torch.whl"),
        ("file:///D:/mirrors/torch.whl", "local:torch.whl"),
        (r"\\build-server\share\rocm", "local:rocm"),
        ("/Users/Ada Lovelace/tools/ninja", "local:ninja"),
        ("/opt/rocm/bin/hipcc /opt/rocm-7.1.0/lib /opt/acme/x", "/opt/rocm/bin/hipcc /opt/rocm-7.1.0/lib local:x"),
        ("/home/ada", "{home}"),
        ("/srv", "local:srv"),
        ("https://host/a/b?c=/d", "https://host/a/b?c=local:d"),
        ("linux/amd64 and/or dist/torch.whl ../../lock/x 1 / 2", "linux/amd64 and/or dist/torch.whl ../../lock/x 1 / 2"),
    ],
)
def test_what_is_told_of_a_path(text: str, told: str) -> None:
    assert PORTABLE.text(text) == told


@given(
    folders=st.lists(NAMES, min_size=1, max_size=4),
    last=st.from_regex(re.compile(r"[a-z]{3,8}", re.ASCII), fullmatch=True),
    around=st.sampled_from(["{}", "-I{}", "x={}", '"{}"', "a:{}:/usr/bin", "see {}", "file://{}", "({}", "{},b"]),
    windows=st.booleans(),
)
def test_no_folder_of_the_machine_is_told(folders: list[str], last: str, around: str, *, windows: bool) -> None:
    secret = [f"{name}QX" for name in folders]
    path = str(PureWindowsPath("D:/", *secret, last) if windows else PurePosixPath("/", *secret, last))
    found = PORTABLE.text(around.format(path))
    assert "QX" not in found
    assert f"local:{last}" in found


def test_a_record_reads_back_and_loses_no_entry() -> None:
    command = CommandRecord(argv=("/tools/a/python", "-m", "build"), cwd="/tools/b", seconds=1.0, returncode=0)
    read = from_json(PORTABLE.json(command), CommandRecord, name="command")
    assert read == CommandRecord(argv=("local:python", "-m", "build"), cwd="local:b", seconds=1.0, returncode=0)
    watched = {"/tools/a/cc": "1", "/tools/b/cc": "2", "/usr/bin/cc": "3"}
    assert PORTABLE.value(watched) == {"local:cc": "1", "local:cc (2)": "2", "/usr/bin/cc": "3"}
