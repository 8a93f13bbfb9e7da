from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from build_tools.errors import HipwrightError
from build_tools.logs import first_error
from build_tools.process import Runner, base_environment, printable
from tests.support.commands import until


@pytest.fixture
def runner() -> Runner:
    return Runner(environment=base_environment(os.environ))


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_children_get_the_allow_list_and_what_is_added_and_nothing_else(tmp_path: Path) -> None:
    machine = {**os.environ, "PIP_INDEX_URL": "x", "HIP_PATH": "y", "GIT_DIR": "z", "PYTHONPATH": "p", "LD_PRELOAD": "l"}
    done = Runner(environment=base_environment(machine)).capture(
        python("import os; print(sorted(os.environ))"), cwd=tmp_path, env={"ADDED": "1"}
    )
    assert "'ADDED'" in done.text
    assert "'PATH'" in done.text
    assert not any(name in done.text for name in ("PIP_INDEX_URL", "HIP_PATH", "GIT_DIR", "PYTHONPATH", "LD_PRELOAD"))


def test_output_goes_to_the_log_and_to_the_live_tail(tmp_path: Path) -> None:
    lines: list[str] = []
    runner = Runner(environment=base_environment(os.environ), on_line=lines.append)
    log = tmp_path / "deep" / "x.log"
    runner.run(python("import sys; print('one'); print('two', file=sys.stderr)"), cwd=tmp_path, log=log)
    assert sorted(lines) == ["one", "two"]
    text = log.read_text(encoding="utf-8")
    assert text.startswith("$ ")
    assert "one\n" in text
    assert "two\n" in text


def test_a_failure_carries_log_and_first_real_error(tmp_path: Path, runner: Runner) -> None:
    code = "print('0 errors so far'); print('a.cpp:3: error: no such thing'); print('note'); print('make: *** failed'); raise SystemExit(3)"
    log = tmp_path / "x.log"
    with pytest.raises(HipwrightError) as caught:
        runner.run(python(code), cwd=tmp_path, log=log, code="build-failed", what="the build")
    assert caught.value.code.name == "build-failed"
    assert caught.value.message == "the build ended with status 3"
    assert caught.value.log == log
    assert caught.value.excerpt is not None
    assert caught.value.excerpt.startswith("a.cpp:3: error: no such thing\nnote\n")


def test_the_excerpt_is_of_this_program_not_of_an_earlier_one(tmp_path: Path, runner: Runner) -> None:
    log = tmp_path / "x.log"
    runner.run(python("print('error: old')"), cwd=tmp_path, log=log)
    with pytest.raises(HipwrightError) as caught:
        runner.run(python("print('fatal: new'); raise SystemExit(1)"), cwd=tmp_path, log=log)
    assert caught.value.excerpt == "fatal: new"


def test_without_a_line_that_reads_like_an_error_the_last_lines_are_shown(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("".join(f"line {n}\n" for n in range(20)), encoding="utf-8")
    assert first_error(tmp_path / "x.log", lines=2) == "line 18\nline 19"
    assert first_error(tmp_path / "none.log") is None


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_a_time_limit_ends_the_whole_group_even_if_it_ignores_the_polite_signal(tmp_path: Path, runner: Runner) -> None:
    code = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)'])\n"
        "open('pids', 'w').write(f'{os.getpid()} {child.pid}')\n"
        "time.sleep(60)\n"
    )
    with pytest.raises(HipwrightError) as caught:
        runner.run(python(code), cwd=tmp_path, log=tmp_path / "x.log", timeout=2)
    assert caught.value.code.name == "command-timeout"
    assert "2 s" in caught.value.message
    for pid in (tmp_path / "pids").read_text(encoding="utf-8").split():
        until(functools.partial(_gone, int(pid)), f"end of process {pid}")


def test_a_limit_that_moves_is_asked_for_again(tmp_path: Path, runner: Runner) -> None:
    answers = [0.2, 0.1, 0.0]
    with pytest.raises(HipwrightError) as caught:
        runner.run(python("import time; time.sleep(60)"), cwd=tmp_path, log=tmp_path / "x.log", left=lambda: answers.pop(0))
    assert caught.value.code.name == "command-timeout"
    assert answers == []
    assert runner.run(python(""), cwd=tmp_path, log=tmp_path / "x.log", left=lambda: 60.0).returncode == 0
    with pytest.raises(HipwrightError) as caught:
        runner.run(python("import time; time.sleep(60)"), cwd=tmp_path, log=tmp_path / "x.log", left=lambda: 60.0, timeout=0.2)
    assert "0.2 s" in caught.value.message


def _gone(pid: int) -> bool:
    # A killed grandchild stays a zombie until whoever inherited it collects it.
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_an_interrupt_while_waiting_ends_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: Runner) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real_wait = subprocess.Popen.wait

    def interrupted(self: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if not started:
            started.append(self)
            raise KeyboardInterrupt
        return real_wait(self, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(python("import time; time.sleep(60)"), cwd=tmp_path, log=tmp_path / "x.log")
    assert started[0].returncode is not None


IGNORES = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('{}', 'w').close(); time.sleep(60)"


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_a_second_interrupt_ends_what_ignores_the_polite_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: Runner
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    real_wait = subprocess.Popen.wait

    def interrupted(self: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        while not (tmp_path / "on").exists():
            time.sleep(0.01)
        started.append(self)
        if len(started) < 3:
            raise KeyboardInterrupt
        return real_wait(self, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(python(IGNORES.format("on")), cwd=tmp_path, log=tmp_path / "x.log")
    assert len(started) == 3
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_what_runs_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    polite = "import time; open('polite', 'w').close(); time.sleep(60)"
    stubborn = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {IGNORES.format('stubborn')!r}])"
    driver = (
        "import os, sys, threading\nfrom pathlib import Path\nfrom build_tools.process import Runner, base_environment\n"
        "runner, here = Runner(environment=base_environment(os.environ)), Path.cwd()\n"
        "runner.capture([sys.executable, '-c', ''], cwd=here)\n"
        "for code in sys.argv[1:]:\n"
        "    threading.Thread(target=runner.capture, args=([sys.executable, '-c', code],), kwargs={'cwd': here}).start()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([sys.executable, "-c", driver, polite, stubborn], cwd=tmp_path, env=environment)
    while not ((tmp_path / "polite").exists() and (tmp_path / "stubborn").exists()):
        assert process.poll() is None
        time.sleep(0.01)
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) == 4
    process.kill()
    process.wait()
    until(lambda: all(_gone(member.pid) for member in family), f"end of {family}")


def test_a_process_that_ends_leaves_nothing_beside_it(tmp_path: Path) -> None:
    driver = (
        "import os, sys\nfrom pathlib import Path\nimport psutil\nfrom build_tools.process import Runner, base_environment\n"
        "Runner(environment=base_environment(os.environ)).capture([sys.executable, '-c', ''], cwd=Path.cwd())\n"
        "print(*(child.pid for child in psutil.Process().children()))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", driver], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert all(_gone(int(pid)) for pid in done.stdout.split())


def test_passwords_in_addresses_are_masked_although_nobody_knew_of_them(tmp_path: Path, runner: Runner) -> None:
    lines: list[str] = []
    runner = replace(runner, on_line=lines.append)
    code = "import sys; print('fatal: https://me:secret@e.example/x'); sys.stdout.flush(); sys.stdout.buffer.write(b'\\xff\\n'); sys.exit(1)"
    log = tmp_path / "x.log"
    with pytest.raises(HipwrightError) as caught:
        runner.run([*python(code), "https://me:secret@e.example/y"], cwd=tmp_path, log=log)
    assert lines == ["fatal: https://***@e.example/x", "\N{REPLACEMENT CHARACTER}"]
    assert log.read_bytes().endswith(b"fatal: https://***@e.example/x\n\xff\n")
    assert "me:secret@e.example/y" not in f"{log.read_text(errors='replace')} {caught.value.excerpt} {runner.record}"


def test_secrets_are_masked_in_log_tail_record_and_error(tmp_path: Path) -> None:
    lines: list[str] = []
    runner = Runner(environment=base_environment(os.environ), on_line=lines.append, secrets=frozenset({"hunter2secret"}))
    log = tmp_path / "x.log"
    with pytest.raises(HipwrightError) as caught:
        runner.run(python("print('error: hunter2secret'); raise SystemExit(1)"), cwd=tmp_path, log=log)
    assert "hunter2secret" not in log.read_text(encoding="utf-8")
    assert "hunter2secret" not in "".join(lines)
    assert "hunter2secret" not in f"{caught.value.excerpt} {runner.record}"
    assert "***" in lines[-1]


def test_capture_returns_bytes_and_keeps_account(tmp_path: Path, runner: Runner) -> None:
    done = runner.capture(python("import sys; sys.stdout.buffer.write(b'\\xff\\0a'); sys.stdin.read()"), cwd=tmp_path, stdin=b"x")
    assert done.stdout == b"\xff\0a"
    assert [entry.returncode for entry in runner.record] == [0]
    assert runner.with_record().record == []
    with pytest.raises(HipwrightError, match="status 4") as caught:
        runner.capture(python("import sys; print('bad thing', file=sys.stderr); sys.exit(4)"), cwd=tmp_path)
    assert caught.value.code.name == "command-failed"
    assert caught.value.excerpt == "bad thing"


def test_capture_has_a_time_limit(tmp_path: Path, runner: Runner) -> None:
    began = time.monotonic()
    with pytest.raises(HipwrightError, match="time limit"):
        runner.capture(python("import time; time.sleep(60)"), cwd=tmp_path, timeout=0.5)
    assert time.monotonic() - began < 30


def test_a_missing_program_and_a_missing_folder_are_told_apart(tmp_path: Path, runner: Runner) -> None:
    with pytest.raises(HipwrightError, match="no program hipwright-no-such-program"):
        runner.capture(["hipwright-no-such-program"], cwd=tmp_path)
    with pytest.raises(HipwrightError, match="no such folder"):
        runner.capture(python("pass"), cwd=tmp_path / "absent")


def test_the_childs_path_decides_which_program_runs(tmp_path: Path) -> None:
    tool = tmp_path / ("tool.bat" if sys.platform == "win32" else "tool")
    tool.write_text("@echo found\n" if sys.platform == "win32" else "#!/bin/sh\necho found\n", encoding="utf-8")
    tool.chmod(0o755)
    runner = Runner(environment={**base_environment(os.environ), "PATH": str(tmp_path)})
    assert runner.capture(["tool"], cwd=tmp_path).text == "found"
    assert runner.find("tool") == tool
    assert runner.find("git") is None


def test_arguments_are_never_a_shell_string(tmp_path: Path, runner: Runner) -> None:
    weird = "a b; $(touch x) 'q' \"d\" \n*"
    assert runner.capture([*python("import sys; print(repr(sys.argv[1]))"), weird], cwd=tmp_path).text == repr(weird)
    assert list(tmp_path.iterdir()) == []
    assert printable(["a", "b c"]) == "a 'b c'"


def test_two_threads_share_a_runner(tmp_path: Path, runner: Runner) -> None:
    threads = [
        threading.Thread(target=lambda n=n: runner.run(python(f"print({n})"), cwd=tmp_path, log=tmp_path / f"{n}.log"))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runner.record) == 4


CHILD = "import os, time; open('began', 'w').write(str(os.getpid())); time.sleep(60); open('late', 'w').close()"
LEAVES_A_CHILD = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, '-c', {CHILD!r}], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not os.path.exists('began') or not open('began').read():
    time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="groups as POSIX has them")
def test_what_a_program_leaves_running_is_ended_where_that_is_asked_for(tmp_path: Path, runner: Runner) -> None:
    runner.run(python(LEAVES_A_CHILD), cwd=tmp_path, log=tmp_path / "x.log", alone=True)
    assert _gone(int((tmp_path / "began").read_text()))
    (tmp_path / "began").unlink()
    runner.run(python(LEAVES_A_CHILD), cwd=tmp_path, log=tmp_path / "x.log")
    left = psutil.Process(int((tmp_path / "began").read_text()))
    assert left.is_running()
    left.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
@pytest.mark.parametrize(("name", "word"), [("SIGKILL", "memory"), ("SIGSEGV", "again")])
def test_a_program_that_a_signal_ended_is_told_with_the_signal_and_a_hint(
    tmp_path: Path, runner: Runner, name: str, word: str
) -> None:
    code = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    for logged in (True, False):
        with pytest.raises(HipwrightError) as caught:
            if logged:
                runner.run(python(code), cwd=tmp_path, log=tmp_path / "x.log", what="the tool")
            else:
                runner.capture(python(code), cwd=tmp_path, what="the tool")
        assert caught.value.message == f"the tool was ended by the signal {name}"
        assert word in str(caught.value.hint)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="the system has no device that is always full")
def test_a_log_on_a_full_disk_does_not_hold_a_program_up(tmp_path: Path) -> None:
    heard: list[str] = []
    full = Runner(environment=base_environment(os.environ), on_line=heard.append)
    # More than a pipe holds, were nobody to read it.
    command = [sys.executable, "-c", "for number in range(20_000): print('line', number)"]
    assert full.run(command, cwd=tmp_path, log=Path("/dev/full"), check=False).returncode == 0
    assert heard[-1] == "line 19999"
    with pytest.raises(OSError, match="No space left"):
        full.run(command, cwd=tmp_path, log=Path("/dev/full"))
