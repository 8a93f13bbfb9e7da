"""The whole check of one wheel against one plain pass that reads, decompresses and hashes it.

Usage: ``python -m benchmarks.wheel_check WHEEL [ROUNDS]``, from the root of the clone. The rounds take turns, and the best of each counts.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import zipfile
from pathlib import Path

from build_tools.checks.run import check_wheels

LIMIT = 1.3


def plain_pass(wheel: Path) -> float:
    started = time.perf_counter()
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            digest = hashlib.sha256()
            with archive.open(entry) as stream:
                while piece := stream.read(1 << 20):
                    digest.update(piece)
            digest.digest()
    return time.perf_counter() - started


def whole_check(wheel: Path, jobs: int) -> float:
    started = time.perf_counter()
    report = check_wheels([wheel], expectations=None, say=lambda _line: None, jobs=jobs)
    seconds = time.perf_counter() - started
    if not report.passed:
        raise SystemExit(f"{wheel.name} breaks a rule: {report.findings[0]}")
    return seconds


def main() -> None:
    wheel = Path(sys.argv[1])
    rounds = range(int(sys.argv[2]) if len(sys.argv) > 2 else 3)  # noqa: PLR2004 - the second argument
    plain, one, two = map(
        min, zip(*((plain_pass(wheel), whole_check(wheel, 1), whole_check(wheel, 2)) for _ in rounds), strict=True)
    )
    for name, ours in (("wheel check, one thread", one), ("wheel check, two threads", two)):
        row = {"name": name, "ours": round(ours, 3), "baseline": round(plain, 3), "ratio": round(ours / plain, 3), "limit": LIMIT}
        print(json.dumps(row))


if __name__ == "__main__":
    main()
