from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.rocm.artifacts.select import Choice, archives_of, choose, parse_wanted
from build_tools.stores.base import Listed
from build_tools.types import ObjectKey

DEVICE = [
    "base_lib_generic.tar.zst",
    "blas_lib_generic.tar.zst",
    "blas_lib_gfx942.tar.zst",
    "rccl_test_gfx942:xnack+.tar.zst",
    "rccl_lib_gfx942:xnack-.tar.zst",
    "blas_lib_gfx1100.tar.zst",
    "blas_test_gfx1100.tar.zst",
    "blas_lib_gfx1201.tar.zst",
]
FAMILY = ["base_lib_generic.tar.xz", "blas_lib_gfx94X-dcgpu.tar.xz", "blas_lib_gfx110X-all.tar.xz"]


def listed(*names: str) -> list[Listed]:
    return [Listed(key=ObjectKey(f"7-linux/{name}"), size=len(name)) for name in names]


def chosen(names: list[str], **wanted: object) -> Choice:
    asked = {"group": None, "targets": (), "include": (), "exclude": (), **wanted}
    return choose(archives_of(listed(*names), "7-linux"), parse_wanted(**asked))  # type: ignore[arg-type]


def files(choice: Choice) -> list[str]:
    assert not choice.missing
    return sorted(one.filename for one in choice.archives)


def test_archives_are_those_in_the_folder_itself() -> None:
    found = archives_of(
        [
            *listed("blas_lib_gfx942.tar.xz", "blas_lib_gfx942.tar.zst", "blas_lib_gfx942.tar.zst.sha256sum", "run.log"),
            *listed("python/g/dist/rocm-7.whl", "deep/blas_lib_gfx1100.tar.zst", "rccl_lib_gfx942:xnack+.tar.xz"),
            Listed(key=ObjectKey("77-linux/blas_lib_gfx1201.tar.zst"), size=1),
        ],
        "7-linux",
    )
    assert [one.key for one in found] == ["7-linux/blas_lib_gfx942.tar.zst", "7-linux/rccl_lib_gfx942:xnack+.tar.xz"]
    assert [one.side_key for one in found] == ["7-linux/blas_lib_gfx942.tar.zst.sha256sum", None]
    assert found[1].local_name == "rccl_lib_gfx942-xnack+.tar.xz"


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, DEVICE),
        ({"group": "multi-arch-release"}, DEVICE),
        ({"targets": ("gfx942",)}, DEVICE[:5]),
        ({"targets": ("gfx942:xnack+",)}, DEVICE[:4]),
        ({"targets": ("gfx942:xnack-",)}, [*DEVICE[:3], DEVICE[4]]),
        ({"targets": ("gfx942", "gfx1201")}, [*DEVICE[:5], DEVICE[7]]),
        ({"targets": ("gfx94X-dcgpu",)}, DEVICE[:5]),
        ({"targets": ("gfx94x",)}, DEVICE[:5]),
        ({"group": "gfx94X-dcgpu"}, DEVICE[:5]),
        ({"group": "gfx942"}, DEVICE[:5]),
        ({"group": "gfx94X-dcgpu-asan"}, DEVICE[:5]),
        ({"group": "gfx94X-dcgpu", "targets": ("gfx1201",)}, [*DEVICE[:2], DEVICE[7]]),
        ({"group": "anything", "targets": ("gfx1201",)}, [*DEVICE[:2], DEVICE[7]]),
        ({"include": ("^base_",)}, DEVICE[:1]),
        ({"targets": ("gfx1100",), "exclude": ("_test_",)}, [*DEVICE[:2], DEVICE[5]]),
        ({"include": ("^base_", "gfx1201"), "exclude": ("nothing",)}, [DEVICE[0], DEVICE[7]]),
    ],
)
def test_choice_of_a_run_with_a_device_artifact_for_each_target(wanted: dict[str, object], expected: list[str]) -> None:
    assert files(chosen(DEVICE, **wanted)) == sorted(expected)


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"group": "gfx94X-dcgpu"}, FAMILY[:2]),
        ({"targets": ("gfx942",)}, FAMILY[:2]),
        ({"targets": ("gfx1100", "gfx1103")}, [FAMILY[0], FAMILY[2]]),
        ({"targets": ("gfx110X-all",)}, [FAMILY[0], FAMILY[2]]),
    ],
)
def test_choice_of_a_run_with_artifacts_for_families(wanted: dict[str, object], expected: list[str]) -> None:
    assert files(chosen(FAMILY, **wanted)) == sorted(expected)


def test_artifacts_of_a_variant_are_taken_before_plain_ones() -> None:
    names = [*FAMILY, "blas_lib_gfx94X-dcgpu-asan.tar.xz"]
    assert files(chosen(names, group="gfx94X-dcgpu-asan")) == [FAMILY[0], names[3]]
    assert files(chosen(names, group="gfx94X-dcgpu")) == FAMILY[:2]


@pytest.mark.parametrize(
    ("names", "wanted", "missing"),
    [
        (DEVICE, {"targets": ("gfx950", "gfx1201", "gfx906")}, ("gfx950", "gfx906")),
        (DEVICE, {"group": "gfx120X-all"}, ("gfx1200, of gfx120X-all",)),
        (
            DEVICE,
            {"targets": ("gfx942",), "include": ("^fft_",)},
            ("a match of --include ^fft_ among base_lib_generic.tar.zst and 4 more",),
        ),
        (
            DEVICE,
            {"targets": ("gfx1201",), "include": ("gfx942",)},
            ("a match of --include gfx942 among base_lib_generic.tar.zst and 2 more",),
        ),
        (DEVICE, {"exclude": (".",)}, ("everything: the patterns leave nothing",)),
        ([], {"targets": ("gfx942",)}, ("all artifacts: it has none",)),
        (["run.log", "blas_lib_gfx9420.tar.zst"], {"targets": ("gfx942",)}, ("gfx942",)),
        (
            ["blas_lib_gfx110X-all.tar.xz", "fft_lib_gfx110X-dgpu.tar.xz"],
            {"targets": ("gfx1100",)},
            ("gfx1100: several families have it, gfx110X-all and gfx110X-dgpu; name one with --artifact-group",),
        ),
    ],
)
def test_what_is_missing_is_told(names: list[str], wanted: dict[str, object], missing: tuple[str, ...]) -> None:
    assert chosen(names, **wanted).missing == missing


@pytest.mark.parametrize(
    "wanted",
    [{"targets": ("gfx9420",)}, {"targets": ("",)}, {"targets": ("gfx942:xnack",)}, {"group": "tests"}, {"include": ("(",)}],
)
def test_what_nobody_can_mean_is_refused(wanted: dict[str, object]) -> None:
    with pytest.raises(HipwrightError) as caught:
        chosen(DEVICE, **wanted)
    assert caught.value.code.name == "bad-option-value"


@given(st.permutations(DEVICE + FAMILY))
def test_the_order_of_a_listing_changes_nothing(names: list[str]) -> None:
    assert chosen(names, targets=("gfx942",)) == chosen(DEVICE + FAMILY, targets=("gfx942",))
