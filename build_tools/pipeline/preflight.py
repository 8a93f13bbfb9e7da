"""What can be judged before anything long begins: option values, folders, and whether a build could work at all."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.builds.preflight import prove_compiler
from build_tools.builds.variables import compiling_environment
from build_tools.checks.profile import demands_for
from build_tools.config.channels import load_channels
from build_tools.config.windows import windows_table
from build_tools.errors import HipwrightError, Where
from build_tools.files import free_space, make_folder
from build_tools.pipeline.build_wishes import wishes_of
from build_tools.pipeline.build_workshop import refuse_cache_options, workshop_folder
from build_tools.pipeline.promoting import override_of
from build_tools.pipeline.publishing import layout_to_publish
from build_tools.types import Platform, Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.config.project import Project
    from build_tools.pipeline.chain import Chain
    from build_tools.workplace import Workplace

__all__ = ["LEAST_SPACE", "long_paths", "look_ahead", "prove_build"]

LEAST_SPACE: Final = 512 * 2**20
"""Free bytes without which no run begins."""

_BREAKS_TOOLS: Final = "\"'`$:{}\n\r\t"
"""Characters that build back ends, pytest or venv read as their own in a path."""

_LONGEST_NAME: Final = 100
_TRACKED: Final = ("benchmarks", "build_tools", "docs", "external-builds", "requirements", "tests", ".ci", ".github")
"""The clone's own folders, where nothing is made."""


def look_ahead(projects: Sequence[Project], last: Stage, workplace: Workplace) -> None:
    """Refuse at once what a later stage would refuse.

    Raises
    ------
    HipwrightError
        ``bad-option-value``, ``option-conflict``, ``missing-tool``, ``bad-data-file``, ``unknown-channel``, ``store-unusable``, ``no-tests``, ``folder-not-writable`` or ``disk-space``.
    """
    settings = workplace.settings
    _judge_work_dir(workplace)
    for text, what in ((settings.run_id, "run id"), (settings.artifact_group, "artifact group")):
        if text is not None and len(text) > _LONGEST_NAME:
            raise HipwrightError("bad-option-value", f"the {what} is longer than {_LONGEST_NAME} characters")
    address, outputs = layout_to_publish(workplace)
    outputs.pytorch(settings.artifact_group or "generic")
    load_channels().find_channel(settings.channel)
    override_of(workplace)
    if settings.reversion is not None:
        message = "--reversion makes new wheels of what a run published, and this is the chain of the work dir"
        raise HipwrightError(
            "option-conflict", message, hint="name the run with --run-id, without --from, --from-receipt and --force"
        )
    _judge_making(projects, last, workplace)
    if last.number >= Stage.PUBLISH.number:
        _judge_store(workplace, address)
    if last.number >= Stage.TEST.number:
        for project in projects:
            tests = workplace.external_builds / project.name / project.tests.folder
            if not any(tests.rglob("*.py")):
                message = f"{project.name} has no smoke tests in {tests}"
                raise HipwrightError(
                    "no-tests", message, where=Where(file=tests), hint="write some, or end before them: --until publish"
                )
    if not settings.dry_run:
        make_folder(workplace.work_dir)
        _make_cache(workplace)
    free_space(workplace.work_dir, LEAST_SPACE)


def prove_build(chain: Chain, ahead: Sequence[Stage]) -> None:
    """Find out before anything long begins that a build is to come and no compiler works; the build itself asks again, its own way.

    Raises
    ------
    HipwrightError
        ``no-compiler``.
    """
    place = chain.workplace
    if Stage.BUILD in ahead and not place.settings.dry_run and not (place.work_dir / Stage.BUILD / chain.project.name).exists():
        path = {"PATH": place.runner.environment.get("PATH", "")}
        found = compiling_environment(path, studio=place.visual_studio, overrides=place.settings.build_env)
        prove_compiler(place.runner, platform=place.platform, scratch=place.work_dir, environment=found)


def _judge_making(projects: Sequence[Project], last: Stage, workplace: Workplace) -> None:
    """Judge what a build takes from the options, and what a check takes from ``project.toml``."""
    if last.number >= Stage.BUILD.number:
        refuse_cache_options(workplace)
        wishes_of(workplace, compiling=False)
        for warning in filter(None, (long_paths(project, workplace) for project in projects)):
            workplace.console.warn(warning)
        # Whoever builds checks later, and does not want to hear of a slip in a file then.
        for project in projects:
            demands_for(project, workplace.platform)


def long_paths(project: Project, workplace: Workplace) -> str | None:
    """Return what people should know of a work dir below which a build would need longer paths than Windows gives; None elsewhere."""
    if workplace.platform is not Platform.WINDOWS:
        return None
    allowed = windows_table().paths
    tag = max((interpreter.python_tag for interpreter in workplace.interpreters.values()), key=len)
    base = len(str(workshop_folder(project, workplace, tag) / "src"))
    longest = base + 1 + project.check.path_limit
    shorter = "name a shorter place with --work-dir, such as C:\\w"
    if longest > allowed.longest:
        message = f"paths of {project.name} below {workplace.work_dir} may get {longest} characters long, and Windows has {allowed.longest}"
        return f"{message}: {shorter}, or let Windows have long paths (LongPathsEnabled)"
    if base > allowed.longest_base:
        message = f"{project.name} is built in a path of {base} characters below {workplace.work_dir}"
        return f"{message}, and with more than {allowed.longest_base} CMake may configure again and again: {shorter}"
    return None


def _judge_work_dir(workplace: Workplace) -> None:
    work_dir = workplace.work_dir
    # The drive's colon is Windows' own.
    bad = [character for character in _BREAKS_TOOLS if character in str(work_dir)[len(work_dir.drive) :]]
    if bad:
        named = ", ".join(map(repr, bad))
        message = f"the work dir {str(work_dir)!r} has {named} in its path, which build tools read as their own"
        raise HipwrightError("bad-option-value", message, hint="choose another folder with --work-dir")
    if ".git" in work_dir.parts:
        raise HipwrightError("bad-option-value", f"the work dir {work_dir} lies inside a git repository's own folder")
    own = {workplace.clone / name for name in _TRACKED}
    if work_dir == workplace.clone or any(work_dir.is_relative_to(folder) for folder in own):
        message = f"the work dir {work_dir} is a folder of the clone's own files"
        raise HipwrightError(
            "bad-option-value", message, hint=f"choose another one, such as --work-dir {workplace.clone / '.work'}"
        )


def _judge_store(workplace: Workplace, address: str) -> None:
    if address == str(workplace.work_dir / "store"):
        return
    workplace.open_store(writing=not workplace.settings.dry_run, address=address)
    if "://" in address:
        return
    folder = Path(os.path.realpath(address))
    if folder.is_relative_to(workplace.work_dir / "src") or ".git" in folder.parts:
        raise HipwrightError(
            "store-unusable", f"the store {folder} lies inside a source tree", hint="name a folder outside with --store"
        )
    if folder == workplace.clone or any(folder.is_relative_to(workplace.clone / name) for name in _TRACKED):
        raise HipwrightError(
            "store-unusable", f"the store {folder} is a folder of the clone's own files", hint="name another with --store"
        )


def _make_cache(workplace: Workplace) -> None:
    try:
        make_folder(workplace.cache)
    except HipwrightError as error:
        raise HipwrightError(error.code.name, error.message, hint="choose another folder with --cache-dir") from error
