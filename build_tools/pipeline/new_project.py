"""``new_project``: begin a recipe that every other command works with at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tomlkit

from build_tools.config.project import PROJECT_NAME, load_project, session_name
from build_tools.errors import HipwrightError, Where
from build_tools.files import temporary_folder, write_text
from build_tools.process import printable
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.options.model import Settings
    from build_tools.workplace import Workplace

__all__ = ["new_project", "recipe_text", "smoke_test_text"]

_RECIPE: Final = "project.toml"
_SMOKE: Final = '''"""Smoke tests of {distribution}: they run against the installed wheel, never against the source tree."""

from __future__ import annotations

import importlib.metadata

import {module}


def test_it_is_the_installed_package() -> None:
    assert {module}.__name__ == "{module}"
    assert importlib.metadata.version("{distribution}")
'''


def recipe_text(name: str, settings: Settings) -> str:
    """Return the ``project.toml`` of a new project, from the options ``--git-url``, ``--default-ref``, ``--distribution``, ``--sdk``, ``--version``."""
    distribution = settings.distribution or name
    module = module_of(distribution)
    document = tomlkit.document()
    document.update({"schema": 1, "name": name, "summary": f"{distribution}, built for ROCm", "sdk": settings.sdk})
    document["summary"].comment("what it is, in one line")
    document["origin"] = {"kind": "git", "url": settings.git_url or ""}
    document["refs"] = {"default": settings.default_ref}
    lines = tomlkit.aot()
    lines.append(tomlkit.item({"ref": "*", "why": "builds without patches"}))
    document["lines"] = lines
    document["version"] = {"fixed": settings.version} if settings.version else {"file": "version.txt"}
    if not settings.version:
        document["version"]["file"].comment('a file of the tree with the version; or fixed = "1.0"')
    document["wheel"] = {
        "distribution": distribution,
        "version-suffix": "none",
        "required-members": [f"{module}/__init__.py"],
        "import-name": module,
    }
    document["tests"] = {"time-limit-minutes": 10}
    document["extension"] = {"extras": [], "tests": ["tests"]}
    return tomlkit.dumps(document)


def smoke_test_text(distribution: str) -> str:
    """Return a smoke test that holds for any package."""
    return _SMOKE.format(distribution=distribution, module=module_of(distribution))


def module_of(distribution: str) -> str:
    """Return the module that a distribution most likely has."""
    return distribution.replace("-", "_").replace(".", "_")


def new_project(workplace: Workplace) -> dict[str, Any]:
    """Write ``external-builds/<name>``; a folder that is there is left alone.

    Returns
    -------
    dict
        ``name``, ``folder``, ``files``, and ``next``: the commands that work on it now.

    Raises
    ------
    HipwrightError
        ``foreign-folder`` when the folder is there; ``bad-option-value`` for a name or a module that is none, and without ``--git-url``;
        ``bad-data-file`` for values that no recipe may have.
    """
    settings = workplace.settings
    name = _name(settings, workplace)
    folder = workplace.external_builds / name
    if folder.exists():
        hint = f"edit {folder / 'project.toml'}, or take another name"
        raise HipwrightError("foreign-folder", f"there is a project {name} already", where=Where(file=folder), hint=hint)
    distribution = settings.distribution or name
    texts = {
        "project.toml": recipe_text(name, settings),
        f"smoke-tests/test_{module_of(distribution)}.py": smoke_test_text(distribution),
    }
    _prove(name, texts, workplace)
    if settings.dry_run:
        workplace.console.print(texts[_RECIPE])
    else:
        _write(folder, texts)
    following = [
        printable([*workplace.nox, "-s", f"{verb}_{session_name(ProjectName(name))}"]) for verb in ("checkout", "build", "test")
    ]
    rows = [(str(folder / file), f"{len(text.splitlines())} lines") for file, text in texts.items()]
    done = "would be written" if settings.dry_run else "written"
    workplace.console.table(
        f"Project {name}", ("file", done), rows, note="next:\n" + "\n".join(f"- {line}" for line in following)
    )
    return {"name": name, "folder": str(folder), "files": sorted(texts), "next": following, "dry_run": settings.dry_run}


def _name(settings: Settings, workplace: Workplace) -> str:
    """Return the name that is asked for, once it and what goes with it can be meant."""
    if len(settings.words) != 1:
        hint = printable([*workplace.nox, "-s", "new_project", "--", "my-extension", "--git-url", "URL"])
        raise HipwrightError("bad-option-value", f"new_project begins one project, not {len(settings.words)}", hint=hint)
    (name,) = settings.words
    if not PROJECT_NAME.fullmatch(name):
        hint = "take lower-case letters, digits and hyphens, the first no hyphen"
        raise HipwrightError(
            "bad-option-value", f"{name!r} is no name for a project: sessions and options are named after it", hint=hint
        )
    if settings.git_url is None:
        raise HipwrightError("bad-option-value", f"no repository is named for {name}", hint="say --git-url URL, or a local path")
    module = module_of(settings.distribution or name)
    if not module.isidentifier():
        message = f"{settings.distribution or name!r} gives no name of a module"
        raise HipwrightError("bad-option-value", message, hint="name the wheel by --distribution")
    return name


def _prove(name: str, texts: dict[str, str], workplace: Workplace) -> None:
    """Read the recipe as every command will read it, before anybody can see it."""
    workplace.work_dir.mkdir(parents=True, exist_ok=True)
    with temporary_folder(workplace.work_dir, "new-project") as place:
        (place / name).mkdir()
        write_text(place / name / _RECIPE, texts[_RECIPE])
        load_project(place, ProjectName(name))


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Write the files; the recipe comes last, so that a folder without it is no project yet."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise HipwrightError("foreign-folder", f"there is a folder {folder} already", where=Where(file=folder)) from None
    for file in sorted(texts, key=lambda file: file == _RECIPE):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        write_text(folder / file, texts[file])
