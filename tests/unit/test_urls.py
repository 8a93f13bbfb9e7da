from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.urls import is_url, mask_userinfo, redact, secrets_in, userinfo_of

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
    assert secrets_in("https://user@e/x ssh://somebody-with-a-name@e/x git@e:x") == frozenset()


def test_drive_letters_are_paths() -> None:
    assert not is_url("C:\\wheels")
    assert not is_url("C:/wheels")
    assert not is_url("wheels/x")
    assert is_url("file:///wheels")
    assert is_url("HTTPS://e")
