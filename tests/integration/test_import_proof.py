"""A wheel that was just built is imported in a clean process of the environment that is to build on it."""

from __future__ import annotations

import os
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from build_tools.builds.import_proof import prove_import
from build_tools.config.wheel_demands import Flag, Wheel
from build_tools.environments.installed import python_in, site_packages
from build_tools.errors import HipwrightError
from build_tools.process import Runner, base_environment
from build_tools.receipts.values import EnvironmentRecord, FlagValue
from build_tools.types import Platform, Sha256

PLATFORM = Platform.WINDOWS if sys.platform == "win32" else Platform.LINUX
WHEEL = "torch-2.13.0-cp312-cp312-linux_x86_64.whl"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> EnvironmentRecord:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = python_in(folder, PLATFORM)
    return EnvironmentRecord(
        folder=str(folder),
        digest=Sha256("0" * 64),
        python=str(python),
        python_version=sysconfig.get_python_version(),
        python_tag="cp3",
        packages=(),
    )


def install(environment: EnvironmentRecord, name: str, text: str) -> None:
    (site_packages(Path(environment.folder), PLATFORM) / f"{name}.py").write_text(text, encoding="utf-8")


def prove(environment: EnvironmentRecord, module: str, folder: Path, *, limit: float = 60, **variables: str) -> None:
    neutral = folder / "neutral"
    neutral.mkdir(exist_ok=True)
    runner = Runner(environment=base_environment({**os.environ, **variables}))
    prove_import(module, WHEEL, environment=environment, runner=runner, folder=neutral, log=folder / "log", limit=limit)


def test_a_module_that_loads_is_fine(environment: EnvironmentRecord, tmp_path: Path) -> None:
    install(environment, "good", "print('loaded')\n")
    prove(environment, "good", tmp_path)
    assert "loaded" in (tmp_path / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["import os\nos._exit(0)\n", "raise SystemExit(0)\n"])
def test_one_that_ends_the_process_well_is_not_imported(environment: EnvironmentRecord, tmp_path: Path, text: str) -> None:
    install(environment, "leaving", text)
    with pytest.raises(HipwrightError, match=r"leaving of .* ends the process that imports it") as caught:
        prove(environment, "leaving", tmp_path)
    assert caught.value.code.name == "import-failed"


def test_one_that_raises_fails_with_the_loaders_last_lines(environment: EnvironmentRecord, tmp_path: Path) -> None:
    text = "raise ImportError('libamdhip64.so.7: cannot open shared object file: No such file or directory')\n"
    install(environment, "broken", text)
    (tmp_path / "log").write_text("of an earlier program\n", encoding="utf-8")
    with pytest.raises(HipwrightError, match=f"broken of {WHEEL} cannot be imported, and nothing is built on it") as caught:
        prove(environment, "broken", tmp_path)
    error = caught.value
    assert error.code.name == "import-failed"
    assert error.log == tmp_path / "log"
    assert "libamdhip64.so.7: cannot open shared object file" in str(error.excerpt)
    assert "earlier program" not in str(error.excerpt)
    assert f"{environment.python} -I" in str(error.hint)


def test_one_that_ends_the_process_fails_too(environment: EnvironmentRecord, tmp_path: Path) -> None:
    install(environment, "gone", "import os\nos._exit(3)\n")
    with pytest.raises(HipwrightError) as caught:
        prove(environment, "gone", tmp_path)
    assert caught.value.code.name == "import-failed"


def test_one_that_is_not_there_fails_although_a_folder_beside_has_it(environment: EnvironmentRecord, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "neutral"):
        folder.mkdir(exist_ok=True)
        (folder / "beside.py").write_text("", encoding="utf-8")
    with pytest.raises(HipwrightError, match="cannot be imported"):
        prove(environment, "beside", tmp_path, PYTHONPATH=str(tmp_path), PYTHONSAFEPATH="0")


def test_what_the_caller_exports_is_not_seen(environment: EnvironmentRecord, tmp_path: Path) -> None:
    install(environment, "looks", "import os\nassert not {'LD_LIBRARY_PATH', 'ROCM_PATH', 'PYTHONSTARTUP'} & os.environ.keys()\n")
    prove(environment, "looks", tmp_path, LD_LIBRARY_PATH="/opt/rocm/lib", ROCM_PATH="/opt/rocm", PYTHONSTARTUP="x.py")


def test_one_that_never_ends_is_stopped(environment: EnvironmentRecord, tmp_path: Path) -> None:
    install(environment, "endless", "print('still here', flush=True)\nimport threading\nthreading.Event().wait()\n")
    with pytest.raises(HipwrightError, match="was not imported within 2 s") as caught:
        prove(environment, "endless", tmp_path, limit=2)
    assert caught.value.code.name == "import-failed"
    assert caught.value.excerpt == "still here"


def test_nothing_is_written_beside_the_modules(environment: EnvironmentRecord, tmp_path: Path) -> None:
    install(environment, "clean", "")
    prove(environment, "clean", tmp_path)
    assert not list(Path(environment.folder).rglob("clean*.pyc"))


FLAGS = """
has_attention = False
LEVEL = 2
name = "hip"
def has_sparse():
    return True
def wants(what): ...
def breaks():
    raise RuntimeError("no device")
def ends():
    import os
    os._exit(0)
class odd:
    real = 1.0
half = "\\udc80"
def shouts():
    raise RuntimeError(half)
"""


def proved(environment: EnvironmentRecord, folder: Path, *flags: Flag) -> tuple[FlagValue, ...]:
    install(environment, "flagged", FLAGS)
    (folder / "neutral").mkdir()
    return prove_import(
        "flagged",
        WHEEL,
        environment=environment,
        runner=Runner(environment=base_environment(os.environ)),
        folder=folder / "neutral",
        log=folder / "log",
        flags=flags,
        so="it is not tested",
    )


def test_flags_are_read_where_the_module_was_imported(environment: EnvironmentRecord, tmp_path: Path) -> None:
    wanted: dict[str, bool | int | str] = {"has_attention": False, "LEVEL": 2, "name": "hip", "has_sparse": True}
    found = proved(environment, tmp_path, *(Flag(name=f"flagged.{name}", value=value) for name, value in wanted.items()))
    assert {flag.name.removeprefix("flagged."): flag.value for flag in found} == wanted


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("has_attention", True, "flagged.has_attention is False and should be True"),
        ("has_attention", 0, "flagged.has_attention is False and should be 0"),
        ("has_sparse", False, "flagged.has_sparse is True and should be False"),
        ("name", "cuda", "flagged.name is 'hip' and should be 'cuda'"),
        ("gone", True, "flagged.gone is not there (AttributeError: "),
        ("gone.deeper", True, "flagged.gone.deeper is not there (AttributeError: "),
        ("breaks", True, "flagged.breaks cannot be called (RuntimeError: no device)"),
        ("wants", True, "flagged.wants cannot be called (TypeError: "),
        ("odd.real", 1, "flagged.odd.real is 1.0 and should be 1"),
        ("half", "x", r"flagged.half is '\udc80' and should be 'x'"),
        ("shouts", True, "flagged.shouts cannot be called (RuntimeError: "),
    ],
)
def test_one_that_says_otherwise_is_a_finding_with_both_values(
    environment: EnvironmentRecord,
    tmp_path: Path,
    name: str,
    value: bool | int | str,  # noqa: FBT001 - as recipes have it
    told: str,
) -> None:
    with pytest.raises(HipwrightError) as caught:
        proved(environment, tmp_path, Flag(name="flagged.LEVEL", value=2), Flag(name=f"flagged.{name}", value=value))
    assert caught.value.code.name == "flag-differs"
    assert told in caught.value.message
    assert WHEEL in caught.value.message
    assert "LEVEL" not in caught.value.message


def test_one_that_ends_the_process_proves_nothing(environment: EnvironmentRecord, tmp_path: Path) -> None:
    with pytest.raises(HipwrightError, match="one of them ends the process") as caught:
        proved(environment, tmp_path, Flag(name="flagged.ends", value=True))
    assert caught.value.code.name == "import-failed"


def test_flags_count_on_their_platforms_alone() -> None:
    flags = (Flag(name="a.b", value=True), Flag(name="a.c", value=True, platforms=("linux",)))
    wheel = Wheel(distribution="a", flags=flags)
    assert (wheel.flags_on("linux"), wheel.flags_on("windows")) == (flags, flags[:1])
