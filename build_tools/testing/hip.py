"""Whether HIP can be used in an environment, and the GPU targets of a project found its own way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from build_tools import files
from build_tools.errors import HipwrightError, Where
from build_tools.logs import how_it_ended
from build_tools.testing import hip_probe
from build_tools.testing.proof import ISOLATED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from build_tools.process import Runner

__all__ = ["HipAnswer", "HipDevice", "Prober", "why_unavailable"]

_SECONDS: Final = 300.0
A = TypeVar("A")


class HipDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device: its name, its architecture where torch says one, and its memory in MiB."""

    name: str
    target: str | None = None
    memory_mb: float


class HipAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What torch says: its version, the HIP or CUDA that it was built for, the HIP runtime that it loaded, whether it has devices."""

    torch: str | None = None
    hip: str | None = None
    cuda: str | None = None
    runtime: str | None = None
    available: bool = False
    devices: tuple[HipDevice, ...] = ()
    error: str | None = None


class _Targets(msgspec.Struct, frozen=True, kw_only=True):
    targets: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Prober:
    """Asks an environment's interpreter, each time in a process of its own, with ``variables`` added to the runner's environment."""

    python: Path
    variables: Mapping[str, str]
    folder: Path
    log: Path
    runner: Runner

    def ask_torch(self) -> HipAnswer:
        """Return what torch says; one that ends the process that imports it says that."""
        answer = self._ask(["torch"], HipAnswer, what="the import of torch", cwd=self.folder)
        return HipAnswer(error=answer) if isinstance(answer, str) else answer

    def ask_targets(self, tree: Path, function: str, constants: Mapping[str, str], *, hint: str) -> tuple[str, ...]:
        """Return the GPU targets that a project's own function finds.

        Parameters
        ----------
        tree
            The project's tree, in which the function runs.
        function
            Module and function, such as ``setup.detect_hip_arches``.
        constants
            What the project's recipe sets in its builds: such a function reads the environment too.
        hint
            How targets are named where it finds none.

        Raises
        ------
        HipwrightError
            ``no-gpu-targets`` when it cannot be called, and when it finds none.
        """
        module, _, name = function.partition(".")
        where = Where(file=tree / f"{module}.py", key="extension.detect-targets")
        answer = self._ask([str(tree), module, name], _Targets, what=function, cwd=tree, env=constants)
        problem = answer if isinstance(answer, str) else answer.error
        if problem is not None:
            message = f"{function} of {tree} found no GPU targets: {problem}"
            raise HipwrightError("no-gpu-targets", message, where=where, hint=hint, log=self.log)
        if isinstance(answer, str) or not answer.targets:
            message = f"{function} of {tree} found no GPU targets: it returned an empty list"
            raise HipwrightError("no-gpu-targets", message, where=where, hint=hint, log=self.log)
        return answer.targets

    def _ask(
        self, words: Sequence[str], model: type[A], *, what: str, cwd: Path, env: Mapping[str, str] = MappingProxyType({})
    ) -> A | str:
        """Return the answer, or how the process ended that gave none."""
        with files.temporary_folder(self.folder, "probe") as scratch:
            file = scratch / "answer.json"
            first, rest = ("torch", []) if words[0] == "torch" else ("targets", list(words))
            try:
                done = self.runner.run(
                    [self.python, *ISOLATED, Path(hip_probe.__file__), first, file, *rest],
                    cwd=cwd,
                    log=self.log,
                    env={**env, **self.variables},
                    timeout=_SECONDS,
                    check=False,
                    what=what,
                    alone=True,
                )
            except HipwrightError as error:
                if error.code.name != "command-timeout":
                    raise
                return error.message
            try:
                return msgspec.json.decode(file.read_bytes(), type=model)
            except (OSError, msgspec.DecodeError):
                return how_it_ended(what, done.returncode)[0]


def why_unavailable(answer: HipAnswer, *, driver: bool) -> tuple[str, str]:
    """Return why no device can be used, and what helps.

    Parameters
    ----------
    answer
        What torch said.
    driver
        Whether the driver lists a usable GPU.
    """
    if answer.torch is None:
        return (
            f"torch cannot be imported: {answer.error}",
            "install one for ROCm: nox -s setup_venv -- DIR --packages torch --index-url URL",
        )
    if answer.hip is None:
        other = f"CUDA {answer.cuda}" if answer.cuda else "processors alone"
        fix = "install one for ROCm: nox -s setup_venv -- DIR --packages torch --index-url URL"
        return f"torch {answer.torch} is built for {other}, not for HIP", fix
    if answer.error is not None:
        return (
            f"torch {answer.torch} cannot use its devices: {answer.error}",
            "nox -s doctor -- --role test says what the machine lacks",
        )
    if not driver:
        fix = "nox -s doctor -- --role test says what the machine lacks: driver, device files, groups"
        return f"torch {answer.torch} sees no device, and the driver lists none that this user may open", fix
    fix = "look at HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and whether this torch has code for the GPU"
    return f"torch {answer.torch} for HIP {answer.hip} sees no device, though the driver lists some", fix
