"""Wheels of other projects that a project is built with: exactly those that were built before it, and what they run with.

Of this run, for the same interpreter; else those that were handed over; else, where no place of packages is named, those of the work dir
that are of the same interpreter, targets, ROCm and system, and have ROCm inside only where the command says so. Among several the sources
decide: the wheel of those that stand there comes before a newer one of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from build_tools.errors import HipwrightError
from build_tools.locking.keep import lock_in_use
from build_tools.locking.makers import built_names, makers_in, may_need, must_need
from build_tools.pipeline.earlier_builds import EarlierBuild, earlier_build, earlier_builds, targets_text
from build_tools.pipeline.report import repeat_line
from build_tools.pipeline.standing_sources import source_parts, standing_sources
from build_tools.pipeline.step import WouldRun
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from packaging.requirements import Requirement

    from build_tools.config.project import Project
    from build_tools.locking.makers import Built
    from build_tools.pipeline.chain import Chain
    from build_tools.pipeline.handover import Received
    from build_tools.receipts.values import BuiltAgainst
    from build_tools.workplace import Workplace

__all__ = ["find_built_before", "planned", "told_planned"]


def planned(chains: Sequence[Chain], received: Received, workplace: Workplace) -> Built:
    """Return what of each project's packages will be wheels that were built before it, so that no lock names them.

    Parameters
    ----------
    chains
        The projects of the command, on their way.
    received
        What was handed over, of other projects too.
    workplace
        Where and with what.
    """
    beside = {project for (project, stage, _python) in received if stage is Stage.BUILD}
    found: Built = {}
    for chain in chains:
        project = chain.project
        made = built_names(project, (other.project for other in chains))
        for name in map(_name, must_need(project)):
            makers = () if name in made else makers_in(workplace.external_builds, name)
            handed = any(maker.name in beside for maker in makers)
            earlier = not _names_a_place(project, workplace) and any(
                earlier_builds(workplace, maker, python=chain.python_tag) for maker in makers
            )
            made |= {name} if handed or earlier else set()
        found[project.name] = frozenset(made) & found.get(project.name, frozenset(made))
    return found


def told_planned(built: Built, chains: Sequence[Chain], workplace: Workplace) -> list[str]:
    """Return what a lock leaves out, a line each: which package of which project is made by which one."""
    rows = []
    own = {canonicalize_name(chain.project.wheel.distribution): chain.project.name for chain in chains}
    for name, packages in sorted(built.items()):
        for package in sorted(packages):
            makers = [maker.name for maker in makers_in(workplace.external_builds, package)]
            by = own.get(canonicalize_name(package)) or " or ".join(makers)
            rows.append(f"{name}: {package}: built by {by}{'' if canonicalize_name(package) in own else ' earlier'}")
    return rows


def find_built_before(chain: Chain, chains: Sequence[Chain], received: Received) -> tuple[EarlierBuild, ...]:
    """Return the builds whose wheels a project is built with, and those that these were built with, each once.

    Raises
    ------
    HipwrightError
        ``requirement-missing`` when there is none that fits; ``stage-missing`` when the command ends before the one of this run is built,
        or a build that was handed over was made with one that is not here; ``mixed-stack`` when they are of several ROCm versions.
    WouldRun
        In a dry run, when the one of this run would only be built.
    """
    here = [build for build in map(_of_chain, chains) if build is not None and build.python == chain.python_tag]
    here += [
        earlier_build(done, chain.workplace, published=received.get((project, Stage.PUBLISH, python)))
        for (project, stage, python), done in received.items()
        if stage is Stage.BUILD and python == chain.python_tag
    ]
    if Stage.BUILD in chain.done:
        direct = [_exactly(one, here, chain) for one in chain.built().against]
    else:
        direct = [build for need in must_need(chain.project) if (build := _find(need, chain, chains, here, must=True))]
        direct += [build for need in may_need(chain.project) if (build := _find(need, chain, chains, here, must=False))]
    found: dict[str, EarlierBuild] = {}
    waiting = direct
    while waiting:
        build = waiting.pop(0)
        name = build.distribution
        known = found.setdefault(name, build)
        if known.sha256 != build.sha256:
            message = f"{chain.project.name} would be built with two wheels of {name}: {known.filename} and another one that an "
            message += f"earlier wheel was built with ({build.sha256[:12]})"
            hint = "build them anew in one command: " + repeat_line(Stage.BUILD, known.project.name, chain.workplace)
            raise HipwrightError("mixed-stack", message, hint=hint)
        if known is build:
            waiting += [_exactly(one, here, chain) for one in build.built.against]
    _refuse_mixed(chain, found.values())
    return tuple(found.values())


def _of_chain(chain: Chain) -> EarlierBuild | None:
    if Stage.BUILD not in chain.done:
        return None
    published = chain.done.get(Stage.PUBLISH)
    return earlier_build(chain.done[Stage.BUILD], chain.workplace, lock=chain.locked(), published=published)


def _find(
    need: Requirement, chain: Chain, chains: Sequence[Chain], here: Sequence[EarlierBuild], *, must: bool
) -> EarlierBuild | None:
    """Return the build that brings a package, None where a locked file does, or nothing does that has to."""
    place, name = chain.workplace, _name(need)
    of_run = [
        other
        for other in chains
        if other.python_tag == chain.python_tag
        and canonicalize_name(other.project.wheel.distribution) == name
        and other.project.name != chain.project.name
    ]
    found = next((build for build in here if build.distribution == name), None)
    if found is None and of_run and place.settings.dry_run:
        chain.would_run[Stage.PROVISION] = f"comes after the build of {of_run[0].project.name}"
        raise WouldRun
    if found is None and not any(file.distribution == name for file in chain.locked().owned):
        found = None if _names_a_place(chain.project, place) else _of_work_dir(name, chain)
        if found is None and must:
            raise _nothing(need, chain, of_run)
    if found is not None and not need.specifier.contains(found.version, prereleases=True):
        message = f"{chain.project.name} needs {need}, and {found.filename} is what was built before it"
        hint = f"build a {name} that fits, or build {chain.project.name} alone with --find-links naming the place of one"
        raise HipwrightError("requirement-missing", message, hint=hint)
    return found


def _of_work_dir(name: str, chain: Chain) -> EarlierBuild | None:
    """Return the build of the work dir that fits a project: one of the sources as they stand, the newest where there are several."""
    place, rocm = chain.workplace, chain.locked().rocm
    makers = [maker for maker in makers_in(place.external_builds, name) if maker.name != chain.project.name]
    builds = [
        build
        for maker in makers
        for build in earlier_builds(place, maker, python=chain.python_tag)
        if _fits_targets(build, chain)
        and (rocm is None or build.rocm in {None, rocm.version})
        and (build.built.bundled is not None) == place.settings.bundle_rocm
    ]
    having = {build.project.name for build in builds}
    standing = {maker.name: _standing_parts(maker, place) for maker in makers if maker.name in having}

    def is_of(build: EarlierBuild) -> bool | None:
        """Say whether a build was made from its project's sources as they stand; None where there are none to be looked at."""
        wanted, known = standing[build.project.name], build.done.receipt.parts
        return all(known.get(part) == value for part, value in wanted.items()) if wanted is not None else None

    taken = max(builds, key=lambda build: (is_of(build) is True, build.started), default=None)
    if taken is None:
        return None
    _tell(taken.proven(), chain, stands=is_of(taken) is not False)
    return taken


def _fits_targets(build: EarlierBuild, chain: Chain) -> bool:
    """Say whether a build is for the GPUs that a project is built for: for the same, or where its own variable names them, for more."""
    own = chain.project.name in chain.workplace.settings.own_gfx
    return build.targets == targets_text(chain.targets) or (own and set(chain.targets) <= set(build.built.targets))


def _standing_parts(project: Project, place: Workplace) -> dict[str, str] | None:
    """Return what a build of a project's sources as they stand would have of them; None where there are none to be looked at."""
    try:
        return source_parts(standing_sources(project, place))
    except HipwrightError:
        return None


def _tell(found: EarlierBuild, chain: Chain, *, stands: bool) -> None:
    """Say which wheel of the work dir is taken, and what people would not expect of it."""
    place = chain.workplace
    told = f"{chain.project.name} is built with {found.filename}, which was built earlier in this work dir"
    odd = ["has a person's changes in it"] if found.built.local is not None else []
    if not stands:
        odd.append(f"is not of the sources of {found.project.name} that stand there now")
    if odd:
        again = repeat_line(Stage.BUILD, found.project.name, place, force=False)
        place.console.warn(f"{told}, and {' and '.join(odd)}; build that anew first where it should not be so: {again}")
    else:
        place.console.say(told)


def _nothing(need: Requirement, chain: Chain, of_run: Sequence[Chain]) -> HipwrightError:
    place, rocm = chain.workplace, chain.locked().rocm
    if of_run:
        message = f"{chain.project.name} is built with the wheel of {of_run[0].project.name}, and this command does not build it"
        hint = f"build it first: {repeat_line(Stage.BUILD, of_run[0].project.name, place, force=False)}"
        return HipwrightError("stage-missing", message, hint=hint)
    makers = makers_in(place.external_builds, _name(need))
    others = [build for maker in makers for build in earlier_builds(place, maker, python=None)]
    wanted = [chain.python_tag, f"targets {targets_text(chain.targets)}", *([f"ROCm {rocm.version}"] if rocm else [])]
    wanted += ["with ROCm inside"] if place.settings.bundle_rocm else []
    message = f"{chain.project.name} needs {need}, and this work dir has no wheel of it for {', '.join(wanted)}"
    if others:
        rows = sorted({f"{build.filename} (targets {build.targets}, {_rocm_words(build)})" for build in others})
        message += f"; it has {'; '.join(rows)}"
    build = next((repeat_line(Stage.BUILD, maker.name, place, force=False) for maker in makers), None)
    own = repeat_line(Stage.BUILD, chain.project.name, place, force=False)
    own += " --find-links DIR" if " -- " in own else " -- --find-links DIR"
    hint = f"build it: {build}; or name a place that has it: {own}" if build else f"name a place that has it: {own}"
    return HipwrightError("requirement-missing", message, hint=hint)


def _rocm_words(build: EarlierBuild) -> str:
    return f"ROCm {build.rocm or 'none'}" + (" inside" if build.built.bundled is not None else "")


def _exactly(one: BuiltAgainst, here: Sequence[EarlierBuild], chain: Chain) -> EarlierBuild:
    """Return the build of a wheel that an earlier build was made with."""
    place = chain.workplace
    known = next((build for build in here if build.sha256 == one.sha256), None)
    if known is not None:
        return known
    for maker in makers_in(place.external_builds, one.distribution):
        for build in earlier_builds(place, maker, python=None):
            if build.sha256 == one.sha256:
                return build.proven()
    message = f"the wheel of {chain.project.name} was built with {one.filename} ({one.sha256[:12]}), which is not here"
    hint = "hand the receipt of its build over too: --from-receipt …/build/…/receipt.json"
    raise HipwrightError("stage-missing", message, hint=hint)


def _refuse_mixed(chain: Chain, builds: Iterable[EarlierBuild]) -> None:
    rocm = chain.locked().rocm
    rows = {f"{build.filename}": build.rocm for build in builds if build.rocm is not None}
    rows |= {chain.project.name: rocm.version} if rocm is not None else {}
    if len(set(rows.values())) > 1:
        told = ", ".join(f"{name} against ROCm {version}" for name, version in rows.items())
        message = f"one ROCm is needed for all that is built together: {told}"
        raise HipwrightError("mixed-stack", message, hint="lock and build them in one command, with one source of ROCm: --relock")


def _names_a_place(project: Project, workplace: Workplace) -> bool:
    """Say whether a place of packages was named, by this command or when the project was locked."""
    settings = workplace.settings
    if settings.find_links or settings.index_url:
        return True
    try:
        entry = lock_in_use(workplace).projects.get(project.name)
    except HipwrightError:
        return False
    return entry is not None and bool(entry.requested.find_links or entry.requested.index_url)


def _name(requirement: Requirement) -> str:
    return canonicalize_name(requirement.name)
