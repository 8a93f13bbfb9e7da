"""The ``[suite]`` table of ``project.toml``: the tests that the sources bring along, and how a configuration of them is run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from build_tools.config.fields import Minutes, NonEmpty, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Suite", "SuiteConfiguration", "SuiteSettings", "fits", "fitting", "wrong_suite"]

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class SuiteSettings(Table, frozen=True, kw_only=True):
    """What holds for some test files of a configuration beyond what holds for all: variables of their process."""

    files: tuple[NonEmpty, ...]
    environment: dict[str, str] = msgspec.field(default_factory=dict)


class SuiteConfiguration(Table, frozen=True, kw_only=True):
    """One way to run the suite: which test files, and what their processes have in their environment.

    ``files`` and ``leave_out`` are patterns of paths below the tests' folder: ``*`` stands for anything inside one folder's name,
    ``**/`` for any number of folders. ``many_gpus`` says that tests use several GPUs: each process sees all of them, else one.
    """

    files: tuple[NonEmpty, ...]
    leave_out: tuple[NonEmpty, ...] = ()
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    settings: tuple[SuiteSettings, ...] = ()
    many_gpus: bool = False


class Suite(Table, frozen=True, kw_only=True):
    """The tests that a project's sources bring along.

    ``folder`` is where they lie in the tree, and ``beside`` what else of the tree they read; of the rest of the tree nothing is within
    their reach. ``settings_file`` is pytest's settings there. ``requires`` come from the base index, pytest in the version that the tests want among them. ``gpu_tests`` are
    patterns of the ids of tests that run on a GPU. ``linux`` and ``windows`` are variables for that system alone.
    """

    folder: NonEmpty = "test"
    beside: tuple[NonEmpty, ...] = ()
    settings_file: NonEmpty | None = None
    requires: tuple[NonEmpty, ...] = ("pytest",)
    skips: NonEmpty = "skip-tests"
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    linux: dict[str, str] = msgspec.field(default_factory=dict)
    windows: dict[str, str] = msgspec.field(default_factory=dict)
    gpu_tests: tuple[NonEmpty, ...] = ()
    test_limit_minutes: Minutes = 15
    file_limit_minutes: Minutes = 180
    configurations: dict[str, SuiteConfiguration]


def fits(path: str, pattern: str) -> bool:
    """Say whether a path with forward slashes fits a pattern.

    >>> fits("test_ops.py", "test_*.py"), fits("inductor/test_ops.py", "test_*.py"), fits("inductor/test_ops.py", "**/test_*.py")
    (True, False, True)
    >>> fits("test_ops.py", "**/test_*.py"), fits("distributed/fsdp/test_a.py", "distributed/**")
    (True, True)
    """
    return _compiled(pattern).fullmatch(path) is not None


def fitting(paths: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return the paths that fit one of some patterns, in their order."""
    compiled = [_compiled(pattern) for pattern in patterns]
    return [path for path in paths if any(one.fullmatch(path) for one in compiled)]


def wrong_suite(suite: Suite) -> Iterator[tuple[list[str | int], str]]:
    """Yield the keys of a suite whose values have the right type and mean nothing, each with what is wrong."""
    if not suite.configurations:
        yield ["suite", "configurations"], "a suite has at least one configuration"
    tables: dict[tuple[str, ...], dict[str, str]] = {
        ("suite", "environment"): suite.environment,
        ("suite", "linux"): suite.linux,
        ("suite", "windows"): suite.windows,
    }
    for name, configuration in suite.configurations.items():
        steps = ("suite", "configurations", name)
        if not _NAME.fullmatch(name):
            yield list(steps), f"{name!r} is no name of a configuration: lower-case letters, digits and hyphens"
        if not configuration.files:
            yield [*steps, "files"], "a configuration has at least one pattern of test files"
        tables[(*steps, "environment")] = configuration.environment
        for number, settings in enumerate(configuration.settings):
            for variable in (name for name in settings.environment if not _VARIABLE.fullmatch(name)):
                yield [*steps, "settings", number, "environment"], f"{variable!r} is no name of a variable"
    for place, table in tables.items():
        for variable in (name for name in table if not _VARIABLE.fullmatch(name)):
            yield list(place), f"{variable!r} is no name of a variable"


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    stands = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(stands.get(part, re.escape(part)) for part in parts), re.DOTALL)
