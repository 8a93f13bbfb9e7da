"""What the commands that publish packages share: the store of a plan, and the lines that install what was published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from build_tools import digest
from build_tools.errors import HipwrightError
from build_tools.process import printable
from build_tools.publish.current import read_current
from build_tools.stores.local import FolderStore
from build_tools.stores.place import runs_for_fork
from build_tools.stores.run_outputs import IndexFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from build_tools.pipeline.chain import Chain
    from build_tools.receipts.snapshot import IndexedFile
    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import RunOutputs
    from build_tools.types import Platform
    from build_tools.workplace import Workplace

__all__ = [
    "group_of",
    "index_lines",
    "install_lines",
    "layout_to_publish",
    "missing_from",
    "publishes_nothing",
    "store_of_channels",
    "store_to_read",
    "warn_when_closed",
    "wheel_install_lines",
]


def publishes_nothing(workplace: Workplace) -> bool:
    """Return whether this command may publish nothing: the run in progress is of a pull request from a fork, and would be published."""
    machine = workplace.machine
    return workplace.settings.run_id == machine.get("GITHUB_RUN_ID") and runs_for_fork(machine)


def layout_to_publish(workplace: Workplace, *, platform: Platform | None = None) -> tuple[str, RunOutputs]:
    """Return the address of the store that this command publishes in, and the layout of its run there.

    What a pull request from a fork would publish lies in the work dir instead, from where its job hands it on.

    Raises
    ------
    HipwrightError
        As :meth:`build_tools.workplace.Workplace.outputs`.
    """
    address, run = workplace.layout(workplace.settings.run_id, platform=platform)
    return _held_back(workplace, address), run


def store_of_channels(workplace: Workplace) -> str:
    """Return the address of the store whose channels a chain promotes into; what publishes nothing promotes within the work dir too."""
    return _held_back(workplace, workplace.store_address)


def store_to_read(workplace: Workplace, address: str) -> Store:
    """Return a store for a plan, which makes nothing: a folder that is not there yet is an empty store.

    Raises
    ------
    HipwrightError
        As :func:`build_tools.stores.open.open_store`.
    """
    if "://" not in address and not Path(address).exists():
        return FolderStore(Path(address))
    return workplace.open_store(writing=False, address=address)


def group_of(chain: Chain) -> str:
    """Return the folder name of this set: as asked, else the family, else the targets, else a word for a build of none."""
    from build_tools.locking.places import wanted_family  # noqa: PLC0415 - uploads of what is there need nothing of it

    place = chain.workplace
    targets = "-".join(target.replace(":", "_") for target in chain.targets)
    group = place.settings.artifact_group or wanted_family(place, chain.project.name) or targets or "generic"
    local = chain.built().local
    if local is not None and digest.short(local) not in chain.built().version:
        # A version that cannot say so must not bring a person's build under the names of the pristine one.
        group = f"{group}-local{digest.short(local)}"
    return group


def warn_when_closed(workplace: Workplace, store: Store, place: IndexFolder) -> None:
    """Warn when what was just published cannot be read without credentials: installers have none."""
    if store.is_open(place.find_links_key):
        return
    text = (
        f"{place.find_links_url(store)} is not given to anybody without credentials, and neither pip, uv nor setup_venv has some"
    )
    hint = f"let anybody read (s3:GetObject) what is below {store.address}/{place.prefix}, or publish into a folder with --output-dir"
    workplace.console.warn(f"{text}: {hint}")


def index_lines(store: Store, place: IndexFolder) -> str:
    """Return the options that make installers read an index, a line each; those that work at a bucket's own address come first."""
    found = f"--find-links {place.find_links_url(store)}"
    index = f"--index-url {place.index_url(store)}"
    return f"{index}\n{found}" if store.serves_folders else f"{found}\nbehind a server that gives a folder's index.html: {index}"


def install_lines(requirement: str, *, version: str, places: Sequence[str]) -> dict[str, str]:
    """Return the command lines that install a requirement from places, by the installer's name.

    Parameters
    ----------
    requirement
        What to install.
    version
        The version that it asks for: uv takes a pre-release of what that requires only when told to.
    places
        Options that name the places, such as ``--find-links URL``.
    """
    uv = ["--prerelease", "allow"] if Version(version).is_prerelease else []
    return {
        "pip": printable(["pip", "install", *places, requirement]),
        "uv": printable(["uv", "pip", "install", *uv, *places, requirement]),
    }


def wheel_install_lines(projects: Iterable[tuple[str, str]], *, page: str) -> dict[str, dict[str, str]]:
    """Return the command lines that install published wheels, by requirement and by what runs them.

    Those of pip and uv take the very wheel from its page and nothing else: beside a base index, or with what it requires, an owned name
    could come from elsewhere. ``setup_venv`` brings that along, each name from its own source.

    Parameters
    ----------
    projects
        The distributions and versions.
    page
        The find-links page that lists the wheels.
    """
    found = {}
    for project, version in projects:
        requirement = f"{project}=={version}"
        lines = install_lines(requirement, version=version, places=["--no-index", "--no-deps", "--find-links", page])
        made = printable(["nox", "-s", "setup_venv", "--", "DIR", "--packages", requirement, "--find-links", page])
        found[requirement] = {**lines, "setup_venv": made}
    return found


def _held_back(workplace: Workplace, address: str) -> str:
    return str(workplace.work_dir / "store") if "://" in address and publishes_nothing(workplace) else address


def missing_from(address: str, place: Workplace, prefix: str, files: tuple[IndexedFile, ...]) -> str | None:
    """Return what of published files is in an index, or in its store, no longer; None when all is there."""
    try:
        store = place.open_store(writing=False, address=address)
    except HipwrightError as error:
        # Publishing makes a store that is gone, and says why one cannot be used.
        return error.message
    there = {(file.filename, file.sha256) for file in read_current(store, IndexFolder(prefix)).snapshot.files}
    for file in files:
        if (file.filename, file.sha256) not in there:
            return f"{file.filename} is no longer in the index {prefix}"
        known = store.head(f"{prefix}/{file.key}")
        if known is None or known.size != file.size:
            return f"{file.filename} is no longer in the store"
    return None
