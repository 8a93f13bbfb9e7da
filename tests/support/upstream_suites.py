"""Suites of a toy wheel that run in real processes, from test files given as path to source."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import date
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from build_tools import process
from build_tools.config.skips import Place, SkipRow, load_skips
from build_tools.config.suite import Suite, SuiteConfiguration
from build_tools.receipts.suite import SuiteCode
from build_tools.testing.upstream.desk import Desk
from build_tools.testing.upstream.shards import Costs
from build_tools.testing.upstream.suite import Asked, prepare, run_shard
from build_tools.testing.upstream.tree import copy_tests
from build_tools.types import Platform
from tests.support.environment_under_test import WHEEL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.receipts.suite import SuiteResult
    from build_tools.testing.upstream.suite import Prepared
    from tests.support.environment_under_test import ToyEnvironment

__all__ = ["SUITE", "SuiteSite"]

SUITE = Suite(configurations={"default": SuiteConfiguration(files=("**/test_*.py",))})
TODAY = date(2026, 6, 1)


@dataclass
class SuiteSite:
    """A source tree with tests, skip files, and the toy environment."""

    tested: ToyEnvironment
    folder: Path
    suite: Suite = SUITE
    said: list[str] = field(default_factory=list)
    count: int = 0

    def write(self, tests: Mapping[str, str]) -> None:
        """Write test files, by their path without the ending."""
        for name, text in tests.items():
            path = self.folder / "tree" / "test" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")

    def skips(self, text: str) -> tuple[SkipRow, ...]:
        """Return the entries of a skip file."""
        folder = self.folder / "skips"
        folder.mkdir(exist_ok=True)
        (folder / "all.toml").write_text(f"schema = 1\n{dedent(text)}", encoding="utf-8")
        return load_skips(folder, self.suite)

    def desk(self, **more: Any) -> Desk:  # noqa: ANN401 - values of any field
        """Return the desk of a run of its own."""
        self.count += 1
        # The environment borrows this one's pytest, and shall not borrow its plugins.
        machine = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HOME": str(self.folder)}
        place = self.folder / f"out-{self.count}"
        return Desk(
            suite=self.suite,
            configuration=self.suite.configurations["default"],
            tests=copy_tests(self.suite, self.folder / "tree", place / "tree"),
            environment=self.tested.record,
            packages=("toywheel",),
            runner=process.Runner(environment={**process.base_environment(os.environ), **machine}),
            folder=place,
            platform=Platform.LINUX,
            say=self.said.append,
            **more,
        )

    def asked(self, **more: Any) -> Asked:  # noqa: ANN401 - values of any field
        """Return what is asked: all of it in one shard, unless ``more`` says otherwise."""
        values: dict[str, Any] = {
            "project": "toy",
            "place": Place(platform="linux", targets=("cpu-only",), line="1.0", configuration="default"),
            "shard": 1,
            "num_shards": 1,
            "wanted": (),
            "skips": (),
            "today": TODAY,
            "costs": Costs(tests={}, files={}),
            "wheels": (WHEEL,),
            "local": None,
            "code": SuiteCode(tests_commit="a" * 40, tests_digest=WHEEL.sha256, wheel_commit="a" * 40, same=True),
        }
        return Asked(**{**values, **more})

    def prepared(self, keyword: str | None = None, **more: Any) -> Prepared:  # noqa: ANN401 - values of any field
        """Return what is known before tests run."""
        return prepare(self.desk(keyword=keyword), self.asked(**more))

    def run(
        self,
        keyword: str | None = None,
        desk: Mapping[str, Any] | None = None,
        **more: Any,  # noqa: ANN401 - values of any field
    ) -> SuiteResult:
        """Run it; ``desk`` has further values of the desk's fields."""
        place, asked = self.desk(keyword=keyword, **(desk or {})), self.asked(**more)
        return run_shard(place, asked, prepare(place, asked))
