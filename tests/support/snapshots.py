"""Snapshots of indexes as they can be, for tests that draw them."""

from __future__ import annotations

from hypothesis import strategies as st
from packaging.utils import canonicalize_name
from packaging.version import Version

from build_tools import digest
from build_tools.index.snapshots import merged
from build_tools.receipts.snapshot import IndexedFile, Snapshot

__all__ = ["SNAPSHOTS", "UPLOADED"]

UPLOADED = "2026-01-02T03:04:05Z"

NAMES = st.from_regex(r"[a-z0-9]+(-[a-z0-9]+){0,2}", fullmatch=True).filter(lambda name: canonicalize_name(name) == name)
LOCALS = st.sampled_from(["", "+rocm7.1", "+rocm7.10.0a20260102", "+devrocm7.1.dev0.abc", "+rocm7.1.local0a1b2c3d"])
VERSIONS = st.builds(
    lambda epoch, numbers, pre, local: f"{epoch}{'.'.join(map(str, numbers))}{pre}{local}",
    st.sampled_from(["", "1!"]),
    st.lists(st.integers(0, 20), min_size=1, max_size=3),
    st.sampled_from(["", "a1", "rc2", ".post1", ".dev3"]),
    LOCALS,
)
HASHES = st.integers(0, 2**64).map(lambda number: digest.of_bytes(str(number).encode()))
REASONS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20).map(
    lambda text: " ".join(text.split())
)


@st.composite
def indexed_files(draw: st.DrawFn) -> IndexedFile:
    project, version, sha256 = draw(NAMES), draw(VERSIONS), draw(HASHES)
    tag = draw(
        st.sampled_from(["py3-none-any", "1py3-py3-none-any", "cp311-cp311-manylinux_2_28_x86_64", "cp313-cp313t-win_amd64"])
    )
    filename = f"{project.replace('-', '_')}-{version}-{tag}.whl"
    folder = draw(st.sampled_from(["dist", f"dist/{sha256[:16]}"]))
    return IndexedFile(
        project=project,
        filename=filename,
        key=f"{folder}/{filename}",
        version=str(Version(version)),
        sha256=sha256,
        size=draw(st.integers(0, 2**40)),
        uploaded=UPLOADED,
        metadata_sha256=draw(st.none() | HASHES),
        requires_python=draw(st.sampled_from([None, ">=3.8", "<4,>=3.10", '!=3.9.*,===3"<&x>'])),
        yanked=draw(st.none() | st.just("") | REASONS),
    )


SNAPSHOTS = st.lists(indexed_files(), max_size=8).map(lambda rows: merged(Snapshot(files=()), rows))
