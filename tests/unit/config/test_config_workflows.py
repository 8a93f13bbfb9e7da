from __future__ import annotations

from build_tools.config.buckets import is_repository
from build_tools.config.workflows import workflow_table


def test_workflows_of_a_repository_and_a_release_type() -> None:
    table = workflow_table()
    assert table.files("ROCm/TheRock", "ci")[0] == "multi_arch_ci.yml"
    assert table.files("rocm/therock", "nightly") == ("multi_arch_release.yml",)
    assert table.files("ROCm/rocm-libraries", "ci") == ("therock-ci.yml",)
    assert table.files("somebody/else", "ci") == ()


def test_the_table_names_repositories_and_files() -> None:
    table = workflow_table()
    assert all(is_repository(name) for name in (table.repository, *(row.repository for row in table.workflows)))
    assert all(file.endswith((".yml", ".yaml")) and "/" not in file for row in table.workflows for file in row.files)
