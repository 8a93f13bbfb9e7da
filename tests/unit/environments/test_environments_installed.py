from __future__ import annotations

import csv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from build_tools.environments.installed import installed_distributions, installed_files, site_packages, unmet_requirements
from build_tools.environments.proof import prove_installed
from build_tools.errors import HipwrightError
from build_tools.receipts.lock import LockedFile
from build_tools.types import Platform, Sha256
from tests.support.environments import this_interpreter

SHA = Sha256("a" * 64)


def install(packages: Path, name: str, version: str, *lines: str, url: str | None = None, sha256: str | None = None) -> None:
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, ""]))
    if url is not None:
        hashes = f'"hashes": {{"sha256": "{sha256}"}}' if sha256 else ""
        info.joinpath("direct_url.json").write_text(f'{{"url": "{url}", "archive_info": {{{hashes}}}}}')


def unmet(packages: Path, *wanted: str) -> list[str]:
    found = unmet_requirements(
        installed_distributions(packages), map(Requirement, wanted), markers=this_interpreter().markers, by="the build"
    )
    return [str(one) for one in found]


def prove(packages: Path, *files: LockedFile, places: dict[str, Path] | None = None, wanted: tuple[str, ...] = ()) -> None:
    prove_installed(
        installed_distributions(packages),
        files,
        places or {file.distribution: Path("/s", file.filename) for file in files},  # type: ignore[arg-type]
        wanted=[Requirement(text) for text in wanted],
        markers=this_interpreter().markers,
        by="the build",
        log=Path("/log"),
    )


def leak(packages: Path, *files: LockedFile, **named: dict[str, Path]) -> str:
    with pytest.raises(HipwrightError) as caught:
        prove(packages, *files, **named)  # type: ignore[arg-type]
    assert caught.value.code.name == "owned-name-leak"
    return caught.value.message


ROCM = LockedFile(distribution="rocm", version="7.10", filename="rocm-7.10-py3-none-any.whl", url="https://e/rocm", sha256=SHA)
PLACE = "file:///s/rocm-7.10-py3-none-any.whl"


def test_what_is_met_is_not_told(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.9.0+rocm7", "Requires-Dist: Plain.Dep>=1", "Requires-Dist: nothing; python_version < '3'")
    install(tmp_path, "plain_dep", "1.5a1", "Requires-Dist: extra-only; extra == 'x'")
    assert unmet(tmp_path, "torch==2.9.0", "plain-dep", "other; sys_platform == 'never'") == []


def test_what_is_missing_or_of_another_version_is_told_with_who_asks(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.9.0", "Requires-Dist: plain-dep<1", "Requires-Dist: absent")
    install(tmp_path, "plain-dep", "1.5")
    assert unmet(tmp_path, "torch>=3", "gone") == [
        "the build requires torch>=3, and torch 2.9.0 is installed",
        "the build requires gone, and it is not installed",
        "torch requires plain-dep<1, and plain-dep 1.5 is installed",
        "torch requires absent, and it is not installed",
    ]


def test_extras_are_followed_also_from_one_to_the_next(tmp_path: Path) -> None:
    install(tmp_path, "rocm", "7.10", "Provides-Extra: devel", "Requires-Dist: rocm-devel[all]; extra == 'devel'")
    install(
        tmp_path,
        "rocm-devel",
        "7.10",
        "Provides-Extra: all",
        "Requires-Dist: rocm[devel]; extra == 'all'",
        "Requires-Dist: deep; extra == 'all'",
    )
    assert unmet(tmp_path, "rocm") == []
    assert unmet(tmp_path, "rocm[devel]") == ['rocm-devel[all] requires deep; extra == "all", and it is not installed']


def test_metadata_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    install(tmp_path / "a", "torch", "1.0", "Requires-Dist: !!")
    install(tmp_path / "b", "torch", "1.0", url="x")
    (tmp_path / "b" / "torch-1.0.dist-info" / "direct_url.json").write_text("[]")
    for folder in ("a", "b"):
        with pytest.raises(HipwrightError, match="torch") as caught:
            installed_distributions(tmp_path / folder)
        assert caught.value.code.name == "install-failed"


def test_where_packages_are(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="no environment"):
        site_packages(tmp_path, Platform.LINUX)
    linux = tmp_path / "lib" / "python3.13t" / "site-packages"
    windows = tmp_path / "Lib" / "site-packages"
    linux.mkdir(parents=True)
    windows.mkdir(parents=True)
    assert site_packages(tmp_path, Platform.LINUX) == linux
    assert site_packages(tmp_path, Platform.WINDOWS) == windows


def test_the_locked_file_is_proved_by_place_hash_and_version(tmp_path: Path) -> None:
    install(tmp_path / "pip", "rocm", "7.10.0", url=PLACE, sha256=SHA)
    install(tmp_path / "uv", "rocm", "7.10.0", url=PLACE)
    prove(tmp_path / "pip", ROCM)
    prove(tmp_path / "uv", ROCM)
    install(tmp_path / "index", "rocm", "7.10.0")
    install(tmp_path / "elsewhere", "rocm", "7.10.0", url="file:///other/rocm-7.10-py3-none-any.whl")
    install(tmp_path / "bytes", "rocm", "7.10.0", url=PLACE, sha256="b" * 64)
    install(tmp_path / "newer", "rocm", "99.0", url=PLACE, sha256=SHA)
    for name in ("index", "elsewhere", "bytes", "newer"):
        assert "rocm-7.10-py3-none-any.whl of https://e/rocm was meant" in leak(tmp_path / name, ROCM)


def test_what_an_sdist_was_built_into_has_its_own_hash(tmp_path: Path) -> None:
    sdist = LockedFile(distribution="rocm", version="7.10", filename="rocm-7.10.tar.gz", url="https://e/rocm", sha256=SHA)
    install(tmp_path, "rocm", "7.10", url="file:///built/rocm-7.10-py3-none-any.whl", sha256="b" * 64)
    prove(tmp_path, sdist, places={"rocm": Path("/built/rocm-7.10-py3-none-any.whl")})
    assert "was meant" in leak(tmp_path, sdist, places={"rocm": Path("/built/other.whl")})


def test_an_owned_name_that_nobody_locked_is_a_leak(tmp_path: Path) -> None:
    install(tmp_path, "Rocm_SDK.core", "1.0", url="file:///x")
    install(tmp_path, "asker", "1.0", "Requires-Dist: rocm-sdk-core")
    assert leak(tmp_path).startswith("rocm-sdk-core 1.0 came from the base index")
    assert "asker" in leak(tmp_path)


def test_a_requirement_that_is_not_met_is_a_failure(tmp_path: Path) -> None:
    install(tmp_path, "plain", "1.0")
    with pytest.raises(HipwrightError, match="the build requires plain>1") as caught:
        prove(tmp_path, wanted=("plain>1",))
    assert caught.value.code.name == "install-failed"


def test_a_record_is_parsed_once_and_a_changed_one_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "rocm", "7.10")
    record = tmp_path / "rocm-7.10.dist-info" / "RECORD"
    record.write_text("rocm/a.py,sha256=x,12\n../../../bin/rocm,sha256=y,3\nrocm/a.pyc,,\n")
    parsed = []
    reader = csv.reader
    monkeypatch.setattr(csv, "reader", lambda lines: parsed.append(1) or reader(lines))  # type: ignore[func-returns-value, redundant-expr]
    first, second = installed_files(tmp_path), installed_files(tmp_path)
    program = tmp_path.parents[2] / "bin" / "rocm"
    sizes = {tmp_path / "rocm/a.py": 12, program: 3, tmp_path / "rocm/a.pyc": None}
    assert first == second == {"rocm": {str(path): size for path, size in sizes.items()}}
    assert len(parsed) == 1
    next(iter(first.values())).clear()
    record.write_text("rocm/b.py,sha256=x,1\n")
    assert installed_files(tmp_path) == {"rocm": {str(tmp_path / "rocm/b.py"): 1}}


def test_changed_metadata_is_seen_and_an_egg_is_read(tmp_path: Path) -> None:
    install(tmp_path, "rocm", "7.10")
    assert unmet(tmp_path, "rocm==7.10") == []
    metadata = tmp_path / "rocm-7.10.dist-info" / "METADATA"
    metadata.write_text("Metadata-Version: 2.1\nName: rocm\nVersion: 7.11\n\nRequires-Dist: only-described\n")
    egg = tmp_path / "plain.egg-info"
    egg.mkdir()
    egg.joinpath("PKG-INFO").write_text("Metadata-Version: 1.1\nName: plain\nVersion: 1\n")
    egg.joinpath("requires.txt").write_text("absent\n")
    assert [f"{one.name} {one.version}" for one in installed_distributions(tmp_path)] == ["plain 1", "rocm 7.11"]
    assert unmet(tmp_path) == ["plain requires absent, and it is not installed"]
