from __future__ import annotations

import pytest

from build_tools.ci.image import DOCKERFILE, ImagePlan, image_to_run, plan_image
from build_tools.ci.inside import passed_names
from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS
from build_tools.options.model import Settings
from build_tools.options.resolve import resolve
from tests.support.workplaces import CLONE

DIGEST = f"ubuntu@sha256:{'a' * 64}"
NIGHTLY = {
    "THEROCK_NIGHTLY_INDEX_URL": "https://rocm.nightlies.amd.com/v2/gfx94X-dcgpu/",
    "USE_THEROCK_NIGHTLY": "1",
    "UBUNTU_VERSION": "22.04",
    "ROCM_VERSION": "6.4",
    "ANACONDA_PYTHON_VERSION": "3.11",
    "PYTORCH_ROCM_ARCH": "gfx90a;gfx942",
}
"""The variables that systems of today set."""


def plan(*words: str, environment: dict[str, str] | None = None) -> ImagePlan:
    command = COMMANDS["docker_image"]
    resolved = resolve(command, words, environment=environment or {}, typed_in=CLONE, clone=CLONE, projects=())
    return plan_image(resolved.settings)


def test_variables_of_today_are_the_recipe_s_arguments() -> None:
    found = plan("--date", "20260501", environment=NIGHTLY)
    assert found.names == ("pytorch-therock-rocm-ci:nightly-20260501", "pytorch-therock-rocm-ci:latest")
    assert found.arguments == NIGHTLY


def test_what_nobody_gave_keeps_the_recipe_s_default() -> None:
    assert plan("--image-tag", "test").arguments == {"USE_THEROCK_NIGHTLY": "0"}
    assert plan("--image-tag", "test,test").names == ("pytorch-therock-rocm-ci:test",)


def test_the_recipe_declares_every_argument() -> None:
    text = (CLONE / DOCKERFILE).read_text(encoding="utf-8")
    everything = plan("--base-image", DIGEST, "--packages", "rocm-sdk[libraries,devel]", environment=NIGHTLY).arguments
    declared = [line.split()[1].partition("=")[0] for line in text.splitlines() if line.startswith("ARG ")]
    assert set(everything) | {"BUILD_ENVIRONMENT"} == set(declared)
    assert len(declared) == len(set(declared))


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--image", "Upper/case"], "bad-option-value", "Upper/case"),
        (["--image", "ci:latest"], "bad-option-value", "ci:latest"),
        (["--image-tag", "a b"], "bad-option-value", "a b"),
        (["--push"], "bad-option-value", "no registry to push to"),
        (["--reuse"], "bad-option-value", "no registry to take it from"),
        (["--python", "3.11,3.12"], "bad-option-value", "several"),
        (["--date", "20260231"], "bad-version", "20260231"),
        (["--release-type", "release"], "image-not-pinned", "digest"),
        (["--release-type", "prerelease", "--base-image", "ubuntu:22.04"], "image-not-pinned", "digest"),
    ],
)
def test_what_is_no_image_is_refused(words: list[str], code: str, told: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        plan(*words)
    assert caught.value.code.name == code
    assert told in caught.value.message


def test_a_release_begins_with_a_digest_and_a_nightly_may_begin_with_a_tag() -> None:
    assert plan("--release-type", "release", "--base-image", DIGEST).arguments["BASE_IMAGE"] == DIGEST
    assert plan("--release-type", "nightly").names[1].endswith(":latest")


def test_a_container_is_told_options_and_the_run_and_nothing_of_the_image() -> None:
    machine = {
        "HIPWRIGHT_PYTORCH_REF": "nightly",
        "HIPWRIGHT_IMAGE": "other",
        "PYTORCH_ROCM_ARCH": "gfx942",
        "ROCM_VERSION": "6.4",
        "THEROCK_NIGHTLY_INDEX_URL": "https://h.invalid/",
        "GITHUB_RUN_ID": "7",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "PATH": "/bin",
        "HOME": "/root",
    }
    assert passed_names(machine) == ("AWS_SECRET_ACCESS_KEY", "GITHUB_RUN_ID", "HIPWRIGHT_PYTORCH_REF", "PYTORCH_ROCM_ARCH")


@pytest.mark.parametrize(
    "name",
    ["localhost:5000/ci", "ghcr.io/owner/Name", "build-host:5000/owner/ci", "owner/ci", "a/b_c/d-e.f", "UPPER/ci", "a//b", "-a"],
)
def test_names_are_docker_s(name: str) -> None:
    fine = name in {"localhost:5000/ci", "build-host:5000/owner/ci", "owner/ci", "a/b_c/d-e.f"}
    if fine:
        assert plan("--image", name).names[1] == f"{name}:latest"
        return
    with pytest.raises(HipwrightError):
        plan(f"--image={name}")


def test_defaults_of_the_options_make_a_plan() -> None:
    assert plan_image(Settings()).names[1] == "pytorch-therock-rocm-ci:latest"


def test_what_is_run_is_the_name_of_an_image_and_no_option_of_the_engine() -> None:
    pinned = f"registry.example:5000/a/b@sha256:{'a' * 64}"
    assert [image_to_run(name) for name in ("a/b", "a:1", "localhost:5000/a", pinned)] == [
        *("a/b:latest", "a:1", "localhost:5000/a:latest", pinned)
    ]
    for name in ("-x", "--privileged", "a b", "a\nb", "a:", "A"):
        with pytest.raises(HipwrightError, match="no image's name"):
            image_to_run(name)
