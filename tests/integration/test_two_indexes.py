"""The two indexes together, on a real S3 server: what is owned comes from the run's, all else from the deps index, by pip and by uv."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
import uv

from build_tools.environments.listing import Listing, PackageSource
from build_tools.environments.network import Network
from build_tools.pipeline.update_deps_index import update_deps_index
from build_tools.pipeline.upload_rocm_packages import upload_rocm_packages
from build_tools.publish.upload import publish_wheels
from build_tools.stores.open import open_store
from build_tools.stores.run_outputs import RunOutputs
from build_tools.types import Platform
from tests.support.front import front
from tests.support.packages import make_index, make_wheel
from tests.support.publishing import wheel_of
from tests.support.vouched_sets import VERSION, write_set
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.support.s3 import S3Server

GROUP = "gfx94X-dcgpu"
TORCH = "2.9.0+rocm7.10.0"


@dataclass(frozen=True, kw_only=True)
class Published:
    """The three indexes as installers reach them through a front or right at the server, and the wheels that must come out, by file name with their digests."""

    front: str
    server: str
    bucket: str
    seen: list[str]

    def index(self, prefix: str) -> str:
        return f"{self.front}/{self.bucket}/{prefix}/simple/"


@pytest.fixture(scope="module")
def published(s3_server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folder = tmp_path_factory.mktemp("two-indexes")
    bucket = s3_server.bucket(public=True)
    # The base index has what is asked for, and a higher version of every owned name.
    made = [
        make_wheel(folder / "made", "jinja2", "3.1", requires=["markupsafe>=2"]),
        make_wheel(folder / "made", "markupsafe", "3.0"),
        *(make_wheel(folder / "made", name, "99.0") for name in ("torch", "rocm", "rocm-sdk-core", "rocm-sdk-libraries")),
    ]
    base = make_index(folder / "base", made)
    machine = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    machine |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": base.as_uri(), **s3_server.machine}
    settings = {"store": f"s3://{bucket}", "endpoint_url": s3_server.endpoint, "run_id": "77", "artifact_group": GROUP}

    deps = workplace(folder, **settings, packages=("jinja2",), python=("3.12",))
    update_deps_index(replace(deps, machine=machine))
    run = workplace(folder, **settings, packages_dir=write_set(folder / "packages"))
    upload_rocm_packages(replace(run, machine=machine))
    torch = make_wheel(folder / "torch", "torch", TORCH, requires=[f"rocm[libraries]=={VERSION}", "jinja2"])
    outputs = RunOutputs(run_id="77", platform=Platform.LINUX)
    store = open_store(f"s3://{bucket}", base=folder, endpoint_url=s3_server.endpoint, machine=machine)
    publish_wheels(
        [(torch, wheel_of(torch))], store=store, prefix=outputs.pytorch(GROUP).prefix, replace=False, say=lambda _line: None
    )
    seen: list[str] = []
    with front(s3_server.endpoint, seen=seen) as url:
        yield Published(front=url, server=s3_server.endpoint, bucket=bucket, seen=seen)


def installed(tool: str, options: Sequence[str], requirement: str, target: Path) -> dict[str, str]:
    """Install into a folder, and return name and version of everything there."""
    if tool == "pip":
        argv = [sys.executable, "-m", "pip", "install", "--isolated", "--no-cache-dir", "--disable-pip-version-check"]
    else:
        argv = [
            uv.find_uv_bin(),
            "pip",
            "install",
            "--no-config",
            "--no-cache",
            "--prerelease",
            "allow",
            "--python",
            sys.executable,
        ]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    done = subprocess.run(
        [*argv, "--target", str(target), *options, requirement], check=False, capture_output=True, text=True, env=kept
    )
    assert done.returncode == 0, done.stderr
    return dict(path.name.removesuffix(".dist-info").split("-", 1) for path in target.glob("*.dist-info"))


OWNED = {"rocm": VERSION, "rocm_sdk_core": VERSION, "rocm_sdk_libraries": VERSION}
OTHERS = {"jinja2": "3.1", "markupsafe": "3.0"}


@pytest.mark.parametrize("tool", ["pip", "uv"])
@pytest.mark.parametrize("form", ["indexes", "pages"])
def test_torch_is_installed_from_both(tmp_path: Path, published: Published, tool: str, form: str) -> None:
    options = ["--index-url", published.index("python-deps")]
    for kind in ("python", "pytorch"):
        prefix = f"77-linux/{kind}/{GROUP}"
        if form == "indexes":
            options += ["--extra-index-url", published.index(prefix)]
        else:
            options += ["--find-links", f"{published.front}/{published.bucket}/{prefix}/index.html"]
    found = installed(tool, options, f"torch=={TORCH}", tmp_path / "target")
    assert found == {"torch": TORCH, **OWNED, **OTHERS}


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_torch_is_installed_right_from_the_bucket(tmp_path: Path, published: Published, tool: str) -> None:
    options = ["--no-index"]
    for prefix in ("python-deps", f"77-linux/pytorch/{GROUP}", f"77-linux/python/{GROUP}"):
        options += ["--find-links", f"{published.server}/{published.bucket}/{prefix}/index.html"]
    found = installed(tool, options, f"torch=={TORCH}", tmp_path / "target")
    assert found == {"torch": TORCH, **OWNED, **OTHERS}


def test_what_we_read_ourselves_needs_no_server_before_a_bucket(published: Published) -> None:
    index = f"{published.server}/{published.bucket}/77-linux/python/{GROUP}/simple/"
    listing = Listing(source=PackageSource(index_url=index), network=Network(retries=0))
    assert [str(candidate.version) for candidate in listing.files("rocm-sdk-core")] == [VERSION]
    assert listing.files("rocm-sdk-gone") == ()


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_the_runs_index_alone_is_enough_for_rocm(tmp_path: Path, published: Published, tool: str) -> None:
    options = ["--index-url", published.index(f"77-linux/python/{GROUP}")]
    assert installed(tool, options, f"rocm[libraries]=={VERSION}", tmp_path / "target") == OWNED


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_what_requires_nothing_newer_comes_with_its_side_file_before_its_bytes(
    tmp_path: Path, published: Published, tool: str
) -> None:
    published.seen.clear()
    installed(tool, ["--index-url", published.index("python-deps")], "jinja2", tmp_path / "target")
    asked = [path.rpartition("/")[2] for path in published.seen]
    assert "jinja2-3.1-py3-none-any.whl.metadata" in asked
    assert asked.index("jinja2-3.1-py3-none-any.whl.metadata") < asked.index("jinja2-3.1-py3-none-any.whl")


def test_the_deps_index_holds_nothing_owned(published: Published, s3_server: S3Server) -> None:
    page = s3_server.client().get_object(Bucket=published.bucket, Key="python-deps/simple-json/index.json")["Body"].read()
    assert [row["name"] for row in json.loads(page)["projects"]] == ["jinja2", "markupsafe"]
