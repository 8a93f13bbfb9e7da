"""How a project's wheel is built, as ``project.toml`` says it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from build_tools.config.fields import Minutes, Table

__all__ = ["Build"]


class Build(Table, frozen=True, kw_only=True):
    """How the wheel is built: by which front end, what the build environment holds, and what the child's environment says.

    ``folders`` are the places in the tree where the build begins, of which the first that has a ``pyproject.toml`` or ``setup.py``
    counts. ``front_end`` is ``pep517`` for ``python -m build``, ``setup-py`` for a project whose ``setup.py`` is to be run itself.
    ``requires`` are requirements from the base index beyond the tree's own ``build-system.requires``; ``owned_requires`` come only
    from the sources that the command names, or are wheels of other projects that were built before. ``environment`` holds constants, per platform under ``linux`` and ``windows``.
    ``variables`` names the environment variable that gets a computed value (``version-suffix`` is the local part with its plus sign,
    for sources that put it behind a version of their own); ``package-versions`` names the variable that gets the version of a package
    that the wheel pins. A setting of ``config-settings`` may have several values. ``machine_variables`` are the variables of the
    machine that a build may have; no other one reaches it. ``memory_per_job`` is in MiB: what one compiler takes.
    ``target_variable`` is the environment variable by which the project's own tools are told the GPU targets: it is read, as ``--gfx`` is,
    for this project alone, and the build gets it, its entries parted by commas.
    ``compiles`` is who runs the compilers: CMake, or setuptools itself, which decides how a compiler cache gets between.
    """

    front_end: Literal["pep517", "setup-py"] = "pep517"
    folders: tuple[str, ...] = (".",)
    requires: tuple[str, ...] = ()
    linux_requires: tuple[str, ...] = ()
    windows_requires: tuple[str, ...] = ()
    owned_requires: tuple[str, ...] = ()
    config_settings: dict[str, str | tuple[str, ...]] = msgspec.field(default_factory=dict)
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    linux: dict[str, str] = msgspec.field(default_factory=dict)
    windows: dict[str, str] = msgspec.field(default_factory=dict)
    variables: dict[
        Literal["version", "version-suffix", "build-number", "targets", "rocm-home", "install-requirements", "source-commit"],
        str,
    ] = msgspec.field(default_factory=dict)
    package_versions: dict[str, str] = msgspec.field(default_factory=dict)
    machine_variables: tuple[str, ...] = ()
    memory_per_job: Annotated[int, msgspec.Meta(ge=1)] = 1536
    target_variable: Annotated[str, msgspec.Meta(pattern=r"^(?!HIPWRIGHT_)[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    compiles: Literal["cmake", "setuptools"] = "cmake"
    time_limit_minutes: Minutes = 24 * 60

    def all_requires(self, *, windows: bool) -> tuple[str, ...]:
        """Return what the recipe requires on a platform, beyond what the sources say."""
        return (*self.owned_requires, *self.requires, *(self.windows_requires if windows else self.linux_requires))
