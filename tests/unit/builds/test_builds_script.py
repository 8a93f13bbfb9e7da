from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_tools.builds.script import environment_script
from build_tools.errors import HipwrightError
from build_tools.types import Platform

BASH = shutil.which("bash")
HOSTILE = {
    "HIP_PATH": "C:/Program Files/AMD",
    "ROCM_PATH": "/opt/rocm",
    "CFLAGS": "-O0",
    "CC": "false",
    "PIP_INDEX_URL": "https://example.invalid/simple",
    "PYTHONPATH": "/evil",
    "LINES_IN_IT": "one\ntwo=2\nexport THREE=3",
    "BASH_FUNC_hipcc%%": "() { echo evil; }",
}


def script_for(environment: dict[str, str], platform: Platform = Platform.LINUX, folders: tuple[Path, ...] = ()) -> str:
    return environment_script(environment, platform=platform, about=("A build.",), folders=folders)


def sourced(script: str, folder: Path) -> dict[str, str]:
    """Return the environment of a program that bash starts after it has sourced a script among hostile variables."""
    file = folder / "it's an environment.sh"
    file.write_text(script, encoding="utf-8", newline="\n")
    done = subprocess.run(
        [BASH or "bash", "--noprofile", "--norc", "-c", '. "$1" && exec /usr/bin/env -0', "bash", str(file)],
        env={"PATH": "/usr/bin:/bin", "HOME": "/root", **HOSTILE},
        capture_output=True,
        check=True,
    )
    pairs = (entry.decode("utf-8").partition("=") for entry in done.stdout.split(b"\0") if entry)
    return {name: value for name, _, value in pairs if name not in {"PWD", "OLDPWD", "SHLVL", "_"}}


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_a_shell_that_sources_it_has_the_build_s_environment_and_nothing_else(tmp_path: Path) -> None:
    wanted = {"PATH": "/e/bin:/usr/bin", "CFLAGS": "-g", "ODD": 'it\'s $HOME `id` "x" \\ !\nsecond line', "EMPTYISH": " "}
    home = tmp_path / "a home"
    found = sourced(script_for({**wanted, "HOME": str(home)}, folders=(home,)), tmp_path)
    functions = {name for name in found if name.startswith("BASH_FUNC_")}
    assert {name: value for name, value in found.items() if name not in functions} == {**wanted, "HOME": str(home)}
    assert home.is_dir()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@given(value=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=40))
@settings(max_examples=25, deadline=None)
def test_any_value_survives(value: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = sourced(script_for({"PATH": "/usr/bin:/bin", "VALUE": value}), tmp_path_factory.mktemp("script"))
    assert found["VALUE"] == value


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_scripts_that_variables_name_are_written(tmp_path: Path) -> None:
    program = tmp_path / "it's a folder" / "c++"
    text = "#!/bin/sh\nexec echo '$1' \"$@\"\n"
    script = environment_script(
        {"PATH": "/usr/bin:/bin", "CXX": str(program)}, platform=Platform.LINUX, about=(), folders=(), programs={program: text}
    )
    # A second time it is there already, and the shell is told to replace no file.
    found = [sourced(f"set -C\n{script}", tmp_path) for _ in range(2)][-1]
    assert program.read_text(encoding="utf-8") == text
    done = subprocess.run([found["CXX"], "two words"], capture_output=True, check=True, text=True)
    assert done.stdout == "$1 two words\n"


def test_powershell_gets_literals() -> None:
    script = script_for({"ODD": "it's $env:X \u2019"}, Platform.WINDOWS, (Path("h"),))
    assert "$env:ODD = 'it''s $env:X \u2019\u2019'" in script
    assert "Remove-Item" in script
    assert "'ODD'" in script


def test_a_name_that_no_shell_can_set_is_refused() -> None:
    with pytest.raises(HipwrightError) as caught:
        script_for({"NOT A NAME": "x"})
    assert caught.value.code.name == "bad-option-value"
