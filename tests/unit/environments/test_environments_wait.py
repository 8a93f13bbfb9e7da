from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.environments.listing import NotThereYet, PackageSource
from build_tools.environments.network import Network
from build_tools.environments.resolve import lock_owned
from build_tools.environments.wait import rest_of, when_there
from build_tools.errors import HipwrightError
from tests.support.environments import this_interpreter
from tests.support.packages import make_index, make_wheel, serve

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.receipts.lock import LockedFile


class Clock:
    """Time that goes by while somebody sleeps, and something that happens meanwhile."""

    def __init__(self, *happenings: object) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.happenings = list(happenings)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        self.slept.append(seconds)
        if self.happenings:
            happening = self.happenings.pop(0)
            assert callable(happening)
            happening()


def wheels(folder: Path, *names: str) -> list[Path]:
    needs = {"rocm": ["rocm-sdk-core==7.10.0"]}
    extras = {"rocm": {"libraries": ["rocm-sdk-libraries==7.10.0"], "devel": ["rocm-sdk-devel==7.10.0"]}}
    return [make_wheel(folder, name, "7.10.0", requires=needs.get(name, ()), extras=extras.get(name)) for name in names]


def lock(source: PackageSource, tmp_path: Path, *requirements: str) -> tuple[LockedFile, ...]:
    return lock_owned(
        requirements, source=source, interpreter=this_interpreter(), network=Network(retries=0), cache=tmp_path / "cache"
    )


def test_all_parts_of_a_version_are_waited_for_and_each_is_named(tmp_path: Path) -> None:
    root, said = tmp_path / "simple", list[str]()

    def publish(*names: str) -> None:
        make_index(root, wheels(tmp_path / "w" / names[0], *names))

    clock = Clock(
        lambda: publish("rocm"), lambda: publish("rocm-sdk-core", "rocm-sdk-libraries"), lambda: publish("rocm-sdk-devel")
    )
    make_index(root, [make_wheel(tmp_path / "w", "torch", "2.9.0")])
    with serve(tmp_path) as server:
        source = PackageSource(index_url=f"{server.url}/simple/")
        files = when_there(
            lambda: lock(source, tmp_path, "rocm[libraries,devel]==7.10.0"),
            within=60,
            say=said.append,
            clock=clock,
            sleep=clock.sleep,
        )
    assert [file.distribution for file in files] == ["rocm", "rocm-sdk-core", "rocm-sdk-devel", "rocm-sdk-libraries"]
    assert clock.slept == [1, 2, 4]
    assert "rocm is not at" in said[0]
    assert all(f"rocm-sdk-{name} is not at" in said[1] for name in ("core", "devel", "libraries"))
    assert "rocm-sdk-core" not in said[2]
    assert "rocm-sdk-devel is not at" in said[2]


def test_a_page_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    clock = Clock(lambda: wheels(tmp_path / "links", "rocm", "rocm-sdk-core"))
    source = PackageSource(find_links=(str(tmp_path / "links"),))
    files = when_there(lambda: lock(source, tmp_path, "rocm"), within=5, say=lambda _line: None, clock=clock, sleep=clock.sleep)
    assert len(files) == 2


def test_the_wait_has_an_end_which_says_what_was_missing(tmp_path: Path) -> None:
    wheels(tmp_path, "rocm")
    said: list[str] = []
    clock = Clock()
    with pytest.raises(HipwrightError) as caught:
        when_there(
            lambda: lock(PackageSource(find_links=(str(tmp_path),)), tmp_path, "rocm[devel]"),
            within=40,
            say=said.append,
            clock=clock,
            sleep=clock.sleep,
        )
    assert caught.value.code.name == "requirement-missing"
    assert "rocm-sdk-core is not at" in caught.value.message
    assert "rocm-sdk-devel is not at" in caught.value.message
    assert "during 40 s" in caught.value.message
    assert clock.slept == [1, 2, 4, 8, 15, 10]
    assert len(said) == 1


@pytest.mark.parametrize(("pause", "slept"), [(3, [1, 2, 3, 3, 1]), (0.5, [0.5] * 20), (60, [1, 2, 4, 3])])
def test_the_longest_pause_is_what_is_asked_for(tmp_path: Path, pause: float, slept: list[float]) -> None:
    clock = Clock()
    with pytest.raises(HipwrightError):
        when_there(
            lambda: lock(PackageSource(find_links=(str(tmp_path),)), tmp_path, "rocm"),
            within=10,
            say=lambda _line: None,
            pause=pause,
            clock=clock,
            sleep=clock.sleep,
        )
    assert clock.slept == slept


def test_without_a_bound_it_is_asked_once_and_the_option_is_named(tmp_path: Path) -> None:
    clock = Clock()
    with pytest.raises(HipwrightError) as caught:
        when_there(
            lambda: lock(PackageSource(find_links=(str(tmp_path),)), tmp_path, "rocm"),
            within=None,
            say=lambda _line: None,
            clock=clock,
            sleep=clock.sleep,
        )
    assert clock.slept == []
    assert not isinstance(caught.value, NotThereYet)
    assert "--timeout" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "requirements", [("rocm[devle]",), ("rocm==7.10.0", "rocm==7.11.0"), ("rocm[libraries]", "rocm-sdk-core==1")]
)
def test_what_can_never_appear_is_not_waited_for(tmp_path: Path, requirements: tuple[str, ...]) -> None:
    wheels(tmp_path, "rocm", "rocm-sdk-core", "rocm-sdk-libraries")
    clock = Clock()
    with pytest.raises(HipwrightError) as caught:
        when_there(
            lambda: lock(PackageSource(find_links=(str(tmp_path),)), tmp_path, *requirements),
            within=60,
            say=lambda _line: None,
            clock=clock,
            sleep=clock.sleep,
        )
    assert caught.value.code.name == "requirement-missing"
    assert clock.slept == []


def test_a_source_of_the_wrong_kind_is_not_waited_for(tmp_path: Path) -> None:
    make_index(tmp_path / "simple", wheels(tmp_path / "w", "rocm"))
    clock = Clock()
    with pytest.raises(HipwrightError) as caught:
        when_there(
            lambda: lock(PackageSource(find_links=(str(tmp_path / "simple"),)), tmp_path, "rocm"),
            within=60,
            say=lambda _line: None,
            clock=clock,
            sleep=clock.sleep,
        )
    assert caught.value.code.name == "bad-option-value"
    assert clock.slept == []


def test_two_waits_may_share_one_bound() -> None:
    assert rest_of(None, since=0.0) is None
    assert rest_of(60.0, since=100.0, clock=lambda: 115.0) == 45.0
    assert rest_of(60.0, since=100.0, clock=lambda: 200.0) == 0.0
