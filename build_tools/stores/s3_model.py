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

    Its files are large: to read them with the standard library's parser takes most of the time that it takes to make a client.
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

    return Loader(file_loader=Reader())
