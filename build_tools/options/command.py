"""What a command is: the front that runs it, and the options that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from build_tools.options.model import OPTIONS
from build_tools.value import Value

if TYPE_CHECKING:
    from build_tools.options.option import Option
    from build_tools.types import Stage

__all__ = ["COMMON", "KEPT", "OUTPUTS", "ROCM_FROM", "STORE", "TESTED", "WAIT", "Command"]

COMMON: Final = ("work-dir", "cache-dir", "json", "traceback", "wait")
"""The names of options that nearly every command takes."""

STORE: Final = ("store", "bucket", "endpoint-url")
"""Which store."""

OUTPUTS: Final = (*STORE, "repository", "platform", "release-type")
"""Where the outputs of a run are."""

KEPT: Final = (*STORE, "repository", "platform", "run-id", "artifact-group")
"""Which index is meant, of a run or a store."""

TESTED: Final = ("gpu-policy", "reruns")
"""On which GPUs tests run, and how often those that fail are tried again."""

WAIT: Final = ("timeout", "wait-between")
"""How long to wait for packages that are still appearing."""

ROCM_FROM: Final = ("rocm-find-links", "rocm-index-url", "rocm-run-id", "rocm-path", "rocm-version")
"""Where ROCm's packages come from."""


class Command(Value, frozen=True, kw_only=True):
    """One command: the front that runs it, what it does, the names of the options it takes, and the stage it ends after.

    ``paths`` says what its plain arguments are, files and folders, when it takes any; ``words`` says it of other ones, ``word`` is
    what one of them is called in the help. ``form`` is the session of a command that projects have; one with a ``table`` is there for
    those projects alone whose recipe has that table. Of a ``kept`` one the work dir has what it said, in ``logs/<name>.log``: the log of
    what it does is nothing else.
    """

    name: str
    front: Literal["nox", "invoke"]
    summary: str
    option_names: tuple[str, ...]
    until: Stage | None = None
    paths: str | None = None
    words: str | None = None
    word: str = "NAME"
    form: str = "{name}_{project}"
    table: str | None = None
    pins: str | None = None
    kept: bool = False

    def session_of(self, project: str) -> str:
        """Return the session or task that this is for a project, whose name may have hyphens."""
        return self.form.format(name=self.name, project=project.replace("-", "_"))

    @property
    def plain(self) -> tuple[str, str] | None:
        """What its plain arguments are called in the help, and what they are; None when it takes none."""
        if self.paths is not None:
            return "PATH", self.paths
        return None if self.words is None else (self.word, self.words)

    @property
    def options(self) -> tuple[Option, ...]:
        """The options it takes, in the order of the model."""
        return tuple(option for name, option in OPTIONS.items() if name in self.option_names)
