"""Rule ``identity``: file name, ``.dist-info`` folder, ``METADATA`` and ``WHEEL`` speak of one and the same wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from packaging.utils import canonicalize_name

from build_tools.checks.rule import Problem, Rule, Subject
from build_tools.wheels.name import same_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from build_tools.wheels.metadata import CoreMetadata, WheelFields
    from build_tools.wheels.name import WheelName

__all__ = ["RULE"]

_DATA: Final = ".data"
_SOME: Final = 12


def _judge(subject: Subject) -> Iterator[Problem]:
    folders = subject.wheel.dist_info
    if len(folders) != 1:
        listed = ", ".join(folders) or "none"
        yield Problem(message=f"a wheel has one .dist-info folder, and this has {len(folders)}: {listed}")
        return
    if subject.fields is None:
        yield Problem(message=subject.unreadable["WHEEL"], member=f"{folders[0]}/WHEEL")
    if subject.name is None:
        return  # the rule `file-name` says so
    yield from _folders(subject, subject.name)
    if subject.metadata is not None:
        yield from _metadata(subject.metadata, subject.name, f"{folders[0]}/METADATA")
    if subject.fields is not None:
        yield from _fields(subject.fields, subject.name, f"{folders[0]}/WHEEL")


def _folders(subject: Subject, name: WheelName) -> Iterator[Problem]:
    tops = {member.name.partition("/")[0] for member in subject.wheel.members if "/" in member.name}
    for folder in (*subject.wheel.dist_info, *sorted(top for top in tops if top.endswith(_DATA))):
        stem, _, ending = folder.rpartition(".")
        expected = f"{name.distribution}-{name.version}.{ending}"
        if folder == expected:
            continue
        project, _, version = stem.partition("-")
        same = canonicalize_name(project) == name.project and same_version(version, name.version)
        message = f"the folder is {folder}, the file name says {expected}"
        yield Problem(message=message, member=f"{folder}/", severity="warning" if same else None)


def _metadata(metadata: CoreMetadata, name: WheelName, member: str) -> Iterator[Problem]:
    if metadata.project != name.project:
        yield Problem(message=f"METADATA has the name {metadata.name}, the file name {name.distribution}", member=member)
    if not same_version(str(metadata.version), name.version):
        yield Problem(message=f"METADATA has the version {metadata.version}, the file name {name.version}", member=member)


def _fields(fields: WheelFields, name: WheelName, member: str) -> Iterator[Problem]:
    if fields.tags != name.tags:
        stated, named = (_few(sorted(map(str, tags))) for tags in (fields.tags, name.tags))
        yield Problem(message=f"WHEEL has the tags {stated}; the file name {named}", member=member)
    if fields.build != name.build:
        message = f"WHEEL has the build tag {fields.build or 'none'}, the file name {name.build or 'none'}"
        yield Problem(message=message, member=member)
    major, _, minor = fields.wheel_version.partition(".")
    if major != "1" or not minor.isdigit():
        yield Problem(message=f"WHEEL has Wheel-Version: {fields.wheel_version}; installers know 1.x", member=member)


def _few(tags: list[str]) -> str:
    more = f" and {len(tags) - _SOME} more" if len(tags) > _SOME else ""
    return f"{', '.join(tags[:_SOME])}{more}"


RULE: Final = Rule(
    name="identity",
    summary="File name, .dist-info folder, METADATA and WHEEL agree on name, version, build tag and tags.",
    why="What an index lists by file name is another thing than what is installed; pip then installs, warns, or asks for it again and again.",
    mend="Change the version with a tool that changes all of it: file name, .dist-info, METADATA and RECORD.",
    judge=_judge,
)
