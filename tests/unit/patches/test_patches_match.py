from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools.patches.commits import Commit
from build_tools.patches.match import Exported, match_patches
from build_tools.patches.series import Patch, PatchEntry
from build_tools.types import CommitId, TreeId

if TYPE_CHECKING:
    from build_tools.sources.phases import Phase

DIFF = """
diff --git a/{file} b/{file}
index {old}..{old} 100644
--- a/{file}
+++ b/{file}
@@ -{line},1 +{line},1 @@
-old
+{text}
"""


def mail(
    subject: str,
    *,
    author: str = "A <a@b>",
    date: str = "Mon, 4 Mar 2024 05:06:07 +0200",
    file: str = "f",
    text: str = "new",
    line: int = 1,
) -> bytes:
    head = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: {author}\nDate: {date}\nSubject: {subject}\n\n"
    return (head + DIFF.format(file=file, old="1" * 40, text=text, line=line)).encode()


def patch(data: bytes, *, file: str = "root/base/0001-x.patch", module: str = ".", phase: Phase = "base") -> Patch:
    entry = PatchEntry(file=file, why="w", upstream="u", owner="o", added=dt.date(2026, 1, 1))
    return Patch(entry=entry, module=module, phase=phase, file=Path(file), data=data)


def commit(number: int) -> CommitId:
    return CommitId(f"{number:040x}")


def exported(data: bytes, *, number: int = 99, module: str = ".", phase: Phase = "base") -> Exported:
    made = Commit(id=commit(number), tree=TreeId("2" * 40), parents=(), author=b"", committer=b"", message=b"", changes={})
    return Exported(module=module, phase=phase, commit=made, data=data)


ONE = mail("One")
LATER = "Tue, 5 Mar 2024 05:06:07 +0200"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(mail("One", file="g", text="other"), id="author, date and subject"),
        pytest.param(mail("One", author="B <b@b>", date=LATER, file="g"), id="subject"),
        pytest.param(mail("Two", author="B <b@b>", date=LATER, line=7), id="change"),
        pytest.param(mail("Two", text="other"), id="author and date, and a file in common"),
        pytest.param(mail("Two", author="B <b@b>", date=LATER, text="other"), id="files, and their lines"),
    ],
)
def test_a_commit_is_the_patch_that_it_was_made_from(data: bytes) -> None:
    held = patch(ONE)
    assert match_patches([(held, commit(1))], [exported(data)]) == (held,)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(mail("Two", file="g", text="other"), id="only author and date are the same"),
        pytest.param(mail("Two", author="B <b@b>", date=LATER, file="g", text="other"), id="nothing is the same"),
        pytest.param(mail("Two", author="B <b@b>", date=LATER, text="other", line=70), id="another part of the same file"),
        pytest.param(mail("Two", date=LATER, text="other", line=70), id="another part of it, of the same author"),
    ],
)
def test_another_commit_is_new(data: bytes) -> None:
    assert match_patches([(patch(ONE), commit(1))], [exported(data)]) == (None,)


def test_what_fits_better_goes_first() -> None:
    first, second = patch(mail("One")), patch(mail("Two", text="b"), file="root/base/0002-y.patch")
    same_change, same_subject = (
        exported(mail("Three", text="b", date=LATER)),
        exported(mail("Two", text="c", date=LATER), number=98),
    )
    assert match_patches([(first, commit(1)), (second, commit(2))], [same_change, same_subject]) == (first, second)


def test_the_commit_that_a_patch_became_is_that_patch_whatever_else_fits() -> None:
    first, second = patch(mail("Same")), patch(mail("Same"), file="root/base/0002-y.patch")
    found = match_patches(
        [(first, commit(1)), (second, commit(2))], [exported(mail("Same"), number=2), exported(mail("Same"), number=1)]
    )
    assert found == (second, first)


def test_of_several_that_touch_the_same_files_none_is_guessed() -> None:
    held = [(patch(mail("One")), commit(1)), (patch(mail("Two", text="b"), file="root/base/0002-y.patch"), commit(2))]
    assert match_patches(held, [exported(mail("Three", text="z", date=LATER, author="B <b@b>"))]) == (None,)


def test_a_patch_is_found_in_another_module_and_phase() -> None:
    held = patch(ONE)
    assert match_patches([(held, commit(1))], [exported(mail("Another", date=LATER), module="sub", phase="hipified")]) == (held,)
    assert match_patches([(held, commit(1))], [exported(mail("One", text="b", file="g"), module="sub")]) == (held,)


def test_a_module_keeps_its_own_before_another_takes_it() -> None:
    root, sub = patch(ONE), patch(ONE, file="sub/base/0001-x.patch", module="sub")
    found = match_patches([(root, commit(1)), (sub, commit(2))], [exported(ONE, module="sub"), exported(ONE, number=98)])
    assert found == (sub, root)


def test_what_changes_no_lines_of_a_file_is_told_by_the_file() -> None:
    mode = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    held = patch(ONE.partition(b"diff --git")[0] + mode.encode())
    other = mail("Two", author="B <b@b>", date=LATER).partition(b"diff --git")[0] + mode.replace("100755", "120000").encode()
    assert match_patches([(held, commit(1))], [exported(other)]) == (held,)
