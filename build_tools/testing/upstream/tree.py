"""The tests of a source tree, copied to a folder of their own: of the rest of the tree nothing can be imported there."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.config.suite import fitting
from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.config.suite import Suite, SuiteConfiguration
    from build_tools.types import Sha256

__all__ = ["CopiedTests", "chosen_files", "copy_tests"]

_CACHES: Final = ("__pycache__", ".pytest_cache", "*.pyc", ".git")


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedTests:
    """Tests that lie by themselves.

    Parameters
    ----------
    root
        The copy; it has the tree's own paths.
    folder
        The folder of the tests in it, which ids are relative to.
    settings
        pytest's settings file.
    files
        All Python files of that folder, relative, with forward slashes, sorted.
    sha256
        The digest of all that was copied.
    code
        The SHA-256 of each Python file and of the settings, by its path in the tree.
    """

    root: Path
    folder: Path
    settings: Path
    files: tuple[str, ...]
    sha256: Sha256
    code: Mapping[str, Sha256]

    def changed(self) -> tuple[str, ...]:
        """Return the paths of code that is gone, or is not as it was copied: tests have done that to each other."""
        return tuple(name for name, sha256 in self.code.items() if not _is_still(self.root / name, sha256))


def copy_tests(suite: Suite, tree: Path, target: Path) -> CopiedTests:
    """Copy the tests of a source tree, and what the recipe says that they read beside.

    Parameters
    ----------
    suite
        The recipe's suite.
    tree
        The source tree.
    target
        The folder of the copy, which is made.

    Raises
    ------
    HipwrightError
        ``bad-source-tree`` when the tree lacks the tests or what they read.
    """
    for name in dict.fromkeys((suite.folder, *suite.beside, *((suite.settings_file,) if suite.settings_file else ()))):
        source, copy = tree / name, target / name
        if copy.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            # A link is copied as one: what it leads to may lie outside of what is copied, and be large.
            shutil.copytree(source, copy, symlinks=True, ignore=shutil.ignore_patterns(*_CACHES), dirs_exist_ok=True)
        elif source.is_file():
            shutil.copy2(source, copy)
        else:
            where = Where(file=source, key="suite")
            raise HipwrightError("bad-source-tree", f"{tree} has no {name}, which its suite of tests needs", where=where)
    folder = target / suite.folder
    files = tuple(sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if path.is_file()))
    found = {path.relative_to(target).as_posix(): digest.of_file(path) for path in sorted(target.rglob("*")) if path.is_file()}
    settings = target / suite.settings_file if suite.settings_file else target / "hipwright-pytest.ini"
    if not suite.settings_file:
        settings.write_text("[pytest]\njunit_family = xunit2\n", encoding="utf-8")
    code = {name: sha256 for name, sha256 in found.items() if name.endswith(".py") or name == suite.settings_file}
    return CopiedTests(
        root=target,
        folder=folder,
        settings=settings,
        files=files,
        sha256=digest.of_value(sorted([name, sha256] for name, sha256 in found.items())),
        code=code,
    )


def _is_still(path: Path, sha256: Sha256) -> bool:
    try:
        return path.is_file() and digest.of_file(path) == sha256
    except OSError:
        return False


def chosen_files(configuration: SuiteConfiguration, name: str, tests: CopiedTests, wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the test files of a configuration; where a person names some, those of them.

    Parameters
    ----------
    configuration, name
        The configuration.
    tests
        The copied tests.
    wanted
        Files or patterns of such that a person named; a folder stands for all in it.

    Raises
    ------
    HipwrightError
        ``no-tests`` when the configuration finds no test file; ``bad-option-value`` when a named one is none of the configuration's.
    """
    left_out = set(fitting(tests.files, configuration.leave_out))
    files = [file for file in fitting(tests.files, configuration.files) if file not in left_out]
    if not files:
        where = Where(file=tests.folder, key=f"suite.configurations.{name}.files")
        raise HipwrightError("no-tests", f"no file in {tests.folder} fits the configuration {name}", where=where)
    if not wanted:
        return tuple(files)
    chosen: set[str] = set()
    for text in wanted:
        named = text.removesuffix("/").removeprefix("./")
        found = fitting(files, (named, f"{named}.py", f"{named}/**"))
        if not found:
            hint = "name test files as they lie below the tests' folder, or patterns of such; -k chooses tests by their names"
            raise HipwrightError("bad-option-value", f"the configuration {name} has no test file {text!r}", hint=hint)
        chosen |= set(found)
    return tuple(file for file in files if file in chosen)
