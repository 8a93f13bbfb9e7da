"""From requirements that a person names to the exact files of the owned ones: one version of everything, with code for the GPU targets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from build_tools.config.owned import is_owned, is_rocm, owned_names
from build_tools.environments.interpreter import supported_tags
from build_tools.environments.listing import Listing
from build_tools.environments.resolve import lock_owned, offered_extras
from build_tools.environments.wait import when_there
from build_tools.errors import HipwrightError
from build_tools.rocm.devices import extras_for
from build_tools.rocm.pairs import Pair, chosen_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path

    from build_tools.environments.interpreter import Interpreter
    from build_tools.environments.network import Network
    from build_tools.locking.places import Places
    from build_tools.receipts.lock import LockedFile

__all__ = ["Chosen", "Wish", "choose"]

_ROCM = "rocm"
_OF_FAMILY = "rocm-sdk-libraries-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What an environment is to hold.

    Parameters
    ----------
    requirements
        What a person names.
    rocm_version
        The exact version of ROCm, which none of the requirements need name.
    targets, family
        The GPU targets whose code is to be there, and the family that named them.
    prereleases
        Whether pre-releases count; None takes them where nothing else is there or a requirement names one.
    """

    requirements: tuple[Requirement, ...]
    rocm_version: str | None = None
    targets: tuple[str, ...] = ()
    family: str | None = None
    prereleases: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """The exact owned files, all requirements as they are now asked for, and the ROCm that torch goes with.

    ``others`` are those of the requirements that the base index has to meet: nobody owns them, and no source that was named has them.
    """

    files: tuple[LockedFile, ...]
    requirements: tuple[str, ...]
    pair: Pair | None
    others: tuple[str, ...] = ()


def choose(
    wish: Wish,
    *,
    places: Callable[[], Places],
    interpreter: Interpreter,
    network: Network,
    cache: Path,
    today: date,
    within: float | None,
    say: Callable[[str], None],
    pause: float | None = None,
) -> Chosen:
    """Choose the files of all owned packages that a wish needs, waiting within a bound for what is not offered yet.

    A package that nobody owns comes from the sources too where they have it, else from the base index, later.

    Parameters
    ----------
    wish
        What is wanted.
    places
        Returns the sources, asked anew while something is waited for.
    interpreter, network, cache
        As for :func:`build_tools.environments.resolve.lock_owned`.
    today
        The day that ages are counted from, in UTC.
    within, say, pause
        As for :func:`build_tools.environments.wait.when_there`.

    Raises
    ------
    HipwrightError
        ``requirement-missing`` naming all packages that are missing; ``bad-option-value`` when nothing of what is wanted is for this
        interpreter, or it looks like an owned name that was mistyped; what reading the sources raises.
    """
    wish = _for_interpreter(wish, interpreter, say)
    return when_there(
        lambda: _Choosing(wish=wish, places=places(), interpreter=interpreter, network=network, cache=cache).choose(today),
        within=within,
        say=say,
        pause=pause,
    )


def _for_interpreter(wish: Wish, interpreter: Interpreter, say: Callable[[str], None]) -> Wish:
    """Return a wish without the requirements that say themselves that they are not for this interpreter."""
    kept = tuple(one for one in wish.requirements if one.marker is None or one.marker.evaluate(dict(interpreter.markers)))
    for one in wish.requirements:
        if one not in kept:
            say(f"{one} is not for Python {interpreter.version} here: left out")
    if wish.requirements and not kept:
        names = ", ".join(map(str, wish.requirements))
        message = f"nothing of {names} is for Python {interpreter.version} here, by what stands behind the semicolon"
        raise HipwrightError("bad-option-value", message, hint="name packages for it, or another interpreter with --python")
    return replace(wish, requirements=kept)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Choosing:
    """One attempt."""

    wish: Wish
    places: Places
    interpreter: Interpreter
    network: Network
    cache: Path
    _listing: list[Listing] = field(default_factory=list)

    def choose(self, today: date) -> Chosen:
        owned, others = self._parted()
        if not owned:
            return Chosen(files=(), requirements=tuple(map(str, others)), pair=None, others=tuple(map(str, others)))
        if self.places.folder is not None and any(is_rocm(one.name) for one in owned):
            names = ", ".join(sorted(str(one) for one in owned if is_rocm(one.name)))
            message = f"--rocm-path names a ROCm that stands for packages, and {names} asks for packages"
            raise HipwrightError("option-conflict", message, hint="give one of them")
        asked = self._with_devices(owned)
        files = self._locked(asked)
        if self.wish.targets and {str(one) for one in asked} == {str(one) for one in owned}:
            asked = [*asked, *self._code_for(files, owned)]
            files = self._locked(asked)
        torch = self._packages.files("torch") if any(file.distribution == "torch" for file in files) else ()
        exact = {file.distribution: file.version for file in files}
        pinned = tuple(f"{_bare(one)}=={exact[canonicalize_name(one.name)]}" for one in asked)
        return Chosen(
            files=files,
            requirements=(*pinned, *map(str, others)),
            pair=chosen_pair(files, torch, today=today),
            others=tuple(map(str, others)),
        )

    def _locked(self, asked: Sequence[Requirement]) -> tuple[LockedFile, ...]:
        return lock_owned(
            asked,
            source=self.places.packages,
            rocm=self.places.rocm,
            interpreter=self.interpreter,
            network=self.network,
            cache=self.cache,
            prereleases=self.wish.prereleases,
        )

    def _code_for(self, files: Sequence[LockedFile], owned: Sequence[Requirement]) -> list[Requirement]:
        """Return what brings the code for the targets where nothing that is asked for does, but requires ROCm, as torch does.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` where nothing could have code for them.
        """
        brought = any(one.extras & {f"device-{target}" for target in self.wish.targets} for one in owned)
        if brought or any(file.distribution.startswith(_OF_FAMILY) for file in files):
            return []
        version = next((file.version for file in files if file.distribution == _ROCM), None)
        if version is not None:
            bare = Requirement(f"{_ROCM}=={version}")
            found = self._with_device(bare)
            if found.extras:
                return [found]
        names = ", ".join(sorted(str(one) for one in owned))
        message = f"{', '.join(self.wish.targets)} is asked for, and nothing of {names} has code for GPU targets"
        hint = 'ask for what has it too, such as "rocm[libraries]", or name no targets'
        raise HipwrightError("bad-option-value", message, hint=hint)

    @property
    def _packages(self) -> Listing:
        if not self._listing:
            self._listing.append(Listing(source=self.places.packages, network=self.network))
        return self._listing[0]

    def _parted(self) -> tuple[list[Requirement], list[Requirement]]:
        """Return the requirements of packages that come from the sources, and the others."""
        wish = self.wish
        for one in wish.requirements:
            if one.url is not None:
                message = f"{one} names a place; packages are asked for by name and version"
                raise HipwrightError(
                    "bad-option-value", message, hint="name its folder with --find-links, and the package by its name"
                )
        requirements = list(wish.requirements)
        if wish.rocm_version is not None:
            exact = Requirement(f"{_ROCM}=={wish.rocm_version}")
            same = [one for one in requirements if canonicalize_name(one.name) == _ROCM]
            requirements = [one for one in requirements if one not in same]
            requirements += [Requirement(f"{_bare(one)}{one.specifier & exact.specifier}") for one in same] or [exact]
        owned = [one for one in requirements if is_owned(one.name) or self._has(canonicalize_name(one.name))]
        others = [one for one in requirements if one not in owned]
        if self.places.named:
            _refuse_slips(others)
        return owned, others

    def _has(self, name: NormalizedName) -> bool:
        """Return whether sources that were named have a file that fits of a package that nobody owns."""
        if not self.places.named:
            return False
        tags = frozenset(supported_tags(self.interpreter))
        return any(one.kind == "sdist" or one.tags & tags for one in self._packages.files(name))

    def _with_devices(self, owned: Sequence[Requirement]) -> list[Requirement]:
        """Return the requirements with the extras that bring the code for the targets."""
        if not self.wish.targets:
            return list(owned)
        return [self._with_device(one) for one in owned]

    def _with_device(self, requirement: Requirement) -> Requirement:
        rocm = self.places.rocm if is_rocm(requirement.name) else None
        version, offered = offered_extras(
            requirement,
            source=rocm or self.places.packages,
            interpreter=self.interpreter,
            network=self.network,
            cache=self.cache,
            prereleases=self.wish.prereleases,
        )
        extras = extras_for(
            requirement.extras,
            offered,
            targets=self.wish.targets,
            family=self.wish.family,
            package=f"{requirement.name} {version}",
        )
        bare = f"{requirement.name}[{','.join(extras)}]" if extras else requirement.name
        return Requirement(f"{bare}{requirement.specifier}")


def _refuse_slips(others: Sequence[Requirement]) -> None:
    """Refuse what looks like an owned name that was mistyped: the base index may have somebody's package of such a name.

    An exact version says that it is meant.
    """
    for one in others:
        meant = owned_names().meant_by(one.name)
        exact = any(spec.operator in {"==", "==="} and not spec.version.endswith(".*") for spec in one.specifier)
        if meant is None or exact:
            continue
        message = f"{one.name} is in no source that is named, and would come from the base index, whoever made it; did you mean {meant}?"
        hint = f"where {one.name} itself is meant, name its exact version: {one.name}==VERSION"
        raise HipwrightError("bad-option-value", message, hint=hint)


def _bare(requirement: Requirement) -> str:
    """Return a requirement's name with its extras."""
    extras = ",".join(sorted(requirement.extras))
    return f"{requirement.name}[{extras}]" if extras else requirement.name
