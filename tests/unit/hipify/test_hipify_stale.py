from __future__ import annotations

from build_tools.hipify.record import ModuleFiles
from build_tools.hipify.stale import watched_by

FILES = ModuleFiles(
    path=".",
    read=("aten/cuda/a.cu", "csrc/b.cpp", "csrc/inline.h", "tools/hip.py"),
    added=("aten/hip/a.hip", "csrc/b_hip.cpp"),
    changed=("csrc/inline.h",),
    removed=("aten/cuda/old.cu",),
)


def test_what_was_read_and_left_alone_is_watched() -> None:
    paths = ["aten/cuda/a.cu", "csrc/b.cpp", "tools/hip.py", "README.md", "aten/a.md"]
    assert watched_by(FILES, paths) == {"aten/cuda/a.cu", "csrc/b.cpp", "tools/hip.py"}


def test_what_hipify_made_is_not_watched_wherever_it_lies() -> None:
    assert watched_by(FILES, ["aten/hip/a.hip", "csrc/b_hip.cpp", "csrc/inline.h", "aten/cuda/old.cu"]) == set()


def test_files_beside_those_that_were_read_are_watched_by_their_suffix() -> None:
    paths = ["aten/cuda/new.cu", "aten/cuda/new.md", "aten/cuda/deeper/new.cu", "aten/new.cu", "csrc/new.h"]
    assert watched_by(FILES, paths) == {"aten/cuda/new.cu", "csrc/new.h"}


def test_nothing_is_watched_in_a_module_in_which_nothing_was_read() -> None:
    assert watched_by(ModuleFiles(path="lib"), ["a.cu"]) == set()
