"""``test_rocm``: install ROCm packages from where they are offered, let them test themselves on each chosen GPU, and reach verdicts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from packaging.requirements import Requirement

from build_tools import digest
from build_tools.config.targets import known_targets
from build_tools.counted import counted
from build_tools.environments.make import EnvironmentRequest
from build_tools.environments.resolve import offered_extras
from build_tools.environments.wait import rest_of, when_there
from build_tools.errors import HipwrightError
from build_tools.files import hold, remove_tree, utc_now, write_bytes
from build_tools.locking.places import named_places, wanted_targets
from build_tools.locking.wanted import Wish, choose
from build_tools.logs import first_error
from build_tools.pipeline.rocm_verdict import rocm_verdict
from build_tools.pipeline.setup_venv import show_packages, tell_chosen, tell_strays, wish_of
from build_tools.pipeline.test_stage import devices_to_test_on
from build_tools.pipeline.verdict_keeping import keep_beside_source, keep_in_run
from build_tools.receipts.record import plain, to_json
from build_tools.receipts.rocm_test import RocmTestReceipt, SuiteResult
from build_tools.rocm.devices import FAMILY_VARIABLE, extras_for, installed_family
from build_tools.testing.choosing import HIDDEN, sight
from build_tools.testing.gpu import rocm_targets, visible_devices
from build_tools.testing.leftovers import MARK, end_leftovers, new_mark
from build_tools.types import Platform, Sha256

if TYPE_CHECKING:
    from build_tools.environments.interpreter import Interpreter
    from build_tools.locking.places import Places
    from build_tools.locking.wanted import Chosen
    from build_tools.receipts.values import EnvironmentRecord
    from build_tools.testing.choosing import VisibleDevice
    from build_tools.workplace import Workplace

    _Run: TypeAlias = tuple[RocmTestReceipt, Path, Path]

__all__ = ["test_rocm"]

_TESTED: Final = ("libraries", "devel", "profiler")
"""The extras that are tested where the packages have them; the core package always is."""

_SECONDS: Final = 3600.0
_SHOWN: Final = 3
_COLUMNS: Final = ("suite", "result", "passed", "failed", "not tested", "seconds")


class _Said(msgspec.Struct, kw_only=True):
    """The document of ``rocm-sdk test --json``."""

    status: Literal["passed", "failed"]
    version: str
    set_id: str | None = None
    gpus: tuple[str, ...] = ()
    ran_on: tuple[str, ...] = ()
    suites: dict[str, SuiteResult] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Case:
    """What is tested: the packages and why it is these, the environment that has them, and the folder for what comes of it."""

    chosen: Chosen
    places: Places
    wish: Wish
    record: EnvironmentRecord
    folder: Path


def test_rocm(workplace: Workplace) -> dict[str, Any]:
    """Install the packages for each target interpreter, run ``rocm-sdk test`` there, and keep a receipt and a verdict of each run.

    There is a run for each GPU that ``--gpu-policy`` takes, which alone it can see; without one there is a single run that sees none
    where drivers list what there is.

    Returns
    -------
    dict
        Under ``tests``: a receipt for each run, with its path and that of its verdict.

    Raises
    ------
    HipwrightError
        ``tests-failed``, ``no-tests`` or ``tests-timeout`` with the document; ``bad-option-value``; what choosing packages and installing them raise.
    """
    if workplace.settings.rocm_path is not None:
        hint = "name where they are offered: --rocm-find-links, --rocm-index-url or --rocm-run-id; or look with nox -s doctor"
        raise HipwrightError("bad-option-value", "test_rocm tests packages, and --rocm-path names a folder", hint=hint)
    told: list[dict[str, Any]] = []
    failures: list[HipwrightError] = []
    for interpreter in workplace.interpreters.values():
        with workplace.console.group(f"test the ROCm packages on Python {interpreter.version}"):
            runs, unfinished = _test_on(interpreter, workplace)
            failures += unfinished
            for receipt, path, log in runs:
                told.append(
                    {
                        "receipt": str(path),
                        "verdict": str(path.with_name(_verdict_name(path))),
                        "log": str(log),
                        **plain(receipt),
                    }
                )
                _show(receipt, workplace)
                failed = _failure(receipt, log)
                if failed is not None:
                    failures.append(failed)
    document: dict[str, object] = {"tests": told}
    if failures:
        failures[0].document = document
        raise failures[0]
    return document


def _test_on(interpreter: Interpreter, workplace: Workplace) -> tuple[list[_Run], list[HipwrightError]]:
    settings, console = workplace.settings, workplace.console
    picked = _choose(interpreter, workplace)
    chosen, places, _wish = picked
    tell_chosen(chosen, places, workplace)
    name = digest.of_value([sorted([file.filename, file.sha256] for file in chosen.files), interpreter.python_tag])[:16]
    purpose = f"testing the ROCm packages on Python {interpreter.version}"
    # Held over the test too: another run makes the same environment again.
    with hold(workplace.lock_file(f"test-rocm-{name}"), purpose=purpose, wait=settings.wait, on_wait=console.say):
        return _tested(name, picked, interpreter, workplace)


def _tested(
    name: str, picked: tuple[Chosen, Places, Wish], interpreter: Interpreter, workplace: Workplace
) -> tuple[list[_Run], list[HipwrightError]]:
    """Install the chosen packages in a fresh environment, and test them there, on one chosen GPU after the other.

    Returns
    -------
    tuple
        The runs that ended, and the failure of each that did not: one GPU that hangs says nothing of the others.
    """
    chosen, places, wish = picked
    log = workplace.work_dir / "logs" / "test_rocm" / f"{name}.log"
    log.unlink(missing_ok=True)
    request = EnvironmentRequest(
        interpreter=interpreter,
        owned=chosen.files,
        requires=chosen.requirements,
        build_pins=workplace.requirements / "build-env.txt",
        purpose="the environment that the ROCm packages are tested in",
    )
    # What was tested is what was just unpacked: an earlier environment may have been changed since.
    record = workplace.environment(request, runner=workplace.runner, log=log, renew=True)
    tell_strays(workplace, but=(Path(record.folder),))
    show_packages(record, f"Installed for Python {record.python_version}", f"from {places.describe()}", workplace)
    folder = workplace.work_dir / "test-rocm" / name
    remove_tree(folder)
    devices = [one for one in devices_to_test_on(workplace, wish.targets) if one.device.vendor == "amd"]
    case = _Case(chosen=chosen, places=places, wish=wish, record=record, folder=folder)
    runs: list[_Run] = []
    unfinished: list[HipwrightError] = []
    for number, device in enumerate(devices or (None,)):
        try:
            runs.append(_run_on(case, device, number, log, workplace))
        except HipwrightError as failure:
            if failure.code.name != "tests-timeout":
                raise
            unfinished.append(failure)
    return runs, unfinished


def _run_on(case: _Case, device: VisibleDevice | None, number: int, log: Path, workplace: Workplace) -> _Run:
    """Run the packages' own test with one GPU in sight, or none, and keep receipt, report and verdict."""
    settings = workplace.settings
    mark = f"-{number}" if number else ""
    if device is not None:
        log = log.with_suffix(f".gpu-{number}-{device.target}.log")
        log.unlink(missing_ok=True)
    workplace.console.say(f"running rocm-sdk test on {device.target}" if device is not None else "running rocm-sdk test")
    started, began = utc_now(), time.monotonic()
    said, report = _ask(case, device, log, workplace)
    receipt = RocmTestReceipt(
        status=said.status,
        version=said.version,
        set_id=Sha256(said.set_id) if said.set_id else None,
        gpus=said.gpus,
        ran_on=said.ran_on,
        suites=said.suites,
        source=case.places.describe(),
        files=case.chosen.files,
        environment=case.record,
        digest=digest.of_value([case.folder.name, settings.gfx, settings.gpu_family]),
        started=started,
        seconds=round(time.monotonic() - began, 1),
    )
    verdict = rocm_verdict(receipt, device=device, report=digest.of_bytes(report), platform=workplace.platform)
    path = case.folder / f"receipt{mark}.json"
    write_bytes(case.folder / f"report{mark}.txt", report)
    write_bytes(path.with_name(_verdict_name(path)), to_json(verdict))
    write_bytes(path, to_json(receipt))
    if settings.rocm_run_id is not None:
        keep_in_run(verdict, settings.rocm_run_id, workplace)
    else:
        keep_beside_source(verdict, case.places.rocm or case.places.packages, workplace)
    return receipt, path, log


def _verdict_name(receipt: Path) -> str:
    return receipt.name.replace("receipt", "verdict")


def _choose(interpreter: Interpreter, workplace: Workplace) -> tuple[Chosen, Places, Wish]:
    """Return the packages to test: everything that the set offers, with the code for the targets that are named or at hand.

    Where none is named and no GPU is here it is the code of one target, so that packages with device code are tested at all.
    """
    settings, network = workplace.settings, workplace.base.network()
    version = f"=={settings.rocm_version}" if settings.rocm_version else ""

    def extras() -> tuple[Places, frozenset[str]]:
        places = named_places(workplace)
        found = offered_extras(
            Requirement(f"rocm{version}"),
            source=places.rocm or places.packages,
            interpreter=interpreter,
            network=network,
            cache=workplace.cache,
        )
        return places, found[1]

    began = time.monotonic()
    places, offered = when_there(extras, within=settings.timeout, say=workplace.console.say, pause=settings.wait_between)
    wanted = [extra for extra in _TESTED if extra in offered]
    named = wish_of(workplace, (f"rocm[{','.join(wanted)}]" if wanted else "rocm",))
    wish = Wish(
        requirements=named.requirements,
        rocm_version=named.rocm_version,
        targets=wanted_targets(workplace) or _at_hand(offered, workplace) or _one_of(offered, workplace),
        family=named.family,
    )
    chosen = choose(
        wish,
        places=lambda: places,
        interpreter=interpreter,
        network=network,
        cache=workplace.cache,
        today=datetime.now(tz=UTC).date(),
        within=rest_of(settings.timeout, since=began),
        say=workplace.console.say,
        pause=settings.wait_between,
    )
    return chosen, places, wish


def _at_hand(offered: frozenset[str], workplace: Workplace) -> tuple[str, ...]:
    """Return the targets of the GPUs of this machine that the set has code for; none where there is no GPU."""
    visible = tuple(dict.fromkeys(rocm_targets(visible_devices(workplace.platform, workplace.runner, workplace.machine))))
    served = tuple(target for target in visible if _has_code(offered, target))
    if unserved := [target for target in visible if target not in served]:
        workplace.console.warn(f"this machine has GPUs that the packages have no code for: {', '.join(unserved)}")
    return served


def _has_code(offered: frozenset[str], target: str) -> bool:
    try:
        return extras_for((), offered, targets=(target,), family=None, package="rocm") != ()
    except HipwrightError:
        return False


def _one_of(offered: frozenset[str], workplace: Workplace) -> tuple[str, ...]:
    """Return one target that the set has code for, the first by its name; none where the set has none."""
    known = [target for target in known_targets().targets if _has_code(offered, target)]
    if not known:
        return ()
    first, more = min(known), len(known) - 1
    rest = f", of {more + 1} targets that the packages have" if more else ""
    workplace.console.say(f"no GPU is here and no target is named: testing the device code of {first}{rest}; --gfx names others")
    return (first,)


def _ask(case: _Case, device: VisibleDevice | None, log: Path, workplace: Workplace) -> tuple[_Said, bytes]:
    """Run the packages' own test, and return what it said, also as it said it; of packages that know no JSON, whether it passed."""
    record, chosen, wish = case.record, case.chosen, case.wish
    command: list[str | Path] = [record.python, "-I", "-X", "utf8", "-m", "rocm_sdk", "test"]
    folder = Path(record.folder)
    family = installed_family([package.name for package in record.packages], targets=wish.targets, family=wish.family)
    # On Windows no device is ever chosen: there the packages' test finds them by itself.
    unchosen = sight(workplace.machine) if workplace.platform is Platform.WINDOWS else HIDDEN
    mark = new_mark()
    env = {**(device.variables if device is not None else unchosen), **({FAMILY_VARIABLE: family} if family else {}), MARK: mark}
    runner, console = workplace.runner, workplace.console
    try:
        done = runner.capture([*command, "--json"], cwd=folder, env=env, timeout=_SECONDS, check=False, what="rocm-sdk test")
        try:
            said = msgspec.json.decode(done.stdout, type=_Said)
        except msgspec.DecodeError:
            console.say("these packages do not tell their result in JSON: running their test as it is")
            plainly = runner.run(command, cwd=folder, log=log, env=env, timeout=_SECONDS, check=False, what="rocm-sdk test")
            version = next(file.version for file in chosen.files if file.distribution == "rocm")
            return _Said(status="passed" if plainly.returncode == 0 else "failed", version=version), log.read_bytes()
    except HipwrightError as error:
        if error.code.name != "command-timeout":
            raise
        hint = f"try it there: {record.python} -I -m rocm_sdk test"
        raise HipwrightError("tests-timeout", error.message, hint=hint, log=log if log.is_file() else None) from None
    finally:
        end_leftovers(mark, say=console.say)
    with log.open("ab") as sink:
        sink.write(done.stderr + done.stdout)
    # All have to say so: what ends badly after it has told its result did not pass, nor did what tested nothing.
    sound = done.returncode == 0 and (not said.suites or any(suite.passed for suite in said.suites.values()))
    return said if sound else msgspec.structs.replace(said, status="failed"), done.stdout


def _show(receipt: RocmTestReceipt, workplace: Workplace) -> None:
    rows = [
        (name, suite.status, str(suite.passed), str(len(suite.failed)), str(len(suite.untested)), f"{suite.seconds:g}")
        for name, suite in receipt.suites.items()
    ]
    folder = f"{receipt.environment.folder}/"
    untested = {part.reason.replace(folder, "") for suite in receipt.suites.values() for part in suite.untested}
    note = f"GPUs at hand: {', '.join(receipt.gpus) or 'none'}"
    if untested:
        note = "\n".join([note, "why something could not be tested here:", *(f"- {reason}" for reason in sorted(untested))])
    title = f"rocm-sdk test of ROCm {receipt.version}: {receipt.status}"
    workplace.console.table(title, _COLUMNS, rows, note=note)


def _failure(receipt: RocmTestReceipt, log: Path) -> HipwrightError | None:
    if receipt.status == "passed":
        return None
    version, suites = receipt.version, receipt.suites
    if suites and not any(suite.passed or suite.failed for suite in suites.values()):
        return HipwrightError("no-tests", f"rocm-sdk test of ROCm {version} tested nothing", log=log)
    failed = [f"{name}: {part.test}: {part.reason}" for name, suite in suites.items() for part in suite.failed]
    count = counted(len(failed), "test") if failed else "the test"
    message = f"{count} of ROCm {version} failed on Python {receipt.environment.python_version}"
    hint = f"try it there: {receipt.environment.python} -I -m rocm_sdk test"
    ended = "no test failed, and it ended with an error" if suites else first_error(log, 0)
    return HipwrightError("tests-failed", message, hint=hint, log=log, excerpt="\n".join(failed[:_SHOWN]) or ended)
