"""Mails as git itself reads them: what is read is what git reads, and a message without faults comes through as it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from build_tools.patches.mail import body_faults, is_mail_start, parse_mail
from tests.support.source_trees import git, identity, raw, write

DIFF = f"diff --git a/f b/f\nnew file mode 100644\nindex {'0' * 40}..{'1' * 40}\n"
HEAD = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: Some One <some.one@example.com>\nDate: Mon, 4 Mar 2024 05:06:07 +0200\n"


def read_by_git(data: bytes) -> tuple[dict[str, str], list[str]]:
    """Return what git reads of the first mail of a file: its headers, and the lines of the message that are not blank; and nothing of others."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "mail").write_bytes(data)
        count = git(folder, "mailsplit", "--keep-cr", f"-o{folder}", folder / "mail")
        command = ("git", "mailinfo", "-k", "--no-scissors", folder / "msg", folder / "patch")
        with (folder / "0001").open("rb") as mail:
            info = subprocess.run(
                command, cwd=folder, env=identity(), stdin=mail, capture_output=True, check=True
            ).stdout.decode()
        message = (folder / "msg").read_text("utf-8", "surrogateescape").split("\n")
        assert int(count) >= 1
    headers = dict(line.split(": ", 1) for line in info.splitlines() if ": " in line)
    return headers, [line for line in message if line.strip()]


LINES = st.sampled_from(
    [
        "",
        "words",
        " From: x",
        "From: Another <a@example.com>",
        "FROM: x",
        "Subject: other",
        "date: Mon, 4 Mar 2024 05:06:07 +0200",
        "Datum: x",
        ">From x",
        ">From: x",
        f">From {'0' * 40} Mon Sep 17 00:00:00 2001",
        "[PATCH] x",
        "[PATCH]x",
        "[PATCH]",
        "---",
        "--- ",
        "--- \t",
        "---\t",
        "--- x",
        "---x",
        "-- ",
        "----",
        "diff -x",
        "diff x",
        "diff --git a/f b/f",
        "Index: f",
        "Index:f",
        "From x Mon Sep 17 00:00:00 2001",
        "From x Mon Sep 17 00:00:00 1970",
        "From x at 12:30",
        "From x 1:23 45",
        "-- >8 --",
    ]
)
BODIES = st.lists(LINES, min_size=1, max_size=4)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=BODIES)
@example(body=["---", "From: x"])
def test_a_body_without_faults_comes_through_and_one_with_faults_does_not(body: list[str]) -> None:
    text = "\n".join(body)
    _, message = read_by_git(f"{HEAD}Subject: Do it\n\n{text}\n\n{DIFF}".encode())
    wanted = [line for line in body if line.strip()]
    clean = not list(body_faults([line.encode() for line in body]))
    assert clean == ([line.rstrip() for line in message] == [line.rstrip() for line in wanted]), message


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=st.from_regex(re.compile(r"From [ a-z0-9:]{0,30}[0-9:]{8} [0-9]{1,4}[ a-z]?", re.ASCII), fullmatch=True))
@example(line="From a 0:00:00 91")
@example(line="From a Mon Sep 17 0:00:00 90")
@example(line="From a Mon Sep 17 00:00:00 +0200 2024")
def test_mails_begin_where_git_says(line: str) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, {"mail": f"{HEAD}\nx\n{line}\ny\n"})
        count = git(folder, "mailsplit", "--keep-cr", f"-o{folder}", folder / "mail")
    assert is_mail_start(line.encode()) == (count == "2"), count


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="<>\0\n\r", exclude_categories=("Cc", "Zl", "Zp", "Zs", "Cs")), min_size=1
)
SUBJECTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp", "Cs")), min_size=1, max_size=120)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone")
    write(folder, {"f": "x\n"})
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    return folder


@settings(max_examples=60, deadline=None)
@given(name=NAMES, subject=SUBJECTS, encoded=st.booleans())
def test_authors_and_subjects_of_any_commit_are_read(clone: Path, name: str, subject: str, *, encoded: bool) -> None:
    message = f"S{subject}\n\nBody.\n"
    git(clone, "commit", "--quiet", "--allow-empty", f"--author=A{name}Z <a@example.com>", "-m", message)
    which = "--encode-email-headers" if encoded else "--no-encode-email-headers"
    options = ("--stdout", "--keep-subject", "--no-signature", "--no-stat", "--always", "-1")
    mail = parse_mail(raw(clone, "format-patch", which, *options))
    shown = git(clone, "log", "-1", "--format=%an%n%s%n%b").split("\n")
    assert [mail.author, mail.subject, mail.body] == shown[:3]
    assert mail.faults == ()
