"""``project.toml``: what a project is, as data; the model is strict and has no expressions."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from build_tools.config.load import line_of, parse_toml, read_toml
from build_tools.errors import HipwrightError, Where
from build_tools.types import ProjectName

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "Build",
    "EmbeddedOrigin",
    "GitOrigin",
    "Hipify",
    "Line",
    "Origin",
    "Project",
    "Refs",
    "RocmSdk",
    "SdistOrigin",
    "Tests",
    "Version",
    "Wheel",
    "load_project",
    "project_names",
    "session_name",
]


_PROJECT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_DISTRIBUTION: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """One table of a data file: keys in kebab case, none unknown."""


Sha256Text = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
Minutes = Annotated[int, msgspec.Meta(gt=0, le=7 * 24 * 60)]


class GitOrigin(Table, frozen=True, kw_only=True, tag="git", tag_field="kind"):
    """Sources in a git repository."""

    url: NonEmpty


class SdistOrigin(Table, frozen=True, kw_only=True, tag="sdist", tag_field="kind"):
    """Sources in a source distribution of the base index, imported as a repository of one commit."""

    name: NonEmpty
    version: NonEmpty
    sha256: Sha256Text


class EmbeddedOrigin(Table, frozen=True, kw_only=True, tag="embedded", tag_field="kind"):
    """Sources kept as plain files beside ``project.toml``, turned into repositories on first use.

    ``folder`` holds ``repository.toml`` and the files; :mod:`build_tools.sources.embedded` reads it.
    """

    folder: NonEmpty


Origin = GitOrigin | SdistOrigin | EmbeddedOrigin


class Refs(Table, frozen=True, kw_only=True):
    """Which ref a project gets when none is asked for."""

    default: NonEmpty = "HEAD"


class Line(Table, frozen=True, kw_only=True):
    """One rule that finds the patch line of a ref: one that names the ref exactly counts before patterns, of these the first.

    ``ref`` is an exact name or a glob pattern. ``line`` is a folder below ``patches``; without it the ref is declared to have no
    patches, and ``why`` says why that is right.
    """

    ref: NonEmpty
    line: str | None = None
    why: str = ""


class Version(Table, frozen=True, kw_only=True):
    """Where the base version of the sources stands: a file of the tree, or a fixed text (a source distribution's)."""

    file: str | None = None
    fixed: str | None = None


class Hipify(Table, frozen=True, kw_only=True):
    """The tree's own translation tool, run from the root of a module with a Python interpreter."""

    script: NonEmpty
    arguments: tuple[str, ...] = ()
    module: str = "."
    time_limit_minutes: Minutes = 30


class RocmSdk(Table, frozen=True, kw_only=True):
    """The ROCm packages that a build needs, and the source that the project itself brings (the sample's alone)."""

    requirement: NonEmpty = "rocm"
    extras: tuple[str, ...] = ("libraries", "devel")
    embedded: str | None = None


class Build(Table, frozen=True, kw_only=True):
    """How the wheel is built: what the build environment holds and what the child's environment says.

    ``requires`` are requirements from the base index beyond the tree's own ``build-system.requires``; ``owned_requires`` come only
    from the sources that the command names. ``environment`` holds constants, per platform under ``linux`` and ``windows``.
    ``variables`` names the environment variable that gets a computed value.
    """

    requires: tuple[str, ...] = ()
    owned_requires: tuple[str, ...] = ()
    config_settings: dict[str, str] = {}
    environment: dict[str, str] = {}
    linux: dict[str, str] = {}
    windows: dict[str, str] = {}
    variables: dict[
        Literal["version", "build-number", "targets", "rocm-home", "install-requirements", "source-commit"],
        str,
    ] = {}
    time_limit_minutes: Minutes = 24 * 60


class Wheel(Table, frozen=True, kw_only=True):
    """What the built wheel must be: its distribution name, members that must be there, requirements that must be exact pins.

    ``version_suffix = "rocm"`` appends the local version of the ROCm packages; ``"none"`` keeps the base version.
    Without it, a project that needs ROCm packages gets their version, and another one none.
    """

    distribution: NonEmpty
    version_suffix: Literal["rocm", "none"] | None = None
    required_members: tuple[str, ...] = ()
    linux_members: tuple[str, ...] = ()
    windows_members: tuple[str, ...] = ()
    pinned_requirements: tuple[str, ...] = ()


class Tests(Table, frozen=True, kw_only=True):
    """The smoke tests that run against the installed wheel."""

    __test__ = False

    folder: NonEmpty = "smoke-tests"
    requires: tuple[str, ...] = ()
    time_limit_minutes: Minutes = 30


class Project(Table, frozen=True, kw_only=True):
    """One folder under ``external-builds``."""

    schema: Literal[1]
    name: NonEmpty
    summary: NonEmpty
    origin: Origin
    refs: Refs = Refs()
    lines: tuple[Line, ...] = ()
    version: Version
    hipify: Hipify | None = None
    sdk: Literal["rocm", "none"]
    rocm: RocmSdk = RocmSdk()
    build: Build = Build()
    wheel: Wheel
    tests: Tests = Tests()

    @property
    def version_suffix(self) -> Literal["rocm", "none"]:
        """Whether versions name the ROCm packages."""
        return self.wheel.version_suffix or ("rocm" if self.sdk == "rocm" else "none")


def project_names(external_builds: Path) -> tuple[ProjectName, ...]:
    """Return the names of all projects, sorted: the folders that hold a ``project.toml`` and have a name that a project can have.

    The others are told by :func:`load_project`, which every command that works on a project calls.
    """
    return tuple(sorted(ProjectName(name) for name in _folders(external_builds) if _PROJECT_NAME.fullmatch(name)))


def session_name(name: ProjectName) -> str:
    """Return a project's name as sessions and options spell it."""
    return name.replace("-", "_")


def load_project(external_builds: Path, name: ProjectName) -> Project:
    """Read one project.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when ``project.toml`` does not fit the model, names a path that is none inside its folder or the sources, or
        bears another name than its folder; and when a project beside it lies in a folder whose name no project can have.
    """
    for folder in sorted(_folders(external_builds)):
        if not _PROJECT_NAME.fullmatch(folder):
            message = f"{folder!r} is no name for a project: sessions and options are named after it"
            hint = "call the folder by lower-case letters, digits and hyphens, the first no hyphen"
            raise HipwrightError("bad-data-file", message, where=Where(file=external_builds / folder / "project.toml"), hint=hint)
    path = external_builds / name / "project.toml"
    text, _ = read_toml(path)
    project = parse_toml(text, path, Project)
    _check(project, text, path)
    if project.name != name:
        message = f"the project is called {project.name!r}, but its folder {name!r}"
        raise HipwrightError("bad-data-file", message, where=Where(file=path, key="name"))
    return project


def _folders(external_builds: Path) -> list[str]:
    return [path.parent.name for path in external_builds.glob("*/project.toml")]


def _check(project: Project, text: str, path: Path) -> None:
    """Refuse values of the right type that mean no place or no name."""
    paths: list[tuple[list[str | int], str | None]] = [
        (["version", "file"], project.version.file),
        (["rocm", "embedded"], project.rocm.embedded),
        (["tests", "folder"], project.tests.folder),
    ]
    for number, rule in enumerate(project.lines):
        paths.append((["lines", number, "line"], rule.line))
    names: list[tuple[list[str | int], str]] = [(["wheel", "distribution"], project.wheel.distribution)]
    if isinstance(project.origin, EmbeddedOrigin):
        paths.append((["origin", "folder"], project.origin.folder))
    if isinstance(project.origin, SdistOrigin):
        names.append((["origin", "name"], project.origin.name))
    if project.hipify is not None:
        paths.append((["hipify", "script"], project.hipify.script))
        if project.hipify.module != ".":
            paths.append((["hipify", "module"], project.hipify.module))
    wrong = [
        (steps, f"{value!r} is no path that stays inside: write it relative, with forward slashes and without '..'")
        for steps, value in paths
        if value is not None and not _stays_inside(value)
    ]
    wrong += [(steps, f"{value!r} is no name of a distribution") for steps, value in names if not _DISTRIBUTION.fullmatch(value)]
    if project.sdk == "none" and project.wheel.version_suffix == "rocm":
        wrong.append((["wheel", "version-suffix"], 'the version is to name the ROCm packages, and sdk = "none" has none'))
    for steps, message in wrong:
        where = Where(file=path, line=line_of(text, steps), key=".".join(str(step) for step in steps))
        raise HipwrightError("bad-data-file", message, where=where)


def _stays_inside(text: str) -> bool:
    """Return whether a path leads to a place below where it starts, on every platform."""
    path = PurePosixPath(text)
    plain = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    return plain and _UNSAFE.search(text) is None and path.as_posix() == text.removesuffix("/")
