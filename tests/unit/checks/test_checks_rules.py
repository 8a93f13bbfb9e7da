"""Each rule: wheels that break it in one way and no other rule, and neighbours that break none."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.checks.expectation import Expectation, StatedCommit
from build_tools.checks.explain import all_rules
from build_tools.checks.run import check_wheels
from build_tools.errors import HipwrightError
from build_tools.types import CommitId, Platform, Sha256
from tests.support.wheel_maker import WheelMaker, row

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Callable

    from build_tools.receipts.check import Finding

_INFO = "demo-1.0.dist-info"
_LINUX = "cp311-cp311-manylinux_2_28_x86_64"


def _findings(wheel: Path, plan: Expectation | None = None) -> list[Finding]:
    expectations = None if plan is None else {wheel.name: plan}
    report = check_wheels([wheel], expectations=expectations, say=lambda _line: None)
    # The binaries here are names; that nothing is in them is another test's matter.
    return [finding for finding in report.findings if finding.rule != "binaries"]


def _binary(*modules: str, tag: str = _LINUX) -> WheelMaker:
    files = {f"demo/{module}": b"\x7fELF" for module in modules}
    wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n" + "".join(f"Tag: {each}\n" for each in _expanded(tag))
    return WheelMaker(tag=tag, files=files, wheel=wheel)


def _expanded(tag: str) -> list[str]:
    pythons, abis, platforms = (field.split(".") for field in tag.split("-"))
    return [f"{python}-{abi}-{platform}" for python in pythons for abi in abis for platform in platforms]


def _metadata(*lines: str, version: str = "1.0") -> str:
    return "\n".join(["Metadata-Version: 2.4", "Name: demo", f"Version: {version}", *lines]) + "\n"


def _mode(mode: int, name: str = "demo/__init__.py") -> Callable[[zipfile.ZipInfo], None]:
    def edit(entry: zipfile.ZipInfo) -> None:
        if entry.filename == name:
            entry.external_attr = mode << 16

    return edit


def _from_dos(entry: zipfile.ZipInfo) -> None:
    entry.create_system = 0
    entry.external_attr = 0


def _drop(name: str) -> Callable[[list[str]], list[str]]:
    return lambda rows: [line for line in rows if not line.startswith(f"{name},")]


def _swap(old: str, new: str) -> Callable[[list[str]], list[str]]:
    return lambda rows: [line.replace(old, new) for line in rows]


_SHA512 = "sha512=vgG7-jb5kD4nTzcJLY6Y5SEkXcRCH2jDrh8ykXoGeUGcDnc6IOgTFEA"

_RIGHT: dict[str, WheelMaker] = {
    "plain": WheelMaker(),
    "stored": WheelMaker(compress=False),
    "made on Windows": WheelMaker(edit_entry=_from_dos),
    "with folder entries, which RECORD does not list": WheelMaker(extra=[("demo/", b""), (f"{_INFO}/", b"")]),
    "with a signature of RECORD": WheelMaker(extra=[(f"{_INFO}/RECORD.jws", b"{}"), (f"{_INFO}/RECORD.p7s", b"{}")]),
    "with a quoted name in RECORD": WheelMaker(
        files={"demo/a,b.py": b"x"}, edit_record=_swap(row("demo/a,b.py", b"x"), '"demo/a,b.py"' + row("", b"x"))
    ),
    "with a local version": WheelMaker(version="1.0+rocm7.10.0"),
    "with a build tag": WheelMaker(
        filename="demo-1.0-2-py3-none-any.whl",
        wheel="Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\nBuild: 2\n",
    ),
    "with names that are one on Windows, for Linux": WheelMaker(
        tag=_LINUX, files={"demo/a.py": b"", "demo/A.py": b"", "demo/aux.py": b"", "demo/a:b.py": b""}
    ),
    "with a newer minor of the format": WheelMaker(wheel="Wheel-Version: 1.9\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    "with data": WheelMaker(files={"demo-1.0.data/scripts/demo": b"#!python\n"}),
    "for cp311 on Linux": _binary("_C.cpython-311-x86_64-linux-gnu.so", "lib/libdemo.so"),
    "for two platforms": _binary(
        "_C.cpython-311-x86_64-linux-gnu.so", tag="cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64"
    ),
    "free-threaded": _binary("_C.cpython-313t-x86_64-linux-gnu.so", tag="cp313-cp313t-linux_x86_64"),
    "for cp311 on Windows": _binary("_C.cp311-win_amd64.pyd", "lib/demo.dll", tag="cp311-cp311-win_amd64"),
    "for the stable ABI": _binary("_C.abi3.so", tag="cp310-abi3-linux_x86_64"),
    "with a library of no Python": _binary("lib/libdemo.so", "lib/libdemo.so.1", tag="py3-none-linux_x86_64"),
    "for two Pythons": _binary(
        "_C.cpython-311-x86_64-linux-gnu.so", "_C.cpython-312-x86_64-linux-gnu.so", tag="cp311.cp312-cp311.cp312-linux_x86_64"
    ),
    "for 32 bits": _binary("_C.cpython-311-i386-linux-gnu.so", tag="cp311-cp311-linux_i686"),
}


@pytest.mark.parametrize("kind", _RIGHT)
def test_right_wheels_break_no_rule(tmp_path: Path, kind: str) -> None:
    assert _findings(_RIGHT[kind].write(tmp_path)) == []


_DOS_PATH = WheelMaker(files={"demo/a.py": b"x"}, edit_record=_swap("demo/a.py", "demo\\a.py"))

_WRONG: dict[str, tuple[WheelMaker, str, str]] = {
    # member-names
    "a name that is there twice": (WheelMaker(extra=[("demo/__init__.py", b"answer = 42\n")]), "member-names", "there 2 times"),
    "a name that leads out": (WheelMaker(files={"demo/../../x.py": b""}), "member-names", "leads out"),
    "a name that begins with a step out": (WheelMaker(files={"../x.py": b""}), "member-names", "leads out"),
    "an absolute name": (WheelMaker(files={"/etc/x.py": b""}), "member-names", "absolute"),
    "a drive": (WheelMaker(files={"c:/x.py": b""}), "member-names", "absolute"),
    "a backslash": (WheelMaker(files={"demo\\x.py": b""}), "member-names", "backslash"),
    "a control character": (WheelMaker(files={"demo/x\x1b.py": b""}), "member-names", "control character"),
    "a NUL": (WheelMaker(files={"demo/x\0.py": b""}), "member-names", "control character"),
    "an empty part": (WheelMaker(files={"demo//x.py": b""}), "member-names", "empty part"),
    "a part that is a dot": (WheelMaker(files={"demo/./x.py": b""}), "member-names", "part '.'"),
    "a link": (WheelMaker(edit_entry=_mode(stat.S_IFLNK | 0o777)), "member-names", "a link"),
    "a pipe": (WheelMaker(edit_entry=_mode(stat.S_IFIFO | 0o644)), "member-names", "special file"),
    "a file with a folder's mode": (WheelMaker(edit_entry=_mode(stat.S_IFDIR | 0o755)), "member-names", "a folder's"),
    "a mode that gives rights": (WheelMaker(edit_entry=_mode(stat.S_IFREG | 0o4755)), "member-names", "user or group id"),
    "a folder with content": (WheelMaker(extra=[("demo/", b"x")]), "member-names", "has content"),
    "a file that is a folder too": (WheelMaker(files={"demo": b"", "demo/x.py": b""}), "member-names", "a folder's too"),
    "two names that are one on Windows": (WheelMaker(files={"demo/a.py": b"", "demo/A.py": b""}), "member-names", "one file"),
    "two folders that are one on Windows": (WheelMaker(files={"demo/a.py": b"", "Demo/b.py": b""}), "member-names", "one file"),
    "a device's name": (WheelMaker(files={"demo/aux.py": b""}), "member-names", "'aux.py'"),
    "a colon": (WheelMaker(files={"demo/a:b.py": b""}), "member-names", "'a:b.py'"),
    "a final dot": (WheelMaker(files={"demo/a.": b""}), "member-names", "'a.'"),
    # record
    "no RECORD": (WheelMaker(without=("RECORD",)), "record", "has no RECORD"),
    "a file that is not listed": (WheelMaker(edit_record=_drop("demo/__init__.py")), "record", "does not list it"),
    "a row without a file": (WheelMaker(edit_record=lambda rows: ["gone.py,,", *rows]), "record", "line 1 lists it"),
    "a file that is listed twice": (WheelMaker(edit_record=lambda rows: [*rows, rows[0]]), "record", "lists it 2 times"),
    "another hash": (
        WheelMaker(edit_record=_swap(row("demo/__init__.py", b"answer = 42\n"), row("demo/__init__.py", b"answer = 43\n"))),
        "record",
        "the content is sha256=",
    ),
    "another size": (WheelMaker(edit_record=lambda rows: [rows[0] + "0", *rows[1:]]), "record", "says 120 bytes"),
    "a weak hash": (WheelMaker(edit_record=_swap("sha256=", "md5=")), "record", "by md5"),
    "no hash": (WheelMaker(edit_record=lambda rows: ["demo/__init__.py,,12", *rows[1:]]), "record", "has no hash"),
    "another hash by SHA-512": (
        WheelMaker(edit_record=lambda rows: [f"demo/__init__.py,{_SHA512},12", *rows[1:]]),
        "record",
        "the content is sha512=",
    ),
    "a hash of RECORD": (WheelMaker(edit_record=lambda rows: [*rows[:-1], row(f"{_INFO}/RECORD", b"")]), "record", "of itself"),
    "a listed signature": (
        WheelMaker(extra=[(f"{_INFO}/RECORD.jws", b"{}")], edit_record=lambda rows: [row(f"{_INFO}/RECORD.jws", b"{}"), *rows]),
        "record",
        "its own signature",
    ),
    "a listed folder": (
        WheelMaker(extra=[("demo/", b"")], edit_record=lambda rows: ["demo/,,", *rows]),
        "record",
        "not in the wheel",
    ),
    "RECORD that is no CSV": (WheelMaker(edit_record=lambda rows: ['"open', *rows]), "record", "not CSV"),
    "RECORD with Windows separators": (_DOS_PATH, "record", "does not list it"),
    # file-name
    "an underscore for the plus": (
        WheelMaker(version="1.0+rocm7", filename="demo-1.0_rocm7-py3-none-any.whl"),
        "file-name",
        "version",
    ),
    "a quoted plus": (WheelMaker(version="1.0+rocm7", filename="demo-1.0%2Brocm7-py3-none-any.whl"), "file-name", "'%'"),
    "a space": (WheelMaker(filename="demo-1.0 -py3-none-any.whl"), "file-name", "' '"),
    "a bad name on a wheel with modules": (
        WheelMaker(files={"demo/_C.cpython-311-x86_64-linux-gnu.so": b""}, filename="demo.whl"),
        "file-name",
        "number of parts",
    ),
    "a part too few": (WheelMaker(filename="demo-1.0-py3-none.whl"), "file-name", "number of parts"),
    # identity
    "another name": (WheelMaker(filename="other-1.0-py3-none-any.whl"), "identity", "the name demo"),
    "another version": (WheelMaker(filename="demo-1.1-py3-none-any.whl"), "identity", "the version 1.0"),
    "another version in METADATA": (WheelMaker(metadata=_metadata(version="1.1")), "identity", "METADATA has the version 1.1"),
    "a local part that METADATA lacks": (
        WheelMaker(version="1.0+rocm7", metadata=_metadata(version="1.0")),
        "identity",
        "METADATA has the version 1.0,",
    ),
    "another .dist-info folder": (WheelMaker(dist_info="demo-1.1.dist-info"), "identity", "demo-1.1.dist-info"),
    "two .dist-info folders": (WheelMaker(files={"other-1.0.dist-info/METADATA": b""}), "identity", "this has 2"),
    "another .data folder": (WheelMaker(files={"demo-1.1.data/scripts/x": b""}), "identity", "demo-1.1.data"),
    "no WHEEL": (WheelMaker(without=("WHEEL",)), "identity", "has no WHEEL"),
    "WHEEL that cannot be read": (WheelMaker(wheel="Wheel-Version: 1.0\n"), "identity", "Root-Is-Purelib"),
    "other tags in WHEEL": (
        WheelMaker(wheel="Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py2-none-any\n"),
        "identity",
        "py2",
    ),
    "a tag that WHEEL lacks": (
        WheelMaker(filename="demo-1.0-py2.py3-none-any.whl"),
        "identity",
        "py2-none-any, py3-none-any",
    ),
    "a build tag that WHEEL lacks": (WheelMaker(filename="demo-1.0-2-py3-none-any.whl"), "identity", "build tag none"),
    "a format of the future": (
        WheelMaker(wheel="Wheel-Version: 2.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        "identity",
        "2.0",
    ),
    # metadata
    "no METADATA": (WheelMaker(without=("METADATA",)), "metadata", "has no METADATA"),
    "METADATA without a version": (WheelMaker(metadata="Metadata-Version: 2.4\nName: demo\n"), "metadata", "version"),
    "a requirement that cannot be read": (WheelMaker(metadata=_metadata("Requires-Dist: rocm =")), "metadata", "requires-dist"),
    "a requirement by address": (
        WheelMaker(metadata=_metadata("Requires-Dist: rocm @ file:///build/rocm-7.whl")),
        "metadata",
        "file:///build/rocm-7.whl",
    ),
    # binary-tags
    "a module of another Python": (_binary("_C.cpython-312-x86_64-linux-gnu.so"), "binary-tags", "for cp312"),
    "a module of the free-threaded Python": (
        _binary("_C.cpython-314t-x86_64-linux-gnu.so", tag="cp314-cp314-linux_x86_64"),
        "binary-tags",
        "for cp314t",
    ),
    "a module of the other Python in a free-threaded wheel": (
        _binary("_C.cpython-314-x86_64-linux-gnu.so", tag="cp314-cp314t-linux_x86_64"),
        "binary-tags",
        "for cp314,",
    ),
    "a stable module in a free-threaded wheel": (
        _binary("_C.abi3.so", tag="cp314-cp314t-linux_x86_64"),
        "binary-tags",
        "free-threaded",
    ),
    "a module of one Python in a stable wheel": (
        _binary("_C.cpython-311-x86_64-linux-gnu.so", tag="cp310-abi3-linux_x86_64"),
        "binary-tags",
        "for cp311",
    ),
    "a module of another machine": (_binary("_C.cpython-311-aarch64-linux-gnu.so"), "binary-tags", "aarch64 Linux"),
    "a Linux module in a Windows wheel": (
        _binary("_C.cpython-311-x86_64-linux-gnu.so", tag="cp311-cp311-win_amd64"),
        "binary-tags",
        "x86_64 Linux",
    ),
    "a Windows module in a Linux wheel": (_binary("_C.cp311-win_amd64.pyd"), "binary-tags", "win_amd64"),
    "a module of another Python on Windows": (
        _binary("_C.cp312-win_amd64.pyd", tag="cp311-cp311-win_amd64"),
        "binary-tags",
        "for cp312",
    ),
    "a binary in a wheel for anything": (_binary("lib/libdemo.so", tag="py3-none-any"), "binary-tags", "tag is any"),
}


@pytest.mark.parametrize("kind", _WRONG)
def test_wrong_wheels_break_the_rule(tmp_path: Path, kind: str) -> None:
    maker, rule, message = _WRONG[kind]
    with_warnings = _findings(maker.write(tmp_path))
    errors = [finding for finding in with_warnings if finding.severity == "error"]
    assert {finding.rule for finding in errors} == {rule}, errors
    assert any(message in finding.message for finding in errors), errors


_ODD: dict[str, tuple[WheelMaker, str, str]] = {
    "RECORD that does not list itself": (WheelMaker(edit_record=lambda rows: rows[:-1]), "record", "does not list itself"),
    "no size": (WheelMaker(edit_record=lambda rows: [rows[0].rpartition(",")[0] + ",", *rows[1:]]), "record", "has no size"),
    "a name in capitals": (WheelMaker(name="Demo"), "file-name", "normalised it is demo"),
    "a version that is not normalised": (
        WheelMaker(version="1.0.rc1", metadata=_metadata(version="1.0rc1")),
        "file-name",
        "normalised it is 1.0rc1",
    ),
    "a version in METADATA that is not normalised": (
        WheelMaker(metadata=_metadata(version="1.0.0+ROCm07"), version="1.0.0+rocm07"),
        "version",
        "which other tools write as 1.0.0+rocm07",
    ),
    "a folder in another spelling": (WheelMaker(dist_info="Demo-1.0.dist-info"), "identity", "the folder is Demo-1.0.dist-info"),
    "a field of another metadata version": (
        WheelMaker(metadata="Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nLicense-Expression: MIT\n"),
        "metadata",
        "license-expression",
    ),
    "a pure wheel with a module": (
        WheelMaker(
            tag=_LINUX,
            files={"demo/_C.cpython-311-x86_64-linux-gnu.so": b""},
            wheel=f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {_LINUX}\n",
        ),
        "binary-tags",
        "Root-Is-Purelib: true",
    ),
}


@pytest.mark.parametrize("kind", _ODD)
def test_odd_wheels_are_told_and_pass(tmp_path: Path, kind: str) -> None:
    maker, rule, message = _ODD[kind]
    findings = _findings(maker.write(tmp_path))
    severity = "note" if rule == "metadata" else "warning"
    assert [(finding.rule, finding.severity, message in finding.message) for finding in findings] == [(rule, severity, True)]


def test_a_damaged_archive_breaks_the_rule_archive(tmp_path: Path) -> None:
    wheel = WheelMaker(compress=False).write(tmp_path)
    wheel.write_bytes(wheel.read_bytes().replace(b"answer = 42", b"answer = 43"))
    assert {finding.rule for finding in _findings(wheel)} == {"archive"}


@pytest.mark.parametrize("data", [b"", b"this is no zip file", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_no_wheel_at_all_does_not_pass(tmp_path: Path, data: bytes) -> None:
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    wheel.write_bytes(data)
    assert not check_wheels([wheel], expectations=None, say=lambda _line: None).passed


def _plan(
    *,
    distribution: str = "demo",
    version: str = "1.0",
    python_tag: str = "cp311",
    platform: Platform = Platform.LINUX,
    sha256: Sha256 | None = None,
    members: tuple[str, ...] = (),
    pins: tuple[str, ...] = (),
    pinned: tuple[str, ...] = (),
    source_commit: StatedCommit | None = None,
) -> Expectation:
    return Expectation(
        distribution=distribution,
        version=version,
        python_tag=python_tag,
        platform=platform,
        sha256=sha256,
        members=members,
        pins=pins,
        pinned=pinned,
        source_commit=source_commit,
    )


_ROCM = _metadata(
    "Requires-Dist: rocm[libraries]==7.10.0", "Provides-Extra: device", 'Requires-Dist: rocm==7.10.0; extra == "device"'
)

_PLANNED: dict[str, tuple[WheelMaker, Expectation]] = {
    "as planned": (WheelMaker(), _plan()),
    "another spelling of name and version": (WheelMaker(name="demo_kit", version="1.0+rocm7"), _plan(distribution="Demo.Kit", version="1.0+ROCm7")),
    "the Python that was planned": (WheelMaker(tag=_LINUX), _plan()),
    "the stable ABI of an older Python": (WheelMaker(tag="cp310-abi3-linux_x86_64"), _plan()),
    "the free-threaded Python": (WheelMaker(tag="cp313-cp313t-linux_x86_64"), _plan(python_tag="cp313t")),
    "any Python on Linux": (WheelMaker(tag="py3-none-musllinux_1_2_x86_64"), _plan()),
    "Windows": (WheelMaker(tag="cp311-cp311-win_amd64"), _plan(platform=Platform.WINDOWS)),
    "any platform for Windows": (WheelMaker(), _plan(platform=Platform.WINDOWS)),
    "the members": (WheelMaker(files={"demo/_rocm_init.py": b"", "demo/lib/libx.so.1": b""}, tag="py3-none-linux_x86_64"),
                    _plan(members=("demo/_rocm_init.py", "demo/lib/*.so*", "demo-*.dist-info/METADATA"))),
    "the pins": (WheelMaker(metadata=_ROCM), _plan(pins=("rocm[libraries]==7.10.0",), pinned=("rocm",))),
    "a pin on one system": (
        WheelMaker(metadata=_metadata('Requires-Dist: triton==3.5.0+rocm7.10.0; platform_system == "Linux"')),
        _plan(pins=("triton==3.5.0+rocm7.10.0",)),
    ),
    "a pin with more extras": (
        WheelMaker(metadata=_metadata("Requires-Dist: rocm[devel,libraries]==7.10.0")),
        _plan(pins=("rocm[libraries]==7.10.0",)),
    ),
    "a pinned requirement without a planned version": (
        WheelMaker(metadata=_metadata("Requires-Dist: torch==2.13.0")),
        _plan(pinned=("torch",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", _PLANNED)
def test_wheels_as_planned(tmp_path: Path, kind: str) -> None:
    maker, plan = _PLANNED[kind]
    assert _findings(maker.write(tmp_path), plan) == []


_COMMIT = CommitId("0123456789abcdef" * 2 + "01234567")
_STATED = StatedCommit(member="demo/version.py", name="git_version", commit=_COMMIT)
_WRONG_COMMITS = {
    "git_version = 'Unknown'": "is 'Unknown'",
    f"git_version = {'f' * 40!r}": f"was built from {_COMMIT}",
    f"git_version = {_COMMIT[:6]!r}": f"is '{_COMMIT[:6]}'",
    f"git_version = {_COMMIT!r}.upper()": "nothing assigns a text to git_version",
    f"git_version = {_COMMIT!r}\ngit_version = None": "nothing assigns a text to git_version",
    f"# git_version = {_COMMIT!r}": "nothing assigns a text to git_version",
    f"def told():\n    git_version = {_COMMIT!r}": "nothing assigns a text to git_version",
    f"version = {_COMMIT!r}": "nothing assigns a text to git_version",
    "git_version =": "is no Python",
    "git_version = '\0'": "is no Python",
}


def _telling(told: str) -> WheelMaker:
    """Return a wheel whose ``demo/version.py`` tells this."""
    return WheelMaker(files={"demo/version.py": told.encode()})


_UNPLANNED: dict[str, tuple[WheelMaker, Expectation, str, str]] = {
    "another project": (WheelMaker(), _plan(distribution="other"), "expected", "planned was other"),
    "another version": (WheelMaker(), _plan(version="1.1"), "expected", "planned was 1.1"),
    "the local part is missing": (WheelMaker(), _plan(version="1.0+rocm7"), "expected", "planned was 1.0+rocm7"),
    "another Python": (WheelMaker(tag=_LINUX), _plan(python_tag="cp312"), "expected", "which cp312 cannot install"),
    "the free-threaded Python": (
        WheelMaker(tag="cp313-cp313t-linux_x86_64"),
        _plan(python_tag="cp313"),
        "expected",
        "cp313-cp313t, which cp313 cannot install",
    ),
    "not the free-threaded Python": (
        WheelMaker(tag="cp313-cp313-linux_x86_64"),
        _plan(python_tag="cp313t"),
        "expected",
        "which cp313t cannot install",
    ),
    "the stable ABI for a free-threaded Python": (
        WheelMaker(tag="cp310-abi3-linux_x86_64"),
        _plan(python_tag="cp313t"),
        "expected",
        "which cp313t cannot install",
    ),
    "the stable ABI of a newer Python": (WheelMaker(tag="cp312-abi3-linux_x86_64"), _plan(), "expected", "cannot install"),
    "Linux for Windows": (WheelMaker(tag=_LINUX), _plan(platform=Platform.WINDOWS), "expected", "planned was windows"),
    "Windows for Linux": (WheelMaker(tag="cp311-cp311-win_amd64"), _plan(), "expected", "planned was linux"),
    "other bytes": (WheelMaker(), _plan(sha256=Sha256("0" * 64)), "expected", "the build recorded sha256 0000"),
    "a missing member": (WheelMaker(), _plan(members=("demo/_rocm_init.py",)), "required-members", "no demo/_rocm_init.py"),
    "no member of a pattern": (WheelMaker(), _plan(members=("demo/lib/*.so",)), "required-members", "no demo/lib/*.so"),
    "a folder is no member": (WheelMaker(extra=[("demo/lib/", b"")]), _plan(members=("demo/lib*",)), "required-members", "no demo/lib*"),
    "no requirement": (WheelMaker(), _plan(pins=("rocm[libraries]==7.10.0",)), "pins", "does not require rocm[libraries]==7.10.0"),
    "no pinned requirement": (WheelMaker(), _plan(pinned=("torch",)), "pins", "does not require torch"),
    "a pin behind an extra": (
        WheelMaker(metadata=_metadata("Provides-Extra: x", 'Requires-Dist: rocm==7.10.0; extra == "x"')),
        _plan(pins=("rocm==7.10.0",)),
        "pins",
        "does not require rocm==7.10.0",
    ),
    "another version of a pin": (
        WheelMaker(metadata=_metadata("Requires-Dist: rocm==7.9.0")),
        _plan(pins=("rocm==7.10.0",)),
        "pins",
        "planned was rocm==7.10.0",
    ),
    "another version behind an extra": (
        WheelMaker(
            metadata=_metadata("Requires-Dist: rocm==7.10.0", "Provides-Extra: x", 'Requires-Dist: rocm[x]==7.9.0; extra == "x"')
        ),
        _plan(pins=("rocm==7.10.0",)),
        "pins",
        "planned was rocm==7.10.0",
    ),
    "a pin without its extra": (
        WheelMaker(metadata=_metadata("Requires-Dist: rocm==7.10.0")),
        _plan(pins=("rocm[libraries]==7.10.0",)),
        "pins",
        "does not require rocm[libraries]==7.10.0",
    ),
    **{
        f"a requirement that leaves a choice: {spelled!r}": (
            WheelMaker(metadata=_metadata(f"Requires-Dist: torch{spelled}")),
            _plan(pinned=("torch",)),
            "pins",
            "no pin of one version",
        )
        for spelled in ("", ">=2.13.0", "==2.13.*", "==2.13.0,!=2.13.1", "~=2.13.0", "===2.13.0")
    },
    **{
        f"a commit that is not the upstream one: {told}": (_telling(told), _plan(source_commit=_STATED), "source-commit", message)
        for told, message in _WRONG_COMMITS.items()
    },
    "no module that names a commit": (WheelMaker(), _plan(source_commit=_STATED), "source-commit", "has no demo/version.py"),
    "a module that is too large to be read": (
        _telling(f"# {'x' * (8 << 20)}\ngit_version = {_COMMIT!r}"),
        _plan(source_commit=_STATED),
        "source-commit",
        "was not read",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "told",
    [
        f"git_version = {_COMMIT!r}",
        f"from typing import Optional\n\ngit_version: Optional[str] = {_COMMIT!r}",
        f"git_version = {_COMMIT[:7]!r}",
        f"git_version = None\ndebug = False\nother = git_version = {_COMMIT!r}",
    ],
    ids=["plain", "annotated", "shortened by git", "assigned twice"],
)
def test_a_wheel_that_names_its_upstream_commit(tmp_path: Path, told: str) -> None:
    assert _findings(_telling(told).write(tmp_path), _plan(source_commit=_STATED)) == []


@pytest.mark.parametrize("kind", _UNPLANNED)
def test_wheels_other_than_planned(tmp_path: Path, kind: str) -> None:
    maker, plan, rule, message = _UNPLANNED[kind]
    findings = _findings(maker.write(tmp_path), plan)
    assert {finding.rule for finding in findings} == {rule}, findings
    assert any(message in finding.message for finding in findings), findings


def test_a_planned_wheel_with_a_bad_name_is_told_once(tmp_path: Path) -> None:
    findings = _findings(WheelMaker(filename="demo.whl").write(tmp_path), _plan())
    assert [finding.rule for finding in findings] == ["file-name"]


def test_a_plan_for_something_that_is_no_interpreter(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="python3") as caught:
        _findings(WheelMaker().write(tmp_path), _plan(python_tag="python3"))
    assert caught.value.code.name == "internal"


def test_the_bytes_that_the_build_recorded(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    recorded = check_wheels([wheel], expectations=None, say=lambda _line: None).wheels[0].sha256
    assert _findings(wheel, _plan(sha256=recorded)) == []


def test_every_rule_has_tests_and_words_for_people() -> None:
    written = "".join(path.read_text() for path in Path(__file__).parents[2].rglob("test_checks_*.py"))
    for rule in all_rules():
        assert f'"{rule.name}"' in written, rule.name
        assert rule.summary.endswith("."), rule.name
        assert rule.why, rule.name
        assert rule.mend, rule.name
