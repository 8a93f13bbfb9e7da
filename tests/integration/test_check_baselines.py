"""What a check compares with when nobody names it: the last promoted wheel of the line, in the work dir's own store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.checks.baseline import member_sizes
from build_tools.config.channels import load_channels
from build_tools.pipeline.baselines import promoted_before, promoted_sizes
from build_tools.publish.upload import publish_wheels
from tests.support.publishing import write_wheel
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace


def _promoted(tmp_path: Path, *versions: str) -> Workplace:
    place = workplace(tmp_path)
    prefix = load_channels().find_channel(place.settings.channel).prefix
    wheels = [write_wheel(tmp_path / "made", version=version) for version in versions]
    publish_wheels(wheels, store=place.open_store(writing=True), prefix=prefix, replace=False, say=lambda _line: None)
    return place


def _name(version: str) -> str:
    return f"demo-{version}-py3-none-any.whl"


def test_the_last_promoted_wheel_of_the_line_is_compared_with(tmp_path: Path) -> None:
    place = _promoted(tmp_path, "1.0.0", "1.0.1", "1.0.3", "1.1.0")
    chosen = promoted_before(_name("1.0.2"), place)
    assert chosen is not None
    assert chosen.version == "1.0.1"
    assert promoted_sizes(chosen, place) == member_sizes(tmp_path / "made" / _name("1.0.1"))


def test_a_wheel_is_not_compared_with_itself(tmp_path: Path) -> None:
    place = _promoted(tmp_path, "1.0.0", "1.0.1")
    earlier = promoted_before(_name("1.0.1"), place)
    assert earlier is not None
    assert earlier.version == "1.0.0"
    assert promoted_before(_name("1.0.0"), place) is None


def test_without_a_store_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    place = workplace(tmp_path)
    assert promoted_before(_name("1.0.0"), place) is None
    assert not (place.work_dir / "store").exists()
