from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.catalog import Artifact, Item
from build_tools.rocm.artifacts.name import ArtifactName
from build_tools.rocm.packages.devel import Archive, lay_out_devel
from build_tools.rocm.packages.layout import Laid, lay_out
from build_tools.rocm.packages.scan import Facts
from build_tools.rocm.packages.select import Key, Portion
from build_tools.rocm.packages.tree import Tree, flatten
from build_tools.types import Platform
from build_tools.wheels.elf import Elf

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINUX = Platform.LINUX


class _Site:
    """Artifacts without a disk: a text is a file's content, ``->x`` a link, ``lib:x`` a library and ``exe`` a program."""

    def __init__(self) -> None:
        self.facts: dict[Path, Facts] = {}
        self.artifacts: list[Artifact] = []

    def artifact(self, name: str, files: Mapping[str, str]) -> Artifact:
        called = ArtifactName(name=name, component="lib", target="generic")
        items = []
        for path, text in sorted(files.items()):
            source = Path("/artifacts") / name / path
            link = text.removeprefix("->") if text.startswith("->") else None
            items.append(Item(path=path, source=source, artifact=called, link=link, executable=text == "exe"))
            if link is None:
                self.facts[source] = Facts(sha256=digest.of_bytes(text.encode()), elf=_elf(text))
        made = Artifact(name=called, folder=Path("/artifacts") / name, items=tuple(items))
        self.artifacts.append(made)
        return made

    def tree(self, platform: Platform = _LINUX) -> Tree:
        return flatten(self.artifacts, self.facts, platform=platform)

    def laid(self, *, platform: Platform = _LINUX, leave_out: tuple[str, ...] = (), key: Key = "core") -> Laid:
        return lay_out(_portion(key, self.artifacts), self.tree(platform), self.facts, platform=platform, leave_out=leave_out)


def _elf(text: str) -> Elf | None:
    if text == "exe":
        return Elf(machine="x86_64", is_program=True, is_dynamic=True, needed=("libc.so.6",))
    if text.startswith("lib:"):
        return Elf(machine="x86_64", is_program=False, is_dynamic=True, soname=text.removeprefix("lib:") or None)
    return None


def _portion(key: Key, artifacts: list[Artifact]) -> Portion:
    module = "rocm_sdk_devel" if key == "devel" else f"_rocm_sdk_{'libraries' if key == 'device' else key}"
    return Portion(key=key, distribution=f"rocm-sdk-{key}", module=module, summary="x", artifacts=tuple(artifacts))


_CHAIN = {"lib/liba.so": "->liba.so.1", "lib/liba.so.1": "->liba.so.1.2", "lib/liba.so.1.2": "lib:liba.so.1"}


def test_of_a_library_the_name_that_it_gives_itself_is_there() -> None:
    site = _Site()
    site.artifact("a", _CHAIN)
    laid = site.laid()
    assert list(laid.files) == ["lib/liba.so.1"]
    assert laid.files["lib/liba.so.1"].item.path == "lib/liba.so.1.2"
    assert laid.aliases == {"lib/liba.so": "liba.so.1", "lib/liba.so.1.2": "liba.so.1"}


@pytest.mark.parametrize(
    "files",
    [
        {"lib/libplain.so": "lib:"},
        {"lib/libother-name.so": "lib:libself.so.1"},
        {"lib/liba.so.1": "lib:liba.so.1", "lib/sub/liba.so": "->../liba.so.1"},
    ],
)
def test_a_library_whose_own_name_is_not_beside_it_keeps_its_name(files: dict[str, str]) -> None:
    site = _Site()
    site.artifact("a", files)
    laid = site.laid()
    assert set(laid.files) == set(files)
    assert laid.aliases == {}


def test_links_to_programs_are_launchers_and_other_links_are_copies() -> None:
    site = _Site()
    site.artifact(
        "a",
        {
            "lib/llvm/bin/clang-22": "exe",
            "lib/llvm/bin/clang": "->clang-22",
            "lib/llvm/bin/clang++": "->clang",
            "bin/clang++": "->../lib/llvm/bin/clang++",
            "bin/script": "#!/bin/sh",
            "bin/alias": "->script",
            "llvm": "->lib/llvm",
            "bin/nothing": "->gone",
            "bin/round": "->round",
        },
    )
    laid = site.laid()
    launches = {path: placed.launches for path, placed in laid.files.items()}
    assert launches == {
        "bin/alias": None,
        "bin/clang++": "../lib/llvm/bin/clang-22",
        "bin/script": None,
        "lib/llvm/bin/clang": "clang-22",
        "lib/llvm/bin/clang++": "clang-22",
        "lib/llvm/bin/clang-22": None,
    }
    assert all(placed.executable for placed in laid.files.values() if placed.item.executable)
    assert laid.files["bin/alias"].item.path == "bin/script"
    assert laid.dropped == ("bin/nothing", "bin/round", "llvm")


def test_a_launcher_never_starts_what_is_not_in_the_package() -> None:
    site = _Site()
    site.artifact("a", {"cmake/tool": "exe", "bin/tool": "->../cmake/tool"})
    laid = site.laid(leave_out=("**/cmake/**",))
    assert {path: placed.launches for path, placed in laid.files.items()} == {"bin/tool": None}
    assert laid.files["bin/tool"].item.path == "cmake/tool"


_PATHS = ("cmake/y", "lib/cmake-like/x", "lib/cmake/a/b", "lib/cmake/c", "lib/x.txt", "share/x/cmake", "top.txt")


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [
        ("**/cmake/**", {"cmake/y", "lib/cmake/a/b", "lib/cmake/c"}),
        ("cmake/**", {"cmake/y"}),
        ("lib/*", {"lib/x.txt"}),
        ("**/*.txt", {"lib/x.txt", "top.txt"}),
        ("*.txt", {"top.txt"}),
        ("**/cmake", {"share/x/cmake"}),
    ],
)
def test_patterns_of_what_is_left_out(pattern: str, gone: set[str]) -> None:
    site = _Site()
    site.artifact("a", dict.fromkeys(_PATHS, "x"))
    assert set(site.laid(leave_out=(pattern,)).files) == set(_PATHS) - gone


def test_windows_has_no_launchers_and_no_execute_bits() -> None:
    site = _Site()
    site.artifact("a", {"bin/clang.exe": "exe", "bin/clang++.exe": "->clang.exe"})
    laid = site.laid(platform=Platform.WINDOWS)
    assert [(placed.launches, placed.executable) for placed in laid.files.values()] == [(None, False), (None, False)]


def test_artifacts_may_bring_one_place_when_they_bring_the_same() -> None:
    site = _Site()
    site.artifact("a", {"lib/x": "same", "lib/l": "->x"})
    site.artifact("b", {"lib/x": "same", "lib/l": "->x"})
    assert list(site.tree().items) == ["lib/l", "lib/x"]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ({"lib/x": "one"}, {"lib/x": "other"}, "lib/x is in a_lib_generic and, otherwise, in b_lib_generic"),
        ({"lib/x": "one"}, {"lib/x": "->y"}, "lib/x"),
        ({"lib/x": "->z"}, {"lib/x": "->y"}, "lib/x"),
        ({"lib": "file"}, {"lib/x": "one"}, "lib is a file in a_lib_generic and a folder elsewhere"),
    ],
)
def test_artifacts_that_do_not_fit_together_are_refused(first: dict[str, str], second: dict[str, str], told: str) -> None:
    site = _Site()
    site.artifact("a", first)
    site.artifact("b", second)
    with pytest.raises(HipwrightError) as caught:
        site.tree()
    assert caught.value.code.name == "bad-artifact"
    assert told in caught.value.message


def test_names_that_differ_in_case_alone_are_one_on_windows() -> None:
    site = _Site()
    site.artifact("a", {"include/Hip.h": "1", "include/hip.h": "2"})
    assert len(site.tree().items) == 2
    with pytest.raises(HipwrightError, match="one file on Windows"):
        site.tree(Platform.WINDOWS)


def test_links_are_followed_through_linked_folders() -> None:
    site = _Site()
    site.artifact("a", {"llvm": "->lib/llvm", "lib/llvm/bin/x": "file", "bin": "->llvm/bin", "up": "->llvm/../llvm/bin/x"})
    tree = site.tree()
    found = [tree.resolve(path) for path in ("bin/x", "up", "llvm", "bin/none", "../out", "lib/llvm/bin/x/deeper")]
    assert [one.path if isinstance(one, Item) else one for one in found] == [
        *("lib/llvm/bin/x", "lib/llvm/bin/x", "lib/llvm"),
        *(None, None, None),
    ]


def test_the_devel_tree_links_to_what_packages_have_and_keeps_the_rest() -> None:
    site = _Site()
    site.artifact("a", {**_CHAIN, "llvm": "->lib", "bin/run": "exe", "bin/link": "->run"})
    core = site.laid()
    site.artifact("dev", {"include/a.h": "header", "lib/cmake/a.cmake": "cmake", "lib/old.h": "->../include/a.h"})
    apart = _Site()
    apart.artifact("fft", {"lib/libfft-gfx942.so": "->libfft-gfx942.so.1", "lib/libfft-gfx942.so.1": "lib:libfft-gfx942.so.1"})
    device = apart.laid(key="device")
    devel = lay_out_devel(_portion("devel", site.artifacts), site.tree(), site.facts, packages=[core, device], platform=_LINUX)
    assert devel.root == "_rocm_sdk_devel"
    assert devel.links == {
        "bin/link": "../../_rocm_sdk_core/bin/link",
        "bin/run": "../../_rocm_sdk_core/bin/run",
        "lib/liba.so": "liba.so.1",
        "lib/liba.so.1": "../../_rocm_sdk_core/lib/liba.so.1",
        "lib/liba.so.1.2": "liba.so.1",
        "lib/libfft-gfx942.so": "libfft-gfx942.so.1",
        "lib/old.h": "../include/a.h",
        "llvm": "lib",
    }
    assert sorted(devel.files) == ["include/a.h", "lib/cmake/a.cmake"]
    assert Archive(tree=devel, contents={}).names == sorted([*devel.links, *devel.files])
