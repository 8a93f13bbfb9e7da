"""The bill of materials of a published set, as CycloneDX: the wheels, what went into them, and the patches of their sources."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Final

from cyclonedx.model import HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Commit, Component, ComponentType, Diff, Patch, PatchClassification, Pedigree
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from build_tools import digest
from build_tools.config.owned import is_rocm
from build_tools.wheels.metadata import parse_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from build_tools.publish.build_facts import BuildFacts
    from build_tools.publish.offer import Offer
    from build_tools.publish.portable import Portable
    from build_tools.receipts.lock import LockedFile
    from build_tools.types import Sha256

__all__ = ["bill_of_materials"]

_OURS: Final = "hipwright"


def bill_of_materials(offers: Sequence[Offer], facts: Sequence[BuildFacts], *, portable: Portable) -> bytes:
    """Return the CycloneDX bill of materials of wheels, as JSON; equal sets give equal bytes.

    A wheel's component has its SHA-256, what its metadata require as a property, and, where the build is known, the source's commit and
    patches as its pedigree. ROCm packages, wheels that were built before and the packages of the build environment are components too,
    on which the wheel depends.

    Parameters
    ----------
    offers
        The wheels.
    facts
        The builds that are known; a wheel that none of them made is told by its own metadata alone.
    portable
        Takes the machine out of addresses.
    """
    bom = Bom()
    wheels = {offer.sha256: _wheel(offer, _made(offer, facts), portable) for offer in offers}
    materials: dict[str, Component] = {}
    for offer in offers:
        build = _made(offer, facts)
        found = list(_materials(build, portable)) if build is not None else []
        # A wheel of the same set that was built before is the component that it is there.
        known = {wheel.bom_ref.value: wheel for wheel in wheels.values()}
        parts = [known.get(part.bom_ref.value) or materials.setdefault(str(part.bom_ref.value), part) for part in found]
        bom.register_dependency(wheels[offer.sha256], parts)
    for component in (*wheels.values(), *materials.values()):
        bom.components.add(component)
    identity = digest.of_value(sorted([offer.filename, offer.sha256] for offer in offers))
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, f"urn:{_OURS}:set:{identity}")
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    # The time of day would make two papers of one set; when it was built is in the statement beside this.
    document.get("metadata", {}).pop("timestamp", None)
    return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _made(offer: Offer, facts: Sequence[BuildFacts]) -> BuildFacts | None:
    """Return the build that made a wheel."""
    for build in facts:
        if build.built is not None and any(wheel.sha256 == offer.sha256 for wheel in build.built.wheels):
            return build
    return None


def _wheel(offer: Offer, build: BuildFacts | None, portable: Portable) -> Component:
    requires = () if offer.metadata is None else parse_metadata(offer.metadata).requires_dist
    properties = [Property(name=f"{_OURS}:requires", value=str(requirement)) for requirement in requires]
    component = _package(offer.project, offer.version, offer.sha256, filename=offer.filename, properties=properties)
    if build is not None:
        component.pedigree = _pedigree(build, component, portable)
    return component


def _pedigree(build: BuildFacts, component: Component, portable: Portable) -> Pedigree | None:
    locked = build.locked
    if locked is None:
        return None
    commits = [Commit(uid=locked.sources.commit, url=XsUri(portable.address(locked.sources.origin)))]
    modules = locked.patches.submodules or locked.sources.submodules
    commits += [Commit(uid=module.commit, url=XsUri(portable.address(module.url))) for module in modules]
    patches = []
    for patch in build.patches:
        path = f"external-builds/{build.project}/patches/{locked.patches.line}/{patch.name}"
        patches.append(Patch(type=PatchClassification.UNOFFICIAL, diff=Diff(url=XsUri(path))))
        component.properties.add(Property(name=f"{_OURS}:patch:{patch.name}", value=f"sha256:{digest.of_bytes(patch.data)}"))
    line = locked.patches.line or "none"
    return Pedigree(commits=commits, patches=patches, notes=f"patch line {line}, series sha256:{locked.patches.digest}")


def _materials(build: BuildFacts, portable: Portable) -> Iterator[Component]:
    """Give what a wheel was built with: ROCm packages and other owned ones, wheels built before, the build environment's packages."""
    locked, built = build.locked, build.built
    seen: set[str] = set()
    for file in locked.packages if locked is not None else ():
        seen.add(file.filename)
        yield _locked(file, portable)
    for other in built.against if built is not None else ():
        seen.add(other.filename)
        yield _package(other.distribution, other.version, other.sha256, filename=other.filename)
    known = {file.sha256 for file in (locked.packages if locked is not None else ())}
    known |= {other.sha256 for other in (built.against if built is not None else ())}
    for package in build.packages:
        if package.sha256 is None or package.sha256 not in known:
            yield _package(package.name, package.version, package.sha256)


def _locked(file: LockedFile, portable: Portable) -> Component:
    kind = "rocm" if is_rocm(file.distribution) else "owned"
    properties = [
        Property(name=f"{_OURS}:kind", value=kind),
        Property(name=f"{_OURS}:source", value=portable.address(file.url)),
    ]
    return _package(file.distribution, file.version, file.sha256, filename=file.filename, properties=properties)


def _package(
    name: str, version: str, sha256: Sha256 | None, *, filename: str | None = None, properties: Sequence[Property] = ()
) -> Component:
    purl = PackageURL("pypi", None, name, version, {"file_name": filename} if filename else None)
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"sha256:{sha256}" if sha256 else str(purl),
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else [],
        properties=properties,
    )
