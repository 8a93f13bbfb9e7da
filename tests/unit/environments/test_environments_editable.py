"""What the build of a tree requires of an environment that is there."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from build_tools.environments.editable import _is_there, _lacks_wheels


@pytest.mark.parametrize(
    ("wanted", "installed", "lacks"),
    [
        ("setuptools", "65.5.0", True),
        ("setuptools>=61", "70.0.0", True),
        ("setuptools", "70.1.0", False),
        ("setuptools", None, False),
        ("setuptools<70", None, True),
        ("setuptools>=64", "60.0", False),
        ("scikit-build-core", "65.5.0", False),
    ],
)
def test_an_old_setuptools_needs_another_package_to_make_wheels(wanted: str, installed: str | None, *, lacks: bool) -> None:
    there = {canonicalize_name("setuptools"): installed} if installed else {}
    assert _lacks_wheels(Requirement(wanted), there) is lacks


@pytest.mark.parametrize(
    ("wanted", "version", "there"),
    [("a>=2", "2.1", True), ("a>=2", "1.9", False), ("a", None, False), ("a[x]", "2", False), ("a", "2.0rc1", True)],
)
def test_what_is_installed_meets_a_requirement_or_does_not(wanted: str, version: str | None, *, there: bool) -> None:
    assert _is_there(Requirement(wanted), version) is there
