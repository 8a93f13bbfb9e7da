"""An extension for HIP as its maintainer has it: a recipe, a tree, and an environment that is there with a torch that answers as it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.support.given_environments import bare_environment, site_of
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.workplace import Workplace

__all__ = ["RECIPE", "extension_desk", "stub_torch"]

RECIPE = """
schema = 1
name = "ext"
summary = "An extension"
sdk = "none"
[origin]
kind = "git"
url = "https://example.invalid/ext.git"
[version]
fixed = "1"
[build]
target-variable = "EXT_HIP_ARCHES"
[build.environment]
EXT_KIND = "fast"
[wheel]
distribution = "ext"
import-name = "ext"
[[wheel.flags]]
name = "ext.kind"
value = "fast"
[extension]
tests = ["tests/test_unit.py"]
hip-tests = ["tests/test_hip.py", "-k", "works"]
detect-targets = "setup.detect_hip_arches"
"""
_TORCH = """
import os, types
print("what an import prints is no answer")
__version__ = "2.13.0"
version = types.SimpleNamespace(hip={hip!r}, cuda={cuda!r})
NAMES = os.environ.get("HIP_VISIBLE_DEVICES", "0,1").split(",")
def _properties(number):
    return types.SimpleNamespace(name="card " + NAMES[number], gcnArchName="gfx942:sramecc+:xnack-", total_memory=192 << 30)
cuda = types.SimpleNamespace(is_available=lambda: {available}, device_count=lambda: len(NAMES), get_device_properties=_properties)
"""


def stub_torch(*, hip: str | None = "7.0.51831", cuda: str | None = None, available: str = "True") -> str:
    """Return the text of a torch with two devices, of which ``HIP_VISIBLE_DEVICES`` is followed; ``available`` is an expression."""
    return _TORCH.format(hip=hip, cuda=cuda, available=available)


def extension_desk(
    folder: Path,
    tree: Mapping[str, str],
    *,
    torch: str | None = None,
    recipe: str = RECIPE,
    beside: Mapping[str, str] | None = None,
    machine: Mapping[str, str] | None = None,
    **settings: Any,  # noqa: ANN401 - as the options are
) -> Workplace:
    """Return a workplace of a clone with the extension ``ext``; the tree is ``tree``, and ``venv`` the environment.

    Parameters
    ----------
    folder
        Where all of it is made.
    tree
        The files of the tree.
    torch
        The text of ``torch.py`` in the environment, which has none without.
    recipe
        Its ``project.toml``.
    beside
        Files that lie beside the recipe.
    machine
        The machine's environment.
    """
    environment = bare_environment(folder / "venv")
    site = site_of(environment)
    files = {f"tree/{name}": text for name, text in tree.items()}
    files |= {f"clone/external-builds/ext/{name}": text for name, text in {"project.toml": recipe, **(beside or {})}.items()}
    if torch is not None:
        files[f"{site.relative_to(folder)}/torch.py"] = torch
        files[f"{site.relative_to(folder)}/torch-2.13.0.dist-info/METADATA"] = (
            "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n"
        )
    (folder / "tree").mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return replace(workplace(folder, **settings), clone=folder / "clone", machine=machine or {})
