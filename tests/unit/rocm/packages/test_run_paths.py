from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.rocm.packages.run_paths import room_of, run_path
from build_tools.wheels.elf import Elf

_CORE = room_of("_core", ["lib/libhip.so.7", "lib/deps/lib/liblzma.so.5", "lib/llvm/lib/libLLVM.so", "bin/tool"])
_LIBRARIES = room_of("_libraries", ["lib/libblas.so.5", "lib/libsolver.so.0", "lib/plugins/libplugin.so"])


def _elf(*needed: str, run_path: tuple[str, ...] = (), runpath: tuple[str, ...] = ()) -> Elf:
    return Elf(machine="x86_64", is_program=False, is_dynamic=True, needed=needed, run_path=run_path, runpath=runpath)


@pytest.mark.parametrize(
    ("elf", "path", "wanted"),
    [
        (_elf("libblas.so.5", "libc.so.6"), "lib/libsolver.so.0", ("$ORIGIN",)),
        (_elf("libhip.so.7"), "lib/libblas.so.5", ("$ORIGIN/../../_core/lib",)),
        (_elf("libblas.so.5", "libhip.so.7"), "lib/plugins/libplugin.so", ("$ORIGIN/..", "$ORIGIN/../../../_core/lib")),
        (_elf("liblzma.so.5"), "lib/libblas.so.5", ("$ORIGIN/../../_core/lib/deps/lib",)),
        (_elf("libc.so.6"), "lib/libblas.so.5", ()),
    ],
)
def test_the_folders_of_needed_libraries_are_found(elf: Elf, path: str, wanted: tuple[str, ...]) -> None:
    assert run_path(elf, path, rooms=[_LIBRARIES, _CORE]) == (wanted or None)


def test_what_a_binary_says_itself_comes_first_and_without_folders_of_the_build() -> None:
    elf = _elf("libhip.so.7", runpath=("/build/dist/lib", "$ORIGIN/plugins", "${ORIGIN}", "$ORIGIN/../no/such", "relative"))
    found = run_path(elf, "lib/libblas.so.5", rooms=[_LIBRARIES, _CORE])
    assert found == ("$ORIGIN/plugins", "$ORIGIN", "$ORIGIN/../../_core/lib")


def test_a_folder_of_the_tree_is_looked_for_in_every_package() -> None:
    elf = _elf("libc.so.6", run_path=("$ORIGIN/llvm/lib",))
    assert run_path(elf, "lib/libblas.so.5", rooms=[_LIBRARIES, _CORE]) == ("$ORIGIN/../../_core/lib/llvm/lib",)


def test_the_tables_folders_come_last_and_once() -> None:
    elf = _elf("libhip.so.7")
    extra = [("_core", "lib"), ("_core", "lib/deps/lib")]
    found = run_path(elf, "lib/libblas.so.5", rooms=[_LIBRARIES, _CORE], extra=extra)
    assert found == ("$ORIGIN/../../_core/lib", "$ORIGIN/../../_core/lib/deps/lib")


def test_what_is_right_stays_as_it_is() -> None:
    elf = _elf("libblas.so.5", run_path=("$ORIGIN",))
    assert run_path(elf, "lib/libsolver.so.0", rooms=[_LIBRARIES]) is None
    weak = _elf("libblas.so.5", runpath=("$ORIGIN",))
    assert run_path(weak, "lib/libsolver.so.0", rooms=[_LIBRARIES]) == ("$ORIGIN",), "DT_RUNPATH is made DT_RPATH"


def test_a_second_list_beside_the_right_one_goes() -> None:
    both = _elf("libblas.so.5", run_path=("$ORIGIN",), runpath=("/build/lib",))
    assert run_path(both, "lib/libsolver.so.0", rooms=[_LIBRARIES]) == ("$ORIGIN",)


def test_only_what_is_loaded_has_a_run_path() -> None:
    static = Elf(machine="x86_64", is_program=True, is_dynamic=False)
    assert run_path(static, "bin/tool", rooms=[_CORE], extra=[("_core", "lib")]) is None
    assert run_path(_elf(), "lib/libhip.so.7", rooms=[_CORE], extra=[("_core", "lib")]) is None
    gone = _elf(run_path=("/build/lib",))
    assert run_path(gone, "lib/libhip.so.7", rooms=[_CORE]) == ()


_ENTRIES = st.lists(
    st.sampled_from(
        ["$ORIGIN", "$ORIGIN/..", "$ORIGIN/../..", "$ORIGIN/../../../..", "/opt/rocm/lib", "lib", "$ORIGIN/../lib", "$LIB"]
    )
)
_NEEDED = st.lists(st.sampled_from(["libhip.so.7", "libblas.so.5", "libLLVM.so", "libc.so.6"]), unique=True)


@given(entries=_ENTRIES, needed=_NEEDED, path=st.sampled_from(["lib/libblas.so.5", "lib/plugins/libplugin.so", "top.so"]))
def test_every_entry_leads_to_a_folder_of_a_package(entries: list[str], needed: list[str], path: str) -> None:
    found = run_path(_elf(*needed, runpath=tuple(entries)), path, rooms=[_LIBRARIES, _CORE]) or ()
    assert len(set(found)) == len(found)
    rooms = {room.module: room for room in (_LIBRARIES, _CORE)}
    places = []
    for entry in found:
        assert entry.startswith("$ORIGIN")
        origin = posixpath.dirname(f"_libraries/{path}")
        module, _, folder = posixpath.normpath(entry.replace("$ORIGIN", origin)).partition("/")
        assert folder in rooms[module].folders
        places.append(rooms[module])
    for name in needed:
        holders = [room for room in rooms.values() if name in room.places]
        assert not holders or any(room in places for room in holders), f"{name} can be found"
