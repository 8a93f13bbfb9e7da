"""What a chain demands of its wheels: what will be beside them where they run, which is not what they were built with."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools.pipeline.baselines import baseline_identity
from build_tools.pipeline.check_demands import chain_demands, demand_parts
from build_tools.receipts.values import BuiltAgainst, BuiltWheels
from build_tools.types import Stage
from tests.support.builds import DIGEST, lock, project
from tests.support.earlier_builds import rocm_file
from tests.support.wheel_maker import WheelMaker
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.checks.demands import Demands
    from build_tools.pipeline.chain import Chain

_WHEEL = "toy-1.2.0-cp311-cp311-linux_x86_64.whl"
_THIN = BuiltAgainst(project="base", distribution="base", version="1.0+rocm7.10.0", filename="base.whl", sha256=DIGEST)
_FAT = msgspec.structs.replace(_THIN, version="1.0+bundled.rocm7.10.0")


def _install(environment: Path, name: str, *files: str) -> None:
    site = environment / "lib" / "python3.11" / "site-packages"
    info = site / f"{name.replace('-', '_')}-7.10.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.3\nName: {name}\nVersion: 7.10.0\n")
    (info / "RECORD").write_text("".join(f"{file},sha256=x,1\n" for file in files))


def _chain(tmp_path: Path, *against: BuiltAgainst, bundled: str | None = None, folder: str | None = None) -> Chain:
    environment = tmp_path / "env"
    if not environment.exists():
        _install(environment, "rocm-sdk-core", "_rocm_sdk_core/lib/libamdhip64.so.7")
        _install(environment, "base", "base/lib/libbase.so")
        _install(environment, "ninja", "ninja/libtool.so")
    entry = lock()
    assert entry.rocm is not None
    entry = msgspec.structs.replace(entry, rocm=msgspec.structs.replace(entry.rocm, files=(rocm_file("7.10.0"),), folder=folder))
    wheel: Any = SimpleNamespace(filename=_WHEEL)
    built = msgspec.structs.replace(
        msgspec.convert(
            {"project": "toy", "version": "1.2.0", "upstream": "1" * 40, "python_tag": "cp311", "wheels": ()}, BuiltWheels
        ),
        wheels=(wheel,),
        against=against,
        bundled=bundled,
    )
    chain: Any = SimpleNamespace(
        project=project(),
        workplace=workplace(tmp_path / "desk"),
        done={Stage.PROVISION: True},
        before=(),
        wheel_paths=list,
        tree=tmp_path / "tree",
        built=lambda: built,
        locked=lambda: entry,
        sdk=lambda: SimpleNamespace(environment=SimpleNamespace(folder=str(environment))),
    )
    (tmp_path / "desk").mkdir(exist_ok=True)
    return chain  # type: ignore[no-any-return]


def _demanded(chain: Chain) -> Demands:
    (demands,) = chain_demands(chain, watched={}).values()
    return demands


def test_the_packages_of_the_lock_are_beside_a_wheel_and_the_tools_of_its_build_are_not(tmp_path: Path) -> None:
    demands = _demanded(_chain(tmp_path, _THIN))
    assert demands.packages is not None
    assert (demands.packages["rocm-sdk-core"], demands.packages["base"]) == ("7.10.0", _THIN.version)
    assert demands.libraries == frozenset({"libamdhip64.so.7", "libbase.so"})


@pytest.mark.parametrize(("against", "bundled"), [((), "7.10.0"), ((_FAT,), None), ((_THIN, _FAT), None)])
def test_beside_a_wheel_that_has_rocm_inside_or_below_it_is_no_rocm(
    tmp_path: Path, against: tuple[BuiltAgainst, ...], bundled: str | None
) -> None:
    rocm = tmp_path / "rocm"
    (rocm / "lib").mkdir(parents=True)
    (rocm / "lib" / "libamdhip64.so.7").touch()
    for folder in (None, str(rocm)):
        demands = _demanded(_chain(tmp_path, *against, bundled=bundled, folder=folder))
        assert demands.packages is not None
        assert set(demands.packages) == {each.distribution for each in against}
        assert demands.libraries == frozenset({"libbase.so"} if against else ())


def test_a_check_with_rocm_inside_is_another_one(tmp_path: Path) -> None:
    key = "packages beside it"
    assert demand_parts(_chain(tmp_path))[key] != demand_parts(_chain(tmp_path, bundled="7.10.0"))[key]


def test_other_wheels_in_the_place_of_the_baseline_are_another_baseline(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    WheelMaker().write(earlier)
    (tmp_path / "desk").mkdir()
    place = workplace(tmp_path / "desk", baseline=str(earlier))
    first = baseline_identity(place)
    assert first == baseline_identity(place)
    WheelMaker(files={"demo/other.py": b"more"}).write(earlier)
    assert baseline_identity(place) != first
    far = workplace(tmp_path / "desk", baseline="https://example.org/wheels/")
    assert baseline_identity(far) == "https://example.org/wheels/"
    assert baseline_identity(workplace(tmp_path / "desk")) is None
