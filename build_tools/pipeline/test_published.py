"""``test_wheels`` and ``test_<p> -- --packages``: test wheels that lie in an index or on a page, whoever built and published them."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from packaging.utils import canonicalize_name

from build_tools import digest
from build_tools.config.project import load_project
from build_tools.environments.make import EnvironmentRequest
from build_tools.errors import HipwrightError
from build_tools.files import hold, make_folder, remove_tree
from build_tools.locking.places import named_places, wanted_targets
from build_tools.locking.wanted import choose
from build_tools.pipeline.setup_venv import show_packages, tell_chosen, tell_strays, wish_of
from build_tools.pipeline.snapshot_proof import prove_by_snapshots
from build_tools.pipeline.test_stage import devices_to_test_on, reach_verdicts
from build_tools.pipeline.verdict_keeping import keep_beside_source
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import plain
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.environments.interpreter import Interpreter
    from build_tools.receipts.lock import LockedFile
    from build_tools.receipts.stage import TestResult
    from build_tools.workplace import Workplace

__all__ = ["test_published"]

_NAME: Final = 16


def test_published(projects: Sequence[Project], workplace: Workplace) -> dict[str, Any]:
    """Install packages from where they are offered, prove their bytes, run the projects' smoke tests, and return the verdicts.

    Parameters
    ----------
    projects
        The projects whose smoke tests are run, each in an environment of its own. Packages are those that are named, among which or
        among whose requirements its distribution must be; else its distribution, with each project's wheel whose version is named.
    workplace
        Where and with what; the options name packages, sources, interpreters and GPUs.

    Returns
    -------
    dict
        Under ``verdicts``: those of each project, interpreter and device.

    Raises
    ------
    HipwrightError
        ``requirement-missing``, ``no-wheel`` when the project's own package is not among what was chosen, what installing raises, and
        as :func:`build_tools.pipeline.test_stage.reach_verdicts`. All projects and interpreters are tested; the first failure
        is raised.
    """
    verdicts: list[Any] = []
    failures: list[HipwrightError] = []
    for project, interpreter in itertools.product(projects, workplace.interpreters.values()):
        packages = workplace.settings.packages or _packages(project, workplace)
        try:
            with workplace.console.group(f"test {project.name} on Python {interpreter.version}"):
                result = _test_on(interpreter, project, workplace, packages=packages)
        except HipwrightError as failure:
            failures.append(failure)
            # The first is what the command fails with.
            if len(failures) > 1:
                workplace.console.warn(f"{project.name} on Python {interpreter.version}: {failure.message}")
        else:
            verdicts += [plain(verdict) for verdict in (result.value, *result.more)]
    document: dict[str, object] = {"verdicts": verdicts}
    if failures:
        failures[0].document = document
        raise failures[0]
    return document


def _packages(project: Project, workplace: Workplace) -> tuple[str, ...]:
    """Return the requirement on a project's own distribution, and those on the wheels whose versions are named."""
    named = {
        load_project(workplace.external_builds, ProjectName(name)).wheel.distribution: version
        for name, version in workplace.settings.wheel_version.items()
    }
    own = project.wheel.distribution
    return (*([] if own in named else [own]), *(f"{distribution}=={version}" for distribution, version in named.items()))


def _test_on(interpreter: Interpreter, project: Project, workplace: Workplace, *, packages: tuple[str, ...]) -> TestResult:
    settings, console = workplace.settings, workplace.console
    places = named_places(workplace)
    chosen = choose(
        wish_of(workplace, packages),
        places=lambda: places,
        interpreter=interpreter,
        network=workplace.base.network(),
        cache=workplace.cache,
        today=datetime.now(tz=UTC).date(),
        within=settings.timeout,
        say=console.say,
        pause=settings.wait_between,
    )
    tell_chosen(chosen, places, workplace)
    prove_by_snapshots(chosen.files, (places.packages, places.rocm), workplace)
    wheels = _wheels(project, chosen.files)
    devices = devices_to_test_on(workplace, wanted_targets(workplace, project.name))
    name = digest.of_value([sorted([file.filename, file.sha256] for file in chosen.files), interpreter.python_tag])[:_NAME]
    log = workplace.work_dir / "logs" / "test" / project.name / f"{name}.log"
    log.unlink(missing_ok=True)
    request = EnvironmentRequest(
        interpreter=interpreter,
        owned=chosen.files,
        pins=workplace.requirements / "smoke-env.txt",
        requires=(*project.tests.requires, *chosen.others),
        purpose=f"the environment that {project.name} is tested in",
    )
    folder = workplace.work_dir / "test-published" / project.name / name
    guard = workplace.lock_file(f"test-{project.name}-{name}")
    # Held over the test too: another run makes the same environment again.
    with hold(guard, purpose=f"testing {project.name}", wait=settings.wait, on_wait=console.say):
        remove_tree(folder)
        make_folder(folder)
        # What is tested is what was just unpacked: an earlier environment may have been changed since.
        record = workplace.environment(request, runner=workplace.runner, log=log, renew=True)
        tell_strays(workplace, but=())
        show_packages(record, f"Installed for Python {record.python_version}", f"from {places.describe()}", workplace)
        return reach_verdicts(
            project,
            environment=record,
            wheels=wheels,
            local=None,
            flags=(),
            devices=devices,
            keep=lambda verdict: keep_beside_source(verdict, places.packages, workplace),
            workplace=workplace,
            runner=workplace.runner,
            folder=folder,
            log=log,
        )


def _wheels(project: Project, files: tuple[LockedFile, ...]) -> tuple[JudgedWheel, ...]:
    own = canonicalize_name(project.wheel.distribution)
    found = tuple(
        JudgedWheel(filename=file.filename, sha256=file.sha256) for file in files if canonicalize_name(file.distribution) == own
    )
    if not found:
        message = f"{own} is not among the packages that were chosen, so the smoke tests of {project.name} have nothing to test"
        there = ", ".join(sorted({str(canonicalize_name(file.distribution)) for file in files})) or "none"
        raise HipwrightError("no-wheel", f"{message}; chosen are {there}", hint=f'name it: --packages "{own}==…"')
    return found
