"""Session traces of the Hugging Face Hub, as its page "Session Traces Format" defines them (hub-docs, 9d14846)."""

import pytest

from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.exports import session_trace

HEADER = {"type": "session", "harness": "h", "id": "s"}


def line(role, content="x", **more):
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def test_calls_results_reasoning_and_evidence_are_read():
    call = {"id": "t", "function": {"name": "f", "arguments": '{"a": 1}'}}
    (conversation,) = session_trace.conversations(
        [
            HEADER,
            line("user", timestamp=1767225600000),
            line("assistant", "", toolCalls=[call], reasoningContent="Hm", model="m", timestamp=1767225601000),
            line("tool", "1", toolCallId="t"),
            line("assistant", "Done."),
        ]
    )
    assert [message["role"] for message in conversation.messages] == ["user", "assistant", "tool", "assistant"]
    reply = conversation.messages[1]
    assert (reply["reasoning_content"], reply["tool_calls"]) == ("Hm", [{**call, "type": "function"}])
    assert conversation.messages[2]["tool_call_id"] == "t"
    assert [(each.at, each.line, each.model) for each in conversation.origin.replies] == [(1, 3, "m"), (3, 5, None)]
    assert conversation.origin.session_id == "s"


def test_each_header_begins_a_session_and_other_lines_are_counted():
    other = {**HEADER, "id": "t"}
    first, second = session_trace.conversations([HEADER, line("user"), {"type": "note"}, other, line("user", "y")])
    assert [each.origin.session_id for each in (first, second)] == ["s", "t"]
    assert first.origin.unread == {'line "note"': 1}


def test_wrong_lines_are_refused():
    with pytest.raises(TurnError, match='line 2: unknown role "bot"'):
        session_trace.conversations([HEADER, line("bot")])
    with pytest.raises(TurnError, match="line 2: message is a number"):
        session_trace.conversations([HEADER, {"type": "message", "message": 1}])


def test_a_session_of_pi_that_names_its_harness_is_pis():
    pi = [{**HEADER, "cwd": "/a"}, {**line("user"), "id": "1", "parentId": None}]
    assert documents.recognise(pi).name == "pi"
    assert documents.recognise([{**HEADER, "cwd": "/a"}, line("user")]).name == "session_trace"
