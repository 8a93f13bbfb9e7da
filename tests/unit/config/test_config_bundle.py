from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.config.bundle import bundle_table
from build_tools.errors import HipwrightError
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = 'schema = 1\nfolder = "lib/rocm"\nleave-out = []\nalways = []\n'


def test_the_table_has_what_rocblas_reads_on_both_systems() -> None:
    rocblas = bundle_table().of("rocblas")
    assert rocblas is not None
    assert rocblas.files(Platform.LINUX) == ("lib/rocblas/**",)
    assert rocblas.files(Platform.WINDOWS) == ("bin/rocblas/**",)
    assert bundle_table().of("nothing") is None


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ('[[with]]\nlibrary = "rocblas"\n[[with]]\nlibrary = "rocblas"\n', "rocblas is there twice"),
        ('[[with]]\nlibrary = "rockblas"\n', "rockblas is no library"),
        ('[[with]]\nlibrary = "rocblas"\nloads = ["hipblaslr"]\n', "hipblaslr is no library"),
        ('[[with]]\nlibrary = "rocblas"\nlinus = []\n', "linus"),
    ],
)
def test_rows_that_mean_nothing(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "bundle.toml").write_text(_HEAD + rows, encoding="utf-8")
    with pytest.raises(HipwrightError, match=said) as caught:
        bundle_table(tmp_path / "bundle.toml")
    assert caught.value.code.name == "bad-data-file"
