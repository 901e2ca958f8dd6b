"""Session traces of the Hugging Face Hub, as its page "Session Traces Format" defines them (hub-docs, 242f4a1)."""

import json
from pathlib import Path

import pytest
from hypothesis import given

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation, Origin, OriginReply
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.exports import sts
from chatsquash.formats.providers.openai_chat.read import tools as load_tools
from chatsquash.formats.writing import KEY
from chatsquash.records import reading
from chatsquash.translate import conversations, losses
from tests.conftest import cases
from tests.formats.kinds import ODD
from tests.formats.odd import CONVERSATIONS
from tests.formats.sts_checker import problems, unlinked

GOLDEN = Path(__file__).parents[1] / "golden"
HEADER = {"type": "session", "harness": "h", "id": "s"}


def line(role, content="x", **more):
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def test_calls_results_reasoning_and_evidence_are_read():
    call = {"id": "t", "function": {"name": "f", "arguments": '{"a": 1}'}}
    (conversation,) = sts.conversations(
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
    first, second = sts.conversations([HEADER, line("user"), {"type": "note"}, other, line("user", "y")])
    assert [each.origin.session_id for each in (first, second)] == ["s", "t"]
    assert first.origin.unread == {'line "note"': 1}


def test_wrong_lines_are_refused():
    with pytest.raises(TurnError, match='line 2: unknown role "bot"'):
        sts.conversations([HEADER, line("bot")])
    with pytest.raises(TurnError, match="line 2: message is a number"):
        sts.conversations([HEADER, {"type": "message", "message": 1}])


def test_a_session_of_pi_that_names_its_harness_is_pis():
    pi = [{**HEADER, "cwd": "/a"}, {**line("user"), "id": "1", "parentId": None}]
    assert documents.recognise(pi).name == "pi"
    assert documents.recognise([{**HEADER, "cwd": "/a"}, line("user")]).name == "sts"


# Writing


def lines_of(conversation):
    """A conversation as the lines of a trace."""
    return b"".join(jsonio.dumps(each) + b"\n" for each in conversations.dump(conversation, "sts"))


def test_the_page_s_own_example_passes_the_checker_and_is_written_as_it_was():
    example = (GOLDEN / "sts/the_example_of_the_hub/logs/s.jsonl").read_bytes()
    assert problems(example) == unlinked(example) == []
    objects = [json.loads(line) for line in example.splitlines()]
    (again,) = conversations.load_all(objects)
    assert conversations.dump(again, "sts") == objects


@cases(
    "line, problem",
    ({"type": "note"}, "not a message"),
    (line("bot"), "unknown role 'bot'"),
    (line("user", None), "content is not text"),
    (line("user", timestamp=1767225600), "timestamp is not in epoch milliseconds"),
    (line("user", id="1"), "unknown members ['id']"),
    (line("tool"), "the result has no toolCallId"),
    (line("user", toolCallId="a"), "only results have a toolCallId"),
    (line("assistant", toolCalls=[]), "toolCalls is not a list of calls"),
    (line("assistant", toolCalls=[{"id": "a", "function": {"name": "f", "arguments": {}}}]), "the arguments of a call are not a string"),
    ({**line("user"), "parentId": None}, "the envelope has the members ['message', 'parentId', 'type']"),
)  # fmt: skip
def test_the_checker_finds(line, problem):
    trace = b"".join(jsonio.dumps(each) + b"\n" for each in (HEADER, line))
    assert problems(trace) == [f"line 2: {problem}"]


def test_the_checker_finds_a_header_without_harness():
    assert problems(b'{"type":"session","id":"s"}\n') == ["the header has no harness"]


@given(ODD | CONVERSATIONS)
def test_any_conversation_is_written_as_the_page_says(conversation):
    try:
        trace = lines_of(conversation)
    except (TurnError, UsageError):
        return
    # JSON has no lone surrogates, which UTF-8 cannot encode.
    if "\\ud8" not in trace.decode("utf-8", "replace"):
        assert problems(trace, allowed=frozenset({KEY})) == []


def test_evidence_and_branches_come_back():
    reply = OriginReply(1, time=1767225601_000_000_000, model="m")
    origin = Origin("s:2", "s", "branch", "s:1", replies=(reply,))
    told = Conversation([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], [], origin=origin)
    header, _, second = conversations.dump(told, "sts")
    links = {"id": "s:2", "sessionId": "s", "kind": "branch", "parentId": "s:1"}
    assert header == {"type": "session", "harness": "chatsquash", **links}
    assert second["message"] == {"role": "assistant", "content": "b", "timestamp": 1767225601000, "model": "m"}
    (again,) = sts.conversations(conversations.dump(told, "sts"))
    found = again.origin
    assert (found.id, found.session_id, found.kind, found.parent) == ("s:2", "s", "branch", "s:1")
    assert [(each.at, each.time, each.model) for each in again.origin.replies] == [(1, reply.time, "m")]


def test_other_members_of_a_header_are_kept_and_its_tools_are_read():
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    header = {**HEADER, "name": "A session", "kind": "unknown", "version": 3, "tools": tools}
    (found,) = sts.conversations([header, line("user")])
    assert (found.tools, found.origin.kind, found.origin.session_id) == (tools, "main", "s")
    assert conversations.dump(found, "sts")[0] == {**HEADER, "name": "A session", "version": 3, "tools": tools}
    assert conversations.losses(found, "openai_chat") == []


def test_wrong_members_of_a_header_are_no_evidence():
    header = {**HEADER, "kind": ["branch"], "parentId": 1, "sessionId": {}, "tools": "f"}
    (found,) = sts.conversations([header, line("user")])
    assert (found.tools, found.origin.kind, found.origin.parent, found.origin.session_id) == ([], "main", None, "s")


# The golden records

MEDIA = ("an image", "a file", "audio")
LOST = {"turns[].blocks[]", "turns[].role", "turns[].blocks[].content[]"}


def golden_records():
    for path in sorted(GOLDEN.glob("*/*/expected.jsonl")):
        text = path.read_text("utf-8")
        while text := text.lstrip():
            value, end = json.JSONDecoder().raw_decode(text)
            text = text[end:]
            yield f"{path.parent.parent.name}/{path.parent.name}", value


def said(messages):
    """What a record says: its messages without empty members, and without the names of results, which calls have."""
    return [filled({**each, **({"name": None} if each["role"] == "tool" else {})}) for each in messages]


def filled(value):
    """A value without empty members, such as the name of a call that has none."""
    if isinstance(value, dict):
        return {key: filled(each) for key, each in value.items() if each not in (None, "", [])}
    return list(map(filled, value)) if isinstance(value, list) else value


LOST = {
    "turns[]": "a message with nothing but media",
    "turns[].blocks[]": "media, refusals and other content that is neither text, reasoning, calls nor results",
    "turns[].blocks[].content[]": "the same in results",
    "turns[].blocks[].text": "the bounds of texts that are one in a trace",
    "turns[].blocks[].content[].text": "the same in results",
    "turns[].blocks[].arguments": "the input of custom tools, which becomes an argument",
    "turns[].blocks[].custom": "the same",
    "turns[].blocks[].name": "the names of results that no call has",
    "turns[].blocks[].signature": "signatures of reasoning",
    "tools[]": "tools that the provider runs",
}
"""What a trace cannot say, in addition to members of vendors, such as the flags of messages that are trained on."""


def test_golden_records_come_back():
    """Messages, calls, results, reasoning and ids are equal; what the format has no place for is told."""
    equal, flagged, others, kinds = 0, 0, 0, set()
    for case, value in golden_records():
        record = reading.record(value)
        definitions = load_tools(record.tools)
        conversation = Conversation(record.messages, [*definitions.functions, *definitions.hosted])
        trace = lines_of(conversation)
        assert problems(trace) == [], case
        lost = conversations.losses(conversation, "sts")
        again = conversations.load([json.loads(each) for each in trace.splitlines()])
        if not lost:
            equal += 1
            assert said(again.messages) == said(conversations.load(record.messages, "openai_chat").messages), case
        content = {kind for kind in map(losses.kind, lost) if ".native." not in kind}
        flagged, others = flagged + bool(lost and not content), others + bool(content)
        kinds |= content
        assert [losses.differences(conversation, again)] == [lost], case
    assert (equal, flagged, others) == (321, 87, 54)
    assert kinds == LOST.keys()
