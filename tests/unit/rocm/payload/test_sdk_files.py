"""The files that go into packages: they run on the oldest Python that is served, with nothing but its standard library."""

from __future__ import annotations

import ast
import sys

import pytest

from build_tools.rocm.packages.payload import PackageKey, payload_files, source_files

OWN = {"rocm_sdk", "rocm_sdk_core"}
KEYS: tuple[PackageKey, ...] = ("rocm", "core", "libraries", "devel", "profiler")


@pytest.mark.parametrize("key", KEYS)
def test_python_3_10_can_read_them(key: PackageKey) -> None:
    for name, data in {**payload_files(key), **source_files()}.items():
        if name.endswith(".py"):
            ast.parse(data, name, feature_version=(3, 10))


@pytest.mark.parametrize("key", KEYS)
def test_they_import_the_standard_library_and_each_other(key: PackageKey) -> None:
    for name, data in {**payload_files(key), **source_files()}.items():
        if name.endswith(".py"):
            for node in ast.walk(ast.parse(data, name)):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    modules.append(node.module or "")
                first = {module.partition(".")[0] for module in modules}
                assert first <= sys.stdlib_module_names | OWN, f"{name}: {first}"


@pytest.mark.parametrize("key", KEYS)
def test_lines_end_with_a_line_feed_and_nothing_generated_is_there(key: PackageKey) -> None:
    files = payload_files(key)
    assert files
    assert not any(b"\r" in data for data in files.values())
    assert not any("__pycache__" in name or name.endswith(".json") for name in files)


def test_packages_of_two_families_share_no_file() -> None:
    one = payload_files("libraries", module="_rocm_sdk_libraries_gfx94x_dcgpu", distribution="rocm-sdk-libraries-gfx94x-dcgpu")
    other = payload_files("libraries", module="_rocm_sdk_libraries_gfx120x_all")
    assert set(one) == {"rocm_sdk_libraries_gfx94x_dcgpu/__init__.py", "_rocm_sdk_libraries_gfx94x_dcgpu/__init__.py"}
    assert not set(one) & set(other)
    assert b"rocm-sdk-libraries-gfx94x-dcgpu" in one["_rocm_sdk_libraries_gfx94x_dcgpu/__init__.py"]


def test_no_other_key_is_known() -> None:
    with pytest.raises(ValueError, match="no package has the key 'device'"):
        payload_files("device")  # type: ignore[arg-type]
