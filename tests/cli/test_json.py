"""What commands print for programs, and in colours."""

import json
from pathlib import Path

import pytest

from chatsquash.cli import inspect
from chatsquash.formats import documents
from tests.conftest import cases, log_line, write_log


@pytest.fixture
def out(here, command):
    write_log(here / "logs/a.jsonl", log_line("Hi", session_id="s1"), b"{bad")
    assert command("convert", "logs", "--no-anonymize").code == 3
    return "out"


def test_inspect_gives_an_object_for_each_session(out, command):
    write_log(Path("logs/b.jsonl"), log_line("Ho", session_id="\x1b[2J"))
    first, second = map(json.loads, command("inspect", "logs", "--json").out.splitlines())
    assert (first["log"], first["session"], first["format"]) == ("logs/a.jsonl", "s1", "openai_chat")
    assert (first["envelope"], first["pieces"], first["conversations"], first["left_out"]) == (
        "request and response",
        [],
        1,
        None,
    )
    entry, broken = first["entries"]
    assert {name: entry[name] for name in ("line", "kept", "added", "outcome", "roles")} == {
        "line": 1, "kept": 0, "added": 1, "outcome": "selected", "roles": ["user"]
    }  # fmt: skip
    assert broken == {
        "line": 2, "time": None, "kept": None, "added": None, "tools": None, "reply": None, "bytes": 4, "outcome": "bad-line", "roles": [], "mcp_servers": []
    }  # fmt: skip
    assert "bad-line" in {found["code"] for found in first["findings"]}
    assert first["record"] > 0
    assert second["session"] == "\x1b[2J"


def test_no_byte_of_a_log_controls_the_terminal(out, command):
    write_log(Path("logs/b.jsonl"), log_line("Ho", session_id="\x1b[2J\u202e"))
    assert command("inspect", "logs", "--json").out.replace("\n", "").isprintable()


@cases("flags, told",
    (("--json", "--verbose"), "--verbose has no effect with --json"),
    (("--definitions", "--json"), "--json has no effect with --definitions"),
    (("--definitions", "--verbose"), "--verbose has no effect with --definitions"),
)  # fmt: skip
def test_inspect_prints_one_thing(out, command, flags, told):
    done = command("inspect", "logs", *flags)
    assert done.code == 2
    assert told in done.err


def test_verify_says_what_does_not_agree(out, command):
    whole = json.loads(command("verify", out, "--json").out)
    assert (whole["logs"], whole["problems"]) == (0, [])
    assert whole["files"] > 1
    (records,) = Path(out).glob("*.jsonl")
    with records.open("ab") as file:
        file.write(b" ")
    done = command("verify", out, "--json")
    assert done.code == 3
    assert any(records.name in problem for problem in json.loads(done.out)["problems"])


def test_statistics_of_an_output_have_its_session_table(out, command):
    table = json.loads(command("stats", out, "--json").out)["table"]
    assert table["finish"] == {"unknown": 1}
    assert table["exit"] == {"unknown": 1}


def test_formats_are_listed(command):
    told = json.loads(command("formats", "--json").out)
    assert [each["name"] for each in told["documents"]] == sorted(documents.names())
    assert {"name": "request and response", "session": "file"}.items() <= told["envelopes"][-1].items()
    assert all(each["what"] for each in told["exchanges"])


@cases("line, painted",
    ("ERROR\tsession=s", "\x1b[31mERROR\x1b[0m\tsession=s"),
    ("a.jsonl: session s1", "\x1b[1ma.jsonl: session s1\x1b[0m"),
    ("2     -  1  1  0  none  selected    user", "2     -  1  1  0  none  \x1b[32mselected\x1b[0m    user"),
    ("5                 4 B        bad-line", "5                 4 B        \x1b[31mbad-line\x1b[0m"),
    ("record: 7 bytes", "record: 7 bytes"),
)  # fmt: skip
def test_a_line_of_inspect_in_colours(line, painted):
    assert inspect.colour_line(line) == painted


def test_no_color_means_none(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert inspect.uses_colour() is False
    monkeypatch.delenv("NO_COLOR")
    assert inspect.uses_colour() is None
