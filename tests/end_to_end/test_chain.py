"""The whole chain on the bundled sample, from sources to a promoted wheel, and what a person can do with what it left."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from elftools.elf.elffile import ELFFile

from build_tools.stores.local import FolderStore
from build_tools.types import Stage
from tests.support.commands import Desk, Ran, tree_of, until
from tests.support.publishing import same_everywhere

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.end_to_end

STAGES = [stage.value for stage in Stage]
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
PLATFORM = sysconfig.get_platform().replace("-", "_").replace(".", "_")
WHEEL = f"hipwright_sample-1.0.0+rocm7.10.0-{PYTHON}-{PYTHON}-{PLATFORM}.whl"
INDEX = "local-linux/pytorch/generic"
STRAY = {
    "CFLAGS": "-no-such-flag",
    "GIT_DIR": "/nowhere",
    "GIT_AUTHOR_NAME": "somebody",
    "HIP_PATH": "/opt/rocm",
    "PIP_TARGET": "/nowhere",
    "PYTORCH_BUILD_VERSION": "9",
    "ROCM_HOME": "/opt/rocm",
}
"""What a person's environment may hold, and no child may see."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """A first run of the whole chain, and where it was made."""

    desk: Desk
    first: Ran

    @property
    def store(self) -> Path:
        return self.desk.work / "store"

    def again(self, *words: str) -> Ran:
        return self.desk.nox("pipeline", *words, "--json").well()


@pytest.fixture(scope="module")
def story(desk: Desk) -> Story:
    first = Desk(clone=desk.clone, work=desk.work, cache=desk.cache, variables=STRAY).nox("pipeline", "--json").well()
    return Story(desk=desk, first=first)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def receipts(ran: Ran) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    for stage in ran.document["stages"]:
        yield stage["stage"], Path(stage["receipt"]), ran.receipt(stage["stage"])


def test_all_stages_run_in_order_and_stdout_is_one_document(story: Story) -> None:
    assert story.first.states == dict.fromkeys(STAGES, "run")
    assert list(story.first.states) == STAGES
    document = story.first.document
    assert (document["ok"], document["command"], document["schema"]) == (True, "pipeline", 1)
    assert "build sample: done in" in story.first.talk


def test_the_second_run_skips_everything_and_changes_nothing(story: Story) -> None:
    before = tree_of(story.desk.work / "build") | tree_of(story.desk.work / "src") | tree_of(story.store)
    again = story.again()
    assert again.states == dict.fromkeys(STAGES, "skipped")
    digests = [
        [entry["digest"] for entry in ran.document["stages"] if entry["stage"] != "promote"] for ran in (again, story.first)
    ]
    assert digests[0] == digests[1]
    assert again.document["wheels"] == story.first.document["wheels"]
    assert tree_of(story.desk.work / "build") | tree_of(story.desk.work / "src") | tree_of(story.store) == before


def test_the_job_summary_says_what_was_made_and_how_each_stage_is_repeated(story: Story, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    on_github = replace(story.desk, variables={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
    on_github.nox("pipeline").well()
    text = summary.read_text(encoding="utf-8")
    wheel = story.first.wheel
    size = f"{wheel.stat().st_size / 1024:.1f} KiB"
    assert f"| {WHEEL} | 1.0.0+rocm7.10.0 | {size} | {sha256(wheel)} | none used | " in text
    assert "install with:" in text
    assert f"wheel: {wheel}" in text
    repeating = [line for line in text.splitlines() if line.startswith("nox -s ")]
    assert [line.split()[2] for line in repeating] == [
        "lock",
        *(4 * ["checkout_sample"]),
        *(2 * ["build_sample"]),
        "check_sample",
        "upload_sample",
        "test_sample",
        "promote",
        "pipeline",
    ]
    summary.unlink()
    assert on_github.nox("promote", "--channel", "release").status != 0
    text = summary.read_text(encoding="utf-8")
    assert "| promote | sample |  | failed | " in text
    assert sha256(wheel) in text
    order = [
        "| promote | sample |  | failed | ",
        "### Wheels",
        "### Repeat a stage at a desk",
        "### Failed",
        "### Repeat promote at",
    ]
    assert sorted(order, key=text.index) == order
    assert "repeat this stage alone: nox -s promote -- " in text


def test_each_receipt_lies_beside_its_outputs_and_has_their_digests(story: Story) -> None:
    with_outputs = set()
    for stage, path, receipt in receipts(story.first):
        assert (receipt["stage"], receipt["project"]) == (stage, "sample")
        assert receipt["parts"]
        for output in receipt["outputs"]:
            with_outputs.add(stage)
            file = path.parent / output["path"]
            assert (output["sha256"], output["size"]) == (sha256(file), file.stat().st_size)
        if stage not in {"checkout", "base-patches", "hipify", "hipified-patches"}:
            assert path.parent.parent == story.desk.work / stage / "sample"
            recorded = {output["path"] for output in receipt["outputs"]}
            assert recorded == {
                file.relative_to(path.parent).as_posix() for file in path.parent.rglob("*") if file.is_file() and file != path
            }
        for upstream in receipt["upstream"]:
            earlier = json.loads((path.parent / upstream["receipt"]).read_text(encoding="utf-8"))
            assert (earlier["stage"], earlier["digest"]) == (upstream["stage"], upstream["digest"])
    assert with_outputs == {"lock", "build", "check", "publish", "test", "promote"}


def test_the_wheel_is_what_the_lock_and_its_name_say(story: Story) -> None:
    assert story.first.wheel.name == WHEEL
    commit = story.first.receipt("lock")["result"]["value"]["sources"]["commit"]
    with zipfile.ZipFile(story.first.wheel) as archive:
        info = "hipwright_sample-1.0.0+rocm7.10.0.dist-info"
        rows = list(csv.reader(archive.read(f"{info}/RECORD").decode().splitlines()))
        assert {name for name, _, _ in rows} == set(archive.namelist())
        for name, digest, size in rows:
            if name != f"{info}/RECORD":
                data = archive.read(name)
                encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={encoded}", str(len(data))), name
        metadata = archive.read(f"{info}/METADATA").decode()
        assert "\nVersion: 1.0.0+rocm7.10.0\n" in metadata
        assert "\nRequires-Dist: rocm[libraries]==7.10.0\n" in metadata
        assert commit in archive.read("hipwright_sample/version.py").decode()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into an ELF file")
def test_the_wheel_has_device_code_for_every_target_of_the_sdk(story: Story) -> None:
    with zipfile.ZipFile(story.first.wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".so")]
        section = ELFFile(io.BytesIO(archive.read(name))).get_section_by_name(".hip_fatbin")
    assert section is not None
    bundles = section.data().split(b"__CLANG_OFFLOAD_BUNDLE__")[1:]
    assert len(bundles) == 4
    for bundle in bundles:
        assert re.findall(rb"--(gfx[0-9a-f]+)", bundle) == [b"gfx942", b"gfx1201"]


def test_the_index_pages_say_the_same_and_lead_to_the_wheel(story: Story) -> None:
    (file,) = same_everywhere(FolderStore(story.store), INDEX).files
    assert (file.filename, file.sha256, file.project) == (WHEEL, sha256(story.first.wheel), "hipwright-sample")
    page = (story.store / INDEX / "simple" / "hipwright-sample" / "index.html").read_text(encoding="utf-8")
    quoted = WHEEL.replace("+", "%2B")
    assert f'href="../../dist/{quoted}#sha256={file.sha256}"' in page
    pages = story.store / INDEX / "simple-json" / "hipwright-sample" / "index.json"
    (row,) = json.loads(pages.read_text(encoding="utf-8"))["files"]
    assert (row["url"], row["hashes"], row["size"]) == (f"../../dist/{quoted}", {"sha256": file.sha256}, file.size)


@pytest.mark.parametrize("prefix", [INDEX, "channels/rehearsal"])
def test_run_outputs_and_channel_have_the_layout_and_the_wheel_s_bytes(story: Story, prefix: str) -> None:
    files = {path.relative_to(story.store / prefix).as_posix() for path in (story.store / prefix).rglob("*") if path.is_file()}
    verdicts = {name for name in files if name.startswith("verdicts/")}
    # One of each time that it was tested, which other tests do too.
    assert verdicts
    assert all(re.fullmatch(r"verdicts/[0-9a-f]{64}\.json", name) for name in verdicts)
    # A channel says what was promoted into it, and from where.
    assert any(name.startswith("promotions/") for name in files) is (prefix != INDEX)
    files = {name for name in files - verdicts if not name.startswith(("provenance/", "promotions/"))}
    assert {re.sub(r"[0-9a-f]{64}", "<sha256>", name) for name in files} == {
        f"dist/{WHEEL}",
        f"dist/{WHEEL}.metadata",
        "index.html",
        "packages.html",
        "pages.json",
        "simple/index.html",
        "simple/hipwright-sample/index.html",
        "simple-json/index.json",
        "simple-json/hipwright-sample/index.json",
        "snapshot.json",
        "snapshots/<sha256>.json",
    }
    assert (story.store / prefix / "dist" / WHEEL).read_bytes() == story.first.wheel.read_bytes()


def test_the_verdict_is_cpu_only_and_bound_to_the_wheel(story: Story) -> None:
    folder = story.first.receipt_path("test").parent
    verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    assert verdict == story.first.receipt("test")["result"]["value"]
    assert verdict["wheels"] == [{"filename": WHEEL, "sha256": sha256(story.first.wheel)}]
    assert (verdict["target"], verdict["outcome"], verdict["local"]) == ("cpu-only", "passed", None)
    assert verdict["counts"]["passed"] >= 10
    assert verdict["counts"]["failed"] == verdict["counts"]["errors"] == 0
    assert verdict["report_sha256"] == sha256(folder / "report.xml")
    rocm = {package for package in verdict["packages"] if package.startswith("rocm")}
    assert rocm == {"rocm==7.10.0", "rocm-sdk-core==7.10.0", "rocm-sdk-libraries==7.10.0"}
    assert "hipwright-sample==1.0.0+rocm7.10.0" in verdict["packages"]


def test_the_environment_of_children_is_recorded_and_nothing_stray_is_in_it(story: Story) -> None:
    for stage, _, receipt in receipts(story.first):
        environment = receipt["environment"]
        assert environment["PYTHONUTF8"] == "1", stage
        for name, value in STRAY.items():
            assert environment.get(name) != value, f"{stage} got {name}"
        assert not [name for name in environment if name.startswith(("PIP_", "HIPWRIGHT_"))]
    build = story.first.receipt("build")
    sdk = Path(story.first.receipt("provision")["result"]["value"]["root"])
    assert build["environment"]["ROCM_HOME"] == str(sdk)
    assert sdk.is_relative_to(story.desk.work / "envs")
    assert build["environment"]["SAMPLE_BUILD_VERSION"] == "1.0.0+rocm7.10.0"
    (built,) = [command for command in build["commands"] if command["argv"][1:3] == ["-m", "build"]]
    assert built["returncode"] == 0
    assert "compiler" in build["tools"]


def test_people_get_a_table_where_things_are_and_commands_to_go_on_with(story: Story) -> None:
    ran = story.desk.nox("pipeline").well()
    lines = ran.out.splitlines()
    assert lines[0] == "Stages"
    assert lines[1].split() == ["stage", "project", "time", "state", "why"]
    rows = [re.fullmatch(r"(\S+) +sample +(\d+\.\d\d s) +skipped +(\S.*)", line) for line in lines[2 : 2 + len(STAGES)]]
    assert [row[1] if row else None for row in rows] == STAGES
    assert f"wheel: {story.first.wheel}" in lines
    url = (story.store / INDEX / "simple").as_uri()
    assert f"index: {url}/" in lines
    assert f"find-links page: {(story.store / INDEX / 'index.html').as_uri()}" in lines
    (repeat,) = [line.removeprefix("repeat promote: ") for line in lines if line.startswith("repeat promote: ")]
    repeated = story.desk.paste(f"{repeat} --json").well()
    assert repeated.states["build"] == "skipped"
    assert repeated.states["promote"] == "run"


def test_the_printed_commands_install_the_wheel(story: Story, tmp_path: Path) -> None:
    lines = story.desk.nox("pipeline").well().out.splitlines()
    start = lines.index("install with:") + 1
    commands = [line.strip() for line in lines[start:] if line.startswith("  ")]
    assert len(commands) == 3
    place = tmp_path / "somebody's"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    # The machine of these tests has no network, and a person's own settings are not what is shown here.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", "PIP_CONFIG_FILE": os.devnull}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    for command in commands:
        assert shlex.split(command)[:4] == ["python3", "-m", "pip", "install"]
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)  # noqa: S602
        assert done.returncode == 0, done.stdout + done.stderr
    script = "import hipwright_sample as h; print(h.__version__, h.saxpy(2.0, [1.0], [0.5]), h.__file__)"
    done = subprocess.run([place / "bin" / "python", "-I", "-c", script], capture_output=True, text=True, check=True)
    version, answer, file = done.stdout.split()
    assert (version, answer) == ("1.0.0+rocm7.10.0", "[2.5]")
    assert Path(file).is_relative_to(place)


def test_force_redoes_one_stage_and_gives_the_same_bytes(story: Story) -> None:
    before = (sha256(story.first.wheel), story.first.wheel.stat().st_mtime_ns)
    forced = story.again("--force", "build", "--explain")
    assert forced.states == {**dict.fromkeys(STAGES, "skipped"), "build": "run"}
    after = (sha256(forced.wheel), forced.wheel.stat().st_mtime_ns)
    assert after[0] == before[0]
    assert after[1] > before[1]
    assert "build sample: runs: forced" in forced.talk
    assert "check sample: is skipped: nothing changed" in forced.talk


def test_verify_finds_what_size_and_time_hide_and_makes_it_anew(story: Story) -> None:
    wheel = story.first.wheel
    whole, stat = wheel.read_bytes(), wheel.stat()
    wheel.write_bytes(whole[:-1] + b"x")
    os.utime(wheel, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert story.again("--until", "build").states["build"] == "skipped"
    found = story.again("--until", "build", "--verify", "--explain")
    assert found.states["build"] == "run"
    assert f"build sample: runs: dist/{WHEEL} has changed" in found.talk
    assert wheel.read_bytes() == whole


def test_explain_names_what_changed(story: Story) -> None:
    # What changed is told from the newest publishing, which would else be any test's.
    story.again("--until", "publish", "--run-id", "before")
    ran = story.again("--until", "publish", "--run-id", "second", "--explain")
    assert ran.states["publish"] == "run"
    assert "build sample: is skipped: nothing changed" in ran.talk
    assert "publish sample: runs: changed: prefix (before-linux… → second-linux…)" in ran.talk
    assert (story.store / "second-linux/pytorch/generic/dist" / WHEEL).is_file()


def test_dry_run_says_what_would_be_done_and_does_nothing(story: Story) -> None:
    folders = ("build", "check", "envs", "lock", "lock.json", "publish", "src", "store", "test")
    before = [tree_of(story.desk.work / name) for name in folders], sorted(os.listdir(story.desk.work))  # noqa: PTH208
    ran = story.again("--gfx", "gfx90a", "--dry-run")
    would = {entry["stage"]: entry["why"] for entry in ran.document["would-run"]}
    assert would["build"] == "changed: targets (none → gfx90a)"
    assert would["promote"] == "comes after build"
    assert list(would) == STAGES[STAGES.index("build") :]
    assert ran.states == dict.fromkeys(STAGES[: STAGES.index("build")], "skipped")
    after = [tree_of(story.desk.work / name) for name in folders], sorted(os.listdir(story.desk.work))  # noqa: PTH208
    assert after == before


def test_dry_run_in_an_empty_work_dir_leaves_lock_files_alone(story: Story) -> None:
    desk = story.desk.with_work("dry")
    ran = desk.nox("pipeline", "--dry-run").well()
    assert re.search(r"^checkout +sample +would run +it was never done$", ran.out, re.MULTILINE)
    assert re.search(r"^promote +sample +would run +comes after checkout$", ran.out, re.MULTILINE)
    left = [path for path in desk.work.rglob("*") if path.is_file()]
    assert {path.suffix for path in left} <= {".lock"}


def test_until_and_from_bound_a_run(story: Story) -> None:
    ran = story.again("--until", "check")
    assert list(ran.states) == STAGES[: STAGES.index("check") + 1]
    # A new verdict is of another report, so what was promoted is promoted again with it.
    redone = story.again("--from", "test", "--force", "test").states
    assert redone == {**dict.fromkeys(STAGES, "skipped"), "test": "run", "promote": "run"}


@pytest.mark.parametrize(
    ("session", "words", "message"),
    [
        ("build_sample", ("--from", "check"), "--from check is later than build, where this command ends"),
        ("checkout_sample", ("--until", "build"), "--until build is later than hipified-patches, where this command ends"),
        ("pipeline", ("--from", "test", "--until", "build"), "--from test is later than build, where this command ends"),
    ],
)
def test_bounds_that_exclude_each_other_are_refused(story: Story, session: str, words: tuple[str, ...], message: str) -> None:
    assert story.desk.nox(session, *words, "--json").failed("option-conflict")["message"] == message


def test_release_refuses_the_very_wheel_that_rehearsal_took(story: Story) -> None:
    error = story.desk.nox("promote", "--channel", "release", "--json").failed("promotion-refused")
    assert WHEEL in f"{error['message']} {error['excerpt']}"
    assert "without a GPU" in f"{error['message']} {error['excerpt']}"
    assert not (story.store / "channels" / "release").exists()
    assert (story.store / "channels" / "rehearsal" / "dist" / WHEEL).is_file()


def test_elsewhere_after_a_kill_in_the_middle_of_the_build_the_same_bytes_come_out(story: Story) -> None:
    desk = story.desk.with_work("elsewhere")
    error = desk.nox("build_sample", "--from", "build", "--json").failed("stage-missing")
    assert "--from build needs the checkout stage of sample done" in error["message"]
    # All that is missing is brought by the same command without it.
    assert error["hint"].partition(" -- ")[0].endswith("-s build_sample")
    assert "--from" not in error["hint"]
    with desk.started("build_sample", "--json") as run:
        begun = "trees/sample/*/src/build"
        until(lambda: list(desk.work.glob(begun)) or run.process.poll() is not None, "build of the sample")
        run.process.kill()
        assert run.process.wait() != 0
    assert not list(desk.work.glob("build/sample/*/receipt.json"))
    ran = desk.nox("build_sample", "--json").well()
    assert (ran.states["checkout"], ran.states["build"]) == ("skipped", "run")
    assert sha256(ran.wheel) == sha256(story.first.wheel)
    assert not list(desk.work.glob("build/sample/*.partial-*"))
    for stage in ("checkout", "base-patches", "hipify", "hipified-patches"):
        modules = [
            [(module["path"], module["upstream"], module["base"], module["hipified"], module["expected"]) for module in found]
            for found in (other.receipt(stage)["result"]["value"]["modules"] for other in (ran, story.first))
        ]
        assert modules[0] == modules[1]
        assert len(modules[0]) == 3


def test_papers_lie_beside_the_published_wheel_and_name_no_folder_of_the_machine(story: Story) -> None:
    index = story.store / INDEX
    (row,) = same_everywhere(FolderStore(story.store), INDEX).files
    folder = index / "provenance" / str(row.provenance)
    listing = json.loads((folder / "set.json").read_bytes())
    assert sha256(folder / "set.json") == row.provenance
    assert listing["missing"] == []
    kinds = {paper["kind"] for paper in listing["papers"]}
    assert kinds == {"lock", "receipt", "check-report", "source-manifest", "sbom", "statement"}
    for paper in listing["papers"]:
        assert sha256(folder / paper["name"]) == paper["sha256"]
        text = (folder / paper["name"]).read_text()
        assert not [place for place in (story.desk.work, story.desk.clone, story.desk.cache) if str(place) in text]
    sbom = json.loads((folder / "sbom.cdx.json").read_bytes())
    (wheel,) = (one for one in sbom["components"] if one["bom-ref"] == f"sha256:{row.sha256}")
    locked = json.loads((folder / "lock.json").read_bytes())["projects"]["sample"]
    assert locked["sources"]["commit"] in {one["uid"] for one in wheel["pedigree"]["commits"]}
    assert len(wheel["pedigree"]["patches"]) == 4
    needed = next(one["dependsOn"] for one in sbom["dependencies"] if one["ref"] == wheel["bom-ref"])
    assert {f"sha256:{file['sha256']}" for file in locked["rocm"]["files"]} <= set(needed)
    statement = (folder / "provenance.intoto.json").read_text()
    assert not re.search(r'"(?:/|file:)', statement)
    said = json.loads(statement)["predicate"]
    assert {"sha256": sha256(folder / "lock.json")} in [one["digest"] for one in said["runDetails"]["byproducts"]]
    commits = [one["digest"].get("gitCommit") for one in said["buildDefinition"]["resolvedDependencies"]]
    assert locked["sources"]["commit"] in commits


def test_the_verdict_lies_beside_the_index_that_was_tested(story: Story) -> None:
    value = json.dumps(story.first.receipt("test")["result"]["value"], sort_keys=True)
    found = list((story.store / INDEX / "verdicts").iterdir())
    assert all(sha256(one) == one.stem for one in found)
    assert value in [json.dumps(json.loads(one.read_bytes()), sort_keys=True) for one in found]


def test_a_dry_run_of_the_chain_tells_what_publishing_would_write(story: Story) -> None:
    before = tree_of(story.store)
    planned = story.again("--run-id", "planned", "--dry-run", "--until", "publish").document["uploads"]
    assert tree_of(story.store) == before
    story.again("--run-id", "planned", "--until", "publish")
    folder = story.store / "planned-linux/pytorch/generic"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    history = {name for name in there if name.startswith("snapshots/")}
    assert there - history == set(planned[0]["writes"]) - {"snapshots/"}


def test_what_a_run_published_and_tested_is_promoted_by_its_id_and_installed_from_the_channel(
    story: Story, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    place = ("--store", str(store), "--run-id", "7041")
    story.again(*place, "--until", "test")
    before = tree_of(store)
    (planned,) = story.again(*place, "--dry-run").document["promotions"]
    assert (planned["project"], planned["dry_run"], planned["channel"]) == ("sample", True, "rehearsal")
    (file,) = planned["files"]
    assert (file["from"], file["to"]) == (f"7041-linux/pytorch/generic/dist/{WHEEL}", f"channels/rehearsal/dist/{WHEEL}")
    assert (file["action"], file["sha256"]) == ("copy", sha256(story.first.wheel))
    words: tuple[str, ...] = ("promote", *place, "--channel", "rehearsal", "--json")
    # The chain has its lock, which says where ROCm is; who promotes a run names that.
    assert "requires rocm" in story.desk.nox(*words).failed("promotion-refused")["message"]
    (rocm,) = {path.parent for path in story.desk.cache.glob("embedded-packages/*/dist/rocm-*.whl")}
    words += ("--rocm-find-links", str(rocm))
    assert story.desk.nox(*words, "--dry-run").well().document["promotion"]["files"] == planned["files"]
    assert tree_of(store) == before
    done = story.desk.nox(*words).well().document["promotion"]
    assert done["files"] == planned["files"]
    assert [one["target"] for one in done["verdicts"]] == ["cpu-only"]
    (row,) = same_everywhere(FolderStore(store), "channels/rehearsal").files
    assert (row.filename, row.sha256) == (WHEEL, sha256(story.first.wheel))
    after = tree_of(store)
    assert story.again(*place).states["promote"] == "run"
    assert tree_of(store) == after
    target = tmp_path / "installed"
    links = ("--find-links", done["find_links_url"], "--find-links", str(rocm))
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--target",
        str(target),
        *links,
        "hipwright-sample==1.0.0+rocm7.10.0",
    ]
    subprocess.run(install, check=True, cwd=tmp_path)
    script = f"import sys; sys.path.insert(0, {str(target)!r}); import hipwright_sample as h; print(h.__version__, h.__file__)"
    said = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True).stdout
    version, path = said.split()
    assert version == "1.0.0+rocm7.10.0"
    assert Path(path).is_relative_to(target)
