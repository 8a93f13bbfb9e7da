"""What is asked of a test run: an interpreter, tests, and the time that each phase may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from build_tools.testing.proof import ISOLATED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["DEFAULT_LIMITS", "Limits", "TestRequest"]

_MINUTE: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Seconds that the phases of a run may take.

    Parameters
    ----------
    collection
        Until the tests are collected; the start of the interpreter and the first import of a framework are in it.
    test
        One test, with its fixtures.
    whole
        All of it.
    exit_grace
        From the end of the session, when its report is whole, to the end of the process.
    """

    collection: float = 5 * _MINUTE
    test: float = 10 * _MINUTE
    whole: float = 30 * _MINUTE
    exit_grace: float = 30.0


DEFAULT_LIMITS: Final = Limits()


@dataclass(frozen=True, kw_only=True, slots=True)
class TestRequest:
    """One run of pytest in a process of its own; :func:`build_tools.testing.run.run_tests` does it.

    Parameters
    ----------
    python
        The interpreter of the environment under test.
    environment
        That environment's folder: a module of ``packages`` from elsewhere is told as foreign.
    cwd
        The folder that the process runs in.
    tests
        Paths or test ids, as pytest takes them. A bracket in a path is read as the start of parameters: name tests relative to ``cwd``.
    root
        The folder that test ids are relative to, pytest's ``--rootdir``; ``cwd`` when not given.
    arguments
        More arguments of pytest, such as ``-k``, ``-c`` or ``--import-mode``.
    variables
        Names added to the environment that children get.
    packages
        The import packages under test.
    plugins
        Further plugins of pytest, each as a Python file with ``make_plugin(pytest, settings)``, and the file of its settings.
    limits
        Seconds for each phase.
    reruns
        How often tests that failed are tried again, in a fresh process; one that passes then is flaky.
    may_skip_all
        Whether a run in which all tests are skipped is one that passed; else nothing was tested.
    gpu
        Whether tests marked ``gpu`` are run; where not, they are told as not run. None leaves it to the tests' own conditions.
    flags
        Flags of the interpreter.
    what
        What runs, for messages.
    """

    __test__ = False

    python: Path
    environment: Path
    cwd: Path
    tests: tuple[str, ...]
    root: Path | None = None
    arguments: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    plugins: tuple[tuple[Path, Path], ...] = ()
    limits: Limits = DEFAULT_LIMITS
    reruns: int = 0
    may_skip_all: bool = False
    gpu: bool | None = None
    flags: tuple[str, ...] = ISOLATED
    what: str = "the tests"
