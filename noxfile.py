"""hipwright's sessions: each parses what it was given and calls build_tools, which does the work."""

from __future__ import annotations

import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import nox
import nox.virtualenv
from packaging.version import Version

CLONE = Path(__file__).resolve().parent


def _hand_over() -> NoReturn:
    """Become noxw.py with the same arguments, in the folder where nox was started: nox itself has left it."""
    frame = inspect.currentframe()
    while frame is not None and not hasattr(frame.f_locals.get("global_config"), "invoked_from"):
        frame = frame.f_back
    folder = frame.f_locals["global_config"].invoked_from if frame is not None else CLONE
    command = [sys.executable, str(CLONE / "noxw.py"), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(command, cwd=folder))
    os.chdir(folder)
    os.execv(command[0], command)


try:
    import msgspec  # noqa: F401 - stands for all dependencies: where only nox is installed, build_tools alone may be found
    import platformdirs

    from build_tools import commands
    from build_tools.environments import pins
    from build_tools.options.unknown import refuse_unknown_sessions
except ImportError:
    # In noxw.py's own environment there is nobody left to hand over to: an import that fails there is told as it is.
    if Path(sys.prefix).resolve() == CLONE / ".venv":
        raise
    _hand_over()
if Path(commands.__file__).resolve().parent != CLONE / "build_tools":
    _hand_over()

nox.options.default_venv_backend = "uv|virtualenv" if shutil.which("uv") else "virtualenv"
if not shutil.which(os.environ.get("UV") or "uv") and ("UV" in os.environ or importlib.util.find_spec("uv") is None):
    # nox starts uv before each session to see whether it is there, and tells each time that it is not, unless that is known.
    nox.virtualenv.HAS_UV, nox.virtualenv.UV, nox.virtualenv.UV_VERSION = False, "uv", Version("0")
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests"]


def _install(session: nox.Session, name: str) -> None:
    """Install a set of pins."""
    session.install("--require-hashes", "-r", f"requirements/{name}.txt")


def _wheelhouse(session: nox.Session) -> Path:
    """Return a folder with what hipwright puts into environments, fetched on first use: pure wheels, good for any Python."""
    folder = platformdirs.user_cache_path("hipwright") / "wheelhouse" / pins.wheelhouse_key(CLONE)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="new-") as new:
            needed = [pin for pin_set in pins.SETS if pin_set.name.endswith("-env") for pin in pins.read(pin_set, CLONE)]
            for number, text in enumerate(pins.downloads(needed)):
                file = Path(new, f"{number}.txt")
                file.write_text(text, encoding="utf-8")
                fetch = ["download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--quiet", "--dest", f"{new}/wheels"]
                pure = ["--platform=any", "--implementation=py", "--abi=none"]
                session.run("python", "-m", "pip", *fetch, *pure, "-r", str(file))
            if not folder.is_dir():
                Path(new, "wheels").replace(folder)
    return folder


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, layers, dependencies, spelling and container recipes."""
    _install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports")
    session.run("deptry", ".")
    session.run("vulture")
    session.run("codespell")
    session.run("hadolint", *sorted(str(file) for file in Path(".ci/docker").rglob("Dockerfile")))
    session.run("shellcheck", ".ci/run", *sorted(str(file) for file in Path(".ci/docker").rglob("*.sh")))


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly, as on Linux and, for all but the tests, as on Windows."""
    _install(session, "types")
    session.run("mypy", "--platform", "linux")
    session.run("mypy", "--platform", "win32", "build_tools", "benchmarks", "noxfile.py", "noxw.py", "tasks.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the test suite, all but what needs real inputs; arguments go to pytest, which has only files and loopback."""
    _install(session, "tests")
    offline = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": _wheelhouse(session).as_uri()}
    offline |= {"UV_OFFLINE": "1", "UV_PYTHON_DOWNLOADS": "never"}
    # Most tests wait for programs and the disk half of their time.
    cores = os.cpu_count() or 1
    workers = f"--numprocesses={cores + min(cores, 4)}"
    session.run("pytest", "-m", "not real", workers, "--dist=loadfile", *session.posargs, env=offline)


def _tests(session: nox.Session, *arguments: str, **more: str) -> None:
    """Run some of the tests, in the environment of the session that runs them; ``more`` goes into its environment."""
    command = [sys.executable, "-m", "nox", "-s", "tests", "--", *arguments]
    session.run(*command, external=True, env=more)


@nox.session(python=False, default=False)
def tests_real(session: nox.Session) -> None:
    """Fetch the real inputs, then run the tests on them; `-- --tier real` takes the long ones too, the rest goes to pytest."""
    words = list(session.posargs)
    tier = words.pop(words.index("--tier") + 1) if "--tier" in words[:-1] else "ci"
    listing = Path(session.create_tmp()) / "inputs.json"
    fetch = [sys.executable, "-m", "nox", "-s", "inputs", "--", "--tier", tier, "--json"]
    with listing.open("w", encoding="utf-8") as stream:
        session.run(*fetch, external=True, stdout=stream, stderr=None)
    _tests(session, "tests/real", "-m", "real", *(word for word in words if word != "--tier"), HIPWRIGHT_TEST_INPUTS=str(listing))


@nox.session(python=False, default=False)
def docs(session: nox.Session) -> None:
    """Check the pages: what they name is there."""
    _tests(session, "tests/docs", *session.posargs)


@nox.session(name="pins", default=False)
def make_pins(session: nox.Session) -> None:
    """Make the requirement files from pyproject.toml; `-- --upgrade` takes the newest releases."""
    _install(session, "pins")
    for pin_set in pins.SETS:
        session.run("uv", *pins.compile_arguments(pin_set), *session.posargs)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure what benchmarks/ holds to a limit, a line of JSON each; arguments name benchmarks."""
    _install(session, "tests")
    with session.chdir(session.invoked_from):
        session.run("python", "-m", "benchmarks", *session.posargs, env={"PYTHONPATH": str(CLONE)})


def _session(name: str, command: commands.Command, project: commands.ProjectName | None = None) -> None:
    """Make the session of a command: started when it is asked for, in an environment of nox's own only for programs of a set of pins."""

    def run(session: nox.Session) -> None:
        machine = dict(os.environ)
        if command.pins is not None:
            _install(session, command.pins)
            machine["PATH"] = os.pathsep.join([session.bin, machine.get("PATH", "")])
        call = commands.Call(
            command=command,
            clone=CLONE,
            typed_in=Path(session.invoked_from),
            machine=machine,
            arguments=session.posargs,
            project=project,
        )
        ending = commands.execute(call)
        if ending.status:
            session.error(ending.words)

    run.__doc__ = command.summary.format(project=project)
    nox.session(name=name, python=None if command.pins else False, default=False)(run)


for _command in commands.NOX_COMMANDS:
    _session(_command.name, _command)
for _name, _command, _project in commands.project_sessions(CLONE):
    _session(_name, _command, _project)

_complaint = refuse_unknown_sessions(sys.argv[1:], tuple(nox.registry.get()))
if _complaint:
    sys.exit(_complaint)
