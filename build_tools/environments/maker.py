"""The steps that make one environment, in a folder that nobody else touches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from packaging.utils import NormalizedName, canonicalize_name

from build_tools import digest
from build_tools.config.owned import is_owned
from build_tools.environments.building import SdistBuilder, no_file
from build_tools.environments.download import download_all
from build_tools.environments.from_base import BaseInstall
from build_tools.environments.install import Installer, PipInstaller, UvInstaller, choose_installer
from build_tools.environments.installed import (
    Distribution,
    installed_distributions,
    python_in,
    site_packages,
    unmet_requirements,
)
from build_tools.environments.interpreter import supported_tags
from build_tools.environments.pins import parse as parse_pins
from build_tools.environments.proof import prove_installed, prove_untouched, stamp_files
from build_tools.environments.requires import applies, parse_requirement
from build_tools.errors import HipwrightError, Where
from build_tools.files import free_space, write_text
from build_tools.receipts.values import EnvironmentRecord, InstalledPackage
from build_tools.types import Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from packaging.requirements import Requirement

    from build_tools.environments.request import EnvironmentRequest
    from build_tools.environments.resolved import Resolved
    from build_tools.environments.settings import BaseIndex
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedFile
    from build_tools.types import Platform

__all__ = ["BASE_INDEX", "MARK", "Maker"]

BASE_INDEX: Final = "base index"
"""The source of packages that nobody owns, as :class:`InstalledPackage` names it."""

_NOTES: Final = ".hipwright"
MARK: Final = f"{_NOTES}/environment"
"""The file that is in every environment of hipwright's from its beginning: what tells one from a folder of somebody else's."""

_SPARE: Final = 200 * 2**20
_UNPACKED: Final = 3
_SECONDS: Final = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Maker:
    """Makes one environment.

    Parameters
    ----------
    request
        What it is to hold.
    folder
        Where; empty or not there.
    cache, base, runner, platform, say, log, pip
        As for :func:`build_tools.environments.make.make_environment`.
    option
        What names another folder, for hints.
    """

    request: EnvironmentRequest
    folder: Path
    cache: Path
    base: BaseIndex
    runner: Runner
    platform: Platform
    say: Callable[[str], None]
    log: Path
    pip: Path
    option: str | None = "--work-dir"

    def fetch(self) -> dict[NormalizedName, Path]:
        """Return the file of each owned package, once all that can be proved beforehand is proved; nothing is written in the folder.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.environments.make.make_environment`.
        """
        self._wanted()
        self._check_pins()
        return self._fetch()

    def make(self, whole: Sha256, files: Mapping[NormalizedName, Path]) -> EnvironmentRecord:
        """Make it of the files that :meth:`fetch` returned, and return what its record says.

        Raises
        ------
        HipwrightError
            As :func:`build_tools.environments.make.make_environment`; the folder is then half-made.
        """
        request = self.request
        wanted = self._wanted()
        self._mark()
        own_pip = request.interpreter.own_pip if request.with_pip else None
        with ThreadPoolExecutor(1) as pool:
            # Starts of programs, neither of which needs the other one.
            chosen = pool.submit(self._installer, python_in(self.folder, self.platform), self._notes)
            python = self._venv(self.folder)
            installer = chosen.result()
        self.say(f"making {self.request.purpose}: Python {self.request.interpreter.version}, with {installer.program}")
        resolved: list[Resolved] = []
        if request.pins is not None:
            resolved += installer.install_pins(request.pins)
        places = self._install_owned(installer, files, own_pip)
        if request.with_pip and own_pip is None:
            wanted = (*wanted, parse_requirement("pip"))
        packages = site_packages(self.folder, self.platform)
        installed = installed_distributions(packages)
        stamps = {}
        if self._lacks(installed, wanted, places):
            stamps = stamp_files(packages, self._owned)
            resolved += self._install_base(installer, wanted, places)
            installed = installed_distributions(packages)
        prove_untouched(stamps, packages, self._owned, folder=self.folder, log=self.log)
        prove_installed(
            installed, request.owned, places, wanted=wanted, markers=request.interpreter.markers, by=request.purpose, log=self.log
        )
        return EnvironmentRecord(
            folder=str(self.folder),
            digest=whole,
            python=str(python),
            python_version=self.request.interpreter.version,
            python_tag=self.request.interpreter.python_tag,
            packages=self._packages(installed, resolved, own_pip),
        )

    def _installer(self, target: Path, notes: Path) -> UvInstaller | PipInstaller:
        return choose_installer(
            pip=self.pip,
            target=target,
            notes=notes,
            base=self.base,
            runner=self.runner,
            log=self.log,
            ranks={tag: rank for rank, tag in reversed(list(enumerate(supported_tags(self.request.interpreter))))},
            program=self.request.installer,
        )

    @property
    def _notes(self) -> Path:
        return self.folder / _NOTES

    @property
    def _owned(self) -> Mapping[NormalizedName, LockedFile]:
        return {canonicalize_name(file.distribution): file for file in self.request.owned}

    @property
    def _markers(self) -> Mapping[str, str]:
        return self.request.interpreter.markers

    def _wanted(self) -> tuple[Requirement, ...]:
        """Return the requirements that count here, after proof that every owned name among them has its file."""
        parsed = [parse_requirement(text) for text in self.request.requires]
        wanted = tuple(requirement for requirement in parsed if applies(requirement, (), self._markers))
        for requirement in wanted:
            name = canonicalize_name(requirement.name)
            file = self._owned.get(name)
            if file is None and is_owned(name):
                raise no_file(requirement, self.request.purpose)
            if file is not None and not requirement.specifier.contains(file.version, prereleases=True):
                message = f"{self.request.purpose} requires {requirement}, and {file.filename} is locked"
                raise HipwrightError("requirement-missing", message)
            if requirement.url is not None:
                message = f"{self.request.purpose} requires {requirement}, which names a place; only names and versions are taken"
                raise HipwrightError("install-failed", message)
        return wanted

    def _check_pins(self) -> None:
        pins = self.request.pins
        if pins is None:
            return
        try:
            text = pins.read_text(encoding="utf-8")
        except OSError as error:
            raise HipwrightError("bad-data-file", f"cannot read {pins}: {error.strerror}", where=Where(file=pins)) from error
        for pin in parse_pins(text, name=str(pins)):
            if pin.name in self._owned or is_owned(pin.name):
                message = f"{pins.name} pins {pin.name}, an owned name, which must not come from the base index"
                raise HipwrightError("owned-name-leak", message, where=Where(file=pins))

    def _fetch(self) -> dict[NormalizedName, Path]:
        owned = self._owned
        if len(owned) != len(self.request.owned):
            names = sorted(file.filename for file in self.request.owned)
            raise HipwrightError("install-failed", f"two files of one package cannot be installed: {', '.join(names)}")
        paths = download_all(list(owned.values()), cache=self.cache, network=self.base.network(), say=self.say)
        size = sum(path.stat().st_size for path in paths)
        free_space(self.folder, _UNPACKED * size + _SPARE, option=self.option)
        # Installers cross `..` out, and write down where that leads: it is the same as what was meant only without any.
        return {name: path.resolve() if ".." in path.parts else path for name, path in zip(owned, paths, strict=True)}

    def _mark(self) -> None:
        """Make the folder, with the mark of its maker in it before anything else."""
        self._notes.mkdir(parents=True)
        write_text(self.folder / MARK, f"hipwright made {self.request.purpose} here, and may make it anew\n")

    def _venv(self, folder: Path) -> Path:
        """Make a bare environment without pip inside, because ensurepip takes longer than everything else."""
        # `-S`: what is installed beside the interpreter is not looked through for a folder that has none of it.
        command: list[str | Path] = [self.request.interpreter.path, "-I", "-S", "-m", "venv", "--without-pip", folder]
        self.runner.run(command, cwd=folder.parent, log=self.log, timeout=_SECONDS, code="install-failed", what="python -m venv")
        return python_in(folder, self.platform)

    def _install_owned(
        self, installer: Installer, files: Mapping[NormalizedName, Path], own_pip: Path | None
    ) -> dict[NormalizedName, Path]:
        """Install the owned files and return where each lies, a source distribution's as the wheel that was built of it."""
        places = dict(files)
        hashes = {name: str(file.sha256) for name, file in self._owned.items()}
        for name, path in files.items():
            if not path.name.endswith(".whl"):
                places[name] = self._builder.build(path, name)
                hashes[name] = digest.of_file(places[name])
        lines = [f"{name} @ {path.as_uri()} --hash=sha256:{hashes[name]}" for name, path in sorted(places.items())]
        if own_pip is not None and "pip" not in places:
            lines.append(f"pip @ {own_pip.as_uri()} --hash=sha256:{digest.of_file(own_pip)}")
        if lines:
            requirements = self._notes / "owned.txt"
            write_text(requirements, "\n".join(lines) + "\n")
            installer.install_files(requirements)
        return places

    @property
    def _builder(self) -> SdistBuilder:
        return SdistBuilder(
            folder=self.folder,
            notes=self._notes,
            interpreter=self.request.interpreter,
            build_pins=self.request.build_pins,
            owns=self._owns,
            venv=self._venv,
            installer=self._installer,
            cache=self.cache,
            base=self.base,
            runner=self.runner,
            platform=self.platform,
            say=self.say,
            log=self.log,
            pip=self.pip,
        )

    def _lacks(
        self, installed: Sequence[Distribution], wanted: Sequence[Requirement], places: Mapping[NormalizedName, Path]
    ) -> bool:
        """Return whether something is still missing; nothing is asked of the base index when nothing is."""
        unmet = unmet_requirements(installed, wanted, markers=self._markers, by=self.request.purpose)
        for one in unmet:
            name = canonicalize_name(one.requirement.name)
            if name in places:
                raise HipwrightError("requirement-missing", str(one))
            if is_owned(name):
                raise no_file(one.requirement, one.by)
        return bool(unmet)

    def _install_base(
        self, installer: Installer, wanted: Sequence[Requirement], places: Mapping[NormalizedName, Path]
    ) -> tuple[Resolved, ...]:
        """Install what is still missing from the base index."""
        lines = [str(requirement) for requirement in wanted if canonicalize_name(requirement.name) not in places]
        for name, path in sorted(places.items()):
            extras = ",".join(sorted({extra for one in wanted if canonicalize_name(one.name) == name for extra in one.extras}))
            lines.append(f"{name}{f'[{extras}]' if extras else ''} @ {path.as_uri()}")
        sources: dict[NormalizedName, Sha256] = {}

        def build(requirement: Requirement) -> Path | None:
            made = self._builder.build_from_base(requirement)
            if made is None:
                return None
            sources[canonicalize_name(requirement.name)] = made[1]
            return made[0].parent

        resolved = BaseInstall(
            installer=installer,
            notes=self._notes,
            constraints=self.base.constraints,
            places=places,
            owns=self._owns,
            by=self.request.purpose,
            log=self.log,
            build=build,
        ).install(lines)
        return tuple(replace(one, sha256=sources.get(one.name, one.sha256)) for one in resolved)

    def _owns(self, name: str) -> bool:
        return canonicalize_name(name) in self._owned or is_owned(name)

    def _packages(
        self, installed: Sequence[Distribution], resolved: Sequence[Resolved], own_pip: Path | None
    ) -> tuple[InstalledPackage, ...]:
        known = {(one.name, one.version): (BASE_INDEX, one.sha256) for one in resolved}
        if own_pip is not None:
            key = (canonicalize_name("pip"), own_pip.name.split("-")[1])
            known.setdefault(key, (f"Python {self.request.interpreter.version}", digest.of_file(own_pip)))
        rows = []
        for one in installed:
            file = self._owned.get(one.name)
            source, sha256 = (file.url, file.sha256) if file else known.get((one.name, one.version), (BASE_INDEX, None))
            rows.append(
                InstalledPackage(name=one.name, version=one.version, source=source, sha256=Sha256(sha256) if sha256 else None)
            )
        return tuple(rows)
