"""Hipify of the real PyTorch tree: what its tool read and did is on record, and a second work dir on the machine does not run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.real_runs import Ran, nox

pytestmark = [pytest.mark.real("ci"), pytest.mark.timeout(600), pytest.mark.xdist_group("real-hipify")]

TOOL = "tools/amd_build/build_amd.py"


def checkout(place: Path, work: str, inputs: dict[str, Path], *words: str) -> Ran:
    origin = ("--pytorch-origin", inputs["pytorch-origin"], "--pytorch-ref", "release/2.6")
    ran = nox("checkout_pytorch", *origin, "--work-dir", place / work, "--cache-dir", place / "cache", *words, cwd=place)
    assert ran.status == 0, ran.talk
    return ran


def commands(ran: Ran) -> list[str]:
    (receipt,) = [stage["receipt"] for stage in ran.document["stages"] if stage["stage"] == "hipify"]
    recorded = json.loads(Path(receipt).read_text(encoding="utf-8"))["commands"]
    return [word for command in recorded for word in command["argv"]]


def commit(tree: Path, name: str) -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(tree), "rev-parse", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Path]) -> Path:
    """A place with a work dir in which hipify ran."""
    place = tmp_path_factory.mktemp("hipify")
    assert TOOL in commands(checkout(place, "first", inputs))
    return place


def test_the_record_names_what_the_tool_read_and_did(place: Path) -> None:
    tree = place / "first" / "src" / "pytorch"
    text = (tree / ".git" / "hipwright" / "hipify-record.json").read_text(encoding="utf-8")
    record = json.loads(text)["record"]
    assert record["generation"] == "1.0.0"
    (root,) = record["modules"]
    assert (len(root["added"]), len(root["changed"]), len(root["removed"])) == (593, 96, 0)
    read = set(root["read"])
    assert {TOOL, "torch/utils/hipify/hipify_python.py", "torch/csrc/cuda/Module.cpp", "aten/src/ATen/cuda/CUDAContext.h"} <= read
    assert set(root["changed"]) <= read
    assert not set(root["added"]) & read
    assert "README.md" not in read


def test_a_second_work_dir_takes_the_result(place: Path, inputs: dict[str, Path]) -> None:
    ran = checkout(place, "second", inputs)
    assert ran.states()["hipify"] == "run"
    assert TOOL not in commands(ran)
    for name in ("refs/hipwright/hipified", "HEAD"):
        assert commit(place / "second" / "src" / "pytorch", name) == commit(place / "first" / "src" / "pytorch", name)


def test_without_hipify_the_tree_has_its_base_patches_alone(place: Path, inputs: dict[str, Path]) -> None:
    checkout(place, "plain", inputs, "--no-hipify")
    tree = place / "plain" / "src" / "pytorch"
    assert commit(tree, "HEAD") == commit(place / "first" / "src" / "pytorch", "refs/hipwright/base")
    assert not (tree / "c10" / "hip" / "HIPStream.cpp").exists()


@pytest.mark.real("real")
def test_an_edit_is_carried_through_the_trees_own_tool_and_stands_in_no_ones_way(place: Path, inputs: dict[str, Path]) -> None:
    checkout(place, "edited", inputs)
    tree = place / "edited" / "src" / "pytorch"
    source = tree / "aten/src/ATen/native/cuda/AbsKernel.cu"
    text = source.read_text(encoding="utf-8")
    source.write_text(f"{text}// cudaMalloc, says a person\n", encoding="utf-8")
    (source.parent / "MineKernel.cu").write_text("// cudaMalloc of mine\n", encoding="utf-8")
    assert TOOL in commands(checkout(place, "edited", inputs, "--force", "hipify"))
    outputs = tree / "aten/src/ATen/native/hip"
    assert (outputs / "AbsKernel.hip").read_text(encoding="utf-8").endswith("// hipMalloc, says a person\n")
    assert (outputs / "MineKernel.hip").read_text(encoding="utf-8").endswith("// hipMalloc of mine\n")
    changed = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", tree, "status", "--porcelain"], capture_output=True, text=True, check=True
    ).stdout
    assert len(changed.splitlines()) == 4
    source.write_text(text, encoding="utf-8")
    (source.parent / "MineKernel.cu").unlink()
    checkout(place, "edited", inputs, "--until", "base-patches")
    assert not outputs.joinpath("AbsKernel.hip").exists()
    checkout(place, "edited", inputs)
    assert commit(tree, "HEAD") == commit(place / "first" / "src" / "pytorch", "HEAD")
