"""``setup_venv`` with the real pip and the real uv: what is installed is what the named sources have, whatever else is configured."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.pipeline.setup_venv import setup_venv
from build_tools.process import Runner, base_environment
from build_tools.stores.run_outputs import RunOutputs
from tests.support.commands import tree_of
from tests.support.environments import PLATFORM, marks_in, runner_with
from tests.support.packages import flat_page, make_index, make_wheel, serve
from tests.support.stub_sdk import StubSdk
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.workplace import Workplace

OWNED = ("rocm", "rocm-sdk-core", "rocm-sdk-libraries", "rocm-sdk-devel", "rocm-sdk-device-gfx942", "torch", "triton")


def desk(folder: Path, *, installer: str = "uv", machine: Mapping[str, str] | None = None, **settings: Any) -> Workplace:  # noqa: ANN401 - as the options are
    """Return a workplace with one installer, whose base index has nothing unless the machine says otherwise."""
    runner = runner_with(installer, folder)
    known = {"HOME": runner.environment["HOME"], "PATH": runner.environment["PATH"], "PIP_NO_INDEX": "1", **(machine or {})}
    if machine and "PIP_NO_INDEX" not in machine:
        del known["PIP_NO_INDEX"]
    place = workplace(folder, **{"paths": (folder / "env",), **settings})
    return replace(place, machine=known, runner=Runner(environment=base_environment(known)))


def versions(document: dict[str, Any]) -> dict[str, str]:
    return {package["name"]: package["version"] for package in document["environment"]["packages"] if package["name"] != "pip"}


def refused(place: Workplace) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        setup_venv(place)
    return caught.value


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A source with an SDK and a torch that goes with it."""
    folder = StubSdk().write(tmp_path / "own")
    requires = ["rocm[libraries]==7.10.0", "plain-dep>=1"]
    make_wheel(
        folder, "torch", "2.9.0+rocm7.10.0", requires=requires, extras={"device-gfx942": ["rocm[device-gfx942]"]}, mark="own"
    )
    return folder


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with a higher version of every owned name, the right version with other bytes, and what nobody owns."""
    folder = tmp_path / "hostile"
    for name in OWNED:
        make_wheel(folder, name, "99.0", extras={"libraries": [], "devel": [], "device-gfx942": []}, mark="hostile")
    make_wheel(folder, "rocm-sdk-core", "7.10.0", mark="hostile")
    make_wheel(folder, "torch", "2.9.0+rocm7.10.0", mark="hostile")
    make_wheel(folder, "plain-dep", "1.5", requires=["torch", "rocm-sdk-core"], mark="plain")
    return folder


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_no_place_that_can_be_configured_gives_an_owned_package(own: Path, hostile: Path, tmp_path: Path, installer: str) -> None:
    index = make_index(tmp_path / "index", sorted(hostile.glob("*.whl"))).as_uri()
    (tmp_path / "constraints.txt").write_text("torch>=99\nrocm>=99\nrocm-sdk-core==99.0\nplain-dep==1.5\n")
    pip_settings = (
        f"[global]\nindex-url = {index}\nextra-index-url = {index}\nfind-links = {hostile}\npre = true\nupgrade = true\n"
    )
    uv_settings = f'index-url = "{index}"\nextra-index-url = ["{index}"]\nfind-links = ["{hostile}"]\nprerelease = "allow"\n'
    configured = {
        "home/.config/pip/pip.conf": pip_settings,
        "home/.pip/pip.conf": pip_settings,
        "pip.conf": pip_settings,
        "home/.config/uv/uv.toml": uv_settings,
        "uv.toml": uv_settings,
        "pyproject.toml": "[tool.uv]\n" + uv_settings,
    }
    for path, text in configured.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    machine = {
        **{f"PIP_{name}": index for name in ("INDEX_URL", "EXTRA_INDEX_URL")},
        "PIP_FIND_LINKS": str(hostile),
        "PIP_CONSTRAINT": str(tmp_path / "constraints.txt"),
        "PIP_PRE": "1",
        "PIP_UPGRADE": "1",
        **{f"UV_{name}": index for name in ("INDEX", "INDEX_URL", "DEFAULT_INDEX", "EXTRA_INDEX_URL")},
        "UV_FIND_LINKS": str(hostile),
        "UV_CONFIG_FILE": str(tmp_path / "uv.toml"),
        "UV_CONSTRAINT": str(tmp_path / "constraints.txt"),
    }
    place = desk(
        tmp_path,
        installer=installer,
        machine=machine,
        find_links=(str(own),),
        packages=("rocm[libraries,devel]", "torch"),
        gfx=("gfx942",),
    )
    document = setup_venv(place)
    meant = dict.fromkeys(OWNED[:5], "7.10.0")
    assert versions(document) == {**meant, "torch": "2.9.0+rocm7.10.0", "plain-dep": "1.5"}
    folder = document["environment"]["folder"]
    modules = [name.replace("-", "_") for name in OWNED[:6]]
    assert marks_in(folder, *modules, "plain_dep") == ["own"] * 6 + ["plain"]
    for package in document["environment"]["packages"]:
        if package["name"] in OWNED:
            (wheel,) = own.glob(f"{package['name'].replace('-', '_')}-*.whl")
            assert (package["source"], package["sha256"]) == (wheel.as_uri(), digest.of_file(wheel))
    assert document["environment"]["sdk"]["version"] == "7.10.0"


def test_everything_that_is_missing_is_named_before_anything_is_made(tmp_path: Path) -> None:
    stub = StubSdk(leave_out=("rocm-sdk-core", "rocm-sdk-devel", "rocm-sdk-device-gfx942"))
    place = desk(
        tmp_path, find_links=(str(stub.write(tmp_path / "own")),), packages=("rocm[libraries,devel]==7.10.0",), gfx=("gfx942",)
    )
    error = refused(place)
    assert error.code.name == "requirement-missing"
    for name in stub.leave_out:
        assert f"{name} is not at {tmp_path / 'own'}" in error.message
    assert "rocm-sdk-libraries is" not in error.message
    assert "--timeout" in (error.hint or "")
    assert not (tmp_path / "env").exists()


def test_targets_without_device_packages_are_named(own: Path, tmp_path: Path) -> None:
    error = refused(desk(tmp_path, find_links=(str(own),), packages=("rocm[libraries]",), gfx=("gfx942", "gfx950", "gfx1100")))
    assert error.code.name == "requirement-missing"
    assert "rocm 7.10.0 has no device package for gfx1100, gfx950; it has: gfx1201, gfx942" in error.message


def test_packages_of_a_family(tmp_path: Path) -> None:
    own = StubSdk(families=("gfx94X-dcgpu", "gfx120X-all")).write(tmp_path / "own")
    place = desk(tmp_path, find_links=(str(own),), packages=("rocm[libraries]",), gpu_family="gfx94x")
    assert set(versions(setup_venv(place))) == {"rocm", "rocm-sdk-core", "rocm-sdk-libraries-gfx94x-dcgpu"}
    place = desk(tmp_path, find_links=(str(own),), packages=("rocm[libraries,devel]",), gfx=("gfx1201",))
    document = setup_venv(place)
    one = {"rocm", "rocm-sdk-core", "rocm-sdk-libraries-gfx120x-all", "rocm-sdk-devel-gfx120x-all"}
    assert set(versions(document)) == one
    assert document["environment"]["sdk"]["root"].endswith("_rocm_sdk_devel")
    place = desk(tmp_path, find_links=(str(own),), packages=("rocm[libraries,devel]",))
    document = setup_venv(place)
    assert set(versions(document)) == {*one, "rocm-sdk-libraries-gfx94x-dcgpu", "rocm-sdk-devel-gfx94x-dcgpu"}
    assert document["environment"]["sdk"]["version"] == "7.10.0"
    assert any("ROCM_SDK_TARGET_FAMILY=gfx120x-all" in line for line in memory_of(place).said)
    error = refused(desk(tmp_path, find_links=(str(own),), packages=("rocm[libraries]",), gpu_family="gfx110X-all"))
    assert "rocm 7.10.0 has no libraries for gfx110X-all; it has: gfx120x-all, gfx94x-dcgpu" in error.message


def test_the_same_again_changes_nothing_and_another_request_makes_it_anew(own: Path, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"find_links": (str(own),), "packages": ("rocm[libraries,devel]",)}
    first = setup_venv(desk(tmp_path, **asked))
    before = tree_of(tmp_path / "env")
    again = setup_venv(desk(tmp_path, **asked))
    assert tree_of(tmp_path / "env") == before
    assert again["environment"] == {**first["environment"], "made": False}
    # A newer version is another request.
    StubSdk(version="7.11.0", hip=(7, 11)).write(own)
    newer = setup_venv(desk(tmp_path, **asked))
    assert newer["environment"]["made"]
    assert versions(newer)["rocm"] == "7.11.0"
    assert newer["environment"]["sdk"]["version"] == "7.11.0"
    older = setup_venv(desk(tmp_path, **asked, rocm_version="7.10.0"))
    assert set(versions(older).values()) == {"7.10.0"}


def test_an_incomplete_sdk_fails_each_time(tmp_path: Path) -> None:
    own = StubSdk(without=("include/hip/hip_runtime.h",)).write(tmp_path / "own")
    for _ in range(2):
        error = refused(desk(tmp_path, find_links=(str(own),), packages=("rocm[devel]",)))
        assert error.code.name == "sdk-incomplete"
        assert "include/hip/hip_runtime.h" in error.message


def test_torch_and_rocm_may_lie_at_different_places(own: Path, hostile: Path, tmp_path: Path) -> None:
    rocm, torch = tmp_path / "rocm", tmp_path / "torch"
    for folder in (rocm, torch):
        folder.mkdir()
    for wheel in own.glob("*.whl"):
        (torch if wheel.name.startswith("torch") else rocm).joinpath(wheel.name).write_bytes(wheel.read_bytes())
    # The place of torch offers a newer ROCm, which does not count.
    make_wheel(torch, "rocm", "99.0", mark="hostile")
    make_wheel(torch, "rocm-sdk-core", "99.0", mark="hostile")
    place = desk(
        tmp_path,
        machine={"PIP_FIND_LINKS": str(hostile), "PIP_NO_INDEX": "1"},
        find_links=(str(torch),),
        rocm_index_url=make_index(tmp_path / "simple", sorted(rocm.glob("*.whl"))).as_uri(),
        packages=("torch",),
    )
    document = setup_venv(place)
    assert versions(document)["rocm"] == "7.10.0"
    sources = {package["name"]: package["source"] for package in document["environment"]["packages"]}
    assert sources["rocm"].startswith((tmp_path / "simple").as_uri())
    assert sources["torch"].startswith(torch.as_uri())
    said = "\n".join(memory_of(place).said)
    assert "chosen: torch 2.9.0+rocm7.10.0 with ROCm 7.10.0" in said


def test_a_package_that_nobody_owns_comes_from_the_source_where_it_has_it(own: Path, hostile: Path, tmp_path: Path) -> None:
    make_wheel(own, "my-extension", "1.0", requires=["torch==2.9.0+rocm7.10.0"], mark="own")
    make_wheel(hostile, "my-extension", "9.0", mark="hostile")
    make_wheel(hostile, "plain-tool", "3.0", mark="plain")
    place = desk(
        tmp_path,
        machine={"PIP_FIND_LINKS": str(hostile), "PIP_NO_INDEX": "1"},
        find_links=(str(own),),
        packages=("my-extension", "plain-tool"),
    )
    found = versions(setup_venv(place))
    assert (found["my-extension"], found["torch"], found["plain-tool"]) == ("1.0", "2.9.0+rocm7.10.0", "3.0")


def test_the_outputs_of_a_run(own: Path, tmp_path: Path) -> None:
    run, store = RunOutputs(run_id="12345", platform=PLATFORM), tmp_path / "store"
    for folder, names in ((run.python("gfx94X-dcgpu"), "rocm*"), (run.pytorch("gfx94X-dcgpu"), "torch*")):
        dist = store / folder.dist_prefix
        dist.mkdir(parents=True)
        for wheel in own.glob(names):
            (dist / wheel.name).write_bytes(wheel.read_bytes())
        flat_page(store / folder.prefix, sorted(dist.glob("*.whl")))
    make_wheel(tmp_path / "base", "plain-dep", "1.0")
    asked: dict[str, Any] = {"from_run_id": "12345", "store": str(store), "packages": ("torch", "rocm[devel]")}
    machine = {"PIP_FIND_LINKS": str(tmp_path / "base"), "PIP_NO_INDEX": "1"}
    document = setup_venv(desk(tmp_path, machine=machine, artifact_group="gfx94X-dcgpu", **asked))
    assert versions(document)["torch"] == "2.9.0+rocm7.10.0"
    page = (store / run.python("gfx94X-dcgpu").find_links_key).as_uri()
    assert page in document["environment"]["sources"]
    error = refused(desk(tmp_path, machine=machine, **asked))
    assert error.code.name == "run-not-found"
    assert "12345" in error.message
    assert "--artifact-group" in (error.hint or "")


def test_a_folder_below_an_index(own: Path, tmp_path: Path) -> None:
    make_index(tmp_path / "v2" / "gfx94X-dcgpu", sorted(own.glob("*.whl")))
    with serve(tmp_path) as server:
        place = desk(tmp_path, index_url=f"{server.url}/v2", index_subdir="gfx94X-dcgpu", packages=("rocm[libraries]",))
        assert set(versions(setup_venv(place))) == {"rocm", "rocm-sdk-core", "rocm-sdk-libraries"}
        error = refused(desk(tmp_path, index_url=f"{server.url}/v2", index_subdir="../v2", packages=("rocm",)))
        assert error.code.name == "bad-option-value"
    assert "--index-url" in (refused(desk(tmp_path, index_subdir="x", packages=("rocm",))).hint or "")


def test_a_page_of_the_wrong_kind_names_the_right_option(own: Path, tmp_path: Path) -> None:
    flat_page(own, sorted(own.glob("*.whl")))
    with serve(tmp_path) as server:
        error = refused(desk(tmp_path, index_url=f"{server.url}/own/", packages=("rocm",)))
    assert error.code.name == "bad-option-value"
    assert error.hint == f"say --find-links {server.url}/own/"


def test_a_version_that_is_still_appearing_is_waited_for(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("build_tools.environments.wait._FIRST_PAUSE", 0.01)
    index = tmp_path / "simple"
    wheels = sorted(own.glob("*.whl"))
    make_index(index, [wheel for wheel in wheels if not wheel.name.startswith("rocm_sdk_devel")])
    (late,) = own.glob("rocm_sdk_devel*")
    (index / "rocm-sdk-devel").mkdir()
    (index / "rocm-sdk-devel" / late.name).write_bytes(late.read_bytes())
    devel = f'<a href="{late.name}#sha256={digest.of_file(late)}">{late.name}</a>'.encode()
    with serve(tmp_path) as server:
        server.answers["/simple/rocm-sdk-devel/"] = [
            (404, "text/plain", b""),
            (404, "text/plain", b""),
            (200, "text/html", devel),
        ]
        place = desk(tmp_path, index_url=f"{server.url}/simple/", packages=("rocm[devel]==7.10.0",), timeout=60)
        assert versions(setup_venv(place))["rocm-sdk-devel"] == "7.10.0"
    assert sum(target == "/simple/rocm-sdk-devel/" for target in server.seen) == 3
    assert any("waiting" in line and "rocm-sdk-devel" in line for line in memory_of(place).said)


@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize("disabled", [False, True])
def test_no_cache_of_an_installer_is_touched_where_that_is_asked_for(
    own: Path, tmp_path: Path, installer: str, *, disabled: bool
) -> None:
    index = make_index(tmp_path / "simple", [make_wheel(tmp_path / "w", "plain-dep", "1.5")])
    machine = {"PIP_INDEX_URL": index.as_uri()}
    place = desk(
        tmp_path, installer=installer, machine=machine, find_links=(str(own),), packages=("torch",), disable_cache=disabled
    )
    assert versions(setup_venv(place))["plain-dep"] == "1.5"
    (log,) = (place.work_dir / "logs" / "setup_venv").iterdir()
    option = {"pip": "--index-url", "uv": "--default-index"}[installer]
    from_index = [line for line in log.read_text(encoding="utf-8").splitlines() if f"{option} {index.as_uri()}" in line]
    assert from_index
    assert all(("--no-cache" in line) is disabled for line in from_index)
    kept = [path for path in (tmp_path / "home").rglob("plain_dep*") if path.is_file() or path.is_dir()]
    # pip keeps nothing of what lies on the disk.
    assert bool(kept) is (installer == "uv" and not disabled), kept


def test_a_rocm_of_the_machine_is_told_and_not_used(own: Path, tmp_path: Path) -> None:
    stray = StubSdk(version="6.2.0").write_tree(tmp_path / "opt" / "rocm")
    place = desk(
        tmp_path,
        machine={"ROCM_PATH": str(stray), "HIP_PATH": str(stray), "PIP_NO_INDEX": "1"},
        find_links=(str(own),),
        packages=("rocm[devel]",),
    )
    root = setup_venv(place)["environment"]["sdk"]["root"]
    assert Path(root).is_relative_to(tmp_path / "env")
    told = [line for line in memory_of(place).said if "it is not used" in line and str(stray) in line]
    assert len(told) == 1
    assert "6.2.0" in told[0]


def test_pip_in_the_environment_is_its_own(own: Path, tmp_path: Path) -> None:
    setup_venv(desk(tmp_path, find_links=(str(own),), packages=("rocm",)))
    done = subprocess.run([tmp_path / "env" / "bin" / "pip", "--version"], capture_output=True, text=True, check=True)
    assert str(tmp_path / "env") in done.stdout


def test_later_steps_of_a_job_find_it(own: Path, tmp_path: Path) -> None:
    path, environment = tmp_path / "path", tmp_path / "environment"
    path.write_text("/somewhere")
    machine = {"GITHUB_PATH": str(path), "GITHUB_ENV": str(environment), "PIP_NO_INDEX": "1"}
    asked: dict[str, Any] = {
        "find_links": (str(own),),
        "packages": ("rocm",),
        "activate_in_future_github_actions_steps": True,
    }
    setup_venv(desk(tmp_path, machine=machine, **asked))
    assert path.read_text() == f"/somewhere\n{tmp_path / 'env' / 'bin'}\n"
    assert str(tmp_path / "env") in environment.read_text().splitlines()
    assert refused(desk(tmp_path / "other", **asked)).code.name == "bad-option-value"
    assert not (tmp_path / "other" / "env").exists()


def test_what_is_asked_for_wrongly_is_told(own: Path, tmp_path: Path) -> None:
    links: dict[str, Any] = {"find_links": (str(own),)}
    for settings in (
        {**links, "packages": ()},
        {**links, "packages": ("rocm",), "paths": ()},
        {**links, "packages": ("rocm",), "paths": (tmp_path / "a", tmp_path / "b")},
        {"packages": ("rocm",), "find_links": ("",)},
        {**links, "packages": ("rocm",), "gfx": ("gfx9420",)},
        {**links, "packages": ("rocm@file:///somewhere/rocm.whl",)},
    ):
        assert refused(desk(tmp_path, **settings)).code.name == "bad-option-value"
    folder = StubSdk().write_tree(tmp_path / "rocm")
    error = refused(desk(tmp_path, **links, packages=("rocm[devel]",), rocm_path=str(folder)))
    assert error.code.name == "option-conflict"
    assert not (tmp_path / "env").exists()
    assert refused(desk(tmp_path, packages=("rocm",), release_type="ci")).code.name == "no-rocm-source"
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "mine.txt").write_text("mine")
    assert refused(desk(tmp_path, **links, packages=("rocm",))).code.name == "foreign-folder"
    assert [path.name for path in (tmp_path / "env").iterdir()] == ["mine.txt"]


def test_a_folder_with_a_rocm_stands_for_its_packages(hostile: Path, tmp_path: Path) -> None:
    folder = StubSdk(version="6.4.1", hip=(6, 4)).write_tree(tmp_path / "rocm")
    make_wheel(hostile, "plain-tool", "3.0")
    machine = {"PIP_FIND_LINKS": str(hostile), "PIP_NO_INDEX": "1", "ROCM_PATH": str(folder)}
    place = desk(tmp_path, machine=machine, packages=("plain-tool",), rocm_path="env")
    document = setup_venv(place)
    assert versions(document) == {"plain-tool": "3.0"}
    assert (document["environment"]["rocm_folder"], document["environment"]["sdk"]["version"]) == (str(folder), "6.4.1")
    assert not [line for line in memory_of(place).said if "not used" in line and str(folder) in line]
    (folder / "bin" / "hipcc").unlink()
    assert refused(place).code.name == "sdk-incomplete"
