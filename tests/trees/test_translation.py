"""Calls that a gateway or a client translated are those of the logged reply, unless arguments were emptied or replaced.

The rows have the form in which LiteLLM 1.108 logs Claude Code's requests (``call_type`` "anthropic_messages"): the turns
as Anthropic has them, the response converted to OpenAI chat.
"""

import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.trees.translation import is_translated
from tests.conftest import assistant, user

from .logs import READ, Log, calling, result

BEFORE = {"path": "a.py", "limit": 5, "note": "what the file is read for, in words"}
WORDS = "The file begins with its imports, and the class follows after these in line 40."

TYPES = [
    ("numbers as texts", BEFORE, {**BEFORE, "limit": "5"}),
    ("texts as numbers", {"at": "1.50"}, {"at": 1.5}),
    ("an integer as a float", {"at": 3}, {"at": 3.0}),
    ("truth values as texts", {"all": "True"}, {"all": True}),
    ("a list as a JSON text", {"paths": ["a", "b"]}, {"paths": '["a", "b"]'}),
    ("an object within as a JSON text", {"edit": {"at": 1}}, {"edit": '{"at": "1"}'}),
    ("all arguments as a JSON text", BEFORE, json.dumps(BEFORE)),
    ("other order", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("defaults that the client added", {"path": "a.py"}, {"path": "a.py", "limit": 2000}),
    ("null that the client removed", {"path": "a.py", "limit": None}, {"path": "a.py"}),
    ("white space at the ends of a text", {"path": "a.py "}, {"path": "a.py"}),
]
REPLACED = [
    ("another text", {"note": "what the file is read for"}, {"note": "A tool."}),
]
EMPTIED = [
    ("no arguments", BEFORE, {}),
    ("an argument that was removed", BEFORE, {"path": "a.py", "limit": 5}),
    ("an empty text", BEFORE, {**BEFORE, "note": ""}),
    ("a note instead of a text", BEFORE, {**BEFORE, "note": "[cleared]"}),
    ("a shortened text", {"text": WORDS}, {"text": WORDS[:20]}),
]


def called(arguments, id="call_1", text="I look.", name="read_file"):
    return calling(name, json.dumps(arguments), id, text)


def rows(*groups):
    return pytest.mark.parametrize(
        "one, other", [r[1:] for g in groups for r in g], ids=[r[0] for g in groups for r in g]
    )


@rows(TYPES)
def test_other_types_are_a_translation(one, other):
    assert is_translated(called(one), called(other), freely=False)
    assert is_translated(called(one), called(other), freely=True)


@rows(REPLACED)
def test_another_value_is_one_only_if_the_gateway_logs_another_format(one, other):
    assert not is_translated(called(one), called(other), freely=False)
    assert is_translated(called(one), called(other), freely=True)


@rows(EMPTIED)
def test_emptied_arguments_are_not_the_logged_ones(one, other):
    assert not is_translated(called(one), called(other), freely=False)
    assert not is_translated(called(one), called(other), freely=True)


@pytest.mark.parametrize(
    "other",
    [
        called({"limit": 5}, id="call_2"),
        called({"limit": 5}, id=""),
        called({"limit": 5}, text="I read."),
        called({"limit": 5}, name="read"),
        assistant("I look."),
    ],
    ids=["id", "no id", "text", "name", "no call"],
)
def test_another_id_name_or_text_is_another_reply(other):
    assert not is_translated(called({"limit": "5"}), other, freely=True)


def test_calls_without_ids_are_not_compared():
    assert not is_translated(called({"limit": "5"}, id=""), called({"limit": 5}, id=""), freely=True)


def weights(lines, **options):
    (outcome,) = convert_session(
        [json.dumps(line) for line in lines], Options(anonymize=False, loss="weight", conversations="all", **options)
    )
    return [
        [m["weight"] for m in json.loads(r.line)["messages"] if m["role"] == "assistant"]
        for r in outcome.output.records
    ]


def chat_log(sent):
    log = Log(tools=[READ])
    log.add(user("Read a.py."), says=called({"path": "a.py", "limit": "5"}))
    two = log.add(user("Read a.py."), called(sent), result("def add(): ..."), says="Read.")
    log.add(
        user("Read a.py."), called(sent), result("def add(): ..."), two, user("Once more."), says="It has one function."
    )
    return log.lines


def test_a_reply_whose_arguments_have_other_types_is_trained_on():
    assert weights(chat_log({"path": "a.py", "limit": 5})) == [[1, 1, 1]]


def test_a_reply_with_arguments_that_the_client_replaced_is_trained_on_in_a_record_of_its_own():
    assert weights(chat_log({"path": "b.py", "limit": 5})) == [[1], [0, 1, 1]]


def block_log(sent, thinking=()):
    """Rows of LiteLLM: turns of Anthropic, responses of OpenAI chat."""
    begin = {"role": "user", "content": [{"type": "text", "text": "Read a.py."}]}
    call = {"type": "tool_use", "id": "call_1", "name": "read_file", "input": sent}
    turns = [
        begin,
        {"role": "assistant", "content": [*thinking, {"type": "text", "text": "I look."}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "def add(): ..."}]},
    ]
    tools = [{"name": "read_file", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
    answers = called({"path": "a.py", "note": "what the file is read for"}), assistant("Read.")
    return [
        {
            "id": f"r{number}",
            "call_type": "anthropic_messages",
            "session_id": "s1",
            "startTime": 1768298400.0 + number,
            "messages": turns[: 1 + 2 * number],
            "model_parameters": {"tools": tools},
            "response": {"id": f"r{number}", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]},
        }
        for number, said in enumerate(answers)
    ]


@pytest.mark.parametrize("thinking", [[], [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]])
def test_a_reply_that_litellm_logged_in_another_format_is_trained_on(thinking):
    assert weights(block_log({"note": "A tool.", "path": "a.py"}, thinking)) == [[1, 1]]


def test_so_is_one_whose_arguments_the_client_emptied():
    assert weights(block_log({"note": "[cleared]", "path": "a.py"})) == [[1], [0, 1]]
