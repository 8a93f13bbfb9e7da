"""``RECORD`` rows that are added later: the installer's own stay as they are."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.rocm.payload.rocm_sdk._errors import SdkError
from build_tools.rocm.payload.rocm_sdk._records import find_record, set_rows

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)


def rows(data: bytes) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(data.decode(), newline="")) if row]


@given(st.lists(NAMES, unique=True), st.lists(NAMES), st.lists(NAMES))
def test_own_rows_are_replaced_and_all_others_kept(others: list[str], old: list[str], wanted: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "RECORD"
        kept = [[f"pkg/{name}", "sha256=abc", "3"] for name in others]
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\r\n").writerows([*kept, *([f"tree/{name}", "", ""] for name in old)])
        record.write_bytes(out.getvalue().encode())
        set_rows(record, prefix="tree/", rows=(f"tree/{name}" for name in wanted))
        assert rows(record.read_bytes()) == [*kept, *([f"tree/{name}", "", ""] for name in sorted(set(wanted)))]
        before = record.stat()
        set_rows(record, prefix="tree/", rows=(f"tree/{name}" for name in wanted))
        assert record.stat().st_ino == before.st_ino, "nothing changes, and it was written"
        assert [path.name for path in Path(folder).iterdir()] == ["RECORD"]


def test_the_mode_stays(tmp_path: Path) -> None:
    record = tmp_path / "RECORD"
    record.write_bytes(b"a,,\n")
    record.chmod(0o664)
    set_rows(record, prefix="tree/", rows=["tree/b"])
    assert record.stat().st_mode & 0o777 == 0o664


def test_a_distribution_that_is_there_twice_is_said(tmp_path: Path) -> None:
    assert find_record(tmp_path, "rocm-sdk-devel") is None
    for version in ("7.9.0", "7.10.0"):
        (tmp_path / f"rocm_sdk_devel-{version}.dist-info").mkdir()
        (tmp_path / f"rocm_sdk_devel-{version}.dist-info/RECORD").touch()
    with pytest.raises(
        SdkError, match=r"rocm-sdk-devel is installed twice in .*rocm_sdk_devel-7.10.0.dist-info, rocm_sdk_devel-7.9.0"
    ):
        find_record(tmp_path, "rocm-sdk-devel")
