"""What a job hands on to the jobs after it: where packages were published, and of which versions.

A value is one plain word, so that it cannot add lines to the file that the runner reads, nor words to the command that takes it.
"""

from __future__ import annotations

import collections
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from build_tools import files
from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["ARTIFACT_AXES", "hand_on", "outputs_of", "package_outputs", "prove_file", "wheel_outputs"]

_FILE: Final = "GITHUB_OUTPUT"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!:/%@~\[\],-]*")
"""A version, an address, or names parted by commas: nothing that a shell, a workflow or a further line could be made of."""

_WHEELS_URL: Final = "pytorch_package_find_links_url"
_PACKAGES_URL: Final = "rocm_package_find_links_url"
_PACKAGES: Final = "rocm_packages_artifact"
_ROCM: Final = "rocm_version"
_WHEELS: Final = (_WHEELS_URL, "{distribution}_version")
_OF_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "fetch_artifacts": ("artifact_run_id",),
    "matrix": (
        *("enabled", "parts", "matrix_*", "test_enabled", "test_parts", "test_matrix_*"),
        *("rocm_test_enabled", "rocm_test_parts", "rocm_test_matrix_*"),
        *("packages_enabled", "packages_runs_on", "amdgpu_families", "artifact_group"),
    ),
    "preflight": ("publishes", "role_to_assume", "aws_region", "receipts_artifact", "wheels_artifact", "results_artifact"),
    "upload_rocm_packages": (_PACKAGES_URL, _ROCM, _PACKAGES),
    **dict.fromkeys(("pipeline", "promote", "test", "upload", "upload_wheels"), _WHEELS),
}
"""What each command hands on; ``*`` stands for a number."""

_OF_THE_RUN: Final = ("platform", "artifact-group")
_OF_THE_BUILD: Final = (*_OF_THE_RUN, "ref", "python")
ARTIFACT_AXES: Final[Mapping[str, tuple[str, ...]]] = {
    "receipts_artifact": _OF_THE_BUILD,
    "wheels_artifact": _OF_THE_BUILD,
    "results_artifact": (*_OF_THE_BUILD, "gpu-family"),
    _PACKAGES: _OF_THE_RUN,
}
"""The options that the names of artifacts are made of, by the output that hands such a name on."""


def outputs_of(command: str, distributions: Iterable[str]) -> tuple[str, ...]:
    """Return the names of what a command hands on; one with ``*`` in it stands for several.

    Parameters
    ----------
    command
        The command's name; of a project's the part before the project.
    distributions
        What the wheels are called whose versions may be handed on.
    """
    forms = _OF_COMMANDS.get(command, ())
    versions = [form.format(distribution=_plain(name)) for form in forms if "{" in form for name in distributions]
    return (*(form for form in forms if "{" not in form), *versions)


def wheel_outputs(pages: Iterable[str], versions: Iterable[tuple[str, str]], *, warn: Callable[[str], None]) -> dict[str, str]:
    """Return what is handed on of published wheels: ``pytorch_package_find_links_url``, ``torch_version`` and the like of each project.

    What has two values is not handed on: the job that takes it could not know which one it got.

    Parameters
    ----------
    pages
        The find-links pages of the indexes that they were published in.
    versions
        The distribution and the version of each wheel, as read from it.
    warn
        Takes a sentence on what is not handed on.
    """
    found: dict[str, set[str]] = collections.defaultdict(set)
    for page in pages:
        found[_WHEELS_URL].add(page)
    for distribution, version in versions:
        found[f"{_plain(distribution)}_version"].add(version)
    for name, values in found.items():
        if len(values) > 1:
            warn(f"{name} is not handed on to later jobs: it would be {' and '.join(sorted(values))}")
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def package_outputs(version: str, *, page: str | None = None, artifact: str | None = None) -> dict[str, str]:
    """Return what is handed on of ROCm packages: ``rocm_version``, and where they are.

    Parameters
    ----------
    version
        Their version.
    page
        The find-links page of the index that they were published in: ``rocm_package_find_links_url``.
    artifact
        The artifact that the job hands them on as, where they are not published: ``rocm_packages_artifact``.
    """
    places = {_PACKAGES_URL: page, _PACKAGES: artifact}
    return {**{name: place for name, place in places.items() if place is not None}, _ROCM: version}


def prove_file(command: str, machine: Mapping[str, str]) -> None:
    """Find out before the work of a command that what it hands on can be written: when that fails, all else is done already.

    Raises
    ------
    HipwrightError
        ``folder-not-writable``.
    """
    named = machine.get(_FILE)
    if named and command in _OF_COMMANDS:
        files.append_text(Path(named), "")


def hand_on(
    values: Mapping[str, str], machine: Mapping[str, str], *, documents: Mapping[str, object] | None = None
) -> Path | None:
    """Write values where the runner of a job takes them from; return that file, None where there is no such runner.

    Parameters
    ----------
    values
        The outputs by name.
    machine
        The machine's environment, in which ``GITHUB_OUTPUT`` names the file.
    documents
        Outputs that are JSON, which a workflow takes by ``fromJSON`` and nothing else does.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` for a value that is not one plain word: nothing is written then. ``folder-not-writable``.
    """
    named = machine.get(_FILE)
    if not named:
        return None
    for name, value in values.items():
        if not _NAME.fullmatch(name) or not _WORD.fullmatch(value):
            message = f"{name} cannot be handed on to later jobs: {value!r} is not one plain word"
            raise HipwrightError("bad-option-value", message, hint="publish into a place whose name is one word")
    path = Path(named)
    # JSON of this form is one line of ASCII, whatever is in it.
    lines = {**values, **{name: json.dumps(value, separators=(",", ":")) for name, value in (documents or {}).items()}}
    files.append_text(path, "".join(f"{name}={value}\n" for name, value in lines.items()))
    return path


def _plain(distribution: str) -> str:
    """Return the name of a distribution as the name of an output begins with it."""
    return re.sub(r"[-_.]+", "_", distribution).lower()
