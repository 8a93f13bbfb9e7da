"""Environments made with the real pip and the real uv; the same must hold for both."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from build_tools import digest
from build_tools.environments import install
from build_tools.environments.listing import PackageSource
from build_tools.environments.make import EnvironmentRequest, environment_digest
from build_tools.environments.resolve import lock_owned
from build_tools.environments.settings import BaseIndex, read_base_index
from build_tools.errors import HipwrightError
from build_tools.files import remove_tree
from tests.support.environments import (
    PLATFORM,
    Place,
    base_of,
    lock_from,
    marks_in,
    names_in,
    pin_file,
    place_with,
    this_interpreter,
)
from tests.support.packages import make_index, make_wheel, serve

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=["pip", "uv"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_with(request.param, tmp_path)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A source of owned packages."""
    folder = tmp_path / "own"
    extras = {"libraries": ["rocm-sdk-libraries==7.10.0"], "devel": ["rocm-sdk-devel==7.10.0"], "tools": ["plain-tool"]}
    make_wheel(folder, "rocm", "7.10.0", requires=["rocm-sdk-core==7.10.0"], extras=extras, mark="own")
    for name in ("rocm-sdk-core", "rocm-sdk-libraries", "rocm-sdk-devel"):
        make_wheel(folder, name, "7.10.0", mark="own")
    make_wheel(folder, "torch", "2.9.0+rocm7.10.0", requires=["rocm[libraries]==7.10.0", "plain-dep>=1"], mark="own")
    return folder


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Higher versions of every owned name, and the same version with other bytes, beside what nobody owns."""
    folder = tmp_path / "hostile"
    for name in ("rocm", "rocm-sdk-core", "rocm-sdk-libraries", "rocm-sdk-devel", "torch", "triton"):
        make_wheel(folder, name, "99.0", mark="hostile")
    make_wheel(folder, "rocm-sdk-core", "7.10.0", mark="hostile")
    make_wheel(folder, "torch", "2.9.0+rocm7.10.0", mark="hostile")
    make_wheel(folder, "plain-dep", "1.5", requires=["torch", "rocm-sdk-core"], mark="plain")
    make_wheel(folder, "plain-tool", "3.0", mark="plain")
    make_wheel(folder, "sly", "1.0", requires=["triton"], mark="plain")
    return folder


WHERE = ["links-variable", "extra-variable", "configuration", "index"]


@pytest.mark.parametrize("where", WHERE)
def test_a_hostile_base_index_never_wins(place: Place, own: Path, hostile: Path, where: str, tmp_path: Path) -> None:
    home = Path(place.runner.environment["HOME"])
    index = make_index(tmp_path / "index", sorted(hostile.glob("*.whl")))
    machine: dict[str, str] = {"PIP_NO_INDEX": "1"} if where == "links-variable" else {}
    machine |= {
        "links-variable": {"PIP_FIND_LINKS": str(hostile)},
        "extra-variable": {"PIP_INDEX_URL": (tmp_path / "nothing").as_uri(), "PIP_EXTRA_INDEX_URL": index.as_uri()},
        "configuration": {},
        "index": {"PIP_INDEX_URL": index.as_uri()},
    }[where]
    if where == "configuration":
        configuration = home / ".config" / "pip" / "pip.conf"
        configuration.parent.mkdir(parents=True)
        configuration.write_text(f"[global]\nindex-url = {index.as_uri()}\nconstraint = {tmp_path / 'constraints.txt'}\n")
        (tmp_path / "constraints.txt").write_text("torch>=99\nplain-dep==1.5\nrocm-sdk-core==99.0\n")
    (tmp_path / "nothing").mkdir()
    base = read_base_index(machine, place.runner)
    files = lock_from(place, own, "rocm[libraries,devel]==7.10.0", "torch")
    record = place.make(EnvironmentRequest(interpreter=this_interpreter(), owned=files, requires=("rocm[devel]", "torch")), base)
    assert names_in(record) == {
        "plain-dep": "1.5",
        "rocm": "7.10.0",
        "rocm-sdk-core": "7.10.0",
        "rocm-sdk-devel": "7.10.0",
        "rocm-sdk-libraries": "7.10.0",
        "torch": "2.9.0+rocm7.10.0",
    }
    assert marks_in(record.folder, "torch", "rocm", "rocm_sdk_core", "rocm_sdk_devel", "plain_dep") == ["own"] * 4 + ["plain"]
    by_name = {package.name: package for package in record.packages}
    assert by_name["torch"].source == next(file.url for file in files if file.distribution == "torch")
    assert by_name["plain-dep"].source == "base index"
    assert by_name["plain-dep"].sha256 == digest.of_file(next(hostile.glob("plain_dep*.whl")))


def test_configuration_files_and_variables_do_not_leak_in(place: Place, own: Path, hostile: Path, tmp_path: Path) -> None:
    home = Path(place.runner.environment["HOME"])
    more = tmp_path / "more"
    make_wheel(more, "tool", "99.0", mark="leaked")
    for path, text in {
        ".config/pip/pip.conf": f"[global]\nfind-links = {more}\n  {hostile}\nupgrade = true\n",
        ".config/uv/uv.toml": f'[pip]\nfind-links = ["{more}", "{hostile}"]\nupgrade = true\n',
    }.items():
        (home / path).parent.mkdir(parents=True)
        (home / path).write_text(text)
    leaky = {"PIP_FIND_LINKS": f"{more} {hostile}", "PIP_UPGRADE": "1"}
    runner = replace(place.runner, environment={**place.runner.environment, **leaky})
    make_wheel(tmp_path / "base", "tool", "1.0", mark="base")
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm==7.10.0"), requires=("tool",))
    record = place.make(request, base_of(tmp_path / "base"), runner=runner)
    assert names_in(record) == {"rocm": "7.10.0", "rocm-sdk-core": "7.10.0", "tool": "1.0"}
    assert marks_in(record.folder, "rocm", "rocm_sdk_core", "tool") == ["own", "own", "base"]


def test_an_owned_name_that_the_base_index_brings_in_is_refused(place: Place, own: Path, hostile: Path) -> None:
    files = lock_from(place, own, "rocm==7.10.0")
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=files, requires=("sly",))
    with pytest.raises(HipwrightError, match=r"triton.*sly") as caught:
        place.make(request, base_of(hostile))
    assert caught.value.code.name == "owned-name-leak"
    assert not list((place.folder / "envs").glob("*/environment.json"))


def test_an_owned_requirement_without_a_file_is_named_before_anything_is_made(place: Place, hostile: Path) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), requires=("torch>=2",), purpose="building sample")
    with pytest.raises(HipwrightError, match=r"building sample requires torch>=2") as caught:
        place.make(request, base_of(hostile))
    assert caught.value.code.name == "requirement-missing"
    assert place.said == []


def test_an_owned_file_of_the_wrong_version_is_named(place: Place, own: Path) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), requires=("rocm==7.11.0",))
    with pytest.raises(HipwrightError, match=r"requires rocm==7\.11\.0, and rocm-7\.10\.0") as caught:
        place.make(request, base_of())
    assert caught.value.code.name == "requirement-missing"


def test_an_owned_package_whose_owned_requirement_is_not_locked_is_named(place: Place, own: Path, hostile: Path) -> None:
    files = tuple(file for file in lock_from(place, own, "rocm") if file.distribution == "rocm")
    with pytest.raises(HipwrightError, match=r"rocm requires rocm-sdk-core==7\.10\.0") as caught:
        place.make(EnvironmentRequest(interpreter=this_interpreter(), owned=files), base_of(hostile))
    assert caught.value.code.name == "requirement-missing"


def test_pins_that_name_an_owned_package_are_refused(place: Place, hostile: Path, tmp_path: Path) -> None:
    pins = pin_file(tmp_path / "pins.txt", [hostile / "torch-99.0-py3-none-any.whl"])
    with pytest.raises(HipwrightError, match="pins torch") as caught:
        place.make(EnvironmentRequest(interpreter=this_interpreter(), pins=pins), base_of(hostile))
    assert caught.value.code.name == "owned-name-leak"


def test_pins_are_installed_by_hash_and_give_way_where_a_requirement_says_so(place: Place, tmp_path: Path) -> None:
    base = tmp_path / "base"
    old, middle, new = (make_wheel(base, "helper", version) for version in ("1.0", "2.0", "3.0"))
    keep = make_wheel(base, "keeper", "1.0")
    make_wheel(base, "keeper", "9.0")
    tool = make_wheel(base, "tool", "1.0", requires=["helper<2", "keeper"])
    pins = pin_file(tmp_path / "pins.txt", [middle, keep])
    plain = place.make(EnvironmentRequest(interpreter=this_interpreter(), pins=pins), base_of(base))
    assert {package.name: package.sha256 for package in plain.packages} == {
        "helper": digest.of_file(middle),
        "keeper": digest.of_file(keep),
    }
    record = place.make(EnvironmentRequest(interpreter=this_interpreter(), pins=pins, requires=("tool",)), base_of(base))
    assert names_in(record) == {"helper": "1.0", "keeper": "1.0", "tool": "1.0"}
    assert {package.name: package.sha256 for package in record.packages} == {
        "helper": digest.of_file(old),
        "keeper": digest.of_file(keep),
        "tool": digest.of_file(tool),
    }
    assert new.is_file()


def test_a_pin_with_other_bytes_is_refused(place: Place, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "base", "helper", "1.0")
    pins = pin_file(tmp_path / "pins.txt", [wheel])
    make_wheel(tmp_path / "base", "helper", "1.0", mark="changed")
    with pytest.raises(HipwrightError) as caught:
        place.make(EnvironmentRequest(interpreter=this_interpreter(), pins=pins), base_of(tmp_path / "base"))
    assert caught.value.code.name == "install-failed"
    assert caught.value.log == place.folder / "install.log"


def test_an_owned_file_with_other_bytes_is_refused(place: Place, own: Path) -> None:
    files = lock_from(place, own, "rocm-sdk-core")
    make_wheel(own, "rocm-sdk-core", "7.10.0", mark="changed")
    with pytest.raises(HipwrightError, match="should have the sha256") as caught:
        place.make(EnvironmentRequest(interpreter=this_interpreter(), owned=files), base_of())
    assert caught.value.code.name == "hash-mismatch"


def test_owned_files_come_over_http_once_and_by_hash(place: Place, own: Path, tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", sorted(own.glob("*.whl")))
    with serve(index) as server:
        source = PackageSource(index_url=f"{server.url}/")
        files = lock_owned(
            ["torch"],
            source=source,
            interpreter=this_interpreter(),
            network=BaseIndex().network(),
            cache=place.folder / "cache",
        )
        dep = tmp_path / "dep"
        make_wheel(dep, "plain-dep", "1.0")
        record = place.make(EnvironmentRequest(interpreter=this_interpreter(), owned=files), base_of(dep))
        assert server.seen.count("/torch/torch-2.9.0%2Brocm7.10.0-py3-none-any.whl") == 1
    assert marks_in(record.folder, "torch") == ["own"]
    assert next(package.source for package in record.packages if package.name == "torch").startswith("http://127.0.0.1")


def test_files_of_an_index_with_a_password_are_read_with_it_and_recorded_without(place: Place, own: Path, tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", sorted(own.glob("rocm*.whl")))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (far,) = own.glob("rocm_sdk_core-*.whl")
    (elsewhere / far.name).write_bytes(far.read_bytes())
    with serve(index) as server, serve(elsewhere) as other:
        server.password = "me:secret"  # noqa: S105 - made up here
        link = f"{other.url}/{far.name}#sha256={digest.of_file(far)}"
        (index / "rocm-sdk-core" / "index.html").write_text(f'<a href="{link}">{far.name}</a>')
        place_of_owned = f"{server.url.replace('//', '//me:secret@')}/"
        files = lock_owned(
            ["rocm"],
            source=PackageSource(index_url=place_of_owned),
            interpreter=this_interpreter(),
            network=BaseIndex().network(),
            cache=place.folder / "cache",
        )
        assert "secret" not in repr(files)
        remove_tree(place.folder / "cache")
        request = EnvironmentRequest(interpreter=this_interpreter(), owned=files)
        with pytest.raises(HipwrightError, match="401"):
            place.make(request, base_of())
        record = place.make(request, base_of().knowing((place_of_owned,)))
        assert set(other.told) == {None}
    assert "secret" not in repr(record)
    assert marks_in(record.folder, "rocm", "rocm_sdk_core") == ["own", "own"]


def test_the_second_time_nothing_is_run(place: Place, own: Path) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"))
    first = place.make(request, base_of())
    place.runner.record.clear()
    assert place.make(request, base_of()) == first
    assert place.runner.record == []
    assert place.make(replace(request, purpose="something else"), base_of()) == first


@pytest.mark.parametrize("lost", ["rocm_sdk_core.py", "rocm_sdk_core-7.10.0.dist-info/METADATA", "."])
def test_one_that_lost_files_of_owned_packages_is_made_again(place: Place, own: Path, lost: str) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"))
    record = place.make(request, base_of())
    remove_tree(next(Path(record.folder).glob("lib/python*/site-packages")) / lost)
    assert place.make(request, base_of()) == record
    assert any(line.startswith(f"making {Path(record.folder).name} again: what it was made for") for line in place.said)
    assert marks_in(record.folder, "rocm_sdk_core") == ["own"]


def test_one_that_is_there_is_made_again_when_that_is_asked_for(place: Place, own: Path) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"))
    first = place.make(request, base_of())
    stray = Path(first.folder, "bin", "stray")
    stray.touch()
    assert place.make(request, base_of(), renew=True) == first
    assert not stray.exists()
    assert marks_in(first.folder, "rocm") == ["own"]


def test_a_half_made_environment_is_made_again(place: Place, own: Path) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"))
    first = place.make(request, base_of())
    Path(first.folder, "environment.json").unlink()
    stray = Path(first.folder, "bin", "stray")
    stray.touch()
    assert place.make(request, base_of()) == first
    assert not stray.exists()
    assert any("half-made" in line for line in place.said)
    Path(first.folder, "bin", "python").unlink()
    assert place.make(request, base_of()) == first
    assert marks_in(first.folder, "rocm") == ["own"]


def test_an_environment_that_was_moved_is_made_again(place: Place, own: Path) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"))
    first = place.make(request, base_of())
    shutil.copytree(place.folder / "envs", place.folder / "copied", symlinks=True)
    second = place.make(request, base_of(), envs=place.folder / "copied")
    assert second.folder != first.folder
    assert str(place.folder / "copied") in Path(second.folder, "pyvenv.cfg").read_text()


def test_a_failed_one_leaves_no_folder(place: Place, own: Path, tmp_path: Path) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"), requires=("not-anywhere",))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(HipwrightError) as caught:
        place.make(request, base_of(empty))
    assert caught.value.code.name == "install-failed"
    assert "not-anywhere" in (caught.value.excerpt or "") + place.folder.joinpath("install.log").read_text()
    assert [path for path in (place.folder / "envs").iterdir() if path.is_dir()] == []


def test_two_at_once_make_one(place: Place, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm"))
    started = threading.Event()
    proceed = threading.Event()
    real = install.choose_installer

    def slow(**arguments: object) -> object:
        started.set()
        assert proceed.wait(30)
        return real(**arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("build_tools.environments.maker.choose_installer", slow)
    records = []
    threads = [threading.Thread(target=lambda: records.append(place.make(request, base_of()))) for _ in range(2)]
    threads[0].start()
    assert started.wait(30)
    with pytest.raises(HipwrightError, match="making an environment") as caught:
        place.make(request, base_of(), wait=False)
    assert caught.value.code.name == "locked"
    threads[1].start()
    proceed.set()
    for thread in threads:
        thread.join(60)
    assert len(records) == 2
    assert records[0] == records[1]
    made = [done for done in place.runner.record if "venv" in done.argv]
    assert len(made) == 1


def test_requirements_with_markers_and_extras(place: Place, own: Path, hostile: Path) -> None:
    files = lock_from(place, own, "rocm")
    request = EnvironmentRequest(
        interpreter=this_interpreter(),
        owned=files,
        requires=("rocm[tools]", "not-for-us; python_version < '3'", "plain-tool>=1"),
    )
    assert "plain-tool" in names_in(place.make(request, base_of(hostile)))


def test_a_conflict_that_the_installer_lets_pass_is_found(place: Place, tmp_path: Path) -> None:
    own, base = tmp_path / "own", tmp_path / "base"
    make_wheel(own, "torch", "2.9.0", requires=["numpy-like<2"])
    make_wheel(base, "numpy-like", "2.0")
    with pytest.raises(HipwrightError) as caught:
        place.make(EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "torch")), base_of(base))
    assert caught.value.code.name == "install-failed"


def test_the_name_of_an_environment_says_what_goes_in(own: Path, tmp_path: Path) -> None:
    place = place_with("pip", tmp_path)
    files = lock_from(place, own, "rocm")
    request = EnvironmentRequest(interpreter=this_interpreter(), owned=files, requires=("a", "b"))
    pins = tmp_path / "pins.txt"
    pins.write_text("")
    same = [request, replace(request, owned=files[::-1]), replace(request, requires=("b", "a")), replace(request, purpose="x")]
    other = [
        replace(request, owned=files[:1]),
        replace(request, requires=("a",)),
        replace(request, pins=pins),
        replace(request, interpreter=replace(this_interpreter(), version="3.11.0")),
    ]
    digests = {environment_digest(one, base_of()) for one in same}
    assert len(digests) == 1
    others = {environment_digest(one, base_of()) for one in other} | {environment_digest(request, base_of(tmp_path))}
    assert len(others) == 5
    assert not others & digests


def test_the_record_is_what_is_in_the_folder(place: Place, own: Path) -> None:
    record = place.make(
        EnvironmentRequest(interpreter=this_interpreter(), owned=lock_from(place, own, "rocm[libraries]")), base_of()
    )
    data = json.loads(Path(record.folder, "environment.json").read_text())
    assert data["python"] == str(Path(record.folder, "bin", "python"))
    assert data["python_tag"] == this_interpreter().python_tag
    assert {row["name"]: row["version"] for row in data["packages"]} == names_in(record)
    assert all(row["sha256"] for row in data["packages"])
    assert PLATFORM
