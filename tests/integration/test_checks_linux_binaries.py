"""The rules about Linux binaries, on libraries that the machine's compiler made: wheels that break one, and neighbours that break none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from build_tools.checks.demands import Demands
from build_tools.checks.libraries import libraries_of_folder, libraries_of_wheels
from build_tools.checks.run import check_wheels
from build_tools.config.wheel_demands import Check
from build_tools.types import GfxTarget, Platform
from tests.support.hip_objects import bundle, code_object, compressed, section
from tests.support.wheels_of_binaries import binary_wheel, compile_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from build_tools.receipts.check import Finding

_MODULE = "_C.cpython-311-x86_64-linux-gnu.so"
_OURS = {"binaries", "needed-libraries", "run-paths", "symbol-versions", "pe-imports", "device-code", "rocm-major", "binary-tags"}


def _findings(wheel: Path, demands: Demands | None = None) -> list[Finding]:
    report = check_wheels([wheel], expectations=None, say=lambda _: None, demands={wheel.name: demands} if demands else None)
    return [each for each in report.findings if each.severity != "note" and each.rule in _OURS]


def _demands(
    *gfx: str, check: Check | None = None, libraries: Sequence[str] | None = (), packages: Mapping[str, str] | None = None
) -> Demands:
    return Demands(
        platform=Platform.LINUX,
        targets=tuple(map(GfxTarget, gfx)),
        check=check or Check(),
        libraries=None if libraries is None else frozenset(libraries),
        packages=packages,
    )


def _rules(found: Sequence[Finding]) -> list[tuple[str, str, str | None]]:
    return [(each.rule, each.severity, each.member) for each in found]


def test_a_library_beside_is_found_by_the_run_path(tmp_path: Path) -> None:
    module = compile_library(tmp_path, _MODULE, needed=["libinner.so.1"], run_path="$ORIGIN/lib")
    inner = compile_library(tmp_path, "libinner.so.1", run_path="$ORIGIN")
    wheel = binary_wheel({f"demo/{_MODULE}": module, "demo/lib/libinner.so.1": inner})
    assert _findings(wheel.write(tmp_path), _demands()) == []


def test_a_library_in_the_wheel_that_no_run_path_reaches_is_an_error(tmp_path: Path) -> None:
    module = compile_library(tmp_path, _MODULE, needed=["libinner.so.1"], run_path="$ORIGIN")
    inner = compile_library(tmp_path, "libinner.so.1")
    wheel = binary_wheel({f"demo/{_MODULE}": module, "demo/lib/libinner.so.1": inner}).write(tmp_path)
    (found,) = _findings(wheel, _demands())
    assert (found.rule, found.severity, found.member) == ("needed-libraries", "error", f"demo/{_MODULE}")
    assert "demo/lib" in found.message


def test_one_that_whoever_loads_it_has_loaded_before_is_a_warning(tmp_path: Path) -> None:
    module = compile_library(tmp_path, _MODULE, needed=["libone.so", "libtwo.so"], run_path="$ORIGIN:$ORIGIN/lib")
    one = compile_library(tmp_path, "libone.so", needed=["libtwo.so"])
    two = compile_library(tmp_path, "libtwo.so")
    files = {f"demo/{_MODULE}": module, "demo/libone.so": one, "demo/lib/libtwo.so": two}
    found = _findings(binary_wheel(files).write(tmp_path), _demands())
    assert _rules(found) == [("needed-libraries", "warning", "demo/libone.so")]


def test_a_library_that_nobody_brings_is_named_with_who_needs_it(tmp_path: Path) -> None:
    files = {f"demo/lib{name}.so": compile_library(tmp_path, f"lib{name}.so", needed=["libgone.so.3"]) for name in "ab"}
    (found,) = _findings(binary_wheel(files).write(tmp_path), _demands())
    assert (found.rule, found.severity, found.member) == ("needed-libraries", "error", "demo/liba.so")
    assert "libgone.so.3" in found.message
    assert "1 more" in found.message


@pytest.mark.parametrize(
    "demands", [_demands(libraries=["libgone.so.3"]), _demands(check=Check(system_libraries=("libgone.so*",)))]
)
def test_a_required_package_or_the_project_may_vouch_for_a_library(tmp_path: Path, demands: Demands) -> None:
    files = {"demo/liba.so": compile_library(tmp_path, "liba.so", needed=["libgone.so.3"])}
    assert _findings(binary_wheel(files).write(tmp_path), demands) == []


def test_what_required_packages_bring_is_read_from_them(tmp_path: Path) -> None:
    brought = binary_wheel({"demo/lib/libgone.so.3": compile_library(tmp_path, "libgone.so.3")}).write(tmp_path / "other")
    assert libraries_of_wheels([brought]) == {"libgone.so.3"}
    (tmp_path / "site/x").mkdir(parents=True)
    (tmp_path / "site/x/libamdhip64.so.7").touch()
    (tmp_path / "site/x/notes.so.txt").touch()
    assert libraries_of_folder(tmp_path / "site") == {"libamdhip64.so.7"}


def test_without_knowing_what_packages_bring_it_is_a_warning(tmp_path: Path) -> None:
    files = {"demo/liba.so": compile_library(tmp_path, "liba.so", needed=["libtorch.so"])}
    wheel = binary_wheel(files, requires=["torch==2.9.0"]).write(tmp_path)
    assert _rules(_findings(wheel)) == [("needed-libraries", "warning", "demo/liba.so")]
    alone = binary_wheel(files).write(tmp_path / "alone")
    assert _rules(_findings(alone)) == [("needed-libraries", "error", "demo/liba.so")]


@pytest.mark.parametrize("rpath", [True, False])
@pytest.mark.parametrize(
    ("run_path", "says"),
    [
        ("$ORIGIN:/build/lib", "/build/lib"),
        ("$ORIGIN/../../lib", "out of site-packages"),
        ("$ORIGIN:", "empty entry"),
        ("lib", "lib"),
    ],
)
def test_a_run_path_to_elsewhere_is_an_error(tmp_path: Path, run_path: str, says: str, rpath: bool) -> None:  # noqa: FBT001
    library = compile_library(tmp_path, "liba.so", run_path=run_path, rpath=rpath)
    (found,) = _findings(binary_wheel({"demo/liba.so": library}).write(tmp_path), _demands())
    assert (found.rule, found.severity, found.member) == ("run-paths", "error", "demo/liba.so")
    assert says in found.message


@pytest.mark.parametrize(
    "run_path", ["$ORIGIN", "${ORIGIN}/..", "$ORIGIN/../_rocm_sdk_core/lib", "$ORIGIN/lib/../../other", None]
)
def test_a_run_path_inside_of_site_packages_is_right(tmp_path: Path, run_path: str | None) -> None:
    library = compile_library(tmp_path, "liba.so", run_path=run_path)
    assert _findings(binary_wheel({"demo/liba.so": library}).write(tmp_path), _demands()) == []


def test_a_member_of_a_data_folder_is_judged_where_it_will_lie(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so", run_path="$ORIGIN/../other")
    wheel = binary_wheel({"demo-1.0.data/platlib/demo/liba.so": library})
    assert _findings(wheel.write(tmp_path), _demands()) == []


def test_the_kind_of_run_path_is_the_projects_choice(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so", run_path="$ORIGIN")
    wheel = binary_wheel({"demo/liba.so": library}).write(tmp_path)
    assert _rules(_findings(wheel, _demands(check=Check(run_path="rpath")))) == [("run-paths", "error", "demo/liba.so")]
    assert _findings(wheel, _demands(check=Check(run_path="runpath"))) == []


def test_faults_of_what_others_compiled_are_warnings(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so", run_path="/opt/intel/lib")
    wheel = binary_wheel({"demo/liba.so": library}).write(tmp_path)
    assert _rules(_findings(wheel, _demands(check=Check(vendor=("demo/lib?.so",))))) == [("run-paths", "warning", "demo/liba.so")]


_NEW = '__asm__(".symver it,pthread_create@GLIBC_2.34"); int it(void); int other(void) { return it(); }\n'


def test_symbols_of_a_newer_system_than_the_tag_says_are_an_error(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so", source=_NEW)
    old = binary_wheel({"demo/liba.so": library}, tag="cp311-cp311-manylinux_2_28_x86_64").write(tmp_path)
    (found,) = _findings(old, _demands())
    assert (found.rule, found.severity, found.member) == ("symbol-versions", "error", "demo/liba.so")
    assert "GLIBC_2.34" in found.message
    new = binary_wheel({"demo/liba.so": library}, tag="cp311-cp311-manylinux_2_34_x86_64").write(tmp_path)
    assert _findings(new, _demands()) == []
    promised = _findings(new, _demands(check=Check(glibc="2.28")))
    assert _rules(promised) == [("symbol-versions", "error", "demo/liba.so")]
    plain = binary_wheel({"demo/liba.so": library}, tag="cp311-cp311-linux_x86_64").write(tmp_path)
    assert _findings(plain, _demands()) == []


def test_the_achieved_tag_is_noted_apart_for_what_others_compiled(tmp_path: Path) -> None:
    files = {
        "demo/liba.so": compile_library(tmp_path, "liba.so"),
        "demo/libv.so": compile_library(tmp_path, "libv.so", source=_NEW),
    }
    wheel = binary_wheel(files).write(tmp_path)
    report = check_wheels(
        [wheel], expectations=None, say=lambda _: None, demands={wheel.name: _demands(check=Check(vendor=("*v.so",)))}
    )
    (note,) = [each.message for each in report.findings if each.rule == "symbol-versions"]
    assert "manylinux_2_17_x86_64" in note
    assert "manylinux_2_34_x86_64" in note


def test_a_binary_for_another_processor_is_an_error(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so")
    wheel = binary_wheel({"demo/liba.so": library}, tag="cp311-cp311-manylinux_2_39_aarch64").write(tmp_path)
    assert "binary-tags" in {each.rule for each in _findings(wheel, _demands())}


@pytest.mark.parametrize("data", [b"\x7fELF", b"not a library: a link that became a file\n", b""])
def test_what_is_named_like_a_library_must_be_one(tmp_path: Path, data: bytes) -> None:
    found = _findings(binary_wheel({"demo/liba.so": data}).write(tmp_path), _demands())
    assert _rules(found) == [("binaries", "error", "demo/liba.so")]


def test_exactly_the_targets_that_were_asked_for_pass(tmp_path: Path) -> None:
    code = section(bundle(["gfx942", "gfx1201"]), compressed(bundle(["gfx942:xnack+", "gfx1201"])))
    library = compile_library(tmp_path, "liba.so", code=code)
    wheel = binary_wheel({"demo/liba.so": library, "demo/libhost.so": compile_library(tmp_path, "libhost.so")}).write(tmp_path)
    assert _findings(wheel, _demands("gfx942", "gfx1201", check=Check(device_code=("demo/liba.so",)))) == []


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (("gfx942", "gfx1201", "gfx90a"), "no code for gfx90a"),
        (("gfx942",), "gfx1201, which nobody asked for"),
        (("gfx1200", "gfx942", "gfx1201"), "gfx1200"),
    ],
)
def test_a_target_too_few_or_too_many_is_an_error(tmp_path: Path, asked: Sequence[str], says: str) -> None:
    library = compile_library(tmp_path, "liba.so", code=section(bundle(["gfx942", "gfx1201"])))
    (found,) = _findings(binary_wheel({"demo/liba.so": library}).write(tmp_path), _demands(*asked))
    assert (found.rule, found.severity, found.member) == ("device-code", "error", "demo/liba.so")
    assert says in found.message


def test_a_part_that_was_not_compiled_for_all_targets_is_a_warning(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so", code=section(bundle(["gfx942", "gfx1201"]), bundle(["gfx942"])))
    (found,) = _findings(binary_wheel({"demo/liba.so": library}).write(tmp_path), _demands("gfx942", "gfx1201"))
    assert (found.rule, found.severity) == ("device-code", "warning")
    assert "1 of its 2 parts" in found.message


def test_a_library_that_should_have_code_and_has_none_is_an_error(tmp_path: Path) -> None:
    wheel = binary_wheel({"demo/_C.abi3.so": compile_library(tmp_path, "_C.abi3.so")}).write(tmp_path)
    (found,) = _findings(wheel, _demands("gfx942", check=Check(device_code=("demo/_C*.so",))))
    assert (found.rule, found.severity, found.member) == ("device-code", "error", "demo/_C.abi3.so")
    (gone,) = _findings(wheel, _demands("gfx942", check=Check(device_code=("demo/other.so",))))
    assert (gone.rule, gone.severity, gone.member) == ("device-code", "error", "demo/other.so")


def test_damaged_code_is_told(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so", code=section(bundle(["gfx942"])) + b"rubbish")
    found = _findings(binary_wheel({"demo/liba.so": library}).write(tmp_path), _demands("gfx942"))
    assert _rules(found) == [("binaries", "error", "demo/liba.so")]


def test_code_objects_and_data_bases_are_judged_by_folder(tmp_path: Path) -> None:
    names = {"k_gfx942.hsaco": code_object("gfx942"), "k_gfx1201.hsaco": code_object("gfx1201")}
    files = {f"demo/library/{name}": data for name, data in names.items()}
    files |= {"demo/blas/TensileLibrary_lazy_gfx942.dat": b"x", "demo/blas/TensileLibrary_lazy_gfx1201.dat": b"x"}
    wheel = binary_wheel(files).write(tmp_path)
    assert _findings(wheel, _demands("gfx942", "gfx1201")) == []
    found = _findings(wheel, _demands("gfx942", "gfx90a"))
    assert {(each.rule, each.severity, each.member) for each in found} == {
        ("device-code", "error", "demo/library"),
        ("device-code", "error", "demo/blas"),
    }


def test_a_code_object_under_the_name_of_another_target_is_an_error(tmp_path: Path) -> None:
    files = {"demo/k_gfx942.hsaco": code_object("gfx1201"), "demo/k_gfx90a.co": code_object("gfx942")}
    found = _findings(binary_wheel(files).write(tmp_path), _demands("gfx942", "gfx1201"))
    assert {each.member for each in found if "its name says" in each.message} == {"demo/k_gfx942.hsaco", "demo/k_gfx90a.co"}


def test_the_hip_runtime_is_of_the_stated_rocm(tmp_path: Path) -> None:
    library = compile_library(tmp_path, "liba.so", needed=["libamdhip64.so.6"])
    libraries = ["libamdhip64.so.6"]
    right = binary_wheel({"demo/liba.so": library}, version="1.0+rocm6.4.1", requires=["rocm[libraries]==6.4.1"]).write(tmp_path)
    assert _findings(right, _demands(libraries=libraries, packages={"rocm": "6.4.1"})) == []
    local = binary_wheel({"demo/liba.so": library}, version="1.0+rocm7.10.0").write(tmp_path)
    dev = binary_wheel({"demo/liba.so": library}, version="1.0+git0a1b2c3d.devrocm7.10.0").write(tmp_path)
    pinned = binary_wheel({"demo/liba.so": library}, requires=["rocm-sdk-core==7.10.0a1"]).write(tmp_path)
    for wheel, packages in ((local, None), (dev, None), (pinned, None), (right, {"rocm": "7.10.0"})):
        found = _findings(wheel, _demands(libraries=libraries, packages=packages))
        assert _rules(found) == [("rocm-major", "error", "demo/liba.so")], wheel


def test_two_hip_runtimes_in_one_wheel_are_an_error(tmp_path: Path) -> None:
    files = {
        f"demo/lib{major}.so": compile_library(tmp_path, f"lib{major}.so", needed=[f"libamdhip64.so.{major}"]) for major in (6, 7)
    }
    found = _findings(binary_wheel(files).write(tmp_path), _demands(libraries=["libamdhip64.so.6", "libamdhip64.so.7"]))
    assert _rules(found) == [("rocm-major", "error", None)]
