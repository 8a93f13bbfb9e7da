"""An artifact tree that a project keeps as sources: files as they lie, and libraries and programs that are compiled into it.

The folder holds ``artifacts``, a tree without what is compiled; ``sources``, in C; and ``compiled.toml``, which says what is compiled
into which artifact. With the same compiler the same sources give the same bytes, wherever and whenever.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where
from build_tools.rocm.artifacts.name import parse_artifact_name
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from build_tools.process import Runner

__all__ = [
    "SOURCES_TABLE",
    "ArtifactSources",
    "CompiledLibrary",
    "CompiledProgram",
    "compile_artifacts",
    "find_c_compiler",
    "library_command",
    "load_artifact_sources",
    "program_command",
]

SOURCES_TABLE: Final = "compiled.toml"
"""The file that says what is compiled into an artifact tree; it lies beside the rest of the tree."""

_FILES: Final = "artifacts"
_SOURCES: Final = "sources"
_MANIFEST: Final = "artifact_manifest.txt"

_CANDIDATES: Final = {Platform.LINUX: ("cc", "gcc", "clang"), Platform.WINDOWS: ("cl", "clang-cl")}
_HINTS: Final = {
    Platform.LINUX: "install one: apt-get install gcc, or dnf install gcc",
    Platform.WINDOWS: "install the Build Tools for Visual Studio",
}
_LIMIT_SECONDS: Final = 60.0

_PLAIN: Final = (
    *("-O2", "-fPIC", "-fvisibility=hidden", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-ident"),
    *("-s", "-Wl,--build-id=none", "-Wl,--hash-style=gnu", "-Wl,-z,relro,-z,now"),
)
"""What distributions set differently, and what would leave the compiler's version in the file."""

_MICROSOFT: Final = ("/nologo", "/O2", "/Brepro")

_Inside = Annotated[str, msgspec.Meta(pattern=r"^(?!.*(?:^|/)\.\.?(?:/|$))[^/\\:]+(?:/[^/\\:]+)*$")]
"""A relative path that leads down."""


class _Compiled(Table, frozen=True, kw_only=True):
    name: _Inside
    artifact: NonEmpty
    base: _Inside
    source: _Inside


class CompiledLibrary(_Compiled, frozen=True, kw_only=True):
    """A shared library, ``<base>/<folder>/lib<name>.so.<version>`` in its artifact.

    Its SONAME ends with the first part of ``version``; it and the name without a version are links. ``needs`` are libraries that
    come before it. ``windows`` is its file's name in ``<base>/bin`` there; without it there is none.
    """

    version: Annotated[str, msgspec.Meta(pattern=r"^[0-9]+(?:\.[0-9]+)*$")]
    folder: _Inside = "lib"
    needs: tuple[str, ...] = ()
    windows: _Inside | None = None

    @property
    def soname(self) -> str:
        """The name that others need it by."""
        return f"lib{self.name}.so.{self.version.partition('.')[0]}"

    @property
    def file(self) -> str:
        """Where it is below its base folder on Linux."""
        return f"{self.folder}/lib{self.name}.so.{self.version}"


class CompiledProgram(_Compiled, frozen=True, kw_only=True):
    """A program, ``<base>/<folder>/<name>`` in its artifact; ``links`` are further names beside it, copies on Windows."""

    folder: _Inside = "bin"
    links: tuple[_Inside, ...] = ()


class ArtifactSources(Table, frozen=True, kw_only=True):
    """``compiled.toml``: ``version`` is that of the packages."""

    schema: Literal[1]
    version: NonEmpty
    library: tuple[CompiledLibrary, ...] = ()
    program: tuple[CompiledProgram, ...] = ()


def load_artifact_sources(folder: Path) -> ArtifactSources:
    """Read what is compiled into an artifact tree.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also when the tree or a source is missing, an artifact's name is none, or a library needs one that does not
        come before it.
    """
    table = folder / SOURCES_TABLE
    found = load_toml(table, ArtifactSources)
    if not (folder / _FILES).is_dir():
        raise HipwrightError("bad-data-file", f"{folder} has no folder {_FILES}", where=Where(file=folder))
    wrong = []
    earlier: set[str] = set()
    for item in (*found.library, *found.program):
        if parse_artifact_name(item.artifact) is None:
            wrong.append(f"{item.name} goes into {item.artifact}, which is no name of an artifact")
        if not (folder / _SOURCES / item.source).is_file():
            wrong.append(f"{item.name} is made of {item.source}, which is not in {_SOURCES}")
        if isinstance(item, CompiledLibrary):
            wrong += [f"{item.name} needs {name}, which does not come before it" for name in item.needs if name not in earlier]
            earlier.add(item.name)
    if wrong:
        raise HipwrightError("bad-data-file", "; ".join(wrong), where=Where(file=table))
    return found


def find_c_compiler(runner: Runner, platform: Platform) -> Path | None:
    """Return the C compiler on the runner's path, None when there is none."""
    return next((found for name in _CANDIDATES[platform] if (found := runner.find(name))), None)


def _needed_compiler(runner: Runner, platform: Platform) -> Path:
    compiler = find_c_compiler(runner, platform)
    if compiler is not None:
        return compiler
    looked = ", ".join(_CANDIDATES[platform])
    message = f"there is no C compiler, and the project's own ROCm packages are compiled on the spot; looked for {looked}"
    raise HipwrightError("no-compiler", message, hint=_HINTS[platform])


def library_command(
    library: CompiledLibrary,
    *,
    compiler: Path,
    output: Path,
    links: Sequence[Path],
    platform: Platform,
    import_library: Path | None = None,
) -> list[str | Path]:
    """Return the command that makes a library, run where the sources are.

    Parameters
    ----------
    library
        The library; its name is the macro ``NAME``, with ``_`` for what an identifier cannot have.
    compiler
        The compiler.
    output
        The file to write.
    links
        The libraries that it needs; on Windows their import libraries.
    platform
        Whose compiler it is.
    import_library
        On Windows, where its own import library goes.
    """
    macro = re.sub(r"\W", "_", library.name)
    if platform is Platform.WINDOWS:
        end = ["/link", "/Brepro", *([f"/IMPLIB:{import_library}"] if import_library else [])]
        return [
            compiler,
            *_MICROSOFT,
            "/LD",
            f"/DNAME={macro}",
            f"/Fe:{output}",
            f"/Fo:{output}.obj",
            library.source,
            *links,
            *end,
        ]
    shared = ("-shared", "-nostdlib", f"-Wl,-soname,{library.soname}", "-Wl,--no-as-needed", "-Wl,--no-undefined")
    return [compiler, *_PLAIN, *shared, f"-DNAME={macro}", "-o", output, library.source, *links]


def program_command(program: CompiledProgram, *, compiler: Path, output: Path, platform: Platform) -> list[str | Path]:
    """Return the command that makes a program, run where the sources are; parameters as for :func:`library_command`."""
    if platform is Platform.WINDOWS:
        return [compiler, *_MICROSOFT, f"/Fe:{output}", f"/Fo:{output}.obj", program.source, "/link", "/Brepro"]
    return [compiler, *_PLAIN, "-o", output, program.source]


def compile_artifacts(folder: Path, target: Path, *, runner: Runner, platform: Platform) -> ArtifactSources:
    """Write the whole artifact tree into ``target`` and return what was compiled into it.

    Parameters
    ----------
    folder
        The sources of the tree.
    target
        A folder that is there; each artifact becomes a folder in it.
    runner
        Starts the compiler; its search path counts.
    platform
        Whose layout and compilers.

    Raises
    ------
    HipwrightError
        What :func:`load_artifact_sources` raises; ``no-compiler``; ``command-failed`` with the compiler's words.
    """
    wanted = load_artifact_sources(folder)
    compiler = _needed_compiler(runner, platform)
    shutil.copytree(folder / _FILES, target, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    tree = _Tree(folder=target, platform=platform)
    linked: dict[str, Path] = {}
    for library in wanted.library:
        place = tree.library(library)
        if place is None:
            continue
        imports = tree.import_library(library)
        needed = [linked[name] for name in library.needs if name in linked]
        command = library_command(
            library, compiler=compiler, output=place, links=needed, platform=platform, import_library=imports
        )
        runner.capture(command, cwd=folder / _SOURCES, timeout=_LIMIT_SECONDS, what=f"compiling {library.name}")
        linked[library.name] = imports or place
        tree.name_library(library, place)
    for program in wanted.program:
        place = tree.program(program)
        command = program_command(program, compiler=compiler, output=place, platform=platform)
        runner.capture(command, cwd=folder / _SOURCES, timeout=_LIMIT_SECONDS, what=f"compiling {program.name}")
        tree.name_program(program, place)
    return wanted


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tree:
    """The tree that is written: where what is compiled goes, with the manifests that say so."""

    folder: Path
    platform: Platform

    def library(self, library: CompiledLibrary) -> Path | None:
        """Return where a library goes; None when the platform has none."""
        if self.platform is Platform.LINUX:
            return self._place(library.artifact, library.base, library.file)
        return None if library.windows is None else self._place(library.artifact, library.base, f"bin/{library.windows}")

    def import_library(self, library: CompiledLibrary) -> Path | None:
        """Return where the import library goes, in the artifact's part for development; None on a platform that has none."""
        name = parse_artifact_name(library.artifact)
        if self.platform is Platform.LINUX or name is None:
            return None
        return self._place(replace(name, component="dev").folder, library.base, f"lib/{library.name}.lib")

    def program(self, program: CompiledProgram) -> Path:
        """Return where a program goes."""
        return self._place(program.artifact, program.base, f"{program.folder}/{program.name}{self._suffix}")

    def name_library(self, library: CompiledLibrary, place: Path) -> None:
        """Give a library its further names: the one that others need it by, and the one that is linked with."""
        place.with_name(f"{place.name}.obj").unlink(missing_ok=True)
        if self.platform is Platform.LINUX:
            if place.name != library.soname:
                place.with_name(library.soname).symlink_to(place.name)
            place.with_name(f"lib{library.name}.so").symlink_to(library.soname)

    def name_program(self, program: CompiledProgram, place: Path) -> None:
        """Give a program its further names."""
        place.with_name(f"{place.name}.obj").unlink(missing_ok=True)
        for name in program.links:
            other = place.with_name(f"{name}{self._suffix}")
            if self.platform is Platform.LINUX:
                other.symlink_to(place.name)
            else:
                shutil.copyfile(place, other)

    @property
    def _suffix(self) -> str:
        return ".exe" if self.platform is Platform.WINDOWS else ""

    def _place(self, artifact: str, base: str, path: str) -> Path:
        place = self.folder / artifact / base / path
        place.parent.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / artifact / _MANIFEST
        lines = manifest.read_text(encoding="utf-8").splitlines() if manifest.exists() else []
        if base not in lines:
            manifest.write_text("".join(f"{line}\n" for line in [*lines, base]), encoding="utf-8", newline="\n")
        return place
