"""What other converters are known to get wrong when they write, one row for each fault that ours must not have."""

import json

import pytest

import chatsquash
from chatsquash.model import Conversation
from tests.formats.kinds import PNG, SIGNATURE, call, image, private, result, said, system, text, user
from tests.formats.round_trip import without_ours

THOUGHT = "The user wants the weather."
SIGNED = private(said(None, call(), reasoning_content=THOUGHT), thinking=[{"text": THOUGHT, "signature": SIGNATURE}])
SEALED = private(said("b"), thinking=[{"text": "", "signature": SIGNATURE}])
FAILED = private(result("no such city"), is_error=True)
TWO = said(None, call("a"), call("b", '{"n":1}', "traffic"))
AROUND = private(said("I look.", call()), after=["Wait."])
BARE_TOOL = {"type": "function", "function": {"name": "now"}}
UNION = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}, "m": {"$ref": "#/$defs/m"}}}
UNION_TOOL = {
    "type": "function",
    "function": {"name": "f", "parameters": {**UNION, "$defs": {"m": {"type": "string"}}}},
}


def written(name, *messages, tools=()):
    return json.loads(json.dumps(chatsquash.dump(Conversation(list(messages), list(tools)), name)))


def blocks(document, of):
    """The blocks of a type in turns of Anthropic."""
    lists = [turn["content"] for turn in document["messages"] if isinstance(turn["content"], list)]
    return [block for content in lists for block in content if block["type"] == of]


def gemini_parts(document, member):
    return [part[member] for turn in document["contents"] for part in turn["parts"] if member in part]


def gemini_results(*results):
    return gemini_parts(written("gemini", user(), TWO, *results), "functionResponse")


def items(document, of):
    return [item for item in document["input"] if item.get("type") == of]


def entries(document, member):
    return [each for entry in document for each in entry.get(member, [])]


RESPONSES = [
    ("calls and results are items, never inside the content of a message", lambda: (
        [len(items(written("openai_responses", user(), said(None, call()), result()), of)) for of in ("function_call", "function_call_output")], [1, 1])),
    ("reasoning is not dropped", lambda: (
        items(written("openai_responses", user(), said("b", reasoning_content=THOUGHT)), "reasoning")[0]["summary"], [{"type": "summary_text", "text": THOUGHT}])),
    ("nor does it become text in tags, whoever thought it", lambda: ("<think>" in str(written("openai_responses", user(), SIGNED, result())), False)),
    ("nor are signatures of others sent", lambda: (SIGNATURE in str(written("openai_responses", user(), SIGNED, result())), False)),
]  # fmt: skip
ANTHROPIC = [
    ("a failure is not dropped", lambda: (blocks(written("anthropic", user(), said(None, call()), FAILED), "tool_result")[0]["is_error"], True)),
    ("texts before and behind a call do not run together", lambda: (
        [block["text"] for block in blocks(written("anthropic", user(), AROUND, result()), "text")], ["I look.", "Wait."])),
    ("an image in a result is an image of Anthropic's", lambda: (
        blocks(written("anthropic", user(), said(None, call()), result([text("a"), image()])), "tool_result")[0]["content"][1]["source"],
        {"type": "base64", "media_type": "image/png", "data": PNG})),
    ("an image of the user is, too", lambda: (blocks(written("anthropic", user([text("a"), image()])), "image")[0]["source"]["data"], PNG)),
    ("thinking is neither dropped nor text", lambda: (
        blocks(written("anthropic", user(), SIGNED, result()), "thinking"), [{"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE}])),
    ("thinking that is a signature alone stays", lambda: (blocks(written("anthropic", user(), SEALED), "thinking")[0]["signature"], SIGNATURE)),
    ("plain reasoning is not packed into redacted thinking", lambda: (
        blocks(written("anthropic", user(), said("b", reasoning_content=THOUGHT)), "redacted_thinking"), [])),
    ("arguments that are no JSON are not lost", lambda: (
        blocks(written("anthropic", user(), said(None, call(arguments="{bad"))), "tool_use")[0]["input"], {"INVALID_JSON": "{bad"})),
    ("no system prompt takes the place of another", lambda: (
        [(written("anthropic", system("a"), user(), system("b"), user()))[key] for key in ("system",)]
        + [turn["content"] for turn in written("anthropic", system("a"), user(), system("b"), user())["messages"] if turn["role"] == "system"], ["a", "b"])),
    ("a developer is not dropped", lambda: (written("anthropic", {"role": "developer", "content": "a"}, user())["system"], "a")),
    ("a tool without parameters takes an object", lambda: (
        written("anthropic", user(), tools=[BARE_TOOL])["tools"][0]["input_schema"], {"type": "object"})),
    ("results of one turn are one turn", lambda: (
        [turn["role"] for turn in written("anthropic", user(), TWO, result("1", "a"), result("2", "b"), said())["messages"]],
        ["user", "assistant", "user", "assistant"])),
]  # fmt: skip
GEMINI = [
    ("a result that is a list or a number is in an object", lambda: (
        [each["response"] for each in gemini_results(private(result("[1]", "a"), json=True), private(result("7", "b"), json=True))],
        [{"output": [1]}, {"output": 7}])),
    ("a result has the name of its call", lambda: ([each["name"] for each in gemini_results(result("1", "a"), result("2", "b"))], ["weather", "traffic"])),
    ("results of one turn are one content", lambda: (
        [len(turn["parts"]) for turn in written("gemini", user(), TWO, result("1", "a"), result("2", "b"))["contents"]], [1, 2, 2])),
    ("a thought is no visible text", lambda: (
        [part for turn in written("gemini", user(), said("b", reasoning_content=THOUGHT))["contents"] for part in turn["parts"] if part.get("text") == THOUGHT],
        [{"text": THOUGHT, "thought": True}])),
    ("ids are those of the calls, and differ", lambda: (
        [each.get("id") for each in gemini_parts(written("gemini", user(), TWO, result("1", "a"), result("2", "b"), said(None, call("c"))), "functionCall")],
        ["a", "b", "c"])),
    ("text beside calls and images is not dropped", lambda: (
        gemini_parts(written("gemini", user([text("a"), image()]), said("I look.", call()), result()), "text"), ["a", "I look."])),
    ("schemas are JSON Schema, with references and lists of types", lambda: (
        written("gemini", user(), tools=[UNION_TOOL])["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"], UNION_TOOL["function"]["parameters"])),
    ("no system prompt stands among the contents", lambda: (
        [turn["role"] for turn in written("gemini", system(), user())["contents"]], ["user"])),
    ("data is in the standard alphabet", lambda: (
        gemini_parts(written("gemini", user([image("data:image/png;base64,+/+/")])), "inlineData")[0]["data"], "+/+/")),
]  # fmt: skip
OLLAMA = [
    ("arguments are objects, never text", lambda: (
        [each["function"]["arguments"] for each in written("ollama", user(), said(None, call(), call("x", "{bad")))["messages"][1]["tool_calls"]],
        [{"city": "Paris"}, {"INVALID_JSON": "{bad"}])),
    ("content is text", lambda: (written("ollama", user([text("a"), text("b")]), said(None, call()))["messages"][1]["content"], "")),
]  # fmt: skip
PORTABLE = [
    ("calls and results are linked where ids are missing", lambda: (
        [each["id"] for member in ("toolCalls", "toolResults") for each in entries(written("portable", user(), said(None, call("")), result("x", "")), member)],
        ["call_1", "call_1"])),
    ("text beside a call is not dropped", lambda: (written("portable", user(), said("I look.", call()))[1]["content"], "I look.")),
    ("nor is what the user says behind results", lambda: (
        [each["content"] for each in written("portable", user(), TWO, result("1", "a"), result("2", "b"), private(user("go on"), same_turn=True))], [user()["content"], None, None, "go on"])),
    ("a text is a text, a list is no empty object", lambda: (
        [each["result"] for each in entries(written("portable", TWO, private(result("[1]", "a"), json=True), result("x", "b")), "toolResults")], ["[1]", "x"])),
    ("an empty result has no quotes", lambda: (entries(written("portable", TWO, result("", "a")), "toolResults")[0]["result"], "")),
    ("thoughts are no visible text", lambda: (THOUGHT in str(written("portable", user(), said("b", reasoning_content=THOUGHT))), False)),
    ("arguments that are no JSON are in an object all the same", lambda: (
        entries(written("portable", user(), said(None, call(arguments="{bad"))), "toolCalls")[0]["arguments"], {"INVALID_JSON": "{bad"})),
    ("a failure is told", lambda: (entries(written("portable", user(), said(None, call()), FAILED), "toolResults")[0]["result"], "ERROR: no such city")),
    ("calls that were made together stay together", lambda: ([len(each.get("toolCalls", [])) for each in written("portable", user(), TWO)], [0, 2])),
    ("there are no roles but three", lambda: (
        {each["role"] for each in written("portable", {"role": "developer", "content": "a"}, user(), said(None, call()), result())}, {"system", "user", "assistant"})),
    ("parts of text are all there", lambda: ([each["content"].split() for each in written("portable", user([text("a"), text("b")]))], [["a", "b"]])),
    ("nor do those of a result run together", lambda: (
        [each["result"].split() for each in entries(written("portable", TWO, result([text("x"), text("y")], "a")), "toolResults")], [["x", "y"]])),
]  # fmt: skip
CLIENTS = [
    ("a result without its call is not dropped", lambda: (
        [part["output"] for turn in written("vercel_ai", user(), result("x", "gone", name="f"), said()) for part in turn["parts"] if part["type"] == "dynamic-tool"], ["x"])),
    ("nothing is null", lambda: ("null" in json.dumps(without_ours(written("vercel_ai", system(), user(), SIGNED, result(""), said(None)))), False)),
    ("each turn of the model begins a step", lambda: (
        [[part["type"] for part in turn["parts"]].count("step-start") for turn in written("vercel_ai", user(), said(None, call()), result(), said())], [0, 2])),
    ("input is an object", lambda: (
        [part["input"] for turn in written("vercel_ai", user(), said(None, call()), result()) for part in turn["parts"] if part["type"] == "dynamic-tool"], [{"city": "Paris"}])),
    ("arguments stay the text that they were", lambda: (
        [part["args"] for turn in written("pydantic_ai", user(), said(None, call(arguments="{bad")), result()) for part in turn["parts"] if part["part_kind"] == "tool-call"], ["{bad"])),
    ("roles of tools and attachments are not dropped from training", lambda: (
        [each["role"] for each in written("oumi", user(), said(None, call()), result())["messages"]], ["user", "assistant", "tool"])),
    ("texts of a history do not run together", lambda: (
        written("oumi_history", user([text("a"), text("b")]))["branches"]["main"]["conversation_history"][0]["content"].split(), ["a", "b"])),
    ("an attachment of a history is one again", lambda: (
        [each["role"] for each in written("oumi_history", private(user("a"), attachment=True))["branches"]["main"]["conversation_history"]], ["attachment"])),
    ("legacy calls are calls", lambda: (
        written("clippy", user(), {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}})["conversation_history"][1]["tool_calls"][0]["function"]["name"], "f")),
    ("what is no text is not made one", lambda: (written("openai_chat", user([text("a"), image()]))["messages"][0]["content"], [text("a"), image()])),
]  # fmt: skip
ROWS = [*RESPONSES, *ANTHROPIC, *GEMINI, *OLLAMA, *PORTABLE, *CLIENTS]


@pytest.mark.parametrize("sentence, found", ROWS, ids=[row[0] for row in ROWS])
def test_no_fault_of_other_converters(sentence, found):
    got, expected = found()
    assert got == expected, sentence
