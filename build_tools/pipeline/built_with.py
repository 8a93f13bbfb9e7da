"""What a project is built with beside its own lock: the wheels that were built before it, and what those run with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from packaging.utils import canonicalize_name

from build_tools import digest, files
from build_tools.builds.import_proof import prove_import
from build_tools.errors import HipwrightError
from build_tools.locking.packages import fetchable, fitting
from build_tools.receipts.check import JudgedWheel
from build_tools.receipts.record import plain
from build_tools.receipts.values import BuiltAgainst
from build_tools.testing.install import published_files, runtime_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from build_tools.config.project import Project
    from build_tools.pipeline.chain import Chain
    from build_tools.pipeline.earlier_builds import EarlierBuild
    from build_tools.pipeline.engine import Making
    from build_tools.receipts.lock import LockedFile, LockedProject
    from build_tools.receipts.values import EnvironmentRecord, FlagValue
    from build_tools.types import Platform, Sha256
    from build_tools.workplace import Workplace

__all__ = [
    "against",
    "before_parts",
    "edits_before",
    "flag_parts",
    "inputs",
    "packages_digest",
    "prove_flags_of",
    "prove_imports_of",
]


def inputs(chain: Chain, *, at_hand: bool) -> LockedProject:
    """Return a project's lock entry with the wheels that were built before it among its owned files, and with what those run with.

    Parameters
    ----------
    chain
        The project, with what was built before it.
    at_hand
        Whether the files are to be where this machine finds them: packages that projects bring are packed for that.

    Raises
    ------
    HipwrightError
        ``lock-conflict`` when a lock has no files for the interpreter; ``mixed-stack`` when one package would come in two builds.
    """
    place, interpreter = chain.workplace, chain.workplace.interpreters[chain.python]
    made = {build.distribution for build in chain.before}
    entry = chain.locked()
    entry = fitting(
        msgspec.structs.replace(entry, owned=tuple(file for file in entry.owned if file.distribution not in made)), interpreter
    )
    entry = fetchable(entry, chain.project, place) if at_hand else entry
    files = {canonicalize_name(file.distribution): file for file in entry.packages}
    extra: dict[str, LockedFile] = {}
    for build in chain.before:
        needs = fitting(build.lock, interpreter)
        needs = msgspec.structs.replace(needs, owned=tuple(file for file in needs.owned if file.distribution not in made))
        if build.built.bundled is not None:
            needs = msgspec.structs.replace(needs, rocm=None)
        needs = fetchable(needs, build.project, place) if at_hand else needs
        for file in (_wheel_of(build, place, at_hand=at_hand), *runtime_files(needs, build.built.pins)):
            name = canonicalize_name(file.distribution)
            known = files.setdefault(name, file)
            if known.sha256 != file.sha256:
                message = (
                    f"{chain.project.name} would have two builds of {file.distribution}: {known.filename} ({known.sha256[:12]}) "
                )
                message += f"and, with {build.filename}, {file.filename} ({file.sha256[:12]})"
                hint = "lock and build them in one command, against one set of ROCm packages: --relock"
                raise HipwrightError("mixed-stack", message, hint=hint)
            if known is file:
                extra[file.filename] = file
    return msgspec.structs.replace(entry, owned=(*entry.owned, *extra.values()))


def _wheel_of(build: EarlierBuild, place: Workplace, *, at_hand: bool) -> LockedFile:
    """Return the wheel of an earlier build: where it lies in the work dir, else where it was published."""
    if not at_hand or build.published is None or build.path.is_file():
        return build.file()
    wheel = JudgedWheel(filename=build.filename, sha256=build.sha256)
    (file,) = published_files(build.published, [wheel], network=place.base.network())
    return file


def against(chain: Chain) -> tuple[BuiltAgainst, ...]:
    """Return the wheels that a build had in its environment, for its receipt."""
    return tuple(
        BuiltAgainst(
            project=build.project.name,
            distribution=build.distribution,
            version=build.version,
            filename=build.filename,
            sha256=build.sha256,
        )
        for build in chain.before
    )


def edits_before(chain: Chain) -> tuple[Sha256, ...]:
    """Return the digests of the changes of a person's that are in the wheels that were built before."""
    return tuple(sorted(build.built.local for build in chain.before if build.built.local is not None))


def before_parts(chain: Chain) -> dict[str, str]:
    """Return what a build's digest has of the wheels that were built before it: another one of them is another build."""
    rows = [plain(one) for one in against(chain)]
    return {"built before": digest.of_value(rows)} if rows else {}


def packages_digest(chain: Chain) -> Sha256:
    """Return the digest of the packages that a project's wheels run with; where a wheel that was built before lies does not count."""
    locked = inputs(chain, at_hand=False)
    built = {build.sha256 for build in chain.before}
    rows = [[file.filename, file.sha256] if file.sha256 in built else plain(file) for file in locked.packages]
    return digest.of_value(rows)


def prove_imports_of(chain: Chain, environment: EnvironmentRecord, making: Making) -> tuple[FlagValue, ...]:
    """Import the wheels that were built before, where their projects say what to import: nothing is built on one that cannot be loaded.

    Return their flags.

    Raises
    ------
    HipwrightError
        ``import-failed``; ``flag-differs``.
    """
    found: list[FlagValue] = []
    for build in chain.before:
        found += _proved(build.project, build.filename, chain, environment, making, so="nothing is built on it")
    return tuple(found)


def prove_flags_of(chain: Chain, environment: EnvironmentRecord, making: Making) -> tuple[FlagValue, ...]:
    """Return the flags of a project's own wheel in the environment that it is to be tested in; nothing is imported where it has none.

    Raises
    ------
    HipwrightError
        ``import-failed``; ``flag-differs``.
    """
    project = chain.project
    if not project.wheel.flags_on(chain.workplace.platform.value):
        return ()
    return _proved(project, chain.built().wheels[0].filename, chain, environment, making, so="it is not tested")


def flag_parts(projects: Iterable[Project], platform: Platform) -> dict[str, str]:
    """Return what a stage's digest has of the flags that it reads; nothing where there are none."""
    rows = [[project.name, plain(project.wheel.flags_on(platform.value))] for project in projects]
    return {"flags": digest.of_value(rows)} if any(flags for _name, flags in rows) else {}


def _proved(
    project: Project, filename: str, chain: Chain, environment: EnvironmentRecord, making: Making, *, so: str
) -> tuple[FlagValue, ...]:
    flags = project.wheel.flags_on(chain.workplace.platform.value)
    module = project.wheel.import_name or (flags[0].name.partition(".")[0] if flags else None)
    if module is None:
        return ()
    chain.workplace.console.say(f"importing {module} of {filename}")
    with files.temporary_folder(making.folder, "import") as scratch:
        return prove_import(
            module, filename, environment=environment, runner=making.runner, folder=scratch, log=making.log, flags=flags, so=so
        )
