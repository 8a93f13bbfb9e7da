"""A clone with a project, its origins and a work dir, whose patch series is carried to another ref by calls in this process."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.patches.series import load_series
from build_tools.pipeline.rebase_patches import rebase_patches
from build_tools.pipeline.run import run_pipeline
from build_tools.types import ProjectName, Stage
from tests.support.source_trees import HIPIFY, Person, git, make_patch, snapshot, write
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from build_tools.workplace import Workplace

__all__ = ["KERNEL", "LIB", "LINES", "Site", "make_site", "make_usual", "patch", "with_line"]

LINES = "".join(f"line {number}\n" for number in range(1, 41))
KERNEL = "".join(f"cuda {number}\n" for number in range(1, 21))
LIB = "third_party/lib"

PROJECT = """
schema = 1
name = "toy"
summary = "a toy"
sdk = "none"
[origin]
kind = "git"
url = "{url}"
[[lines]]
ref = "release/1.0"
line = "1.0"
[version]
file = "version"
[hipify]
script = "tools/hip.py"
[wheel]
distribution = "toy"
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Site:
    """Origins, a clone with a project, and a work dir."""

    place: Path

    @property
    def origin(self) -> Person:
        return Person(self.place / "origins" / "toy", fresh=False)

    @property
    def lib(self) -> Person:
        return Person(self.place / "origins" / "lib", fresh=False)

    @property
    def folder(self) -> Path:
        return self.place / "clone" / "external-builds" / "toy"

    @property
    def tree(self) -> Path:
        return self.place / "work" / "src" / "toy"

    @property
    def scratch(self) -> Path:
        return self.place / "work" / "rebase" / "toy"

    @property
    def scratch_tree(self) -> Path:
        return self.scratch / "src" / "toy"

    def desk(self, **settings: Any) -> Workplace:  # noqa: ANN401 - any option
        made = workplace(self.place, **settings)
        return dataclasses.replace(made, clone=self.place / "clone", typed_in=self.place)

    def checkout(self, **settings: Any) -> None:  # noqa: ANN401 - any option
        here = self.desk(**settings)
        run_pipeline([load_project(here.external_builds, ProjectName("toy"))], until=Stage.HIPIFIED_PATCHES, workplace=here)

    def series(self, patches: Mapping[str, bytes], entries: Mapping[str, str] | None = None, *, line: str = "1.0") -> None:
        text = "schema = 1\n"
        for name, data in patches.items():
            write(self.folder / "patches" / line, {name: data})
            text += f'\n[[patch]]\nfile = "{name}"\nwhy = "why {name}"\nupstream = "not sent"\nowner = "o"\nadded = 2026-01-01\n'
            text += (entries or {}).get(name, "")
        write(self.folder / "patches" / line, {"series.toml": text})

    def upstream(
        self, files: Mapping[str, str | bytes], message: str = "upstream goes on", *, remove: tuple[str, ...] = ()
    ) -> str:
        """Let upstream go on, on its branch release/2.0."""
        commit = self.origin.commit(files, message, remove=remove)
        git(self.origin.folder, "branch", "--force", "release/2.0")
        return commit

    def rebase(self, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 - any option
        done: dict[str, Any] = rebase_patches(self.desk(projects=("toy",), **settings))["rebase"]
        return done

    def stops(self, code: str = "rebase-stopped", **settings: Any) -> HipwrightError:  # noqa: ANN401 - any option
        before = snapshot(self.folder)
        with pytest.raises(HipwrightError) as caught:
            self.rebase(**settings)
        assert caught.value.code.name == code, caught.value.message
        assert snapshot(self.folder) == before
        return caught.value

    def fates(self, done: Mapping[str, Any]) -> dict[str, str]:
        return {row["file"].rpartition("/")[2].removesuffix(".patch"): row["fate"] for row in done["patches"]}

    def names(self, line: str) -> list[str]:
        return [patch.name for patch in load_series(self.folder, line).patches]

    def names_on_disk(self) -> list[str]:
        place = self.folder / "patches" / "1.0"
        return sorted(path.relative_to(place).as_posix() for path in place.rglob("*.patch"))

    def content(self, name: str) -> str:
        """Return a file of the new line's tree."""
        return (self.tree / name).read_text(encoding="utf-8")


def make_site(place: Path) -> Site:
    site = Site(place=place)
    lib, origin = Person(site.place / "origins" / "lib"), Person(site.place / "origins" / "toy")
    lib.commit({"lib.c": LINES, "k.cu": KERNEL})
    origin.commit(
        {"version": "1.0\n", "a.c": LINES, "b.c": LINES, "k.cu": KERNEL, "tools/hip.py": HIPIFY.replace('"*.txt"', '"*.tx"')}
    )
    origin.submodule(lib, LIB)
    git(origin.folder, "branch", "release/1.0")
    git(origin.folder, "branch", "release/2.0")
    write(site.folder, {"project.toml": PROJECT.format(url=origin.folder)})
    return site


def patch(folder: Path, files: Mapping[str, str], message: str, commit: str = "HEAD") -> bytes:
    return make_patch(folder, files, message=message, commit=commit)


def with_line(number: int, text: str, of: str = LINES, word: str = "line") -> str:
    return of.replace(f"{word} {number}\n", f"{text}\n")


def make_usual(site: Site) -> Site:
    """Give a site patches of both phases and modules, checked out."""
    site.series({})
    site.checkout(ref={"toy": "release/1.0"})
    one = with_line(5, "OURS")
    patches = {
        "root/base/0001-five.patch": patch(site.tree, {"a.c": one}, "five", "refs/hipwright/base"),
        f"{LIB}/base/0001-lib.patch": patch(site.tree / LIB, {"lib.c": one}, "lib", "refs/hipwright/base"),
        "root/hipified/0001-hip.patch": patch(
            site.tree, {"hip/k.hip": with_line(9, "OURS", KERNEL.replace("cuda", "hip"), "hip")}, "hip"
        ),
    }
    site.series(patches)
    site.checkout()
    return site
