"""Where a bucket behind an address is looked for, and what of its listing is believed."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import pytest

from build_tools.environments.network import Network, Response
from build_tools.errors import HipwrightError
from build_tools.stores import listing
from build_tools.stores.listing import ListingStore

XML = "http://s3.amazonaws.com/doc/2006-03-01/"


@dataclass(frozen=True, kw_only=True)
class Told(Network):
    """A network in which the answers are known; ``asked`` is what was asked for."""

    answers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def read(self, url: str, *, accept: str = "*/*", within: float | None = None) -> Response | None:
        del accept, within
        self.asked.append(url)
        bare, query = url.partition("?")[0], parse_qs(urlsplit(url).query)
        body = self.answers.get("".join([bare, *query.get("continuation-token", [])]))
        return None if body is None else Response(url=url, content_type="application/xml", body=body.encode())


def page(*keys: str, more: str = "") -> str:
    rows = "".join(f"<Contents><Key>{key}</Key><Size>3</Size></Contents>" for key in keys)
    token = f"<NextContinuationToken>{more}</NextContinuationToken>" if more else ""
    return f'<ListBucketResult xmlns="{XML}"><EncodingType>url</EncodingType>{token}{rows}</ListBucketResult>'


def keys_of(address: str, network: Network, prefix: str = "") -> list[str]:
    return [one.key for one in ListingStore(address, network=network).list(prefix)]


@pytest.mark.parametrize(
    ("address", "bucket", "inside"),
    [
        ("https://some-bucket.s3.amazonaws.com", "https://some-bucket.s3.amazonaws.com/", ""),
        (
            "https://some-bucket.s3.us-east-2.amazonaws.com/123-linux/",
            "https://some-bucket.s3.us-east-2.amazonaws.com/",
            "123-linux/",
        ),
        ("http://127.0.0.1:9/some-bucket", "http://127.0.0.1:9/some-bucket", ""),
        ("http://127.0.0.1:9/some-bucket/a/b", "http://127.0.0.1:9/some-bucket", "a/b/"),
        ("https://cdn.example/a/b", "https://cdn.example/", "a/b/"),
    ],
)
def test_a_bucket_is_found_at_its_host_or_at_the_first_folder(address: str, bucket: str, inside: str) -> None:
    network = Told(answers={bucket: page(f"{inside}r/a%2Bb+c", f"{inside}r/x/y")})
    assert keys_of(address, network, "r") == ["r/a+b c", "r/x/y"]
    assert parse_qs(urlsplit(network.asked[-1]).query)["prefix"] == [f"{inside}r/"]


def test_all_pages_of_a_listing_are_read() -> None:
    bucket = "https://b.s3.amazonaws.com/"
    network = Told(answers={bucket: page("a", more="2"), f"{bucket}2": page("c", more="3"), f"{bucket}3": page("b")})
    assert keys_of(bucket, network) == ["a", "b", "c"]


def test_a_listing_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = "https://b.s3.amazonaws.com/"
    around = Told(answers={bucket: page("a", more="2"), f"{bucket}2": page("b", more="3"), f"{bucket}3": page("c", more="2")})
    monkeypatch.setattr(listing, "_MOST_PAGES", 5)
    on = Told(answers={bucket: page("a", more="0"), **{f"{bucket}{n}": page("a", more=f"{n + 1}") for n in range(99)}})
    for network in (around, on):
        with pytest.raises(HipwrightError) as caught:
            keys_of(bucket, network)
        assert caught.value.code.name == "source-unreachable"
        assert len(network.asked) < 10


@pytest.mark.parametrize("size", ["-5", "1e3", "", "x", "9" * 5000])
def test_what_states_no_size_is_left_out(size: str) -> None:
    body = page("a", "b").replace("<Size>3</Size>", f"<Size>{size}</Size>", 1)
    assert keys_of("https://b.s3.amazonaws.com", Told(answers={"https://b.s3.amazonaws.com/": body})) == (
        ["a", "b"] if not size else ["b"]
    )


def test_keys_that_lead_out_of_a_folder_are_left_out() -> None:
    network = Told(
        answers={"https://b.s3.amazonaws.com/": page("ok", "a/../../x", "/x", "a//b", "folder/", "a%5Cb", "gfx942:xnack%2B")}
    )
    assert keys_of("https://b.s3.amazonaws.com", network) == ["gfx942:xnack+", "ok"]


@pytest.mark.parametrize(
    "body",
    [
        "<ListBucketResult",
        '<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><ListBucketResult>&c;</ListBucketResult>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]><ListBucketResult>&a;</ListBucketResult>',
    ],
)
def test_a_listing_that_is_none_or_would_do_harm_is_refused(body: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        keys_of("https://b.s3.amazonaws.com", Told(answers={"https://b.s3.amazonaws.com/": body}))
    assert caught.value.code.name == "source-unreachable"
