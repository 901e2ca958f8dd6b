"""What is particular to OpenAI Responses; ``rows/openai_responses.json`` has what all formats have."""

from hypothesis import given

from chatsquash.formats import bodies, openai_chat
from chatsquash.formats import openai_responses as responses
from tests.formats.kinds import ODD
from tests.formats.table import each

USER = {"role": "user", "content": "go on"}
SAID = {"role": "assistant", "content": "a"}


@each("turns", "openai_responses")
def test_another_role_closes_what_the_assistant_said(name, given, expected):
    if "refused" not in expected:
        assert bodies.load(responses, {"input": [*given, USER]}).messages == [*expected, USER]


def test_a_state_tells_one_from_true():
    one, true, real = (responses.load({"type": "new", "n": n}, responses.START).state for n in (1, True, 1.0))
    assert one != true
    assert one != real
    assert one == responses.load({"type": "new", "n": 1}, responses.START).state


def test_the_state_of_a_turn_can_be_gone_on_from_twice():
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "3"}
    state = responses.load(SAID, responses.START).state
    responses.load({**SAID, "content": "b"}, state)
    responses.load(USER, state)
    assert responses.close(state) == [SAID]
    assert responses.load(call, state).state != responses.load(result, state).state


@given(ODD)
def test_neighbours_of_the_assistant_are_one_message_and_links_stay(conversation):
    back = bodies.load(responses, responses.dump(conversation)).messages
    roles = [message["role"] for message in conversation.messages]
    expected = [role for at, role in enumerate(roles) if role != "assistant" or at == 0 or roles[at - 1] != "assistant"]
    assert [message["role"] for message in back] == expected
    assert called(back) == called(bodies.load(openai_chat, openai_chat.dump(conversation)).messages)


def called(messages):
    """The ids of calls, and of what answers them, in order."""
    calls = [
        made["id"] for message in messages if message["role"] == "assistant" for made in message.get("tool_calls", [])
    ]
    return calls, [message["tool_call_id"] for message in messages if message["role"] == "tool"]
