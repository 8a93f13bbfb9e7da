"""What the processes of a suite have in common, and the request that each is started by."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from build_tools import files
from build_tools.config.suite import fits
from build_tools.testing.request import Limits, TestRequest
from build_tools.testing.upstream import choosing
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from build_tools.config.suite import Suite, SuiteConfiguration
    from build_tools.process import Runner
    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.testing.upstream.tree import CopiedTests

__all__ = ["Desk"]

_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Where and with what the test files of a suite run.

    Parameters
    ----------
    suite, configuration
        The recipe's words.
    tests
        The copied tests.
    environment
        The environment under test.
    packages
        The import packages of the wheels under test.
    runner
        Starts the processes.
    folder
        Gets a folder for each test file, with reports and log.
    platform
        The platform that the tests run on.
    say, progress
        Told what happens.
    seats
        What processes that run at the same time have in their environments, each its own GPU; there is at least one.
    keyword
        pytest's ``-k``.
    reruns
        How often tests that failed are tried again.
    """

    suite: Suite
    configuration: SuiteConfiguration
    tests: CopiedTests
    environment: EnvironmentRecord
    packages: tuple[str, ...]
    runner: Runner
    folder: Path
    platform: Platform
    say: Callable[[str], None]
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None
    seats: tuple[Mapping[str, str], ...] = ({},)
    keyword: str | None = None
    reruns: int = 0

    def place(self, file: str) -> Path:
        """Return the folder for what a test file's processes leave."""
        return self.folder / "files" / re.sub(r"[^\w.-]", "_", file)

    def log(self, file: str) -> Path:
        """Return the log of a test file's processes."""
        return self.place(file) / "log.txt"

    def request(self, file: str, settings: Mapping[str, object], *, name: str, arguments: Sequence[str] = ()) -> TestRequest:
        """Return what runs a test file.

        Parameters
        ----------
        file
            The test file.
        settings
            What the choosing plugin is told.
        name
            The name of the run, which its files have.
        arguments
            More arguments of pytest.
        """
        place = self.place(file)
        place.mkdir(parents=True, exist_ok=True)
        told = place / f"{name}.json"
        files.write_text(told, json.dumps(settings))
        platform = self.suite.windows if self.platform is Platform.WINDOWS else self.suite.linux
        variables = {**self.suite.environment, **platform, **self.configuration.environment}
        for entry in self.configuration.settings:
            if any(fits(file, pattern) for pattern in entry.files):
                variables |= entry.environment
        temporary = place / "tmp"
        temporary.mkdir(exist_ok=True)
        return TestRequest(
            python=Path(self.environment.python),
            environment=Path(self.environment.folder),
            cwd=self.tests.folder,
            tests=(file,),
            # The tests' own settings, from the copy; theirs name no folder to write into but the one that they run in.
            arguments=(
                "-c",
                str(self.tests.settings),
                "-p",
                "no:cacheprovider",
                "--basetemp",
                str(temporary / "pytest"),
                *arguments,
            ),
            variables={**variables, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary), **self.seats[0]},
            packages=self.packages,
            plugins=((Path(choosing.__file__), told),),
            limits=Limits(
                collection=self.suite.test_limit_minutes * _MINUTE,
                test=self.suite.test_limit_minutes * _MINUTE,
                whole=self.suite.file_limit_minutes * _MINUTE,
            ),
            may_skip_all=True,
            what=f"the tests in {file}",
        )
