import pytest

from chatsquash.checks.registry import View
from chatsquash.checks.results import outcomes
from chatsquash.core.blocks import Result, Turn
from chatsquash.core.chat import PRIVATE

from .rows import Row, assistant, call, found, names, result, talk, tool, user

TOOLS = [tool("grep"), tool("read")]
FAILED = '{"error": "no such file"}'
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}


def turn(content, call_id="c1", name="grep"):
    return [assistant("", call(call_id, name)), result(content, call_id)]


def one(content, **told):
    """A record with one call and this result; what its format says of it is private."""
    calling, answer = turn(content)
    private = {PRIVATE: Turn("tool", (Result("c1", **told),))} if told else {}
    return talk(user(), calling, {**answer, **private}, assistant())


def record(*messages):
    return talk(*messages, tools=TOOLS)


LATER = turn("done", "c2")
OTHER = turn("done", "c3", "read")

ROWS = [
    Row("tool-result-failed", "a result that tells of no failure did none", one("3 errors were found")),
    Row("tool-result-failed", "a text that begins like an error message is found", one("error: no such file"), "warning 2"),
    Row("tool-result-failed", "half an object is no JSON", one('{"error": 1')),
    Row("tool-result-failed", "an error is found", one(FAILED), "warning 2"),
    Row("tool-result-failed", "a timeout in any case is found", one(' \n{"TimeOut": true}'), "warning 2"),
    Row("tool-result-failed", "text parts are joined", one([{"type": "text", "text": '{"error"'}, ":true}"]), "warning 2"),
    Row("tool-result-failed", "a mark counts whatever the text", one("fine", outcome="failed"), "warning 2"),
    Row("tool-result-failed", "a mark on parts", one([IMAGE], outcome="failed"), "warning 2"),
    Row("tool-result-failed", "a mark beside a key is one fact", one(FAILED, outcome="failed"), "warning 2"),
    Row("tool-result-failed", "a mark that says no", one("fine", outcome="success")),
    Row("tool-result-failed", "other private members are no mark", one("fine", json=True, made_up=True)),
    Row(
        "tool-result-failed",
        "a member of a log is no mark",
        record(user(), assistant("", call()), {**result("fine"), PRIVATE: {"is_error": True}}, assistant()),
    ),
    Row("tool-result-failed", "nesting beyond any parser is no crash", one("[" * 200_000)),
    Row("tool-result-retried", "a retry in the next block makes it an explanation", record(*turn(FAILED), *LATER, assistant()), "info 1"),
    Row(
        "tool-result-retried",
        "assistant and user messages between do not count as blocks",
        record(*turn(FAILED), assistant("again"), user(), *LATER, assistant()),
        "info 1",
    ),
    Row(
        "tool-result-retried",
        "a call in the same block is a retry",
        record(assistant("", call("a"), call("b")), result(FAILED, "b"), result("done", "a"), assistant()),
        "info 1",
    ),
    Row("tool-result-failed", "a call before it is none", record(*LATER, *turn(FAILED), assistant()), "warning 3"),
    Row("tool-result-failed", "a retry of another tool is none", record(*turn(FAILED), *OTHER, assistant()), "warning 1"),
    Row("tool-result-failed", "a retry two blocks later is too late", record(*turn(FAILED), *OTHER, *LATER, assistant()), "warning 1"),
    Row("tool-result-failed", "a retry that fails is none", record(*turn(FAILED), *turn(FAILED, "c2"), assistant()), "warning 1, warning 3"),
    Row("tool-result-failed", "an empty retry is none", record(*turn(FAILED), *turn("", "c2"), assistant()), "warning 1, tool-result-empty warning 3"),
    Row(
        "tool-result-failed",
        "the call's own second result is no retry",
        record(assistant("", call()), result(FAILED), result("done"), assistant()),
        "warning 1",
    ),
    Row("tool-result-failed", "a result that answers no call can fail too", record(user(), result(FAILED)), "warning 1, tool-result-without-call error 1"),
    Row("tool-result-retried", "what went well need not be", record(*turn("done"), *LATER, assistant())),
    Row("tool-result-empty", "text is not empty", one("0")),
    Row("tool-result-empty", "an image is not empty", one([{"type": "text", "text": ""}, IMAGE])),
    Row("tool-result-empty", "an object in place of text is not empty", one({}), "wrong-content error 2"),
    Row("tool-result-empty", "white space is empty", one(" \n\t"), "warning 2"),
    Row("tool-result-empty", "null is empty", one(None), "warning 2"),
    Row("tool-result-empty", "no parts, or white ones, are empty", one([{"type": "text", "text": " "}]), "warning 2"),
    Row("tool-result-empty", "missing content is empty", record(assistant("", call()), {"role": "tool", "tool_call_id": "c1"}, assistant()), "warning 1"),
    Row("tool-result-retried", "an empty result can be retried", record(*turn(""), *LATER, assistant()), "info 1"),
    Row("tool-result-missing", "a result anywhere in the block is none missing", record(assistant("", call()), user(), result(), assistant())),
    Row(
        "tool-result-missing",
        "a call without its result is found at the assistant message",
        record(user(), assistant("", call("a"), call("b", "read")), result("done", "a"), assistant()),
        "warning 1",
    ),
    Row(
        "tool-result-missing",
        "a result after the next assistant message is too late",
        record(assistant("", call()), assistant(), result()),
        "warning 0, tool-result-without-call error 2",
    ),
    Row("tool-result-missing", "a user message after it makes it a missing one, not an unanswered call", record(assistant("", call()), user()), "warning 0"),
    Row("tool-result-retried", "a missing result can be retried", record(assistant("", call()), *LATER, assistant()), "info 0"),
    Row(
        "tool-result-missing",
        "of two calls with one id and one result, the second has none",
        record(assistant("", call("a", "grep"), call("a", "read")), result("done", "a"), assistant()),
        "tool-call-id warning 0, warning 0",
    ),
    Row("unanswered-call", "an answered call is none", one("done")),
    Row("unanswered-call", "each call of the very last message is one", record(user(), assistant("", call("a"), call("b"))), "warning 1, warning 1"),
    Row(
        "tool-result-without-call",
        "results in another order than the calls are fine",
        record(assistant("", call("a"), call("b")), result("done", "b"), result("done", "a"), assistant()),
    ),
    Row("tool-result-without-call", "a number matches that number", record(assistant("", call(7)), result("done", 7), assistant())),
    Row("tool-result-without-call", "a result before any call is found", record(user(), result(), assistant()), "error 1"),
    Row(
        "tool-result-without-call",
        "a result with the id of another block is found",
        record(*turn("done"), assistant("", call("c2")), result("done", "c2"), result("done", "c1"), assistant()),
        "error 4",
    ),
    Row(
        "tool-result-without-call",
        "calls that are no objects make no block",
        record(assistant("", "grep"), result(), assistant()),
        "tool-call-not-object error 0, error 1",
    ),
    Row("tool-result-without-id", "a result with an id is fine", one("done")),
    Row(
        "tool-result-without-id",
        "in a block it is that and nothing else",
        record(assistant("", call()), result(), {"role": "tool", "content": "x"}, assistant()),
        "error 2",
    ),
    Row(
        "tool-result-without-id",
        "null and empty ids are none",
        record(assistant("", call()), result(), result("x", None), result("x", ""), assistant()),
        "error 2, error 3",
    ),
    Row(
        "tool-result-without-id",
        "outside every block it answers no call either",
        record(user(), {"role": "tool", "content": "x"}),
        "tool-result-without-call error 1, error 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_results(row):
    assert found(row) == row.expected


def test_outcomes_say_for_every_call_with_a_name_how_it_went():
    calls = [call("a", "grep"), call("b", "read"), call("c", "grep"), call("d", None), call("e", "read")]
    messages = [
        assistant("", *calls),
        result("done", "a"),
        result(FAILED, "b"),
        result("", "c"),
        result("done", "d"),
        assistant("", call("f")),
    ]
    assert outcomes(View(record(*messages))) == [
        ("grep", "ok"), ("read", "failed"), ("grep", "empty"), ("read", "unanswered"), ("grep", "unanswered"),
    ]  # fmt: skip


def test_a_call_with_a_failed_and_a_good_result_counts_as_failed():
    assert outcomes(View(record(assistant("", call()), result(FAILED), result("done")))) == [("grep", "failed")]
