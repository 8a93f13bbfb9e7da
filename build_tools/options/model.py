"""The options: each is declared once, as a field of :class:`Settings`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from build_tools.types import Platform, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["GROUPS", "OPTIONS", "Option", "OptionKind", "Settings", "flags_of"]

OptionKind = Literal["text", "path", "location", "locations", "flag", "integer", "choice", "names"]
Group = Literal["what", "rocm", "packages", "where", "how"]

GROUPS: Final[Mapping[Group, str]] = {
    "what": "what to work on",
    "rocm": "ROCm packages",
    "packages": "packages that owned requirements come from",
    "where": "where things lie",
    "how": "how to work",
}

STAGES: Final = tuple(stage.value for stage in Stage)
PLATFORMS: Final = tuple(platform.value for platform in Platform)
RELEASE_TYPES: Final = ("ci", "dev", "nightly", "prerelease", "release")


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One option.

    ``kind`` says how a text becomes a value: ``path`` and ``location`` (a path or a URL) are relative to where they were given;
    ``names`` is a comma list, ``locations`` are repeatable. ``per_project`` makes one option per project, its flag in
    the form ``--<project>-<name>``. Options with the same ``says`` say the same thing differently.
    """

    name: str
    group: Group
    kind: OptionKind
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    other_flags: tuple[str, ...] = ()
    other_environment: tuple[str, ...] = ()
    per_project: bool = False
    says: str | None = None
    negative: bool = False

    @property
    def field_name(self) -> str:
        """The field of :class:`Settings` that holds the value."""
        return _FIELD_OF[self.name]

    @property
    def flag(self) -> str:
        """The flag on the command line; a per-project option's has ``<project>`` in it."""
        if self.per_project:
            return f"--<project>-{self.name}"
        return f"--no-{self.name}" if self.negative else f"--{self.name}"

    @property
    def environment(self) -> str:
        """The environment name of its own."""
        prefix = "<PROJECT>_" if self.per_project else ""
        return f"HIPWRIGHT_{prefix}{('no-' if self.negative else '') + self.name}".upper().replace("-", "_")

    def environment_of(self, project: str) -> str:
        """Return the environment name for a project; of an ordinary option, its only one."""
        return self.environment.replace("<PROJECT>", project.upper().replace("-", "_"))

    @property
    def repeatable(self) -> bool:
        """Whether it may be given several times."""
        return self.kind in {"names", "locations"}


def _option(default: Any, kind: OptionKind, group: Group, help_text: str, **more: Any) -> Any:  # noqa: ANN401 - a dataclass field
    metadata = {"option": (kind, group, help_text, more)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The values of all options, and the plain arguments; a command reads those that it takes, the others keep their defaults."""

    paths: tuple[Path, ...] = ()
    words: tuple[str, ...] = ()

    projects: tuple[str, ...] = _option((), "names", "what", "Projects to work on, in this order.", metavar="P1,P2")
    ref: Mapping[str, str] = _option({}, "text", "what", "Branch, tag or commit of the project.", metavar="REF", per_project=True)
    origin: Mapping[str, str] = _option(
        {},
        "location",
        "what",
        "Where the project's sources come from instead of its own origin.",
        metavar="URL",
        per_project=True,
    )
    dir: Mapping[str, Path] = _option(
        {}, "path", "what", "A tree of your own: built as it stands, never changed.", metavar="DIR", per_project=True
    )
    submodule_url: Mapping[str, tuple[str, ...]] = _option(
        {},
        "names",
        "what",
        "Where a submodule of the project is fetched from instead of its recorded address.",
        metavar="PATH=URL",
        per_project=True,
    )
    line: str | None = _option(None, "text", "what", "Patch line, instead of the one that the ref finds.", metavar="NAME")
    lines_for: tuple[str, ...] = _option(
        (), "names", "what", "Refs, or patterns of refs, that are to find the line.", name="for-ref", metavar="REF"
    )
    copy_of: str | None = _option(None, "text", "what", "Begin the line with the patches of this one.", metavar="NAME")
    onto: str | None = _option(None, "text", "what", "Ref that the series is carried to.", metavar="REF")
    against: str | None = _option(
        None, "text", "what", "Tell cosmetic from real changes since this commit of the clone.", metavar="COMMIT"
    )
    phase: str | None = _option(
        None,
        "choice",
        "what",
        "Patches of hipify's input, or of its result.",
        choices=("base", "hipified"),
        metavar="base|hipified",
    )
    lock: Path | None = _option(None, "path", "what", "Use this lock and nothing else.", metavar="FILE")
    manifest: str | None = _option(
        None, "location", "what", "Take the projects' commits from this source manifest.", metavar="FILE|URL"
    )
    manifest_out: Path | None = _option(None, "path", "what", "Write what is locked as a source manifest too.", metavar="FILE")
    diff: Path | None = _option(None, "path", "what", "Say what moved since this earlier lock.", metavar="FILE")
    pins: str | None = _option(
        None,
        "choice",
        "what",
        "When no place states a project's pin: stop, or take the branch of the same kind; where CI is set, stop.",
        choices=("require", "allow-defaults"),
        metavar="MODE",
    )
    relock: bool = _option(False, "flag", "what", "Resolve the named projects anew, although the work dir has locked them.")
    python: tuple[str, ...] = _option(
        (), "names", "what", "Interpreter that wheels are built for: a version or a path.", metavar="3.12"
    )
    from_receipt: tuple[str, ...] = _option(
        (), "locations", "what", "Take a stage's result from this receipt, made elsewhere.", metavar="FILE|URL"
    )
    from_stage: Stage | None = _option(
        None,
        "choice",
        "what",
        "Begin at this stage; what comes before must be done.",
        choices=STAGES,
        name="from",
        metavar="STAGE",
    )
    until: Stage | None = _option(None, "choice", "what", "End after this stage.", choices=STAGES, metavar="STAGE")

    rocm_find_links: tuple[str, ...] = _option(
        (),
        "locations",
        "rocm",
        "Folder or page that lists the ROCm packages.",
        metavar="URL|DIR",
        says="the source of the ROCm packages",
    )
    rocm_index_url: str | None = _option(
        None,
        "location",
        "rocm",
        "Package index of the ROCm packages.",
        metavar="URL",
        other_environment=("THEROCK_NIGHTLY_INDEX_URL",),
        says="the source of the ROCm packages",
    )
    rocm_version: str | None = _option(None, "text", "rocm", "Exact version of the ROCm packages.", metavar="V")
    artifact_group: str | None = _option(None, "text", "rocm", "Folder name of this set in run outputs.", metavar="G")
    gpu_family: str | None = _option(
        None,
        "text",
        "rocm",
        "GPU family to build for.",
        metavar="F",
        other_environment=("AMDGPU_FAMILY",),
        says="the GPU targets",
    )
    gfx: tuple[str, ...] = _option(
        (),
        "names",
        "rocm",
        "GPU targets to build for.",
        metavar="gfx942,gfx1201",
        other_flags=("--target",),
        other_environment=("PYTORCH_ROCM_ARCH",),
        says="the GPU targets",
    )

    find_links: tuple[str, ...] = _option(
        (), "locations", "packages", "Folder or page that lists owned packages.", metavar="URL|DIR"
    )
    index_url: str | None = _option(None, "location", "packages", "Package index of owned packages.", metavar="URL")

    work_dir: Path = _option(Path(".work"), "path", "where", "Folder for everything that is made.", metavar="DIR")
    store: str | None = _option(
        None, "location", "where", "Where wheels are published to; <work-dir>/store when not given.", metavar="DIR"
    )
    channel: str = _option("rehearsal", "text", "where", "Channel that promotion fills.", metavar="NAME")
    run_id: str = _option("local", "text", "where", "Name of this run in run outputs.", metavar="ID")
    release_type: str | None = _option(
        None,
        "choice",
        "where",
        "Kind of release: decides index, suffix and retention.",
        choices=RELEASE_TYPES,
        other_environment=("RELEASE_TYPE",),
        metavar="TYPE",
    )
    cache_dir: Path | None = _option(
        None, "path", "where", "Folder for what runs share: mirrors, downloads, real inputs.", metavar="DIR"
    )

    jobs: int | None = _option(
        None, "integer", "how", "Parallel work at the most; the number of processors when not given.", metavar="N"
    )
    dry_run: bool = _option(False, "flag", "how", "Say what would be done, and do nothing.")
    explain: bool = _option(False, "flag", "how", "Say for each stage why it runs or is skipped.")
    force: tuple[Stage, ...] = _option(
        (), "names", "how", "Redo this stage although nothing changed.", choices=STAGES, metavar="STAGE"
    )
    verify: bool = _option(False, "flag", "how", "Prove earlier outputs by their full hashes, not by size and time.")
    wait: bool = _option(
        True, "flag", "how", "Stop instead of waiting when another run holds what this run needs.", negative=True
    )
    json: bool = _option(False, "flag", "how", "Print one JSON document on stdout.")
    traceback: bool = _option(False, "flag", "how", "Show where in hipwright a failure arose.")
    hipify: bool = _option(True, "flag", "how", "Leave the sources as they are: no hipify, no hipified patches.", negative=True)
    depth: int | None = _option(None, "integer", "how", "Fetch only so many commits of each branch's history.", metavar="N")
    partial: bool = _option(False, "flag", "how", "Fetch the history without the contents of earlier files.")
    discard_local: bool = _option(
        False, "flag", "how", "Drop a person's edits and commits in the tree when it has to move; what is dropped is named."
    )
    strict: bool = _option(False, "flag", "how", "Take a patch that the sources have already for an error.")
    three_way: bool = _option(False, "flag", "how", "Where a patch does not apply, try a merge beside the tree and show it.")
    refresh: bool = _option(
        False, "flag", "how", "Write all patches anew, those too whose hunks moved; each hunk that moved is shown."
    )
    lint_only: bool = _option(False, "flag", "how", "Look at the files alone; no source tree is made.")
    go_on: bool = _option(False, "flag", "how", "Go on after a conflict that was solved.", name="continue")
    abort: bool = _option(False, "flag", "how", "Give up what stopped at a conflict.")
    tier: str = _option("ci", "choice", "how", "Which real inputs: those of every run, or all.", choices=("ci", "real"))


def _collect() -> tuple[dict[str, Option], dict[str, str]]:
    options: dict[str, Option] = {}
    fields: dict[str, str] = {}
    for entry in dataclasses.fields(Settings):
        if entry.name in {"paths", "words"}:
            continue
        kind, group, text, more = entry.metadata["option"]
        rest = dict(more)
        name = rest.pop("name", entry.name.replace("_", "-"))
        options[name] = Option(name=name, kind=kind, group=group, help=text, **rest)
        fields[name] = entry.name
    return options, fields


_COLLECTED: Final = _collect()
OPTIONS: Final[Mapping[str, Option]] = _COLLECTED[0]
_FIELD_OF: Final[Mapping[str, str]] = _COLLECTED[1]


def flags_of(option: Option, projects: Iterable[str]) -> dict[str, str | None]:
    """Return an option's flags, each with the project that it speaks of (None for an ordinary option)."""
    if option.per_project:
        return {f"--{project}-{option.name}": project for project in projects}
    return dict.fromkeys((option.flag, *option.other_flags))
