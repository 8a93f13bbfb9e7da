"""Which bucket holds a run's outputs, read from ``data/buckets.toml``."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Final, Literal

from msgspec.structs import replace

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.errors import HipwrightError, Where
from build_tools.value import Value

__all__ = ["Bucket", "BucketTable", "RunBucket", "bucket_table", "external_folder", "is_repository"]

_FILE: Final = Path(__file__).parent / "data" / "buckets.toml"
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]*[A-Za-z0-9_-]")


class _Run(Table, frozen=True, kw_only=True):
    """The buckets of runs of a release type: of the owner's, and of all others' when these have one of their own."""

    own: NonEmpty
    others: str | None = None


class _Row(Table, frozen=True, kw_only=True):
    role: str | None = None
    shared: bool = False
    anonymous: bool = True


class _Product(Table, frozen=True, kw_only=True):
    bucket: NonEmpty
    role: NonEmpty
    account: NonEmpty
    prefix: NonEmpty
    products: tuple[NonEmpty, ...]
    streams: dict[str, NonEmpty]


class Bucket(Value, frozen=True, kw_only=True):
    """A bucket.

    ``role_arn`` may write it; None when that is done by hand. In a ``shared`` one each repository has a folder of its own. One that is
    not ``anonymous`` is read with credentials only. ``prefix`` is the folder that its layout begins in, empty for the whole bucket.
    """

    name: str
    region: str
    role_arn: str | None = None
    shared: bool = False
    anonymous: bool = True
    prefix: str = ""


class RunBucket(Value, frozen=True, kw_only=True):
    """The bucket of a run's outputs, and the folder of its repository there: ``owner-repo/``, or empty."""

    bucket: Bucket
    external_repo: str


class BucketTable(Table, frozen=True, kw_only=True):
    """All of it."""

    schema: Literal[1]
    region: NonEmpty
    account: NonEmpty
    owner: NonEmpty
    trial: NonEmpty
    run: dict[str, _Run]
    bucket: dict[str, _Row]
    product: _Product

    def find(self, name: str) -> Bucket | None:
        """Return what is known about a bucket; None when it is none of these."""
        row = self.bucket.get(name)
        if row is None:
            return None
        return Bucket(
            name=name,
            region=self.region,
            role_arn=_role(self.account, row.role),
            shared=row.shared,
            anonymous=row.anonymous,
        )

    def of_run(self, *, repository: str, release_type: str = "ci", fork: bool = False) -> RunBucket:
        """Return where a run's outputs are.

        Parameters
        ----------
        repository
            Whose run it is, as ``OWNER/NAME``.
        release_type
            What kind of build the run makes.
        fork
            Whether the run is one of a pull request from a fork: it may not write where the repository itself may, and has no role.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` when the repository is no ``OWNER/NAME``, or there is no such release type.
        """
        external = external_folder(repository)
        run = self.run.get(release_type)
        if run is None:
            message = f"runs of the release type {release_type!r} have no bucket"
            raise HipwrightError("bad-option-value", message, hint=f"release types: {', '.join(self.run)}")
        own = repository.lower() == self.owner.lower() and not fork
        name = run.own if own or run.others is None else run.others
        bucket = self.find(name)
        if bucket is None:
            raise HipwrightError("bad-data-file", f"the bucket {name} has no table", where=Where(file=_FILE))
        # A pull request from a fork gets no role: its runner writes with what it was given.
        return RunBucket(
            bucket=replace(bucket, role_arn=None) if fork else bucket, external_repo=external if bucket.shared else ""
        )

    def of_product(self, *, release_type: str, product: str) -> Bucket:
        """Return the bucket that a product of a release type is published in.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` when there is no such product, or nothing of the release type is published.
        """
        table = self.product
        stream = table.streams.get(release_type)
        if stream is None:
            message = f"the release type {release_type!r} has no published stream"
            raise HipwrightError("bad-option-value", message, hint=f"release types: {', '.join(table.streams)}")
        if product not in table.products:
            message = f"there is no product {product!r}"
            raise HipwrightError("bad-option-value", message, hint=f"products: {', '.join(table.products)}")
        return Bucket(
            name=table.bucket.format(stream=stream, product=product),
            region=self.region,
            role_arn=_role(table.account, table.role.format(stream=stream, product=product)),
            anonymous=False,
            prefix=table.prefix,
        )


def is_repository(text: str) -> bool:
    """Return whether a text is the name of a repository as ``OWNER/NAME``."""
    return _REPOSITORY.fullmatch(text) is not None


def external_folder(repository: str) -> str:
    """Return the folder of a repository in a bucket that several share.

    >>> external_folder("ROCm/rocm-libraries")
    'ROCm-rocm-libraries/'

    Raises
    ------
    HipwrightError
        ``bad-option-value`` when the text is no ``OWNER/NAME``.
    """
    if not is_repository(repository):
        raise HipwrightError("bad-option-value", f"{repository!r} is no repository: one is named as OWNER/NAME")
    return f"{repository.replace('/', '-')}/"


@functools.cache
def bucket_table(path: Path = _FILE) -> BucketTable:
    """Read the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also when a run's or the trial bucket has no table of its own.
    """
    table = load_toml(path, BucketTable)
    named = {name for run in table.run.values() for name in (run.own, run.others) if name} | {table.trial}
    missing = sorted(named - table.bucket.keys())
    if missing:
        raise HipwrightError("bad-data-file", f"no table for the bucket {', '.join(missing)}", where=Where(file=path))
    return table


def _role(account: str, role: str | None) -> str | None:
    return None if role is None else f"arn:aws:iam::{account}:role/{role}"
