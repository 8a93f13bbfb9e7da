"""``packages.html``, the page for people: how to install what is here for which GPU, what there is, and what came last.

It is a function of the snapshot alone, as all pages are, and so does not know where it stands: an index that is copied, or served under
another name, stays right. The commands name the flat page, which any server gives, by a link; a browser that runs scripts puts
its whole address in. What left the index is not on the page: the snapshots before are in the history.
"""

from __future__ import annotations

import itertools
import shlex
from html import escape
from typing import TYPE_CHECKING, Final

import humanize

from build_tools.counted import counted
from build_tools.errors import HipwrightError
from build_tools.index.families import install_sets
from build_tools.index.layout import FLAT_PAGE, SIMPLE, SIMPLE_JSON, quoted
from build_tools.index.snapshots import parsed_version
from build_tools.wheels.name import parse_wheel_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from build_tools.index.families import InstallSet
    from build_tools.receipts.snapshot import IndexedFile

__all__ = ["INDEX_ADDRESS", "people_page"]

INDEX_ADDRESS: Final = "INDEX"
"""What stands for the address of the flat page in a command until a browser puts it there; any server gives that page, a plain bucket too."""

_VERSIONS: Final = 3
"""So many versions of a project are shown file by file; the page of the project has all."""

_UPLOADS: Final = 5
_FILES_OF_UPLOAD: Final = 30

_STYLE: Final = """
    :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
    body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
    pre, code { font: 0.9rem/1.5 ui-monospace, monospace; }
    pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 0.75rem; border: 1px solid #8886; border-radius: 6px; }
    .wide { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
    th, td { border-bottom: 1px solid #8884; padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top; }
    td.time { white-space: nowrap; }
    td.number { text-align: right; white-space: nowrap; }
    .yanked { text-decoration: line-through; }
"""

_SCRIPT: Final = f"""
    const here = new URL("{FLAT_PAGE}", location.href).href;
    for (const place of document.querySelectorAll(".index")) place.textContent = here;
    for (const note of document.querySelectorAll(".without-script")) note.remove();
"""


def people_page(projects: Mapping[str, Sequence[IndexedFile]]) -> bytes:
    """Return the page of an index.

    Parameters
    ----------
    projects
        The files by project, both in order.
    """
    lines = (
        "<!DOCTYPE html>",
        '<html lang="en">',
        "  <head>",
        '    <meta charset="utf-8">',
        '    <meta name="viewport" content="width=device-width, initial-scale=1">',
        "    <title>Packages</title>",
        f"    <style>{_STYLE}    </style>",
        "  </head>",
        "  <body>",
        "    <h1>Packages</h1>",
        *_summary(projects),
        *_install(projects),
        *_latest(projects),
        "    <h2>All projects</h2>",
        *(line for project, files in projects.items() for line in _project(project, files)),
        f"    <script>{_SCRIPT}    </script>",
        "  </body>",
        "</html>",
        "",
    )
    return "\n".join(lines).encode()


def _summary(projects: Mapping[str, Sequence[IndexedFile]]) -> Iterator[str]:
    count = sum(map(len, projects.values()))
    size = _size(sum(file.size for files in projects.values() for file in files))
    yield f"    <p>{counted(len(projects), 'project')}, {counted(count, 'file')}, {size} in all.</p>"
    yield (
        f'    <p>For installers: <a href="{SIMPLE}/">the index</a> (<code>--index-url</code>), '
        f'<a href="{SIMPLE_JSON}/">the same as JSON</a>, and <a href="{FLAT_PAGE}">all files on one page</a> '
        "(<code>--find-links</code>).</p>"
    )


def _install(projects: Mapping[str, Sequence[IndexedFile]]) -> Iterator[str]:
    sets = install_sets(projects)
    if not sets:
        return
    yield "    <h2>Install</h2>"
    yield (
        "    <p>The first command takes these packages from here and from nowhere else, the second what they need besides from "
        "wherever your installer looks.</p>"
    )
    yield (
        f'    <p class="without-script"><code>{INDEX_ADDRESS}</code> stands for the address of <a href="{FLAT_PAGE}">this page</a>.</p>'
    )
    for one in sets:
        if one.family is not None:
            others = [target for target in one.targets if target != one.family]
            more = f" ({', '.join(others)})" if others else ""
            yield f'    <h3 id="{escape(one.family)}">{escape(one.family)}{escape(more)}</h3>'
        yield f"    <pre>{_commands(one)}</pre>"


def _commands(one: InstallSet) -> str:
    words = escape(" ".join(map(shlex.quote, one.requirements)))
    address = f'--no-index --find-links <span class="index">{INDEX_ADDRESS}</span>'
    # uv takes a pre-release that something else requires only when it is told to.
    uv = "uv pip install --prerelease allow" if one.has_prerelease else "uv pip install"
    return (
        f"pip install --no-deps {address} {words}\npip install {words}</pre>\n"
        f"    <pre>{uv} --no-deps {address} {words}\n{uv} {words}"
    )


def _latest(projects: Mapping[str, Sequence[IndexedFile]]) -> Iterator[str]:
    """Say what the last uploads brought, and what is yanked."""
    everything = [file for files in projects.values() for file in files]
    if everything:
        yield "    <h2>What came last</h2>"
        yield "    <dl>"
        times = sorted({file.uploaded for file in everything}, reverse=True)[:_UPLOADS]
        by_time: dict[str, list[IndexedFile]] = {time: [] for time in times}
        for file in everything:
            if file.uploaded in by_time:
                by_time[file.uploaded].append(file)
        for time, files in by_time.items():
            yield f"      <dt>{escape(time)}</dt>"
            yield from (f"      <dd>{escape(file.filename)}</dd>" for file in files[:_FILES_OF_UPLOAD])
            if len(files) > _FILES_OF_UPLOAD:
                yield f"      <dd>and {len(files) - _FILES_OF_UPLOAD} more</dd>"
        yield "    </dl>"
    yanked = [file for file in everything if file.yanked is not None]
    if yanked:
        yield "    <h2>Yanked</h2>"
        yield "    <p>Installers take these only when one is asked for by its exact version.</p>"
        yield "    <ul>"
        yield from (f"      <li>{escape(file.filename)}{_reason(file)}</li>" for file in yanked)
        yield "    </ul>"


def _project(project: str, files: Sequence[IndexedFile]) -> Iterator[str]:
    newest_first = itertools.groupby(reversed(files), key=lambda file: parsed_version(file.version))
    versions = [list(reversed(list(group))) for _, group in newest_first]
    yield f'    <h3 id="project-{escape(project)}">{escape(project)}</h3>'
    yield '    <div class="wide"><table>'
    yield "      <tr><th>version</th><th>file</th><th>Python</th><th>platform</th><th>size</th><th>uploaded</th></tr>"
    yield from (_row(file) for group in versions[:_VERSIONS] for file in group)
    yield "    </table></div>"
    if len(versions) > _VERSIONS:
        older = counted(len(versions) - _VERSIONS, "older version")
        yield f'    <p><a href="{SIMPLE}/{quoted(project)}/index.html">{older}</a></p>'


def _row(file: IndexedFile) -> str:
    mark = ' class="yanked"' if file.yanked is not None else ""
    link = f'<a{mark} href="{quoted(file.key)}">{escape(file.filename)}</a>{_reason(file)}'
    python, platform = _tags(file)
    needs = f"{python}, {file.requires_python}" if file.requires_python else python
    cells = (
        f"<td>{escape(file.version)}</td><td>{link}</td><td>{escape(needs)}</td><td>{escape(platform)}</td>"
        f'<td class="number">{_size(file.size)}</td><td class="time">{escape(file.uploaded)}</td>'
    )
    return f"      <tr>{cells}</tr>"


def _reason(file: IndexedFile) -> str:
    return f" ({escape(file.yanked)})" if file.yanked else ""


def _tags(file: IndexedFile) -> tuple[str, str]:
    """Return the Python and the platform that a file is for, as its name has them."""
    if not file.filename.endswith(".whl"):
        return "source", "any"
    try:
        name = parse_wheel_name(file.filename)
    except HipwrightError:
        return "", ""
    return name.python if name.abi in {"none", name.python} else f"{name.python}-{name.abi}", name.platform


def _size(number: int) -> str:
    return humanize.naturalsize(number, binary=True)
