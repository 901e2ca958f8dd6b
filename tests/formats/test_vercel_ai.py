"""UI messages as canonical ones, and back."""

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
from chatsquash.formats.clients import vercel_ai
from chatsquash.formats.clients.pydantic_ai.remainder import KEY
from chatsquash.model import Conversation
from chatsquash.translate import losses
from tests.formats.kinds import KINDS, PDF, PNG, WAV, call, image, private, result, said, system, text, user
from tests.formats.test_pydantic_ai import JSON, messages

STEP = {"type": "step-start"}
URL = f"data:image/png;base64,{PNG}"


def ui(role, *parts, **more):
    return {"id": "m", "role": role, "parts": list(parts), **more}


def txt(told, **more):
    return {"type": "text", "text": told, **more}


def tool(state="input-available", given=None, call_id="call_abc", of="dynamic-tool", **more):
    named = {"toolName": "weather"} if of == "dynamic-tool" else {}
    given = {"city": "Paris"} if given is None else given
    return {"type": of, **named, "toolCallId": call_id, "state": state, "input": given, **more}


def done(output="sunny", **more):
    return tool("output-available", output=output, **more)


def failed(told="no", **more):
    return tool("output-error", errorText=told, **more)


def answered(content="sunny", call_id="call_abc", **held):
    message = result(content, call_id, name="weather")
    return private(message, **held) if held else message


def load(*turns):
    (conversation,) = vercel_ai.conversations([list(turns)])
    return conversation.messages


def dump(*held):
    return vercel_ai.dump(Conversation(list(held), []))


CALLED = said(None, call())
HEARD = [
    ([ui("system", txt("Be kind."))], [system("Be kind.")], "a system message"),
    ([ui("user", txt("A", state="done"))], [user("A")], "a user's message"),
    ([ui("user", txt("A"), txt("B"))], [user([text("A"), text("B")])], "texts keep their bounds"),
    ([ui("user", {"type": "file", "mediaType": "image/png", "url": URL})], [user([image()])], "an image's data"),
    (
        [ui("user", txt("A"), {"type": "file", "mediaType": "image/*", "url": "https://example.com/a"})],
        [user([text("A"), image("https://example.com/a")])],
        "an image's address",
    ),
    (
        [ui("user", {"type": "file", "mediaType": "audio/wav", "url": f"data:audio/wav;base64,{WAV}"})],
        [user([{"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}])],
        "a sound",
    ),
    (
        [
            ui(
                "user",
                {
                    "type": "file",
                    "mediaType": "application/pdf",
                    "url": f"data:application/pdf;base64,{PDF}",
                    "filename": "a",
                },
            )
        ],
        [user([{"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a"}}])],
        "a document with its name",
    ),
    (
        [ui("user", {"type": "file", "mediaType": "text/csv", "url": "https://example.com/a.csv"})],
        [user([{"type": "file", "file": {"file_url": "https://example.com/a.csv"}}])],
        "a document's address",
    ),
    (
        [ui("user", {"type": "file", "mediaType": "video/mp4", "url": "https://example.com/a.mp4"})],
        [user([{"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}])],
        "a video's address",
    ),
    (
        [ui("user", {"type": "file", "mediaType": "x/y", "url": "x:y", "providerReference": {"openai": "f1"}})],
        [user([{"type": "file", "file": {"file_id": "f1"}}])],
        "a file that a provider holds",
    ),
    (
        [ui("user", txt("A"), {"type": "data-place", "data": {"x": 1}})],
        [private(user("A"), native=[{"type": "data-place", "data": {"x": 1}}])],
        "the application's data is kept aside",
    ),
    (
        [ui("user", txt("A"), txt("B", providerMetadata={"pydantic_ai": {"user_prompt_start": True}}))],
        [user("A"), user("B")],
        "Pydantic AI marks where another prompt starts",
    ),
]
THOUGHT = {"type": "reasoning", "text": "Hm."}
SAID = [
    ([ui("assistant", STEP, txt("A"))], [said("A")], "a step is a message"),
    ([ui("assistant", STEP, txt("A"), STEP, txt("B"))], [said("A"), said("B")], "two steps are two"),
    ([ui("assistant", txt("A"), txt("B"))], [said([text("A"), text("B")])], "without steps it is one"),
    (
        [ui("assistant", STEP, txt("A"), done(), STEP, txt("B"))],
        [said("A", call()), answered(), said("B")],
        "results stand behind the step that called",
    ),
    (
        [ui("assistant", txt("A"), done(), txt("B"))],
        [said("A", call()), answered(), said("B")],
        "without steps, text behind an answered call is the next one's",
    ),
    (
        [ui("assistant", tool(), txt("B"))],
        [private(said(None, call()), after=["B"])],
        "and behind a call without an answer it is this one's",
    ),
    (
        [ui("assistant", STEP, done(), txt("B"))],
        [private(said(None, call()), after=["B"]), answered()],
        "as it is in a marked step",
    ),
    (
        [ui("assistant", STEP, done(), done("jam", call_id="call_def"))],
        [said(None, call(), call("call_def")), answered(), answered("jam", "call_def")],
        "parallel calls are of one message",
    ),
    ([ui("assistant", STEP, done(of="tool-weather"))], [CALLED, answered()], "a tool may be named by the type"),
    ([ui("assistant", STEP, failed())], [CALLED, answered("no", is_error=True)], "an error is one"),
    (
        [ui("assistant", STEP, failed(callProviderMetadata={"pydantic_ai": {"outcome": "retried"}}))],
        [CALLED, answered("no", is_error=True, outcome="retried")],
        "to be tried again, as Pydantic AI says",
    ),
    (
        [ui("assistant", STEP, done(callProviderMetadata={"pydantic_ai": {"outcome": "interrupted"}}))],
        [CALLED, answered(outcome="interrupted")],
        "or interrupted",
    ),
    (
        [ui("assistant", STEP, tool("output-denied", approval={"id": "a", "approved": False, "reason": "not now"}))],
        [CALLED, answered("not now", outcome="denied")],
        "a denied call has the reason for its result",
    ),
    (
        [ui("assistant", STEP, tool("output-denied", approval={"id": "a", "approved": False}))],
        [CALLED, answered("Tool call execution denied.", outcome="denied")],
        "without one, what the AI SDK tells the model",
    ),
    ([ui("assistant", STEP, tool("input-streaming", {}))], [said(None, call(arguments="{}"))], "a call still comes in"),
    (
        [ui("assistant", STEP, tool("approval-requested", approval={"id": "a"}))],
        [said(None, private(call(), approval={"id": "a"}))],
        "a call waits for approval",
    ),
    (
        [ui("assistant", STEP, tool("approval-responded", approval={"id": "a", "approved": True}))],
        [said(None, private(call(), approval={"id": "a", "approved": True}))],
        "or has it",
    ),
    ([ui("assistant", STEP, done({"t": 1}))], [CALLED, answered('{"t":1}', json=True)], "an output that is no text"),
    ([ui("assistant", STEP, done('{"t":1}'))], [CALLED, answered('{"t":1}')], "text that looks like it"),
    ([ui("assistant", STEP, done(""))], [CALLED, answered("")], "nothing"),
    (
        [ui("assistant", STEP, done(["A", {"kind": "binary", "media_type": "image/png", "data": PNG}]))],
        [CALLED, answered([text("A"), image()])],
        "files as Pydantic AI has them",
    ),
    *(
        (
            [ui("assistant", STEP, done([{"kind": "binary", "media_type": "image/png", "data": data}]))],
            [CALLED, answered([image("data:image/png;base64,AQL/")])],
            f"their bytes as {written}",
        )
        for written, data in [
            ("a buffer", {"type": "Buffer", "data": [1, 2, 255]}),
            ("an array", {"0": 1, "1": 2, "2": 255}),
        ]
    ),
    (
        [ui("assistant", STEP, done([{"kind": "binary", "media_type": "image/png", "data": {"0": 256}}]))],
        [CALLED, answered('[{"kind":"binary","media_type":"image/png","data":{"0":256}}]', json=True)],
        "and as JSON where they are no bytes",
    ),
    (
        [ui("assistant", STEP, txt("A"), done(providerExecuted=True), txt("B"))],
        [private(said([text("A"), text("B")]), native=[done(providerExecuted=True)], breaks=[1])],
        "a tool that the provider ran keeps texts apart",
    ),
    (
        [ui("assistant", STEP, tool(given='{"city": "Paris"}'))],
        [said(None, call(arguments='{"city": "Paris"}'))],
        "input that is text is the arguments (pydantic-ai#4193)",
    ),
    ([ui("assistant", STEP, tool(given="[1, 2, 3]"))], [said(None, call(arguments="[1, 2, 3]"))], "whatever it says"),
    (
        [ui("assistant", STEP, tool(given={"INVALID_JSON": "{bad"}))],
        [said(None, call(arguments="{bad"))],
        "what could not be parsed is what it was",
    ),
    (
        [ui("assistant", STEP, {**failed(), "input": None, "rawInput": "{bad"})],
        [said(None, call(arguments="{bad")), answered("no", is_error=True)],
        "or stands as raw input",
    ),
    (
        [ui("assistant", STEP, THOUGHT, txt("A"))],
        [said("A", reasoning_content="Hm.")],
        "reasoning",
    ),
    (
        [ui("assistant", STEP, {**THOUGHT, "providerMetadata": {"anthropic": {"signature": "s"}}})],
        [
            private(
                said("", reasoning_content="Hm."), thinking=[{"text": "Hm.", "signature": "s"}], provider="anthropic"
            )
        ],
        "with a signature",
    ),
    (
        [
            ui(
                "assistant",
                STEP,
                {"type": "reasoning", "text": "", "providerMetadata": {"anthropic": {"redactedData": "s"}}},
            )
        ],
        [private(said(""), thinking=[{"redacted": "s"}])],
        "redacted",
    ),
    (
        [
            ui(
                "assistant",
                STEP,
                *(
                    {
                        "type": "reasoning",
                        "text": told,
                        "providerMetadata": {"openai": {"itemId": "rs", "reasoningEncryptedContent": "s"}},
                    }
                    for told in "AB"
                ),
            )
        ],
        [private(said("", reasoning_content="A\n\nB"), thinking=[{"text": "A\n\nB", "encrypted": "s", "id": "rs"}])],
        "encrypted, where several parts are one item",
    ),
    (
        [ui("assistant", STEP, tool(callProviderMetadata={"google": {"thoughtSignature": "s"}}))],
        [said(None, private(call(), signature="s"))],
        "a call's signature",
    ),
    (
        [ui("assistant", STEP, txt("A", providerMetadata={"google": {"thoughtSignature": "s"}}))],
        [private(said("A"), thinking=[{"signature": "s"}])],
        "a text's signature",
    ),
    (
        [ui("assistant", STEP, txt("A"), {"type": "source-url", "sourceId": "1", "url": "x"})],
        [private(said("A"), native=[{"type": "source-url", "sourceId": "1", "url": "x"}])],
        "sources are kept aside",
    ),
    (
        [ui("assistant", STEP, done(providerExecuted=True), txt("A"))],
        [private(said("A"), native=[done(providerExecuted=True)])],
        "so is what the provider ran itself",
    ),
    (
        [ui("assistant", STEP, txt("A"), {"type": "steering-message", "id": "s", "parts": [txt("B")]}, STEP, txt("C"))],
        [said("A"), user("B"), said("C")],
        "what the user says meanwhile is his",
    ),
    ([ui("assistant", STEP)], [], "a step that has only begun is none"),
    (
        [
            ui(
                "assistant",
                STEP,
                {"type": "dynamic-tool", "toolName": "f", "state": "output-available", "input": {}, "output": ""},
            )
        ],
        [
            said(
                None,
                private(
                    {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                    synthetic_id=True,
                ),
            ),
            private(result("", "call_1", name="f"), synthetic_id=True),
        ],
        "a call without an id gets one",
    ),
]
READ = HEARD + SAID


@pytest.mark.parametrize(("turns", "expected", "sentence"), READ, ids=[row[2] for row in READ])
def test_reading(turns, expected, sentence):
    before = copy.deepcopy(turns)
    assert load(*turns) == expected, sentence
    assert turns == before


@pytest.mark.parametrize(("turns", "expected", "sentence"), READ, ids=[row[2] for row in READ])
def test_what_was_read_is_written_and_read_again(turns, expected, sentence):
    again = load(*json.loads(json.dumps(dump(*expected))))
    assert again == expected
    for message in again:
        assert all(type(holder.get(PRIVATE, Private())) is Private for holder in (message, *chat.calls(message)))


def bare(turns):
    """UI messages without ids, states of text and what stands beside them."""
    shown = []
    for turn in turns:
        parts = [
            {
                k: v
                for k, v in part.items()
                if k not in ("state", "callProviderMetadata") or ("toolCallId" in part and k == "state")
            }
            for part in turn["parts"]
        ]
        shown.append((turn["role"], *(part for part in parts if part["type"] != f"data-{KEY}")))
    return shown


TOLD = txt("A")
WRITTEN = [
    (
        [system("S"), user("A"), said("A"), user("A")],
        [("system", txt("S")), ("user", TOLD), ("assistant", STEP, TOLD), ("user", TOLD)],
        "system and user messages are messages of their own",
    ),
    (
        [said("A", call()), result("sunny"), said("A")],
        [("assistant", STEP, TOLD, done(), STEP, TOLD)],
        "a run of the assistant's is one message, a call and its result one part",
    ),
    ([CALLED], [("assistant", STEP, tool())], "a call without a result has its input"),
    ([CALLED, private(result("no"), is_error=True)], [("assistant", STEP, failed())], "an error is text"),
    (
        [said([text("A"), text("B")], call())],
        [("assistant", STEP, txt("AB"), tool())],
        "neighbouring texts are joined",
    ),
    (
        [private(said("A", call()), after=["B", "C"])],
        [("assistant", STEP, TOLD, tool(), txt("BC"))],
        "text behind a call stands apart",
    ),
    (
        [said(None, call(), call("call_def")), result("jam", "call_def"), result("sunny")],
        [("assistant", STEP, done(), done("jam", call_id="call_def"))],
        "results stand with their calls, whatever their order",
    ),
    (
        [CALLED, user("A"), result("sunny")],
        [("assistant", STEP, done()), ("user", TOLD)],
        "wherever they come",
    ),
    (
        [CALLED, result("sunny"), CALLED, result("rainy")],
        [("assistant", STEP, done(), STEP, done("rainy"))],
        "a call that has the id of another has its own result",
    ),
    (
        [CALLED, result("sunny"), result("rainy")],
        [("assistant", STEP, done(), {**done("rainy", given={}), "toolName": ""})],
        "a second result of a call stands alone",
    ),
    (
        [user("A"), result("left over", "gone", name="weather")],
        [("user", TOLD), ("assistant", done("left over", given={}, call_id="gone"))],
        "a result without a call has no input",
    ),
    (
        [said(None, call(arguments="{bad")), said(None, call(arguments="[1]"), call(arguments=""))],
        [
            (
                "assistant",
                STEP,
                tool(given={"INVALID_JSON": "{bad"}),
                STEP,
                tool(given={"INVALID_JSON": "[1]"}),
                tool(given={}),
            )
        ],
        "arguments that are no object are kept as they are (clippy makes nothing of them)",
    ),
    ([said("")], [("assistant", STEP, txt(""))], "an empty message has an empty text"),
    ([user([])], [("user", txt(""))], "since no message may be without parts"),
    (
        [user([image("cat.png"), {"type": "file", "file": {"file_id": "f1"}}])],
        [
            (
                "user",
                {"type": "data-part", "data": image("cat.png")},
                {"type": "data-part", "data": {"type": "file", "file": {"file_id": "f1"}}},
            )
        ],
        "what has no address is the application's data",
    ),
    (
        [user([image("https://example.com/a.PNG"), image("https://example.com/a")])],
        [
            (
                "user",
                {"type": "file", "mediaType": "image/png", "url": "https://example.com/a.PNG"},
                {"type": "file", "mediaType": "image/*", "url": "https://example.com/a"},
            )
        ],
        "an image's address tells its type, or no more than that it is one",
    ),
    ([said(None, refusal="A")], [("assistant", STEP, TOLD)], "a refusal is said"),
    (
        [CALLED, private(result('{"t":1}'), json=True)],
        [("assistant", STEP, done({"t": 1}))],
        "a result that was JSON is JSON again",
    ),
    ([CALLED, result('{"t":1}')], [("assistant", STEP, done('{"t":1}'))], "text that looks like it is text"),
    ([CALLED, private(result("null"), json=True)], [("assistant", STEP, {**done(), "output": None})], "null is null"),
]


@pytest.mark.parametrize(("held", "expected", "sentence"), WRITTEN, ids=[row[2] for row in WRITTEN])
def test_writing(held, expected, sentence):
    assert bare(dump(*held)) == expected, sentence
    assert load(*dump(*held)) == held


def test_ids_count_the_messages_or_come_from_a_generator():
    held = Conversation([user("A"), said("B"), user("C")], [])
    assert [turn["id"] for turn in vercel_ai.dump(held)] == ["msg_1", "msg_2", "msg_3"]
    assert [turn["id"] for turn in vercel_ai.dump(held, ids=lambda number: "x" * number)] == ["x", "xx", "xxx"]


def test_signatures_stand_under_the_name_of_their_provider():
    block = {"text": "Hm.", "signature": "s"}
    (turn,) = dump(private(said("A", reasoning_content="Hm."), thinking=[block], provider="anthropic"))
    assert turn["parts"][1]["providerMetadata"]["anthropic"] == {"signature": "s"}
    (turn,) = dump(private(said("A", reasoning_content="Hm."), thinking=[block]))
    assert turn["parts"][1]["providerMetadata"].keys() == {"pydantic_ai"}


def test_nothing_stands_beside_what_the_parts_say():
    (asked, answered) = dump(user("A"), said("B", call()), answered_by := result("sunny", name="weather"))
    assert answered_by["name"] == "weather"
    assert asked.keys() == {"id", "role", "parts"}
    assert answered.keys() == {"id", "role", "parts"}
    assert "callProviderMetadata" not in answered["parts"][2]


def test_places_that_were_changed_count_for_nothing():
    turns = dump(user("A"), user("B"), *KINDS["results reordered"].messages[1:])
    assert [each["role"] for each in load(*turns)][2:5] == ["assistant", "tool", "tool"]
    assert [each["tool_call_id"] for each in load(*turns)[3:5]] == ["call_def", "call_abc"]
    assert [each["tool_call_id"] for each in load(*(ui("user", txt("new")),) * 4, *turns)[7:9]] == [
        "call_abc",
        "call_def",
    ]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_content_comes_back(name):
    written = json.loads(json.dumps(vercel_ai.dump(KINDS[name])))
    assert vercel_ai.fits([written])
    (again,) = vercel_ai.conversations([written])
    assert losses.differences(KINDS[name], again) == []


def test_no_member_is_null_but_an_input_or_output():
    for held in KINDS.values():
        for turn in vercel_ai.dump(held):
            for each in (turn, *turn["parts"]):
                assert (
                    None not in {key: value for key, value in each.items() if key not in ("input", "output")}.values()
                )


BROKEN = [
    ([5], "[0] is a number, not an object"),
    ([{"role": "tool", "parts": []}], "[0] has a role that is none of system, user, assistant"),
    ([ui("user", txt("A")), {"role": "user", "content": "A"}], "[1] has no list of parts"),
    ([ui("user", {"text": "A"})], "[0].parts[0] has no type"),
    ([ui("user", {"type": "text"})], "[0].parts[0] has no text"),
    ([ui("assistant", {"type": "reasoning"})], "[0].parts[0] has no text"),
    ([ui("assistant", {"type": "dynamic-tool"})], "[0].parts[0] has no toolName"),
    (
        [ui("assistant", {"type": "tool-invocation", "toolInvocation": {}})],
        "[0].parts[0] is of the AI SDK 4, whose messages are not read",
    ),
]


@pytest.mark.parametrize(("turns", "words"), BROKEN, ids=[row[1] for row in BROKEN])
def test_what_is_broken_is_said_with_its_place(turns, words):
    with pytest.raises(TurnError) as raised:
        vercel_ai.conversations([turns])
    assert str(raised.value) == words


TURN = ui("user", txt("A"))
FITS = [
    ([[TURN]], 1, "a list of messages"),
    ([[TURN], [TURN]], 2, "a list per line"),
    ([TURN, TURN], 1, "a message per line"),
    ([{"id": "x", "trigger": "submit-message", "messages": [TURN]}], 1, "a request with a list"),
    ([[ui("assistant", STEP)]], 1, "a step that has begun"),
    ([[ui("assistant", done(of="tool-weather"))]], 1, "a call"),
    ([[ui("user", {"type": "file", "mediaType": "image/png", "url": URL})]], 1, "a file"),
    ([[ui("user", {"type": "data-x", "data": None})]], 1, "the application's data"),
]


@pytest.mark.parametrize(("objects", "count", "sentence"), FITS, ids=[row[2] for row in FITS])
def test_files_that_fit(objects, count, sentence):
    assert vercel_ai.fits(objects) == "messages with typed parts such as text and tool-*"
    assert len(vercel_ai.conversations(objects)) == count


@pytest.mark.parametrize(
    "objects",
    [
        [],
        [5, None],
        [[]],
        [[{"role": "user", "content": "A"}]],
        [[{"role": "user", "parts": [{"type": "text", "content": "A"}]}]],
        [[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "f"}]}]],
        [{"contents": [{"role": "user", "parts": [{"text": "A"}]}]}],
        [[{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "A"}]}]],
        [{"messages": [{"role": "user", "content": [{"type": "text", "text": "A"}]}]}],
    ],
    ids=str,
)
def test_files_that_do_not_fit(objects):
    assert vercel_ai.fits(objects) is None


@given(st.lists(messages(), max_size=6))
def test_odd_conversations_are_written_and_come_back(held):
    conversation = Conversation(held, [])
    before = copy.deepcopy(held)
    written = vercel_ai.dump(conversation)
    assert held == before
    assert jsonio.dumps(vercel_ai.dump(conversation)) == jsonio.dumps(written)
    (again,) = vercel_ai.conversations([jsonio.loads(jsonio.dumps(written))])
    assert losses.differences(conversation, again) == []


PARTS = st.builds(
    lambda of, rest: {"type": of, "text": "A", "toolName": "f", **rest},
    st.sampled_from(
        [
            "text",
            "reasoning",
            "file",
            "dynamic-tool",
            "tool-f",
            "step-start",
            "data-x",
            "data-part",
            f"data-{KEY}",
            "steering-message",
        ]
    ),
    st.dictionaries(
        st.sampled_from(
            [
                "text",
                "state",
                "toolCallId",
                "input",
                "output",
                "errorText",
                "approval",
                "data",
                "url",
                "parts",
                "providerMetadata",
                "callProviderMetadata",
            ]
        ),
        JSON
        | st.sampled_from(
            [
                "output-available",
                "output-error",
                "output-denied",
                {"anthropic": {"signature": 5}},
                {KEY: {"place": 1, "result": 5}},
            ]
        ),
    ),
)


@given(st.lists(st.builds(ui, st.sampled_from(["system", "user", "assistant"]), PARTS, PARTS), max_size=3))
def test_odd_messages_are_read_or_refused(turns):
    vercel_ai.fits([turns])
    with suppress(TurnError):
        vercel_ai.conversations([turns])


@given(st.lists(JSON | st.dictionaries(st.sampled_from(["role", "parts", "messages"]), JSON), max_size=3))
def test_anything_is_read_or_refused(objects):
    vercel_ai.fits(objects)
    with suppress(TurnError):
        vercel_ai.conversations(objects)
