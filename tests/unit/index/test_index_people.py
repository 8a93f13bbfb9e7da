from __future__ import annotations

import html
import re

import pytest
from hypothesis import given, settings

from build_tools.index.anchors import read_document
from build_tools.index.families import family_of, install_sets
from build_tools.index.people import people_page
from build_tools.index.snapshots import by_project, merged
from build_tools.receipts.snapshot import IndexedFile, Snapshot
from build_tools.types import Sha256
from tests.support.snapshots import SNAPSHOTS


def row(project: str, version: str, *, yanked: str | None = None, uploaded: str = "2026-01-02T03:04:05Z") -> IndexedFile:
    name = f"{project.replace('-', '_')}-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
    return IndexedFile(
        project=project,
        filename=name,
        key=f"dist/{name}",
        version=version,
        sha256=Sha256("a" * 64),
        size=3 << 30,
        uploaded=uploaded,
        requires_python=">=3.10",
        yanked=yanked,
    )


def page(*files: IndexedFile) -> str:
    return people_page(by_project(merged(Snapshot(files=()), files))).decode()


def commands(*files: IndexedFile) -> list[str]:
    """Return the command lines that a page shows, as a person reads them."""
    found = "\n".join(re.findall(r"<pre>(.*?)</pre>", page(*files), re.DOTALL))
    return html.unescape(re.sub(r"<[^>]*>", "", found)).splitlines()


@settings(deadline=None)
@given(SNAPSHOTS)
def test_the_page_is_well_formed_whatever_the_files_are(snapshot: Snapshot) -> None:
    document = read_document(people_page(by_project(snapshot)))
    assert document.faults == ()
    assert [fault for anchor in document.anchors for fault in anchor.faults] == []
    links = {anchor.href for anchor in document.anchors}
    assert {"simple/", "simple-json/", "index.html"} <= links
    assert not any(link is None or "+" in link or ":" in link for link in links), "the page does not know where it stands"


@pytest.mark.parametrize(
    ("project", "family"),
    [
        ("rocm-sdk-device-gfx942", "gfx942"),
        ("rocm-sdk-libraries-gfx94x-dcgpu", "gfx94X-dcgpu"),
        ("rocm-sdk-libraries-gfx110x-all", "gfx110X-all"),
        ("amd-torch-device-gfx1201", "gfx1201"),
        ("rocm-sdk-device-gfx9", None),
        ("rocm-sdk-device-gfx9420", None),
        ("rocm-sdk-core", None),
        ("torch", None),
    ],
)
def test_the_family_of_a_distribution_is_in_its_name(project: str, family: str | None) -> None:
    assert family_of(project) == family


def test_each_target_has_its_own_commands_with_what_is_for_all() -> None:
    files = [
        row("torch", "2.9.0+rocm7.1"),
        row("amd-torch-device-gfx942", "2.9.0+rocm7.1"),
        row("amd-torch-device-gfx1201", "2.9.0+rocm7.1"),
    ]
    sets = install_sets(by_project(Snapshot(files=tuple(files))))
    assert [one.family for one in sets] == ["gfx942", "gfx1201"]
    assert sets[0].requirements == ("amd-torch-device-gfx942==2.9.0+rocm7.1", "torch==2.9.0+rocm7.1")
    assert sets[1].requirements == ("amd-torch-device-gfx1201==2.9.0+rocm7.1", "torch==2.9.0+rocm7.1")


def test_a_family_gives_its_targets_what_they_share() -> None:
    names = ("rocm", "rocm-sdk-core", "rocm-sdk-libraries-gfx94x-dcgpu", "rocm-sdk-device-gfx942")
    (one,) = install_sets(by_project(Snapshot(files=tuple(row(name, "7.10.0") for name in names))))
    assert one.family == "gfx942"
    assert one.requirements == tuple(f"{name}==7.10.0" for name in sorted(names))
    (one,) = install_sets(by_project(Snapshot(files=tuple(row(name, "7.10.0") for name in names[:3]))))
    assert (one.family, one.targets) == ("gfx94X-dcgpu", ("gfx942",))


def test_versions_for_two_rocms_are_not_mixed() -> None:
    files = [
        row("rocm", "7.9.0"),
        row("rocm", "7.10.0"),
        row("torch", "2.10.0+rocm7.9.0"),
        row("torch", "2.9.0+rocm7.10.0"),
        row("torch", "2.8.0+rocm7.10.0"),
        row("torchaudio", "2.10.0+rocm7.9.0"),
        row("filelock", "3.0"),
    ]
    (one,) = install_sets(by_project(Snapshot(files=tuple(files))))
    assert one.requirements == ("filelock==3.0", "rocm==7.10.0", "torch==2.9.0+rocm7.10.0")


def test_what_is_yanked_is_not_what_to_install() -> None:
    (one,) = install_sets(by_project(Snapshot(files=(row("demo", "2.0", yanked="broken"), row("demo", "1.0")))))
    assert one.requirements == ("demo==1.0",)
    assert install_sets(by_project(Snapshot(files=(row("demo", "2.0", yanked=""),)))) == ()


def test_the_commands_are_for_pip_and_for_uv_and_take_owned_packages_from_here_alone() -> None:
    assert commands(row("torch", "2.9.0+rocm7.1")) == [
        "pip install --no-deps --no-index --find-links INDEX torch==2.9.0+rocm7.1",
        "pip install torch==2.9.0+rocm7.1",
        "uv pip install --no-deps --no-index --find-links INDEX torch==2.9.0+rocm7.1",
        "uv pip install torch==2.9.0+rocm7.1",
    ]
    assert commands(row("torch", "2.9.0a1"))[2:] == [
        "uv pip install --prerelease allow --no-deps --no-index --find-links INDEX torch==2.9.0a1",
        "uv pip install --prerelease allow torch==2.9.0a1",
    ]
    assert commands(row("torch", "1!2.0"))[1] == "pip install 'torch==1!2.0'"


def test_versions_sizes_tags_and_yanks_are_there() -> None:
    text = page(row("torch", "2.9.0+rocm7.1"), row("torch", "2.8.0", yanked="<b>slow</b> & wrong"))
    assert "<td>2.9.0+rocm7.1</td>" in text
    assert "<td>cp312, &gt;=3.10</td>" in text
    assert "<td>manylinux_2_28_x86_64</td>" in text
    assert "3.0 GiB" in text
    assert "(&lt;b&gt;slow&lt;/b&gt; &amp; wrong)" in text
    assert "<b>slow" not in text


def test_older_versions_are_on_the_projects_page() -> None:
    text = page(*(row("torch", f"2.{number}.0") for number in range(10)))
    assert "2.7.0" in text
    assert "2.6.0" not in text.partition("All projects")[2]
    assert '<a href="simple/torch/index.html">7 older versions</a>' in text


def test_the_last_uploads_come_first_and_long_ones_are_cut() -> None:
    files = [row("torch", f"2.{number}.0", uploaded=f"2026-01-{number + 10}T00:00:00Z") for number in range(8)]
    files += [row(f"part-{number}", "1.0", uploaded="2026-02-01T00:00:00Z") for number in range(40)]
    latest = page(*files).partition("What came last")[2].partition("</dl>")[0]
    assert re.findall(r"<dt>(.*?)</dt>", latest) == [
        "2026-02-01T00:00:00Z",
        *(f"2026-01-{day}T00:00:00Z" for day in (17, 16, 15, 14)),
    ]
    assert latest.count("part_") == 30
    assert "and 10 more" in latest
