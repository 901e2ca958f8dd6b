"""Tools without a schema: one rule for all readers and presets, as docs/formats.md has it."""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.core import chat
from chatsquash.formats.definitions import function_tool
from chatsquash.records import presets
from tests.conftest import cases, write_log

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
LARK = {"syntax": "lark", "definition": "start: WORD"}
FLAT = {"type": "custom", "name": "sql", "description": "d", "format": {"type": "grammar", **LARK}}
NESTED = {
    "type": "custom",
    "custom": {"name": "sql", "description": "d", "format": {"type": "grammar", "grammar": LARK}},
}
OF_ANTHROPIC = {"type": "custom", "name": "find", "description": "d", "input_schema": SCHEMA}
FUNCTION = {"type": "function", "function": {"name": "find", "description": "d", "parameters": SCHEMA}}


@cases("tool, expected",
    ("as OpenAI chat has it", NESTED, NESTED["custom"]),
    ("as OpenAI Responses has it", FLAT, {key: FLAT[key] for key in ("name", "description", "format")}),
    ("a name is enough", {"type": "custom", "name": "sql"}, {"name": "sql"}),
    ("a custom tool of Anthropic is a function", OF_ANTHROPIC, None),
    ("a function", FUNCTION, None),
    ("a hosted tool", {"type": "web_search"}, None),
    ("a member that is not an object", {"type": "custom", "custom": 5}, None),
    ("no object", "sql", None),
)  # fmt: skip
def test_a_custom_tool_has_no_schema(tool, expected):
    assert chat.custom_definition(tool) == expected


@cases("tool, expected",
    ("a schema in OpenAI's spelling", {"type": "x", "name": "a", "parameters": SCHEMA}, False),
    ("a schema in Anthropic's", {"type": "x", "name": "a", "input_schema": SCHEMA}, False),
    ("Anthropic's tools that the client runs", {"type": "bash_20250124", "name": "bash"}, False),
    ("Anthropic's that it runs", {"type": "web_search_20250305", "name": "web_search"}, True),
    ("OpenAI's", {"type": "file_search", "vector_store_ids": []}, True),
    ("Gemini's", {"googleSearch": {}}, True),
    ("a custom tool", FLAT, False),
    ("a function", FUNCTION, False),
    ("no object", None, False),
)  # fmt: skip
def test_a_tool_of_another_type_without_a_schema_runs_at_the_provider(tool, expected):
    assert chat.runs_at_provider(tool) is expected


def test_envelopes_read_a_flat_custom_tool_as_a_nested_one():
    assert function_tool(FLAT) == function_tool(NESTED) == NESTED
    assert function_tool(OF_ANTHROPIC) == FUNCTION
    assert function_tool({"type": "web_search", "name": "web_search"}) is None


MESSAGES = [{"role": "user", "content": "hi"}]
OPENAI = {"choices": [{"message": {"role": "assistant", "content": "ok"}}]}
SAID = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}]
LOGS = {
    "openai_chat": ({"model": "m", "messages": MESSAGES, "tools": [NESTED, {"type": "web_search_preview", "name": "search"}]}, OPENAI),
    "openai_chat, flat": ({"model": "m", "messages": MESSAGES, "tools": [FLAT]}, OPENAI),
    "openai_responses": ({"model": "m", "instructions": "x", "input": MESSAGES, "tools": [FLAT, {"type": "web_search"}]}, {"object": "response", "output": SAID}),
}  # fmt: skip


def tools_of(folder, preset):
    """The definitions of the only record, as functions; of the text preset those in its prompt."""
    (path,) = [path for path in folder.rglob("*.jsonl") if "reports" not in path.parts]
    record = json.loads(path.read_text())
    if preset == "text":
        prompt = record["messages"][0]["content"]
        listed = prompt.partition("<tools>\n")[2].partition("\n</tools>")[0]
        return [json.loads(line)["function"] for line in listed.splitlines()]
    tools = json.loads(record["tools"]) if isinstance(record["tools"], str) else record["tools"]
    return [tool.get("function", tool) for tool in tools]


@pytest.mark.parametrize("preset", sorted(set(presets.names()) - {"chat"}))
@pytest.mark.parametrize("log", LOGS)
def test_presets_write_a_custom_tool_as_a_function_that_takes_a_text(here, log, preset):
    request, response = LOGS[log]
    line = {"timestamp": "2026-01-13T10:00:00Z", "session_id": "s1", "request": request, "response": response}
    write_log(here / "logs/a.jsonl", json.dumps(line))
    convert("logs", "out", Options(anonymize=False, preset=preset))
    assert tools_of(here / "out", preset) == [{"name": "sql", "description": "d", "parameters": TEXT}]


@pytest.mark.parametrize(("log", "expected"), [("openai_chat", LOGS["openai_chat"][0]["tools"]), ("openai_chat, flat", [FLAT]), ("openai_responses", [NESTED])])  # fmt: skip
def test_the_specified_record_has_definitions_of_openai_chat_as_logged(here, log, expected):
    request, response = LOGS[log]
    line = {"timestamp": "2026-01-13T10:00:00Z", "session_id": "s1", "request": request, "response": response}
    write_log(here / "logs/a.jsonl", json.dumps(line))
    convert("logs", "out", Options(anonymize=False))
    assert tools_of(here / "out", "chat") == expected
