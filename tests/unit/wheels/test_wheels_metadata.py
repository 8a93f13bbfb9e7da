from __future__ import annotations

import pytest
from packaging.tags import Tag
from packaging.version import Version

from build_tools.errors import HipwrightError
from build_tools.wheels.metadata import WheelFields, parse_metadata, parse_wheel_fields, render_wheel_fields

_GOOD = "Metadata-Version: 2.4\nName: Demo.Kit\nVersion: 1.0+rocm7\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n"


def test_metadata() -> None:
    text = (
        _GOOD
        + "Requires-Python: >=3.10\nProvides-Extra: x\nRequires-Dist: rocm[libraries]==7.10.0\n\nA description: with colons\n"
    )
    metadata = parse_metadata(text.encode())
    assert (metadata.name, metadata.project, metadata.version) == ("Demo.Kit", "demo-kit", Version("1.0+rocm7"))
    assert [str(requirement) for requirement in metadata.requires_dist] == ["rocm[libraries]==7.10.0"]
    assert (metadata.requires_python, metadata.extras) == (">=3.10", ("x",))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Metadata-Version: 2.4\nVersion: 1.0\n", "name"),
        ("Metadata-Version: 2.4\nName: demo\n", "version"),
        ("Metadata-Version: 2.4\nName: demo\nVersion: one\n", "one"),
        (_GOOD + "Requires-Dist: rocm ===\n", "requires"),
        (_GOOD + "Requires-Python: three\n", "three"),
        (_GOOD + "Name: other\n", "name"),
        ("", "metadata-version"),
        ("Name: demo\nVersion: 1.0\n", "metadata-version"),
    ],
)
def test_malformed_metadata_names_the_field(text: str, named: str) -> None:
    with pytest.raises(HipwrightError) as caught:
        parse_metadata(text.encode())
    assert caught.value.code.name == "bad-wheel"
    assert named in caught.value.message.lower()


def test_every_fault_of_metadata_is_named_at_once() -> None:
    with pytest.raises(HipwrightError, match=r"three.*one"):
        parse_metadata(b"Metadata-Version: 2.4\nName: demo\nVersion: one\nRequires-Python: three\n")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nLicense-Expression: MIT\n", "license-expression"),
        (_GOOD + "Description-Content-Type: text/nonsense\n", "nonsense"),
        (_GOOD + "Nonsense: x\n", "nonsense"),
        # Published so, years ago, and installed to this day.
        ("Metadata-Version: 2.0\nName: demo\nVersion: 1.0\n", "metadata-version"),
    ],
)
def test_faults_that_no_installer_goes_by_are_oddities(text: str, named: str) -> None:
    metadata = parse_metadata(text.encode())
    assert metadata.version.release == (1, 0)
    assert [named in oddity for oddity in metadata.oddities] == [True]


def test_wheel_fields() -> None:
    fields = parse_wheel_fields((_WHEEL + "Tag: cp311-abi3-linux_x86_64\nBuild: 2\n").encode())
    assert (fields.wheel_version, fields.root_is_purelib, fields.build) == ("1.0", False, "2")
    assert fields.tags == {Tag("cp311", abi, "linux_x86_64") for abi in ("cp311", "abi3")}


def test_wheel_fields_written_and_read_back() -> None:
    fields = WheelFields(
        wheel_version="1.0",
        generator="hipwright",
        root_is_purelib=True,
        tags=frozenset({Tag("py3", "none", "any"), Tag("py2", "none", "any")}),
        build="1a",
    )
    assert parse_wheel_fields(render_wheel_fields(fields)) == fields


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_WHEEL.replace("Wheel-Version: 1.0\n", ""), "0 fields Wheel-Version"),
        (_WHEEL.replace("Root-Is-Purelib: false\n", ""), "0 fields Root-Is-Purelib"),
        (_WHEEL.replace("false", "perhaps"), "perhaps"),
        (_WHEEL + "Root-Is-Purelib: true\n", "2 fields Root-Is-Purelib"),
        (_WHEEL.replace("Tag: cp311-cp311-linux_x86_64\n", ""), "no field Tag"),
        (_WHEEL.replace("cp311-cp311-linux_x86_64", "cp311"), "cp311, which is no tag"),
    ],
)
def test_refused_wheel_files(text: str, message: str) -> None:
    with pytest.raises(HipwrightError, match=message):
        parse_wheel_fields(text.encode())


def test_a_wheel_file_that_is_no_text() -> None:
    with pytest.raises(HipwrightError, match="not UTF-8"):
        parse_wheel_fields(b"Wheel-Version: \xff\n")
