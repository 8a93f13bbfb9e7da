"""Which ref a project gets when it is locked, by real repositories: what is asked for, manifests, pins, and what goes without."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.config.project import load_project
from build_tools.errors import HipwrightError
from build_tools.locking.keep import ensure_locked
from build_tools.locking.manifest import make_manifest, manifest_bytes
from build_tools.locking.requests import asked_for
from build_tools.pipeline.chain import Chain
from build_tools.pipeline.lock_stage import lock_chains
from build_tools.receipts.lock import Lock
from build_tools.receipts.record import read_record, to_json
from build_tools.sources.contents import read_file
from build_tools.types import Platform, ProjectName, Stage
from tests.support.serving import serving
from tests.support.source_trees import Person, git, head, write
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.locking.keep import Locked
    from build_tools.receipts.lock import LockedProject
    from build_tools.sources.git import Repository
    from build_tools.types import CommitId
    from build_tools.workplace import Workplace

TOML = """\
schema = 1
name = "{name}"
summary = "a test"
sdk = "none"

[origin]
kind = "git"
url = "{url}"

{more}

[[lines]]
ref = "*"
why = "none needed"

[version]
file = "version.txt"

[wheel]
distribution = "{name}"
"""

FORMS = """\
[refs]
release = "release/{version}"
release-tag = "v{version}.0"
nightly = ["nightly"]
"""

VISION = f"""\
{FORMS}
[[pins]]
kind = "related-commits"
project = "torch"
row = "torchvision"
"""

TRITON = """\
[refs]
release = "release/{version}.x"
release-tag = "v{version}.0"
nightly = ["main"]

[[pins]]
kind = "commit-file"
platforms = ["windows"]
file = "triton-windows.txt"
branch = "main"

[[pins]]
kind = "version-file"
platforms = ["linux"]
when = "release"
project = "torch"
file = "ci/triton_version.txt"
branch = "release/{major}.{minor}.x"

[[pins]]
kind = "commit-file"
platforms = ["linux"]
project = "torch"
file = "ci/pins/triton.txt"
"""


@dataclass
class Town:
    """Three projects with origins of their own, two of which the first one's tree pins."""

    place: Path

    def __post_init__(self) -> None:
        self.torch, self.vision, self.triton = (Person(self.place / "origins" / name) for name in ("torch", "vision", "triton"))
        for name, person, more in (
            ("torch", self.torch, FORMS),
            ("vision", self.vision, VISION),
            ("triton", self.triton, TRITON),
        ):
            self.recipe(name, more, url=str(person.folder))
        for person in (self.torch, self.vision, self.triton):
            person.commit({"version.txt": "0.9\n"})
            git(person.folder, "branch", "release/0.9")
            git(person.folder, "branch", "release/3.4.x")
            git(person.folder, "tag", "v0.9.0")
            git(person.folder, "tag", "v3.4.0")
            person.commit({"version.txt": "1.0\n"})
            git(person.folder, "branch", "release/1.0")
            git(person.folder, "branch", "release/3.5.x")
            git(person.folder, "branch", "nightly")

    def recipe(self, name: str, more: str, *, url: str) -> None:
        text = TOML.replace("{name}", name).replace("{url}", url).replace("{more}", more)
        write(self.place / "clone" / "external-builds" / name, {"project.toml": text})

    def on(self, person: Person, branch: str, tree: dict[str, str], *, message: str = "change") -> str:
        """Commit to a branch of an origin, and return the commit."""
        git(person.folder, "checkout", "--quiet", branch)
        commit = person.commit(tree, message)
        git(person.folder, "checkout", "--quiet", "main")
        return commit

    def pins(self, *rows: str, branch: str = "release/1.0") -> str:
        return self.on(self.torch, branch, {"related_commits": "".join(f"{row}\n" for row in rows)})

    def row(self, commit: str, *, system: str = "ubuntu", project: str = "torchvision", branch: str = "release/0.9") -> str:
        return f"{system}|pytorch|{project}|{branch}|{commit}|{self.vision.folder}"

    def desk(
        self,
        *,
        work: str = "desk",
        machine: dict[str, str] | None = None,
        origins: dict[str, str] | None = None,
        **settings: Any,  # noqa: ANN401 - any option
    ) -> Workplace:
        (self.place / work).mkdir(exist_ok=True)
        made = workplace(self.place / work, **settings)
        resolved = dataclasses.replace(made.resolved, origins=origins or {})
        found = {**{name: value for name, value in os.environ.items() if name != "CI"}, **(machine or {})}
        return dataclasses.replace(
            made,
            clone=self.place / "clone",
            machine=found,
            resolved=resolved,
            platform=Platform.LINUX,
            cache=self.place / "cache",
        )

    def lock(self, *names: str, desk: Workplace | None = None, **settings: Any) -> dict[str, Locked]:  # noqa: ANN401 - any option
        place = desk or self.desk(**settings)
        projects = [load_project(place.external_builds, ProjectName(name)) for name in names]
        return ensure_locked(projects, place, packages=False, whole=False)

    def one(self, name: str, **settings: Any) -> LockedProject:  # noqa: ANN401 - any option
        return self.lock(name, **settings)[name].project

    def kept(self, work: str = "desk") -> Lock:
        return read_record(self.place / work / "work" / "lock.json", Lock)


@pytest.fixture
def town(tmp_path: Path) -> Town:
    return Town(tmp_path)


def test_what_is_asked_for_counts_before_pins_and_needs_no_other_project(town: Town) -> None:
    town.pins(town.row(git(town.vision.folder, "rev-parse", "release/0.9")))
    entry = town.one("vision", ref={"vision": "nightly"}, pins="require")
    assert (entry.sources.ref, entry.sources.reason) == ("nightly", "asked for")
    assert set(town.kept().projects) == {"vision"}


def test_a_commit_in_capitals_is_the_one_that_is_locked(town: Town) -> None:
    commit = head(town.vision.folder)
    first = town.one("vision", ref={"vision": commit.upper()})
    assert (first.requested.ref, first.sources.ref) == (commit, commit)
    assert town.one("vision", ref={"vision": commit.upper()}) == first


def test_a_lock_that_was_cut_off_is_told_with_the_way_out(town: Town) -> None:
    town.one("torch", ref={"torch": "main"})
    path = town.place / "desk" / "work" / "lock.json"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(HipwrightError, match="is cut off") as caught:
        town.one("torch")
    assert caught.value.code.name == "bad-receipt"
    assert str(caught.value.hint).endswith(f"lock again what you need: mv {path} {path}.broken")


def test_a_pinned_commit_that_its_origin_lacks_is_told_with_the_pin(town: Town) -> None:
    stating = town.pins(town.row("f" * 40))
    with pytest.raises(HipwrightError, match=f"has no commit {'f' * 40}") as caught:
        town.one("vision", ref={"torch": "release/1.0"})
    assert caught.value.code.name == "unknown-ref"
    pin = f"pinned by torch at release/1.0 (commit {stating[:12]}), related_commits, row ubuntu|torchvision"
    assert caught.value.message.endswith(f"; vision gets it because: {pin}")
    assert "--vision-ref" in str(caught.value.hint)
    with pytest.raises(HipwrightError, match=r"no branch, tag or commit 'nope'$") as caught:
        town.one("vision", ref={"vision": "nope"})
    assert "because" not in caught.value.message


def test_a_written_manifest_has_the_projects_whose_trees_stated_the_pins(town: Town) -> None:
    town.pins(town.row(head(town.vision.folder)))
    out, written = town.place / "m.json", []
    # At first it is locked for its pins, then it is locked already.
    for _ in range(2):
        desk = town.desk(ref={"torch": "release/1.0"}, manifest_out=out)
        project = load_project(desk.external_builds, ProjectName("vision"))
        document = lock_chains([Chain(project=project, workplace=desk, targets=())], desk, Stage.LOCK)
        assert "vision" in document["lock"]["projects"]
        written.append(out.read_bytes())
    assert set(json.loads(written[0])) == {"schema_version", "torch", "vision"}
    assert written[0] == written[1]


def test_a_manifest_that_names_none_of_the_projects_is_refused(town: Town) -> None:
    path = town.place / "m.json"
    entry = {"repo": str(town.triton.folder), "commit": head(town.triton.folder)}
    path.write_text(json.dumps({"triton": entry}), encoding="utf-8")
    with pytest.raises(HipwrightError, match="says nothing of torch; it has triton") as caught:
        town.one("torch", manifest=str(path))
    assert caught.value.code.name == "bad-manifest"
    # One that names the project whose tree pins it says something of it.
    torch = {"repo": str(town.torch.folder), "commit": town.pins(town.row(head(town.vision.folder)))}
    path.write_text(json.dumps({"torch": torch}), encoding="utf-8")
    assert town.one("vision", manifest=str(path)).sources.commit == head(town.vision.folder)


def test_a_manifest_that_nobody_can_read_to_its_end_is_no_file(town: Town) -> None:
    with pytest.raises(HipwrightError, match="no regular file") as caught:
        town.one("torch", manifest=os.devnull)
    assert caught.value.code.name == "bad-manifest"


def test_a_row_of_the_stating_project_pins_commit_branch_and_origin(town: Town) -> None:
    pinned = git(town.vision.folder, "rev-parse", "release/0.9")
    town.on(town.vision, "release/0.9", {"more": "later\n"})
    stating = town.pins(town.row("f" * 40, project="other"), town.row(pinned), town.row("e" * 40, system="centos"))
    found = town.lock("vision", ref={"torch": "release/1.0"})
    assert list(found) == ["torch", "vision"]
    sources = found["vision"].project.sources
    assert (sources.commit, sources.ref, sources.base_version) == (pinned, "release/0.9", "0.9")
    assert sources.reason == (f"pinned by torch at release/1.0 (commit {stating[:12]}), related_commits, row ubuntu|torchvision")
    kept = town.kept().projects
    assert kept["torch"].sources.commit == stating
    assert found["torch"].why == "its tree pins what this command locks"


def test_a_pins_origin_counts_before_the_projects_own_and_after_the_one_that_was_asked_for(town: Town) -> None:
    other, third = Person(town.place / "origins" / "other"), Person(town.place / "origins" / "third")
    for person in (other, third):
        git(person.folder, "pull", "--quiet", str(town.vision.folder), "main")
    pinned = other.commit({"version.txt": "2.0\n"})
    git(third.folder, "pull", "--quiet", str(other.folder), "main")
    town.pins(f"ubuntu|pytorch|torchvision|main|{pinned}|{other.folder}")
    there = town.one("vision", ref={"torch": "release/1.0"})
    assert (there.sources.origin, there.sources.base_version) == (str(other.folder), "2.0")
    asked = town.one("vision", work="second", ref={"torch": "release/1.0"}, origin={"vision": str(third.folder)})
    assert (asked.sources.origin, asked.sources.commit) == (str(third.folder), pinned)


def test_the_same_origin_spelled_without_git_at_its_end_is_the_projects_own(town: Town) -> None:
    town.vision.folder.rename(town.vision.folder.with_name("vision.git"))
    folder = town.vision.folder.with_name("vision.git")
    town.recipe("vision", VISION, url=str(folder))
    pinned = git(folder, "rev-parse", "release/0.9")
    town.pins(town.row(pinned))
    assert town.one("vision", ref={"torch": "release/1.0"}).sources.origin == str(folder)


def test_a_stating_project_that_is_locked_already_is_taken_as_it_is(town: Town) -> None:
    pinned = git(town.vision.folder, "rev-parse", "release/0.9")
    town.pins(town.row(pinned))
    before = town.one("torch", ref={"torch": "release/1.0"})
    town.pins(town.row(head(town.vision.folder)))
    assert town.one("vision").sources.commit == pinned
    assert town.kept().projects["torch"] == before
    town.lock("vision", relock=True)
    assert town.kept().projects["torch"] == before
    found = town.lock("vision", "torch", relock=True)
    assert found["vision"].project.sources.commit == head(town.vision.folder)
    assert found["torch"].project.sources.commit != before.sources.commit


def test_the_order_in_which_projects_are_named_does_not_matter(town: Town) -> None:
    town.pins(town.row(git(town.vision.folder, "rev-parse", "release/0.9")))
    one = {name: found.project for name, found in town.lock("vision", "torch", ref={"torch": "release/1.0"}).items()}
    other = {
        name: found.project for name, found in town.lock("torch", "vision", work="other", ref={"torch": "release/1.0"}).items()
    }
    assert one == other
    assert (town.place / "desk/work/lock.json").read_bytes() == (town.place / "other/work/lock.json").read_bytes()


def test_a_pin_file_is_read_once_for_all_projects(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    town.recipe("audio", VISION.replace("torchvision", "torchaudio"), url=str(town.vision.folder))
    pinned = git(town.vision.folder, "rev-parse", "release/0.9")
    town.pins(town.row(pinned), town.row(pinned, project="torchaudio"))
    read: list[str] = []

    def listening(repository: Repository, commit: CommitId, path: str) -> bytes | None:
        read.append(path)
        return read_file(repository, commit, path)

    monkeypatch.setattr("build_tools.locking.choose.read_file", listening)
    found = town.lock("vision", "audio", ref={"torch": "release/1.0"})
    assert {found[name].project.sources.commit for name in ("vision", "audio")} == {pinned}
    assert read == ["related_commits"]


@pytest.mark.parametrize(("ref", "expected"), [("release/1.0", "release/3.5.x"), ("nightly", "pinned")])
def test_a_version_file_speaks_for_releases_and_a_commit_file_for_the_rest(town: Town, ref: str, expected: str) -> None:
    pinned = git(town.triton.folder, "rev-parse", "release/0.9")
    town.on(town.torch, ref, {"ci/triton_version.txt": "3.5.1\n", "ci/pins/triton.txt": f"{pinned}\n"})
    sources = town.one("triton", ref={"torch": ref}).sources
    if expected == "pinned":
        assert (sources.commit, sources.ref) == (pinned, pinned)
        assert sources.reason.endswith("ci/pins/triton.txt")
    else:
        assert (sources.ref, sources.commit) == (expected, git(town.triton.folder, "rev-parse", expected))
        assert sources.reason.endswith("ci/triton_version.txt says 3.5.1")


def test_a_file_beside_project_toml_speaks_on_its_platform(town: Town) -> None:
    pinned = git(town.triton.folder, "rev-parse", "release/0.9")
    write(town.place / "clone" / "external-builds" / "triton", {"triton-windows.txt": f"# ours\r\n{pinned}\r\n"})
    desk = dataclasses.replace(town.desk(), platform=Platform.WINDOWS)
    sources = town.lock("triton", desk=desk)["triton"].project.sources
    assert (sources.commit, sources.ref) == (pinned, "main")
    assert sources.reason == "pinned by triton-windows.txt beside project.toml"
    assert set(town.kept().projects) == {"triton"}
    shutil.copytree(town.place / "clone", town.place / "other-clone")
    town.lock(
        "triton", desk=dataclasses.replace(town.desk(work="other"), platform=desk.platform, clone=town.place / "other-clone")
    )
    assert (town.place / "desk/work/lock.json").read_bytes() == (town.place / "other/work/lock.json").read_bytes()
    file = town.place / "clone" / "external-builds" / "triton" / "triton-windows.txt"
    file.write_text("sometimes\n")
    with pytest.raises(HipwrightError) as caught:
        town.lock("triton", desk=dataclasses.replace(town.desk(work="third"), platform=desk.platform))
    assert str(caught.value.where) == f"{file}:1"


def refused(town: Town, name: str, **settings: Any) -> HipwrightError:  # noqa: ANN401 - any option
    with pytest.raises(HipwrightError) as caught:
        town.lock(name, **settings)
    return caught.value


def test_a_required_pin_that_no_place_states_names_every_place_and_why_not(town: Town) -> None:
    commit = git(town.torch.folder, "rev-parse", "release/1.0")
    error = refused(town, "vision", ref={"torch": "release/1.0"}, pins="require")
    assert error.code.name == "no-pin"
    assert "vision" in error.message
    assert f"torch at release/1.0 (commit {commit[:12]})" in error.message
    assert "related_commits of torch, row ubuntu|torchvision" in error.message
    assert "has no such file" in error.message
    assert "--vision-ref" in str(error.hint)
    assert "nox -s lock --" in str(error.hint).replace("python3 noxw.py", "nox")
    assert "--projects vision --pins allow-defaults" in str(error.hint)

    error = refused(town, "triton", work="second", ref={"torch": "nightly"}, pins="require")
    assert "triton-windows.txt beside project.toml: speaks for windows only, and this is linux" in error.message
    assert "ci/triton_version.txt of torch: speaks for release refs only, and torch at nightly" in error.message
    assert "ci/pins/triton.txt of torch: nightly" in error.message
    assert set(town.kept("second").projects) == {"torch"}


def test_a_repository_that_keeps_the_pins_is_named_with_the_line_that_asks_it(town: Town) -> None:
    keeper = Person(town.place / "origins" / "keeper")
    git(keeper.folder, "fetch", "--quiet", "--update-head-ok", str(town.torch.folder), "main:main", "release/1.0:release/1.0")
    pinned = git(town.vision.folder, "rev-parse", "release/0.9")
    town.on(keeper, "release/1.0", {"related_commits": f"{town.row(pinned)}\n"})
    held = VISION.replace('row = "torchvision"', f'row = "torchvision"\nheld-by = "{keeper.folder}"')
    town.recipe("vision", held, url=str(town.vision.folder))
    error = refused(town, "vision", ref={"torch": "release/1.0"}, pins="require")
    assert f"ask {keeper.folder}, which keeps pins: " in str(error.hint)
    line = re.search(rf"--projects torch,vision --torch-origin {re.escape(str(keeper.folder))} --relock", str(error.hint))
    assert line is not None
    desk = town.desk(work="default", ref={"torch": "release/1.0"}, pins="allow-defaults")
    town.lock("vision", desk=desk)
    assert [said for said in memory_of(desk).said if line[0] in said]
    found = town.lock("torch", "vision", work="default", origin={"torch": str(keeper.folder)}, relock=True)
    assert found["vision"].project.sources.commit == pinned
    # Who asks the keeper and finds nothing is not sent there.
    town.on(keeper, "release/1.0", {"related_commits": "# none\n"})
    error = refused(
        town, "vision", work="third", ref={"torch": "release/1.0"}, origin={"torch": str(keeper.folder)}, pins="require"
    )
    assert "which keeps pins" not in str(error.hint)


def test_a_file_without_the_row_is_told_with_the_rows_that_it_has(town: Town) -> None:
    town.pins(town.row("e" * 40, project="torchaudio"), town.row("e" * 40, system="centos"))
    error = refused(town, "vision", ref={"torch": "release/1.0"}, pins="require")
    assert error.code.name == "no-pin"
    assert "has no such row; its rows: ubuntu|torchaudio, centos|torchvision" in error.message


@pytest.mark.parametrize(
    ("machine", "pins", "refuses"),
    [
        ({"CI": "true"}, None, True),
        ({"CI": "1"}, None, True),
        ({"CI": "woodpecker"}, None, True),
        ({"CI": "true"}, "allow-defaults", False),
        ({"CI": "false"}, None, False),
        ({"CI": "0"}, None, False),
        ({"CI": ""}, None, False),
        ({}, None, False),
        ({}, "require", True),
    ],
)
def test_pins_are_required_where_ci_is_set_unless_the_option_says_otherwise(
    town: Town,
    machine: dict[str, str],
    pins: str | None,
    refuses: bool,  # noqa: FBT001 - a parameter of cases
) -> None:
    desk = town.desk(machine=machine, pins=pins, ref={"torch": "release/1.0"})
    if refuses:
        with pytest.raises(HipwrightError) as caught:
            town.lock("vision", desk=desk)
        assert caught.value.code.name == "no-pin"
    else:
        assert town.lock("vision", desk=desk)["vision"].project.sources.ref == "release/0.9"


def test_without_a_pin_nightly_goes_with_nightly_and_everything_else_with_the_newest_stable_release(town: Town) -> None:
    found = town.one("vision", ref={"torch": "nightly"}, pins="allow-defaults")
    assert found.sources.ref == "nightly"
    assert found.sources.reason == "no pin names it, and torch is at nightly: the branch of the same kind"
    for number, ref in enumerate(("release/1.0", "v0.9.0", "main")):
        desk = town.desk(work=f"at-{number}", ref={"torch": ref}, pins="allow-defaults")
        sources = town.lock("vision", desk=desk)["vision"].project.sources
        # release/1.0 has no tag v1.0.0 yet.
        assert sources.ref == "release/0.9"
        assert sources.reason == "no pin names it: the newest stable release: its tag v0.9.0 is there"
        assert any("no place states the pin of vision" in said for said in memory_of(desk).said)
    git(town.vision.folder, "tag", "v1.0.0", "release/1.0")
    assert town.one("vision", work="later", ref={"torch": "main"}).sources.ref == "release/1.0"


@pytest.mark.parametrize(
    ("refs", "ref", "reason"),
    [
        (
            '[refs]\ndefault = "nightly"\nrelease = "release/{version}"\nrelease-tag = "v{version}.0"',
            "nightly",
            "the default of its project.toml",
        ),
        (FORMS, "release/0.9", "the newest stable release: its tag v0.9.0 is there"),
        ("", "main", "what its origin's HEAD names"),
    ],
)
def test_a_project_without_pins_gets_its_default_the_newest_stable_release_or_head(
    town: Town, refs: str, ref: str, reason: str
) -> None:
    town.recipe("torch", refs, url=str(town.torch.folder))
    sources = town.one("torch").sources
    assert (sources.ref, sources.reason) == (ref, reason)


def test_an_origin_without_a_stable_release_is_told(town: Town) -> None:
    git(town.torch.folder, "tag", "--delete", "v0.9.0")
    error = refused(town, "torch")
    assert error.code.name == "unknown-ref"
    assert "no branch release/{version} whose tag v{version}.0 is there" in error.message
    assert "--torch-ref" in str(error.hint)


@pytest.mark.parametrize("pins", ["require", "allow-defaults"])
def test_a_pin_file_with_a_conflict_marker_stops_everything(town: Town, pins: str) -> None:
    town.pins("<<<<<<< HEAD", town.row(head(town.vision.folder)))
    error = refused(town, "vision", ref={"torch": "release/1.0"}, pins=pins)
    assert error.code.name == "bad-pin"
    assert error.where is not None
    assert (error.where.file, error.where.line) == ("related_commits", 1)
    assert "torch at release/1.0" in str(error.where.key)
    assert "vision" not in town.kept().projects


def test_a_pin_file_that_is_a_link_is_none(town: Town) -> None:
    git(town.torch.folder, "checkout", "--quiet", "release/1.0")
    (town.torch.folder / "related_commits").symlink_to("version.txt")
    town.torch.commit({})
    git(town.torch.folder, "checkout", "--quiet", "main")
    assert refused(town, "vision", ref={"torch": "release/1.0"}).code.name == "bad-pin"


def test_a_pin_of_a_project_that_is_not_there_and_pins_in_a_circle_are_told(town: Town) -> None:
    town.recipe("vision", VISION.replace('project = "torch"', 'project = "gone"'), url=str(town.vision.folder))
    assert refused(town, "vision").code.name == "bad-data-file"
    pin = '[[pins]]\nkind = "commit-file"\nproject = "{other}"\nfile = "x"\n'
    town.recipe("one", pin.replace("{other}", "two"), url=str(town.vision.folder))
    town.recipe("two", pin.replace("{other}", "one"), url=str(town.vision.folder))
    error = refused(town, "one")
    assert error.code.name == "bad-data-file"
    assert "one → two → one" in error.message


def test_an_option_against_a_locked_stating_project_is_refused(town: Town) -> None:
    town.one("torch", ref={"torch": "release/1.0"})
    error = refused(town, "vision", ref={"torch": "nightly"})
    assert error.code.name == "lock-conflict"
    assert "--torch-ref says nightly, and torch is locked to release/1.0" in error.message


def test_a_given_lock_is_used_without_any_origin(town: Town) -> None:
    town.pins(town.row(git(town.vision.folder, "rev-parse", "release/0.9")))
    given = town.lock("vision", ref={"torch": "release/1.0"})["vision"].project
    file = town.place / "given.json"
    file.write_bytes(to_json(town.kept()))
    (town.place / "origins").rename(town.place / "gone")
    (town.place / "cache").rename(town.place / "gone-cache")
    assert town.one("vision", work="elsewhere", lock=file) == given
    assert not (town.place / "elsewhere" / "work").exists()
    for more in ({"relock": True}, {"manifest": str(file)}):
        assert refused(town, "vision", work="elsewhere", lock=file, **more).code.name == "option-conflict"


def test_the_same_inputs_give_the_same_bytes_wherever_values_come_from(town: Town) -> None:
    typed = {"ref.torch": "command line --torch-ref"}
    given = {"ref.torch": "environment HIPWRIGHT_TORCH_REF"}
    for work, origins in (("typed", typed), ("given", given)):
        town.lock("torch", "vision", work=work, ref={"torch": "nightly"}, origins=origins)
    files = [town.place / work / "work" / "lock.json" for work in ("typed", "given")]
    first = files[0].read_bytes()
    assert files[1].read_bytes() == first
    town.lock("vision", "torch", work="given", relock=True)
    assert files[1].read_bytes() == first


def test_a_dry_run_resolves_and_writes_nothing(town: Town) -> None:
    town.pins(town.row(git(town.vision.folder, "rev-parse", "release/0.9")))
    found = town.lock("vision", ref={"torch": "release/1.0"}, dry_run=True)
    assert found["vision"].project.sources.ref == "release/0.9"
    assert not (town.place / "desk" / "work").exists()


class TestManifests:
    """Source manifests as input."""

    def manifest(self, town: Town, **entries: Any) -> Path:  # noqa: ANN401 - any entry
        path = town.place / "manifest.json"
        path.write_text(json.dumps(entries), encoding="utf-8")
        return path

    def test_a_manifest_counts_before_pins_and_its_commit_before_its_branch(self, town: Town) -> None:
        commit = git(town.torch.folder, "rev-parse", "release/1.0")
        town.on(town.torch, "release/1.0", {"later": "x\n"})
        other = git(town.vision.folder, "rev-parse", "release/0.9")
        path = self.manifest(
            town,
            torch={"repo": str(town.torch.folder), "commit": commit, "branch": "release/1.0"},
            vision={"repo": str(town.vision.folder), "commit": other},
            jax={"repo": "https://host.example/jax", "commit": "1" * 40},
        )
        desk = town.desk(manifest=str(path), pins="require")
        found = town.lock("vision", "torch", desk=desk)
        torch, vision = (found[name].project for name in ("torch", "vision"))
        assert (torch.sources.commit, torch.sources.ref) == (commit, "release/1.0")
        assert (vision.sources.commit, vision.sources.ref) == (other, other)
        assert torch.sources.reason == vision.sources.reason == "the source manifest names it"
        assert torch.requested.commit == commit
        assert torch.sources.origin == str(town.torch.folder)
        assert any("jax" in said for said in memory_of(desk).said)
        # The same manifest again contradicts nothing, and locking anew without it keeps to it.
        assert not town.lock("torch", manifest=str(path))["torch"].fresh
        assert town.one("torch", relock=True) == torch

    def test_a_stating_project_may_come_from_the_manifest(self, town: Town) -> None:
        pinned = git(town.vision.folder, "rev-parse", "release/0.9")
        stating = town.pins(town.row(pinned))
        path = self.manifest(town, torch={"repo": str(town.torch.folder), "commit": stating, "branch": "release/1.0"})
        assert town.one("vision", manifest=str(path)).sources.commit == pinned

    def test_another_manifest_than_what_is_locked_is_refused_with_a_line_that_locks_anew(self, town: Town) -> None:
        commits = [git(town.torch.folder, "rev-parse", ref) for ref in ("release/0.9", "release/1.0")]
        entry = {"repo": str(town.torch.folder), "branch": "release/1.0"}
        town.one("torch", manifest=str(self.manifest(town, torch={**entry, "commit": commits[0]})))
        path = self.manifest(town, torch={**entry, "commit": commits[1]})
        error = refused(town, "torch", manifest=str(path), origins={"manifest": "command line --manifest"})
        assert error.code.name == "lock-conflict"
        assert f"--manifest says {commits[1]}, and torch is locked to {commits[0]}" in error.message
        assert f"--manifest {path}" in str(error.hint)
        assert "--torch-ref" not in str(error.hint)
        assert town.one("torch", manifest=str(path), relock=True).sources.commit == commits[1]

    def test_a_ref_and_a_manifest_that_differ_at_one_level_are_refused(self, town: Town) -> None:
        commit = git(town.torch.folder, "rev-parse", "release/1.0")
        path = self.manifest(town, torch={"repo": str(town.torch.folder), "commit": commit, "branch": "release/1.0"})
        both = {"ref.torch": "command line --torch-ref", "manifest": "command line --manifest"}
        error = refused(town, "torch", manifest=str(path), ref={"torch": "nightly"}, origins=both)
        assert error.code.name == "option-conflict"
        assert "--torch-ref says nightly" in error.message
        assert f"release/1.0 at commit {commit}" in error.message
        assert town.one("torch", manifest=str(path), ref={"torch": "release/1.0"}, origins=both).sources.commit == commit
        typed_manifest = {"ref.torch": "environment HIPWRIGHT_TORCH_REF", "manifest": "command line --manifest"}
        desk = town.desk(work="second", manifest=str(path), ref={"torch": "nightly"}, origins=typed_manifest)
        assert town.lock("torch", desk=desk)["torch"].project.sources.commit == commit
        typed_ref = {"ref.torch": "command line --torch-ref", "manifest": "environment HIPWRIGHT_MANIFEST"}
        desk = town.desk(work="third", manifest=str(path), ref={"torch": "nightly"}, origins=typed_ref)
        assert town.lock("torch", desk=desk)["torch"].project.sources.ref == "nightly"

    def test_what_is_locked_written_as_a_manifest_locks_the_same_commits_elsewhere(self, town: Town) -> None:
        town.pins(town.row(git(town.vision.folder, "rev-parse", "release/0.9")))
        first = town.lock("vision", "torch", ref={"torch": "release/1.0"})
        path = town.place / "out.json"
        path.write_bytes(manifest_bytes(make_manifest(town.kept())))
        assert json.loads(path.read_bytes())["torch"]["branch"] == "release/1.0"
        again = town.lock("torch", "vision", work="elsewhere", manifest=str(path))
        for name in ("torch", "vision"):
            old, new = first[name].project.sources, again[name].project.sources
            assert (old.commit, old.ref, old.tree, old.origin) == (new.commit, new.ref, new.tree, new.origin)

    def test_a_manifest_may_lie_at_an_address(self, town: Town) -> None:
        commit = git(town.torch.folder, "rev-parse", "release/0.9")
        path = self.manifest(town, torch={"repo": str(town.torch.folder), "commit": commit})
        with serving(town.place) as url:
            assert town.one("torch", manifest=f"{url}manifest.json").sources.commit == commit
            error = refused(town, "torch", work="second", manifest=f"{url}none.json")
        assert error.code.name == "bad-manifest"
        assert town.one("torch", work="third", manifest=path.as_uri()).sources.commit == commit

    def test_a_manifest_that_is_not_there_is_told(self, town: Town) -> None:
        error = refused(town, "torch", manifest=str(town.place / "none.json"))
        assert error.code.name == "bad-manifest"
        assert "none.json" in error.message
        assert refused(town, "torch", manifest="s3://bucket/manifest.json").code.name == "bad-manifest"


class TestSubmoduleAddresses:
    """Submodules that are fetched from elsewhere than is recorded."""

    def with_lost_submodule(self, town: Town) -> tuple[Person, str]:
        """Give torch a submodule whose recorded address is gone; return another repository that has its commit, and the commit."""
        lost = Person(town.place / "origins" / "lost")
        commit = lost.commit({"a": "b"})
        git(town.torch.folder, "checkout", "--quiet", "main")
        town.torch.submodule(lost, "third_party/lib")
        other = Person(town.place / "origins" / "found")
        git(other.folder, "pull", "--quiet", str(lost.folder), "main")
        lost.folder.rename(lost.folder.with_name("away"))
        return other, commit

    def test_an_address_in_place_of_the_recorded_one_is_locked_and_stays(self, town: Town) -> None:
        other, commit = self.with_lost_submodule(town)
        assert refused(town, "torch", ref={"torch": "main"}).code.name == "origin-unreachable"
        urls = {"torch": (f"third_party/lib={other.folder}",)}
        entry = town.one("torch", ref={"torch": "main"}, submodule_url=urls)
        assert [(pin.path, pin.url, pin.commit) for pin in entry.sources.submodules] == [
            ("third_party/lib", str(other.folder), commit)
        ]
        assert entry.requested.submodule_url == (f"third_party/lib={other.folder}",)
        assert not town.lock("torch", submodule_url=urls)["torch"].fresh
        assert town.one("torch", relock=True) == entry

    def test_another_address_than_the_locked_one_is_refused_with_a_line_that_has_both_options(self, town: Town) -> None:
        other, _commit = self.with_lost_submodule(town)
        town.one("torch", ref={"torch": "main"}, submodule_url={"torch": (f"third_party/lib={other.folder}",)})
        error = refused(town, "torch", submodule_url={"torch": ("third_party/lib=https://host.example/x",)})
        assert error.code.name == "lock-conflict"
        assert "--torch-submodule-url says third_party/lib=https://host.example/x" in error.message
        assert "--torch-submodule-url third_party/lib=https://host.example/x" in str(error.hint)
        assert "--torch-ref main" in str(error.hint)

    @pytest.mark.parametrize(
        ("texts", "code"),
        [
            (("third_party/lib",), "bad-option-value"),
            (("=https://host.example/x",), "bad-option-value"),
            (("third_party/lib=",), "bad-option-value"),
            (("third_party/lib=https://host.example/x", "third_party/lib/=https://host.example/y"), "option-conflict"),
        ],
    )
    def test_what_names_no_path_and_address_is_refused(self, town: Town, texts: tuple[str, ...], code: str) -> None:
        assert refused(town, "torch", ref={"torch": "main"}, submodule_url={"torch": texts}).code.name == code

    def test_a_relative_address_is_relative_to_where_it_was_typed(self, town: Town) -> None:
        other, _commit = self.with_lost_submodule(town)
        urls = {"torch": ("third_party/lib=../origins/found",)}
        entry = town.one("torch", ref={"torch": "main"}, submodule_url=urls)
        assert entry.sources.submodules[0].url == str(other.folder)

    def test_an_address_may_be_for_a_submodule_that_a_base_patch_adds(self, town: Town) -> None:
        other, commit = self.with_lost_submodule(town)
        git(town.torch.folder, "reset", "--quiet", "--hard", "main~1")
        patch = (
            "From "
            + "0" * 40
            + " Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: Add it\n"
            "\n---\ndiff --git a/.gitmodules b/.gitmodules\nnew file mode 100644\n--- /dev/null\n+++ b/.gitmodules\n@@ -0,0 +1,3 @@\n"
            '+[submodule "more"]\n+\tpath = more\n+\turl = https://host.example/none.git\n'
            "diff --git a/more b/more\nnew file mode 160000\n--- /dev/null\n+++ b/more\n@@ -0,0 +1 @@\n"
            f"+Subproject commit {commit}\n-- \n2\n"
        )
        recipe = town.place / "clone" / "external-builds" / "torch"
        text = (recipe / "project.toml").read_text(encoding="utf-8")
        (recipe / "project.toml").write_text(text.replace('why = "none needed"', 'line = "1"'), encoding="utf-8")
        series = 'schema = 1\n\n[[patch]]\nfile = "root/base/1.patch"\nwhy = "a test"\nupstream = "none"\nowner = "tests"\nadded = 2026-01-01\n'
        write(recipe / "patches" / "1", {"series.toml": series, "root/base/1.patch": patch})
        urls = {"torch": (f"more={other.folder}",)}
        entry = town.one("torch", ref={"torch": "main"}, submodule_url=urls)
        assert entry.sources.submodules == ()
        assert [(pin.path, pin.url, pin.commit) for pin in entry.patches.submodules] == [("more", str(other.folder), commit)]
        assert not town.lock("torch", submodule_url=urls)["torch"].fresh
        below = {"torch": (f"more={other.folder}", f"more/deep={other.folder}")}
        error = refused(town, "torch", work="second", ref={"torch": "main"}, submodule_url=below)
        assert error.code.name == "bad-option-value"
        assert "no submodule 'more/deep'" in error.message
        error = refused(town, "torch", work="third", ref={"torch": "main"}, submodule_url={"torch": ("moreover=/x",)})
        assert "no submodule 'moreover'" in error.message

    def test_a_secret_in_an_address_is_in_no_lock(self, town: Town) -> None:
        desk = town.desk(submodule_url={"torch": ("third_party/lib=https://me:secret-word@host.example/x",)})
        project = load_project(desk.external_builds, ProjectName("torch"))
        assert "secret-word" not in repr(asked_for("torch", desk))
        assert desk.origin(project).git.place_of("https://host.example/x") == "https://me:secret-word@host.example/x"


def test_the_patch_series_of_today_is_taken_without_any_origin(town: Town) -> None:
    entry = town.one("torch", ref={"torch": "nightly"})
    recipe = town.place / "clone" / "external-builds" / "torch" / "project.toml"
    text = recipe.read_text(encoding="utf-8")
    recipe.write_text(text.replace('why = "none needed"', 'line = "1"'), encoding="utf-8")
    write(recipe.parent / "patches" / "1", {"series.toml": "schema = 1\n"})
    (town.place / "origins").rename(town.place / "gone")
    locked = town.lock("torch")["torch"]
    assert not locked.fresh
    assert locked.why.startswith(
        "locked earlier in this work dir, with the patch series of today: nightly matches the rule '*', patches/1"
    )
    assert locked.project.patches.line == "1"
    assert locked.project.sources == entry.sources
    assert town.kept().projects["torch"] == locked.project
    assert town.lock("torch")["torch"].why == "locked earlier in this work dir"


def test_a_tree_of_the_persons_own_states_pins_at_its_head_and_is_in_no_lock(town: Town) -> None:
    pinned = git(town.vision.folder, "rev-parse", "release/0.9")
    own = town.place / "mine"
    git(town.place, "clone", "--quiet", "--branch", "release/1.0", str(town.torch.folder), str(own))
    write(own, {"related_commits": f"{town.row(pinned)}\n", "pyproject.toml": "[build-system]\n"})
    git(own, "add", "--all")
    git(own, "commit", "--quiet", "-m", "pins of my own")
    found = town.lock("vision", dir={"torch": own}, pins="require")
    assert found["vision"].project.sources.commit == pinned
    assert found["torch"].project.sources.reason == "a tree of your own"
    assert set(town.kept().projects) == {"vision"}
    error = refused(town, "torch", dir={"torch": own}, ref={"torch": "nightly"})
    assert error.code.name == "option-conflict"
    assert "--torch-dir" in error.message
    assert "--torch-ref" in error.message


def test_locking_alone_clones_nothing_in_full(town: Town) -> None:
    town.torch.commit({"big.bin": "x" * 100_000}, "big")
    for number in range(5):
        town.torch.commit({"big.bin": str(number) * 100_000}, "bigger")
    town.one("torch", ref={"torch": "main"})
    folders = [path for path in (town.place / "cache" / "git").iterdir() if path.is_dir()]
    assert [path.name.endswith(".facts.git") for path in folders] == [True]
    listed = git(folders[0], "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert listed.count("commit") == 1


class TestLines:
    """``--line`` counts before the rules, for the projects that a command names."""

    @pytest.fixture(autouse=True)
    def lines(self, town: Town) -> None:
        for name in ("torch", "vision"):
            for line in ("1", "2"):
                text = f"schema = 1\n# line {line}\n"
                write(town.place / "clone" / "external-builds" / name / "patches" / line, {"series.toml": text})
        town.pins(town.row(git(town.vision.folder, "rev-parse", "release/0.9")))

    def test_it_is_locked_with_the_reason_and_stays_until_another_is_asked_for(self, town: Town) -> None:
        entry = town.one("torch", ref={"torch": "release/1.0"}, line="1")
        assert (entry.patches.line, entry.patches.reason) == ("1", "asked for by --line, patches/1")
        assert town.one("torch") == entry
        # The sources stay: no ref is asked for, and none is asked of the origin.
        (town.place / "origins").rename(town.place / "gone")
        moved = town.lock("torch", line="2")["torch"]
        assert (moved.fresh, moved.project.patches.line, moved.earlier) == (False, "2", entry)
        assert moved.project.sources == entry.sources
        assert town.kept().projects["torch"] == moved.project

    def test_locking_anew_keeps_it_with_its_ref_and_drops_it_with_another(self, town: Town) -> None:
        town.one("torch", ref={"torch": "release/1.0"}, line="1")
        assert town.one("torch", relock=True).patches.line == "1"
        assert town.one("torch", relock=True, ref={"torch": "release/1.0"}).patches.line is None
        assert town.one("torch", relock=True, ref={"torch": "release/1.0"}, line="2").requested.line == "2"

    def test_a_command_that_uses_it_says_so_and_what_brings_the_rules_back_does(self, town: Town) -> None:
        town.one("torch", ref={"torch": "release/1.0"}, line="1")
        place = town.desk()
        chain = Chain(project=load_project(place.external_builds, ProjectName("torch")), workplace=place, targets=())
        lock_chains([chain], place, Stage.HIPIFIED_PATCHES)
        (said,) = (text for text in memory_of(place).said if "--line" in text)
        assert said.startswith("torch: patch line 1, asked for by --line, until another one is; back to the rules: ")
        words = shlex.split(said.partition("nox -s lock -- ")[2])
        assert (words[:4], words[4:]) == (["--projects", "torch", "--torch-ref", "release/1.0"], ["--relock"])
        town.one("torch", relock=True, ref={"torch": words[3]})
        assert town.kept().projects["torch"].patches.line is None
        quiet = town.desk()
        lock_chains([dataclasses.replace(chain, workplace=quiet, done={})], quiet, Stage.HIPIFIED_PATCHES)
        assert not [text for text in memory_of(quiet).said if "--line" in text]

    def test_it_is_for_the_projects_that_are_named_and_not_for_those_that_pin_them(self, town: Town) -> None:
        found = town.lock("vision", ref={"torch": "release/1.0"}, line="2")
        assert {name: entry.project.patches.line for name, entry in found.items()} == {"torch": None, "vision": "2"}
        assert town.kept().projects["torch"].requested.line is None
        assert town.lock("vision", line="1")["vision"].project.patches.line == "1"
        assert town.kept().projects["torch"].patches.line is None

    def test_one_that_is_not_there_is_refused_and_locks_nothing(self, town: Town) -> None:
        error = refused(town, "torch", ref={"torch": "release/1.0"}, line="3")
        assert error.code.name == "no-line"
        assert "it has 1, 2" in error.message
        town.one("torch", ref={"torch": "release/1.0"}, line="1")
        before = town.kept()
        assert refused(town, "torch", line="3").code.name == "no-line"
        assert town.kept() == before

    def test_a_given_lock_is_not_changed_by_it(self, town: Town) -> None:
        town.one("torch", ref={"torch": "release/1.0"}, line="1")
        given = town.place / "desk" / "work" / "lock.json"
        assert town.one("torch", work="other", lock=given, line="1").patches.line == "1"
        error = refused(town, "torch", work="other", lock=given, line="2")
        assert (error.code.name, error.message) == ("lock-conflict", "--line says 2, and torch is locked to 1")
