"""What an installed hipwright-sample-companion can do, beside a hipwright-sample or without one."""

from __future__ import annotations

import re
import sysconfig
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import hipwright_sample_companion


def test_it_comes_from_the_environment() -> None:
    assert Path(hipwright_sample_companion.__file__).resolve().is_relative_to(Path(sysconfig.get_path("purelib")).resolve())


def test_the_module_says_what_the_metadata_say() -> None:
    assert version("hipwright-sample-companion") == hipwright_sample_companion.__version__


def test_it_names_the_commit_it_was_built_from() -> None:
    assert re.fullmatch(r"[0-9a-f]{40}", hipwright_sample_companion.git_version)


def test_it_knows_the_sample_beside_it() -> None:
    try:
        expected = version("hipwright-sample")
    except PackageNotFoundError:
        expected = None
    assert hipwright_sample_companion.sample_version() == expected
