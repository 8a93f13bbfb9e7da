"""``nox -s notify``: messages reach servers, recovery is told once, and addresses are never shown."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from build_tools.ci.notify import notify
from build_tools.commands import Call, execute
from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS
from tests.support.github_api import GitHubDouble, github_api, run_row
from tests.support.mail_server import mail_server
from tests.support.serving import answering_by
from tests.support.workplaces import CLONE, memory_of, workplace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from build_tools.workplace import Workplace

COMMIT = "0" * 39 + "1"
GOOD = json.dumps({"build": {"result": "success", "outputs": {}}, "later": {"result": "skipped", "outputs": {}}})
BAD = json.dumps({"build-pytorch-nightly": {"result": "failure", "outputs": {}}})
CUT = json.dumps({"build": {"result": "cancelled", "outputs": {}}})
MACHINE = {
    "GITHUB_WORKFLOW": "TheRock nightly",
    "GITHUB_WORKFLOW_REF": "ROCm/TheRock/.github/workflows/therock-nightly.yml@refs/heads/main",
    "GITHUB_REPOSITORY": "ROCm/TheRock",
    "GITHUB_RUN_ID": "50",
    "GITHUB_REF_NAME": "main",
    "GITHUB_SHA": COMMIT,
    "GITHUB_EVENT_NAME": "schedule",
}


@contextlib.contextmanager
def chat() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve something that takes JSON; give its address as apprise writes it, and what it got."""
    got: list[dict[str, Any]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Keep quiet."""

        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with answering_by(Handler) as url:
        yield f"json://{url.removeprefix('http://')}/room", got


def place(folder: Path, machine: dict[str, str] | None = None, **settings: object) -> Workplace:
    return replace(workplace(folder, **settings), machine=MACHINE if machine is None else machine)


def test_a_failure_reaches_chat_and_mail_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(BAD)
    with chat() as (url, got), mail_server() as (port, mails):
        mail = f"mailto://127.0.0.1:{port}?from=ci@hipwright.example&to=all@hipwright.example&mode=insecure"
        document = notify(place(tmp_path, results="@results.json", notify_urls=f"{url}\n{mail}"))["notify"]
    assert (document["sent"], document["failed"]) == (True, ["build-pytorch-nightly"])
    (message,) = got
    assert (message["title"], message["type"]) == ("TheRock nightly failed on main", "failure")
    assert "https://github.com/ROCm/TheRock/actions/runs/50" in message["message"]
    assert "python3 noxw.py -s docker_run -- build_pytorch" in message["message"]
    (sent,) = mails
    assert sent["Subject"] == "TheRock nightly failed on main"
    assert sent["To"] == "all@hipwright.example"
    body = sent.get_body(("plain", "html"))
    assert body is not None
    assert "-s docker_run -- build_pytorch" in body.get_content().replace("&nbsp;", " ")


def test_without_addresses_nobody_is_told_and_nothing_is_wrong(tmp_path: Path) -> None:
    where = place(tmp_path, results=BAD)
    document = notify(where)["notify"]
    assert document["sent"] is False
    assert document["message"]["title"] == "TheRock nightly failed on main"
    assert "nobody is told: --notify-urls names no address" in memory_of(where).said


@pytest.mark.parametrize(
    ("rows", "more", "told"),
    [
        ([run_row(40, COMMIT, conclusion="failure")], {}, "is well again"),
        ([run_row(40, COMMIT, conclusion="timed_out"), run_row(45, COMMIT, conclusion="cancelled")], {}, "is well again"),
        ([run_row(40, COMMIT, conclusion="failure"), run_row(45, COMMIT)], {}, None),
        ([run_row(40, COMMIT, conclusion="failure", status="in_progress")], {}, None),
        ([run_row(40, COMMIT, conclusion="failure", head_repository=None)], {}, None),
        ([run_row(60, COMMIT, conclusion="failure")], {}, None),
        ([], {}, None),
        ([run_row(40, COMMIT)], {"GITHUB_RUN_ATTEMPT": "2"}, "is well again"),
    ],
)
def test_recovery_is_told_when_the_run_before_failed(
    tmp_path: Path, rows: list[dict[str, Any]], more: dict[str, str], told: str | None
) -> None:
    double = GitHubDouble(
        runs={"therock-nightly.yml": [*rows, run_row(50, COMMIT, status="in_progress", conclusion=None)]},
    )
    double.attempts = {("50", "1"): run_row(50, COMMIT, conclusion="failure")}
    with chat() as (url, got), github_api(double):
        machine = {**os.environ, **MACHINE, **more, "GITHUB_API_URL": double.url, "GITHUB_TOKEN": "not-a-real-one"}
        document = notify(place(tmp_path, machine, results=GOOD, notify_urls=url))["notify"]
    assert document["sent"] is (told is not None)
    assert [message["title"] for message in got] == ([f"TheRock nightly {told} on main"] if told else [])
    assert double.shown[0] == "Bearer not-a-real-one"


def test_a_run_whose_place_a_newer_one_took_is_not_told_of(tmp_path: Path) -> None:
    double = GitHubDouble(runs={"therock-nightly.yml": [run_row(60, COMMIT, status="queued")]})
    with chat() as (url, got), github_api(double):
        machine = {**os.environ, **MACHINE, "GITHUB_API_URL": double.url}
        assert notify(place(tmp_path, machine, results=CUT, notify_urls=url))["notify"]["sent"] is False
        double.runs["therock-nightly.yml"] = []
        assert notify(place(tmp_path, machine, results=CUT, notify_urls=url))["notify"]["sent"] is True
    assert [message["title"] for message in got] == ["TheRock nightly was cut short on main"]


def test_an_unreachable_github_is_no_failure_of_a_run_that_is_well(tmp_path: Path) -> None:
    machine = {**os.environ, **MACHINE, "GITHUB_API_URL": "http://127.0.0.1:9"}
    with chat() as (url, got):
        where = place(tmp_path, machine, results=GOOD, notify_urls=url)
        assert notify(where)["notify"]["previous"] is None
        assert got == []
        assert any("how the run before ended is not known" in text for text in memory_of(where).said)
        assert notify(place(tmp_path, machine, results=GOOD, notify_urls=url, previous="failure"))["notify"]["sent"] is True
        assert notify(place(tmp_path, machine, results=GOOD, notify_urls=url, previous="success"))["notify"]["sent"] is False
        assert notify(place(tmp_path, machine, results=BAD, notify_urls=url, dry_run=True))["notify"]["sent"] is False
    assert [message["type"] for message in got] == ["success"]


def test_the_others_are_told_before_a_wrong_address_is_refused(tmp_path: Path) -> None:
    with chat() as (url, got), pytest.raises(HipwrightError, match=r"address 1 \(slack\), address 3 \(no scheme\)") as caught:
        notify(place(tmp_path, results=BAD, notify_urls=f"slack://OnlyOneToken {url} nonsense"))
    assert caught.value.code.name == "bad-option-value"
    assert len(got) == 1


def test_what_stands_in_the_place_of_a_scheme_is_not_shown(tmp_path: Path) -> None:
    wrong = "hush/word,slack://a/b/c me:hush@host://x hushtoken://x hush Slack://hush"
    with pytest.raises(HipwrightError) as caught:
        notify(place(tmp_path, results=BAD, notify_urls=wrong))
    assert "address 1 (unknown scheme), address 2 (unknown scheme), address 3 (unknown scheme), address 4 (no scheme)" in str(
        caught.value
    )
    assert "address 5 (Slack)" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_addresses_are_never_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secrets = ("TokenThatIsSecret", "hush-hush-word")
    urls = "slack://TokenThatIsSecret json://me:hush-hush-word@127.0.0.1:9/TokenThatIsSecret"
    for typed, more in (
        ([], {"HIPWRIGHT_NOTIFY_URLS": urls}),
        (["--notify-urls", urls], {}),
        ([f"--notify-urls={urls}", "--json"], {}),
    ):
        call = Call(
            command=COMMANDS["notify"],
            clone=CLONE,
            typed_in=tmp_path,
            machine={**os.environ, **MACHINE, **more},
            arguments=["--results", BAD, "--work-dir", str(tmp_path / "work"), *typed],
        )
        ending = execute(call)
        said = capsys.readouterr()
        assert (ending.words, "error[not-told]: 1 of 1 were not told: address 2 (json)" in said.err) == ("error[not-told]", True)
        assert not any(secret in said.err + said.out for secret in secrets)


@pytest.mark.parametrize("results", [None, "@none.json", "{}"])
def test_results_are_needed(tmp_path: Path, results: str | None) -> None:
    with pytest.raises(HipwrightError, match="--results") as caught:
        notify(place(tmp_path, results=results))
    assert caught.value.code.name == "bad-option-value"
