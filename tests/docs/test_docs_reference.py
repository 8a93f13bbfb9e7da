"""The generated pages, the error codes in the code, and what tests show of them are held together."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from build_tools.config.buckets import bucket_table
from build_tools.config.runners import runner_table
from build_tools.errors import CODES
from build_tools.options.model import OPTIONS
from build_tools.reference import SCHEMAS, find_drift, reference_pages, write_reference
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RAISERS = frozenset({"HipwrightError", "WrapperError"})


def test_the_reference_is_what_the_code_says(clone: Path, request: pytest.FixtureRequest) -> None:
    folder = clone / "docs" / "reference"
    if request.config.getoption("--write", default=False):
        write_reference(folder)
    assert find_drift(folder) == (), "write the pages with: nox -s docs -- --write"


def test_drift_is_found_and_mended(tmp_path: Path) -> None:
    assert len(find_drift(tmp_path)) == len(reference_pages())
    assert set(write_reference(tmp_path)) == set(reference_pages())
    assert find_drift(tmp_path) == ()
    assert write_reference(tmp_path) == ()
    page = tmp_path / "errors.md"
    page.write_text(page.read_text(encoding="utf-8").replace("tests-failed", "tests-broken"), encoding="utf-8")
    (tmp_path / "schema" / "old.json").touch()
    assert find_drift(tmp_path) == ("errors.md differs from the code", "schema/old.json is no schema of ours")
    assert write_reference(tmp_path) == ("errors.md",)


def test_every_code_and_option_has_its_row() -> None:
    pages = reference_pages()
    for name, code in CODES.items():
        assert f"| `{name}` | {code.kind.name.lower()} | {code.meaning} |" in pages["errors.md"]
    for option in OPTIONS.values():
        assert f"`{option.environment}`" in pages["options.md"]


def test_every_bucket_label_and_place_of_a_run_has_its_row() -> None:
    pages = reference_pages()
    for name in bucket_table().bucket:
        assert f"| `{name}` |" in pages["buckets.md"]
    assert "`RUN-linux/python/GROUP/index.html`" in pages["buckets.md"]
    for row in runner_table().family:
        for machines in filter(None, (row.linux, row.windows)):
            for label in (*machines.test, *machines.multi_gpu, *machines.sandbox, *machines.oem):
                assert f"`{label.label}`" in pages["runners.md"]


def test_the_schema_of_settings_has_the_options_as_keys() -> None:
    schema = json.loads(reference_pages()["schema/hipwright.json"])
    assert schema["additionalProperties"] is False
    assert {"no-wait", "jobs", "until", "gfx"} <= set(schema["properties"])
    assert schema["properties"]["until"]["enum"] == [stage.value for stage in Stage]
    assert schema["properties"]["gfx"]["anyOf"][1] == {"type": "array", "items": {"type": "string"}}
    assert [pattern for pattern in schema["patternProperties"] if re.search(pattern, "torch-spline-conv-ref")] != []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_strict_and_has_what_it_refers_to(name: str) -> None:
    schema = json.loads(reference_pages()[f"schema/{name}.json"])
    definitions = schema["$defs"]
    tables = [entry for entry in definitions.values() if entry.get("type") == "object"]
    assert tables
    assert all(entry["additionalProperties"] is False for entry in tables)
    text = json.dumps(schema)
    assert all(f'"#/$defs/{key}"' in text for key in definitions)
    assert text.count('"$ref"') == sum(text.count(f'"$ref": "#/$defs/{key}"') for key in definitions)


def test_the_schema_of_projects_knows_their_keys(clone: Path) -> None:
    schema = json.loads(reference_pages()["schema/project.json"])["$defs"]["Project"]
    for file in (clone / "external-builds").glob("*/project.toml"):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        assert set(schema["required"]) <= set(data) <= set(schema["properties"])


def codes_raised(source: str) -> set[str]:
    """Return the codes that a module names: as the first argument of an error, or as ``code=`` of a call."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = (
            node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        )
        named: list[ast.expr] = [
            keyword.value
            for keyword in node.keywords
            if keyword.arg == "code" and isinstance(keyword.value, ast.Constant | ast.IfExp)
        ]
        if called in RAISERS:
            named += node.args[:1]
        found |= {
            part.value
            for value in named
            for part in ast.walk(value)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
    return found


def test_every_code_that_the_code_names_is_in_the_table(clone: Path) -> None:
    unknown = {
        f"{file.relative_to(clone)}: {code}"
        for file in [*(clone / "build_tools").rglob("*.py"), clone / "noxw.py"]
        for code in codes_raised(file.read_text(encoding="utf-8"))
        if code not in CODES
    }
    assert unknown == set()


def codes_missing(sources: Iterable[Path]) -> list[str]:
    """Return the codes that none of these files names, as a text of its own or as people see it (``error[code]``)."""
    text = "".join(file.read_text(encoding="utf-8") for file in sources)
    return [name for name in CODES if f'"{name}"' not in text and f"[{name}]" not in text]


def test_every_code_is_raised_and_shown_by_a_test(clone: Path) -> None:
    modules = [file for file in (clone / "build_tools").rglob("*.py") if file.name != "errors.py"]
    assert codes_missing([*modules, *clone.glob("*.py")]) == [], "no module raises these"
    assert codes_missing((clone / "tests").rglob("test_*.py")) == [], "no test shows these"
