"""Freshness: promises compared with what an index holds, by a clock that the test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.config.freshness import Promise, load_freshness
from build_tools.errors import HipwrightError
from build_tools.index.snapshots import merged
from build_tools.publish.freshness import judge_freshness
from build_tools.receipts.snapshot import IndexedFile, Snapshot

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2026-03-02T00:00:00Z"
LINUX, WINDOWS = "manylinux_2_28_x86_64", "win_amd64"


def row(
    project: str, tag: str, uploaded: str = "2026-03-01T12:00:00Z", *, version: str = "1.0", yanked: str | None = None
) -> IndexedFile:
    name = f"{project.replace('-', '_')}-{version}{tag}"
    return IndexedFile(
        project=project,
        filename=name,
        key=f"dist/{name}",
        version=version,
        sha256=digest.of_bytes(name.encode()),
        size=5,
        uploaded=uploaded,
        yanked=yanked,
    )


def wheel(project: str, python: str, platform: str, uploaded: str = "2026-03-01T12:00:00Z", **more: str) -> IndexedFile:
    abi = {"py3": "none"}.get(python, python)
    interpreter = python.removesuffix("t")
    if python.endswith("-abi3"):
        interpreter, abi = python.split("-")
    return row(project, f"-{interpreter}-{abi}-{platform}.whl", uploaded, **more)


def states(promise: Promise, *files: IndexedFile) -> dict[tuple[str, str | None, str | None], str]:
    found = judge_freshness(merged(Snapshot(files=()), files), [promise], now=NOW)
    return {(one.project, one.platform, one.python): one.state for one in found}


def test_each_project_platform_and_python_is_judged_by_its_own_newest_file() -> None:
    promise = Promise(projects=("torch",), platforms=("linux", "windows"), pythons=("3.12", "3.13"), late_after_hours=36)
    found = states(
        promise,
        wheel("torch", "cp312", LINUX),
        wheel("torch", "cp312", LINUX, "2025-01-01T00:00:00Z", version="2.0"),
        wheel("torch", "cp313", LINUX, "2026-02-27T00:00:00Z"),
        wheel("torch", "cp312", WINDOWS),
    )
    assert found == {
        ("torch", "linux", "3.12"): "fresh",
        ("torch", "linux", "3.13"): "late",
        ("torch", "windows", "3.12"): "fresh",
        ("torch", "windows", "3.13"): "missing",
    }


@pytest.mark.parametrize(
    ("python", "tag", "state"),
    [
        ("3.12", "cp312", "fresh"),
        ("3.12", "cp310-abi3", "fresh"),
        ("3.12", "cp313-abi3", "missing"),
        ("3.12", "py3", "fresh"),
        ("3.12", "cp312t", "missing"),
        ("3.13t", "cp313t", "fresh"),
        ("3.13t", "cp313", "missing"),
        ("3.13t", "py3", "fresh"),
        ("3.1", "cp312", "missing"),
        ("3.1", "cp310", "missing"),
    ],
)
def test_a_python_takes_what_an_installer_would_take_for_it(python: str, tag: str, state: str) -> None:
    promise = Promise(projects=("torch",), platforms=("linux",), pythons=(python,))
    assert set(states(promise, wheel("torch", tag, LINUX)).values()) == {state}


def test_wheels_for_any_platform_and_source_distributions_are_for_both_systems() -> None:
    promise = Promise(projects=("rocm",), platforms=("linux", "windows"), pythons=("3.12",), late_after_hours=36)
    assert set(states(promise, wheel("rocm", "py3", "any")).values()) == {"fresh"}
    assert set(states(promise, row("rocm", ".tar.gz")).values()) == {"fresh"}


@pytest.mark.parametrize(
    ("uploaded", "state"),
    [
        ("2026-02-28T12:00:00Z", "fresh"),
        ("2026-02-28T11:59:59Z", "late"),
        ("2026-03-02T00:14:00Z", "fresh"),
        ("2026-03-02T01:00:00Z", "late"),
        ("some day", "late"),
        ("2026-03-01T12:00:00", "late"),
    ],
)
def test_the_limit_is_exact_and_a_time_that_proves_nothing_is_late(uploaded: str, state: str) -> None:
    promise = Promise(projects=("torch",), platforms=("linux",), late_after_hours=36)
    assert set(states(promise, wheel("torch", "cp312", LINUX, uploaded)).values()) == {state}


def test_a_file_of_a_time_to_come_does_not_stand_before_one_that_is_there() -> None:
    promise = Promise(projects=("torch",), platforms=("linux",), late_after_hours=36)
    files = [wheel("torch", "cp312", LINUX), wheel("torch", "cp312", LINUX, "2030-01-01T00:00:00Z", version="2.0")]
    assert set(states(promise, *files).values()) == {"fresh"}


def test_a_yanked_file_keeps_no_promise() -> None:
    promise = Promise(projects=("torch",), platforms=("linux",))
    assert set(states(promise, wheel("torch", "cp312", LINUX, yanked="broken")).values()) == {"missing"}


def test_families_that_are_missing_or_were_not_promised_are_told_also_by_a_wrong_name() -> None:
    promise = Promise(projects=("rocm-sdk-device",), platforms=("linux",), families=("gfx942", "gfx94X-dcgpu", "gfx1201"))
    names = ["gfx942", "gfx94x-dcgpu", "gfx1100", "gfx-94x"]
    found = states(promise, *(wheel(f"rocm-sdk-device-{name}", "py3", LINUX) for name in names), wheel("rocm-sdk", "py3", LINUX))
    assert {name.removeprefix("rocm-sdk-device-"): state for (name, _, _), state in found.items()} == {
        "gfx942": "fresh",
        "gfx94x-dcgpu": "fresh",
        "gfx1201": "missing",
        "gfx1100": "extra",
        "gfx-94x": "extra",
    }


def test_families_of_which_nothing_is_promised_are_shown_with_their_newest_file() -> None:
    promise = Promise(projects=("torch",), platforms=("linux",))
    files = [
        wheel("torch", "cp312", LINUX),
        wheel("amd-torch-device-gfx942", "py3", LINUX, "2026-02-27T00:00:00Z"),
        wheel("amd-torch-device-gfx942", "py3", WINDOWS, "2026-03-01T00:00:00Z"),
        wheel("amd-torch-device-gfx1100", "py3", LINUX, yanked="broken"),
    ]
    _, held = judge_freshness(merged(Snapshot(files=()), files), [promise], now=NOW)
    assert (held.project, held.family, held.state, held.hours) == ("amd-torch-device-gfx942", "gfx942", "held", 24.0)


HEAD = 'schema = 1\n[[channel]]\nname = "rehearsal"\n[[channel]]\nname = "dev"\n[[channel]]\nname = "prerelease"\n[[channel]]\nname = "release"\n'
PROMISE = '[[channel]]\nname = "nightly"\n[[channel.promise]]\nprojects = ["torch"]\nplatforms = ["linux"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, "nightly has no entry"),
        (HEAD + PROMISE + '[[channel]]\nname = "daily"\n', "no channel daily"),
        (HEAD + PROMISE + '[[channel]]\nname = "dev"\n', "dev is there twice"),
        (HEAD + PROMISE + 'families = ["gfx94Y"]\n', "no GPU family gfx94Y"),
        (HEAD + PROMISE + '[[channel.promise]]\nprojects = ["torch"]\nplatforms = ["linux"]\n', "torch twice"),
        (HEAD + PROMISE + "late-after-days = 2\n", "late-after-days"),
        (HEAD + PROMISE + "late-after-hours = 0\n", "`int` >= 1"),
        (HEAD + PROMISE.replace('"torch"', ""), "length >= 1"),
        (HEAD + PROMISE.replace('"torch"', '"Torch_x"'), "matching regex"),
        (HEAD + PROMISE + 'pythons = ["312"]\n', "matching regex"),
    ],
)
def test_broken_promises_in_the_data_are_errors(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "freshness.toml"
    path.write_text(text)
    with pytest.raises(HipwrightError) as caught:
        load_freshness(path)
    assert caught.value.code.name == "bad-data-file"
    assert said in str(caught.value)


def test_what_is_promised_here_can_be_read() -> None:
    assert load_freshness().of_channel("nightly").promise
