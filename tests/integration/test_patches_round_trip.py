"""Whatever people commit, in whatever module and phase: saving it and checking it out somewhere else gives the same, under any settings."""

from __future__ import annotations

import os
import shutil
import string
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.patch_desk import DEEP, LIB, PatchDesk
from tests.support.source_trees import ODD_NAMES, identity, raw, write

HOSTILE = """
[diff]
	noprefix = true
	renames = copies
	algorithm = patience
	context = 0
	suppressBlankEmpty = true
[format]
	signature = me
	numbered = true
	signOff = true
	attach = true
[core]
	autocrlf = input
	abbrev = 5
	quotePath = false
	whitespace = cr-at-eol
[am]
	keepcr = false
	threeWay = true
[apply]
	whitespace = fix
	ignoreWhitespace = change
[commit]
	cleanup = verbatim
	template = nowhere
[i18n]
	logOutputEncoding = latin1
[rebase]
	autoStash = true
"""

TEXT = st.text(alphabet=string.ascii_letters + "é \t#-+@", max_size=12).map(lambda text: text.strip() or "x")
CONTENTS = st.one_of(
    st.lists(
        st.sampled_from(["one", "two", "", " three ", "é", "\t", "diff --git a/x b/x", "-- ", "From 1 Mon Sep", "@@ -1 +1 @@"])
    ).map(lambda lines: "".join(f"{line}\n" for line in lines).encode()),
    st.lists(st.sampled_from([b"one", b"two", b"", b"mixed\n"])).map(lambda lines: b"".join(line + b"\r\n" for line in lines)),
    st.binary(max_size=200),
    st.sampled_from([b"", b"no end", b"\n", b"a\0b\n", b"x" * 900, b"\xff\xfe\r\n"]),
)
NAMES = st.sampled_from([*(name.removesuffix(".cu") for name in ODD_NAMES), "a.c", "sub/b c.c", "sub/é.h", ".hidden", "UP.c"])


class Edit(NamedTuple):
    """One change of a file: what it gets, whether it can be executed, and whether it goes, moves or comes."""

    name: str
    what: str
    content: bytes
    executable: bool


class Work(NamedTuple):
    """One commit: where, what it says, and its edits."""

    module: str
    phase: str
    subject: str
    body: str
    author: str
    edits: list[Edit]


EDITS = st.builds(Edit, NAMES, st.sampled_from(["write", "write", "append", "remove", "move", "link"]), CONTENTS, st.booleans())
WORKS = st.builds(
    Work,
    st.sampled_from([".", LIB, DEEP]),
    st.sampled_from(["base", "hipified"]),
    st.builds(
        lambda front, text: f"{front}{text}", st.sampled_from(["", "[rocm] ", "[PATCH 3/4] ", "Re: ", "feat: ", "#1 "]), TEXT
    ),
    st.lists(TEXT, max_size=3).map("\n".join),
    st.sampled_from(["Some One", "Änne Ö", 'A "quoted" One', "One, Jr", "a.b (c)"]),
    st.lists(EDITS, min_size=1, max_size=4),
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> PatchDesk:
    """A desk at its base patches; tests work in copies of it."""
    desk = PatchDesk(place=tmp_path_factory.mktemp("template"))
    desk.begin({"a.cu": "cuda\n", "a.c": "a\nb\nc\n" * 9, "crlf.c": b"a\r\nb\r\n", "sub/b c.c": "b\n", "UP.c": "up\n"})
    desk.until_base()
    return desk


def change(folder: Path, edit: Edit) -> None:
    path = folder / edit.name
    if edit.what in {"remove", "move"}:
        files = sorted(found for found in folder.glob("*.c") if found.is_file())
        if not files:
            return
        if edit.what == "remove":
            files[0].unlink()
        elif not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            files[0].replace(path)
        return
    if edit.what == "link" and not path.is_dir():
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("to/où")
        return
    if path.is_symlink() or edit.what == "write":
        path.unlink(missing_ok=True)
    old = path.read_bytes() if edit.what == "append" and path.is_file() else b""
    write(folder, {edit.name: old + edit.content})
    path.chmod(0o755 if edit.executable else 0o644)


def do(desk: PatchDesk, work: Work) -> bool:
    folder = desk.tree() / work.module
    for edit in work.edits:
        change(folder, edit)
    # What the person's own settings would convert is stored as it is.
    plain = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false")
    raw(folder, *plain, "add", "--all", "--force", "--", ".", ":(exclude)third party", ":(exclude)dé ep")
    if not raw(folder, "diff", "--cached", "--name-only", "--ignore-submodules=all"):
        return False
    message = f"{work.subject}\n\n{work.body}\n" if work.body else f"{work.subject}\n"
    raw(folder, *plain, "commit", "--quiet", "--cleanup=whitespace", "-m", message, env=identity(work.author))
    return True


@settings(
    max_examples=6,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(works=st.lists(WORKS, min_size=1, max_size=6))
def test_what_is_committed_comes_back(template: PatchDesk, works: list[Work]) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name, "pl ace")
        shutil.copytree(template.place, place, symlinks=True)
        desk = PatchDesk(place=place)
        home = place / "home"
        write(home, {".gitconfig": HOSTILE})
        for folder in (".git", ".git/modules/lib", ".git/modules/lib/modules/deep"):
            own = desk.tree() / folder / "config"
            own.write_text(own.read_text(encoding="utf-8") + HOSTILE, encoding="utf-8")
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("HOME", str(home))
            done = [do(desk, work) for work in works if work.phase == "base"]
            assert len(desk.save()["patches"]) == sum(done)
            desk.checkout()
            done += [do(desk, work) for work in works if work.phase == "hipified"]
            desk.save()
            assert sum(name.endswith(".patch") for name in desk.files()) == sum(done)
            files = desk.files()
            assert desk.save(refresh=True)["written"] == []
        desk.checkout("elsewhere")
        assert desk.trees("elsewhere") == desk.trees()
        assert desk.heads("elsewhere") == desk.heads()
        assert desk.save("elsewhere", refresh=True)["written"] == []
        assert desk.files() == files
        assert os.environ.get("HOME") != str(home)
