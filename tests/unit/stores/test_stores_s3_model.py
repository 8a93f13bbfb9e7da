"""What Amazon's library knows of its services is what it is by the library's own reader, and is read once."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from botocore.loaders import Loader

from build_tools.stores.s3_model import loader

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("kind", "call"), [("endpoints", "load_data"), ("partitions", "load_data"), ("s3", "load_service_model")]
)
def test_it_is_what_the_library_reads(kind: str, call: str) -> None:
    words = (kind, "service-2") if call == "load_service_model" else (kind,)
    # The shared loader's own data may have been changed by clients of this process, as the library changes what it has read.
    mine = Loader(file_loader=loader().file_loader)
    assert getattr(mine, call)(*words) == getattr(Loader(), call)(*words)


def test_it_is_read_once() -> None:
    assert loader() is loader()
    assert loader().load_data("endpoints") is loader().load_data("endpoints")


def test_files_of_the_machines_own_count_as_they_do_for_the_library(tmp_path: Path) -> None:
    folder = tmp_path / "made-up" / "2026-01-01"
    folder.mkdir(parents=True)
    (folder / "service-2.json").write_text(json.dumps({"metadata": {"é": [1, 2.5, None]}}), encoding="utf-8")
    mine = Loader(extra_search_paths=[str(tmp_path)], file_loader=loader().file_loader)
    assert mine.load_service_model("made-up", "service-2") == {"metadata": {"é": [1, 2.5, None]}}
    assert mine.file_loader.load_file(str(tmp_path / "nothing")) is None


def test_an_upload_loads_neither_rules_nor_what_makes_papers() -> None:
    show = "import sys, build_tools.pipeline.upload_wheels as _, build_tools.pipeline.named_wheels as _; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()
    assert "build_tools.pipeline.upload_wheels" in loaded
    assert not {"build_tools.checks.registry", "cyclonedx", "botocore", "build_tools.publish.sbom"} & set(loaded)
