"""``verify``, ``yank`` and ``rollback`` on the real S3 server, and publishers that meet a yank there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from build_tools.publish.current import read_current
from build_tools.publish.history import walk_history
from build_tools.publish.moving import move_index
from build_tools.publish.rollback import require_files, rolled_back
from build_tools.publish.upload import publish_wheels
from build_tools.publish.verify import verify_index
from build_tools.publish.yank import yanked
from build_tools.receipts.snapshot import Change
from build_tools.stores.run_outputs import IndexFolder
from tests.support.publishing import write_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.s3 import S3Server

PLACE = IndexFolder("channels/dev")
TIME = "2026-01-02T03:04:05Z"


def test_publishers_and_a_yank_that_meet_lose_nothing_and_the_index_is_whole(tmp_path: Path, s3_server: S3Server) -> None:
    bucket = s3_server.bucket()
    failures: list[BaseException] = []

    def publish(version: str) -> None:
        wheel = write_wheel(tmp_path / "built", version=version)
        store = s3_server.store(bucket)
        publish_wheels([wheel], store=store, prefix=PLACE.prefix, replace=False, say=lambda _line: None, clock=lambda: TIME)

    def yank() -> None:
        change = Change(action="yank", time=TIME, reason="broken", what=("demo==1.0",))
        move_index(
            s3_server.store(bucket),
            PLACE,
            make=lambda there: yanked(there.snapshot, ["demo==1.0"], reason="broken"),
            change=change,
            say=lambda _line: None,
        )

    def guarded(work: object, *words: str) -> None:
        try:
            work(*words)  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    publish("1.0")
    threads = [threading.Thread(target=guarded, args=(publish, version)) for version in ("2.0", "3.0+rocm7.1", "4.0")]
    threads.append(threading.Thread(target=guarded, args=(yank,)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    store = s3_server.store(bucket)
    current = read_current(store, PLACE)
    assert [(file.version, file.yanked) for file in current.snapshot.files] == [
        ("1.0", "broken"),
        ("2.0", None),
        ("3.0+rocm7.1", None),
        ("4.0", None),
    ]
    report = verify_index(store, PLACE, jobs=4, progress=lambda *_words: None)
    assert (report.findings, report.files, report.history) == ((), 4, 5)
    oldest = list(walk_history(store, PLACE, current))[-1]
    require_files(store, PLACE, oldest.snapshot.files, name=oldest.digest)
    change = Change(action="rollback", time=TIME, what=(oldest.digest,))
    move_index(
        store,
        PLACE,
        make=lambda there: rolled_back(there.snapshot, oldest.snapshot, time=TIME),
        change=change,
        say=lambda _line: None,
    )
    report = verify_index(store, PLACE, jobs=4, progress=lambda *_words: None)
    assert (report.findings, report.files, report.history) == ((), 1, 6)
