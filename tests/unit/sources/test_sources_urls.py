from __future__ import annotations

from pathlib import Path

import pytest

from build_tools.errors import HipwrightError
from build_tools.sources.urls import file_url, place_with_secrets, resolve_relative, submodule_address
from tests.support.source_trees import Person, git, new_git, write

ORIGINS = (
    "https://host.example/owner/sample.git",
    "https://host.example/owner/sample.git/",
    "https://host.example:8443/sample",
    "git@host.example:owner/sample.git",
    "host.example:sample.git",
    "ssh://git@host.example/owner/sample.git",
    "/srv/git/sample.git",
    "file:///srv/git/sample.git",
    "embedded://sample/sample.git",
)


@pytest.mark.parametrize(
    "url", ["../greeter.git", "./greeter.git", "../../other/greeter.git", "../greeter.git/", "/abs/x", "https://h/x"]
)
@pytest.mark.parametrize("origin", ORIGINS)
def test_relative_addresses_resolve_as_git_resolves_them(tmp_path: Path, origin: str, url: str) -> None:
    person = Person(tmp_path / "tree")
    write(person.folder, {".gitmodules": f'[submodule "greeter"]\n\tpath = greeter\n\turl = {url}\n'})
    git(person.folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},greeter")
    git(person.folder, "add", ".gitmodules")
    git(person.folder, "remote", "add", "origin", origin)
    git(person.folder, "submodule", "--quiet", "init")
    assert resolve_relative(origin, url) == git(person.folder, "config", "submodule.greeter.url")


@pytest.mark.parametrize("name", ["plain", "with space", "é", "new\nline", "per%20cent", "quest?ion#hash", "co:lon"])
def test_git_reads_a_file_address_back_to_the_folder(tmp_path: Path, name: str) -> None:
    person = Person(tmp_path / name)
    commit = person.commit({"a": "b"})
    done = new_git().capture("ls-remote", file_url(person.folder), "HEAD", cwd=tmp_path)
    assert done.text.startswith(commit)


def test_file_addresses_of_windows_folders_have_three_slashes() -> None:
    class Windows(type(Path())):  # type: ignore[misc]
        def as_posix(self) -> str:
            return "C:/cache/a b"

    assert file_url(Windows()) == "file:///C:/cache/a%20b"


@pytest.mark.parametrize(
    ("parent", "recorded", "address"),
    [
        ("https://h/o/a.git", "../b.git", "https://h/o/b.git"),
        ("https://h/o/a.git", "https://me:secret@h/o/b.git", "https://h/o/b.git"),
        ("git@h:o/a.git", "../b.git", "git@h:o/b.git"),
        ("https://h/o/a.git", "git@h:o/b.git", "git@h:o/b.git"),
        ("/origins/a", "/origins/b", "/origins/b"),
        ("file:///origins/a", "../b", "file:///origins/b"),
        ("embedded://p/a.git", "../b.git", "embedded://p/b.git"),
        (r"C:\origins\a", r"D:\origins\b", r"D:\origins\b"),
    ],
)
def test_submodules_are_where_their_parents_say(parent: str, recorded: str, address: str) -> None:
    assert submodule_address(parent, recorded, path="lib", project="toy") == address


@pytest.mark.parametrize("parent", ["https://h/o/a.git", "ssh://git@h/o/a.git", "git@h:o/a.git", "host:o/a.git"])
@pytest.mark.parametrize(
    "recorded", ["/etc", "file:///etc", "FILE:///etc", r"C:\x", "ext::sh -c x", "here", "../../../../../../x"]
)
def test_a_parent_elsewhere_names_no_place_here(parent: str, recorded: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        submodule_address(parent, recorded, path="third party/lib", project="toy")
    assert caught.value.code.name == "bad-source-tree"
    assert "third party/lib" in caught.value.message
    assert "--toy-submodule-url" in str(caught.value.hint)


def test_secrets_of_an_address_are_good_for_its_server() -> None:
    assert place_with_secrets("https://h/o/a.git") == {}
    assert place_with_secrets("https://me:s@h:8/o/a.git") == {
        "https://h:8/o/a.git": "https://me:s@h:8/o/a.git",
        "https://h:8/": "https://me:s@h:8/",
    }
    assert place_with_secrets("ssh://git:s@h/a.git")["ssh://git@h/"] == "ssh://git:s@h/"
