"""The only place that starts a process: argument list, explicit environment, log file with live tail, time limit, group kill."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from build_tools.child_end import wait_for_end
from build_tools.errors import HipwrightError
from build_tools.logs import first_error, how_it_ended
from build_tools.process_groups import CREATION_FLAGS, GRACE_SECONDS, NEW_SESSION, began, end
from build_tools.urls import mask_userinfo

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["ALLOWED_NAMES", "Completed", "Runner", "base_environment", "mask", "printable"]

ALLOWED_NAMES: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
        "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
        "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
    }
)  # fmt: skip
"""Names that children inherit; everything else of the machine's environment stays outside."""


def base_environment(machine: Mapping[str, str]) -> dict[str, str]:
    """Return what children inherit of the machine's environment: the names on the allow-list, and UTF-8 everywhere."""
    kept = {name: value for name, value in machine.items() if name.upper() in ALLOWED_NAMES or name in ALLOWED_NAMES}
    kept["PYTHONUTF8"] = "1"
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    return kept


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """A program that ended: its arguments as given, exit status, duration in seconds, and output when it was captured."""

    argv: tuple[str, ...]
    cwd: Path
    returncode: int
    seconds: float
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def text(self) -> str:
        """The captured output as text, without the final newline."""
        return self.stdout.decode("utf-8", "replace").rstrip("\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """Starts programs with one fixed base environment and keeps account of them.

    Parameters
    ----------
    environment
        What every child gets; see :func:`base_environment`.
    on_line
        Called with every output line of a logged program, for a live tail.
    secrets
        Texts that are masked in logs, errors and records.
    record
        Every finished program is appended here, masked.
    """

    environment: Mapping[str, str]
    on_line: Callable[[str], None] = field(default=lambda _line: None)
    secrets: frozenset[str] = frozenset()
    record: list[Completed] = field(default_factory=list)

    def with_record(self) -> Runner:
        """Return the same runner with an empty account of its own."""
        return replace(self, record=[])

    def mask(self, text: str) -> str:
        """Return a text with all secrets replaced; see :func:`mask`."""
        return mask(text, self.secrets)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        log: Path,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        left: Callable[[], float] | None = None,
        check: bool = True,
        code: str = "command-failed",
        what: str | None = None,
        alone: bool = False,
    ) -> Completed:
        """Run a program with stdout and stderr appended to ``log``, each line also given to ``on_line``.

        Parameters
        ----------
        argv
            Program and arguments; never a shell string.
        cwd, log
            The folder that it runs in, and the log file, which is made when missing.
        env
            Names added to the base environment.
        timeout
            Seconds after which the whole process group is ended.
        left
            For programs whose steps have limits of their own: how many more seconds it may run. Asked at the start, and each time that
            so many have passed; it is ended when none are left.
        check
            Whether a non-zero exit is an error.
        code, what
            The error code of such a failure, and what it was about, for the message; the program's name when not given.
        alone
            Whether what it left running is ended with it, so that nothing writes any more when this returns.

        Raises
        ------
        HipwrightError
            ``missing-tool``, ``command-timeout``, or ``code``; the error carries the log's path and its first real error.
        OSError
            The log could not be written, and the program itself ended well; not without ``check``.
        """
        started = time.monotonic()
        command = [os.fspath(part) for part in argv]
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab", buffering=0) as stream:
            start, sink = stream.tell(), _Log(stream)
            # Masked before it is quoted, which may part a secret.
            sink.write(f"$ {printable([self.mask(part) for part in command])}\n".encode())
            process = self._start(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            reader = threading.Thread(target=self._pump, args=(process.stdout, sink), daemon=True)
            timed_out = False
            try:
                reader.start()
                _wait(process, timeout, left)
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                end(process, alone=alone)
            reader.join(GRACE_SECONDS)
        done = self._finish(command, cwd=cwd, returncode=process.returncode, started=started)
        label = what or Path(command[0]).name
        if timed_out:
            limit = timeout if timeout is not None else round(done.seconds, 1)
            message = f"{label} was stopped after {limit:g} s, its time limit"
            raise HipwrightError("command-timeout", self.mask(message), log=log, excerpt=first_error(log, start))
        if check and done.returncode != 0:
            message, hint = how_it_ended(label, done.returncode)
            raise HipwrightError(code, self.mask(message), hint=hint, log=log, excerpt=first_error(log, start))
        if check and sink.failure is not None:
            raise sink.failure
        return done

    def capture(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        timeout: float | None = None,
        check: bool = True,
        code: str = "command-failed",
        what: str | None = None,
    ) -> Completed:
        """Run a quick program and return its output as bytes; parameters as for :meth:`run`.

        Raises
        ------
        HipwrightError
            ``missing-tool``, ``command-timeout``, or ``code`` with the last lines of stderr.
        """
        started = time.monotonic()
        command = [os.fspath(part) for part in argv]
        process = self._start(
            command,
            cwd=cwd,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        )
        label = what or Path(command[0]).name
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            message = f"{label} was stopped after {timeout:g} s, its time limit"
            raise HipwrightError("command-timeout", self.mask(message)) from None
        finally:
            end(process)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        done = self._finish(command, cwd=cwd, returncode=process.returncode, started=started, out=out, err=err)
        if check and done.returncode != 0:
            tail = self.mask(err.decode("utf-8", "replace").strip() or out.decode("utf-8", "replace").strip())
            message, hint = how_it_ended(label, done.returncode)
            excerpt = "\n".join(tail.splitlines()[-12:]) or None
            raise HipwrightError(code, self.mask(message), hint=hint, excerpt=excerpt)
        return done

    def find(self, program: str) -> Path | None:
        """Return where a program is on the children's path, or None."""
        found = shutil.which(program, path=self.environment.get("PATH", ""))
        return Path(found) if found else None

    def _start(
        self,
        command: list[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None,
        stdout: int,
        stderr: int,
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        whole = {**self.environment, **(env or {})}
        program = command[0]
        if not {"/", os.sep} & set(program):
            # The child's PATH decides, not ours.
            program = shutil.which(program, path=whole.get("PATH", "")) or program
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list, no shell
                [program, *command[1:]],
                cwd=cwd,
                env=whole,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                # File modes end up in wheels, so they must not depend on who builds.
                umask=0o022,
                creationflags=CREATION_FLAGS,
                start_new_session=NEW_SESSION,
            )
            began(process)
        except FileNotFoundError:
            if not cwd.is_dir():
                message = f"cannot run {command[0]} in {cwd}: there is no such folder"
            else:
                message = f"there is no program {command[0]}"
            raise HipwrightError("missing-tool", self.mask(message)) from None
        except OSError as error:
            raise HipwrightError("missing-tool", self.mask(f"cannot run {command[0]}: {error.strerror}")) from error
        return process

    def _pump(self, stream: IO[bytes] | None, sink: _Log) -> None:
        if stream is None:
            return
        with stream, contextlib.suppress(ValueError):
            for raw in iter(stream.readline, b""):
                text = raw.decode("utf-8", "replace")
                line = self.mask(text)
                sink.write(raw if line == text else line.encode())
                self.on_line(line.rstrip())

    def _finish(
        self, command: list[str], *, cwd: Path, returncode: int, started: float, out: bytes = b"", err: bytes = b""
    ) -> Completed:
        done = Completed(
            argv=tuple(self.mask(part) for part in command),
            cwd=cwd,
            returncode=returncode,
            seconds=time.monotonic() - started,
            stdout=out,
            stderr=err,
        )
        self.record.append(replace(done, stdout=b"", stderr=b""))
        return done


class _Log:
    """A log that is written as long as it can be: what a program says is read to its end also where the disk is full."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.failure: OSError | None = None

    def write(self, data: bytes) -> None:
        """Append to it, unless that has failed before."""
        if self.failure is None:
            try:
                self._stream.write(data)
            except OSError as error:
                self.failure = error


def _wait(process: subprocess.Popen[bytes], timeout: float | None, left: Callable[[], float] | None) -> None:
    """Wait for a program's end, until its time limit, or until ``left`` says that no time is left."""
    if left is None:
        wait_for_end(process, timeout)
        return
    until = time.monotonic() + timeout if timeout is not None else None
    while (seconds := left()) > 0:
        if until is not None:
            seconds = min(seconds, max(0.0, until - time.monotonic()))
        try:
            wait_for_end(process, seconds)
        except subprocess.TimeoutExpired:
            if until is not None and time.monotonic() >= until:
                raise
        else:
            return
    raise subprocess.TimeoutExpired(process.args, 0)


def mask(text: str, secrets: Collection[str]) -> str:
    """Return a text with secrets replaced, and those of addresses also where nobody knew of them."""
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, "***")
    return mask_userinfo(text)


def printable(argv: Sequence[str | Path]) -> str:
    """Return an argument list as one line that a person can paste into a shell."""
    return shlex.join(os.fspath(part) for part in argv)
