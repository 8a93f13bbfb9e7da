from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.builds.jobs import choose_jobs, free_memory

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30


@pytest.mark.parametrize(
    ("asked", "processors", "memory", "count"),
    [
        (None, 64, 128 * GIB, 64),
        (None, 64, 31 * GIB, 15),
        (None, 4, 128 * GIB, 4),
        (None, 8, 100, 1),
        (40, 64, 31 * GIB, 40),
        (3, 64, 128 * GIB, 3),
    ],
)
def test_memory_and_processors_decide_unless_a_person_did(asked: int | None, processors: int, memory: int, count: int) -> None:
    assert choose_jobs(asked, processors=processors, memory=memory, per_job=2048).count == count


def test_people_are_told_of_fewer_jobs_and_warned_of_too_many() -> None:
    fewer = choose_jobs(None, processors=64, memory=31 * GIB, per_job=2048)
    many = choose_jobs(40, processors=64, memory=31 * GIB, per_job=2048)
    assert "15 of 64" in fewer.note
    assert not fewer.short
    assert many.short
    assert "40 jobs" in many.note
    assert not choose_jobs(15, processors=64, memory=31 * GIB, per_job=2048).note
    assert not choose_jobs(None, processors=8, memory=64 * GIB, per_job=2048).note


def groups(folder: Path, line: str, **files: dict[str, str]) -> int:
    proc = folder / "proc"
    proc.write_text(line)
    for name, content in files.items():
        place = folder / "cgroups" / name.replace("__", "/")
        place.mkdir(parents=True, exist_ok=True)
        for file, text in content.items():
            (place / file).write_text(text)
    return free_memory(proc=proc, cgroups=folder / "cgroups")


def test_a_limit_of_the_group_counts(tmp_path: Path) -> None:
    free = groups(tmp_path, "0::/job\n", job={"memory.max": "1000000\n", "memory.current": "300000\n"})
    assert free == 700_000


def test_files_that_the_system_gives_up_are_not_taken(tmp_path: Path) -> None:
    stat = "anon 5\ninactive_file 200000\n"
    free = groups(tmp_path, "0::/job\n", job={"memory.max": "1000000", "memory.current": "300000", "memory.stat": stat})
    assert free == 900_000


def test_the_smallest_limit_above_counts_and_none_is_none(tmp_path: Path) -> None:
    free = groups(
        tmp_path,
        "0::/outer/inner\n",
        outer={"memory.max": "5000", "memory.current": "1000"},
        outer__inner={"memory.max": "max", "memory.current": "1000"},
    )
    assert free == 4000


def test_an_older_kernel_has_its_memory_in_a_group_of_its_own(tmp_path: Path) -> None:
    free = groups(
        tmp_path,
        "5:cpu,cpuacct:/job\n4:memory:/job\n",
        memory__job={"memory.limit_in_bytes": "9000", "memory.usage_in_bytes": "2000"},
    )
    assert free == 7000


@pytest.mark.parametrize("line", ["", "nonsense", "0::/gone\n", "4:memory\n"])
def test_what_cannot_be_read_limits_nothing(tmp_path: Path, line: str) -> None:
    assert groups(tmp_path, line) > 2**20
    assert free_memory(proc=tmp_path / "none", cgroups=tmp_path) > 2**20
