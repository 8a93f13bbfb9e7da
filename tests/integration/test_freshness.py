"""``freshness`` on an index in a folder: the table, the document and the end of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.errors import HipwrightError
from build_tools.pipeline.freshness import freshness
from build_tools.publish.upload import publish_wheels
from build_tools.stores.local import FolderStore
from tests.support.publishing import write_wheel
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

TIME = "2026-03-01T00:00:00Z"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    for channel in ("nightly", "rehearsal"):
        wheels = [write_wheel(tmp_path / "built", project, "1.0") for project in ("torch", "torchvision", "torchaudio", "triton")]
        publish_wheels(
            wheels,
            store=FolderStore(tmp_path / "store"),
            prefix=f"channels/{channel}",
            replace=False,
            say=lambda _line: None,
            clock=lambda: TIME,
        )
    return tmp_path / "store"


def test_the_command_passes_while_promises_are_kept_and_fails_when_they_are_not(store: Path) -> None:
    place = workplace(store.parent, store=str(store), channel="nightly")
    report = freshness(place, clock=lambda: "2026-03-02T00:00:00Z")["freshness"]
    assert {row["state"] for row in report["rows"]} == {"fresh"}
    assert {(row["platform"], row["python"]) for row in report["rows"]} >= {("linux", "3.12"), ("windows", "3.12")}
    with pytest.raises(HipwrightError) as caught:
        freshness(place, clock=lambda: "2026-03-09T00:00:00Z")
    assert caught.value.code.name == "index-late"
    assert caught.value.document is not None
    (first, *_) = caught.value.document["freshness"]["rows"]  # type: ignore[index]
    assert (first["project"], first["state"], first["hours"], first["late_after_hours"]) == ("torch", "late", 192.0, 36)


def test_a_channel_without_promises_must_hold_a_file(store: Path) -> None:
    place = workplace(store.parent, store=str(store), channel="rehearsal")
    assert freshness(place)["freshness"]["files"] == 4
    with pytest.raises(HipwrightError) as caught:
        freshness(workplace(store.parent, store=str(store), channel="dev"))
    assert caught.value.code.name == "nothing-published"
