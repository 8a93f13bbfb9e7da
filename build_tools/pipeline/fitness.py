"""Whether a machine is fit for its role: this one, or another that a file describes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from build_tools.config.fitness import fitness_table
from build_tools.errors import HipwrightError, Where
from build_tools.receipts.machine import MachineFacts
from build_tools.receipts.record import plain, read_record
from build_tools.testing.fitness import judge_machine, worst_of
from build_tools.testing.machine_facts import Asked, machine_facts

if TYPE_CHECKING:
    from build_tools.testing.fitness import Point
    from build_tools.workplace import Workplace

__all__ = ["Fitness", "judge_fitness"]

_COLUMNS: Final = ("point", "status", "found", "wanted", "fix")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitness:
    """What a machine was judged to be: for which role, from which facts, point by point."""

    name: str
    role: str
    facts: MachineFacts
    points: tuple[Point, ...]

    @property
    def document(self) -> dict[str, Any]:
        """The judgement as plain data."""
        points = [asdict(point) for point in self.points]
        return {"role": self.role, "worst": worst_of(self.points), "points": points, "facts": plain(self.facts)}

    def failure(self) -> HipwrightError | None:
        """Return the failure that the judgement is; None for a machine that is fit."""
        bad = [point for point in self.points if point.status == worst_of(self.points)]
        if worst_of(self.points) == "ok":
            return None
        count = sum(point.status in {"failed", "unknown"} for point in self.points)
        first = bad[0]
        message = (
            f"{self.name} is not shown to be fit for the role {self.role}: {count} of {len(self.points)} points did not pass, "
            f"first {first.what} (found: {first.found}, wanted: {first.wanted})"
        )
        return HipwrightError("machine-unfit", message, hint=first.fix or None)


def judge_fitness(role: str, workplace: Workplace, *, rocm: str | None = None) -> Fitness:
    """Judge the machine and show the judgement as a table.

    Parameters
    ----------
    role
        What the machine is for.
    workplace
        Options, programs, console.
    rocm
        The version of the ROCm packages of an environment that is judged too: programs in it need no other ROCm.

    Raises
    ------
    HipwrightError
        ``bad-option-value`` where ``--platform`` names another system than that of the machine.
    """
    settings = workplace.settings
    demands = fitness_table().demands(role, workplace.meant_platform)
    if settings.machine is not None:
        facts = read_record(settings.machine, MachineFacts)
        if settings.platform is None:
            demands = fitness_table().demands(role, facts.platform)
    else:
        names = sorted({name for one in demands if one.measure == "packages" for name in one.all_of})
        asked = Asked(disk_of=workplace.work_dir, packages=names, hosts=settings.hosts, labels=settings.labels)
        facts = machine_facts(
            asked, machine=workplace.machine, platform=workplace.platform, runner=workplace.runner, python=workplace.python
        )
    if settings.platform is not None and facts.platform != settings.platform:
        message = f"--platform {settings.platform} is meant, and the machine is one with {facts.platform}"
        where = Where(file=settings.machine) if settings.machine is not None else None
        hint = "run doctor on such a machine, or name a description of one: --machine FILE"
        raise HipwrightError("bad-option-value", message, where=where, hint=hint)
    if settings.labels and settings.machine is not None:
        facts = msgspec.structs.replace(facts, labels=settings.labels)
    if rocm is not None:
        facts = msgspec.structs.replace(facts, rocm=rocm)
        demands = tuple(one for one in demands if one.measure != "packages")
    points = judge_machine(demands, facts, targets=settings.gfx)
    rows = [(point.what, point.status, point.found, point.wanted, point.fix) for point in points]
    name = "this machine" if settings.machine is None else f"the machine of {settings.machine.name}"
    title = f"{name[0].upper()}{name[1:]}, for the role {role}"
    workplace.console.table(title, _COLUMNS, rows, note=_note(points))
    return Fitness(name=name, role=role, facts=facts, points=points)


def _note(points: tuple[Point, ...]) -> str:
    unasked = [point.what for point in points if point.status == "unasked"]
    notes = ["what is unknown is no pass"] if any(point.status == "unknown" for point in points) else []
    if unasked:
        flags = {"labels": "--labels", "network": "--hosts"}
        notes.append(f"not judged, as nobody named it: {', '.join(f'{what} ({flags[what]})' for what in unasked)}")
    return "\n".join(notes)
