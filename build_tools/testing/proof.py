"""Prove that an environment holds exactly the wheels under test, and that an import finds them there and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from packaging.utils import canonicalize_name, parse_wheel_filename

from build_tools.errors import HipwrightError, Where
from build_tools.testing import probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.process import Runner
    from build_tools.receipts.check import JudgedWheel
    from build_tools.receipts.values import EnvironmentRecord

__all__ = ["CHILD_ENVIRONMENT", "ISOLATED", "prove_environment", "prove_imports"]

ISOLATED: Final = ("-I", "-B", "-X", "utf8")
"""Interpreter flags of every child: neither the current folder, the script's folder, ``PYTHON*`` variables nor the user's packages count."""

CHILD_ENVIRONMENT: Final[Mapping[str, str]] = {"PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}
"""The same for the interpreters that tests start themselves; the first counts from Python 3.11 on."""


class _Origin(msgspec.Struct, frozen=True):
    places: list[str]
    recorded: bool


class _Installed(msgspec.Struct, frozen=True):
    version: str
    files: int
    differences: list[str]
    packages: dict[str, _Origin]


class _Answer(msgspec.Struct, frozen=True):
    environment: str
    distributions: dict[str, _Installed | None]


def prove_environment(
    environment: EnvironmentRecord, wheels: Sequence[JudgedWheel], *, runner: Runner, folder: Path
) -> tuple[str, ...]:
    """Return the import packages of the wheels, once it is shown that the environment holds these wheels' bytes.

    Shown by the environment's receipt (version and sha256 of what was installed), by each distribution's RECORD against the files
    as they are now, and by asking that interpreter which file an import would load.

    Parameters
    ----------
    environment
        The environment under test.
    wheels
        The wheels that the verdict will speak of.
    runner
        Starts the probe.
    folder
        A neutral folder to run it in.

    Raises
    ------
    HipwrightError
        ``environment-changed`` or ``foreign-import``.
    """
    versions = _installed_versions(environment, wheels)
    done = runner.capture(
        [environment.python, *ISOLATED, Path(probe.__file__), *versions],
        cwd=folder,
        env=CHILD_ENVIRONMENT,
        timeout=600,
        what="the probe of the test environment",
    )
    answer = msgspec.json.decode(done.stdout, type=_Answer)
    if not _inside(answer.environment, environment):
        message = f"{environment.python} is the interpreter of {answer.environment}, not of {environment.folder}"
        raise HipwrightError("environment-changed", message)
    packages: list[str] = []
    for name, version in versions.items():
        installed = _whole(name, version, answer.distributions.get(name), environment)
        for package, origin in installed.packages.items():
            outside = [place for place in origin.places if not _inside(place, environment)]
            if outside or not origin.recorded:
                found = ", ".join(outside or origin.places) or "nowhere"
                message = f"import {package} finds {found}, not the files that {name} {version} installed in {environment.folder}"
                raise HipwrightError("foreign-import", message, where=Where(module=package))
        packages += installed.packages
    if not packages:
        message = f"{', '.join(versions)} has no import package, so no test can show that it works"
        raise HipwrightError("wheel-not-tested", message)
    return tuple(packages)


def prove_imports(loaded: Mapping[str, str], foreign: Mapping[str, str], *, environment: EnvironmentRecord) -> None:
    """Prove that the tests imported a package under test, and all of it from the environment.

    Parameters
    ----------
    loaded
        The packages under test that the test process had imported, with their files.
    foreign
        Their modules that came from elsewhere.
    environment
        The environment under test.

    Raises
    ------
    HipwrightError
        ``foreign-import`` or ``wheel-not-tested``.
    """
    if foreign:
        listed = ", ".join(f"{module} from {file}" for module, file in foreign.items())
        hint = "tests must not put a source tree on sys.path"
        raise HipwrightError("foreign-import", f"tests imported {listed}, outside {environment.folder}", hint=hint)
    if not loaded:
        hint = "a smoke test imports the package and calls it"
        raise HipwrightError("wheel-not-tested", "no test imported a package of the wheel under test", hint=hint)


def _installed_versions(environment: EnvironmentRecord, wheels: Sequence[JudgedWheel]) -> dict[str, str]:
    """Return the wheels' distributions and versions; each must be in the environment's receipt with its bytes."""
    if not wheels:
        raise HipwrightError("no-wheel", "there is no wheel to test")
    recorded = {canonicalize_name(package.name): package for package in environment.packages}
    versions: dict[str, str] = {}
    for wheel in wheels:
        name, version, _, _ = parse_wheel_filename(wheel.filename)
        package = recorded.get(name)
        if package is None:
            raise HipwrightError("environment-changed", f"{wheel.filename} is not installed in {environment.folder}")
        if package.sha256 != wheel.sha256:
            message = f"{environment.folder} holds {name} {package.version} with other bytes than {wheel.filename}"
            raise HipwrightError("environment-changed", message)
        versions[name] = str(version)
    return versions


def _whole(name: str, version: str, installed: _Installed | None, environment: EnvironmentRecord) -> _Installed:
    if installed is None:
        message = f"{name} is in the receipt of {environment.folder} but no longer installed there"
        raise HipwrightError("environment-changed", message)
    if installed.version != version or not installed.files or installed.differences:
        listed = ", ".join(installed.differences) or f"version {installed.version}, {installed.files} recorded files"
        message = f"{name} {version} in {environment.folder} is not as it was installed: {listed}"
        raise HipwrightError("environment-changed", message, hint=f"remove {environment.folder}; it is made again")
    return installed


def _inside(place: str, environment: EnvironmentRecord) -> bool:
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(environment.folder))
