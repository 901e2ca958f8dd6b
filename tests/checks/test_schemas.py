"""Arguments held to the schemas of definitions; schemas come from logs, so that they may be anything."""

import json
import sys
import time

import pytest

from chatsquash.checks import examine, schemas
from chatsquash.checks.registry import View
from chatsquash.core.errors import UsageError
from tests.conftest import cases

from .rows import Row, assistant, call, found, names, talk, tool, user


def schema(**properties):
    return {"type": "object", "properties": properties}


PATH = schema(path={"type": "string"}, depth={"type": "integer", "maximum": 9})


def called(parameters, *arguments):
    """A conversation of calls with these arguments, in one message."""
    spelled = [each if isinstance(each, str) else json.dumps(each) for each in arguments]
    calls = [call(f"c{number}", arguments=each) for number, each in enumerate(spelled)]
    return talk(user(), assistant("", *calls), tools=[tool(parameters=parameters)])


def invalid(sentence, parameters, *arguments, findings="warning 1"):
    return Row("arguments-invalid", sentence, called(parameters, *arguments), findings)


def unchecked(sentence, parameters, *arguments, findings="info 1"):
    return Row("arguments-unchecked", sentence, called(parameters, *arguments), findings)


def nested(levels):
    value = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


NODE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": schema(inner={"type": "array", "items": {"$ref": "#/$defs/node"}}, n={"type": "integer"})},
}
TWICE = {"allOf": [schema(a={"$ref": "#"}), schema(a={"$ref": "#"})]}
CHAIN = {
    "$ref": "#/$defs/d0",
    "$defs": {**{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(40)}, "d40": {}},
}
FAR = {"$ref": "#/$defs/d0", "$defs": {**{f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(5000)}, "d5000": {}}}
ALTERNATIVES = {"anyOf": [{"required": [f"x{n}"]} for n in range(2000)]}

ROWS = [
    invalid("arguments that fit are fine", PATH, {"path": "/", "depth": 1}, findings=""),
    invalid("so are more than are described", PATH, {"other": 1}, findings=""),
    invalid("another type does not fit", PATH, {"path": 5}),
    invalid("a number that is too large does not", PATH, {"depth": 10}),
    invalid("nor does one that is no integer", PATH, {"depth": 1.5}),
    invalid("one finding for a call with several things wrong", PATH, {"path": 5, "depth": 10}),
    invalid("one for each call", PATH, {"path": 5}, {"path": "/"}, {"path": 6}, findings="warning 1, warning 1"),
    invalid("what is required is looked for", {**PATH, "required": ["path"]}, {}),
    invalid("and what is not allowed", {**PATH, "additionalProperties": False}, {"x": 1}),
    invalid("a pattern that backtracking takes for ever", schema(a={"pattern": "^(a+)+$"}), {"a": "a" * 50_000 + "b"}),
    invalid("a reference within the schema", NODE, {"inner": [{"inner": [{"n": "x"}]}]}),
    invalid("a schema that refers to itself often, and shallow arguments", TWICE, {"a": {"a": 1}}),
    invalid("an older draft", {"$schema": "http://json-schema.org/draft-04/schema#", **schema(a={"minimum": 3, "exclusiveMinimum": True})}, {"a": 3}),
    invalid("half of a UTF-16 pair is a text, too", schema(a={"type": "integer"}), '{"a": "\\ud800"}', findings="arguments-unchecked info 1"),
    invalid("formats are not looked at", schema(a={"format": "date"}), {"a": "x"}, findings=""),
    invalid("what is no JSON is of another rule", PATH, '{"path": ', findings=""),
    invalid("so is what is no object", PATH, "[]", "5", findings=""),
    invalid("a definition without a schema allows all", None, {"path": 5}, findings=""),
    invalid("a great many alternatives, and long arguments", ALTERNATIVES, {"a": "x" * 200_000}),
    unchecked("a schema that can be gone by is", PATH, {"path": "/"}, findings=""),
    unchecked("a schema of another dialect is told once", {"type": "OBJECT"}, {}, {}),
    unchecked("one with types that are none", {"type": "object", "required": "path"}, {}),
    unchecked("one that refers to what is fetched", schema(a={"$ref": "http://localhost:9/x"}), {"a": 1}),
    unchecked("one that refers to a file", {"$ref": "file:///etc/passwd"}, {}),
    unchecked("one of an unknown draft", {"$schema": "http://localhost:9/draft", **PATH}, {}),
    unchecked("one that refers to what it does not have", {"$ref": "#/$defs/x"}, {}),
    unchecked("one that refers to itself in a cycle", {"allOf": [{"$ref": "#"}]}, {}),
    unchecked("one that refers far", FAR, {}),
    unchecked("one that refers ever more often", CHAIN, {}),
    unchecked("one that refers to itself often, and deep arguments", TWICE, nested(40)),
    unchecked("one that refers by names", {"$ref": "#/$defs/a", "$defs": {"a": {"$anchor": "b"}}}, {}),
    unchecked("one that is too large", schema(a={"enum": ["x" * 1000] * 300}), {}),
    unchecked("one with too many parts", schema(a={"enum": [[number] for number in range(6000)]}), {"a": []}),
    unchecked("a pattern that looks ahead", schema(a={"pattern": "(?=x)"}), {"a": "x"}),
    unchecked("a pattern that refers back", schema(a={"pattern": "(x)\\1"}), {"a": "x"}),
    unchecked("a pattern that is too large", schema(a={"pattern": "(a{1000}){1000}"}), {"a": "x"}),
    unchecked("arguments that are too long", PATH, {"path": "x" * 300_000}),
    unchecked("arguments that are nested too deep", PATH, nested(65)),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_arguments(row):
    started = time.monotonic()
    assert found(row) == row.expected
    assert time.monotonic() - started < 5


def told(conversation):
    return [each.text for each in examine(View(conversation), "arguments")]


SECRET = "\x1b[2Jsecret" * 100


@cases("parameters, arguments, expected",
    ("the place and the rule", PATH, {"path": 5}, "'/path' violates 'type' 'string'): check"),
    ("a place further inside", schema(a={"items": PATH}), {"a": [{}, {"depth": SECRET}]}, "'/a/1/depth' violates 'type' 'integer'): check"),
    ("what is missing", {**PATH, "required": ["depth", "path"]}, {"depth": 1}, "the top level violates 'required' 'path'): check"),
    ("no value", schema(a={"enum": ["x", "y"]}), {"a": SECRET}, "'/a' violates 'enum'): check"),
    ("a name, escaped and cut", {**PATH, "additionalProperties": False}, {SECRET: 1}, "violates 'additionalProperties' '\\x1b[2Jsecret\\x1b[2J"),
    ("a place, escaped and cut", {"additionalProperties": {"type": "string"}}, {SECRET: 1}, "definition ('/\\x1b[2Jsecret\\x1b[2J"),
)  # fmt: skip
def test_a_finding_says(parameters, arguments, expected):
    (text,) = told(called(parameters, arguments))
    assert expected in text
    assert text.isprintable()
    assert len(text) < 350


def test_the_schema_is_found_in_each_spelling():
    for spelling in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema"):
        definition = {"name": "grep", spelling: schema(path={"type": "string"})}
        assert told(talk(assistant("", call(arguments='{"path": 5}')), tools=[definition]))


def test_arguments_that_are_an_object_already_are_looked_at():
    (text,) = told(talk(assistant("", call(arguments={"path": 5})), tools=[tool(parameters=PATH)]))
    assert "'/path'" in text


def test_calls_that_have_no_arguments_or_no_definition_are_fine():
    without = [call(arguments=None), call(name="other"), call(name=None), {"id": "c"}]
    assert told(talk(assistant("", *without), tools=[tool(parameters=PATH), None, {"name": 5}])) == []


def test_a_missing_package_is_named_with_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(UsageError, match=r"jsonschema-rs package: pip install 'chatsquash\[schema\]'"):
        schemas.refuse_missing()
