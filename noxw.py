#!/usr/bin/env python3
"""Run nox, or invoke, in this clone's own environment, which is made first where it is missing.

``python3 noxw.py ARGS`` is ``nox ARGS``; ``python3 noxw.py invoke ARGS`` is ``invoke ARGS``. Only the standard
library is needed. The environment lies in ``.venv`` beside this file and holds exactly what
``requirements/hipwright.txt`` pins by hash, and a ``.pth`` file that makes ``build_tools`` importable from the clone.

Two marks inside ``.venv`` say how far it is. ``hipwright.making`` is there from before the first file until after
the last: an environment that has it is half-made and is made again. ``hipwright.made`` is written last and says
what it was made from. An environment with neither belongs to someone else and is left alone.
"""

# No `from __future__` line here, and annotations in quotes: Python 3.6 has to get as far as `check_version`.

import hashlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import BinaryIO, NoReturn

OLDEST = (3, 11)
LAYOUT = "1"  # changes whenever this file makes the environment differently
WINDOWS = os.name == "nt"

CLONE = os.path.dirname((os.path.abspath if WINDOWS else os.path.realpath)(__file__))
VENV = os.path.join(CLONE, ".venv")
PINS = os.path.join(CLONE, "requirements", "hipwright.txt")
LOCK = os.path.join(CLONE, ".venv.lock")
MAKING = os.path.join(VENV, "hipwright.making")
MADE = os.path.join(VENV, "hipwright.made")
LOG = os.path.join(VENV, "hipwright.log")
SCRIPTS = os.path.join(VENV, "Scripts" if WINDOWS else "bin")
PYTHON = os.path.join(SCRIPTS, "python.exe" if WINDOWS else "python")

UNWANTED = ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__")
"""Variables that would put another Python's files before those of the environment."""

ELSEWHERE = ("PIP_PREFIX", "PIP_PYTHON", "PIP_REQUIREMENT", "PIP_ROOT", "PIP_TARGET", "PIP_DRY_RUN", "PIP_EDITABLE")
"""pip settings that would install something else, or somewhere else; those that say where packages come from apply."""


class WrapperError(Exception):
    """Something that the person at the keyboard has to settle.

    Parameters
    ----------
    code
        A name from the table in ``build_tools/errors.py``, which cannot be imported yet.
    message
        What is wrong, in one sentence.
    hint
        What to do about it.
    """

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def say(text: str) -> None:
    """Write one line of talk to stderr, at once."""
    sys.stderr.write(f"hipwright: {text}\n")
    sys.stderr.flush()


def check_version() -> None:
    """Refuse a Python that is too old, and name one on this machine that is not.

    Raises
    ------
    WrapperError
        The running Python is older than ``OLDEST``.
    """
    if sys.version_info >= OLDEST:
        return
    import shutil  # only on the way out

    newer = [name for name in (f"python3.{minor}" for minor in range(11, 30)) if shutil.which(name)]
    hint = f"run `{newer[-1]} noxw.py`" if newer else "install Python 3.11 or newer and run noxw.py with it"
    here = "{}.{}".format(*sys.version_info[:2])
    raise WrapperError("no-interpreter", f"Python 3.11 or newer is needed, and {sys.executable} is {here}", hint)


def base_python() -> "tuple[str, str]":
    """Return path and version of the running interpreter, or of the one behind it when it is a virtual environment's."""
    path = sys.executable
    if sys.prefix != sys.base_prefix:
        path = getattr(sys, "_base_executable", path)
    return os.path.realpath(path), ".".join(str(part) for part in sys.version_info[:3])


def marks(python: "tuple[str, str]") -> "dict[str, str]":
    """Return what ``hipwright.made`` says of an environment that this interpreter makes from today's pins."""
    try:
        with open(PINS, "rb") as stream:
            pins = hashlib.sha256(stream.read()).hexdigest()
    except OSError as error:
        raise WrapperError("bad-data-file", f"{PINS} cannot be read: {error}", "check the clone out whole") from error
    return {"layout": LAYOUT, "clone": CLONE, "python": python[0], "version": python[1], "pins": pins}


def made_marks() -> "dict[str, str]":
    """Return what the finished environment says of itself; nothing when there is none or it can't be used any more."""
    if os.path.exists(MAKING) or not os.path.exists(PYTHON):
        return {}
    try:
        with open(MADE, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return {}
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    return found if os.path.exists(found.get("python", "")) else {}


def fits(found: "dict[str, str]", wanted: "dict[str, str]", keys: "Sequence[str]" = ("layout", "clone", "pins")) -> bool:
    """Say whether a finished environment can be used.

    Any interpreter that is still there will do, so that two that are used in turn don't make it again each time;
    the same path with another version is another interpreter.
    """
    same_python = found.get("python") != wanted["python"] or found.get("version") == wanted["version"]
    return same_python and all(found.get(key) == wanted[key] for key in keys)


def child_environment() -> "dict[str, str]":
    """Return this process's environment without what would mix another Python's files in."""
    return {name: value for name, value in os.environ.items() if name not in UNWANTED}


def lock() -> "AbstractContextManager[None]":
    """Hold the one lock on making the environment; say for whom, when there is someone to wait for."""
    import contextlib  # not needed when there is nothing to make

    @contextlib.contextmanager
    def held() -> "Iterator[None]":
        import time

        with open(LOCK, "a+b") as stream:
            told = False
            while not try_lock(stream):
                if not told:
                    stream.seek(0)
                    holder = stream.read(20).decode("ascii", "replace").strip()
                    say("waiting for process {}, which is making .venv ...".format(holder or "(unknown)"))
                    told = True
                time.sleep(0.1)
            stream.truncate(0)
            stream.write(str(os.getpid()).encode("ascii"))
            stream.flush()
            yield

    return held()


def try_lock(stream: "BinaryIO") -> bool:
    """Take the lock on an open file if nobody has it; closing the file, or dying, gives it back."""
    if sys.platform == "win32":
        import msvcrt

        stream.seek(1 << 20)  # past the text, which the others have to read
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
    else:
        import fcntl

        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def ensure() -> None:
    """Make or update the environment unless it already is what it should be.

    Raises
    ------
    WrapperError
        ``.venv`` is someone else's, or cannot be made.
    """
    wanted = marks(base_python())
    if fits(made_marks(), wanted):
        return
    if sys.prefix != sys.base_prefix:
        # The running interpreter may be the very one in .venv; only the one behind it can make that again.
        hand_on([wanted["python"], os.path.abspath(__file__), *sys.argv[1:]])
    try:
        with lock():
            found = made_marks()
            if not fits(found, wanted):
                make(wanted, fresh=not fits(found, wanted, keys=("layout", "clone", "python", "version")))
    except OSError as error:
        hint = "check the folder's rights and its free space"
        raise WrapperError("folder-not-writable", f"{VENV} cannot be made: {error}", hint) from error


def make(wanted: "dict[str, str]", *, fresh: bool) -> None:
    """Make the environment, or bring the one that is there to today's pins."""
    import time

    start = time.monotonic()
    if os.path.isdir(VENV) and os.listdir(VENV) and not (os.path.exists(MAKING) or os.path.exists(MADE)):
        hint = "delete it if nobody needs it, move it away, or go on using it: `pip install -e .` there, then its own `nox`"
        raise WrapperError("foreign-folder", f"{VENV} was not made by noxw.py, so it is left alone", hint)
    say("making .venv (once) ..." if fresh else "updating .venv to the changed pins ...")
    os.makedirs(VENV, exist_ok=True)
    with open(MAKING, "w", encoding="utf-8") as stream:
        stream.write("noxw.py is making this environment, or was stopped while it did; it will be made again.\n")
    if os.path.exists(MADE):
        os.remove(MADE)
    if fresh:
        clear()
        create()
    with open(LOG, "wb") as log:
        install(log)
    write_path_file()
    with open(MADE + ".new", "w", encoding="utf-8") as stream:
        stream.writelines("{}={}\n".format(*item) for item in sorted(wanted.items()))
    os.replace(MADE + ".new", MADE)
    os.remove(MAKING)
    say(f"made .venv in {time.monotonic() - start:.1f} s")


def clear() -> None:
    """Empty the environment, all but the mark that says whose it is; the folder stays, it may be a link."""
    import shutil

    for entry in list(os.scandir(VENV)):
        if entry.path == MAKING:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.remove(entry.path)


def create() -> None:
    """Create an empty environment, without pip, which is what takes the time."""
    try:
        import venv
    except ImportError as error:
        raise WrapperError("missing-tool", f"{sys.executable} has no module venv", no_venv_hint()) from error
    venv.EnvBuilder(symlinks=not WINDOWS, with_pip=False, prompt="hipwright").create(VENV)


def no_venv_hint() -> str:
    """Say what to install on a system that keeps parts of the standard library in packages of their own."""
    return "install it: on Debian and Ubuntu `apt install python{}.{}-venv`".format(*sys.version_info[:2])


def pip_command(log: "BinaryIO") -> "list[str]":
    """Return the start of a command line of pip for the environment.

    The running interpreter's pip serves other environments with ``--python`` since 22.3, in a tenth of the time that
    putting a pip there takes; only where there is none is one put there first.
    """
    import importlib.metadata

    try:
        version = tuple(int(part) for part in importlib.metadata.version("pip").split(".")[:2])
    except (importlib.metadata.PackageNotFoundError, ValueError):
        version = (0, 0)
    if version >= (22, 3):
        return [sys.executable, "-P", "-m", "pip", "--python", PYTHON]
    if call([PYTHON, "-P", "-m", "ensurepip", "--default-pip"], log) != 0:
        raise WrapperError("missing-tool", f"{sys.executable} has neither pip nor ensurepip", no_venv_hint())
    return [PYTHON, "-P", "-m", "pip"]


def call(command: "Sequence[str]", log: "BinaryIO") -> int:
    """Run a program to its end, with all that it says in the log, and return its exit status."""
    import subprocess

    environment = {name: value for name, value in child_environment().items() if name not in ELSEWHERE}
    environment.update(PIP_USER="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_PROGRESS_BAR="off")
    return subprocess.call(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=CLONE)


def install(log: "BinaryIO") -> None:
    """Install what the pins name, and remove what they no longer name.

    Raises
    ------
    WrapperError
        pip failed; the end of what it said is shown.
    """
    pip = pip_command(log)
    wheels_only = ["install", "--require-hashes", "--only-binary=:all:", "--no-warn-script-location"]
    if call([*pip, *wheels_only, "-r", PINS], log) != 0:
        log.flush()
        with open(LOG, encoding="utf-8", errors="replace") as stream:
            tail = "".join(stream.readlines()[-15:])
        sys.stderr.write(tail)
        hint = f"the whole log is {LOG}; is the package index of this machine's pip settings reachable?"
        raise WrapperError("install-failed", "the pinned dependencies could not be installed", hint)
    surplus = sorted(installed() - pinned())
    if surplus:
        call([*pip, "uninstall", "--yes", *surplus], log)


def plain(name: str) -> str:
    """Return a package's name as PEP 503 writes it."""
    return name.lower().replace("_", "-").replace(".", "-")


def installed() -> "set[str]":
    """Return the names of the packages in the environment."""
    import importlib.metadata

    return {plain(found.metadata["Name"]) for found in importlib.metadata.distributions(path=[site_packages()])}


def pinned() -> "set[str]":
    """Return the names of the packages in the pins, those for other systems too."""
    with open(PINS, encoding="utf-8") as stream:
        return {plain(line.split("==")[0].strip()) for line in stream if "==" in line and line[0].isalnum()}


def site_packages() -> str:
    """Return the folder that the environment's packages lie in."""
    if WINDOWS:
        return os.path.join(VENV, "Lib", "site-packages")
    return os.path.join(VENV, "lib", "python{}.{}".format(*sys.version_info[:2]), "site-packages")


def write_path_file() -> None:
    """Make ``build_tools`` importable from the clone.

    Python reads such a file in the locale's encoding, so a path beyond ASCII is written as a line of code.
    """
    line = CLONE if CLONE.isascii() else f"import sys; sys.path.append({CLONE!a})"
    with open(os.path.join(site_packages(), "hipwright.pth"), "w", encoding="utf-8") as stream:
        stream.write(line + "\n")


def command_line(arguments: "Sequence[str]") -> "list[str]":
    """Return the command that the arguments stand for; from another folder the clone's own files are named."""
    tool, rest, here = "nox", list(arguments), ["--noxfile", os.path.join(CLONE, "noxfile.py")]
    if arguments[:1] == ["invoke"]:
        tool, rest, here = "invoke", list(arguments[1:]), ["--search-root", CLONE]
    if os.path.realpath(os.getcwd()) == os.path.realpath(CLONE):
        here = []
    # The script is given to the interpreter, since a `#!` line has a length limit and no spaces.
    start = [os.path.join(SCRIPTS, tool + ".exe")] if WINDOWS else [PYTHON, os.path.join(SCRIPTS, tool)]
    return start + here + rest


def hand_on(command: "list[str]") -> "NoReturn":
    """Become the command; on Windows, which has no such thing, run it and leave with its exit status."""
    if not WINDOWS:
        os.execve(command[0], command, child_environment())
    import subprocess

    with subprocess.Popen(command, env=child_environment()) as child:
        while True:
            try:
                sys.exit(child.wait())
            except KeyboardInterrupt:  # the child got it too, and says when it is done
                continue


def main() -> "NoReturn":
    """Make sure of the environment, then become nox or invoke."""
    try:
        check_version()
        ensure()
        hand_on(command_line(sys.argv[1:]))
    except WrapperError as problem:
        sys.exit(f"error[{problem.code}]: {problem}\nhint: {problem.hint}")
    except KeyboardInterrupt:
        sys.exit("hipwright: interrupted; .venv will be made again")


if __name__ == "__main__":
    main()
