from __future__ import annotations

import msgspec
import pytest

from build_tools.checks.expectation import StatedCommit
from build_tools.checks.profile import expectation_for
from build_tools.config.project import GitOrigin, Project, Version
from build_tools.config.wheel_demands import SourceCommit, Wheel
from build_tools.errors import HipwrightError
from build_tools.receipts.values import BuiltWheels, WheelFile
from build_tools.types import CommitId, Platform, Sha256

_FILENAME = "torch-2.9.0+rocm7.10.0-cp311-cp311-linux_x86_64.whl"

_PROJECT = Project(
    schema=1,
    name="pytorch",
    summary="PyTorch",
    origin=GitOrigin(url="https://example.invalid/pytorch"),
    version=Version(file="version.txt"),
    sdk="rocm",
    wheel=Wheel(
        distribution="torch",
        required_members=("torch/_rocm_init.py",),
        linux_members=("torch/lib/libc10_hip.so",),
        windows_members=("torch/lib/c10_hip.dll",),
        pinned_requirements=("rocm[libraries]", "Triton"),
    ),
)

_BUILT = BuiltWheels(
    project="pytorch",
    version="2.9.0+rocm7.10.0",
    upstream=CommitId("1" * 40),
    python_tag="cp311",
    wheels=(
        WheelFile(
            path=f"dist/{_FILENAME}",
            filename=_FILENAME,
            distribution="torch",
            version="2.9.0+rocm7.10.0",
            sha256=Sha256("a" * 64),
            size=1,
        ),
    ),
    pins=("rocm[libraries]==7.10.0",),
)


@pytest.mark.parametrize(
    ("platform", "member"), [(Platform.LINUX, "torch/lib/libc10_hip.so"), (Platform.WINDOWS, "torch/lib/c10_hip.dll")]
)
def test_the_plan_of_a_build(platform: Platform, member: str) -> None:
    plans = expectation_for(_PROJECT, _BUILT, platform)
    assert list(plans) == [_FILENAME]
    plan = plans[_FILENAME]
    assert (plan.distribution, plan.version, plan.python_tag, plan.platform) == ("torch", "2.9.0+rocm7.10.0", "cp311", platform)
    assert plan.sha256 == "a" * 64
    assert plan.members == ("torch/_rocm_init.py", member)
    assert plan.pins == ("rocm[libraries]==7.10.0",)
    assert plan.pinned == ("rocm", "triton")


def test_the_commit_that_a_wheel_has_to_name() -> None:
    assert expectation_for(_PROJECT, _BUILT, Platform.LINUX)[_FILENAME].source_commit is None
    wheel = msgspec.structs.replace(_PROJECT.wheel, source_commit=SourceCommit(member="torch/version.py"))
    plan = expectation_for(msgspec.structs.replace(_PROJECT, wheel=wheel), _BUILT, Platform.LINUX)[_FILENAME]
    assert plan.source_commit == StatedCommit(member="torch/version.py", name="git_version", commit=_BUILT.upstream)


def test_a_build_without_a_wheel() -> None:
    with pytest.raises(HipwrightError, match="made no wheel") as caught:
        expectation_for(_PROJECT, msgspec.structs.replace(_BUILT, wheels=()), Platform.LINUX)
    assert caught.value.code.name == "no-wheel"


def test_the_build_of_another_project() -> None:
    with pytest.raises(HipwrightError, match="triton") as caught:
        expectation_for(_PROJECT, msgspec.structs.replace(_BUILT, project="triton"), Platform.LINUX)
    assert caught.value.code.name == "bad-receipt"


def test_a_pinned_requirement_that_cannot_be_read() -> None:
    wheel = msgspec.structs.replace(_PROJECT.wheel, pinned_requirements=("rocm =",))
    with pytest.raises(HipwrightError, match="rocm =") as caught:
        expectation_for(msgspec.structs.replace(_PROJECT, wheel=wheel), _BUILT, Platform.LINUX)
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.key == "wheel.pinned-requirements"
