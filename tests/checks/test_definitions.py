from itertools import product

import pytest

from chatsquash.checks import examine
from chatsquash.checks.registry import View
from chatsquash.core.model import Conversation

from .rows import Row, assistant, call, found, names, result, talk, tool, user

EMPTY = {"type": "object", "properties": {}}
CUSTOM = {"type": "custom", "custom": {"name": "sql", "description": "d"}}
ROLES = ("system", "developer", "user", "assistant", "function")
HOSTED = (
    {"type": "web_search"},
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
    {"type": "x:search", "parameters": 5, "name": 7, "description": []},
    {"googleSearch": {}},
    {"google_search": {"time_range_filter": {}}},
    {"codeExecution": {}},
)
GOOD = talk(user(), assistant())
CALLED = (user(), assistant("", call()), result(), assistant())


def defined(*tools):
    return talk(user(), assistant(), tools=list(tools))


ROWS = [
    Row("no-messages", "one message is enough", talk(user())),
    Row("no-messages", "a record without messages is found", talk(), "error"),
    Row("no-tools", "one tool is enough", GOOD),
    Row("no-tools", "a chat without tools is told of", defined(), "info"),
    Row("calls-without-tools", "a record that calls tools and has none is an error", talk(*CALLED, tools=[]), "undeclared-tool error 1, error"),
    Row(
        "calls-without-tools",
        "the legacy form of a call is a call",
        talk(user(), assistant("", function_call={"name": "grep"}), tools=[]),
        "legacy-function-call error 1, error",
    ),
    Row("no-tools", "an empty tool_calls is no call", talk(assistant(tool_calls=[]), tools=[]), "info"),
    Row("calls-without-tools", "one tool is enough", talk(*CALLED)),
    Row("tool-not-object", "an object is a definition, whatever else it has", defined(tool(strict=True))),
    Row("tool-not-object", "a name is no definition", defined("grep"), "error"),
    Row("tool-not-object", "null is no definition", defined(tool(), None), "error"),
    Row("tool-parameters", "an object with a type and properties is a schema", GOOD),
    Row("unknown-role", "these are known", talk(*({"role": role, "content": "x"} for role in ROLES))),
    Row(
        "unknown-role",
        "each message of another role is found",
        talk(user(), {"role": "model", "content": "x"}, {"role": "User", "content": "x"}, {"role": "", "content": "x"}),
        "error 1, error 2, error 3",
    ),
    Row("tool-name", "a name will do", GOOD),
    Row("tool-name", "a custom tool has its own", defined(CUSTOM)),
    Row("tool-name", "a definition without a name is found", defined({"description": "d", "parameters": EMPTY}), "error"),
    Row("tool-name", "an empty name is none", defined(tool("")), "error"),
    Row("tool-name", "a number is none", defined(tool(5)), "error"),
    Row("tool-name", "null is none", defined(tool(None)), "error"),
    Row("tool-name", "a custom tool without a name is found", defined({"type": "custom", "custom": {"description": "d"}}), "error"),
    Row("tool-name", "a function that is none has no name", defined({"type": "function", "description": "d", "parameters": EMPTY, "function": None}), "error"),
    Row("tool-name", "what is named like a hosted tool and more is none", defined({"googleSearch": {}, "description": "d", "parameters": EMPTY}), "error"),
    Row(
        "tool-name",
        "a type that is no text is not that of a hosted tool",
        defined({"type": 5}),
        "error, tool-description warning, tool-parameters-missing warning",
    ),
    Row("tool-description", "a sentence will do", GOOD),
    Row("tool-description", "null is none", defined(tool(description=None)), "warning"),
    Row("tool-description", "a missing one is found", defined({"name": "grep", "parameters": EMPTY}), "warning"),
    Row("tool-description", "an empty one is none", defined(tool(description="")), "warning"),
    Row("tool-description", "white space is none", defined(tool(description=" \n")), "warning"),
    Row("tool-description", "an object is none", defined(tool(description={})), "warning"),
    Row("tool-description", "a custom tool without one is found", defined({"type": "custom", "custom": {"name": "x"}}), "warning"),
    *(
        Row(code, f"a hosted tool is the provider's: {hosted}", defined(hosted))
        for code in ("tool-name", "tool-description", "tool-parameters", "tool-parameters-missing")
        for hosted in HOSTED
    ),
    Row("tool-parameters-missing", "a custom tool takes a text", defined(CUSTOM)),
    Row("tool-parameters-missing", "so does one that is flat", defined({"type": "custom", "name": "x", "description": "d"})),
    Row("tool-parameters-missing", "they are found", defined({"name": "grep", "description": "d"}), "warning"),
    Row("tool-parameters-missing", "an empty schema is one", defined(tool(parameters={"type": "object", "properties": {}}))),
    Row("tool-parameters", "null is no object", defined(tool(parameters=None)), "error"),
    Row("tool-parameters", "a list is no object", defined(tool(parameters=[])), "error"),
    Row("tool-parameters-type", "object is the type", defined(tool(parameters={"type": "object", "properties": {}}))),
    Row("tool-parameters-type", "another type is found", defined(tool(parameters={"type": ["object"], "properties": {}})), "error"),
    Row("tool-parameters-type", "a missing type is found", defined(tool(parameters={"properties": {}})), "error"),
    Row("tool-properties", "an empty object will do", defined(tool(parameters={"type": "object", "properties": {}}))),
    Row("tool-properties", "missing properties are found", defined(tool(parameters={"type": "object"})), "error"),
    Row("tool-properties", "a list of properties is found", defined(tool(parameters={"type": "object", "properties": ["a"]})), "error"),
    Row(
        "tool-properties",
        "an object for each property will do",
        defined(tool(parameters={"type": "object", "properties": {"a": {}, "b": {"type": "string"}}})),
    ),
    Row(
        "tool-properties",
        "each property that is no object is found",
        defined(tool(parameters={"type": "object", "properties": {"a": "string", "b": {}, "c": True, "d": None}})),
        "error, error, error",
    ),
    *(
        Row("tool-required", sentence, defined(tool(parameters={**EMPTY, "required": required})), "error")
        for sentence, required in (
            ("a name twice is found", ["a", "b", "a"]),
            ("an empty name is found", ["a", ""]),
            ("a number is no name", ["a", 1]),
            ("a list is no name", [["a"]]),
            ("null is no name", [None]),
            ("an object is no list", {"a": True}),
        )
    ),
    Row("tool-required", "a list of names will do", defined(tool(parameters={"type": "object", "properties": {}, "required": ["a"]}))),
    Row("tool-required", "it may be missing", GOOD),
    *(
        Row(
            "tool-required",
            f"a schema in {spelling} is looked at, which templates do not know",
            defined({"name": "x", "description": "d", spelling: {**EMPTY, "properties": {"a": 5}, "required": [1]}}),
            "tool-parameters-missing warning, tool-properties error, error",
        )
        for spelling in ("input_schema", "inputSchema", "parametersJsonSchema")
    ),
    Row("tool-required", "true is no list", defined(tool(parameters={"type": "object", "properties": {}, "required": True})), "error"),
    Row("tool-required", "null is there and no list", defined(tool(parameters={"type": "object", "properties": {}, "required": None})), "error"),
    Row(
        "tool-required",
        "every definition is looked at",
        defined({}, tool(parameters={"required": 1}), tool("b")),
        "tool-name error, tool-description warning, tool-parameters-missing warning, tool-parameters-type error, tool-properties error, error",
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_definitions(row):
    assert found(row) == row.expected


SOME = [tool(), {"description": "nameless"}, tool(parameters=[]), {"type": "web"}, 1]


@pytest.mark.parametrize("tools", [list(pair) for pair in product(SOME, repeat=2)])
def test_rules_on_tools_look_at_one_definition_at_a_time(tools):
    alone = [bool(list(examine(View(Conversation([], [each])), "tools"))) for each in tools]
    assert any(alone) == bool(list(examine(View(Conversation([], tools)), "tools")))
