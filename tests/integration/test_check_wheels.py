"""``check_wheels``: wheels of known projects and of none, what options add, and what is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from build_tools.checks.explain import all_rules
from build_tools.console.events import Annotated, Table
from build_tools.errors import HipwrightError
from build_tools.pipeline.check_wheels import check_wheels
from build_tools.types import GfxTarget
from tests.support.packages import flat_page, make_index, make_wheel, serve
from tests.support.wheel_maker import WheelMaker
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

_SAMPLE = "hipwright_sample"


def _sample(version: str = "1.0.0", *, requires: str = "rocm==7.10.0", files: dict[str, bytes] | None = None) -> WheelMaker:
    """Return a wheel that has the required members of the sample, apart from its binary."""
    members = {f"{_SAMPLE}/{name}.py": b"" for name in ("__init__", "_rocm_init", "functions")}
    metadata = f"Metadata-Version: 2.4\nName: hipwright-sample\nVersion: {version}\nRequires-Dist: {requires}\n"
    return WheelMaker(
        name=_SAMPLE, version=version, metadata=metadata, files={**members, f"{_SAMPLE}/version.py": b"", **(files or {})}
    )


def _report(tmp_path: Path, *paths: Path, **settings: object) -> dict[str, Any]:
    """Return the report, of a check that failed too."""
    (tmp_path / "desk").mkdir(exist_ok=True)
    try:
        document: Any = check_wheels(workplace(tmp_path / "desk", paths=paths, **settings))
    except HipwrightError as error:
        if error.code.name != "check-failed":
            raise
        document = error.document
    report: dict[str, Any] = document["report"]
    return report


def _rules(report: dict[str, Any], severity: str = "error") -> set[str]:
    return {found["rule"] for found in report["findings"] if found["severity"] == severity}


def _members(report: dict[str, Any], rule: str) -> list[str]:
    return [one["member"] for one in report["findings"] if one["rule"] == rule]


def test_a_wheel_is_judged_by_the_demands_of_its_project(tmp_path: Path) -> None:
    report = _report(tmp_path, _sample().write(tmp_path))
    assert _members(report, "required-members") == [f"{_SAMPLE}/_kernels.*.so"]
    on_windows = _report(tmp_path, _sample().write(tmp_path), platform="windows")
    assert _members(on_windows, "required-members") == [f"{_SAMPLE}/_kernels.*.pyd"]


def test_a_wheel_of_no_project_is_judged_by_what_holds_for_all(tmp_path: Path) -> None:
    report = _report(tmp_path, WheelMaker().write(tmp_path))
    assert not report["findings"]
    why = {entry["rule"]: entry["why"] for entry in report["unjudged"]}
    assert why["required-members"] == "it is a wheel of no project here"
    assert set(report["rules"]) | set(why) == {rule.name for rule in all_rules()}


def test_a_project_that_was_expected_and_is_missing_is_no_pass(tmp_path: Path) -> None:
    place = workplace(tmp_path / "desk", paths=(WheelMaker().write(tmp_path),), projects=("sample",))
    with pytest.raises(HipwrightError, match=r"no wheel of sample \(hipwright-sample\) among the 1") as caught:
        check_wheels(place)
    assert caught.value.code.name == "no-wheel"


def test_no_wheel_is_no_pass(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        check_wheels(workplace(tmp_path, paths=()))
    assert caught.value.code.name == "no-wheel"


@pytest.mark.parametrize("kind", ["folder", "page", "index"])
def test_requirements_are_looked_for_in_the_places_that_are_named(tmp_path: Path, kind: str) -> None:
    own = tmp_path / "own"
    make_wheel(own, "rocm", "7.9.0")
    right = _sample(requires="rocm==7.9.0").write(tmp_path / "right")
    wrong = _sample().write(tmp_path / "wrong")
    flat_page(own, sorted(own.glob("*.whl")))
    index = make_index(tmp_path / "index", sorted(own.glob("*.whl")))
    with serve(own) as pages, serve(index) as served:
        places: dict[str, dict[str, object]] = {
            "folder": {"find_links": (str(own),)},
            "page": {"find_links": (f"{pages.url}/index.html",)},
            "index": {"index_url": served.url},
        }
        assert "resolves" not in _rules(_report(tmp_path, right, **places[kind]))
        assert "resolves" in _rules(_report(tmp_path, wrong, **places[kind]))
    assert "resolves" not in _rules(_report(tmp_path, wrong))


def test_a_baseline_is_a_wheel_a_folder_or_a_page(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    before = _sample("0.9", files={f"{_SAMPLE}/data.json": b"{}"}).write(earlier)
    _sample("0.8").write(earlier)
    wheel = _sample().write(tmp_path)
    for place in (before, earlier):
        report = _report(tmp_path, wheel, baseline=str(place))
        assert _members(report, "difference") == [f"{_SAMPLE}/data.json"]
    assert "difference" in {entry["rule"] for entry in _report(tmp_path, wheel)["unjudged"]}
    flat_page(earlier, sorted(earlier.glob("*.whl")))
    with serve(earlier) as server:
        for place_name in (f"{server.url}/index.html", f"{server.url}/{before.name}"):
            assert "difference" in _rules(_report(tmp_path, wheel, baseline=place_name))


def test_a_baseline_with_nothing_to_compare_is_refused(tmp_path: Path) -> None:
    other = WheelMaker().write(tmp_path / "other")
    places = {other: "can be compared with", other.parent: "can be compared with", tmp_path / "gone": "there is no such file"}
    for place, message in places.items():
        with pytest.raises(HipwrightError, match=message) as caught:
            _report(tmp_path, _sample().write(tmp_path), baseline=str(place))
        assert caught.value.code.name == "no-wheel"


def test_targets_that_are_named_are_looked_for(tmp_path: Path) -> None:
    wheel = WheelMaker().write(tmp_path)
    unjudged = {entry["rule"] for entry in _report(tmp_path, wheel)["unjudged"]}
    assert "device-code" in unjudged
    assert "device-code" in _report(tmp_path, wheel, gfx=(GfxTarget("gfx942"),))["rules"]


def test_findings_are_shown_and_pinned_with_what_was_not_judged(tmp_path: Path) -> None:
    place = workplace(tmp_path / "desk", paths=(WheelMaker(extra=[("demo/new.py", b"")]).write(tmp_path),))
    with pytest.raises(HipwrightError):
        check_wheels(place)
    (table,) = (event for event in memory_of(place).events if isinstance(event, Table))
    assert table.rows[0][:2] == ("error", "record")
    assert "not judged: expected (nobody planned the wheel)" in table.note
    (pinned,) = (event for event in memory_of(place).events if isinstance(event, Annotated))
    assert (pinned.level, pinned.title) == ("error", "record")
    assert "demo/new.py: RECORD does not list it" in pinned.text


def test_a_rule_is_explained(tmp_path: Path) -> None:
    place = workplace(tmp_path, explain="leaked-paths")
    document = check_wheels(place)
    assert document["rule"]["name"] == "leaked-paths"
    assert any(line.startswith("leaked-paths (error): ") for line in memory_of(place).said)
    assert any(line.startswith("  what to do: ") for line in memory_of(place).said)
    every = check_wheels(workplace(tmp_path, explain=True))
    assert [rule["name"] for rule in every["rules"]] == [rule.name for rule in all_rules()]


def test_an_unknown_rule_is_refused_with_those_near_it(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="no rule 'leaked-path'") as caught:
        check_wheels(workplace(tmp_path, explain="leaked-path"))
    assert caught.value.code.name == "bad-option-value"
    assert "leaked-paths" in (caught.value.hint or "")


_LINUX_311 = "cp311-cp311-linux_x86_64"


def _needing(tmp_path: Path, *requires: str, tag: str = _LINUX_311) -> Path:
    return make_wheel(tmp_path / "set", "hwgamma", "1.0", requires=requires, tag=tag)


@pytest.mark.parametrize(
    ("offered", "requires", "message"),
    [
        ({"tag": "cp310-cp310-win_amd64"}, "hwbeta==1.0", "no file of it fits cp311"),
        ({"tag": "cp311-cp311-manylinux_2_28_x86_64"}, "hwbeta==1.0", None),
        ({}, "hwbeta[fast]==1.0", "has no extra fast"),
        ({"extras": {"fast": ()}}, "hwbeta[fast]==1.0", None),
        ({"requires": ("hwalpha>=2",)}, "hwbeta", "hwalpha is not at"),
        ({"requires": ("hwgamma==1.0",)}, "hwbeta", None),
        ({"requires": ("hwgamma==1.1",)}, "hwbeta", "hwgamma"),
    ],
)
def test_a_set_has_to_be_installable_from_itself_and_the_places(
    tmp_path: Path, offered: dict[str, Any], requires: str, message: str | None
) -> None:
    make_wheel(tmp_path / "own", "hwbeta", "1.0", **offered)
    report = _report(tmp_path, _needing(tmp_path, requires), find_links=(str(tmp_path / "own"),))
    told = [found["message"] for found in report["findings"] if found["rule"] == "resolves"]
    assert len(told) == (message is not None)
    assert message is None or message in told[0]


def test_a_wheel_for_any_python_is_resolved_for_those_of_the_set(tmp_path: Path) -> None:
    make_wheel(tmp_path / "own", "hwbeta", "1.0", tag="cp312-cp312-linux_x86_64")
    pure = _needing(tmp_path, "hwbeta", tag="py3-none-any")
    other = make_wheel(tmp_path / "set", "hwdelta", "1.0", tag="cp312-cp312-linux_x86_64")
    assert "resolves" not in _rules(_report(tmp_path, pure, other, find_links=(str(tmp_path / "own"),)))


@pytest.mark.parametrize("kind", ["in a folder", "in the set"])
def test_a_package_that_wants_another_python_does_not_count(tmp_path: Path, kind: str) -> None:
    own = tmp_path / ("own" if kind == "in a folder" else "set")
    metadata = "Metadata-Version: 2.4\nName: hwbeta\nVersion: 1.0\nRequires-Python: <3.5\n"
    beta = WheelMaker(name="hwbeta", metadata=metadata).write(own)
    gamma = _needing(tmp_path, "hwbeta==1.0")
    (tmp_path / "own").mkdir(exist_ok=True)
    make_wheel(tmp_path / "own", "other", "1.0")
    wheels = [gamma] if kind == "in a folder" else [gamma, beta]
    report = _report(tmp_path, *wheels, find_links=(str(tmp_path / "own"),))
    assert [found["wheel"] for found in report["findings"] if found["rule"] == "resolves"] == [gamma.name]


def test_a_package_of_a_place_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    metadata = f"Metadata-Version: 2.4\nName: hwbeta\nVersion: 1.0\nRequires-Dist: hwalpha=={'9' * 5000}\n"
    WheelMaker(name="hwbeta", metadata=metadata).write(tmp_path / "own")
    report = _report(tmp_path, _needing(tmp_path, "hwbeta"), find_links=(str(tmp_path / "own"),))
    (told,) = [found["message"] for found in report["findings"] if found["rule"] == "resolves"]
    assert "a number of 5000 digits" in told
