"""The end of a run: the table of stages, where things are, and the exact commands to go on with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from build_tools.index.layout import FLAT_PAGE, SIMPLE
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS
from build_tools.options.render import to_arguments
from build_tools.pipeline.built_with import inputs
from build_tools.pipeline.bundling import runs_with
from build_tools.process import printable
from build_tools.testing.install import runtime_files
from build_tools.types import Stage

if TYPE_CHECKING:
    from build_tools.pipeline.chain import Chain
    from build_tools.workplace import Workplace

__all__ = ["UNSUPPORTED", "document", "force_line", "repeat_line", "show_report"]

UNSUPPORTED: Final = "skipped-unsupported"
"""The state of a project that the support table rules out."""

_LONGEST: Final = 80
_COMMAND_OF: Final = {
    Stage.CHECKOUT: "checkout",
    Stage.BASE_PATCHES: "checkout",
    Stage.HIPIFY: "checkout",
    Stage.HIPIFIED_PATCHES: "checkout",
    Stage.PROVISION: "build",
    Stage.BUILD: "build",
    Stage.CHECK: "check",
    Stage.PUBLISH: "upload",
    Stage.TEST: "test",
}


def repeat_line(stage: Stage, project: str, workplace: Workplace, *, force: bool = True, relock: bool = False) -> str:
    """Return the command line that runs one stage of a project, with the same settings.

    Parameters
    ----------
    stage, project, workplace
        Which stage, and the settings.
    force
        Whether it is to run although it is done already.
    relock
        Whether the lock is to be made anew for it.
    """
    if stage in _COMMAND_OF:
        command = PROJECT_COMMANDS[_COMMAND_OF[stage]]
        session = command.session_of(project)
        extra = {}
        if command.name == "checkout":
            extra["until"] = stage.value
        elif force:
            extra["from"] = stage.value
    else:
        command = COMMANDS[stage.value]
        session, extra = command.name, {"projects": project}
        if force and "from" in command.option_names:
            extra["from"] = stage.value
    # What is said of other projects counts when one is locked: their trees may state its pin.
    words = to_arguments(workplace.resolved, command, project=None if stage is Stage.LOCK else project, extra=extra)
    if force and "force" in command.option_names:
        words += ["--force", stage.value]
    elif force and workplace.settings.lock is None:
        words.append("--relock")
    words += ["--relock"] if relock and "relock" in command.option_names and "--relock" not in words else []
    return printable([*workplace.nox, "-s", session, *(["--", *words] if words else [])])


def force_line(stage: Stage, project: str, workplace: Workplace) -> str:
    """Return the command line that runs one source stage of a project although it is done, and those after it, with the same settings."""
    command = PROJECT_COMMANDS["checkout"]
    words = to_arguments(workplace.resolved, command, project=project)
    session = command.session_of(project)
    return printable([*workplace.nox, "-s", session, "--", *words, "--force", stage.value])


def show_report(chains: list[Chain], workplace: Workplace, *, failed: bool = False) -> None:
    """Show the table of what every stage did, and below it where the results are and how to go on; a failure says that itself."""
    rows: list[tuple[str, ...]] = []
    for chain in chains:
        name = chain.project.name if chain.python is None else f"{chain.project.name} ({chain.python})"
        rows += [(stage.value, name, f"{done.seconds:.2f} s", done.state, _brief(done.why)) for stage, done in chain.done.items()]
        rows += [(stage.value, name, "", "would run", _brief(why)) for stage, why in chain.would_run.items()]
        if chain.failed is not None:
            rows.append((chain.failed[0].value, name, "", "failed", _brief(chain.failed[1])))
        if chain.developed is not None:
            why = (
                "installed from the tree"
                if chain.developed["installed"]
                else "compiled in the tree, and installed from there already"
            )
            rows.append(("develop", name, f"{chain.developed['seconds']:.2f} s", "run", why))
        if chain.ruled_out is not None:
            rows.append(("all" if not chain.done else "the rest", name, "", UNSUPPORTED, _brief(chain.ruled_out.reason)))
    note = "" if workplace.settings.dry_run else workplace.runner.mask("\n".join(_places(chains, workplace, failed=failed)))
    workplace.console.table("Stages", ("stage", "project", "time", "state", "why"), rows, note=note)
    if len(chains) > 1:
        columns = ("project", "Python", "version", "built with", "came to")
        workplace.console.table("Projects", columns, [_summary(chain) for chain in chains])


def _summary(chain: Chain) -> tuple[str, ...]:
    """Return the row of one project for one interpreter."""
    built = chain.built() if Stage.BUILD in chain.done else None
    last = next(reversed(chain.done), None)
    end = last.value if last is not None else "nothing"
    if chain.ruled_out is not None:
        end = f"skipped: {_brief(chain.ruled_out.reason)}"
    elif chain.would_run:
        end = f"{end}, would run {next(iter(chain.would_run))}"
    before = ", ".join(f"{one.distribution} {one.version}" for one in chain.before)
    return chain.project.name, chain.python_tag, built.version if built else "", before, end


def _brief(why: str) -> str:
    """Return a reason at a length that a table has room for; ``--explain`` and the document tell it whole."""
    return why if len(why) <= _LONGEST else f"{why[: _LONGEST - 1].rstrip()}…"


def document(chains: list[Chain]) -> dict[str, Any]:
    """Return the same as plain data, for ``--json``."""
    return {
        "stages": [
            {
                "stage": stage.value,
                "project": chain.project.name,
                "python": chain.python,
                "state": done.state,
                "why": done.why,
                "seconds": round(done.seconds, 3),
                "receipt": str(done.path),
                "digest": done.receipt.digest,
            }
            for chain in chains
            for stage, done in chain.done.items()
        ],
        "would-run": [
            {"stage": stage.value, "project": chain.project.name, "python": chain.python, "why": why}
            for chain in chains
            for stage, why in chain.would_run.items()
        ],
        "skipped": [
            {
                "project": chain.project.name,
                "python": chain.python,
                "state": UNSUPPORTED,
                "why": chain.ruled_out.reason,
                "link": chain.ruled_out.link,
            }
            for chain in chains
            if chain.ruled_out is not None
        ],
        "versions": {
            wheel.distribution: wheel.version for chain in chains if Stage.BUILD in chain.done for wheel in chain.built().wheels
        },
        "wheels": [str(path) for chain in chains if Stage.BUILD in chain.done for path in chain.wheel_paths()],
        "dist": [str(path) for chain in chains for path in chain.put],
        "indexes": [
            {"project": chain.project.name, "index-url": chain.index().index_url, "find-links": chain.index().find_links_url}
            for chain in chains
            if Stage.PUBLISH in chain.done
        ],
        "uploads": [{"project": chain.project.name, **chain.upload_plan} for chain in chains if chain.upload_plan is not None],
        "promotions": [
            {"project": chain.project.name, **chain.promotion_plan} for chain in chains if chain.promotion_plan is not None
        ],
    }


def _places(chains: list[Chain], workplace: Workplace, *, failed: bool) -> list[str]:
    lines: list[str] = []
    for chain in chains:
        done = chain.done
        if Stage.BUILD in done:
            lines += [f"wheel: {path}" for path in chain.wheel_paths()]
            lines += [f"put into: {path}" for path in chain.put]
        elif Stage.HIPIFIED_PATCHES in done:
            lines.append(f"sources: {chain.tree}")
        if Stage.PUBLISH in done:
            index = chain.index()
            lines += [f"index: {index.index_url}", f"find-links page: {index.find_links_url}"]
        if Stage.PROMOTE in done:
            lines.append(f"promoted to {chain.promotion().channel}: {chain.promotion().index_url}")
        if Stage.PUBLISH in done:
            lines += ["install with:", *(f"  {line}" for line in _install_lines(chain))]
        last = next(reversed(done), None)
        if chain.developed is not None and not failed:
            lines.append(f"environment: {chain.developed['activate']}")
            lines.append(f"after edits: {repeat_line(Stage.BUILD, chain.project.name, workplace, force=False)}")
        elif last is not None and not failed:
            lines.append(f"repeat {last}: {repeat_line(last, chain.project.name, workplace)}")
    return lines


def _place_options(index_url: str, *, store: str) -> list[str]:
    """Return what tells pip of an index: its root, or its flat page where it is in a bucket, which serves no folders."""
    if store.startswith("s3://"):
        return ["--no-index", "--find-links", index_url.removesuffix(f"{SIMPLE}/") + FLAT_PAGE]
    return ["--index-url", index_url]


def _install_lines(chain: Chain) -> list[str]:
    """Return the commands that install what was published: owned packages by exact version from their own source, then the rest."""
    python = "python" if sys.platform == "win32" else "python3"
    lines = []
    locked = inputs(chain, at_hand=True) if Stage.LOCK in chain.done else None
    owned = runtime_files(runs_with(chain, locked), chain.built().pins) if locked is not None else ()
    if owned:
        # By address and digest, which leaves an installer nothing to choose.
        exact = [f"{file.distribution} @ {file.url}#sha256={file.sha256}" for file in owned]
        lines.append(printable([python, "-m", "pip", "install", "--no-index", "--no-deps", *exact]))
    wheels = [f"{wheel.distribution}=={wheel.version}" for wheel in chain.built().wheels]
    url = chain.promotion().index_url if Stage.PROMOTE in chain.done else chain.index().index_url
    lines.append(
        printable([python, "-m", "pip", "install", "--no-deps", *_place_options(url, store=chain.index().store), *wheels])
    )
    # What is still missing comes from wherever pip looks; the wheels themselves are there by then.
    lines.append(printable([python, "-m", "pip", "install", *wheels]))
    return lines
