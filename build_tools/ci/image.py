"""``nox -s docker_image``: build the image that PyTorch is built in, tag it, save it to a file, push it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from build_tools import files
from build_tools.ci.engines import ENGINE_NAMES, ENGINES, find_engine
from build_tools.config.channels import load_channels
from build_tools.errors import HipwrightError
from build_tools.process import printable
from build_tools.rocm.versions import parse_day, today

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.ci.engines import Engine
    from build_tools.options.model import Settings
    from build_tools.workplace import Workplace

__all__ = ["DOCKERFILE", "ImagePlan", "docker_image", "engine_environment", "plan_image"]

DOCKERFILE: Final = ".ci/docker/ubuntu-rocm/Dockerfile"
"""The recipe, in the clone."""

_HOST: Final = r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))(?::[0-9]+)?/"
_NAME: Final = re.compile(rf"(?:{_HOST})?[a-z0-9]+(?:(?:[.]|__?|-+|/)[a-z0-9]+)*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST: Final = re.compile(r"\S+@sha256:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImagePlan:
    """What image is to be made: its names (``name:tag``), and its build arguments."""

    names: tuple[str, ...]
    arguments: Mapping[str, str]


def plan_image(settings: Settings) -> ImagePlan:
    """Return the image that options mean.

    Build arguments are those of the recipe that somebody gave; the others keep the recipe's own defaults.

    Parameters
    ----------
    settings
        The options; where ``--date`` names no day for the tag, it is the one in UTC.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a name or tag that is none, more than one Python, and a push without a registry;
        ``bad-version`` for a day that is none; ``image-not-pinned`` for a release whose base image is no digest.
    """
    if not _NAME.fullmatch(settings.image):
        hint = "lower-case letters, digits, and . _ - / between them; a registry comes first: registry.example/owner/name"
        raise HipwrightError("bad-option-value", f"--image {settings.image!r} is no image's name", hint=hint)
    if settings.push and "/" not in settings.image:
        message = f"the image {settings.image} names no registry to push to"
        raise HipwrightError("bad-option-value", message, hint="say --image REGISTRY/OWNER/NAME")
    if len(settings.python) > 1:
        raise HipwrightError("bad-option-value", "an image has one Python, and --python names several")
    refuse_tag(settings.base_image or "", settings.release_type, what="base image")
    day = parse_day(settings.date or today())
    tags = settings.image_tag or (f"nightly-{day}", "latest")
    wrong = [tag for tag in tags if not _TAG.fullmatch(tag)]
    if wrong:
        raise HipwrightError("bad-option-value", f"--image-tag {', '.join(wrong)} is no image's tag")
    given = {
        "BASE_IMAGE": settings.base_image,
        "UBUNTU_VERSION": settings.ubuntu_version,
        "ANACONDA_PYTHON_VERSION": settings.python[0] if settings.python else None,
        "PYTORCH_ROCM_ARCH": ";".join(settings.gfx),
        "ROCM_VERSION": settings.rocm_release,
        "THEROCK_NIGHTLY_INDEX_URL": settings.rocm_index_url,
        "THEROCK_NIGHTLY_PACKAGES": " ".join(settings.packages),
        "USE_THEROCK_NIGHTLY": "1" if settings.therock_nightly else "0",
    }
    return ImagePlan(
        names=tuple(f"{settings.image}:{tag}" for tag in dict.fromkeys(tags)),
        arguments={name: value for name, value in given.items() if value},
    )


def refuse_tag(image: str, release_type: str | None, *, what: str) -> None:
    """Refuse an image that a tag names where its release type is one of those whose files nobody may replace later.

    Raises
    ------
    HipwrightError
        ``image-not-pinned``.
    """
    if release_type in {None, "nightly"} or load_channels().may_supersede(release_type) or _DIGEST.fullmatch(image):
        return
    message = f"the {what} of a {release_type} has to be named by digest: a tag means another image tomorrow"
    hint = "name it as NAME@sha256:… with what `docker images --digests` shows, such as --base-image ubuntu@sha256:…"
    raise HipwrightError("image-not-pinned", message, hint=hint)


def docker_image(workplace: Workplace) -> dict[str, Any]:
    """Build the image, and save and push it where that is asked for.

    Returns
    -------
    dict
        Under ``image``: its names, build arguments, engine, the file it was saved to, and the commands.

    Raises
    ------
    HipwrightError
        As :func:`plan_image` and :func:`~build_tools.ci.engines.find_engine`; ``image-failed`` with the log.
    """
    settings, console = workplace.settings, workplace.console
    plan = plan_image(settings)
    env = engine_environment(workplace)
    if settings.dry_run:
        engine = ENGINES[settings.engine or "docker"]
    else:
        engine = find_engine(settings.engine, runner=workplace.runner, env=env, cwd=workplace.clone)
    log = workplace.work_dir / "logs" / "docker_image.log"
    commands = [
        engine.build(dockerfile=workplace.clone / DOCKERFILE, context=workplace.clone, arguments=plan.arguments, names=plan.names)
    ]
    if not settings.dry_run:
        with console.group(f"building {plan.names[0]} with {engine.name}"):
            workplace.runner.run(
                commands[0], cwd=workplace.clone, log=log, env=env, code="image-failed", what="the image's build"
            )
    if settings.image_file is not None:
        commands.append(_save(engine, plan, settings.image_file, workplace=workplace, env=env, log=log))
    for name in plan.names if settings.push else ():
        commands.append(engine.push(name))
        if not settings.dry_run:
            console.say(f"pushing {name}")
            workplace.runner.run(
                commands[-1], cwd=workplace.clone, log=log, env=env, code="image-failed", what=f"the push of {name}"
            )
    rows = [(name, "would be made" if settings.dry_run else "made") for name in plan.names]
    lines = [printable([workplace.runner.mask(word) for word in command]) for command in commands]
    console.table("Image", ("name", "what"), rows, note="\n".join(lines))
    return {
        "image": {
            "dry_run": settings.dry_run,
            "engine": engine.name,
            "names": list(plan.names),
            "arguments": dict(plan.arguments),
            "file": None if settings.image_file is None else str(settings.image_file),
            "pushed": settings.push and not settings.dry_run,
            "commands": lines,
        }
    }


def engine_environment(workplace: Workplace) -> dict[str, str]:
    """Return what an engine gets of the machine's environment: where its server and its credentials are."""
    return {name: value for name, value in workplace.machine.items() if name in ENGINE_NAMES}


def _save(engine: Engine, plan: ImagePlan, file: Path, *, workplace: Workplace, env: Mapping[str, str], log: Path) -> list[str]:
    """Save the image under a name of its own first, so that no half of one is taken for an image; return the command."""
    if not workplace.settings.dry_run:
        with files.temporary_folder(file.parent, file.name) as folder:
            new = folder / file.name
            command = engine.save(names=plan.names, file=new)
            workplace.runner.run(command, cwd=workplace.clone, log=log, env=env, code="image-failed", what="saving the image")
            new.replace(file)
        workplace.console.say(f"saved {plan.names[0]} to {file}")
    return engine.save(names=plan.names, file=file)
