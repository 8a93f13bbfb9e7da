"""``nox -s docker_run``: run one of our sessions in a container, by the command that a desk has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from build_tools.ci.engines import ENGINES, find_engine
from build_tools.ci.image import engine_environment, image_to_run
from build_tools.errors import HipwrightError
from build_tools.options.model import OPTIONS
from build_tools.process import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.options.option import Option
    from build_tools.workplace import Workplace

__all__ = ["docker_run", "passed_names"]

_SESSION: Final = re.compile(r"[a-z][a-z0-9_]*")
_OF_CI: Final = frozenset({"CI", "GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_STEP_SUMMARY"})
_FILES_OF_CI: Final = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
_STORE: Final = re.compile(r"AWS_[A-Z_]+")
"""Credentials of stores: who publishes from within needs them."""

_DEVICES: Final = ("/dev/kfd", "/dev/dri")
"""What programs of ROCm open to reach a GPU."""

_GROUPS: Final = ("video", "render")


def passed_names(machine: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the machine's environment that a container gets: options, what CI says of the run, and stores' credentials."""
    ours = {option.environment for option in OPTIONS.values() if option.group == "image" or option.secret}
    others = {name for option in OPTIONS.values() if not _is_of_image(option) for name in option.other_environment}
    found = (
        name
        for name in machine
        if (name.startswith("HIPWRIGHT_") and name not in ours) or name in others or name in _OF_CI or _STORE.fullmatch(name)
    )
    return tuple(sorted(found))


def docker_run(workplace: Workplace) -> dict[str, Any]:
    """Run a session in a container, with the clone mounted under its own path, and GPUs where this machine has some.

    ``--image-file`` is loaded first. What the session says in its environment, the session in the container is told: options by their
    ``HIPWRIGHT_`` names.

    Returns
    -------
    dict
        Under ``container``: image, engine, session, the names that were passed, and the commands.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when not one session is named, ``no-engine``, ``image-failed``; ``container-failed`` when the session fails.
    """
    settings, console, machine = workplace.settings, workplace.console, workplace.machine
    if len(settings.words) != 1 or not _SESSION.fullmatch(settings.words[0]):
        message = f"docker_run takes one session, not {' '.join(settings.words) or 'none'}"
        raise HipwrightError("bad-option-value", message, hint="nox -s docker_run -- build_pytorch; nox -l shows the sessions")
    session, image = settings.words[0], image_to_run(settings.image)
    # Made and kept where the next session on this machine, in a container or not, looks for it.
    places = {"HIPWRIGHT_WORK_DIR": str(workplace.work_dir), "HIPWRIGHT_CACHE_DIR": str(workplace.cache)}
    passed = {**{name: machine[name] for name in passed_names(machine)}, **places}
    own = engine_environment(workplace)
    if settings.dry_run:
        engine = ENGINES[settings.engine or "docker"]
    else:
        engine = find_engine(settings.engine, runner=workplace.runner, env=own, cwd=workplace.clone, running=True)
    log = workplace.work_dir / "logs" / "docker_run.log"
    folders = _folders(workplace)
    devices = tuple(device for device in _DEVICES if Path(device).exists())
    command = engine.run(
        image,
        ["python", str(workplace.clone / "noxw.py"), "-s", session],
        cwd=workplace.typed_in,
        shared=folders,
        # What noxw.py made here is for an interpreter of this machine.
        own=[workplace.clone / ".venv"],
        variables=tuple(passed),
        devices=devices,
        groups=_GROUPS if devices else (),
    )
    commands = [command]
    if settings.image_file is not None:
        commands.insert(0, engine.load(settings.image_file))
        if not settings.dry_run:
            console.say(f"loading {settings.image_file}")
            workplace.runner.run(
                commands[0], cwd=workplace.clone, log=log, env=own, code="image-failed", what="loading the image"
            )
    env = {**passed, **own}
    if not settings.dry_run:
        with console.group(f"{session} in {image}"):
            workplace.runner.run(
                command, cwd=workplace.typed_in, log=log, env=env, code="container-failed", what=f"{session} in the container"
            )
    lines = [printable([workplace.runner.mask(word) for word in one]) for one in commands]
    console.table(
        "Container",
        ("image", "session", "what"),
        [(image, session, "would run" if settings.dry_run else "ran")],
        note="\n".join(lines),
    )
    return {
        "container": {
            "dry_run": settings.dry_run,
            "engine": engine.name,
            "image": image,
            "session": session,
            "passed": sorted(passed),
            "commands": lines,
        }
    }


def _is_of_image(option: Option) -> bool:
    """Return whether an option says what is in the image already: other systems' names for it would contradict the image."""
    return option.group == "image" or option.says == OPTIONS["rocm-path"].says


def _folders(workplace: Workplace) -> tuple[Path, ...]:
    """Return the folders that a container has to see: clone, work dir, cache, where it was typed, and CI's files; none inside another."""
    wanted = [workplace.clone, workplace.work_dir, workplace.cache, workplace.typed_in]
    wanted += [Path(workplace.machine[name]).parent for name in _FILES_OF_CI if workplace.machine.get(name)]
    return tuple(_outermost(path.resolve() for path in wanted))


def _outermost(folders: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for folder in sorted(set(folders), key=lambda one: len(one.parts)):
        if not any(folder.is_relative_to(outer) for outer in found):
            found.append(folder)
    return found
