"""Headers of patches that others keep: DEP-3 fields, a mail's, both, and what real ones make of these."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.patches.dep3 import ForeignHeader, read_header
from build_tools.patches.mail import body_faults


def header(text: str, name: str = "its-name") -> ForeignHeader:
    return read_header(text.split("\n"), name=name)


def test_fields_become_the_commit_and_the_entry() -> None:
    found = header(
        "Description: use the system's library\n"
        " The one that is bundled is old.\n"
        " .\n"
        " And it is patched.\n"
        "Author: Ann Other <ann@example.org>\n"
        "Forwarded: https://example.org/pull/7\n"
        "Last-Update: 2024-10-29 \n"
        "---\n"
        "This patch header follows DEP-3: http://dep.debian.net/deps/dep3/\n"
    )
    assert found.subject == "use the system's library"
    assert found.body == ("The one that is bundled is old.\n\nAnd it is patched.\n\nForwarded: https://example.org/pull/7"), (
        "what comes after the line of dashes is no part of it"
    )
    assert found.message == f"{found.subject}\n\n{found.body}\n"
    assert found.owner == "Ann Other <ann@example.org>"
    assert found.when == dt.datetime(2024, 10, 29, tzinfo=dt.UTC)
    assert found.why == "use the system's library. The one that is bundled is old."
    assert found.upstream == "sent: https://example.org/pull/7"
    assert found.drop_when is None


def test_a_mail_keeps_its_author_date_zone_subject_and_body() -> None:
    found = header(
        "From 1ae3479e42a2f52ef07410b16d963ccdae8b62f7 Mon Sep 17 00:00:00 2001\n"
        "From: =?UTF-8?q?L=C3=A1szl=C3=B3?= <gcs@example.org>\n"
        "Date: Mon, 16 Dec 2024 09:15:07 -0800\n"
        "Subject: [PATCH 1/5] [rocm] Move it\n"
        " to where it belongs\n"
        "\n"
        "Because.\n"
        "\n"
        "Fixes: #1\n"
        "Reviewed-by: Some One <one@example.org>\n"
        "---\n"
        " a.txt | 5 +++++\n"
    )
    assert (found.author, found.email) == ("László", "gcs@example.org")
    assert found.subject == "[rocm] Move it to where it belongs"
    assert found.when is not None
    assert found.when.isoformat() == "2024-12-16T09:15:07-08:00"
    assert found.body == "Because.\n\nFixes: #1\nReviewed-by: Some One <one@example.org>"
    assert found.upstream == "not sent"


def test_fields_in_a_later_paragraph_count_and_trailers_stay_text() -> None:
    found = header(
        "From: A <a@x>\nSubject: Do it\n\nIt is needed.\n\nBug-Debian: https://bugs/1\n\nForwarded: not-needed\nOrigin: vendor\n"
    )
    assert found.upstream == "not for upstream; origin: vendor; Bug-Debian: https://bugs/1"
    assert found.body == "It is needed.\n\nBug-Debian: https://bugs/1\nForwarded: not-needed\nOrigin: vendor"


@pytest.mark.parametrize(
    ("fields", "upstream"),
    [
        ("", "not sent"),
        ("Forwarded: no", "not sent"),
        ("Forwarded: yes", "sent"),
        ("Forwarded: not-needed\n Their Python is older.", "not for upstream: Their Python is older."),
        ("Forward: no need.", "not for upstream"),
        ("Bug: https://bugs/7", "Bug: https://bugs/7"),
        ("Bug-Debian: https://bugs/8", "not sent; Bug-Debian: https://bugs/8"),
        ("Applied-Upstream: 2.7, https://example.org/c/1", "applied upstream: 2.7, https://example.org/c/1"),
        ("Forwarded: no\nApplied-Upstream: yes", "applied upstream: yes"),
    ],
)
def test_what_it_says_of_upstream(fields: str, upstream: str) -> None:
    assert header(f"Description: x\n{fields}").upstream == upstream


@pytest.mark.parametrize(
    ("field", "version", "commit"),
    [
        ("Applied-Upstream: v2.7.1, see there", "2.7.1", None),
        (f"Applied-Upstream: https://example.org/commit/{'ab' * 20}", None, "ab" * 20),
        (f"Origin: backport, commit:{'cd' * 20}", None, "cd" * 20),
        (f"Origin: vendor, {'cd' * 20}", None, None),
        ("Applied-Upstream: soon", None, None),
    ],
)
def test_it_may_say_when_it_is_to_go(field: str, version: str | None, commit: str | None) -> None:
    due = header(f"Description: x\n{field}").drop_when
    assert (due.version if due else None, due.commit if due else None) == (version, commit)


def test_what_says_little_is_taken_as_it_is() -> None:
    assert header("Description: x\nAuthor: Mo Zhou").owner == "Mo Zhou"
    bare = header("")
    assert (bare.subject, bare.body, bare.owner, bare.when) == ("its-name", "", "unknown", None)
    text = header("Just words\nover two lines\n\nand more")
    assert (text.subject, text.body) == ("Just words", "over two lines\n\nand more")
    named = header("Forwarded: not-needed")
    assert (named.subject, named.why) == ("its-name", "its-name")


def test_more_authors_are_named_and_the_way_of_a_mail_is_not() -> None:
    found = header("From: A <a@x>\nSubject: s\nAuthor: B <b@x>\nMessage-Id: <1@x>\nX-Mailer: m\nTo: list@x\n")
    assert found.author == "A"
    assert found.body == "Co-authored-by: B <b@x>"


def test_an_unreadable_date_is_none() -> None:
    assert header("Description: x\nDate: yesterday\nLast-Update: 2024-13-77").when is None


@given(
    st.lists(st.sampled_from(["--- a/file", "Index: x", "diff --git a b", "From: x <y>", "[PATCH] z", "", " .", "text", "  -- "]))
)
def test_no_line_of_the_message_ends_it_early(lines: list[str]) -> None:
    found = header("Description: x\n" + "\n".join(f" {line}" for line in lines))
    assert not list(body_faults([line.encode() for line in found.body.split("\n")]))


@given(st.text())
def test_any_text_above_a_diff_is_some_header(text: str) -> None:
    found = header(text)
    assert found.subject
    assert "\n" not in found.subject
    assert found.why
    assert found.owner
