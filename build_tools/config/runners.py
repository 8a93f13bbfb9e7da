"""Which machines build and test which GPU family, read from ``data/runners.toml``."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from build_tools.config.fields import NonEmpty, Table
from build_tools.config.load import load_toml
from build_tools.config.targets import expand_family, family_name
from build_tools.errors import HipwrightError, Where
from build_tools.types import Platform

__all__ = ["FamilyRow", "Label", "Machines", "Purpose", "RunnerTable", "Tier", "pick_label", "runner_table"]

_FILE: Final = Path(__file__).parent / "data" / "runners.toml"

Tier: TypeAlias = Literal["presubmit", "postsubmit", "nightly"]
Purpose: TypeAlias = Literal["test", "multi-gpu", "sandbox", "oem"]
When: TypeAlias = Literal["always", "nightly", "submodule-bump"]


class Label(Table, frozen=True, kw_only=True):
    """A runner's label; of several, one is taken in proportion to ``weight``."""

    label: NonEmpty
    weight: Annotated[int, msgspec.Meta(ge=1)] = 1


class Machines(Table, frozen=True, kw_only=True):
    """What a family has on a platform; without ``test`` it is built only."""

    test: tuple[Label, ...] = ()
    multi_gpu: tuple[Label, ...] = ()
    sandbox: tuple[Label, ...] = ()
    oem: tuple[Label, ...] = ()
    when: When = "always"
    in_releases: bool = True
    variants: tuple[NonEmpty, ...] = ("release",)

    def labels(self, purpose: Purpose) -> tuple[Label, ...]:
        """Return the labels for a purpose."""
        match purpose:
            case "test":
                return self.test
            case "multi-gpu":
                return self.multi_gpu
            case "sandbox":
                return self.sandbox
            case "oem":
                return self.oem


class FamilyRow(Table, frozen=True, kw_only=True):
    """A family: what CI calls it, its name, the tier that it is built from, and its machines."""

    key: NonEmpty
    name: NonEmpty
    tier: Tier
    linux: Machines | None = None
    windows: Machines | None = None

    def machines(self, platform: Platform) -> Machines | None:
        """Return what it has on a platform; None when it is not built there."""
        return self.linux if platform is Platform.LINUX else self.windows


class _Build(Table, frozen=True, kw_only=True):
    default: NonEmpty
    fork: NonEmpty
    sanitizer: str | None = None
    pytorch: str | None = None


class _Builds(Table, frozen=True, kw_only=True):
    linux: _Build
    windows: _Build


class RunnerTable(Table, frozen=True, kw_only=True):
    """All of it."""

    schema: Literal[1]
    tiers: tuple[Tier, ...]
    build: _Builds
    family: tuple[FamilyRow, ...]

    def families(self, tier: Tier, platform: Platform) -> tuple[FamilyRow, ...]:
        """Return the families that are built at a tier: its own and those of the tiers before."""
        upto = self.tiers[: self.tiers.index(tier) + 1]
        return tuple(row for row in self.family if row.tier in upto and row.machines(platform) is not None)

    def find(self, name: str) -> FamilyRow | None:
        """Return the family of a name, a short name, a key of CI, or one of its targets; None when CI has no such family.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` when there is no family of that name at all.
        """
        by_key = {row.key: row for row in self.family}
        by_name = {row.name: row for row in self.family}
        found = by_key.get(name) or by_name.get(name) or by_name.get(family_name(name))
        return found or next((row for row in self.family if name in expand_family(row.name)), None)

    def test_labels(
        self,
        family: str,
        platform: Platform,
        *,
        tier: Tier = "nightly",
        purpose: Purpose = "test",
        release: bool = False,
        bump: bool = False,
    ) -> tuple[Label, ...]:
        """Return the labels of the machines that test a family; none when it is not tested.

        Parameters
        ----------
        family
            Its name, a short name, or CI's key.
        platform
            Where.
        tier
            At which tier; a family of a later one is not tested yet.
        purpose
            What kind of machine.
        release
            Whether a release is tested: some families have no machines to spare for these.
        bump
            Whether what is tested moves a submodule.

        Raises
        ------
        HipwrightError
            ``bad-option-value`` when there is no family of that name at all.
        """
        row = self.find(family)
        machines = row.machines(platform) if row else None
        if row is None or machines is None or self.tiers.index(row.tier) > self.tiers.index(tier):
            return ()
        if release and not machines.in_releases:
            return ()
        if machines.when == "nightly" and tier != "nightly":
            return ()
        if machines.when == "submodule-bump" and not bump and tier != "nightly":
            return ()
        return machines.labels(purpose)

    def build_label(self, platform: Platform, *, variant: str = "release", pytorch: bool = False, fork: bool = False) -> str:
        """Return the label of the machines that build; ``fork`` is for repositories and pull requests that may use GitHub's own only."""
        row = self.build.linux if platform is Platform.LINUX else self.build.windows
        if fork:
            return row.fork
        if "san" in variant and row.sanitizer:
            return row.sanitizer
        return row.pytorch if pytorch and row.pytorch else row.default


def pick_label(labels: tuple[Label, ...], seed: str) -> str | None:
    """Return one of several labels, in proportion to their weights, the same each time for the same seed, such as a run's id and job."""
    total = sum(label.weight for label in labels)
    if not total:
        return None
    place = int.from_bytes(hashlib.sha256(seed.encode()).digest()) % total
    for label in labels:
        place -= label.weight
        if place < 0:
            return label.label
    raise AssertionError(seed)


@functools.cache
def runner_table(path: Path = _FILE) -> RunnerTable:
    """Read the table.

    Raises
    ------
    HipwrightError
        ``bad-data-file``; also when a key or a family is there twice, or a family is not in the table of targets.
    """
    table = load_toml(path, RunnerTable)
    for what, names in (("key", [row.key for row in table.family]), ("family", [row.name for row in table.family])):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise HipwrightError("bad-data-file", f"the {what} {', '.join(twice)} is there twice", where=Where(file=path))
    for row in table.family:
        try:
            family_name(row.name)
        except HipwrightError as error:
            raise HipwrightError("bad-data-file", error.message, where=Where(file=path, key=row.key), hint=error.hint) from error
    return table
