"""What the commands that publish packages share: the store of a plan, and the lines that install what was published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from build_tools.process import printable
from build_tools.stores.local import FolderStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from build_tools.stores.base import Store
    from build_tools.stores.run_outputs import IndexFolder
    from build_tools.workplace import Workplace

__all__ = ["index_lines", "install_lines", "store_to_read", "warn_when_closed"]


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
