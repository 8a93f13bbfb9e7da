"""PyTorch's recipe: what its data and its hooks say of a build."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from build_tools.builds.hooks import BuildContext, ProjectHooks, load_hooks
from build_tools.builds.variables import constants, merge
from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.patches.lines import find_line
from build_tools.patches.series import load_series
from build_tools.types import CommitId, GfxTarget, Platform, ProjectName

EXTERNAL_BUILDS = Path(__file__).resolve().parents[3] / "external-builds"
FOLDER = EXTERNAL_BUILDS / "pytorch"
PROJECT = load_project(EXTERNAL_BUILDS, ProjectName("pytorch"))
HOOK = "from torch import _rocm_init\n"


@pytest.fixture
def hooks() -> ProjectHooks:
    return load_hooks(FOLDER)


def context(
    platform: Platform = Platform.LINUX,
    *targets: str,
    root: Path | None = None,
    triton: str | None = None,
    overrides: dict[str, str] | None = None,
    machine: dict[str, str] | None = None,
) -> BuildContext:
    wheel = PROJECT.wheel
    return BuildContext(
        project="pytorch",
        version="2.6.0+rocm7.10.0",
        rocm_version="7.10.0a20251124",
        rocm_root=root,
        targets=tuple(map(GfxTarget, targets)),
        platform=platform,
        upstream=CommitId("1" * 40),
        source_date=0,
        environment=Path("/envs/e"),
        packages={"triton": triton} if triton else {},
        preloads=wheel.windows_preloads if platform is Platform.WINDOWS else wheel.linux_preloads,
        overrides=overrides or {},
        machine=machine or {},
    )


def tree_with(folder: Path, init: str = HOOK) -> Path:
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(init, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("ref", "line"),
    [
        ("release/2.6", "2.6"),
        ("v2.6.1", "2.6"),
        ("nightly", None),
        ("main", None),
        ("release/2.13", None),
        ("release/1.13", None),
    ],
)
def test_every_known_ref_has_its_line(ref: str, line: str | None) -> None:
    found, reason = find_line(PROJECT, ref, folder=FOLDER)
    assert found == line
    assert reason


@pytest.mark.parametrize("ref", ["release/2.7", "my-branch", "0" * 40])
def test_a_ref_that_nobody_has_looked_at_is_told_that_it_has_no_series(ref: str) -> None:
    line, reason = find_line(PROJECT, ref, folder=FOLDER)
    assert line is None
    assert reason.startswith(f"{ref} matches the rule '*', no patches: ")
    assert "invoke new-series" in reason
    assert PROJECT.lines[-1].ref == "*"


def test_every_patch_says_why_it_is_there_and_when_it_can_go() -> None:
    series = load_series(FOLDER, "2.6")
    assert len(series.patches) == 3
    for patch in series.patches:
        assert patch.entry.upstream.startswith("https://github.com/pytorch/pytorch/pull/")
        assert patch.entry.drop_when
        assert len(patch.data) < 5000


@pytest.mark.parametrize("platform", list(Platform))
def test_a_build_is_for_rocm_and_for_nothing_else(platform: Platform) -> None:
    values = constants(PROJECT, platform)
    assert (values["USE_ROCM"], values["USE_CUDA"]) == ("ON", "OFF")
    assert values["USE_KINETO"] == {Platform.LINUX: "ON", Platform.WINDOWS: "OFF"}[platform]


@pytest.mark.parametrize(
    ("platform", "targets", "triton", "setting"),
    [
        pytest.param(Platform.LINUX, ("gfx942",), None, "OFF", id="on Linux it needs triton"),
        pytest.param(Platform.LINUX, ("gfx942",), "3.6.0", "ON", id="on Linux with triton"),
        pytest.param(Platform.LINUX, ("gfx1030",), "3.6.0", "OFF", id="on Linux no target has it"),
        pytest.param(Platform.WINDOWS, ("gfx1151",), None, "ON", id="aotriton has it"),
        pytest.param(Platform.WINDOWS, ("gfx906", "gfx90a"), None, "ON", id="one is enough"),
        pytest.param(Platform.WINDOWS, ("gfx906", "gfx1030"), None, "OFF", id="an empty list would break it"),
        pytest.param(Platform.WINDOWS, (), None, "OFF", id="none"),
    ],
)
def test_the_attention_kernels_are_built_where_they_can_be(
    hooks: ProjectHooks, platform: Platform, targets: tuple[str, ...], triton: str | None, setting: str
) -> None:
    values = hooks.build_environment(context(platform, *targets, triton=triton))
    assert values["USE_FLASH_ATTENTION"] == values["USE_MEM_EFF_ATTENTION"] == setting


@pytest.mark.parametrize("asked", ["ON", "1", "true"])
def test_attention_kernels_that_are_asked_for_need_a_triton_on_linux(hooks: ProjectHooks, asked: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        hooks.build_environment(context(Platform.LINUX, "gfx942", overrides={"USE_FLASH_ATTENTION": asked}))
    assert caught.value.code.name == "option-conflict"
    assert f"USE_FLASH_ATTENTION={asked}" in caught.value.message


@pytest.mark.parametrize(("asked", "setting"), [("ON", "ON"), ("OFF", "OFF"), ("0", "OFF")])
def test_what_a_person_says_of_the_attention_kernels_counts(hooks: ProjectHooks, asked: str, setting: str) -> None:
    said = {"USE_FLASH_ATTENTION": asked}
    for platform, triton in ((Platform.LINUX, "3.6.0"), (Platform.WINDOWS, None)):
        values = hooks.build_environment(context(platform, "gfx1030", triton=triton, overrides=said))
        assert values["USE_MEM_EFF_ATTENTION"] == setting


def test_rocms_own_blas_is_taken_where_the_sdk_has_it(hooks: ProjectHooks, tmp_path: Path) -> None:
    assert "BLAS" not in hooks.build_environment(context(root=tmp_path))
    (tmp_path / "lib" / "host-math").mkdir(parents=True)
    values = hooks.build_environment(context(root=tmp_path))
    assert values["BLAS"] == "OpenBLAS"
    assert values["OpenBLAS_HOME"] == str(tmp_path / "lib" / "host-math")


def test_compiler_flags_of_data_and_hook_add_up(hooks: ProjectHooks, tmp_path: Path) -> None:
    whole = merge(constants(PROJECT, Platform.LINUX), hooks.build_environment(context(root=tmp_path)))
    assert "-Wno-error=restrict" in whole["CXXFLAGS"]
    assert f"-I{tmp_path / 'include' / 'roctracer'}" in whole["CXXFLAGS"]


def redistributables(folder: Path) -> dict[str, str]:
    """Lay out what a developer prompt and a libuv bring; return the variables that lead there."""
    for name in ("debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM", "x64/Microsoft.VC143.OpenMP.LLVM"):
        (folder / "vc" / name).mkdir(parents=True)
        (folder / "vc" / name / "libomp140.x86_64.dll").write_bytes(name.encode())
    (folder / "uv" / "bin").mkdir(parents=True)
    (folder / "uv" / "bin" / "uv.dll").write_bytes(b"uv")
    return {"VCToolsRedistDir": str(folder / "vc"), "libuv_ROOT": str(folder / "uv")}


@pytest.mark.parametrize("platform", list(Platform))
def test_the_wheel_gets_a_module_that_loads_the_very_rocm_that_it_pins(
    hooks: ProjectHooks, tmp_path: Path, platform: Platform
) -> None:
    content = hooks.generated_files(context(platform, machine=redistributables(tmp_path)))["torch/_rocm_init.py"]
    assert isinstance(content, bytes)
    (call,) = [node for node in ast.walk(ast.parse(content)) if isinstance(node, ast.Call)]
    assert ast.unparse(call.func) == "rocm_sdk.initialize_process"
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert given["check_version"] == "7.10.0a20251124"
    names = given["preload_shortnames"]
    assert len(names) == len(set(names)) == {Platform.LINUX: 22, Platform.WINDOWS: 13}[platform]
    assert "amdhip64" in names
    assert ("rccl" in names) == (platform is Platform.LINUX)


def test_a_wheel_for_linux_gets_nothing_else(hooks: ProjectHooks) -> None:
    assert list(hooks.generated_files(context(Platform.LINUX, "gfx942", triton="3.6.0"))) == ["torch/_rocm_init.py"]


@pytest.mark.parametrize("target", ["gfx1151", "gfx1030"])
def test_a_wheel_for_windows_holds_the_libraries_of_others(hooks: ProjectHooks, tmp_path: Path, target: str) -> None:
    files = hooks.generated_files(context(Platform.WINDOWS, target, machine=redistributables(tmp_path)))
    openmp = files["torch/lib/libomp140.x86_64.dll"]
    assert isinstance(openmp, Path)
    assert "debug_nonredist" not in openmp.parts
    assert files["torch/lib/uv.dll"] == tmp_path / "uv" / "bin" / "uv.dll"
    with_attention = target == "gfx1151"
    assert ("torch/lib/aotriton_v2.dll" in files) == ("torch/lib/liblzma.dll" in files) == with_attention
    if with_attention:
        # Relative: the build itself makes it.
        assert files["torch/lib/aotriton_v2.dll"] == Path("torch/lib/aotriton_v2.dll")


@pytest.mark.parametrize("lacking", ["VCToolsRedistDir", "libuv_ROOT"])
def test_a_library_that_cannot_be_found_is_told_before_the_build(hooks: ProjectHooks, tmp_path: Path, lacking: str) -> None:
    machine = {name: value for name, value in redistributables(tmp_path).items() if name != lacking}
    with pytest.raises(HipwrightError) as caught:
        hooks.generated_files(context(Platform.WINDOWS, machine=machine))
    assert caught.value.code.name == "missing-tool"
    assert lacking in caught.value.message


def test_without_gloo_no_libuv_is_needed(hooks: ProjectHooks, tmp_path: Path) -> None:
    machine = {"VCToolsRedistDir": redistributables(tmp_path)["VCToolsRedistDir"]}
    files = hooks.generated_files(context(Platform.WINDOWS, machine=machine, overrides={"USE_GLOO": "OFF"}))
    assert "torch/lib/uv.dll" not in files


def test_a_tree_that_would_never_load_it_is_refused(hooks: ProjectHooks, tmp_path: Path) -> None:
    hooks.prepare_sources(tree_with(tmp_path / "good"), context())
    with pytest.raises(HipwrightError) as caught:
        hooks.prepare_sources(tree_with(tmp_path / "bad", "import os\n"), context())
    assert caught.value.code.name == "bad-source-tree"
    assert caught.value.hint
