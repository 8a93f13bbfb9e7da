"""Builds the wheel with nothing but the standard library; the environment says how it behaves."""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

NAME = "tiny_project"
LONGEST_WAIT = 240


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    behaviour = os.environ["TINY_BEHAVIOUR"]
    if behaviour == "no-wheel":
        return f"{NAME}.whl"
    if behaviour == "fails":
        fail()
    if behaviour == "waits":
        wait(Path(os.environ["TINY_HOLD"]))
    if behaviour == "two-wheels":
        write_wheel(Path(wheel_directory), "0.9.0")
    return write_wheel(Path(wheel_directory), os.environ.get("TINY_VERSION", "1.0.0"))


def fail():
    """End as a compilation does: the one line that counts comes early, and much follows it."""
    lines = ["[1/3] cc -Werror=all -c errors.cpp", "0 errors so far", "ops.cpp:7:3: error: 'stream_t' was not declared"]
    print(*lines, *(f"note: candidate {number}" for number in range(40)), "ninja: build stopped", sep="\n", file=sys.stderr)
    sys.exit(1)


def wait(hold):
    """Say by a file that the build has begun, and go on when a file says so."""
    (hold / f"began-{os.getpid()}").touch()
    end = time.monotonic() + LONGEST_WAIT
    while not (hold / "go").exists():
        if time.monotonic() > end:
            sys.exit("nobody let this build go on")
        time.sleep(0.02)


def write_wheel(folder, version):
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-none-any"
    info = f"{NAME}-{version}.dist-info"
    members = {path.as_posix(): path.read_bytes() for path in sorted(Path(NAME).glob("*.py"))}
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: tiny-project\nVersion: {version}\n".encode()
    members[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tiny\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()
    rows = [f"{name},sha256={digest(data)},{len(data)}\n" for name, data in members.items()]
    members[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    filename = f"{NAME}-{version}-{tag}.whl"
    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(folder / filename, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, date)
            member.external_attr = 0o100644 << 16
            archive.writestr(member, data)
    return filename


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
