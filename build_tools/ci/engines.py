"""Programs that make and run containers, and how each is told to: docker, podman, buildah."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from build_tools.errors import HipwrightError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.process import Runner

__all__ = ["ENGINES", "ENGINE_NAMES", "Engine", "find_engine"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """One program: its name, what asks whether it works (a client may have no server), and whether it runs commands in images."""

    name: str
    probe: tuple[str, ...]
    runs: bool = True

    def build(self, *, dockerfile: Path, context: Path, arguments: Mapping[str, str], names: Sequence[str]) -> list[str]:
        """Return the command that builds an image under its names (``name:tag``); ``arguments`` are build arguments."""
        command = [self.name, "build", "--file", str(dockerfile)]
        for key, value in arguments.items():
            command += ["--build-arg", f"{key}={value}"]
        for name in names:
            command += ["--tag", name]
        return [*command, str(context)]

    def save(self, *, names: Sequence[str], file: Path) -> list[str]:
        """Return the command that writes an image and its names into a file of docker's form, which each engine loads."""
        if self.name == "buildah":
            # It writes one name; docker and podman load the image under that.
            return [self.name, "push", names[0], f"docker-archive:{file}:{names[0]}"]
        form = ["--format", "docker-archive", "--multi-image-archive"] if self.name == "podman" else []
        return [self.name, "save", *form, "--output", str(file), *names]

    def push(self, name: str) -> list[str]:
        """Return the command that sends an image to the registry that its name has."""
        return [self.name, "push", name, f"docker://{name}"] if self.name == "buildah" else [self.name, "push", name]

    def pull(self, name: str) -> list[str]:
        """Return the command that takes an image from the registry that its name has."""
        return [self.name, "pull", name]

    def tag(self, name: str, other: str) -> list[str]:
        """Return the command that gives an image that is here another name."""
        return [self.name, "tag", name, other]

    def load(self, file: Path) -> list[str]:
        """Return the command that takes an image out of a file."""
        if self.name == "buildah":
            return [self.name, "pull", f"docker-archive:{file}"]
        return [self.name, "load", "--input", str(file)]

    def run(
        self,
        image: str,
        command: Sequence[str],
        *,
        cwd: Path,
        shared: Sequence[Path],
        own: Sequence[Path] = (),
        variables: Sequence[str],
        devices: Sequence[str] = (),
        groups: Sequence[str] = (),
    ) -> list[str]:
        """Return the command that runs a program in a fresh container, which is removed afterwards.

        Parameters
        ----------
        image
            The image.
        command
            The program and its arguments.
        cwd
            The folder that it runs in; in one of ``shared``.
        shared
            Folders of this machine that it sees, under their own paths.
        own
            Folders in those of which the container has its own, empty ones, gone when it ends.
        variables
            Names of variables that it gets from the environment of the engine: values on a command line can be read by everybody.
        devices, groups
            Device files that it may use, and groups that it is in, as GPUs need them.
        """
        words = [self.name, "run", "--rm", "--init", "--workdir", str(cwd)]
        for folder in shared:
            words += ["--volume", f"{folder}:{folder}"]
        for folder in own:
            words += ["--volume", str(folder)]
        for name in variables:
            words += ["--env", name]
        for device in devices:
            words += ["--device", device]
        for group in groups:
            words += ["--group-add", group]
        return [*words, image, *command]


ENGINES: Final[Mapping[str, Engine]] = {
    engine.name: engine
    for engine in (
        Engine(name="docker", probe=("docker", "version", "--format", "{{.Server.Version}}")),
        Engine(name="podman", probe=("podman", "info", "--format", "{{.Version.Version}}")),
        Engine(name="buildah", probe=("buildah", "info"), runs=False),
    )
}
"""In the order in which they are tried."""

ENGINE_NAMES: Final = frozenset(
    {
        "BUILDAH_FORMAT", "BUILDAH_ISOLATION", "BUILDKIT_PROGRESS", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINER_HOST",
        "DOCKER_BUILDKIT", "DOCKER_CERT_PATH", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "DOCKER_TLS_VERIFY",
        "REGISTRY_AUTH_FILE", "STORAGE_DRIVER", "XDG_RUNTIME_DIR",
    }
)  # fmt: skip
"""Names of the machine's environment that say where an engine and its credentials are."""

_PROBE_SECONDS: Final = 30


def find_engine(wanted: str | None, *, runner: Runner, env: Mapping[str, str], cwd: Path, running: bool = False) -> Engine:
    """Return the engine that is wanted, or the first one that works here.

    Parameters
    ----------
    wanted
        Its name; None for any.
    runner, env, cwd
        What asks the engines, what they get of the machine's environment, and from where.
    running
        Whether it has to run commands, not only make images.

    Raises
    ------
    HipwrightError
        ``no-engine`` that says of each what is wrong with it.
    """
    faults = []
    for engine in [ENGINES[wanted]] if wanted else ENGINES.values():
        if running and not engine.runs:
            faults.append(f"{engine.name} makes images and does not run them here")
            continue
        try:
            runner.capture(engine.probe, cwd=cwd, env=env, timeout=_PROBE_SECONDS, what=engine.name)
        except HipwrightError as error:
            faults.append(f"{engine.name}: {error.message}")
            continue
        return engine
    message = f"nothing that {'runs' if running else 'makes'} containers works here: {'; '.join(faults)}"
    raise HipwrightError("no-engine", message, hint="install docker or podman, and see that `docker version` shows a server")
