"""Finished builds in a work dir, as receipts tell of them; the wheels hold a few bytes and no package."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import msgspec

from build_tools.config.project import load_project
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.engine import RECEIPT, Done, Work, imagine, input_digest, stage_folder
from build_tools.receipts.lock import LockedFile, LockedRocm
from build_tools.receipts.record import to_json
from build_tools.receipts.stage import BuildResult, LockedResult, OutputFile, StageResult, Upstream
from build_tools.receipts.values import BuiltAgainst, BuiltWheels, WheelFile
from build_tools.types import CommitId, ProjectName, Sha256, Stage
from tests.support.locks import locked

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.lock import LockedProject
    from build_tools.workplace import Workplace

__all__ = ["build", "chain_of", "locked_with", "rocm_file"]

_TAG = "cp312"


def rocm_file(version: str, name: str = "rocm-sdk-core", *, build: str = "") -> LockedFile:
    """Return a ROCm package's file as a lock names it; ``build`` makes another one of the same name."""
    filename = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    sha256 = Sha256(hashlib.sha256(f"{filename}{build}".encode()).hexdigest())
    return LockedFile(
        distribution=name, version=version, filename=filename, url=f"https://rocm.example/{filename}", sha256=sha256
    )


def locked_with(
    project: str, rocm: str | None, *, version: str = "1.0", owned: tuple[LockedFile, ...] = (), build: str = ""
) -> LockedProject:
    """Return a lock entry with one ROCm package, and others."""
    files = () if rocm is None else (rocm_file(rocm, build=build),)
    stack = None if rocm is None else LockedRocm(source="https://rocm.example/", version=rocm, files=files)
    return msgspec.structs.replace(locked(project, version=version), rocm=stack, owned=owned)


def chain_of(place: Workplace, project: str, entry: LockedProject, *, targets: tuple[str, ...] = ()) -> Chain:
    """Return a project on its way whose lock stage is done."""
    chain = Chain(project=load_project(place.external_builds, ProjectName(project)), workplace=place, targets=targets)  # type: ignore[arg-type]
    chain.done[Stage.LOCK] = _done(place, Stage.LOCK, project, {"n": entry.sources.base_version}, LockedResult(value=entry))
    return chain


def build(
    place: Workplace,
    project: str,
    version: str,
    *,
    python: str = _TAG,
    targets: str = "none",
    platform: str | None = None,
    rocm: str | None = "7.10.0",
    started: str = "2026-01-01T00:00:00Z",
    against: tuple[Done, ...] = (),
    content: str = "",
    entry: LockedProject | None = None,
    bundled: str | None = None,
    local: Sha256 | None = None,
    sources: dict[str, str] | None = None,
) -> Done:
    """Leave a build of a project in the work dir, and return it; ``sources`` are the parts of its digest that its sources make."""
    distribution = load_project(place.external_builds, ProjectName(project)).wheel.distribution
    filename = f"{distribution.replace('-', '_')}-{version}-{python}-{python}-linux_x86_64.whl"
    data = f"{filename}{content}".encode()
    sha256 = Sha256(hashlib.sha256(data).hexdigest())
    lock = _done(
        place, Stage.LOCK, project, {"n": f"{version}{rocm}{content}"}, LockedResult(value=entry or locked_with(project, rocm))
    )
    wheel = WheelFile(
        path=f"dist/{filename}", filename=filename, distribution=distribution, version=version, sha256=sha256, size=len(data)
    )
    rows = []
    for done in against:
        assert isinstance(done.receipt.result, BuildResult)
        other = done.receipt.result.value
        (one,) = other.wheels
        rows.append(
            BuiltAgainst(
                project=other.project,
                distribution=one.distribution,
                version=one.version,
                filename=one.filename,
                sha256=one.sha256,
            )
        )
    built = BuiltWheels(
        project=project,
        version=version,
        upstream=CommitId("1" * 40),
        python_tag=python,
        wheels=(wheel,),
        targets=() if targets == "none" else tuple(targets.split(";")),
        against=tuple(rows),
        bundled=bundled,
        local=local,
    )
    parts = {
        **(sources or {}),
        "targets": targets,
        "platform": platform or place.platform.value,
        "wheel": sha256,
        "rocm": rocm or "none",
    }
    return _done(
        place,
        Stage.BUILD,
        project,
        parts,
        BuildResult(value=built),
        python=python,
        started=started,
        upstream=(lock,),
        files={wheel.path: data},
    )


def _done(
    place: Workplace,
    stage: Stage,
    project: str,
    parts: dict[str, str],
    result: StageResult,
    *,
    python: str | None = None,
    started: str = "2026-01-01T00:00:00Z",
    upstream: tuple[Done, ...] = (),
    files: dict[str, bytes] | None = None,
) -> Done:
    folder = stage_folder(place.work_dir, stage, project, input_digest(stage, project, parts))
    work = Work(stage=stage, project=project, parts=parts, make=lambda _making: result, receipt=folder / RECEIPT, python=python)
    outputs = []
    for name, data in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        digest = Sha256(hashlib.sha256(data).hexdigest())
        outputs.append(OutputFile(path=name, sha256=digest, size=len(data), mtime_ns=path.stat().st_mtime_ns))
    receipt = msgspec.structs.replace(
        imagine(work, result),
        started=started,
        outputs=tuple(outputs),
        upstream=tuple(
            Upstream(stage=one.receipt.stage, digest=one.receipt.digest, receipt=_relative(one.path, folder)) for one in upstream
        ),
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECEIPT).write_bytes(to_json(receipt))
    return Done(receipt=receipt, path=folder / RECEIPT, state="run", why="made for a test", seconds=0.0)


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(path, folder).replace(os.sep, "/")
