"""``chatsquash show`` on a terminal, in a pipe and as JSON."""

import json

import pytest

from tests.conftest import assistant, log_line, user, write_log


@pytest.fixture
def out(here, command):
    write_log(here / "logs/a.jsonl", log_line("Hello \x1b[31mred", session_id="s1"))
    assert command("convert", "logs", "--no-anonymize").code == 0
    return "out"


def test_a_record_is_shown_with_its_place_and_session(out, command):
    done = command("show", out, "s1")
    assert done.code == 0
    first, *rest = done.out.splitlines()
    assert first.startswith("out/")
    assert ":1, session s1, openai_chat" in first
    assert rest[:2] == ["[0] user", r"    Hello \x1b[31mred"]


def test_json_has_the_record_its_place_and_its_facts(out, command):
    told = json.loads(command("show", out, "1", "--json").out)
    assert sorted(told) == ["facts", "file", "record", "row"]
    assert (told["row"], told["facts"]["session"]) == (1, "s1")
    assert told["record"]["messages"][0] == {"role": "user", "content": "Hello \x1b[31mred"}


def test_what_is_not_there_is_an_error(out, command):
    done = command("show", out, "2")
    assert (done.code, done.err) == (2, "error: out: no record 2; it has 1\n")


def test_colours_stand_on_a_terminal_unless_nobody_wants_them(monkeypatch, capsys):
    pytest.importorskip("rich")
    from chatsquash.records import printing

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert printing.has_colours()
    printing.print_in_colours(iter([printing.TextLine("role", "[0] user"), printing.TextLine("text", "[b]x")]))
    printed = capsys.readouterr().out
    assert "\x1b[1;36m[0] user" in printed
    assert "[b]x" in printed
    monkeypatch.setenv("NO_COLOR", "1")
    assert not printing.has_colours()


def test_what_is_thought_called_and_answered_is_told_apart_without_colours(here, command):
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": '{"x": 1}'}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    messages = [user("q"), assistant("I look.", reasoning_content="hm", tool_calls=[call]), result]
    write_log(
        here / "logs/a.jsonl", log_line(*messages, session_id="s1", reply=assistant("done", reasoning_content="ok"))
    )
    assert command("convert", "logs", "--no-anonymize").code == 0
    assert command("show", "out", "1").out.splitlines()[1:] == [
        "[0] user", "    q",
        "[1] assistant", "    reasoning:", "      hm", "    I look.", "    calls grep:", '      {"x": 1}',
        "[2] tool grep c1", "    found",
        "[3] assistant", "    reasoning:", "      ok", "    done",
    ]  # fmt: skip


def test_a_session_of_the_same_id_in_another_log_is_named_with_its_log(here, command):
    for name in "ab":
        write_log(here / f"logs/{name}.jsonl", log_line(f"q {name}", session_id="s1"))
    assert command("convert", "logs", "--no-anonymize", "--group-by", "none").code == 0
    first = command("show", "out", "s1").out.splitlines()[0]
    assert first.endswith("also conversations.jsonl:2 of logs/b.jsonl")


def test_a_long_line_keeps_its_indent_on_a_narrow_terminal(monkeypatch, capsys):
    pytest.importorskip("rich")
    from chatsquash.records import printing

    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setenv("NO_COLOR", "1")
    printing.print_in_colours(iter([printing.TextLine("text", "    one two three four five")]))
    assert capsys.readouterr().out.splitlines() == ["    one two three four", "    five"]
