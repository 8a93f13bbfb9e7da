"""The one family of errors: every failure that a person sees has a code, a kind, a message and a hint.

Codes live in :data:`CODES` alone, so that the reference page, the JSON output and the tests read the same table.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from build_tools.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["CODES", "Code", "HipwrightError", "Kind", "Where"]


class Kind(enum.IntEnum):
    """What sort of failure it is; the number is the exit status of ``invoke``."""

    USAGE = 2
    INPUT = 3
    MACHINE = 4
    NETWORK = 5
    FINDING = 6
    CONFLICT = 7


class Code(Value, frozen=True, kw_only=True):
    """One row of the error table: a stable name, its kind and what it means."""

    name: str
    kind: Kind
    meaning: str


class Where(Value, frozen=True, kw_only=True):
    """The place an error points at: a file and line, a module, a wheel member or a key."""

    file: Path | str | None = None
    line: int | None = None
    module: str | None = None
    member: str | None = None
    key: str | None = None

    def __str__(self) -> str:
        parts = []
        if self.file is not None:
            parts.append(f"{self.file}:{self.line}" if self.line is not None else f"{self.file}")
        parts += [
            f"{label} {value}"
            for label, value in (("module", self.module), ("member", self.member), ("key", self.key))
            if value is not None
        ]
        return ", ".join(parts)


class HipwrightError(Exception):
    """A failure with a stable code, said in one sentence, with what to do next.

    Parameters
    ----------
    code
        A name from :data:`CODES`.
    message
        What happened, in one sentence, naming the thing.
    where
        The place to look at, when there is one.
    hint
        What to do next; a real command where one helps.
    log
        The log file that holds the whole story.
    excerpt
        The first real error lines of that log.
    document
        What had been found until then, for the JSON document of a command that fails.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: Where | None = None,
        hint: str | None = None,
        log: Path | None = None,
        excerpt: str | None = None,
        document: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.code: Final[Code] = CODES[code]
        self.message: Final[str] = message
        self.where: Final[Where | None] = where
        self.hint: Final[str | None] = hint
        self.log: Path | None = log
        self.excerpt: str | None = excerpt
        self.reproduce: str | None = None
        self.document: dict[str, object] | None = document

    @property
    def exit_code(self) -> int:
        """The process exit status for this failure's kind."""
        return int(self.code.kind)

    def masked(self, mask: Callable[[str], str]) -> HipwrightError:
        """Return the same failure with every text of it passed through ``mask``; its document stays as it is."""

        def of(text: str | None) -> str | None:
            return None if text is None else mask(text)

        where = self.where
        if where is not None:
            file = mask(where.file) if isinstance(where.file, str) else where.file
            where = replace(where, file=file, module=of(where.module), member=of(where.member), key=of(where.key))
        copy = HipwrightError(
            self.code.name,
            mask(self.message),
            where=where,
            hint=of(self.hint),
            log=self.log,
            excerpt=of(self.excerpt),
            document=self.document,
        )
        copy.reproduce = of(self.reproduce)
        copy.__cause__ = self.__cause__
        return copy


def _table(*rows: tuple[str, Kind, str]) -> Mapping[str, Code]:
    return {name: Code(name=name, kind=kind, meaning=meaning) for name, kind, meaning in rows}


CODES: Final[Mapping[str, Code]] = _table(
    ("unknown-option", Kind.USAGE, "An option is not one of the command's."),
    ("bad-option-value", Kind.USAGE, "An option's value cannot be read as what the option takes."),
    ("option-conflict", Kind.USAGE, "Two options at the same level say the same thing differently."),
    ("unknown-project", Kind.USAGE, "A project name has no folder under external-builds."),
    ("unknown-session", Kind.USAGE, "A session or task name does not exist."),
    ("unknown-stage", Kind.USAGE, "A stage name is not one of the pipeline's."),
    ("bad-data-file", Kind.INPUT, "A TOML or JSON file has an unknown key, a wrong type or wrong syntax."),
    ("bad-receipt", Kind.INPUT, "A receipt cannot be read, or does not fit the stage that it is handed to."),
    ("bad-hooks", Kind.INPUT, "A project's hooks.py cannot be loaded or lacks what its name promises."),
    ("output-changed", Kind.INPUT, "A stage's recorded output is gone or has other bytes than its receipt says."),
    ("stage-missing", Kind.INPUT, "A stage's result is needed and is not there."),
    ("no-compiler", Kind.MACHINE, "No working C++ compiler was found."),
    ("missing-tool", Kind.MACHINE, "A program that the work needs is not on this machine or is too old."),
    ("empty-matrix", Kind.FINDING, "No job is left, and nobody said that none is wanted."),
    ("jobs-failed", Kind.FINDING, "Jobs of a workflow's run did not end well."),
    ("workflow-findings", Kind.FINDING, "Workflow files break a rule, or a linter finds fault with them."),
    ("not-told", Kind.NETWORK, "A message to people could not be delivered."),
    ("no-engine", Kind.MACHINE, "No program that makes or runs containers works on this machine."),
    ("image-failed", Kind.MACHINE, "A container image could not be built, saved, loaded or pushed."),
    ("image-not-pinned", Kind.USAGE, "A release's image begins with one that is named by a tag, which can change."),
    ("container-failed", Kind.FINDING, "What ran in a container failed."),
    ("machine-unfit", Kind.MACHINE, "A machine lacks something that its role needs, or it could not be found out."),
    ("no-interpreter", Kind.MACHINE, "No Python interpreter of the wanted version was found."),
    ("foreign-folder", Kind.CONFLICT, "A folder that hipwright would make is there already and is not hipwright's."),
    ("folder-not-writable", Kind.MACHINE, "A folder cannot be written."),
    ("disk-space", Kind.MACHINE, "Too little free space."),
    ("locked", Kind.CONFLICT, "Another run holds the folder that this run needs."),
    ("command-failed", Kind.FINDING, "A program that was started ended with an error."),
    ("command-timeout", Kind.FINDING, "A program ran past its time limit and was stopped."),
    ("interrupted", Kind.CONFLICT, "The run was interrupted from outside."),
    ("internal", Kind.FINDING, "hipwright itself failed; this is a bug."),
    ("unknown-ref", Kind.INPUT, "A branch, tag or commit does not exist at the origin."),
    ("origin-unreachable", Kind.NETWORK, "An origin could not be read."),
    ("no-pin", Kind.INPUT, "A project's commit is to be pinned, and no place states it."),
    ("bad-pin", Kind.INPUT, "A file that pins commits cannot be read as one."),
    ("bad-manifest", Kind.INPUT, "A source manifest cannot be read, or lacks what is needed of it."),
    ("submodule-commit-missing", Kind.INPUT, "A submodule's recorded commit is not at its URL."),
    ("lock-conflict", Kind.CONFLICT, "An option contradicts what the work dir has locked."),
    ("unsaved-work", Kind.CONFLICT, "Moving a source tree would lose edits or commits of a person."),
    ("bad-source-tree", Kind.INPUT, "A source tree lacks what its project says it must have."),
    ("no-line", Kind.INPUT, "No rule of project.toml gives a patch line for a ref."),
    ("bad-series", Kind.INPUT, "A patch series and its files disagree, or a patch is malformed."),
    ("patch-conflict", Kind.FINDING, "A patch does not apply."),
    ("patch-misplaced", Kind.FINDING, "A patch fits more than one place of a file that is not the one it was made for."),
    ("patch-upstream", Kind.FINDING, "The sources have a patch already."),
    ("patch-findings", Kind.FINDING, "Patch series are not as they should be."),
    ("series-changed", Kind.CONFLICT, "A patch series was changed since the tree was made from it."),
    ("bad-commit", Kind.INPUT, "A commit cannot be saved as a patch."),
    ("uncommitted", Kind.CONFLICT, "A source tree has changes that no commit holds, where only commits count."),
    ("marker-lost", Kind.CONFLICT, "A source tree's history no longer holds what its stages made."),
    ("moved-hunks", Kind.CONFLICT, "Saving would make hunks that moved look as if they had been made for their new place."),
    ("bad-import", Kind.INPUT, "A foreign patch series cannot be taken over."),
    ("rebase-stopped", Kind.FINDING, "Carrying a patch series to another ref stopped at a conflict."),
    ("rebase-state", Kind.CONFLICT, "Carrying a patch series goes on elsewhere, or was never begun."),
    ("hipify-failed", Kind.FINDING, "The tree's hipify tool failed."),
    ("stale-hipify", Kind.CONFLICT, "A file that hipify read has changed since it ran."),
    (
        "hipify-conflict",
        Kind.CONFLICT,
        "What hipify makes anew does not fit what a person or a patch has made of the same files.",
    ),
    ("requirement-missing", Kind.INPUT, "An owned package is not at the source named for it."),
    ("source-unreachable", Kind.NETWORK, "A package source could not be read."),
    ("hash-mismatch", Kind.FINDING, "A package file has other bytes than its lock or index says."),
    ("owned-name-leak", Kind.FINDING, "An owned package came from somewhere else than its source."),
    ("install-failed", Kind.FINDING, "Packages could not be installed."),
    ("sdk-incomplete", Kind.FINDING, "The ROCm SDK lacks something that a build needs."),
    ("no-rocm-source", Kind.USAGE, "A project needs ROCm packages and no source for them is known."),
    ("mixed-stack", Kind.FINDING, "An environment holds packages of more than one ROCm."),
    ("run-not-found", Kind.INPUT, "No run has what is needed."),
    ("artifact-missing", Kind.INPUT, "A run lacks artifacts that are needed, or they could not be fetched."),
    ("bad-archive", Kind.FINDING, "An archive cannot be unpacked, or would write outside its folder."),
    ("bad-artifact", Kind.INPUT, "A folder of artifacts is not laid out as one."),
    ("bad-binary", Kind.FINDING, "A program or library cannot be read or changed."),
    ("package-incomplete", Kind.FINDING, "Packages lack a target or file that they should have."),
    ("no-credentials", Kind.MACHINE, "A store needs credentials, and this machine has none for it."),
    ("not-supported", Kind.INPUT, "A combination of project, version, system and Python is ruled out by the support table."),
    ("unmet-requirement", Kind.FINDING, "A build environment lacks what the sources say that their build requires."),
    ("cache-unusable", Kind.MACHINE, "A compiler cache cannot be used."),
    ("import-failed", Kind.FINDING, "A wheel that was just built cannot be imported in a clean process."),
    ("flag-differs", Kind.FINDING, "An installed package says something else of itself than its project demands."),
    ("not-reproducible", Kind.FINDING, "Two builds of the same input made different wheels."),
    ("bundle-incomplete", Kind.FINDING, "A wheel with ROCm inside would lack something that it needs."),
    ("build-failed", Kind.FINDING, "A wheel build ended with an error."),
    ("no-wheel", Kind.FINDING, "A wheel was expected and none is there."),
    ("several-wheels", Kind.FINDING, "One wheel was expected and several are there."),
    ("bad-version", Kind.INPUT, "A version cannot be read."),
    ("bad-wheel", Kind.FINDING, "A wheel file cannot be read, or no installer would take it."),
    ("check-failed", Kind.FINDING, "A wheel breaks a rule."),
    ("store-unusable", Kind.MACHINE, "A store cannot be used as one."),
    ("bad-key", Kind.INPUT, "An object key is not one that every store can hold."),
    ("name-taken", Kind.CONFLICT, "A name that is published, or that a wheel is put under, already holds other bytes."),
    ("bad-index", Kind.INPUT, "The snapshot of a published index is lost or cannot be read."),
    ("unknown-snapshot", Kind.INPUT, "The history of an index has no such snapshot."),
    ("not-in-index", Kind.INPUT, "An index does not hold a file that is named."),
    ("files-gone", Kind.FINDING, "Files of a snapshot are in its store no longer."),
    ("index-findings", Kind.FINDING, "A published index is not whole, or breaks a rule of its formats."),
    ("index-late", Kind.FINDING, "A channel lacks what it promises, or has had nothing newer for too long."),
    ("nothing-to-upload", Kind.INPUT, "There is no log, no receipt and no artifact to put into a run's outputs."),
    ("run-contradicted", Kind.CONFLICT, "A run's outputs are of another release type than the command says."),
    ("write-conflict", Kind.CONFLICT, "Someone else changed an object between reading and writing it."),
    ("nothing-published", Kind.INPUT, "An index or snapshot holds nothing of what is needed."),
    ("no-tests", Kind.FINDING, "No test was collected."),
    ("no-report", Kind.FINDING, "A test run left no whole report."),
    ("truncated-report", Kind.FINDING, "A test report is cut short, or lacks tests that were collected."),
    ("tests-failed", Kind.FINDING, "Tests failed."),
    ("tests-crashed", Kind.FINDING, "The test process crashed before its report was whole."),
    ("tests-hung", Kind.FINDING, "One test, or the collection of tests, ran past its time limit and was stopped."),
    ("tests-timeout", Kind.FINDING, "A whole test run went past its time limit and was stopped."),
    ("tests-mismatch", Kind.INPUT, "A suite's tests are not of the commit that the wheel under test was built from."),
    ("shards-differ", Kind.INPUT, "Results of shards do not belong together."),
    ("shard-missing", Kind.FINDING, "A shard of a test suite has not reported."),
    ("skip-findings", Kind.FINDING, "Skip files name tests that are not there, or entries whose day has come."),
    (
        "environment-changed",
        Kind.FINDING,
        "The environment under test does not hold exactly the wheels that a verdict would speak of.",
    ),
    ("wheel-not-tested", Kind.FINDING, "Tests ran without importing the wheel under test."),
    ("foreign-import", Kind.FINDING, "An import came from outside the environment under test."),
    ("hip-unavailable", Kind.MACHINE, "Programs of an environment cannot use HIP on this machine."),
    ("no-gpu-targets", Kind.INPUT, "No GPU targets were found for a project, and none never means all of them."),
    ("no-examples", Kind.FINDING, "No example was named, or none of them ran."),
    ("examples-failed", Kind.FINDING, "An example that was profiled did not pass."),
    ("profile-worse", Kind.FINDING, "An example takes more than before, no longer runs, or is gone."),
    ("version-left", Kind.FINDING, "A wheel that was given another version still states the old one somewhere."),
    ("promotion-refused", Kind.FINDING, "A channel's demands are not met."),
    ("unknown-channel", Kind.USAGE, "A channel is not in the channel table."),
    ("input-unavailable", Kind.NETWORK, "A real input could not be fetched or has other bytes than pinned."),
)
