"""Extensions built against the real torch by the command that a person types, from sources to promotion."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.support.real_runs import CLONE, Ran, clone_with, nox

pytestmark = [pytest.mark.real("ci"), pytest.mark.xdist_group("real-extensions")]

STABLE = CLONE / "tests" / "cases" / "stable-abi-extension"


def build(name: str, *, clone: Path, place: Path, inputs: dict[str, Path], links: tuple[Path, ...] = ()) -> Ran:
    """Run the whole chain for a project, with torch from the folder that its wheel lies in."""
    torch = inputs["torch-wheel"].parent
    words = ("--projects", name, "--find-links", torch, "--work-dir", place / "work", "--cache-dir", place / "cache")
    return nox(
        "pipeline", *words, "--store", place / "store", cwd=place, clone=clone, links=(inputs["torch-requirements"], *links)
    )


def verdict_of(ran: Ran) -> dict[str, object]:
    (receipt,) = [Path(stage["receipt"]) for stage in ran.document["stages"] if stage["stage"] == "test"]
    value = json.loads(receipt.read_text(encoding="utf-8"))["result"]["value"]
    assert isinstance(value, dict)
    return value


@pytest.mark.timeout(600)
def test_one_file_against_the_stable_abi(inputs: dict[str, Path], tmp_path: Path) -> None:
    clone = clone_with(tmp_path, STABLE)
    ran = build("stable-abi-extension", clone=clone, place=tmp_path, inputs=inputs)
    assert ran.status == 0, ran.talk
    assert set(ran.states().values()) == {"run"}
    (wheel,) = map(Path, ran.document["wheels"])
    assert wheel.name == "stable_abi_extension-1.0.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read("stable_abi_extension-1.0.0.dist-info/METADATA").decode()
    assert "Requires-Dist: torch==2.13.0+cpu\n" in metadata
    verdict = verdict_of(ran)
    assert (verdict["outcome"], verdict["target"]) == ("passed", "cpu-only")
    promoted = list((tmp_path / "store" / "channels" / "rehearsal").rglob(wheel.name))
    assert [path.read_bytes() for path in promoted] == [wheel.read_bytes()]

    again = build("stable-abi-extension", clone=clone, place=tmp_path, inputs=inputs)
    assert again.status == 0, again.talk
    assert set(again.states().values()) == {"skipped"}


@pytest.mark.timeout(120)
def test_torch_comes_only_from_a_source_that_the_command_names(inputs: dict[str, Path], tmp_path: Path) -> None:
    """The base index has torch too, and that does not count."""
    clone = clone_with(tmp_path, STABLE)
    words = ("--projects", "stable-abi-extension", "--work-dir", tmp_path / "work", "--cache-dir", tmp_path / "cache")
    ran = nox("pipeline", *words, cwd=tmp_path, clone=clone, links=(inputs["torch-requirements"], inputs["torch-wheel"].parent))
    assert ran.status != 0
    assert ran.document["error"]["code"] == "requirement-missing"
    assert "torch" in ran.document["error"]["message"]
    assert "--find-links" in ran.document["error"]["hint"]


@pytest.mark.real("real")
@pytest.mark.timeout(2400)
def test_a_foreign_extension_from_its_source_package(inputs: dict[str, Path], tmp_path: Path) -> None:
    """Five files, one after the other: 4 to 7 minutes on an idle machine."""
    ran = build(
        "torch-spline-conv", clone=CLONE, place=tmp_path, inputs=inputs, links=(inputs["torch-spline-conv-sdist"].parent,)
    )
    assert ran.status == 0, ran.talk
    (wheel,) = map(Path, ran.document["wheels"])
    assert wheel.name == "torch_spline_conv-1.2.2-cp311-cp311-linux_x86_64.whl"
    verdict = verdict_of(ran)
    assert (verdict["outcome"], verdict["target"]) == ("passed", "cpu-only")
    assert list((tmp_path / "store" / "channels" / "rehearsal").rglob(wheel.name))
