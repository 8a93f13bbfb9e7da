"""Source manifests: one JSON file that names every project's repository and commit, read and written.

The form is the one that ROCm's nightly builds use (``schema_version`` 1): a flat object with an entry for each project, its name spelled
with ``_``, and ``therock`` for ROCm itself. An entry has ``repo`` (an address without ``.git``), ``commit``, and where they are known
``branch`` and ``version``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from build_tools.config.project import project_names, session_name
from build_tools.errors import HipwrightError, Where
from build_tools.shown import shown
from build_tools.sources.pins import is_address, is_ref
from build_tools.types import CommitId, ProjectName, is_commit_id
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from build_tools.receipts.lock import Lock, LockedProject
    from build_tools.workplace import Workplace

__all__ = ["Manifest", "ManifestEntry", "make_manifest", "manifest_bytes", "parse_manifest", "read_manifest"]

_SCHEMA: Final = 1
_SCHEMA_KEY: Final = "schema_version"
_ROCM: Final = "therock"
_ENTRY: Final = (
    'an entry is like "pytorch": {"repo": "https://github.com/ROCm/pytorch", "commit": "<40 hex digits>", "branch": "main"}'
)
_FORM: Final = "nox -s lock -- --projects P1,P2 --manifest-out FILE writes one in the form that is read"
_KEYS: Final = frozenset({"repo", "commit", "branch", "version"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestEntry:
    """What a manifest says of one project; ``version`` is the base version of its sources and decides nothing."""

    repo: str
    commit: CommitId
    branch: str | None = None
    version: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """A source manifest: entries by project name, the version of ROCm, and the keys in it that mean nothing here."""

    projects: Mapping[str, ManifestEntry]
    rocm_version: str | None = None
    passed_by: tuple[str, ...] = ()


def read_manifest(workplace: Workplace) -> Manifest | None:
    """Return the source manifest that ``--manifest`` names, None without one.

    Raises
    ------
    HipwrightError
        As :func:`parse_manifest`; ``bad-manifest`` too when nothing is there, ``source-unreachable`` when an address cannot be read.
    """
    place = workplace.settings.manifest
    if place is None:
        return None
    return parse_manifest(workplace.manifest, name=redact(place), projects=project_names(workplace.external_builds))


def parse_manifest(data: bytes, *, name: str, projects: tuple[ProjectName, ...]) -> Manifest:
    """Return a source manifest.

    Parameters
    ----------
    data
        The bytes of the JSON file.
    name
        The file or address, for messages.
    projects
        The projects that there are; other keys are passed by.

    Raises
    ------
    HipwrightError
        ``bad-manifest`` with the key: no JSON object, another schema, a key twice, or an entry that lacks its ``repo`` or ``commit``
        or holds something else there.
    """
    reader = _Reader(name=name)
    whole = reader.load(data)
    stated = whole.get(_SCHEMA_KEY, _SCHEMA)
    if stated != _SCHEMA or isinstance(stated, bool):
        raise reader.bad(f"has {_SCHEMA_KEY} {json.dumps(stated)}, and this hipwright reads {_SCHEMA}", _SCHEMA_KEY, _FORM)
    names = {session_name(project): project for project in projects}
    found: dict[str, ManifestEntry] = {}
    passed_by, rocm_version = [], None
    for key, value in whole.items():
        if key == _ROCM:
            rocm_version = reader.text(reader.table(value, key), "version", key)
        elif key in names:
            table = reader.table(value, key)
            found[names[key]] = reader.entry(table, key)
            passed_by += [f"{key}.{other}" for other in sorted(table.keys() - _KEYS)]
        elif key != _SCHEMA_KEY:
            passed_by.append(key)
    return Manifest(projects=found, rocm_version=rocm_version, passed_by=tuple(map(shown, passed_by)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """Reads the parts of a manifest that has a name."""

    name: str

    def bad(self, what: str, key: str | None = None, hint: str = _ENTRY) -> HipwrightError:
        return HipwrightError("bad-manifest", f"{self.name} {what}", where=Where(file=self.name, key=key), hint=hint)

    def load(self, data: bytes) -> dict[str, Any]:
        """Return the one object of a JSON text; a key that stands there twice would say two things."""

        def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            keys = [key for key, _value in pairs]
            for key in keys:
                if keys.count(key) > 1:
                    raise self.bad(f"has the key {shown(key)!r} twice", shown(key), "leave one of the two")
            return dict(pairs)

        try:
            whole = json.loads(data.decode("utf-8"), object_pairs_hook=once)
        except (ValueError, RecursionError) as error:
            raise self.bad(f"is no JSON: {error}", hint=_FORM) from error
        return self.table(whole, None)

    def table(self, value: object, key: str | None) -> dict[str, Any]:
        if not isinstance(value, dict):
            what = "holds no JSON object" if key is None else f"has {type(value).__name__} and no object at {key}"
            raise self.bad(what, key, _FORM if key is None else _ENTRY)
        return value

    def text(self, table: Mapping[str, Any], key: str, of: str) -> str | None:
        """Return a text of a table, None where it has none."""
        value = table.get(key)
        if value is not None and (not isinstance(value, str) or not value or not value.isprintable()):
            raise self.bad(f"has {shown(json.dumps(value))} for {of}.{key}, where a text should be", f"{of}.{key}")
        return value

    def entry(self, table: Mapping[str, Any], key: str) -> ManifestEntry:
        repo, commit = self.text(table, "repo", key), self.text(table, "commit", key)
        for name, value in (("repo", repo), ("commit", commit)):
            if value is None:
                raise self.bad(f"says nothing for {key}.{name}", f"{key}.{name}")
        if repo is None or not is_address(repo):
            raise self.bad(f"has {shown(str(repo))!r} for {key}.repo, which is no address", f"{key}.repo")
        if redact(repo) != repo:
            raise self.bad(f"has a user or password in the address {redact(repo)}", f"{key}.repo")
        if commit is None or not is_commit_id(commit.lower()):
            raise self.bad(f"has {shown(str(commit))!r} for {key}.commit, where 40 hex digits should be", f"{key}.commit")
        branch = self.text(table, "branch", key)
        if branch is not None and not is_ref(branch):
            raise self.bad(f"has {shown(branch)!r} for {key}.branch, which is no name of a branch", f"{key}.branch")
        return ManifestEntry(repo=repo, commit=CommitId(commit.lower()), branch=branch, version=self.text(table, "version", key))


def make_manifest(lock: Lock) -> Manifest:
    """Return the source manifest of what is locked.

    Raises
    ------
    HipwrightError
        ``bad-manifest`` when projects are locked to different versions of ROCm: a manifest names one.
    """
    versions = {name: entry.rocm.version for name, entry in lock.projects.items() if entry.rocm is not None}
    if len(set(versions.values())) > 1:
        words = ", ".join(f"{name} to {version}" for name, version in sorted(versions.items()))
        message = f"a source manifest names one version of ROCm, and {words} are locked"
        raise HipwrightError("bad-manifest", message, hint="name the projects of one version with --projects")
    return Manifest(
        projects={name: _entry_of(entry) for name, entry in lock.projects.items()},
        rocm_version=next(iter(versions.values()), None),
    )


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as JSON: sorted keys, two spaces, one final newline; equal manifests give equal bytes."""
    whole: dict[str, Any] = {_SCHEMA_KEY: _SCHEMA}
    for name, entry in manifest.projects.items():
        values = {"repo": entry.repo, "commit": entry.commit, "branch": entry.branch, "version": entry.version}
        whole[session_name(ProjectName(name))] = {key: value for key, value in values.items() if value is not None}
    if manifest.rocm_version is not None:
        whole[_ROCM] = {"version": manifest.rocm_version}
    return (json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _entry_of(entry: LockedProject) -> ManifestEntry:
    sources = entry.sources
    return ManifestEntry(
        repo=sources.origin.removesuffix(".git"),
        commit=sources.commit,
        branch=sources.ref if sources.ref_is == "branch" else None,
        version=sources.base_version,
    )
