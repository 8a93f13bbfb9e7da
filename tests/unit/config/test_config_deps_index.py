"""The data of the deps index: what is there is sound, and what cannot be is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from build_tools.config.deps_index import DEPS_INDEX_FILE, deps_index
from build_tools.config.owned import is_owned
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = DEPS_INDEX_FILE.read_text(encoding="utf-8")


def test_it_has_what_pytorch_requires_and_nothing_owned() -> None:
    names = {canonicalize_name(Requirement(text).name) for text in deps_index().requirements}
    needed = {"filelock", "fsspec", "jinja2", "networkx", "numpy", "pillow", "setuptools", "sympy", "typing-extensions"}
    assert needed <= names
    assert not [name for name in names if is_owned(name)]
    assert {"3.10", "3.14"} <= set(deps_index().pythons)
    assert {platform.name.value for platform in deps_index().platform} == {"linux", "windows"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"numpy"', '"torch"', "torch is an owned name"),
        ('"numpy"', '"rocm-sdk-core"', "rocm-sdk-core is an owned name"),
        ('"numpy"', '"numpy @ https://example.org/n.whl"', "names a place"),
        ('"numpy"', '"numpy >="', "is no requirement"),
        ('"3.10"', '"three"', "pythons.0"),
        ('glibc = "2.28"\n', "", "linux lacks its glibc"),
        ('machine = "AMD64"', 'machine = "AMD64"\nglibc = "2.28"', "windows has a glibc"),
        ('name = "windows"\nmachine = "AMD64"', 'name = "linux"\nmachine = "x86_64"\nglibc = "2.17"', "linux is there twice"),
        ("schema = 1", "schema = 1\nnames = []", "names"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in RIGHT
    file = tmp_path / "deps_index.toml"
    file.write_text(RIGHT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        deps_index(file)
    assert caught.value.code.name == "bad-data-file"
    assert said in f"{caught.value.message} {caught.value.where}"


def test_a_list_of_nothing_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "deps_index.toml"
    file.write_text("schema = 1\nrequirements = []\npythons = []\nplatform = []\n", encoding="utf-8")
    with pytest.raises(HipwrightError, match="there are no requirements; there are no pythons; there are no platform"):
        deps_index(file)
