"""The edge: parse what was typed, run the command, say how it ended. noxfile and tasks call this and nothing else."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from build_tools.bodies import BODIES
from build_tools.config.project import project_names, projects_with, target_variables
from build_tools.console.markdown import command_block
from build_tools.console.select import console_for
from build_tools.errors import HipwrightError, Kind
from build_tools.files import machine_failure
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS, Command
from build_tools.options.fronts import nox_words
from build_tools.options.helping import help_text
from build_tools.options.render import given_by_environment
from build_tools.options.resolve import resolve
from build_tools.options.secrets import secrets_of_call, secrets_of_settings
from build_tools.options.target_variables import with_target_variables
from build_tools.pipeline.concerned import projects_about
from build_tools.process import Runner, base_environment, mask, printable
from build_tools.shown import shown
from build_tools.types import Platform, ProjectName
from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from build_tools.options.model import Settings
    from build_tools.options.resolve import Resolved
    from build_tools.workplace import Workplace

__all__ = [
    "NOX_COMMANDS",
    "Call",
    "Command",
    "Ending",
    "ProjectName",
    "execute",
    "project_sessions",
    "refuse_bad_arguments",
]

NOX_COMMANDS: Final = tuple(command for command in COMMANDS.values() if command.front == "nox")
"""The commands that are sessions and exist once."""

_LOGGING: Final = ("boto3", "botocore", "py_serializable", "s3transfer", "urllib3")
_ALLOCATIONS: Final = 50_000
"""So many new objects are let come before Python looks for circles among them; its own number is 700."""

_INTERRUPTED: Final = 130
_UNHEARD: Final = 141
_ENDING_SIGNALS: Final = ("SIGTERM", "SIGHUP", "SIGBREAK")


class Call(Value, frozen=True, kw_only=True):
    """A command as it was called: its name, the project it speaks of, what was typed, where, and the machine's environment."""

    command: Command
    clone: Path
    typed_in: Path
    machine: Mapping[str, str]
    arguments: Sequence[str] = ()
    project: ProjectName | None = None

    @property
    def session(self) -> str:
        """The session or task that this is."""
        return self.command.session_of(self.project) if self.project else self.command.name

    @property
    def prog(self) -> str:
        """How a person calls it, up to the options."""
        words = nox_words(Path(sys.executable), clone=self.clone, typed_in=self.typed_in)
        if self.command.front == "nox":
            return f"{printable(words)} -s {self.session} --"
        return f"{printable(words)} invoke {self.session}" if words != ("nox",) else f"invoke {self.session}"


class Ending(Value, frozen=True, kw_only=True):
    """How a command ended: the exit status of its kind, and the words for a front that shows one line."""

    status: int
    words: str = ""


def project_sessions(clone: Path) -> list[tuple[str, Command, ProjectName]]:
    """Return the sessions that every project has: name, command, project."""
    folder = clone / "external-builds"
    tables = {command.table for command in PROJECT_COMMANDS.values() if command.table is not None}
    having = {table: projects_with(folder, table) for table in tables}
    return [
        (command.session_of(name), command, name)
        for name in project_names(folder)
        for command in PROJECT_COMMANDS.values()
        if command.table is None or name in having[command.table]
    ]


def refuse_bad_arguments(call: Call) -> None:
    """End the process with our own words and the kind's status when a task's arguments are wrong; return when they are right."""

    def parse(edge: _Edge) -> None:
        edge.resolve()

    ending = _ending(_Edge(call=call), parse)
    if ending.status:
        sys.exit(ending.status)


def execute(call: Call) -> Ending:
    """Run a command from its call to its ending; every failure is shown as people read it, never as a traceback."""

    def run(edge: _Edge) -> dict[str, Any] | None:
        if {"-h", "--help"} & set(call.arguments):
            projects = project_names(call.clone / "external-builds")
            command = replace(call.command, summary=call.command.summary.format(project=call.project))
            sys.stdout.write(help_text(command, projects, call.prog, project=call.project))
            return None
        resolved = edge.resolve()
        _quiet_libraries()
        if call.machine.get("GITHUB_OUTPUT"):
            from build_tools.ci.outputs import prove_file  # noqa: PLC0415 - at a desk nothing is handed on

            prove_file(call.command.name, call.machine)
        with _ended_by_signals():
            return BODIES[call.command.name](call.command, call.project, _workplace(call, resolved, edge))

    # What comes are mostly modules and tables that stay to the end: to look for circles in them as often as Python does takes a tenth
    # of the time of a command that does little.
    usual = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *usual[1:])
    try:
        return _ending(_Edge(call=call), run)
    finally:
        gc.set_threshold(*usual)


def _quiet_libraries() -> None:
    """Keep what libraries log off the terminal: nox shows all of it, down to the signatures of requests."""
    for name in _LOGGING:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Edge:
    """How a call speaks: as text or JSON, and without secrets, of which more are known once its options are."""

    def __init__(self, *, call: Call) -> None:
        self.call = call
        self.json = "--json" in call.arguments
        self.traceback = False
        self.settings: Settings | None = None
        self.resolved: Resolved | None = None
        self.began = time.monotonic()
        self.secrets = secrets_of_call(call.machine, call.arguments)
        self.console = console_for(call.machine, json=self.json, mask=self._fit_to_show)

    def _fit_to_show(self, text: str) -> str:
        return shown(self.mask(text), lines=True)

    def mask(self, text: str) -> str:
        """Return a text without secrets."""
        return mask(text, self.secrets)

    def resolve(self) -> Resolved:
        """Return the call's options, and speak from now on as they say."""
        call, folder = self.call, self.call.clone / "external-builds"
        known = project_names(folder)
        resolved = resolve(
            call.command,
            call.arguments,
            environment=call.machine,
            typed_in=call.typed_in,
            clone=call.clone,
            projects=known,
            prog=call.prog,
        )
        about = projects_about(call.command, call.project, resolved.settings, known, external_builds=folder)
        variables = target_variables(folder, about)
        resolved = with_target_variables(resolved, call.command, variables, call.machine)
        self.settings, self.resolved = resolved.settings, resolved
        self.secrets |= secrets_of_settings(resolved.settings)
        self.json, self.traceback = resolved.settings.json, resolved.settings.traceback
        kept = call.command.kept and not resolved.settings.dry_run
        log = resolved.settings.work_dir / "logs" / f"{call.session}.log" if kept else None
        self.console = console_for(call.machine, json=self.json, mask=self._fit_to_show, log=log)
        return resolved

    def print_json(self, *, ok: bool, document: Mapping[str, Any]) -> None:
        """Print the document of the command to stdout."""
        whole = self._masked({**document, "schema": 1, "ok": ok, "command": self.call.session})
        text = json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False)
        # The same to whoever reads JSON, and to GitHub's runner no command.
        sys.stdout.write(text.replace("##[", "#\\u0023[") + "\n")
        sys.stdout.flush()

    def _masked(self, value: Any) -> Any:  # noqa: ANN401 - plain data
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {key: self._masked(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self._masked(entry) for entry in value]
        return value


def _ending(edge: _Edge, body: Callable[[_Edge], dict[str, Any] | None]) -> Ending:
    """Do something that a call asks for and say how it ended, if anybody still listens."""
    try:
        return _told(edge, body)
    except OSError:
        # Whoever read the output is gone, or it cannot be written: there is nobody to tell, and nothing more must be tried.
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for descriptor in (1, 2):
                os.dup2(nowhere, descriptor)
        return Ending(status=_UNHEARD, words="the output cannot be written")


def _told(edge: _Edge, body: Callable[[_Edge], dict[str, Any] | None]) -> Ending:
    """Do something and tell its ending; the one place where failures of every sort end."""
    try:
        document = body(edge)
        edge.console.close()
        _summarise(edge)
        if edge.json and document is not None:
            edge.print_json(ok=True, document=document)
        return Ending(status=0)
    except KeyboardInterrupt:
        message = f"{edge.call.session} was interrupted; what had finished stays, and the same command goes on from there"
        error = HipwrightError("interrupted", message, hint=_again(edge))
        status = _INTERRUPTED
    except BrokenPipeError:
        raise
    except HipwrightError as failure:
        error, status = failure, failure.exit_code
    except Exception as failure:  # noqa: BLE001 - the edge: a person never sees a traceback unless asked for
        error = (_of_the_machine(failure, edge) if isinstance(failure, OSError) else None) or _internal(failure)
        status = error.exit_code
    if error.reproduce is None and error.code.kind is not Kind.USAGE and error.code.name != "interrupted":
        error.reproduce = _again(edge)
    edge.console.close()
    edge.console.fail(error)
    _summarise(edge)
    if edge.traceback:
        sys.stderr.write(edge.mask("".join(traceback.format_exception(error.__cause__ or error))))
    if edge.json:
        plain = _plain_error(error.masked(edge.mask))
        edge.print_json(ok=False, document={**(error.document or {}), "error": plain})
    return Ending(status=status, words=f"error[{error.code.name}]")


def _workplace(call: Call, resolved: Resolved, edge: _Edge) -> Workplace:
    from build_tools.workplace import Workplace  # noqa: PLC0415

    cache = resolved.settings.cache_dir
    if cache is None:
        import platformdirs  # noqa: PLC0415

        cache = Path(platformdirs.user_cache_dir("hipwright", appauthor=False))
    return Workplace(
        clone=call.clone,
        typed_in=call.typed_in,
        cache=cache,
        python=Path(sys.executable),
        platform=Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX,
        processors=_processors(),
        machine=call.machine,
        runner=Runner(environment=base_environment(call.machine), on_line=edge.console.line, secrets=edge.secrets),
        console=edge.console,
        resolved=resolved,
    )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a polite termination, a closed terminal too, end a command the way Ctrl-C does, so that its children go with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in _ENDING_SIGNALS if hasattr(signal, name)]
    # What is ignored stays so: nohup starts a command that way.
    before = {number: signal.signal(number, interrupt) for number in numbers if signal.getsignal(number) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _again(edge: _Edge) -> str:
    call, resolved = edge.call, edge.resolved
    of_environment = [] if resolved is None else given_by_environment(resolved, call.command, typed_in=call.typed_in)
    words = [edge.mask(word) for word in (*call.arguments, *of_environment)]
    return f"{call.prog} {printable(words)}".removesuffix(" -- ").strip()


def _summarise(edge: _Edge) -> None:
    """Say in the job summary how long a command took, and how it is repeated at a desk; nothing where its options were none."""
    if edge.resolved is not None:
        title = f"Repeat {edge.call.session} at a desk ({time.monotonic() - edge.began:.0f} s here)"
        edge.console.summarise(command_block(title, [_again(edge)]))


def _of_the_machine(failure: OSError, edge: _Edge) -> HipwrightError | None:
    """Return a failure of the disk or of its permissions as what it is, with the option that names another place; None for another one."""
    settings, name = edge.settings, failure.filename
    if settings is None or not isinstance(name, str):
        return machine_failure(failure)
    named = {
        "--dist-dir": settings.dist_dir,
        "--dest-dir": settings.dest_dir,
        "--output-dir": settings.output_dir,
        "--cache-dir": settings.cache_dir,
        "--work-dir": settings.work_dir,
    }
    inside = (option for option, folder in named.items() if folder is not None and Path(name).is_relative_to(folder))
    return machine_failure(failure, option=next(inside, None))


def _internal(failure: Exception) -> HipwrightError:
    last = traceback.extract_tb(failure.__traceback__)[-1]
    message = f"{type(failure).__name__}: {failure} ({Path(last.filename).name}:{last.lineno})"
    error = HipwrightError("internal", message, hint="run it again with --traceback and report what it prints")
    error.__cause__ = failure
    return error


def _plain_error(error: HipwrightError) -> dict[str, Any]:
    return {
        "code": error.code.name,
        "kind": error.code.kind.name.lower(),
        "message": error.message,
        "where": str(error.where) if error.where else None,
        "hint": error.hint,
        "log": str(error.log) if error.log else None,
        "excerpt": error.excerpt,
        "reproduce": error.reproduce,
    }
