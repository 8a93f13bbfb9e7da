"""Where owned packages come from, as a command's options say: folders and pages, an index, a run's outputs, or a folder with a ROCm."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.config.channels import load_channels
from build_tools.config.targets import expand_family, family_names, parse_targets
from build_tools.environments.listing import NotThereYet, PackageSource, parse_source
from build_tools.environments.network import path_of
from build_tools.errors import HipwrightError
from build_tools.index.layout import DIST, FLAT_PAGE
from build_tools.process import printable
from build_tools.rocm.source import OPTION_PREFIX
from build_tools.rocm.stray import folder_of_environment
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.types import GfxTarget
    from build_tools.workplace import Workplace

__all__ = ["Places", "folder_asked_for", "named_places", "reads_only_folders", "run_pages", "wanted_family", "wanted_targets"]

_SUBDIR: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_OF_ENVIRONMENT: Final = "env"


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """The sources of an environment's owned packages: one for all, and another one for those of ROCm where there is one.

    ``folder`` is the root of a ROCm of the machine that stands for the ROCm packages. ``named`` tells whether a person named the
    sources; otherwise they are those that owned packages come from by default.
    """

    packages: PackageSource
    rocm: PackageSource | None = None
    folder: Path | None = None
    named: bool = True

    def describe(self) -> str:
        """Return the places in words, without passwords."""
        if self.rocm is None:
            return self.packages.describe()
        return f"{self.packages.describe()}, ROCm packages from {self.rocm.describe()}"


def folder_asked_for(workplace: Workplace) -> Path | None:
    """Return the folder that ``--rocm-path`` names, None without that option.

    Raises
    ------
    HipwrightError
        ``no-rocm-source`` when the machine's environment is to name it and does not.
    """
    asked = workplace.settings.rocm_path
    if asked is None:
        return None
    if asked != _OF_ENVIRONMENT:
        return Path(asked)
    folder, name = folder_of_environment(workplace.machine)
    workplace.console.say(f"--rocm-path env: {name} names {folder}")
    return workplace.typed_in / folder


def named_places(workplace: Workplace) -> Places:
    """Return where the options of a command say that owned packages come from; the release type's index where they say nothing.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for an empty place, or a folder below an index without an index; ``no-rocm-source`` when nothing is named
        and the release type has no index; ``run-not-found`` when a run has no such packages; what opening the run's store raises.
    """
    settings = workplace.settings
    folder = folder_asked_for(workplace)
    rocm = _rocm_place(workplace)
    links = settings.find_links
    if settings.from_run_id is not None:
        links = (*links, *run_pages(workplace, settings.from_run_id, group=settings.artifact_group, pytorch=True))
    index = _index(workplace)
    if links or index is not None:
        source = parse_source(find_links=links, index_url=index, folder=workplace.typed_in)
        return Places(packages=source, rocm=rocm, folder=folder)
    if rocm is not None:
        return Places(packages=rocm, folder=folder)
    return Places(packages=_default(workplace), folder=folder, named=False)


def reads_only_folders(workplace: Workplace) -> bool:
    """Return whether the sources that the options name are folders of this disk and nothing else, so that reading them asks no server.

    Raises
    ------
    HipwrightError
        As :func:`named_places`.
    """
    settings = workplace.settings
    if settings.from_run_id is not None or settings.rocm_run_id is not None or settings.rocm_path is not None:
        return False
    places = named_places(workplace)
    return places.packages.is_local and (places.rocm is None or places.rocm.is_local)


def wanted_targets(workplace: Workplace, project: str | None = None) -> tuple[GfxTarget, ...]:
    """Return the GPU targets that the options name, none when they name none; for a project, those that its own variable names.

    Raises
    ------
    HipwrightError
        ``bad-option-value``.
    """
    settings = workplace.settings
    own = settings.own_gfx.get(project or "")
    if own is not None:
        return parse_targets(own)
    if settings.gfx:
        return parse_targets(settings.gfx)
    return tuple(dict.fromkeys(target for name in family_names(settings.gpu_family) for target in expand_family(name)))


def wanted_family(workplace: Workplace, project: str | None = None) -> str | None:
    """Return the full name of the one GPU family that the options name, None when they name none or several.

    See :func:`wanted_targets`.

    Raises
    ------
    HipwrightError
        ``bad-option-value``.
    """
    settings = workplace.settings
    names = () if project in settings.own_gfx else family_names(settings.gpu_family)
    return names[0] if len(names) == 1 else None


def run_pages(workplace: Workplace, run_id: str, *, group: str | None, pytorch: bool = False) -> tuple[str, ...]:
    """Return the pages that list the packages of a run: the ROCm ones, and the PyTorch ones too where that is asked for.

    Without an artifact group they are those of the whole run.

    Raises
    ------
    HipwrightError
        ``run-not-found`` when the run has none of them; ``bad-option-value``; what opening the store raises.
    """
    place = workplace.outputs(run_id, writing=False)
    folders = [place.run.python(group), *([place.run.pytorch(group)] if pytorch else [])]
    found = [folder for folder in folders if place.store.head(folder.find_links_key) is not None]
    if found:
        for folder in found:
            _require_readable(folder, place.store, workplace)
        return tuple(folder.find_links_url(place.store) for folder in found)
    whole = [place.run.python(), *([place.run.pytorch()] if pytorch else [])]
    hint = _hint(group, _groups_in(whole, place.store))
    raise NotThereYet("run-not-found", _no_packages(run_id, group, folders, place.store.address), hint=hint)


def _require_readable(folder: IndexFolder, store: Store, workplace: Workplace) -> None:
    """Refuse a page that only who has credentials can read: installers read addresses, and have none."""
    page = folder.find_links_url(store)
    if path_of(page) is not None or workplace.base.network().read(page) is not None:
        return
    message = f"{redact(page)} is there, and cannot be read without credentials, as installers have to"
    hint = "let everybody read the bucket, or fetch the packages with credentials, and name their folder with --find-links DIR"
    if store.address.startswith("s3://"):
        endpoint = workplace.settings.endpoint_url
        words = ["aws", *(("--endpoint-url", redact(endpoint)) if endpoint else ()), "s3", "sync"]
        dist = f"{store.address.rstrip('/')}/{folder.dist_prefix}"
        line = printable([*words, dist, str(workplace.work_dir / "dist")])
        hint = f"let everybody read the bucket, or fetch them, {line}, and name that folder: --find-links DIR or --rocm-find-links DIR"
    raise HipwrightError("source-unreachable", message, hint=hint)


def _no_packages(run_id: str, group: str | None, folders: Iterable[IndexFolder], address: str) -> str:
    looked = " and ".join(folder.find_links_key for folder in folders)
    of_group = f" of the group {group}" if group else ""
    return f"the run {run_id} has no packages{of_group}: there is no {looked} in {address}"


def _groups_in(whole: Iterable[IndexFolder], store: Store) -> tuple[str, ...]:
    """Return the artifact groups that a run has packages of, as far as its store lets itself be listed."""
    groups: set[str] = set()
    for folder in whole:
        try:
            keys = {one.key.removeprefix(f"{folder.prefix}/") for one in store.list(folder.prefix)}
        except HipwrightError:
            # Many buckets let everybody read and nobody list; that the packages are not there is what is told all the same.
            continue
        with_files = {group for group, part, *_rest in (key.split("/", 2) for key in keys if key.count("/") > 1) if part == DIST}
        groups |= {group for group in with_files if f"{group}/{FLAT_PAGE}" in keys}
    return tuple(sorted(groups))


def _hint(group: str | None, there: Sequence[str]) -> str:
    where = "say where its outputs are: --repository OWNER/NAME, --bucket B or --store DIR"
    if there:
        return f"the run has packages of {', '.join(there)}: --artifact-group {there[0]}"
    return where if group else f"name the group, --artifact-group G; or {where}"


def _rocm_place(workplace: Workplace) -> PackageSource | None:
    settings = workplace.settings
    links = settings.rocm_find_links
    if settings.rocm_run_id is not None:
        links = run_pages(workplace, settings.rocm_run_id, group=settings.artifact_group)
    if not links and settings.rocm_index_url is None:
        return None
    return parse_source(
        find_links=links, index_url=settings.rocm_index_url, folder=workplace.typed_in, option_prefix=OPTION_PREFIX
    )


def _index(workplace: Workplace) -> str | None:
    settings = workplace.settings
    index = settings.index_url
    if settings.index_name is not None:
        index = load_channels().find_release_type(settings.index_name).rocm_index_url
    subdir = settings.index_subdir
    if subdir is None:
        return index
    if index is None:
        message = f"--index-subdir {subdir} is a folder below an index, and no index is named"
        raise HipwrightError("bad-option-value", message, hint="name it: --index-url URL or --index-name TYPE")
    if not _SUBDIR.fullmatch(subdir.strip("/")):
        message = f"--index-subdir {subdir!r} is no plain folder name"
        raise HipwrightError("bad-option-value", message, hint="say it like this: --index-subdir gfx94X-dcgpu")
    return f"{index.rstrip('/')}/{subdir.strip('/')}/"


def _default(workplace: Workplace) -> PackageSource:
    table = load_channels()
    kind = table.find_release_type(workplace.settings.release_type or table.desk_release_type)
    if kind.rocm_index_url is None:
        message = f"no source of owned packages is named, and the release type {kind.name} has no index of its own"
        hint = "name one: --find-links DIR|URL, --index-url URL, --index-name TYPE or --from-run-id ID"
        raise HipwrightError("no-rocm-source", message, hint=hint)
    return PackageSource(index_url=kind.rocm_index_url)
