"""Names of artifacts, parsed and made: ``<name>_<component>_<target>`` for a folder, the same with ``.tar.zst`` or ``.tar.xz`` for an archive.

The fields and suffixes are those of ROCm's build; none of them holds an underscore.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["ARCHIVE_SUFFIXES", "GENERIC", "SIDE_FILE_SUFFIX", "ArtifactName", "parse_artifact_name"]

ARCHIVE_SUFFIXES: Final = (".tar.zst", ".tar.xz")
"""How an archive's name may end; where a run has both, the first is taken."""

SIDE_FILE_SUFFIX: Final = ".sha256sum"
"""How the name of the file goes on that states an archive's SHA-256."""

GENERIC: Final = "generic"
"""The target of an artifact that is for all GPUs."""

_WORD: Final = r"[A-Za-z0-9](?:[A-Za-z0-9.+-]*[A-Za-z0-9+])?"
_NAME: Final = re.compile(
    rf"(?P<name>{_WORD})_(?P<component>[a-z][a-z0-9]*)_(?P<base>[A-Za-z0-9](?:[A-Za-z0-9-]*?[A-Za-z0-9])?)"
    r"(?P<features>(?:[:-][a-z][a-z0-9]*[+-])*)"
)
_FEATURE: Final = re.compile(r"[:-]([a-z][a-z0-9]*[+-])")


@dataclass(frozen=True, kw_only=True, order=True, slots=True)
class ArtifactName:
    """The parts of an artifact's name.

    ``component`` says which part of a library it is: ``dev``, ``doc``, ``dbg``, ``lib``, ``run``, ``test``. ``target`` is ``generic``, a GPU target,
    its features after a colon (``gfx942:xnack+``), or a GPU family.
    """

    name: str
    component: str
    target: str

    @property
    def is_generic(self) -> bool:
        """Whether it is for all GPUs."""
        return self.target == GENERIC

    @property
    def base_target(self) -> str:
        """The target without its features: ``gfx942`` of ``gfx942:xnack+``."""
        return self.target.partition(":")[0]

    @property
    def folder(self) -> str:
        """The folder's name, the same on every system: a feature stands after a hyphen, since Windows refuses a colon."""
        return f"{self.name}_{self.component}_{self.target.replace(':', '-')}"

    def __str__(self) -> str:
        """Return the name as it is written in a run's outputs."""
        return f"{self.name}_{self.component}_{self.target}"


def parse_artifact_name(text: str) -> ArtifactName | None:
    """Return the parts of the name of a folder or an archive, None when it is not an artifact's.

    A feature of a target may stand after a colon, as in a bucket, or after a hyphen, as in a folder that Windows can hold.

    >>> parse_artifact_name("rccl_test_gfx942:xnack+.tar.zst")
    ArtifactName(name='rccl', component='test', target='gfx942:xnack+')
    >>> parse_artifact_name("blas_lib_gfx94X-dcgpu").target
    'gfx94X-dcgpu'
    >>> parse_artifact_name("blas_lib_gfx942.tar.zst.sha256sum") is None
    True
    """
    stem = text
    for suffix in ARCHIVE_SUFFIXES:
        if text.endswith(suffix):
            stem = text.removesuffix(suffix)
            break
    found = _NAME.fullmatch(stem)
    if found is None:
        return None
    target = found["base"] + "".join(f":{feature}" for feature in _FEATURE.findall(found["features"]))
    return ArtifactName(name=found["name"], component=found["component"], target=target)
