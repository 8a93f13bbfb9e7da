"""The deps index by its command, from a base index on this machine into a bucket of a real S3 server."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.packages import make_index, make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.commands import Desk
    from tests.support.s3 import S3Server

pytestmark = pytest.mark.end_to_end


def test_the_deps_index_is_planned_made_and_kept(desk: Desk, s3_server: S3Server, tmp_path: Path) -> None:
    made = [
        make_wheel(tmp_path / "made", "jinja2", "3.1", requires=["markupsafe>=2", "torch"]),
        make_wheel(tmp_path / "made", "markupsafe", "3.0", tag="cp312-cp312-manylinux_2_17_x86_64"),
        make_wheel(tmp_path / "made", "torch", "99.0"),
    ]
    base = make_index(tmp_path / "base", made).as_uri()
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": base}
    here = replace(desk, work=tmp_path / "work", variables={**desk.variables, **pip, **s3_server.machine})
    bucket = s3_server.bucket(public=True)
    words = ("--store", f"s3://{bucket}/kept", "--endpoint-url", s3_server.endpoint, "--python", "3.12", "--platform", "linux")
    packages = ("--packages", "jinja2")

    plan = here.nox("update_deps_index", *words, *packages, "--dry-run").well()
    assert "would be added" in plan.out
    assert s3_server.client().list_objects_v2(Bucket=bucket).get("KeyCount") == 0

    first = here.nox("update_deps_index", *words, *packages, "--json").well()
    names = ["jinja2-3.1-py3-none-any.whl", "markupsafe-3.0-cp312-cp312-manylinux_2_17_x86_64.whl"]
    assert [row["filename"] for row in first.document["deps_index"]["added"]] == names
    assert first.document["deps_index"]["find_links_url"] == f"{s3_server.endpoint}/{bucket}/kept/python-deps/index.html"
    # A bucket has nothing at the addresses of an index, which end in a slash.
    assert first.document["deps_index"]["index_url"] is None
    # What the libraries below say of each request holds signatures, and is nothing for people.
    assert "botocore" not in first.talk
    assert s3_server.machine["AWS_SECRET_ACCESS_KEY"] not in first.talk

    again = here.nox("update_deps_index", *words, *packages, "--json").well()
    assert (again.document["deps_index"]["added"], again.document["deps_index"]["kept"]) == ([], names)

    error = here.nox("update_deps_index", *words, "--packages", "torch", "--json").failed("owned-name-leak")
    assert "torch" in error["message"]
    listed = s3_server.client().list_objects_v2(Bucket=bucket, Prefix="kept/python-deps/simple/")["Contents"]
    assert sorted(row["Key"].removeprefix("kept/python-deps/simple/") for row in listed) == [
        "index.html",
        "jinja2/index.html",
        "markupsafe/index.html",
    ]
