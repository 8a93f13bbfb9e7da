"""The compiler caches themselves, with real compilers: the same sources in another folder, in folders and in a bucket."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from build_tools import digest
from build_tools.builds.cache_server import running_cache
from build_tools.builds.cache_statistics import warning
from build_tools.builds.compiler_cache import Bucket, CacheKey, CacheSettings, launchers, launching_script, relocatable
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.types import Platform

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from build_tools.builds.cache_server import RunningCache
    from build_tools.receipts.values import CacheUse
    from build_tools.stores.base import Store
    from tests.support.s3 import S3Server

FILES = 4
KEY = CacheKey(platform=Platform.LINUX, rocm="7.13.0", targets=("gfx942",), project="toy", line="1.0", python_tag="cp312")


def program(tool: str) -> Path:
    found = shutil.which(tool, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        pytest.skip(f"there is no {tool} on this machine")
    return Path(found)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A work dir with the sources of a small project and headers beside them, as an environment has them."""

    base: Path

    @property
    def tree(self) -> Path:
        return self.base / "trees" / "toy" / "src"

    def fill(self) -> Site:
        include = self.base / "envs" / "one" / "include"
        include.mkdir(parents=True)
        (include / "beside.h").write_text("inline int beside() { return 3; }\n")
        self.tree.mkdir(parents=True)
        for number in range(FILES):
            text = f'#include "beside.h"\n#include <cassert>\nint f{number}(int x) {{ assert(x); return beside() + {number}; }}\n'
            (self.tree / f"f{number}.cpp").write_text(text)
        return self

    def compile(self, cache: RunningCache, runner: Runner) -> dict[str, str]:
        """Compile all, as CMake would with the launcher, with absolute names and debug information; return the objects' digests."""
        settings = cache.settings
        flags = {"CXXFLAGS": f"-ffile-prefix-map={self.tree}=."}
        environment = {**flags, **cache.environment, **launchers(settings, rocm="7.13.0")[0], **relocatable(settings, flags)}
        launcher, include = environment["CMAKE_CXX_COMPILER_LAUNCHER"], self.base / "envs" / "one" / "include"
        made: dict[str, str] = {}
        for source in sorted(self.tree.glob("*.cpp")):
            target = source.with_suffix(".o")
            options = ["-O1", "-g", *environment["CXXFLAGS"].split(), f"-I{include}"]
            runner.capture([launcher, "c++", *options, "-c", source, "-o", target], cwd=self.tree, env=environment)
            made[target.name] = digest.of_file(target)
        return made


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runner = Runner(environment=base_environment(os.environ))

    def site(self, name: str) -> Site:
        return Site(base=self.folder / name).fill()

    def settings(self, tool: str, site: Site, store: Path | Bucket | None = None) -> CacheSettings:
        return CacheSettings(
            tool=tool,
            program=program(tool),
            store=store or self.folder / "store",
            size_mib=500,
            key=KEY,
            base=site.base,
            platform=Platform.LINUX,
        )

    @contextmanager
    def cache(
        self, settings: CacheSettings, *, credentials: Mapping[str, str] | None = None, store: Store | None = None
    ) -> Iterator[RunningCache]:
        scratch = settings.base / "cache"
        with running_cache(settings, runner=self.runner, scratch=scratch, credentials=credentials, store=store) as cache:
            yield cache

    def build(self, tool: str, name: str, place: Path | Bucket | None = None, **more: object) -> tuple[dict[str, str], CacheUse]:
        site = self.site(name)
        with self.cache(self.settings(tool, site, place), **more) as cache:  # type: ignore[arg-type]
            return site.compile(cache, self.runner), cache.account()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_the_same_sources_in_another_folder_come_from_the_cache(desk: Desk, tool: str) -> None:
    cold, first = desk.build(tool, "here")
    warm, second = desk.build(tool, "a/folder/with/a/longer/name")
    assert (first.hits, first.misses, first.held) == ({}, {"C/C++": FILES}, False)
    assert (second.hits, second.misses, second.held) == ({"C/C++": FILES}, {}, True)
    assert warm == cold
    assert (first.errors, second.errors) == (0, 0)


@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_a_compiler_of_one_word_is_cached_and_says_what_it_is(desk: Desk, tool: str) -> None:
    site = desk.site("here")
    settings = desk.settings(tool, site)
    script = site.base / "c++"
    script.write_text(launching_script(settings, "c++"))
    script.chmod(0o755)
    with desk.cache(settings) as cache:
        # What an extension builder asks to know whether it is one that it may take.
        asked = desk.runner.capture([script, "-v"], cwd=site.tree, env=cache.environment)
        include = f"-I{site.base / 'envs' / 'one' / 'include'}"
        desk.runner.capture([script, include, "-c", "f0.cpp", "-o", "f0.o"], cwd=site.tree, env=cache.environment)
        use = cache.account()
    assert b"COLLECT_GCC=" in asked.stderr
    assert use.misses == {"C/C++": 1}


@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_objects_for_another_rocm_are_not_taken(desk: Desk, tool: str) -> None:
    desk.build(tool, "here")
    site = desk.site("there")
    settings = desk.settings(tool, site)
    other = replace(settings, key=replace(KEY, rocm="7.14.0"))
    with desk.cache(other) as cache:
        site.compile(cache, desk.runner)
        use = cache.account()
    assert (use.hits, use.held) == ({}, False)
    assert warning(use, key=other.key.prefix) is None


@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_a_cache_that_is_never_hit_is_told(desk: Desk, tool: str) -> None:
    desk.build(tool, "here")
    site = desk.site("there")
    for source in site.tree.glob("*.cpp"):
        source.write_text(source.read_text() + "int other;\n")
    with desk.cache(desk.settings(tool, site)) as cache:
        site.compile(cache, desk.runner)
        use = cache.account()
    said = warning(use, key=KEY.prefix)
    assert use.held
    assert said is not None
    assert f"none of {FILES}" in said


def test_a_compiler_is_known_by_its_bytes_and_not_by_its_time(desk: Desk) -> None:
    desk.build("ccache", "here")
    site = desk.site("there")
    compiler = site.base / "bin" / "c++"
    compiler.parent.mkdir()
    compiler.write_bytes(Path(os.path.realpath(shutil.which("c++") or "")).read_bytes())
    compiler.chmod(0o755)
    desk.runner = Runner(environment={**desk.runner.environment, "PATH": f"{compiler.parent}:{desk.runner.environment['PATH']}"})
    with desk.cache(desk.settings("ccache", site)) as cache:
        site.compile(cache, desk.runner)
        assert cache.account().hits == {"C/C++": FILES}


def test_settings_of_the_person_do_not_count(desk: Desk, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in (home / ".config" / "ccache", home / ".ccache"):
        folder.mkdir(parents=True)
        (folder / "ccache.conf").write_text("disable = true\nread_only = true\n")
    desk.runner = Runner(environment={**desk.runner.environment, "HOME": str(home)})
    desk.build("ccache", "here")
    _, use = desk.build("ccache", "there")
    assert use.hits == {"C/C++": FILES}


def test_a_server_is_of_one_build_and_gone_after_it(desk: Desk) -> None:
    one, other = desk.site("one"), desk.site("other")
    with (
        desk.cache(desk.settings("sccache", one)) as first,
        desk.cache(desk.settings("sccache", other, desk.folder / "elsewhere")) as second,
    ):
        name = first.environment["SCCACHE_SERVER_UDS"]
        assert name != second.environment["SCCACHE_SERVER_UDS"]
        one.compile(first, desk.runner)
        assert second.account().misses == {}
        assert first.account().misses == {"C/C++": FILES}
    assert not Path(name).exists()


def test_a_build_goes_on_when_its_server_dies(desk: Desk) -> None:
    site = desk.site("one")
    with desk.cache(desk.settings("sccache", site)) as cache:
        desk.runner.capture([program("sccache"), "--stop-server"], cwd=site.base, env=cache.environment, check=False)
        assert len(site.compile(cache, desk.runner)) == FILES
        # Whoever compiled then may have begun a server of his own.
        desk.runner.capture([program("sccache"), "--stop-server"], cwd=site.base, env=cache.environment, check=False)


@pytest.mark.parametrize("tool", ["ccache", "sccache"])
def test_a_folder_that_is_none_is_told_before_the_build(desk: Desk, tool: str) -> None:
    (desk.folder / "store").write_text("no folder")
    with pytest.raises(HipwrightError) as caught, desk.cache(desk.settings(tool, desk.site("here"))):
        pass
    assert caught.value.code.name == "folder-not-writable"


def test_a_tool_that_is_none_is_told_before_the_build(desk: Desk) -> None:
    broken = desk.folder / "sccache"
    broken.write_text("#!/bin/sh\necho error: no good >&2\nexit 2\n")
    broken.chmod(0o755)
    settings = replace(desk.settings("sccache", desk.site("here")), program=broken)
    for tool in ("ccache", "sccache"):
        with pytest.raises(HipwrightError) as caught, desk.cache(replace(settings, tool=tool)):
            pass
        assert caught.value.code.name == "cache-unusable"


class TestBucket:
    """sccache in a bucket of a real server."""

    @pytest.fixture
    def bucket(self, s3_server: S3Server) -> Bucket:
        return Bucket(name=s3_server.bucket(), folder="shared", server=s3_server.endpoint)

    def test_machines_share_it(self, desk: Desk, s3_server: S3Server, bucket: Bucket) -> None:
        store = s3_server.store(bucket.name, bucket.folder)
        more = {"credentials": s3_server.machine, "store": store}
        cold, first = desk.build("sccache", "here", bucket, **more)
        warm, second = desk.build("sccache", "there/too", bucket, **more)
        assert (first.misses, first.held, first.errors) == ({"C/C++": FILES}, False, 0)
        assert (second.hits, second.held, warm) == ({"C/C++": FILES}, True, cold)
        assert len(list(store.list(KEY.prefix))) >= FILES

    def test_who_may_only_read_reads(self, desk: Desk, s3_server: S3Server, bucket: Bucket) -> None:
        name = s3_server.bucket(public=True)
        public = replace(bucket, name=name)
        desk.build("sccache", "here", public, credentials=s3_server.machine, store=s3_server.store(name, bucket.folder))
        nobody = s3_server.store(name, bucket.folder, machine=s3_server.nobody, writing=False)
        _, use = desk.build("sccache", "there", replace(public, signed=False), credentials=s3_server.nobody, store=nobody)
        assert (use.hits, use.held) == ({"C/C++": FILES}, True)

    def test_the_build_never_sees_credentials(self, desk: Desk, s3_server: S3Server, bucket: Bucket) -> None:
        site = desk.site("here")
        with desk.cache(desk.settings("sccache", site, bucket), credentials=s3_server.machine) as cache:
            text = str(cache.environment)
        assert "AWS_" not in text
        assert s3_server.machine["AWS_SECRET_ACCESS_KEY"] not in text
        assert bucket.name not in text

    def test_wrong_credentials_are_told_before_the_build(self, desk: Desk, s3_server: S3Server, bucket: Bucket) -> None:
        wrong = {**s3_server.machine, "AWS_SECRET_ACCESS_KEY": "wrong"}
        with (
            pytest.raises(HipwrightError, match="sccache cannot work with s3://") as caught,
            desk.cache(desk.settings("sccache", desk.site("here"), bucket), credentials=wrong),
        ):
            pass
        assert caught.value.code.name == "cache-unusable"
        assert "SignatureDoesNotMatch" in (caught.value.excerpt or "")

    def test_a_bucket_that_is_not_there_is_told_before_the_build(self, desk: Desk, s3_server: S3Server, bucket: Bucket) -> None:
        gone = replace(bucket, name="nowhere-at-all")
        store = s3_server.store(gone.name, gone.folder)
        with (
            pytest.raises(HipwrightError, match="nowhere-at-all") as caught,
            desk.cache(desk.settings("sccache", desk.site("here"), gone), credentials=s3_server.machine, store=store),
        ):
            pass
        assert caught.value.code.name == "cache-unusable"
