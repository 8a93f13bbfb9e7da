"""Which artifacts go into which package, in both forms that ROCm is built in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from packaging.utils import canonicalize_name

from build_tools.config.targets import expand_family, known_targets
from build_tools.errors import HipwrightError, Where
from build_tools.types import GfxTarget, Platform

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from build_tools.config.rocm_packages import PackageTable, RuntimePackage
    from build_tools.rocm.artifacts.catalog import Artifact, Catalog
    from build_tools.rocm.artifacts.name import ArtifactName

__all__ = ["DIST_INFO", "Form", "Portion", "Selection", "distribution_of", "module_of", "read_about", "select"]

Form = Literal["device", "family"]
Key = Literal["core", "libraries", "profiler", "device", "devel"]

_ABOUT: Final = ("base", "lib")
_MANIFEST: Final = "share/therock/therock_manifest.json"
DIST_INFO: Final = "share/therock/dist_info.json"
"""The file of ROCm's own that says which targets a build is for."""

_VERSION_FILE: Final = ".info/version"
_VERSION: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?![.0-9])")
_LONGEST: Final = 200
_LARGEST: Final = 16 << 20
_SPLIT: Final = "KPACK_SPLIT_ARTIFACTS"


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """What the artifacts say of themselves; fields are None where they say nothing.

    ``version`` is the ROCm version without a suffix and ``commit`` the commit that it was built from.
    """

    form: Form = "family"
    version: str | None = None
    commit: str | None = None
    targets: tuple[GfxTarget, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Portion:
    """The artifacts of one package.

    ``key`` is its key in the table, or ``device``; ``module`` the folder beside the others that its files lie in; ``target`` and
    ``family`` say what it is for, where it is not for all.
    """

    key: Key
    distribution: str
    module: str
    summary: str
    artifacts: tuple[Artifact, ...]
    target: GfxTarget | None = None
    family: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """The packages to be made: those of what is needed to run, and those of what a build needs."""

    form: Form
    runtime: tuple[Portion, ...]
    devel: tuple[Portion, ...]
    targets: tuple[GfxTarget, ...]
    families: dict[str, tuple[GfxTarget, ...]]

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        """All artifacts that go into something, each once."""
        found = {artifact.name: artifact for portion in (*self.runtime, *self.devel) for artifact in portion.artifacts}
        return tuple(found[name] for name in sorted(found))


def read_about(catalog: Catalog) -> About:
    """Read what the artifact ``base_lib_generic`` says of the build.

    Raises
    ------
    HipwrightError
        ``bad-artifact`` when that artifact or its manifest is missing or malformed, or it names a target that is none.
    """
    base = next((one for one in catalog.artifacts if one.name.is_generic and (one.name.name, one.name.component) == _ABOUT), None)
    manifest = _document(base, _MANIFEST)
    if manifest is None:
        message = f"{catalog.folder} lacks {_MANIFEST} of the artifact base_lib_generic, which says how the artifacts were built"
        hint = "fetch that artifact too: nox -s fetch_artifacts -- --run-id ID --include '^base_lib_generic' --output-dir DIR"
        raise HipwrightError("bad-artifact", message, where=Where(file=catalog.folder), hint=hint)
    flags = manifest.get("flags")
    split = flags.get(_SPLIT, False) if isinstance(flags, dict) else False
    listed = (_document(base, DIST_INFO) or {}).get("dist_amdgpu_targets", "")
    targets = [word for word in str(listed).replace(",", ";").split(";") if word.strip()]
    return About(
        form="device" if split is True else "family",
        version=_text(manifest.get("rocm_version")) or _stated_version(base),
        commit=_text(manifest.get("the_rock_commit")),
        targets=tuple(dict.fromkeys(_target(word.strip(), catalog.folder) for word in targets)),
    )


def select(
    catalog: Catalog,
    table: PackageTable,
    *,
    form: Form,
    platform: Platform,
    targets: tuple[GfxTarget, ...] = (),
    families: tuple[str, ...] = (),
    elsewhere: Collection[str] = (),
) -> Selection:
    """Say which artifacts go into which package.

    Parameters
    ----------
    catalog, table
        The artifacts, and what is made of them.
    form
        ``device``: libraries for all GPUs and a device package for each target. ``family``: a libraries package for each family.
    platform
        The operating system that the packages are for.
    targets, families
        What has to be there; what is there beside it is left out. Nothing: all that is there. In the form ``family`` targets choose the
        families that hold them.
    elsewhere
        In the form ``family``: the families that packages of the same version have on other platforms. Their names are given as if those
        families were here too.

    Raises
    ------
    HipwrightError
        ``package-incomplete`` naming every target, family and package for which there are no artifacts.
    """
    runtime = [package for package in table.package if platform in package.platforms]
    portions: list[Portion] = []
    missing: list[str] = []
    libraries = table.runtime("libraries")
    offered = sorted({one.name.base_target for one in catalog.artifacts if _of(libraries, one.name) and not one.name.is_generic})
    made: dict[str, tuple[GfxTarget, ...]] = {}
    for package in runtime:
        if package.key == "libraries" and form == "family":
            wanted = families or (_families_with(targets, offered) if targets else tuple(offered))
            missing += [f"libraries of the family {name}" for name in wanted if name not in offered]
            missing += [f"libraries for {target}" for target in targets if not _families_with((target,), wanted)]
            made = {name: expand_family(name) for name in wanted}
            portions += [_family_portion(catalog, package, name) for name in wanted if name in offered]
            continue
        chosen = [artifact for artifact in catalog.artifacts if _of(package, artifact.name) and artifact.name.is_generic]
        if chosen:
            portions.append(_portion(package, chosen))
        elif package.key != "profiler":
            missing.append(package.distribution)
    device: tuple[GfxTarget, ...] = ()
    if form == "device":
        device = targets or tuple(_target(name, catalog.folder) for name in offered)
        devices = [_device_portion(catalog, libraries, target) for target in device]
        missing += [f"device files of {one.target}" for one in devices if not one.artifacts]
        portions += devices
    if form == "family" and not made:
        missing.append("libraries of any GPU family")
    if missing:
        message = f"{catalog.folder} has no artifacts for {', '.join(missing)}"
        hint = "fetch them too: nox -s fetch_artifacts -- --run-id ID --artifact-group GROUP --output-dir DIR"
        there = [name for name in offered if name in targets]
        if there and form == "device":
            hint += f"; or take what is there: --gfx {','.join(there)}"
        raise HipwrightError("package-incomplete", message, where=Where(file=catalog.folder), hint=hint)
    return Selection(
        form=form,
        runtime=tuple(portions),
        devel=_devel_portions(catalog, table, tuple(made), several=len({*made, *elsewhere}) > 1),
        targets=device or tuple(dict.fromkeys(target for each in made.values() for target in each)),
        families=made,
    )


def _families_with(targets: tuple[GfxTarget, ...], families: Iterable[str]) -> tuple[str, ...]:
    return tuple(family for family in families if set(targets) & set(expand_family(family)))


def _of(package: RuntimePackage, name: ArtifactName) -> bool:
    if name.name not in package.artifacts:
        return False
    return name.component in package.components or (name.component == "dev" and name.name in package.with_dev)


def _where(catalog: Catalog, wanted: Callable[[ArtifactName], bool]) -> tuple[Artifact, ...]:
    return tuple(artifact for artifact in catalog.artifacts if wanted(artifact.name))


def distribution_of(distribution: str, family: str | None) -> str:
    """Return the name of a package that is made for a GPU family; its plain name for None."""
    return distribution if family is None else f"{distribution}-{canonicalize_name(family)}"


def module_of(distribution: str) -> str:
    """Return the folder that a package's files lie in, beside those of the others; a devel package's when it is expanded."""
    return f"_{distribution.replace('-', '_')}"


def _portion(package: RuntimePackage, artifacts: Iterable[Artifact], family: str | None = None) -> Portion:
    distribution = distribution_of(package.distribution, family)
    return Portion(
        key=package.key,
        distribution=distribution,
        module=module_of(distribution),
        summary=package.summary if family is None else f"{package.summary}, for {family}",
        artifacts=tuple(artifacts),
        family=family,
    )


def _family_portion(catalog: Catalog, package: RuntimePackage, family: str) -> Portion:
    chosen = _where(catalog, lambda name: _of(package, name) and (name.is_generic or name.base_target == family))
    return _portion(package, chosen, family)


def _device_portion(catalog: Catalog, libraries: RuntimePackage, target: GfxTarget) -> Portion:
    return Portion(
        key="device",
        distribution=f"rocm-sdk-device-{target}",
        module=module_of(libraries.distribution),
        summary=f"ROCm: device code of the libraries for {target}",
        artifacts=_where(catalog, lambda name: _of(libraries, name) and name.base_target == target),
        target=target,
    )


def _devel_portions(catalog: Catalog, table: PackageTable, families: tuple[str, ...], *, several: bool) -> tuple[Portion, ...]:
    """Return the packages of what a build needs: one, or one for each family where the set has several of these.

    A devel package's links lead to the files of one libraries package, so there is one for each of several of those.
    """
    sources = [package for package in table.package if package.key != "profiler"]
    names = {name for package in sources for name in package.artifacts} | set(table.devel.artifacts)

    def of(family: str | None) -> tuple[Artifact, ...]:
        return _where(
            catalog,
            lambda name: (
                name.name in names
                and name.component in table.devel.components
                and (name.is_generic or name.base_target == family)
            ),
        )

    portions = []
    for family in families or (None,):
        distribution = distribution_of(table.devel.distribution, family if several else None)
        portions.append(
            Portion(
                key="devel",
                distribution=distribution,
                module=distribution.replace("-", "_"),
                summary=f"{table.devel.summary}, for {family}" if several and family else table.devel.summary,
                artifacts=of(family),
                family=family,
            )
        )
    return tuple(portions)


def _document(artifact: Artifact | None, path: str) -> dict[str, Any] | None:
    item = next((one for one in artifact.items if one.path == path and one.link is None), None) if artifact else None
    if item is None:
        return None
    if item.size > _LARGEST:
        raise HipwrightError("bad-artifact", f"{item.source} is larger than {_LARGEST >> 20} MiB", where=Where(file=item.source))
    try:
        document = json.loads(item.source.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        message = f"cannot read {item.source}: {error}"
        raise HipwrightError("bad-artifact", message, where=Where(file=item.source)) from None
    if not isinstance(document, dict):
        raise HipwrightError("bad-artifact", f"{item.source} is no JSON object", where=Where(file=item.source))
    return document


def _stated_version(base: Artifact | None) -> str | None:
    """Return the version in ROCm's own version file, without the build's number that may follow: ``7.10.0`` of ``7.10.0-4711``."""
    item = next((one for one in base.items if one.path == _VERSION_FILE and one.link is None), None) if base else None
    found = _VERSION.match(item.source.read_bytes()[:_LONGEST].decode("utf-8", "replace")) if item else None
    return found[0] if found else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _target(name: str, folder: Path) -> GfxTarget:
    base = name.partition(":")[0]
    if base not in known_targets().targets:
        message = f"the artifacts in {folder} are for {name!r}, which is no GPU target"
        hint = "for artifacts that are made for families of targets: --package-form family"
        raise HipwrightError("bad-artifact", message, where=Where(file=folder), hint=hint)
    return GfxTarget(base)
