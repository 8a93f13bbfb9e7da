"""The real PyTorch tree for benchmarks: where its origin lies, and its source stages, run in this process."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks._measure import CLONE, Timed, nox, timed
from build_tools.config.project import load_project
from build_tools.console.events import Console
from build_tools.options.model import Settings
from build_tools.options.resolve import Resolved
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.import_patches import import_patches
from build_tools.pipeline.lock_stage import lock_chains
from build_tools.pipeline.source_stages import SOURCE_STAGES, run_sources
from build_tools.process import Runner, base_environment
from build_tools.types import Platform, ProjectName, Stage
from build_tools.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from build_tools.console.events import Event

__all__ = ["BRANCH", "SOURCES", "Bench", "clocked", "pytorch_origin", "with_imported_series"]

BRANCH: Final = "release/2.6"
"""The branch of the origin that is measured."""

SOURCES: Final = tuple(SOURCE_STAGES)
"""All stages that make a source tree."""


class _Quiet:
    """A renderer that shows nothing."""

    def show(self, event: Event) -> None:
        """Take an event."""

    def close(self) -> None:
        """End."""


_LINE: Final = "imported"


def pytorch_origin() -> Path:
    """Return the bare repository with the releases of PyTorch, fetched when it is not there yet."""
    return _input("pytorch-origin")


def _input(key: str) -> Path:
    document = timed(nox("-s", "inputs", "--", "--json"), cwd=CLONE).stdout
    return Path(json.loads(document)[key])


def with_imported_series(folder: Path) -> Bench:
    """Return a work dir that is locked to a line of the patches that Debian keeps for PyTorch; its recipes are copies."""
    clone = folder / "clone"
    shutil.copytree(CLONE / "external-builds", clone / "external-builds")
    origin, series = pytorch_origin(), _input("pytorch-series")
    bench = Bench(folder=folder, origin=origin, clone=clone)
    bench.run((Stage.CHECKOUT, Stage.BASE_PATCHES))
    place = bench.chain.workplace
    settings = replace(place.resolved.settings, projects=(bench.chain.project.name,), line=_LINE, paths=(series,))
    import_patches(replace(place, resolved=Resolved(settings=settings)))
    return Bench(folder=folder, origin=origin, clone=clone, line=_LINE)


def clocked(work: Callable[[], object]) -> Timed:
    """Do something in this process, and take its time and that of the programs that it starts."""
    before, began = os.times(), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - began, os.times()
    spent = (after.user + after.system + after.children_user + after.children_system) - (
        before.user + before.system + before.children_user + before.children_system
    )
    return Timed(seconds=seconds, processor_seconds=spent, stdout="", stderr="")


@dataclass(kw_only=True, slots=True)
class Bench:
    """A work dir in which PyTorch's source stages run; those in one folder share a cache. ``line`` is a patch line in the rules' place."""

    folder: Path
    origin: Path
    work_dir: str = "work"
    clone: Path = CLONE
    line: str | None = None
    chain: Chain = field(init=False)

    def __post_init__(self) -> None:
        """Lock."""
        project = load_project(self.clone / "external-builds", ProjectName("pytorch"))
        place = Workplace(
            clone=self.clone,
            typed_in=self.folder,
            cache=self.folder / "cache",
            python=Path(sys.executable),
            platform=Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX,
            processors=os.cpu_count() or 1,
            machine=dict(os.environ),
            runner=Runner(environment=base_environment(os.environ)),
            console=Console(renderer=_Quiet()),
            resolved=Resolved(
                settings=Settings(
                    work_dir=self.folder / self.work_dir,
                    origin={project.name: str(self.origin)},
                    ref={project.name: BRANCH},
                    line=self.line,
                )
            ),
        )
        self.chain = Chain(project=project, workplace=place, targets=())
        lock_chains([self.chain], place, Stage.HIPIFIED_PATCHES)

    @property
    def tree(self) -> Path:
        """The source tree."""
        return self.chain.tree

    def run(self, stages: Sequence[Stage] = SOURCES) -> Chain:
        """Run source stages, as a command does that finds the lock in its work dir, and return what came of them."""
        place = self.chain.workplace
        chain = Chain(project=self.chain.project, workplace=place, targets=(), done={Stage.LOCK: self.chain.done[Stage.LOCK]})
        run_sources(chain, stages, place.origin(chain.project, chain.locked().requested.origin).git)
        return chain
