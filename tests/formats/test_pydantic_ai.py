"""Pydantic AI's messages as canonical ones, and back."""

from __future__ import annotations

import copy
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import chat, jsonio
from chatsquash.chat import PRIVATE, Private
from chatsquash.formats.base import TurnError
from chatsquash.formats.clients import pydantic_ai
from chatsquash.formats.clients.pydantic_ai import remainder
from chatsquash.formats.clients.pydantic_ai.remainder import KEY
from chatsquash.model import Conversation
from chatsquash.translate import losses
from tests.formats.kinds import KINDS, PDF, PNG, WAV, call, image, private, result, said, system, text, user


def request(*parts, **more):
    return {"kind": "request", "parts": list(parts), **more}


def response(*parts, **more):
    return {"kind": "response", "parts": list(parts), **more}


def part(kind, content=None, **more):
    return {"part_kind": kind, **({} if content is None else {"content": content}), **more}


def tool_call(args='{"city":"Paris"}', call_id="call_abc", **more):
    return part("tool-call", tool_name="weather", args=args, tool_call_id=call_id, **more)


def tool_return(content="sunny", call_id="call_abc", **more):
    return {"part_kind": "tool-return", "tool_name": "weather", "content": content, "tool_call_id": call_id, **more}


def load(*turns):
    (conversation,) = pydantic_ai.conversations([list(turns)])
    return conversation.messages


def dump(*messages):
    return pydantic_ai.dump(Conversation(list(messages), []))


def answered(content="sunny", call_id="call_abc", **held):
    message = result(content, call_id, name="weather")
    return private(message, **held) if held else message


def binary(mime, data):
    return {"kind": "binary", "media_type": mime, "data": data, "vendor_metadata": None, "identifier": "x"}


ASKED = response(tool_call())
CALLED = said(None, call())
READ = [
    (
        [request(part("system-prompt", "Be kind.", timestamp="2026-01-13T10:00:00Z"))],
        [system("Be kind.")],
        "a system prompt is a message",
    ),
    (
        [request(part("system-prompt", "A"), part("user-prompt", "B"))],
        [system("A"), user("B")],
        "each part of a request is a message",
    ),
    (
        [request(part("system-prompt", "A"), part("user-prompt", "B"), instructions="C")],
        [system("A"), private(system("C"), **{"from": "instructions"}), user("B")],
        "instructions stand behind the leading system prompts",
    ),
    (
        [request(part("user-prompt", "A"), instructions="old"), ASKED, request(tool_return(), instructions=None)],
        [private(system("old"), **{"from": "instructions"}), user("A"), CALLED, answered()],
        "the instructions of the request before, if the last only has results",
    ),
    (
        [
            request(part("user-prompt", "A"), instructions="old"),
            response(part("text", "B")),
            request(part("user-prompt", "C")),
        ],
        [user("A"), said("B"), user("C")],
        "a last request with a prompt and without instructions has none",
    ),
    (
        [request(part("user-prompt", ["A"]))],
        [private(user("A"), content_list=True)],
        "a list with one text is that text",
    ),
    (
        [request(part("user-prompt", ["A", {"kind": "image-url", "url": "https://example.com/a.png"}]))],
        [user([text("A"), image("https://example.com/a.png")])],
        "images have an address",
    ),
    (
        [request(part("user-prompt", [binary("image/png", "-_-_")]))],
        [user([image("data:image/png;base64,+/+/")])],
        "data is read in the alphabet for file names, too",
    ),
    (
        [request(part("user-prompt", [binary("audio/mpeg", WAV), binary("application/pdf", PDF)]))],
        [
            user(
                [
                    {"type": "input_audio", "input_audio": {"data": WAV, "format": "mp3"}},
                    {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}"}},
                ]
            )
        ],
        "sounds and documents are parts of their own",
    ),
    (
        [
            request(
                part(
                    "user-prompt", ["A", {"kind": "cache-point", "ttl": "5m"}, {"kind": "text-content", "content": "B"}]
                )
            )
        ],
        [private(user([text("A"), text("B")]), native=[{"kind": "cache-point", "ttl": "5m"}])],
        "marks among the content are kept aside",
    ),
    (
        [request(part("user-prompt", [{"kind": "uploaded-file", "file_id": "f1", "provider_name": "openai"}]))],
        [user([{"type": "file", "file": {"file_id": "f1"}}])],
        "an uploaded file is its id",
    ),
    ([response(part("text", "A"), part("text", "B"))], [said([text("A"), text("B")])], "texts keep their bounds"),
    (
        [response(tool_call('{"a": 1}'))],
        [said(None, call(arguments='{"a": 1}'))],
        "arguments that are text stay as they are",
    ),
    (
        [response(tool_call({"a": "ü"}))],
        [said(None, call(arguments='{"a":"ü"}'))],
        "an object becomes text without spaces",
    ),
    ([response(tool_call(None))], [said(None, call(arguments="{}"))], "null is no arguments"),
    (
        [response(tool_call({"INVALID_JSON": "{bad"}))],
        [said(None, call(arguments="{bad"))],
        "arguments that could not be parsed are what they were",
    ),
    (
        [response(part("text", "A"), tool_call(), part("text", "B"))],
        [private(said("A", call()), after=["B"])],
        "text behind a call is kept aside",
    ),
    ([response()], [said("")], "a response without parts is an empty message"),
    (
        [response(part("thinking", "Hm.", signature="s", provider_name="anthropic"), part("text", "A"))],
        [
            private(
                said("A", reasoning_content="Hm."), thinking=[{"text": "Hm.", "signature": "s"}], provider="anthropic"
            )
        ],
        "a signature is kept with the name of who made it",
    ),
    (
        [response(part("thinking", "", id="redacted_thinking", signature="s", provider_name="anthropic"))],
        [private(said(""), thinking=[{"redacted": "s"}])],
        "redacted reasoning is told by its id",
    ),
    (
        [response(part("thinking", "Hm.", id="rs_1", signature="s", provider_name="openai"))],
        [private(said("", reasoning_content="Hm."), thinking=[{"text": "Hm.", "encrypted": "s", "id": "rs_1"}])],
        "a signature of OpenAI is encrypted reasoning",
    ),
    (
        [response(tool_call(provider_name="google", provider_details={"thought_signature": "s"}))],
        [said(None, private(call(), signature="s"))],
        "a call has Gemini's signature",
    ),
    (
        [response(part("builtin-tool-call", tool_name="web_search", args=None, tool_call_id="b"), part("text", "A"))],
        [private(said("A"), native=[part("builtin-tool-call", tool_name="web_search", args=None, tool_call_id="b")])],
        "what the provider ran itself is kept as it is",
    ),
    (
        [ASKED, request(tool_return({"t": 1}))],
        [CALLED, answered('{"t":1}', json=True)],
        "a result that is no text is JSON",
    ),
    ([ASKED, request(tool_return(["a"]))], [CALLED, answered('["a"]', json=True)], "so is a list of texts"),
    ([ASKED, request(tool_return(None))], [CALLED, answered("null", json=True)], "and null"),
    ([ASKED, request(tool_return('{"t":1}'))], [CALLED, answered('{"t":1}')], "text that looks like JSON stays text"),
    (
        [ASKED, request(tool_return(["A", binary("image/png", PNG)]))],
        [CALLED, answered([text("A"), image()])],
        "files among a result make it parts",
    ),
    ([ASKED, request(tool_return(outcome="failed"))], [CALLED, answered(is_error=True)], "a failed call is an error"),
    (
        [ASKED, request(tool_return(outcome="retried"))],
        [CALLED, answered(is_error=True, outcome="retried")],
        "so is one to be tried again",
    ),
    ([ASKED, request(tool_return(outcome="denied"))], [CALLED, answered(outcome="denied")], "a denied call is none"),
    (
        [ASKED, request(part("retry-prompt", "no", tool_name="weather", tool_call_id="call_abc"))],
        [CALLED, answered("no", is_error=True, outcome="retried")],
        "a prompt to try again that older versions wrote is a result",
    ),
    (
        [
            ASKED,
            request(
                part(
                    "retry-prompt",
                    [{"type": "missing", "loc": ["a"], "msg": "m", "input": {}}],
                    tool_name="weather",
                    tool_call_id="call_abc",
                )
            ),
        ],
        [
            CALLED,
            answered(
                '[{"type":"missing","loc":["a"],"msg":"m","input":{}}]', is_error=True, outcome="retried", json=True
            ),
        ],
        "with the errors of validation as JSON",
    ),
    (
        [request(part("retry-prompt", "Try again."))],
        [private(user("Try again."), feedback={"cause": "model_retry"})],
        "without a tool it is the application's feedback",
    ),
    (
        [
            response(part("tool-call", tool_name="weather", args="{}")),
            request(part("tool-return", "ok", tool_name="weather")),
        ],
        [said(None, private(call("call_1", "{}"), synthetic_id=True)), answered("ok", "call_1", synthetic_id=True)],
        "calls without ids get some",
    ),
    (
        [request(part("tool-availability-delta", tools_added=[])), response(part("text", "A"))],
        [private(said("A"), native=[part("tool-availability-delta", tools_added=[])])],
        "a part that is no message is kept with the next",
    ),
    (
        [response(part("text", "A")), request(part("instruction-delta", "B", id=None))],
        [private(said("A"), native=[part("instruction-delta", "B", id=None)])],
        "or with the last",
    ),
]


@pytest.mark.parametrize(("turns", "expected", "sentence"), READ, ids=[row[2] for row in READ])
def test_reading(turns, expected, sentence):
    before = copy.deepcopy(turns)
    assert load(*turns) == expected, sentence
    assert turns == before


@pytest.mark.parametrize(("turns", "expected", "sentence"), READ, ids=[row[2] for row in READ])
def test_what_was_read_is_written_and_read_again(turns, expected, sentence):
    written = dump(*expected)
    assert load(*json.loads(json.dumps(written))) == expected


@pytest.mark.parametrize("held", [msg for row in READ for msg in row[1]], ids=str)
def test_private_members_are_private(held):
    for holder in (held, *chat.calls(held)):
        assert type(holder.get(PRIVATE, Private())) is Private
    (again,) = load(*dump(held)) or [held]
    assert all(type(holder.get(PRIVATE, Private())) is Private for holder in (again, *chat.calls(again)))


WRITTEN = [
    (
        [system(), user("A")],
        [request(part("system-prompt", "Be brief."), part("user-prompt", "A"))],
        "one request a run",
    ),
    ([said("A"), said("B")], [response(part("text", "A")), response(part("text", "B"))], "one response a message"),
    ([said("")], [response()], "an empty text is no part"),
    (
        [private(system(), **{"from": "instructions"}), user("A")],
        [request(part("user-prompt", "A"), instructions="Be brief.")],
        "instructions are instructions again",
    ),
    (
        [said(None, call(arguments="{bad")), answered()],
        [response(tool_call("{bad")), request(tool_return())],
        "arguments are written as they are, even if they are broken",
    ),
    (
        [said(None, call(arguments='{ "a" : 1.0 }')), answered()],
        [response(tool_call('{ "a" : 1.0 }')), request(tool_return())],
        "with their spaces and numbers",
    ),
    (
        [said(None, call()), answered('{"t":1}', json=True)],
        [ASKED, request(tool_return({"t": 1}))],
        "a result that was JSON is JSON again",
    ),
    (
        [said(None, call()), answered('{"t":1}')],
        [ASKED, request(tool_return('{"t":1}'))],
        "text that looks like it is text",
    ),
    ([CALLED, answered(is_error=True)], [ASKED, request(tool_return(outcome="failed"))], "an error is a failed call"),
    ([answered("x", "gone")], [request(tool_return("x", "gone"))], "a result without a call stands alone"),
    (
        [private(said("A", reasoning_content="Hm."), thinking=[{"text": "Hm.", "signature": "s"}])],
        [response(part("thinking", "Hm.", signature="s"), part("text", "A"))],
        "reasoning stands first, and a signature names nobody whom nobody named",
    ),
    (
        [
            user(
                [
                    text("A"),
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
                ]
            )
        ],
        [
            request(
                part(
                    "user-prompt",
                    [
                        "A",
                        {
                            "kind": "binary",
                            "data": PNG,
                            "media_type": "image/png",
                            "vendor_metadata": {"detail": "low"},
                        },
                    ],
                )
            )
        ],
        "data is binary, its detail beside it",
    ),
]


@pytest.mark.parametrize(("messages", "expected", "sentence"), WRITTEN, ids=[row[2] for row in WRITTEN])
def test_writing(messages, expected, sentence):
    assert dump(*messages) == expected, sentence


def test_the_name_of_a_tool_is_its_calls_where_the_result_has_none():
    turns = dump(CALLED, result("sunny"))
    assert turns[1]["parts"][0]["tool_name"] == "weather"
    assert load(*turns)[1] == result("sunny")


def test_what_no_part_says_stands_in_the_metadata():
    (turn,) = dump({"role": "developer", "content": "Be brief."}, user("A"))
    assert turn["metadata"] == {KEY: {"0": {"in": {"role": {"was": "system", "is": "developer"}}}}}
    assert [each["part_kind"] for each in turn["parts"]] == ["system-prompt", "user-prompt"]


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


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_content_comes_back(name):
    written = json.loads(json.dumps(pydantic_ai.dump(KINDS[name])))
    assert pydantic_ai.fits([written])
    (again,) = pydantic_ai.conversations([written])
    assert losses.differences(KINDS[name], again) == []


def test_tools_are_lost():
    tool = {"type": "function", "function": {"name": "weather"}}
    written = Conversation([user("A")], [tool])
    (again,) = pydantic_ai.conversations([pydantic_ai.dump(written)])
    assert losses.differences(written, again) == ["tools[0]"]


BROKEN = [
    ([5], "[0] is a number, not an object"),
    ([{"kind": "request"}], "[0] has no list of parts"),
    ([{"kind": "reply", "parts": []}], "[0] has a kind that is neither request nor response"),
    ([request(part("user-prompt", "A")), request(5)], "[1].parts[0] has no part_kind"),
    ([request(part("system-prompt", 5))], "[0].parts[0] has no text as its content"),
    ([request(part("user-prompt", 5))], "[0].parts[0] has a content that is a number, not a text or a list"),
    ([response(part("tool-call"))], "[0].parts[0] has no text as its tool_name"),
    ([response(part("text", 5))], "[0].parts[0] has no text as its content"),
]


@pytest.mark.parametrize(("turns", "words"), BROKEN, ids=[row[1] for row in BROKEN])
def test_what_is_broken_is_said_with_its_place(turns, words):
    with pytest.raises(TurnError) as raised:
        pydantic_ai.conversations([turns])
    assert str(raised.value) == words


TURN = request(part("user-prompt", "A"))
FITS = [
    ([[TURN]], 1, "a list of messages"),
    ([[TURN], [TURN]], 2, "a list per line"),
    ([TURN, response(part("text", "A"))], 1, "a message per line"),
    ([{"id": "x", "messages": [TURN]}], 1, "a list in an object"),
    ([{"message_history": [TURN]}], 1, "or under its other name"),
]


@pytest.mark.parametrize(("objects", "count", "sentence"), FITS, ids=[row[2] for row in FITS])
def test_files_that_fit(objects, count, sentence):
    assert pydantic_ai.fits(objects) == "messages with kind and part_kind"
    assert len(pydantic_ai.conversations(objects)) == count


@pytest.mark.parametrize(
    "objects",
    [
        [],
        [5, None, "x"],
        [[]],
        [[{"role": "user", "content": "A"}]],
        [{"messages": [{"role": "user", "content": "A"}]}],
        [[{"role": "user", "parts": [{"type": "text", "text": "A"}]}]],
        [{"kind": "MessageEvent", "source": "user", "id": "1"}],
        [{"kind": "request", "parts": [5]}],
    ],
    ids=str,
)
def test_files_that_do_not_fit(objects):
    assert pydantic_ai.fits(objects) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "url", "file", "image_url", "file_data", "kind", "data", "media_type"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
PARTS = st.sampled_from(
    [text("A"), text(""), image(), image("x"), {"type": "refusal", "refusal": "no"}, {"type": "text"}, "bare"]
)
CONTENT = st.text(max_size=4) | st.none() | st.lists(PARTS | JSON, max_size=3) | JSON
HELD = st.dictionaries(
    st.sampled_from(
        ["thinking", "after", "json", "is_error", "native", "provider", "from", "feedback", "outcome", "signature"]
    ),
    JSON
    | st.sampled_from(
        ["instructions", True, "retried", ["A"], [{"text": "A", "signature": "s"}], {"cause": "no_output"}]
    ),
    min_size=1,
    max_size=3,
).map(Private)


@st.composite
def messages(draw):
    """A canonical message with odd values where these may be."""
    role = draw(st.sampled_from(["system", "developer", "user", "assistant", "assistant", "tool", "tool", "critic"]))
    message = {"role": role, "content": draw(CONTENT)}
    ids = st.sampled_from(["a", "b", ""])
    if role == "tool":
        message["tool_call_id"] = draw(ids)
    if role == "assistant" and draw(st.booleans()):
        functions = st.fixed_dictionaries(
            {"name": st.just("f") | JSON, "arguments": st.sampled_from(["{}", "", "[1]", '{"a": 1.0}', "{"])}
        )
        calls = st.fixed_dictionaries(
            {"id": ids, "type": st.just("function")}, optional={"function": functions, "custom": JSON, PRIVATE: HELD}
        )
        message["tool_calls"] = draw(st.lists(calls, min_size=1, max_size=3))
    extra = draw(st.dictionaries(st.sampled_from(["name", "refusal", "reasoning_content", "audio"]), JSON, max_size=2))
    return {**message, **extra, **({PRIVATE: draw(HELD)} if draw(st.booleans()) else {})}


@given(st.lists(messages(), max_size=6))
def test_odd_conversations_are_written_and_come_back(held):
    conversation = Conversation(held, [])
    before = copy.deepcopy(held)
    written = pydantic_ai.dump(conversation)
    assert held == before
    assert jsonio.dumps(pydantic_ai.dump(conversation)) == jsonio.dumps(written)
    (again,) = pydantic_ai.conversations([jsonio.loads(jsonio.dumps(written))])
    assert losses.differences(conversation, again) == []


@given(st.lists(JSON | st.dictionaries(st.sampled_from(["kind", "parts", "metadata"]), JSON), max_size=3))
def test_anything_is_read_or_refused(objects):
    pydantic_ai.fits(objects)
    with suppress(TurnError):
        pydantic_ai.conversations(objects)


@given(
    st.lists(
        st.builds(
            lambda kind, kinds, rest, metadata: {
                "kind": kind,
                "parts": [{"part_kind": each, "tool_name": "f", **rest} for each in kinds],
                "metadata": {KEY: metadata},
            },
            st.sampled_from(["request", "response"]),
            st.lists(
                st.sampled_from(
                    ["text", "thinking", "tool-call", "tool-return", "retry-prompt", "user-prompt", "speech", "file"]
                ),
                max_size=3,
            ),
            st.dictionaries(
                st.sampled_from(
                    ["content", "args", "tool_call_id", "signature", "provider_name", "outcome", "transcript"]
                ),
                JSON,
            ),
            JSON,
        ),
        max_size=3,
    )
)
def test_odd_messages_are_read_or_refused(turns):
    with suppress(TurnError):
        pydantic_ai.conversations([turns])
