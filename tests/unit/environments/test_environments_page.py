from __future__ import annotations

import json
from pathlib import Path

import pypi_simple
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.environments.network import Network, Response, canonical_url, path_of
from build_tools.environments.page import read_page
from build_tools.errors import HipwrightError
from tests.support.packages import serve

SHA = "0" * 63 + "a"
URL = "https://e.example/simple/torch/"


def page(body: str, url: str = URL, kind: str = "text/html") -> Response:
    return Response(url=url, content_type=kind, body=body.encode())


def test_html_is_read_as_pypi_simple_reads_it() -> None:
    body = f"""<!DOCTYPE html><html><head><base href="../../files/"></head><body>
    <a href="torch-2.9.0%2Brocm7.10.0-py3-none-any.whl#sha256={SHA}" data-requires-python="&gt;=3.10"
       data-core-metadata="sha256={SHA}" data-yanked="broken">torch-2.9.0+rocm7.10.0-py3-none-any.whl</a>
    <a href="https://other.example/torch-2.8.0-py3-none-any.whl" data-core-metadata="true">torch-2.8.0-py3-none-any.whl</a>
    <a href="torch-2.7.tar.gz#md5=00">torch-2.7.tar.gz</a>
    </body></html>"""
    ours = read_page(page(body)).files
    theirs = pypi_simple.ProjectPage.from_html("torch", body, base_url=URL).packages
    for one, other in zip(ours, theirs, strict=True):
        assert (one.filename, one.requires_python, one.metadata) == (
            other.filename,
            other.requires_python,
            bool(other.has_metadata),
        )
        assert one.url == canonical_url(other.url)
        assert one.sha256 == other.digests.get("sha256")
        assert (one.yanked is not None) == other.is_yanked
    assert ours[0].metadata_sha256 == SHA
    assert ours[0].yanked == "broken"


def test_json_is_read_as_pypi_simple_reads_it() -> None:
    data = {
        "meta": {"api-version": "1.1"},
        "name": "torch",
        "versions": ["2.9.0"],
        "files": [
            {
                "filename": "torch-2.9.0+rocm7-py3-none-any.whl",
                "url": "../../files/torch-2.9.0%2Brocm7-py3-none-any.whl",
                "hashes": {"sha256": SHA},
                "size": 5,
                "requires-python": ">=3.10",
                "core-metadata": {"sha256": SHA},
                "yanked": True,
                "upload-time": "2026-01-01T00:00:00Z",
            },
            {"filename": "torch-2.8.tar.gz", "url": "https://o.example/torch-2.8.tar.gz", "hashes": {}, "yanked": False},
        ],
    }
    ours = read_page(page(json.dumps(data), kind="application/vnd.pypi.simple.v1+json")).files
    theirs = pypi_simple.ProjectPage.from_json_data(data, base_url=URL).packages
    for one, other in zip(ours, theirs, strict=True):
        assert (one.filename, one.requires_python, one.size) == (other.filename, other.requires_python, other.size)
        assert one.url == canonical_url(other.url)
        assert (one.yanked is not None) == other.is_yanked
        assert one.metadata == bool(other.has_metadata)


def test_a_name_with_a_path_in_it_is_no_file() -> None:
    data = {"files": [{"filename": "../../torch-1.tar.gz", "url": "x", "hashes": {}}]}
    assert read_page(page(json.dumps(data), kind="application/vnd.pypi.simple.v1+json")).files == ()


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(HipwrightError, match="JSON") as caught:
        read_page(page("<html>", kind="application/json"))
    assert caught.value.code.name == "source-unreachable"


@pytest.mark.parametrize("kind", ["text/html", "application/vnd.pypi.simple.v1+json"])
def test_links_that_are_no_address_or_lead_into_this_machine_are_left_out(kind: str) -> None:
    hrefs = ["http://[bad/a-1-py3-none-any.whl", "file:///etc/a-1-py3-none-any.whl", "ok-1-py3-none-any.whl", "ftp://x/a-1.zip"]
    if kind == "text/html":
        body = '<base href="http://[bad/">' + "".join(f'<a href="{href}">x</a>' for href in hrefs)
    else:
        body = json.dumps({"files": [{"filename": "a-1-py3-none-any.whl", "url": href, "hashes": {}} for href in hrefs]})
    assert [link.url for link in read_page(page(body, kind=kind)).files] == [URL.rpartition("/")[0] + "/ok-1-py3-none-any.whl"]
    # What lies on this machine may lead there.
    assert len(read_page(page(body, url="file:///x/index.html", kind=kind)).files) == 3


def test_a_root_lists_projects_and_no_files() -> None:
    root = read_page(
        page('<a href="torch/">torch</a><a href="/simple/rocm/">rocm</a><a href="../">up</a>', url="https://e/simple/")
    )
    assert (root.files, root.pages) == ((), ("torch", "rocm"))


@pytest.mark.parametrize(
    ("given_url", "wanted"),
    [
        ("https://e/a+b/torch-1+rocm.whl", "https://e/a%2Bb/torch-1%2Brocm.whl"),
        ("https://e/torch-1%2Brocm.whl", "https://e/torch-1%2Brocm.whl"),
        ("https://e/torch-1%252B.whl?sig=a+b", "https://e/torch-1%252B.whl?sig=a+b"),
    ],
)
def test_a_plus_is_always_encoded_once(given_url: str, wanted: str) -> None:
    assert canonical_url(given_url) == wanted
    assert canonical_url(wanted) == wanted


@given(st.text(alphabet="abc+%- .é~'()", min_size=1, max_size=20))
def test_paths_survive_being_addresses(name: str) -> None:
    path = Path("/wheels") / f"a{name}b"
    assert path_of(path.as_uri()) == path
    assert path_of(canonical_url(path.as_uri())) == path


@pytest.mark.parametrize("kind", ["text/html", "application/vnd.pypi.simple.v1+json"])
def test_a_password_in_a_link_is_not_recorded(kind: str) -> None:
    url = "https://me:secret@f.example/torch-2.9.0-py3-none-any.whl"
    data = {"files": [{"filename": "torch-2.9.0-py3-none-any.whl", "url": url, "hashes": {}}]}
    (link,) = read_page(page(f'<a href="{url}">torch</a>' if kind == "text/html" else json.dumps(data), kind=kind)).files
    assert link.url == "https://f.example/torch-2.9.0-py3-none-any.whl"


def test_passwords_are_sent_in_a_header_and_not_in_the_request(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("hello")
    with serve(tmp_path) as server:
        server.password = "me:se cret"  # noqa: S105 - made up here
        url = server.url.replace("//", "//me:se%20cret@")
        response = Network(retries=0).read(f"{url}/")
        assert response is not None
        assert response.body == b"hello"
        with pytest.raises(HipwrightError, match="401") as caught:
            Network(retries=0).read(server.url.replace("//", "//me:wrong@"))
    assert "wrong" not in caught.value.message
    assert "USER:PASSWORD" in (caught.value.hint or "")
    assert all("cret" not in target for target in server.seen)


def test_a_password_is_known_for_its_server_and_sent_to_no_other(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    with serve(tmp_path) as own, serve(tmp_path) as other:
        own.password = "me:secret"  # noqa: S105 - made up here
        network = Network(retries=0).knowing((own.url.replace("//", "//me:secret@"), "https://[bad@"))
        assert "secret" not in repr(network)
        assert network.read(f"{own.url}/x") is not None
        assert network.read(f"{other.url}/x") is not None
        other.moved["/to-own"] = f"{own.url}/x"
        own.moved["/to-other"] = f"{other.url}/x"
        own.moved["/to-own"] = "/x"
        for url in (f"{other.url}/to-own", f"{own.url}/to-own"):
            assert network.read(url) is not None
        with network.stream(f"{own.url}/to-other") as stream:
            assert stream.read() == b"x"
    assert other.told == [None, None, None]
    assert set(own.told) == {"me:secret"}


def test_a_password_in_an_address_stays_with_its_server_on_a_redirect(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    with serve(tmp_path) as own, serve(tmp_path) as other:
        own.password = "me:secret"  # noqa: S105 - made up here
        own.moved |= {"/near": "/x", "/far": f"{other.url}/x"}
        for path in ("near", "far"):
            answer = Network(retries=0).read(f"{own.url.replace('//', '//me:secret@')}/{path}")
            assert answer is not None
            assert "secret" not in answer.url
    assert other.told == [None]
    assert own.told == ["me:secret"] * 3


def test_a_circle_of_redirects_is_told_in_one_line(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        server.moved |= {"/a": "/b", "/b": "/a"}
        with pytest.raises(HipwrightError, match="the server answers 302") as caught:
            Network(retries=0).read(f"{server.url}/a")
    assert "\n" not in caught.value.message


def test_a_transient_failure_is_tried_again_and_a_lasting_one_is_told(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        server.answers["/x"] = [(503, "text/plain", b""), (200, "text/html", b"ok")]
        response = Network(pause=0).read(f"{server.url}/x")
        assert response is not None
        assert response.body == b"ok"
        server.answers["/y"] = [(500, "text/plain", b"")]
        with pytest.raises(HipwrightError, match="500") as caught:
            Network(pause=0).read(f"{server.url}/y")
        assert server.seen.count("/y") == 3
    assert caught.value.code.name == "source-unreachable"


def test_what_is_not_there_is_none_and_no_server_is_an_error(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        assert Network().read(f"{server.url}/missing/") is None
    with pytest.raises(HipwrightError) as caught:
        Network(retries=0).read(f"{server.url}/missing/")
    assert caught.value.code.name == "source-unreachable"


def test_a_proxy_is_used_but_for_the_hosts_that_it_is_not_for(tmp_path: Path) -> None:
    with serve(tmp_path) as proxy, serve(tmp_path) as server:
        proxy.answers["/x"] = [(200, "text/html", b"by proxy")]
        server.answers["/x"] = [(200, "text/html", b"direct")]
        through = Network(proxies={"http": proxy.url}).read(f"{server.url}/x")
        direct = Network(proxies={"http": proxy.url}, no_proxy="127.0.0.1").read(f"{server.url}/x")
    assert through is not None
    assert direct is not None
    assert (through.body, direct.body) == (b"by proxy", b"direct")
