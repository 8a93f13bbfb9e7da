from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_tools.builds.developer_prompt import (
    Captured,
    Installation,
    VisualStudio,
    added_by,
    choose_installation,
    first_words,
    is_prompt,
    open_prompt,
    parse_installations,
    read_capture,
    refuse_prompt,
    value_of,
)
from build_tools.errors import HipwrightError

MARK = "HIPWRIGHT_MARK-0123456789abcdef:"

TOLD = r"""[
  {
    "instanceId": "a1b2c3d4",
    "installDate": "2025-03-01T10:00:00Z",
    "installationName": "VisualStudio/17.14.9+36327.8",
    "installationPath": "C:\\Program Files (x86)\\Microsoft Visual Studio\\2022\\BuildTools",
    "installationVersion": "17.14.36327.8",
    "productId": "Microsoft.VisualStudio.Product.BuildTools",
    "isComplete": true,
    "isLaunchable": true,
    "isPrerelease": false,
    "displayName": "Visual Studio Build Tools 2022",
    "catalog": { "productDisplayVersion": "17.14.9", "productLineVersion": "2022" }
  },
  {
    "installationPath": "D:\\VS\\18\\Insiders",
    "installationVersion": "18.11.12301.12",
    "isPrerelease": true,
    "displayName": "Visual Studio Community 2026 Insiders",
    "description": "Leistungsf\u00e4hige IDE für Teams"
  }
]
""".encode()
"""As vswhere prints it: Build Tools, and a preview without a catalogue."""

BUILD_TOOLS = Installation(
    folder=r"C:\Program Files (x86)\Microsoft Visual Studio\2022\BuildTools",
    name="Visual Studio Build Tools 2022",
    version="17.14.9",
)
X64 = {
    "VSCMD_ARG_TGT_ARCH": "x64",
    "VCToolsVersion": "14.44.35207",
    "VCINSTALLDIR": "C:\\vc\\",
    "INCLUDE": "C:\\i",
    "LIB": "C:\\l",
}

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="="), min_size=1, max_size=8)
VALUES = st.text(max_size=20)
ENVIRONMENTS = st.dictionaries(NAMES, VALUES, max_size=5)


def captured(before: dict[str, str], after: dict[str, str]) -> Captured:
    return Captured(before=before, after=after, words=())


def test_installations_are_read_and_the_newest_that_is_no_preview_counts() -> None:
    found = parse_installations(TOLD)
    assert found[0] == BUILD_TOOLS
    assert found[1] == Installation(
        folder=r"D:\VS\18\Insiders", name="Visual Studio Community 2026 Insiders", version="18.11.12301.12", preview=True
    )
    assert choose_installation(found) == BUILD_TOOLS
    assert choose_installation(found[1:]) == found[1]
    assert str(BUILD_TOOLS) == f"Visual Studio Build Tools 2022 17.14.9 in {BUILD_TOOLS.folder}"


def test_of_two_installations_the_newer_counts_by_number_and_not_by_text() -> None:
    old, new = (Installation(folder=name, name=name, version=name) for name in ("17.9.1", "17.14.9"))
    assert choose_installation((new, old)) == choose_installation((old, new)) == new


@pytest.mark.parametrize("output", [b"[]", b"", b"\xef\xbb\xbf[]\r\n"])
def test_no_installation_is_none_and_no_error(output: bytes) -> None:
    assert parse_installations(output) == ()
    assert choose_installation(()) is None


@pytest.mark.parametrize("output", [b"Error 0x57: unknown", b'{"a": 1}', b"[1]", b'[{"installationPath": ""}]', b"\xff\xfe"])
def test_what_is_no_list_of_installations_is_told_with_its_words(output: bytes) -> None:
    with pytest.raises(HipwrightError, match="cannot be read") as caught:
        parse_installations(output)
    assert caught.value.code.name == "no-compiler"
    assert caught.value.hint


@settings(deadline=None)
@given(ENVIRONMENTS, ENVIRONMENTS, st.binary(max_size=40), st.binary(max_size=40))
def test_environments_come_back_whatever_is_in_them_and_around_them(
    before: dict[str, str], after: dict[str, str], noise: bytes, errors: bytes
) -> None:
    lines = [MARK.encode() + json.dumps(values).encode() for values in (before, after)]
    output = lines[0] + b"\r\n" + noise + b"\r\n" + lines[1] + b"\r\n"
    found = read_capture(output, errors, mark=MARK)
    assert (found.before, found.after) == (before, after)


def test_a_line_that_the_batch_file_left_open_is_no_harm() -> None:
    output = MARK.encode() + b"{}\n\xa9 half a line" + MARK.encode() + b'{"A": "1"}\n'
    assert read_capture(output, b"oops\n", mark=MARK) == Captured(
        before={}, after={"A": "1"}, words=("\ufffd half a line", "oops")
    )


@pytest.mark.parametrize(
    "told", [b"", b"{}", b"{}\n" + MARK.encode() + b"{", b"{}\n" + MARK.encode() + b"[]", b"{}\n" + MARK.encode() + b'{"a": 1}']
)
def test_less_than_two_whole_environments_are_refused_with_the_batch_file_s_words(told: bytes) -> None:
    output = b"[vcvarsall.bat] hello\n[ERROR:vcvarsall.bat] Invalid argument found : x46\n" + MARK.encode() + told + b"\n"
    with pytest.raises(HipwrightError, match="could not be read") as caught:
        read_capture(output, b"", mark=MARK)
    assert caught.value.excerpt == "[ERROR:vcvarsall.bat] Invalid argument found : x46"


def test_without_a_named_error_the_last_words_are_shown() -> None:
    assert first_words(tuple("abcdefgh")) == "c\nd\ne\nf\ng\nh"
    assert first_words(()) is None


@settings(deadline=None)
@given(ENVIRONMENTS, ENVIRONMENTS)
def test_the_environment_before_with_what_was_added_is_the_one_after(before: dict[str, str], changes: dict[str, str]) -> None:
    after = {**before, **changes}
    variables, _ = added_by(captured(before, after))
    for name, value in after.items():
        hidden = (
            name.upper() in {"_", "PATH", "PROMPT", "SHLVL"} or name.upper().startswith(("__", "HIPWRIGHT_")) or not name.upper()
        )
        old = {key.upper(): known for key, known in before.items()}.get(name.upper())
        assert variables.get(name) == (None if hidden or not value or value == old else value)
    assert variables.keys() <= after.keys()


def test_what_visual_studio_adds_is_told_apart_from_what_was_there() -> None:
    before = {"Path": r"C:\Windows;C:\Windows\system32\;D:\tools", "TEMP": "C:\\t", "Include": "stray"}
    after = {
        **before,
        "PATH": "C:\\VC\\bin\\Hostx64\\x64;C:\\Kits\\bin\\;c:\\windows\\SYSTEM32;;C:\\VC\\bin\\HostX64\\x64\\;C:\\Windows;D:\\tools",
        "INCLUDE": "C:\\VC\\include",
        "VSCMD_VER": "17.14.9",
        "__VSCMD_PREINIT_PATH": before["Path"],
        "HIPWRIGHT_MARK": "x",
        "PROMPT": "$P$G",
        "=C:": "C:\\",
        "EMPTY": "",
    }
    del after["Path"], after["Include"]
    variables, path = added_by(captured(before, after))
    assert variables == {"INCLUDE": "C:\\VC\\include", "VSCMD_VER": "17.14.9"}
    assert path == ("C:\\VC\\bin\\Hostx64\\x64", "C:\\Kits\\bin\\")


@pytest.mark.parametrize("name", ["VCTOOLSINSTALLDIR", "VCToolsInstallDir", "vctoolsinstalldir"])
def test_a_developer_prompt_is_known_by_what_compilers_need(name: str) -> None:
    whole = {name: "x", "Include": "i", "LIB": "l"}
    assert is_prompt({**whole, "PATH": "p"})
    for lacking in whole:
        assert not is_prompt({**whole, lacking: "", "VSCMD_VER": "17", "VCINSTALLDIR": "left over"})


def test_a_prompt_that_is_open_is_taken_as_it_is() -> None:
    machine = {**X64, "VSCMD_VER": "17.14.9", "Path": "C:\\Windows", "USERNAME": "jo", "LIBPATH": ""}
    found = open_prompt(machine)
    assert found.variables == {**X64, "VSCMD_VER": "17.14.9", "DISTUTILS_USE_SDK": "1"}
    assert found.path == ()
    assert found.about == "the developer prompt of Visual Studio 17.14.9 with tools 14.44.35207 in C:\\vc\\"


def test_what_it_sets_is_laid_over_an_environment() -> None:
    studio = VisualStudio(about="it", variables={"INCLUDE": "new"}, path=("C:\\bin",))
    whole = studio.laid_over({"Path": "C:\\Windows", "INCLUDE": "old", "TEMP": "t"})
    assert whole == {"INCLUDE": "new", "TEMP": "t", "PATH": "C:\\bin;C:\\Windows"}
    assert studio.laid_over({})["PATH"] == "C:\\bin"


@pytest.mark.parametrize("target", ["x64", "X64", "amd64", ""])
def test_what_compiles_for_us_and_is_new_enough_passes(target: str) -> None:
    refuse_prompt({**X64, "VSCMD_ARG_TGT_ARCH": target}, "it", architecture="x64", least_tools="14.29")
    refuse_prompt({"VCToolsVersion": "14.29.30133"}, "it", architecture="x64", least_tools="14.29")
    refuse_prompt({"VCINSTALLDIR": "C:\\by-hand"}, "it", architecture="x64", least_tools="14.29")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"VSCMD_ARG_TGT_ARCH": "x86"}, "the prompt compiles for x86, and wheels are built for x64"),
        ({"VSCMD_ARG_TGT_ARCH": "arm64"}, "compiles for arm64"),
        ({"VCToolsVersion": "14.16.27023"}, r"the C\+\+ tools 14\.16\.27023 of the prompt are too old: 14\.29"),
        ({"VCToolsVersion": "9.99"}, "too old"),
    ],
)
def test_what_compiles_for_others_or_is_too_old_is_refused(changes: dict[str, str], words: str) -> None:
    with pytest.raises(HipwrightError, match=words) as caught:
        refuse_prompt({**X64, **changes}, "the prompt", architecture="x64", least_tools="14.29")
    assert caught.value.code.name == "no-compiler"
    assert caught.value.hint


def test_names_have_no_case() -> None:
    assert value_of({"Path": "a"}, "PATH") == value_of({"PATH": "a"}, "Path") == "a"
    assert value_of({}, "PATH") == ""
