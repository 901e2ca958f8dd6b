import pytest

from .rows import Row, assistant, call, found, names, result, talk, tool, user

GOOD = talk(user(), assistant())
CALLED = (user(), assistant("", call()), result(), assistant())


def defined(*tools):
    return talk(user(), assistant(), tools=list(tools))


ROWS = [
    Row("no-messages", "one message is enough", talk(user()), []),
    Row("no-messages", "a record without messages is found", talk(), [("no-messages", "error", None)]),
    Row("no-tools", "one tool is enough", GOOD, []),
    Row("no-tools", "a chat without tools is told of", defined(), [("no-tools", "info", None)]),
    Row(
        "calls-without-tools",
        "a record that calls tools and has none is an error",
        talk(*CALLED, tools=[]),
        [("undeclared-tool", "error", 1), ("calls-without-tools", "error", None)],
    ),
    Row(
        "calls-without-tools",
        "the legacy form of a call is a call",
        talk(user(), assistant("", function_call={"name": "grep"}), tools=[]),
        [("legacy-function-call", "error", 1), ("calls-without-tools", "error", None)],
    ),
    Row(
        "no-tools",
        "an empty tool_calls is no call",
        talk(assistant(tool_calls=[]), tools=[]),
        [("no-tools", "info", None)],
    ),
    Row("calls-without-tools", "one tool is enough", talk(*CALLED), []),
    Row("tool-not-object", "an object is a definition, whatever else it has", defined(tool(strict=True)), []),
    Row("tool-not-object", "a name is no definition", defined("grep"), [("tool-not-object", "error", None)]),
    Row("tool-not-object", "null is no definition", defined(tool(), None), [("tool-not-object", "error", None)]),
    Row("tool-parameters", "an object with a type and properties is a schema", GOOD, []),
    Row(
        "tool-parameters-missing",
        "they are found",
        defined({"name": "grep"}),
        [("tool-parameters-missing", "warning", None)],
    ),
    Row(
        "tool-parameters-missing",
        "an empty schema is one",
        defined(tool(parameters={"type": "object", "properties": {}})),
        [],
    ),
    Row("tool-parameters", "null is no object", defined(tool(parameters=None)), [("tool-parameters", "error", None)]),
    Row("tool-parameters", "a list is no object", defined(tool(parameters=[])), [("tool-parameters", "error", None)]),
    Row(
        "tool-parameters-type", "object is the type", defined(tool(parameters={"type": "object", "properties": {}})), []
    ),
    Row(
        "tool-parameters-type",
        "another type is found",
        defined(tool(parameters={"type": ["object"], "properties": {}})),
        [("tool-parameters-type", "error", None)],
    ),
    Row(
        "tool-parameters-type",
        "a missing type is found",
        defined(tool(parameters={"properties": {}})),
        [("tool-parameters-type", "error", None)],
    ),
    Row(
        "tool-properties", "an empty object will do", defined(tool(parameters={"type": "object", "properties": {}})), []
    ),
    Row(
        "tool-properties",
        "missing properties are found",
        defined(tool(parameters={"type": "object"})),
        [("tool-properties", "error", None)],
    ),
    Row(
        "tool-properties",
        "a list of properties is found",
        defined(tool(parameters={"type": "object", "properties": ["a"]})),
        [("tool-properties", "error", None)],
    ),
    Row(
        "tool-required",
        "a list of names will do",
        defined(tool(parameters={"type": "object", "properties": {}, "required": ["a"]})),
        [],
    ),
    Row("tool-required", "it may be missing", GOOD, []),
    Row(
        "tool-required",
        "true is no list",
        defined(tool(parameters={"type": "object", "properties": {}, "required": True})),
        [("tool-required", "error", None)],
    ),
    Row(
        "tool-required",
        "null is there and no list",
        defined(tool(parameters={"type": "object", "properties": {}, "required": None})),
        [("tool-required", "error", None)],
    ),
    Row(
        "tool-required",
        "every definition is looked at",
        defined({}, tool(parameters={"required": 1}), tool("b")),
        [
            ("tool-parameters-missing", "warning", None),
            ("tool-parameters-type", "error", None),
            ("tool-properties", "error", None),
            ("tool-required", "error", None),
        ],
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_definitions(row):
    assert found(row) == row.expected
