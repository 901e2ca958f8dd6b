import pytest

from chatsquash.checks import examine
from chatsquash.checks.registry import View

from .rows import Row, assistant, call, found, names, result, talk, user


def answered(*calls, content="done"):
    """A turn that makes the calls and gets a result for each that has an id."""
    ids = [item["id"] for item in calls if isinstance(item, dict) and item.get("id")]
    return [assistant("", *calls), *(result(content, call_id) for call_id in ids)]


GOOD = talk(user(), *answered(call()), assistant())

ROWS = [
    Row("tool-calls-not-list", "a list of calls is fine", GOOD),
    Row("tool-calls-not-list", "null counts as absent", talk(assistant(tool_calls=None))),
    Row("tool-calls-not-list", "an empty list is a list", talk(assistant(tool_calls=[]))),
    Row("tool-calls-not-list", "only assistants are looked at", talk({**user(), "tool_calls": "x"})),
    Row("tool-calls-not-list", "one call that stands without its list is found", talk(user(), assistant(tool_calls=call())), "error 1"),
    Row("tool-calls-not-list", "an empty string is no list", talk(assistant(tool_calls="")), "error 0"),
    Row("tool-call-not-object", "objects are fine", GOOD),
    Row("tool-call-not-object", "a name and null are no calls", talk(assistant("", "grep", None), assistant()), "error 0, error 0"),
    Row("tool-call-function", "a function object is fine", GOOD),
    Row("tool-call-function", "a call without one is found", talk(*answered({"id": "c1"}), assistant()), "error 0"),
    Row(
        "tool-call-function",
        "a custom tool's call has something else",
        talk(*answered({"id": "c1", "type": "custom", "custom": {"name": "grep", "input": "x"}}), assistant()),
    ),
    Row("tool-call-function", "but not if that is none", talk(*answered({"id": "c1", "type": "custom", "custom": "grep"}), assistant()), "error 0"),
    Row("tool-call-function", "a name in its place is found", talk(*answered({"id": "c1", "function": "grep"}), assistant()), "error 0"),
    Row("tool-call-name", "a name is fine", GOOD),
    Row("tool-call-name", "an empty name is none", talk(*answered(call(name="")), assistant()), "error 0"),
    Row("tool-call-name", "a number is no name", talk(*answered(call(name=7)), assistant()), "error 0"),
    Row("tool-call-name", "a function without a name is found", talk(*answered({"id": "c1", "function": {}}), assistant()), "error 0"),
    Row("tool-call-id", "ids that differ are fine", talk(*answered(call("a"), call("b")), assistant())),
    Row("tool-call-id", "1 and '1' differ", talk(*answered(call(1), call("1")), assistant())),
    Row("tool-call-id", "an empty id is a missing one", talk(assistant("", call("")), assistant()), "warning 0, tool-result-missing warning 0"),
    Row(
        "tool-call-id",
        "an id from an earlier message is found where it comes again",
        talk(*answered(call("a")), *answered(call("a")), assistant()),
        "warning 2",
    ),
    Row("tool-call-id", "an id that is used twice in one message is found", talk(*answered(call({"n": [1]}), call({"n": [1]})), assistant()), "warning 0"),
    Row("undeclared-tool", "a tool that is defined is fine", GOOD),
    Row(
        "undeclared-tool",
        "each other name is found once, at its first message",
        talk(user(), *answered(call("a", "rm"), call("b", "mv")), *answered(call("c", "rm")), assistant()),
        "error 1, error 1",
    ),
    Row("arguments-not-json", "a string that holds an object is fine", talk(*answered(call(arguments=' {"a": 1}')), assistant())),
    Row("arguments-not-json", "an object that is no string is fine", talk(*answered(call(arguments={})), assistant())),
    Row("arguments-not-json", "missing ones are fine", talk(*answered({"id": "a", "function": {"name": "grep"}}), assistant())),
    Row("arguments-not-json", "half an object is found", talk(*answered(call(arguments='{"a": ')), assistant()), "warning 0"),
    Row("arguments-not-json", "an empty string is found", talk(*answered(call(arguments="")), assistant()), "warning 0"),
    Row("arguments-not-json", "a list is no object", talk(*answered(call(arguments="[]")), assistant()), "warning 0"),
    Row("arguments-not-json", "nesting beyond any parser is no crash", talk(*answered(call(arguments='{"a":' * 200_000)), assistant()), "warning 0"),
    Row("legacy-function-call", "tool_calls are not the legacy form", GOOD),
    Row("legacy-function-call", "null counts as absent", talk(assistant(function_call=None))),
    Row("legacy-function-call", "an empty object is no call", talk(assistant(function_call={}))),
    Row("legacy-function-call", "only assistants are looked at", talk({**user(), "function_call": {}})),
    Row("legacy-function-call", "the legacy form is found", talk(user(), assistant(None, function_call={"name": "grep", "arguments": "{}"})), "error 1"),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_calls(row):
    assert found(row) == row.expected


def test_an_undeclared_tool_comes_with_the_number_of_its_calls():
    record = talk(*answered(call("a", "rm")), *answered(call("b", "rm")), assistant())
    assert [fact.text.split(",")[0] for fact in examine(View(record), "native")] == ["2 calls of 'rm'"]


def test_names_from_a_log_are_escaped_and_cut():
    record = talk(*answered(call("a", "r\x1b[31m\u202e\ud800'" + "x" * 200)), assistant())
    (fact,) = examine(View(record), "native")
    assert fact.text.startswith("1 call of 'r\\x1b[31m\\u202e\\ud800\\'xxx")
    assert "…'" in fact.text
    assert len(fact.text) < 200
