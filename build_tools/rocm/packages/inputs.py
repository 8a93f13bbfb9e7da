"""Whether the artifacts at hand are all that a set of packages is to be made of: what is expected, what is missing, what is of no use."""

from __future__ import annotations

import fnmatch
import json
from typing import TYPE_CHECKING, Final

from build_tools.config.targets import expand_family, target_of
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.record import read_record
from build_tools.rocm.artifacts.mark import MARK, Mark, changes, read_fetched_for
from build_tools.rocm.artifacts.name import GENERIC, parse_artifact_name
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.config.rocm_packages import Library, PackageTable
    from build_tools.rocm.artifacts.catalog import Artifact, Catalog
    from build_tools.rocm.packages.layout import Laid
    from build_tools.rocm.packages.request import PackageRequest
    from build_tools.rocm.packages.select import About, Form, Selection

__all__ = [
    "expected_targets",
    "left_out",
    "require_fetched",
    "require_whole",
    "restated_targets",
    "uneven",
    "unknown",
    "without_libraries",
]

_SHOWN: Final = 5
_PACKED: Final = frozenset({"dev", "lib", "run"})
"""The components that packages are made of; documentation, tests and debugging symbols are in none."""

_STATED: Final = "dist_amdgpu_targets"


def expected_targets(request: PackageRequest, about: About, form: Form) -> tuple[GfxTarget, ...]:
    """Return the targets that have to come out: those that are asked for, else those that the artifacts were fetched for, else all.

    Nothing stands for all that are there, in the form ``family``, where artifacts name families and not targets.
    """
    asked = request.targets or _targets_of(request.families)
    if asked:
        return asked
    fetched = read_fetched_for(request.artifacts)
    wanted = tuple(dict.fromkeys(GfxTarget(target_of(name).base) for name in fetched.targets)) if fetched else ()
    if form == "family":
        return wanted
    # A family may have targets that the run was not made for.
    return tuple(target for target in wanted if target in about.targets) or wanted or about.targets


def require_fetched(folder: Path, catalog: Catalog, selection: Selection) -> None:
    """Refuse a folder that lacks artifacts of these packages because its fetching was cut short or failed.

    One that was never asked for is a choice that somebody made.

    Raises
    ------
    HipwrightError
        ``package-incomplete`` naming them.
    """
    fetched = read_fetched_for(folder)
    here = {artifact.name.folder for artifact in catalog.artifacts}
    wanted = {GENERIC, *selection.families, *selection.targets}
    lacking = [
        name
        for name in (fetched.to_come if fetched else ())
        if name not in here
        and (parsed := parse_artifact_name(name)) is not None
        and parsed.component in _PACKED
        and parsed.base_target in wanted
    ]
    if lacking:
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        message = f"{folder} lacks {', '.join(lacking[:_SHOWN])}{more}, which were to be fetched and did not come"
        hint = "the same nox -s fetch_artifacts goes on from there; for packages without them fetch into another folder, with --exclude"
        raise HipwrightError("package-incomplete", message, where=Where(file=folder), hint=hint)


def _targets_of(families: Iterable[str]) -> tuple[GfxTarget, ...]:
    return tuple(dict.fromkeys(target for family in families for target in expand_family(family)))


def left_out(catalog: Catalog, selection: Selection) -> tuple[str, ...]:
    """Return the names of the artifacts that go into no package."""
    taken = {artifact.name for artifact in selection.artifacts}
    return tuple(artifact.name.folder for artifact in catalog.artifacts if artifact.name not in taken)


def unknown(catalog: Catalog, table: PackageTable) -> tuple[str, ...]:
    """Return the names of the artifacts that no package of the table is made of, though they are of a kind that packages are made of."""
    known = {name for package in table.package for name in package.artifacts} | set(table.devel.artifacts)
    return tuple(
        artifact.name.folder
        for artifact in catalog.artifacts
        if artifact.name.name not in known and artifact.name.component in _PACKED
    )


def uneven(selection: Selection) -> Iterator[str]:
    """Give sentences about artifacts that one target, or family, has and another lacks: some libraries are not made for all GPUs."""
    by_name: dict[tuple[str, str], set[str]] = {}
    names = set(selection.families) if selection.form == "family" else set(selection.targets)
    for artifact in selection.artifacts:
        if not artifact.name.is_generic:
            by_name.setdefault((artifact.name.name, artifact.name.component), set()).add(artifact.name.base_target)
    for (name, component), having in sorted(by_name.items()):
        lacking = sorted(names - having)
        if having & names and lacking:
            yield f"{', '.join(lacking)} has no artifact {name}_{component}, which {', '.join(sorted(having & names))} has"


def require_whole(artifacts: Sequence[Artifact]) -> Iterator[str]:
    """Refuse artifacts that lost something since they were fetched; give sentences about what was put into them.

    Raises
    ------
    HipwrightError
        ``package-incomplete`` naming the files.
    """
    faults: list[str] = []
    for artifact in artifacts:
        mark = artifact.folder / MARK
        if not mark.is_file():
            continue
        found = changes(artifact.folder, read_record(mark, Mark).held)
        faults += [f"{path} of {artifact.name.folder} is gone" for path in found.gone]
        faults += [f"{path} of {artifact.name.folder} was changed" for path in found.other]
        if found.more:
            yield f"{artifact.name.folder} has {', '.join(found.more[:_SHOWN])}, which its archive has not"
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        message = f"artifacts are not as they were fetched: {'; '.join(faults[:_SHOWN])}{more}"
        hint = "fetch them again: the same nox -s fetch_artifacts, which mends what is not as it was"
        raise HipwrightError("package-incomplete", message, where=Where(file=artifacts[0].folder.parent), hint=hint)


def without_libraries(packages: Sequence[Laid], table: PackageTable, platform: Platform) -> Mapping[str, tuple[str, ...]]:
    """Return the libraries that each package is made without because their artifacts are not here, by distribution.

    Raises
    ------
    HipwrightError
        ``package-incomplete`` naming the libraries that an SDK must have and that are missing though their artifact is here; those of the
        core package must be here in any case, since nothing starts without them.
    """
    devices = [laid for laid in packages if laid.portion.key == "device"]
    (other,) = set(Platform) - {platform}
    missing: list[str] = []
    foreign = False
    without: dict[str, tuple[str, ...]] = {}
    for laid in packages:
        key = laid.portion.key
        if key in {"device", "devel"}:
            continue
        parts = [laid, *(devices if key == "libraries" else ())]
        here = {one.name.name for part in parts for one in part.portion.artifacts if one.name.component == "lib"}
        lacking = [
            library
            for library in table.library
            if library.package == key
            and not library.optional
            and (pattern := _pattern(library, platform)) is not None
            and not fnmatch.filter(laid.files, pattern)
        ]
        needed = [library for library in lacking if key == "core" or library.artifact in here]
        missing += [f"{library.name} (artifact {library.artifact}_lib) in {laid.portion.distribution}" for library in needed]
        foreign |= any(fnmatch.filter(laid.files, _pattern(library, other) or "") for library in needed)
        rest = tuple(library.name for library in lacking if library not in needed)
        if rest:
            without[laid.portion.distribution] = rest
    if missing:
        message = f"the artifacts lack libraries that an SDK has: {', '.join(missing)}"
        hint = (
            f"they are artifacts for {other}: --platform {other}"
            if foreign
            else "fetch the artifacts anew, all of them: nox -s fetch_artifacts -- --run-id ID --artifact-group GROUP --output-dir DIR"
        )
        raise HipwrightError("package-incomplete", message, hint=hint)
    return without


def _pattern(library: Library, platform: Platform) -> str | None:
    return library.linux if platform is Platform.LINUX else library.windows


def restated_targets(source: Path, targets: Sequence[GfxTarget]) -> bytes | None:
    """Return ROCm's own file about its targets as it is right for packages of fewer; None where it says the same already.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` when the file is no JSON object.
    """
    try:
        document = json.loads(source.read_bytes())
    except (OSError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise HipwrightError("bad-artifact", f"{source} is no JSON object", where=Where(file=source))
    stated = {word.strip() for word in str(document.get(_STATED, "")).replace(",", ";").split(";") if word.strip()}
    if stated == set(targets):
        return None
    return (json.dumps(document | {_STATED: ";".join(targets)}, indent=2, sort_keys=True) + "\n").encode()
