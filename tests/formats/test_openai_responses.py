"""What is particular to OpenAI Responses; ``rows/openai_responses.json`` has what all formats have."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.blocks import Call, Media, Reasoning, Result, Text, Turn
from chatsquash.core.chat import is_truncated
from chatsquash.core.model import Conversation
from chatsquash.formats import bodies, documents, get_format, view
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.providers import openai_responses as responses
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import conversations
from tests.formats.kinds import ODD
from tests.formats.table import bare, each

USER = {"role": "user", "content": "go on"}
SAID = {"role": "assistant", "content": "a"}


@each("turns", "openai_responses")
def test_another_role_closes_what_the_assistant_said(name, given, expected):
    if "refused" not in expected:
        assert bare(bodies.load(get_format("openai_responses"), {"input": [*given, USER]}).messages) == [
            *expected["messages"],
            USER,
        ]


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
    assert responses.close(state) == [Turn("assistant", (Text("a"),))]
    assert responses.load(call, state).state != responses.load(result, state).state


@given(ODD)
def test_neighbours_of_the_assistant_are_one_turn_and_links_stay(conversation):
    back = bodies.load(get_format("openai_responses"), responses.dump(conversation)).turns
    held = bodies.load(get_format("openai_chat"), openai_chat.dump(conversation)).turns
    assert called(back) == called(held)
    assert not any(turn.role == "assistant" == after.role for turn, after in pairwise(back))


def called(turns):
    """The ids of calls, and of what answers them, in order."""
    blocks = [block for turn in turns for block in turn.blocks]
    return [[block.id for block in blocks if type(block) is kind] for kind in (Call, Result)]


THOUGHT = [
    Reasoning("Hm."),
    Reasoning("Hm.", id="rs_1"),
    Reasoning("Hm.", "anthropic", "c2ln"),
    Reasoning("", "google", encrypted="e", id="rs_1"),
    Reasoning("Hm.", "openai"),
]


@pytest.mark.parametrize("thought", THOUGHT, ids=str)
def test_reasoning_that_openai_did_not_sign_is_never_written(thought):
    turns = (Turn("user", (Text("a"),)), Turn("assistant", (thought, Text("b"))))
    held = Conversation(view.messages(turns), [], turns=turns)
    assert responses.dump(held) == {"input": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}


UNHELD = [
    ([], Turn("user")),
    (
        [{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}],
        Turn("user", (Media("audio", "audio/wav", "UklGRg=="),)),
    ),
]


@pytest.mark.parametrize("content, turn", UNHELD, ids=str)
def test_what_the_service_takes_no_more_is_read_and_told_as_lost(content, turn):
    held = bodies.load(get_format("openai_responses"), {"input": [{"role": "user", "content": content}, USER]})
    assert turns_of(held)[0] == turn
    assert responses.dump(held) == {"input": [USER]}
    assert conversations.losses(held, "openai_responses") == ["turns[0]"]


ITEMS = [
    SAID,
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}], "phase": "commentary"},
    {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "a"}]},
    {"role": "assistant", "content": ""},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e"},
    {"type": "reasoning", "summary": [], "encrypted_content": "e"},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}]},
    {"type": "reasoning", "id": "r", "summary": ["s"], "encrypted_content": "e"},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call", "name": "f", "arguments": "{}"},
    {"type": "web_search_call", "id": "w", "status": "completed"},
]


@given(st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5))
def test_codex_reads_usual_items_at_once_as_they_are_read_one_by_one(items):
    lines = [{"type": "response_item", "payload": item} for item in [*items, USER | {"type": "message"}]]
    (found,) = documents.get_format("codex").conversations([{"type": "session_meta", "payload": {}}, *lines])
    assert turns_of(found) == bodies.load(get_format("openai_responses"), {"input": [*items, USER]}).turns


@pytest.mark.parametrize(
    ("status", "details", "finish"),
    [
        ("completed", None, "stop"),
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
        ("incomplete", {"reason": "budget"}, "incomplete"),
        ("incomplete", None, "incomplete"),
        ("cancelled", None, "incomplete"),
        ("in_progress", None, None),
        (None, None, None),
    ],
)
def test_a_response_that_is_not_completed_is_truncated_for_whatever_reason(status, details, finish):
    """By ``ResponseStatus`` and ``IncompleteDetails`` of openai 3.57.0, and a reason that it does not have."""
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    reply = get_format("openai_responses").reply({"status": status, "incomplete_details": details, "output": [item]})
    assert reply.finish_reason == finish
    assert is_truncated(finish) == (finish not in ("stop", None))


@pytest.mark.parametrize("status", ["in_progress", "queued"])
def test_a_response_that_was_logged_before_it_ended_is_cut(status):
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    reply = get_format("openai_responses").reply({"status": status, "output": [item]})
    assert (reply.finish_reason, reply.cut) == (None, True)
