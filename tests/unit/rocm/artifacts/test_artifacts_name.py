from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.rocm.artifacts.name import ARCHIVE_SUFFIXES, ArtifactName, parse_artifact_name

_LETTERS = string.ascii_letters + string.digits
_WORDS = st.lists(st.text(_LETTERS, min_size=1, max_size=6), min_size=1, max_size=3).map("-".join)
_COMPONENTS = st.sampled_from(["dev", "doc", "dbg", "lib", "run", "test"])
_FEATURES = st.lists(st.sampled_from([":xnack+", ":xnack-", ":sramecc+", ":sramecc-"]), max_size=2).map("".join)
_NAMES = st.builds(
    lambda name, component, base, features: ArtifactName(name=name, component=component, target=base + features),
    _WORDS,
    _COMPONENTS,
    _WORDS,
    _FEATURES,
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("base_lib_generic", ("base", "lib", "generic")),
        ("blas_lib_gfx94X-dcgpu.tar.zst", ("blas", "lib", "gfx94X-dcgpu")),
        ("core-hip_dev_generic.tar.xz", ("core-hip", "dev", "generic")),
        ("rocprofiler-sdk_test_gfx1201", ("rocprofiler-sdk", "test", "gfx1201")),
        ("rccl_test_gfx942:xnack+.tar.zst", ("rccl", "test", "gfx942:xnack+")),
        ("rccl_lib_gfx942:sramecc+:xnack-", ("rccl", "lib", "gfx942:sramecc+:xnack-")),
        ("rccl_lib_gfx942-xnack-.tar.xz", ("rccl", "lib", "gfx942:xnack-")),
        ("blas_lib_gfx103X-all", ("blas", "lib", "gfx103X-all")),
    ],
)
def test_parts(text: str, parts: tuple[str, str, str]) -> None:
    found = parse_artifact_name(text)
    assert found is not None
    assert (found.name, found.component, found.target) == parts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "artifact_manifest.txt",
        "blas_lib",
        "blas_lib_gfx942_more",
        "blas__gfx942",
        "_lib_gfx942",
        "blas_lib_",
        "blas_lib_gfx942.tar.gz",
        "blas_lib_gfx942.tar.zst.sha256sum",
        "blas_lib_gfx942.tar.zst.tar.xz",
        "blas_lib_gfx942\n",
        "../blas_lib_gfx942",
        "..\\blas_lib_gfx942",
        ".blas_lib_gfx942",
        "blas_LIB_gfx942",
        "blas_lib_gfx942:",
        "blas_lib_gfx942:xnack",
        "blas_lib_..",
        "blas_lib_gfx942.partial-0a0b",
        "blàs_lib_gfx942",
    ],
)
def test_what_is_no_artifact(text: str) -> None:
    assert parse_artifact_name(text) is None


@given(_NAMES, st.sampled_from(["", *ARCHIVE_SUFFIXES]))
def test_a_name_is_read_back(name: ArtifactName, suffix: str) -> None:
    assert parse_artifact_name(f"{name}{suffix}") == name
    assert parse_artifact_name(f"{name.folder}{suffix}") == name
    assert ":" not in name.folder


@given(st.text(alphabet=st.sampled_from("ab_-.:+/\\\n")))
def test_any_text_gives_a_plain_folder_name_or_none(text: str) -> None:
    name = parse_artifact_name(text)
    if name is not None:
        assert not set(name.folder) & set('/\\:\n\0*?"<>|')
        assert name.folder.strip(".") == name.folder
        assert parse_artifact_name(str(name)) == name


def test_generic_and_base_target() -> None:
    assert ArtifactName(name="base", component="lib", target="generic").is_generic
    name = ArtifactName(name="blas", component="lib", target="gfx942:xnack+")
    assert (name.is_generic, name.base_target) == (False, "gfx942")
