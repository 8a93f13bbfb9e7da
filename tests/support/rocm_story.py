"""From a run's artifacts to an environment with ROCm's packages, by commands as a person gives them; and what is asked of it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.support.rocm_trees import archive_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.commands import Desk, Ran
    from tests.support.s3 import S3Server

__all__ = ["GROUP", "RUN", "Place", "Story", "build_with_cmake", "content", "folder_place", "s3_place", "tell"]

RUN: Final = "4711"
GROUP: Final = "gfx94X-dcgpu"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run's outputs are: the options that name it, and the environment of who uses it."""

    words: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Story:
    """What the commands made, in their order."""

    desk: Desk
    place: Place
    artifacts: Path
    packages: Path
    environment: Path
    ran: Mapping[str, Ran]

    def program(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, with nothing of the environment activated."""
        command = [str(self.environment / "bin" / name), *words]
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.desk.work)}
        return subprocess.run(command, cwd=self.desk.work, env=variables, capture_output=True, text=True, check=False)

    def said(self, name: str, *words: str) -> str:
        """Return what a program of the environment prints."""
        done = self.program(name, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()


def folder_place(artifacts: Path, folder: Path) -> Place:
    """Pack artifacts as those of a run in a folder store."""
    archive_tree(artifacts, folder / f"{RUN}-linux")
    return Place(words=("--store", str(folder)), variables={})


def s3_place(artifacts: Path, folder: Path, server: S3Server) -> Place:
    """Pack artifacts as those of a run in a bucket; ``folder`` is for a moment's files."""
    # Installers read pages and packages as anybody does.
    bucket = server.bucket(public=True)
    client = server.client()
    archive_tree(artifacts, folder, kind="xz")
    for path in sorted(folder.iterdir()):
        client.upload_file(str(path), bucket, f"{RUN}-linux/{path.name}")
    return Place(words=("--bucket", bucket, "--endpoint-url", server.endpoint), variables=server.machine)


def tell(desk: Desk, place: Place, folder: Path, *, version: str, targets: str, install: str) -> Story:
    """Fetch the artifacts for these targets, build packages of this version, upload them, install what is asked for from there."""
    desk = replace(desk, work=folder / "work", variables={**desk.variables, **place.variables})
    artifacts, packages, environment = folder / "artifacts", folder / "packages", folder / "environment"
    run, group = ("--run-id", RUN), ("--artifact-group", GROUP)
    to, at = ("--output-dir", artifacts), ("--dest-dir", packages)
    ran = {
        "fetch": desk.nox("fetch_artifacts", *run, *place.words, "--gfx", targets, *to, "--json").well(),
        "build": desk.nox("build_rocm_packages", "--artifact-dir", artifacts, *at, "--version", version, "--json").well(),
        "upload": desk.nox("upload_rocm_packages", *run, *group, *place.words, "--packages-dir", packages, "--json").well(),
        "install": desk.nox(
            "setup_venv", environment, "--packages", install, "--rocm-run-id", RUN, *group, *place.words, "--json"
        ).well(),
    }
    return Story(desk=desk, place=place, artifacts=artifacts, packages=packages, environment=environment, ran=ran)


def content(folder: Path) -> dict[str, bytes | str]:
    """Return files and links below a folder."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path) if path.is_symlink() else path.read_bytes()  # noqa: PTH115
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def build_with_cmake(story: Story, folder: Path, *, lists: str, source: str) -> str:
    """Build a project of one program ``made`` with the installed compiler and CMake packages; return what the program prints."""
    (folder / "CMakeLists.txt").write_text(lists)
    (folder / "main.cpp").write_text(source)
    root = Path(story.said("rocm-sdk", "path", "--root"))
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    packages = f"-DCMAKE_PREFIX_PATH={root}"
    compiler = f"-DCMAKE_CXX_COMPILER={root / 'bin' / 'hipcc'}"
    for words in (["-S", ".", "-B", "build", "-G", "Ninja", packages, compiler], ["--build", "build"]):
        done = subprocess.run(["cmake", *words], cwd=folder, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([folder / "build" / "made"], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
