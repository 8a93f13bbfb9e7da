"""The catalogue of real inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.config.project import SdistOrigin, load_project
from build_tools.errors import HipwrightError
from build_tools.inputs.catalogue import (
    Catalogue,
    RepositoryInput,
    Tier,
    branches_of,
    files_of,
    inputs_of,
    known_inputs,
    load_inputs,
)
from build_tools.types import ProjectName

CLONE = Path(__file__).resolve().parents[3]
PIN = 'file = "a-1.tar.gz"\nsha256 = "' + "a" * 64 + '"\nsize = 3\nname = "a"\nversion = "1"\n'


def catalogue(folder: Path, text: str) -> Catalogue:
    path = folder / "inputs.toml"
    path.write_text(f"schema = 1\n{text}", encoding="utf-8")
    return load_inputs(path)


def test_the_keys_are_the_promised_ones() -> None:
    keys = {tier: {entry.key for entry in inputs_of(known_inputs(), tier)} for tier in Tier}
    assert keys[Tier.CI] == {"pytorch-origin", "pytorch-series", "debian-rocm", "torch-wheel", "torch-requirements"}
    assert keys[Tier.REAL] - keys[Tier.CI] == {
        "torch-suite-requirements",
        "torch-wheel-large",
        "torch-spline-conv-sdist",
        "torch-scatter-sdist",
        "torchvision-source",
        "torchaudio-source",
        "torchvision-origin",
        "torchaudio-origin",
        "torchvision-wheel",
        "torchaudio-wheel",
        "triton-wheel",
    }


def test_a_branch_of_the_larger_tier_comes_on_top() -> None:
    origin = next(entry for entry in known_inputs().input if entry.key == "pytorch-origin")
    assert isinstance(origin, RepositoryInput)
    assert [branch.name for branch in branches_of(origin, Tier.CI)] == ["release/2.6"]
    assert [branch.name for branch in branches_of(origin, Tier.REAL)] == ["release/2.6", "release/1.13"]
    assert len(files_of(origin, Tier.CI)) == 1


def test_a_recipe_and_its_input_are_the_same_file() -> None:
    project = load_project(CLONE / "external-builds", ProjectName("torch-spline-conv"))
    assert isinstance(project.origin, SdistOrigin)
    pins = {pinned.name: pinned.sha256 for pinned in known_inputs().sdist}
    assert pins[project.origin.name] == project.origin.sha256


def test_it_names_no_package_index_host_but_pytorchs() -> None:
    text = (CLONE / "build_tools" / "config" / "data" / "inputs.toml").read_text(encoding="utf-8")
    urls = {word.strip('"') for word in text.split() if "://" in word}
    assert urls == {"https://download.pytorch.org/whl/cpu"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(f"[[sdist]]\n{PIN}[[sdist]]\n{PIN}[[input]]\n", "key", id="input without key"),
        pytest.param(
            f'[[sdist]]\n{PIN}[[sdist]]\n{PIN}[[input]]\nkey="k"\ntier="ci"\nkind="file"\nfile="a-1.tar.gz"\n',
            "'a-1.tar.gz' is there twice",
            id="pinned twice",
        ),
        pytest.param('[[input]]\nkey="k"\ntier="ci"\nkind="file"\nfile="b"\n', "'b', which is not pinned", id="not pinned"),
        pytest.param('[[input]]\nkey="k"\ntier="some"\nkind="file"\nfile="b"\n', "some", id="no such tier"),
        pytest.param(f"[[sdist]]\n{PIN}colour = 1\n[[input]]\n", "colour", id="unknown key"),
        pytest.param("[[sdist]]\n" + PIN.replace("a-1.tar.gz", "../a"), "file", id="a path for a name"),
    ],
)
def test_a_wrong_catalogue_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        catalogue(tmp_path, text)
    assert caught.value.code.name == "bad-data-file"
    assert message in f"{caught.value.message} {caught.value.where}"
