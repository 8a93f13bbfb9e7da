"""The archive of development files: whatever is in it, nothing outside of its folder is written, read through or led to."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_tools.rocm.payload.rocm_sdk import _links
from build_tools.rocm.payload.rocm_sdk._errors import BadArchiveError, SdkError
from build_tools.rocm.payload.rocm_sdk._extract import Tree, unpack
from build_tools.rocm.payload.rocm_sdk._links import Linker

TOP = "_rocm_sdk_devel"
CORE = "_rocm_sdk_core"
Member = tuple[str, bytes, str]
"""A member's name, its type, and where it leads or what it holds."""


def archive(*members: Member) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as out:
        for name, kind, text in members:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            if kind in {tarfile.SYMTYPE, tarfile.LNKTYPE}:
                entry.linkname = text
            elif kind == tarfile.REGTYPE:
                entry.size = len(text.encode())
            out.addfile(entry, io.BytesIO(text.encode()))
    return whole.getvalue()


def file(path: str, text: str = "text") -> Member:
    return (f"{TOP}/{path}", tarfile.REGTYPE, text)


def link(path: str, leads: str) -> Member:
    return (f"{TOP}/{path}", tarfile.SYMTYPE, leads)


def expand(site: Path, data: bytes, *, sha256: str | None = None, symbolic: bool = True) -> Path:
    (site / CORE / "lib").mkdir(parents=True, exist_ok=True)
    (site / CORE / "lib" / "libhip.so.7").write_bytes(b"the runtime")
    (site / "outside").write_bytes(b"outside")
    packed = site / "_devel.tar"
    packed.write_bytes(data)
    made = site / ".new"
    made.mkdir()
    tree = Tree()
    unpack(packed, made, tree, sha256=sha256 or hashlib.sha256(data).hexdigest(), top=TOP, siblings=frozenset({TOP, CORE}))
    Linker(into=made, name=TOP, siblings={CORE: site / CORE}, symbolic=symbolic).make_all(tree.links)
    return made.rename(site / TOP)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([("/etc/passwd", tarfile.REGTYPE, "")], "does not lie in _rocm_sdk_devel"),
        ([(f"{TOP}/../outside", tarfile.REGTYPE, "")], "does not lie in _rocm_sdk_devel"),
        ([("_rocm_sdk_core/lib/x", tarfile.REGTYPE, "")], "does not lie in _rocm_sdk_devel"),
        ([(f"{TOP}evil/x", tarfile.REGTYPE, "")], "does not lie in _rocm_sdk_devel"),
        ([(TOP, tarfile.REGTYPE, "")], "is no file, folder or link"),
        ([(f"{TOP}/x\\..\\y", tarfile.REGTYPE, "")], "does not lie in _rocm_sdk_devel"),
        ([file(".rocm_sdk.files")], "has a name that is kept for what is noted of the tree"),
        (
            [link(".rocm_sdk.pending", "../_rocm_sdk_core/lib/libhip.so.7")],
            "has a name that is kept for what is noted of the tree",
        ),
        ([link("x", "/etc/passwd")], "leads to '/etc/passwd'"),
        ([link("x", "../outside")], "leads to '../outside'"),
        ([link("x", "../../outside")], "leads to '../../outside'"),
        ([link("x", "..")], "leads to '..'"),
        ([(f"{TOP}/x", tarfile.LNKTYPE, f"{TOP}/y")], "is no file, folder or link"),
        ([(f"{TOP}/x", tarfile.FIFOTYPE, "")], "is no file, folder or link"),
        ([(f"{TOP}/x", tarfile.CHRTYPE, "")], "is no file, folder or link"),
        ([file("x\ty")], "does not lie in _rocm_sdk_devel"),
        ([file("x"), file("x")], "is there twice"),
        ([file("x"), link("x", "y")], "is there twice"),
        ([file("x"), file("x/y")], "needs the folder x"),
        ([file("x/y"), file("x")], "has the name of another"),
        ([link("lib64", "lib"), link("lib64/x", "y"), file("lib/y")], "lies below a link"),
        ([link("out", f"../{CORE}"), file("out/x")], "has the name of something else"),
    ],
)
def test_what_would_lead_out_is_refused(members: list[Member], said: str, tmp_path: Path) -> None:
    with pytest.raises(BadArchiveError, match=r"is refused: ") as error:
        expand(tmp_path, archive(*members))
    assert said in str(error.value)
    assert (tmp_path / "outside").read_bytes() == b"outside"


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArchiveError, match="is damaged: its sha256 is"):
        expand(tmp_path, archive(file("x")), sha256="0" * 64)


def test_bytes_after_the_end_count(tmp_path: Path) -> None:
    data = archive(file("x"))
    with pytest.raises(BadArchiveError, match="is damaged"):
        expand(tmp_path, data + b"more", sha256=hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("cut", [1, 300, 700, 1100])
def test_a_short_archive_is_refused(cut: int, tmp_path: Path) -> None:
    data = archive(file("x", "t" * 900))
    with pytest.raises(BadArchiveError, match=r"cannot be read|is damaged"):
        expand(tmp_path, data[:cut], sha256=hashlib.sha256(data).hexdigest())


def test_a_file_that_another_package_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_links, "reinstall_line", lambda: "pip install it")
    with pytest.raises(SdkError, match=r"need _rocm_sdk_core/lib/gone\.so, which the package does not have; .*: pip install it"):
        expand(tmp_path, archive(link("lib/gone.so", f"../../{CORE}/lib/gone.so")))


def test_a_text_that_leads_astray_is_not_kept(tmp_path: Path) -> None:
    """``b/..`` is the tree by its text, and the folder of all packages where ``b`` leads: the link is made of the former."""
    tree = expand(tmp_path, archive(link("b", f"../{CORE}"), link("a", "b/.."), file("x")))
    assert (tree / "a").resolve() == tree.resolve()


@pytest.mark.parametrize("symbolic", [True, False])
def test_links_are_made_for_each_system(symbolic: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of the test
    members = [
        link("lib/libhip.so", "libhip.so.7"),
        link("lib/libhip.so.7", f"../../{CORE}/lib/libhip.so.7"),
        link("lib64", "lib"),
        link("bin/cc", "../lib/clang"),
        link("dangling", "nowhere"),
        file("lib/clang", "program"),
    ]
    tree = expand(tmp_path, archive(*members), symbolic=symbolic)
    assert (tree / "lib/libhip.so.7").samefile(tmp_path / CORE / "lib/libhip.so.7")
    assert not (tree / "lib/libhip.so.7").is_symlink()
    assert (tree / "lib/libhip.so").read_bytes() == b"the runtime"
    assert (tree / "bin/cc").is_symlink() == symbolic
    assert (tree / "bin/cc").samefile(tree / "lib/clang")
    assert not os.path.lexists(tree / "dangling")
    if symbolic:
        assert (tree / "lib64/clang").samefile(tree / "lib/clang")


PARTS = st.sampled_from(["a", "b", "c", "..", ".", "", TOP, CORE, "lib", "/", "x\\y"])
PATHS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)
MEMBERS = st.tuples(
    st.one_of(PATHS, PATHS.map(lambda path: f"{TOP}/{path}")),
    st.sampled_from([tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.LNKTYPE]),
    PATHS,
)


@settings(deadline=None, max_examples=150)
@given(st.lists(MEMBERS, max_size=6), st.booleans())
def test_no_archive_gets_out(members: list[Member], symbolic: bool) -> None:  # noqa: FBT001 - a parameter of the test
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        site.mkdir()
        with contextlib.suppress(SdkError, OSError):
            expand(site, archive(*members), symbolic=symbolic)
        assert (site / "outside").read_bytes() == b"outside"
        core = {path.relative_to(site / CORE).as_posix() for path in (site / CORE).rglob("*")}
        assert core == {"lib", "lib/libhip.so.7"}
        assert {path.name for path in site.iterdir()} <= {"outside", CORE, TOP, ".new", "_devel.tar"}
        allowed = [(site / name).resolve() for name in (TOP, CORE)]
        if (site / TOP).exists():
            for path in (site / TOP).rglob("*"):
                assert any(path.resolve().is_relative_to(root) for root in allowed), path
