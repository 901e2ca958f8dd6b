"""A logged response is a body, whole or as the events that it was streamed in, however it was written down."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chatsquash.core.model import WrongType
from chatsquash.formats import formats, get_format
from chatsquash.reading import replies
from tests.conftest import cases
from tests.reading.exchanges import CHAT, EXCHANGES, ndjson, sse

openai_chat, openai_responses = get_format("openai_chat"), get_format("openai_responses")

A, B = {"a": 1}, {"b": [2, "\n\n", "data: x"]}

EVENTS = [
    ("a body", A, None),
    ("null", None, None),
    ("a number", 5, None),
    ("a list of events", [A, B], ([A, B], True)),
    ("an empty list", [], ([], True)),
    ("a list of texts", ["x", json.dumps(A), f"data: {json.dumps(B)}\n\n", "", "data: [DONE]"], ([A, B], False)),
    ("events taken apart anywhere", ['data:{"a":1}\n\nda', 'ta: {"a', '":1}', "data: [DONE]"], ([A, A], True)),
    ("two events in one text of a list", [f"data: {json.dumps(A)}\n\ndata: {json.dumps(B)}\n\n"], ([A, B], True)),
    ("lines taken apart at their ends", [f"data: {json.dumps(A)}", f"data: {json.dumps(B)}"], ([A, B], True)),
    ("a list whose last text is cut", [f"data: {json.dumps(A)}\n\n", 'data: {"b'], ([A], False)),
    ("texts and events in one list", [f"data: {json.dumps(A)}\n\n", B], ([A, B], True)),
    ("a byte order mark", "\ufeff" + sse([A, B]), ([A, B], True)),
    ("indented JSON lines", '  {"a":1}\n\t{"a":1}\n', ([A, A], True)),
    ("line separators beside carriage returns", 'data: {"a":"\u2028\u0085"}\r\n\r\n', ([{"a": "\u2028\u0085"}], True)),
    ("an array as text", '[{"a":1}\n,\n{"a":1}]', ([A, A], True)),
    ("an array as text that was cut", '[{"a":1}\n,\n{"a":', ([A], False)),
    ("null in a list", [None, A], ([A], True)),
    ("an empty text", "", ([], True)),
    ("text without events", "upstream is busy", ([], False)),
    ("server-sent events", sse([A, B], end=""), ([A, B], True)),
    ("their end", sse([A]) + sse([B]), ([A], True)),
    ("without spaces", 'data:{"a":1}\n\ndata:{"b":2}\n\n', ([A, {"b": 2}], True)),
    ("one event on several lines", 'data: {"a":\ndata: 1}\n\n', ([A], True)),
    ("carriage returns", 'data: {"a":1}\r\n\r\ndata: {"a":1}\r\n\r\n', ([A, A], True)),
    ("other fields and comments", ': x\nid: 7\nretry: 5\nevent: y\ndata: {"a":1}\n\n', ([A], True)),
    ("JSON lines", ndjson([A, B]), ([A, B], True)),
    ("one JSON line", json.dumps(A) + "\n", ([A], True)),
    ("JSON lines without the last line feed", ndjson([A, B]).strip(), ([A, B], True)),
    ("JSON lines with blank ones", "\n" + ndjson([A]) + "\n\n" + ndjson([B]), ([A, B], True)),
    ("a line separator inside a string", 'data: {"a":"\u2028\u0085"}\n\n', ([{"a": "\u2028\u0085"}], True)),
    ("an event cut in its middle", sse([A], end="") + 'data: {"b":', ([A], False)),
    ("a JSON line cut in its middle", ndjson([A]) + '{"b":', ([A], False)),
    ("what comes behind a broken event", sse([A], end="") + "data: {\n\n" + sse([B]), ([A], False)),
    ("a number that is none", 'data: {"a":NaN,"b":1}\n\n', None),
]


@pytest.mark.parametrize(("sentence", "body", "expected"), EVENTS, ids=[row[0] for row in EVENTS])
def test_events(sentence, body, expected):
    found = replies.events(body)
    if sentence == "a number that is none":
        assert (found[0][0]["b"], found[1]) == (1, True)
    else:
        assert found == expected


@cases(
    "response, body",
    ("a body", A, A),
    ("under body", {"status": 200, "body": A}, A),
    ("under body_raw", {"body_raw": "x"}, "x"),
    ("body_raw goes before body", {"body": A, "body_raw": B}, B),
    ("a null body_raw does not", {"body": A, "body_raw": None}, A),
    ("as text", json.dumps(A), A),
    ("as text under body", {"body": json.dumps(A)}, A),
    ("a list as text", json.dumps([A, B]), [A, B]),
    ("a member of that name beside an answer", {"choices": [], "body": A}, {"choices": [], "body": A}),
    ("text that is no JSON", "{x", "{x"),
    ("JSON lines are not one value", ndjson([A, B]), ndjson([A, B])),
    ("a quoted text stays", '"x"', '"x"'),
    ("a body that is a number is none", {"body": 5}, {"body": 5}),
)
def test_unwrapped(response, body):
    assert replies.unwrapped(response) == body


@pytest.mark.parametrize("name", formats())
def test_a_stream_is_the_reply_that_its_body_is(name):
    exchange, form = EXCHANGES[name], formats()[name]
    whole = replies.read(exchange.response, form)
    streamed = replies.read(sse(exchange.events), form)
    assert whole.message
    assert not whole.cut
    assert (streamed.message, streamed.finish_reason, streamed.cut) == (whole.message, whole.finish_reason, False)


def test_a_stream_that_breaks_off_behind_its_end_was_cut_all_the_same():
    text = sse(CHAT.events, end="") + 'data: {"usage'
    assert replies.read(text, openai_chat) == replace(replies.read(sse(CHAT.events), openai_chat), cut=True)


@cases(
    "status, shown",
    (b"", None),
    (b"200", None),
    (b"204", None),
    (b"299", None),
    (b'"200"', None),
    (b'"success"', None),
    (b"null", None),
    (b"true", None),
    (b"{}", None),
    (b"199", "199"),
    (b"300", "300"),
    (b"429", "429"),
    (b'"429"', "429"),
    (b'"failure"', "failure"),
)
def test_a_status_decides_whether_there_is_a_reply(status, shown):
    found = replies.reply(json.dumps(CHAT.response).encode(), openai_chat, status)
    assert (found.message is None) == (shown is not None)
    assert found.problem == (shown and f"the response is an error body, with status {shown}")
    assert not found.foreign
    missing = replies.reply(b"null", openai_chat, status)
    assert missing.problem == "there is no response" + (f", with status {shown}" if shown else "")


def test_the_status_of_a_responses_body_is_none_of_http():
    body = EXCHANGES["openai_responses"].response
    assert replies.reply(json.dumps(body).encode(), openai_responses).message


CHAT_BODIES = [
    CHAT.response,
    {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "length"}, {"message": {"role": "a"}}]},
    {"choices": [{"message": {"content": "x"}}]},
    {"choices": [{"message": {"role": "assistant", "n": 0.1234567890123456789}, "finish_reason": 5}]},
    {"choices": [{"message": {"role": "assistant"}}, 5]},
    {"choices": [{"message": {"role": "assistant"}}], "error": {}},
    {"choices": [{"message": {"role": "assistant"}}], "error": "late"},
    {"choices": [{"message": {"role": "assistant"}}], "body": {"choices": []}},
    {"choices": [], "error": None},
    {"choices": None},
]  # fmt: skip


@pytest.mark.parametrize("body", CHAT_BODIES)
def test_a_chat_response_that_is_read_the_quick_way_is_what_its_format_says(body):
    raw = json.dumps(body).encode()
    assert replies.reply(raw, openai_chat) == replace(replies.read(body, openai_chat), raw=raw)


@cases(
    "response, foreign",
    ("an answer", CHAT.response, False),
    ("an error", {"error": "x"}, False),
    ("nothing", None, False),
    ("text", "x", False),
    ("an answer of another format", EXCHANGES["anthropic"].response, True),
    ("an object", {"x": 1}, True),
)
def test_a_response_without_anything_of_its_format_is_foreign(response, foreign):
    assert replies.read(response, openai_chat).foreign is foreign


def test_what_later_requests_may_refer_to_is_kept_for_the_format_that_has_it_only():
    for name, form in formats().items():
        body = replies.read(EXCHANGES[name].response, form).body
        assert body == (EXCHANGES[name].response if form.reply_turns else None)
    assert [name for name, form in formats().items() if form.reply_turns] == ["gemini_interactions", "openai_responses"]


@cases("response, seen", ("an empty list", [], "an empty list"), ("text", "busy", "a string without events"))
@pytest.mark.parametrize("name", formats())
def test_what_holds_no_event_is_of_the_wrong_type(name, response, seen):
    found = replies.read(response, formats()[name])
    assert (found.message, found.wrong) == (None, WrongType("response", seen))


PIECES = st.sampled_from(
    ['{"a":1}', '{"a":', "{}", "}", "{", '"b"', "1", ",", "[", "]", " ", "\t", "NaN", "1e999", "\ud800", '"}', "[DONE]"]
)
LINES = st.lists(st.lists(PIECES, max_size=4).map("".join), max_size=6)
STARTS = st.sampled_from(["data: ", "data:", "", "event: a\ndata: ", ": ", "id: 1\n", "\n"])
ENDS = st.sampled_from(["\n", "\n\n", "\r\n\r\n", "\r", " \n"])


@given(LINES, STARTS, ENDS)
def test_events_parsed_in_one_pass_are_those_parsed_one_by_one(lines, start, end):
    text = "".join(f"{start}{line}{end}" for line in lines)
    expected, is_complete = replies._data(text)
    values = []
    for data in expected:
        if data == "[DONE]":
            break
        try:
            values.append(replies._loads(data))
        except (ValueError, RecursionError):
            is_complete = False
            break
    if not text.lstrip().startswith("["):
        assert repr(replies.events(text)) == repr((values, is_complete))


@given(LINES, STARTS, ENDS)
def test_the_lines_of_events_end_wherever_a_line_of_a_stream_may_end(lines, start, end):
    text = "".join(f"{start}{line}{end}" for line in lines)
    blocks, is_complete = [[]], True
    for line in re.split(r"\r\n|\n|\r", text):
        if not line.strip():
            blocks.append([])
        elif line.startswith("data:"):
            blocks[-1].append(line[5:].removeprefix(" "))
        elif line.lstrip().startswith("{"):
            blocks += [[line], []]
        elif not re.match(r":|(event|id|retry)\b|data\b|\[DONE\]", line):
            is_complete = False
    assert replies._data(text) == (["\n".join(block) for block in blocks if block], is_complete)
