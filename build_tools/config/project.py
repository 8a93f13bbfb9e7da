"""``project.toml``: what a project is, as data; the model is strict and has no expressions."""

from __future__ import annotations

import contextlib
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, Literal

from build_tools.config.build_recipe import Build
from build_tools.config.extension import Extension
from build_tools.config.fields import Minutes, NonEmpty, Sha256Text, Table
from build_tools.config.load import line_of, parse_toml, read_toml
from build_tools.config.pins import CommitFilePin, Pin, RefKind, RelatedCommitsPin, VersionFilePin
from build_tools.config.suite import Suite, wrong_suite
from build_tools.config.wheel_demands import Check, Wheel
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform, ProjectName
from build_tools.urls import holds_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = [
    "PROJECT_NAME",
    "VERSION_PLACE",
    "CommitFilePin",
    "EmbeddedOrigin",
    "GitOrigin",
    "Hipify",
    "Line",
    "Origin",
    "Pin",
    "Project",
    "RefKind",
    "Refs",
    "RelatedCommitsPin",
    "RocmSdk",
    "SdistOrigin",
    "Tests",
    "Version",
    "VersionFilePin",
    "load_project",
    "project_names",
    "projects_with",
    "session_name",
    "target_variables",
]


PROJECT_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
"""What a project may be called."""
_DISTRIBUTION: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
VERSION_PLACE: Final = "{version}"
"""What stands for the version in the forms of a project's release branches and tags."""
_BRACE: Final = re.compile(r"[{}]")
_BRANCH_FIELD: Final = re.compile(r"\{(?:major|minor|micro|version)\}")
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')


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
    """Which ref a project gets when none is asked for and no pin says it, and what kind of ref a name is.

    ``release`` is the name of a release branch with ``{version}`` in it, and ``release_tag`` the tag that says that the branch is a
    stable one; a project that has them gets the newest stable one when ``default`` is not given, and others ``HEAD``.
    ``nightly`` are the names of branches that move on every day, the first is the one to take.
    """

    default: NonEmpty | None = None
    release: NonEmpty | None = None
    release_tag: NonEmpty | None = None
    nightly: tuple[NonEmpty, ...] = ()


class Line(Table, frozen=True, kw_only=True):
    """One rule that finds the patch line of a ref: one that names the ref exactly counts before patterns, of these the first.

    ``ref`` is an exact name or a glob pattern. ``line`` is a folder below ``patches``; without it the ref is declared to have no
    patches, and ``why`` says why that is right.
    """

    ref: NonEmpty
    line: str | None = None
    why: str = ""


class Version(Table, frozen=True, kw_only=True):
    """Where the base version of the sources stands: a file of the tree, or a fixed text (a source distribution's).

    ``pattern`` is a regular expression, matched line by line, whose first group is the version; without it the file is one line.
    """

    file: str | None = None
    pattern: str | None = None
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
    pins: tuple[Pin, ...] = ()
    lines: tuple[Line, ...] = ()
    version: Version
    hipify: Hipify | None = None
    sdk: Literal["rocm", "none"]
    rocm: RocmSdk = RocmSdk()
    build: Build = Build()
    wheel: Wheel
    check: Check = Check()
    tests: Tests = Tests()
    extension: Extension = Extension()
    suite: Suite | None = None

    @property
    def version_suffix(self) -> Literal["rocm", "none"]:
        """Whether versions name the ROCm packages."""
        return self.wheel.version_suffix or ("rocm" if self.sdk == "rocm" else "none")


def project_names(external_builds: Path) -> tuple[ProjectName, ...]:
    """Return the names of all projects, sorted: the folders that hold a ``project.toml`` and have a name that a project can have.

    The others are told by :func:`load_project`, which every command that works on a project calls.
    """
    return tuple(sorted(ProjectName(name) for name in _folders(external_builds) if PROJECT_NAME.fullmatch(name)))


def projects_with(external_builds: Path, table: str) -> tuple[ProjectName, ...]:
    """Return the names of the projects whose ``project.toml`` has a table, sorted.

    What is wrong with a ``project.toml`` is told by :func:`load_project`.
    """
    found = []
    for name in project_names(external_builds):
        with contextlib.suppress(HipwrightError):
            if table in read_toml(external_builds / name / "project.toml")[1]:
                found.append(name)
    return tuple(found)


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
        if not PROJECT_NAME.fullmatch(folder):
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


def target_variables(external_builds: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the variable that each of some projects names its GPU targets by, where it has one.

    What is wrong with a ``project.toml`` is told by :func:`load_project`, and is no matter of a command about other projects.
    """
    found = {}
    for name in names:
        try:
            _, data = read_toml(external_builds / name / "project.toml")
        except HipwrightError:
            continue
        build = data.get("build")
        variable = build.get("target-variable") if isinstance(build, dict) else None
        if isinstance(variable, str):
            found[name] = variable
    return found


def _folders(external_builds: Path) -> list[str]:
    return [path.parent.name for path in external_builds.glob("*/project.toml")]


def _check(project: Project, text: str, path: Path) -> None:
    """Refuse values of the right type that mean no place or no name."""
    paths: list[tuple[list[str | int], str | None]] = [
        (["version", "file"], project.version.file),
        (["rocm", "embedded"], project.rocm.embedded),
        (["tests", "folder"], project.tests.folder),
    ]
    if project.wheel.source_commit is not None:
        paths.append((["wheel", "source-commit", "member"], project.wheel.source_commit.member))
    paths += [(["pins", number, "file"], pin.file) for number, pin in enumerate(project.pins)]
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
    if project.suite is not None:
        suite = project.suite
        paths += [(["suite", "folder"], suite.folder), (["suite", "skips"], suite.skips)]
        paths += [(["suite", "settings-file"], suite.settings_file)]
        paths += [(["suite", "beside", number], path) for number, path in enumerate(suite.beside)]
    wrong = [
        (steps, f"{value!r} is no path that stays inside: write it relative, with forward slashes and without '..'")
        for steps, value in paths
        if value is not None and not _stays_inside(value)
    ]
    wrong += [(steps, f"{value!r} is no name of a distribution") for steps, value in names if not _DISTRIBUTION.fullmatch(value)]
    wrong += [*_wrong_refs(project.refs), *_wrong_pins(project), *_wrong_version(project.version), *_wrong_commit(project.wheel)]
    wrong += wrong_suite(project.suite) if project.suite is not None else ()
    wrong += [*_wrong_addresses(project), *_wrong_target_variable(project.build), *_wrong_flags(project.wheel)]
    if project.sdk == "none" and project.wheel.version_suffix == "rocm":
        wrong.append((["wheel", "version-suffix"], 'the version is to name the ROCm packages, and sdk = "none" has none'))
    for steps, message in wrong:
        where = Where(file=path, line=line_of(text, steps), key=".".join(str(step) for step in steps))
        raise HipwrightError("bad-data-file", message, where=where)


_SYSTEM_VARIABLES: Final = frozenset(
    {"CC", "CMAKE_PREFIX_PATH", "CXX", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH"}
    | {"PYTHONPATH", "ROCM_HOME", "ROCM_PATH", "TEMP", "TMP", "TMPDIR"}
)
"""Variables by which programs find each other: what they say is never a list of GPU targets."""

_Wrong = tuple[list[str | int], str]
"""A key, and what is wrong with it."""


def _wrong_refs(refs: Refs) -> Iterator[_Wrong]:
    for key, text in (("release", refs.release), ("release-tag", refs.release_tag)):
        if text is not None and (text.count(VERSION_PLACE) != 1 or _BRACE.search(text.replace(VERSION_PLACE, ""))):
            yield ["refs", key], f"{text!r} should have {VERSION_PLACE} in it, once, and no other braces"
    if refs.release_tag is not None and refs.release is None:
        yield ["refs", "release-tag"], "a tag says which release branch is stable, and no 'release' says which are some"


def _wrong_pins(project: Project) -> Iterator[_Wrong]:
    for number, pin in enumerate(project.pins):
        steps: list[str | int] = ["pins", number]
        if pin.project == project.name:
            yield [*steps, "project"], "a project cannot state its own pin in its own tree"
        if pin.project is not None and not PROJECT_NAME.fullmatch(pin.project):
            yield [*steps, "project"], f"{pin.project!r} is no name of a project"
        if pin.project is None and pin.when is not None:
            yield [*steps, "when"], "a file beside project.toml speaks for every ref: only another project's tree is at one"
        if isinstance(pin, VersionFilePin) and _BRACE.search(_BRANCH_FIELD.sub("", pin.branch)):
            yield [*steps, "branch"], f"{pin.branch!r} has other fields than {{major}}, {{minor}}, {{micro}} and {VERSION_PLACE}"


def _wrong_addresses(project: Project) -> Iterator[_Wrong]:
    """Yield the addresses with a user or password in them: everybody reads this file, and locks name what it says."""
    told = "an address has a user or password in it: leave it out here, and have git ask its credential helper, or name the "
    told += f"address on this machine alone: --{project.name}-origin or {project.name}-origin in hipwright.toml"
    if isinstance(project.origin, GitOrigin) and holds_secret(project.origin.url):
        yield ["origin", "url"], told
    for number, pin in enumerate(project.pins):
        for key in ("origin", "held_by"):
            if holds_secret(getattr(pin, key, None) or ""):
                yield ["pins", number, key.replace("_", "-")], told


def _wrong_version(version: Version) -> Iterator[_Wrong]:
    if version.pattern is None:
        return
    if version.file is None:
        yield ["version", "pattern"], "a pattern is for the lines of a file, and no file is named"
    try:
        groups = re.compile(version.pattern).groups
    except re.error as error:
        yield ["version", "pattern"], f"{version.pattern!r} is no regular expression: {error}"
    else:
        if groups != 1:
            yield ["version", "pattern"], f"{version.pattern!r} has {groups} groups, and one is needed: the version"


def _wrong_commit(wheel: Wheel) -> Iterator[_Wrong]:
    if wheel.source_commit is not None and not wheel.source_commit.name.isidentifier():
        yield ["wheel", "source-commit", "name"], f"{wheel.source_commit.name!r} is no name in Python"


def _stays_inside(text: str) -> bool:
    """Return whether a path leads to a place below where it starts, on every platform."""
    path = PurePosixPath(text)
    plain = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    return plain and _UNSAFE.search(text) is None and path.as_posix() == text.removesuffix("/")


def _wrong_target_variable(build: Build) -> Iterator[_Wrong]:
    """Yield a name that says something else to the build already: of the two values one would be lost."""
    name = build.target_variable
    others = {key: value for key, value in build.variables.items() if key != "targets"}
    said = {*build.environment, *build.linux, *build.windows, *others.values(), *build.package_versions.values()}
    if name is not None and name in {*said, *build.machine_variables, *_SYSTEM_VARIABLES}:
        yield (
            ["build", "target-variable"],
            f"{name} says something else to the build already: name a variable of the project's own",
        )


def _wrong_flags(wheel: Wheel) -> Iterator[_Wrong]:
    seen: dict[tuple[str, str], int] = {}
    for number, flag in enumerate(wheel.flags):
        for platform in flag.platforms or tuple(Platform):
            if seen.setdefault((flag.name, platform), number) != number:
                yield ["wheel", "flags", number, "name"], f"{flag.name} is to have two values on {platform}"
                break
