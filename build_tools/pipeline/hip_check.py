"""``hip_check``: whether programs of an environment can use HIP, and for which GPU targets a project is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools.builds.variables import constants
from build_tools.config.project import load_project
from build_tools.config.targets import parse_targets
from build_tools.errors import HipwrightError, Where
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.given_environment import given_environment
from build_tools.testing.devices import amd_devices
from build_tools.testing.gpu import rocm_targets, visible_devices
from build_tools.testing.hip import Prober, why_unavailable
from build_tools.types import Platform, ProjectName

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.config.project import Project
    from build_tools.pipeline.given_environment import GivenEnvironment
    from build_tools.testing.hip import HipAnswer
    from build_tools.workplace import Workplace

__all__ = ["hip_check", "no_targets", "no_tree", "prober_of", "project_targets", "tree_of_project"]

_COLUMNS: Final = ("what", "found")
_OFFLOAD: Final = "--offload-arch="


def hip_check(workplace: Workplace) -> dict[str, Any]:
    """Ask torch in the environment that is named, and find the GPU targets.

    Returns
    -------
    dict
        ``torch`` as it said, ``rocm`` of the machine, ``targets`` with where they came from, and ``offload_arch``, an option of the
        compiler for each.

    Raises
    ------
    HipwrightError
        ``hip-unavailable`` with the document; ``no-gpu-targets``; what finding environment and project raises.
    """
    settings = workplace.settings
    if len(settings.paths) > 1:
        hint = "name its folder: nox -s hip_check -- DIR"
        raise HipwrightError("bad-option-value", f"hip_check looks at one environment, not {len(settings.paths)}", hint=hint)
    if len(settings.projects) > 1:
        message = f"hip_check finds the targets of one project, not of {len(settings.projects)}"
        raise HipwrightError("bad-option-value", message, hint="name one: --projects NAME")
    place = given_environment(settings.paths[0] if settings.paths else None, workplace, flag="its folder")
    prober = prober_of(place, workplace)
    answer = prober.ask_torch()
    project = load_project(workplace.external_builds, ProjectName(settings.projects[0])) if settings.projects else None
    document: dict[str, Any] = {
        "environment": str(place.folder),
        "rocm": str(place.reach.folder) if place.reach.folder else None,
        "torch": msgspec.to_builtins(answer),
    }
    targets, problem = _targets_or_problem(project, answer, prober, workplace)
    names, told_by = targets
    document |= {"targets": list(names), "targets_from": told_by, "offload_arch": [f"{_OFFLOAD}{name}" for name in names]}
    _show(answer, names, told_by, place, workplace)
    if not answer.available or answer.hip is None:
        why, hint = why_unavailable(answer, driver=bool(amd_devices(workplace.platform)))
        message = f"HIP cannot be used in {place.folder}: {why}"
        raise HipwrightError("hip-unavailable", message, hint=hint, log=prober.log, document=document)
    if problem is not None:
        problem.document = document
        raise problem
    return document


def prober_of(place: GivenEnvironment, workplace: Workplace) -> Prober:
    """Return what asks the interpreter of an environment."""
    folder = workplace.work_dir / "logs" / "hip_check"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "hip_check.log"
    log.unlink(missing_ok=True)
    return Prober(python=place.python, variables=place.variables, folder=folder, log=log, runner=workplace.runner)


def tree_of_project(project: Project, workplace: Workplace) -> Path:
    """Return the source tree of a project: a person's own, or that of the work dir.

    Raises
    ------
    HipwrightError
        ``stage-missing`` when it is not there.
    """
    own = workplace.settings.dir.get(project.name)
    tree = own or workplace.work_dir / "src" / project.name
    if not tree.is_dir():
        raise no_tree(project.name, tree)
    return tree


def no_tree(name: str, tree: Path) -> HipwrightError:
    """Return the error for a project whose source tree is not there."""
    session = name.replace("-", "_")
    hint = f"check it out: nox -s checkout_{session}; or name a tree of your own: --{name}-dir DIR"
    return HipwrightError("stage-missing", f"there is no source tree {tree}", where=Where(file=tree), hint=hint)


def project_targets(
    project: Project | None, answer: HipAnswer | None, prober: Prober, workplace: Workplace
) -> tuple[tuple[str, ...], str]:
    """Return the GPU targets, and where they came from.

    That is what ``--gfx`` or the project's own variable names; then what the project's own function finds; then the devices that torch
    sees; then what the driver lists.

    Raises
    ------
    HipwrightError
        ``no-gpu-targets`` when there are none, saying where they were looked for; ``bad-option-value`` for a name that is none.
    """
    named = wanted_targets(workplace, project.name if project is not None else None)
    if named:
        own = project is not None and project.name in workplace.settings.own_gfx
        return named, str(project.build.target_variable) if own and project is not None else "--gfx"
    if project is not None and project.extension.detect_targets is not None:
        function = project.extension.detect_targets
        tree, hint = tree_of_project(project, workplace), _how_to_name(project.build.target_variable)
        found = prober.ask_targets(tree, function, constants(project, workplace.platform), hint=hint)
        return parse_targets(tuple(dict.fromkeys(found))), function
    devices = answer.devices if answer is not None else ()
    seen = tuple(dict.fromkeys(device.target.partition(":")[0] for device in devices if device.target))
    if seen:
        return parse_targets(seen), "torch"
    listed = tuple(dict.fromkeys(rocm_targets(visible_devices(workplace.platform, workplace.runner, workplace.machine))))
    if listed:
        return listed, "the driver"
    raise no_targets(workplace.platform, project.build.target_variable if project is not None else None)


def no_targets(platform: Platform, variable: str | None) -> HipwrightError:
    """Return the failure that no GPU targets were found anywhere; ``variable`` is the project's own that could name them."""
    asked = "torch sees no device with a target"
    asked += ", and the driver lists none" if platform is Platform.LINUX else ""
    return HipwrightError("no-gpu-targets", f"no GPU targets were found: {asked}", hint=_how_to_name(variable))


def _how_to_name(variable: str | None) -> str:
    return "name them: --gfx gfx942" + (f', or {variable}="gfx90a,gfx942"' if variable else "")


def _targets_or_problem(
    project: Project | None, answer: HipAnswer, prober: Prober, workplace: Workplace
) -> tuple[tuple[tuple[str, ...], str], HipwrightError | None]:
    try:
        return project_targets(project, answer, prober, workplace), None
    except HipwrightError as error:
        if error.code.name != "no-gpu-targets":
            raise
        return ((), "nowhere"), error


def _show(answer: HipAnswer, names: tuple[str, ...], told_by: str, place: GivenEnvironment, workplace: Workplace) -> None:
    rows = [
        ("torch", answer.torch or f"cannot be imported: {answer.error}"),
        ("built for", f"HIP {answer.hip}" if answer.hip else f"CUDA {answer.cuda}" if answer.cuda else "no GPU"),
        ("HIP runtime", answer.runtime or "not loaded"),
        ("torch.cuda.is_available()", str(answer.available)),
        *(("GPU", f"{one.name} ({one.target or 'target unknown'}), {one.memory_mb:.0f} MiB") for one in answer.devices),
        ("GPU targets", f"{', '.join(names)}, from {told_by}" if names else "none"),
        *(("compiler option", f"{_OFFLOAD}{name}") for name in names),
    ]
    workplace.console.table(f"HIP in {place.folder}", _COLUMNS, rows)
