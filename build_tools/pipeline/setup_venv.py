"""``setup_venv``: an environment of chosen packages from chosen sources, in a folder of the person's choice."""

from __future__ import annotations

import json
import os.path
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from packaging.requirements import Requirement

from build_tools import digest
from build_tools.config.owned import is_rocm
from build_tools.environments.installed import installed_distributions, site_packages
from build_tools.environments.listing import Listing
from build_tools.environments.make import EnvironmentRequest, added_by_hand, python_in, scripts_in
from build_tools.environments.network import Network
from build_tools.errors import HipwrightError, Where
from build_tools.files import hold, remove_tree, write_text
from build_tools.locking.places import named_places, reads_only_folders, wanted_family, wanted_targets
from build_tools.locking.wanted import Wish, choose
from build_tools.pipeline.activate import job_files
from build_tools.process import printable
from build_tools.receipts.record import plain
from build_tools.rocm.devices import FAMILY_VARIABLE, device_code, installed_families, installed_family, is_devel
from build_tools.rocm.health import examine_mix, first_of
from build_tools.rocm.pairs import fitting_versions
from build_tools.rocm.sdk import describe_folder, describe_sdk, lost_files, missing_parts
from build_tools.rocm.stray import find_strays
from build_tools.types import Platform
from build_tools.urls import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.environments.interpreter import Interpreter
    from build_tools.locking.places import Places
    from build_tools.locking.wanted import Chosen
    from build_tools.receipts.values import EnvironmentRecord, Sdk
    from build_tools.workplace import Workplace

__all__ = ["setup_venv", "show_packages", "tell_chosen", "tell_strays", "the_interpreter", "wish_of"]

_PROOF: Final = ".hipwright/sdk.json"
"""The SDK of an environment as it was described once it was proved to be whole."""

_COLUMNS: Final = ("package", "version", "from")


def setup_venv(workplace: Workplace) -> dict[str, Any]:
    """Make the environment, or keep the one that is there.

    Returns
    -------
    dict
        Under ``environment``: its record, whether it was made, the sources, and the SDK in it where it has the development files.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` without one folder and something to install; ``foreign-folder``; ``requirement-missing`` naming all that
        is missing; ``sdk-incomplete``; what reading sources and installing raise.
    """
    settings, console = workplace.settings, workplace.console
    folder = _folder(workplace)
    job = job_files(workplace.machine) if settings.activate_in_future_github_actions_steps else None
    if not settings.packages:
        hint = f'say what to install: nox -s setup_venv -- {printable([str(folder)])} --packages "rocm[libraries,devel]"'
        raise HipwrightError("bad-option-value", "setup_venv is given no packages to install", hint=hint)
    places: list[Places] = []

    def sources() -> Places:
        places.append(named_places(workplace))
        return places[-1]

    interpreter = the_interpreter(workplace)
    wish = wish_of(workplace, settings.packages)
    chosen = choose(
        wish,
        places=sources,
        interpreter=interpreter,
        # pip takes its time to say what the base index is, and packages in folders take theirs to be hashed.
        network=Network() if reads_only_folders(workplace) else workplace.base.network(),
        cache=workplace.cache,
        today=datetime.now(tz=UTC).date(),
        within=settings.timeout,
        say=console.say,
        pause=settings.wait_between,
    )
    tell_chosen(chosen, places[-1], workplace)
    guard = workplace.cache / "locks" / f"environment-{digest.of_value(str(folder))[:16]}.lock"
    # Held over all that is done to it: what is expanded and proved in it must not be made anew by another run meanwhile.
    with hold(guard, purpose=f"making the environment {folder}", wait=settings.wait, on_wait=console.say):
        record, made = _make(folder, chosen, interpreter, workplace)
        _refuse_mixed(record, chosen, places[-1], workplace)
        folder_sdk = places[-1].folder
        sdk = _sdk(record, wish, workplace) if folder_sdk is None else _folder_sdk(record, folder_sdk, workplace)
        tell_strays(workplace, but=(folder, *([folder_sdk] if folder_sdk else [])))
        added = added_by_hand(record, workplace.platform)
        show_packages(record, _title(record, made=made), _note(record, chosen, added, workplace), workplace)
    if job is not None:
        job.activate(folder, scripts_in(folder, workplace.platform))
        console.say("the following steps of this job find its programs first")
    return {
        "environment": {
            **plain(record),
            "made": made,
            "sources": places[-1].describe() if chosen.files else "the base index",
            "rocm_folder": str(folder_sdk) if folder_sdk else None,
            "added_by_hand": list(added),
            "sdk": sdk,
        }
    }


def _make(folder: Path, chosen: Chosen, interpreter: Interpreter, workplace: Workplace) -> tuple[EnvironmentRecord, bool]:
    """Make the environment or keep it, while its lock is held; return it, and whether it was made."""
    settings = workplace.settings
    log = workplace.work_dir / "logs" / "setup_venv" / f"{digest.of_value(str(folder))[:16]}.log"
    remove_tree(log)
    return workplace.environment_in(
        folder,
        EnvironmentRequest(
            interpreter=interpreter,
            owned=chosen.files,
            requires=chosen.requirements,
            build_pins=workplace.requirements / "build-env.txt",
            with_pip=True,
            installer=cast("Literal['pip', 'uv'] | None", settings.installer),
            purpose=f"the environment {folder}",
        ),
        guard=None,
        runner=workplace.runner,
        log=log,
        renew=settings.clean,
        option=None,
    )


def the_interpreter(workplace: Workplace) -> Interpreter:
    """Return the one interpreter that an environment is made for.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when several are named; what finding it raises.
    """
    if len(workplace.settings.python) > 1:
        message = f"one environment is for one interpreter, and --python names {', '.join(workplace.settings.python)}"
        raise HipwrightError("bad-option-value", message, hint="name one")
    (interpreter,) = workplace.interpreters.values()
    return interpreter


def wish_of(workplace: Workplace, packages: tuple[str, ...]) -> Wish:
    """Return what the options ask for beside the sources.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for targets that are none.
    """
    settings = workplace.settings
    return Wish(
        requirements=tuple(map(Requirement, packages)),
        rocm_version=settings.rocm_version,
        targets=wanted_targets(workplace),
        family=wanted_family(workplace),
        prereleases=settings.pre or None,
    )


def tell_chosen(chosen: Chosen, places: Places, workplace: Workplace) -> None:
    """Say which torch and ROCm were chosen, how old they are, from where, and what is newer; and what comes from no such place."""
    if chosen.others:
        none = "" if not places.named else f"; {places.describe()} does not have {'it' if len(chosen.others) == 1 else 'them'}"
        workplace.console.say(f"from the base index: {', '.join(chosen.others)}{none}")
    if chosen.pair is None:
        return
    workplace.console.say(f"chosen: {chosen.pair}, from {places.describe()}")
    if chosen.pair.newer is not None:
        message = f"a newer ROCm is there for another torch: {chosen.pair.newer}"
        workplace.console.warn(f"{message}; the newest torch was chosen, name torch=={chosen.pair.newer} for that one")


def tell_strays(workplace: Workplace, *, but: tuple[Path, ...]) -> None:
    """Say which ROCm of the machine's own is there and not used."""
    for stray in find_strays(workplace.machine, platform=workplace.platform, but=but):
        version = f" {stray.version}" if stray.version else ""
        workplace.console.say(f"the machine has a ROCm{version} of its own in {stray.folder} ({stray.told_by}); it is not used")


def show_packages(record: EnvironmentRecord, title: str, note: str, workplace: Workplace) -> None:
    """Show what is installed, and from where."""
    rows = [(package.name, package.version, redact(package.source)) for package in record.packages]
    workplace.console.table(title, _COLUMNS, rows, note=note)


def _folder(workplace: Workplace) -> Path:
    paths = workplace.settings.paths
    if len(paths) != 1:
        message = f"setup_venv takes the folder of one environment, not {len(paths)}"
        raise HipwrightError("bad-option-value", message, hint='nox -s setup_venv -- .venv --packages "rocm[libraries,devel]"')
    folder = Path(os.path.realpath(paths[0]))
    if folder == folder.parent:
        message = f"{folder} is the root of a disk, and an environment is a folder of its own"
        raise HipwrightError("foreign-folder", message, where=Where(file=folder), hint="name a folder that is not there yet")
    if not str(folder).isprintable():
        message = f"{str(folder)!r} has a character that neither a program's first line nor a path list can hold"
        raise HipwrightError("bad-option-value", message, hint="name another folder")
    return folder


def _sdk(record: EnvironmentRecord, wish: Wish, workplace: Workplace) -> dict[str, Any] | None:
    """Prove that a build finds what it needs, where the development files are installed, which are expanded for that.

    What was proved before is only looked at, and mended where files are lost.
    """
    if not any(is_devel(package.name) for package in record.packages):
        return None
    proof, console = Path(record.folder) / _PROOF, workplace.console
    mend = False
    if proof.is_file():
        known = cast("dict[str, Any]", json.loads(proof.read_bytes()))
        faults = _faults(record, Path(known["root"]), workplace.platform)
        if not faults:
            return known
        console.say(f"mending ROCm's development files: {first_of(faults)}")
        mend = True
    else:
        console.say("expanding ROCm's development files, and looking whether all that a build needs is there")
    names = [package.name for package in record.packages]
    families = installed_families(names)
    # Each family has a tree of its own; which of them lost files is not asked.
    if not mend and (chosen := installed_family(names, targets=wish.targets, family=wish.family)):
        families = (chosen,)
    found = [
        describe_sdk(
            record,
            requirement="rocm",
            runner=workplace.runner,
            platform=workplace.platform,
            warn=console.warn,
            family=family,
            mend=mend,
        )
        for family in families or (None,)
    ]
    sdk = found[0]
    if len(found) > 1:
        console.say(f"packages of several GPU families are there: a build has to name one, as {FAMILY_VARIABLE}={sdk.family}")
    code = ", ".join(device_code(names))
    console.say(f"ROCm {sdk.version} in {sdk.root}, {f'with device code for {code}' if code else 'without device code'}")
    told = _told(sdk)
    write_text(proof, json.dumps(told, sort_keys=True) + "\n")
    return told


def _faults(record: EnvironmentRecord, root: Path, platform: Platform) -> list[str]:
    """Return what the trees of development files lack: the one that was proved, and those of other GPU families beside it."""
    trees = dict.fromkeys((root, *sorted(site_packages(Path(record.folder), platform).glob("_rocm_sdk_devel*"))))
    return [fault for tree in trees for fault in (*missing_parts(tree, platform), *lost_files(tree))]


def _refuse_mixed(record: EnvironmentRecord, chosen: Chosen, places: Places, workplace: Workplace) -> None:
    """Refuse packages of several ROCm versions, or of several builds of one: they are installed without a word and fail late.

    Raises
    ------
    HipwrightError
        ``mixed-stack``, with the versions to ask for where the source has such.
    """
    packages = site_packages(Path(record.folder), workplace.platform)
    health = examine_mix(installed_distributions(packages), packages)
    for ailment in health.ailments:
        if ailment.severity != "error":
            workplace.console.warn(ailment.message)
            continue
        fitting = fitting_versions(
            health.packages,
            files=chosen.files,
            offered=lambda name: Listing(
                source=places.rocm if places.rocm is not None and is_rocm(name) else places.packages,
                network=workplace.base.network(),
            ).files(name),
        )
        pins = " ".join(f"{name}=={version}" for name, version in fitting.items())
        hint = (
            f'ask for versions of one ROCm, such as --packages "{pins}"'
            if fitting
            else "name a source whose packages are of one build"
        )
        raise HipwrightError("mixed-stack", ailment.message, where=Where(file=record.folder), hint=hint)


def _folder_sdk(record: EnvironmentRecord, folder: Path, workplace: Workplace) -> dict[str, Any]:
    """Prove that a build finds what it needs in the ROCm that was named, and say how a build is told of it."""
    sdk = describe_folder(record, folder=folder, platform=workplace.platform)
    workplace.console.say(
        f"ROCm {sdk.version} in {sdk.root}: set ROCM_PATH={sdk.root} and CMAKE_PREFIX_PATH={sdk.cmake} for a build"
    )
    return _told(sdk)


def _told(sdk: Sdk) -> dict[str, Any]:
    return {"version": sdk.version, "root": sdk.root, "bin": sdk.bin, "cmake": sdk.cmake, "targets": list(sdk.targets)}


def _title(record: EnvironmentRecord, *, made: bool) -> str:
    return f"{record.folder}: Python {record.python_version}{'' if made else ', as it was'}"


def _note(record: EnvironmentRecord, chosen: Chosen, added: Sequence[str], workplace: Workplace) -> str:
    folder = Path(record.folder)
    windows = workplace.platform is Platform.WINDOWS
    activate = str(scripts_in(folder, workplace.platform) / ("activate.bat" if windows else "activate"))
    lines = [f"activate it: {activate if windows else printable(['.', activate])}"]
    lines += [f"its Python: {python_in(folder, workplace.platform)}"]
    if added:
        lines.append(f"put in by hand: {', '.join(added)}")
    if any(file.distribution == "rocm" for file in chosen.files):
        # `-I`: no module of the current folder is taken for one of ROCm's.
        lines.append(f"test it: {printable([str(python_in(folder, workplace.platform)), '-I', '-m', 'rocm_sdk', 'test'])}")
    return "\n".join(lines)
