"""``doctor``: judge an environment, and tell which ROCm this machine has by itself."""

from __future__ import annotations

import itertools
import os.path
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_tools.counted import counted
from build_tools.environments.installed import installed_distributions, site_packages
from build_tools.environments.make import MARK
from build_tools.errors import HipwrightError
from build_tools.locking.places import folder_asked_for
from build_tools.options.machine import ROLES
from build_tools.pipeline.fitness import judge_fitness
from build_tools.pipeline.given_environment import environment_there
from build_tools.process import printable
from build_tools.rocm.folder import hip_version, read_folder_sdk, version_of_folder
from build_tools.rocm.health import examine, packages_to_ask_for
from build_tools.rocm.reach import find_reach
from build_tools.rocm.sdk import header_doubts, missing_parts
from build_tools.rocm.stray import NAMING, find_strays
from build_tools.testing.fitness import worst_of
from build_tools.testing.gpu import rocm_targets, visible_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from build_tools.options.model import Settings
    from build_tools.pipeline.fitness import Fitness
    from build_tools.rocm.health import Health
    from build_tools.rocm.stray import StrayRocm
    from build_tools.workplace import Workplace

__all__ = ["doctor"]

_PACKAGES: Final = ("package", "version", "ROCm", "said by")
_FINDINGS: Final = ("severity", "code", "what")
_STRAYS: Final = ("folder", "version", "found by")
_WORST: Final = ("mixed-stack", "sdk-incomplete", "install-failed")
"""The codes that a failure may have, the one that says most first."""

_OF_ROLES: Final[Mapping[str, Callable[[Settings], object]]] = {
    "--machine": lambda settings: settings.machine,
    "--labels": lambda settings: settings.labels,
    "--hosts": lambda settings: settings.hosts,
}


def doctor(workplace: Workplace) -> dict[str, Any]:
    """Examine the environment that is named, the ROCm folder that is named, and the machine; nothing is changed.

    The folder is that of ``--rocm-path``; without the option, the one that ``ROCM_PATH``, ``ROCM_HOME`` or ``HIP_PATH`` names.

    Returns
    -------
    dict
        ``machine`` with its GPUs and its own ROCm, ``environment`` with the ROCm of each package, ``rocm_folder``, ``findings``.

    Raises
    ------
    HipwrightError
        The worst of what is found, with the document; ``bad-option-value`` for what is no environment.
    """
    settings, console = workplace.settings, workplace.console
    if len(settings.paths) > 1:
        message = f"doctor judges one environment, not {len(settings.paths)}"
        raise HipwrightError("bad-option-value", message, hint="name its folder: nox -s doctor -- DIR")
    folder = Path(os.path.realpath(settings.paths[0])) if settings.paths else None
    named = folder_asked_for(workplace) or _folder_of_machine(workplace) or _folder_to_build_with(workplace)
    strays = find_strays(workplace.machine, platform=workplace.platform, but=[each for each in (folder, named) if each])
    gpus = rocm_targets(visible_devices(workplace.platform, workplace.runner, workplace.machine))
    if settings.machine is None:
        _show_machine(strays, gpus, workplace)
    findings: list[dict[str, str]] = []
    document: dict[str, Any] = {
        "machine": {"gpus": list(gpus), "rocm": [asdict(stray) for stray in strays]},
        "findings": findings,
    }
    hint = None if named is None else f"install what {named} lacks, or name another ROCm: --rocm-path DIR"
    if folder is None and named is None and settings.machine is None:
        console.say(
            "looked at this machine alone; nox -s doctor -- DIR examines an environment, --rocm-path DIR a ROCm in a folder"
        )
        if settings.role is None:
            console.say(f"--role judges whether it is fit: {', '.join(ROLES)}")
    if folder is not None:
        health = _health(folder, workplace)
        rows = [(one.name, one.version, one.rocm or "none", one.said_by) for one in health.packages]
        console.table(f"ROCm in {folder}", _PACKAGES, rows, note="" if rows else "no package of a ROCm is installed")
        document["environment"] = {"folder": str(folder), "packages": [asdict(one) for one in health.packages]}
        findings += [asdict(one) for one in health.ailments]
        hint = _way_out(folder, health) if health.packages else hint
    if named is not None:
        document["rocm_folder"], found = _folder(named, workplace)
        findings += found
    fitness = _fitness(document, workplace)
    if findings:
        console.table("Findings", _FINDINGS, [(one["severity"], one["code"], one["message"]) for one in findings])
    elif folder is not None or named is not None:
        console.say("nothing is wrong")
    document["worst"] = _worst(findings, fitness)
    _raise_for(findings, document, hint)
    if fitness is not None and (failure := fitness.failure()) is not None:
        failure.document = document
        raise failure
    return document


def _fitness(document: dict[str, Any], workplace: Workplace) -> Fitness | None:
    """Judge the machine by the role that is named, and put it into the document."""
    settings = workplace.settings
    if settings.role is None:
        named = [flag for flag, given in _OF_ROLES.items() if given(settings)]
        if named:
            message = f"{' and '.join(named)} say how a machine is judged, and no role is named"
            raise HipwrightError("bad-option-value", message, hint=f"say --role {'|'.join(ROLES)}")
        return None
    packages = document.get("environment", {}).get("packages", [])
    rocm = next((each["rocm"] for each in packages if each["rocm"]), None)
    fitness = judge_fitness(settings.role, workplace, rocm=rocm)
    document["fitness"] = fitness.document
    return fitness


def _worst(findings: list[dict[str, str]], fitness: Fitness | None) -> str:
    """Return the worst of all that was found: ``error``, ``unknown``, ``warning`` or ``ok``."""
    found = {one["severity"] for one in findings}
    if fitness is not None:
        found.add({"failed": "error"}.get(worst_of(fitness.points), worst_of(fitness.points)))
    return next((severity for severity in ("error", "unknown", "warning") if severity in found), "ok")


def _health(folder: Path, workplace: Workplace) -> Health:
    _, interpreter = environment_there(folder, workplace)
    packages = site_packages(folder, workplace.platform)
    return examine(installed_distributions(packages), packages, markers=interpreter.markers, platform=workplace.platform)


def _folder(named: Path, workplace: Workplace) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return what a named ROCm folder is, and what it lacks for a build."""
    sdk = read_folder_sdk(named)
    missing = [f"{named} lacks {part}" for part in missing_parts(named, workplace.platform)]
    doubts = header_doubts(named, sdk.version)
    found = [{"code": "sdk-incomplete", "severity": "error", "message": message} for message in missing]
    found += [{"code": "sdk-incomplete", "severity": "warning", "message": message} for message in doubts]
    told = {"folder": str(named), "version": sdk.version, "hip": hip_version(named), "targets": list(sdk.targets)}
    workplace.console.say(f"{named} is ROCm {sdk.version}, HIP {told['hip'] or 'unknown'}")
    return told, found


def _folder_of_machine(workplace: Workplace) -> Path | None:
    """Return the ROCm folder that the machine's environment names; None without one, and for a name of what is no ROCm."""
    for name in NAMING:
        text = workplace.machine.get(name)
        if text and version_of_folder(folder := workplace.typed_in / text) is not None:
            workplace.console.say(f"{name} names {folder}, which is examined as --rocm-path would have it")
            return folder
    return None


def _folder_to_build_with(workplace: Workplace) -> Path | None:
    """Return the ROCm of the usual place on a machine that builds with it; None on another one, and beside an environment."""
    settings = workplace.settings
    if settings.role != "build" or settings.machine is not None or settings.paths:
        return None
    return find_reach(workplace.machine, platform=workplace.platform).folder


def _show_machine(strays: tuple[StrayRocm, ...], gpus: tuple[str, ...], workplace: Workplace) -> None:
    workplace.console.say(f"GPUs: {', '.join(gpus) or 'none'}")
    if strays:
        rows = [(stray.folder, stray.version or "unknown", stray.told_by) for stray in strays]
        note = "hipwright uses none of them unless --rocm-path names it"
        workplace.console.table("The machine's own ROCm", _STRAYS, rows, note=note)


def _raise_for(findings: list[dict[str, str]], document: dict[str, Any], hint: str | None) -> None:
    errors = [one for one in findings if one["severity"] == "error"]
    for code in _WORST:
        messages = [one["message"] for one in errors if one["code"] == code]
        if messages:
            more = len(errors) - 1
            message = messages[0] + (f"; and {counted(more, 'more finding')}" if more else "")
            raise HipwrightError(code, message, hint=hint, document=document)


def _way_out(folder: Path, health: Health) -> str:
    """Return the command that makes a sound environment with the same packages: in its place where hipwright made it, else beside it."""
    own = (folder / MARK).is_file()
    words = ["nox", "-s", "setup_venv", "--", str(folder if own else _beside(folder)), *(("--clean",) if own else ())]
    words += ["--packages", " ".join(packages_to_ask_for(health.packages))]
    where = "make it anew" if own else "make a sound one beside it"
    return f"{where}, from where these packages are offered (--find-links, --index-url): {printable(words)}"


def _beside(folder: Path) -> Path:
    """Return a folder that is not there yet."""
    tries = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    return next(path for path in tries if not path.exists())
