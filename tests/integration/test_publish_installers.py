"""Real installers take a wheel with ``+`` in its version from what was published: over files and HTTP, by index and by flat page."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import uv

from build_tools.publish.upload import publish_wheels
from build_tools.stores.local import FolderStore
from tests.support.publishing import Crash, MeddledStore, write_wheel
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.receipts.snapshot import PublishedIndex

VERSION = "2.9.0+rocm7.1"
PREFIX = "7-linux/pytorch/gfx94X-dcgpu"


def install(tool: str, options: Sequence[str], target: Path) -> subprocess.CompletedProcess[str]:
    """Install ``demo-kit`` into a folder, with nothing but the source that the options name."""
    requirement = f"demo-kit=={VERSION}"
    if tool == "pip":
        argv = [sys.executable, "-m", "pip", "install", "--isolated", "--no-cache-dir", "--disable-pip-version-check"]
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


def by_index(url: str) -> list[str]:
    return ["--index-url", url]


def by_page(url: str) -> list[str]:
    return ["--no-index", "--find-links", url]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PublishedIndex]:
    folder = tmp_path_factory.mktemp("store")
    wheels = tmp_path_factory.mktemp("wheels")
    built = [
        write_wheel(wheels, "demo_kit", VERSION, text="the right one"),
        write_wheel(wheels, "demo_kit", "2.9.0+rocm7.10", text="a neighbour"),
        write_wheel(wheels, "demo_kit_more", VERSION),
    ]
    index = publish_wheels(built, store=FolderStore(folder), prefix=PREFIX, replace=False, say=lambda _line: None)
    return folder, index


@pytest.mark.parametrize("tool", ["pip", "uv"])
@pytest.mark.parametrize("form", ["index", "page"])
@pytest.mark.parametrize("way", ["file", "http"])
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
