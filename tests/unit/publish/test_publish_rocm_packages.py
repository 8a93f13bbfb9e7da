"""A set of ROCm packages is published whole, as its receipt says, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.publish.rocm_packages import read_packages
from build_tools.receipts.record import read_record
from build_tools.rocm.packages.receipt import PackageFile, PackagesReceipt
from build_tools.types import GfxTarget, Platform, Sha256
from tests.support.packages import make_wheel
from tests.support.vouched_sets import VERSION, change_receipt, write_set

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DEVICE = f"rocm_sdk_device_gfx942-{VERSION}-py3-none-manylinux_2_28_x86_64.whl"


def refused(folder: Path) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        read_packages(folder, jobs=2)
    return caught.value


@pytest.mark.parametrize("platform", list(Platform))
@pytest.mark.parametrize("named", ["", "dist"])
def test_a_whole_set(tmp_path: Path, platform: Platform, named: str) -> None:
    folder = write_set(tmp_path / "set", platform=platform)
    found = read_packages(folder / named, jobs=2)
    assert sorted(offer.filename for offer in found.offers) == sorted(path.name for path in (folder / "dist").iterdir())
    assert {offer.version for offer in found.offers} == {VERSION}
    assert {"libraries", "devel", "device-gfx942", "device-gfx1201", "device-all"} <= found.extras
    assert found.receipt.platform is platform


def without_device(folder: Path) -> None:
    (folder / "dist" / DEVICE).unlink()


def with_other_bytes(folder: Path) -> None:
    file = folder / "dist" / DEVICE
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def with_a_foreign_wheel(folder: Path) -> None:
    wheel = make_wheel(folder, "stranger", "1.0")
    wheel.rename(folder / "dist" / wheel.name)


def with_a_note(folder: Path) -> None:
    (folder / "dist" / "note.txt").write_text("mine")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_device, f"{DEVICE} is gone"),
        (with_other_bytes, f"{DEVICE} has other bytes"),
        (with_a_foreign_wheel, "stranger-1.0-py3-none-any.whl is not of the set"),
        (with_a_note, "note.txt is not of the set"),
    ],
)
def test_what_is_not_as_the_receipt_says_is_refused(tmp_path: Path, spoil: Callable[[Path], None], said: str) -> None:
    folder = write_set(tmp_path / "set")
    spoil(folder)
    error = refused(folder)
    assert error.code.name == "output-changed"
    assert said in error.message


@pytest.mark.parametrize(
    ("filename", "said"),
    [
        (DEVICE, "rocm requires rocm-sdk-device-gfx942, which is not there"),
        (
            f"rocm_sdk_core-{VERSION}-py3-none-manylinux_2_28_x86_64.whl",
            "rocm-sdk-libraries requires rocm-sdk-core, which is not there",
        ),
    ],
)
def test_a_set_that_requires_what_it_lacks_is_refused(tmp_path: Path, filename: str, said: str) -> None:
    folder = write_set(tmp_path / "set")
    (folder / "dist" / filename).unlink()
    change_receipt(
        folder,
        lambda receipt: msgspec.structs.replace(
            receipt, files=tuple(file for file in receipt.files if file.filename != filename)
        ),
    )
    error = refused(folder)
    assert error.code.name == "package-incomplete"
    assert said in error.message


def test_packages_of_two_builds_are_no_set(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set")
    other = write_set(tmp_path / "other", version="7.10.0a20260802")
    old, new = DEVICE, DEVICE.replace(VERSION, "7.10.0a20260802")
    (folder / "dist" / old).unlink()
    (other / "dist" / new).rename(folder / "dist" / new)
    rows = {file.filename: file for file in _files(other)}
    change_receipt(
        folder,
        lambda receipt: msgspec.structs.replace(
            receipt, files=(*(file for file in receipt.files if file.filename != old), rows[new])
        ),
    )
    error = refused(folder)
    assert error.code.name == "package-incomplete"
    assert f"rocm requires rocm-sdk-device-gfx942=={VERSION}, and 7.10.0a20260802 is there" in error.message


def swapped(folder: Path, name: str) -> None:
    """Put a package of another build of the same version into a set, with its row in the receipt."""
    other = write_set(folder.parent / "other", mark="other")
    (other / "dist" / name).replace(folder / "dist" / name)
    rows = {file.filename: file for file in _files(other)}
    change_receipt(
        folder,
        lambda receipt: msgspec.structs.replace(
            receipt, files=tuple(rows[name] if file.filename == name else file for file in receipt.files)
        ),
    )


@pytest.mark.parametrize(
    "name",
    [
        DEVICE,
        f"rocm_sdk_core-{VERSION}-py3-none-manylinux_2_28_x86_64.whl",
        f"rocm_sdk_devel-{VERSION}-py3-none-manylinux_2_28_x86_64.whl",
    ],
)
def test_a_package_of_another_build_of_the_version_is_refused(tmp_path: Path, name: str) -> None:
    folder = write_set(tmp_path / "set")
    swapped(folder, name)
    error = refused(folder)
    assert error.code.name == "output-changed"
    assert f"{name} is of another build" in error.message


def test_a_rocm_of_another_build_is_refused(tmp_path: Path) -> None:
    # Its own description is all that it says of its build, and that of another target's set differs.
    folder = write_set(tmp_path / "set", targets=("gfx942",))
    other = write_set(tmp_path / "other", targets=("gfx942", "gfx1201"))
    names = {f"rocm-{VERSION}-py3-none-any.whl", f"rocm-{VERSION}.tar.gz"}
    for name in names:
        (other / "dist" / name).replace(folder / "dist" / name)
    device = DEVICE.replace("gfx942", "gfx1201")
    (other / "dist" / device).replace(folder / "dist" / device)
    rows = tuple(file for file in _files(other) if file.filename in {*names, device})
    kept = tuple(file for file in _files(folder) if file.filename not in names)
    change_receipt(
        folder,
        lambda receipt: msgspec.structs.replace(receipt, files=kept + rows, targets=(GfxTarget("gfx942"), GfxTarget("gfx1201"))),
    )
    error = refused(folder)
    assert error.code.name == "output-changed"
    assert "rocm is of another build than rocm_sdk_core" in error.message


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ({"version": "99.0"}, f"the version of rocm: {VERSION}, and not 99.0"),
        ({"targets": (GfxTarget("gfx1030"),)}, "the targets of rocm: gfx1201, gfx942, and not gfx1030"),
        ({"form": "family"}, "the form of rocm: device, and not family"),
        ({"families": {"gfx94X-dcgpu": (GfxTarget("gfx942"),)}}, "the families of rocm"),
        ({"platform": Platform.WINDOWS}, f"{DEVICE} is not for windows"),
        ({"set_id": Sha256("0" * 64)}, f"{DEVICE} is of another build"),
    ],
)
def test_a_receipt_that_lies_is_refused(tmp_path: Path, lie: dict[str, object], said: str) -> None:
    folder = write_set(tmp_path / "set")
    change_receipt(folder, lambda receipt: msgspec.structs.replace(receipt, **lie))
    error = refused(folder)
    assert error.code.name == "output-changed"
    assert said in error.message


@pytest.mark.parametrize("name", ["torch", "rocm-sdk-device-gfx1100", "stranger"])
def test_a_package_that_the_receipt_names_and_the_set_does_not_have_is_refused(tmp_path: Path, name: str) -> None:
    folder = write_set(tmp_path / "set")
    wheel = make_wheel(tmp_path / "made", name, VERSION)
    wheel.rename(folder / "dist" / wheel.name)
    row = PackageFile(
        filename=wheel.name,
        distribution=name,
        sha256=digest.of_file(folder / "dist" / wheel.name),
        size=(folder / "dist" / wheel.name).stat().st_size,
        files=1,
    )
    change_receipt(folder, lambda receipt: msgspec.structs.replace(receipt, files=(*receipt.files, row)))
    error = refused(folder)
    assert error.code.name == "output-changed"
    assert f"{wheel.name} is no package of the set" in error.message


def test_a_folder_without_receipt_or_packages_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "gone").code.name == "package-incomplete"
    (tmp_path / "empty").mkdir()
    assert "there are no packages" in refused(tmp_path / "empty").message
    folder = write_set(tmp_path / "set")
    (folder / "packages.json").unlink()
    error = refused(folder)
    assert error.code.name == "package-incomplete"
    assert "no packages.json" in error.message


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": 1}', '{"schema": 99}'])
def test_a_receipt_that_says_nothing_is_refused(tmp_path: Path, text: str) -> None:
    folder = write_set(tmp_path / "set")
    (folder / "packages.json").write_text(text)
    assert refused(folder).code.name == "bad-receipt"


def test_a_receipt_of_no_file_is_refused(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set")
    for file in (folder / "dist").iterdir():
        file.unlink()
    change_receipt(folder, lambda receipt: msgspec.structs.replace(receipt, files=()))
    assert refused(folder).code.name == "output-changed"


def _files(folder: Path) -> tuple[PackageFile, ...]:
    return read_record(folder / "packages.json", PackagesReceipt).files
