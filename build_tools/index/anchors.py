"""What an HTML page says to installers, read as strictly as HTML5 is written: its links, its version, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

__all__ = ["Anchor", "Document", "read_document"]

_DOCTYPE: Final = re.compile(r"doctype html", re.IGNORECASE)
_META: Final = "pypi:repository-version"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BARE: Final = re.compile(r"&(?!(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
_ATTRIBUTE: Final = re.compile(r"""\s+[^\s"'<>/=]+(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?""")
_VOID: Final = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchor:
    """A link: where to, its text, and its attributes with their values decoded; an attribute without a value has an empty one."""

    href: str | None
    text: str
    attributes: dict[str, str]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A page: its links in order, every version of the interface that it states (PEP 629), and what is wrong with it."""

    anchors: tuple[Anchor, ...] = ()
    versions: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


def read_document(data: bytes) -> Document:
    """Read a page; what cannot be read as HTML5 in UTF-8 is a fault, and never an error."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Document(faults=(f"it is not in UTF-8: {error.reason} at byte {error.start}",))
    reader = _Reader()
    try:
        reader.feed(text)
        reader.close()
    except (AssertionError, ValueError) as error:
        reader.faults.append(f"it cannot be read as HTML: {error}")
    reader.end()
    return Document(anchors=tuple(reader.anchors), versions=tuple(reader.versions), faults=tuple(dict.fromkeys(reader.faults)))


@dataclass
class _Open:
    attributes: dict[str, str]
    faults: list[str]
    text: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: list[Anchor] = []
        self.versions: list[str] = []
        self.faults: list[str] = []
        self._link: _Open | None = None
        self._inside: list[str] = []
        self._declared = False
        self._began = False

    def handle_decl(self, decl: str) -> None:
        if self._began or not _DOCTYPE.fullmatch(decl):
            self.faults.append(f"its doctype is not that of HTML5: {decl[:40]!r}")
        self._declared = self._began = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._begin()
        names = [name for name, _ in attrs]
        wrong = [f"has the attribute {name} twice" for name in sorted({name for name in names if names.count(name) > 1})]
        wrong += self._escaping(tag)
        values = {name: value or "" for name, value in reversed(attrs)}
        if tag == "meta" and values.get("name") == _META:
            self.versions.append(values.get("content", ""))
        if tag == "base":
            self.faults.append("it moves its links by a base element")
        if tag == "a":
            self._open_link(values, wrong)
        else:
            self.faults += [f"its element {tag} {fault}" for fault in wrong]
        if tag not in _VOID:
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID or tag not in self._inside:
            self.faults.append(f"it ends an element {tag} that did not begin")
            return
        while (inner := self._inside.pop()) != tag:
            self.faults.append(f"its element {inner} has no end")
        if tag == "a":
            self._close_link()

    def handle_data(self, data: str) -> None:
        if data.strip():
            self._begin()
        if self._link is not None:
            self._link.text.append(data)

    def end(self) -> None:
        """Take note of what is still open at the end of the page."""
        if not self._declared:
            self.faults.append("it does not begin with <!DOCTYPE html>")
        self.faults += [f"its element {tag} has no end" for tag in self._inside]
        if self._link is not None:
            self._close_link()

    def _begin(self) -> None:
        self._began = True

    def _open_link(self, values: dict[str, str], wrong: list[str]) -> None:
        if self._link is not None:
            self.faults.append("it has a link within a link")
            self._close_link()
        if "href" not in values:
            wrong.append("leads nowhere: it has no href")
        wrong += [f"has a control character in {name}" for name, value in values.items() if _CONTROL.search(value)]
        self._link = _Open(attributes=values, faults=wrong)

    def _close_link(self) -> None:
        link = self._link
        self._link = None
        if link is not None:
            values = link.attributes
            anchor = Anchor(href=values.get("href"), text="".join(link.text), attributes=values, faults=tuple(link.faults))
            self.anchors.append(anchor)

    def _escaping(self, tag: str) -> list[str]:
        """Return what is wrong with how a tag is written, which a lenient parser does not show."""
        written = self.get_starttag_text() or ""
        found = list(_ATTRIBUTE.finditer(written, len(tag) + 1))
        faults = []
        for one in found:
            value = next((group for group in one.groups() if group is not None), "")
            if "<" in value or ">" in value:
                faults.append("has a < or > in an attribute that is not escaped")
            if _BARE.search(value):
                faults.append("has an & in an attribute that is not escaped")
        rest = _ATTRIBUTE.sub("", written[len(tag) + 1 :]).strip()
        if rest not in {">", "/>"}:
            faults.append("is not written as HTML5 wants attributes to be")
        return list(dict.fromkeys(faults))
