"""The linters of others for workflow files: actionlint, zizmor, and the schema that GitHub's files have, by check-jsonschema."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from build_tools.ci.workflow_file import FOLDER, Workflow
from build_tools.ci.workflow_rules.registry import Finding
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from build_tools.process import Runner

__all__ = ["LINTERS", "Linter", "lint"]

_STEP: Final = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<number>\d+)\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Linter:
    """A linter: the command up to the files, and what reads the findings of its JSON. ``statuses`` are those of a run that was one."""

    name: str
    command: tuple[str, ...]
    read: Callable[[bytes, Mapping[str, Workflow]], list[Finding]]
    good: frozenset[int]


class _ActionlintRow(msgspec.Struct, frozen=True):
    message: str
    filepath: str
    line: int
    kind: str


class _ZizmorPoint(msgspec.Struct, frozen=True):
    row: int


class _ZizmorSpan(msgspec.Struct, frozen=True):
    start_point: _ZizmorPoint


class _ZizmorConcrete(msgspec.Struct, frozen=True):
    location: _ZizmorSpan


class _ZizmorLocalKey(msgspec.Struct, frozen=True):
    verbatim_path: str


class _ZizmorKey(msgspec.Struct, frozen=True, rename={"local": "Local"}):
    local: _ZizmorLocalKey


class _ZizmorSymbolic(msgspec.Struct, frozen=True):
    key: _ZizmorKey
    annotation: str
    kind: str


class _ZizmorLocation(msgspec.Struct, frozen=True):
    symbolic: _ZizmorSymbolic
    concrete: _ZizmorConcrete


class _ZizmorRow(msgspec.Struct, frozen=True):
    ident: str
    desc: str
    url: str
    locations: tuple[_ZizmorLocation, ...]
    ignored: bool = False


class _SchemaMatch(msgspec.Struct, frozen=True):
    path: str
    message: str


class _SchemaError(msgspec.Struct, frozen=True):
    filename: str
    path: str
    message: str
    best_deep_match: _SchemaMatch | None = None


class _SchemaFault(msgspec.Struct, frozen=True):
    filename: str
    message: str


class _SchemaReport(msgspec.Struct, frozen=True):
    status: Literal["ok", "fail"]
    errors: tuple[_SchemaError, ...] = ()
    parse_errors: tuple[_SchemaFault, ...] = ()


def _actionlint(output: bytes, _workflows: Mapping[str, Workflow]) -> list[Finding]:
    rows = msgspec.json.decode(output, type=tuple[_ActionlintRow, ...])
    return [
        Finding(file=_slashes(row.filepath), line=row.line, rule=row.kind, message=row.message, tool="actionlint") for row in rows
    ]


def _zizmor(output: bytes, _workflows: Mapping[str, Workflow]) -> list[Finding]:
    found = []
    for row in msgspec.json.decode(output, type=tuple[_ZizmorRow, ...]):
        place = next((one for one in row.locations if one.symbolic.kind == "Primary"), row.locations[0])
        if not row.ignored:
            found.append(
                Finding(
                    file=_slashes(place.symbolic.key.local.verbatim_path),
                    line=place.concrete.location.start_point.row + 1,
                    rule=row.ident,
                    message=f"{row.desc}: {place.symbolic.annotation}",
                    hint=row.url,
                    tool="zizmor",
                )
            )
    return found


def _schema(output: bytes, workflows: Mapping[str, Workflow]) -> list[Finding]:
    report = msgspec.json.decode(output, type=_SchemaReport)
    found = []
    for error in report.errors:
        best = error.best_deep_match or _SchemaMatch(path=error.path, message=error.message)
        file = _slashes(error.filename)
        line = _line_of(best.path, workflows.get(file.rpartition("/")[2]))
        found.append(
            Finding(file=file, line=line, rule="schema", message=f"{best.path}: {best.message}", tool="check-jsonschema")
        )
    found += [
        Finding(file=_slashes(one.filename), line=1, rule="schema", message=one.message, tool="check-jsonschema")
        for one in report.parse_errors
    ]
    if report.status == "fail" and not found:
        raise msgspec.ValidationError("it failed and names no fault")
    return found


def _line_of(path: str, workflow: Workflow | None) -> int:
    """Return the line of what a JSON path leads to, as far as the file has it."""
    node = workflow.node if workflow is not None else None
    line = 1
    for step in _STEP.finditer(path):
        if node is not None and step["key"] is not None:
            node = node.keys.get(step["key"])
        elif node is not None:
            number = int(step["number"])
            node = node.items[number] if number < len(node.items) else None
        line = line if node is None else node.line
    return line


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


LINTERS: Final = (
    Linter(name="actionlint", command=("actionlint", "-format", "{{json .}}"), read=_actionlint, good=frozenset({0, 1})),
    Linter(
        name="zizmor",
        command=("zizmor", "--offline", "--pedantic", "--no-progress", "--format", "json"),
        read=_zizmor,
        good=frozenset({0, 10, 11, 12, 13, 14}),
    ),
    Linter(
        name="check-jsonschema",
        command=("check-jsonschema", "--builtin-schema", "vendor.github-workflows", "--output-format", "json"),
        read=_schema,
        good=frozenset({0, 1}),
    ),
)
"""zizmor's status is above 10 by how bad its worst finding is."""


def lint(linter: Linter, workflows: Mapping[str, Workflow], *, clone: Path, runner: Runner) -> list[Finding]:
    """Return what a linter finds wrong with workflow files.

    Raises
    ------
    HipwrightError
        ``missing-tool``; ``command-failed`` for a run that was none: a status or an output that is not as its JSON is.
    """
    files: Sequence[str] = [f"{FOLDER}/{name}" for name in workflows]
    done = runner.capture([*linter.command, *files], cwd=clone, check=False)
    try:
        if done.returncode not in linter.good:
            raise msgspec.ValidationError(f"its exit status is {done.returncode}")
        return linter.read(done.stdout, workflows)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        said = done.stderr.decode("utf-8", "replace").strip() or done.text
        raise HipwrightError("command-failed", f"{linter.name} did not judge: {error}", excerpt=said[-2000:] or None) from error
