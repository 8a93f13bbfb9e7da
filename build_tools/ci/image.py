"""``nox -s docker_image``: build the image that PyTorch is built in or take one that is there, tag it, save it to a file, push it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from build_tools import digest, files
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

__all__ = ["DOCKERFILE", "ImagePlan", "docker_image", "engine_environment", "image_to_run", "name_of_inputs", "plan_image"]

DOCKERFILE: Final = ".ci/docker/ubuntu-rocm/Dockerfile"
"""The recipe, in the clone."""

_COPIED: Final = (".ci/docker/common", "requirements/pins.txt")
"""What the recipe copies into the image, in the clone."""

_HOST: Final = r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9-]+(?=:))(?::[0-9]+)?/"
_NAME: Final = re.compile(rf"(?:{_HOST})?[a-z0-9]+(?:(?:[.]|__?|-+|/)[a-z0-9]+)*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_REFERENCE: Final = re.compile(rf"(?:{_NAME.pattern})(?::{_TAG.pattern})?(?:@sha256:[0-9a-f]{{64}})?")
_NAME_HINT: Final = "lower-case letters, digits, and . _ - / between them; a registry comes first: registry.example/owner/name"
_DIGEST: Final = re.compile(r"\S+@sha256:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImagePlan:
    """What image is to be made: its names (``name:tag``), its build arguments, and the day in UTC that its packages are of."""

    names: tuple[str, ...]
    day: str
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
        raise HipwrightError("bad-option-value", f"--image {settings.image!r} is no image's name", hint=_NAME_HINT)
    if (settings.push or settings.reuse) and "/" not in settings.image:
        message = f"the image {settings.image} names no registry to {'push to' if settings.push else 'take it from'}"
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
        day=day,
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


def name_of_inputs(plan: ImagePlan, clone: Path) -> str:
    """Return the name under which an image is found again by what goes into it: the recipe and what it copies, build arguments, the day.

    The day stands for what the recipe installs by name alone, which an index or a mirror has newer tomorrow.
    """
    copied = [path for name in _COPIED for path in ((clone / name).rglob("*") if (clone / name).is_dir() else [clone / name])]
    recipe = digest.of_folder(clone, [clone / DOCKERFILE, *copied])
    key = digest.of_value([recipe, dict(plan.arguments), plan.day])
    return f"{plan.names[0].rpartition(':')[0]}:inputs-{digest.short(key, 16)}"


def docker_image(workplace: Workplace) -> dict[str, Any]:
    """Build the image, or take one of the same inputs from its registry; save and push it where that is asked for.

    Returns
    -------
    dict
        Under ``image``: its names, build arguments, engine, whether it was ``reused``, the file it was saved to, and the commands.

    Raises
    ------
    HipwrightError
        As :func:`plan_image` and :func:`~build_tools.ci.engines.find_engine`; ``image-failed`` with the log.
    """
    settings, console = workplace.settings, workplace.console
    plan = plan_image(settings)
    known = name_of_inputs(plan, workplace.clone) if settings.reuse else None
    names = plan.names if known is None else (*plan.names, known)
    env = engine_environment(workplace)
    if settings.dry_run:
        engine = ENGINES[settings.engine or "docker"]
    else:
        engine = find_engine(settings.engine, runner=workplace.runner, env=env, cwd=workplace.clone)
    do = _Doing(engine=engine, workplace=workplace, env=env)
    reused = known is not None and _take(known, plan, do)
    if not reused:
        title = f"building {plan.names[0]} with {engine.name}"
        with contextlib.nullcontext() if settings.dry_run else console.group(title):
            recipe = workplace.clone / DOCKERFILE
            do(
                engine.build(dockerfile=recipe, context=workplace.clone, arguments=plan.arguments, names=names),
                "the image's build",
            )
    if settings.image_file is not None:
        _save(plan, settings.image_file, do)
    for name in names if settings.push else ():
        console.say(f"pushing {name}")
        do(engine.push(name), f"the push of {name}")
    done = "would be made" if settings.dry_run else "taken from the registry" if reused else "made"
    lines = [printable([workplace.runner.mask(word) for word in command]) for command in do.commands]
    console.table("Image", ("name", "what"), [(name, done) for name in names], note="\n".join(lines))
    return {
        "image": {
            "dry_run": settings.dry_run,
            "engine": engine.name,
            "names": list(names),
            "arguments": dict(plan.arguments),
            "reused": reused,
            "file": None if settings.image_file is None else str(settings.image_file),
            "pushed": settings.push and not settings.dry_run,
            "commands": lines,
        }
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Doing:
    """Runs an engine's commands, or in a dry run only lists them."""

    engine: Engine
    workplace: Workplace
    env: Mapping[str, str]
    commands: list[list[str]] = field(default_factory=list)

    def __call__(self, command: list[str], what: str) -> None:
        self.commands.append(command)
        self.run(command, what)

    def run(self, command: list[str], what: str) -> None:
        place = self.workplace
        if not place.settings.dry_run:
            log = place.work_dir / "logs" / "docker_image.log"
            place.runner.run(command, cwd=place.clone, log=log, env=self.env, code="image-failed", what=what)


def _take(known: str, plan: ImagePlan, do: _Doing) -> bool:
    """Take an image from its registry and give it the names of the plan; return whether it was there."""
    console = do.workplace.console
    try:
        do(do.engine.pull(known), f"taking {known}")
    except HipwrightError as error:
        # Not there, or not to be had: to build it is right in either case.
        console.say(f"{known} is not taken: {error.message}")
        return False
    if do.workplace.settings.dry_run:
        return False
    console.say(f"{known} is there, and is not built again")
    for name in plan.names:
        do(do.engine.tag(known, name), f"naming {name}")
    return True


def image_to_run(image: str) -> str:
    """Return what an engine finds an image by: a name, with its tag or digest, ``latest`` where it says neither.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for what an engine would take for an option of its own, or for nothing.
    """
    if not _REFERENCE.fullmatch(image):
        raise HipwrightError("bad-option-value", f"--image {image!r} is no image's name", hint=_NAME_HINT)
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"


def engine_environment(workplace: Workplace) -> dict[str, str]:
    """Return what an engine gets of the machine's environment: where its server and its credentials are."""
    return {name: value for name, value in workplace.machine.items() if name in ENGINE_NAMES}


def _save(plan: ImagePlan, file: Path, do: _Doing) -> None:
    """Save the image under a name of its own first, so that no half of one is taken for an image."""
    do.commands.append(do.engine.save(names=plan.names, file=file))
    if do.workplace.settings.dry_run:
        return
    with files.temporary_folder(file.parent, file.name) as folder:
        new = folder / file.name
        do.run(do.engine.save(names=plan.names, file=new), "saving the image")
        new.replace(file)
    do.workplace.console.say(f"saved {plan.names[0]} to {file}")
