"""The stand-ins for actions keep the rules that the actions document: a workflow that breaks one fails here too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.workflow_actions import INPUTS, download_artifact, upload_artifact

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    artifacts, workspace = tmp_path / "artifacts", tmp_path / "workspace"
    artifacts.mkdir()
    for name in ("dist/a.whl", "dist/b.txt", ".work/logs/x.log", ".work/logs/deep/y.log", ".work/logs/.z", "build/logs/.q/r.log"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(name, encoding="utf-8")
    return artifacts, workspace


def given(**inputs: str) -> dict[str, str]:
    return dict.fromkeys(INPUTS, "") | {name.replace("_", "-"): value for name, value in inputs.items()}


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("dist/*.whl", {"a.whl"}),
        ("dist", {"a.whl", "b.txt"}),
        ("dist/a.whl", {"a.whl"}),
        ("dist\n!dist/*.txt", {"a.whl"}),
        (".work/logs", {"x.log", "deep/y.log"}),
        (".work/**/*.log", set()),
        ("dist/*.whl\nbuild/logs\n.work/logs/deep", {"dist/a.whl", ".work/logs/deep/y.log"}),
    ],
)
def test_what_an_artifact_keeps(places: tuple[Path, Path], path: str, kept: set[str]) -> None:
    artifacts, workspace = places
    upload_artifact(given(name="it", path=path), artifacts, workspace)
    assert {one.relative_to(artifacts / "it").as_posix() for one in (artifacts / "it").rglob("*") if one.is_file()} == kept


def test_a_name_is_taken_once_and_must_be_there(places: tuple[Path, Path]) -> None:
    artifacts, workspace = places
    upload_artifact(given(name="one", path="dist"), artifacts, workspace)
    with pytest.raises(SystemExit, match="exists already"):
        upload_artifact(given(name="one", path="dist/a.whl", overwrite="true"), artifacts, workspace)
    with pytest.raises(SystemExit, match="may be called"):
        upload_artifact(given(name="a/b", path="dist"), artifacts, workspace)
    with pytest.raises(SystemExit, match="no file was found"):
        upload_artifact(given(name="two", path="nowhere", if_no_files_found="error"), artifacts, workspace)
    download_artifact(given(name="one", path="here"), artifacts, workspace)
    download_artifact(given(pattern="o*", path="there"), artifacts, workspace)
    download_artifact(given(pattern="o*", path="all", merge_multiple="true"), artifacts, workspace)
    assert [(workspace / name).is_file() for name in ("here/a.whl", "there/one/a.whl", "all/a.whl")] == [True, True, True]
    with pytest.raises(SystemExit, match="no artifact two"):
        download_artifact(given(name="two", path="here"), artifacts, workspace)
