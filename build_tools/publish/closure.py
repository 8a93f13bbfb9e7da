"""Whether what wheels require is where they go: each owned exact requirement is in the channel, among the wheels, or in a named index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from packaging.markers import default_environment
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools.config.owned import is_owned
from build_tools.errors import HipwrightError
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.name import parse_wheel_name
from build_tools.wheels.together import FileTags, go_together, tags_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from packaging.requirements import Requirement

    from build_tools.publish.offer import Offer
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.wheels.metadata import CoreMetadata

    Elsewhere = Callable[[str], Iterable[str]]
    """Gives the versions of a package that the indexes hold which users name beside the channel."""

__all__ = ["Closure", "judge_closure", "requirements_of"]

_ANY: Final[FileTags] = ("py3", "none", "any")

_SYSTEMS: Final[Mapping[str, Mapping[str, str]]] = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}
_MACHINES: Final = {
    ("linux", False): "x86_64",
    ("linux", True): "aarch64",
    ("windows", False): "AMD64",
    ("windows", True): "ARM64",
}
"""What ``platform_machine`` says on a system, and where the processor is an ARM one."""

_PYTHONS: Final = tuple(f"3.{minor}" for minor in range(10, 16))
"""Those that a wheel may be installed in that does not name its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Closure:
    """What is required and nowhere, and what nobody looked for; a line each, in order."""

    unmet: tuple[str, ...]
    unjudged: tuple[str, ...]


def judge_closure(offers: Sequence[Offer], there: Iterable[IndexedFile], *, elsewhere: Elsewhere) -> Closure:
    """Judge what wheels require, by their side files.

    An owned requirement needs a version that meets it, in a file that an environment may have together with the one that requires it;
    yanked files do not count, as installers pass over them. What is required only
    for an extra is optional, but who asks for it must find it: the extra's owned requirements are judged like all others. Packages
    that are not owned come from the base index of each machine unless the channel or the list has them, so they are not judged, and
    said so.

    Parameters
    ----------
    offers
        The wheels that are promoted.
    there
        The files of the channel.
    elsewhere
        Gives what other indexes hold that users name beside the channel.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when the side file of a wheel cannot be read.
    """
    shelf = _Shelf(elsewhere=elsewhere)
    for project, version, filename in (
        *((file.project, file.version, file.filename) for file in there if file.yanked is None),
        *((offer.project, offer.version, offer.filename) for offer in offers),
    ):
        shelf.files.setdefault(project, set()).add((version, tags_of(filename)))
    unmet: dict[str, None] = {}
    unjudged: set[str] = set()
    for offer in offers:
        tags = tags_of(offer.filename)
        for requirement in requirements_of(offer):
            if not is_owned(requirement.name):
                if not shelf.holds(requirement, tags):
                    unjudged.add(canonicalize_name(requirement.name))
            elif not shelf.meets(requirement, tags):
                but = ", which is there for other Pythons or platforms" if shelf.holds(requirement) else ""
                unmet[f"{offer.filename} requires {requirement.name}{requirement.specifier}{but}"] = None
    names = ", ".join(sorted(unjudged))
    said = (f"not judged, as the base index of each machine gives them: {names}",) if names else ()
    return Closure(unmet=tuple(unmet), unjudged=said)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shelf:
    """The versions of each package that can be had: in the channel or the list, and for what; else elsewhere, which is asked once for each."""

    elsewhere: Elsewhere
    files: dict[str, set[tuple[str, FileTags]]] = field(default_factory=dict)
    asked: dict[str, set[str]] = field(default_factory=dict)

    def holds(self, requirement: Requirement, wanted: FileTags = _ANY) -> bool:
        """Return whether the channel or the list meets a requirement by a file that goes together with one of the ``wanted`` tags."""
        files = self.files.get(canonicalize_name(requirement.name), ())
        versions = {version for version, tags in files if go_together(wanted, tags)}
        return requirement.url is None and _meets(requirement.specifier, versions)

    def meets(self, requirement: Requirement, tags: FileTags) -> bool:
        """Return whether a requirement can be met; one by an address goes past every index, and is not."""
        if requirement.url is not None:
            return False
        if self.holds(requirement, tags):
            return True
        name = canonicalize_name(requirement.name)
        if name not in self.asked:
            self.asked[name] = set(self.elsewhere(name))
        return _meets(requirement.specifier, self.asked[name])


def requirements_of(offer: Offer) -> Iterator[Requirement]:
    """Give what a wheel requires where it can be installed, with and without its extras.

    Raises
    ------
    HipwrightError
        ``bad-wheel`` when its side file cannot be read.
    """
    if offer.metadata is None:
        return
    try:
        metadata = parse_metadata(offer.metadata)
    except HipwrightError as error:
        raise HipwrightError("bad-wheel", f"the side file of {offer.filename}: {error.message}", hint=error.hint) from error
    for requirement in metadata.requires_dist:
        if requirement.marker is None or any(requirement.marker.evaluate(where) for where in _environments(offer, metadata)):
            yield requirement


def _environments(offer: Offer, metadata: CoreMetadata) -> Iterator[dict[str, str]]:
    """Give the environments that a wheel can be installed in, as far as its name tells, with each extra and with none."""
    name = parse_wheel_name(offer.filename) if offer.filename.endswith(".whl") else None
    tags = () if name is None else name.tags
    wanted = {
        ("windows" if tag.platform.startswith("win") else "linux", tag.platform.endswith(("aarch64", "arm64")))
        for tag in tags
        if tag.platform != "any"
    }
    # A wheel for the stable ABI goes into newer Pythons too.
    pythons = {
        f"3.{tag.interpreter[3:]}"
        for tag in tags
        if tag.interpreter.startswith("cp3") and tag.interpreter[3:].isdigit() and tag.abi != "abi3"
    }
    allowed = SpecifierSet(metadata.requires_python or "")
    others = [python for python in _PYTHONS if f"{python}.0" in allowed] or _PYTHONS
    here = {key: str(value) for key, value in default_environment().items()}
    for system, is_arm in sorted(wanted or {(system, False) for system in _SYSTEMS}):
        of_system = {**_SYSTEMS[system], "platform_machine": _MACHINES[system, is_arm]}
        for python in sorted(pythons) or others:
            for extra in ("", *metadata.extras):
                of_python = {"python_version": python, "python_full_version": f"{python}.0"}
                yield {**here, **of_system, **of_python, "extra": extra}


def _meets(specifier: SpecifierSet, versions: Iterable[str]) -> bool:
    return any(specifier.contains(version, prereleases=True) for version in map(_parsed, versions) if version is not None)


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
