from __future__ import annotations

from build_tools.hipify.compare import ModuleComparison, compare_outputs, outputs_of
from build_tools.hipify.record import HipifyRecord, ModuleFiles
from build_tools.sources.contents import Entry
from build_tools.types import Sha256


def entry(blob: str, mode: bytes = b"100644") -> Entry:
    return Entry(mode=mode, object_id=blob)


def record(*modules: ModuleFiles) -> HipifyRecord:
    return HipifyRecord(key=Sha256("0" * 64), tool=Sha256("1" * 64), python="3.12", seconds=1.0, modules=modules)


def test_outputs_are_the_files_that_hipify_touched_by_their_bytes() -> None:
    run = record(
        ModuleFiles(path=".", read=("a.cu",), added=("hip/a.hip", r"\xff.hip"), changed=("b.cpp",), removed=("c.cu",)),
        ModuleFiles(path="lib", read=("l.cu",)),
    )
    results = {
        ".": {b"a.cu": entry("1"), b"hip/a.hip": entry("2"), b"\xff.hip": entry("3"), b"b.cpp": entry("4", b"100755")},
        "lib": {b"l.cu": entry("5")},
    }
    assert outputs_of(run, results) == {
        ".": {"hip/a.hip": "100644 2", r"\xff.hip": "100644 3", "b.cpp": "100755 4", "c.cu": "removed"}
    }


def test_files_are_added_changed_and_gone_by_module() -> None:
    old = {".": {"same": "1", "other": "1", "gone": "1"}, "old": {"x": "1"}}
    new = {".": {"same": "1", "other": "2", "new": "1"}, "lib": {"y": "removed"}}
    assert compare_outputs(old, new) == (
        ModuleComparison(path=".", added=("new",), changed=("other",), gone=("gone",)),
        ModuleComparison(path="lib", added=("y",)),
        ModuleComparison(path="old", gone=("x",)),
    )
    assert compare_outputs(old, old) == ()
