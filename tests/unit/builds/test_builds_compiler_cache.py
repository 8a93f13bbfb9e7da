from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.builds.compiler_cache import (
    Bucket,
    CacheKey,
    CacheLayer,
    CacheSettings,
    cache_layer,
    find_program,
    launchers,
    launching_script,
    parse_size,
    relocatable,
    tool_settings,
)
from build_tools.errors import HipwrightError
from build_tools.types import Platform

KEY = CacheKey(
    platform=Platform.LINUX, rocm="7.13.0", targets=("gfx942", "gfx1201"), project="pytorch", line="2.9", python_tag="cp312"
)
CCACHE = CacheSettings(
    tool="ccache",
    program=Path("/opt/bin/ccache"),
    store=Path("/objects"),
    size_mib=20480,
    key=KEY,
    base=Path("/work"),
    platform=Platform.LINUX,
)
SCCACHE = replace(CCACHE, tool="sccache", program=Path("/opt/bin/sccache"))
SCRATCH = Path("/work/trees/pytorch/cp312/cache")


def test_a_key_tells_rocm_targets_line_and_python_apart() -> None:
    others = [
        replace(KEY, rocm="7.13.1"),
        replace(KEY, rocm=None),
        replace(KEY, targets=("gfx942",)),
        replace(KEY, line="2.10"),
        replace(KEY, project="triton"),
        replace(KEY, platform=Platform.WINDOWS),
    ]
    assert KEY.text == "linux/rocm-7.13.0/gfx1201-gfx942/pytorch-2.9/cp312"
    assert len({KEY.prefix, *(other.prefix for other in others)}) == len(others) + 1
    assert replace(KEY, targets=("gfx1201", "gfx942")).prefix == KEY.prefix


def test_objects_are_shared_between_pythons_and_saved_folders_are_not() -> None:
    other = replace(KEY, python_tag="cp313t")
    assert other.prefix == KEY.prefix
    assert other.text != KEY.text


@given(st.text(max_size=30))
def test_a_key_is_a_plain_path_whatever_the_line_is_called(line: str) -> None:
    prefix = replace(KEY, line=line).prefix
    assert prefix.count("/") == 3
    assert prefix.isascii()
    assert not {" ", "\\", "\n", ":"} & set(prefix)


@pytest.mark.parametrize("text", ["", "20", "G", "20X", "-1G", "0G", "20G extra", "1e3G"])
def test_a_size_without_a_number_or_unit_is_refused(text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_size(text)
    assert caught.value.code.name == "bad-option-value"


def test_the_default_size_is_not_the_tools_own() -> None:
    assert parse_size(None) == 20 * 1024


def test_a_program_is_found_in_order_and_named_when_missing(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ccache").touch()
    assert find_program("ccache", path=[tmp_path, tmp_path / "second", tmp_path / "first"]) == tmp_path / "second" / "ccache"
    with pytest.raises(HipwrightError, match="sccache") as caught:
        find_program("sccache", path=[tmp_path / "first"])
    assert caught.value.code.name == "missing-tool"


def test_every_setting_of_ccache_that_decides_is_ours() -> None:
    values = tool_settings(CCACHE, scratch=SCRATCH)
    assert values == {
        "CCACHE_CONFIGPATH": f"{SCRATCH}/ccache.conf",
        "CCACHE_DIR": "/objects",
        "CCACHE_MAXSIZE": "20480Mi",
        "CCACHE_NAMESPACE": KEY.prefix,
        "CCACHE_COMPILERCHECK": "content",
        "CCACHE_BASEDIR": "/work",
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_SLOPPINESS": "",
        "CCACHE_STATSLOG": f"{SCRATCH}/ccache.log",
        "CCACHE_TEMPDIR": f"{SCRATCH}/ccache-tmp",
    }


def test_sccache_in_a_folder_has_a_folder_for_each_key() -> None:
    values = tool_settings(SCCACHE, scratch=SCRATCH)
    assert values["SCCACHE_DIR"] == f"/objects/{KEY.prefix}"
    assert values["SCCACHE_CACHE_SIZE"] == "20480M"
    assert values["SCCACHE_BASEDIRS"] == "/work"
    assert values["SCCACHE_IDLE_TIMEOUT"] == "0"
    assert "SCCACHE_BUCKET" not in values


@pytest.mark.parametrize(
    ("server", "endpoint", "secure"),
    [(None, None, "true"), ("http://127.0.0.1:9000", "127.0.0.1:9000", "false"), ("https://s3.example", "s3.example", "true")],
)
def test_sccache_in_a_bucket(server: str | None, endpoint: str | None, secure: str) -> None:
    bucket = Bucket(name="objects", folder="shared", server=server, region="us-east-2")
    values = tool_settings(replace(SCCACHE, store=bucket), scratch=SCRATCH)
    assert values["SCCACHE_BUCKET"] == "objects"
    assert values["SCCACHE_REGION"] == "us-east-2"
    assert values["SCCACHE_S3_KEY_PREFIX"] == f"shared/{KEY.prefix}"
    assert (values.get("SCCACHE_ENDPOINT"), values["SCCACHE_S3_USE_SSL"]) == (endpoint, secure)
    assert not {"SCCACHE_DIR", "SCCACHE_S3_NO_CREDENTIALS"} & values.keys()


def test_without_credentials_a_bucket_is_only_read() -> None:
    values = tool_settings(replace(SCCACHE, store=Bucket(name="objects", signed=False)), scratch=SCRATCH)
    assert (values["SCCACHE_S3_NO_CREDENTIALS"], values["SCCACHE_S3_RW_MODE"]) == ("true", "READ_ONLY")


def test_all_three_languages_are_launched_and_hipcc_where_it_can() -> None:
    values, missed = launchers(SCCACHE, rocm="7.13.0a20261101")
    assert {values[f"CMAKE_{name}_COMPILER_LAUNCHER"] for name in ("C", "CXX", "HIP")} == {"/opt/bin/sccache"}
    assert values["HIP_CLANG_LAUNCHER"] == "/opt/bin/sccache"
    assert missed is None
    assert not {"CC", "CXX"} & values.keys()


def test_a_hipcc_that_takes_no_launcher_is_told() -> None:
    values, missed = launchers(SCCACHE, rocm="7.12.1")
    assert "HIP_CLANG_LAUNCHER" not in values
    assert missed is not None
    assert "7.12.1" in missed


def test_without_rocm_there_is_nothing_to_tell() -> None:
    values, missed = launchers(SCCACHE, rocm=None)
    assert (missed, "HIP_CLANG_LAUNCHER" in values) == (None, False)


def test_a_setup_py_gets_compilers_of_one_word_and_cmake_in_it_no_second_launcher() -> None:
    values, _ = launchers(CCACHE, rocm="7.13.0", compilers={"CC": "/w/bin/cc", "CXX": "/w/bin/c++"})
    assert (values["CC"], values["CXX"]) == ("/w/bin/cc", "/w/bin/c++")
    assert not {"CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"} & values.keys()
    assert values["HIP_CLANG_LAUNCHER"] == "/opt/bin/ccache"


def test_a_script_starts_the_compiler_through_the_cache() -> None:
    spaced = replace(CCACHE, program=Path("/my tools/ccache"))
    assert launching_script(spaced, "cc -m64") == "#!/bin/sh\nexec '/my tools/ccache' cc -m64 \"$@\"\n"


def test_on_windows_debug_information_is_in_the_objects() -> None:
    values, missed = launchers(replace(SCCACHE, platform=Platform.WINDOWS), rocm="7.13.0")
    assert values["CMAKE_MSVC_DEBUG_INFORMATION_FORMAT"] == "Embedded"
    assert "CMAKE_CXX_COMPILER_LAUNCHER" in values
    assert (missed, {"CC", "HIP_CLANG_LAUNCHER"} & values.keys()) == (None, set())


def test_the_folder_of_the_sources_is_mapped_where_sccache_does_not_compare_it() -> None:
    flags = {"CFLAGS": "-ffile-prefix-map=/work/src=.", "CXXFLAGS": "-O2 -ffile-prefix-map=/work/src=. -g", "LDFLAGS": "-L/x"}
    assert relocatable(CCACHE, flags) == {}
    assert relocatable(replace(SCCACHE, platform=Platform.WINDOWS), flags) == {}
    assert relocatable(SCCACHE, flags) == {
        "CFLAGS": "-Wp,-fmacro-prefix-map=/work/src=.,-fdebug-prefix-map=/work/src=.",
        "CXXFLAGS": "-O2 -Wp,-fmacro-prefix-map=/work/src=.,-fdebug-prefix-map=/work/src=. -g",
    }


def test_a_folder_with_a_comma_is_mapped_as_ever() -> None:
    assert relocatable(SCCACHE, {"CFLAGS": "-ffile-prefix-map=/a,b=."}) == {}


def layer_of(settings: CacheSettings, compiles: str, environment: dict[str, str], *overrides: str) -> CacheLayer:
    return cache_layer(
        settings,
        {"CCACHE_DIR": "/objects"},
        environment=environment,
        rocm="7.13.0",
        compiles=compiles,
        compiler="/usr/bin/c++",
        folder=SCRATCH / "bin",
        overrides=overrides,
    )


def test_a_layer_has_settings_launchers_and_the_scripts_that_it_names() -> None:
    layer = layer_of(CCACHE, "setuptools", {"CC": "gcc -m64"})
    assert layer.variables["CCACHE_DIR"] == "/objects"
    assert layer.variables["CC"] == str(SCRATCH / "bin" / "cc")
    assert layer.scripts[SCRATCH / "bin" / "cc"] == '#!/bin/sh\nexec /opt/bin/ccache gcc -m64 "$@"\n'
    assert layer.scripts[SCRATCH / "bin" / "c++"] == '#!/bin/sh\nexec /opt/bin/ccache /usr/bin/c++ "$@"\n'


def test_cmake_and_windows_need_no_scripts() -> None:
    cmake = layer_of(CCACHE, "cmake", {}, "CCACHE_DIR")
    assert not cmake.scripts
    assert "CCACHE_DIR" not in cmake.variables
    assert cmake.variables["HIP_CLANG_LAUNCHER"] == "/opt/bin/ccache"
    there = layer_of(replace(CCACHE, platform=Platform.WINDOWS), "setuptools", {})
    assert (there.scripts, there.missed) == ({}, None)
