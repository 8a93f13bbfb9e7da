"""What a chain built is resolved with the wheels before it, the locked packages and the base index, from an index on the loopback address."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.pipeline.chain_set import must_resolve, resolve_chain, set_parts
from build_tools.pipeline.check_demands import chain_demands
from build_tools.receipts.lock import LockedFile
from build_tools.receipts.values import BuiltAgainst
from build_tools.types import Sha256, Stage
from build_tools.wheels.contents import read_dist_info
from tests.support.builds import DIGEST, lock, project
from tests.support.environments import base_of
from tests.support.packages import Server, make_index, make_wheel, serve
from tests.support.workplaces import memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from build_tools.environments.settings import BaseIndex
    from build_tools.pipeline.chain import Chain

_TAG = "cp311-cp311-linux_x86_64"


def _locked(path: Path, *, url: str | None = None) -> LockedFile:
    name, version = path.name.split("-")[:2]
    return LockedFile(
        distribution=name, version=version, filename=path.name, url=url or path.as_uri(), sha256=digest.of_file(path)
    )


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Server]:
    """An index with ``filelock``, whose newest version needs ``plain``, and ``plain``."""
    wheels = [
        make_wheel(tmp_path / "all", "filelock", "3.0"),
        make_wheel(tmp_path / "all", "filelock", "4.0", requires=["plain>=1"]),
        make_wheel(tmp_path / "all", "plain", "1.0"),
    ]
    make_index(tmp_path / "index", wheels)
    with serve(tmp_path / "index") as server:
        yield server


def _chain(
    tmp_path: Path,
    *requires: str,
    base: BaseIndex,
    rocm: Sequence[LockedFile] = (),
    before: Sequence[Path] = (),
    bundled: str | None = None,
    folder: str | None = None,
    environment: Path | None = None,
    **settings: object,
) -> Chain:
    wheel = make_wheel(Path(tempfile.mkdtemp(dir=tmp_path)), "toy", "1.2.0", requires=requires, tag=_TAG)
    entry = lock()
    assert entry.rocm is not None
    entry = msgspec.structs.replace(entry, rocm=msgspec.structs.replace(entry.rocm, files=tuple(rocm), folder=folder), owned=())
    desk = tmp_path / "desk"
    desk.mkdir(exist_ok=True)
    place = workplace(desk, **settings)
    place.__dict__["base"] = base
    against = tuple(
        BuiltAgainst(project="torch", distribution="torch", version="1", filename=path.name, sha256=DIGEST) for path in before
    )
    chain: Any = SimpleNamespace(
        project=project(),
        workplace=place,
        done={} if environment is None else {Stage.PROVISION: True},
        before=tuple(
            SimpleNamespace(
                path=path,
                distribution=path.name.split("-", maxsplit=1)[0],
                lock=msgspec.structs.replace(entry, rocm=None),
                built=SimpleNamespace(bundled=None),
            )
            for path in before
        ),
        built=lambda: SimpleNamespace(bundled=bundled, against=against, pins=("rocm[libraries]==7.10.0",)),
        locked=lambda: entry,
        sdk=lambda: SimpleNamespace(environment=SimpleNamespace(folder=str(environment))),
        wheel_paths=lambda: [wheel],
    )
    return chain  # type: ignore[no-any-return]


def _texts(chain: Chain) -> list[str]:
    found = resolve_chain(chain)
    assert found.unasked is None
    return [unmet.text for each in found.unmet.values() for unmet in each]


def test_a_set_resolves_with_the_base_index_and_what_is_required_on_the_way(tmp_path: Path, index: Server) -> None:
    chain = _chain(tmp_path, "filelock>=3", base=base_of(index=index.url))
    assert _texts(chain) == []
    assert {"/filelock/", "/plain/"} <= set(index.seen)


@pytest.mark.parametrize(
    ("requires", "told"),
    [("filelock>=9", "no version of filelock"), ("absent", "absent is not at"), ("torch==1", "torch is not")],
)
def test_what_the_base_index_has_not_is_unmet(tmp_path: Path, index: Server, requires: str, told: str) -> None:
    (text,) = _texts(_chain(tmp_path, requires, base=base_of(index=index.url)))
    assert told in text


def test_an_owned_name_is_never_asked_of_the_base_index(tmp_path: Path, index: Server) -> None:
    assert _texts(_chain(tmp_path, "torch==1", base=base_of(index=index.url))) != []
    assert index.seen == []


def test_the_wheel_before_and_the_locked_packages_count_with_what_they_require(tmp_path: Path, index: Server) -> None:
    torch = make_wheel(tmp_path / "before", "torch", "2.9", requires=["rocm[libraries]==7.10.0", "filelock<4"], tag=_TAG)
    rocm = make_wheel(tmp_path / "rocm", "rocm", "7.10.0", extras={"libraries": ["rocm-sdk-core==7.10.0"]})
    core = make_wheel(tmp_path / "rocm", "rocm-sdk-core", "7.10.0")
    base = base_of(index=index.url)
    whole = [_locked(rocm), _locked(core)]
    assert _texts(_chain(tmp_path, "torch==2.9", "filelock>=3", base=base, rocm=whole, before=[torch])) == []
    (text,) = _texts(_chain(tmp_path, "torch==2.9", "filelock>=4", base=base, rocm=whole, before=[torch]))
    assert "filelock" in text
    (text,) = _texts(_chain(tmp_path, "torch==2.9", base=base, rocm=whole[:1], before=[torch]))
    assert "rocm-sdk-core" in text


def _served(rocm: Path, server: Server) -> LockedFile:
    """Return a package as one that lies on a server, which has nothing of it."""
    return _locked(rocm, url=f"{server.url}/{rocm.name}")


def test_metadata_of_the_environment_stands_for_packages_that_lie_elsewhere(tmp_path: Path, index: Server) -> None:
    rocm = make_wheel(tmp_path / "rocm", "rocm", "7.10.0", requires=["filelock>=9"])
    far = [_served(rocm, index)]
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    shutil.unpack_archive(rocm, site, format="zip")
    chain = _chain(tmp_path, "rocm==7.10.0", base=base_of(index=index.url), rocm=far, environment=tmp_path / "env")
    (text,) = _texts(chain)
    assert "filelock" in text
    assert not any("rocm" in path for path in index.seen)


@pytest.mark.usefixtures("_impatient")
def test_of_packages_that_lie_elsewhere_the_side_file_is_read_and_the_package_only_for_a_release(
    tmp_path: Path, index: Server
) -> None:
    rocm = make_wheel(tmp_path / "rocm", "rocm", "7.10.0", requires=["filelock>=9"])
    far, base = [_served(rocm, index)], base_of(index=index.url)
    assert "not at hand: rocm" in (resolve_chain(_chain(tmp_path, "rocm==7.10.0", base=base, rocm=far)).unasked or "")
    assert index.seen == [f"/{rocm.name}.metadata"]
    index.answers[f"/{rocm.name}"] = [(200, "application/octet-stream", rocm.read_bytes())]
    (text,) = _texts(_chain(tmp_path, "rocm==7.10.0", base=base, rocm=far, release_type="nightly"))
    assert "filelock" in text
    index.answers = {f"/{rocm.name}.metadata": [(200, "text/plain", read_dist_info(rocm, "METADATA"))]}
    (text,) = _texts(_chain(tmp_path, "rocm==7.10.0", base=base, rocm=far))
    assert "filelock" in text
    gone = [_locked(rocm, url=f"http://127.0.0.1:9/{rocm.name}")]
    assert "not at hand: rocm" in (resolve_chain(_chain(tmp_path, "rocm==7.10.0", base=base, rocm=gone)).unasked or "")


def test_a_server_that_cannot_be_read_is_asked_once_where_nobody_demands_the_set(tmp_path: Path, index: Server) -> None:
    made = [make_wheel(tmp_path / name, name, "7.10.0") for name in ("rocm", "rocm-sdk-core", "rocm-sdk-libraries")]
    for wheel in made:
        index.answers[f"/{wheel.name}.metadata"] = [(503, "text/plain", b"later")]
    far = [_served(wheel, index) for wheel in made]
    chain = _chain(tmp_path, "rocm==7.10.0", base=base_of(index=index.url), rocm=far)
    assert "not at hand: rocm" in (resolve_chain(chain).unasked or "")
    assert len(index.seen) == 1


def test_a_rocm_of_the_machine_stands_for_the_packages_of_its_version(tmp_path: Path, index: Server) -> None:
    base = base_of(index=index.url)
    assert _texts(_chain(tmp_path, "rocm[libraries]==7.10.0", base=base, folder="/usr")) == []
    assert _texts(_chain(tmp_path, "rocm[libraries]==7.9.0", base=base, folder="/usr")) != []


def test_a_wheel_with_rocm_inside_has_no_rocm_beside_it(tmp_path: Path, index: Server) -> None:
    rocm = [_locked(make_wheel(tmp_path / "rocm", "rocm", "7.10.0"))]
    assert _texts(_chain(tmp_path, "rocm==7.10.0", base=base_of(index=index.url), rocm=rocm, bundled="7.10.0")) != []


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits before another try."""
    monkeypatch.setattr("build_tools.environments.network.time.sleep", lambda _seconds: None)


@pytest.mark.usefixtures("_impatient")
def test_without_a_network_a_person_is_told_and_a_release_fails(tmp_path: Path) -> None:
    base = base_of(index="http://127.0.0.1:9/simple")
    found = resolve_chain(_chain(tmp_path, "filelock", base=base))
    assert found.unasked is not None
    assert found.unasked.startswith("the base index cannot be asked: ")
    assert "--force check" in found.unasked
    assert found.base_asked
    for release_type in ("ci", "dev"):
        assert resolve_chain(_chain(tmp_path, "filelock", base=base, release_type=release_type)).unasked is not None
    with pytest.raises(HipwrightError, match="cannot read") as caught:
        resolve_chain(_chain(tmp_path, "filelock", base=base, release_type="nightly"))
    assert caught.value.code.name == "source-unreachable"


def test_where_pip_is_told_of_no_index_nobody_is_asked(tmp_path: Path) -> None:
    chain = _chain(tmp_path, "filelock", base=base_of())
    assert "no index and no folder" in (resolve_chain(chain).unasked or "")


def test_a_set_that_needs_nothing_of_the_base_index_asks_nothing(tmp_path: Path) -> None:
    chain = _chain(tmp_path, base=base_of(index="http://127.0.0.1:9/simple"))
    found = resolve_chain(chain)
    assert (found.unasked, found.base_asked, dict(found.unmet)) == (None, False, {"toy-1.2.0-" + _TAG + ".whl": ()})
    assert memory_of(chain.workplace).said == []


def test_another_set_or_another_demand_is_another_check(tmp_path: Path) -> None:
    base = base_of()
    first = set_parts(_chain(tmp_path, base=base))
    assert set_parts(_chain(tmp_path, base=base)) == first
    assert set_parts(_chain(tmp_path, base=base, release_type="release")) != first
    rocm = [_locked(make_wheel(tmp_path / "rocm", "rocm", "7.10.0"))]
    assert set_parts(_chain(tmp_path, base=base, rocm=rocm))["set"] != first["set"]
    assert must_resolve(_chain(tmp_path, base=base, release_type="prerelease").workplace)


def test_a_check_watches_what_decides_where_the_base_index_is(tmp_path: Path, index: Server) -> None:
    for requires, watches in ((("filelock",), True), ((), False)):
        chain: Any = _chain(tmp_path, *requires, base=base_of(index=index.url), environment=tmp_path / "env")
        (tmp_path / "env" / "lib" / "python3.11" / "site-packages").mkdir(parents=True, exist_ok=True)
        watched: dict[str, Sha256 | None] = {}
        built: Any = SimpleNamespace(
            bundled=None,
            against=(),
            pins=(),
            targets=(),
            wheels=[SimpleNamespace(filename=path.name) for path in chain.wheel_paths()],
        )
        chain.built = functools.partial(SimpleNamespace, **vars(built))
        chain.tree = tmp_path / "tree"
        (demands,) = chain_demands(chain, watched=watched).values()
        assert (demands.unmet, demands.unasked, bool(watched)) == ((), None, watches)


def test_a_release_fails_where_a_locked_package_is_gone(tmp_path: Path, index: Server) -> None:
    rocm = [_locked(make_wheel(tmp_path / "rocm", "rocm", "7.10.0"))]
    shutil.rmtree(tmp_path / "rocm")
    base = base_of(index=index.url)
    assert "not at hand: rocm" in (resolve_chain(_chain(tmp_path, "rocm==7.10.0", base=base, rocm=rocm)).unasked or "")
    with pytest.raises(HipwrightError, match="not at hand: rocm"):
        resolve_chain(_chain(tmp_path, "rocm==7.10.0", base=base, rocm=rocm, release_type="release"))


def test_a_project_that_turned_the_rule_off_asks_nobody(tmp_path: Path, index: Server) -> None:
    chain: Any = _chain(tmp_path, "filelock", base=base_of(index=index.url))
    chain.project = project(check={"rules": {"resolves": {"severity": "off", "why": "it is tried elsewhere"}}})
    found = resolve_chain(chain)
    assert (dict(found.unmet), found.unasked, index.seen) == ({}, None, [])
