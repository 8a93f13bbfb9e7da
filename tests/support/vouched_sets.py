"""Sets of ROCm packages with the packager's receipt beside them, and next to nothing inside: for what publishes and installs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from build_tools import digest
from build_tools.receipts.record import read_record, to_json
from build_tools.rocm.description import DESCRIPTION, DescribedPackage, SdkDescription
from build_tools.rocm.packages.receipt import PackageFile, PackagesReceipt
from build_tools.types import GfxTarget, Platform, Sha256
from tests.support.packages import make_sdist, make_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["VERSION", "change_receipt", "write_set"]

VERSION: Final = "7.10.0a20260801"


def write_set(
    folder: Path,
    *,
    version: str = VERSION,
    targets: Sequence[str] = ("gfx942", "gfx1201"),
    platform: Platform = Platform.LINUX,
    mark: str = "",
) -> Path:
    """Write a set into ``folder`` and return that; ``mark`` makes its bytes others than those of a set with another mark."""
    dist = folder / "dist"
    dist.mkdir(parents=True)
    devices = [f"rocm-sdk-device-{target}" for target in targets]
    extras = {"libraries": [f"rocm-sdk-libraries=={version}"], "devel": [f"rocm-sdk-devel=={version}"]}
    extras |= {f"device-{target}": [f"{name}=={version}"] for target, name in zip(targets, devices, strict=True)}
    extras["device-all"] = [f"{name}=={version}" for name in devices]
    core = [f"rocm-sdk-core=={version}"]
    set_id = digest.of_bytes(mark.encode())
    described = _description(version, platform, targets)
    names = ("rocm-sdk-core", "rocm-sdk-libraries")
    marks = {name: _mark(f"_{name.replace('-', '_')}/_set.json", name, version, set_id) for name in names}
    marks["rocm-sdk-core"] = _mark(
        "_rocm_sdk_core/_set.json", "rocm-sdk-core", version, set_id, rocm=digest.of_bytes(described.encode())
    )
    marks["rocm-sdk-devel"] = _mark("rocm_sdk_devel/devel.json", None, version, set_id)
    marks |= {
        name: _mark(f"_rocm_sdk_libraries/.devel_links/{target}.json", None, version, set_id)
        for target, name in zip(targets, devices, strict=True)
    }
    tag = "py3-none-win_amd64" if platform is Platform.WINDOWS else "py3-none-manylinux_2_28_x86_64"
    # A target that only the other platform has.
    other = "linux" if platform is Platform.WINDOWS else "win32"
    elsewhere = [f'rocm-sdk-device-gfx1151=={version} ; sys_platform == "{other}" and extra == "device-gfx1151"']
    made = [
        make_wheel(dist, "rocm", version, requires=[*core, *elsewhere], extras=extras, mark=mark, files={DESCRIPTION: described}),
        *(
            make_wheel(dist, name, version, requires=needs, tag=tag, mark=mark, files=marks[name])
            for name, needs in (
                ("rocm-sdk-core", []),
                ("rocm-sdk-libraries", core),
                ("rocm-sdk-devel", [*core, f"rocm-sdk-libraries=={version}"]),
                *((name, [f"rocm-sdk-libraries=={version}"]) for name in devices),
            )
        ),
        make_sdist(dist, "rocm", version, files={"mark": mark, DESCRIPTION: described}, requires=core),
    ]
    for leftover in dist.glob(".unpacked-*"):
        leftover.rename(folder / leftover.name)
    receipt = PackagesReceipt(
        version=version,
        set_id=Sha256(set_id),
        form="device",
        platform=platform,
        compressed=True,
        targets=tuple(map(GfxTarget, targets)),
        families={},
        files=tuple(
            PackageFile(
                filename=path.name,
                distribution=path.name.split("-")[0].replace("_", "-"),
                sha256=digest.of_file(path),
                size=path.stat().st_size,
                files=1,
            )
            for path in sorted(made)
        ),
        tools={},
    )
    (folder / "packages.json").write_bytes(to_json(receipt))
    return folder


def _description(version: str, platform: Platform, targets: Sequence[str]) -> str:
    names = {"core": "rocm-sdk-core", "libraries": "rocm-sdk-libraries", "devel": "rocm-sdk-devel"}
    description = SdkDescription(
        version=version,
        form="device",
        targets={platform: tuple(map(GfxTarget, targets))},
        families={},
        packages={
            key: (DescribedPackage(distribution=name, module=f"_{name.replace('-', '_')}"),) for key, name in names.items()
        },
        libraries={},
    )
    return to_json(description).decode()


def _mark(path: str, distribution: str | None, version: str, set_id: str, **more: str) -> dict[str, str]:
    named = {} if distribution is None else {"distribution": distribution}
    return {path: json.dumps({"schema": 1, "set_id": set_id, "version": version, **named, **more})}


def change_receipt(folder: Path, change: Callable[[PackagesReceipt], PackagesReceipt]) -> None:
    """Rewrite the receipt of a set."""
    file = folder / "packages.json"
    file.write_bytes(to_json(change(read_record(file, PackagesReceipt))))
