"""Our own files that go into ROCm Python packages: the modules that find, load, expand and test what AMD's artifacts brought.

They lie as they are in the folder ``payload`` beside this one. They run on the user's machine, so they import the standard library and
each other alone, and Python 3.10 can read them.
"""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, get_args

from build_tools.rocm.payload.rocm_sdk_core._run import function_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["PackageKey", "entry_points", "payload_files", "source_files"]

PackageKey = Literal["rocm", "core", "libraries", "devel", "profiler"]

_ROOT: Final = Path(__file__).parents[1] / "payload"
_MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rocm": "rocm_sdk",
        "core": "rocm_sdk_core",
        "libraries": "rocm_sdk_libraries",
        "devel": "rocm_sdk_devel",
        "profiler": "rocm_profiler",
    }
)
_OF_THE_FILES: Final = b'"""Files of ROCm, installed by the package %s; `rocm_sdk` finds them."""\n'
_WITH_FILES: Final = frozenset({"core", "libraries", "profiler"})


def payload_files(package: PackageKey, *, module: str | None = None, distribution: str | None = None) -> Mapping[str, bytes]:
    """Return our files of a package: paths from the wheel's root with their bytes, each line ended by a line feed.

    The packager adds what it alone knows: ``rocm_sdk/dist_info.json``, ``rocm_sdk_core/scripts.json``, ``rocm_profiler/scripts.json``,
    and ``_set.json`` in each folder of ROCm's files.

    Parameters
    ----------
    package
        Its key: ``rocm``, ``core``, ``libraries``, ``devel`` or ``profiler``. A device package has none of our files.
    module
        The folder of ROCm's files where it is another than the key's own: ``_rocm_sdk_libraries_gfx94x_dcgpu``. The module beside it has
        the same name without the leading ``_``, so that the packages of two families share no file.
    distribution
        The package's name, for the files that state it; taken from the module when not given.
    """
    if package not in get_args(PackageKey):
        message = f"no package has the key {package!r}"
        raise ValueError(message)
    usual = _MODULES[package]
    beside = module.removeprefix("_") if module is not None else usual
    files = {f"{beside}/{name}": data for name, data in _read(_ROOT / usual).items()}
    if package in _WITH_FILES:
        files[f"_{beside}/__init__.py"] = _OF_THE_FILES % (distribution or beside.replace("_", "-")).encode()
    return files


def entry_points(package: Literal["core", "profiler"], scripts: Iterable[str]) -> bytes:
    """Return ``entry_points.txt`` for the console scripts of a package, by their names; the same ones belong into its ``scripts.json``.

    Raises
    ------
    ValueError
        When two scripts would need the same function.
    """
    names = sorted(scripts)
    functions = {function_name(name): name for name in names}
    if len(functions) != len(names):
        message = f"the scripts {', '.join(sorted(set(names) - set(functions.values())))} need a function that others have"
        raise ValueError(message)
    lines = [f"{name} = {_MODULES[package]}._cli:{function_name(name)}" for name in names]
    return ("\n".join(["[console_scripts]", *lines]) + "\n").encode()


def source_files() -> Mapping[str, bytes]:
    """Return the files that only the source distribution of ``rocm`` has: its build backend."""
    return _read(_ROOT / "sdist")


def _read(folder: Path) -> dict[str, bytes]:
    """Read a folder of text; a checkout on Windows may have given it other line ends."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".toml", ".md"} and path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes().replace(b"\r\n", b"\n") for path in paths}
