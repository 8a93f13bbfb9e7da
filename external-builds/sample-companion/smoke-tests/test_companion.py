"""What an installed hipwright-sample-companion can do, beside the hipwright-sample that it was built with."""

from __future__ import annotations

import json
import re
import sysconfig
from importlib.metadata import distribution, requires, version
from pathlib import Path

import hipwright_sample
import hipwright_sample_companion


def test_it_comes_from_the_environment_or_from_a_tree_that_is_installed_editable() -> None:
    origin = json.loads(distribution("hipwright-sample-companion").read_text("direct_url.json") or "{}")
    editable = origin.get("dir_info", {}).get("editable", False)
    folder = Path(hipwright_sample_companion.__file__).resolve()
    assert folder.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()) is not editable


def test_the_module_says_what_the_metadata_say() -> None:
    assert version("hipwright-sample-companion") == hipwright_sample_companion.__version__


def test_it_names_the_commit_it_was_built_from() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", hipwright_sample_companion.git_version)


def test_it_runs_beside_the_sample_that_it_was_built_with() -> None:
    assert version("hipwright-sample") == hipwright_sample_companion.built_with == hipwright_sample_companion.sample_version()
    assert f"hipwright-sample=={hipwright_sample_companion.built_with}" in (requires("hipwright-sample-companion") or [])


def test_the_sample_says_the_same_of_its_runtime() -> None:
    assert hipwright_sample.runtime_version() == hipwright_sample_companion.runtime_version
