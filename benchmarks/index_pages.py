"""How long the index of 10,000 wheels takes, whole and after one wheel was added, against piprepo and dumb-pypi.

Usage: ``python -m benchmarks.index_pages [ROUNDS]``. The first work on files on this machine. piprepo, which reads a folder, finds 10,000 small
wheels in it; dumb-pypi, which reads a list, has the names, digests and sizes in one, and for the added wheel its list of before. Ours
reads the snapshot of an index that is published, as a publisher does; for the whole its pages are taken away before. At the end
the same is done on a real S3 server, on which all the wheels lie: piprepo knows one way to do that, which puts every file again. What each
program takes to start counts, setting up does not.
"""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING, Final

import msgspec
import platformdirs

from benchmarks._measure import CLONE, Pair, base_interpreter, of_pairs, pairs, rounds, scratch, show, timed, two_processors
from benchmarks._rocm import program
from benchmarks.wheel_check import of_processors
from build_tools import digest
from build_tools.index.snapshots import merged
from build_tools.publish.current import read_current, swap
from build_tools.publish.pages import publish_pages
from build_tools.receipts.snapshot import IndexedFile, Snapshot
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
from tests.support.publishing import PUBLISHED, write_wheel
from tests.support.s3 import seaweed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks._measure import Result, Timed
    from tests.support.s3 import S3Server

_OTHERS: Final = ("piprepo==0.1.3", "dumb-pypi==1.15.0", "setuptools<82")
"""piprepo imports what setuptools 82 has no more."""

WHEELS: Final = 10_000
PROJECTS: Final = 20
LIMIT_WHOLE: Final = 1 / 5
LIMIT_ADDED: Final = 1 / 100
_TAGS: Final = ("cp310-cp310", "cp311-cp311", "cp312-cp312", "cp313-cp313", "cp313-cp313t")

_CODE: Final = """
import sys
import time
from pathlib import Path
from build_tools.publish.current import read_current, swap
from build_tools.publish.pages import publish_pages
from build_tools.index.snapshots import merged
from build_tools.receipts.snapshot import Change
from build_tools.stores.local import FolderStore
from build_tools.stores.run_outputs import IndexFolder
import msgspec
store, place = FolderStore(Path(sys.argv[1])), IndexFolder("index")
start = time.perf_counter()
if sys.argv[2] == "whole":
    publish_pages(store, place, say=lambda _line: None, whole=True)
else:
    change = Change(action="publish", time="2026-01-02T03:04:05Z")
    before = read_current(store, place)
    name = f"project_7-9.{sys.argv[3]}-py3-none-any.whl"
    row = msgspec.structs.replace(
        before.snapshot.files[0], project="project-7", filename=name, key=f"dist/{name}", version=f"9.{sys.argv[3]}"
    )
    assert swap(store, place, before=before, after=merged(before.snapshot, [row]), change=change)
    publish_pages(store, place, say=lambda _line: None)
print(time.perf_counter() - start)
"""

_ON_STORE: Final = """
import os
import sys
from pathlib import Path
from build_tools.publish.pages import publish_pages
from build_tools.stores.open import open_store
from build_tools.stores.run_outputs import IndexFolder
store = open_store(f"s3://{sys.argv[1]}", base=Path.cwd(), endpoint_url=sys.argv[2], machine=os.environ)
publish_pages(store, IndexFolder("index"), say=lambda _line: None, whole=True)
"""

_PUBLISH: Final = """
import os
import sys
from pathlib import Path
from build_tools import digest
from build_tools.publish.offer import offer_file
from build_tools.publish.upload import publish_offers
from build_tools.stores.open import open_store
from build_tools.stores.run_outputs import IndexFolder
store = open_store(f"s3://{sys.argv[1]}", base=Path.cwd(), endpoint_url=sys.argv[2], machine=os.environ)
wheel = Path(sys.argv[3])
offers = [offer_file(wheel, sha256=digest.of_file(wheel))]
publish_offers(offers, store=store, place=IndexFolder("index"), replace=False, say=lambda _line: None)
"""

_ON_SERVER: Final = f"one wheel published beside {WHEELS} on an S3 server, against piprepo sync"


def others_ready() -> Path:
    """Return the folder of the interpreter that has both others, made on first use from the machine's own index."""
    folder = platformdirs.user_cache_path("hipwright") / "bench" / digest.short(digest.of_value(list(_OTHERS)))
    if not (folder / "done").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        timed([base_interpreter(), "-m", "venv", folder], cwd=CLONE)
        timed([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *_OTHERS], cwd=CLONE)
        (folder / "done").touch()
    return folder / "bin"


def rows() -> list[IndexedFile]:
    """Return the rows of the index: few projects with many versions, as nightly builds make them."""
    found = []
    for number in range(WHEELS):
        project, step = f"project-{number % PROJECTS}", number // PROJECTS
        version = f"2.{step // len(_TAGS)}.0+rocm7.{number % PROJECTS}"
        name = f"{project.replace('-', '_')}-{version}-{_TAGS[step % len(_TAGS)]}-manylinux_2_28_x86_64.whl"
        found.append(
            IndexedFile(
                project=project,
                filename=name,
                key=f"dist/{name}",
                version=version,
                sha256=digest.of_bytes(name.encode()),
                size=1000 + number,
                uploaded="2026-01-02T03:04:05Z",
                metadata_sha256=digest.of_bytes(f"metadata of {name}".encode()),
                requires_python=">=3.10",
            )
        )
    return found


def ours_ready(folder: Path) -> FolderStore:
    """Return a store with the index of all rows, whose pages are there."""
    folder.mkdir()
    store, place = FolderStore(folder), IndexFolder("index")
    after = merged(Snapshot(files=()), rows())
    if not swap(store, place, before=read_current(store, place), after=after, change=PUBLISHED):
        raise SystemExit(f"somebody else writes to {folder}")
    publish_pages(store, place, say=lambda _line: None)
    return store


def piprepo_ready(folder: Path) -> None:
    """Write the wheels that piprepo indexes, small as they may be: it reads their names alone."""
    folder.mkdir()
    for row in rows():
        with zipfile.ZipFile(folder / row.filename, "w") as archive:
            archive.writestr(f"{row.project.replace('-', '_')}-{row.version}.dist-info/METADATA", "Metadata-Version: 2.1\n")


def package_list(path: Path, files: Sequence[IndexedFile]) -> Path:
    """Write the list that dumb-pypi reads."""
    lines = [
        json.dumps({"filename": row.filename, "hash": f"sha256={row.sha256}", "requires_python": row.requires_python})
        for row in files
    ]
    path.write_text("\n".join(lines))
    return path


def results(count: int) -> Iterator[Result]:
    with scratch() as folder:
        others = others_ready()
        ours_ready(folder / "ours")
        piprepo_ready(folder / "piprepo")
        files = rows()
        added = msgspec.structs.replace(files[0], project="project-7", filename="project_7-9.0-py3-none-any.whl")
        before = package_list(folder / "before", files)
        after = package_list(folder / "after", [*files, added])
        numbers = iter(range(1_000_000))

        def ours(what: str) -> Timed:
            if what == "whole":
                for part in ("simple", "simple-json"):
                    shutil.rmtree(folder / "ours" / "index" / part)
                for part in ("index.html", "packages.html", "pages.json"):
                    (folder / "ours" / "index" / part).unlink()
            return timed([sys.executable, "-c", _CODE, folder / "ours", what, str(next(numbers))], cwd=CLONE)

        def piprepo() -> Timed:
            shutil.rmtree(folder / "piprepo" / "simple", ignore_errors=True)
            return timed([others / "piprepo", "build", folder / "piprepo"], cwd=folder)

        def dumb(*words: str | Path) -> Timed:
            shutil.rmtree(folder / "dumb", ignore_errors=True)
            options = ("--packages-url", "../../dist/", "--output-dir", folder / "dumb", "--no-per-release-json")
            return timed([others / "python", "-m", "dumb_pypi.main", *options, *words], cwd=folder)

        for name, other in (("piprepo", piprepo), ("dumb-pypi", lambda: dumb("--package-list-json", before))):
            found = pairs(lambda: ours("whole"), other, count)
            yield result(found, what=f"index of {WHEELS} wheels whole on this disk, against {name}")

        def dumb_added() -> Timed:
            return dumb("--package-list-json", after, "--previous-package-list-json", before)

        found = pairs(lambda: ours("added"), dumb_added, count)
        yield result(found, what=f"one wheel added to {WHEELS} on this disk, against dumb-pypi", limit=LIMIT_ADDED)
        with seaweed(folder / "server", program=program("weed")) as server:
            both = [_on_server(server, others, folder, number) for number in range(count)]
            yield result(
                [whole for whole, _ in both], what=f"index of {WHEELS} wheels whole on an S3 server, against piprepo sync"
            )
            yield result([added for _, added in both], what=_ON_SERVER, limit=LIMIT_ADDED)


def result(found: Sequence[Pair], *, what: str = _ON_SERVER, limit: float = LIMIT_WHOLE) -> Result:
    """Return a goal as measured, with the ratio of the processors' time too: the work that there is, whatever else the machine does."""
    worked = of_pairs(what, limit, of_processors(found)).ratio or 0.0
    return of_pairs(what, limit, found, wheels=WHEELS, processor_ratio=round(worked, 4))


def _on_server(server: S3Server, others: Path, folder: Path, number: int) -> tuple[Pair, Pair]:
    """Make the index of all in a bucket, then publish one more wheel; piprepo puts its folder there, every file anew, for either."""
    bucket = server.bucket()
    store, place = server.store(bucket), IndexFolder("index")
    if not swap(store, place, before=read_current(store, place), after=merged(Snapshot(files=()), rows()), change=PUBLISHED):
        raise SystemExit(f"somebody else writes to {bucket}")
    env = {**server.machine, "AWS_ENDPOINT_URL": server.endpoint}

    def ours(code: str, *words: str | Path) -> Timed:
        return timed([sys.executable, "-c", code, bucket, server.endpoint, *words], cwd=CLONE, env=env)

    path, _ = write_wheel(folder / "added", "project_7", f"9.{number}")
    whole, added = ours(_ON_STORE), ours(_PUBLISH, path)
    shutil.copy(path, folder / "piprepo")
    baseline = timed([others / "piprepo", "sync", folder / "piprepo", f"s3://{bucket}/piprepo"], cwd=folder, env=env)
    return Pair(ours=whole, baseline=baseline), Pair(ours=added, baseline=baseline)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, 3)
    two_processors()
    for found in results(count):
        show(found, list)


if __name__ == "__main__":
    main(sys.argv[1:])
