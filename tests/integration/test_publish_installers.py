"""Real installers take a wheel with ``+`` in its version, the highest build of it, from what was published, and a strict parser reads it.

Over files and HTTP, by index and by flat page; the oldest pip is that of the oldest Python that wheels are built for.

From a bucket they take it with no server before it, where its keys may end in ``/``; the real S3 server drops what lies under such keys,
so that one behaviour is proved on the twin, and all else on the real one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import html
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uv
from pypi_simple import PyPISimple

from build_tools.index.people import INDEX_ADDRESS
from build_tools.publish.current import read_current, swap
from build_tools.publish.pages import publish_pages
from build_tools.publish.upload import publish_wheels
from build_tools.receipts.snapshot import Snapshot
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.front import front
from tests.support.publishing import PUBLISHED, Crash, MeddledStore, write_wheel
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.receipts.values import WheelFile
    from tests.support.s3 import S3Server

VERSION = "2.9.0+rocm7.1"
PREFIX = "7-linux/pytorch/gfx94X-dcgpu"


@functools.cache
def older_pip() -> list[str]:
    """Return the command line of the pip that an older interpreter brings along, unpacked: out of its wheel it is compiled each time."""
    code = "import ensurepip, pathlib; print(*pathlib.Path(ensurepip.__file__).with_name('_bundled').glob('pip-*.whl'))"
    beside = sorted(map(str, Path(sys.base_prefix).parent.glob("3.10*/bin/python3.10")))
    # The last is any interpreter at all: the pip that comes with one is years older than the newest.
    for python in (*beside, "python3.10", sys.executable):
        with contextlib.suppress(OSError):
            done = subprocess.run([python, "-c", code], check=False, capture_output=True, text=True)
            if done.returncode == 0 and done.stdout.strip():
                folder = tempfile.mkdtemp(prefix="older-pip-")
                atexit.register(shutil.rmtree, folder, ignore_errors=True)
                with zipfile.ZipFile(done.stdout.strip()) as wheel:
                    wheel.extractall(folder)
                return [python, f"{folder}/pip"]
    pytest.skip("no interpreter here brings a pip of its own")


def install(
    tool: str, options: Sequence[str], target: Path, requirement: str = f"demo-kit=={VERSION}"
) -> subprocess.CompletedProcess[str]:
    """Install ``demo-kit`` into a folder, with nothing but the source that the options name."""
    if tool != "uv":
        program = older_pip() if tool == "older pip" else [sys.executable, "-m", "pip"]
        argv = [*program, "install", "--isolated", "--no-cache-dir", "--disable-pip-version-check"]
    else:
        argv = [uv.find_uv_bin(), "pip", "install", "--no-config", "--no-cache", "--offline", "--python", sys.executable]
        if any("http://" in option for option in options):
            argv.remove("--offline")
    kept = ("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
    return subprocess.run(
        [*argv, "--no-deps", "--target", str(target), *options, requirement],
        check=False,
        capture_output=True,
        text=True,
        env={name: os.environ[name] for name in kept if name in os.environ},
    )


def demo_wheels(folder: Path) -> list[tuple[Path, WheelFile]]:
    """Write three builds of one version, whose numbers are in another order than their letters, and neighbours of it."""
    return [
        write_wheel(folder, "demo_kit", VERSION, text="before any build number"),
        write_wheel(folder, "demo_kit", VERSION, text="the ninth build", build="9-"),
        write_wheel(folder, "demo_kit", VERSION, text="the right one", build="10-"),
        write_wheel(folder, "demo_kit", "2.9.0+rocm7.10", text="a neighbour"),
        write_wheel(folder, "demo_kit_more", VERSION),
    ]


def by_index(url: str) -> list[str]:
    return ["--index-url", url]


def by_page(url: str) -> list[str]:
    return ["--no-index", "--find-links", url]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PublishedIndex]:
    folder = tmp_path_factory.mktemp("store")
    built = demo_wheels(tmp_path_factory.mktemp("wheels"))
    index = publish_wheels(built, store=FolderStore(folder), prefix=PREFIX, replace=False, say=lambda _line: None)
    return folder, index


@pytest.mark.parametrize(
    ("tool", "form", "way"),
    [
        # What is not here, pip by an index over HTTP, is below.
        ("pip", "index", "file"),
        ("pip", "page", "http"),
        ("older pip", "index", "http"),
        ("older pip", "page", "file"),
        ("uv", "index", "file"),
        ("uv", "index", "http"),
        ("uv", "page", "file"),
        ("uv", "page", "http"),
    ],
)
def test_an_installer_takes_the_wheel(tmp_path: Path, store: tuple[Path, PublishedIndex], tool: str, form: str, way: str) -> None:
    folder, index = store
    with serving(folder, plus_is_space=True) as url:
        place = {"file": f"{folder.as_uri()}/", "http": url}[way]
        options = by_index(f"{place}{PREFIX}/simple/") if form == "index" else by_page(f"{place}{PREFIX}/index.html")
        if way == "file":
            assert options[-1] == (index.index_url if form == "index" else index.find_links_url)
        done = install(tool, options, tmp_path / "target")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "target" / "demo_kit.py").read_text() == f"VERSION = {VERSION!r}\nTEXT = 'the right one'\n"


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_the_command_on_the_page_for_people_installs(tmp_path: Path, store: tuple[Path, PublishedIndex], tool: str) -> None:
    folder, _ = store
    with serving(folder, plus_is_space=True) as url:
        page = (folder / PREFIX / "packages.html").read_text(encoding="utf-8")
        lines = html.unescape(re.sub(r"<[^>]*>", "", "\n".join(re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)))).splitlines()
        (line,) = [line for line in lines if line.startswith(f"{tool} ") and INDEX_ADDRESS in line]
        words = [word.replace(INDEX_ADDRESS, f"{url}{PREFIX}/index.html") for word in shlex.split(line)]
        options = words[words.index("install") + 1 :]
        # Of the two versions it names the one for the newest ROCm.
        assert options[-1] == "demo-kit==2.9.0+rocm7.10"
        # The one that installs here says that itself, and uv takes it once.
        options = [option for option in options if option != "--no-deps"]
        done = install(tool, options[:-1], tmp_path / "target", options[-1])
    assert done.returncode == 0, done.stderr
    assert "a neighbour" in (tmp_path / "target" / "demo_kit.py").read_text()


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_an_installer_refuses_bytes_that_the_page_does_not_promise(tmp_path: Path, tool: str) -> None:
    (tmp_path / "store").mkdir()
    wheel = write_wheel(tmp_path / "wheels", "demo_kit", VERSION)
    index = publish_wheels([wheel], store=FolderStore(tmp_path / "store"), prefix="", replace=False, say=lambda _line: None)
    write_wheel(tmp_path / "store" / "dist", "demo_kit", VERSION, text="changed behind the index's back")
    done = install(tool, by_index(index.index_url), tmp_path / "target")
    assert done.returncode != 0
    assert "hash" in (done.stderr + done.stdout).lower()


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_a_publisher_that_died_while_superseding_leaves_what_was_there_installable(tmp_path: Path, tool: str) -> None:
    (tmp_path / "store").mkdir()
    store = FolderStore(tmp_path / "store")
    old = write_wheel(tmp_path / "old", "demo_kit", VERSION, text="first attempt")
    newer = write_wheel(tmp_path / "new", "demo_kit", VERSION, text="second attempt")
    index = publish_wheels([old], store=store, prefix="", replace=False, say=lambda _line: None)

    def die(_number: int, key: str) -> None:
        if key == "simple/demo-kit/index.html":
            raise Crash

    with pytest.raises(Crash):
        publish_wheels([newer], store=MeddledStore(store, before=die), prefix="", replace=True, say=lambda _line: None)
    assert install(tool, by_index(index.index_url), tmp_path / "before").returncode == 0
    assert "first attempt" in (tmp_path / "before" / "demo_kit.py").read_text()
    publish_wheels([newer], store=store, prefix="", replace=True, say=lambda _line: None)
    assert install(tool, by_index(index.index_url), tmp_path / "after").returncode == 0
    assert "second attempt" in (tmp_path / "after" / "demo_kit.py").read_text()


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """An index in a bucket that anybody may read, by the address of its folder at the server itself."""

    address: str
    slash_keys: bool


@pytest.fixture(scope="module")
def in_twin(s3_twin: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Bucket:
    return bucket_with_index(s3_twin, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def in_server(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Bucket:
    return bucket_with_index(s3_server, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def behind_front(in_server: Bucket, s3_server: S3Server) -> Iterator[str]:
    """Return the address of the index in the real server behind one that knows folders."""
    with front(s3_server.endpoint, seen=[]) as url:
        yield in_server.address.replace(s3_server.endpoint, url)


def bucket_with_index(server: S3Server, wheels: Path) -> Bucket:
    bucket = server.bucket(public=True)
    store = server.store(bucket)
    publish_wheels(demo_wheels(wheels), store=store, prefix=PREFIX, replace=False, say=lambda _line: None)
    return Bucket(address=f"{server.endpoint}/{bucket}/{PREFIX}", slash_keys=store.abilities.slash_keys)


@pytest.mark.parametrize("tool", ["pip", "older pip", "uv"])
@pytest.mark.parametrize("root", ["simple", "simple-json"])
def test_an_installer_takes_the_wheel_right_from_a_bucket_that_keeps_slash_keys(
    tmp_path: Path, in_twin: Bucket, tool: str, root: str
) -> None:
    assert in_twin.slash_keys
    done = install(tool, by_index(f"{in_twin.address}/{root}/"), tmp_path / "target")
    assert done.returncode == 0, done.stderr
    assert "the right one" in (tmp_path / "target" / "demo_kit.py").read_text()


@pytest.mark.parametrize("tool", ["pip", "older pip", "uv"])
def test_an_installer_takes_the_wheel_right_from_a_bucket_by_its_flat_page(tmp_path: Path, in_server: Bucket, tool: str) -> None:
    assert not in_server.slash_keys
    done = install(tool, by_page(f"{in_server.address}/index.html"), tmp_path / "target")
    assert done.returncode == 0, done.stderr
    assert "the right one" in (tmp_path / "target" / "demo_kit.py").read_text()


@pytest.mark.parametrize("tool", ["pip", "older pip", "uv"])
def test_an_installer_takes_the_wheel_from_the_real_server_behind_one_that_knows_folders(
    tmp_path: Path, behind_front: str, tool: str
) -> None:
    done = install(tool, by_index(f"{behind_front}/simple/"), tmp_path / "target")
    assert done.returncode == 0, done.stderr
    assert "the right one" in (tmp_path / "target" / "demo_kit.py").read_text()


@pytest.mark.parametrize(("where", "root"), [("twin", "simple"), ("twin", "simple-json"), ("server", "simple")])
def test_a_strict_parser_reads_the_index_and_proves_what_it_takes(
    tmp_path: Path, in_twin: Bucket, behind_front: str, where: str, root: str
) -> None:
    address = in_twin.address if where == "twin" else behind_front
    with PyPISimple(f"{address}/{root}/") as client:
        assert client.get_index_page().projects == ["demo-kit", "demo-kit-more"]
        page = client.get_project_page("Demo_Kit")
        assert [package.filename for package in page.packages if package.version == VERSION] == [
            f"demo_kit-{VERSION}-{build}py3-none-any.whl" for build in ("10-", "9-", "")
        ]
        assert {(package.requires_python, package.is_yanked, package.has_metadata) for package in page.packages} == {
            (">=3.8", False, True)
        }
        (package,) = [one for one in page.packages if "-10-" in one.filename]
        client.download_package(package, tmp_path / package.filename, verify=True)
        assert f"Version: {VERSION}" in client.get_package_metadata(package, verify=True)
    with zipfile.ZipFile(tmp_path / package.filename) as wheel:
        assert b"the right one" in wheel.read("demo_kit.py")


def test_a_project_that_left_the_index_answers_with_404_in_a_bucket(tmp_path: Path, s3_twin: S3Server) -> None:
    bucket = s3_twin.bucket(public=True)
    store, place = s3_twin.store(bucket), IndexFolder(PREFIX)
    built = [write_wheel(tmp_path, "demo_kit", VERSION), write_wheel(tmp_path, "other")]
    index = publish_wheels(built, store=store, prefix=PREFIX, replace=False, say=lambda _line: None)
    after = Snapshot(files=tuple(file for file in index.files if file.project == "other"))
    assert swap(store, place, before=read_current(store, place), after=after, change=PUBLISHED)
    publish_pages(store, place, say=lambda _line: None)
    address = f"{s3_twin.endpoint}/{bucket}/{PREFIX}"
    for page in ("simple/demo-kit/", "simple/demo-kit/index.html", "simple-json/demo-kit/", "simple-json/demo-kit/index.json"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}/{page}")  # noqa: S310 - loopback
        caught.value.close()
        assert caught.value.code == 404
    with urllib.request.urlopen(f"{address}/simple/") as root:  # noqa: S310 - loopback
        assert root.headers["Content-Type"] == "text/html; charset=utf-8"
        assert b"demo-kit" not in root.read()
    assert install("uv", by_index(f"{address}/simple/"), tmp_path / "target").returncode != 0
