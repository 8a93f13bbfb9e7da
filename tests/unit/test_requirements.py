"""The requirement files say what pyproject.toml says, name no host, and can be read back."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from build_tools.environments import pins
from build_tools.errors import HipwrightError

CLONE = Path(__file__).parents[2]
A = "a" * 64
B = "b" * 64


def pinned(*lines: str) -> tuple[pins.Pin, ...]:
    return pins.parse("\n".join(lines), name="x.txt")


def test_the_clones_files_are_what_pyproject_asks_for() -> None:
    assert pins.check(CLONE) == {}


def test_every_file_is_a_set_and_every_group_has_a_file() -> None:
    groups = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    assert {file.stem for file in (CLONE / "requirements").iterdir()} == {pin_set.name for pin_set in pins.SETS}
    assert set(groups) == {pin_set.group for pin_set in pins.SETS if pin_set.group is not None}


@pytest.mark.parametrize("pin_set", pins.SETS, ids=lambda pin_set: pin_set.name)
def test_no_file_names_a_host_or_a_place(pin_set: pins.PinSet) -> None:
    text = pins.file_of(pin_set, CLONE).read_text(encoding="utf-8")
    assert "//" not in text
    assert "file:" not in text
    assert not [line for line in text.splitlines() if line.startswith("-")]


def test_reads_names_hashes_markers_and_who_needs_it() -> None:
    (pin,) = pinned(
        "# made by uv",
        "Ruamel.YAML==0.19.1 ; python_full_version < '3.13' \\",
        f"    --hash=sha256:{A} \\",
        f"    --hash=sha256:{B}",
        "    # via",
        "    #   -c requirements/hipwright.txt",
        "    #   deptry",
    )
    assert pin.name == "ruamel-yaml"
    assert pin.version == "0.19.1"
    assert pin.hashes == (f"sha256:{A}", f"sha256:{B}")
    assert str(pin.requirement.marker) == 'python_full_version < "3.13"'
    assert "deptry" in pin.via


@pytest.mark.parametrize(
    "line",
    ["--index-url https://example.invalid/simple", "-r other.txt", "./here", "pkg @ https://example.invalid/pkg.whl", "pkg=1"],
)
def test_anything_but_a_pinned_package_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        pinned("# head", line)
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.where is not None
    assert caught.value.where.line == 2


@pytest.mark.parametrize(
    ("lines", "wish", "problem"),
    [
        ((f"a>=1 --hash=sha256:{A}",), "a", "a>=1 is not pinned to one version"),
        ((f"a==1.* --hash=sha256:{A}",), "a", "a==1.* is not pinned to one version"),
        (("a==1",), "a", "a has no sha256"),
        (("a==1 --hash=md5:0",), "a", "a has no sha256"),
        ((f"a==1 --hash=sha256:{A}",), "a>=2", "a>=2 is asked for, and 1 is pinned"),
        ((f"a==1 --hash=sha256:{A}", f"b==1 --hash=sha256:{A}"), "a", "b is pinned, and nothing asks for it"),
        ((f"a==1 --hash=sha256:{A}", f"b==1 --hash=sha256:{A}", "    # via gone"), "a", "b is pinned, and nothing asks for it"),
    ],
)
def test_drift_is_named(lines: tuple[str, ...], wish: str, problem: str) -> None:
    assert pins.drift(pinned(*lines), [Requirement(wish)]) == [problem]


def test_what_is_asked_for_and_not_pinned_is_named() -> None:
    assert pins.drift((), [Requirement("a>=2")]) == ["a>=2 is asked for and not pinned"]


def test_a_dependency_of_a_pinned_package_is_no_drift() -> None:
    found = pinned(f"a==1 --hash=sha256:{A}", f"b==1 --hash=sha256:{A}", "    # via a")
    assert pins.drift(found, [Requirement("a")]) == []


def test_included_groups_are_followed_once() -> None:
    project = {
        "project": {"dependencies": ["run"]},
        "dependency-groups": {"x": ["a", {"include-group": "y"}], "y": ["b>1", {"include-group": "x"}]},
    }
    found = pins.wanted(project, pins.PinSet(name="x", group="x"))
    assert [str(requirement) for requirement in found] == ["run", "a", "b>1"]


def test_a_group_that_is_not_there_is_named() -> None:
    with pytest.raises(HipwrightError, match="no dependency group x"):
        pins.wanted({"dependency-groups": {}}, pins.PinSet(name="x", group="x", runtime=False))


def test_downloads_hold_every_version_once_and_no_marker() -> None:
    found = pinned(
        f"a==1 ; python_version < '3.11' --hash=sha256:{A}",
        f"a==2 ; python_version >= '3.11' --hash=sha256:{B}",
        f"b==1 --hash=sha256:{A}",
        f"b==1 --hash=sha256:{A}",
    )
    first, second = pins.downloads(found)
    assert first == f"a==1 --hash=sha256:{A}\nb==1 --hash=sha256:{A}\n"
    assert second == f"a==2 --hash=sha256:{B}\n"


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        pins.read(pins.SETS[0], tmp_path)
    assert caught.value.hint == "make it with `nox -s pins`"
