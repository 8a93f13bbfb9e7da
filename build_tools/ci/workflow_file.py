"""Workflow files of GitHub as plain data that knows its lines: jobs, steps, what they run, take and hand on."""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from build_tools.errors import HipwrightError, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FOLDER", "LOCAL", "Job", "Node", "Step", "Workflow", "parse_workflow", "read_workflow", "read_workflows"]

FOLDER: Final = ".github/workflows"
"""Where workflow files lie in a clone."""

LOCAL: Final = "./.github/workflows/"
"""How ``uses:`` names a workflow of the same repository."""

_MOST_NODES: Final = 100_000
"""Far more than a workflow has: anchors that hold anchors can stand for more than a machine has memory for."""

_EMPTY: Final = re.compile(r"null|~|", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A value of a YAML file: a text, a mapping or a sequence, and the line on which its key or, without one, it begins."""

    line: int
    text: str | None = None
    keys: Mapping[str, Node] = field(default_factory=dict)
    items: tuple[Node, ...] = ()

    def at(self, *path: str) -> Node | None:
        """Return the node below some keys, None where one of them is not there."""
        node: Node | None = self
        for key in path:
            node = None if node is None else node.keys.get(key)
        return node

    def below(self, *path: str) -> Mapping[str, Node]:
        """Return the mapping below some keys, empty where there is none."""
        node = self.at(*path)
        return {} if node is None else node.keys

    def said(self, *path: str) -> str | None:
        """Return the text below some keys, None where there is none."""
        node = self.at(*path)
        return None if node is None else node.text

    def words(self, *path: str) -> tuple[str, ...]:
        """Return the texts below some keys: of one text, of a sequence, or the keys of a mapping."""
        node = self.at(*path)
        if node is None:
            return ()
        if node.text is not None:
            return (node.text,) if node.text else ()
        return tuple(item.text for item in node.items if item.text is not None) or tuple(node.keys)

    def texts(self) -> Iterator[Node]:
        """Yield every text in it, itself included."""
        if self.text is not None:
            yield self
        for child in (*self.keys.values(), *self.items):
            yield from child.texts()


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of a job: ``number`` counts from 0."""

    number: int
    node: Node

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.node.line

    @property
    def identity(self) -> str | None:
        """Its ``id``."""
        return self.node.said("id")

    @property
    def run(self) -> Node | None:
        """The command that it runs."""
        return self.node.at("run")

    @property
    def uses(self) -> Node | None:
        """The action that it uses."""
        return self.node.at("uses")

    def uses_action(self, name: str) -> bool:
        """Say whether it uses an action, in whatever version."""
        return self.uses is not None and (self.uses.text or "").partition("@")[0] == name


@dataclass(frozen=True, kw_only=True)
class Job:
    """One job."""

    identity: str
    node: Node

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.node.line

    @property
    def needs(self) -> tuple[str, ...]:
        """The jobs that it waits for."""
        return self.node.words("needs")

    @property
    def called(self) -> str | None:
        """The file name of the workflow of this repository that it calls; None when it has steps of its own."""
        uses = self.node.said("uses") or ""
        return uses.removeprefix(LOCAL) if uses.startswith(LOCAL) else None

    @functools.cached_property
    def steps(self) -> tuple[Step, ...]:
        """Its steps."""
        node = self.node.at("steps")
        return tuple(Step(number=number, node=item) for number, item in enumerate(node.items if node else ()))


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """One workflow file: ``name`` is the file's."""

    name: str
    node: Node
    lines: tuple[str, ...]

    @property
    def path(self) -> str:
        """Where it lies in the clone, with ``/``."""
        return f"{FOLDER}/{self.name}"

    @property
    def title(self) -> str:
        """What it is called on its page."""
        return self.node.said("name") or self.path

    @property
    def triggers(self) -> tuple[str, ...]:
        """What starts it."""
        return self.node.words("on")

    @functools.cached_property
    def jobs(self) -> Mapping[str, Job]:
        """Its jobs by their ids."""
        return {name: Job(identity=name, node=node) for name, node in self.node.below("jobs").items()}

    def inputs(self, trigger: str) -> Mapping[str, Node]:
        """Return the inputs that it declares for a call (``workflow_call``) or a person (``workflow_dispatch``)."""
        return self.node.below("on", trigger, "inputs")

    @property
    def outputs(self) -> Mapping[str, Node]:
        """The outputs that it declares for its callers."""
        return self.node.below("on", "workflow_call", "outputs")


def parse_workflow(text: str, name: str) -> Workflow:
    """Read the text of a workflow file.

    Parameters
    ----------
    text
        The text.
    name
        The file's name, without its folder.

    Raises
    ------
    HipwrightError
        ``bad-data-file``, with the line, for what is no YAML, holds a key twice, or has more in it than any workflow.
    """
    path = f"{FOLDER}/{name}"
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Where(file=path, line=None if mark is None else mark.line + 1)
        raise HipwrightError("bad-data-file", f"not YAML: {error.problem or error.context}", where=where) from error
    except yaml.YAMLError as error:
        raise HipwrightError("bad-data-file", f"not YAML: {error}", where=Where(file=path)) from error
    except RecursionError as error:
        raise HipwrightError("bad-data-file", "it nests deeper than any workflow", where=Where(file=path)) from error
    if not isinstance(root, yaml.MappingNode):
        raise HipwrightError("bad-data-file", "a workflow file holds a mapping", where=Where(file=path, line=1))
    node = _node(root, root.start_mark.line + 1, path, (), itertools.count(1))
    return Workflow(name=name, node=node, lines=tuple(text.splitlines()))


def read_workflow(file: Path) -> Workflow:
    """Read a workflow file.

    Raises
    ------
    HipwrightError
        ``bad-data-file`` when it cannot be read, and as :func:`parse_workflow`.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HipwrightError("bad-data-file", f"cannot read {file.name}: {error}", where=Where(file=file)) from error
    return parse_workflow(text, file.name)


def read_workflows(clone: Path) -> tuple[Workflow, ...]:
    """Read all workflow files of a clone, in the order of their names.

    Raises
    ------
    HipwrightError
        As :func:`read_workflow`; ``bad-data-file`` when there are none.
    """
    folder = clone / Path(FOLDER)
    files = sorted([*folder.glob("*.yml"), *folder.glob("*.yaml")])
    if not files:
        raise HipwrightError("bad-data-file", "there are no workflow files", where=Where(file=folder))
    return tuple(read_workflow(file) for file in files)


def _node(node: yaml.Node, line: int, path: str, above: tuple[yaml.Node, ...], numbers: Iterator[int]) -> Node:
    """Return a node of the parser's as one of ours; an alias is what it stands for, and counts as often as it is there."""
    if next(numbers) > _MOST_NODES:
        message = f"it comes to more than {_MOST_NODES} values, by anchors that hold others"
        raise HipwrightError("bad-data-file", message, where=Where(file=path))
    if any(node is one for one in above):
        raise HipwrightError("bad-data-file", "an anchor holds itself", where=Where(file=path, line=line))
    above = (*above, node)
    if isinstance(node, yaml.MappingNode):
        keys: dict[str, Node] = {}
        for key, value in node.value:
            name, at = str(key.value), key.start_mark.line + 1
            if name in keys:
                raise HipwrightError("bad-data-file", f"{name} is there twice", where=Where(file=path, line=at))
            keys[name] = _node(value, at, path, above, numbers)
        return Node(line=line, keys=keys)
    if isinstance(node, yaml.SequenceNode):
        return Node(line=line, items=tuple(_node(item, item.start_mark.line + 1, path, above, numbers) for item in node.value))
    plain = isinstance(node, yaml.ScalarNode) and node.style is None
    return Node(line=line, text="" if plain and _EMPTY.fullmatch(node.value) else node.value)
