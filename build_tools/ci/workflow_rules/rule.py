"""What a rule for workflow files is, and what it is judged with."""

from __future__ import annotations

import functools
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.ci.outputs import outputs_of
from build_tools.errors import HipwrightError
from build_tools.options.command_line import find_command, is_ours, parse_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from build_tools.ci.workflow_file import Job, Step, Workflow
    from build_tools.config.workflow_rules import AllowedRun
    from build_tools.options.command import Command

__all__ = ["Problem", "Rule", "World", "words_of"]

_SHELL: Final = frozenset("();<>|&")
"""Of what a shell makes more than one command, or files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What is wrong, and on which line."""

    line: int
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One rule.

    Parameters
    ----------
    name
        Its stable name, in kebab case.
    demands
        What it demands, in one sentence.
    why
        What goes wrong for people where a workflow breaks it.
    mend
        What to do about a finding.
    judge
        Gives what is wrong with a workflow file; it knows nothing but its arguments.
    """

    name: str
    demands: str
    why: str
    mend: str
    judge: Callable[[Workflow, World], Iterator[Problem]]


@dataclass(frozen=True, kw_only=True)
class World:
    """What rules judge a workflow with.

    Parameters
    ----------
    workflows
        All workflow files by their names.
    projects
        All project names.
    distributions
        What the wheels of the projects are called.
    development
        The sessions for development, which have no options of ours.
    clone
        The clone.
    allowed
        Commands that are none of ours.
    rows
        The rows of a matrix of a purpose, by what its output is called: ``matrix_1`` and so on are jobs that build, ``test_matrix_1`` those
        that test what these made, ``rocm_test_matrix_1`` those that test ROCm's packages; on one platform, or on all where it is empty.
    purposes
        What matrices are made for.
    """

    workflows: Mapping[str, Workflow]
    projects: Sequence[str]
    distributions: Sequence[str]
    development: frozenset[str]
    clone: Path
    allowed: Sequence[AllowedRun]
    rows: Callable[[str, str, str], Sequence[Mapping[str, str]]]
    purposes: Sequence[str]

    def commands(self, step: Step) -> tuple[Command, ...]:
        """Return the commands of the option model that a step runs; that of a session in a container too."""
        words = words_of(step)
        if words is None or not is_ours(words):
            return ()
        try:
            line = parse_line(words)
        except HipwrightError:
            return ()
        inner = line.arguments[:1] if line.names == ("docker_run",) else ()
        found = [find_command(name, self.projects, invoke=line.invoke) for name in (*line.names, *inner)]
        return tuple(command for command in found if command is not None)

    def outputs(self, step: Step) -> tuple[str, ...] | None:
        """Return what a step hands on, as names that may hold ``*``; None for an action, of which others know."""
        if step.run is None:
            return None
        return tuple(name for command in self.commands(step) for name in outputs_of(command.name, self.distributions))

    @functools.cached_property
    def called(self) -> frozenset[str]:
        """The workflow files that jobs of others call."""
        jobs: list[Job] = [job for workflow in self.workflows.values() for job in workflow.jobs.values()]
        return frozenset(job.called for job in jobs if job.called)


def words_of(step: Step) -> tuple[str, ...] | None:
    """Return the words of the command that a step runs; None where it runs none, or it is no single command."""
    text = ((step.run.text if step.run else None) or "").strip()
    if not text or "\n" in text:
        return None
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = tuple(lexer)
    except ValueError:
        return None
    return None if any(set(word) <= _SHELL for word in words) or "$" in text or "`" in text else words
