"""One session log to one outcome: the record, the findings, and what became of every line."""

import io
import json
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given
from msgspec.structs import replace

from chatsquash import Options, convert_session
from chatsquash.checks import rules
from chatsquash.core.accounting import Account
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Violation
from chatsquash.records import presets
from chatsquash.records.presets import ShapeResult
from chatsquash.session.converter import Converter
from chatsquash.session.log_findings import unreadable_outcome
from tests import oracle, strategies
from tests.checks.rows import assistant, call, result, tool, user
from tests.conftest import cases, examples, log_line, often
from tests.fuzz.hold import is_plain_chat

NATIVE = Options(anonymize=False)
INLINE = Options(anonymize=False, json_tool_calls=True)
KEEP = Options(anonymize=False, on_invalid="keep")
MERGE = Options(anonymize=False, on_invalid="keep", sessions_by="file")
AS_ONE = Options(anonymize=False, sessions_by="file")
SUPPLIED = Options(anonymize=False, tools_file=json.dumps([tool()]).encode())
PROMPTED = Options(anonymize=False, system_file=b"Be brief.")
AS_LOGGED = Options(anonymize=False, cleanup_goose=False)

INFO = "<info-msg>now</info-msg>"
HOSTED = {
    "session_id": "s1", "timestamp": "2026-01-13T10:00:00Z", "request": {"input": [{"role": "user", "content": "q"}]},
    "response": {"object": "response", "status": "completed", "output": [{"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}}]},
}  # fmt: skip
TITLE = {"role": "system", "content": "Reply with only a description in four words or less"}
FIRST = user("Here are the first few user messages: hi")
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
A, B, C = user("a"), assistant("b"), user("c")
CALLED = {"role": "assistant", "content": None, "toolCalls": [{"id": "a", "name": "ls", "arguments": {}}]}
"""An entry of the provider-neutral array."""


def at(second: int) -> str:
    return f"2026-01-13T10:00:{second:02}Z"


def line(*messages: Any, second: int = 0, **fields: Any) -> dict[str, Any]:
    return log_line(*messages, at=fields.pop("at", at(second)), **fields)


def without(entry: dict[str, Any], *path: str) -> dict[str, Any]:
    """An entry without one of its members."""
    key, *rest = path
    return {k: v if k != key else without(v, *rest) for k, v in entry.items() if k != key or rest}


def responding(response: Any) -> dict[str, Any]:
    return line(A, reply=None, response=response)


def claude(*messages: Any, second: int = 0, **members: Any) -> dict[str, Any]:
    """An exchange with Anthropic."""
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "x"}],
        "stop_reason": "end_turn",
    }
    request = {"max_tokens": 9, "messages": list(messages), **members}
    return {"session_id": "s1", "timestamp": at(second), "request": request, "response": said}


def cleared_by_service(count: int) -> dict[str, Any]:
    """An exchange with Anthropic, whose service cleared results."""
    line = claude(A)
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": count, "cleared_input_tokens": 9}
    return {**line, "response": {**line["response"], "context_management": {"applied_edits": [edit]}}}


def kept(key: str, parent: str | None, role: str, words: str) -> dict[str, Any]:
    """A line of a session that Claude Code keeps."""
    message = {"role": role, "content": words}
    return {"sessionId": "s1", "uuid": key, "parentUuid": parent, "type": role, "message": message}


def thinking(key: str, parent: str) -> dict[str, Any]:
    """A line of such a session with the reasoning of a reply."""
    line = kept(key, parent, "assistant", "")
    return {**line, "message": {**line["message"], "id": "m1", "content": [{"type": "thinking", "thinking": "hm"}]}}


def openai(*items: Any, second: int = 0, after: str | None = None) -> dict[str, Any]:
    """An exchange with OpenAI's Responses, which may go on from another."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    response = {"id": f"r{second}", "object": "response", "status": "completed", "output": [said]}
    request = {"input": list(items), "previous_response_id": after}
    return {"session_id": "s1", "timestamp": at(second), "request": request, "response": response}


def converted(lines: list[Any], options: Options = NATIVE):
    given = [each if isinstance(each, str | bytes) else json.dumps(each) for each in lines]
    (outcome,) = convert_session(given, options)
    return outcome


def of_the_log(outcome) -> list[tuple[str, str, int | None, int | None]]:
    """The findings that the reader or a stage made: code, severity, line, message."""
    return [(f.code, f.severity, f.line, f.message) for f in outcome.findings if rules()[f.code].kind == "log"]


class Row(NamedTuple):
    code: str
    """What the row is about."""
    sentence: str
    lines: list[Any]
    expected: Sequence[tuple[Any, ...]] = ()
    """All findings of the reader and the stages: code, severity, line and, for some, message."""
    text: str = ""
    """What the finding says."""
    options: Options = NATIVE


HF = Options(anonymize=False, preset="hf")
CALLING = line(A, assistant("", call()), result(), tools=[tool()])
GROWING = [line(A, second=0), line(A, B, C, second=1)]

ROWS = [
    # Lines
    Row("bad-line", "every line is an entry", GROWING),
    Row("bad-line", "blank lines are none", ["", *GROWING, " \t\r", ""]),
    Row("bad-line", "a BOM and CRLF are not in the way", ["\ufeff" + json.dumps(GROWING[0]) + "\r", GROWING[1]]),
    Row("bad-line", "NaN that nobody reads is not judged", [json.dumps({**line(A), "latency": float("nan")})]),
    Row("bad-line", "NaN in parameters of the request is not judged", ['{"session_id": "s", "timestamp": 1, "request": {"messages": [], "top_p": NaN}, "response": {"choices": [{"message": {"content": "x"}}]}}']),
    Row("bad-line", "text", ["hello", *GROWING], [("bad-line", "error", 1)], "line skipped: not a JSON object"),
    Row("bad-line", "a line cut off", [GROWING[0], json.dumps(GROWING[1])[:-2]], [("bad-line", "error", 2)]),
    Row("bad-line", "two objects on one line", [GROWING[0], json.dumps(GROWING[1]) * 2], [("bad-line", "error", 2)]),
    Row("bad-line", "JSON that is not an object", ["[]", "1", "null", '"x"', GROWING[0]], [("bad-line", "error", number) for number in (1, 2, 3, 4)]),
    Row("bad-line", "bytes that are no text", [GROWING[0], json.dumps(GROWING[1]).encode().replace(b'"c"', b'"\xff"')], [("bad-line", "error", 2)]),
    Row("bad-line", "NaN in a message", [GROWING[0], line({**A, "x": [float("nan")]})], [("bad-line", "error", 2)], "contain the number"),
    Row("bad-line", "Infinity in a tool", [GROWING[0], line(A, tools=[{"x": float("inf")}])], [("bad-line", "error", 2)], "contain the number"),
    Row("bad-line", "a number too large in a message", [GROWING[0], json.dumps(GROWING[1]).replace('"c"', "1e999")], [("bad-line", "error", 2)]),
    Row("bad-line", "nesting that no parser follows", [GROWING[0], json.dumps(GROWING[1]).replace('"c"', "[" * 10**5 + "]" * 10**5)], [("bad-line", "error", 2)], "nested too deeply"),
    Row("bad-entry", "a request with messages is enough", ['{"session_id": "s", "timestamp": 1, "request": {"messages": []}, "response": {"choices": [{"message": {}}]}}']),
    Row("bad-entry", "no request", [GROWING[0], without(GROWING[1], "request")], [("bad-entry", "error", 2)], "request is missing"),
    Row("bad-entry", "a request that is not an object", [GROWING[0], {**GROWING[1], "request": [1]}], [("bad-entry", "error", 2)], "request is a list"),
    Row("bad-entry", "no messages", [GROWING[0], without(GROWING[1], "request", "messages")], [("bad-entry", "error", 2)], "request.messages is missing"),
    Row("bad-entry", "messages that are no list", [GROWING[0], {**GROWING[1], "request": {"messages": "hi"}}], [("bad-entry", "error", 2)], "request.messages is a string"),
    Row("bad-entry", "a message that is not an object", [GROWING[0], line(A, None)], [("bad-entry", "error", 2)], "request.messages[1]: not an object"),
    Row("bad-entry", "a message without a role", [GROWING[0], line(A, B, {"content": "c"})], [("bad-entry", "error", 2)], "request.messages[2]: no role"),
    Row("bad-entry", "a role that is no string", [GROWING[0], line({"role": 5})], [("bad-entry", "error", 2)], "request.messages[0]: no role"),
    Row("bad-entry", "a bad message among known ones", [*GROWING, line(A, {"role": None}, C)], [("bad-entry", "error", 3)], "request.messages[1]: no role"),
    # Session ids and times
    Row("session-id-mismatch", "one id throughout", GROWING),
    Row("session-id-mismatch", "an integer and its digits are one id", [line(A, session_id=7), line(A, second=1, session_id="7")]),
    Row("session-id-mismatch", "entries of another id that cleaning drops", [GROWING[0], line(TITLE, FIRST, second=9, session_id="other"), GROWING[1]], [("cleaned", "info", 3)]),
    Row("session-id-mismatch", "two ids", [line(A), line(A, second=1, session_id="s2")], [("session-id-mismatch", "error", 2)], "session_id is 's2', but line 1 has 's1': --sessions-by id separates them (--on-invalid keep --sessions-by file"),
    Row("session-id-mismatch", "two ids that are kept", [line(A), line(A, second=1, session_id="s2")], [("session-id-mismatch", "error", 2)], "separates them (--on-invalid keep --sessions-by file", KEEP),
    Row("session-id-mismatch", "two ids that are merged", [line(A), line(A, second=1, session_id="s2")], [("session-id-mismatch", "warning", 2)], "converted as one session: --sessions-by id", MERGE),
    Row("session-id-mismatch", "two ids and a clock that goes back, kept", [line(A, second=1), line(A, second=0, session_id="s2")], [("session-id-mismatch", "error", 2), ("timestamp-order", "warning", 2)], "", KEEP),
    Row("session-id-mismatch", "another id in an entry that is cut", [*GROWING, line(A, second=2, session_id="s2")], [("short-tail", "warning", 2), ("session-id-mismatch", "error", 3)]),
    Row("timestamp-order", "times that increase", GROWING),
    Row("timestamp-order", "times that increase by a nanosecond", [line(A, at="2026-01-13T10:00:00.000000001Z"), line(A, at="2026-01-13T10:00:00.000000002Z")]),
    Row("timestamp-order", "times in other zones", [line(A, at="2026-01-13T10:00:00Z"), line(A, at="2026-01-13T09:00:01-01:00")]),
    Row("equal-timestamps", "times that increase", GROWING),
    Row("equal-timestamps", "equal times", [line(A), line(A), line(A)], [("equal-timestamps", "warning", 2)], "2 entries with the same time as the previous one"),
    Row("equal-timestamps", "equal times of other zones", [line(A, at="2026-01-13T10:00:00Z"), line(A, at="2026-01-13T09:00:00-01:00")], [("equal-timestamps", "warning", 2)]),
    Row("timestamp-order", "an earlier time", [line(A, second=1), line(A, second=0)], [("timestamp-order", "error", 2)], "timestamp is earlier than that of line 1"),
    Row("timestamp-order", "an earlier time that is kept", [line(A, second=1), line(A, second=0)], [("timestamp-order", "warning", 2)], "file order is used", KEEP),
    Row("timestamp-order", "an earlier time in an entry that is cut", [line(A, B, second=1), line(A, second=0)], [("short-tail", "warning", 1), ("timestamp-order", "error", 2)]),
    Row("missing-session-id", "every entry has one", GROWING),
    Row("missing-session-id", "an integer is one", [line(A, session_id=7)]),
    Row("missing-session-id", "none, once per session", [without(each, "session_id") for each in GROWING], [("missing-session-id", "warning", 1)], "no session_id in 2 entries"),
    Row("missing-session-id", "none in one entry", [GROWING[0], without(GROWING[1], "session_id")], [("missing-session-id", "warning", 2)], "no session_id in 1 entry"),
    Row("missing-session-id", "what is no id", [line(A, session_id=value, second=number) for number, value in enumerate([None, "", True, 1.0, [], {}])], [("missing-session-id", "warning", 1)], "in 6 entries"),
    Row("missing-timestamp", "every entry has one", GROWING),
    Row("missing-timestamp", "epoch times", [line(A, at=value) for value in (0, 1.5, 1768298400, 1768298400001, 1768298400002000, 1768298400003000000)]),
    Row("missing-timestamp", "none, once per session", [without(each, "timestamp") for each in GROWING], [("missing-timestamp", "warning", 1)], "no readable timestamp in 2 entries"),
    Row("missing-timestamp", "what is no time", [line(A, at=value) for value in ("soon", "", True, [], {}, 10**30, float("inf"))], [("missing-timestamp", "warning", 1)], "in 7 entries"),
    Row("naive-timestamp", "Z", [line(A, at="2026-01-13T10:00:00Z")]),
    Row("naive-timestamp", "an offset", [line(A, at="2026-01-13T10:00:00+01:00")]),
    Row("naive-timestamp", "an epoch time", [line(A, at=1768298400)]),
    Row("naive-timestamp", "no offset, once per session", [line(A, at="2026-01-13T10:00:00"), line(A, at="2026-01-13T10:00:01.5"), line(A, second=2)], [("naive-timestamp", "warning", 1)], "no time zone in the timestamp of 2 entries"),
    # Members of the wrong type
    Row("wrong-type", "tools that are missing or null", [line(A), line(A, second=1, tools=None), line(A, second=2, tools=[])]),
    Row("wrong-type", "tools", [line(A, tools={"name": "grep"})], [("wrong-type", "warning", 1)], "request.tools is an object in 1 entry"),
    Row("wrong-type", "tools, once for each type", [line(A, tools="x"), line(A, tools=5, second=1), line(A, tools="y", second=2)], [("wrong-type", "warning", 1), ("wrong-type", "warning", 2)], "request.tools is a string in 2 entries"),
    Row("wrong-type", "response", [responding("x")], [("wrong-type", "warning", 1), ("missing-reply", "warning", 1)], "response is a string without events in 1 entry"),
    Row("wrong-type", "a null response is a missing one", [responding(None)], [("missing-reply", "warning", 1)]),
    Row("wrong-type", "choices", [responding({"choices": {"0": 1}})], [("wrong-type", "warning", 1), ("missing-reply", "warning", 1)], "response.choices is an object in 1 entry"),
    Row("wrong-type", "null choices are missing ones", [responding({"choices": None})], [("missing-reply", "warning", 1)]),
    Row("wrong-type", "choices[0]", [responding({"choices": ["x"]})], [("wrong-type", "warning", 1), ("missing-reply", "warning", 1)], "response.choices[0] is a string in 1 entry"),
    Row("wrong-type", "message", [responding({"choices": [{"message": "x"}]})], [("wrong-type", "warning", 1), ("missing-reply", "warning", 1)], "response.choices[0].message is a string in 1 entry"),
    Row("wrong-type", "a message with a number that is none", [responding({"choices": [{"message": {"content": "x", "x": float("nan")}}]})], [("wrong-type", "warning", 1), ("missing-reply", "warning", 1)], "response.choices[0].message is an object with the number"),
    Row("wrong-type", "a null message is a missing one", [responding({"choices": [{"message": None}]})], [("missing-reply", "warning", 1)]),
    Row("wrong-type", "role", [responding({"choices": [{"message": {"role": 5, "content": "x"}}]})], [("wrong-type", "warning", 1)], "response.choices[0].message.role is a number in 1 entry"),
    Row("wrong-type", "a missing or null role is the assistant's", [responding({"choices": [{"message": {"content": "x"}}]}), line(A, second=1, reply={"role": None, "content": "x"})]),
    Row("wrong-type", "in an entry that is superseded too", [responding([]), line(A, second=1)], [("wrong-type", "warning", 1)], "response is an empty list"),
    # Formats
    Row("unknown-format", "chat without marks is known", [line(A, reply=None)], [("missing-reply", "warning", 1)]),
    Row("unknown-format", "a dataset", [{"messages": [A, B]}], [("unknown-format", "error", None)], "a dataset of messages"),
    Row("unknown-format", "other JSON", [{"level": "info"}], [("unknown-format", "error", None)], 'a JSON object with the keys "level"'),
    Row("unknown-format", "text", ["# Notes", "text"], [("unknown-format", "error", None)], "text that is not JSON"),
    Row("unknown-format", "more than one format matches", [responding({"choices": [{"message": B}], "candidates": [{"content": {}}]})], [("unknown-format", "error", None)], "more than one format matches: gemini (candidates"),
    Row("unknown-format", "more than one format matches, one of which the user chose", [responding({"choices": [{"message": B}], "candidates": [{"content": {}}]})], [], "", Options(anonymize=False, from_format="openai_chat")),
    Row("mixed-formats", "one format", [claude(A), claude(A, B, C, second=1)]),
    Row("mixed-formats", "another one", [claude(A), line(A, B, C, second=1)], [("mixed-formats", "warning", 2)], "1 entry with the format openai_chat in a log of anthropic"),
    Row("mixed-formats", "another one, once per session", [line(A), claude(A, B, C, second=1), claude(A, B, C, A, second=2)], [("mixed-formats", "warning", 1)], "1 entry with the format openai_chat in a log of anthropic"),
    Row("context-cleared", "nothing was cleared", [cleared_by_service(0)]),
    Row("context-cleared", "results were", [cleared_by_service(2)], [("context-cleared", "info", 1)], "1 entry without tool results, which"),
    Row("missing-history", "a response of the log", [openai(A), openai(C, after="r0", second=1)]),
    Row("missing-history", "a response that is not there", [openai(A), openai(C, after="r7", second=1)], [("missing-history", "warning", 2)], "1 entry with earlier turns that are not in this log"),
    Row("other-conversations", "a document with one", [[A, CALLED]]),
    Row("other-conversations", "a document with two", [[A, CALLED], [C, CALLED]], [("other-conversations", "warning", None)], "has 2 conversations", AS_ONE),
    Row("missing-parent", "every line follows another", [kept("u1", None, "user", "hi"), kept("a1", "u1", "assistant", "x")]),
    Row("missing-parent", "a line follows none of the file", [kept("u1", "gone", "user", "hi"), kept("a1", "u1", "assistant", "x")], [("missing-parent", "warning", 1)], "1 line without a parent in the file"),
    Row("missing-parent", "a line follows one that cannot be read", [kept("u1", None, "user", "hi"), "{", kept("a1", "gone", "assistant", "x")], [("bad-line", "error", 2), ("missing-parent", "warning", 3)], "1 line after an unreadable line"),
    Row("incomplete-reply", "a complete reply", [kept("u1", None, "user", "hi"), kept("a1", "u1", "assistant", "x")]),
    Row("incomplete-reply", "only the reasoning of a reply", [kept("u1", None, "user", "hi"), thinking("a1", "u1")], [("incomplete-reply", "warning", 2)], "1 reply with reasoning but neither text nor a call"),
    Row("client-text", "the user's words", [kept("u1", None, "user", "hi"), kept("a1", "u1", "assistant", "x")]),
    Row("client-text", "an interruption", [kept("u1", None, "user", "[Request interrupted by user]"), kept("a1", "u1", "assistant", "x")], [("client-text", "info", 1)], "(interruptions): 1"),
    Row("hosted-tools", "the client's tools", [claude(A, tools=[{"name": "grep", "description": "d", "input_schema": {"type": "object", "properties": {}}}])]),
    Row("hosted-tools", "a search of the provider's", [claude(A, tools=[{"type": "web_search_20250305", "name": "web_search"}])], [("hosted-tools", "info", 1)], "hosted tools in 1 entry"),
    Row("unsupported-content", "blocks that have a place", [claude(A, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}, C)]),
    Row("unsupported-content", "a search of the provider's", [claude(A, {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, {"type": "text", "text": "x"}]}, C)], [("unsupported-content", "warning", 1, 1)], "1 'hosted_call'"),
    Row("vendor-extension", "messages as OpenAI has them", [line(A, assistant("", call()), result(), tools=[tool()])]),
    Row("vendor-extension", "other formats use the canonical names", [claude(A, {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "grep", "input": {}}]}, C)]),
    Row("vendor-extension", "names and types of vendors, once per session", [line(A, assistant("", {**call(arguments={}), "type": None}), result(), reply=assistant("b", reasoning="hm"), tools=[tool()])], [("vendor-extension", "info", 1)], "kept as logged"),
    Row("vendor-extension", "only an entry that is superseded has one", [line(A, reply=assistant("b", reasoning="hm")), line(A, B, C, second=1)]),
    # Truncating and replying
    Row("short-tail", "the last entry has the most messages", GROWING),
    Row("short-tail", "an entry in the middle is shorter", [line(A, B, C), line(A, B, second=1), line(A, B, C, second=2)], [("role-sequence", "error", 2)]),
    Row("short-tail", "the last entry is shorter only before cleaning", [line(A, user(INFO), user(INFO)), line(A, second=1)], []),
    Row("short-tail", "the last entry is shorter", [*GROWING, line(A, second=2)], [("short-tail", "warning", 2)], "line 3 has 1 message, but line 2 has 3 and is converted"),
    Row("short-tail", "the last entry is shorter only after cleaning", [line(A, C), line(A, user(INFO), second=1)], [("short-tail", "warning", 1)], "line 2 has 1 message, but line 1 has 2"),
    Row("missing-reply", "the reply is there", [line(A)]),
    Row("missing-reply", "only an entry that is superseded has none", [line(A, reply=None), line(A, second=1)]),
    Row("missing-reply", "no response", [line(A, reply=None)], [("missing-reply", "warning", 1)], "no reply appended (there is no response"),
    Row("missing-reply", "an earlier reply is not taken instead", [line(A), line(A, B, C, second=1, reply=None)], [("missing-reply", "warning", 2)]),
    Row("missing-reply", "an error body", [responding({"error": {"message": "overloaded"}})], [("missing-reply", "warning", 1)], "the response is an error body"),
    Row("missing-reply", "an error body beside choices", [responding({"error": "late", "choices": [{"message": B}]})], [("missing-reply", "warning", 1)], "the response is an error body"),
    Row("missing-reply", "a null error is none", [responding({"error": None, "choices": [{"message": B}]})]),
    Row("missing-reply", "no choices", [responding({"choices": []})], [("missing-reply", "warning", 1)], "the response has no choices"),
    Row("missing-reply", "a choice without a message", [responding({"choices": [{"delta": {"content": "x"}}]})], [("missing-reply", "warning", 1)], "the first choice has no message"),
    Row("missing-reply", "stream chunks", [responding([{"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}])]),
    Row("missing-reply", "a status of HTTP that is none of success", [{**line(A), "status": 503}], [("missing-reply", "warning", 1)], "the response is an error body, with status 503"),
    Row("extra-choices", "one choice", [line(A)]),
    Row("extra-choices", "an entry that is superseded has two", [responding({"choices": [{"message": B}, {"message": B}]}), line(A, second=1)]),
    Row("extra-choices", "two choices", [responding({"choices": [{"message": B}, {"message": B}]})], [("extra-choices", "warning", 1)], "the response has 2 choices; only the first is converted"),
    Row("extra-choices", "two choices of which one is odd", [responding({"choices": [{"message": B}, "x", None]})], [("extra-choices", "warning", 1)], "3 choices"),
    Row("reply-truncated", "other reasons", [responding({"choices": [{"message": B, "finish_reason": reason}]}) | {"timestamp": at(second)} for second, reason in enumerate(["stop", "tool_calls", None, 5, "end_turn"])]),
    Row("reply-truncated", "a reason that nobody knows", [responding({"choices": [{"message": B, "finish_reason": "LENGTH"}]})], [("reply-truncated", "warning", 1)], "ended early (LENGTH)"),
    Row("reply-truncated", "an entry that is superseded was cut off", [responding({"choices": [{"message": B, "finish_reason": "length"}]}), line(A, second=1)]),
    Row("reply-truncated", "the length limit", [responding({"choices": [{"message": B, "finish_reason": "length"}]})], [("reply-truncated", "warning", 1)], "truncated at its length limit"),
    Row("stream-interrupted", "a stream with its end", [responding([{"choices": [{"delta": {"content": "x"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}])]),
    Row("stream-interrupted", "an entry that is superseded was cut", [responding([{"choices": [{"delta": {"content": "x"}}]}]), line(A, second=1)]),
    Row("stream-interrupted", "a stream without its end", [responding([{"choices": [{"delta": {"content": "x"}}]}])], [("stream-interrupted", "warning", 1)], "the reply stream was interrupted"),
    # Shapes
    Row("no-assistant-turn", "a preset with a turn of the assistant", [line(A)], [], "", HF),
    Row("unanswered-session", "a preset for training", [line(A, reply=None)], [("unanswered-session", "info", 1)], "the session has no reply", HF),
    Row("no-assistant-turn", "a reply of which a preset has nothing", [json.dumps(HOSTED)], [("no-assistant-turn", "error", 1), ("unsupported-content", "warning", 1)], "no assistant message", HF),
    Row("no-assistant-turn", "the specified record needs none", [line(A, reply=None)], [("missing-reply", "warning", 1)]),
    Row("arguments-unparsable", "arguments that are an object", [CALLING], [], "", HF),
    Row("arguments-unparsable", "arguments that are cut off", [line(A, reply=assistant("x", call(arguments='{"q": ')), tools=[tool()])], [("arguments-unparsable", "error", 1, 1)], "arguments of 'grep' are not valid JSON", HF),
    Row("arguments-unparsable", "a preset that has them as text", [line(A, reply=assistant("x", call(arguments='{"q": ')), tools=[tool()])], [], "", Options(anonymize=False, preset="openai")),
    Row("integer-too-large", "the largest integer", [line(A, tools=[tool(parameters={"properties": {}, "maximum": 2**64 - 1})])], [], "", HF),
    Row("integer-too-large", "one more", [line(A, tools=[tool(parameters={"properties": {}, "maximum": 2**64})])], [("integer-too-large", "error", 1)], "18446744073709551616", HF),
    Row("lone-surrogate", "a pair", [line(user("\ud83d\ude00"))], [], "", HF),
    Row("lone-surrogate", "half of one", [line(user("\ud83d"))], [("lone-surrogate", "error", 1)], "a lone surrogate in '\\ud83d'", HF),
    Row("unpaired-call", "a call with its result", [CALLING], [], "", HF),
    Row("unpaired-call", "a result of no call", [line(A, result())], [("unpaired-call", "error", 1, 1)], "the id 'c1'", HF),
    Row("unsupported-shape", "roles that are known", [line({"role": "developer", "content": "x"}, A)], [], "", HF),
    Row("unsupported-shape", "a role that is not", [line({"role": "critic", "content": "x"})], [("unsupported-shape", "error", 1, 0)], "the role 'critic'", HF),
    Row("shape-dropped", "text alone", [line(user([{"type": "text", "text": "x"}]))], [], "", HF),
    Row("shape-dropped", "a refusal", [line(user([{"type": "refusal", "refusal": "no"}]))], [("shape-dropped", "warning", 1)], "parts of type refusal 1", HF),
    Row("shape-dropped", "an image that may go", [line(user([IMAGE]))], [("shape-dropped", "warning", 1)], "parts of type image_url 1", Options(anonymize=False, preset="hf", media="drop")),
    Row("user-after-result", "the assistant speaks behind a result", [line(A, assistant("", call()), result(), tools=[tool()])], [], "", HF),
    Row("user-after-result", "the user does", [line(A, assistant("", call()), result(), C, tools=[tool()])], [("user-after-result", "warning", 1)], "1 user message", HF),
    Row("media-dropped", "no media", [line(user([{"type": "text", "text": "x"}]))], [], "", HF),
    Row("media-dropped", "an image", [line(user([IMAGE]))], [("media-dropped", "error", 1, 0)], "image_url 1", Options(anonymize=False, preset="hf", media="refuse")),
    Row("media-replaced", "no media", [line(user([{"type": "text", "text": "x"}]))], [], "", HF),
    Row("media-replaced", "an image", [line(user([IMAGE]))], [("media-replaced", "warning", 1)], "image_url 1", HF),
    Row("shape-changed", "a modifier that finds nothing to do", [line(A)], [], "", Options(anonymize=False, system="drop")),
    Row("shape-changed", "a modifier of the specified record", [line(A, C)], [("shape-changed", "info", 1)], "joined to the preceding one 1", Options(anonymize=False, merge_consecutive=True)),
    Row("shape-changed", "at the line of the entry that becomes the record", [line(A), line(A, C, second=1), line(A, second=2)], [("short-tail", "warning", 2), ("shape-changed", "info", 2)], "joined to the preceding one 1", Options(anonymize=False, merge_consecutive=True)),
    Row("float-rounded", "a number that comes back", [line(A, tools=[tool(parameters={"properties": {}, "maximum": 0.5})])], [], "", HF),
    Row("float-rounded", "one that does not", [line(A, tools=[tool(parameters={"properties": {}, "maximum": 0.7})])], [("float-rounded", "warning", 1)], "when loading: 0.7", HF),
    Row("float-rounded", "in the text of arguments it stays", [line(A, assistant("", call(arguments='{"q": 0.7}')), result(), tools=[tool()])], [], "", Options(anonymize=False, preset="openai")),
    # Whole sessions
    Row("empty-session", "one entry is enough", [line()]),
    Row("unanswered-session", "no line", [], [("unanswered-session", "info", None)], "the session has no reply"),
    Row("unanswered-session", "a line with a reply", [line(A)], [], "", HF),
    Row("empty-session", "only blank and bad lines", ["", "{x"], [("empty-session", "error", None), ("bad-line", "error", 2)], "no usable entry"),
    Row("empty-session", "title requests only", [line(TITLE, FIRST)], [("cleaned", "info", None), ("empty-session", "error", None)], "cleaning removed all content of 1 entry"),
    Row("empty-session", "title requests that are not cleaned", [line(TITLE, FIRST)], [], "", AS_LOGGED),
    Row("role-sequence", "a log that grows", GROWING),
    Row("role-sequence", "developer counts as system", [line({"role": "system"}, A), line({"role": "developer"}, A, second=1)]),
    Row("role-sequence", "Ac At in the earlier one meets Act in the later one", [line(A, B, assistant("", call()), tools=[tool()]), line(A, assistant("b", call()), result(), second=1, tools=[tool()])]),
    Row("role-sequence", "messages that cleaning drops are in nobody's trace", [line(A, user(INFO), B), line(A, B, C, second=1)], []),
    Row("role-sequence", "only entries behind the selected one depart", [line(A, B, C), line(B, second=1)], [("short-tail", "warning", 1)]),
    Row("role-sequence", "a rewrite", [line(A, B), line(A, A, B, second=1)], [("role-sequence", "error", 2)], "on line 2, message 1 is 'user', but line 1 has 'Ac'"),
    Row("role-sequence", "a compaction that then grows", [line(A, B, C), line(A, second=1), line(A, B, C, A, second=2)], [("role-sequence", "error", 2)], "on line 2, there is no message 1, but line 1 has 'Ac'"),
    Row("role-sequence", "Act in the earlier one does not meet Ac At", [line(A, assistant("b", call()), tools=[tool()]), line(A, B, assistant("", call()), second=1, tools=[tool()])], [("role-sequence", "error", 2)]),
    Row("role-sequence", "nobody asked", [line(A, B), line(A, A, B, second=1)], [], "", Options(anonymize=False, integrity_analysis=False)),
    # Tools, parts, numbers
    Row("tool-members", "known members", [line(A, tools=[tool(strict=True)])]),
    Row("tool-members", "an unknown member", [line(A, tools=[tool(x=1)]), line(A, second=1, tools=[tool(x=1)])], [("tool-members", "info", 1)], "tool 'grep' has 1 member that no provider defines: 'x'"),
    Row("tool-conflict", "the same definition", [line(A, tools=[tool()]), line(A, second=1, tools=[tool()])]),
    Row("tool-conflict", "another definition behind the selected entry", [line(A, B, tools=[tool()]), line(A, second=1, tools=[tool(title=1)])], [("short-tail", "warning", 1)]),
    Row("tool-conflict", "another definition", [line(A, tools=[tool()]), line(A, second=1, tools=[tool(title=1)])], [("tool-conflict", "warning", 2)], "line 2 defines 'grep' differently than line 1"),
    Row("parts-dropped", "native lists stay", [line(A, result([IMAGE]))]),
    Row("parts-dropped", "lists of text", [line(A, result(["a", {"type": "text", "text": "b"}]))], [], "", INLINE),
    Row("parts-dropped", "a user's image stays", [line(user([IMAGE]))], [], "", INLINE),
    Row("parts-dropped", "an image in a result", [line(A, result([IMAGE, "a", IMAGE]))], [("parts-dropped", "warning", 1, 1)], "parts other than text dropped: 2 'image_url'", INLINE),
    Row("number-changed", "numbers that a double holds", [line({**A, "n": [0.1, 1e22, 2**70, 1.5]})]),
    Row("number-changed", "other spellings of them", ['{"session_id":"s","timestamp":1,"request":{"messages":[{"role":"user","n":[0.10000000000000000000,1E5,-0]}]},"response":{"choices":[{"message":{}}]}}']),
    Row("number-changed", "in bytes that nobody reads", [json.dumps({**line(A), "x": 5}).replace("5}", "0.1234567890123456789}")]),
    Row("number-changed", "in a message", [json.dumps(line({**A, "n": 5})).replace("5}", "0.1234567890123456789}")], [("number-changed", "warning", 1)], "1 number lost digits: '0.1234567890123456789'"),
    Row("number-changed", "in a tool", [json.dumps(line(A, tools=[tool(default=5)])).replace(": 5}", ": 0.1234567890123456789}")], [("number-changed", "warning", 1)]),
    Row("number-changed", "in the reply", [json.dumps(line(A, reply={"x": 5})).replace("5}", "1e-400}")], [("number-changed", "warning", 1)]),
    Row("number-changed", "in the string of arguments, which is not parsed", [line(assistant("", call(arguments="0.1234567890123456789")), tools=[tool()])]),
    Row("number-changed", "in the string of arguments, which is", [line(assistant("", call(arguments="0.1234567890123456789")), tools=[tool()])], [("number-changed", "warning", 1)], "", INLINE),
    Row("number-changed", "in arguments that are an object", [json.dumps(line(assistant("", call(arguments={"n": 5})), tools=[tool()])).replace("5}", "0.1234567890123456789}")], [("number-changed", "warning", 1), ("vendor-extension", "info", 1)], "", INLINE),
    # Cleaning
    Row("flagged-phrase", "no message has it", GROWING),
    Row("flagged-phrase", "a message has it", [line(A, user("(Context limit was reached.)"))], [("flagged-phrase", "warning", 1, 1)], "'context limit was reached' is in 1 message"),
    Row("flagged-phrase", "only what is in the record counts", [line(A, user("context limit was reached")), line(A, B, C, second=1)], [("role-sequence", "error", 2)]),
    Row("flagged-phrase", "another one", [line(A, user("Rate Limit"))], [("flagged-phrase", "warning", 1, 1)], "'rate limit'", Options(anonymize=False, flag_phrase=("rate limit",))),
    Row("flagged-phrase", "none is asked for", [line(user("context limit was reached"))], options=Options(anonymize=False, flag_phrase=())),
    Row("flagged-phrase", "nothing is analysed", [line(user("context limit was reached"))], options=Options(anonymize=False, integrity_analysis=False)),
    Row("flagged-phrase", "a call that is written as text", [line(user("x"), assistant("", call(arguments='{"a": "context limit was reached"}')), result(), tools=[tool()])], [("flagged-phrase", "warning", 1, 1)], options=INLINE),
    Row("supplied-tools", "a log has some", [line(A, tools=[tool()])], options=SUPPLIED),
    Row("supplied-tools", "a log has none", [line(A)], [("supplied-tools", "info", 1)], "--tools-file supplies 1 definition", SUPPLIED),
    Row("supplied-tools", "none is given", GROWING),
    Row("supplied-system", "a log has one", [line({"role": "developer", "content": "Be kind."}, A)], options=PROMPTED),
    Row("supplied-system", "a log has none", [line(A), line(A, B, C, second=1)], [("supplied-system", "info", 2, 0)], "so --system-file is used", PROMPTED),
    Row("cleaned", "nothing to clean", GROWING),
    Row("cleaned", "nobody asked", [line(A, user(INFO))], [], "", AS_LOGGED),
    Row("cleaned", "an info message", [line(A, user(INFO))], [("cleaned", "info", 1)], "info messages 1, system prompts 0, empty assistants 0, title requests 0"),
    Row("cleaned", "all four rules", [line({"role": "system", "content": "a general-purpose AI agent called goose"}, A, assistant(""), user(INFO), user(INFO), B), line(TITLE, FIRST, second=1)], [("cleaned", "info", 1)], "info messages 2, system prompts 1, empty assistants 1, title requests 1"),
    Row("cleaned", "a session that is left out", [line(A, second=1), line(A, user(INFO))], [("cleaned", "info", 2), ("timestamp-order", "error", 2)]),
    Row("cleaned", "an entry that is superseded, in a record that is as logged", [line(A, user(INFO)), line(A, C, second=1)]),
]  # fmt: skip

OF_DATASETS = {
    "filtered", "duplicate-record", "split-leak", "empty-split", "split-share", "source-without-tools",
    "loss-not-read", "divided-session", "grouped-by-chain",
}  # fmt: skip
OF_RUNS = {
    "unreadable-log", "file-not-read", "lost-worker", "changed-log", "reordered", "cut-short", "duplicate-log",
    "duplicate-log-differs", "archive-member", "truncated-archive", "unreadable-archive", "truncated-by-logger", "no-exchange",
}  # fmt: skip
MADE_ELSEWHERE = {
    "unreadable-by-trainer",
    "joined",
    "joined-texts",
    "not-read",
    "unrelated-requests",
    "grouped-by-id",  # tests/session/test_grouping.py has it
    "bad-record",
    "bad-tokens",  # tests/results/test_stored_tokens.py has them
    "empty-dataset",
    "address-not-redacted",
    "personal-data-found",
    "unsearched-line",
    "secret-found",  # tests/session/test_privacy.py has them
    "placeholder-in-reply",
    "redaction-failed",
    "eval-overlap",
    "eval-task",  # tests/results/test_benchmark_tasks.py has them
    "eval-commit",
    "eval-repository",
    "repeated-conversation",  # tests/session/test_documents.py has it
    "trace-incomplete",  # tests/dataset/test_traces.py has it
    "output-growth",  # tests/session/test_output_growth.py has it
    "copies-not-compared",  # tests/session/test_lineages.py has it
    *OF_RUNS,
    *OF_DATASETS,
}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.code}: {row.sentence}" for row in ROWS])
def test_findings(row):
    outcome = converted(row.lines, row.options)
    expected = [(*each, None)[:4] for each in row.expected]
    assert sorted(of_the_log(outcome), key=str) == sorted(expected, key=str)
    assert any(row.text in found.text for found in outcome.findings if found.code == row.code) or not row.text


@pytest.mark.parametrize("code", sorted(code for code, rule in rules().items() if rule.kind == "log"))
def test_every_finding_of_the_reader_and_the_stages_has_a_passing_and_a_failing_row(code):
    rows = [row for row in ROWS if row.code == code]
    outcomes = {code in {expected for expected, *_ in row.expected} for row in rows}
    assert outcomes == (set() if code in MADE_ELSEWHERE else {True, False})


def test_a_log_that_cannot_be_read_is_a_finding_with_its_reason(tmp_path):
    job = Log(str(tmp_path), "logs/a.jsonl", "a.jsonl", 0)
    with pytest.raises(OSError) as raised:
        Converter(NATIVE).convert(job)
    outcome = unreadable_outcome(job, raised.value)
    assert (outcome.record, outcome.left_out, outcome.account.lines, sum(outcome.account.counts)) == (
        None,
        "unreadable-log",
        0,
        0,
    )
    (found,) = outcome.findings
    assert (found.code, found.severity, found.session, found.file) == ("unreadable-log", "error", "a", "logs/a.jsonl")
    assert "Is a directory" in found.text


# What an outcome says

SYSTEM = {"role": "system", "content": "a general-purpose AI agent called goose"}
TALK = [
    line(SYSTEM, A, user(INFO)),
    line(TITLE, FIRST, second=1),
    "",
    line(SYSTEM, A, B, C, user(INFO), second=2),
    "bad",
    {},
    line(A, second=3),
    line(TITLE, FIRST, second=4),
    "",
]


def test_an_outcome_tells_all_about_its_session(tmp_path):
    path = tmp_path / "2026-01-12" / "stem.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in TALK) + "\n")
    (outcome,) = convert_session(path, NATIVE)
    assert json.loads(outcome.record) == {
        "messages": [{"role": "system", "content": "You are a general-purpose AI agent"}, A, B, C, assistant("hello")],
        "tools": [],
    }
    assert (outcome.session, outcome.left_out, outcome.output.day) == ("s1", None, "2026-01-13")
    assert (outcome.account.lines, outcome.privacy.addresses, outcome.report.trace) == (9, 0, "system user Ac user Ac")
    assert outcome.account.counts == Account(
        selected=1, superseded=1, cut=1, cleaned=2, left_out=0, unreadable=2, blank=2
    )
    assert outcome.account.cleanup_counts == {"info_messages": 1, "system_prompts": 1, "empty_assistants": 0}
    assert outcome.account.dropped == {"title_requests": 2}
    assert {(found.session, found.file) for found in outcome.findings} == {("s1", str(path))}
    rejected = [(each.line, each.length, each.code) for each in outcome.report.rejected]
    assert rejected == [(5, 3, "bad-line"), (6, 2, "bad-entry")]
    data = path.read_bytes()
    assert [data[each.offset : each.offset + each.length] for each in outcome.report.rejected] == [b"bad", b"{}"]
    assert outcome.records[0].usage.calls == 0


def test_lines_and_the_file_that_holds_them_give_the_same(tmp_path):
    path = tmp_path / "session.jsonl"
    lines = [each if isinstance(each, str) else json.dumps(each) for each in TALK]
    path.write_text("\n".join(lines))
    (from_file,) = convert_session(path, NATIVE)
    for source in (lines, [each.encode() for each in lines], iter(lines), str(path)):
        (outcome,) = convert_session(source, NATIVE)
        assert (outcome.record, outcome.account.counts, outcome.account.digest) == (
            from_file.record,
            from_file.account.counts,
            from_file.account.digest,
        )


def test_a_session_without_an_id_has_the_name_of_its_file(tmp_path):
    path = tmp_path / "name.of.file.jsonl"
    path.write_text(json.dumps(without(line(A), "session_id")))
    (outcome,) = convert_session(path, NATIVE)
    assert outcome.session == "name.of.file"
    assert {found.session for found in outcome.findings} == {"name.of.file"}


def test_findings_come_in_the_order_of_the_lines():
    outcome = converted(
        [line(A, at="2026-01-13T10:00:00"), "x", line(A, at=None), {}, without(line(A, second=1), "session_id")]
    )
    places = [(found.line, found.code) for found in outcome.findings if rules()[found.code].kind == "log"]
    assert places == [
        (1, "naive-timestamp"), (2, "bad-line"), (3, "missing-timestamp"), (4, "bad-entry"), (5, "missing-session-id"),
    ]  # fmt: skip


@cases("lines, options, account",
    ("one entry", [line(A)], NATIVE, Account(selected=1)),
    ("entries before the selected one", [line(A), line(A, second=1), line(A, second=2)], NATIVE, Account(selected=1, superseded=2)),
    ("entries behind it", [line(A, B), line(A, second=1), line(A, second=2)], NATIVE, Account(selected=1, cut=2)),
    ("title requests, wherever they are", [line(TITLE, FIRST), line(A, second=1), line(TITLE, FIRST)], NATIVE, Account(selected=1, cleaned=2)),
    ("title requests that nobody cleans", [line(A), line(TITLE, FIRST, second=1)], AS_LOGGED, Account(selected=1, superseded=1)),
    ("bad and blank lines", ["", "x", line(A), " ", "{}", "[]"], NATIVE, Account(selected=1, unreadable=3, blank=2)),
    ("a session left out", [line(A, second=1), line(A), "x", "", line(TITLE, FIRST)], NATIVE, Account(left_out=2, unreadable=1, blank=1, cleaned=1)),
    ("the same session kept", [line(A), line(A), "x", "", line(TITLE, FIRST)], KEEP, Account(selected=1, superseded=1, unreadable=1, blank=1, cleaned=1)),
    ("a session that is all title requests", ["", line(TITLE, FIRST)], NATIVE, Account(cleaned=1, blank=1)),
    ("a session without entries", ["", "{x", "{"], NATIVE, Account(unreadable=2, blank=1)),
    ("a file of no known format", ["", "x", "{}"], NATIVE, Account(left_out=2, blank=1)),
    ("no lines", [], NATIVE, Account()),
)  # fmt: skip
def test_every_line_is_accounted_for(lines, options, account):
    outcome = converted(lines, options)
    assert outcome.account.counts == account
    assert sum(outcome.account.counts) == outcome.account.lines == len(lines)
    assert (outcome.record is None) == (outcome.left_out is not None) == (account.selected == 0)


WHY, LATER = Violation("error", "why", code="unsupported-shape"), Violation("error", "later", code="lone-surrogate")


@cases("lines, code",
    ("nothing is left out", [line(A)], None),
    ("what is invalid", [line(A, second=1), line(A)], "timestamp-order"),
    ("equal times are no reason", [line(A), line(A)], None),
    ("two ids", [line(A), line(A, second=1, session_id="s2")], "session-id-mismatch"),
    ("the first of two reasons", [line(A, second=1), line(A, second=0), line(A, second=2, session_id="s2")], "timestamp-order"),
    ("what is empty", ["{x"], "empty-session"),
    ("text", ["x"], "unknown-format"),
)  # fmt: skip
def test_a_session_is_left_out_for_the_code_of_a_finding(lines, code):
    outcome = converted(lines)
    assert outcome.left_out == code
    assert code is None or code in {found.code for found in outcome.findings if found.severity == "error"}


@cases(
    "findings",
    ("by the preset that refuses it", [WHY, LATER]),
    ("by the preset, before and behind", [LATER, WHY, LATER]),
    ("by nobody", [WHY]),
)
def test_a_session_is_left_out_for_its_reason_whatever_else_is_noted(monkeypatch, findings):
    refusing = replace(presets.get_preset("hf"), shape=lambda *_: ShapeResult(None, findings, WHY))
    monkeypatch.setattr(presets, "get_preset", lambda _: refusing)
    outcome = converted([line(A)], HF)
    assert (outcome.record, outcome.left_out) == (None, WHY.code)
    assert outcome.account.counts == Account(left_out=1)
    noted = [found.text for found in outcome.findings if found.code in (WHY.code, LATER.code)]
    assert noted == [found.text for found in findings]


def test_a_session_is_left_out_for_its_reason_also_when_its_log_changes_meanwhile(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (line(A, second=1), line(A))))
    status = path.stat()
    log = Log(str(path), "a.jsonl", "a.jsonl", status.st_size, modified=status.st_mtime_ns)

    def grow(*_: Any) -> None:
        path.write_bytes(path.read_bytes() + b"\n")

    outcome = Converter(NATIVE).convert(log, visit=grow)
    assert outcome.left_out == "timestamp-order"
    assert outcome.findings[-1].code == "changed-log"


@cases(
    "lines, day",
    ("the first entry left", [line(A, at="2026-01-13T23:59:59Z"), line(A, at="2026-01-14T00:00:01Z")], "2026-01-13"),
    ("its UTC date", [line(A, at="2026-01-13T23:30:00-01:00")], "2026-01-14"),
    ("its date where it has no zone", [line(A, at="2026-01-13T23:30:00")], "2026-01-13"),
    ("an epoch time", [line(A, at=1768298400000)], "2026-01-13"),
    ("none that cleaning dropped", [line(TITLE, FIRST, at="2026-01-12T10:00:00Z"), line(A)], "2026-01-13"),
    ("the first that can be read", [line(A, at="soon"), line(A)], "2026-01-13"),
    ("none that is cut", [line(A, B, at=None), line(A)], None),
    ("nothing, where there is no time", [line(A, at=None)], None),
)
def test_the_day_of_a_session_is_that_of(lines, day):
    assert converted(lines).output.day == day


def test_the_last_date_in_the_path_goes_before_the_times():
    data = json.dumps(line(A)).encode()
    names = ["2026-01-12/a.jsonl", "2026-01-11/2026-01-12/x-2026/a.jsonl", "2026-01-12/2026-13-01/a.jsonl"]
    days = [Converter(NATIVE).read(io.BytesIO(data), Log("", name, name, len(data))).output.day for name in names]
    assert days == ["2026-01-12", "2026-01-12", "2026-01-12"]


# What once came out wrong


@cases("error", "null", "false", "0", "0.0", "-0", '""', "{}", "{ }", "[]", "[\t]")
def test_an_error_that_says_nothing_is_none(error):
    outcome = converted([json.dumps(responding({"error": "E", "choices": [{"message": B}]})).replace('"E"', error)])
    assert json.loads(outcome.record)["messages"] == [A, B]


def test_an_array_before_the_messages_is_not_taken_for_them():
    """Its bytes are as long as the last message, so that what is kept ends between two messages all the same."""
    other = '[{"role":"user","content":"another array"}],"messages":'
    message = '{"role":"user","content":"%s"}'
    last = message % ("z" * (len(other) - len(message) + 1))
    first, second, fourth = (message % (letter * 40) for letter in "abd")
    lines = [
        f'{{"timestamp":{second},"session_id":"s1","request":{{"messages":{other}[{",".join(messages)}]}}}}'
        for second, messages in enumerate([[first, second], [first, second, last], [first, second, last, fourth]])
    ]
    lines[1] = lines[1].replace("{", "{ ", 1)
    assert json.loads(converted(lines).record)["messages"] == [
        json.loads(each) for each in (first, second, last, fourth)
    ]


# The record against the oracle

ON_INVALID = [("skip", None), ("keep", None), ("keep", "file")]
OPTIONS = [
    Options(anonymize=False, cleanup_goose=clean, on_invalid=on_invalid, sessions_by=by)
    for clean, (on_invalid, by) in product([False, True], ON_INVALID)
]
KINDS = {
    "records", "bad-line", "bad-entry", "session-id-mismatch", "timestamp-order", "equal-timestamps", "missing-session-id", "missing-timestamp",
    "naive-timestamp", "wrong-type", "short-tail", "missing-reply", "role-sequence", "tool-conflict", "cleaned",
}  # fmt: skip


def is_request_body(data: bytes) -> bool:
    """Whether a file is one request without an entry of a log around it, which is read as a document."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return "messages" in value and not {"request", "response"} & value.keys() if isinstance(value, dict) else False


@pytest.mark.hypothesis
def test_any_log_becomes_the_record_that_the_oracle_gives():
    seen: Counter[str] = Counter()

    @given(log=strategies.described_logs())
    @examples(1000, suppress_health_check=[HealthCheck.too_slow])
    def holds(log):
        is_known = is_plain_chat(log.data) and not is_request_body(log.data)  # to the oracle
        for options in OPTIONS:
            outcome = Converter(options).read(io.BytesIO(log.data), Log("", "stem", "stem", len(log.data)))
            if is_known:
                assert outcome.record == oracle.convert(log.data, "stem", options)
            assert sum(outcome.account.counts) == outcome.account.lines
            seen.update({outcome.left_out or "records", *(found.code for found in outcome.findings)})

    holds()
    assert min(seen[kind] for kind in KINDS) >= often(3 * len(OPTIONS)), f"the logs were of too few kinds: {seen}"


# Text that reads like markup

CALLED = '<tool_call>{"name": "ls", "arguments": {}}</tool_call>'


@cases("messages, at",
    ("a whole block beside a native call", [user("u"), assistant(f"like {CALLED}", call())], 1),
    ("a whole block without a call", [user("u"), assistant(CALLED)], 1),
    ("a wrapped result without an id", [user("u"), {"role": "tool", "content": '<tool_result tool_call_id="x">y</tool_result>'}], 1),
    ("a user's tag", [user("what is </tool_call>?")], 0),
    ("text without tags, beside a call", [user("u"), assistant("like this", call())], None),
)  # fmt: skip
def test_text_that_reads_like_markup_collides_when_calls_are_inlined(messages, at):
    outcome = converted([line(*messages, tools=[tool()])], Options(anonymize=False, json_tool_calls=True))
    assert [each.message for each in outcome.findings if each.code == "markup-collision"] == (
        [] if at is None else [at]
    )


@pytest.mark.parametrize("source", [b"{}", bytearray(b"{}")])
def test_bytes_are_no_source(source):
    with pytest.raises(UsageError, match=r"^the source is bytes; pass lines"):
        convert_session(source)


# Tools that turns bring


def brings(*names: str) -> dict[str, Any]:
    """An item of OpenAI's Responses that defines tools in the middle of a conversation."""
    parameters = {"type": "object", "properties": {}}
    defined = [{"type": "function", "name": name, "description": name, "parameters": parameters} for name in names]
    return {"type": "additional_tools", "role": "developer", "tools": defined}


def tool_names(lines: list[Any]) -> list[str]:
    outcome = converted(lines)
    assert outcome.record is not None
    return [tool["name"] for tool in json.loads(outcome.record)["tools"]]


def test_tools_that_come_with_a_turn_are_tools_of_the_record():
    assert tool_names([openai(A, brings("f", "g"), C)]) == ["f", "g"]
    assert tool_names([openai(A, brings("f")), openai(A, brings("f"), B, brings("f", "g"), C, second=1)]) == ["f", "g"]


def test_those_of_the_request_come_first_and_are_not_doubled():
    entry = openai(A, brings("g", "f"), C)
    entry["request"]["tools"] = brings("f")["tools"]
    assert tool_names([entry]) == ["f", "g"]


def test_tools_that_came_with_a_turn_stay_where_a_request_only_refers_to_it():
    assert tool_names([openai(A, brings("f")), openai(C, after="r0", second=1)]) == ["f"]


def test_a_body_alone_has_them_too():
    body = {"input": [A, brings("f"), C]}
    assert tool_names(json.dumps(body, indent=2).splitlines()) == ["f"]
