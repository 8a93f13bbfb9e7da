from __future__ import annotations

import html
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypi_simple import IndexPage, ProjectPage

from build_tools import digest
from build_tools.index.compare import expected_files, index_differences, keys_of_index
from build_tools.index.plan import pages
from build_tools.index.snapshots import by_project, versions_of
from build_tools.index.strict import (
    SeenFile,
    read_flat_page,
    read_html_project,
    read_html_root,
    read_json_project,
    read_json_root,
)
from build_tools.receipts.snapshot import IndexedFile, Snapshot
from build_tools.types import ObjectKey, Sha256
from tests.support.snapshots import SNAPSHOTS

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = "https://index.invalid/some/where/"
A, B = "a" * 64, "b" * 64
NAME = "demo-1.0+rocm7.1-py3-none-any.whl"
LINK = f"../../dist/{NAME.replace('+', '%2B')}#sha256={A}"


def without_what_html_lacks(files: tuple[SeenFile, ...]) -> list[SeenFile]:
    return [
        SeenFile(
            filename=file.filename,
            url=file.url,
            sha256=file.sha256,
            requires_python=file.requires_python,
            metadata_sha256=file.metadata_sha256,
            yanked=file.yanked,
        )
        for file in files
    ]


@settings(deadline=None)
@given(SNAPSHOTS)
def test_pages_that_are_made_are_read_back_without_a_fault(snapshot: Snapshot) -> None:
    plan = pages(snapshot)
    for project, rows in by_project(snapshot).items():
        wanted = expected_files(rows, url=HERE)
        key = f"simple/{project}/index.html"
        in_html = read_html_project(plan[ObjectKey(key)].body, url=HERE + key)
        assert (in_html.faults, list(in_html.files)) == ((), without_what_html_lacks(wanted))
        key = f"simple-json/{project}/index.json"
        in_json = read_json_project(plan[ObjectKey(key)].body, project=project, url=HERE + key)
        assert (in_json.faults, in_json.files, in_json.versions) == ((), wanted, versions_of(rows))
    flat = read_flat_page(plan[ObjectKey("index.html")].body, url=HERE + "index.html")
    assert (flat.faults, list(flat.files)) == ((), without_what_html_lacks(expected_files(snapshot.files, url=HERE)))


@settings(deadline=None)
@given(SNAPSHOTS, st.booleans())
def test_a_whole_index_that_is_made_differs_in_nothing(snapshot: Snapshot, slash_keys: bool) -> None:  # noqa: FBT001
    fetched: dict[str, bytes] = {key: page.body for key, page in pages(snapshot, slash_keys=slash_keys).items()}
    slashed = ("simple", "simple-json") if slash_keys else ()
    assert index_differences(snapshot, fetched, url=HERE, slashed=slashed) == ()
    assert set(keys_of_index(snapshot, slashed=slashed)) == fetched.keys()


@settings(deadline=None)
@given(SNAPSHOTS)
def test_the_fields_own_reader_sees_the_same(snapshot: Snapshot) -> None:
    plan = pages(snapshot)
    root = plan[ObjectKey("simple/index.html")].body
    assert list(read_html_root(root, url=HERE + "simple/").projects) == IndexPage.from_html(root).projects
    for project in by_project(snapshot):
        data = plan[ObjectKey(f"simple/{project}/index.html")].body
        url = f"{HERE}simple/{project}/"
        theirs = ProjectPage.from_html(project, data, base_url=url).packages
        ours = read_html_project(data, url=url).files
        assert [(one.filename, one.url, one.requires_python, one.is_yanked) for one in theirs] == [
            (one.filename, one.url, one.requires_python, one.yanked is not None) for one in ours
        ]
        assert [one.digests["sha256"] for one in theirs if one.digests] == [one.sha256 for one in ours]


@given(st.text() | st.text(alphabet="<>a/ =\"'&;![]-#x3f\n?").map(lambda text: f"<!DOCTYPE html>{text}"))
def test_no_page_makes_the_readers_fail(text: str) -> None:
    read_html_root(text.encode(), url=HERE)
    read_html_project(text.encode(), url=HERE)
    read_json_root(text.encode(), url=HERE)
    read_json_project(text.encode(), project="demo", url=HERE)


@given(st.binary(max_size=60))
def test_no_bytes_make_the_readers_fail(data: bytes) -> None:
    read_html_project(data, url=HERE)
    assert read_json_project(data, project="demo", url=HERE).faults


def page(link: str, *, before: str = "<!DOCTYPE html>", version: str = "1.1") -> bytes:
    meta = f'<meta name="pypi:repository-version" content="{version}">' if version else ""
    return f'{before}<html lang="en"><head>{meta}<title>x</title></head><body>{link}</body></html>'.encode()


def faults_of(link: str, **more: str) -> tuple[str, ...]:
    return read_html_project(page(link, **more), url=f"{HERE}simple/demo/").faults


def test_a_page_as_the_specifications_have_it_is_faultless() -> None:
    assert faults_of(f'<a href="{LINK}" data-yanked>{NAME}</a><br>') == ()
    assert faults_of(f'<A HREF="{LINK}" data-requires-python="&gt;=3.8" data-yanked="a &amp; b">{NAME}</A>', version="1.4") == ()
    assert (
        faults_of(f'<a href="{LINK}" data-core-metadata="sha256={B}">{NAME}</a>', before="<!doctype html>\n<!-- hello -->") == ()
    )


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (f'<a href="{LINK}">another.whl</a>', "of another name"),
        (f'<a href="{LINK}">{NAME} </a>', "of another name"),
        (f'<a href="{LINK}"> {NAME}</a>', "of another name"),
        (f'<a href="{LINK.replace("%2B", "+")}">{NAME}</a>', "a + in its address"),
        (f'<a href="{LINK.partition("#")[0]}">{NAME}</a>', "no #sha256="),
        (f'<a href="{LINK.replace("sha256=", "")}">{NAME}</a>', "no #sha256="),
        (f'<a href="{LINK.replace("sha256", "md5")}">{NAME}</a>', "no #sha256="),
        (f'<a href="{LINK[:-1]}">{NAME}</a>', "no #sha256="),
        (f'<a href="{LINK[:-1]}A">{NAME}</a>', "no #sha256="),
        (f"<a>{NAME}</a>", "no href"),
        (f'<a href="{LINK}" data-requires-python=">=3.8">{NAME}</a>', "< or >"),
        (f'<a href="{LINK}" data-yanked="a & b">{NAME}</a>', "an & in an attribute"),
        (f'<a href="{LINK}" data-yanked="a\nb">{NAME}</a>', "control character"),
        (f'<a href="{LINK}" data-requires-python="three">{NAME}</a>', "no specifier"),
        (f'<a href="{LINK}" data-core-metadata="true">{NAME}</a>', "without its sha256"),
        (f'<a href="{LINK}" data-core-metadata="{B}">{NAME}</a>', "without its sha256"),
        (f'<a href="{LINK}" data-dist-info-metadata="sha256={B}">{NAME}</a>', "without data-core-metadata"),
        (f'<a href="{LINK}" data-core-metadata="sha256={A}" data-dist-info-metadata="sha256={B}">{NAME}</a>', "other digests"),
        (f'<a href="{LINK}" data-gpg-sig="false">{NAME}</a>', "data-gpg-sig"),
        (f'<a href="{LINK}" href="other">{NAME}</a>', "twice"),
        (f'<a href="{LINK}" data-yanked="a""b">{NAME}</a>', "not written as HTML5"),
        (f'<a href="{LINK}">{NAME}</a><a href="{LINK}">{NAME}</a>', "2 times"),
        (f'<a href="{LINK}">{NAME}</a></br>', "did not begin"),
        (f'<a href="{LINK}">{NAME}', "has no end"),
        (f'<a href="{LINK}">{NAME}<a href="{LINK}">{NAME}</a></a>', "a link within a link"),
        (f'<base href="/elsewhere/"><a href="{LINK}">{NAME}</a>', "base element"),
    ],
)
def test_a_link_that_breaks_a_rule_is_told(link: str, said: str) -> None:
    found = faults_of(link)
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"before": ""}, "does not begin with <!DOCTYPE html>"),
        ({"before": "<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 4.01//EN'>"}, "not that of HTML5"),
        ({"before": "text<!DOCTYPE html>"}, "not that of HTML5"),
        ({"version": ""}, "states no version"),
        ({"version": "2.0"}, "none that is known"),
        ({"version": "1"}, "none that is known"),
    ],
)
def test_a_page_that_breaks_a_rule_is_told(more: dict[str, str], said: str) -> None:
    found = faults_of(f'<a href="{LINK}">{NAME}</a>', **more)
    assert any(said in fault for fault in found), found


def test_a_page_in_another_encoding_is_told() -> None:
    assert "not in UTF-8" in read_html_project(page("\xe9").decode().encode("latin-1"), url=HERE).faults[0]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ('<a href="Demo/">Demo</a>', "not in normal form"),
        ('<a href="demo_kit/">demo_kit</a>', "not in normal form"),
        ('<a href="demo">demo</a>', "does not end in demo/"),
        ('<a href="other/">demo</a>', "does not end in demo/"),
        ('<a href="demo/">demo</a><a href="demo/">demo</a>', "twice"),
    ],
)
def test_a_root_that_breaks_a_rule_is_told(link: str, said: str) -> None:
    found = read_html_root(page(link), url=f"{HERE}simple/").faults
    assert any(said in fault for fault in found), found


def row(**more: object) -> dict[str, object]:
    return {"filename": NAME, "url": LINK.partition("#")[0], "hashes": {"sha256": A}, "size": 1, **more}


def json_page(*rows: dict[str, object], **more: object) -> bytes:
    return msgspec.json.encode(
        {"meta": {"api-version": "1.1"}, "name": "demo", "versions": ["1.0+rocm7.1"], "files": list(rows), **more}
    )


def json_faults(data: bytes) -> tuple[str, ...]:
    return read_json_project(data, project="demo", url=f"{HERE}simple-json/demo/").faults


def test_json_as_the_specifications_have_it_is_faultless() -> None:
    data = json_page(
        row(**{"upload-time": "2026-01-02T03:04:05.123456Z", "core-metadata": {"sha256": B}, "yanked": True, "new": 1})
    )
    assert json_faults(data) == ()
    (file,) = read_json_project(data, project="demo", url=f"{HERE}simple-json/demo/").files
    assert file == SeenFile(
        filename=NAME,
        url=f"{HERE}dist/{NAME.replace('+', '%2B')}",
        sha256=Sha256(A),
        metadata_sha256=Sha256(B),
        yanked="",
        size=1,
        uploaded="2026-01-02T03:04:05.123456Z",
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a project's page"),
        (b"[]", "not a project's page"),
        (b"[" * 100_000, "not a project's page"),
        (json_page(row(), name="Demo"), "names the project 'Demo'"),
        (json_page(row(), versions=["1.0", "1.0"]), "a version twice"),
        (json_page(row(), versions=["01.0"]), "none in normal form"),
        (json_page(row(), meta={"api-version": "2.0"}), "none that is known"),
        (json_page(row(), meta={}), "api-version"),
        (json_page(row(size=-1)), "size"),
        (json_page({key: value for key, value in row().items() if key != "size"}), "size"),
        (json_page(row(hashes={})), "sha256"),
        (json_page(row(hashes={"sha256": "A" * 64})), "sha256"),
        (json_page(row(url=LINK)), "a fragment"),
        (json_page(row(url=f"../../dist/{NAME}")), "a + in its address"),
        (json_page(row(filename="other.whl")), "of another name"),
        (json_page(row(yanked="")), "an empty reason"),
        (json_page(row(**{"upload-time": "2026-01-02 03:04:05"})), "PEP 700"),
        (json_page(row(**{"upload-time": "2026-01-02T03:04:05+00:00"})), "PEP 700"),
        (json_page(row(**{"core-metadata": True})), "without its sha256"),
        (json_page(row(**{"dist-info-metadata": {"sha256": B}})), "PEP 714"),
        (json_page(row(**{"requires-python": "three"})), "no specifier"),
        (json_page(row(), row()), "2 times"),
    ],
)
def test_json_that_breaks_a_rule_is_told(data: bytes, said: str) -> None:
    found = json_faults(data)
    assert any(said in fault for fault in found), found


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{}", "not a list of projects"),
        (b'{"meta": {"api-version": "1.0"}, "projects": [{"name": "Demo"}]}', "not in normal form"),
        (b'{"meta": {"api-version": "1.0"}, "projects": [{"name": "a"}, {"name": "a"}]}', "twice"),
    ],
)
def test_a_json_root_that_breaks_a_rule_is_told(data: bytes, said: str) -> None:
    found = read_json_root(data, url=HERE).faults
    assert any(said in fault for fault in found), found


FILE = IndexedFile(
    project="demo",
    filename=NAME,
    key=f"dist/{NAME}",
    version="1.0+rocm7.1",
    sha256=Sha256(A),
    size=12,
    uploaded="2026-01-02T03:04:05Z",
    metadata_sha256=Sha256(B),
    requires_python=">=3.10",
)


def _replaced(**more: object) -> Callable[[dict[str, bytes]], None]:
    def change(fetched: dict[str, bytes]) -> None:
        other = pages(Snapshot(files=(msgspec.structs.replace(FILE, **more),)))
        fetched.update({key: page.body for key, page in other.items()})

    return change


def _edited(key: str, old: str, new: str) -> Callable[[dict[str, bytes]], None]:
    def change(fetched: dict[str, bytes]) -> None:
        assert old.encode() in fetched[key]
        fetched[key] = fetched[key].replace(old.encode(), new.encode())

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fetched: fetched.pop("simple/index.html"), "simple/index.html: it is not there"),
        (lambda fetched: fetched.pop("simple/demo/index.html"), "simple/demo/index.html: it is not there"),
        (lambda fetched: fetched.pop("index.html"), "index.html: it is not there"),
        (lambda fetched: fetched.pop("packages.html"), "packages.html: it is not there"),
        (_edited("packages.html", 'href="dist/', 'href="dust/'), "packages.html: it leads to dust/demo"),
        (_edited("packages.html", 'href="dist/', 'href="dust/'), "packages.html: it shows no file of the project demo"),
        (_edited("packages.html", "</table>", ""), "packages.html: its element table has no end"),
        (_edited("simple/index.html", "demo", "other"), "it lacks the project demo"),
        (_edited("simple-json/index.json", "demo", "other"), "it names the project other, which is not in the index"),
        (
            _edited("simple/demo/index.html", A, digest.of_bytes(b"")),
            f"simple/demo/index.html: it says that the sha256 of {NAME}",
        ),
        (_edited("index.html", A, digest.of_bytes(b"")), f"index.html: it says that the sha256 of {NAME}"),
        (_edited("simple-json/demo/index.json", B, A), "the sha256 of the side file"),
        (
            _edited("simple-json/demo/index.json", '1.0+rocm7.1"\n ]', '1.0"\n ]'),
            "it names the versions 1.0, and there are 1.0+rocm7.1",
        ),
        (_replaced(size=13), "simple-json/demo/index.json: it says that the size"),
        (_replaced(uploaded="2027-01-02T03:04:05Z"), "the upload time"),
        (_replaced(yanked=""), "the yank"),
        (_replaced(requires_python=None), "the required Python"),
        (_replaced(key=f"dist/0123456789abcdef/{NAME}"), "the address"),
        (_replaced(filename=f"x{NAME}", key=f"dist/x{NAME}"), f"it lacks {NAME}"),
        (_replaced(filename=f"x{NAME}", key=f"dist/x{NAME}"), f"it names x{NAME}, which is not in the index"),
    ],
)
def test_what_an_index_says_other_than_its_snapshot_is_told(change: Callable[[dict[str, bytes]], None], said: str) -> None:
    snapshot = Snapshot(files=(FILE,))
    fetched: dict[str, bytes] = {key: page.body for key, page in pages(snapshot).items()}
    change(fetched)
    found = index_differences(snapshot, fetched, url=HERE)
    assert any(said in f"{key}: {fault}" for key, fault in found), found


def test_escapes_are_read_as_what_they_stand_for() -> None:
    reason = "<b> & \"quoted\" 'text' &amp;"
    made = pages(Snapshot(files=(msgspec.structs.replace(FILE, yanked=reason),)))[ObjectKey("simple/demo/index.html")].body
    assert html.escape(reason).encode() in made
    (file,) = read_html_project(made, url=HERE).files
    assert file.yanked == reason
