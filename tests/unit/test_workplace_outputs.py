"""Which store and which folder in it a run's outputs are in: as the options say, or as AMD's CI has it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.errors import HipwrightError
from build_tools.options.resolve import Resolved
from build_tools.types import Platform
from tests.support.workplaces import workplace

if TYPE_CHECKING:
    from pathlib import Path

    from build_tools.workplace import Workplace

OWNER = "ROCm/TheRock"
CI, EXTERNAL = "s3://therock-ci-artifacts", "s3://therock-ci-artifacts-external"


def place_with(folder: Path, *, said_by_ci: bool = False, machine: dict[str, str] | None = None, **settings: Any) -> Workplace:  # noqa: ANN401 - of any option
    place = workplace(folder, **settings)
    origins = {"repository": f"environment {'GITHUB' if said_by_ci else 'HIPWRIGHT'}_REPOSITORY"}
    return replace(place, resolved=Resolved(settings=place.settings, origins=origins), machine=machine or {})


def event(folder: Path, payload: object) -> dict[str, str]:
    file = folder / "event.json"
    file.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return {"GITHUB_EVENT_PATH": str(file), "GITHUB_RUN_ID": "123"}


def pull(head: str | None, base: str = OWNER) -> dict[str, Any]:
    return {"pull_request": {"head": {"repo": head and {"full_name": head}}, "base": {"repo": {"full_name": base}}}}


@pytest.mark.parametrize(
    ("settings", "address", "prefix"),
    [
        ({}, None, "123-linux"),
        ({"platform": "windows"}, None, "123-windows"),
        ({"release_type": "nightly"}, None, "123-linux"),
        ({"repository": OWNER}, CI, "123-linux"),
        ({"repository": OWNER, "platform": "windows"}, CI, "123-windows"),
        ({"repository": "ROCm/rocm-libraries"}, EXTERNAL, "ROCm-rocm-libraries/123-linux"),
        ({"repository": OWNER, "release_type": "nightly"}, "s3://therock-nightly-artifacts", "123-linux"),
        ({"repository": "me/fork", "release_type": "prerelease"}, "s3://therock-prerelease-artifacts", "123-linux"),
        ({"bucket": "therock-artifacts-testing"}, "s3://therock-artifacts-testing", "123-linux"),
        ({"bucket": "therock-artifacts-testing", "repository": "me/fork"}, "s3://therock-artifacts-testing", "123-linux"),
        ({"bucket": EXTERNAL.removeprefix("s3://"), "repository": "me/fork"}, EXTERNAL, "me-fork/123-linux"),
        ({"store": f"{EXTERNAL}/", "repository": "me/fork"}, f"{EXTERNAL}/", "me-fork/123-linux"),
        ({"store": "s3://mine/x", "repository": OWNER, "release_type": "dev"}, "s3://mine/x", "123-linux"),
    ],
)
def test_options_choose_the_store_and_the_folder_of_a_run(
    tmp_path: Path, settings: dict[str, Any], address: str | None, prefix: str
) -> None:
    place = replace(place_with(tmp_path, **settings), platform=Platform.LINUX)
    found, run = place.layout("123")
    assert found == (address or str(place.work_dir / "store"))
    assert run.prefix == prefix
    if address is not None:
        opened = place.outputs("123", writing=False)
        assert (opened.store.address, opened.run) == (address.rstrip("/"), run)


def test_in_a_shared_bucket_a_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(HipwrightError) as caught:
        place_with(tmp_path, bucket=EXTERNAL.removeprefix("s3://")).layout("123")
    assert caught.value.code.name == "bad-option-value"
    assert "--repository" in (caught.value.hint or "")


def test_what_ci_says_of_a_repository_alone_sends_nothing_anywhere(tmp_path: Path) -> None:
    alone = place_with(tmp_path, said_by_ci=True, repository=OWNER)
    assert alone.layout("1")[0] == str(alone.work_dir / "store")
    assert place_with(tmp_path, said_by_ci=True, repository=OWNER, release_type="ci").layout("1")[0] == CI
    assert alone.layout("1", repository=OWNER)[0] == CI


@pytest.mark.parametrize(
    ("payload", "fork"),
    [
        (pull("somebody/TheRock"), True),
        (pull(None), True),
        (pull(OWNER), False),
        ({"ref": "refs/heads/main"}, False),
        ({"pull_request": []}, False),
        ("not JSON", False),
        ("[]", False),
    ],
)
def test_a_pull_request_from_a_fork_is_known_by_cis_own_data(tmp_path: Path, payload: object, *, fork: bool) -> None:
    place = replace(place_with(tmp_path, repository=OWNER, machine=event(tmp_path, payload)), platform=Platform.LINUX)
    address, run = place.layout("123")
    assert (address, run.prefix) == ((EXTERNAL, "ROCm-TheRock/123-linux") if fork else (CI, "123-linux"))
    # It speaks of no other run, and whoever knows better is believed.
    assert place.layout("124")[0] == CI
    assert place.layout("123", fork=not fork)[0] == (CI if fork else EXTERNAL)


@pytest.mark.parametrize("text", ["../x", "a", "a/b/c", "a/b?x"])
def test_a_repository_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        place_with(tmp_path, repository=text).layout("1")
    assert caught.value.code.name == "bad-option-value"


def test_nothing_is_written_to_a_bucket_without_credentials(tmp_path: Path) -> None:
    place = place_with(tmp_path, repository=OWNER)
    with pytest.raises(HipwrightError) as caught:
        place.outputs("1", writing=True)
    assert caught.value.code.name == "no-credentials"


def test_the_default_store_is_made_when_it_is_written_and_only_then(tmp_path: Path) -> None:
    place = place_with(tmp_path)
    with pytest.raises(HipwrightError):
        place.outputs("1", writing=False)
    assert not place.work_dir.exists()
    assert place.outputs("1", writing=True).store.address == str(place.work_dir / "store")


def test_a_bucket_is_told_from_one_of_the_same_name_on_another_server(tmp_path: Path) -> None:
    amazon = place_with(tmp_path, bucket="one")
    mine = place_with(tmp_path, bucket="one", endpoint_url="http://me:secret@127.0.0.1:9")
    by_name = place_with(tmp_path, bucket="one", machine={"AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
    assert amazon.store_identity(amazon.store_address) == "s3://one"
    assert mine.store_identity(mine.store_address) == "s3://one at http://127.0.0.1:9"
    assert by_name.store_identity(by_name.store_address) == "s3://one at http://127.0.0.1:9"
    assert mine.store_identity("/a/folder") == "/a/folder"
