"""Real ELF files by the hundred: a few are compiled once, and their names are written over for each that is asked for."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MOST_NEEDED", "library_bytes", "program_bytes"]

MOST_NEEDED: Final = 3
"""How many other libraries one may need."""

_WIDTH: Final = 63
_NAME: Final = "placeholder-of-a-name".ljust(_WIDTH, "-")
_SONAME: Final = "libplaceholder-of-a-soname".ljust(_WIDTH, "-")
_NEEDED: Final = [
    f"libplaceholder-{number}-of-what-is-needed".ljust(_WIDTH - 1, "-") + str(number) for number in range(MOST_NEEDED)
]

_LIBRARY: Final = f"""
static const char name[64] = "{_NAME}";
const char *rocm_tree_name(void) {{ return name; }}
"""
_PROGRAM: Final = f"""
#include <stdio.h>
static const volatile char name[64] = "{_NAME}";
int main(int count, char **words) {{
    for (int i = 0; name[i]; ++i) putchar(name[i]);
    printf(" as %s\\n", words[0]);
    return count > 99;
}}
"""
_RUN_PATH: Final = "-Wl,-rpath,$ORIGIN:$ORIGIN/../lib:/therock/build/dist/lib"
"""As builds leave it: what is to stay, and a folder of the machine that built it."""


def library_bytes(name: str, *, soname: str, needed: Sequence[str] = ()) -> bytes:
    """Return a shared library whose ``rocm_tree_name()`` returns ``name``; it uses no symbols of others, not even of libc."""
    return _written(_template("library", len(needed)), name, soname, needed)


def program_bytes(name: str, *, needed: Sequence[str] = ()) -> bytes:
    """Return a program that prints ``<name> as <how it was called>``; it needs libc and these libraries."""
    return _written(_template("program", len(needed)), name, None, needed)


def _written(template: bytes, name: str, soname: str | None, needed: Sequence[str]) -> bytes:
    texts = {_NAME: name, **dict(zip(_NEEDED, needed, strict=False))}
    if soname is not None:
        texts[_SONAME] = soname
    for old, new in texts.items():
        assert template.count(old.encode()) == 1, f"{old} should be there once"
        assert len(new) <= _WIDTH, new
        # A string in an ELF file ends at its first zero byte, so a shorter one fits into the place of a longer one.
        template = template.replace(old.encode(), new.encode().ljust(len(old), b"\0"))
    return template


@functools.cache
def _template(kind: str, needed: int) -> bytes:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler to make libraries with")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "empty.c").write_text("int placeholder;\n")
        others = [f"needed{number}.so" for number in range(needed)]
        for other, soname in zip(others, _NEEDED, strict=False):
            command = [compiler, "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{soname}", "-o", other, "empty.c"]
            subprocess.run(command, cwd=folder, check=True)
        (folder / "it.c").write_text(_LIBRARY if kind == "library" else _PROGRAM)
        options = ["-shared", "-nostdlib", f"-Wl,-soname,{_SONAME}"] if kind == "library" else []
        # What is needed is not there to be looked into: symbols of other libraries are none of its business.
        linking = [_RUN_PATH, "-Wl,--no-as-needed", "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
        command = [compiler, "-O1", "-fPIC", *options, *linking, "-o", "it", "it.c", *others]
        subprocess.run(command, cwd=folder, check=True)
        return (folder / "it").read_bytes()
