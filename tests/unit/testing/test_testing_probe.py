from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from build_tools.testing.probe import top_level_names


@pytest.mark.parametrize(
    ("files", "names"),
    [
        pytest.param(
            ["torch/__init__.py", "torch/lib/x.py", "functorch/__init__.py", "torch-2.9.dist-info/RECORD"],
            ["functorch", "torch"],
            id="packages",
        ),
        pytest.param(["six.py", "__pycache__/six.cpython-311.pyc", "six-1.dist-info/WHEEL"], ["six"], id="module"),
        pytest.param(["_fast.abi3.so", "_fast-1.dist-info/WHEEL"], ["_fast"], id="extension"),
        pytest.param(["space/inner/__init__.py", "space/inner/x.py"], ["space"], id="namespace"),
        pytest.param(["real/__init__.py", "benchmarks/run.py", "include/x.h"], ["real"], id="a-folder-beside-a-package"),
        pytest.param(["../../bin/tool", "x-stubs/__init__.pyi", "data.json", "x-1.dist-info/RECORD"], [], id="nothing-to-import"),
    ],
)
def test_import_packages_of_a_distribution(files: list[str], names: list[str]) -> None:
    assert top_level_names([PurePosixPath(file) for file in files]) == names
