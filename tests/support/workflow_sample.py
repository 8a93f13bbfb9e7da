"""A clone whose workflows build the sample in PyTorch's place, on Pythons and refs that there are here."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final

from tests.support.commands import small_clone
from tests.support.workflows import WorkflowSite

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FAMILY", "PYTHON", "REF", "sample_site", "workflow_site"]

PYTHON: Final = f"3.{sys.version_info.minor}"
FAMILY: Final = "gfx94X-dcgpu"
REF: Final = "release/2.13"


def workflow_site(folder: Path, *projects: str, **settings: str) -> WorkflowSite:
    """Return a clone with projects in a folder, whose steps install from where the tests do; ``settings`` are the repository's."""
    # The variables of jobs name PyTorch, so there is one.
    clone = small_clone(folder, "pytorch", *projects)
    (clone / ".gitignore").write_text(".work/\n.nox/\n__pycache__/\n", encoding="utf-8")
    offline = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    return WorkflowSite(
        clone=clone,
        folder=folder / "site",
        variables={**offline, "HIPWRIGHT_CACHE_DIR": str(folder / "cache")},
        settings=settings,
    )


def sample_site(folder: Path, **settings: str) -> WorkflowSite:
    """Return a clone whose table of matrices has the sample alone, for one Python, one ref and in CI one family, and no container."""
    site = workflow_site(folder, "sample", **settings)
    table = site.clone / "build_tools" / "config" / "data" / "matrix.toml"
    text = table.read_text(encoding="utf-8")
    for line, new in (
        (r"projects = \[.*\]", 'projects = ["sample"]'),
        (r"pythons = \[.*\]", f'pythons = ["{PYTHON}"]'),
        (r"refs\.linux = \[.*\]", f'refs.linux = ["{REF}"]'),
        (r'linux = ".*@sha256:.*"', 'linux = ""'),
    ):
        text, times = re.subn(f"^{line}$", new, text, flags=re.MULTILINE)
        assert times, line
    table.write_text(text, encoding="utf-8")
    runners = table.with_name("runners.toml")
    families = runners.read_text(encoding="utf-8").split("[[family]]")
    later = [one if FAMILY in one else one.replace('"presubmit"', '"nightly"') for one in families[1:]]
    runners.write_text("[[family]]".join([families[0], *later]), encoding="utf-8")
    return site
