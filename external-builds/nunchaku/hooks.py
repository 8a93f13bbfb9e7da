"""What nunchaku's data cannot say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.builds.hooks import BuildContext

__all__ = ["generated_files", "prepare_sources"]

_TORCH_SUFFIX: Final = re.compile(r'^(?P<indent>[ \t]*)version = version \+ "\+torch".*$', re.MULTILINE)
"""The line of ``setup.py`` that names torch in the version, behind what the file with the version says."""

_VERSION: Final = "NUNCHAKU_VERSION"
"""The variable that project.toml gives the version in."""

_RUNTIME: Final = ("amdhip64*.dll", "hiprtc*.dll")
"""The libraries of the HIP runtime; the second pattern has the built-in headers of the compiler too."""


def prepare_sources(tree: Path, context: BuildContext) -> None:
    """Have ``setup.py`` take the version that the wheel is to have: it takes none, and a version has one local part."""
    del context
    setup = tree / "setup.py"
    text = setup.read_text(encoding="utf-8")
    changed, lines = _TORCH_SUFFIX.subn(rf"\g<indent>version = os.environ['{_VERSION}']", text)
    if lines != 1:
        message = f"setup.py has {lines} lines that put torch's version behind its own, and one is known"
        hint = "look how it finds its version now, and mend external-builds/nunchaku/hooks.py"
        raise HipwrightError("bad-source-tree", message, where=Where(file=setup), hint=hint)
    setup.write_text(changed, encoding="utf-8", newline="\n")


def generated_files(context: BuildContext) -> dict[str, bytes | Path]:
    """Return the libraries of the HIP runtime, which the wheel for Windows holds."""
    if context.platform is not Platform.WINDOWS or context.rocm_root is None:
        return {}
    folder = context.rocm_root / "bin"
    found = {pattern: sorted(folder.glob(pattern)) for pattern in _RUNTIME}
    lacking = [pattern for pattern, paths in found.items() if not paths]
    if lacking:
        message = f"the wheel for Windows holds the HIP runtime, and {folder} has no {' and no '.join(lacking)}"
        raise HipwrightError("missing-tool", message, where=Where(file=folder), hint="name a whole ROCm: --rocm-path DIR")
    return {f"nunchaku/{path.name}": path for paths in found.values() for path in paths}
