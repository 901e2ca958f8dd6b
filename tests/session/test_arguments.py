"""Arguments held to the definition in force, in conversions and of datasets."""

import json
import sys

import pytest

from chatsquash import Options, convert_session
from chatsquash.core.errors import UsageError
from chatsquash.results.check import Checks, check
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases, log_line, write_log

TEXT, NUMBER = (
    [tool(parameters={"type": "object", "properties": {"q": {"type": kind}}})] for kind in ("string", "integer")
)
ASKS_TEXT, ASKS_NUMBER = (
    assistant("", call(name, arguments=json.dumps({"q": q}))) for name, q in (("a", "x"), ("b", 1))
)
GROWN = ["Hi", ASKS_TEXT, result("x", "a")]


def invalid(*lines, **options):
    """The messages with arguments that do not fit."""
    (outcome,) = convert_session(
        [json.dumps(line) for line in lines], Options(anonymize=False, **{"check_arguments": True, **options})
    )
    return [each.message for each in outcome.findings if each.code == "arguments-invalid"]


@pytest.mark.parametrize("tools", ["first", "last", "used"])
@cases("lines, expected",
    ("each call under its own definition", [log_line("Hi", reply=ASKS_TEXT, tools=TEXT), log_line(*GROWN, reply=ASKS_NUMBER, tools=NUMBER)], []),
    ("a call that fits the first definition only, made under the second", [log_line("Hi", reply=ASKS_TEXT, tools=NUMBER), log_line(*GROWN, reply=ASKS_NUMBER, tools=TEXT)], [1, 3]),
    ("calls under one definition", [log_line("Hi", reply=ASKS_TEXT, tools=TEXT), log_line(*GROWN, reply=ASKS_NUMBER, tools=TEXT)], [3]),
    ("a conversation that was asked for with a cut in the middle", [log_line("Hi", reply=ASKS_TEXT, tools=TEXT), log_line(*GROWN, reply=ASKS_NUMBER, tools=NUMBER), log_line("Hi", tools=TEXT)], []),
)  # fmt: skip
def test_a_call_is_held_to_the_definition_in_force(lines, expected, tools):
    assert invalid(*lines, tools=tools) == expected


def test_nothing_is_looked_at_unless_it_is_asked_for():
    line = log_line("Hi", reply=ASKS_TEXT, tools=NUMBER)
    assert invalid(line) == [1]
    assert invalid(line, check_arguments=False) == []


def test_messages_that_are_left_out_or_put_in_do_not_change_which_call_is_meant():
    line = log_line("Hi", reply=ASKS_TEXT, tools=NUMBER)
    assert invalid(line, system_file=b"Be brief.") == [2]
    assert invalid(line, preset="hf", unpaired="close") == [1]


def test_definitions_that_are_supplied_count():
    given = json.dumps(NUMBER).encode()
    assert invalid(log_line("Hi", reply=ASKS_TEXT), tools_file=given) == [1]


CALLS = {"gemini": "functionCall", "anthropic": "tool_use"}


def test_a_log_of_another_format_is_held_to_its_definitions():
    schema = {"type": "object", "properties": {"q": {"type": "integer"}}}
    line = {
        "request": {"model": "claude-x", "max_tokens": 9, "messages": [user()], "tools": [{"name": "grep", "description": "d", "input_schema": schema}]},
        "response": {"type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "grep", "input": {"q": "x"}}], "stop_reason": "tool_use"},
    }  # fmt: skip
    assert invalid(line) == [1]


def test_sessions_can_be_dropped_for_it():
    line = log_line("Hi", reply=ASKS_TEXT, tools=NUMBER)
    (outcome,) = convert_session(
        [json.dumps(line)], Options(anonymize=False, check_arguments=True, drop=("arguments-invalid",))
    )
    assert not outcome.records
    with pytest.raises(UsageError, match=r"^drop arguments-invalid has no effect without check_arguments=True; add it"):
        convert_session([json.dumps(line)], Options(drop=("arguments-invalid",)))


def test_the_records_of_a_dataset_are_held_to_their_definitions(command, here):
    inlined = assistant('<tool_call>{"name": "grep", "arguments": {"q": "x"}}</tool_call>')
    write_log(
        here / "d.jsonl",
        {"messages": [user(), ASKS_TEXT], "tools": NUMBER},
        {"messages": [user(), ASKS_TEXT], "tools": TEXT},
        {"messages": [user(), inlined], "tools": NUMBER},
    )
    found = [
        (each.line, each.message)
        for each in check("d.jsonl", Checks(arguments=True))
        if each.code == "arguments-invalid"
    ]
    assert found == [(1, 1), (3, 1)]
    assert "arguments-invalid" in command("check", "d.jsonl", "--check-arguments").out
    assert "arguments-invalid" not in command("check", "d.jsonl").out


@pytest.mark.parametrize("arguments", [["convert", "a.jsonl"], ["check", "a.jsonl"]])
def test_without_the_package_it_is_an_error_that_says_how_to_install_it(command, here, monkeypatch, arguments):
    write_log(here / "a.jsonl")
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    ended = command(*arguments, "--check-arguments")
    assert (ended.code, ended.out) == (2, "")
    assert "pip install 'chatsquash[schema]'" in ended.err
    assert not (here / "out").exists()
