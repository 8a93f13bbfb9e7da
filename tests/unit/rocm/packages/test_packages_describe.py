"""What the package ``rocm`` says of the libraries of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.rocm.packages.build import PackageRequest, plan_packages
from build_tools.types import Platform
from tests.support.rocm_trees import make_tree

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Literal


@pytest.mark.parametrize(("form", "bringing"), [("device", ("gfx942",)), ("family", ())])
def test_a_library_that_only_device_packages_have_names_their_targets(
    form: Literal["device", "family"], bringing: tuple[str, ...], tmp_path: Path
) -> None:
    """RCCL's device code is for gfx9 alone, and no other library is brought so."""
    artifacts = make_tree(
        tmp_path / "in", platform=Platform.WINDOWS, targets=("gfx942", "gfx1201"), form=form, kernels=1, headers=1
    ).folder
    request = PackageRequest(artifacts=artifacts, target=tmp_path / "out", version="7.13.0", platform=Platform.WINDOWS, form=form)
    libraries = plan_packages(request).description.libraries
    assert {name: library.devices for name, library in libraries.items() if library.devices} == (
        {"rccl": bringing} if bringing else {}
    )
