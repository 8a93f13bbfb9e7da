from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from build_tools.environments.installed import Distribution
from build_tools.rocm.stack import implied_rocm, implied_rocms, mixed, same_rocm, set_marks

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "version", "requires", "rocm"),
    [
        ("rocm", "7.10.0a20260801", (), "7.10.0a20260801"),
        ("rocm-sdk-core", "7.10.0.dev0+abc", (), "7.10.0.dev0+abc"),
        ("torch", "2.12.0+rocm7.15.0a20260728", (), "7.15.0a20260728"),
        ("torch", "2.12.0+devrocm7.15.0.dev0", (), "7.15.0.dev0"),
        ("torch", "2.12.0+git1234567.rocm7.15.0", (), "7.15.0"),
        ("torch", "2.9.0+rocm6.4", (), "6.4"),
        ("torch", "2.9.0+rocm6.4", ("rocm[libraries]==6.4.2",), "6.4.2"),
        ("my-extension", "1.0", ("rocm-sdk-core==7.10.0", "numpy"), "7.10.0"),
        ("my-extension", "1.0", ("rocm>=7",), None),
        ("vllm", "0.11.0+rocm700", (), None),
        ("torch", "2.9.0+cu128", (), None),
        ("torch", "2.9.0", (), None),
    ],
)
def test_the_rocm_that_a_package_is_of(name: str, version: str, requires: tuple[str, ...], rocm: str | None) -> None:
    assert implied_rocm(name, version, tuple(map(Requirement, requires))).rocm == rocm


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("7.10.0", "7.10.0", True),
        ("7.10.0", "7.10.1", False),
        ("7.10.0a20260801", "7.10.0a20260802", False),
        ("7.10.0a20260801", "7.10.0", False),
        ("6.4", "6.4.2", True),
        ("6.4", "6.5.0", False),
        ("6.4", "6.40.0", False),
        ("7.10.0.dev0+abc", "7.10.0.dev0+abc", True),
        ("7.10.0.dev0+abc", "7.10.0.dev0+def", False),
        ("7.10.0.dev0", "7.10.0.dev0+def", True),
        ("odd!", "odd!", True),
        ("odd!", "7.10.0", False),
    ],
)
def test_one_rocm_or_two(first: str, second: str, *, same: bool) -> None:
    assert same_rocm(first, second) is same
    assert same_rocm(second, first) is same


def installed(*packages: str) -> tuple[Distribution, ...]:
    rows = [text.split("==") for text in packages]
    return tuple(Distribution(name=name, version=version, requirements=()) for name, version in rows)  # type: ignore[arg-type]


def test_a_stack_of_one_rocm_and_a_mixed_one() -> None:
    rows = implied_rocms(installed("rocm==7.15.0", "rocm-sdk-core==7.15.0", "torch==2.12.0+rocm7.15.0", "numpy==2.0"))
    assert [row.name for row in rows] == ["rocm", "rocm-sdk-core", "torch"]
    assert mixed(rows) == ("7.15.0",)
    rows = implied_rocms(installed("rocm-sdk-devel==10.1.0", "rocm==7.15.0", "torchaudio==2.12.0+rocm7.15.0", "triton==3.5.0"))
    assert mixed(rows) == ("7.15.0", "10.1.0")
    assert mixed(implied_rocms(installed("torch==2.9.0+rocm6.4", "rocm==6.4.1", "rocm-sdk-core==6.4.1"))) == ("6.4.1",)
    assert mixed(implied_rocms(installed("numpy==2.0"))) == ()


def test_sets_are_read_where_packages_bear_them(tmp_path: Path) -> None:
    marks: dict[str, dict[str, object]] = {
        "_rocm_sdk_core/_set.json": {"set_id": "a", "version": "1", "distribution": "rocm-sdk-core", "rocm": "0" * 64},
        "_rocm_sdk_libraries/_set.json": {"schema": 1, "set_id": "a", "version": "1", "distribution": "rocm-sdk-libraries"},
        "_rocm_sdk_libraries/.devel_links/gfx942.json": {"schema": 1, "set_id": "b", "version": "1", "target": "gfx942"},
        "rocm_sdk/dist_info.json": {"version": "1"},
    }
    for path, mark in marks.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(json.dumps(mark))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "_set.json").write_text("no JSON")
    own = hashlib.sha256((tmp_path / "rocm_sdk/dist_info.json").read_bytes()).hexdigest()
    ids = {mark.distribution: mark.set_id for mark in set_marks(tmp_path)}
    assert ids == {"rocm-sdk-core": "a", "rocm-sdk-libraries": "a", ".devel_links": "b", "rocm": own}
    core = {**marks["_rocm_sdk_core/_set.json"], "rocm": own}
    (tmp_path / "_rocm_sdk_core/_set.json").write_text(json.dumps(core))
    assert {mark.set_id for mark in set_marks(tmp_path) if mark.distribution == "rocm"} == {"a"}
