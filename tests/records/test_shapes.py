"""What each preset makes of a conversation, and what it cannot hold: a row for each rule."""

import copy
import json
from functools import reduce
from typing import Any, NamedTuple

import pytest

from chatsquash.core.model import Conversation
from chatsquash.records import presets
from chatsquash.records.presets import ShapeResult
from chatsquash.records.shaping import line
from tests.checks.rows import assistant, call, result, talk, tool, user

EMPTY = {"type": "object", "properties": {}}
WRAPPED = [{"type": "function", "function": tool()}]
IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
SYSTEM = {"role": "system", "content": "s"}
A, B = user("a"), assistant("b")
SHORT = "abcdefgh1"
DEEP = reduce(lambda inner, _: [inner], range(100_000), [])


def called(arguments: Any, call_id: str = "c1", name: str = "grep") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def answered(content: str = "done", call_id: str = "c1", name: str = "grep") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": content}


class Row(NamedTuple):
    preset: str
    sentence: str
    conversation: Conversation
    expected: Any
    """The record's first member, or the whole record where it is an object; for a text, the code for which there is none."""
    noted: str = ""
    """What the findings say."""


CALLED = (A, assistant("t", call(arguments='{"q": 1}')), result(), B)
PARALLEL = (A, assistant("", call("x1"), call("x2")), result("one", "x1"), result("two", "x2"), B)

HF = [
    Row("hf", "a plain chat has no tools", talk(A, B, tools=[]), {"messages": [A, B]}),
    Row("hf", "arguments are objects, results have names, tools are wrapped", talk(*CALLED), {"messages": [A, assistant("t", called({"q": 1})), answered(), B], "tools": WRAPPED}),
    Row("hf", "no content is an empty text", talk(A, {"role": "assistant", "tool_calls": [call()]}, result(), B), [A, assistant("", called({})), answered(), B]),
    Row("hf", "null content is an empty text", talk(A, assistant(None, call()), result(), B), [A, assistant("", called({})), answered(), B]),
    Row("hf", "text parts are lines", talk(user(["x", {"type": "text", "text": "y"}]), B), [user("x\ny"), B]),
    Row("hf", "text parts of the assistant are one text", talk(A, assistant(["x", {"type": "text", "text": "y"}])), [A, assistant("xy")]),
    Row("hf", "images are refused", talk(user([{"type": "text", "text": "x"}, IMAGE]), B), "media-dropped", "image_url 1"),
    Row("hf", "other parts that are no text go", talk(user([{"type": "text", "text": "x"}, {"type": "refusal"}]), B), [user("x"), B], "parts of type refusal 1"),
    Row("hf", "arguments that are an object stay", talk(A, assistant("", call(arguments={"q": [1.5]})), result(), B), [A, assistant("", called({"q": [1.5]})), answered(), B]),
    Row("hf", "missing arguments are none", talk(A, assistant("", call(arguments=None)), result(), B), [A, assistant("", called({})), answered(), B], "missing arguments become {} 1"),
    Row("hf", "null in arguments stays", talk(A, assistant("", call(arguments='{"q": null}')), result(), B), [A, assistant("", called({"q": None})), answered(), B]),
    Row("hf", "reasoning has one spelling", talk(A, assistant("b", thinking="hm")), [A, assistant("b", reasoning_content="hm")]),
    Row("hf", "reasoning in parts, too", talk(A, assistant([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "b"}])), [A, assistant("b", reasoning_content="hm")]),
    Row("hf", "members that no template knows go", talk({**A, "name": "n"}, {**B, "refusal": None, "annotations": []}), [A, B], "member name of user messages 1"),
    Row("hf", "members of calls, too, but for their index", talk(A, assistant("", {**call(), "index": 0, "note": "x"}), result(), B), [A, assistant("", called({})), answered(), B], "member note of calls 1"),
    Row("hf", "a call without a type is one of a function", talk(A, assistant("", {**call(), "type": None}), result(), B), [A, assistant("", called({})), answered(), B]),
    Row("hf", "calls and results without ids get the same", talk(A, assistant("", call(None), call("")), result("1", None), result("2", ""), B), [A, assistant("", called({}, "call_1"), called({}, "call_2")), answered("1", "call_1"), answered("2", "call_2"), B], "ids added to calls 2"),
    Row("hf", "ids that are made are new", talk(A, assistant("", call("call_1")), result("1", "call_1"), assistant("", call(None)), result("2", None), B), [A, assistant("", called({}, "call_1")), answered("1", "call_1"), assistant("", called({}, "call_2")), answered("2", "call_2"), B]),
    Row("hf", "ids are texts", talk(A, assistant("", call(7)), result("1", 7), B), [A, assistant("", called({}, "7")), answered("1", "7"), B]),
    Row("hf", "results move up to their calls", talk(A, assistant("", call()), user("wait"), result(), B), [A, assistant("", called({})), answered(), user("wait"), B], "results moved up to their calls 1"),
    Row("hf", "results that are objects", talk(A, assistant("", call()), result({"ok": True}), B), "wrong-content", "content is an object"),
    Row("hf", "content that is a number", talk(user(5), B), "wrong-content", "content is a number"),
    Row("hf", "a last reply that says nothing", talk(A, B, A, assistant(" \n")), "empty-reply"),
    Row("hf", "one with a message of the user behind it", talk(A, assistant(""), A), "empty-reply"),
    Row("hf", "an earlier one stays", talk(A, assistant(""), A, B), [A, assistant(""), A, B]),
    Row("hf", "a reply that is reasoning alone", talk(A, assistant("", reasoning_content="hm")), [A, assistant("", reasoning_content="hm")]),
    *(Row(name, "content of a wrong type", talk(user(True), B), "wrong-content") for name in presets.names() if name != "chat"),
    *(Row(name, "an empty last reply", talk(A, assistant(None)), "empty-reply") for name in presets.names() if name != "chat"),
    Row("hf", "what is behind the last turn of the assistant goes", talk(A, B, user("more")), [A, B], "user messages after the last assistant message 1"),
    Row("hf", "the last turn may be a call", talk(A, assistant("", call())), [A, assistant("", called({}))]),
    Row("hf", "results of a last call go", talk(A, assistant("", call("x1"), call("x2")), result("one", "x1"), user("go on")), [A, assistant("", called({}, "x1"), called({}, "x2"))], "tool messages after the last assistant message 1, user messages"),
    Row("hf", "the first system messages become one", talk(SYSTEM, SYSTEM, A, B), [{"role": "system", "content": "s\n\ns"}, A, B], "system messages joined 1"),
    Row("hf", "a later one joins the user's message behind it", talk(A, B, SYSTEM, A, B), [A, B, user("s\n\na"), B], "later system messages become user messages 1"),
    Row("hf", "or that before it", talk(A, SYSTEM, B), [user("a\n\ns"), B]),
    Row("hf", "or is one of its own", talk(A, B, SYSTEM, B), [A, B, user("s"), B]),
    Row("hf", "and waits for results", talk(A, assistant("", call()), SYSTEM, result(), B), [A, assistant("", called({})), answered(), user("s"), B]),
    Row("hf", "a system message behind the user's first is a later one", talk(A, SYSTEM, A, B), [A, user("s\n\na"), B]),
    Row("hf", "parameters are an object", talk(A, B, tools=[{"name": "f", "description": None}]), {"messages": [A, B], "tools": [{"type": "function", "function": {"name": "f", "description": "", "parameters": EMPTY}}]}, "tool definitions without a description get an empty one 1, tool definitions without parameters get empty ones 1"),
    Row("hf", "parameters have properties", talk(A, B, tools=[tool(parameters={"type": "object"}), tool("f", parameters={"type": "object", "properties": None})]), {"messages": [A, B], "tools": [*WRAPPED, {"type": "function", "function": tool("f")}]}, "tool definitions without properties get empty ones 2"),
    Row("hf", "nulls in a schema stay", talk(A, B, tools=[tool(parameters={"enum": [None], "properties": {}})]), {"messages": [A, B], "tools": [{"type": "function", "function": tool(parameters={"enum": [None], "properties": {}})}]}),
    Row("hf", "definitions without a name go", talk(A, B, tools=[{"type": "web_search"}]), {"messages": [A, B]}, "tool definitions without a name 1"),
    Row("hf", "the user speaks right behind a result", talk(A, assistant("", call()), result(), A, B), [A, assistant("", called({})), answered(), A, B], "1 user message right after a result: ms-swift deletes"),
    Row("hf", "no assistant", talk(A), "no-assistant-turn"),
    Row("hf", "no message", talk(), "no-assistant-turn"),
    Row("hf", "arguments that are no JSON", talk(A, assistant("", call(arguments='{"q": '))), "arguments-unparsable", "arguments of 'grep' are not valid JSON"),
    *(Row("hf", "empty arguments are none", talk(A, assistant("", call(arguments=empty))), [A, assistant("", called({}))], "missing arguments become {} 1") for empty in ("", " \n")),
    Row("hf", "the record ends before a last call that is truncated", talk(A, B, A, assistant("t", call(arguments='{"q": '))), [A, B], "records that end before a call with malformed arguments 1"),
    Row("hf", "before each of several, too", talk(A, B, A, assistant("", call("x1", arguments="{")), assistant("", call("x2", arguments="[]"))), [A, B], "messages starting with a call with malformed arguments 2"),
    Row("hf", "it ends before a malformed call within a conversation", talk(A, B, A, assistant("", call("x1"), call("x2", arguments='{"q": ')), result("r", "x1"), result("r", "x2"), B), [A, B], "messages starting with a call with malformed arguments 4"),
    Row("hf", "arguments with a number that is none", talk(A, assistant("", call(arguments='{"q": NaN}'))), "arguments-unparsable"),
    Row("hf", "arguments that are a list", talk(A, assistant("", call(arguments="[1]"))), "arguments-unparsable", "a list, but must be a JSON object"),
    Row("hf", "arguments that are logged as a list", talk(A, assistant("", call(arguments=[1]))), "arguments-unparsable"),
    Row("hf", "integers beyond 64 bits", talk(A, assistant("", call(arguments='{"q": 18446744073709551616}'))), "integer-too-large", "'18446744073709551616'"),
    Row("hf", "64 bits are held", talk(A, assistant("", call(arguments='{"q": [18446744073709551615, -9223372036854775808]}'))), [A, assistant("", called({"q": [2**64 - 1, -(2**63)]}))]),
    Row("hf", "lone surrogates in texts", talk(A, assistant("\ud800")), "lone-surrogate", "'\\ud800'"),
    Row("hf", "lone surrogates in long texts", talk(A, assistant("x" * 1000 + "\udfff" + "y" * 1000)), "lone-surrogate", "xxxx\\udfffyyyy"),
    Row("hf", "lone surrogates in arguments", talk(A, assistant("", call(arguments='{"q": "\\ud800"}'))), "lone-surrogate"),
    Row("hf", "lone surrogates in keys", talk(A, B, tools=[tool(parameters={"\udfff": 1})]), "lone-surrogate"),
    Row("hf", "what is nested too deeply", talk(A, assistant("", call(arguments='{"q": ' + "[" * 300 + "]" * 300 + "}"))), "unsupported-shape", "nested too deeply"),
    Row("hf", "a result is missing", talk(A, assistant("", call()), B), "unpaired-call", "'grep' has no result"),
    Row("hf", "a result is missing before the user goes on", talk(A, assistant("", call()), A, B), "unpaired-call"),
    Row("hf", "a result of no call", talk(A, result(), B), "unpaired-call", "the id 'c1'"),
    Row("hf", "a second result", talk(*CALLED[:3], result(), B), "unpaired-call"),
    Row("hf", "a result without an id of a call that has one", talk(A, assistant("", call()), result(call_id=None), B), "unpaired-call", "a result has no id"),
    Row("hf", "another role", talk(A, {"role": "critic", "content": "x"}, B), "unsupported-shape", "the role 'critic'"),
    Row("hf", "a call in the legacy form", talk(A, assistant("", function_call={"name": "f", "arguments": "{}"})), "unsupported-shape", "legacy"),
    Row("hf", "an empty one is none", talk(A, assistant("b", function_call=None)), [A, B]),
    Row("hf", "calls that are no list", talk(A, {**B, "tool_calls": {"x": 1}}), "unsupported-shape", "not a list"),
    Row("hf", "a call without a name", talk(A, assistant("", call(name=""))), "unsupported-shape"),
    Row("hf", "a call of another type", talk(A, assistant("", {**call(), "type": "custom"})), "unsupported-shape"),
    Row("hf", "calls beside their markup", talk(A, assistant("<tool_call>{}</tool_call>", call())), "unsupported-shape", "<tool_call> is in the text"),
    Row("hf", "parameters that are a text", talk(A, B, tools=[tool(parameters="x")]), "unsupported-shape", "a string"),
    Row("hf", "floats that datasets rounds", talk(A, assistant("", call(arguments='{"q": [0.7, 0.5]}'))), [A, assistant("", called({"q": [0.7, 0.5]}))], "1 number that datasets rounds when loading: 0.7"),
    Row("hf", "floats in objects and in definitions, too", talk(A, assistant("", call(arguments={"q": 0.95})), tools=[tool(parameters={"maximum": 0.7, "properties": {}})]), {"messages": [A, assistant("", called({"q": 0.95}))], "tools": [{"type": "function", "function": tool(parameters={"maximum": 0.7, "properties": {}})}]}, "2 numbers that datasets rounds"),
    Row("hf", "floats with too many digits", talk(A, assistant("", call(arguments='{"q": 0.12345678901234567891}'))), [A, assistant("", called({"q": 0.12345678901234568}))], "1 number lost digits"),
]  # fmt: skip

OPENAI = [
    Row("openai", "arguments stay as they were logged", talk(*CALLED), {"messages": [A, assistant("t", called('{"q": 1}')), result(), B], "tools": WRAPPED}),
    Row("openai", "objects become text", talk(A, assistant("t", call(arguments={"q": 1}))), [A, assistant("t", called('{"q":1}'))], "arguments become JSON text 1"),
    Row("openai", "missing ones are none", talk(A, assistant("t", call(arguments=None))), [A, assistant("t", called("{}"))]),
    Row("openai", "arguments that are no JSON are text, too", talk(A, assistant("t", call(arguments="{"))), [A, assistant("t", called("{"))]),
    Row("openai", "empty arguments are none", talk(A, assistant("t", call(arguments=""))), [A, assistant("t", called("{}"))], "missing arguments become {} 1"),
    Row("openai", "the record ends before a last call that is truncated", talk(A, B, A, assistant("t", call(arguments="{"))), [A, B]),
    Row("openai", "within a conversation it keeps malformed arguments", talk(A, assistant("t", call(arguments="{")), result(), B), [A, assistant("t", called("{")), result(), B]),
    Row("openai", "no content beside calls alone", talk(A, assistant(None, call())), [A, {"role": "assistant", "tool_calls": [called("{}")]}]),
    Row("openai", "reasoning goes", talk(A, assistant("b", reasoning="hm")), [A, B], "reasoning 1"),
    Row("openai", "members of definitions that it does not know go", talk(A, B, tools=[tool(strict=True, cache_control={})]), {"messages": [A, B], "tools": [{"type": "function", "function": tool(strict=True)}]}, "member cache_control of tool definitions 1"),
    Row("openai", "a description that is no text", talk(A, B, tools=[tool(description=5)]), "unsupported-shape", "description of tool 'grep' is a number"),
    Row("openai", "a name of a tool with a dot", talk(A, B, tools=[tool("a.b")]), "unsupported-shape", "the tool name 'a.b'"),
    Row("openai", "a name that is too long", talk(A, assistant("", call(name="n" * 65))), "unsupported-shape"),
    Row("openai", "a name with a line feed behind it", talk(A, assistant("", call(name="n\n"))), "unsupported-shape"),
    Row("openai", "numbers beyond 64 bits in definitions", talk(A, B, tools=[tool(parameters={"maximum": 2**64})]), "integer-too-large"),
    Row("openai", "numbers in the text of arguments stay", talk(A, assistant("t", call(arguments='{"q": 18446744073709551616}'))), [A, assistant("t", called('{"q": 18446744073709551616}'))]),
]  # fmt: skip

MISTRAL = [
    Row("mistral", "empty arguments are none", talk(A, assistant("", call(SHORT, arguments=""))), [A, assistant("", called("{}", SHORT))]),
    Row("mistral", "the record ends before a last call that is truncated", talk(A, B, A, assistant("", call(SHORT, arguments="{"))), [A, B]),
    Row("mistral", "within a conversation it keeps malformed arguments", talk(A, assistant("", call(SHORT, arguments="{")), result("r", SHORT), B), [A, assistant("", called("{", SHORT)), answered("r", SHORT), B]),
    Row("mistral", "ids are short, and text beside calls goes", talk(*CALLED[:1], assistant("t", call(SHORT)), result("r", SHORT), B), {"messages": [A, assistant("", called("{}", SHORT)), answered("r", SHORT), B], "tools": WRAPPED}, "text next to calls 1"),
    Row("mistral", "text before calls goes, too", talk(A, B, assistant("", call(SHORT)), result("r", SHORT), B), [A, assistant("", called("{}", SHORT)), answered("r", SHORT), B], "text next to calls 1"),
    Row("mistral", "texts of the assistant in a row become one", talk(A, B, B), [A, assistant("b\n\nb")], "consecutive assistant messages merged 1"),
    Row("mistral", "reasoning goes", talk(A, assistant("b", reasoning_content="hm")), [A, B], "reasoning 1"),
    Row("mistral", "the user is first", talk(SYSTEM, B, A, B), "unsupported-shape", "the first message is not from the user"),
    Row("mistral", "an empty turn of the assistant", talk(A, assistant(""), A, B), "unsupported-shape", "an assistant message is empty"),
]  # fmt: skip

TOOLS_TEXT = json.dumps([tool()], ensure_ascii=False)


def turns(*values: str) -> list[dict[str, str]]:
    """Turns of ShareGPT, each as ``from: value``."""
    return [dict(zip(("from", "value"), value.split(": ", 1), strict=True)) for value in values]


SHAREGPT = [
    Row("sharegpt", "a plain chat", talk(SYSTEM, A, B, tools=[]), {"conversations": turns("human: a", "gpt: b"), "system": "s", "tools": ""}),
    Row("sharegpt", "text stands before a call", talk(*CALLED), {"conversations": turns("human: a", 'function_call: t\n<tool_call>[{"name": "grep", "arguments": {"q": 1}}]</tool_call>', "observation: done", "gpt: b"), "system": "", "tools": TOOLS_TEXT}),
    Row("sharegpt", "a call alone is an object", talk(A, assistant("", call(arguments='{"q": "ą"}'))), turns("human: a", 'function_call: {"name": "grep", "arguments": {"q": "ą"}}')),
    Row("sharegpt", "several calls are a list, several results one text", talk(*PARALLEL), turns("human: a", 'function_call: [{"name": "grep", "arguments": {}}, {"name": "grep", "arguments": {}}]', "observation: one\n</tool_response>\n<tool_response>\ntwo", "gpt: b")),
    Row("sharegpt", "reasoning stands in front", talk(A, assistant("b", reasoning="hm")), turns("human: a", "gpt: <think>\nhm\n</think>\n\nb")),
    Row("sharegpt", "reasoning stands before a call, too", talk(A, assistant("", call(), reasoning="hm")), turns("human: a", 'function_call: <think>\nhm\n</think>\n\n<tool_call>[{"name": "grep", "arguments": {}}]</tool_call>')),
    Row("sharegpt", "turns of one side become one", talk(A, A, B, assistant("", call())), turns("human: a\n\na", 'function_call: b\n<tool_call>[{"name": "grep", "arguments": {}}]</tool_call>'), "consecutive user messages merged 1, consecutive assistant messages merged 1"),
    Row("sharegpt", "marks in arguments cannot be taken for marks", talk(A, assistant("", call(arguments='{"q": "<tool_call>1</tool_call>"}'))), turns("human: a", 'function_call: {"name": "grep", "arguments": {"q": "\\u003ctool_call>1\\u003c/tool_call>"}}')),
    Row("sharegpt", "numbers of any size are text", talk(A, assistant("", call(arguments='{"q": 18446744073709551616}'))), turns("human: a", 'function_call: {"name": "grep", "arguments": {"q": 18446744073709551616}}')),
    Row("sharegpt", "floats are text, too", talk(A, assistant("", call(arguments='{"q": 0.7}'))), turns("human: a", 'function_call: {"name": "grep", "arguments": {"q": 0.7}}')),
    Row("sharegpt", "the user speaks right behind a result", talk(*CALLED[:3], A, B), "unsupported-shape", "a user message directly follows a result, which the preset does not support: --bridge-results join appends"),
    Row("sharegpt", "the assistant is first", talk(B, A, B), "unsupported-shape", "the first turn is from gpt"),
    Row("sharegpt", "a mark in the reasoning before a call", talk(A, assistant("", call(), reasoning="<tool_call>")), "unsupported-shape"),
    Row("sharegpt", "empty arguments are none", talk(A, assistant("", call(arguments=""))), turns("human: a", 'function_call: {"name": "grep", "arguments": {}}')),
    Row("sharegpt", "the record ends before a last call that is truncated", talk(A, B, A, assistant("t", call(arguments="{"))), turns("human: a", "gpt: b")),
    Row("sharegpt", "within a conversation malformed arguments are a string", talk(A, assistant("", call(arguments='{"q": ')), result(), B), turns("human: a", 'function_call: {"name": "grep", "arguments": "{\\"q\\": "}', "observation: done", "gpt: b"), "arguments that are not a JSON object remain text 1"),
    Row("sharegpt", "arguments that are no JSON", talk(A, assistant("", call(arguments="{"))), "arguments-unparsable"),
    Row("sharegpt", "lone surrogates", talk(user("\udfff"), B), "lone-surrogate"),
]  # fmt: skip

TEXT = [
    Row("text", "a plain chat", talk(SYSTEM, A, B, tools=[]), {"messages": [SYSTEM, A, B]}),
    Row("text", "calls stand in the text, results are the user's", talk(*CALLED, tools=[]), [A, assistant('t\n<tool_call>\n{"name": "grep", "arguments": {"q": 1}}\n</tool_call>'), user("<tool_response>\ndone\n</tool_response>"), B]),
    Row("text", "several of them follow each other", talk(*PARALLEL, tools=[]), [A, assistant('<tool_call>\n{"name": "grep", "arguments": {}}\n</tool_call>\n<tool_call>\n{"name": "grep", "arguments": {}}\n</tool_call>'), user("<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"), B]),
    Row("text", "reasoning stands in front", talk(A, assistant("", call(), reasoning="hm"), tools=[]), [A, assistant('<think>\nhm\n</think>\n\n<tool_call>\n{"name": "grep", "arguments": {}}\n</tool_call>')]),
    Row("text", "reasoning that stands there already is not repeated", talk(A, assistant("<think>hm</think>b", reasoning="hm"), tools=[]), [A, assistant("<think>hm</think>b")]),
    Row("text", "other reasoning beside it stands in the same block", talk(A, assistant("<think>hm</think>b", reasoning="oh"), tools=[]), [A, assistant("<think>\noh\n\nhm\n</think>\n\nb")]),
    Row("text", "marks in arguments cannot be taken for marks", talk(A, assistant("", call(arguments='{"q": "</tool_call>"}')), tools=[]), [A, assistant('<tool_call>\n{"name": "grep", "arguments": {"q": "\\u003c/tool_call>"}}\n</tool_call>')]),
    Row("text", "floats that lost digits are said", talk(A, assistant("", call(arguments='{"q": 0.12345678901234567891}')), tools=[]), [A, assistant('<tool_call>\n{"name": "grep", "arguments": {"q": 0.12345678901234568}}\n</tool_call>')], "1 number lost digits"),
    Row("text", "arguments nested too deeply", talk(A, assistant("", call(arguments={"q": DEEP})), tools=[]), "unsupported-shape", "nested too deeply"),
    Row("text", "the user speaks right behind a result", talk(A, assistant("t", call()), result(), A, B, tools=[]), [A, assistant('t\n<tool_call>\n{"name": "grep", "arguments": {}}\n</tool_call>'), user("<tool_response>\ndone\n</tool_response>"), A, B], "right after a result: ms-swift deletes such records, torchtune stops"),
    Row("text", "empty arguments are none", talk(A, assistant("", call(arguments="")), tools=[]), [A, assistant('<tool_call>\n{"name": "grep", "arguments": {}}\n</tool_call>')]),
    Row("text", "the record ends before a last call that is truncated", talk(A, B, A, assistant("t", call(arguments="{")), tools=[]), [A, B]),
    Row("text", "within a conversation malformed arguments are a string", talk(A, assistant("", call(arguments='{"q": ')), result(), B, tools=[]), [A, assistant('<tool_call>\n{"name": "grep", "arguments": "{\\"q\\": "}\n</tool_call>'), user("<tool_response>\ndone\n</tool_response>"), B]),
    Row("text", "arguments that are not JSON in the only reply", talk(A, assistant("", call(arguments="{"))), "arguments-unparsable"),
    Row("text", "no assistant", talk(A), "no-assistant-turn"),
]  # fmt: skip

CUSTOM_TOOL = {"type": "custom", "custom": {"name": "grep", "description": "d", "format": {"type": "text"}}}
CUSTOM_FUNCTION = tool(
    parameters={"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
)
PATCHED = talk(
    A,
    assistant("", {"id": SHORT, "type": "custom", "custom": {"name": "grep", "input": "{a}"}}),
    result("done", SHORT),
    B,
    tools=[CUSTOM_TOOL],
)
"""A call as OpenAI's SDK types it (``ChatCompletionMessageCustomToolCall``), and its definition."""
NOTED = "custom tools become functions with the argument input 1"
TEXT_CALL = json.dumps({"name": "grep", "arguments": {"input": "{a}"}})
CUSTOM = [
    Row("hf", "a custom tool takes one argument", PATCHED, {"messages": [A, assistant("", called({"input": "{a}"}, SHORT)), answered("done", SHORT), B], "tools": [{"type": "function", "function": CUSTOM_FUNCTION}]}, NOTED),
    Row("openai", "a custom tool takes one argument", PATCHED, [A, {"role": "assistant", "tool_calls": [called('{"input":"{a}"}', SHORT)]}, result("done", SHORT), B], NOTED),
    Row("mistral", "a custom tool takes one argument", PATCHED, [A, assistant("", called('{"input":"{a}"}', SHORT)), answered("done", SHORT), B], NOTED),
    Row("sharegpt", "a custom tool takes one argument", PATCHED, {"conversations": turns("human: a", f"function_call: {TEXT_CALL}", "observation: done", "gpt: b"), "system": "", "tools": json.dumps([CUSTOM_FUNCTION])}, NOTED),
    Row("text", "a custom tool takes one argument", talk(*PATCHED.messages, tools=[]), [A, assistant(f"<tool_call>\n{TEXT_CALL}\n</tool_call>"), user("<tool_response>\ndone\n</tool_response>"), B]),
]  # fmt: skip

ROWS = [*HF, *OPENAI, *MISTRAL, *SHAREGPT, *TEXT, *CUSTOM]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.preset}: {row.sentence}" for row in ROWS])
def test_a_conversation_gets_its_shape_or_the_reason_why_not(row):
    result = line(presets.get_preset(row.preset), row.conversation)
    written, findings, refused = result.data, result.findings, result.refusal
    assert row.noted in "; ".join(found.text for found in findings)
    if isinstance(row.expected, str):
        assert written is None
        assert (refused.code, refused.severity) == (row.expected, "error")
        assert findings[-1] == refused
    else:
        assert refused is None
        record = json.loads(written)
        assert record == row.expected if isinstance(row.expected, dict) else next(iter(record.values())) == row.expected
        assert "error" not in {found.severity for found in findings}
        assert bool(findings) == bool(row.noted) or not row.noted


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.preset}: {row.sentence}" for row in ROWS])
def test_a_conversation_is_never_changed(row):
    if "nested" in row.sentence:
        return  # what copies and compares goes no deeper
    before = copy.deepcopy(row.conversation)
    line(presets.get_preset(row.preset), row.conversation)
    assert row.conversation == before


def test_a_message_that_fits_already_is_taken_as_it_is():
    shaped = presets.get_preset("hf").shape(talk(A, B, tools=[]))
    assert shaped.record["messages"][0] is A


def test_chat_is_the_specified_record_as_it_is():
    conversation = talk({**A, "n": 2**70}, B)
    record = {"messages": [{**A, "n": 2**70}, B], "tools": [tool()]}
    assert presets.get_preset("chat").shape(conversation) == ShapeResult(record, [])


# Qwen's template, with what it does for structured and for plain messages alike.


def qwen(messages: list[dict[str, Any]], tools: list[Any]) -> str:
    """The text that the template of Qwen 2.5 gives, the same code for both forms."""
    system = messages[0]["content"]
    if tools:
        given = "".join("\n" + json.dumps(each, ensure_ascii=False) for each in tools)
        system += (
            "\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with "
            f"function signatures within <tools></tools> XML tags:\n<tools>{given}\n</tools>\n\nFor each function call, "
            "return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n"
            '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
        )
    text = f"<|im_start|>system\n{system}<|im_end|>\n"
    for at, message in enumerate(messages[1:], 1):
        if message["role"] == "tool":
            text += "" if messages[at - 1]["role"] == "tool" else "<|im_start|>user"
            text += f"\n<tool_response>\n{message['content']}\n</tool_response>"
            text += "" if messages[at + 1 : at + 2] and messages[at + 1]["role"] == "tool" else "<|im_end|>\n"
            continue
        text += f"<|im_start|>{message['role']}" + (f"\n{message['content']}" if message["content"] else "")
        for each in message.get("tool_calls", ()):
            arguments = json.dumps(each["function"]["arguments"], ensure_ascii=False)
            text += f'\n<tool_call>\n{{"name": "{each["function"]["name"]}", "arguments": {arguments}}}\n</tool_call>'
        text += "<|im_end|>\n"
    return text


@pytest.mark.parametrize("messages", [CALLED, PARALLEL, (A, B)], ids=["a call", "parallel calls", "no call"])
def test_the_text_is_what_qwen_makes_of_the_structured_form(messages):
    conversation = talk(SYSTEM, *messages)
    structured = presets.get_preset("hf").shape(conversation).record
    text = presets.get_preset("text").shape(conversation).record
    assert qwen(text["messages"], []) == qwen(structured["messages"], structured["tools"])
