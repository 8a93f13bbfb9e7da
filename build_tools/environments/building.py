"""Build source distributions into wheels, with what they are built with beside the environment, so that none of that stays in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.utils import InvalidWheelFilename, NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from build_tools.config.owned import is_owned
from build_tools.environments.base_listing import base_listing
from build_tools.environments.build_system import sdist_build_requires
from build_tools.environments.download import download_all
from build_tools.environments.from_base import BaseInstall
from build_tools.environments.install import PipInstaller
from build_tools.environments.installed import installed_distributions, python_in, site_packages, unmet_requirements
from build_tools.environments.interpreter import supported_tags
from build_tools.environments.pins import parse as parse_pins
from build_tools.environments.requires import parse_requirement
from build_tools.environments.resolve import choose_files
from build_tools.errors import HipwrightError
from build_tools.files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from packaging.requirements import Requirement

    from build_tools.environments.install import Installer
    from build_tools.environments.interpreter import Interpreter
    from build_tools.environments.settings import BaseIndex
    from build_tools.process import Runner
    from build_tools.types import Platform, Sha256

__all__ = ["SdistBuilder", "no_file"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SdistBuilder:
    """Builds source distributions for one environment.

    Parameters
    ----------
    folder, notes
        The environment, and a folder in it for what is made on the way.
    interpreter
        The interpreter that it is for.
    build_pins
        A hash-pinned requirements file with what is built with.
    owns
        Which names the base index may not give.
    venv
        Makes a bare environment in a folder, and returns its interpreter.
    installer
        Returns what installs into the environment of an interpreter, with a folder for its notes.
    cache, base, runner, platform, say, log, pip
        As for :func:`build_tools.environments.make.make_environment`.
    """

    folder: Path
    notes: Path
    interpreter: Interpreter
    build_pins: Path | None
    owns: Callable[[str], bool]
    venv: Callable[[Path], Path]
    installer: Callable[[Path, Path], Installer]
    cache: Path
    base: BaseIndex
    runner: Runner
    platform: Platform
    say: Callable[[str], None]
    log: Path
    pip: Path

    def build(self, sdist: Path, name: NormalizedName) -> Path:
        """Build a source distribution, and return its wheel, in a folder of its own.

        Raises
        ------
        HipwrightError
            ``install-failed``; ``requirement-missing`` or ``owned-name-leak`` where it is built with an owned package.
        """
        target = self.notes / "built" / name
        target.mkdir(parents=True)
        python = self._python_for(sdist, name)
        builder = PipInstaller(pip=self.pip, target=python, notes=self.notes, base=self.base, runner=self.runner, log=self.log)
        self.say(f"building {sdist.name}")
        builder.build_wheel(sdist, target)
        wheels = sorted(target.glob("*.whl"))
        if len(wheels) != 1:
            raise HipwrightError("install-failed", f"{sdist.name} was built into {len(wheels)} wheels", log=self.log)
        if _name_of(wheels[0]) != name:
            message = f"{sdist.name} was built into {wheels[0].name}, the wheel of another package"
            raise HipwrightError("install-failed", message, log=self.log)
        return wheels[0]

    def build_from_base(self, requirement: Requirement) -> tuple[Path, Sha256] | None:
        """Build a package of which the base index has source distributions alone, and return its wheel and the hash of its source.

        The newest version that meets the requirement is taken. None where the base index has none, or a wheel that fits.

        Raises
        ------
        HipwrightError
            ``source-unreachable``; what :meth:`build` raises.
        """
        normal = canonicalize_name(requirement.name)
        offers = base_listing(self.base)
        files = [one for one in offers.files(normal) if requirement.specifier.contains(one.version, prereleases=True)]
        tags = frozenset(supported_tags(self.interpreter))
        if self.owns(normal) or not files or any(one.kind == "wheel" and one.tags & tags for one in files):
            return None
        try:
            chosen = choose_files(
                [requirement], offers=offers, interpreter=self.interpreter, cache=self.cache, follows=lambda _name: False
            )
        except HipwrightError as error:
            if error.code.name != "requirement-missing":
                raise
            return None
        (sdist,) = download_all(list(chosen), cache=self.cache, network=self.base.network(), say=self.say)
        return self.build(sdist, normal), chosen[0].sha256

    def _python_for(self, sdist: Path, name: str) -> Path:
        """Return the interpreter that a source distribution is built with.

        It is the environment's own where that holds what is needed, else one of an environment beside it.
        """
        texts = sorted(sdist_build_requires(sdist))
        needed = [parse_requirement(text) for text in texts]
        if not self._lacks(self.folder, needed):
            return python_in(self.folder, self.platform)
        beside, notes = self.notes / "builders" / name, self.notes / "builders" / f"{name}-notes"
        notes.mkdir(parents=True)
        python = self.venv(beside)
        self.say(f"what {sdist.name} is built with: {', '.join(texts)}, from the base index")
        try:
            self._install_build_tools(needed, self.installer(python, notes), notes, beside)
        except HipwrightError as error:
            message = f"what {sdist.name} is built with cannot be installed from the base index: {error.message}"
            hint = error.hint or "the base index has to have it; `invoke show-config` tells which index that is"
            raise HipwrightError(error.code.name, message, hint=hint, log=error.log, excerpt=error.excerpt) from error
        return python

    def _install_build_tools(self, needed: Sequence[Requirement], installer: Installer, notes: Path, beside: Path) -> None:
        pins = self._pins(needed)
        if pins:
            write_text(notes / "pins.txt", "".join(pins))
            installer.install_pins(notes / "pins.txt")
        lacking = self._lacks(beside, needed)
        for requirement in lacking:
            if is_owned(requirement.name):
                raise no_file(requirement, "a source distribution")
        if lacking:
            BaseInstall(
                installer=installer,
                notes=notes,
                constraints=self.base.constraints,
                places={},
                owns=self.owns,
                by="what a source distribution is built with",
                log=self.log,
            ).install(map(str, lacking))

    def _pins(self, needed: Sequence[Requirement]) -> list[str]:
        """Return the pins of what source distributions are built with: of these packages alone, where they are allowed and there.

        A base index of a person's own need not have the very version that is pinned; what is required decides then.
        """
        pins = (
            () if self.build_pins is None else parse_pins(self.build_pins.read_text(encoding="utf-8"), name=str(self.build_pins))
        )
        offers = base_listing(self.base)
        found = []
        for pin in pins:
            asked = [one.specifier for one in needed if canonicalize_name(one.name) == pin.name]
            if not asked or pin.version is None or not all(each.contains(pin.version, prereleases=True) for each in asked):
                continue
            if any(one.version == Version(pin.version) for one in offers.files(pin.name)):
                found.append(f"{pin.requirement} {' '.join(f'--hash={value}' for value in pin.hashes)}\n")
        return found

    def _lacks(self, folder: Path, needed: Iterable[Requirement]) -> list[Requirement]:
        installed = installed_distributions(site_packages(folder, self.platform))
        unmet = unmet_requirements(installed, needed, markers=self.interpreter.markers, by="a source distribution")
        return [one.requirement for one in unmet]


def no_file(requirement: Requirement, by: str) -> HipwrightError:
    """Return the error for an owned package that nobody gave a file for."""
    message = f"{by} requires {requirement}, which comes only from a source that is named for it, and no file of it is locked"
    hint = "name the source with --find-links or --index-url (ROCm packages: --rocm-find-links or --rocm-index-url)"
    return HipwrightError("requirement-missing", message, hint=hint)


def _name_of(wheel: Path) -> str | None:
    try:
        return parse_wheel_filename(wheel.name)[0]
    except InvalidWheelFilename:
        return None
