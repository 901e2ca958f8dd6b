"""Crush: its database, and whatever stands in its messages."""

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.agents import crush, goose, opencode
from chatsquash.formats.base import TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of
from tests import golden
from tests.conftest import cases
from tests.formats.odd import VALUES
from tests.formats.test_opencode import places, words

SESSIONS = ["id", "parent_session_id", "title", "message_count", "created_at"]
HELD = {"sessions": SESSIONS, "messages": ["id", "session_id", "role", "parts", "created_at"]}


def message(role, *parts, **more):
    return {"id": "m", "session_id": "s", "role": role, "parts": json.dumps(list(parts)), "created_at": 1, **more}


def part(of, **data):
    return {"type": of, "data": data}


def told(*messages, **header):
    rows = {"sessions": [{"id": "s", "created_at": 1, "updated_at": 2, **header}], "messages": list(messages)}
    return crush.conversations(crush.from_rows(rows))


def test_which_tables_are_read():
    assert crush.tables(HELD) == {
        "sessions": tuple(SESSIONS[:2] + SESSIONS[4:]),
        "messages": ("id", "session_id", "created_at"),
    }
    assert crush.tables({**HELD, "messages": ["id", "session_id", "role", "content_json", "created_at"]}) is None
    assert crush.tables({}) is goose.tables(HELD) is opencode.tables(HELD) is None


def test_messages_of_one_second_stand_in_the_order_in_which_they_were_written():
    index = {"sessions": [(1, "s", None, 5)], "messages": [(9, "a", "s", 1), (2, "z", "s", 1), (3, "b", "s", 0)]}
    assert crush.families(index) == [{"sessions": [1], "messages": [3, 2, 9]}]


def test_sessions_that_began_each_other_are_one_family():
    index = {"sessions": [(1, "a", "b", 1), (2, "b", "a", 2), (3, "c", None, 3)], "messages": []}
    assert [family["sessions"] for family in crush.families(index)] == [[1, 2], [3]]


def test_what_signs_reasoning_is_told_by_its_member():
    signed = [
        part("reasoning", thinking="a", signature="A"),
        part("reasoning", thinking="b", thought_signature="B"),
        part("reasoning", thinking="c", responses_data={"item_id": "rs", "encrypted_content": "C", "summary": ["c"]}),
    ]
    (found,) = told(message("assistant", *signed, part("text", text="hi")))
    blocks = turns_of(found)[0].blocks
    assert [block.signer for block in blocks[:3]] == ["anthropic", "google", "openai"]
    assert (blocks[0].signature, blocks[1].signature, blocks[2].encrypted) == ("A", "B", "C")


def test_a_result_may_be_an_image():
    call = part("tool_call", id="c", name="view", input="{}")
    result = part(
        "tool_result", tool_call_id="c", name="view", content="Loaded", data="iVBORw0KGgo=", mime_type="image/png"
    )
    (found,) = told(message("assistant", call), message("tool", result))
    assert [part["type"] for part in found.messages[1]["content"]] == ["text", "image_url"]


@cases(
    "reason, expected",
    ("canceled", "incomplete"),
    ("error", "incomplete"),
    ("max_tokens", "max_tokens"),
    ("end_turn", "end_turn"),
)
def test_why_a_reply_ended(reason, expected):
    (found,) = told(message("assistant", part("text", text="a"), part("finish", reason=reason, time=1)))
    assert [reply.finish_reason for reply in found.origin.replies] == [expected]


def test_a_summary_that_failed_replaces_nothing():
    finish = part("finish", reason="error", time=1)
    (found,) = told(
        message("user", part("text", text="hi")),
        message("assistant", part("text", text="su"), finish, is_summary_message=1),
    )
    assert words(found) == ["hi", "su"]
    assert found.origin.replies == ()


def test_a_session_may_name_its_summary_alone():
    told_of = [message("user", part("text", text="hi")), message("assistant", part("text", text="a"))]
    current, before = told(*told_of, message("assistant", part("text", text="sum"), id="x"), summary_message_id="x")
    assert (words(current), words(before)) == (["sum"], ["hi", "a"])
    assert (current.origin.kind, current.origin.parent, before.origin.id) == ("compacted", "s", "s")


def test_what_a_message_does_not_hold_is_counted():
    odd = [part("tool_call", id="c", name="n", input=""), part("new"), {"type": 1}, part("text", text="hi", extra=1)]
    (found,) = told(message("user", *odd))
    expected = {"part.text.extra": 1, "part of type a number": 1, "part of type new": 1}
    assert expected.items() <= found.origin.unread.items()
    assert found.origin.unread["part not allowed in a message with role user"] == 1


@pytest.mark.parametrize("parts", [None, "{", b"\xff", '["\udcff"]', "[" * 100_000])
def test_parts_that_are_no_json_are_named(parts):
    with pytest.raises(TurnError, match="message m: parts is not valid JSON"):
        crush.from_rows({"sessions": [{"id": "s"}], "messages": [message("user", parts=parts)]})


WHOLE = json.loads((golden.ROOT / "crush/what_crush_session_show_prints/logs/show.json").read_bytes())


@given(st.data())
def test_any_value_anywhere_gives_conversations_or_says_what_is_wrong(data):
    value = copy.deepcopy(WHOLE)
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([way for way in places(value) if way]))
        holder = value
        for key in way:
            holder = holder[key]
        holder[last] = data.draw(VALUES)
    with suppress(TurnError):
        crush.conversations([value])
    crush.fits([value])
    crush.fits([value.get("meta"), value])
