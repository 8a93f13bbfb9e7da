"""Rule ``resolves``: sets that can be installed from what is there, and sets that cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.checks.demands import Demands, Unmet
from build_tools.checks.run import check_wheels
from build_tools.types import Platform
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_VERSION = "2.9.1+rocm7.10.0"


def _wheel(name: str, version: str, *lines: str, tag: str = "py3-none-any") -> WheelMaker:
    metadata = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines]) + "\n"
    return WheelMaker(name=name, version=version, metadata=metadata, tag=tag, files={f"{name}/__init__.py": b""})


def _torch(*requires: str, tag: str = "py3-none-any") -> WheelMaker:
    return _wheel("torch", _VERSION, *(f"Requires-Dist: {text}" for text in requires), tag=tag)


def _told(
    folder: Path,
    *makers: WheelMaker,
    packages: Mapping[str, str] | None = None,
    unmet: tuple[Unmet, ...] | None = None,
    platform: Platform = Platform.LINUX,
) -> list[tuple[str, str]]:
    wheels = [maker.write(folder) for maker in makers]
    demands = Demands(platform=platform, packages=packages, unmet=unmet)
    report = check_wheels(wheels, expectations=None, demands={wheel.name: demands for wheel in wheels}, say=lambda _line: None)
    return [(finding.severity, finding.message) for finding in report.findings if finding.rule == "resolves"]


_TRITON = _wheel("triton", "3.6.0")

_RIGHT: dict[str, tuple[list[WheelMaker], dict[str, str] | None, tuple[Unmet, ...] | None]] = {
    "the companion of the set": ([_torch("triton==3.6.0"), _TRITON], None, None),
    "a companion in another spelling": ([_torch("Py.Torch_Kit>=1"), _wheel("py_torch_kit", "1.0")], None, None),
    "what nobody can know without a place": ([_torch("filelock", "rocm==7.10.0")], None, None),
    "a package beside the set": ([_torch("rocm[libraries]==7.10.0")], {"rocm": "7.10.0"}, None),
    "what only an index has": ([_torch("filelock>=3")], {"rocm": "7.10.0"}, None),
    "a place that has it": ([_torch("filelock>=3", "rocm==7.10.0")], None, ()),
    "a requirement for another system": ([_torch('triton==9; sys_platform == "win32"'), _TRITON], {}, None),
    "a requirement for an older Python": ([_torch('triton==9; python_version < "3.10"'), _TRITON], {}, None),
    "an extra that is there": (
        [_torch("triton[tests]==3.6.0"), _wheel("triton", "3.6.0", "Provides-Extra: tests")],
        None,
        None,
    ),
    "wheels for two Pythons": (
        [
            _torch("triton==3.6.0", tag="cp311-cp311-linux_x86_64"),
            _wheel("triton", "3.6.0", tag="cp311-cp311-manylinux_2_28_x86_64"),
            _wheel("triton", "3.6.0", tag="cp312-cp312-linux_x86_64"),
        ],
        None,
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", _RIGHT)
def test_sets_that_resolve(tmp_path: Path, kind: str) -> None:
    makers, packages, unmet = _RIGHT[kind]
    assert _told(tmp_path, *makers, packages=packages, unmet=unmet) == []


_WRONG: dict[str, tuple[list[WheelMaker], dict[str, str] | None, tuple[Unmet, ...] | None, str]] = {
    "a companion that was never built": ([_torch("triton==3.6.0+git0a1b"), _TRITON], None, None, "triton==3.6.0+git0a1b is not met: the set has 3.6.0"),
    "a companion without its local part": ([_torch("triton==3.6.0+rocm7.10.0"), _TRITON], None, None, "the set has 3.6.0"),
    "another version beside the set": ([_torch("rocm==7.10.0")], {"rocm": "7.9.0"}, None, "beside the set is 7.9.0"),
    "an owned package that nothing brings": ([_torch("triton==3.6.0")], {"rocm": "7.10.0"}, None, "is met by no wheel of the set"),
    "a place without it": ([_torch("filelock")], None, (Unmet(text="filelock is not at /own"),), "filelock is not at /own"),
    "an extra that is not there": ([_torch("triton[tests]==3.6.0"), _TRITON], None, None, "asks for the extra tests"),
    "a companion for another Python": (
        [_torch("triton==3.6.0", tag="cp311-cp311-linux_x86_64"), _wheel("triton", "3.6.0", tag="cp312-cp312-linux_x86_64")],
        None,
        None,
        "by no wheel of the set for this Python",
    ),
    "a companion for another system": (
        [_torch("triton==3.6.0", tag="cp311-cp311-linux_x86_64"), _wheel("triton", "3.6.0", tag="cp311-cp311-win_amd64")],
        None,
        None,
        "by no wheel of the set for this Python",
    ),
    "a requirement for this system": ([_torch('triton==9; platform_system == "Linux"'), _TRITON], None, None, "the set has 3.6.0"),
}  # fmt: skip


@pytest.mark.parametrize("kind", _WRONG)
def test_sets_that_do_not_resolve(tmp_path: Path, kind: str) -> None:
    makers, packages, unmet, message = _WRONG[kind]
    found = _told(tmp_path, *makers, packages=packages, unmet=unmet)
    assert [severity for severity, _message in found] == ["error"]
    assert message in found[0][1]


def test_markers_are_asked_for_the_system_of_the_wheel(tmp_path: Path) -> None:
    requires = ('triton==9; sys_platform == "win32"', 'triton==8; platform_machine == "aarch64"')
    on_windows = _told(tmp_path / "w", _torch(*requires, tag="cp311-cp311-win_amd64"), _TRITON, platform=Platform.WINDOWS)
    assert ["triton==9" in message for _severity, message in on_windows] == [True]
    on_arm = _told(tmp_path / "a", _torch(*requires, tag="cp311-cp311-linux_aarch64"), _TRITON)
    assert ["triton==8" in message for _severity, message in on_arm] == [True]


def test_what_an_extra_alone_asks_for_is_a_warning(tmp_path: Path) -> None:
    torch = _wheel("torch", _VERSION, "Provides-Extra: fast", 'Requires-Dist: triton==9; extra == "fast"')
    assert [severity for severity, _message in _told(tmp_path, torch, _TRITON)] == ["warning"]


def test_what_an_install_lacks_is_told_after_what_is_wrong_in_the_set(tmp_path: Path) -> None:
    unmet = (Unmet(text="no triton for it"), Unmet(text="no filelock for an extra", always=False))
    told = sorted(_told(tmp_path / "a", _torch(), unmet=unmet))
    assert told == [("error", "no triton for it"), ("warning", "no filelock for an extra")]
    inside = _told(tmp_path / "b", _torch("triton==9"), _TRITON, unmet=unmet)
    assert ("error", "triton==9 is not met: the set has 3.6.0") in inside


@pytest.mark.parametrize(
    ("packages", "unmet", "unknown"),
    [
        (None, None, ["filelock, rocm"]),
        ({"rocm": "7.10.0"}, None, ["filelock"]),
        (None, (), []),
    ],
)
def test_what_nobody_can_judge_is_told(
    tmp_path: Path, packages: Mapping[str, str] | None, unmet: tuple[Unmet, ...] | None, unknown: list[str]
) -> None:
    requires = ("filelock", "rocm==7.10.0", "triton==3.6.0", 'numpy; sys_platform == "win32"')
    wheels = [_torch(*requires, tag="cp311-cp311-linux_x86_64").write(tmp_path), _TRITON.write(tmp_path)]
    demands = Demands(platform=Platform.LINUX, packages=packages, unmet=unmet)
    report = check_wheels(wheels, expectations=None, demands={wheels[0].name: demands}, say=lambda _line: None)
    told = [entry.why for entry in report.unjudged if entry.rule == "resolves"]
    assert told == [
        f"nobody knows a place with {names}; --find-links and --index-url of check_wheels name some" for names in unknown
    ]


def test_why_nobody_was_asked_is_told(tmp_path: Path) -> None:
    wheel = _torch("filelock").write(tmp_path)
    for demands, why in (
        (
            Demands(platform=Platform.LINUX, unasked="the base index cannot be asked: no route"),
            "the base index cannot be asked: no route",
        ),
        (Demands(platform=Platform.LINUX), "--find-links and --index-url of check_wheels"),
    ):
        report = check_wheels([wheel], expectations=None, demands={wheel.name: demands}, say=lambda _line: None)
        (told,) = [entry.why for entry in report.unjudged if entry.rule == "resolves"]
        assert told.startswith("nobody knows a place with filelock; ")
        assert why in told
