"""What each command does, once its options are read and its workplace is made; what a body needs is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools.config.project import load_project
from build_tools.pipeline.concerned import DEFAULT_PROJECT
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from build_tools.options.commands import Command
    from build_tools.workplace import Workplace

__all__ = ["BODIES"]


def _pipeline(command: Command, project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.lock_stage import compare_standing  # noqa: PLC0415 - listing sessions must not pay for the stages
    from build_tools.pipeline.run import run_pipeline  # noqa: PLC0415

    if isinstance(workplace.settings.explain, str):
        from build_tools.pipeline.check_wheels import explain  # noqa: PLC0415

        return explain(workplace.settings.explain, workplace)
    if command.name == "test" and project is not None and workplace.settings.packages:
        from build_tools.pipeline.test_published import test_published  # noqa: PLC0415

        return test_published([load_project(workplace.external_builds, project)], workplace)
    if workplace.settings.diff is not None and not workplace.settings.projects:
        return compare_standing(command, workplace)
    names = (project,) if project else workplace.settings.projects or (DEFAULT_PROJECT,)
    projects = [load_project(workplace.external_builds, ProjectName(name)) for name in names]
    document = run_pipeline(projects, until=command.until, workplace=workplace)
    if document["indexes"]:
        _hand_on_wheels([index["find-links"] for index in document["indexes"]], document["versions"].items(), workplace)
    return document


def _promote(command: Command, project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.promote_run import is_by_run, promote_run  # noqa: PLC0415

    return promote_run(workplace) if is_by_run(workplace) else _pipeline(command, project, workplace)


def _inputs(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.inputs.catalogue import Tier  # noqa: PLC0415
    from build_tools.inputs.fetch import fetch_inputs  # noqa: PLC0415

    places = fetch_inputs(
        Tier(workplace.settings.tier),
        cache=workplace.cache,
        runner=workplace.runner,
        machine=workplace.machine,
        say=workplace.console.say,
        wait=workplace.settings.wait,
    )
    workplace.console.table("Real inputs", ("input", "where"), [(name, str(path)) for name, path in places.items()])
    return {name: str(path) for name, path in places.items()}


def _check_wheels(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.check_wheels import check_wheels  # noqa: PLC0415

    return check_wheels(workplace)


def _show_config(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.settings_table import settings_table  # noqa: PLC0415
    from build_tools.pipeline.show_environment import show_environment  # noqa: PLC0415

    if workplace.settings.stage is not None:
        return show_environment(workplace)
    return settings_table(workplace)


def _show_hipify(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.show_hipify import show_hipify  # noqa: PLC0415

    return show_hipify(workplace)


def _apply_patches(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.apply_patches import apply_patches  # noqa: PLC0415

    return apply_patches(workplace)


def _check_patches(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.check_patches import check_patches  # noqa: PLC0415

    return check_patches(workplace)


def _save_patches(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.save_patches import save_patches  # noqa: PLC0415

    return save_patches(workplace)


def _list_patches(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.list_patches import list_patches  # noqa: PLC0415

    return list_patches(workplace)


def _new_series(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.series_commands import new_series  # noqa: PLC0415

    return new_series(workplace)


def _drop_patch(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.series_commands import drop_patches  # noqa: PLC0415

    return drop_patches(workplace)


def _import_patches(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.import_patches import import_patches  # noqa: PLC0415

    return import_patches(workplace)


def _rebase_patches(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.rebase_patches import rebase_patches  # noqa: PLC0415

    return rebase_patches(workplace)


def _fetch_artifacts(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.outputs import hand_on  # noqa: PLC0415
    from build_tools.pipeline.fetch_artifacts import fetch_artifacts  # noqa: PLC0415

    document = fetch_artifacts(workplace)
    (run,) = document["results"]
    hand_on({"artifact_run_id": run["run_id"]}, workplace.machine)
    return document


def _build_rocm_packages(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.build_rocm_packages import build_rocm_packages  # noqa: PLC0415

    return build_rocm_packages(workplace)


def _upload_rocm_packages(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.matrix import artifact_name  # noqa: PLC0415
    from build_tools.ci.outputs import hand_on, package_outputs  # noqa: PLC0415
    from build_tools.pipeline.publishing import publishes_nothing  # noqa: PLC0415
    from build_tools.pipeline.upload_rocm_packages import upload_rocm_packages  # noqa: PLC0415

    document = upload_rocm_packages(workplace)
    packages = document["packages"]
    if not packages["dry_run"]:
        held_back = artifact_name("rocm-packages", packages["platform"], packages["artifact_group"])
        place = {"artifact": held_back} if publishes_nothing(workplace) else {"page": packages["find_links_url"]}
        hand_on(package_outputs(packages["version"], **place), workplace.machine)
    return document


def _upload_wheels(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.upload_wheels import upload_wheels  # noqa: PLC0415

    document = upload_wheels(workplace)
    upload = document["upload"]
    # An index of piprepo's has no page for --find-links.
    if not upload["dry_run"] and "find_links_url" in upload:
        versions = [(one["project"], one["version"]) for one in upload["versions"]]
        _hand_on_wheels([upload["find_links_url"]], versions, workplace)
    return document


def _hand_on_wheels(pages: Iterable[str], versions: Iterable[tuple[str, str]], workplace: Workplace) -> None:
    """Hand on to later jobs where wheels were published, unless they were not, and their versions."""
    from build_tools.ci.outputs import hand_on, wheel_outputs  # noqa: PLC0415
    from build_tools.pipeline.publishing import publishes_nothing  # noqa: PLC0415

    shown = () if publishes_nothing(workplace) else pages
    hand_on(wheel_outputs(shown, versions, warn=workplace.console.warn), workplace.machine)


def _upload_run_logs(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.upload_run_logs import upload_run_logs  # noqa: PLC0415

    return upload_run_logs(workplace)


def _verify(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.verify_index import verify  # noqa: PLC0415

    return verify(workplace)


def _freshness(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.freshness import freshness  # noqa: PLC0415

    return freshness(workplace)


def _yank(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.keep_index import yank  # noqa: PLC0415

    return yank(workplace)


def _rollback(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.keep_index import rollback  # noqa: PLC0415

    return rollback(workplace)


def _retain(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.retain_index import retain  # noqa: PLC0415

    return retain(workplace)


def _test_rocm(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.test_rocm import test_rocm  # noqa: PLC0415

    return test_rocm(workplace)


def _setup_venv(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    workplace.ask_ahead()
    from build_tools.pipeline.setup_venv import setup_venv  # noqa: PLC0415 - while programs answer

    return setup_venv(workplace)


def _update_deps_index(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.update_deps_index import update_deps_index  # noqa: PLC0415

    return update_deps_index(workplace)


def _doctor(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.doctor import doctor  # noqa: PLC0415

    return doctor(workplace)


def _hip_check(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.hip_check import hip_check  # noqa: PLC0415

    return hip_check(workplace)


def _test_extension(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.test_extension import test_extension  # noqa: PLC0415

    return test_extension(workplace)


def _new_project(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.new_project import new_project  # noqa: PLC0415

    return new_project(workplace)


def _profile(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.profile import profile  # noqa: PLC0415

    return profile(workplace)


def _compare_profiles(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.compare_profiles import compare_profiles  # noqa: PLC0415

    return compare_profiles(workplace)


def _docker_image(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.image import docker_image  # noqa: PLC0415

    return docker_image(workplace)


def _docker_run(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.inside import docker_run  # noqa: PLC0415

    return docker_run(workplace)


def _test_wheels(command: Command, project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    if workplace.settings.from_receipt:
        return _pipeline(command, project, workplace)
    from build_tools.pipeline.test_published import test_published  # noqa: PLC0415

    names = workplace.settings.projects or (DEFAULT_PROJECT,)
    return test_published([load_project(workplace.external_builds, ProjectName(name)) for name in names], workplace)


def _preflight(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.preflight import preflight  # noqa: PLC0415

    return preflight(workplace)


def _test_full(_command: Command, project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.upstream_suite import test_suite  # noqa: PLC0415

    return test_suite(load_project(workplace.external_builds, project or ProjectName(DEFAULT_PROJECT)), workplace)


def _merge_tests(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.pipeline.merge_tests import merge_tests  # noqa: PLC0415

    return merge_tests(workplace)


def _matrix(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.matrix_command import matrix  # noqa: PLC0415
    from build_tools.pipeline.order import built_before  # noqa: PLC0415

    return matrix(workplace, built_before=built_before)


def _workflows(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.workflows import workflows  # noqa: PLC0415

    return workflows(workplace)


def _notify(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.notify import notify  # noqa: PLC0415

    return notify(workplace)


def _summary(_command: Command, _project: ProjectName | None, workplace: Workplace) -> dict[str, Any]:
    from build_tools.ci.summary import summary  # noqa: PLC0415

    return summary(workplace)


BODIES: Final[Mapping[str, Callable[[Command, ProjectName | None, Workplace], dict[str, Any]]]] = {
    "pipeline": _pipeline,
    "lock": _pipeline,
    "promote": _promote,
    "checkout": _pipeline,
    "build": _pipeline,
    "check": _pipeline,
    "upload": _pipeline,
    "test": _pipeline,
    "test_full": _test_full,
    "test_wheels": _test_wheels,
    "merge_tests": _merge_tests,
    "check_wheels": _check_wheels,
    "inputs": _inputs,
    "fetch_artifacts": _fetch_artifacts,
    "build_rocm_packages": _build_rocm_packages,
    "upload_rocm_packages": _upload_rocm_packages,
    "upload_wheels": _upload_wheels,
    "upload_run_logs": _upload_run_logs,
    "verify": _verify,
    "freshness": _freshness,
    "yank": _yank,
    "rollback": _rollback,
    "retain": _retain,
    "test_rocm": _test_rocm,
    "setup_venv": _setup_venv,
    "update_deps_index": _update_deps_index,
    "doctor": _doctor,
    "hip_check": _hip_check,
    "test_extension": _test_extension,
    "new_project": _new_project,
    "profile": _profile,
    "compare_profiles": _compare_profiles,
    "docker_image": _docker_image,
    "matrix": _matrix,
    "preflight": _preflight,
    "docker_run": _docker_run,
    "notify": _notify,
    "summary": _summary,
    "workflows": _workflows,
    "show-config": _show_config,
    "show-hipify": _show_hipify,
    "save-patches": _save_patches,
    "list-patches": _list_patches,
    "new-series": _new_series,
    "drop-patch": _drop_patch,
    "apply-patches": _apply_patches,
    "check-patches": _check_patches,
    "import-patches": _import_patches,
    "rebase-patches": _rebase_patches,
}
"""By command name: takes the command, the project that it speaks of, and the workplace; returns the result as plain data."""
