"""``doctor`` on sound and mixed environments, and ``test_rocm`` on packages that pass, fail, or test nothing."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.console.events import Table
from build_tools.errors import HipwrightError
from build_tools.pipeline import test_rocm as test_rocm_stage
from build_tools.pipeline.doctor import doctor
from build_tools.pipeline.rocm_verdict import rocm_verdict
from build_tools.pipeline.setup_venv import setup_venv
from build_tools.pipeline.test_rocm import test_rocm as run_test_rocm
from build_tools.pipeline.verdict_keeping import keep_in_run
from build_tools.process import Runner, base_environment
from build_tools.publish.verdicts import read_verdicts
from build_tools.receipts.record import read_record
from build_tools.receipts.rocm_test import RocmTestReceipt
from build_tools.receipts.values import EnvironmentRecord
from build_tools.receipts.verdict import Verdict
from build_tools.rocm.reach import Reach
from build_tools.testing.choosing import VisibleDevice
from build_tools.testing.devices import GpuDevice
from build_tools.types import Platform, Sha256
from tests.support.commands import tree_of
from tests.support.environments import runner_with
from tests.support.packages import flat_page, make_wheel, serve
from tests.support.stub_sdk import StubSdk
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.workplace import Workplace


def desk(folder: Path, machine: Mapping[str, str] | None = None, **settings: Any) -> Workplace:  # noqa: ANN401 - as the options are
    environment = runner_with("uv", folder).environment
    known = {"HOME": environment["HOME"], "PATH": environment["PATH"], "PIP_NO_INDEX": "1", **(machine or {})}
    return replace(workplace(folder, **settings), machine=known, runner=Runner(environment=base_environment(known)))


def made(tmp_path: Path, stub: StubSdk) -> Path:
    """Return the ``site-packages`` of an environment with a stub in it."""
    links = (str(stub.write(tmp_path / "own")),)
    setup_venv(desk(tmp_path, paths=(tmp_path / "env",), find_links=links, packages=("rocm[libraries,devel]",)))
    return next((tmp_path / "env").glob("lib/python*/site-packages"))


def put_in(packages: Path, name: str, version: str, *requires: str) -> None:
    """Install a package by hand: its metadata alone."""
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir()
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
    (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")


def judged(tmp_path: Path, machine: Mapping[str, str] | None = None, **settings: Any) -> HipwrightError:  # noqa: ANN401 - as the options are
    with pytest.raises(HipwrightError) as caught:
        doctor(desk(tmp_path, machine, **{"paths": (tmp_path / "env",), **settings}))
    assert caught.value.document is not None
    return caught.value


def test_a_sound_environment_is_left_as_it_is(tmp_path: Path) -> None:
    packages = made(tmp_path, StubSdk())
    put_in(packages, "torch", "2.9.0+rocm7.10.0", "rocm[libraries]==7.10.0")
    before = tree_of(tmp_path / "env")
    place = desk(tmp_path, paths=(tmp_path / "env",))
    document = doctor(place)
    assert tree_of(tmp_path / "env") == before
    assert document["findings"] == []
    by_name = {package["name"]: package["rocm"] for package in document["environment"]["packages"]}
    assert set(by_name) == {"rocm", "rocm-sdk-core", "rocm-sdk-devel", "rocm-sdk-libraries", "torch"}
    assert set(by_name.values()) == {"7.10.0"}
    assert "nothing is wrong" in memory_of(place).said


def test_a_mixed_stack_is_told_with_every_package(tmp_path: Path) -> None:
    packages = made(tmp_path, StubSdk())
    put_in(packages, "torchaudio", "2.12.0+rocm7.15.0")
    error = judged(tmp_path)
    assert error.code.name == "mixed-stack"
    assert "2 ROCm versions" in error.message
    assert "ROCm 7.15.0: torchaudio 2.12.0+rocm7.15.0" in error.message
    assert "rocm-sdk-core 7.10.0" in error.message


@pytest.mark.parametrize(("version", "code"), [("2.9.0+cu128", "mixed-stack"), ("2.9.0", None)])
def test_a_torch_for_something_else(tmp_path: Path, version: str, code: str | None) -> None:
    put_in(made(tmp_path, StubSdk()), "torch", version)
    if code is not None:
        assert judged(tmp_path).code.name == code
        return
    (finding,) = doctor(desk(tmp_path, paths=(tmp_path / "env",)))["findings"]
    assert finding["severity"] == "warning"
    assert "torch 2.9.0 names no ROCm" in finding["message"]


def test_packages_of_one_version_and_two_builds(tmp_path: Path) -> None:
    packages = made(tmp_path, StubSdk())
    for module, set_id in (("_rocm_sdk_core", "a" * 64), ("_rocm_sdk_libraries", "b" * 64)):
        (packages / module).mkdir()
        mark = {"schema": 1, "set_id": set_id, "version": "7.10.0", "distribution": module.strip("_").replace("_", "-")}
        (packages / module / "_set.json").write_text(json.dumps(mark))
    error = judged(tmp_path)
    assert error.code.name == "mixed-stack"
    assert "of 2 builds" in error.message
    assert "rocm-sdk-libraries" in error.message


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    packages = made(tmp_path, StubSdk(hip=(7, 9)))
    shutil.rmtree(next(packages.glob("rocm_sdk_core-*.dist-info")))
    (packages / "_rocm_sdk_devel" / "bin" / "hipcc").unlink()
    error = judged(tmp_path)
    assert error.code.name == "sdk-incomplete"
    assert "the compiler hipcc" in error.message
    assert "2 more findings" in error.message
    assert error.document is not None
    findings: Any = error.document["findings"]
    assert {(one["code"], one["severity"]) for one in findings} == {
        ("sdk-incomplete", "error"),
        ("install-failed", "error"),
        ("sdk-incomplete", "warning"),
    }
    assert any("rocm requires rocm-sdk-core==7.10.0, and it is not installed" in one["message"] for one in findings)
    assert any(
        "files of rocm-sdk-devel are gone or of another size: _rocm_sdk_devel/bin/hipcc" in one["message"] for one in findings
    )


@pytest.mark.parametrize("own", [True, False])
def test_the_way_out_is_a_command_that_works(tmp_path: Path, *, own: bool) -> None:
    packages = made(tmp_path, StubSdk())
    make_wheel(tmp_path / "own", "torchaudio", "2.9.0+rocm7.10.0")
    put_in(packages, "torchaudio", "2.9.0+rocm7.15.0")
    if not own:
        shutil.rmtree(tmp_path / "env" / ".hipwright")
    error = judged(tmp_path)
    words = shlex.split((error.hint or "").partition(": ")[2])
    assert words[:4] == ["nox", "-s", "setup_venv", "--"]
    folder = Path(words[4])
    assert ("--clean" in words) is own
    assert (folder == tmp_path / "env") is own
    asked = tuple(words[words.index("--packages") + 1].split())
    assert asked == ("rocm[devel,libraries]==7.10.0", "torchaudio")
    setup_venv(desk(tmp_path, paths=(folder,), find_links=(str(tmp_path / "own"),), packages=asked, clean=own))
    assert doctor(desk(tmp_path, paths=(folder,)))["findings"] == []


def test_a_file_that_is_gone_is_found(tmp_path: Path) -> None:
    (made(tmp_path, StubSdk()) / "rocm_sdk_libraries.py").unlink()
    error = judged(tmp_path)
    assert error.code.name == "install-failed"
    assert "files of rocm-sdk-libraries are gone or of another size: rocm_sdk_libraries.py" in error.message


def test_a_file_that_two_packages_own_is_told(tmp_path: Path) -> None:
    packages = made(tmp_path, StubSdk())
    shared = packages / "rocm_sdk_libraries.py"
    for name in ("overlay", "beside"):
        put_in(packages, name, "1.0")
        rows = [f"{name}.py,sha256=x,9", *([f"{shared.name},sha256=x,{shared.stat().st_size}"] if name == "overlay" else [])]
        (packages / f"{name}-1.0.dist-info/RECORD").write_text("\n".join(rows))
    (finding,) = doctor(desk(tmp_path, paths=(tmp_path / "env",)))["findings"]
    assert (finding["code"], finding["severity"]) == ("mixed-stack", "warning")
    told = "rocm-sdk-libraries and overlay own the same files, which go with either of them: rocm_sdk_libraries.py"
    assert finding["message"] == told


def test_an_environment_whose_making_was_killed_is_told_with_where_the_one_before_is(tmp_path: Path) -> None:
    made(tmp_path, StubSdk())
    folder, aside = tmp_path / "env", tmp_path / ".env.hipwright-before"

    def told() -> HipwrightError:
        with pytest.raises(HipwrightError) as caught:
            doctor(desk(tmp_path, paths=(folder,)))
        assert (caught.value.code.name, "nox -s setup_venv" in (caught.value.hint or "")) == ("install-failed", True)
        return caught.value

    (folder / "environment.json").rename(tmp_path / "kept")
    assert "was cut short" in told().message
    (tmp_path / "kept").rename(folder / "environment.json")
    folder.rename(aside)
    assert f"is kept in {aside}" in told().message
    setup_venv(desk(tmp_path, paths=(folder,), find_links=(str(tmp_path / "own"),), packages=("rocm[libraries,devel]",)))
    assert not aside.exists()
    doctor(desk(tmp_path, paths=(folder,)))


def test_without_an_environment_it_is_said_what_was_looked_at(tmp_path: Path) -> None:
    place = desk(tmp_path)
    doctor(place)
    assert any("this machine alone; nox -s doctor -- DIR" in line for line in memory_of(place).said)


def test_the_machine_s_own_rocm_and_a_named_folder(tmp_path: Path) -> None:
    folder = StubSdk(version="6.4.1", hip=(6, 4)).write_tree(tmp_path / "rocm")
    place = desk(tmp_path, {"ROCM_PATH": str(folder)})
    # What the machine's environment names stands for the option, which comes first.
    other = str(StubSdk(version="6.3.0", hip=(6, 3)).write_tree(tmp_path / "other"))
    for document, version in (
        (doctor(place), "6.4.1"),
        (doctor(desk(tmp_path, {"HIP_PATH": str(folder), "ROCM_PATH": str(tmp_path / "gone")})), "6.4.1"),
        (doctor(desk(tmp_path, {"ROCM_PATH": str(folder)}, rocm_path="env")), "6.4.1"),
        (doctor(desk(tmp_path, {"ROCM_PATH": str(folder)}, rocm_path=other)), "6.3.0"),
    ):
        assert document["rocm_folder"]["version"] == version
        named = document["rocm_folder"]["folder"]
        assert not [stray for stray in document["machine"]["rocm"] if stray["folder"] == named]
    assert "rocm_folder" not in doctor(desk(tmp_path, {"ROCM_PATH": str(tmp_path / "gone")}))
    (folder / "bin" / "hipcc").unlink()
    assert judged(tmp_path, {"ROCM_PATH": str(folder)}, paths=()).code.name == "sdk-incomplete"
    assert judged(tmp_path, paths=(), rocm_path=str(folder)).code.name == "sdk-incomplete"


def test_half_a_rocm_in_the_usual_place_is_found_on_a_machine_that_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = StubSdk(without=("include/hip/hip_runtime.h",)).write_tree(tmp_path / "opt-rocm")
    reach = Reach(platform=Platform.LINUX, folder=half, told_by="the usual place")
    monkeypatch.setattr("build_tools.pipeline.doctor.find_reach", lambda *_, **__: reach)
    error = judged(tmp_path, paths=(), role="build")
    assert error.code.name == "sdk-incomplete"
    assert f"{half} lacks the HIP header" in error.message
    assert "--rocm-path DIR" in (error.hint or "")
    # Programs that only run need no header.
    assert judged(tmp_path, paths=(), role="test").code.name == "machine-unfit"


def test_what_is_no_environment_is_told(tmp_path: Path) -> None:
    for paths in ((tmp_path / "gone",), (tmp_path, tmp_path)):
        with pytest.raises(HipwrightError) as caught:
            doctor(desk(tmp_path, paths=paths))
        assert caught.value.code.name == "bad-option-value"


def report_of(tmp_path: Path, stub: StubSdk, **settings: Any) -> tuple[Workplace, dict[str, Any]]:  # noqa: ANN401 - as the options are
    place = desk(tmp_path, rocm_find_links=(str(stub.write(tmp_path / "own")),), **settings)
    return place, run_test_rocm(place)


def test_packages_that_pass_leave_a_receipt_bound_to_their_bytes(tmp_path: Path) -> None:
    place, document = report_of(tmp_path, StubSdk(), gfx=("gfx942",))
    (told,) = document["tests"]
    receipt = read_record(Path(told["receipt"]), RocmTestReceipt)
    names = [f"rocm{name}" for name in ("", "-sdk-core", "-sdk-devel", "-sdk-device-gfx942", "-sdk-libraries")]
    assert [file.distribution for file in receipt.files] == names
    assert (receipt.status, receipt.version) == ("passed", "7.10.0")
    assert receipt.suites["core"].passed == 3
    (table,) = [event for event in memory_of(place).events if isinstance(event, Table) and "rocm-sdk test" in event.title]
    assert [row[0] for row in table.rows] == ["base", "core"]


def test_packages_that_are_still_appearing_are_looked_for_as_often_as_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Left to itself it would look a second time when the wait is over.
    monkeypatch.setattr("build_tools.environments.wait._FIRST_PAUSE", 3600)
    monkeypatch.setattr("build_tools.environments.wait._LONGEST_PAUSE", 3600)
    own = StubSdk().write(tmp_path / "own")
    whole = flat_page(own, sorted(own.glob("*.whl"))).read_bytes()
    meta = flat_page(own, sorted(own.glob("rocm-7*.whl"))).read_bytes()
    with serve(tmp_path) as server:
        appearing = [*[(404, "text/plain", b"")] * 2, *[(200, "text/html", meta)] * 6]
        server.answers["/own/"] = [*appearing, (200, "text/html", whole)]
        document = run_test_rocm(desk(tmp_path, rocm_find_links=(f"{server.url}/own/",), timeout=20, wait_between=0))
    assert [told["status"] for told in document["tests"]] == ["passed"]


def test_a_verdict_speaks_of_the_bytes_that_were_tested(tmp_path: Path) -> None:
    _, document = report_of(tmp_path, StubSdk(), gfx=("gfx942",))
    (told,) = document["tests"]
    receipt = read_record(Path(told["receipt"]), RocmTestReceipt)
    verdict = read_record(Path(told["verdict"]), Verdict)
    assert {(wheel.filename, wheel.sha256) for wheel in verdict.wheels} == {
        (file.filename, file.sha256) for file in receipt.files
    }
    assert (verdict.project, verdict.suite, verdict.outcome, verdict.target) == ("rocm", "rocm-sdk", "passed", "cpu-only")
    assert (verdict.counts.passed, verdict.environment) == (6, receipt.environment.digest)
    assert verdict.report_sha256 == digest.of_file(Path(told["receipt"]).with_name("report.txt"))


def test_a_verdict_lies_beside_the_packages_of_the_run_where_it_can(tmp_path: Path) -> None:
    _, document = report_of(tmp_path, StubSdk())
    verdict = read_record(Path(document["tests"][0]["verdict"]), Verdict)
    place = desk(tmp_path, store=str(tmp_path / "store"), artifact_group="gfx94X-dcgpu")
    assert keep_in_run(verdict, "77", place)
    outputs = place.outputs("77", writing=False)
    beside = outputs.run.python("gfx94X-dcgpu")
    assert read_verdicts(outputs.store, beside, [verdict.wheels[0].sha256]) == (verdict,)
    (tmp_path / "file").touch()
    nowhere = desk(tmp_path, store=str(tmp_path / "file"))
    assert not keep_in_run(verdict, "77", nowhere)
    assert any("could not be put beside the packages of the run 77" in line for line in memory_of(nowhere).said)


def gpu(number: int) -> VisibleDevice:
    device = GpuDevice(vendor="amd", index=number, target="gfx942", name=f"card {number}")
    return VisibleDevice(device=device, variables={"HIP_VISIBLE_DEVICES": str(number)})


def test_each_chosen_gpu_is_alone_in_sight_and_has_a_verdict_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_rocm_stage, "devices_to_test_on", lambda *_: (gpu(0), gpu(1)))
    sights: list[str | None] = []

    def capture(self: Runner, argv: Any, **given: Any) -> Any:  # noqa: ANN401 - as the runner's
        if given.get("what") == "rocm-sdk test":
            sights.append(given["env"].get("HIP_VISIBLE_DEVICES"))
        return plain_capture(self, argv, **given)

    plain_capture = Runner.capture
    monkeypatch.setattr(Runner, "capture", capture)
    ran_on_one = StubSdk(test={**(StubSdk().test or {}), "gpus": ["gfx942"], "ran_on": ["gfx942"]})
    place, document = report_of(tmp_path, ran_on_one, gfx=("gfx942",))
    assert sights == ["0", "1"]
    verdicts = [read_record(Path(told["verdict"]), Verdict) for told in document["tests"]]
    assert [[device.name for device in verdict.devices] for verdict in verdicts] == [["card 0"], ["card 1"]]
    assert [verdict.target for verdict in verdicts] == ["gfx942", "gfx942"]
    # Where there is none to be tested on, none is in sight.
    monkeypatch.setattr(test_rocm_stage, "devices_to_test_on", lambda *_: ())
    run_test_rocm(place)
    assert sights[2:] == ["-1"]


@pytest.mark.parametrize(
    ("ran_on", "device", "target"),
    [
        (("gfx942",), True, "gfx942"),
        # Packages that only count the GPUs, or speak of another one, claim nothing; nor does a run that was given none.
        ((), True, "cpu-only"),
        (("gfx1201",), True, "cpu-only"),
        (("gfx942",), False, "cpu-only"),
    ],
)
def test_a_target_is_claimed_of_the_gpu_that_was_given_and_worked(ran_on: tuple[str, ...], device: bool, target: str) -> None:  # noqa: FBT001 - a case
    made = EnvironmentRecord(
        python="/p", python_version="3.12", python_tag="cp312", folder="/e", digest=Sha256("d" * 64), packages=()
    )  # fmt: skip
    receipt = RocmTestReceipt(
        status="passed", version="7", gpus=("gfx942",), ran_on=ran_on, source="", files=(), environment=made,
        digest=Sha256("d" * 64), started="2026-01-02T03:04:05Z", seconds=1.0,
    )  # fmt: skip
    verdict = rocm_verdict(receipt, device=gpu(0) if device else None, report=Sha256("e" * 64), platform=Platform.LINUX)
    assert verdict.target == target


def test_runs_that_ended_are_told_when_that_of_another_gpu_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_rocm_stage, "devices_to_test_on", lambda *_: (gpu(0), gpu(1), gpu(2)))
    ask = test_rocm_stage._ask

    def hangs_on_the_second(case: Any, device: Any, *rest: Any) -> Any:  # noqa: ANN401 - as _ask
        if device.device.index == 1:
            raise HipwrightError("tests-timeout", "rocm-sdk test did not end")
        return ask(case, device, *rest)

    monkeypatch.setattr(test_rocm_stage, "_ask", hangs_on_the_second)
    with pytest.raises(HipwrightError) as caught:
        report_of(tmp_path, StubSdk(), gfx=("gfx942",))
    assert caught.value.code.name == "tests-timeout"
    tests: Any = (caught.value.document or {})["tests"]
    names = [[device.name for device in read_record(Path(told["verdict"]), Verdict).devices] for told in tests]
    assert names == [["card 0"], ["card 2"]]


def test_a_test_of_packages_that_does_not_end_is_stopped_and_gives_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_rocm_stage, "_SECONDS", 0.001)
    with pytest.raises(HipwrightError) as caught:
        report_of(tmp_path, StubSdk())
    assert caught.value.code.name == "tests-timeout"
    assert caught.value.document == {"tests": []}
    assert not list(tmp_path.rglob("verdict*.json"))


def test_nobody_makes_the_environment_again_while_it_is_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    ask = test_rocm_stage._ask

    def another_run_comes(*arguments: Any) -> Any:  # noqa: ANN401 - as _ask
        if not seen:
            seen.append("")
            with pytest.raises(HipwrightError) as caught:
                run_test_rocm(desk(tmp_path, rocm_find_links=(str(tmp_path / "own"),), wait=False))
            seen[0] = caught.value.code.name
        return ask(*arguments)

    monkeypatch.setattr(test_rocm_stage, "_ask", another_run_comes)
    report_of(tmp_path, StubSdk())
    assert seen == ["locked"]


FAILED = {"status": "failed", "passed": 1, "failed": [{"test": "test_it", "reason": "it broke"}], "untested": [], "seconds": 0.1}
UNTESTED = {"status": "untested", "passed": 0, "failed": [], "untested": [{"test": "x", "reason": "no GPU"}], "seconds": 0.0}


@pytest.mark.parametrize(
    ("stub", "code", "message"),
    [
        (StubSdk(test={"status": "failed", "suites": {"core": FAILED}}, exit_status=1), "tests-failed", "1 test of ROCm 7.10.0"),
        (StubSdk(exit_status=3), "tests-failed", "the test of ROCm 7.10.0"),
        (StubSdk(test={"suites": {"base": UNTESTED}}), "no-tests", "tested nothing"),
        (StubSdk(test=None, exit_status=1), "tests-failed", "the test of ROCm 7.10.0"),
    ],
)
def test_packages_that_do_not_pass(tmp_path: Path, stub: StubSdk, code: str, message: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        report_of(tmp_path, stub)
    assert caught.value.code.name == code
    assert message in caught.value.message
    assert caught.value.document is not None
    tests: Any = caught.value.document["tests"]
    assert [told["status"] for told in tests] == ["failed"]
    assert read_record(Path(tests[0]["receipt"]), RocmTestReceipt).status == "failed"
    if "it broke" in str(stub.test):
        assert caught.value.excerpt == "core: test_it: it broke"


def test_packages_whose_test_knows_no_json(tmp_path: Path) -> None:
    _, document = report_of(tmp_path, StubSdk(test=None))
    assert (document["tests"][0]["status"], document["tests"][0]["suites"]) == ("passed", {})


def test_a_folder_is_nothing_that_packages_are_tested_of(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        run_test_rocm(desk(tmp_path, rocm_path=str(tmp_path)))
    assert caught.value.code.name == "bad-option-value"


@pytest.mark.parametrize("families", [(), ("gfx94X-dcgpu", "gfx120X-all")])
def test_device_code_is_tested_where_no_target_is_named(tmp_path: Path, families: tuple[str, ...]) -> None:
    place, document = report_of(tmp_path, StubSdk(families=families))
    names = {package["name"] for package in document["tests"][0]["environment"]["packages"]}
    if families:
        assert {"rocm-sdk-libraries-gfx120x-all", "rocm-sdk-devel-gfx120x-all"} < names
        assert not any("gfx94x" in name for name in names)
    else:
        assert "rocm-sdk-device-gfx1201" in names
        assert "rocm-sdk-device-gfx942" not in names
    assert any("testing the device code of gfx120" in line and "--gfx" in line for line in memory_of(place).said)
