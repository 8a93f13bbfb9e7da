from __future__ import annotations

import pytest

from build_tools.wheels.elf import Elf
from build_tools.wheels.platform_tag import linux_tag


def _elf(*needed: str, machine: str = "x86_64", **versions: str) -> Elf:
    demands = tuple((kind, tuple(map(int, text.split(".")))) for kind, text in versions.items())
    return Elf(machine=machine, is_program=False, is_dynamic=True, needed=needed, symbol_versions=demands)


@pytest.mark.parametrize(
    ("elf", "tag"),
    [
        (_elf("libc.so.6", GLIBC="2.34"), "manylinux_2_34_x86_64"),
        (_elf("libc.so.6", GLIBC="2.2.5"), "manylinux_2_17_x86_64"),
        (_elf("libc.so.6", "libstdc++.so.6", GLIBC="2.17", GLIBCXX="3.4.22"), "manylinux_2_24_x86_64"),
        (_elf("libstdc++.so.6", GLIBC="2.28", GLIBCXX="3.4.19", CXXABI="1.3.13"), "manylinux_2_34_x86_64"),
        (_elf("libgcc_s.so.1", GCC="3.4"), "manylinux_2_17_x86_64"),
        (_elf("libnuma-of-ours.so.1", GLIBC="2.17", OURS="9.9"), "manylinux_2_17_x86_64"),
        (_elf(), "manylinux_2_17_x86_64"),
    ],
)
def test_the_newest_demand_decides(elf: Elf, tag: str) -> None:
    found = linux_tag([("lib/a.so", _elf()), ("lib/b.so", elf)], machine="x86_64", has={"libnuma-of-ours.so.1"}.__contains__)
    assert (found.tag, found.reason) == (tag, "")


@pytest.mark.parametrize(
    ("elf", "reason"),
    [
        (_elf("libnuma.so.1"), "lib/b.so needs libnuma.so.1, which the packages do not have"),
        (_elf("libstdc++.so.6", GLIBCXX="3.4.99"), "GLIBCXX_3.4.99"),
        (_elf("libc.so.6", GLIBC="3.0"), "GLIBC_3.0"),
        (_elf(machine="aarch64"), "lib/b.so is for aarch64"),
        (Elf(machine="x86_64", is_program=False, is_dynamic=True, versions_known=False), "does not tell"),
    ],
)
def test_what_not_every_linux_has_is_told(elf: Elf, reason: str) -> None:
    found = linux_tag([("lib/a.so", _elf()), ("lib/b.so", elf)], machine="x86_64", has=lambda _name: False)
    assert found.tag == "linux_x86_64"
    assert reason in found.reason
