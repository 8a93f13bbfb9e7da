"""Make an environment: the one place where packages are put together, always in the same steps.

1. An empty environment, in place, in a folder named by the digest of what goes in; the record is written last, as the done mark.
2. The hash-pinned packages that hipwright itself needs there, from the base index.
3. The owned files, by path and hash: no index, no dependencies. A source distribution is built into a wheel first, without isolation.
4. One resolver run over the base index for all that is still missing, with every owned package named by its file.
5. What is installed is compared with what was meant: owned names only as locked, every requirement met.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from packaging.utils import NormalizedName, canonicalize_name

from build_tools import digest
from build_tools.config.owned import is_owned
from build_tools.environments.constraints import without_owned
from build_tools.environments.download import download_all
from build_tools.environments.install import Installer, PipInstaller, choose_installer
from build_tools.environments.installed import (
    Distribution,
    installed_distributions,
    python_in,
    scripts_in,
    site_packages,
    unmet_requirements,
)
from build_tools.environments.interpreter import Interpreter, supported_tags
from build_tools.environments.pins import parse as parse_pins
from build_tools.environments.proof import prove_installed
from build_tools.environments.requires import applies, parse_requirement
from build_tools.errors import HipwrightError, Where
from build_tools.files import free_space, hold, make_folder, remove_tree, write_bytes, write_text
from build_tools.receipts.record import read_record, to_json
from build_tools.receipts.values import EnvironmentRecord, InstalledPackage
from build_tools.types import Platform, Sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from packaging.requirements import Requirement

    from build_tools.environments.resolved import Resolved
    from build_tools.environments.settings import BaseIndex
    from build_tools.process import Runner
    from build_tools.receipts.lock import LockedFile

__all__ = [
    "BASE_INDEX",
    "EnvironmentRequest",
    "environment_digest",
    "finished_environment",
    "make_environment",
    "python_in",
    "scripts_in",
]

BASE_INDEX: Final = "base index"
"""The source of packages that nobody owns, as :class:`InstalledPackage` names it."""

_RECIPE: Final = 1
"""Counts up when the steps change, so that environments made in the old way are not taken for new ones."""

_DONE: Final = "environment.json"
_NOTES: Final = ".hipwright"
_NAME_LENGTH: Final = 16
_SPARE: Final = 200 * 2**20
_UNPACKED: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentRequest:
    """What an environment is to hold.

    Parameters
    ----------
    interpreter
        The interpreter that it is for.
    owned
        Exact files that come only from where they were locked.
    pins
        A hash-pinned requirements file, installed from the base index.
    requires
        Further requirements. An owned name in them must be met by ``owned``; everything else comes from the base index.
    purpose
        What it is for, in words for people; no part of the digest.
    """

    interpreter: Interpreter
    owned: tuple[LockedFile, ...] = ()
    pins: Path | None = None
    requires: tuple[str, ...] = ()
    purpose: str = "an environment"


def environment_digest(request: EnvironmentRequest, base: BaseIndex) -> Sha256:
    """Return the digest of what goes into an environment, which is its name."""
    interpreter = request.interpreter
    return digest.of_value(
        {
            "recipe": _RECIPE,
            "python": [str(interpreter.path), interpreter.version, interpreter.python_tag],
            "owned": sorted([file.distribution, file.version, file.filename, file.sha256] for file in request.owned),
            "pins": digest.of_file(request.pins) if request.pins is not None else None,
            "requires": sorted(request.requires),
            "base": base.identity(),
        }
    )


def make_environment(
    request: EnvironmentRequest,
    *,
    envs: Path,
    cache: Path,
    base: BaseIndex,
    runner: Runner,
    platform: Platform,
    say: Callable[[str], None],
    wait: bool,
    log: Path,
    pip: Path = Path(sys.executable),
    renew: bool = False,
) -> EnvironmentRecord:
    """Make an environment, or return the one that is there already.

    Parameters
    ----------
    request
        What it is to hold.
    envs
        The folder of all environments; each is a folder there, never renamed.
    cache
        hipwright's cache folder.
    base
        The base index.
    runner
        Starts the interpreter, pip and uv; uv is used when it is on the runner's path.
    platform
        The operating system of this machine.
    say
        Told what happens, a line each.
    wait
        Whether to wait for another run that makes the same environment.
    log
        Where the output of pip and uv goes.
    pip
        An interpreter that has pip.
    renew
        Whether to make it again although it is there.

    Raises
    ------
    HipwrightError
        ``requirement-missing`` for an owned name that nobody gave a file for; ``hash-mismatch``; ``source-unreachable``;
        ``install-failed`` with the log; ``owned-name-leak``; ``locked``; ``disk-space``; ``folder-not-writable``.
    """
    whole = environment_digest(request, base)
    folder = envs / whole[:_NAME_LENGTH]
    record = finished_environment(folder, whole, platform)
    if record is not None and not renew:
        return record
    make_folder(envs)
    with hold(envs / f"{folder.name}.lock", purpose=f"making {request.purpose}", wait=wait, on_wait=say):
        record = finished_environment(folder, whole, platform)
        if record is not None and not renew:
            return record
        if folder.exists():
            say(f"{folder.name} {'was left half-made' if record is None else 'is there and is not taken'}: making it again")
            # The done mark goes first, so that a removal that is cut short leaves nothing that looks whole.
            (folder / _DONE).unlink(missing_ok=True)
            remove_tree(folder)
        maker = _Maker(
            request=request, folder=folder, cache=cache, base=base, runner=runner, platform=platform, say=say, log=log, pip=pip
        )
        try:
            record = maker.make(whole)
        except HipwrightError:
            remove_tree(folder)
            raise
        write_bytes(folder / _DONE, to_json(record))
        return record


def finished_environment(folder: Path, whole: Sha256, platform: Platform) -> EnvironmentRecord | None:
    """Return the record of an environment that is whole and stands where it was made."""
    if not (folder / _DONE).is_file():
        return None
    try:
        record = read_record(folder / _DONE, EnvironmentRecord)
    except HipwrightError:
        return None
    whole_and_here = record.digest == whole and record.folder == str(folder) and python_in(folder, platform).exists()
    return record if whole_and_here else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Maker:
    """Makes one environment in a folder that nobody else touches."""

    request: EnvironmentRequest
    folder: Path
    cache: Path
    base: BaseIndex
    runner: Runner
    platform: Platform
    say: Callable[[str], None]
    log: Path
    pip: Path

    def make(self, whole: Sha256) -> EnvironmentRecord:
        request = self.request
        wanted = self._wanted()
        self._check_pins()
        files = self._fetch()
        python = self._empty()
        notes = self.folder / _NOTES
        notes.mkdir()
        installer = choose_installer(
            pip=self.pip,
            target=python,
            notes=notes,
            base=self.base,
            runner=self.runner,
            log=self.log,
            ranks={tag: rank for rank, tag in reversed(list(enumerate(supported_tags(self.request.interpreter))))},
        )
        self.say(f"making {self.request.purpose}: Python {self.request.interpreter.version}, with {installer.program}")
        resolved: list[Resolved] = []
        if self.request.pins is not None:
            resolved += installer.install_pins(self.request.pins)
        places = self._install_owned(installer, files)
        resolved += self._install_base(installer, wanted, places)
        installed = installed_distributions(site_packages(self.folder, self.platform))
        prove_installed(
            installed, request.owned, places, wanted=wanted, markers=request.interpreter.markers, by=request.purpose, log=self.log
        )
        return EnvironmentRecord(
            folder=str(self.folder),
            digest=whole,
            python=str(python),
            python_version=self.request.interpreter.version,
            python_tag=self.request.interpreter.python_tag,
            packages=self._packages(installed, resolved),
        )

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
                raise _no_file(requirement, self.request.purpose)
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
        free_space(self.folder, _UNPACKED * size + _SPARE)
        return dict(zip(owned, paths, strict=True))

    def _empty(self) -> Path:
        """Make the bare environment; without pip inside, because bringing pip in takes longer than everything else."""
        base_python = self.request.interpreter.path
        command: list[str | Path] = [base_python, "-I", "-m", "venv", "--without-pip", self.folder]
        self.runner.run(command, cwd=self.folder.parent, log=self.log, timeout=600, code="install-failed", what="python -m venv")
        return python_in(self.folder, self.platform)

    def _install_owned(self, installer: Installer, files: Mapping[NormalizedName, Path]) -> dict[NormalizedName, Path]:
        """Install the owned files and return where each lies, a source distribution's as the wheel that was built of it."""
        places = dict(files)
        hashes = {name: file.sha256 for name, file in self._owned.items()}
        for name, path in files.items():
            if not path.name.endswith(".whl"):
                places[name] = self._built(path, name)
                hashes[name] = digest.of_file(places[name])
        lines = [f"{name} @ {path.as_uri()} --hash=sha256:{hashes[name]}" for name, path in sorted(places.items())]
        if lines:
            requirements = self.folder / _NOTES / "owned.txt"
            write_text(requirements, "\n".join(lines) + "\n")
            installer.install_files(requirements)
        return places

    def _built(self, sdist: Path, name: str) -> Path:
        notes = self.folder / _NOTES
        target = notes / "built" / name
        target.mkdir(parents=True)
        builder = PipInstaller(
            pip=self.pip,
            target=python_in(self.folder, self.platform),
            notes=notes,
            base=self.base,
            runner=self.runner,
            log=self.log,
        )
        self.say(f"building {sdist.name}")
        builder.build_wheel(sdist, target)
        wheels = sorted(target.glob("*.whl"))
        if len(wheels) != 1:
            raise HipwrightError("install-failed", f"{sdist.name} was built into {len(wheels)} wheels", log=self.log)
        return wheels[0]

    def _install_base(
        self, installer: Installer, wanted: Sequence[Requirement], places: Mapping[NormalizedName, Path]
    ) -> tuple[Resolved, ...]:
        """Install what is still missing; nothing is asked of the base index when nothing is."""
        installed = installed_distributions(site_packages(self.folder, self.platform))
        unmet = unmet_requirements(installed, wanted, markers=self._markers, by=self.request.purpose)
        for one in unmet:
            name = canonicalize_name(one.requirement.name)
            if name in places:
                raise HipwrightError("requirement-missing", str(one))
            if is_owned(name):
                raise _no_file(one.requirement, one.by)
        if not unmet:
            return ()
        lines = [str(requirement) for requirement in wanted if canonicalize_name(requirement.name) not in places]
        for name, path in sorted(places.items()):
            extras = ",".join(sorted({extra for one in wanted if canonicalize_name(one.name) == name for extra in one.extras}))
            lines.append(f"{name}{f'[{extras}]' if extras else ''} @ {path.as_uri()}")
        notes = self.folder / _NOTES
        requirements = notes / "base.txt"
        write_text(requirements, "\n".join(lines) + "\n")
        constraints = without_owned(self.base.constraints, owns=self._owns, folder=notes)
        return installer.install_base(requirements, constraints)

    def _owns(self, name: str) -> bool:
        return canonicalize_name(name) in self._owned or is_owned(name)

    def _packages(self, installed: Sequence[Distribution], resolved: Sequence[Resolved]) -> tuple[InstalledPackage, ...]:
        hashes = {(one.name, one.version): one.sha256 for one in resolved}
        rows = []
        for one in installed:
            file = self._owned.get(one.name)
            sha256 = file.sha256 if file else hashes.get((one.name, one.version))
            rows.append(
                InstalledPackage(
                    name=one.name,
                    version=one.version,
                    source=file.url if file else BASE_INDEX,
                    sha256=Sha256(sha256) if sha256 else None,
                )
            )
        return tuple(rows)


def _no_file(requirement: Requirement, by: str) -> HipwrightError:
    message = f"{by} requires {requirement}, which comes only from a source that is named for it, and no file of it is locked"
    hint = "name the source with --find-links or --index-url (ROCm packages: --rocm-find-links or --rocm-index-url)"
    return HipwrightError("requirement-missing", message, hint=hint)
