from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.index.sidecar import read_sdist, read_side_file
from tests.support.packages import make_sdist
from tests.support.publishing import write_wheel


def test_the_side_file_is_the_wheels_metadata_byte_for_byte(tmp_path: Path) -> None:
    headers = "Requires-Python: >=3.10,<4\nRequires-Dist: rocm[libraries]==7.1\n\nText with ünïcode and trailing spaces  \n"
    path, _ = write_wheel(tmp_path, "Demo_Kit", "1.0+rocm7.1", headers=headers)
    side = read_side_file(path)
    assert side.metadata == f"Metadata-Version: 2.1\nName: Demo_Kit\nVersion: 1.0+rocm7.1\n{headers}".encode()
    assert (side.project, side.version) == ("demo-kit", "1.0+rocm7.1")
    assert side.requires_python is not None
    assert set(side.requires_python.split(",")) == {">=3.10", "<4"}


def test_a_wheel_that_says_nothing_of_python(tmp_path: Path) -> None:
    path, _ = write_wheel(tmp_path, headers="")
    assert read_side_file(path).requires_python is None


@pytest.mark.parametrize(
    "rename",
    [
        "demo-1.1+rocm7.1-py3-none-any.whl",
        "other-1.0+rocm7.1-py3-none-any.whl",
        "demo.whl",
        "demo-1.0%2Brocm7.1-py3-none-any.whl",
    ],
)
def test_a_name_that_the_metadata_does_not_bear_out_is_refused(tmp_path: Path, rename: str) -> None:
    path, _ = write_wheel(tmp_path)
    renamed = path.rename(tmp_path / rename)
    with pytest.raises(HipwrightError) as caught:
        read_side_file(renamed)
    assert caught.value.code.name == "bad-wheel"


def test_malformed_metadata_is_told_with_the_file_that_holds_it(tmp_path: Path) -> None:
    path, _ = write_wheel(tmp_path, headers="Requires-Python: banana\n")
    with pytest.raises(
        HipwrightError, match=r"^demo-1\.0\+rocm7\.1-py3-none-any\.whl: METADATA is malformed: requires-python"
    ) as caught:
        read_side_file(path)
    assert caught.value.where is not None
    assert (caught.value.where.file, caught.value.where.member) == (path, "METADATA")


def test_a_file_that_is_no_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0-py3-none-any.whl"
    path.write_bytes(b"no zip")
    with pytest.raises(HipwrightError) as caught:
        read_side_file(path)
    assert caught.value.code.name == "bad-wheel"
    assert path.name in caught.value.message


def test_a_source_distribution_has_no_side_file(tmp_path: Path) -> None:
    side = read_sdist(make_sdist(tmp_path, "Demo.Kit", "1.0a1", files={"setup.py": "raise SystemExit"}))
    assert side.metadata is None
    assert (side.project, side.version) == ("demo-kit", "1.0a1")
    assert side.requires_python is None


@pytest.mark.parametrize("rename", ["demo-1.1.tar.gz", "other-1.0.tar.gz", "demo.tar.gz", "demo-1.0.tar", "demo-latest.tar.gz"])
def test_a_source_distribution_that_its_name_does_not_fit_is_refused(tmp_path: Path, rename: str) -> None:
    path = make_sdist(tmp_path, "demo", "1.0", files={}).rename(tmp_path / rename)
    with pytest.raises(HipwrightError) as caught:
        read_sdist(path)
    assert caught.value.code.name == "bad-wheel"


@pytest.mark.parametrize("cut", [0, 20, -20])
def test_a_source_distribution_that_is_cut_short_is_refused(tmp_path: Path, cut: int) -> None:
    path = make_sdist(tmp_path, "demo", "1.0", files={"setup.py": "pass\n" * 2000})
    path.write_bytes(path.read_bytes()[:cut] if cut else b"")
    with pytest.raises(HipwrightError) as caught:
        read_sdist(path)
    assert caught.value.code.name == "bad-wheel"


@given(data=st.binary(max_size=400), packed=st.booleans())
def test_bytes_that_are_no_source_distribution_are_refused_as_that(data: bytes, packed: bool) -> None:  # noqa: FBT001 - drawn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo-1.0.tar.gz"
        path.write_bytes(gzip.compress(data) if packed else data)
        with pytest.raises(HipwrightError) as caught:
            read_sdist(path)
    assert caught.value.code.name == "bad-wheel"


def test_a_source_distribution_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        read_sdist(tmp_path / "demo-1.0.tar.gz")
    assert caught.value.code.name == "no-wheel"
