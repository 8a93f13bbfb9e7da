"""Looking at patch files alone: whether each is what git would write, so that it applies the same everywhere and saves the same again."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from build_tools.patches.findings import PatchFinding, finding
from build_tools.patches.hunks import read_hunks
from build_tools.patches.mail import BODY_HINT, is_mail_start, parse_mail
from build_tools.patches.sections import sections, unfit_name
from build_tools.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from build_tools.patches.fault import Fault
    from build_tools.patches.hunks import Hunk, HunkReading
    from build_tools.patches.sections import Section
    from build_tools.patches.series import Patch

__all__ = ["ATTRIBUTES_HINT", "lint_patch"]

ATTRIBUTES_HINT: Final = "git converted it on checkout: *.patch needs -text in .gitattributes"
_SAVED_HINT: Final = "check it out, and have it written again: invoke save-patches --refresh"

_SIGNATURE: Final = b"-- "
_SIMILARITY: Final = (b"similarity index ", b"dissimilarity index ")
_OTHER_NAME: Final = (b"rename from ", b"copy from ")
_BINARY_DIFFERS: Final = (b"Binary files ", b"Files ")


def lint_patch(patch: Patch) -> list[PatchFinding]:
    """Return what is wrong with one patch file, in the order of its lines; the sources are not looked at.

    Parameters
    ----------
    patch
        The patch; its bytes need not be of any format.
    """
    name, data = patch.name, patch.data
    if _is_converted(data):
        # Every line is wrong in the same way; one finding says it.
        return [finding("line-ends", f"{name} has CR LF line ends", file=name, line=1, hint=ATTRIBUTES_HINT)]
    found = [_of_fault(fault, name) for fault in parse_mail(data).faults]
    if not data.endswith(b"\n"):
        message = f"{name} does not end with a newline, so its last line may be cut short"
        found.append(finding("final-newline", message, file=name, line=data.count(b"\n") + 1))
    parts = list(sections(data))
    if not parts:
        found.append(finding("no-diff", f"{name} has no line that begins with 'diff --git'", file=name))
    else:
        found += _lint_above(data.split(b"\n")[: parts[0].line - 1], name)
    for number, part in enumerate(parts, start=1):
        found += _lint_section(part, name, is_last=number == len(parts))
    found += _same_paths(parts, name)
    return sorted(found, key=lambda one: one.line or 0)


def _of_fault(fault: Fault, name: str) -> PatchFinding:
    return finding(fault.rule, fault.message, file=name, line=fault.line, hint=fault.hint)


def _is_converted(data: bytes) -> bool:
    """Return whether git, or an editor, made all line ends CR LF; those of files that have them stand in hunks alone."""
    lines = data.split(b"\n", 1)
    return lines[0].endswith(b"\r") or any(
        line.endswith(b"\r") for line in data.split(b"\n") if line.startswith((b"diff --git ", b"index "))
    )


def _lint_above(lines: Sequence[bytes], name: str) -> Iterator[PatchFinding]:
    """Find diffs that stand above the first that git wrote: ``git am`` applies them too."""
    for number, (first, second, third) in enumerate(zip(lines, lines[1:], lines[2:], strict=False), start=1):
        if first.startswith(b"--- ") and second.startswith(b"+++ ") and third.startswith(b"@@ -"):
            message = f"git am applies this diff too, and no line 'diff --git' is above it: {shown(first)[:60]}"
            yield finding("stray-text", message, file=name, line=number, hint="indent it by a space, or take it out")


def _lint_section(part: Section, name: str, *, is_last: bool) -> Iterator[PatchFinding]:
    reading = read_hunks(part, is_last=is_last)
    for fault in reading.faults:
        yield _of_fault(fault, name)
    yield from _lint_rest(part, reading, name, is_last=is_last)
    yield from _lint_head(part, reading, name)
    for hunk in reading.hunks:
        yield from _lint_line_ends(part, hunk, name)


def _lint_rest(part: Section, reading: HunkReading, name: str, *, is_last: bool) -> Iterator[PatchFinding]:
    """Find what follows the hunks and belongs to none."""
    rest = list(enumerate(part.lines[reading.length :], start=part.line + reading.length))
    for number, line in rest:
        if is_mail_start(line):
            yield finding("one-patch", "another patch begins here", file=name, line=number, hint="put it into a file of its own")
            return
    text = [(number, line) for number, line in rest if line.strip()]
    if not text:
        return
    number, line = text[0]
    if is_last and line == _SIGNATURE and len(text) <= len((_SIGNATURE, "version")):
        hint = "remove the last two lines, or have it written again: invoke save-patches --refresh"
        message = "the file ends with the version of the git that wrote it, which is another one on every machine"
        yield finding("signature", message, file=name, line=number, hint=hint)
    elif line.startswith(_BINARY_DIFFERS) and line.endswith(b" differ"):
        message = f"the contents of the binary file {_path(part)} are not in the patch"
        yield finding("binary-data", message, file=name, line=number, hint=_SAVED_HINT)
    else:
        message = f"what stands here belongs to no hunk, and git passes over it: {shown(line)[:60]}"
        yield finding("stray-text", message, file=name, line=number, hint="take it out; or let a hunk's header count it")


def _lint_head(part: Section, reading: HunkReading, name: str) -> Iterator[PatchFinding]:
    if reading.length == 1:
        message = f"git am takes this line for the beginning of a diff, and none follows: {shown(part.lines[0])[:60]}"
        yield finding("message-line", message, file=name, line=part.line, hint=BODY_HINT)
    for path in dict.fromkeys((part.old, part.new)):
        if path is not None and unfit_name(path):
            message = (
                f"{shown(path)} is no file that a patch can change: the name leads out of the module, or into git's own folder"
            )
            yield finding("outside", message, file=name, line=part.line, hint="take this part out of the patch")
    head = part.lines[: reading.hunks[0].line - part.line] if reading.hunks else part.lines[: reading.length]
    other_name = next((number for number, line in enumerate(head) if line.startswith(_OTHER_NAME)), None)
    if other_name is not None and not any(line.startswith(_SIMILARITY) for line in head):
        message = f"{_path(part)} gets another name, and no line says how similar the files are"
        yield finding("similarity", message, file=name, line=part.line + other_name, hint=_SAVED_HINT)
    if any(line.startswith(b"+++ ") for line in head) and not reading.hunks and not reading.faults:
        yield finding("hunk-count", f"no hunk follows for {_path(part)}", file=name, line=part.line + len(head) - 1)
    if not reading.hunks and b"GIT binary patch" not in head:
        return
    index = next((number for number, line in enumerate(head) if line.startswith(b"index ")), None)
    if index is None:
        message = f"no index line names the contents of {_path(part)} before and after"
        yield finding("full-index", message, file=name, line=part.line, hint=_SAVED_HINT)
    elif part.objects is None:
        message = f"the index line of {_path(part)} does not name the contents before and after with all digits of their ids"
        yield finding("full-index", message, file=name, line=part.line + index, hint=_SAVED_HINT)


def _lint_line_ends(part: Section, hunk: Hunk, name: str) -> Iterator[PatchFinding]:
    """Find lines that a hunk adds with other line ends than all those have that it shows of the file as it was."""
    old = [line for line in hunk.old if line.endswith(b"\n")]
    if part.old is None or not old:
        return
    was = {line.endswith(b"\r\n") for line in old}
    if len(was) != 1:
        return
    wanted = was.pop()
    for number, line in enumerate(hunk.lines, start=hunk.line + 1):
        if line.startswith(b"+") and line.endswith(b"\r") != wanted and not _is_unended(hunk, number):
            ends = ("CR LF", "LF") if wanted else ("LF", "CR LF")
            message = f"{_path(part)} has {ends[0]} line ends here, and the line that is added has {ends[1]}"
            yield finding("mixed-line-ends", message, file=name, line=number)
            return


def _is_unended(hunk: Hunk, number: int) -> bool:
    """Return whether a hunk's line has no line end at all in the file."""
    following = hunk.lines[number - hunk.line : number - hunk.line + 1]
    return bool(following) and following[0].startswith(b"\\")


def _same_paths(parts: Iterable[Section], name: str) -> Iterator[PatchFinding]:
    ordered = sorted((part for part in parts if part.new is not None), key=lambda part: (part.new or b"", part.line))
    for first, second in itertools.pairwise(ordered):
        if first.new == second.new:
            message = f"{_path(second)} is changed here, and at line {first.line}"
            yield finding("same-path", message, file=name, line=second.line, hint=_SAVED_HINT)


def _path(part: Section) -> str:
    return shown(part.new or part.old or part.lines[0].removeprefix(b"diff --git "))
