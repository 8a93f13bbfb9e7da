"""Give a wheel another version: known fields are rewritten, everything else is copied as it lies, and the old version may be left nowhere.

A version text is compared by its parts, never searched for by a pattern over the whole: the ``a`` in ``git1a2b3c4d`` is none of an alpha.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from build_tools.errors import HipwrightError, Where
from build_tools.types import Sha256
from build_tools.wheels.metadata import parse_metadata
from build_tools.wheels.name import parse_wheel_name
from build_tools.wheels.opened import copy_member, member_bytes, open_wheel
from build_tools.wheels.rewrite import rewrite_wheel
from build_tools.wheels.version_scan import BEFORE, files_stating

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from build_tools.wheels.opened import PackedWheel

__all__ = ["Remade", "Reversion", "content_digest", "is_of_version", "parse_reversion", "remake_wheel"]

_ROCM: Final = "rocm"
_AFTER: Final = rb"(?![0-9A-Za-z]|[.+][0-9A-Za-z])"
"""Behind what is replaced no further part of a version may follow; what is only found is looked at however it goes on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reversion:
    """The version that is left, and the one that is taken: of a package itself, or of the ROCm that a local version names."""

    old: Version
    new: Version

    def of(self, text: str) -> str:
        """Return the version that a version becomes; itself where it has nothing to do with the one that is left.

        >>> rule = parse_reversion("7.10.0rc2=7.10.0")
        >>> rule.of("2.9.0+rocm7.10.0rc2"), rule.of("7.10.0rc2"), rule.of("2.9.0+git1a2b.rocm7.10.0rc2"), rule.of("7.10.0rc20")
        ('2.9.0+rocm7.10.0', '7.10.0', '2.9.0+git1a2b.rocm7.10.0', '7.10.0rc20')
        """
        version = Version(text)
        public, local = Version(version.public), version.local
        if public == self.old:
            public = self.new
        if local is not None:
            local = self._local(local)
        made = str(public) if local is None else f"{public}+{local}"
        return text if Version(made) == version else made

    def of_file(self, filename: str) -> str:
        """Return the file name that a wheel of a file name gets.

        Raises
        ------
        HipwrightError
            ``bad-wheel`` when it is no wheel's.

        >>> parse_reversion("7.10.0rc2=7.10.0").of_file("torch-2.9.0+rocm7.10.0rc2-py3-none-any.whl")
        'torch-2.9.0+rocm7.10.0-py3-none-any.whl'
        """
        name = parse_wheel_name(filename)
        return filename.replace(f"-{name.version}-", f"-{self.of(name.version)}-", 1)

    def _local(self, local: str) -> str:
        before, mark, rocm = f".{local}".rpartition(f".{_ROCM}")
        if not mark or not rocm[:1].isdigit():
            return local
        try:
            named = Version(rocm)
        except InvalidVersion:
            return local
        return f"{before}.{_ROCM}{self.new}".removeprefix(".") if named == self.old else local


@dataclass(frozen=True, kw_only=True, slots=True)
class Remade:
    """A wheel that was made from another one; ``same_content`` tells whether nothing but what states versions differs."""

    path: Path
    source: Sha256
    same_content: bool


def parse_reversion(text: str) -> Reversion:
    """Read ``OLD=NEW``.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when it is not two different public versions (PEP 440).
    """
    old, _, new = text.partition("=")
    try:
        made = Reversion(old=Version(old), new=Version(new))
    except InvalidVersion as error:
        raise _no_reversion(text, str(error)) from None
    if made.old == made.new:
        raise _no_reversion(text, "both are the same")
    if made.old.local or made.new.local:
        raise _no_reversion(text, "a local part does not belong there")
    return made


def _no_reversion(text: str, why: str) -> HipwrightError:
    message = f"--reversion takes OLD=NEW, two versions, not {text!r}: {why}"
    return HipwrightError("bad-option-value", message, hint="say it like this: --reversion 7.10.0rc2=7.10.0")


def remake_wheel(path: Path, target: Path, rule: Reversion, *, source: Sha256, members: Collection[str], jobs: int = 1) -> Remade:
    """Make the wheel of the new version in the folder ``target``, and prove that the old version is left nowhere in it.

    Parameters
    ----------
    path
        The wheel.
    target
        The folder.
    rule
        Which version becomes which.
    source
        The SHA-256 of the wheel's bytes.
    members
        The names, without folders, of the files that state the version.
    jobs
        How many threads compress.

    Raises
    ------
    HipwrightError
        ``bad-version`` when the wheel is not of the version that is left; ``version-left`` naming each file that states it still;
        what :func:`build_tools.wheels.rewrite.rewrite_wheel` raises.
    """
    old = open_wheel(path)
    before = old.name.version
    after = rule.of(before)
    words, requires = _words(old, rule)
    changed: dict[str, bytes] = {}
    for name in _stating(old, members):
        data = member_bytes(old, name)
        new = _replaced(data, words)
        if new != data:
            changed[name] = new
    if after == before and not requires:
        message = f"{path.name} is not of the version {rule.old}, nor for a ROCm of that version, nor does it require any"
        raise HipwrightError("bad-version", message, where=Where(file=path), hint="leave it out with --projects")
    renamed = {_under(name, old.name.dist_info, after, old): data for name, data in changed.items()}
    made = rewrite_wheel(path, target, version=after, requires=requires, members=dict(renamed), jobs=jobs)
    new_wheel = open_wheel(made)
    left = _left(new_wheel, rule, words)
    if left:
        shown = ", ".join(left[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")  # noqa: PLR2004 - as many as fit a line
        message = f"{made.name} still states {' or '.join(sorted(words))} in {shown}"
        made.unlink()
        hint = "build it with the new version: what is compiled in, or stands in a file that no data name, cannot be rewritten"
        raise HipwrightError("version-left", message, where=Where(file=path, member=left[0]), hint=hint)
    return Remade(path=made, source=source, same_content=content_digest(old, members) == content_digest(new_wheel, members))


def is_of_version(path: Path, rule: Reversion) -> bool:
    """Return whether a wheel has to do with the version that is left: it is of it, requires it, or has a file that states it.

    Raises
    ------
    HipwrightError
        As :func:`remake_wheel`, before it makes anything.
    """
    wheel = open_wheel(path)
    words, requires = _words(wheel, rule)
    return rule.of(wheel.name.version) != wheel.name.version or bool(requires) or bool(_left(wheel, rule, words))


def content_digest(wheel: PackedWheel, members: Collection[str]) -> Sha256:
    """Return the digest of all that a wheel holds, by names and bytes, but for the files that state its version, and ``RECORD``."""
    skipped = {*_stating(wheel, members), f"{wheel.dist_info}/METADATA"}
    whole = hashlib.sha256()
    for name in sorted(wheel.entries, key=lambda one: _neutral(one, wheel)):
        if name in skipped:
            continue
        part = hashlib.sha256()
        copy_member(wheel, name, _Taker(part.update))
        executable = "x" if wheel.entries[name].executable else "-"
        whole.update(f"{_neutral(name, wheel)}\0{executable}\0{part.hexdigest()}\n".encode())
    return Sha256(whole.hexdigest())


def _words(wheel: PackedWheel, rule: Reversion) -> tuple[dict[str, str], dict[str, str | None]]:
    """Return the version texts that are replaced, each with the new one, and the new specifiers of requirements."""
    before = wheel.name.version
    words = {text: rule.of(text) for text in (before, str(Version(before)), str(rule.old)) if rule.of(text) != text}
    requires: dict[str, str | None] = {}
    for requirement in parse_metadata(wheel.metadata).requires_dist:
        for one in requirement.specifier:
            if one.operator not in {"==", "==="} or one.version.endswith(".*") or rule.of(one.version) == one.version:
                continue
            name = canonicalize_name(requirement.name)
            wanted = f"=={rule.of(one.version)}"
            if len(requirement.specifier) > 1 or requires.get(name, wanted) != wanted:
                message = f"{wheel.path.name} requires {name} in more than one way, and it is not clear which version is meant"
                raise HipwrightError("bad-version", message, where=Where(file=wheel.path))
            requires[name] = wanted
            words[one.version] = rule.of(one.version)
    return words, requires


def _left(wheel: PackedWheel, rule: Reversion, words: Iterable[str]) -> list[str]:
    """Return the files of a wheel that have one of the old versions in them."""
    return files_stating(wheel, {*words, *_spellings(rule.old)})


def _stating(wheel: PackedWheel, members: Collection[str]) -> list[str]:
    return [name for name in wheel.entries if name.rpartition("/")[2] in members]


def _under(name: str, dist_info: str, version: str, wheel: PackedWheel) -> str:
    """Return a member's name in the wheel of another version: folders that bear the version are renamed."""
    folder, mark, rest = name.partition("/")
    for suffix in (".dist-info", ".data"):
        if folder == dist_info.removesuffix(".dist-info") + suffix:
            return f"{wheel.name.distribution}-{Version(version)}{suffix}{mark}{rest}"
    return name


def _neutral(name: str, wheel: PackedWheel) -> str:
    folder, mark, rest = name.partition("/")
    own = f"{wheel.name.distribution}-{wheel.name.version}"
    return f"{folder.removeprefix(own)}{mark}{rest}" if folder.startswith(f"{own}.") else name


def _replaced(data: bytes, words: Mapping[str, str]) -> bytes:
    """Return text with each whole old version replaced; a longer version that merely begins like it stays."""
    if not words:
        return data
    alternatives = b"|".join(re.escape(word.encode()) for word in sorted(words, key=len, reverse=True))
    wanted = re.compile(BEFORE + rb"(" + alternatives + rb")" + _AFTER)
    return wanted.sub(lambda met: met[0].removesuffix(met[1]) + words[met[1].decode()].encode(), data)


def _spellings(version: Version) -> set[str]:
    """Return a version as people and tools write it: with a mark before the part that makes it a pre-release, too."""
    text = str(version)
    after = text.removeprefix(version.base_version)
    return {text, *(f"{version.base_version}{mark}{after.lstrip('.')}" for mark in ".-_" if after)}


@dataclass(frozen=True, slots=True)
class _Taker:
    """Hands on what is written to it."""

    write: Callable[[bytes], object]
