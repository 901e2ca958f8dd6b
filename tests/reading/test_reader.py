"""One session's log, open, to its entries: what its first lines tell, and chains of responses within it."""

import io
import json
from collections import Counter
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert_session
from chatsquash.core.edits import replay
from chatsquash.core.log import Log
from chatsquash.formats import formats
from chatsquash.reading import evidence
from chatsquash.reading.deltas import Effort
from chatsquash.reading.evidence import Shape
from chatsquash.reading.reader import Reader
from chatsquash.sources.lines import CHUNK
from tests import format_logs, strategies
from tests.conftest import examples, often
from tests.reading.exchanges import EXCHANGES, plain
from tests.session.streams import entries, taken


def begun(data: bytes, hashed=None, reader=None):
    reader = reader or Reader(Options(anonymize=False))
    return reader.read(io.BytesIO(data), Log("", "s", "s", len(data)), hashed)


def read(data: bytes):
    return taken(begun(data).items)


def log(*found) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in found)


# What the first lines tell


def test_an_empty_log_tells_nothing():
    reading = begun(b"")
    assert (reading.seen, list(reading.items), reading.document) == (None, [], None)


@pytest.mark.parametrize("name", EXCHANGES)
def test_what_was_seen_is_noted(name):
    reading = begun(log(plain(EXCHANGES[name].request, EXCHANGES[name].response)))
    assert len(list(reading.items)) == 1
    assert (reading.seen.format, reading.seen.envelope) == (name, "request and response")


def test_all_bytes_are_hashed_although_the_first_lines_are_looked_at_first():
    data, hashed = log(*[plain(EXCHANGES["gemini"].request, None)] * 3), []
    list(begun(data, lambda part: hashed.append(bytes(part))).items)
    assert b"".join(hashed) == data


def test_tools_met_in_one_log_are_the_same_object_in_the_next():
    data = log(plain(EXCHANGES["openai_chat"].request, EXCHANGES["openai_chat"].response))
    reader = Reader(Options(anonymize=False))
    (first,), (second,) = (begun(data, reader=reader).items for _ in range(2))
    assert first.tools is second.tools


@pytest.mark.hypothesis
def test_first_lines_that_are_plainly_chat_give_what_they_give_when_each_log_is_looked_at():
    met: Counter[bool] = Counter()
    chat_exchange = evidence.chat_exchange

    def counted(line):
        found = chat_exchange(line)
        met[found is not None] += 1
        return found

    @examples(400)
    @given(strategies.logs() | st.sampled_from(list(formats())).flatmap(format_logs.logs))
    def law(data):
        with mock.patch.object(evidence, "chat_exchange", counted):
            at_once = begun(data)
        with mock.patch.object(evidence, "chat_exchange", return_value=None):
            looked_at = begun(data)
        assert repr(list(looked_at.items)) == repr(list(at_once.items))
        if looked_at.seen and looked_at.seen.format:  # a look refuses numbers that nobody reads
            heads = [(each.seen.format, each.seen.envelope) for each in (looked_at, at_once)]
            assert heads[0] == heads[1]

    law()
    assert min(met[True], met[False]) >= often(21), met


def test_later_lines_of_another_format_count_before_an_entry_comes_out():
    chat, other = (plain(EXCHANGES[name].request, EXCHANGES[name].response) for name in ("openai_chat", "anthropic"))
    reading = begun(log(chat, chat, other, other, other))
    found, session = taken(reading.items)
    assert (reading.seen.format, session.lines.all, len(found)) == ("anthropic", 5, 5)


def test_first_lines_count_that_share_nothing_and_are_parsed_whole_for_that():
    chats = [{"messages": [{"role": "user", "content": text}]} for text in ("hi", "well", "so")]
    first = (plain(request, EXCHANGES["openai_chat"].response) for request in chats)
    other = plain(EXCHANGES["anthropic"].request, None)
    reading = begun(log(*first, other, other, other, other))
    found, session = taken(reading.items)
    assert (reading.seen.format, session.lines.all, len(found)) == ("anthropic", 7, 7)


# Chains of responses


def asked(said: str, *, after: str | None = None, **more) -> dict:
    return {
        "model": "m",
        "input": [{"role": "user", "content": said}],
        **({"previous_response_id": after} if after else {}),
        **more,
    }


def answered(ident: str, said: str) -> dict:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
    return {"id": ident, "object": "response", "status": "completed", "output": [item]}


def exchange(second: int, request: dict, response: dict | None) -> dict:
    return plain(request, response, timestamp=f"2026-01-13T10:00:{second:02}Z")


def texts(entry) -> list[str]:
    return [message["content"] for message in entry.messages]


def missing(session) -> list[tuple[int, str]]:
    return [(each.line, each.text) for each in session.findings((), "s", "f") if each.code == "missing-history"]


def held_to_the_law(found):
    before = []
    for entry in found:
        before = replay(before, entry.edits)
        assert before == entry.messages
    return found


CHAIN = [
    exchange(0, asked("a"), answered("r1", "b")),
    exchange(1, asked("c", after="r1"), answered("r2", "d")),
    exchange(2, asked("e", after="r2"), answered("r3", "f")),
]


def test_a_chain_is_the_whole_conversation():
    found, session = read(log(*CHAIN))
    assert [texts(entry) for entry in held_to_the_law(found)] == [["a"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]]
    assert [entry.shared_prefix for entry in found] == [0, 1, 3]
    assert missing(session) == []


def test_a_chain_may_branch_from_an_older_response():
    branch = exchange(3, asked("x", after="r1"), answered("r4", "y"))
    onward = exchange(4, asked("z", after="r4"), None)
    found, session = read(log(*CHAIN, branch, onward))
    assert [texts(entry) for entry in held_to_the_law(found)][3:] == [["a", "b", "x"], ["a", "b", "x", "y", "z"]]
    assert missing(session) == []


def test_a_chain_may_begin_anew():
    found, _ = read(
        log(*CHAIN, exchange(3, asked("x"), answered("r4", "y")), exchange(4, asked("z", after="r4"), None))
    )
    assert [texts(entry) for entry in held_to_the_law(found)][3:] == [["x"], ["x", "y", "z"]]


def test_calls_of_a_response_are_answered_by_the_next_request():
    call = {"type": "function_call", "call_id": "c", "name": "grep", "arguments": "{}"}
    response = {**answered("r1", "b"), "output": [call]}
    result = {"previous_response_id": "r1", "input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}
    found, _ = read(log(exchange(0, asked("a"), response), exchange(1, result, answered("r2", "d"))))
    assert [message["role"] for message in found[1].messages] == ["user", "assistant", "tool"]
    assert found[1].messages[1]["tool_calls"][0]["id"] == "c"


def test_instructions_are_those_of_each_request():
    found, _ = read(log(CHAIN[0], exchange(1, asked("c", after="r1", instructions="s"), None)))
    assert texts(held_to_the_law(found)[1]) == ["s", "a", "b", "c"]


def test_an_input_that_is_a_text_continues_too():
    found, _ = read(log(CHAIN[0], exchange(1, {"previous_response_id": "r1", "input": "c"}, None)))
    assert texts(found[1]) == ["a", "b", "c"]


@pytest.mark.parametrize("response", [None, {"error": {"message": "late"}}])
def test_a_request_without_an_answer_breaks_no_chain(response):
    failed = exchange(1, asked("x", after="r1"), response)
    found, session = read(log(CHAIN[0], failed, {**CHAIN[1], "timestamp": "2026-01-13T10:00:09Z"}))
    assert [texts(entry) for entry in held_to_the_law(found)][1:] == [["a", "b", "x"], ["a", "b", "c"]]
    assert missing(session) == []


def test_a_line_of_another_format_breaks_no_chain():
    other = plain(EXCHANGES["gemini"].request, EXCHANGES["gemini"].response)
    found, session = read(log(CHAIN[0], other, CHAIN[1], other, CHAIN[2]))
    assert texts(found[2]) == ["a", "b", "c"]
    assert texts(held_to_the_law(found)[4]) == ["a", "b", "c", "d", "e"]
    assert missing(session) == []


def test_a_streamed_response_can_be_continued():
    streamed = [{"type": "response.completed", "response": answered("r1", "b"), "sequence_number": 1}]
    found, _ = read(log(exchange(0, asked("a"), streamed), CHAIN[1]))
    assert texts(found[1]) == ["a", "b", "c"]


@pytest.mark.parametrize("after", ["r9", "", 5, {}])
def test_a_response_that_is_not_there_is_reported_once_with_a_count(after):
    request = {**asked("x"), "previous_response_id": after}
    found, session = read(log(CHAIN[0], exchange(1, request, None), exchange(2, request, None)))
    assert [texts(entry) for entry in found[1:]] == [["x"], ["x"]]
    ((line, text),) = missing(session)
    assert (line, text.startswith("2 entries with earlier turns that are not in this log")) == (2, True)


def test_no_previous_response_is_none_that_is_missing():
    found, session = read(log(exchange(0, {**asked("x"), "previous_response_id": None}, answered("r1", "b"))))
    assert (texts(found[0]), missing(session)) == (["x"], [])


def test_the_member_means_nothing_in_other_formats():
    request = {**EXCHANGES["openai_chat"].request, "previous_response_id": "r1"}
    found, session = read(log(plain(request, EXCHANGES["openai_chat"].response)))
    assert (len(found), missing(session)) == (1, [])


def test_what_a_chain_repeats_is_not_parsed_again():
    size = 4000
    chain = [
        exchange(n % 60, asked("x" * size, after=f"r{n - 1}" if n else None), answered(f"r{n}", "y")) for n in range(30)
    ]
    effort = Effort()
    found = list(entries(log(*chain), Shape.of("openai_responses"), effort))
    assert len(found[-1].messages) == 59
    assert effort.parsed < 30 * (size + 100)


# What is private


def test_a_member_named_as_ours_stays_in_a_chat_log():
    logged = {"role": "user", "content": "a", "_x": {"synthetic_id": True, "native": [1]}}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}, "_x": {"synthetic_id": True}}
    said = {"role": "assistant", "content": "b", "tool_calls": [call], "_x": 5}
    tool = {"type": "function", "function": {"name": "f", "_x": {"a": 1}}, "_x": 1}
    response = {"choices": [{"message": said}]}
    (outcome,) = convert_session(
        [log(plain({"messages": [logged], "tools": [tool]}, response))], Options(anonymize=False)
    )
    record = json.loads(outcome.record)
    assert record["messages"] == [logged, said]
    assert record["tools"] == [{"name": "f", "_x": {"a": 1}}]
    assert "unsupported-content" not in {each.code for each in outcome.findings}


@pytest.mark.parametrize("left", [64, 1 << 21])
def test_what_is_seen_does_not_depend_on_the_buffer_that_another_log_left(left):
    long = {"role": "user", "content": "x" * (CHUNK - 2000)}
    chat, other = (plain(EXCHANGES[name].request, EXCHANGES[name].response) for name in ("openai_chat", "gemini"))
    short = {**chat}
    chat["request"] = {**chat["request"], "messages": [long]}
    for data in (log(short, other), log(chat, other)):
        reader = Reader(Options(anonymize=False))
        reader._buffers._buffer = bytearray(left)
        assert begun(data, reader=reader).seen == begun(data).seen
