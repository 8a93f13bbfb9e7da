"""Artifacts of runs in stores of every kind."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from build_tools.pipeline.fetch_artifacts import fetch_artifacts
from build_tools.rocm.artifacts import transfer
from tests.support.artifacts import BASE, plain_archive, publish_run
from tests.support.serving import serving
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from build_tools.workplace import Workplace
    from tests.support.s3 import S3Server

RUN = "123-linux"
KINDS = ["folder", "bucket", "anonymous", "listing", "pages", "twin"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A store with a run, as the options name it, and whether its keys may have a colon."""

    settings: dict[str, Any]
    machine: Mapping[str, str]
    colon: bool


@pytest.fixture(scope="session")
def archives() -> dict[str, bytes]:
    return {
        "base_lib_generic.tar.zst": plain_archive({"lib/base.so": b"base"}),
        "blas_lib_gfx942.tar.zst": plain_archive({"lib/blas.so": os.urandom(3 << 20)}),
        "fft_lib_gfx942.tar.xz": plain_archive({"lib/fft.so": os.urandom(1 << 20)}, ".tar.xz"),
        "blas_lib_gfx1201.tar.zst": plain_archive({"lib/blas.so": b"1201"}),
        "blas_lib_gfx9420.tar.zst": plain_archive({"lib/blas.so": b"9420"}),
        **{f"many{number}_lib_generic.tar.zst": plain_archive({f"share/{number}": b"x"}) for number in range(20)},
    }


@pytest.fixture(params=KINDS, scope="session")
def source(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, archives: dict[str, bytes]
) -> Iterator[Source]:
    kind = request.param
    tmp_path = tmp_path_factory.mktemp("source")
    plain = dict(os.environ)
    if kind in {"folder", "pages"}:
        folder = publish_run(tmp_path / "store" / RUN, archives | {"rccl_lib_gfx942-xnack+.tar.zst": plain_archive({"r": b"r"})})
        if kind == "folder":
            yield Source(settings={"store": str(tmp_path / "store")}, machine=plain, colon=False)
            return
        rows = "".join(f'<a href="{path.name.replace("+", "%2B")}">{path.name}</a>' for path in sorted(folder.iterdir()))
        (folder / "index.html").write_text(f"<html><body>{rows}</body></html>")
        with serving(tmp_path / "store") as url:
            yield Source(settings={"store": url}, machine=plain, colon=False)
        return
    server: S3Server = request.getfixturevalue("s3_twin" if kind == "twin" else "s3_server")
    bucket = server.bucket(public=kind != "bucket")
    client = server.client()
    folder = publish_run(tmp_path / "made", archives | {"rccl_lib_gfx942:xnack+.tar.zst": plain_archive({"r": b"r"})})
    for path in folder.iterdir():
        client.put_object(Bucket=bucket, Key=f"{RUN}/{path.name}", Body=path.read_bytes())
    client.put_object(Bucket=bucket, Key=f"{RUN}/logs/build.log", Body=b"log")
    client.put_object(Bucket=bucket, Key=f"{RUN}-more/fft_lib_gfx942.tar.zst", Body=b"another run's")
    machine = {**plain, **(server.machine if kind in {"bucket", "twin"} else server.nobody)}
    if kind == "listing":
        yield Source(settings={"store": f"{server.endpoint}/{bucket}"}, machine=machine, colon=True)
    elif kind == "anonymous":
        yield Source(settings={"bucket": bucket, "endpoint_url": server.endpoint}, machine=machine, colon=True)
    else:
        yield Source(settings={"store": f"s3://{bucket}", "endpoint_url": server.endpoint}, machine=machine, colon=True)


def place(folder: Path, source: Source, **settings: object) -> Workplace:
    asked = {"run_id": "123", "output_dir": folder / "out", **source.settings, **settings}
    return replace(workplace(folder, **asked), machine=source.machine)


def test_what_is_meant_is_fetched_and_proved(
    tmp_path: Path, source: Source, archives: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "PART", 1 << 20)
    work = place(tmp_path, source, gfx=("gfx942",), platform="linux")
    document = fetch_artifacts(work)
    told = {row["archive"]: row for row in document["artifacts"]}
    wanted = {name for name in archives if "gfx1201" not in name and "gfx9420" not in name}
    feature = "rccl_lib_gfx942:xnack+.tar.zst" if source.colon else "rccl_lib_gfx942-xnack+.tar.zst"
    assert set(told) == wanted | {feature}
    assert {(row["state"], row["proved_by"]) for row in told.values()} == {("fetched", "sha256")}
    out = tmp_path / "out"
    folders = {name.partition(".")[0].replace(":", "-") for name in told}
    assert {path.name for path in out.iterdir()} == {".fetch", ".fetched-for.json", *folders}
    assert json.loads((out / ".fetched-for.json").read_text()) == {
        "schema": 1,
        "group": None,
        "targets": ["gfx942"],
        "to_come": [],
    }
    assert (out / "rccl_lib_gfx942-xnack+" / BASE / "r").read_bytes() == b"r"
    assert (out / "blas_lib_gfx942" / BASE / "lib/blas.so").stat().st_size == 3 << 20
    again = fetch_artifacts(place(tmp_path, source, gfx=("gfx942",)))
    assert {row["state"] for row in again["artifacts"]} == {"there"}


def test_archives_can_stay_packed(tmp_path: Path, source: Source, archives: dict[str, bytes]) -> None:
    work = place(tmp_path, source, extract=False, include=("^base_", "^blas_"), exclude=("gfx9420", "gfx1201"))
    fetch_artifacts(work)
    names = ["base_lib_generic.tar.zst", "blas_lib_gfx942.tar.zst"]
    assert {path.name for path in (tmp_path / "out").glob("*.zst")} == set(names)
    assert all((tmp_path / "out" / name).read_bytes() == archives[name] for name in names)


def test_what_the_run_lacks_is_told(tmp_path: Path, source: Source) -> None:
    with pytest.raises(HipwrightError) as caught:
        fetch_artifacts(place(tmp_path, source, gfx=("gfx942", "gfx950", "gfx1100")))
    assert caught.value.code.name == "artifact-missing"
    assert "lacks gfx950, gfx1100; it has artifacts for gfx" in caught.value.message
    assert caught.value.document is not None
    assert (caught.value.document["status"], caught.value.document["results"]) == ("not-found", [])
    assert not (tmp_path / "out").exists()


def test_a_run_that_is_not_there(tmp_path: Path, source: Source) -> None:
    with pytest.raises(HipwrightError, match="all artifacts") as caught:
        fetch_artifacts(place(tmp_path, source, run_id="124"))
    assert caught.value.code.name == "artifact-missing"


def test_a_dry_run_makes_nothing(tmp_path: Path, source: Source) -> None:
    work = place(tmp_path, source, artifact_group="gfx94X-dcgpu", dry_run=True)
    document = fetch_artifacts(work)
    assert document["dry_run"] is True
    assert {row["target"] for row in document["artifacts"]} == {"generic", "gfx942", "gfx942:xnack+"}
    assert {row["state"] for row in document["artifacts"]} == {"missing"}
    assert not (tmp_path / "out").exists()
    assert any(line.startswith("would fetch 24 artifacts") for line in memory_of(work).said)


def test_what_is_there_already_is_told_before_the_rest_is_fetched(tmp_path: Path, source: Source) -> None:
    fetch_artifacts(place(tmp_path, source, gfx=("gfx1201",)))
    work = place(tmp_path, source, gfx=("gfx942", "gfx1201"), dry_run=True)
    document = fetch_artifacts(work)
    missing = {row["archive"] for row in document["artifacts"] if row["state"] == "missing"}
    assert missing == {row["archive"] for row in document["artifacts"] if row["target"].startswith("gfx942")}
    assert re.match(r"would fetch 3 artifacts, 4\.\d MiB, of .*; 22 more are there already", memory_of(work).said[-1])
    (table,) = (event for event in memory_of(work).events if isinstance(event, Table))
    assert ("gfx942", "blas", "lib", "3.0 MiB", "1", "0") in table.rows
    again = place(tmp_path, source, gfx=("gfx942", "gfx1201"))
    fetch_artifacts(again)
    assert memory_of(again).said[-1].startswith("fetching 3 artifacts, ")
    third = place(tmp_path, source, gfx=("gfx942", "gfx1201"))
    fetch_artifacts(third)
    assert re.match(r"all 25 artifacts of .* are in .*out already$", memory_of(third).said[-1])
    assert json.loads((tmp_path / "out/.fetched-for.json").read_text())["targets"] == ["gfx942", "gfx1201"]


def test_that_no_run_was_named_is_told(tmp_path: Path, source: Source) -> None:
    work = workplace(tmp_path, **source.settings)
    with pytest.raises(HipwrightError, match=r"no run is named, and .*local-linux lacks all artifacts") as caught:
        fetch_artifacts(replace(work, machine=source.machine))
    assert "--run-id ID" in str(caught.value.hint)


def test_without_a_folder_it_is_one_of_the_work_dir_and_the_run(tmp_path: Path) -> None:
    publish_run(tmp_path / "store" / "9-windows", {"base_lib_generic.tar.zst": plain_archive({"a": b"1"})}, side_files=False)
    work = workplace(tmp_path, store=str(tmp_path / "store"), run_id="9", platform="windows")
    document = fetch_artifacts(work)
    assert document["output_dir"] == str(tmp_path / "work/artifacts/9-windows")
    assert [row["path"] for row in document["artifacts"]] == [str(tmp_path / "work/artifacts/9-windows/base_lib_generic")]


def test_the_store_of_a_bucket_that_nobody_may_read(tmp_path: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    source = Source(
        settings={"bucket": bucket, "endpoint_url": s3_server.endpoint}, machine={**os.environ, **s3_server.nobody}, colon=True
    )
    with pytest.raises(HipwrightError) as caught:
        fetch_artifacts(place(tmp_path, source))
    assert caught.value.code.name == "no-credentials"
    assert caught.value.document is not None
    assert caught.value.document["status"] == "error"
