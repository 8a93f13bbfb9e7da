"""What is asked for when a project is locked: by the options of the command, by a source manifest, and by what was asked for earlier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from build_tools.config.channels import load_channels
from build_tools.errors import HipwrightError
from build_tools.locking.manifest import read_manifest
from build_tools.locking.places import folder_asked_for
from build_tools.receipts.lock import Requested
from build_tools.sources.urls import same_place
from build_tools.types import is_commit_id
from build_tools.urls import redact

if TYPE_CHECKING:
    from build_tools.locking.manifest import ManifestEntry
    from build_tools.receipts.lock import LockedProject
    from build_tools.workplace import Workplace

__all__ = [
    "FLAGS",
    "OWNED_SOURCE",
    "PACKAGE_FIELDS",
    "ROCM_PLACES",
    "asked_for",
    "flag_of",
    "is_locked_to",
    "laid_over",
    "locked_to",
    "redacted",
    "unredacted",
]

FLAGS: Final = {
    "ref": "--{name}-ref",
    "origin": "--{name}-origin",
    "line": "--line",
    "submodule_url": "--{name}-submodule-url",
    "rocm_find_links": "--rocm-find-links",
    "rocm_index_url": "--rocm-index-url",
    "rocm_run_id": "--rocm-run-id",
    "artifact_group": "--artifact-group",
    "rocm_path": "--rocm-path",
    "rocm_version": "--rocm-version",
    "release_type": "--release-type",
    "find_links": "--find-links",
    "index_url": "--index-url",
}
"""The option that asks for each field of a request; an exact commit is asked for by a source manifest alone."""

ROCM_PLACES: Final = ("rocm_find_links", "rocm_index_url", "rocm_run_id", "rocm_path")
"""The options that each name a source of the ROCm packages."""

_ROCM_SOURCE: Final = (*ROCM_PLACES, "artifact_group", "release_type")
OWNED_SOURCE: Final = ("find_links", "index_url")
"""The options that name where owned packages other than ROCm's come from."""

PACKAGE_FIELDS: Final = (*_ROCM_SOURCE, "rocm_version", *OWNED_SOURCE)
"""The fields that say which packages are locked, and where they come from."""

_TOGETHER: Final = ((_ROCM_SOURCE, ("rocm_version",)), (OWNED_SOURCE, ()), (("ref", "commit"), ()))
"""Fields that are asked for as one, and those that only hold as long as these do."""

_LEVELS: Final = ("command line", "environment", "hipwright.toml")


def asked_for(name: str, workplace: Workplace) -> Requested:
    """Return what this command asks for a project, without secrets; a patch line is asked for those projects alone that it names.

    Raises
    ------
    HipwrightError
        ``option-conflict`` when a ref and the source manifest, given at the same level, differ; ``bad-manifest``,
        ``source-unreachable``.
    """
    settings = workplace.settings
    named = _in_manifest(name, workplace)
    manifest = read_manifest(workplace)
    rocm_version = settings.rocm_version
    # A folder is of the version that it is of.
    packages = settings.rocm_find_links or settings.rocm_index_url or settings.rocm_run_id
    if rocm_version is None and manifest is not None and packages:
        rocm_version = manifest.rocm_version
    return Requested(
        ref=named.branch if named else _as_written(settings.ref.get(name)),
        commit=named.commit if named else None,
        origin=redacted(settings.origin.get(name)) or (named.repo if named else None),
        submodule_url=tuple(sorted(f"{path}={redact(url)}" for path, url in workplace.submodule_urls(name).items())),
        rocm_find_links=tuple(map(redact, settings.rocm_find_links)),
        rocm_index_url=redacted(settings.rocm_index_url),
        rocm_run_id=settings.rocm_run_id,
        # Without such a run it is where what is made goes, and says nothing of what is locked.
        artifact_group=settings.artifact_group if settings.rocm_run_id else None,
        rocm_path=str(folder_asked_for(workplace)) if settings.rocm_path else None,
        rocm_version=rocm_version,
        release_type=settings.release_type,
        find_links=tuple(map(redact, settings.find_links)),
        index_url=redacted(settings.index_url),
    )


def laid_over(asked: Requested, earlier: Requested) -> Requested:
    """Return a request laid over an earlier one; another source of packages takes the place of the earlier one with its version."""
    merged: dict[str, Any] = {field: getattr(asked, field) or getattr(earlier, field) for field in Requested.__struct_fields__}
    for group, bound in _TOGETHER:
        if any(getattr(asked, field) for field in group):
            merged |= {field: getattr(asked, field) for field in (*group, *bound)}
    return Requested(**merged)


def flag_of(field: str, name: str, workplace: Workplace) -> str:
    """Return the option by which this command asks for a field."""
    settings = workplace.settings
    typed = {"ref": settings.ref.get(name), "origin": settings.origin.get(name), "rocm_version": settings.rocm_version}
    if field == "commit" or (field in typed and typed[field] is None):
        return "--manifest"
    return FLAGS[field].format(name=name)


def is_locked_to(entry: LockedProject, field: str, value: object) -> bool:
    """Return whether an entry is locked to what an option asks for."""
    if field == "origin":
        return any(same_place(str(value), known) for known in (entry.requested.origin, entry.sources.origin) if known)
    if field == "submodule_url" and isinstance(value, tuple):
        return set(value) <= {f"{pin.path}={pin.url}" for pin in (*entry.sources.submodules, *entry.patches.submodules)}
    return value in locked_to(entry, field)


def locked_to(entry: LockedProject, field: str) -> tuple[Any, ...]:
    """Return the values of an option that say what is locked, the plainest first; none where nobody asked."""
    asked = getattr(entry.requested, field)
    values = [asked] if asked else []
    if field == "ref":
        # A manifest's commit is what counts of it: another commit of the same branch is another thing.
        values += [entry.sources.ref, entry.sources.commit]
    elif field == "commit":
        values.append(entry.sources.commit)
    elif field == "origin":
        values.append(entry.sources.origin)
    elif field == "rocm_version" and entry.rocm is not None:
        values.append(entry.rocm.version)
    elif field == "release_type" and entry.requested.release_type is None:
        values.append(load_channels().desk_release_type)
    return tuple(values)


def redacted(text: str | None) -> str | None:
    """Return an address without its secrets, None for none."""
    return None if text is None else redact(text)


def unredacted(typed: tuple[Any, ...], wanted: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return addresses as they were typed where they were typed now, with their secrets; the recorded ones otherwise."""
    return typed if tuple(map(redacted, typed)) == wanted else wanted


def _as_written(ref: str | None) -> str | None:
    """Return a ref, a commit's id as git writes it."""
    return ref.lower() if ref is not None and is_commit_id(ref.lower()) else ref


def _in_manifest(name: str, workplace: Workplace) -> ManifestEntry | None:
    """Return a project's entry in the source manifest, None where it has none or a ref that counts before it."""
    manifest, ref = read_manifest(workplace), _as_written(workplace.settings.ref.get(name))
    entry = None if manifest is None else manifest.projects.get(name)
    if entry is None or ref is None or ref in {entry.branch, entry.commit}:
        return entry
    ref_from, manifest_from = workplace.resolved.origin(f"ref.{name}"), workplace.resolved.origin("manifest")
    levels = [next((n for n, level in enumerate(_LEVELS) if text.startswith(level)), 0) for text in (ref_from, manifest_from)]
    if levels[0] == levels[1]:
        stated = f"{entry.branch} at commit {entry.commit}" if entry.branch else f"commit {entry.commit}"
        message = f"--{name}-ref says {ref}, and the source manifest {stated}"
        raise HipwrightError("option-conflict", message, hint=f"give one of --{name}-ref and --manifest")
    return entry if levels[1] < levels[0] else None
