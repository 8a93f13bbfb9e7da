from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from build_tools.builds import configure_logs
from build_tools.builds.configure_logs import forget_configure_logs, keep_configure_logs
from build_tools.errors import HipwrightError
from build_tools.files import write_bytes

if TYPE_CHECKING:
    import pytest


def lay(folder: Path, *names: str, text: str = "why") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def kept(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_logs_of_each_configure_step_are_kept_and_the_outermost_comes_first(tmp_path: Path) -> None:
    build, log = tmp_path / "build", tmp_path / "logs" / "build-1.log"
    lay(
        build,
        "src/build/cp312/CMakeFiles/CMakeConfigureLog.yaml",
        "src/build/cp312/_deps/fbgemm/CMakeFiles/CMakeError.log",
        "src/build/cp312/CMakeFiles/CMakeOutput.log",
        "src/build/cp312/CMakeFiles/rules.ninja",
        "src/docs/CMakeError.log",
        "src/.git/CMakeFiles/CMakeError.log",
    )
    lay(build, "src/empty/CMakeFiles/CMakeError.log", text="")
    found = keep_configure_logs(build, log)
    there = tmp_path / "logs" / "build-1.configure"
    assert found[0] == there / "src" / "build" / "cp312" / "CMakeConfigureLog.yaml"
    assert found[0].read_text(encoding="utf-8") == "why"
    assert kept(there) == [
        "src/build/cp312/CMakeConfigureLog.yaml",
        "src/build/cp312/CMakeOutput.log",
        "src/build/cp312/_deps/fbgemm/CMakeError.log",
    ]


def test_secrets_are_masked_and_other_bytes_stay(tmp_path: Path) -> None:
    lay(tmp_path, "a/CMakeFiles/CMakeError.log", text="a token: geheim")
    (tmp_path / "b" / "CMakeFiles").mkdir(parents=True)
    (tmp_path / "b" / "CMakeFiles" / "CMakeError.log").write_bytes(b"\xff\r\n")
    first, second = keep_configure_logs(tmp_path, tmp_path / "x.log", mask=lambda text: text.replace("geheim", "***"))
    assert first.read_text(encoding="utf-8") == "a token: ***"
    assert second.read_bytes() == b"\xff\r\n"


def test_what_an_earlier_build_left_is_not_taken_for_this_one_s(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "x.log"
    lay(tmp_path / "one", "CMakeFiles/CMakeError.log")
    assert len(keep_configure_logs(tmp_path / "one", log)) == 1
    assert keep_configure_logs(tmp_path / "two", log) == ()
    assert kept(tmp_path / "logs") == []
    forget_configure_logs(log)


def test_logs_without_end_are_not_all_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configure_logs, "_LARGEST", 3)
    lay(tmp_path, *(f"{number:02}/CMakeFiles/CMakeError.log" for number in range(25)))
    lay(tmp_path, "large/CMakeFiles/CMakeError.log", text="long")
    assert len(keep_configure_logs(tmp_path, tmp_path / "logs" / "x.log")) == 20


def test_logs_that_cannot_be_kept_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build, log = tmp_path / "build", tmp_path / "logs" / "x.log"
    lay(build, "a/CMakeFiles/CMakeError.log", "gone/CMakeFiles/CMakeError.log", "z/CMakeFiles/CMakeError.log")
    look = Path.lstat

    def lstat(path: Path) -> object:
        if "gone" in path.parts:
            raise FileNotFoundError(path)
        return look(path)

    def write(path: Path, content: bytes) -> None:
        if "a" in path.parts:
            raise HipwrightError("disk-space", "the disk is full")
        write_bytes(path, content)

    def in_use(_path: Path) -> NoReturn:
        raise PermissionError

    monkeypatch.setattr(Path, "lstat", lstat)
    monkeypatch.setattr(configure_logs, "write_bytes", write)
    monkeypatch.setattr(configure_logs, "remove_tree", in_use)
    assert keep_configure_logs(build, log) == (log.with_suffix(".configure") / "z" / "CMakeError.log",)
