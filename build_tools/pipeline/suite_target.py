"""What a suite is run against: the wheel, the environment that it is installed in, and the tree that the tests come from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.checks.rules.source_commit import assigned_text
from build_tools.environments.installed import site_packages
from build_tools.environments.make import EnvironmentRequest
from build_tools.errors import HipwrightError, Where
from build_tools.locking.places import named_places
from build_tools.locking.wanted import choose
from build_tools.pipeline.built_with import inputs
from build_tools.pipeline.bundling import runs_with
from build_tools.pipeline.run import bring_tree, run_chains
from build_tools.pipeline.setup_venv import tell_chosen, wish_of
from build_tools.pipeline.snapshot_proof import prove_by_snapshots
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.suite import SuiteCode
from build_tools.testing.install import published_files, runtime_files
from build_tools.types import Stage
from build_tools.urls import redact

if TYPE_CHECKING:
    from build_tools.config.project import Project
    from build_tools.config.suite import Suite
    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.receipts.values import EnvironmentRecord, SourceTree
    from build_tools.types import Sha256
    from build_tools.workplace import Workplace

__all__ = ["SuiteTarget", "prove_version", "suite_target"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteTarget:
    """The tree with the tests, the wheels that a result will speak of, where those came from, and the environment that holds them."""

    tree: SourceTree
    wheels: tuple[JudgedWheel, ...]
    environment: EnvironmentRecord
    local: Sha256 | None
    built_from: str | None = None
    index: PublishedIndex | None = None
    pages: tuple[str, ...] = ()


def suite_target(project: Project, suite: Suite, workplace: Workplace, *, log: Path) -> SuiteTarget | None:
    """Bring the tests' tree and install the wheel; None in a dry run, which does neither.

    Where ``--packages`` names the wheel it comes from where the options say that packages are; otherwise it is the one that the run has
    published.

    Parameters
    ----------
    project, suite
        The project and its suite.
    workplace
        Where and with what.
    log
        Gets the output of what installs.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for several interpreters, or for ``--packages`` without the project's wheel; what the stages, choosing
        packages and installing them raise.
    """
    settings = workplace.settings
    if len(settings.python) > 1:
        message = f"a suite runs on one Python, and --python names {len(settings.python)}"
        raise HipwrightError("bad-option-value", message)
    until = Stage.HIPIFIED_PATCHES if settings.packages else Stage.PUBLISH
    chains, _ = run_chains([project], until=until, workplace=workplace)
    chain = chains[0]
    if chain.ruled_out is not None:
        raise HipwrightError("not-supported", f"{project.name} is ruled out here: {chain.ruled_out.reason}")
    if settings.dry_run:
        return None
    return _offered(chain, suite, workplace, log) if settings.packages else _published(chain, suite, workplace, log)


def prove_version(project: Project, target: SuiteTarget, tests_digest: Sha256, workplace: Workplace) -> SuiteCode:
    """Return whose tests run on whose wheel, once it is shown that both are of one commit.

    Raises
    ------
    HipwrightError
        ``tests-mismatch`` when they are not and ``--allow-version-mismatch`` is not given.
    """
    tests, stated = str(target.tree.upstream), _stated_commit(project, target, workplace)
    same = bool(stated) and tests.startswith(stated or "-") and target.built_from in {None, tests}
    code = SuiteCode(tests_commit=tests, tests_digest=tests_digest, wheel_commit=stated, same=same)
    if same:
        return code
    wheel = target.wheels[0].filename
    says = f"was built from {stated}" if stated else "does not say which commit it was built from"
    message = f"the tests are of {tests} ({target.tree.base_version}), and {wheel} {says}"
    if not workplace.settings.allow_version_mismatch:
        hint = f"check out that commit with --{project.name}-ref {stated or 'COMMIT'}, or say --allow-version-mismatch"
        raise HipwrightError("tests-mismatch", message, hint=hint, where=Where(file=target.tree.folder))
    workplace.console.warn(f"{message}; --allow-version-mismatch lets them run, and the result says so")
    return code


def _stated_commit(project: Project, target: SuiteTarget, workplace: Workplace) -> str | None:
    """Return the commit that the installed wheel says it was built from; of a wheel that says none, the one that its build says."""
    stated = project.wheel.source_commit
    if stated is None:
        return target.built_from
    member = site_packages(Path(target.environment.folder), workplace.platform) / stated.member
    try:
        return assigned_text(stated.name, member.read_bytes()) or None
    except (OSError, SyntaxError, ValueError) as error:
        message = f"{stated.member} of the installed {project.wheel.distribution} cannot be read: {error}"
        raise HipwrightError("environment-changed", message, where=Where(file=member)) from error


def _published(chain: Chain, suite: Suite, workplace: Workplace, log: Path) -> SuiteTarget:
    """Return what the run has published, installed with what it runs with."""
    index, built = chain.index(), chain.built()
    wheels = tuple(JudgedWheel(filename=file.filename, sha256=file.sha256) for file in index.files)
    locked = runs_with(chain, inputs(chain, at_hand=True))
    request = EnvironmentRequest(
        interpreter=workplace.interpreters[chain.python],
        owned=(
            *published_files(index, wheels, network=workplace.base.network()),
            *runtime_files(locked, built.pins),
        ),
        requires=suite.requires,
        purpose=f"the environment that the suite of {chain.project.name} runs in",
    )
    environment = workplace.environment(request, runner=workplace.runner, log=log, renew=False)
    return SuiteTarget(
        tree=bring_tree(chain),
        wheels=wheels,
        environment=environment,
        local=built.local,
        built_from=str(built.upstream),
        index=index,
    )


def _offered(chain: Chain, suite: Suite, workplace: Workplace, log: Path) -> SuiteTarget:
    """Return the packages that a person names, installed from where the options say that they are."""
    settings, project = workplace.settings, chain.project
    interpreter = workplace.interpreters[chain.python]
    places = named_places(workplace)
    chosen = choose(
        wish_of(workplace, settings.packages),
        places=lambda: named_places(workplace),
        interpreter=interpreter,
        network=workplace.base.network(),
        cache=workplace.cache,
        today=datetime.now(tz=UTC).date(),
        within=settings.timeout,
        say=workplace.console.say,
        pause=settings.wait_between,
    )
    tell_chosen(chosen, places, workplace)
    prove_by_snapshots(chosen.files, (places.packages, places.rocm), workplace)
    own = canonicalize_name(project.wheel.distribution)
    wheels = tuple(
        JudgedWheel(filename=file.filename, sha256=file.sha256)
        for file in chosen.files
        if canonicalize_name(file.distribution) == own
    )
    if not wheels:
        message = f"--packages does not name {project.wheel.distribution}, whose tests these are"
        hint = f'name it with its version: --packages "{project.wheel.distribution}==V"'
        raise HipwrightError("bad-option-value", message, hint=hint)
    request = EnvironmentRequest(
        interpreter=interpreter,
        owned=chosen.files,
        requires=(*chosen.requirements, *suite.requires),
        build_pins=workplace.requirements / "build-env.txt",
        purpose=f"the environment that the suite of {project.name} runs in",
    )
    environment = workplace.environment(request, runner=workplace.runner, log=log, renew=False)
    pages = tuple(map(redact, places.packages.places))
    return SuiteTarget(tree=bring_tree(chain), wheels=wheels, environment=environment, local=None, pages=pages)
