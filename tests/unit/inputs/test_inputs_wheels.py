"""What pip is asked for a pinned wheel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.inputs.catalogue import WheelFile, known_inputs
from build_tools.inputs.wheels import pip_settings, requirement_lines, target_arguments


def test_the_wheels_own_tags_are_asked_for() -> None:
    assert target_arguments("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl") == (
        *("--implementation", "cp", "--python-version", "3.11", "--abi", "cp311"),
        *("--platform", "manylinux_2_28_x86_64"),
    )


def test_every_platform_of_a_wheel_is_asked_for() -> None:
    arguments = target_arguments("t-1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl")
    assert arguments[-4:] == ("--platform", "manylinux_2_27_x86_64", "--platform", "manylinux_2_28_x86_64")


def test_a_wheel_for_everybody_needs_no_tags() -> None:
    assert target_arguments("sympy-1.14.0-py3-none-any.whl") == ()


@given(st.text())
def test_what_is_no_wheel_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        target_arguments(f"{name}.zip")


def test_only_the_pinned_bytes_will_do() -> None:
    file = WheelFile(file="torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", sha256="ab" * 32, size=1)
    assert requirement_lines([file]) == f"torch==2.13.0+cpu --hash=sha256:{'ab' * 32}\n"


def test_every_pinned_wheel_can_be_asked_for() -> None:
    for file in known_inputs().wheel:
        target_arguments(file.file)


def test_settings_that_say_where_and_how_are_kept_and_those_that_say_what_are_not() -> None:
    machine = {"PIP_INDEX_URL": "u", "PIP_CERT": "c", "PIP_NO_DEPS": "0", "PIP_PLATFORM": "x", "PATH": "p"}
    assert pip_settings(machine) == {"PIP_INDEX_URL": "u", "PIP_CERT": "c"}
