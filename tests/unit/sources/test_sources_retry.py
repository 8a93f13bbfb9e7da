from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.errors import HipwrightError
from build_tools.process import Completed
from build_tools.sources.retry import ATTEMPTS, retried, transient

URL = "https://host.example/owner/lib.git/"

PASSES = [
    f"fatal: unable to access '{URL}': Could not resolve host: host.example",
    f"fatal: unable to access '{URL}': Could not resolve proxy: proxy.example",
    f"fatal: unable to access '{URL}': Failed to connect to host.example port 443: Connection refused",
    f"fatal: unable to access '{URL}': Failed to connect to host.example port 443 after 129430 ms: Couldn't connect to server",
    f"fatal: unable to access '{URL}': Recv failure: Connection reset by peer",
    f"fatal: unable to access '{URL}': Operation timed out after 300028 milliseconds with 0 out of 0 bytes received",
    f"fatal: unable to access '{URL}': Operation too slow. Less than 1000 bytes/sec transferred the last 120 seconds",
    f"fatal: unable to access '{URL}': Empty reply from server",
    f"fatal: unable to access '{URL}': GnuTLS recv error (-110): The TLS connection was non-properly terminated.",
    f"fatal: unable to access '{URL}': gnutls_handshake() failed: Error in the pull function.",
    f"fatal: unable to access '{URL}': OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to host.example:443 ",
    f"fatal: unable to access '{URL}': OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0",
    f"fatal: unable to access '{URL}': Received HTTP code 503 from proxy after CONNECT",
    *(
        f"fatal: unable to access '{URL}': The requested URL returned error: {status}"
        for status in (408, 429, 500, 502, 503, 504, 522)
    ),
    "error: RPC failed; HTTP 429 curl 22 The requested URL returned error: 429\nfatal: expected 'packfile'",
    "error: RPC failed; curl 18 transfer closed with 196 bytes remaining to read\nfatal: protocol error: bad pack header",
    "error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly: CANCEL (err 8)\nfatal: expected flush after ref listing",
    "error: RPC failed; curl 56 GnuTLS recv error (-54): Error in the pull function.\nfetch-pack: unexpected disconnect while reading",
    "fatal: the remote end hung up unexpectedly\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output",
    "ssh: connect to host host.example port 22: Connection timed out\nfatal: Could not read from remote repository.",
    "ssh: Could not resolve hostname host.example: Temporary failure in name resolution\nfatal: Could not read from remote repository.",
    "kex_exchange_identification: Connection closed by remote host\nfatal: Could not read from remote repository.",
    "Connection to host.example closed by remote host.\nfatal: the remote end hung up unexpectedly",
    "fatal: unable to connect to host.example:\nhost.example[0: 192.0.2.1]: errno=Connection refused",
]

STAYS = [
    f"fatal: repository '{URL}' not found",
    "remote: Repository not found.\nfatal: repository 'https://host.example/owner/lib.git/' not found",
    "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
    "fatal: '/srv/lib.git' does not appear to be a git repository\nfatal: Could not read from remote repository.",
    *(
        f"fatal: unable to access '{URL}': The requested URL returned error: {status}"
        for status in (301, 400, 401, 403, 404, 410, 501)
    ),
    "error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403\nfatal: the remote end hung up unexpectedly",
    "fatal: could not read Username for 'https://host.example': terminal prompts disabled\nfatal: the remote end hung up unexpectedly",
    f"remote: HTTP Basic: Access denied\nfatal: Authentication failed for '{URL}'",
    "git@host.example: Permission denied (publickey).\nfatal: Could not read from remote repository.",
    "Host key verification failed.\nfatal: Could not read from remote repository.",
    "fatal: remote error: upload-pack: not our ref 1111111111111111111111111111111111111111\nfatal: the remote end hung up unexpectedly",
    "fatal: couldn't find remote ref refs/heads/relase",
    "error: Server does not allow request for unadvertised object 1111111111111111111111111111111111111111",
    f"fatal: unable to access '{URL}': SSL certificate problem: unable to get local issuer certificate",
    f"fatal: unable to access '{URL}': server certificate verification failed. CAfile: none CRLfile: none",
    f"fatal: unable to access '{URL}': SSL: no alternative certificate subject name matches target host name 'host.example'",
    "fatal: transport 'ext' not allowed",
    "fatal: unable to find remote helper for 'htps'",
    "git: 'remote-foo' is not a git command. See 'git --help'.",
    "fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output",
    "fatal: dumb http transport does not support shallow capabilities",
    "fatal: something that nobody has ever seen",
    "",
]


@pytest.mark.parametrize("said", PASSES)
def test_what_a_network_does_now_and_then_can_pass(said: str) -> None:
    assert transient(said) in said.splitlines() or transient(said) == said.strip()


@pytest.mark.parametrize("said", STAYS)
def test_what_stays_as_it_is_cannot_pass(said: str) -> None:
    assert transient(said) is None


NEVER = [said for said in STAYS if said and "nobody has ever seen" not in said]


@given(st.sampled_from(PASSES), st.sampled_from(NEVER), st.booleans())
def test_what_stays_as_it_is_counts_before_what_can_pass(passes: str, stays: str, first: bool) -> None:  # noqa: FBT001
    assert transient(f"{passes}\n{stays}" if first else f"{stays}\n{passes}") is None


class Origin:
    """Fails with these words one after the other, and then works."""

    def __init__(self, *failures: str, returncode: int = 128) -> None:
        self.failures = list(failures)
        self.returncode = returncode
        self.calls = 0
        self.pauses: list[float] = []
        self.said: list[str] = []

    def call(self) -> Completed:
        self.calls += 1
        said = self.failures.pop(0) if self.failures else None
        returncode = 0 if said is None else self.returncode
        return Completed(argv=("git",), cwd=Path(), returncode=returncode, seconds=0.0, stderr=(said or "").encode())

    def ask(self) -> Completed:
        return retried(self.call, url="https://me:secret@host.example/lib", pause=self.pauses.append, say=self.said.append)


def test_a_hiccup_is_tried_again_after_a_pause_and_told_with_number_and_reason() -> None:
    origin = Origin(PASSES[0], PASSES[4])
    assert origin.ask().returncode == 0
    assert origin.calls == 3
    assert [
        f"attempt {number} of 4 to reach https://host.example/lib failed" in origin.said[number - 1] for number in (1, 2)
    ] == [True, True]
    assert "Could not resolve host" in origin.said[0]
    assert "Connection reset by peer" in origin.said[1]
    assert "secret" not in "".join(origin.said)


def test_pauses_grow_and_are_not_all_the_same() -> None:
    pauses = []
    for _ in range(20):
        origin = Origin(*PASSES[:3])
        origin.ask()
        pauses.append(origin.pauses)
    for number, least in enumerate((0.5, 1.0, 2.0)):
        assert all(least <= one[number] <= 1.5 * least for one in pauses)
        assert len({one[number] for one in pauses}) > 1


def test_the_last_attempt_tells_how_many_there_were() -> None:
    origin = Origin(*PASSES[:10])
    with pytest.raises(HipwrightError, match=r"https://host\.example/lib cannot be read: 4 attempts failed") as caught:
        origin.ask()
    assert caught.value.code.name == "origin-unreachable"
    assert caught.value.excerpt == PASSES[3]
    assert (origin.calls, len(origin.pauses)) == (ATTEMPTS, ATTEMPTS - 1)


@pytest.mark.parametrize("said", STAYS)
def test_what_stays_as_it_is_is_asked_once(said: str) -> None:
    origin = Origin(said, said)
    assert origin.ask().returncode == 128
    assert (origin.calls, origin.pauses, origin.said) == (1, [], [])


def test_a_git_that_was_ended_by_a_signal_is_not_started_again() -> None:
    origin = Origin("fatal: early EOF", "fatal: early EOF", returncode=-15)
    assert origin.ask().returncode == -15
    assert origin.calls == 1
