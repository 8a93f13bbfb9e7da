"""The recipe of nunchaku: its version, its libraries on Windows, its flag, and the examples that are measured."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from build_tools.builds.hooks import BuildContext, ProjectHooks, load_hooks
from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.types import CommitId, GfxTarget, Platform, ProjectName

FOLDER: Final = Path(__file__).resolve().parents[3] / "external-builds" / "nunchaku"
SETUP: Final = """
if __name__ == "__main__":
    version = eval(fp.strip().split()[-1])
    if "dev" in version:
        version = version + date.today().strftime("%Y%m%d")
    version = version + "+torch" + torch_major_minor_version

    ROOT_DIR = 1
"""


def hooks() -> ProjectHooks:
    return load_hooks(FOLDER)


def context(platform: Platform, root: Path | None = None) -> BuildContext:
    return BuildContext(
        project="nunchaku",
        version="1.0.1+rocm7.10.0",
        rocm_version="7.10.0",
        rocm_root=root,
        targets=(GfxTarget("gfx1201"),),
        platform=platform,
        upstream=CommitId("c" * 40),
        source_date=0,
        environment=Path("/envs/e"),
    )


def test_setup_takes_the_planned_version(tmp_path: Path) -> None:
    setup = tmp_path / "setup.py"
    setup.write_text(SETUP, encoding="utf-8")
    hooks().prepare_sources(tmp_path, context(Platform.LINUX))
    changed = setup.read_text(encoding="utf-8").splitlines()
    assert [line for line in changed if line not in SETUP.splitlines()] == ["    version = os.environ['NUNCHAKU_VERSION']"]
    # Sources that find their version another way are not guessed at.
    with pytest.raises(HipwrightError, match=r"setup\.py has 0 lines"):
        hooks().prepare_sources(tmp_path, context(Platform.LINUX))


def test_the_wheel_for_windows_holds_the_hip_runtime(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("amdhip64_7.dll", "hiprtc0700.dll", "hipblas.dll"):
        (tmp_path / "bin" / name).touch()
    found = hooks().generated_files(context(Platform.WINDOWS, tmp_path))
    assert sorted(found) == ["nunchaku/amdhip64_7.dll", "nunchaku/hiprtc0700.dll"]
    assert hooks().generated_files(context(Platform.LINUX, tmp_path)) == {}
    (tmp_path / "bin" / "hiprtc0700.dll").unlink()
    with pytest.raises(HipwrightError, match=r"has no hiprtc\*\.dll"):
        hooks().generated_files(context(Platform.WINDOWS, tmp_path))


def test_what_its_maintainers_ci_asks_for_is_in_its_data() -> None:
    project = load_project(FOLDER.parent, ProjectName("nunchaku"))
    assert project.build.target_variable == "NUNCHAKU_HIP_ARCHES"
    assert [(flag.name, flag.value) for flag in project.wheel.flags_on("linux")] == [
        ("nunchaku.has_block_sparse_attention", False)
    ]
    extension = project.extension
    assert (extension.extras, extension.detect_targets) == (("dev",), "setup.detect_hip_arches")
    assert (extension.hip_tests, extension.hip_platforms) == (("tests", "-m", "hip"), ("linux",))
    # What its own function would guess is no target: an empty list is told with its reason.
    assert not project.build.environment["NUNCHAKU_DEFAULT_HIP_ARCH"].strip()
    assert extension.examples == ("examples/v1/qwen-image-edit-2509.py", "examples/flux.1-dev.py")
