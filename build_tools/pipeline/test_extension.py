"""``test_extension``: install a project's tree editable into an environment that is there, read its flags, and run its own tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from build_tools import files
from build_tools.builds.import_proof import prove_import
from build_tools.config.project import load_project
from build_tools.environments.editable import EditableInstall
from build_tools.errors import HipwrightError, Where
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.extension_build import prepare_build
from build_tools.pipeline.given_environment import given_environment
from build_tools.pipeline.hip_check import prober_of, project_targets, tree_of_project
from build_tools.pipeline.test_stage import devices_to_test_on
from build_tools.process import printable
from build_tools.receipts.record import plain
from build_tools.testing.choosing import together
from build_tools.testing.outcome import raise_for_outcome
from build_tools.testing.request import Limits, TestRequest
from build_tools.testing.run import run_tests
from build_tools.testing.tree_settings import has_pytest_settings
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.pipeline.given_environment import GivenEnvironment
    from build_tools.receipts.values import FlagValue
    from build_tools.testing.choosing import VisibleDevice
    from build_tools.testing.hip import HipAnswer
    from build_tools.testing.outcome import TestOutcome
    from build_tools.workplace import Workplace

__all__ = ["test_extension"]

_COLUMNS: Final = ("what", "result", "passed", "failed", "skipped", "flaky", "seconds")
_MINUTE: Final = 60.0
_COLLECTION: Final = 300.0
_PYTEST: Final = "pytest>=8"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A part of an extension's tests that is run by itself: pytest's arguments, and what names the GPUs that it sees."""

    what: str
    tests: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def test_extension(workplace: Workplace) -> dict[str, Any]:
    """Try the one project that is named.

    Returns
    -------
    dict
        ``installed`` packages, ``flags`` as they were proved, ``tests`` with how each part ended, ``targets``.

    Raises
    ------
    HipwrightError
        ``tests-failed`` and its like with the document; ``flag-differs``, ``import-failed``; ``requirement-missing``,
        ``install-failed``; ``no-gpu-targets``; ``bad-hooks``; ``no-compiler`` on Windows.
    """
    settings, console = workplace.settings, workplace.console
    if len(settings.projects) != 1:
        hint = "name it: nox -s test_extension -- --projects NAME --venv DIR"
        raise HipwrightError("bad-option-value", f"test_extension tries one project, not {len(settings.projects)}", hint=hint)
    project = load_project(workplace.external_builds, ProjectName(settings.projects[0]))
    tree = tree_of_project(project, workplace)
    studio = workplace.visual_studio
    _refuse_without(project.extension.tests, "unit tests", project, tree)
    place = given_environment(settings.venv, workplace, flag="--venv DIR", programs=studio.path if studio is not None else ())
    folder = workplace.work_dir / "test-extension" / project.name
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "test_extension.log"
    log.unlink(missing_ok=True)
    document: dict[str, Any] = {"project": project.name, "tree": str(tree), "environment": str(place.folder)}
    with console.group(f"install {project.name} from {tree}"), files.temporary_folder(folder, "notes") as notes:
        install = EditableInstall(
            pip=workplace.python,
            target=place.python,
            tree=tree,
            extras=project.extension.extras,
            installed=place.installed,
            base=workplace.base,
            notes=notes,
            runner=workplace.runner,
            log=log,
        )
        install.prepare()
        answer, targets = _hip(project, place, workplace)
        build = prepare_build(project, tree, place, targets, workplace)
        document["targets"] = list(build.targets)
        document["installed"] = list(install.install(_pytest_of(place), build.variables))
    document["flags"] = [plain(flag) for flag in _flags(project, place, folder, log, workplace)]
    devices = devices_to_test_on(workplace, targets)
    left_out = _left_out(project, answer, workplace)
    parts = _parts(project, devices, hip=left_out is None)
    outcomes: list[tuple[str, TestOutcome]] = []
    for part in parts:
        console.say(f"running the {part.what} of {project.name}")
        into = folder / part.what.replace(" ", "-")
        own = _settings(tree, part.tests, into)
        request = _request(part, project, tree, place, reruns=settings.reruns or 0, arguments=own)
        outcome = run_tests(request, runner=workplace.runner, folder=into, log=log, say=console.say)
        outcomes.append((part.what, outcome))
        if not outcome.passed:
            break
    document["tests"] = [_told(what, outcome) for what, outcome in outcomes]
    document["not_run"] = [part.what for part in parts[len(outcomes) :]]
    _show(project, outcomes, left_out, workplace)
    try:
        for what, outcome in outcomes:
            raise_for_outcome(outcome, what=f"{what} of {project.name}")
    except HipwrightError as error:
        error.document = document
        raise
    again = printable([*workplace.nox, "-s", "profile", "--", "--venv", str(place.folder)])
    console.say(f"{project.name} is installed in {place.folder} from {tree}; {again} SCRIPT measures its examples")
    return document


def _hip(project: Project, place: GivenEnvironment, workplace: Workplace) -> tuple[HipAnswer | None, tuple[str, ...]]:
    """Return what torch says and the GPU targets, of a project that has to do with either; none of another."""
    extension = project.extension
    own = project.build.target_variable is not None or extension.detect_targets is not None
    if not own and not extension.hip_tests:
        return None, wanted_targets(workplace, project.name)
    prober = prober_of(place, workplace)
    answer = prober.ask_torch()
    if not own:
        return answer, wanted_targets(workplace, project.name)
    return answer, project_targets(project, answer, prober, workplace)[0]


def _refuse_without(tests: tuple[str, ...], what: str, project: Project, tree: Path) -> None:
    """Refuse a tree that has no tests where the recipe says that they are, before anything is built."""
    first = tests[0].partition("::")[0] if tests else "-"
    if not first.startswith("-") and not (tree / first).exists():
        message = f"{tree} has no {first}, where the {what} of {project.name} should be"
        hint = f"say where they are: tests under [extension] of external-builds/{project.name}/project.toml"
        raise HipwrightError("no-tests", message, where=Where(file=tree, key="extension.tests"), hint=hint)


def _pytest_of(place: GivenEnvironment) -> tuple[str, ...]:
    """Return the requirement of pytest for an environment that has none."""
    return () if any(one.name == "pytest" for one in place.installed) else (_PYTEST,)


def _flags(project: Project, place: GivenEnvironment, folder: Path, log: Path, workplace: Workplace) -> tuple[FlagValue, ...]:
    flags = project.wheel.flags_on(workplace.platform.value)
    module = project.wheel.import_name or (flags[0].name.partition(".")[0] if flags else None)
    if module is None:
        return ()
    workplace.console.say(f"importing {module}")
    with files.temporary_folder(folder, "import") as scratch:
        return prove_import(
            module,
            f"the editable install of {project.name}",
            environment=place,
            runner=workplace.runner,
            folder=scratch,
            log=log,
            flags=flags,
            so="it is not tested",
            variables=place.variables,
        )


def _parts(project: Project, devices: Sequence[VisibleDevice], *, hip: bool) -> list[_Part]:
    """Return the parts of the tests that are run: the unit tests, and those for HIP where that can be used, on one GPU after the other.

    Where no GPU is listed, as on Windows, tests find theirs by themselves. They follow each other: they share the folder that they run in.
    """
    extension = project.extension
    parts = [_Part(what="unit tests", tests=extension.tests, variables=together(devices) if devices else {})]
    if not extension.hip_tests or not hip:
        return parts
    named = [
        (f" on gpu-{number}-{one.target}", one.variables) for number, one in enumerate(devices) if one.device.vendor == "amd"
    ]
    if len(named) < 2:  # noqa: PLR2004 - one GPU needs no name
        named = [("", variables) for _name, variables in named] or [("", {})]
    return [*parts, *(_Part(what=f"HIP tests{name}", tests=extension.hip_tests, variables=seen) for name, seen in named)]


def _left_out(project: Project, answer: HipAnswer | None, workplace: Workplace) -> str | None:
    """Return why the tests for HIP are not run; None where they are, or where there are none."""
    extension = project.extension
    if not extension.hip_tests:
        return None
    if workplace.platform.value not in extension.hip_platforms:
        return f"the HIP tests are for {', '.join(extension.hip_platforms)}"
    if answer is None or not answer.available or answer.hip is None:
        return "the HIP tests were not run: HIP cannot be used here, and nox -s hip_check says why"
    return None


def _settings(tree: Path, tests: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Return the arguments that keep pytest from settings and conftest files of folders around the tree, such as the clone's own."""
    if has_pytest_settings(tree, tests):
        return ()
    file = folder.with_name(f"{folder.name}.ini")
    files.write_text(file, "[pytest]\n")
    return ("-c", str(file), "--confcutdir", str(tree))


def _request(
    part: _Part, project: Project, tree: Path, place: GivenEnvironment, *, reruns: int, arguments: tuple[str, ...]
) -> TestRequest:
    whole = project.extension.time_limit_minutes * _MINUTE
    return TestRequest(
        python=place.python,
        environment=place.folder,
        cwd=tree,
        tests=part.tests,
        # The tree's own settings of pytest count; the first failure ends it, unless it may pass at a further attempt.
        arguments=(*(() if reruns else ("--exitfirst",)), "-p", "no:cacheprovider", *arguments),
        variables={**place.variables, **part.variables},
        limits=Limits(collection=min(_COLLECTION, whole), test=whole, whole=whole),
        reruns=reruns,
        what=f"the {part.what} of {project.name}",
    )


def _told(what: str, outcome: TestOutcome) -> dict[str, Any]:
    return {
        "what": what,
        "kind": outcome.kind.value,
        "counts": plain(outcome.counts),
        "failures": [result.test for result in outcome.failures],
        "flaky": [plain(one) for one in outcome.flaky],
        "report": str(outcome.report_path),
        "seconds": round(outcome.seconds, 1),
    }


def _show(project: Project, outcomes: list[tuple[str, TestOutcome]], left_out: str | None, workplace: Workplace) -> None:
    rows = []
    for what, outcome in outcomes:
        counts = outcome.counts
        failed = str(counts.failed + counts.errors)
        numbers = (str(counts.passed), failed, str(counts.skipped), str(len(outcome.flaky)))
        rows.append((what, outcome.kind.value, *numbers, f"{outcome.seconds:.1f}"))
    flaky = [one.told for _what, outcome in outcomes for one in outcome.flaky]
    workplace.console.table(
        f"Tests of {project.name}", _COLUMNS, rows, note="\n".join([*flaky, *([left_out] if left_out else [])])
    )
