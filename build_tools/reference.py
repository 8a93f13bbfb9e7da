"""The reference pages that are made from the code: error codes, commands, options, and the schemas of data files and records.

``nox -s docs`` holds the pages to the code; with ``-- --write`` it writes them.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools import files
from build_tools.checks.explain import all_rules, page_of
from build_tools.ci.workflow_rules.registry import page as workflow_rules_page
from build_tools.config.buckets import Bucket, BucketTable, bucket_table
from build_tools.config.channels import ChannelTable
from build_tools.config.deps_index import DepsIndex
from build_tools.config.examples import ExampleList
from build_tools.config.fitness import FitnessTable
from build_tools.config.freshness import FreshnessTable
from build_tools.config.owned import OwnedNames
from build_tools.config.project import Project
from build_tools.config.retention import RetentionTable
from build_tools.config.runners import Label, Purpose, RunnerTable, runner_table
from build_tools.config.skips import SkipFile
from build_tools.config.support import SupportTable, support_table
from build_tools.config.targets import Targets
from build_tools.errors import CODES, Kind
from build_tools.inputs.catalogue import Catalogue
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS, Command
from build_tools.options.model import OPTIONS
from build_tools.options.option import GROUPS
from build_tools.patches.series import SeriesFile
from build_tools.pipeline.troubleshooting import sections
from build_tools.receipts.check import CheckReport
from build_tools.receipts.freshness import FreshnessReport
from build_tools.receipts.index_report import IndexReport
from build_tools.receipts.lock import Lock
from build_tools.receipts.machine import MachineFacts
from build_tools.receipts.profile import ProfileReport
from build_tools.receipts.provenance import ProvenanceSet
from build_tools.receipts.snapshot import Snapshot
from build_tools.receipts.stage import StageReceipt
from build_tools.receipts.suite import MeasuredTimes, SuiteResult
from build_tools.receipts.verdict import Verdict
from build_tools.sources.embedded import EmbeddedSources
from build_tools.stores.run_outputs import RunOutputs
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from build_tools.options.option import Option

__all__ = ["SCHEMAS", "find_drift", "reference_pages", "write_reference"]

SCHEMAS: Final[Mapping[str, type]] = {
    "buckets": BucketTable,
    "channels": ChannelTable,
    "check-report": CheckReport,
    "deps-index": DepsIndex,
    "examples": ExampleList,
    "fitness": FitnessTable,
    "freshness": FreshnessTable,
    "freshness-report": FreshnessReport,
    "index-report": IndexReport,
    "inputs": Catalogue,
    "lock": Lock,
    "machine": MachineFacts,
    "owned": OwnedNames,
    "profile": ProfileReport,
    "project": Project,
    "provenance-set": ProvenanceSet,
    "receipt": StageReceipt,
    "repository": EmbeddedSources,
    "retention": RetentionTable,
    "runners": RunnerTable,
    "series": SeriesFile,
    "skips": SkipFile,
    "snapshot": Snapshot,
    "suite-result": SuiteResult,
    "suite-times": MeasuredTimes,
    "support": SupportTable,
    "targets": Targets,
    "verdict": Verdict,
}
"""The models whose JSON schema is published, by the name of the schema file."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_NOTE: Final = "<!-- Made from the code by `nox -s docs -- --write`; edits are lost. -->"

_OTHERS: Final[tuple[Purpose, ...]] = ("multi-gpu", "sandbox", "oem")

_KINDS: Final[Mapping[Kind, str]] = {
    Kind.USAGE: "A command was given something that it does not take.",
    Kind.INPUT: "Something that was handed in is missing, malformed or contradicts itself.",
    Kind.MACHINE: "This machine lacks something.",
    Kind.NETWORK: "Something could not be reached or fetched.",
    Kind.FINDING: "The work was done and found a fault.",
    Kind.CONFLICT: "Someone else's work, or a person's own, is in the way.",
}


def reference_pages() -> dict[str, str]:
    """Return all generated pages: their texts by path relative to ``docs/reference``."""
    pages = {"errors.md": _errors(), "commands.md": _commands(), "options.md": _options()}
    pages |= {"buckets.md": _buckets(bucket_table()), "runners.md": _runners(runner_table())}
    pages["support.md"] = _support(support_table())
    pages["troubleshooting.md"] = _troubleshooting()
    pages["workflow-rules.md"] = _page("Rules for workflows", *workflow_rules_page())
    schemas = {name: msgspec.json.schema(model) for name, model in SCHEMAS.items()} | {"hipwright": _settings_schema()}
    pages |= {
        "rules/index.md": _rules(),
        **{f"rules/{rule.name}.md": _page(f"Rule `{rule.name}`", *page_of(rule)) for rule in all_rules()},
    }
    return pages | {f"schema/{name}.json": _schema(name, schema) for name, schema in sorted(schemas.items())}


def find_drift(folder: Path) -> tuple[str, ...]:
    """Return what differs between ``docs/reference`` and the code, a line each: pages that are missing, other, or nobody's.

    Parameters
    ----------
    folder
        The folder ``docs/reference``.
    """
    pages = reference_pages()
    lines = []
    for name, text in pages.items():
        path = folder / name
        if not path.is_file():
            lines.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            lines.append(f"{name} differs from the code")
    known = set(pages)
    for room, what in (("schema", "schema"), ("rules", "rule")):
        strays = (path for path in (folder / room).glob("*") if path.relative_to(folder).as_posix() not in known)
        lines += [f"{path.relative_to(folder).as_posix()} is no {what} of ours" for path in sorted(strays)]
    return tuple(lines)


def write_reference(folder: Path) -> tuple[str, ...]:
    """Write the pages that differ from the code, and return their names.

    Parameters
    ----------
    folder
        The folder ``docs/reference``.
    """
    written = []
    for name, text in reference_pages().items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            files.write_text(path, text)
            written.append(name)
    return tuple(written)


def _errors() -> str:
    kinds = [(kind.name.lower(), str(kind.value), _KINDS[kind]) for kind in Kind]
    codes = [(f"`{code.name}`", code.kind.name.lower(), code.meaning) for _, code in sorted(CODES.items())]
    return _page(
        "Error codes",
        "A failure prints `error[code]: what happened`, then where, then `hint:` with what to do next. Codes are stable.",
        "With `--json` the document on stdout holds the code. `invoke` exits with the number of the code's kind, nox with 1.",
        "## Kinds",
        _table(("kind", "exit status of `invoke`", "means"), kinds),
        "## Codes",
        _table(("code", "kind", "means"), codes),
    )


def _rules() -> str:
    rows = [(f"[`{rule.name}`]({rule.name}.md)", rule.severity, rule.summary) for rule in all_rules()]
    return _page(
        "Rules for wheels",
        "`nox -s check_wheels -- PATH` judges any wheels by them, and `nox -s check_<p>` those of a build. `-- --explain RULE` tells of one.",
        "A rule that cannot judge a wheel is named in the report, with the reason; so is one that a project has turned off.",
        _table(("rule", "severity", "demands"), rows),
    )


def _commands() -> str:
    parts = [
        "Options of a nox session stand after `--`, those of an invoke task after its name. [Options](options.md) says what they do.",
    ]
    for command in (*COMMANDS.values(), *PROJECT_COMMANDS.values()):
        listed = ", ".join(f"`{_shown(option)}`" for option in command.options)
        plain = "" if command.plain is None else f"`{command.plain[0]}` ({command.plain[1]}), "
        parts += [f"## `{_typed(command)}`", command.summary.replace("{project}", "`<p>`"), f"Takes {plain}{listed}."]
    parts.insert(
        1,
        "`<p>` stands for a project's name, with `_` for `-`: there is one such session for each project in `external-builds`, "
        "and of `test_<p>_full` for each whose recipe has a `[suite]`.",
    )
    return _page("Commands", *parts)


def _options() -> str:
    parts = [
        "The command line counts before the environment, that before `hipwright.toml` in the clone, and that before the default.",
        "`invoke show-config` shows all values and where each came from.",
        "In the environment `PROJECT` itself may stand for `<PROJECT>`, and means the one project that `HIPWRIGHT_PROJECTS` names.",
        "Paths on the command line and in the environment are relative to the folder where the command was typed.",
        "Those in `hipwright.toml` are relative to the clone. Its keys are the options without `--`.",
        "Two options that say the same thing differently, given at the same level, are an error.",
    ]
    for group, title in GROUPS.items():
        rows = [_option_row(option) for option in OPTIONS.values() if option.group == group]
        parts += [f"## {title[0].upper()}{title[1:]}", _table(("option", "environment", "means"), rows)]
    return _page("Options", *parts)


def _buckets(table: BucketTable) -> str:
    runs = []
    for release_type, run in table.run.items():
        named = [(f"`{table.owner}`" if run.others else "all", run.own), ("all others, and forks", run.others)]
        runs += [(f"`{release_type}`", whose, f"`{name}`") for whose, name in named if name]
    rows = []
    for bucket in (found for name in table.bucket if (found := table.find(name))):
        layout = "`OWNER-REPOSITORY/RUN-linux/…`" if bucket.shared else "`RUN-linux/…`"
        layout = layout if any(bucket.name in {run.own, run.others} for run in table.run.values()) else ""
        rows.append((f"`{bucket.name}`", _role(bucket), "anybody" if bucket.anonymous else "who has credentials", layout))
    products = []
    for release_type in table.product.streams:
        for product in table.product.products:
            bucket = table.of_product(release_type=release_type, product=product)
            products.append((f"`{release_type}`", product, f"`{bucket.name}`", _role(bucket)))
    # A run that stands for any.
    outputs = RunOutputs(run_id="RUN", platform=Platform.LINUX)
    python, pytorch = outputs.python("GROUP"), outputs.pytorch("GROUP")
    keys = [
        ("artifacts", outputs.artifact("NAME_COMPONENT_TARGET.tar.zst")),
        ("ROCm packages", python.dist_prefix),
        ("their index", python.index_prefix),
        ("their flat page", python.find_links_key),
        ("PyTorch packages, likewise", pytorch.dist_prefix),
        ("logs of a group", outputs.logs("GROUP")),
        ("logs of a build stage, and of one target", outputs.logs("STAGE", "TARGET")),
        ("logs of making system packages", outputs.packaging_logs("deb")),
        ("source manifest", outputs.manifest("GROUP")),
        ("archive of a whole ROCm", outputs.tarball("FAMILY", "VERSION")),
        ("system packages", outputs.packages("deb")),
    ]
    return _page(
        "Buckets of AMD's ROCm builds, and the outputs of a run",
        f"All are in {table.region}. `--repository` and `--release-type` choose the one of a run; `--bucket` and `--store` name another.",
        f"What is tried out goes to `{table.trial}`, by hand. A fork's pull request has no role: its runner has credentials of its own.",
        "## Of runs",
        _table(("release type", "runs of", "bucket"), runs),
        "## All",
        _table(("bucket", "written by", "read by", "begins with"), rows),
        "## Behind the public indexes",
        f"Files lie below `{table.product.prefix}/`.",
        _table(("release type", "product", "bucket", "written by"), products),
        "## Outputs of a run",
        "On Windows `RUN-windows`. [Make, publish and install ROCm packages](../how-to/rocm-packages.md) fills them.",
        _table(("what", "where"), [(what, f"`{key}`") for what, key in keys]),
    )


def _role(bucket: Bucket) -> str:
    return f"`{bucket.role_arn}`" if bucket.role_arn else "hand"


def _runners(table: RunnerTable) -> str:
    def shown(labels: Iterable[Label]) -> str:
        return ", ".join(f"`{one.label}`" + (f" (weight {one.weight})" if one.weight > 1 else "") for one in labels)

    builds = []
    for platform in Platform:
        label = functools.partial(table.build_label, platform)
        names = (label(), label(variant="asan"), label(pytorch=True), label(fork=True))
        builds.append((platform.value, *(f"`{name}`" for name in names)))
    rows = []
    for row in table.family:
        for platform in Platform:
            machines = row.machines(platform)
            if machines is None:
                continue
            tests = shown(table.test_labels(row.name, platform, bump=True)) or "built only"
            others = [f"{what}: {shown(labels)}" for what in _OTHERS if (labels := machines.labels(what))]
            when = machines.when if machines.test else ""
            releases = "" if machines.in_releases or not machines.test else "not in releases"
            rows.append(
                (f"`{row.name}`", row.tier, platform.value, tests, ", ".join(filter(None, (when, releases))), "; ".join(others))
            )
    return _page(
        "Machines of AMD's ROCm CI",
        f"A family is built from its tier on, of {', '.join(table.tiers)}. Of several labels one is taken in proportion to their weights.",
        "## Builds",
        _table(("platform", "as a rule", "with a sanitizer", "of PyTorch", "of forks"), builds),
        "## Tests",
        _table(("family", "tier", "platform", "tested on", "when", "more machines"), rows),
    )


def _support(table: SupportTable) -> str:
    rows = []
    for row in table.rows:
        reason = f"{row.reason} ([told here]({row.link}))" if row.link else row.reason
        pythons = ", ".join(f"`{pattern}`" for pattern in row.pythons if pattern != "*") or "any"
        torch = f"`{row.torch}`" if row.torch else "any"
        rows.append((f"`{row.project}`", row.feature or "", torch, ", ".join(row.platforms), pythons, row.state, reason))
    return _page(
        "What is known to build",
        "Of the rows that speak of a combination the first one counts; nothing is known of one that no row speaks of. "
        "A project is skipped, and the reason told, where a combination is unsupported; the other projects of the command go on.",
        _table(("project", "feature", "torch", "system", "Python", "state", "why"), rows),
    )


def _option_row(option: Option) -> tuple[str, str, str]:
    aliases = (*option.other_flags, *(flag for flag, _value in option.short_for))
    flags = ", ".join(f"`{flag}`" for flag in (_shown(option), *aliases))
    names = ", ".join(f"`{name}`" for name in (option.environment, *option.other_environment))
    facts = [option.help.replace("<", r"\<")]
    if option.choices:
        facts.append(f"One of {', '.join(f'`{choice}`' for choice in option.choices)}.")
    facts += [f"`{flag}` is `{option.flag} {value}`." for flag, value in option.short_for]
    if option.repeatable:
        facts.append("Several: again, or with commas." if option.kind == "names" else "Several: again.")
    if option.says:
        others = [f"`{other.flag}`" for other in OPTIONS.values() if other.says == option.says and other is not option]
        facts.append(f"Not together with {', '.join(others)}.")
    return flags, names, " ".join(facts)


def _shown(option: Option) -> str:
    value = "" if option.kind == "flag" else f" [{option.metavar}]" if option.is_flag else f" {option.metavar or 'VALUE'}"
    return f"{option.flag}{value}"


def _typed(command: Command) -> str:
    if command.front == "invoke":
        return f"invoke {command.name}"
    return f"nox -s {command.session_of('<p>')}" if command.name in PROJECT_COMMANDS else f"nox -s {command.name}"


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    return json.dumps({"$schema": _DIALECT, "title": name, **schema}, indent=2, ensure_ascii=False) + "\n"


def _settings_schema() -> dict[str, Any]:
    """Return the schema of ``hipwright.toml``, which has no model of its own: its keys are the options."""
    keys: dict[str, Any] = {}
    patterns: dict[str, Any] = {}
    for option in OPTIONS.values():
        entry = {"description": option.help, **_value_schema(option)}
        if option.per_project:
            patterns[f"^[a-z0-9][a-z0-9-]*-{option.name}$"] = entry
        else:
            keys[option.flag.removeprefix("--")] = entry
    return {"type": "object", "properties": keys, "patternProperties": patterns, "additionalProperties": False}


def _value_schema(option: Option) -> dict[str, Any]:
    if option.kind == "flag":
        return {"type": "boolean"}
    if option.kind == "integer":
        return {"type": "integer", "minimum": 1}
    one: dict[str, Any] = {"enum": list(option.choices)} if option.choices else {"type": "string"}
    return {"anyOf": [one, {"type": "array", "items": one}]} if option.repeatable else one


def _troubleshooting() -> str:
    return _page(
        "Troubleshooting",
        "What the commands about machines and extensions print, and what mends it. Each row is printed by the command as it stands here, with "
        "what was found on the machine at hand. All error codes are among [the errors](errors.md).",
        "`nox -s doctor -- --role build` shows the points of a machine, as [a page of its own](../how-to/check-a-machine.md) tells.",
        *(f"## {section.title}\n\n{_table(section.head, section.rows)}" for section in sections()),
    )


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", _NOTE, *parts)) + "\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    # A bar inside a cell, in code too, would end the cell.
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
