"""The script that puts ROCm into an image, run for real on a view of this machine: both branches, and what a login shell sees of them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.packages import make_index, make_wheel, serve
from tests.support.rocm_sets import RocmSet, compiler
from tests.support.sandbox import WHY_NOT, Sandbox, sandboxes_work
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

CLONE = Path(__file__).parents[3]
SCRIPT = str(CLONE / ".ci" / "docker" / "common" / "install_rocm.sh")
APT = ("curl", "gpg", "dpkg-deb", "dpkg-scanpackages", "apt-get")


@pytest.fixture(scope="module")
def _sandboxes(tmp_path_factory: pytest.TempPathFactory) -> None:
    if not sandboxes_work(tmp_path_factory.mktemp("probe")):
        pytest.skip(WHY_NOT)


@pytest.fixture
def sandbox(_sandboxes: None, tmp_path: Path) -> Sandbox:
    return Sandbox(folder=tmp_path / "sandbox")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An index with a whole set of ROCm's packages."""
    if compiler() is None:
        pytest.skip("no C compiler to make libraries with")
    folder = tmp_path_factory.mktemp("index")
    dist = RocmSet(version="7.10.0a20260501").write(folder / "dist")
    make_index(folder / "simple", sorted(dist.iterdir()))
    with serve(folder) as server:
        yield f"{server.url}/simple/"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python environment with pip, as the image has one."""
    folder = tmp_path_factory.mktemp("venv") / "env"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
    return folder


def install(sandbox: Sandbox, environment: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{environment / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin"
    return sandbox.run("bash", SCRIPT, environment={"PATH": path, **variables})


def printed_by(*command: str, cwd: Path | None = None) -> bytes:
    return subprocess.run(command, cwd=cwd, capture_output=True, check=True).stdout


def test_packages_come_from_the_index_alone_and_a_login_shell_finds_them(
    sandbox: Sandbox, environment: Path, index: str, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    make_index(hostile / "simple", [make_wheel(hostile, "rocm", "99.0", extras={"libraries": [], "devel": []})])
    sandbox.run("mkdir", "-p", "/opt/rocm-6.4/bin")
    sandbox.run("ln", "-s", "/opt/rocm-6.4", "/opt/rocm")
    assert sandbox.login("ls -d /opt/rocm/bin") == "/opt/rocm/bin"
    with serving(hostile) as other:
        done = install(
            sandbox,
            environment,
            USE_THEROCK_NIGHTLY="1",
            THEROCK_NIGHTLY_INDEX_URL=index,
            PIP_EXTRA_INDEX_URL=f"{other}simple/",
            PIP_FIND_LINKS=str(hostile),
            ROCM_VERSION="6.4",
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7.10.0a20260501" in done.stdout
    assert sandbox.login("ls /opt | grep -c rocm || true") == "0"
    root = sandbox.login("echo $ROCM_HOME")
    assert root.endswith("_rocm_sdk_devel")
    assert sandbox.login("echo $ROCM_PATH; echo $HIP_PATH").splitlines() == [root, root]
    assert sandbox.login("command -v hipcc") == f"{root}/bin/hipcc"
    assert sandbox.login("echo $CMAKE_PREFIX_PATH") == root
    # Nothing of the machine itself was written.
    assert not Path("/etc/profile.d/rocm-sdk.sh").exists()
    assert sandbox.changed("/etc/profile.d/rocm-sdk.sh").is_file()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"USE_THEROCK_NIGHTLY": "1"}, "THEROCK_NIGHTLY_INDEX_URL"),
        ({"USE_THEROCK_NIGHTLY": "1", "THEROCK_NIGHTLY_INDEX_URL": "nightlies"}, "'nightlies'"),
        (
            {"USE_THEROCK_NIGHTLY": "1", "THEROCK_NIGHTLY_INDEX_URL": "https://h.invalid/", "THEROCK_NIGHTLY_PACKAGES": " "},
            "no package",
        ),
        ({"USE_THEROCK_NIGHTLY": "maybe"}, "'maybe'"),
        ({}, "ROCM_VERSION"),
        ({"ROCM_VERSION": "6.4; rm"}, "'6.4; rm'"),
    ],
)
def test_what_is_missing_or_wrong_is_said_and_nothing_removed(sandbox: Sandbox, variables: dict[str, str], words: str) -> None:
    sandbox.run("mkdir", "-p", "/opt/rocm")
    done = sandbox.run("bash", SCRIPT, environment=variables)
    assert done.returncode == 1
    assert "install_rocm.sh: " in done.stderr
    assert words in done.stderr
    assert sandbox.login("ls -d /opt/rocm") == "/opt/rocm"
    assert not sandbox.changed("/etc/profile.d").exists()


def test_an_index_without_the_packages_leaves_no_profile(sandbox: Sandbox, environment: Path, tmp_path: Path) -> None:
    make_index(tmp_path / "simple", [make_wheel(tmp_path, "other", "1.0")])
    with serving(tmp_path) as url:
        done = install(sandbox, environment, USE_THEROCK_NIGHTLY="true", THEROCK_NIGHTLY_INDEX_URL=f"{url}simple/")
    assert done.returncode != 0
    assert not sandbox.changed("/etc/profile.d/rocm-sdk.sh").exists()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """AMD's apt repository as apt sees one: a signed release with one package, ``rocm-dev``."""
    missing = [name for name in APT if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: apt-get install curl gpg dpkg-dev")
    root = tmp_path / "rocm"
    package = tmp_path / "package"
    (package / "DEBIAN").mkdir(parents=True)
    (package / "DEBIAN" / "control").write_text(
        "Package: rocm-dev\nVersion: 6.4.0\nArchitecture: amd64\nMaintainer: T <t@example.invalid>\nDescription: ROCm\n"
    )
    (package / "opt" / "rocm-6.4.0" / "bin").mkdir(parents=True)
    (package / "opt" / "rocm").symlink_to("rocm-6.4.0")
    (package / "opt" / "rocm-6.4.0" / "bin" / "hipcc").write_text("#!/bin/sh\necho hipcc of apt\n")
    (package / "opt" / "rocm-6.4.0" / "bin" / "hipcc").chmod(0o755)
    place = root / "apt" / "6.4"
    codename = printed_by("bash", "-c", '. /etc/os-release && echo "${UBUNTU_CODENAME:-$VERSION_CODENAME}"').decode().strip()
    release = place / "dists" / codename
    binary = release / "main" / "binary-amd64"
    (place / "pool").mkdir(parents=True)
    binary.mkdir(parents=True)
    printed_by("dpkg-deb", "--root-owner-group", "-b", str(package), str(place / "pool" / "rocm-dev.deb"))
    listing = printed_by("dpkg-scanpackages", "pool", cwd=place)
    (binary / "Packages").write_bytes(listing)
    rows = f" {hashlib.sha256(listing).hexdigest()} {len(listing)} main/binary-amd64/Packages"
    text = f"Origin: repo.radeon.com\nSuite: {codename}\nCodename: {codename}\nArchitectures: amd64\nComponents: main\nSHA256:\n{rows}\n"
    (release / "Release").write_text(text)
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    gpg = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
    printed_by(*gpg, "--quick-generate-key", "rocm@example.invalid", "ed25519", "sign", "never")
    printed_by(*gpg, "--clearsign", "--output", str(release / "InRelease"), str(release / "Release"))
    (root / "rocm.gpg.key").write_bytes(printed_by(*gpg, "--armor", "--export"))
    return root


def test_without_the_flag_the_packages_are_apt_s(sandbox: Sandbox, repository: Path) -> None:
    if sandbox.run("dpkg", "--print-architecture").stdout.strip() != "amd64":
        pytest.skip("AMD's apt repository is for amd64")
    # Nothing but loopback is asked, whatever sources this machine has.
    sandbox.run("bash", "-c", "rm -f /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/apt.conf.d/*proxy*")
    with serving(repository) as url:
        done = sandbox.run(
            "bash",
            SCRIPT,
            environment={
                "USE_THEROCK_NIGHTLY": "0",
                "ROCM_VERSION": "6.4",
                "ROCM_APT_URL": url.rstrip("/"),
                "ROCM_APT_PACKAGES": "rocm-dev",
                "no_proxy": "127.0.0.1",
            },
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sandbox.login("echo $ROCM_HOME") == "/opt/rocm"
    assert sandbox.login("hipcc") == "hipcc of apt"
    assert not sandbox.changed("/etc/profile.d/rocm-sdk.sh").exists()
    assert not Path("/opt/rocm-6.4.0").exists()
