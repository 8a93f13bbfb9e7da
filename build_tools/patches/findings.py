"""What is said of a patch series: the rules that one is held to, and what was found against them.

An error keeps a series from doing what it says; a warning is for what will cost somebody time; a note tells what is as it may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from build_tools.types import Severity

__all__ = ["RULES", "PatchFinding", "PatchRule", "finding", "is_serious"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchRule:
    """One rule: its stable name, how bad it is to break it, and what it demands."""

    name: str
    severity: Severity
    summary: str


def _rules(*rows: tuple[str, Severity, str]) -> Mapping[str, PatchRule]:
    return {name: PatchRule(name=name, severity=severity, summary=summary) for name, severity, summary in rows}


RULES: Final[Mapping[str, PatchRule]] = _rules(
    ("series-file", "error", "series.toml is there, and is of its model."),
    ("unused-line", "note", "A rule of project.toml names every line on disk."),
    ("missing-line", "error", "Every line that a rule names has a folder."),
    ("unnamed-file", "error", "The series names every patch file on disk."),
    ("missing-file", "error", "Every file that the series names is there."),
    ("bad-place", "error", "A patch lies in <module>/base or <module>/hipified, and behind no symbolic link."),
    ("same-file", "error", "The series names a file once."),
    ("same-letters", "error", "No two files differ in capital and small letters alone: some machines hold only one of them."),
    ("same-number", "warning", "No two files of a module and phase begin with the same number."),
    ("same-subject", "warning", "No two patches of a module and phase have the same subject."),
    ("one-lock", "error", "A patch that may move submodules is for every platform: one lock is for all of them."),
    ("line-ends", "error", "A patch file has its own line ends, and not those that a checkout converted it to."),
    ("final-newline", "error", "A patch file ends with a newline."),
    ("mail-headers", "error", "A patch file is a mail that says From, Date and Subject."),
    ("message-line", "error", "git am takes no line of the message for something else."),
    ("one-patch", "error", "A file holds one patch."),
    ("lost-text", "warning", "All that a person wrote into the file is in its message or its diff."),
    ("signature", "warning", "The file does not end with the version of the git that wrote it."),
    ("no-diff", "error", "A patch changes something."),
    ("outside", "error", "A patch changes files of its module alone, and none of git's own."),
    ("same-path", "warning", "A patch changes a file in one place of its own."),
    ("hunk-header", "error", "A hunk header can be read."),
    ("hunk-count", "error", "A hunk has as many lines as its header says."),
    ("hunk-line", "error", "Every line of a hunk begins with a space, +, - or a backslash."),
    ("stray-text", "error", "Between the hunks, and behind them, stands nothing else."),
    ("mixed-line-ends", "warning", "A patch adds lines with the line ends that the file has."),
    (
        "full-index",
        "warning",
        "Index lines name the contents before and after in full, so that the place of a hunk can be proven.",
    ),
    ("similarity", "warning", "A rename or copy says how similar the files are."),
    ("binary-data", "error", "A patch holds the binary contents that it changes."),
    ("expired", "warning", "A patch is gone once its drop-when has come."),
    ("no-ref", "warning", "A ref at the origin finds every line."),
    ("applies", "error", "A patch applies to every ref of its line."),
    ("offset", "note", "A patch applies at the lines that it was made for."),
    ("upstream", "note", "The sources do not have a patch already."),
    ("round-trip", "warning", "Saving a patch as it was applied gives the same bytes."),
    ("other-tree", "error", "The work dir's tree is what its series gives."),
    ("uncommitted", "warning", "The work dir's tree has no changes that no commit holds."),
    ("unreachable", "note", "The origin of a line's refs can be read."),
    ("unknown-history", "note", "What a rule needs to look at is here."),
)
"""By name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PatchFinding:
    """One finding.

    Parameters
    ----------
    rule, severity
        Which rule, and how bad it is.
    file, line
        Where: a file as from the line's folder, or a module of a tree; lines are counted from 1.
    message, hint
        What was found, and what to do about it.
    ref
        The ref whose sources it was found on, for what the files alone do not tell.
    excerpt
        What a failure showed.
    """

    rule: str
    severity: Severity
    file: str | None
    line: int | None
    message: str
    hint: str | None = None
    ref: str | None = None
    excerpt: str | None = None


def finding(
    rule: str,
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    hint: str | None = None,
    severity: Severity | None = None,
) -> PatchFinding:
    """Return a finding of a rule, as bad as the rule says unless ``severity`` says otherwise."""
    known = RULES[rule]
    return PatchFinding(rule=rule, severity=severity or known.severity, file=file, line=line, message=message, hint=hint)


def is_serious(findings: Iterable[PatchFinding]) -> bool:
    """Return whether some findings are more than notes."""
    return any(found.severity != "note" for found in findings)
