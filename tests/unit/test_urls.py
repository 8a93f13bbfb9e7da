from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.urls import holds_secret, is_unclear, is_url, mask_userinfo, redact, secrets_in, userinfo_of

PARTS = st.text(alphabet="abcZ09%-._~!$:@", max_size=12)


@pytest.mark.parametrize(
    ("url", "userinfo", "shown"),
    [
        ("https://me:secret@e.example/simple/", "me:secret", "https://e.example/simple/"),
        ("https://t0ken@e.example/x@y.git", "t0ken", "https://e.example/x@y.git"),
        ("http://bob:p@ss:word@proxy.example:3128", "bob:p@ss:word", "http://proxy.example:3128"),
        ("bob:pw@proxy.example:3128", "bob:pw", "proxy.example:3128"),
        ("git+https://me:secret@e.example/x", "me:secret", "git+https://e.example/x"),
        ("ssh://git@e.example/owner/x.git", "git", "ssh://git@e.example/owner/x.git"),
        ("ssh://git:secret@e.example/x.git", "git:secret", "ssh://git@e.example/x.git"),
        ("https://[bad:secret@e", "[bad:secret", "https://e"),
        ("https://@e.example", "", "https://e.example"),
        ("https://e.example/@x", None, "https://e.example/@x"),
        ("https://e.example?to=me@x", None, "https://e.example?to=me@x"),
        ("git@e.example:owner/x.git", None, "git@e.example:owner/x.git"),
        ("C:\\wheels@home", None, "C:\\wheels@home"),
        ("/wheels/a:b@c", None, "/wheels/a:b@c"),
        ("", None, ""),
    ],
)
def test_addresses_are_shown_without_what_is_secret_in_them(url: str, userinfo: str | None, shown: str) -> None:
    assert userinfo_of(url) == userinfo
    assert redact(url) == shown
    assert redact(shown) == shown


@given(PARTS, PARTS)
def test_no_password_is_left_whatever_its_characters(user: str, password: str) -> None:
    url = f"https://{user}:{password}@e.example/x"
    assert redact(url) == "https://e.example/x"
    assert mask_userinfo(f"cannot read <{url}>: 401") == "cannot read <https://***@e.example/x>: 401"


def test_addresses_in_a_text_are_masked_where_they_hold_something() -> None:
    text = "fatal: https://me:secret@e/x and ssh://git@e/x, ssh://git:secret@e, https://e/x by a@b, https://@e"
    assert mask_userinfo(text) == "fatal: https://***@e/x and ssh://git@e/x, ssh://git:***@e, https://e/x by a@b, https://@e"


def test_secrets_are_passwords_as_written_and_as_meant_with_and_without_their_user() -> None:
    assert secrets_in("/a https://me:pass%20word@e/x https://e/y") == {
        "pass%20word", "pass word", "me:pass%20word", "me:pass word",
    }  # fmt: skip
    assert secrets_in("bob:pw@proxy.example:3128") == {"bob:pw"}
    assert secrets_in("https://a-token-that-is-long@e/x") == {"a-token-that-is-long"}
    assert secrets_in("--store=https://e/x?sig=hush%2Fhush&page=2 http://f/?a-signature") == {
        "hush%2Fhush",
        "hush/hush",
        "a-signature",
    }
    assert secrets_in("what? https://e/x?n=1 /a/b?token=looks-so") == frozenset()
    assert secrets_in("https://user@e/x ssh://somebody-with-a-name@e/x git@e:x") == frozenset()


def test_what_hints_have_in_the_place_of_a_password_is_shown() -> None:
    assert (
        mask_userinfo("say https://USER:PASSWORD@HOST/… and https://me:PASSWORD@h/")
        == "say https://USER:PASSWORD@HOST/… and https://***@h/"
    )


def test_drive_letters_are_paths() -> None:
    assert not is_url("C:\\wheels")
    assert not is_url("C:/wheels")
    assert not is_url("wheels/x")
    assert is_url("file:///wheels")
    assert is_url("HTTPS://e")


UNCLEAR = (
    "https://me:pass/word@e.example/x.git",
    "https://me:pass?word@e.example/x.git",
    "https://me:pass#word@e.example/x.git",
    "https://me:pass\\word@e.example/x.git",
    "https://me:pass word@e.example/x.git",
    "https://me:pass\tword@e.example/x.git",
    'https://me:pass"word@e.example/x.git',
    "https://pass word@e.example/x.git",
    "ssh://git:pass/word@e.example/x.git",
    "third_party/lib=https://me:pass/word@e.example/x.git",
)


@pytest.mark.parametrize("url", UNCLEAR)
def test_an_address_whose_password_could_not_be_hidden_is_known(url: str) -> None:
    assert is_unclear(url)
    assert holds_secret(url)
    assert redact(url).endswith("://e.example/x.git")
    assert "word" not in redact(url)
    assert not holds_secret(redact(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://me:secret@e.example/x@y.git",
        "https://me:se:cret@e.example:8080/x",
        "https://e.example/a b@c",
        "https://e.example:8080/@scope/x@1.0",
        "https://[::1]:8080/x@1.0",
        "https://[::1]/x@1.0",
        "ssh://git@e.example/x@y.git",
        "git@e.example:owner/x@y.git",
        "file:///a:b/c@d",
        "embedded://sample/root.git",
        "/wheels/a:b@c",
        "C:\\wheels@home",
        "",
    ],
)
def test_other_texts_are_clear(url: str) -> None:
    assert not is_unclear(url)


def test_what_holds_a_secret_is_told_from_what_does_not() -> None:
    assert holds_secret("a folder and the index https://me:secret@e.example/simple/")
    assert holds_secret("me:secret@e.example:3128")
    assert holds_secret("https://token@e.example/x")
    assert not holds_secret("ssh://git@e.example/x.git")
    assert not holds_secret("https://e.example/x@1.0")
    assert not holds_secret("/wheels and https://e.example/")


@pytest.mark.parametrize(
    "text", ["x" * 50_000, f"{'x' * 50_000}://a@b", "a://" * 12_000, "a://x?" * 8_000, "a:" * 25_000, f"a://{'@' * 50_000}"]
)
def test_a_long_word_is_looked_through_at_once(text: str) -> None:
    began = time.process_time()
    for look in (secrets_in, mask_userinfo, redact, is_unclear, holds_secret):
        look(text)
    # It takes minutes where each letter is looked at once for each of the others.
    assert time.process_time() - began < 2


def test_secrets_are_found_behind_a_long_word() -> None:
    text = f"{'x' * 5_000}https://me:hush-hush@e/x?token=a-signature"
    assert secrets_in(text) == {"hush-hush", "me:hush-hush", "a-signature"}
    assert mask_userinfo(text) == text.replace("me:hush-hush", "***")
