"""Verdicts of the test stage on their way beside the index that the tested wheels came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from build_tools.errors import HipwrightError
from build_tools.publish.verdicts import put_verdict
from build_tools.stores.run_outputs import IndexFolder

if TYPE_CHECKING:
    from build_tools.receipts.snapshot import PublishedIndex
    from build_tools.receipts.verdict import Verdict
    from build_tools.workplace import Workplace

__all__ = ["keep_rocm_verdict", "keep_verdict"]


def keep_verdict(verdict: Verdict, index: PublishedIndex, workplace: Workplace) -> bool:
    """Put a verdict beside the index of the wheels that it speaks of, and return whether that could be done.

    A machine that only tests may have no rights there; its receipt then is the one place where the verdict is, and that is told.
    """
    try:
        store = workplace.open_store(writing=True, address=index.store)
        put_verdict(store, IndexFolder(index.prefix), verdict)
    except HipwrightError as error:
        hint = "promotion needs it: hand the receipt of this test over with --from-receipt"
        workplace.console.warn(f"the verdict could not be put beside {index.find_links_url} ({error.message}); {hint}")
        return False
    return True


def keep_rocm_verdict(verdict: Verdict, run_id: str, workplace: Workplace) -> bool:
    """Put a verdict on a run's ROCm packages beside their index, and return whether that could be done.

    A machine that only tests may have no rights there: the verdict then lies in the work dir alone, and that is told.
    """
    try:
        place = workplace.outputs(run_id, writing=True)
        put_verdict(place.store, place.run.python(workplace.settings.artifact_group), verdict)
    except HipwrightError as error:
        workplace.console.warn(f"the verdict could not be put beside the packages of the run {run_id} ({error.message})")
        return False
    return True
