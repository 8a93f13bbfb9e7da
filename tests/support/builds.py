"""Values that build tests start from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from build_tools.builds import kept_tree
from build_tools.builds.hooks import BuildContext, ProjectHooks
from build_tools.builds.plan import BuildPlan, plan_build
from build_tools.builds.variables import BuildFolders, SdkParts
from build_tools.config.project import Project
from build_tools.receipts.lock import LockedFile, LockedPatches, LockedProject, LockedRocm, LockedSources, Requested
from build_tools.receipts.values import EnvironmentRecord, LocalChanges, Sdk, SourceTree
from build_tools.types import CommitId, GfxTarget, Platform, Sha256, TreeId

if TYPE_CHECKING:
    import pytest

    from build_tools.sources.git import Git

__all__ = [
    "COMMIT",
    "DIGEST",
    "FOLDERS",
    "context",
    "copy_sources_plainly",
    "environment",
    "lock",
    "plan",
    "project",
    "sdk",
    "tree",
]

COMMIT = CommitId("1" * 40)
DIGEST = Sha256("ab" * 32)
FOLDERS = BuildFolders(tree=Path("/w/scratch/src"), home=Path("/w/scratch/home"), temporary=Path("/w/scratch/tmp"))


def project(**changes: object) -> Project:
    """Return a project as its file would give it; ``changes`` replace whole tables."""
    data: dict[str, object] = {
        "schema": 1,
        "name": "toy",
        "summary": "A toy",
        "origin": {"kind": "git", "url": "https://example.invalid/toy.git"},
        "version": {"file": "version.txt"},
        "sdk": "rocm",
        "build": {"variables": {"version": "TOY_VERSION"}},
        "wheel": {"distribution": "toy"},
    }
    return msgspec.convert({**data, **changes}, Project)


def environment(folder: str = "/envs/e", python: str = "/envs/e/bin/python") -> EnvironmentRecord:
    return EnvironmentRecord(
        folder=folder, digest=DIGEST, python=python, python_version="3.12.1", python_tag="cp312", packages=()
    )


def sdk(version: str | None = "7.10.0", *, record: EnvironmentRecord | None = None, root: str = "/envs/e/rocm") -> Sdk:
    record = record or environment()
    if version is None:
        return Sdk(environment=record)
    return Sdk(
        environment=record,
        version=version,
        root=root,
        bin=f"{root}/bin",
        cmake=f"{root}/lib/cmake",
        targets=("gfx942", "gfx1201"),
    )


def tree(*, folder: str = "/w/src/toy", base_version: str = "1.2.0", local: Sha256 | None = None) -> SourceTree:
    return SourceTree(
        project="toy",
        folder=folder,
        upstream=COMMIT,
        upstream_date=1_700_000_000,
        base_version=base_version,
        modules=(),
        local=None if local is None else LocalChanges(digest=local, lines=("edited .: a.py",)),
    )


def lock(*, rocm: str | None = "7.10.0", owned: dict[str, str] | None = None) -> LockedProject:
    return LockedProject(
        name="toy",
        requested=Requested(),
        recipe=Sha256("0" * 64),
        sources=LockedSources(
            origin="https://example.invalid/toy.git",
            ref="main",
            reason="asked for",
            commit=COMMIT,
            tree=TreeId("2" * 40),
            base_version="1.2.0",
        ),
        patches=LockedPatches(line=None, reason="none", digest=DIGEST),
        hipify=None,
        rocm=None if rocm is None else LockedRocm(source="a folder", version=rocm, files=()),
        owned=tuple(
            LockedFile(distribution=name, version=version, filename=f"{name}.whl", url=f"file:///{name}.whl", sha256=DIGEST)
            for name, version in (owned or {}).items()
        ),
    )


def plan(
    toy: Project,
    *,
    source: SourceTree | None = None,
    with_sdk: Sdk | None = None,
    locked: LockedProject | None = None,
    hooks: ProjectHooks | None = None,
    targets: tuple[str, ...] = ("gfx942", "gfx1201"),
    jobs: int | None = None,
) -> BuildPlan:
    """Plan a build of ``toy`` on Linux with whatever is not said as above."""
    return plan_build(
        toy,
        Path("/projects/toy"),
        source=source or tree(),
        sdk=with_sdk or sdk(),
        locked=locked or lock(),
        hooks=hooks or ProjectHooks(file=Path("/projects/toy/hooks.py"), functions={}),
        parts=SdkParts(),
        folders=FOLDERS,
        platform=Platform.LINUX,
        path="/usr/bin:/bin",
        targets=tuple(GfxTarget(name) for name in targets),
        jobs=jobs,
    )


def context() -> BuildContext:
    return plan(project()).context


def copy_sources_plainly(patch: pytest.MonkeyPatch) -> None:
    """Have kept trees copy a folder as it is, where a test's sources are no repository."""

    def copy(source: SourceTree, target: Path, *, git: Git) -> None:
        del git
        shutil.copytree(source.folder, target, dirs_exist_ok=True)

    patch.setattr(kept_tree, "materialise", copy)
    patch.setattr(kept_tree, "refresh", copy)
