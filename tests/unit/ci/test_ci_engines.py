from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.ci.engines import ENGINES, find_engine
from build_tools.errors import HipwrightError
from build_tools.process import Runner
from tests.support.stand_in import stand_in

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("ci:nightly-20260501", "ci:latest")
FILE = Path("/out/image.tar")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("docker", "docker save --output /out/image.tar ci:nightly-20260501 ci:latest"),
        (
            "podman",
            "podman save --format docker-archive --multi-image-archive --output /out/image.tar ci:nightly-20260501 ci:latest",
        ),
        ("buildah", "buildah push ci:nightly-20260501 docker-archive:/out/image.tar:ci:nightly-20260501"),
    ],
)
def test_each_engine_saves_a_form_that_all_load(name: str, expected: str) -> None:
    assert " ".join(ENGINES[name].save(names=NAMES, file=FILE)) == expected


def test_every_engine_builds_with_the_same_words() -> None:
    for name, engine in ENGINES.items():
        command = engine.build(
            dockerfile=Path("/clone/Dockerfile"), context=Path("/clone"), arguments={"A": "1 2", "B": "rocm[devel]"}, names=NAMES
        )
        assert command == [
            name, "build", "--file", "/clone/Dockerfile", "--build-arg", "A=1 2", "--build-arg", "B=rocm[devel]",
            "--tag", "ci:nightly-20260501", "--tag", "ci:latest", "/clone",
        ]  # fmt: skip


def test_values_of_variables_are_on_no_command_line() -> None:
    command = ENGINES["docker"].run(
        "ci:latest",
        ["python", "noxw.py"],
        cwd=Path("/clone/sub"),
        shared=[Path("/clone")],
        own=[Path("/clone/.venv")],
        variables=["AWS_SECRET_ACCESS_KEY"],
        devices=["/dev/kfd"],
        groups=["video"],
    )
    assert " ".join(command) == (
        "docker run --rm --init --workdir /clone/sub --volume /clone:/clone --volume /clone/.venv --env AWS_SECRET_ACCESS_KEY "
        "--device /dev/kfd --group-add video ci:latest python noxw.py"
    )


def path_with(folder: Path, programs: Mapping[str, str]) -> dict[str, str]:
    for name, code in programs.items():
        stand_in(folder, name, code)
    return {"PATH": str(folder)}


@pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are scripts of POSIX systems")
def test_a_client_without_a_server_is_passed_over(tmp_path: Path) -> None:
    broken = "import sys; sys.exit('Cannot connect to the Docker daemon')"
    runner = Runner(environment=path_with(tmp_path / "bin", {"docker": broken, "podman": "print('5.0')"}))
    assert find_engine(None, runner=runner, env={}, cwd=tmp_path).name == "podman"
    with pytest.raises(HipwrightError) as caught:
        find_engine("docker", runner=runner, env={}, cwd=tmp_path)
    assert caught.value.code.name == "no-engine"
    assert "docker" in caught.value.message


def test_where_none_works_each_says_why(tmp_path: Path) -> None:
    runner = Runner(environment={"PATH": str(tmp_path)})
    with pytest.raises(HipwrightError) as caught:
        find_engine(None, runner=runner, env={}, cwd=tmp_path, running=True)
    assert all(name in caught.value.message for name in ENGINES)
    assert "does not run them" in caught.value.message
