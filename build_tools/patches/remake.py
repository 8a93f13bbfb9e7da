"""A patch that is no commit in any tree, made into one on the contents that it was made for, so that it can be merged onto others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from build_tools.patches.beside import OFFLINE, bench_at
from build_tools.patches.sections import sections
from build_tools.types import TreeId

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.patches.sections import Section
    from build_tools.patches.series import Patch
    from build_tools.sources.modules import Module
    from build_tools.types import CommitId

__all__ = ["remade"]

_OLD_MODE: Final = re.compile(rb"(?:old mode|deleted file mode|index [0-9a-f]+\.\.[0-9a-f]+) (?P<mode>[0-7]{6})")
_PLAIN: Final = b"100644"
_NO_FILE: Final = b"0" * 6
_NOTHING: Final = b"0" * 40


def remade(patch: Patch, module: Module, head: CommitId, *, tree: Path, log: Path) -> CommitId | None:
    """Return a commit that is a patch's change and message, on top of the files that the patch was made for.

    Parameters
    ----------
    patch
        The patch.
    module
        The module, in whose repository the commit is made without a name.
    head
        A commit of the module; the commit has all other files as this one has them.
    tree
        The source tree, inside whose ``.git`` the work is done.
    log
        What ``git am`` says is appended here.

    Returns
    -------
    CommitId | None
        None when the patch does not name those files in full, or they are not in the local repositories.
    """
    parts = list(sections(patch.data))
    if not parts or any(part.objects is None for part in parts):
        return None
    lines = b"".join([*(line for part in parts for line in _coming(part)), *(line for part in parts for line in _before(part))])
    with bench_at(tree, module, head, log=log) as bench:
        bench.repository.capture("read-tree", head)
        bench.repository.capture("update-index", "-z", "--index-info", stdin=lines)
        written = bench.repository.capture("write-tree", env=OFFLINE, check=False)
        if written.returncode != 0:
            return None
        start = bench.repository.commit(TreeId(written.text), parent=head, message="what a patch was made for\n", date=0)
    with bench_at(tree, module, start, log=log) as bench:
        mailed = bench.mail((patch,))
        return mailed.made[-1].commit if mailed.made and not mailed.failed else None


def _coming(part: Section) -> Iterator[bytes]:
    """Yield what the index is to be told of a file that is there only with a patch."""
    if part.new is not None and part.new != part.old:
        yield b"%s %s\t%s\0" % (_NO_FILE, _NOTHING, part.new)


def _before(part: Section) -> Iterator[bytes]:
    """Yield what the index is to be told of the file as it was before a patch."""
    if part.old is not None and part.objects is not None:
        modes = (_OLD_MODE.fullmatch(line) for line in part.lines)
        mode = next((found["mode"] for found in modes if found is not None), _PLAIN)
        yield b"%s %s\t%s\0" % (mode, part.objects[0].encode(), part.old)
