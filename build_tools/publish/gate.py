"""Whether wheels may enter a channel: one pure function of the files, their verdicts and the channel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from packaging.version import InvalidVersion, Version

from build_tools.config.targets import offers, parse_target
from build_tools.publish.retest import failed, pass_after
from build_tools.receipts.verdict import CPU_ONLY
from build_tools.wheels.local_version import rocm_of_local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from build_tools.config.channels import Channel, VersionStage
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.receipts.verdict import Verdict
    from build_tools.types import GfxTarget, Sha256

__all__ = [
    "TEST_BY",
    "BuildResult",
    "Circumstances",
    "TestResult",
    "advice",
    "always_a_runner",
    "decide",
    "reasons_by_file",
    "refusals",
]

BuildResult = Literal["passed", "failed"]
"""How a wheel came out of its build: ``failed`` where it is of no use to anybody, such as one that is yanked."""

TestResult = Literal["passed", "failed", "cpu-only", "none"]
"""What the verdicts on a wheel's bytes say together: ``cpu-only`` when all that passed ran without a GPU."""

TEST_BY: Final = "nox -s test_<project>"
"""The command that tests what a work dir's own chain published."""

_LOCAL: Final = re.compile(r"(?:^|\.)local[0-9a-f]{8}(?:\.|$)")
"""The part of a local version that a build with a person's own changes carries."""


def always_a_runner(_target: GfxTarget | None) -> bool:
    """Say that each target has a machine that could test it, so that nothing excuses a missing test."""
    return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What besides the wheels decides about a promotion.

    ``release_type`` is that of the run. ``override`` is a person's reason to take wheels that no machine can test. ``has_runner`` tells
    whether a machine that could test a target is there; of no target in particular it is asked with None.
    """

    release_type: str | None = None
    override: str | None = None
    has_runner: Callable[[GfxTarget | None], bool] = always_a_runner


def decide(build: BuildResult, tests: TestResult, *, cpu_only_counts: bool, runner: bool, override: bool) -> bool:
    """Return whether a wheel enters, for one target that is demanded of it.

    An override stands in for a test that no machine could run; it never outweighs a failure, nor a test that was merely not run.

    Parameters
    ----------
    build
        How the wheel was built.
    tests
        What the tests said.
    cpu_only_counts
        Whether the channel takes tests without a GPU for enough.
    runner
        Whether there is a machine that could test it.
    override
        Whether a person gave a reason to go without.
    """
    if build == "failed" or tests == "failed":
        return False
    if tests == "passed" or (tests == "cpu-only" and cpu_only_counts):
        return True
    return override and not runner


def refusals(
    files: Sequence[IndexedFile],
    verdicts: Sequence[Verdict],
    *,
    channel: Channel,
    circumstances: Circumstances,
) -> tuple[str, ...]:
    """Return every reason why files may not enter a channel; none means that they may.

    A file needs a verdict that names its very bytes, by tests of the commit that it was built from. Of those verdicts none may be a failure
    that the same tests did not take back later, not even of one shard, and the targets of the whole ones must be what the channel demands:
    ``gfx942:xnack+`` counts for ``gfx942``.
    A wheel with a person's own changes enters no channel.

    Parameters
    ----------
    files
        The files, as the index that they come from has them.
    verdicts
        All verdicts at hand; those that speak of other bytes count for nothing.
    channel
        The channel and its demands.
    circumstances
        What else counts.
    """
    if not files:
        return ("there is no file to promote",)
    given = circumstances
    found: list[str] = []
    if not _takes_run(channel, given):
        kind = (
            "says not what release type it is of"
            if given.release_type is None
            else f"is of the release type {given.release_type}"
        )
        found.append(f"the run {kind}, and the channel {channel.name} takes {', '.join(channel.release_types)}")
    of_files = reasons_by_file(files, verdicts, channel=channel, circumstances=circumstances)
    return (*found, *(reason for reasons in of_files.values() for reason in reasons))


def reasons_by_file(
    files: Sequence[IndexedFile],
    verdicts: Sequence[Verdict],
    *,
    channel: Channel,
    circumstances: Circumstances,
) -> Mapping[str, tuple[str, ...]]:
    """Return why each file may not enter a channel, by its name; see :func:`refusals`, which has what is said of the run besides."""
    bound, named = _by_bytes(verdicts), {wheel.filename for verdict in verdicts for wheel in verdict.wheels}
    return {
        file.filename: tuple(_reasons(file, bound.get(file.sha256, ()), channel, circumstances, named=file.filename in named))
        for file in files
    }


def advice(
    files: Sequence[IndexedFile],
    verdicts: Sequence[Verdict],
    *,
    channel: Channel,
    circumstances: Circumstances,
    test_by: str = TEST_BY,
) -> str:
    """Return what to do about a refusal: what keeps the wheels out for good comes before what a test could mend.

    Parameters are those of :func:`refusals`, and ``test_by``, the command line that tests the files where they lie.
    """
    bound = _by_bytes(verdicts)
    judged = [(file, bound.get(file.sha256, ())) for file in files]
    if any(_is_changed(file, found) for file, found in judged):
        return (
            "no test lets wheels with local changes in: bring the changes upstream (or save them as patches of the project and commit "
            "those), or take them out, then build, test and promote again"
        )
    if any(True for file, found in judged for _ in _failures(file, found)):
        return (
            "mend what failed, then build with another version or build number, and test that; where the machine or a test was at fault, "
            "test these wheels again with `nox -s test_<project>`, and the later pass counts"
        )
    if any(True for file, found in judged for _ in (*_build_faults(file, found), *_version_faults(file, channel))):
        return "promote other wheels, or into a channel that takes these: --channel NAME"
    if not _takes_run(channel, circumstances):
        return "name a channel that takes such runs with --channel; a run is told what it is by --release-type when it publishes"
    if channel.accepts_cpu_only:
        return f"test these wheels with `{test_by}`, then promote them again"
    return f"test these wheels on a machine with a GPU with `{test_by}`, or try the chain with --channel rehearsal"


def _takes_run(channel: Channel, given: Circumstances) -> bool:
    return not channel.release_types or given.release_type in channel.release_types


def _is_changed(file: IndexedFile, bound: Sequence[Verdict]) -> bool:
    local = Version(file.version).local
    if local is not None and _LOCAL.search(local):
        return True
    return any(verdict.local is not None for verdict in bound)


def _by_bytes(verdicts: Sequence[Verdict]) -> Mapping[Sha256, Sequence[Verdict]]:
    found: dict[Sha256, list[Verdict]] = {}
    for verdict in verdicts:
        for sha256 in {wheel.sha256 for wheel in verdict.wheels}:
            found.setdefault(sha256, []).append(verdict)
    return found


def _reasons(
    file: IndexedFile, bound: Sequence[Verdict], channel: Channel, given: Circumstances, *, named: bool
) -> Iterator[str]:
    faults = [*_build_faults(file, bound), *_version_faults(file, channel)]
    failures = list(_failures(file, bound))
    yield from faults
    yield from failures
    build: BuildResult = "failed" if faults else "passed"
    missing = [
        target
        for target in channel.required_targets or (None,)
        if not decide(
            build,
            "failed" if failures else _tests_on(target, bound),
            cpu_only_counts=channel.accepts_cpu_only and target is None,
            runner=given.has_runner(target),
            override=given.override is not None,
        )
    ]
    if missing and not faults and not failures:
        yield _untested(file, bound, missing, channel, given, named=named)


def _build_faults(file: IndexedFile, bound: Sequence[Verdict]) -> Iterator[str]:
    if _is_changed(file, bound):
        yield f"{file.filename} was built from sources with local changes"
    if file.yanked is not None:
        yield f"{file.filename} is yanked"


def _version_faults(file: IndexedFile, channel: Channel) -> Iterator[str]:
    version = Version(file.version)
    stage = _stage(version)
    if stage in channel.refused_stages:
        yield f"{file.filename} has a version of the kind {stage}, which the channel {channel.name} does not take"
    rocm = rocm_of_local(version)
    if rocm is None or not channel.refused_rocm_stages:
        return
    try:
        stage = _stage(Version(rocm))
    except InvalidVersion:
        yield f"{file.filename} names a ROCm of an odd version, {rocm}, which the channel {channel.name} cannot judge"
        return
    if stage in channel.refused_rocm_stages:
        yield f"{file.filename} is for a ROCm of the kind {stage}, which the channel {channel.name} does not take"


def _stage(version: Version) -> VersionStage | None:
    """Return what kind of pre-release a version is; a development build of a pre-release is a development build."""
    if version.is_devrelease:
        return "dev"
    kinds: Mapping[str, VersionStage] = {"a": "a", "b": "b", "rc": "rc"}
    return None if version.pre is None else kinds[version.pre[0]]


def _of_own_tests(bound: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts by tests of the commit that was built: others tell of their own commit, whether they passed or failed."""
    return tuple(verdict for verdict in bound if verdict.mismatch is None)


def _failures(file: IndexedFile, bound: Sequence[Verdict]) -> Iterator[str]:
    own = _of_own_tests(bound)
    for verdict in own:
        if not failed(verdict) or pass_after(verdict, own, file.sha256) is not None:
            continue
        if verdict.outcome == "passed" and not verdict.counts.failed and not verdict.counts.errors:
            yield f"{file.filename} has a verdict on {verdict.target} in which no test passed"
        else:
            yield f"{file.filename} failed its tests on {verdict.target}"


def _tests_on(target: GfxTarget | None, bound: Sequence[Verdict]) -> TestResult:
    """Return what passed verdicts say of a target, of any GPU at all when None."""
    tested = {verdict.target for verdict in _of_own_tests(bound) if verdict.whole and not failed(verdict)}
    if target is not None:
        return "passed" if offers(target, tested) else "none"
    if any(parse_target(name) is not None for name in tested):
        return "passed"
    return "cpu-only" if CPU_ONLY in tested else "none"


def _untested(
    file: IndexedFile,
    bound: Sequence[Verdict],
    missing: Sequence[GfxTarget | None],
    channel: Channel,
    given: Circumstances,
    *,
    named: bool,
) -> str:
    targets = [target for target in missing if target is not None]
    if not _of_own_tests(bound):
        other = "; the verdict at hand is on other bytes of that name" if named else ""
        text = f"{file.filename} has no verdict on its bytes ({file.sha256[:12]}){other}"
    elif not any(verdict.whole for verdict in _of_own_tests(bound)):
        shards = max(verdict.num_shards for verdict in _of_own_tests(bound))
        text = f"{file.filename} was tested in some of {shards} shards only, which nox -s merge_tests makes one verdict of"
    elif targets:
        text = f"{file.filename} was not tested on {', '.join(targets)}, which the channel {channel.name} requires"
    else:
        text = f"{file.filename} was tested without a GPU only, which the channel {channel.name} does not accept"
    testable = [target for target in missing if given.has_runner(target)]
    if given.override is not None and testable:
        where = ", ".join(target for target in testable if target is not None)
        text += f"; --override does not excuse it, as there are machines that can test it{f' on {where}' if where else ''}"
    return text
