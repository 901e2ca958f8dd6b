"""``chatsquash.toml``: where it is found, what it may say, and what wins over it."""

import json
import os
from pathlib import Path

import pytest

from tests.checks.rows import tool
from tests.conftest import cases, log_line, write_log


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The working folder is that of a project with a log."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    write_log(tmp_path / "logs/a.jsonl", log_line("hi", tools=[tool()]))
    return tmp_path


def says(text, name="chatsquash.toml"):
    path = Path(name)
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)


def options():
    return json.loads(Path("out/run.json").read_bytes())["options"]


ALL = """
[convert]
preset = "hf"
format = "jsonl"
drop = ["no-messages"]
max_line = "1MB"
anonymize = false
seed = 3
split = "train=1"
"""


def test_what_it_says_is_done_and_stands_in_the_manifest(command):
    says(ALL)
    assert command("convert", "logs", "-q").code == 0
    wanted = {
        "preset": "hf", "format": "jsonl", "drop": ["no-messages"], "max_line": 10**6, "anonymize": False, "seed": 3,
    }  # fmt: skip
    assert options().items() >= wanted.items()


@pytest.mark.parametrize("name", ["pyproject.toml", "chatsquash.toml"])
def test_it_may_be_a_table_of_pyproject(command, name):
    text = "[convert]\ngroup-by = 'none'\n"
    says(text.replace("[", "[tool.chatsquash.") if name == "pyproject.toml" else text, name)
    command("convert", "logs", "-q")
    assert options()["group_by"] == "none"


def test_a_pyproject_of_others_says_nothing(command):
    says("[project]\nname = 'x'\n", "pyproject.toml")
    assert command("convert", "logs", "-q").code == 0
    says("not toml at all [", "pyproject.toml")
    assert command("convert", "logs", "-q", "--full").code == 0


def test_what_is_typed_wins_over_a_variable_and_that_over_the_file(command, monkeypatch):
    says("[convert]\nseed = 1\nsplit = 'train=1'\nanonymize = false\n")
    command("convert", "logs", "-q")
    assert options()["seed"] == 1
    monkeypatch.setenv("CHATSQUASH_SEED", "2")
    command("convert", "logs", "-q", "--full")
    assert options()["seed"] == 2
    command("convert", "logs", "-q", "--full", "--seed", "3")
    assert options()["seed"] == 3


def test_a_folder_below_has_it_too_and_one_beyond_the_project_has_not(command, here, monkeypatch):
    says("[convert]\ngroup-by = 'none'\n")
    (here / "sub/deep").mkdir(parents=True)
    monkeypatch.chdir(here / "sub/deep")
    command("convert", "../../logs", "-q")
    assert options()["group_by"] == "none"
    (here / ".git").rmdir()
    command("convert", "../../logs", "-q", "--replace")
    assert options()["group_by"] == "date"


def test_what_lies_in_the_logs_says_nothing(command):
    says("[convert]\ngroup-by = 'none'\n", "logs/chatsquash.toml")
    os.chdir("logs")
    command("convert", ".", "-q", "-o", "../out")
    os.chdir("..")
    assert options()["group_by"] == "date"


def test_a_file_of_somebody_else_is_refused(command, monkeypatch):
    says("[convert]\n")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    if os.getuid() == 0:
        os.chown("chatsquash.toml", 12345, 12345)
    ended = command("convert", "logs")
    assert (ended.code, "file belongs to another user" in ended.err) == (2, True)


def test_paths_count_from_the_file(command, here, monkeypatch):
    says("[convert]\noutput = 'made'\nsystem-file = 'system.txt'\n")
    (here / "system.txt").write_text("Be brief.")
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    assert command("convert", "../logs", "-q").code == 0
    (path,) = (here / "made").glob("*.jsonl")
    assert "Be brief." in path.read_text()


PROFILES = (
    ALL
    + """
[profile.ci.convert]
fail-on = ["error"]
preset = "openai"
[profile.other.check]
"""
)


def test_a_profile_comes_before_the_others(command):
    says(PROFILES)
    assert command("convert", "logs", "-q", "--profile", "ci").code == 0
    assert (options()["preset"], options()["format"]) == ("openai", "jsonl")


def test_a_variable_may_name_the_profile(command, monkeypatch):
    says(PROFILES)
    monkeypatch.setenv("CHATSQUASH_PROFILE", "ci")
    assert command("convert", "logs", "-q").code == 0
    assert options()["preset"] == "openai"


@cases(
    "text, args, told",
    ("an unknown option", "[convert]\ndropp = ['x']", [], "unknown option 'dropp'; did you mean drop?"),
    ("an unknown command", "[konvert]", [], "unknown command 'konvert'; did you mean convert?"),
    ("no table", "convert = 1", [], "convert must be a table; write [convert]"),
    ("a table in place of a value", "[convert.preset]\nx = 1", [], "preset cannot be a table"),
    ("a wrong value", "[convert]\npreset = 'nope'", [], "'nope' is not one of"),
    ("a number for a flag", "[convert]\nquiet = 3", [], "quiet: 3 is neither true nor false"),
    ("a text for a list", "[convert]\ndrop = 'no-tools'", [], 'is not a list; write one, as in drop = ["no-tools"]'),
    ("a list in a list", "[convert]\ndrop = [['no-tools']]", [], "is neither a string nor a whole number"),
    ("a list for one value", "[convert]\npreset = ['hf']", [], "is neither a string nor a whole number"),
    ("a fraction", "[convert]\nlimit = 2.5", [], "limit: 2.5 is neither a string nor a whole number"),
    ("a wrong value that is only shown", "[convert]\npreset = 'x'", ["--show-config"], "'x' is not one of"),
    ("no TOML", "[convert", [], "not valid TOML"),
    ("no such profile", "[convert]", ["--profile", "x"], "--profile x: "),
    ("an unknown command in a profile", "[profile.a.chek]", [], "unknown command 'chek'"),
    ("an idle option that is typed", "[convert]\nloss = 'none'", ["--loss-skip-failed"], "has no effect"),
)
def test_what_is_wrong_is_said_with_the_nearest_name(command, text, args, told):
    says(text)
    ended = command("convert", "logs", *args)
    assert (ended.code, told in ended.err) == (2, True), ended.err


def test_a_profile_without_a_file_is_an_error(command):
    assert command("convert", "logs", "--profile", "ci").code == 2


def test_what_is_in_force_is_shown_with_where_it_comes_from(command, monkeypatch):
    says("[convert]\npreset = 'hf'\nanonymize-key-file = 'key'\n")
    Path("key").write_text("k" * 40)
    monkeypatch.setenv("CHATSQUASH_SEED", "2")
    ended = command("convert", "logs", "--show-config", "--workers", "2")
    assert ended.code == 0
    assert not Path("out").exists()
    lines = ended.out.splitlines()
    assert lines[0] == "# settings: chatsquash.toml"
    assert {
        'preset = "hf"  # chatsquash.toml',
        "seed = 2  # CHATSQUASH_SEED",
        "workers = 2  # command line",
        'output = "out"  # default',
        "# limit is not set",
    } <= set(lines)
    assert "kkkk" not in ended.out


def test_other_commands_have_tables_of_their_own(command):
    says("[check]\ncheck-arguments = true\n[convert]\ngroup-by = 'none'\n")
    assert "check-arguments = true  # " in command("check", "x.jsonl", "--show-config").out
