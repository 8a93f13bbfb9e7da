"""A warm compiler cache against a cold one, in another folder: the share of objects that it has.

A small CMake project of light files is built by ninja twice, the second time in a folder of another name and length: with ccache, with
sccache in a folder, and with sccache in a bucket of a real S3 server. Objects must be equal too, whose sources' folder is mapped away.

Usage: ``python -m benchmarks.compiler_cache [FILES]``.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks._measure import Result, rounds, scratch, show
from benchmarks._rocm import program
from build_tools import digest
from build_tools.builds.cache_server import running_cache
from build_tools.builds.compiler_cache import Bucket, CacheKey, CacheSettings, launchers, relocatable
from build_tools.process import Runner, base_environment
from build_tools.types import Platform
from tests.support.s3 import seaweed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LIMIT: Final = 0.0
FILES: Final = 24
KEY: Final = CacheKey(platform=Platform.LINUX, rocm=None, targets=(), project="benchmark", line=None, python_tag="cp311")
_LIGHT: Final = """#include <cassert>
#include <map>
#include <string>
#include "common.h"
int f{number}(const std::string &name) {{
  std::map<std::string, int> found;
  found[name] = common({number});
  assert(found.size() == 1);
  return found[name];
}}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """One build: seconds, objects from the cache and compiled, and the digest of each object."""

    seconds: float
    hits: int
    misses: int
    objects: Mapping[str, str]


def result(name: str, cold: Built, warm: Built) -> Result:
    """Return the goal for one cache: how many objects of the second build were not in it, or were others."""
    others = sum(1 for object_, value in warm.objects.items() if cold.objects.get(object_) != value)
    return Result(
        name=name,
        limit=LIMIT,
        limit_on="ours",
        ours=float(warm.misses + others + (len(warm.objects) - warm.hits - warm.misses)),
        baseline=float(cold.misses),
        unit="objects",
        detail={
            "hits": warm.hits,
            "other bytes": others,
            "cold seconds": round(cold.seconds, 3),
            "warm seconds": round(warm.seconds, 3),
            "warm against cold": round(warm.seconds / cold.seconds, 4) if cold.seconds else None,
        },
    )


def project(work: Path, count: int) -> Path:
    """Write the project's sources below a work dir, with a header beside them, and return the tree."""
    include = work / "envs" / "one" / "include"
    include.mkdir(parents=True)
    (include / "common.h").write_text("inline int common(int x) { return x * 3; }\n", encoding="utf-8")
    tree = work / "trees" / "benchmark" / "src"
    tree.mkdir(parents=True)
    names = [f"f{number}.cpp" for number in range(count)]
    for number, name in enumerate(names):
        (tree / name).write_text(_LIGHT.format(number=number), encoding="utf-8")
    lines = ["cmake_minimum_required(VERSION 3.17)", "project(light CXX)", f"add_library(light OBJECT {' '.join(names)})"]
    lines.append(f"target_include_directories(light PRIVATE {include})")
    (tree / "CMakeLists.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tree


def build(
    tool: str, work: Path, store: Path | Bucket, count: int, *, runner: Runner, credentials: Mapping[str, str] | None = None
) -> Built:
    """Build the project below a work dir through a cache, and read its account."""
    tree = project(work, count)
    settings = CacheSettings(
        tool=tool, program=program(tool), store=store, size_mib=1024, key=KEY, base=work, platform=Platform.LINUX
    )
    flags = {"CXXFLAGS": f"-g -O1 -ffile-prefix-map={tree}=."}
    with running_cache(settings, runner=runner, scratch=work / "cache", credentials=credentials) as cache:
        environment = {**flags, **cache.environment, **launchers(settings, rocm=None)[0], **relocatable(settings, flags)}
        runner.capture(
            ["cmake", "-G", "Ninja", "-DCMAKE_CXX_COMPILER_FORCED=ON", "-S", tree, "-B", tree / "build"],
            cwd=tree,
            env=environment,
        )
        began = time.monotonic()
        runner.capture(["ninja", "-C", tree / "build"], cwd=tree, env=environment)
        seconds = time.monotonic() - began
        use = cache.account()
    objects = {path.relative_to(tree).as_posix(): digest.of_file(path) for path in tree.rglob("*.o")}
    return Built(seconds=seconds, hits=sum(use.hits.values()), misses=sum(use.misses.values()), objects=objects)


def main(arguments: Sequence[str]) -> None:
    count = rounds(arguments, FILES)
    runner = Runner(environment=base_environment(os.environ))
    with scratch() as folder, seaweed(folder / "server", program=program("weed")) as server:
        bucket = Bucket(name=server.bucket(), folder="objects", server=server.endpoint)
        for name, tool, store in (
            ("ccache", "ccache", folder / "ccache"),
            ("sccache", "sccache", folder / "sccache"),
            ("sccache in a bucket", "sccache", bucket),
        ):
            work = folder / name.replace(" ", "-")
            cold, warm = (
                build(tool, place, store, count, runner=runner, credentials=server.machine)
                for place in (work / "one", work / "another" / "folder")
            )
            show(result(f"warm {name} in another folder", cold, warm), lambda: ("look at the flags of the build",))


if __name__ == "__main__":
    main(sys.argv[1:])
