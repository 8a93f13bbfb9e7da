from __future__ import annotations

import errno
import json
import os
import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import commands
from build_tools.commands import Call, execute, refuse_bad_arguments
from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS, Command
from build_tools.types import ProjectName
from tests.support.packages import make_wheel

if TYPE_CHECKING:
    from build_tools.workplace import Workplace

CLONE = Path(__file__).parents[2]


def call(*arguments: str, name: str = "lock", machine: dict[str, str] | None = None) -> Call:
    return Call(command=COMMANDS[name], clone=CLONE, typed_in=CLONE, machine=machine or dict(os.environ), arguments=arguments)


def replace_body(monkeypatch: pytest.MonkeyPatch, body: Any, name: str = "lock") -> None:  # noqa: ANN401
    monkeypatch.setattr(commands, "BODIES", {name: body})


def test_a_fault_of_our_own_is_a_code_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        return {"x": _command.option_names[999]}

    replace_body(monkeypatch, broken)
    ending = execute(call())
    assert ending.status == 6
    err = capsys.readouterr().err
    assert "error[internal]: IndexError" in err
    assert "Traceback" not in err
    assert execute(call("--traceback")).status == 6
    assert "Traceback" in capsys.readouterr().err


def test_json_is_one_document_alone_on_stdout(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    replace_body(monkeypatch, lambda _command, _project, place: place.console.table("T", ("a",), [("b",)]) or {"answer": 1})
    assert execute(call("--json")).status == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "ok": True, "command": "lock", "answer": 1}

    def failing(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        raise HipwrightError("no-wheel", "there is none", hint="nox -l")

    replace_body(monkeypatch, failing)
    assert execute(call("--json")).status == 6
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    assert document["error"]["code"] == "no-wheel"
    assert document["error"]["hint"] == "nox -l"
    assert execute(call("--json", "--nonsense")).status == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "unknown-option"


@pytest.mark.skipif(os.name == "nt", reason="sends signals of POSIX systems")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_polite_termination_ends_like_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    number = signal.Signals[name]

    def long(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        os.kill(os.getpid(), number)
        signal.sigtimedwait([], 60) if hasattr(signal, "sigtimedwait") else None
        return {}

    before = signal.getsignal(number)
    replace_body(monkeypatch, long)
    assert execute(call("--work-dir", "a b")).status == 130
    err = capsys.readouterr().err
    assert "error[interrupted]" in err
    assert "nox -s lock -- --work-dir 'a b'" in err
    assert signal.getsignal(number) is before

    def deaf(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        os.kill(os.getpid(), number)
        return {}

    signal.signal(number, signal.SIG_IGN)
    try:
        replace_body(monkeypatch, deaf)
        assert execute(call()).status == 0
    finally:
        signal.signal(number, before)


def test_values_that_are_secret_by_name_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[frozenset[str]] = []

    def look(_command: Command, _project: ProjectName | None, place: Workplace) -> dict[str, Any]:
        seen.append(place.runner.secrets)
        return {}

    replace_body(monkeypatch, look)
    machine = {
        **os.environ,
        "GITHUB_TOKEN": "ghs_0123456789",
        "AWS_SECRET_ACCESS_KEY": "abcdefgh",
        "PASSWORD_FILE": "x",
        "PLAIN": "plainvalue",
    }
    execute(call(machine=machine))
    assert {"ghs_0123456789", "abcdefgh"} <= seen[0]
    assert not {"x", "plainvalue"} & seen[0]


def test_passwords_in_addresses_are_masked_wherever_they_were_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = ("proxy-hush", "pip%20hush", "pip hush", "option-hush", "bare-hush", "environment-hush", "query-hush", "store-hush")
    machine = {
        **os.environ,
        "HTTPS_PROXY": "http://bob:proxy-hush@proxy.example:1",
        "http_proxy": "bob:bare-hush@proxy.example:1",
        "PIP_EXTRA_INDEX_URL": "https://e.example/?sig=query-hush https://me:pip%20hush@e.example/",
        "HIPWRIGHT_FIND_LINKS": "https://me:environment-hush@e.example/",
    }
    arguments = ["--rocm-index-url", "https://me:option-hush@e.example/it's", "--store=https://e.example/?sig=store-hush"]
    text = "\n".join((*machine.values(), *secrets, *arguments))

    def leaky(_command: Command, _project: ProjectName | None, place: Workplace) -> dict[str, Any]:
        assert place.settings.rocm_index_url == arguments[1]
        assert place.runner.environment["HTTPS_PROXY"] == machine["HTTPS_PROXY"]
        place.console.say(text)
        place.console.table("T", ("a",), [(text,)])
        assert not any(secret in place.runner.mask(text) for secret in secrets)
        error = HipwrightError("no-wheel", text, hint=text, excerpt=text, document={"stages": [{"why": text}]})
        error.reproduce = text
        raise error from ValueError(text)

    def interrupted(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        raise KeyboardInterrupt

    for body, more in ((leaky, ()), (leaky, ("--json", "--traceback")), (interrupted, ()), (lambda *_: {"x": text}, ("--json",))):
        replace_body(monkeypatch, body, name="build")
        build = Call(
            command=PROJECT_COMMANDS["build"], clone=CLONE, typed_in=CLONE, machine=machine, arguments=[*arguments, *more]
        )
        execute(build)
        shown = "".join(capsys.readouterr())
        assert not any(secret in shown for secret in secrets)
        assert "***" in shown
    execute(call("--nonsense=https://me:nonsense-hush@e.example", "--json"))
    shown = "".join(capsys.readouterr())
    assert "unknown-option" in shown
    assert "nonsense-hush" not in shown


def test_show_config_tells_places_and_no_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    machine = {
        **os.environ,
        "HIPWRIGHT_ROCM_INDEX_URL": "https://me:hush-hush@e.example/simple",
        "PIP_PROXY": "me:hush-hush@proxy.example:1",
    }
    for arguments in ((), ("--json",)):
        assert execute(call(*arguments, name="show-config", machine=machine)).status == 0
        out = capsys.readouterr().out
        assert "https://***@e.example/simple" in out
        assert "proxy.example:1" in out
        assert "hush-hush" not in out


def test_what_a_failing_command_had_found_is_in_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = tmp_path / "broken-1.0-py3-none-any.whl"
    make_wheel(tmp_path, "broken", "1.0").write_bytes(b"no zip")
    assert execute(call("--json", str(wheel), name="check_wheels")).status == 6
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False
    assert document["error"]["code"] == "check-failed"
    assert document["report"]["findings"][0]["wheel"] == wheel.name

    def failing(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        raise HipwrightError("no-wheel", "##[error]x", document={"stages": [1], "ok": True})

    replace_body(monkeypatch, failing)
    execute(call("--json"))
    out = capsys.readouterr().out
    document = json.loads(out)
    assert (document["ok"], document["stages"], document["error"]["message"]) == (False, [1], "##[error]x")
    assert "##[" not in out


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "disk-space"),
        (OSError(errno.EDQUOT, "Disk quota exceeded", "/srv/x"), "disk-space"),
        (PermissionError(errno.EACCES, "Permission denied", "/srv/x"), "folder-not-writable"),
        (OSError(errno.EROFS, "Read-only file system", "/srv/x"), "folder-not-writable"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "/srv/x"), "folder-not-writable"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory", "/srv/x"), "folder-not-writable"),
        (OSError(errno.EFBIG, "File too large"), "folder-not-writable"),
        (OSError(errno.EBUSY, "Device or resource busy", "/srv/x"), "folder-not-writable"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "/srv/x"), "folder-not-writable"),
        (PermissionError(errno.EPERM, "Operation not permitted"), "internal"),
        (FileNotFoundError(errno.ENOENT, "No such file", "/srv/x"), "internal"),
    ],
)
def test_a_disk_that_is_full_or_shut_is_no_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failure: OSError, code: str
) -> None:
    def failing(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        raise failure

    replace_body(monkeypatch, failing)
    assert execute(call()).words == f"error[{code}]"
    err = capsys.readouterr().err
    assert str(failure.strerror) in err
    assert failure.filename is None or failure.filename in err


def test_a_full_disk_names_the_option_that_led_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def failing(_command: Command, _project: ProjectName | None, place: Workplace) -> dict[str, Any]:
        raise OSError(errno.ENOSPC, "No space left on device", str(place.work_dir / "x" if inside else tmp_path / "y"))

    replace_body(monkeypatch, failing)
    for inside in (True, False):
        execute(call("--work-dir", str(tmp_path / "work")))
        err = capsys.readouterr().err
        assert "choose another folder" in err
        assert ("with --work-dir" in err) is inside


def test_wrong_arguments_and_faults_while_reading_them_end_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refuse_bad_arguments(call(name="show-config"))
    with pytest.raises(SystemExit) as ended:
        refuse_bad_arguments(call("--nonsense", "--json", name="show-config"))
    assert ended.value.code == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "unknown-option"

    def denied(*_arguments: object, **_named: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/clone/hipwright.toml")

    monkeypatch.setattr(commands, "resolve", denied)
    with pytest.raises(SystemExit) as ended:
        refuse_bad_arguments(call(name="show-config"))
    assert ended.value.code == 4
    err = capsys.readouterr().err
    assert "error[folder-not-writable]: cannot read or write /clone/hipwright.toml" in err
    assert "Traceback" not in err


def test_help_is_the_option_model(capsys: pytest.CaptureFixture[str]) -> None:
    build = Call(
        command=PROJECT_COMMANDS["build"],
        clone=CLONE,
        typed_in=CLONE,
        machine={},
        arguments=["--help"],
        project=ProjectName("torch-spline-conv"),
    )
    assert execute(build).status == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: nox -s build_torch_spline_conv --")
    assert "--torch-spline-conv-ref REF" in out
    assert "--sample-ref" not in out, "an option that every project has is shown once"
    assert "sample-companion" in out.replace("\n", " ")
    assert "--gpu-family F" in out
    assert "{project}" not in out


def test_the_job_summary_says_how_a_command_is_repeated_with_what_its_variables_gave_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(_command: Command, _project: ProjectName | None, _place: Workplace) -> dict[str, Any]:
        raise HipwrightError("no-wheel", "there is none")

    given = {
        "GITHUB_ACTIONS": "true",
        "HIPWRIGHT_PYTORCH_REF": "release/2.13",
        "PYTORCH_ROCM_ARCH": "gfx942;gfx1201",
        "HIPWRIGHT_ROCM_INDEX_URL": "https://me:hush-hush@rocm.example/",
        "HIPWRIGHT_EXPLAIN": "true",
        "HIPWRIGHT_NO_WAIT": "false",
        "HIPWRIGHT_PYTHON": "3.12",
    }
    line = (
        "nox -s lock -- --projects pytorch --rocm-index-url https://***@rocm.example/ "
        "--pytorch-ref release/2.13 --python 3.12 --gfx gfx942,gfx1201 --work-dir out --explain"
    )
    summary = tmp_path / "summary.md"
    bodies: tuple[Any, ...] = (failing, lambda *_: {})
    for body in bodies:
        summary.unlink(missing_ok=True)
        replace_body(monkeypatch, body)
        machine = {**os.environ, **given, "GITHUB_STEP_SUMMARY": str(summary), "HIPWRIGHT_WORK_DIR": "out"}
        execute(call("--projects", "pytorch", machine=machine))
        said = capsys.readouterr().err
        text = summary.read_text(encoding="utf-8")
        assert ("### Failed" in text, "error[no-wheel]: there is none" in text) == (body is failing, body is failing)
        (shown,) = [row for row in text.splitlines() if row.startswith("nox -s lock")]
        assert sorted(shlex.split(shown)) == sorted(line.split())
        assert (shown in said) == (body is failing)
        assert "### Repeat lock at a desk (" in text
        assert "hush-hush" not in text + said
    summary.unlink()
    execute(call("--nonsense", machine={**os.environ, **given, "GITHUB_STEP_SUMMARY": str(summary)}))
    assert "at a desk" not in summary.read_text(encoding="utf-8")
