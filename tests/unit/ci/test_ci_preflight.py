"""What a job knows before it begins: where it publishes, by which role, the names of its artifacts; and what a fork's may not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.ci.matrix import artifact_name
from build_tools.ci.preflight import preflight
from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS
from build_tools.options.resolve import Resolved, resolve
from build_tools.pipeline.publishing import layout_to_publish
from build_tools.types import Platform
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from build_tools.workplace import Workplace

OWNER = "ROCm/TheRock"
ROLE = "arn:aws:iam::1:role/mine"
DIGEST = f"registry.example/image@sha256:{'a' * 64}"


def job(folder: Path, *, of_fork: bool = False, **settings: Any) -> Workplace:  # noqa: ANN401 - of any option
    """Return the workplace of a job of the run 7, which is of a pull request."""
    head = "somebody/TheRock" if of_fork else OWNER
    event = {"pull_request": {"head": {"repo": {"full_name": head}}, "base": {"repo": {"full_name": OWNER}}}}
    (folder / "event.json").write_text(json.dumps(event))
    machine = {
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_RUN_ID": "7",
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    place = workplace(folder, run_id="7", **settings)
    origins = {"repository": "environment GITHUB_REPOSITORY", "release_type": "environment HIPWRIGHT_RELEASE_TYPE"}
    return replace(place, machine=machine, platform=Platform.LINUX, resolved=Resolved(settings=place.settings, origins=origins))


def handed_on(place: Workplace) -> dict[str, str]:
    preflight(place)
    return dict(line.split("=", 1) for line in Path(place.machine["GITHUB_OUTPUT"]).read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("settings", "role"),
    [
        ({"repository": OWNER, "release_type": "ci"}, "arn:aws:iam::692859939525:role/therock-ci"),
        ({"repository": OWNER, "release_type": "ci", "publish_role": ROLE}, ROLE),
        ({"store": "s3://mine/wheels", "publish_role": ROLE}, ROLE),
        ({"store": "s3://mine/wheels"}, None),
        ({"repository": OWNER}, None),
    ],
)
def test_the_role_is_the_bucket_s_or_the_one_that_is_named(tmp_path: Path, settings: dict[str, Any], role: str | None) -> None:
    found = handed_on(job(tmp_path, **settings))
    assert found.get("role_to_assume") == role
    assert ("aws_region" in found) == (role is not None)
    assert found["publishes"] == "true"


def test_a_job_of_a_fork_takes_no_role_and_publishes_into_its_work_dir(tmp_path: Path) -> None:
    place = job(tmp_path, of_fork=True, store="s3://mine/wheels", publish_role=ROLE)
    found = handed_on(place)
    assert (found["publishes"], "role_to_assume" in found) == ("false", False)
    assert layout_to_publish(place)[0] == str(place.work_dir / "store")
    assert any("artifacts" in str(event) for event in memory_of(place).events)
    # A folder is no publication, and another run is not the one in progress.
    assert layout_to_publish(job(tmp_path, of_fork=True, store=str(tmp_path)))[0] == str(tmp_path)
    elsewhere = job(tmp_path, of_fork=True, store="s3://mine/wheels")
    settings = replace(elsewhere.settings, run_id="8")
    elsewhere = replace(elsewhere, resolved=replace(elsewhere.resolved, settings=settings))
    assert layout_to_publish(elsewhere)[0] == "s3://mine/wheels"


def test_artifacts_are_named_after_all_that_tells_jobs_apart(tmp_path: Path) -> None:
    found = handed_on(
        job(tmp_path, ref={"pytorch": "release/2.13"}, python=("3.12",), artifact_group="gfx94X-dcgpu", gpu_family="gfx942")
    )
    assert found["receipts_artifact"] == "receipts-linux-release-2.13-py3.12-gfx94X-dcgpu"
    assert found["results_artifact"] == "results-linux-release-2.13-py3.12-gfx94X-dcgpu-gfx942"
    with pytest.raises(HipwrightError) as caught:
        artifact_name("receipts", "linux", "///")
    assert caught.value.code.name == "bad-option-value"


@pytest.mark.parametrize(
    ("image", "release_type", "refused"),
    [
        ("registry.example/image:latest", "release", True),
        ("registry.example/image:latest", "prerelease", True),
        ("registry.example/image:latest", "ci", False),
        (DIGEST, "release", False),
        (None, "release", False),
    ],
)
def test_a_release_refuses_an_image_that_a_tag_names(
    tmp_path: Path, image: str | None, release_type: str, *, refused: bool
) -> None:
    place = job(tmp_path, job_image=image, release_type=release_type)
    if not refused:
        assert preflight(place)["preflight"]["publishes"]
        return
    with pytest.raises(HipwrightError) as caught:
        preflight(place)
    assert caught.value.code.name == "image-not-pinned"


def test_a_slip_in_what_later_steps_are_told_is_found_before_they_begin(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        preflight(job(tmp_path, gpu_family="gfx94X-dcgpu,gfx1"))
    assert caught.value.code.name == "bad-option-value"
    assert not (tmp_path / "output").exists()
    for variables, code in (
        ({"HIPWRIGHT_PROJECTS": "pytorhc"}, "unknown-project"),
        ({"HIPWRIGHT_ROCM_RUN_ID": "7", "HIPWRIGHT_ROCM_INDEX_URL": "https://a.example/"}, "option-conflict"),
        ({"HIPWRIGHT_COMPILER_CACHE": "cache"}, "bad-option-value"),
    ):
        with pytest.raises(HipwrightError) as caught:
            resolve(COMMANDS["preflight"], [], environment=variables, typed_in=tmp_path, clone=tmp_path, projects=["pytorch"])
        assert caught.value.code.name == code


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"store": "s3://"}, "store-unusable"),
        ({"store": "s3://a b/c"}, "store-unusable"),
        ({"store": "ftp://x"}, "store-unusable"),
        ({"store": "https://wheels.example.com/"}, "store-unusable"),
        ({"store": "s3://mine/wheels", "publish_role": "mine"}, "bad-option-value"),
        ({"store": "s3://mine/wheels", "publish_role": f"{ROLE} and more"}, "bad-option-value"),
    ],
)
def test_what_would_fail_after_the_build_is_told_before_it(tmp_path: Path, settings: dict[str, Any], code: str) -> None:
    place = job(tmp_path, **settings)
    with pytest.raises(HipwrightError) as caught:
        preflight(place)
    assert caught.value.code.name == code
    assert not Path(place.machine["GITHUB_OUTPUT"]).exists()
