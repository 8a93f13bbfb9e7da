"""ELF files of a real compiler: read, changed, damaged; and the launchers that stand for links to programs."""

from __future__ import annotations

import io
import os
import re
import shutil
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.rocm.packages.launcher import compile_launcher, launcher_for
from build_tools.wheels.elf import Elf, read_elf
from build_tools.wheels.elf_same import differences
from build_tools.wheels.run_path import PatchElf, find_patchelf
from tests.support.elf_templates import library_bytes, program_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux" or shutil.which("cc") is None, reason="Linux and a C compiler are needed")

_FLAGS_1, _PIE = 0x6FFF_FFFB, 0x0800_0000


def _runner() -> Runner:
    return Runner(environment=base_environment(os.environ))


def _read(data: bytes) -> Elf | None:
    return read_elf(io.BytesIO(data), name="it")


def _compiled(folder: Path, text: str, *flags: str, name: str = "made") -> Path:
    (folder / "made.c").write_text(text)
    subprocess.run(["cc", *flags, "-o", name, "made.c"], cwd=folder, check=True, capture_output=True)
    return folder / name


def test_what_a_loader_asks_is_read() -> None:
    elf = _read(library_bytes("x", soname="libx.so.1", needed=["liba.so.2", "libb.so.3"]))
    assert elf is not None
    assert (elf.soname, elf.needed[:2], elf.is_program, elf.is_dynamic) == ("libx.so.1", ("liba.so.2", "libb.so.3"), False, True)
    assert "$ORIGIN" in elf.run_path + elf.runpath
    program = _read(program_bytes("x"))
    assert program is not None
    assert program.is_program
    assert "libc.so.6" in program.needed
    assert dict(program.symbol_versions)["GLIBC"][0] == 2


@pytest.mark.parametrize(
    ("flags", "is_program", "is_dynamic"),
    [
        (("-no-pie",), True, True),
        (("-pie", "-fPIE"), True, True),
        (("-static",), True, False),
        (("-shared", "-fPIC"), False, True),
        (("-shared", "-fPIC", "-Wl,-soname,libx.so.1"), False, True),
    ],
)
def test_programs_and_libraries_are_told_apart(
    tmp_path: Path, flags: Sequence[str], *, is_program: bool, is_dynamic: bool
) -> None:
    elf = _read(_compiled(tmp_path, "int main(void) { return 0; }", *flags).read_bytes())
    assert elf is not None
    assert (elf.is_program, elf.is_dynamic) == (is_program, is_dynamic)


def test_what_is_demanded_is_told_without_section_headers(tmp_path: Path) -> None:
    """A loader does not need them, and some tools remove them."""
    data = bytearray(_linked(tmp_path, "-shared", "-fPIC").read_bytes())
    before = _read(bytes(data))
    data[40:48], data[60:64] = bytes(8), bytes(4)
    after = _read(bytes(data))
    assert before is not None
    assert before.symbol_versions
    assert after == before


def test_object_files_code_for_gpus_and_texts_are_data(tmp_path: Path) -> None:
    assert _read(_compiled(tmp_path, "int x;", "-c").read_bytes()) is None
    library = bytearray(library_bytes("x", soname="libx.so.1"))
    library[18:20] = (224).to_bytes(2, "little")  # the machine: EM_AMDGPU
    assert _read(bytes(library)) is None
    assert _read(b"#!/bin/sh\n") is None
    assert _read(b"") is None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_told_and_never_a_crash(data: st.DataObject) -> None:
    library = bytearray(library_bytes("x", soname="libx.so.1", needed=["liba.so.2"]))
    for _ in range(data.draw(st.integers(0, 6))):
        place = data.draw(st.one_of(st.integers(4, 1000), st.integers(4, len(library) - 1)))
        library[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.one_of(st.just(len(library)), st.integers(4, len(library))))
    try:
        _read(bytes(library[:end]))
    except HipwrightError as error:
        assert error.code.name == "bad-binary"  # noqa: PT017 - either is right


def test_a_run_path_is_set_and_the_source_stays(tmp_path: Path) -> None:
    source, target = tmp_path / "libx.so.1", tmp_path / "out" / "changed"
    target.parent.mkdir()
    source.write_bytes(library_bytes("x", soname="libx.so.1", needed=["liba.so.2"]))
    before = source.read_bytes()
    patchelf = find_patchelf(_runner(), cwd=tmp_path)
    wanted = ("$ORIGIN", "$ORIGIN/../../_rocm_sdk_core/lib/a-rather-long-name-that-does-not-fit-where-the-old-one-was" * 3)
    patchelf.set_run_path(source, target, wanted, runner=_runner())
    elf = _read(target.read_bytes())
    assert elf is not None
    assert (elf.run_path, elf.runpath, elf.soname) == (wanted, (), "libx.so.1")
    patchelf.set_run_path(source, target, (), runner=_runner())
    elf = _read(target.read_bytes())
    assert elf is not None
    assert (elf.run_path, elf.runpath) == ((), ())
    assert source.read_bytes() == before


def test_a_tool_that_changes_more_is_caught(tmp_path: Path) -> None:
    source = tmp_path / "libx.so.1"
    source.write_bytes(library_bytes("x", soname="libx.so.1"))
    other = tmp_path / "other"
    other.write_bytes(library_bytes("x", soname="liby.so.1"))
    tool = tmp_path / "patchelf"
    tool.write_text(f'#!/bin/sh\ncp "{other}" "$5"\n')
    tool.chmod(0o755)
    with pytest.raises(HipwrightError, match=r"more of .* than its run path") as caught:
        PatchElf(tool, version="0").set_run_path(source, tmp_path / "out", ("$ORIGIN",), runner=_runner())
    assert caught.value.code.name == "bad-binary"


def _linked(folder: Path, *flags: str) -> Path:
    text = (
        '#include <stdio.h>\nstatic int kept[4] = {7}; int one(void) { return kept[0]; } int main(void) { return printf("x"); }'
    )
    return _compiled(folder, text, "-g", *flags, name=f"made{len(flags)}")


@pytest.mark.parametrize("flags", [("-shared", "-fPIC"), ("-pie", "-fPIE", "-O1"), ("-no-pie",)])
@pytest.mark.parametrize("run_path", [(), ("$ORIGIN",), ("$ORIGIN/" + "x" * 3000, "$ORIGIN/y")])
def test_what_a_good_tool_leaves_as_it_is_is_seen_to_be_so(tmp_path: Path, flags: Sequence[str], run_path: Sequence[str]) -> None:
    source, target = _linked(tmp_path, *flags), tmp_path / "changed"
    find_patchelf(_runner(), cwd=tmp_path).set_run_path(source, target, run_path, runner=_runner())
    assert differences(source, target) == ()
    if flags[0] != "-shared":
        assert subprocess.run([target], capture_output=True, check=False).stdout == b"x"


def _section(data: bytes, name: str) -> tuple[int, int]:
    """Return where a section begins, and how large its entries are."""
    section = ELFFile(io.BytesIO(data)).get_section_by_name(name)
    assert section is not None
    return section["sh_offset"], section["sh_entsize"] or 0


@pytest.mark.parametrize("section", [".text", ".rodata", ".data", ".dynsym", ".gnu.hash", ".debug_info", ".symtab", ".dynstr"])
@pytest.mark.parametrize("flags", [("-shared", "-fPIC"), ("-no-pie",)])
def test_one_byte_of_another_value_is_seen(tmp_path: Path, section: str, flags: Sequence[str]) -> None:
    source, target = _linked(tmp_path, *flags), tmp_path / "changed"
    find_patchelf(_runner(), cwd=tmp_path).set_run_path(source, target, ("$ORIGIN/" + "x" * 3000,), runner=_runner())
    damaged = bytearray(target.read_bytes())
    start, size = _section(bytes(damaged), section)
    damaged[start + size + 1] ^= 0x40
    target.write_bytes(damaged)
    assert re.search(rf"{re.escape(section)}|loaded to|cannot be read", " ".join(differences(source, target)))


def test_a_library_that_was_changed_before_may_be_changed_again(tmp_path: Path) -> None:
    """A second change may put the headers back to where a first one had taken them from."""
    source, once, twice = _linked(tmp_path, "-shared", "-fPIC"), tmp_path / "once", tmp_path / "twice"
    patchelf = find_patchelf(_runner(), cwd=tmp_path)
    patchelf.set_run_path(source, once, ("$ORIGIN/" + "x" * 3000,), runner=_runner())
    patchelf.set_run_path(once, twice, ("$ORIGIN/" + "y" * 9000,), runner=_runner())
    assert differences(once, twice) == ()


def test_a_section_that_is_loaded_from_elsewhere_is_seen(tmp_path: Path) -> None:
    source, target = _linked(tmp_path, "-shared", "-fPIC"), tmp_path / "changed"
    data = bytearray(source.read_bytes())
    with source.open("rb") as stream:
        elf = ELFFile(stream)
        number = next(n for n, each in enumerate(elf.iter_segments()) if each["p_type"] == "PT_LOAD" and each["p_flags"] & 1)
        header = elf["e_phoff"] + number * elf["e_phentsize"]
    data[header + 8 : header + 16] = (int.from_bytes(data[header + 8 : header + 16], "little") + 0x1000).to_bytes(8, "little")
    target.write_bytes(data)
    assert differences(source, target)


@pytest.mark.parametrize("flags", [("-pie", "-fPIE"), ("-shared", "-fPIC", "-Wl,-soname,libx.so.1", "-Wl,-e,main")])
def test_a_program_is_told_without_the_flag_that_says_so(tmp_path: Path, flags: Sequence[str]) -> None:
    """Linkers before 2.26 set no flag on position-independent programs."""
    data = bytearray(_linked(tmp_path, *flags).read_bytes())
    start, size = _section(bytes(data), ".dynamic")
    for place in range(start, len(data), size):
        tag, value = struct.unpack_from("<QQ", data, place)
        if tag == _FLAGS_1:
            struct.pack_into("<QQ", data, place, tag, value & ~_PIE)
        elif tag == 0:
            break
    read = _read(bytes(data))
    assert read is not None
    assert read.is_program == (flags[0] == "-pie")


@pytest.mark.parametrize("says", ["patchelf 0.9", "patchelf 0.18.0", "0.15", "something else"])
def test_a_patchelf_that_is_old_or_says_nothing_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    good = find_patchelf(_runner(), cwd=tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, text in ((old, says), (new, good.version)):
        folder.mkdir()
        (folder / "patchelf").write_text(f"#!/bin/sh\necho '{text}'\n")
        (folder / "patchelf").chmod(0o755)
    found = find_patchelf(Runner(environment={"PATH": f"{old}:{new}:/bin:/usr/bin"}), cwd=tmp_path)
    assert (found.path, found.version) == (new / "patchelf", good.version)
    with pytest.raises(HipwrightError, match=rf"0\.19 or newer: .*{says}") as caught:
        find_patchelf(Runner(environment={"PATH": str(old)}), cwd=tmp_path)
    assert caught.value.code.name == "missing-tool"


def test_a_full_disk_is_no_bad_binary(tmp_path: Path) -> None:
    source = tmp_path / "libx.so.1"
    source.write_bytes(library_bytes("x", soname="libx.so.1"))
    tool = tmp_path / "patchelf"
    tool.write_text("#!/bin/sh\necho 'patchelf: write: No space left on device' >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(HipwrightError) as caught:
        PatchElf(tool, version="0").set_run_path(source, tmp_path / "out", ("$ORIGIN",), runner=_runner())
    assert caught.value.code.name == "disk-space"


@pytest.mark.parametrize("machine", ["x86_64", "another"])
def test_a_launcher_hands_on_name_arguments_environment_and_status(tmp_path: Path, machine: str) -> None:
    launcher = compile_launcher(folder=tmp_path, runner=_runner(), machine=machine)
    assert compile_launcher(folder=tmp_path, runner=_runner(), machine=machine) == launcher
    assert list(tmp_path.iterdir()) == []
    elf = _read(launcher)
    assert elf is not None
    assert not elf.is_dynamic, "it needs no library of the machine"
    text = '#include <stdio.h>\n#include <stdlib.h>\nint main(int n, char **v) { printf("%s %s %s", v[0], v[1], getenv("KEPT")); return 7; }'
    (tmp_path / "real").mkdir()
    _compiled(tmp_path / "real", text, name="program-22")
    place = tmp_path / "bin" / "program++"
    place.parent.mkdir()
    place.write_bytes(launcher_for(launcher, "../real/program-22"))
    place.chmod(0o755)
    link = tmp_path / "linked"
    link.symlink_to(place)
    for called in (place, link):
        done = subprocess.run([called, "one"], capture_output=True, text=True, check=False, env={"KEPT": "yes"})
        assert (done.stdout, done.returncode) == (f"{called} one yes", 7)


@pytest.mark.parametrize("machine", ["x86_64", "another"])
def test_a_launcher_without_its_program_says_what_it_looked_for(tmp_path: Path, machine: str) -> None:
    place = tmp_path / "tool"
    place.write_bytes(launcher_for(compile_launcher(folder=tmp_path, runner=_runner(), machine=machine), "../gone"))
    place.chmod(0o755)
    done = subprocess.run([place], capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert done.stderr == f"launcher: cannot start {tmp_path}/../gone\n"


def test_a_target_is_never_cut(tmp_path: Path) -> None:
    launcher = compile_launcher(folder=tmp_path, runner=_runner())
    with pytest.raises(HipwrightError, match="cannot hold a target of 2000 bytes"):
        launcher_for(launcher, "x" * 2000)
    longest = "x" * 1015
    assert longest.encode() + b"\0" in launcher_for(launcher, longest)
    assert len(launcher_for(launcher, longest)) == len(launcher)


def test_without_a_compiler_it_is_said_which_one_is_needed(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="no C compiler") as caught:
        compile_launcher(folder=tmp_path, runner=Runner(environment={"PATH": str(tmp_path)}))
    assert caught.value.code.name == "no-compiler"
