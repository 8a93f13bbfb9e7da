"""What Amazon's library knows of the services: files of its own, which it reads for every client, read once and quickly."""

from __future__ import annotations

import functools
import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from botocore.loaders import Loader

__all__ = ["loader"]


@functools.cache
def loader() -> Loader:
    """Return the loader that all sessions share: what one client has read, the next does not read again.

    Its files are large: to read them with the standard library's parser takes most of the time that it takes to make a client. Of
    what services there are the names are enough: the library's own loader looks into the folders of all of them.
    """
    from botocore.loaders import JSONFileLoader, Loader  # noqa: PLC0415 - only those pay for it who ask a bucket

    class Reader(JSONFileLoader):
        """Reads a file as the library's own reader does: by its name without the ending, None when there is none."""

        def load_file(self, file_path: str) -> Any:  # noqa: ANN401 - whatever the file holds
            for path, unpack in ((Path(f"{file_path}.json"), None), (Path(f"{file_path}.json.gz"), gzip.decompress)):
                if path.is_file():
                    data = path.read_bytes()
                    return msgspec.json.decode(data if unpack is None else unpack(data))
            return None

    class Names(Loader):
        """Knows what services there are by the names of their folders."""

        def list_available_services(self, type_name: str) -> list[str]:
            """Return the names of services, some of which may not be of that type."""
            del type_name
            folders = [Path(path) for path in self.search_paths]
            return sorted({entry.name for folder in folders if folder.is_dir() for entry in folder.iterdir()})

    return Names(file_loader=Reader())
