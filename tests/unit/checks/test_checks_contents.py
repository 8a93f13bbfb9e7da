"""Rules about what a wheel holds: wheels that break each, and neighbours that do not."""

from __future__ import annotations

import fnmatch
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.checks.baseline import choose_baseline, member_sizes
from build_tools.checks.demands import Demands
from build_tools.checks.rules.difference import comparable
from build_tools.checks.rules.forbidden import matching
from build_tools.checks.run import check_wheels
from build_tools.config.wheel_demands import Check
from build_tools.types import Platform
from tests.support.wheel_maker import WheelMaker

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Callable, Mapping
    from pathlib import Path

_MIB = 1 << 20


def _told(
    wheel: Path,
    rule: str,
    *,
    check: Check | None = None,
    members: tuple[str, ...] = (),
    forbidden: tuple[str, ...] = (),
    baseline: Mapping[str, int] | None = None,
) -> list[tuple[str, str | None, str]]:
    demands = Demands(platform=Platform.LINUX, check=check or Check(), members=members, forbidden=forbidden, baseline=baseline)
    report = check_wheels([wheel], expectations=None, demands={wheel.name: demands}, say=lambda _line: None)
    assert {finding.rule for finding in report.findings} <= {rule}, report.findings
    return [(finding.severity, finding.member, finding.message) for finding in report.findings]


def _unjudged(wheel: Path) -> set[str]:
    return {entry.rule for entry in check_wheels([wheel], expectations=None, say=lambda _line: None).unjudged}


def _mode(mode: int, name: str = "demo/__init__.py") -> Callable[[zipfile.ZipInfo], None]:
    def edit(entry: zipfile.ZipInfo) -> None:
        if entry.filename.endswith(name):
            entry.external_attr = (stat.S_IFREG | mode) << 16

    return edit


@pytest.mark.parametrize(
    ("mode", "name", "severity", "message"),
    [
        (0o666, "demo/__init__.py", "error", "everybody may change it"),
        (0o244, "demo/__init__.py", "error", "its owner cannot read it"),
        (0o645, "demo/__init__.py", "error", "its owner not"),
        (0o640, "demo/__init__.py", "warning", "only some can read it"),
        (0o755, "dist-info/WHEEL", "warning", "metadata is no program"),
    ],
)
def test_modes(tmp_path: Path, mode: int, name: str, severity: str, message: str) -> None:
    found = _told(WheelMaker(edit_entry=_mode(mode, name)).write(tmp_path), "modes")
    assert [entry[0] for entry in found] == [severity]
    assert message in found[0][2]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o664, 0o444, 0o555])
def test_ordinary_modes(tmp_path: Path, mode: int) -> None:
    assert _told(WheelMaker(edit_entry=_mode(mode)).write(tmp_path), "modes") == []


def test_a_path_that_is_too_long_for_windows(tmp_path: Path) -> None:
    longest = f"demo/{'x' * 172}.py"
    assert len(longest) == 180
    assert _told(WheelMaker(files={longest: b""}).write(tmp_path / "right"), "path-length") == []
    wheel = WheelMaker(files={f"y{longest}": b""}).write(tmp_path / "wrong")
    assert [entry[:2] for entry in _told(wheel, "path-length")] == [("error", f"y{longest}")]
    assert _told(wheel, "path-length", check=Check(path_limit=181)) == []
    for_linux = WheelMaker(files={f"y{longest}": b""}, tag="py3-none-linux_x86_64").write(tmp_path / "linux")
    assert _told(for_linux, "path-length") == []
    assert "path-length" in _unjudged(for_linux)


def test_a_path_counts_where_it_is_installed(tmp_path: Path) -> None:
    name = f"demo-1.0.data/purelib/{'x' * 170}.py"
    assert _told(WheelMaker(files={name: b""}).write(tmp_path), "path-length") == []


def test_required_members_are_demanded_without_a_plan(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    assert _told(wheel, "required-members", members=("demo/__init__.py", "demo/*.py")) == []
    assert [entry[1] for entry in _told(wheel, "required-members", members=("demo/_rocm_init.py",))] == ["demo/_rocm_init.py"]
    assert "required-members" in _unjudged(wheel)


def test_forbidden_members(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/lib/libamdhip64.so.7": b"", "demo/lib/notes.txt": b""}, tag="py3-none-any")
    made = wheel.write(tmp_path)
    demands = Demands(platform=Platform.LINUX, forbidden=("demo/lib/libamdhip64*", "demo/gone/*"))
    report = check_wheels([made], expectations=None, demands={made.name: demands}, say=lambda _line: None)
    found = [finding for finding in report.findings if finding.rule == "forbidden-members"]
    assert [(finding.severity, finding.member) for finding in found] == [("error", "demo/lib/libamdhip64.so.7")]


@given(
    st.lists(st.text("ab.[]!*?-/", max_size=6), max_size=4),
    st.lists(st.text("ab.[]!-/", max_size=5), max_size=12),
)
def test_patterns_mean_what_they_mean_everywhere(patterns: list[str], names: list[str]) -> None:
    for pattern in patterns:
        assert list(matching(names, pattern)) == [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def test_a_name_that_two_patterns_forbid_is_told_for_each(tmp_path: Path) -> None:
    told = _told(WheelMaker(files={"demo/x.cu": b""}).write(tmp_path), "forbidden-members", forbidden=("demo/*.cu", "*/x.[bc]u"))
    assert [entry[1:] for entry in told] == [
        ("demo/x.cu", "project.toml forbids */x.[bc]u"),
        ("demo/x.cu", "project.toml forbids demo/*.cu"),
    ]


@pytest.mark.parametrize("name", ["demo/__pycache__/x.py", "demo/x.pyc", ".git/config", "demo/x.py.orig"])
def test_leftovers_are_told(tmp_path: Path, name: str) -> None:
    assert [entry[:2] for entry in _told(WheelMaker(files={name: b""}).write(tmp_path), "forbidden-members")] == [
        ("warning", name)
    ]


def test_names_like_leftovers_are_none(tmp_path: Path) -> None:
    files = dict.fromkeys(("demo/.gitignore", "demo/pycache.py", "demo/original", "demo/git/x.py"), b"")
    assert _told(WheelMaker(files=files).write(tmp_path), "forbidden-members") == []


def test_a_limit_of_size(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/data.bin": bytes(_MIB)}, compress=False).write(tmp_path)
    assert _told(wheel, "size", check=Check(size_limit=2)) == []
    assert [entry[0] for entry in _told(wheel, "size", check=Check(size_limit=1))] == ["error"]
    assert "size" in _unjudged(wheel)


_BEFORE = {
    "demo/__init__.py": 12,
    "demo-0.9.dist-info/METADATA": 50,
    "demo-0.9.dist-info/WHEEL": 80,
    "demo-0.9.dist-info/RECORD": 200,
}


def test_a_wheel_like_the_one_before(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    assert _told(wheel, "difference", baseline=member_sizes(wheel)) == []
    assert _told(wheel, "difference", baseline=_BEFORE) == []
    assert "difference" in _unjudged(wheel)


def test_members_that_vanished(tmp_path: Path) -> None:
    gone = {"demo/data.json": 9, "demo/maps/a.bin": 1, "demo/maps/b/c.bin": 1}
    wheel = WheelMaker().write(tmp_path)
    found = _told(wheel, "difference", baseline=_BEFORE | gone)
    assert [entry[:2] for entry in found] == [("error", "demo/data.json"), ("error", "demo/maps/")]
    assert "2 members" in found[1][2]
    allowed = Check(may_vanish=("demo/maps/*", "demo/*.json"))
    assert _told(wheel, "difference", baseline=_BEFORE | gone, check=allowed) == []


def test_members_that_came_are_noted(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/__init__.py": b"answer = 42\n", "demo/more.py": b""}).write(tmp_path)
    found = _told(wheel, "difference", baseline=_BEFORE)
    assert [(severity, "demo/more.py" in message) for severity, _member, message in found] == [("note", True)]


def test_sizes_have_a_budget(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/a.bin": bytes(22 * _MIB)}).write(tmp_path)
    before = {name.replace("1.0", "0.9"): size for name, size in member_sizes(wheel).items()}
    assert _told(wheel, "difference", baseline=before | {"demo/a.bin": 21 * _MIB}) == []
    grown = _told(wheel, "difference", baseline=before | {"demo/a.bin": 20 * _MIB - 1000})
    assert [entry[:2] for entry in grown] == [("error", None), ("warning", "demo/a.bin")]
    assert _told(wheel, "difference", baseline=before | {"demo/a.bin": 11 * _MIB}, check=Check(growth_limit=101)) == []
    shrunk = _told(wheel, "difference", baseline=before | {"demo/a.bin": 45 * _MIB})
    assert [entry[:2] for entry in shrunk] == [("warning", "demo/a.bin")]


def test_a_member_that_became_empty(tmp_path: Path) -> None:
    wheel = WheelMaker(files={"demo/__init__.py": b""}).write(tmp_path)
    assert [entry[:2] for entry in _told(wheel, "difference", baseline=_BEFORE)] == [("error", "demo/__init__.py")]


def test_names_are_compared_without_version_and_python() -> None:
    assert comparable("torch/_C.cpython-313t-x86_64-linux-gnu.so") == comparable("torch/_C.cpython-310-x86_64-linux-gnu.so")
    assert comparable("torch/_C.cp311-win_amd64.pyd") == "torch/_C.pyd"
    assert comparable("torch/lib/libtorch.so") == "torch/lib/libtorch.so"
    assert comparable("torch-2.9.1+rocm7.dist-info/licenses/x-1/LICENSE") == "torch.dist-info/licenses/x-1/LICENSE"


_OTHERS = (
    "torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    "torch-2.9.0+rocm7.2-cp311-cp311-linux_x86_64.whl",
    "torch-2.9.0+rocm7.10-cp311-cp311-linux_x86_64.whl",
    "torch-2.9.1+rocm7.10-cp311-cp311-linux_x86_64.whl",
    "torch-2.9.2-cp311-cp311-linux_x86_64.whl",
    "torch-2.9.0-cp312-cp312-linux_x86_64.whl",
    "torch-2.9.0-cp311-cp311-win_amd64.whl",
    "torchvision-2.9.0-cp311-cp311-linux_x86_64.whl",
    "notes.whl",
)


def test_the_baseline_is_the_newest_older_wheel_of_the_line() -> None:
    own = "torch-2.9.1+rocm7.10-cp311-cp311-linux_x86_64.whl"
    assert choose_baseline(own, _OTHERS, same_line=True) == "torch-2.9.0+rocm7.10-cp311-cp311-linux_x86_64.whl"
    assert choose_baseline("torch-2.10.0-cp311-cp311-linux_x86_64.whl", _OTHERS, same_line=True) is None
    assert (
        choose_baseline("torch-2.10.0-cp311-cp311-linux_x86_64.whl", _OTHERS, same_line=False)
        == "torch-2.9.2-cp311-cp311-linux_x86_64.whl"
    )
    assert choose_baseline("torch-2.1.0-cp311-cp311-linux_x86_64.whl", _OTHERS[:1], same_line=False) == _OTHERS[0]
    assert choose_baseline("torch-2.9.1-cp313-cp313t-linux_x86_64.whl", _OTHERS, same_line=False) is None
