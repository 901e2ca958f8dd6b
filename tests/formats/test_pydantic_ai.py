"""What is particular to Pydantic AI: what no part says; ``rows/pydantic_ai.json`` has what all documents have."""

import pytest

from chatsquash.formats.clients import pydantic_ai
from chatsquash.formats.clients.pydantic_ai import remainder
from chatsquash.formats.clients.pydantic_ai.remainder import KEY
from chatsquash.model import Conversation
from chatsquash.translate import losses
from tests.formats.kinds import result, said, user


def load(*turns):
    (conversation,) = pydantic_ai.conversations([list(turns)])
    return conversation.messages


def dump(*messages):
    return pydantic_ai.dump(Conversation(list(messages), []))


def test_the_name_of_a_tool_is_its_calls_where_the_result_has_none():
    call = {"id": "call_abc", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    turns = dump(said(None, call), result("sunny"))
    assert turns[1]["parts"][0]["tool_name"] == "weather"
    assert load(*turns)[1] == result("sunny")


def test_what_was_changed_since_is_not_undone():
    (turn,) = dump(said(None, {"id": "c", "type": "custom", "custom": {"name": "shell", "input": "ls"}}, refusal="no"))
    turn["parts"][0]["content"] = "never mind"
    (message,) = load(turn)
    assert message["content"] == "never mind"


@pytest.mark.parametrize(
    "rest",
    [
        5,
        [],
        {"add": 5},
        {"in": {"role": 3, "content": {"is": 1}}},
        {"drop": ["role"]},
        {"was": {"role": "user", "content": "A"}, "is": 7},
        {"add": {"tool_calls": 5}},
        {"add": {"tool_calls": [{"id": 5}]}},
    ],
)
def test_a_remainder_that_makes_no_message_is_left(rest):
    (turn,) = dump(user("A"))
    assert load({**turn, "metadata": {KEY: {"0": rest}}}) == [user("A")]


def test_a_remainder_as_deep_as_can_be_is_left():
    rest: dict = {}
    for _ in range(5000):
        rest = {"in": {"content": rest}}
    assert remainder.restored(user("A"), rest) == user("A")


def test_tools_are_lost():
    tool = {"type": "function", "function": {"name": "weather"}}
    written = Conversation([user("A")], [tool])
    (again,) = pydantic_ai.conversations([pydantic_ai.dump(written)])
    assert losses.differences(written, again) == ["tools[0]"]
