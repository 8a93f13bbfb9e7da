from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_tools.config.channels import load_channels
from build_tools.errors import HipwrightError
from build_tools.options.commands import COMMANDS, PROJECT_COMMANDS, Command
from build_tools.options.model import OPTIONS
from build_tools.options.render import to_arguments
from build_tools.options.resolve import Resolved, resolve
from build_tools.types import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROJECTS = ("pytorch", "sample", "torch-spline-conv")
BUILD = PROJECT_COMMANDS["build"]
PIPELINE = COMMANDS["pipeline"]


def read(
    command: Command, arguments: Sequence[str], environment: Mapping[str, str] | None = None, clone: Path = Path("/clone")
) -> Resolved:
    return resolve(command, arguments, environment=environment or {}, typed_in=Path("/typed"), clone=clone, projects=PROJECTS)


def refused(command: Command, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> HipwrightError:
    with pytest.raises(HipwrightError) as caught:
        read(command, arguments, environment)
    return caught.value


def test_defaults_come_from_nobody() -> None:
    resolved = read(BUILD, [])
    assert resolved.settings.work_dir == Path("/clone/.work")
    assert resolved.origin("work_dir") == "default"
    assert resolved.settings.wait


def test_the_command_line_comes_before_the_environment_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "hipwright.toml").write_text('run-id = "file"\nstore = "out"\nno-wait = true\n', encoding="utf-8")
    environment = {"HIPWRIGHT_RUN_ID": "environment", "HIPWRIGHT_JOBS": "3"}
    resolved = read(PIPELINE, ["--run-id", "typed"], environment, tmp_path)
    assert (resolved.settings.run_id, resolved.origin("run_id")) == ("typed", "command line --run-id")
    assert (resolved.settings.jobs, resolved.origin("jobs")) == (3, "environment HIPWRIGHT_JOBS")
    assert (resolved.settings.store, resolved.origin("store")) == (str(tmp_path / "out"), "hipwright.toml:2")
    assert not resolved.settings.wait
    assert read(PIPELINE, [], environment, tmp_path).settings.run_id == "environment"
    assert read(PIPELINE, [], {}, tmp_path).settings.run_id == "file"


def test_paths_are_relative_to_where_they_were_given_and_urls_stay() -> None:
    arguments = ["--work-dir", "w", "--rocm-find-links", "a b", "--rocm-find-links", "https://host.invalid/x+y/"]
    settings = read(PIPELINE, arguments, {"HIPWRIGHT_STORE": "s"}).settings
    assert settings.work_dir == Path("/typed/w")
    assert settings.rocm_find_links == ("/typed/a b", "https://host.invalid/x+y/")
    assert settings.store == "/typed/s"
    assert read(BUILD, ["--pytorch-origin", "git@host.invalid:o/r.git"]).settings.origin == {
        "pytorch": "git@host.invalid:o/r.git"
    }


def test_options_of_a_project_bear_its_name() -> None:
    resolved = read(BUILD, ["--torch-spline-conv-ref", "main", "--pytorch-ref=nightly"])
    assert resolved.settings.ref == {"torch-spline-conv": "main", "pytorch": "nightly"}
    assert read(BUILD, [], {"HIPWRIGHT_TORCH_SPLINE_CONV_REF": "x"}).settings.ref == {"torch-spline-conv": "x"}


def test_the_environment_speaks_of_the_one_project_without_its_name() -> None:
    environment = {"HIPWRIGHT_PROJECTS": "torch-spline-conv", "HIPWRIGHT_PROJECT_REF": "v1", "HIPWRIGHT_PROJECT_ORIGIN": ""}
    resolved = read(PIPELINE, [], environment)
    assert resolved.settings.ref == {"torch-spline-conv": "v1"}
    assert resolved.settings.origin == {}
    assert resolved.origin("ref.torch-spline-conv") == "environment HIPWRIGHT_PROJECT_REF"
    assert read(PIPELINE, ["--torch-spline-conv-ref", "v2"], environment).settings.ref == {"torch-spline-conv": "v2"}
    error = refused(PIPELINE, [], {**environment, "HIPWRIGHT_TORCH_SPLINE_CONV_REF": "v2"})
    assert error.code.name == "option-conflict"
    for projects in ("", "sample,pytorch"):
        error = refused(PIPELINE, [], {**environment, "HIPWRIGHT_PROJECTS": projects})
        assert error.code.name == "bad-option-value"
        assert (
            f"HIPWRIGHT_PROJECT_REF speaks of the one project that HIPWRIGHT_PROJECTS names, and that names {projects or 'none'}"
            in (error.message)
        )


def test_names_that_systems_use_today_are_read_as_aliases() -> None:
    resolved = read(BUILD, [], {"PYTORCH_ROCM_ARCH": "gfx90a;gfx942", "RELEASE_TYPE": "dev"})
    assert resolved.settings.gfx == ("gfx90a", "gfx942")
    assert resolved.origin("gfx") == "environment PYTORCH_ROCM_ARCH"
    assert resolved.settings.release_type == "dev"
    assert read(BUILD, ["--target", "gfx1100"]).settings.gfx == ("gfx1100",)


def test_the_options_of_today_s_set_up_script_are_other_ways_to_say_ours() -> None:
    command = COMMANDS["setup_venv"]
    arguments = ["--use-uv", "--disable-cache", "--install-retry-timeout-seconds", "180"]
    resolved = read(command, [*arguments, "--install-retry-wait-between-seconds=15"])
    settings = resolved.settings
    assert (settings.installer, settings.disable_cache, settings.timeout, settings.wait_between) == ("uv", True, 180, 15)
    ours = ["--installer", "uv", "--disable-cache", "--timeout", "180", "--wait-between", "15"]
    assert read(command, ours).settings == settings
    again = to_arguments(resolved, command, project=None)
    assert "--use-uv" not in again
    assert read(command, again).settings == settings


def test_the_options_of_today_s_fetching_script_are_other_ways_to_say_ours() -> None:
    command = COMMANDS["fetch_artifacts"]
    settings = read(command, ["--run-github-repo", "ROCm/TheRock", "--amdgpu-targets", "gfx942,gfx1201"]).settings
    assert (settings.repository, settings.gfx) == ("ROCm/TheRock", ("gfx942", "gfx1201"))
    assert read(command, ["--repository", "ROCm/TheRock", "--gfx", "gfx942,gfx1201"]).settings == settings


@pytest.mark.parametrize("command", [COMMANDS["setup_venv"], COMMANDS["test_rocm"], COMMANDS["lock"], BUILD, PIPELINE])
def test_how_often_to_look_is_said_wherever_packages_are_waited_for(command: Command) -> None:
    settings = read(command, ["--timeout", "60", "--wait-between", "5"]).settings
    assert (settings.timeout, settings.wait_between) == (60, 5)


@pytest.mark.parametrize("flag", ["--index-url", "--rocm-index-url"])
def test_an_empty_index_names_the_setting_that_means_none(flag: str) -> None:
    error = refused(COMMANDS["setup_venv"], [flag, ""])
    assert error.code.name == "bad-option-value"
    assert "PIP_NO_INDEX=1" in (error.hint or "")


def test_a_flag_that_stands_for_a_value_contradicts_another_value() -> None:
    command = COMMANDS["setup_venv"]
    assert read(command, ["--use-uv", "--installer", "uv"]).settings.installer == "uv"
    error = refused(command, ["--use-uv", "--installer", "pip"])
    assert (error.code.name, error.message) == ("option-conflict", "--installer is given twice, as 'uv' and 'pip'")
    assert read(command, ["--use-uv"], {"HIPWRIGHT_INSTALLER": "pip"}).settings.installer == "uv"


def test_a_higher_level_overrules_another_way_of_saying_the_same() -> None:
    resolved = read(BUILD, ["--gpu-family", "gfx94X-dcgpu"], {"PYTORCH_ROCM_ARCH": "gfx90a"})
    assert resolved.settings.gpu_family == "gfx94X-dcgpu"
    assert resolved.settings.gfx == ()


def test_stages_are_parsed() -> None:
    settings = read(PIPELINE, ["--until", "build", "--force", "check,test", "--force", "build"]).settings
    assert settings.until is Stage.BUILD
    assert settings.force == (Stage.CHECK, Stage.TEST, Stage.BUILD)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--pytroch-ref", "x"], "unknown-option", "--pytorch-ref"),
        (["--projetcs", "x"], "unknown-option", "--projects"),
        (["--projects", "smaple"], "unknown-project", "sample"),
        (["--nonsense-ref", "x"], "unknown-option", "nonsense"),
        (["--until", "biuld"], "unknown-stage", "build"),
        (["--force", "build,nothing"], "unknown-stage", "nothing"),
        (["--release-type", "relaese"], "bad-option-value", "release"),
        (["--jobs", "many"], "bad-option-value", "many"),
        (["--jobs", "0"], "bad-option-value", "0"),
        (["--depth", "2147483648"], "bad-option-value", "from 1 to 2147483647"),
        (["--depth", "9" * 5000], "bad-option-value", "from 1 to 2147483647"),
        (["--jobs"], "bad-option-value", "expected one argument"),
        (["--projects", ","], "bad-option-value", "nothing"),
        (["--run-id", ""], "bad-option-value", "empty"),
        (["stray"], "unknown-option", "stray"),
        (["--run-id=--"], "bad-option-value", "'--'"),
        (["--gfx", "gfx942", "--gpu-family", "gfx94X-dcgpu"], "option-conflict", "GPU targets"),
        (["--rocm-find-links", "a", "--rocm-index-url", "b"], "option-conflict", "source of the ROCm packages"),
        (["--run-id", "a", "--run-id", "b"], "option-conflict", "twice"),
        (["--tier", "ci"], "unknown-option", "pipeline does not take --tier"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_options_name_themselves_and_what_is_near(arguments: list[str], code: str, words: str) -> None:
    error = refused(PIPELINE, arguments)
    assert error.code.name == code
    assert words in f"{error.message} {error.hint}"


def test_two_environment_names_that_disagree_are_refused() -> None:
    error = refused(BUILD, [], {"HIPWRIGHT_GFX": "gfx90a", "PYTORCH_ROCM_ARCH": "gfx942"})
    assert error.code.name == "option-conflict"


def test_a_variable_holds_several_places_parted_by_blanks_before_an_address() -> None:
    places = "https://a.example/x.html https://b.example/y.html\nfile:///with blanks/z"
    found = read(PIPELINE, [], {"HIPWRIGHT_FIND_LINKS": places}).settings.find_links
    assert found == ("https://a.example/x.html", "https://b.example/y.html", "file:///with blanks/z")
    (one,) = read(PIPELINE, [], {"HIPWRIGHT_FIND_LINKS": "/with blanks/z"}).settings.find_links
    assert one.endswith(("with blanks/z", "with blanks\\z"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("run_id = 'x'", "run-id"),
        ("jobs = true", "integer"),
        ("no-wait = 'yes'", "true or false"),
        ("run-id = ['a', 'b']", "not ['a', 'b']"),
        ("run-id = ", "TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "hipwright.toml").write_text(f"# settings\n{text}\n", encoding="utf-8")
    with pytest.raises(HipwrightError) as caught:
        read(PIPELINE, [], {}, tmp_path)
    assert caught.value.code.name == "bad-data-file"
    assert words in f"{caught.value.message} {caught.value.hint}"


def test_every_option_is_taken_by_a_command_and_every_name_of_a_command_exists() -> None:
    taken = {name for command in (*COMMANDS.values(), *PROJECT_COMMANDS.values()) for name in command.option_names}
    assert taken == set(OPTIONS)


def test_environment_names_are_distinct() -> None:
    names = [name for option in OPTIONS.values() for name in (option.environment, *option.other_environment)]
    assert len(names) == len(set(names))


texts = st.text(
    st.characters(codec="utf-8", exclude_characters=",\0", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
).filter(lambda text: text.strip() == text and text not in {"", "--"})


@given(run_id=texts, ref=texts, families=st.booleans(), targets=st.lists(texts, min_size=1, max_size=3), wait=st.booleans())
def test_settings_rendered_as_arguments_read_back_as_the_same(
    *, run_id: str, ref: str, families: bool, targets: list[str], wait: bool
) -> None:
    arguments = [f"--run-id={run_id}", f"--pytorch-ref={ref}"]
    arguments += [f"--gpu-family={targets[0]}"] if families else [f"--gfx={','.join(targets)}"]
    arguments += [] if wait else ["--no-wait"]
    first = read(PIPELINE, arguments)
    again = read(PIPELINE, to_arguments(first, PIPELINE, project=None))
    assert again.settings == first.settings


def test_off_at_a_higher_level_beats_on_at_a_lower_one(tmp_path: Path) -> None:
    (tmp_path / "hipwright.toml").write_text("verify = true\nno-wait = true\n", encoding="utf-8")
    assert read(PIPELINE, [], {}, tmp_path).settings.verify
    resolved = read(PIPELINE, [], {"HIPWRIGHT_VERIFY": "0", "HIPWRIGHT_NO_WAIT": "off"}, tmp_path)
    assert not resolved.settings.verify
    assert resolved.settings.wait
    assert resolved.origin("verify") == "environment HIPWRIGHT_VERIFY"
    assert to_arguments(resolved, PIPELINE, project=None) == []
    (tmp_path / "hipwright.toml").write_text("verify = false\n", encoding="utf-8")
    assert read(PIPELINE, [], {}, tmp_path).origin("verify") == "hipwright.toml:1"


def test_an_environment_name_like_ours_that_is_none_is_refused() -> None:
    for name, near in (("HIPWRIGHT_WORKDIR", "HIPWRIGHT_WORK_DIR"), ("HIPWRIGHT_PYTORCH_RFE", "HIPWRIGHT_PYTORCH_REF")):
        error = refused(PIPELINE, [], {name: "x"})
        assert error.code.name == "unknown-option"
        assert name in error.message
        assert near in str(error.hint)
    read(PIPELINE, [], {"HIPWRIGHT_TEST_INPUTS": "x"})


def test_aliases_that_say_the_same_in_their_own_form_do_not_disagree() -> None:
    resolved = read(BUILD, [], {"HIPWRIGHT_GFX": "gfx942,gfx1100", "PYTORCH_ROCM_ARCH": "gfx942;gfx1100"})
    assert resolved.settings.gfx == ("gfx942", "gfx1100")


def test_a_settings_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hipwright.toml").write_bytes(b"run-id = '\xff'\n")
    with pytest.raises(HipwrightError) as caught:
        read(PIPELINE, [], {}, tmp_path)
    assert caught.value.code.name == "bad-data-file"


def test_plain_arguments_may_stand_between_options() -> None:
    settings = read(COMMANDS["check_wheels"], ["a.whl", "--json", "b/"]).settings
    assert settings.paths == (Path("/typed/a.whl"), Path("/typed/b"))
    assert settings.json


def test_release_types_are_those_of_the_channel_table() -> None:
    assert OPTIONS["release-type"].choices == tuple(row.name for row in load_channels().release_type)


@pytest.mark.parametrize("text", ["n", "none", "banana", "2", ""])
def test_a_flag_in_the_environment_is_yes_or_no_and_nothing_else(text: str) -> None:
    if text:
        assert "yes or no" in refused(PIPELINE, [], {"HIPWRIGHT_DISCARD_LOCAL": text}).message
    else:
        assert not read(PIPELINE, [], {"HIPWRIGHT_DISCARD_LOCAL": text}).settings.discard_local


@pytest.mark.parametrize("flag", ["--work-dir", "--cache-dir", "--store", "--sample-origin", "--rocm-find-links", "--lock"])
def test_an_empty_path_is_not_the_current_folder(flag: str) -> None:
    assert "is empty" in refused(PIPELINE, [flag, ""]).message


def test_a_path_that_is_no_text_is_refused_before_anything_is_written() -> None:
    assert "UTF-8" in refused(PIPELINE, ["--work-dir", "bad\udcff"]).message


def test_a_wrong_value_names_where_it_came_from() -> None:
    assert refused(PIPELINE, [], {"RELEASE_TYPE": "bogus"}).message == "environment RELEASE_TYPE does not take 'bogus'"
    assert refused(PIPELINE, ["--projects", "../sample"]).message == "there is no project '../sample'"
    assert read(PIPELINE, ["--python", "bin/python3,3.12"]).settings.python == ("/typed/bin/python3", "3.12")


def test_what_is_said_of_one_project_is_written_back_whatever_kind_it_is() -> None:
    words = ["--sample-dir", "/trees/sample", "--sample-submodule-url", "a=https://host.example/a,b=/srv/b", "--sample-ref", "-x"]
    first = read(PIPELINE, [*words[:-2], "--sample-ref=-x"])
    again = read(PIPELINE, to_arguments(first, PIPELINE, project="sample"))
    assert again.settings == first.settings
    assert again.settings.dir == {"sample": Path("/trees/sample")}
    assert again.settings.submodule_url == {"sample": ("a=https://host.example/a", "b=/srv/b")}


@pytest.mark.parametrize("url", ["https://me:secret/word@host.invalid/x", "https://me:secret word@host.invalid/x"])
@pytest.mark.parametrize("level", ["typed", "twice", "environment", "file"])
def test_an_address_whose_password_could_not_be_hidden_is_refused_without_repeating_it(
    tmp_path: Path, url: str, level: str
) -> None:
    for name, command, text in (
        ("--pytorch-origin", BUILD, url),
        ("--pytorch-submodule-url", BUILD, f"third_party/x={url}"),
        ("--rocm-find-links", PIPELINE, url),
        ("--rocm-index-url", PIPELINE, url),
        ("--from-receipt", PIPELINE, url),
    ):
        arguments: list[str] = []
        environment = {}
        (tmp_path / "hipwright.toml").unlink(missing_ok=True)
        if level in {"typed", "twice"}:
            arguments = [name, text, *([name, "https://other.invalid/"] if level == "twice" else [])]
        elif level == "environment":
            environment = {f"HIPWRIGHT_{name[2:].upper().replace('-', '_')}": text}
        else:
            (tmp_path / "hipwright.toml").write_text(f'{name[2:]} = "{text}"\n', encoding="utf-8")
        with pytest.raises(HipwrightError) as caught:
            read(command, arguments, environment, tmp_path)
        assert caught.value.code.name == "bad-option-value"
        assert "secret" not in f"{caught.value.message} {caught.value.hint}"
        assert "word" not in caught.value.message.replace("password", "")
        assert "%2F" in str(caught.value.hint)


def test_requirements_are_parted_by_blanks_and_each_is_one() -> None:
    command = COMMANDS["setup_venv"]
    resolved = read(command, ["--packages", "rocm[libraries,devel]==7.1  numpy<3", "--packages", "sympy"])
    assert resolved.settings.packages == ("rocm[libraries,devel]==7.1", "numpy<3", "sympy")
    assert read(command, to_arguments(resolved, command, project=None)).settings == resolved.settings
    assert "'no,thing' is no requirement" in refused(command, ["--packages", "numpy no,thing"]).message
    assert "names nothing" in refused(command, ["--packages", "  "]).message


def test_patterns_are_regular_expressions() -> None:
    command = COMMANDS["fetch_artifacts"]
    settings = read(command, ["--include", "^blas_", "--include", "a,b"]).settings
    assert settings.include == ("^blas_", "a,b")
    assert "--exclude is no regular expression" in refused(command, ["--exclude", "("]).message
    assert "is empty" in refused(command, ["--include", ""]).message


@pytest.mark.parametrize("text", ["s3:/bucket/runs", "s3:bucket", "http:/host.invalid/x", "HTTPS:host.invalid", "file:runs"])
def test_an_address_without_its_slashes_is_no_folder(text: str) -> None:
    error = refused(PIPELINE, ["--store", text])
    assert error.code.name == "bad-option-value"
    assert "command line --store begins with" in error.message


def test_a_file_address_may_have_one_slash_and_a_folder_any_name() -> None:
    assert read(PIPELINE, ["--store", "file:/a/b"]).settings.store == "file:///a/b"
    assert Path(read(PIPELINE, ["--store", "./s3:x"]).settings.store or "").name == "s3:x"


def test_a_location_may_be_a_word_of_its_own() -> None:
    command = COMMANDS["doctor"]
    assert read(command, ["--rocm-path", "env"]).settings.rocm_path == "env"
    assert Path(read(command, ["--rocm-path", "./env"]).settings.rocm_path or "").is_absolute()


@pytest.mark.parametrize("from_where", ["command line", "environment"])
def test_a_variable_that_is_no_text_is_refused_and_named(from_where: str) -> None:
    odd = b"ODD=\xff".decode("utf-8", "surrogateescape")
    given = (["--build-env", odd], {}) if from_where == "command line" else ([], {"HIPWRIGHT_BUILD_ENV": odd})
    error = refused(BUILD, *given)
    assert error.code.name == "bad-option-value"
    assert "the value of ODD is no UTF-8" in error.message
    error.message.encode()


def test_what_githubs_runner_says_gives_way_to_what_was_chosen() -> None:
    fetch = COMMANDS["fetch_artifacts"]
    both = {"GITHUB_REPOSITORY": "me/mine", "HIPWRIGHT_REPOSITORY": "ROCm/TheRock"}
    resolved = read(fetch, [], both)
    assert (resolved.settings.repository, resolved.origin("repository")) == ("ROCm/TheRock", "environment HIPWRIGHT_REPOSITORY")
    assert read(fetch, [], {"GITHUB_REPOSITORY": "me/mine"}).settings.repository == "me/mine"
    others = {"PYTORCH_ROCM_ARCH": "gfx942", "HIPWRIGHT_GFX": "gfx1201"}
    assert refused(fetch, [], others).code.name == "option-conflict"
