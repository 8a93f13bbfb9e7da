"""Files whose commits break their own line-end rules: CR LF stored under an attribute that says ``text``.

Git calls such a file modified right after a fresh clone, now and then: its own rule would write other bytes than the commit has. The
module's ``info/attributes`` says for those files alone that their bytes are what counts. Their bytes on disk stay as git writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from build_tools import files

if TYPE_CHECKING:
    from build_tools.sources.modules import Module
    from build_tools.types import CommitId

__all__ = ["keep_stored_bytes"]

_BEGIN: Final = b"# made by hipwright: these files are stored with CR LF although their attributes say text"
_END: Final = b"# end of what hipwright made"
_RULES: Final = "(^|[[:space:]])(text|crlf|eol)([[:space:]=]|$)"
_STORED: Final = (b"i/crlf", b"i/mixed")
_SPECIAL: Final = b"*?[\\"


def keep_stored_bytes(module: Module, commit: CommitId) -> None:
    """Write the rules for a module whose work folder and index stand on ``commit``, and take away those of an earlier commit."""
    path = module.git_dir / "info" / "attributes"
    lines = path.read_bytes().splitlines() if path.is_file() else []
    if _BEGIN in lines and _END in lines:
        del lines[lines.index(_BEGIN) : lines.index(_END) + 1]
    broken = _broken(module, commit)
    if broken:
        lines += [_BEGIN, *(_pattern(name) + b" -text" for name in broken), _END]
    elif not path.is_file():
        return
    files.write_bytes(path, b"".join(line + b"\n" for line in lines))


def _broken(module: Module, commit: CommitId) -> list[bytes]:
    store = module.store
    arguments = ("-q", "-I", "-E", "-e", _RULES, commit, "--", ".gitattributes", ":(glob)**/.gitattributes")
    if not store.succeeds("grep", *arguments):
        return []
    found = []
    for record in module.repository.records("ls-files", "--eol", "-z"):
        head, _, name = record.partition(b"\t")
        stored, _on_disk, *attributes = head.split()
        # With text=auto git leaves files alone that are stored with CR LF.
        if stored in _STORED and attributes[:1] == [b"attr/text"]:
            found.append(name)
    return found


def _pattern(name: bytes) -> bytes:
    escaped = b"".join(b"\\" + bytes([byte]) if byte in _SPECIAL else bytes([byte]) for byte in name)
    return b'"/' + escaped.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
