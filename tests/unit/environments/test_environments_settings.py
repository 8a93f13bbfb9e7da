from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from build_tools.config.owned import is_owned
from build_tools.environments import settings
from build_tools.environments.base_listing import base_listing
from build_tools.environments.constraints import without_owned
from build_tools.environments.settings import BaseIndex, read_base_index
from build_tools.errors import HipwrightError
from tests.support.environments import runner_with


@pytest.fixture(autouse=True)
def no_system_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)


def read(tmp_path: Path, configuration: str = "", **machine: str) -> BaseIndex:
    """Ask pip, with a configuration of this test's own and none of the system's."""
    file = tmp_path / "home" / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(configuration)
    nothing = tmp_path / "xdg"
    nothing.mkdir(exist_ok=True)
    return read_base_index({"XDG_CONFIG_DIRS": str(nothing), **machine}, runner_with("pip", tmp_path), cwd=tmp_path)


def test_configuration_and_variables_are_read_in_pip_s_order(tmp_path: Path) -> None:
    configuration = (
        "[global]\nindex-url = https://global.example/simple\nfind-links = /from-file\n"
        "extra-index-url =\n  https://one.example/simple\n  https://two.example/simple\nproxy = http://proxy.example:1\n"
        "[install]\nindex-url = https://install.example/simple\n[wheel]\nindex-url = https://wheel.example/simple\n"
    )
    base = read(tmp_path, configuration, PIP_FIND_LINKS="/a https://b.example/x", PIP_DEFAULT_TIMEOUT="7")
    assert base.index_url == "https://install.example/simple"
    assert base.extra_index_urls == ("https://one.example/simple", "https://two.example/simple")
    assert base.find_links == ("/a", "https://b.example/x")
    assert base.proxy == "http://proxy.example:1"
    assert base.timeout == 7
    origins = {row.name: row.origin for row in base.rows()}
    assert origins["find-links"] == "environment PIP_FIND_LINKS"
    assert origins["index-url"] == "pip configuration, install.index-url"
    assert origins["timeout"] == "environment PIP_DEFAULT_TIMEOUT"
    assert base.network().proxies == {"http": "http://proxy.example:1", "https": "http://proxy.example:1"}


def test_without_settings_pip_s_own_index_counts(tmp_path: Path) -> None:
    base = read(tmp_path, PIP_FIND_LINKS="", PIP_CONFIG_FILE=os.devnull)
    assert base.index_url is not None
    assert base.index_url.startswith("https://")
    assert {row.name: row.origin for row in base.rows()}["index-url"] == "pip's default"


def test_one_start_of_an_interpreter_tells_all(tmp_path: Path) -> None:
    runner = runner_with("pip", tmp_path)
    read_base_index({"PIP_CONFIG_FILE": os.devnull}, runner, cwd=tmp_path)
    assert len(runner.record) == 1


def test_where_pip_s_code_has_moved_its_command_line_tells_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = "https://one.example/simple\n  https://two.example/it's"
    configuration = f"[global]\nextra-index-url =\n  {places}\n[install]\ntimeout = 9\n"
    base = read(tmp_path, configuration, PIP_FIND_LINKS="/a /b")
    monkeypatch.setattr(settings, "_ASK", "import pip._internal.moved")
    assert read(tmp_path, configuration, PIP_FIND_LINKS="/a /b") == base
    assert base.extra_index_urls == ("https://one.example/simple", "https://two.example/it's")
    assert base.index_url is not None


def test_a_pip_that_is_to_be_quiet_is_heard(tmp_path: Path) -> None:
    base = read(tmp_path, "[global]\nquiet = 3\nindex-url = https://global.example/simple\n")
    assert base.index_url == "https://global.example/simple"


def test_a_machine_that_keeps_no_cache_gets_none(tmp_path: Path) -> None:
    assert not read(tmp_path).no_cache
    # pip takes every value of this setting for yes.
    for told in (read(tmp_path, PIP_NO_CACHE_DIR="false"), read(tmp_path, "[global]\nno-cache-dir = true\n")):
        assert told.no_cache
        assert {row.name: row.value for row in told.rows()}["no-cache-dir"] == "true"


def test_relative_places_are_relative_to_where_the_command_was_typed(tmp_path: Path) -> None:
    base = read(
        tmp_path, PIP_FIND_LINKS="wheels ~/mine", HOME="/home/me", PIP_CONSTRAINT="c.txt", PIP_CERT="ca.pem", PIP_NO_INDEX="1"
    )
    assert base.find_links == (str(tmp_path / "wheels"), "/home/me/mine")
    assert base.constraints == (str(tmp_path / "c.txt"),)
    assert base.cert == tmp_path / "ca.pem"
    assert base.no_index
    assert base.index_url is None


def test_a_relative_place_is_refused_where_nobody_knows_to_what(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="names wheels") as caught:
        read_base_index({"PIP_FIND_LINKS": "wheels", "PIP_CONFIG_FILE": os.devnull}, runner_with("pip", tmp_path))
    assert caught.value.code.name == "bad-data-file"


def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        read(tmp_path, "[global\nx")
    assert caught.value.code.name == "bad-data-file"
    assert caught.value.excerpt is not None
    assert "pip.conf" in caught.value.excerpt


def test_passwords_do_not_show(tmp_path: Path) -> None:
    base = read(
        tmp_path,
        PIP_INDEX_URL="https://me:hush-hush@e.example/simple",
        PIP_EXTRA_INDEX_URL="https://t0ken-of-twenty-letters@f.example/simple",
    )
    assert not any(secret in row.value for row in base.rows() for secret in ("hush", "t0ken"))
    assert base.secrets() >= {"me:hush-hush", "hush-hush", "t0ken-of-twenty-letters"}


def test_what_a_query_says_does_not_show(tmp_path: Path) -> None:
    base = read(
        tmp_path,
        "[global]\nextra-index-url = https://f.example/simple?key=hush-of-file\n",
        PIP_INDEX_URL="https://e.example/simple?token=hush-hush&page=2",
        PIP_FIND_LINKS="/a https://g.example/links.html?hush-signature",
        PIP_CONSTRAINT="https://h.example/c.txt?sig=hush%2Fhush",
    )
    assert not any("hush" in row.value for row in base.rows())
    assert {row.name: row.value for row in base.rows()}["index-url"] == "https://e.example/simple?***"
    assert base.secrets() >= {"hush-of-file", "hush-hush", "hush-signature", "hush%2Fhush", "hush/hush"}
    assert not base.secrets() & {"2", "page"}
    listing = base_listing(base)
    assert "hush" not in listing.source.describe()
    with pytest.raises(HipwrightError) as caught:
        replace(base.network(), retries=0).read("http://127.0.0.1:1/simple?token=hush-hush")
    assert "hush" not in caught.value.message


def test_machine_s_proxies_count_where_pip_has_none(tmp_path: Path) -> None:
    base = read(tmp_path, HTTPS_PROXY="http://p.example:1", no_proxy="localhost")
    assert base.network().proxies == {"https": "http://p.example:1"}
    assert base.network().no_proxy == "localhost"


def test_what_is_offered_decides_the_identity(tmp_path: Path) -> None:
    constraint = tmp_path / "c.txt"
    constraint.write_text("a==1\n")
    base = BaseIndex(index_url="https://e/simple", constraints=(str(constraint),))
    before = base.identity()
    assert replace(base, timeout=1, cert=tmp_path, proxy="x").identity() == before
    assert replace(base, find_links=("/x",)).identity() != before
    assert replace(base, index_url="https://me:secret@e/simple").identity() == before
    assert base.knowing(("https://me:secret@f/simple",)).identity() == before
    constraint.write_text("a==2\n")
    assert base.identity() != before


def test_constraints_on_owned_names_do_not_apply(tmp_path: Path) -> None:
    inner = tmp_path / "inner.txt"
    inner.write_text("rocm_SDK.core==1 \\\n  --hash=sha256:00\nnumpy<3  # why\n-c outer.txt\n")
    outer = tmp_path / "outer.txt"
    outer.write_text(
        "# these lie on the disk\ntorch<=2.14.1\ntorchmetrics==1.0\n\ntorch @ file:///x.whl\n-c inner.txt\n--no-binary x\n"
        "pip==26 ; python_version > '3'\nfile:///x/rocm_sdk_libraries-99.0-py3-none-any.whl#sha256=00\n"
        "https://e.example/a%20b/torch-99.0.tar.gz --hash=sha256:00\nfile:///x/plain_tool-1.0-py3-none-any.whl\n"
    )
    places = (str(outer), "https://e.example/c.txt")
    file, address = without_owned(places, owns=is_owned, folder=tmp_path)
    assert address == "https://e.example/c.txt"
    assert Path(file).read_text().splitlines() == [
        "torchmetrics==1.0",
        "numpy<3",
        "--no-binary x",
        "pip==26 ; python_version > '3'",
        "file:///x/plain_tool-1.0-py3-none-any.whl",
    ]


def test_a_constraint_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match=r"gone\.txt") as caught:
        without_owned((str(tmp_path / "gone.txt"),), owns=is_owned, folder=tmp_path)
    assert caught.value.code.name == "bad-data-file"
