"""Definitions and a system prompt that logs lack: from a captured request to the files of its agent."""

import json
import re
import shutil
import tomllib
from importlib.resources import files

import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.core.errors import UsageError
from chatsquash.session.stages import supplied_definitions
from tests import golden
from tests.checks.rows import assistant, call, result, tool
from tests.conftest import cases, log_line, write_log
from tests.outputs import findings

READ = tool("Read", parameters={"type": "object", "properties": {"file_path": {"type": "string"}}})
WRAPPED = {"type": "function", "function": READ}
SYSTEM = {"role": "system", "content": "You are a\ncoding agent."}
CLAUDE = golden.ROOT / "claude_code/a_message_over_three_lines/logs/s.jsonl"
CODEX = golden.ROOT / "codex/events_that_repeat_items/logs/s.jsonl"
ANTHROPIC = {
    "request": {
        "model": "claude-x", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"name": "Read", "description": "d", "input_schema": READ["parameters"]}],
    },
    "response": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"},
}  # fmt: skip


def record(path, **options):
    (outcome,) = convert_session(path, Options(anonymize=False, **options))
    return json.loads(outcome.record), [each.code for each in outcome.findings]


def test_a_captured_request_serves_the_files_of_its_agent(command, here):
    write_log(here / "captured.jsonl", ANTHROPIC)
    printed = command("inspect", "captured.jsonl", "--definitions")
    assert (printed.code, printed.err) == (0, "")
    (here / "agent.toml").write_text(printed.out.replace('# agent = "claude_code"', 'agent = "claude_code"'))
    shutil.copy(CLAUDE, here / "s.jsonl")
    ended = command(
        "convert", "s.jsonl", "--tools-file", "agent.toml", "--system-file", "agent.toml", "--single-file", "-q"
    )
    assert ended.code == 0, ended.err
    made = json.loads((here / "out/conversations.jsonl").read_bytes())
    assert made["tools"] == [READ]
    assert made["messages"][0] == {"role": "system", "content": "Be brief."}
    assert made["messages"][1:] == json.loads((CLAUDE.parents[1] / "expected.jsonl").read_bytes())["messages"]
    found = [each["code"] for each in findings(out=here / "out")]
    assert found.count("supplied-tools") == found.count("supplied-system") == 1
    assert "source-without-tools" not in found


@cases(
    "path, head, fits",
    ("the version that the files of Claude Code name", CLAUDE, 'agent = "claude_code"\nversion = "2.1.0"', True),
    ("another version", CLAUDE, 'agent = "claude_code"\nversion = "2.1.1"', False),
    ("the version that those of Codex name", CODEX, 'agent = "codex"\nversion = "0.90.0"', True),
    ("any version", CODEX, 'agent = "codex"', True),
    ("another agent", CODEX, 'agent = "claude_code"', False),
)
def test_a_table_is_for(path, head, fits):
    text = f"[[for]]\n{head}\ntools = '{json.dumps([READ])}'".encode()
    made, found = record(path, tools_file=text)
    assert (made["tools"], "supplied-tools" in found) == (([READ], True) if fits else ([], False))


def test_a_log_that_has_both_keeps_its_own(here):
    write_log(here / "a.jsonl", log_line(SYSTEM, "Hi", tools=[WRAPPED]))
    given = {"tools_file": json.dumps([tool("other")]).encode(), "system_file": b"Other."}
    assert record("a.jsonl", **given) == record("a.jsonl")


def test_what_is_supplied_is_checked_shaped_and_anonymized(here):
    write_log(here / "a.jsonl", log_line("Hi", assistant("", call(name="ls")), result(), reply="ok"))
    prompt = b"Ask jane@corp.com."
    (outcome,) = convert_session(
        "a.jsonl",
        Options(anonymize_key=b"k" * 16, preset="hf", tools_file=json.dumps([READ]).encode(), system_file=prompt),
    )
    made = json.loads(outcome.record)
    assert [each["role"] for each in made["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert "jane@corp.com" not in made["messages"][0]["content"]
    undeclared = next(each for each in outcome.findings if each.code == "undeclared-tool")
    assert undeclared.message == 2


def test_a_second_run_converts_again_where_the_content_differs_and_not_where_the_name_does(command, here):
    write_log(here / "logs" / "a.jsonl", log_line("Hi"))
    (here / "one").write_text("Be brief.")
    (here / "two").write_text("Be brief.")
    (here / "three").write_text("Be kind.")

    def prompt(name):
        ended = command("convert", "logs", "--system-file", name, "--single-file", "--json")
        told = json.loads(ended.out)
        return json.loads((here / "out/conversations.jsonl").read_bytes())["messages"][0]["content"], told["unchanged"]

    assert prompt("one") == ("Be brief.", False)
    assert prompt("two") == ("Be brief.", True)
    assert prompt("three") == ("Be kind.", False)
    options = json.loads((here / "out/run.json").read_bytes())["options"]
    assert len(options["system_file"]) == 32
    assert options["tools_file"] is None


def test_wrong_files_are_errors_that_name_them(command, here):
    write_log(here / "a.jsonl")
    (here / "t.toml").write_text("[[for]]\nagent = 'nobody'")
    for name in ("t.toml", "gone"):
        ended = command("convert", "a.jsonl", "--tools-file", name)
        assert (ended.code, ended.out) == (2, "")
        assert f"error: {name}: " in ended.err
    for value in ("t.toml", b"{}"):
        with pytest.raises(UsageError, match="tools_file"):
            convert("a.jsonl", "out", Options(tools_file=value))
    assert not (here / "out").exists()


# What is printed


def printed(command, *arguments):
    ended = command("inspect", *arguments, "--definitions")
    assert ended.code == 0, ended.err
    return ended.out


def test_definitions_are_the_union_of_a_log_and_equal_ones_are_printed_once(command, here):
    for name in ("a", "b"):
        write_log(
            here / f"{name}.jsonl",
            log_line(SYSTEM, "Hi", tools=[WRAPPED], session_id=name),
            log_line(SYSTEM, "Hi", "Ho", tools=[WRAPPED, tool("ls")], session_id=name),
        )
    write_log(here / "c.jsonl", log_line("Hi", tools=[tool("ls")], session_id="c"))
    text = printed(command, "a.jsonl", "b.jsonl", "c.jsonl")
    first, second = tomllib.loads(text)["for"]
    assert json.loads(first["tools"]) == [READ, tool("ls")]
    assert first["system"] == SYSTEM["content"]
    assert (json.loads(second["tools"]), "system" in second) == ([tool("ls")], False)
    assert [line for line in text.splitlines() if ": session" in line] == [
        "# a.jsonl: session a",
        "# c.jsonl: session c",
    ]


def test_a_log_without_any_and_one_that_is_left_out_are_comments(command, here):
    write_log(here / "a.jsonl", log_line("Hi"))
    write_log(here / "b.jsonl", b"{bad")
    text = printed(command, "a.jsonl", "b.jsonl")
    assert [line for line in text.splitlines() if line] == [
        "# a.jsonl: session s1: no definitions and no system prompt", "# b.jsonl: session b: empty-session",
    ]  # fmt: skip


def test_each_session_of_a_file_is_looked_at(command, here):
    lines = [log_line(f"Hi {name}", tools=[tool(name)], session_id=name) for name in ("one", "two")]
    write_log(here / "a.jsonl", *lines)
    tables = tomllib.loads(printed(command, "a.jsonl", "--sessions-by", "id"))["for"]
    assert [json.loads(each["tools"])[0]["name"] for each in tables] == ["one", "two"]


def test_the_files_of_agents_that_have_definitions_name_the_agent(command, here):
    path = next(
        each
        for each in golden.cases()
        if each.parent.name == "atif" and json.loads((each / "expected.jsonl").read_bytes().splitlines()[0])["tools"]
    )
    (log, *_) = golden.logs(path)
    shutil.copy(log, here / "s.json")
    assert tomllib.loads(printed(command, "s.json"))["for"][0]["agent"] == "atif"


def test_what_is_printed_cannot_speak_to_the_terminal(command, here):
    evil = "\x1b[2J\x9b\u202e\r\x00'''\"\"\""
    write_log(
        here / "\x1b[31m.jsonl",
        log_line({"role": "system", "content": evil}, "Hi", tools=[tool(evil, description=evil)], session_id=evil),
    )
    text = printed(command, ".")
    assert all(char.isprintable() or char == "\n" for char in text)
    (table,) = tomllib.loads(text)["for"]
    assert (json.loads(table["tools"])[0]["name"], table["system"]) == (evil, evil)


def test_a_prompt_that_toml_cannot_hold_is_an_error(command, here):
    write_log(here / "a.jsonl", log_line({"role": "system", "content": "\ud800"}, "Hi"))
    ended = command("inspect", "a.jsonl", "--definitions")
    assert (ended.code, ended.out) == (2, "")
    assert "a.jsonl: the system prompt contains a lone surrogate" in ended.err


def test_definitions_and_the_texts_of_messages_exclude_each_other(command, here):
    write_log(here / "a.jsonl")
    ended = command("inspect", "a.jsonl", "--definitions", "-v")
    assert ended.code == 2
    assert "--verbose has no effect with --definitions" in ended.err


def test_the_definitions_of_open_source_agents_come_with_chatsquash(command, here):
    """Codex 0.171.0 sends these; the file is a golden case with calls of `shell`, an older version's tool."""
    shutil.copy(CODEX, here / "s.jsonl")
    write_log(here / "chat.jsonl", log_line("hi"))
    options = ("--tools-file", "agent", "--preset", "hf", "--metadata")
    assert command("convert", "s.jsonl", "chat.jsonl", "-q", *options).code == 0
    (data,) = (here / "out/data").iterdir()
    codex, chat = sorted(map(json.loads, data.read_text().splitlines()), key=lambda each: -len(each.get("tools", [])))
    assert {"exec_command", "write_stdin"} < {each["function"]["name"] for each in codex["tools"]}
    assert (codex["tools_supplied"], chat["tools_supplied"], chat.get("tools")) == (True, False, None)


def test_each_shipped_table_is_of_a_known_agent_with_its_source_and_licence():
    tables = supplied_definitions.tools(supplied_definitions.shipped(), "shipped")
    folder = files("chatsquash.formats.agents") / "tools"
    licences = (folder / "LICENSES.md").read_text(encoding="utf-8")
    assert {table.agent for table in tables} == {
        each.name.removesuffix(".toml") for each in folder.iterdir() if each.name.endswith(".toml")
    }
    for table in tables:
        text = (folder / f"{table.agent}.toml").read_text(encoding="utf-8")
        assert re.match(
            rf"# Tools of {table.agent} [0-9.]+, as it sends them by default\.\n# Source: https://github.com/\S+, (MIT|Apache-2\.0);",
            text,
        )
        assert f"| `{table.agent}.toml` |" in licences
        names = [each["name"] for each in table.tools]
        assert len(names) == len(set(names)) > 3  # Pi has four
        assert all(each["description"] and each["parameters"]["type"] == "object" for each in table.tools)
