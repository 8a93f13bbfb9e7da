"""``profile``: what examples cost in an environment, each for itself, written to one report."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools.config.examples import Example, missing_asset_names, read_examples
from build_tools.config.project import load_project
from build_tools.counted import counted
from build_tools.errors import HipwrightError, Where
from build_tools.files import utc_now, write_bytes
from build_tools.pipeline.compare_profiles import limit_of
from build_tools.pipeline.given_environment import given_environment
from build_tools.pipeline.hip_check import tree_of_project
from build_tools.process import printable
from build_tools.receipts.profile import ProfileReport
from build_tools.receipts.record import plain, read_record, to_json
from build_tools.testing.compare_profiles import compare_example
from build_tools.testing.gpu import rocm_targets, visible_devices
from build_tools.testing.profile import REMEDIES, ProfilePlan, profile_example
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from build_tools.receipts.profile import ExampleProfile
    from build_tools.workplace import Workplace

__all__ = ["examples_of", "profile"]

_OUTPUT: Final = Path("logs", "rocm_profile.json")
_SECONDS: Final = 1800.0
"""The time limit of one run where none is given."""

_COLUMNS: Final = ("example", "status", "seconds", "memory MiB", "device MiB", "what")
_LIST: Final = "@"


def examples_of(words: tuple[str, ...], typed_in: Path) -> tuple[Example, ...]:
    """Return the examples that plain arguments name: scripts, each perhaps with arguments in one word, and ``@FILE`` for lists.

    Raises
    ------
    HipwrightError
        ``no-examples`` for none; ``bad-option-value`` for one that is there twice; what reading a list raises.
    """
    found: list[Example] = []
    for word in words:
        if word.startswith(_LIST):
            found += read_examples(typed_in / word[1:])
        elif (typed_in / word).is_file():
            found.append(Example(script=word))
        else:
            found.append(_example(word))
    if not found:
        raise HipwrightError("no-examples", "no example is named", hint="name scripts, or a list of them as @FILE")
    twice = next((name for name, times in Counter(example.name for example in found).items() if times > 1), None)
    if twice is not None:
        raise HipwrightError(
            "bad-option-value", f"{twice} is named twice", hint="reports tell examples apart by their command line"
        )
    return tuple(found)


def _example(word: str) -> Example:
    try:
        script, *arguments = shlex.split(word) or [""]
    except ValueError as error:
        hint = "put quotes around all of it, and close those in it: \"examples/one.py --prompt 'a cat'\""
        raise HipwrightError("bad-option-value", f"{word!r} is no command line: {error}", hint=hint) from error
    if not script:
        raise HipwrightError("bad-option-value", f"{word!r} names no script", hint="name scripts, or a list of them as @FILE")
    return Example(script=script, arguments=tuple(arguments))


def profile(workplace: Workplace) -> dict[str, Any]:
    """Profile the examples that are named, and write the report.

    Returns
    -------
    dict
        The report, and under ``report`` its path.

    Raises
    ------
    HipwrightError
        ``no-examples`` when none is named or none ran; ``examples-failed`` with the document when one did not pass; what finding the
        environment and reading lists and the base raise.
    """
    settings, console = workplace.settings, workplace.console
    words, folder = _words(workplace)
    examples = examples_of(words, folder)
    base = _base(settings.baseline)
    limit = limit_of(settings.fail_above)
    place = given_environment(settings.venv, workplace, flag="--venv DIR")
    path = settings.output or workplace.typed_in / _OUTPUT
    plan = ProfilePlan(
        python=place.python,
        cwd=folder,
        logs=path.parent / f"{path.stem}.logs",
        time_limit=float(settings.timeout or _SECONDS),
        missing=missing_asset_names(),
        env=place.variables,
        repeat=settings.repeat,
        warm_up=settings.warm_up,
    )
    plan.logs.mkdir(parents=True, exist_ok=True)
    started, done = utc_now(), []
    for number, example in enumerate(examples, start=1):
        console.progress("examples", number - 1, len(examples))
        console.say(f"{example.name}")
        one = profile_example(example, number, plan, runner=workplace.runner, say=console.warn)
        before = next((each for each in base.examples if each.name == one.name), None) if base is not None else None
        if base is not None:
            one = msgspec.structs.replace(one, delta=compare_example(before, one, limit=limit))
        done.append(one)
    console.progress("examples", len(examples), len(examples))
    report = ProfileReport(
        platform=workplace.platform.value,
        python=place.interpreter.version,
        environment=str(place.folder),
        gpus=rocm_targets(visible_devices(workplace.platform, workplace.runner, workplace.machine)),
        started=started,
        warm_up=plan.warm_up,
        repeat=plan.repeat,
        time_limit_s=plan.time_limit,
        examples=tuple(done),
    )
    write_bytes(path, to_json(report))
    _show(report, path, workplace)
    document: dict[str, Any] = {"report": str(path), **plain(report)}
    _raise_for(report, path, document, workplace)
    return document


def _words(workplace: Workplace) -> tuple[tuple[str, ...], Path]:
    """Return the words that name examples, and the folder that they run in: what was typed and where, or those of a recipe and its tree."""
    settings = workplace.settings
    if len(settings.projects) > 1:
        raise HipwrightError("bad-option-value", f"profile measures the examples of one project, not of {len(settings.projects)}")
    if settings.words or not settings.projects:
        return settings.words, workplace.typed_in
    project = load_project(workplace.external_builds, ProjectName(settings.projects[0]))
    if not project.extension.examples:
        hint = "list them as examples under [extension] of its project.toml, or name scripts"
        raise HipwrightError("no-examples", f"the recipe of {project.name} lists no example", hint=hint)
    return project.extension.examples, tree_of_project(project, workplace)


def _base(place: str | None) -> ProfileReport | None:
    return None if place is None else read_record(Path(place), ProfileReport)


def _show(report: ProfileReport, path: Path, workplace: Workplace) -> None:
    rows = [
        (
            one.name,
            one.status,
            _number(one.duration_s, 3),
            _number(one.peak_memory_mb),
            _number(one.peak_device_memory_mb),
            _what(one),
        )
        for one in report.examples
    ]
    ran = f"medians of {counted(report.repeat, 'run')}"
    warm = ", after one that does not count" if report.warm_up else ""
    workplace.console.table("Profile", _COLUMNS, rows, note=f"{ran}{warm}; the report is {path}")


def _what(one: ExampleProfile) -> str:
    if one.status == "skipped":
        return f"not there: {one.missing}"
    if one.error is not None:
        return one.error
    if one.delta is None:
        return ""
    percent = one.delta.duration_delta_percent
    return one.delta.change + (f", {percent:+.1f} %" if percent is not None else "")


def _number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _raise_for(report: ProfileReport, path: Path, document: dict[str, Any], workplace: Workplace) -> None:
    bad = [one for one in report.examples if one.status not in {"passed", "skipped"}]
    if bad:
        first = bad[0]
        message = (
            f"{len(bad)} of {len(report.examples)} examples did not pass, first {first.name} ({first.status}): {first.error}"
        )
        command = printable([*workplace.nox, "-s", "profile", "--", "--venv", report.environment, "--repeat", "1", first.name])
        remedy = REMEDIES.get(first.code or "")
        hint = f"{remedy}; try it alone: {command}" if remedy else f"try it alone: {command}"
        log = Path(first.log) if first.log else None
        raise HipwrightError("examples-failed", message, where=Where(file=path), hint=hint, log=log, document=document)
    if not any(one.status == "passed" for one in report.examples):
        names = ", ".join(f"{one.missing}" for one in report.examples)
        message = f"no example ran: all {len(report.examples)} were skipped, as there is no {names}"
        hint = "fetch what is missing, or name examples that need less"
        raise HipwrightError("no-examples", message, where=Where(file=path), hint=hint, document=document)
