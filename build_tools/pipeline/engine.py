"""Run one stage: decide whether its result is already there, make it when not, and leave the receipt beside it."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from build_tools import digest
from build_tools.errors import HipwrightError, Where
from build_tools.files import finished_folder, hold, utc_now, write_bytes, write_text
from build_tools.process import printable
from build_tools.receipts.record import read_record, to_json
from build_tools.receipts.stage import CommandRecord, OutputFile, StageReceipt, StageResult, Upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from build_tools.process import Runner
    from build_tools.types import Sha256, Stage
    from build_tools.workplace import Workplace

__all__ = [
    "RECEIPT",
    "Decision",
    "Done",
    "Making",
    "Work",
    "decide",
    "imagine",
    "input_digest",
    "keep_account",
    "perform",
    "stage_folder",
    "verify_outputs",
    "watch",
]

RECEIPT: Final = "receipt.json"
_BRIEF: Final = 24


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """A finished stage: its receipt, where that lies, and how this run came by it."""

    receipt: StageReceipt
    path: Path
    state: Literal["run", "skipped", "received"]
    why: str
    seconds: float

    @property
    def folder(self) -> Path:
        """The folder that the receipt's paths are relative to."""
        return self.path.parent


@dataclass(frozen=True, kw_only=True, slots=True)
class Making:
    """What a stage's function is given: the folder to fill, a runner of its own, and its log.

    What it notes goes into the receipt: in ``environment`` names that its programs got beyond the runner's, in ``tools`` versions, in
    ``watched`` files of the machine that the result depends on (see :func:`watch`).
    """

    folder: Path
    runner: Runner
    log: Path
    environment: dict[str, str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    watched: dict[str, Sha256 | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A stage of one project, ready to be decided on.

    ``parts`` are the named inputs. ``make`` fills the folder and returns the result. ``intact`` says what is wrong with an earlier
    result beyond its output files, or None. ``receipt`` places the receipt; a stage that works ``in_place`` writes it there itself
    last, others get a fresh folder that takes its final name when all is done. ``plan`` tells what the stage would do, where more can be
    told than that it would run.
    """

    stage: Stage
    project: str
    parts: Mapping[str, str]
    make: Callable[[Making], StageResult]
    upstream: tuple[Done, ...] = ()
    receipt: Path
    in_place: bool = False
    intact: Callable[[StageReceipt], str | None] = field(default=lambda _receipt: None)
    python: str | None = None
    label: str = ""
    quiet: bool = False
    plan: Callable[[], None] | None = None

    @property
    def digest(self) -> Sha256:
        """The digest of what goes in."""
        return input_digest(self.stage, self.project, self.parts)

    @property
    def title(self) -> str:
        """The stage and what it is about, for people."""
        return f"{self.stage} {self.label or self.project}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """Whether a stage has to run, and why; ``earlier`` is the receipt that stands when not."""

    run: bool
    why: str
    earlier: StageReceipt | None = None


def input_digest(stage: Stage, project: str, parts: Mapping[str, str]) -> Sha256:
    """Return the digest of a stage's input."""
    return digest.of_value({"stage": stage.value, "project": project, "parts": dict(parts)})


def stage_folder(work_dir: Path, stage: Stage, project: str, value: Sha256) -> Path:
    """Return where the outputs of a stage lie."""
    return work_dir / stage.value / project / digest.short(value, 16)


def decide(work: Work, workplace: Workplace) -> Decision:
    """Say whether a stage has to run: not when its receipt has the same input digest and its outputs are intact."""
    if work.stage in workplace.settings.force:
        return Decision(run=True, why="forced")
    if not work.receipt.is_file():
        return Decision(run=True, why=_difference(work))
    try:
        receipt = read_record(work.receipt, StageReceipt)
    except HipwrightError:
        return Decision(run=True, why="its receipt cannot be read")
    if receipt.digest != work.digest:
        return Decision(run=True, why=_changed_parts(receipt, work))
    wrong = (
        _damage(receipt, work.receipt.parent, full=workplace.settings.verify)
        or next((f"{path} has changed" for path, known in receipt.watched.items() if watch(Path(path)) != known), None)
        or work.intact(receipt)
    )
    if wrong:
        return Decision(run=True, why=wrong)
    return Decision(run=False, why="nothing changed", earlier=receipt)


def imagine(work: Work, result: StageResult) -> StageReceipt:
    """Return the receipt that a stage would leave, as far as it can be told without running it."""
    return StageReceipt(
        stage=work.stage,
        project=work.project,
        python=work.python,
        digest=work.digest,
        parts=dict(work.parts),
        upstream=(),
        outputs=(),
        result=result,
        started=utc_now(),
        seconds=0.0,
    )


def watch(path: Path) -> Sha256 | None:
    """Return the digest of a file of the machine that a result depends on, None when there is none."""
    try:
        return digest.of_file(path)
    except OSError:
        return None


def perform(work: Work, workplace: Workplace) -> Done:
    """Bring a stage about: its earlier result when that stands, a new one otherwise.

    Raises
    ------
    HipwrightError
        What the stage raises, with the stage's log; ``locked`` when another run holds the output and waiting is off.
    """
    settings, console = workplace.settings, workplace.console
    began = time.monotonic()
    purpose = f"{work.stage} of {work.project}"
    lock_file = workplace.lock_file(f"{work.stage}-{work.project}-{digest.short(work.digest, 16)}")
    with hold(lock_file, purpose=purpose, wait=settings.wait, on_wait=lambda text: console.say(f"waiting: {text}")):
        decision = decide(work, workplace)
        if settings.explain:
            console.say(f"{work.title}: {'runs' if decision.run else 'is skipped'}: {decision.why}")
        if not decision.run and decision.earlier is not None:
            return Done(
                receipt=decision.earlier, path=work.receipt, state="skipped", why=decision.why, seconds=time.monotonic() - began
            )
        with contextlib.nullcontext() if work.quiet else console.group(work.title):
            receipt = _make(work, workplace)
    return Done(receipt=receipt, path=work.receipt, state="run", why=decision.why, seconds=time.monotonic() - began)


def _make(work: Work, workplace: Workplace) -> StageReceipt:
    started, began = utc_now(), time.monotonic()
    runner = replace(workplace.runner.with_record(), on_line=workplace.console.line)
    final = work.receipt.parent
    # Logs outlive a failed stage, so they do not lie in the folder that vanishes with it.
    log = workplace.work_dir / "logs" / work.project / f"{work.stage}-{digest.short(work.digest, 16)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        folder = final if work.in_place else stack.enter_context(finished_folder(final))
        try:
            making = Making(folder=folder, runner=runner, log=log)
            result = work.make(making)
        except HipwrightError as error:
            if error.log is None:
                keep_account(error, log, runner)
            raise
        outputs = () if work.in_place else tuple(_output(path, folder) for path in sorted(_files_below(folder)))
        seconds = time.monotonic() - began
        commands = tuple(
            CommandRecord(
                argv=tuple(map(_text, done.argv)),
                cwd=_text(str(done.cwd)),
                seconds=round(done.seconds, 3),
                returncode=done.returncode,
            )
            for done in runner.record
        )
        receipt = StageReceipt(
            stage=work.stage,
            project=work.project,
            python=work.python,
            digest=work.digest,
            parts=dict(work.parts),
            watched=making.watched,
            upstream=tuple(_upstream(done, final) for done in work.upstream),
            outputs=outputs,
            result=result,
            commands=commands,
            environment={
                name: runner.mask(value) for name, value in {**workplace.runner.environment, **making.environment}.items()
            },
            tools={"hipwright python": str(workplace.python), "platform": workplace.platform.value, **making.tools},
            started=started,
            seconds=round(seconds, 3),
            overhead_seconds=round(max(0.0, seconds - sum(done.seconds for done in runner.record)), 3),
        )
        place = work.receipt if work.in_place else folder / work.receipt.name
        write_bytes(place, to_json(receipt))
    return receipt


def _text(word: str) -> str:
    """Return a word of a command line as text: file names may have bytes that are none."""
    return word.encode("utf-8", "backslashreplace").decode()


def keep_account(error: HipwrightError, log: Path, runner: Runner) -> None:
    """Give a failure a log: the one that its programs wrote, else one of what was run and how it ended."""
    if not log.is_file():
        ran = "".join(f"$ {printable(done.argv)}\n(status {done.returncode}, {done.seconds:.2f} s)\n" for done in runner.record)
        write_text(log, runner.mask(f"{ran}error[{error.code.name}]: {error.message}\n{error.excerpt or ''}\n"))
    error.log = log


def _upstream(done: Done, folder: Path) -> Upstream:
    # Receipts name each other relatively, so that a work dir can move, or be handed on as a whole.
    relative = Path(os.path.relpath(done.path, folder)).as_posix()
    return Upstream(stage=done.receipt.stage, digest=done.receipt.digest, receipt=relative)


def _output(path: Path, folder: Path) -> OutputFile:
    stat = path.stat()
    return OutputFile(
        path=path.relative_to(folder).as_posix(), sha256=digest.of_file(path), size=stat.st_size, mtime_ns=stat.st_mtime_ns
    )


def _files_below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and path.name != RECEIPT)


def _damage(receipt: StageReceipt, folder: Path, *, full: bool) -> str | None:
    """Return what is wrong with the outputs of a receipt, or None; ``full`` reads and hashes them."""
    for output in receipt.outputs:
        path = folder / output.path
        try:
            stat = path.stat()
        except OSError:
            return f"{output.path} is gone"
        if stat.st_size != output.size or stat.st_mtime_ns != output.mtime_ns or (full and digest.of_file(path) != output.sha256):
            return f"{output.path} has changed"
    return None


def verify_outputs(receipt: StageReceipt, folder: Path) -> None:
    """Prove the outputs of a receipt by their hashes.

    Raises
    ------
    HipwrightError
        ``output-changed`` naming the first file that is gone or has other bytes.
    """
    for output in receipt.outputs:
        path = folder / output.path
        if not path.is_file() or digest.of_file(path) != output.sha256:
            what = "has other bytes than its receipt says" if path.is_file() else "is not there"
            raise HipwrightError("output-changed", f"{output.path} {what}", where=Where(file=path))


def _difference(work: Work) -> str:
    """Say why there is no receipt for this input: what changed since the newest one of the same stage and project."""
    newest: tuple[str, StageReceipt] | None = None
    for path in work.receipt.parent.parent.glob(f"*/{work.receipt.name}"):
        try:
            receipt = read_record(path, StageReceipt)
        except HipwrightError:
            continue
        # One for another Python is another build: nothing has changed since.
        if receipt.stage == work.stage and receipt.python == work.python and (newest is None or receipt.started > newest[0]):
            newest = (receipt.started, receipt)
    return "it was never done" if newest is None else _changed_parts(newest[1], work)


def _changed_parts(receipt: StageReceipt, work: Work) -> str:
    def brief(value: str | None) -> str:
        if value is None:
            return "nothing"
        return value if len(value) <= _BRIEF else f"{value[: _BRIEF // 2]}…"

    names = sorted({*receipt.parts, *work.parts})
    changed = [
        f"{name} ({brief(receipt.parts.get(name))} → {brief(work.parts.get(name))})"
        for name in names
        if receipt.parts.get(name) != work.parts.get(name)
    ]
    return f"changed: {', '.join(changed)}" if changed else "its receipt is of another input"
