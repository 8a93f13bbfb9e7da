"""``test_<p>_full``: run the tests that a project's sources bring along against its wheel, all of them or one shard."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from packaging.version import Version

from build_tools import files
from build_tools.config.skips import Place, knows_line, load_skips
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold, remove_tree
from build_tools.locking.places import wanted_targets
from build_tools.options.commands import PROJECT_COMMANDS
from build_tools.options.render import to_arguments
from build_tools.pipeline.suite_devices import seats_of, suite_devices
from build_tools.pipeline.suite_end import FILES, PAPERS, RESULT, finish, last_result, times_path
from build_tools.pipeline.suite_target import prove_version, suite_target
from build_tools.process import printable
from build_tools.receipts.record import plain
from build_tools.receipts.suite import BAD_OUTCOMES
from build_tools.receipts.verdict import CPU_ONLY
from build_tools.testing.gpu import rocm_targets, tested_device
from build_tools.testing.proof import prove_environment
from build_tools.testing.upstream.desk import Desk
from build_tools.testing.upstream.plan import by_file
from build_tools.testing.upstream.shards import refuse_bad_shard
from build_tools.testing.upstream.suite import Asked, prepare, run_shard
from build_tools.testing.upstream.times import costs_from, read_times
from build_tools.testing.upstream.tree import copy_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.config.project import Project
    from build_tools.config.suite import Suite, SuiteConfiguration
    from build_tools.pipeline.suite_target import SuiteTarget
    from build_tools.testing.upstream.suite import Prepared
    from build_tools.workplace import Workplace

__all__ = ["test_suite"]

_NARROWING: Final = (
    "shard",
    "num-shards",
    "keyword",
    "collect-only",
    "failed-first",
    "from-receipt",
    "compare-with",
    "output-dir",
)
"""Options that a line that repeats one test does not have."""


def test_suite(project: Project, workplace: Workplace) -> dict[str, Any]:
    """Run a suite, or one shard of it, and say what came of each test.

    Returns
    -------
    dict
        Under ``suite``: counts, failures, changes, findings, and where the whole result, the report and the verdict lie.

    Raises
    ------
    HipwrightError
        ``tests-failed``, ``skip-findings``, ``no-tests``, ``tests-mismatch``, ``wheel-not-tested``; ``bad-option-value`` for a shard or a
        configuration that does not exist; what building, publishing and installing raise.
    """
    settings, console = workplace.settings, workplace.console
    suite = project.suite
    if suite is None:
        message = f"{project.name} has no suite: its project.toml has no table [suite]"
        hint = "its smoke tests are run by nox -s test_" + project.name.replace("-", "_")
        raise HipwrightError("bad-option-value", message, hint=hint)
    shard, num_shards = refuse_bad_shard(settings.shard, settings.num_shards)
    name = settings.test_config
    configuration = suite.configurations.get(name)
    if configuration is None:
        hint = f"configurations: {', '.join(suite.configurations)}"
        raise HipwrightError("bad-option-value", f"the suite of {project.name} has no configuration {name!r}", hint=hint)
    # What is wrong with the skips is told before anything is built.
    skips = load_skips(
        workplace.external_builds / project.name / suite.skips, suite, knows=lambda line: knows_line(project, line)
    )
    times = read_times(settings.times or times_path(project.name, workplace), project.name, needed=settings.times is not None)
    folder = settings.output_dir or _folder(project, name, shard, num_shards, workplace)
    target = suite_target(project, suite, workplace, log=_log(project, workplace))
    if target is None:
        console.say(f"would run shard {shard} of {num_shards} of the configuration {name}")
        return {"suite": {"dry_run": True}}
    guard = workplace.lock_file(f"suite-{project.name}-{name}-{shard}-of-{num_shards}")
    with hold(guard, purpose=f"running the suite of {project.name}", wait=settings.wait, on_wait=console.say):
        _make_room(folder, ours=settings.output_dir is None)
        with files.temporary_folder(folder, "tests") as scratch:
            seen = suite_devices(configuration, wanted_targets(workplace, project.name), workplace)
            seats = seats_of(seen, configuration, workplace)
            desk = _desk(suite, configuration, target, workplace, seats=seats, folder=folder, scratch=scratch)
            code = prove_version(project, target, desk.tests.sha256, workplace)
            place = Place(
                platform=workplace.platform.value,
                targets=tuple(dict.fromkeys(rocm_targets(seen))) or (CPU_ONLY,),
                line=_line(target.tree.base_version),
                configuration=name,
            )
            before = last_result(project.name, place, workplace) if settings.failed_first else None
            asked = Asked(
                project=project.name,
                place=place,
                shard=shard,
                num_shards=num_shards,
                wanted=settings.words,
                skips=skips,
                today=datetime.now(tz=UTC).date(),
                costs=costs_from(times, name),
                wheels=target.wheels,
                local=target.local,
                code=code,
                failed_first=tuple(before.ended(*BAD_OUTCOMES)) if before is not None else (),
                jobs=settings.jobs or len(seats),
                gpu_tests=suite.gpu_tests,
                devices=tuple(map(tested_device, seen)),
            )
            with console.group(f"find the tests of {project.name}, configuration {name}"):
                prepared = prepare(desk, asked)
            if settings.collect_only:
                return _listed(prepared, asked, workplace)
            with console.group(f"run shard {shard} of {num_shards} of the suite of {project.name}"):
                ran = run_shard(desk, asked, prepared)
                result = msgspec.structs.replace(ran, index=target.index, pages=target.pages)
    return finish(result, folder, workplace, line=_repeats(project, workplace))


def _folder(project: Project, configuration: str, shard: int, num_shards: int, workplace: Workplace) -> Path:
    return workplace.work_dir / "suite" / project.name / configuration / f"shard-{shard}-of-{num_shards}"


def _log(project: Project, workplace: Workplace) -> Path:
    return workplace.work_dir / "logs" / "suite" / f"{project.name}.log"


def _make_room(folder: Path, *, ours: bool) -> None:
    """Make the output folder, without what an earlier run left there.

    Raises
    ------
    HipwrightError
        ``foreign-folder`` for a folder that a person names and that holds something else than an earlier result.
    """
    if folder.is_dir() and any(folder.iterdir()):
        if not ours and not (folder / RESULT).is_file():
            message = f"{folder} holds something, and no result of a suite"
            raise HipwrightError(
                "foreign-folder", message, where=Where(file=folder), hint="name another folder with --output-dir"
            )
        for name in (RESULT, *PAPERS):
            (folder / name).unlink(missing_ok=True)
        remove_tree(folder / FILES)
    files.make_folder(folder, option="--work-dir" if ours else "--output-dir")


def _desk(
    suite: Suite,
    configuration: SuiteConfiguration,
    target: SuiteTarget,
    workplace: Workplace,
    *,
    seats: tuple[Mapping[str, str], ...],
    folder: Path,
    scratch: Path,
) -> Desk:
    neutral = scratch / "empty"
    neutral.mkdir()
    packages = prove_environment(target.environment, target.wheels, runner=workplace.runner, folder=neutral)
    return Desk(
        suite=suite,
        configuration=configuration,
        tests=copy_tests(suite, Path(target.tree.folder), scratch / "tree"),
        environment=target.environment,
        packages=packages,
        runner=workplace.runner,
        folder=folder,
        platform=workplace.platform,
        say=workplace.console.say,
        progress=workplace.console.progress,
        seats=seats,
        keyword=workplace.settings.keyword,
        reruns=workplace.settings.reruns or 0,
    )


def _line(base_version: str) -> str:
    """Return the version line of a version.

    >>> _line("2.13.0a0")
    '2.13'
    """
    return ".".join(map(str, Version(base_version).release[:2]))


def _listed(prepared: Prepared, asked: Asked, workplace: Workplace) -> dict[str, Any]:
    """Show the tests of the shard, and return them."""
    entries = prepared.plan.shards[asked.shard - 1]
    counted = by_file(entries)
    rows = [(file, str(len(tests)), str(sum(test in prepared.skipped for test in tests))) for file, tests in counted.items()]
    title = f"{len(entries)} of {len(prepared.plan.entries)} tests are in shard {asked.shard} of {asked.num_shards}"
    workplace.console.table(title, ("test file", "tests", "skipped by us"), rows)
    for finding in prepared.findings:
        workplace.console.warn(f"{finding.where}: {finding.message}")
    for file, why in prepared.collected.broken.items():
        workplace.console.warn(f"{file} cannot be loaded: {why}")
    return {
        "suite": {
            "plan": prepared.plan.sha256,
            "shard": asked.shard,
            "num_shards": asked.num_shards,
            "planned": len(prepared.plan.entries),
            "tests": list(entries),
            "skipped_by_us": {test: why.reason for test, why in prepared.skipped.items() if test in set(entries)},
            "broken": prepared.collected.broken,
            "files_left_out": prepared.files_left_out,
            "findings": [plain(finding) for finding in prepared.findings],
        }
    }


def _repeats(project: Project, workplace: Workplace) -> Callable[[str, str | None], str]:
    """Return what makes the command line for one test file, with the same settings, and an expression for ``-k``."""
    command = PROJECT_COMMANDS["test_full"]
    words = to_arguments(workplace.resolved, command, project=project.name, omit=_NARROWING)

    def line(file: str, expression: str | None) -> str:
        chosen = ["-k", expression] if expression else []
        return printable([*workplace.nox, "-s", command.session_of(project.name), "--", file, *chosen, *words])

    return line
