"""``nox -s preflight``: what a job of a workflow has to know before it begins: where it publishes, by which role, and how its artifacts are called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from build_tools.ci.image import refuse_tag
from build_tools.ci.matrix import artifact_name, build_axes
from build_tools.ci.outputs import hand_on
from build_tools.config.buckets import bucket_table
from build_tools.errors import HipwrightError
from build_tools.locking.places import wanted_targets
from build_tools.pipeline.publishing import layout_to_publish, publishes_nothing

if TYPE_CHECKING:
    from build_tools.workplace import Workplace

__all__ = ["preflight"]

_BUCKET: Final = "s3://"
_ROLE: Final = re.compile(r"arn:aws[a-z-]*:iam::[0-9]+:role/[A-Za-z0-9_+=,.@/-]+")
"""What a role of AWS is called by. Source: IAM's identifiers."""


def preflight(workplace: Workplace) -> dict[str, Any]:
    """Judge the options of a job before it begins, say where it publishes and by which role, and hand that on.

    Options that are only judged are those that the job's other commands take: a slip in one of them is found here, and not by the
    command that comes hours later.

    Returns
    -------
    dict
        Under ``preflight``: ``publishes``, ``store``, ``pytorch`` and ``python`` (the folders of wheels and of ROCm packages there),
        ``role_to_assume`` and ``aws_region`` (None where no role is taken), ``receipts_artifact``, ``wheels_artifact`` and
        ``results_artifact``. A job on GitHub hands on all of it that is a plain word, and ``publishes`` as ``true`` or ``false``.

    Raises
    ------
    HipwrightError
        ``image-not-pinned`` when a release runs in an image that a tag names; ``store-unusable`` for an address that is no store's;
        ``bad-option-value``, and what else is wrong with an option.
    """
    settings = workplace.settings
    if settings.job_image is not None:
        refuse_tag(settings.job_image, settings.release_type, what="image that the job runs in")
    wanted_targets(workplace)
    address, run = layout_to_publish(workplace)
    # A bucket is asked once the role is taken; what is no store at all is one now already.
    workplace.open_store(writing=not address.lower().startswith(_BUCKET), address=address)
    publishes = not publishes_nothing(workplace)
    axes = build_axes(
        platform=run.platform.value,
        pytorch_git_ref=settings.ref.get("pytorch", ""),
        python_version="-".join(settings.python),
        artifact_group=settings.artifact_group or "",
    )
    family = settings.gpu_family or "any"
    names = {
        "receipts_artifact": artifact_name("receipts", *axes),
        "wheels_artifact": artifact_name("wheels", *axes),
        "results_artifact": artifact_name("results", *axes, family),
    }
    role = _role(workplace, address)
    words = {**names, **role, "publishes": "true" if publishes else "false"}
    hand_on(words, workplace.machine)
    document = {
        "publishes": publishes,
        "store": address,
        "pytorch": run.pytorch(settings.artifact_group).prefix,
        "python": run.python(settings.artifact_group).prefix,
        "role_to_assume": role.get("role_to_assume"),
        "aws_region": role.get("aws_region"),
        **names,
    }
    note = "" if publishes else "a pull request from a fork publishes nothing: its job hands on what it made as artifacts"
    rows = [(name, str(value)) for name, value in document.items() if value is not None]
    workplace.console.table("This job", ("what", "is"), rows, note=note)
    return {"preflight": document}


def _role(workplace: Workplace, address: str) -> dict[str, str]:
    """Return the role that writes a store, and the region where it is asked for; nothing for a folder, and where none is known."""
    named = workplace.settings.publish_role
    if named is not None and not _ROLE.fullmatch(named):
        hint = "name it with --publish-role as arn:aws:iam::ACCOUNT:role/NAME"
        raise HipwrightError("bad-option-value", f"{named!r} is no role of AWS", hint=hint)
    if not address.startswith(_BUCKET):
        return {}
    table = bucket_table()
    known = table.find(address.removeprefix(_BUCKET).partition("/")[0])
    role = named or (known.role_arn if known else None)
    return {"role_to_assume": role, "aws_region": known.region if known else table.region} if role else {}
