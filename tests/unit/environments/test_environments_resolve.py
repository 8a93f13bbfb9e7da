from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools import digest
from build_tools.environments.listing import PackageSource
from build_tools.environments.network import Network
from build_tools.environments.resolve import lock_owned
from build_tools.errors import HipwrightError
from tests.support.environments import this_interpreter
from tests.support.packages import flat_page, make_index, make_sdist, make_wheel, serve

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.lock import LockedFile


def lock(source: PackageSource | Path, *requirements: str, tmp_path: Path, **changes: Any) -> tuple[LockedFile, ...]:  # noqa: ANN401 - as lock_owned takes them
    return lock_owned(
        requirements,
        source=source if isinstance(source, PackageSource) else PackageSource(find_links=(str(source),), option_prefix="--rocm-"),
        network=Network(retries=0),
        cache=tmp_path / "cache",
        **{"interpreter": this_interpreter(), **changes},
    )


def versions(files: tuple[LockedFile, ...]) -> dict[str, str]:
    return {file.distribution: file.version for file in files}


def refused(source: Path, *requirements: str, tmp_path: Path) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        lock(source, *requirements, tmp_path=tmp_path)
    assert caught.value.code.name == "requirement-missing"
    return caught.value


def sdk(folder: Path, version: str, *, leave_out: str = "") -> None:
    extras = {"libraries": [f"rocm-sdk-libraries=={version}"], "devel": [f"rocm-sdk-devel=={version}"]}
    make_wheel(folder, "rocm", version, requires=[f"rocm-sdk-core=={version}", "plain-dep"], extras=extras)
    for name in {"rocm-sdk-core", "rocm-sdk-libraries", "rocm-sdk-devel"} - {leave_out}:
        make_wheel(folder, name, version)


def test_the_closure_follows_extras_and_owned_names_alone(tmp_path: Path) -> None:
    sdk(tmp_path / "s", "7.10.0")
    assert set(versions(lock(tmp_path / "s", "rocm", tmp_path=tmp_path))) == {"rocm", "rocm-sdk-core"}
    files = lock(tmp_path / "s", "rocm[libraries,devel]", tmp_path=tmp_path)
    assert [file.distribution for file in files] == ["rocm", "rocm-sdk-core", "rocm-sdk-devel", "rocm-sdk-libraries"]
    for file in files:
        path = tmp_path / "s" / file.filename
        assert (file.url, file.sha256) == (path.as_uri(), digest.of_file(path))


def test_rocm_10_is_above_rocm_7(tmp_path: Path) -> None:
    for version in ("2.12.0+rocm7.15.0a20260728", "2.12.0+rocm10.1.0a20260807", "2.11.0+rocm10.1.0a20260807"):
        make_wheel(tmp_path / "s", "torch", version)
    assert versions(lock(tmp_path / "s", "torch", tmp_path=tmp_path)) == {"torch": "2.12.0+rocm10.1.0a20260807"}


def test_all_parts_are_of_one_version_even_when_a_newer_part_is_there(tmp_path: Path) -> None:
    sdk(tmp_path / "s", "7.10.0")
    sdk(tmp_path / "s", "7.11.0")
    make_wheel(tmp_path / "s", "torch", "2.9.0+rocm7.10.0", requires=["rocm[libraries]==7.10.0"])
    assert versions(lock(tmp_path / "s", "rocm[devel]", "torch", tmp_path=tmp_path)) == {
        "rocm": "7.10.0",
        "rocm-sdk-core": "7.10.0",
        "rocm-sdk-devel": "7.10.0",
        "rocm-sdk-libraries": "7.10.0",
        "torch": "2.9.0+rocm7.10.0",
    }
    assert versions(lock(tmp_path / "s", "rocm", tmp_path=tmp_path)) == {"rocm": "7.11.0", "rocm-sdk-core": "7.11.0"}


def test_a_missing_part_is_named_and_nothing_older_is_taken(tmp_path: Path) -> None:
    sdk(tmp_path / "s", "7.10.0")
    sdk(tmp_path / "s", "7.11.0", leave_out="rocm-sdk-libraries")
    error = refused(tmp_path / "s", "rocm[libraries]", tmp_path=tmp_path)
    assert "rocm-sdk-libraries" in error.message
    assert "rocm 7.11.0 asks for" in error.message
    assert str(tmp_path / "s") in error.message
    assert "there: 7.10.0" in error.message


def test_a_missing_package_is_named_with_its_source(tmp_path: Path) -> None:
    make_wheel(tmp_path / "s", "rocm", "7.10.0", requires=["rocm-sdk-core==7.10.0"])
    error = refused(tmp_path / "s", "rocm", tmp_path=tmp_path)
    assert error.message == f"rocm-sdk-core is not at {tmp_path / 's'} (rocm 7.10.0 asks for rocm-sdk-core==7.10.0)"
    assert error.hint is not None
    assert "--rocm-find-links" in error.hint


def test_an_unknown_extra_is_named_with_those_that_are(tmp_path: Path) -> None:
    sdk(tmp_path / "s", "7.10.0")
    assert "it has: devel, libraries" in refused(tmp_path / "s", "rocm[devle]", tmp_path=tmp_path).message


def test_requirements_that_contradict_each_other_are_told(tmp_path: Path) -> None:
    sdk(tmp_path / "s", "7.10.0")
    sdk(tmp_path / "s", "7.11.0")
    make_wheel(tmp_path / "s", "torch", "2.9.0", requires=["rocm==7.10.0"])
    error = refused(tmp_path / "s", "rocm==7.11.0", "torch", tmp_path=tmp_path)
    assert "the command asks for rocm==7.11.0" in error.message
    assert "torch 2.9.0 asks for rocm==7.10.0" in error.message


def test_the_best_file_of_a_version_is_taken(tmp_path: Path) -> None:
    tag = this_interpreter().python_tag
    best = make_wheel(tmp_path / "s", "torch", "2.9.0", tag=f"{tag}-{tag}-{this_interpreter().platforms[0]}")
    make_wheel(tmp_path / "s", "torch", "2.9.0")
    make_sdist(tmp_path / "s", "torch", "2.9.0", files={})
    make_wheel(tmp_path / "s", "torch", "2.9.1", tag="cp39-cp39-win_amd64")
    assert [file.filename for file in lock(tmp_path / "s", "torch", tmp_path=tmp_path)] == [best.name]


def test_a_package_for_other_interpreters_only_is_told(tmp_path: Path) -> None:
    make_wheel(tmp_path / "s", "torch", "2.9.0", tag="cp39-cp39-win_amd64")
    error = refused(tmp_path / "s", "torch", tmp_path=tmp_path)
    assert "torch-2.9.0-cp39-cp39-win_amd64.whl" in error.message


def test_the_interpreter_decides(tmp_path: Path) -> None:
    for tag in ("cp313-cp313-win_amd64", "cp313-cp313t-win_amd64", "cp312-cp312-win_amd64"):
        make_wheel(tmp_path / "s", "torch", "2.9.0", tag=tag)
    windows = replace(this_interpreter(), version="3.13.1", python_tag="cp313t", platforms=("win_amd64",))
    (file,) = lock(tmp_path / "s", "torch", tmp_path=tmp_path, interpreter=windows)
    assert file.filename == "torch-2.9.0-cp313-cp313t-win_amd64.whl"


def test_prereleases_count_where_nothing_else_is_there(tmp_path: Path) -> None:
    make_wheel(tmp_path / "s", "rocm", "7.11.0a20251101")
    make_wheel(tmp_path / "s", "rocm", "7.11.0a20251201")
    assert versions(lock(tmp_path / "s", "rocm", tmp_path=tmp_path)) == {"rocm": "7.11.0a20251201"}
    make_wheel(tmp_path / "s", "rocm", "7.10.0")
    assert versions(lock(tmp_path / "s", "rocm", tmp_path=tmp_path)) == {"rocm": "7.10.0"}
    assert versions(lock(tmp_path / "s", "rocm", tmp_path=tmp_path, prereleases=True)) == {"rocm": "7.11.0a20251201"}
    assert versions(lock(tmp_path / "s", "rocm==7.11.0a20251101", tmp_path=tmp_path)) == {"rocm": "7.11.0a20251101"}


def test_a_yanked_file_needs_its_exact_version(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    wheels = [make_wheel(folder, "rocm", version) for version in ("7.10.0", "7.11.0")]
    page = flat_page(folder, wheels)
    page.write_text(page.read_text().replace('<a href="rocm-7.11.0', '<a data-yanked="broken" href="rocm-7.11.0'))
    source = PackageSource(find_links=(page.as_uri(),))
    assert versions(lock(source, "rocm", tmp_path=tmp_path)) == {"rocm": "7.10.0"}
    assert versions(lock(source, "rocm==7.11.0", tmp_path=tmp_path)) == {"rocm": "7.11.0"}


def test_a_side_file_saves_the_download(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    make_wheel(folder, "rocm", "7.10.0", requires=["rocm-sdk-core==7.10.0"])
    make_wheel(folder, "rocm-sdk-core", "7.10.0")
    index = make_index(tmp_path / "index", sorted(folder.glob("*.whl")))
    metadata = b"Metadata-Version: 2.1\nName: rocm\nVersion: 7.10.0\nRequires-Dist: rocm-sdk-core==7.10.0\n"
    (index / "rocm" / "rocm-7.10.0-py3-none-any.whl.metadata").write_bytes(metadata)
    page = index / "rocm" / "index.html"
    attribute = f'data-core-metadata="sha256={digest.of_bytes(metadata)}"'
    page.write_text(page.read_text().replace("<a href", f"<a {attribute} href"))
    with serve(index) as server:
        files = lock(PackageSource(index_url=server.url), "rocm", tmp_path=tmp_path)
        assert versions(files) == {"rocm": "7.10.0", "rocm-sdk-core": "7.10.0"}
        assert "/rocm/rocm-7.10.0-py3-none-any.whl" not in server.seen
        assert "/rocm-sdk-core/rocm_sdk_core-7.10.0-py3-none-any.whl" in server.seen
        (index / "rocm" / "rocm-7.10.0-py3-none-any.whl.metadata").write_bytes(metadata + b"x")
        with pytest.raises(HipwrightError, match="side file") as caught:
            lock(PackageSource(index_url=server.url), "rocm", tmp_path=tmp_path)
    assert caught.value.code.name == "hash-mismatch"


def test_a_page_that_states_no_hash_is_locked_to_what_it_holds(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "s", "rocm", "7.10.0")
    index = make_index(tmp_path / "index", [wheel], hashes=False)
    with serve(index) as server:
        (file,) = lock(PackageSource(index_url=server.url), "rocm", tmp_path=tmp_path)
    assert file.sha256 == digest.of_file(wheel)


def test_a_page_whose_hash_is_wrong_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "s", "rocm", "7.10.0")
    index = make_index(tmp_path / "index", [wheel])
    page = index / "rocm" / "index.html"
    page.write_text(page.read_text().replace(digest.of_file(wheel), "0" * 64))
    with serve(index) as server, pytest.raises(HipwrightError, match=r"0{64}") as caught:
        lock(PackageSource(index_url=server.url), "rocm", tmp_path=tmp_path)
    assert caught.value.code.name == "hash-mismatch"
    assert not list((tmp_path / "cache").rglob("*.whl"))
    assert not list((tmp_path / "cache").rglob(".partial*"))


def test_a_file_that_is_no_wheel_inside_is_told(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "rocm-7.10.0-py3-none-any.whl").write_bytes(b"not a zip")
    with pytest.raises(HipwrightError, match=r"rocm-7\.10\.0-py3-none-any\.whl cannot be read") as caught:
        lock(tmp_path / "s", "rocm", tmp_path=tmp_path)
    assert caught.value.code.name == "bad-wheel"


def test_what_is_no_requirement_is_told(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="rocm==") as caught:
        lock(tmp_path, "rocm==", tmp_path=tmp_path)
    assert caught.value.code.name == "bad-data-file"


def test_requirements_of_packages_that_require_each_other_are_settled(tmp_path: Path) -> None:
    make_wheel(tmp_path / "s", "torch", "2.9.0", requires=["triton==3.5.0"])
    make_wheel(tmp_path / "s", "triton", "3.5.0", requires=["torch>=2"])
    make_wheel(tmp_path / "s", "triton", "3.6.0")
    assert versions(lock(tmp_path / "s", "torch", tmp_path=tmp_path)) == {"torch": "2.9.0", "triton": "3.5.0"}


def test_an_sdist_is_locked_with_what_it_says(tmp_path: Path) -> None:
    make_sdist(tmp_path / "s", "rocm", "7.10.0", files={}, requires=["rocm-sdk-core==7.10.0"])
    make_wheel(tmp_path / "s", "rocm-sdk-core", "7.10.0")
    files = lock(tmp_path / "s", "rocm", tmp_path=tmp_path)
    assert [file.filename for file in files] == ["rocm-7.10.0.tar.gz", "rocm_sdk_core-7.10.0-py3-none-any.whl"]
    shutil.rmtree(tmp_path / "s")
