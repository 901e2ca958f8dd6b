"""What is particular to the AI SDK's messages; ``rows/vercel_ai.json`` has what all documents have."""

from chatsquash.formats.clients import vercel_ai
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, said, user


def load(*turns):
    (conversation,) = vercel_ai.conversations([list(turns)])
    return conversation.messages


def test_ids_count_the_messages_or_come_from_a_generator():
    held = Conversation([user("A"), said("B"), user("C")], [])
    assert [turn["id"] for turn in vercel_ai.dump(held)] == ["msg_1", "msg_2", "msg_3"]
    assert [turn["id"] for turn in vercel_ai.dump(held, ids=lambda number: "x" * number)] == ["x", "xx", "xxx"]


def test_places_that_were_changed_count_for_nothing():
    held = [user("A"), user("B"), *KINDS["results reordered"].messages[1:]]
    turns = vercel_ai.dump(Conversation(held, []))
    assert [each["role"] for each in load(*turns)][2:5] == ["assistant", "tool", "tool"]
    assert [each["tool_call_id"] for each in load(*turns)[3:5]] == ["call_def", "call_abc"]
    new = {"id": "m", "role": "user", "parts": [{"type": "text", "text": "new"}]}
    assert [each["tool_call_id"] for each in load(*(new,) * 4, *turns)[7:9]] == ["call_abc", "call_def"]


def test_no_member_is_null_but_an_input_or_output():
    for held in KINDS.values():
        for turn in vercel_ai.dump(held):
            for each in (turn, *turn["parts"]):
                assert None not in [value for key, value in each.items() if key not in ("input", "output")]
