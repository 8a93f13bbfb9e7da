"""A patch file's mail is read as git reads it; what git am would lose is named with its line."""

from __future__ import annotations

import datetime as dt

import pytest

from build_tools.patches.mail import body_faults, parse_mail

FROM = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001"
HEAD = f"{FROM}\nFrom: Some One <some.one@example.com>\nDate: Mon, 4 Mar 2024 05:06:07 +0200\nSubject: [rocm] do it\n"
DIFF = "diff --git a/a b/a\n"


def told(text: str) -> list[tuple[int, str]]:
    return [(fault.line, fault.rule) for fault in parse_mail(text.encode()).faults]


def test_all_of_a_mail_is_read() -> None:
    mail = parse_mail(f"{HEAD}\nWhy it is done.\n\nAnd how.\n\n{DIFF}".encode())
    assert (mail.author, mail.email) == ("Some One", "some.one@example.com")
    assert (mail.date, mail.when) == (
        "Mon, 4 Mar 2024 05:06:07 +0200",
        dt.datetime(2024, 3, 4, 5, 6, 7, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    )
    assert mail.subject == "[rocm] do it"
    assert mail.body == "Why it is done.\n\nAnd how."
    assert mail.diff_line == 10
    assert mail.faults == ()


def test_a_mail_without_a_body_or_a_diff_is_read_to_its_end() -> None:
    mail = parse_mail(f"{HEAD}\n".encode())
    assert (mail.body, mail.faults) == ("", ())
    assert mail.diff_line > 5
    assert parse_mail(HEAD.rstrip("\n").encode()).subject == "[rocm] do it"
    assert parse_mail(b"").subject == ""


@pytest.mark.parametrize(
    ("written", "author", "email"),
    [
        ('"Doe, J. \\"x\\"" <j@example.com>', 'Doe, J. "x"', "j@example.com"),
        ("=?UTF-8?q?J=C3=BCrgen=20X?= <j@example.com>", "Jürgen X", "j@example.com"),
        ("Jürgen X <j@example.com>", "Jürgen X", "j@example.com"),
        ("<j@example.com>", "", "j@example.com"),
        ("A <>", "A", ""),
    ],
)
def test_authors_are_read_as_git_writes_them(written: str, author: str, email: str) -> None:
    mail = parse_mail(HEAD.replace("Some One <some.one@example.com>", written).encode())
    assert (mail.author, mail.email) == (author, email)


def test_a_folded_subject_is_one_line() -> None:
    assert parse_mail(HEAD.replace("do it", "do it\n  and more").encode()).subject == "[rocm] do it  and more"
    encoded = "=?UTF-8?q?=5Brocm=5D=20gr=C3=BC=C3=9Fe?=\n =?UTF-8?q?=20und=20mehr?="
    assert parse_mail(HEAD.replace("[rocm] do it", encoded).encode()).subject == "[rocm] grüße und mehr"


def test_bytes_that_are_no_text_are_kept() -> None:
    mail = parse_mail(HEAD.encode() + b"\nbody \xff\n\n" + DIFF.encode())
    assert mail.body.encode("utf-8", "surrogateescape") == b"body \xff"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD.replace("From: Some One <some.one@example.com>\n", ""), 1),
        (HEAD.replace("Some One <some.one@example.com>", "Some One"), 2),
        (HEAD.replace("Date: Mon, 4 Mar 2024 05:06:07 +0200\n", ""), 1),
        (HEAD.replace("Mon, 4 Mar 2024 05:06:07 +0200", "yesterday"), 3),
        (HEAD.replace("Subject: [rocm] do it\n", ""), 1),
        (HEAD.replace(" [rocm] do it", ""), 4),
        (HEAD.replace(FROM, "From me"), 1),
        (HEAD.removeprefix(f"{FROM}\n"), 1),
        (f"{HEAD}Content-Transfer-Encoding: base64\n", 5),
    ],
)
def test_headers_that_are_not_as_git_writes_them_are_named(text: str, line: int) -> None:
    assert (line, "mail-headers") in told(f"{text}\nx\n\n{DIFF}")


def test_a_mail_with_plain_encoding_is_fine() -> None:
    text = f"{HEAD}MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\nx\n\n{DIFF}"
    assert told(text) == []


@pytest.mark.parametrize(
    "line",
    [
        FROM,
        "From someone Thu Jan  1 10:20:30 2015",
        "diff --git a/x b/x",
        "diff -u a b",
        "Index: x",
        "---",
        "---   ",
        "--- ",
        "--- a/file",
        "From: Another <a@example.com>",
        "subject: another",
        "DATE: now",
        f">{FROM}",
        "[PATCH] x",
    ],
)
def test_lines_that_git_takes_for_something_else_are_named(line: str) -> None:
    (fault,) = body_faults([b"", line.encode(), b"", b"more"])
    assert (fault.rule, fault.line) == ("message-line", 2)
    found = told(f"{HEAD}\n{line}\n\nmore\n\n{DIFF}")
    if line.startswith((">", "[", "D", "s", "From")):
        assert (6, "message-line") in found
    else:
        # The rest is then no part of the message; what looks like a diff is for those to judge who read diffs.
        assert any(rule == "lost-text" for _, rule in found) or line.startswith("diff --git ")


@pytest.mark.parametrize(
    "line",
    [
        "From here on it is 12:30",
        "From: at the end",
        ">From x",
        "----",
        " ---",
        "--",
        "diff",
        "differ",
        "index: x",
        "- a",
        "+ b",
        "Date",
    ],
)
def test_other_lines_are_left_alone(line: str) -> None:
    assert list(body_faults([b"A first line.", line.encode()])) == []


def test_what_stands_between_message_and_diff_is_lost() -> None:
    assert told(f"{HEAD}\nx\n---\n a | 2 +-\n 1 file changed\n\n{DIFF}") == [(8, "lost-text")]
    assert told(f"{HEAD}\nx\n---\n\n{DIFF}") == []


def test_an_author_without_an_address_is_one_as_git_has_it() -> None:
    assert told(f"{HEAD.replace('some.one@example.com', '')}\nx\n\n{DIFF}") == []
    assert told(f"{HEAD.replace(' <some.one@example.com>', '')}\nx\n\n{DIFF}") == [(2, "mail-headers")]
