"""The options: each is declared once, as a field of :class:`Settings`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools.options.declare import declare, declared
from build_tools.types import Platform, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.options.option import Option

__all__ = ["OPTIONS", "Settings", "flags_of"]

STAGES: Final = tuple(stage.value for stage in Stage)
PLATFORMS: Final = tuple(platform.value for platform in Platform)
RELEASE_TYPES: Final = ("ci", "dev", "nightly", "prerelease", "release")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The values of all options, and the plain arguments; a command reads those that it takes, the others keep their defaults."""

    paths: tuple[Path, ...] = ()
    words: tuple[str, ...] = ()

    projects: tuple[str, ...] = declare((), "names", "what", "Projects to work on, in this order.", metavar="P1,P2")
    ref: Mapping[str, str] = declare({}, "text", "what", "Branch, tag or commit of the project.", metavar="REF", per_project=True)
    origin: Mapping[str, str] = declare(
        {},
        "location",
        "what",
        "Where the project's sources come from instead of its own origin.",
        metavar="URL",
        per_project=True,
    )
    dir: Mapping[str, Path] = declare(
        {}, "path", "what", "A tree of your own, as it stands; only --develop changes it.", metavar="DIR", per_project=True
    )
    submodule_url: Mapping[str, tuple[str, ...]] = declare(
        {},
        "names",
        "what",
        "Where a submodule of the project is fetched from instead of its recorded address.",
        metavar="PATH=URL",
        per_project=True,
    )
    line: str | None = declare(None, "text", "what", "Patch line, instead of the one that the ref finds.", metavar="NAME")
    lines_for: tuple[str, ...] = declare(
        (), "names", "what", "Refs, or patterns of refs, that are to find the line.", name="for-ref", metavar="REF"
    )
    copy_of: str | None = declare(None, "text", "what", "Begin the line with the patches of this one.", metavar="NAME")
    onto: str | None = declare(None, "text", "what", "Ref that the series is carried to.", metavar="REF")
    against: str | None = declare(
        None, "text", "what", "Tell cosmetic from real changes since this commit of the clone.", metavar="COMMIT"
    )
    phase: str | None = declare(
        None,
        "choice",
        "what",
        "Patches of hipify's input, or of its result.",
        choices=("base", "hipified"),
        metavar="base|hipified",
    )
    lock: Path | None = declare(None, "path", "what", "Use this lock and nothing else.", metavar="FILE")
    manifest: str | None = declare(
        None, "location", "what", "Take the projects' commits from this source manifest.", metavar="FILE|URL"
    )
    manifest_out: Path | None = declare(None, "path", "what", "Write what is locked as a source manifest too.", metavar="FILE")
    diff: Path | None = declare(None, "path", "what", "Say what moved since this earlier lock.", metavar="FILE")
    pins: str | None = declare(
        None,
        "choice",
        "what",
        "When no place states a project's pin: stop, or take the branch of the same kind; where CI is set, stop.",
        choices=("require", "allow-defaults"),
        metavar="MODE",
    )
    relock: bool = declare(False, "flag", "what", "Resolve the named projects anew, although the work dir has locked them.")
    python: tuple[str, ...] = declare(
        (),
        "names",
        "what",
        "Interpreter that wheels are built for, or an environment is made with: a version or a path.",
        metavar="3.12",
    )
    from_receipt: tuple[str, ...] = declare(
        (), "locations", "what", "Take a stage's result from this receipt, made elsewhere.", metavar="FILE|URL"
    )
    from_stage: Stage | None = declare(
        None,
        "choice",
        "what",
        "Begin at this stage; what comes before must be done.",
        choices=STAGES,
        name="from",
        metavar="STAGE",
    )
    until: Stage | None = declare(None, "choice", "what", "End after this stage.", choices=STAGES, metavar="STAGE")

    rocm_find_links: tuple[str, ...] = declare(
        (),
        "locations",
        "rocm",
        "Folder or page that lists the ROCm packages.",
        metavar="URL|DIR",
        says="the source of the ROCm packages",
    )
    rocm_index_url: str | None = declare(
        None,
        "location",
        "rocm",
        "Package index of the ROCm packages.",
        metavar="URL",
        other_environment=("THEROCK_NIGHTLY_INDEX_URL",),
        says="the source of the ROCm packages",
    )
    rocm_run_id: str | None = declare(
        None,
        "text",
        "rocm",
        "Run whose outputs hold the ROCm packages, under --artifact-group.",
        metavar="ID",
        says="the source of the ROCm packages",
    )
    rocm_path: str | None = declare(
        None,
        "location",
        "rocm",
        "Folder with an installed ROCm, taken instead of packages; `env` takes the one that ROCM_PATH, ROCM_HOME or HIP_PATH names.",
        metavar="DIR|env",
        words=("env",),
        says="the source of the ROCm packages",
    )
    rocm_version: str | None = declare(None, "text", "rocm", "Exact version of the ROCm packages.", metavar="V")
    artifact_group: str | None = declare(None, "text", "rocm", "Folder name of this set in run outputs.", metavar="G")
    gpu_family: str | None = declare(
        None,
        "text",
        "rocm",
        "GPU family to build for, or to install the code of.",
        metavar="F",
        other_environment=("AMDGPU_FAMILY",),
        says="the GPU targets",
    )
    gfx: tuple[str, ...] = declare(
        (),
        "names",
        "rocm",
        "GPU targets to build for, or to fetch or install the code of.",
        metavar="gfx942,gfx1201",
        other_flags=("--target",),
        other_environment=("PYTORCH_ROCM_ARCH",),
        says="the GPU targets",
    )
    linux_gfx: tuple[str, ...] = declare(
        (),
        "names",
        "rocm",
        "GPU targets or families that the packages of this version have on Linux; with --windows-gfx both share one `rocm`.",
        metavar="gfx942,gfx120X-all",
        other_flags=("--linux-amdgpu-families",),
    )
    windows_gfx: tuple[str, ...] = declare(
        (),
        "names",
        "rocm",
        "GPU targets or families that the packages of this version have on Windows.",
        metavar="gfx1151,gfx120X-all",
        other_flags=("--windows-amdgpu-families",),
    )

    find_links: tuple[str, ...] = declare(
        (),
        "locations",
        "packages",
        "Folder or page that lists owned packages.",
        metavar="URL|DIR",
        other_flags=("--find-links-url",),
    )
    index_url: str | None = declare(
        None, "location", "packages", "Package index of owned packages.", metavar="URL", says="the index of owned packages"
    )
    index_name: str | None = declare(
        None,
        "choice",
        "packages",
        "The index that the channel data name for this release type.",
        choices=("dev", "nightly", "prerelease", "release"),
        metavar="TYPE",
        says="the index of owned packages",
    )
    index_subdir: str | None = declare(
        None, "text", "packages", "Folder below the index, such as a GPU family's.", metavar="NAME"
    )
    from_run_id: str | None = declare(
        None,
        "text",
        "packages",
        "Run whose outputs hold the owned packages, under --artifact-group.",
        metavar="ID",
        says="the index of owned packages",
    )
    packages: tuple[str, ...] = declare(
        (), "requirements", "packages", "Requirements to install, parted by blanks.", metavar='"R1 R2"'
    )
    pre: bool = declare(False, "flag", "packages", "Take pre-releases of owned packages too.")
    installer: str | None = declare(
        None,
        "choice",
        "packages",
        "What installs; uv where there is one when not given.",
        choices=("pip", "uv"),
        metavar="pip|uv",
    )
    activate_in_future_github_actions_steps: bool = declare(
        False, "flag", "packages", "Activate the environment for the following steps of this GitHub Actions job."
    )

    work_dir: Path = declare(Path(".work"), "path", "where", "Folder for everything that is made.", metavar="DIR")
    store: str | None = declare(
        None,
        "location",
        "where",
        "Where packages are published to; <work-dir>/store when not given.",
        metavar="DIR|s3://B",
        says="the store",
    )
    bucket: str | None = declare(
        None, "text", "where", "Bucket of the store: the same as --store s3://B.", metavar="B", says="the store"
    )
    endpoint_url: str | None = declare(
        None, "text", "where", "Address of the S3 server, for one that is not Amazon's.", metavar="URL"
    )
    repository: str | None = declare(
        None,
        "text",
        "where",
        "Repository whose runs are meant; decides bucket and folder.",
        metavar="OWNER/NAME",
        other_environment=("GITHUB_REPOSITORY",),
    )
    platform: str | None = declare(
        None, "choice", "where", "Operating system that is meant; this machine's when not given.", choices=PLATFORMS, metavar="OS"
    )
    artifact_dir: Path | None = declare(None, "path", "where", "Folder that holds a run's artifacts.", metavar="DIR")
    dest_dir: Path | None = declare(None, "path", "where", "Folder that packages are written to.", metavar="DIR")
    packages_dir: Path | None = declare(
        None, "path", "where", "Folder with packages, or one whose dist/ has them.", metavar="DIR"
    )
    output_dir: Path | None = declare(None, "path", "where", "Folder that the result is written to.", metavar="DIR")
    for_commit: str | None = declare(
        None, "text", "where", "The newest run of this commit that has what is needed.", metavar="SHA", says="the run"
    )
    for_branch: str | None = declare(
        None, "text", "where", "The newest run of this branch that has what is needed.", metavar="NAME", says="the run"
    )
    include: tuple[str, ...] = declare(
        (), "patterns", "where", "Only files whose name has a match of this regular expression; repeatable.", metavar="RE"
    )
    exclude: tuple[str, ...] = declare(
        (), "patterns", "where", "No files whose name has a match of this regular expression; repeatable.", metavar="RE"
    )
    channel: str = declare("rehearsal", "text", "where", "Channel that promotion fills.", metavar="NAME")
    run_id: str = declare("local", "text", "where", "Name of this run in run outputs.", metavar="ID", says="the run")
    release_type: str | None = declare(
        None,
        "choice",
        "where",
        "Kind of release: decides index, suffix and retention.",
        choices=RELEASE_TYPES,
        other_environment=("RELEASE_TYPE",),
        metavar="TYPE",
    )
    cache_dir: Path | None = declare(
        None, "path", "where", "Folder for what runs share: mirrors, downloads, real inputs.", metavar="DIR"
    )

    version: str | None = declare(
        None,
        "text",
        "how",
        "Exact version that is given to what is made; ROCm's own with .dev0 when neither it nor a release type is given.",
        metavar="V",
        says="the version",
    )
    date: str | None = declare(None, "text", "how", "Day of the version in UTC, instead of today.", metavar="YYYYMMDD")
    candidate: int | None = declare(
        None, "integer", "how", "Number of the release candidate, for the release type prerelease.", metavar="N"
    )
    package_form: str | None = declare(
        None,
        "choice",
        "how",
        "Libraries as one package with a device package for each target, or as one package for each GPU family.",
        choices=("device", "family"),
        metavar="FORM",
    )
    compiler_cache: str | None = declare(
        None,
        "choice",
        "how",
        "What keeps compiled objects between builds; nothing does when not given.",
        choices=("none", "ccache", "sccache"),
        metavar="TOOL",
    )
    compiler_cache_store: str | None = declare(
        None,
        "location",
        "how",
        "Where compiled objects are shared: a folder, or a bucket (sccache); a folder of the cache dir when not given.",
        metavar="DIR|s3://B",
    )
    compiler_cache_size: str | None = declare(
        None, "text", "how", "How large a folder of compiled objects may grow.", metavar="20G"
    )
    build_env: Mapping[str, str] = declare(
        {}, "assignments", "how", "A variable of the build's environment, over what hipwright would set.", metavar="NAME=VALUE"
    )
    develop: bool = declare(
        False, "flag", "how", "Build in the source tree, and install it editable into an environment of its own."
    )
    verify_reproducible: bool = declare(False, "flag", "how", "Build twice, in different folders, and compare.")
    bundle_rocm: bool = declare(False, "flag", "how", "Put into the wheel what it needs of ROCm.")
    baseline: str | None = declare(
        None,
        "location",
        "how",
        "Earlier wheels that a check compares contents with: a wheel, or a folder or page with some.",
        metavar="PATH|URL",
    )
    stage: str | None = declare(
        None,
        "choice",
        "how",
        "Show a stage's environment as a script instead of the options.",
        choices=("build",),
        metavar="build",
    )
    compress: bool = declare(True, "flag", "how", "Store files in packages as they are.", negative=True)
    extract: bool = declare(
        True, "flag", "how", "Leave artifacts packed, each with the file beside it that states its SHA-256.", negative=True
    )
    timeout: int | None = declare(
        None,
        "integer",
        "how",
        "Seconds to wait for packages that are still appearing, or that fetching artifacts may take in all.",
        metavar="SECONDS",
    )
    clean: bool = declare(False, "flag", "how", "Make anew what is there already.")
    jobs: int | None = declare(
        None, "integer", "how", "Parallel work at the most; the number of processors when not given.", metavar="N"
    )
    dry_run: bool = declare(False, "flag", "how", "Say what would be done, and do nothing.")
    explain: bool | str = declare(
        False,
        "flag-or-text",
        "how",
        "Say for each stage why it runs or is skipped; of a check's rule, what it demands and why.",
        metavar="RULE",
    )
    force: tuple[Stage, ...] = declare(
        (), "names", "how", "Redo this stage although nothing changed.", choices=STAGES, metavar="STAGE"
    )
    verify: bool = declare(False, "flag", "how", "Prove earlier outputs by their full hashes, not by size and time.")
    wait: bool = declare(
        True, "flag", "how", "Stop instead of waiting when another run holds what this run needs.", negative=True
    )
    json: bool = declare(False, "flag", "how", "Print one JSON document on stdout.")
    traceback: bool = declare(False, "flag", "how", "Show where in hipwright a failure arose.")
    hipify: bool = declare(True, "flag", "how", "Leave the sources as they are: no hipify, no hipified patches.", negative=True)
    depth: int | None = declare(None, "integer", "how", "Fetch only so many commits of each branch's history.", metavar="N")
    partial: bool = declare(False, "flag", "how", "Fetch the history without the contents of earlier files.")
    discard_local: bool = declare(
        False, "flag", "how", "Drop a person's edits and commits in the tree when it has to move; what is dropped is named."
    )
    strict: bool = declare(False, "flag", "how", "Take a patch that the sources have already for an error.")
    three_way: bool = declare(False, "flag", "how", "Where a patch does not apply, try a merge beside the tree and show it.")
    refresh: bool = declare(
        False, "flag", "how", "Write all patches anew, those too whose hunks moved; each hunk that moved is shown."
    )
    lint_only: bool = declare(False, "flag", "how", "Look at the files alone; no source tree is made.")
    go_on: bool = declare(False, "flag", "how", "Go on after a conflict that was solved.", name="continue")
    abort: bool = declare(False, "flag", "how", "Give up what stopped at a conflict.")
    tier: str = declare("ci", "choice", "how", "Which real inputs: those of every run, or all.", choices=("ci", "real"))


OPTIONS: Final[Mapping[str, Option]] = {option.name: option for option in declared(Settings)}


def flags_of(option: Option, projects: Iterable[str]) -> dict[str, str | None]:
    """Return an option's flags, each with the project that it speaks of (None for an ordinary option)."""
    if option.per_project:
        return {f"--{project}-{option.name}": project for project in projects}
    return dict.fromkeys((option.flag, *option.other_flags))
