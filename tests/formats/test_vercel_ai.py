"""What is particular to the AI SDK's messages; ``rows/vercel_ai.json`` and ``rows/model_messages.json`` have the rest."""

import json

import pytest

from chatsquash.core.blocks import Approval, Call, HostedCall, HostedResult, Reasoning, Result, Source, Text
from chatsquash.formats.clients import model_messages, pydantic_ai, vercel_ai
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import losses
from tests.formats.kinds import KINDS, answers, asks, calling, conversation, gives, says
from tests.formats.table import documents_read

FORMS = {"vercel_ai": vercel_ai, "model_messages": model_messages}


def load(*messages, form=vercel_ai):
    (found,) = form.conversations([list(messages)])
    return found


def again(held, form=vercel_ai):
    (found,) = form.conversations([json.loads(json.dumps(form.dump(held)))])
    return found


def ui(role, *parts, ident="m", **more):
    return {"id": ident, "role": role, "parts": list(parts), **more}


def text(said):
    return {"type": "text", "text": said}


def test_ids_count_the_messages_or_come_from_a_generator():
    held = conversation(asks("A"), says("B"), asks("C"))
    assert [each["id"] for each in vercel_ai.dump(held)] == ["msg_1", "msg_2", "msg_3"]
    assert [each["id"] for each in vercel_ai.dump(held, ids=lambda number: "x" * number)] == ["x", "xx", "xxx"]


def test_an_id_that_only_counts_is_the_messages_own_where_it_tells_two_of_the_assistant_apart():
    parts = {"type": "step-start"}, text("A")
    one = load(ui("user", text("A"), ident="msg_1"), ui("assistant", *parts, ident="msg_2"))
    assert [turn.native for turn in turns_of(one)] == [{}, {}]
    two = load(ui("assistant", *parts, ident="msg_1"), ui("assistant", *parts, ident="msg_2"))
    assert [each["id"] for each in vercel_ai.dump(two)] == ["msg_1", "msg_2"]


def test_no_member_is_null_but_an_input_or_output():
    for held in KINDS.values():
        for message in vercel_ai.dump(held):
            for each in (message, *message["parts"]):
                assert None not in [value for key, value in each.items() if key not in ("input", "output")]


NOT_AGAIN = ("input that is text is the arguments (pydantic-ai#4193)", "a step that has only begun is none")
"""What is written as it should have been, and what is no message."""
READ = [
    pytest.param(form, given, id=f"{form.NAME}: {sentence}")
    for name, form in FORMS.items()
    for sentence, given in documents_read(name).items()
    if sentence not in NOT_AGAIN
]


@pytest.mark.parametrize(("form", "given"), READ)
def test_what_was_read_is_written_again_without_a_loss(form, given):
    held = load(*given, form=form)
    assert losses.differences(held, again(held, form)) == []


def test_a_chat_keeps_what_it_has_beside_its_messages():
    chat = {"id": "chat-1", "title": "Weather", "messages": [ui("user", {**text("A"), "state": "done"})]}
    (held,) = vercel_ai.conversations([chat])
    assert vercel_ai.dump(held) == chat


@pytest.mark.parametrize("form", FORMS.values())
def test_order_is_kept_within_a_step(form):
    call, hosted = calling(), HostedCall("ws", "web_search", '{"query":"Paris"}')
    blocks = (
        Text("A"),
        Reasoning("Hm.", "anthropic", "signed"),
        hosted,
        HostedResult("ws", "web_search", [{"url": "https://example.com"}]),
        Text("B"),
        call,
        Reasoning("So."),
        Text("C"),
    )
    held = conversation(asks(), says(*blocks), answers(), says())
    assert again(held, form).turns[1].blocks == blocks


@pytest.mark.parametrize("form", FORMS.values())
@pytest.mark.parametrize("approved", [None, True, False])
def test_approvals_stand_with_their_calls(form, approved):
    asked = Approval("call_abc", "ap", approved, "" if approved is None else "for a reason")
    held = conversation(asks(), says(calling(), asked))
    assert again(held, form).turns[1].blocks == (calling(), asked)


@pytest.mark.parametrize("form", FORMS.values())
def test_a_denied_call_has_its_reason_for_a_result(form):
    asked, denied = Approval("call_abc", "ap", approved=False, reason="not now"), gives("not now", outcome="denied")
    found = again(conversation(asks(), says(calling(), asked), answers(denied)), form)
    assert turns_of(found)[1].blocks == (calling(), asked)
    (result,) = turns_of(found)[2].blocks
    assert (result.outcome, result.content) == ("denied", (Text("not now"),))


def test_results_of_calls_with_one_id_are_those_of_the_nearest_turn_in_order():
    twice = says(calling(), calling())
    held = conversation(twice, answers(gives("1"), gives("2")), says(calling()), answers(gives("3")))
    outputs = [part["output"] for part in vercel_ai.dump(held)[0]["parts"] if part["type"] == "tool-weather"]
    assert outputs == ["1", "2", "3"]


def test_signatures_are_their_signers_in_both():
    step = says(
        Reasoning("A", "anthropic", "s"),
        Reasoning(signer="anthropic", encrypted="z"),
        Reasoning("B", "openai", encrypted="e", id="rs_1"),
        Reasoning("C", "google", "g"),
        Call("c", "f", native={"google": {"thoughtSignature": "t"}}),
    )
    for form in FORMS.values():
        assert again(conversation(asks(), step), form).turns[1].blocks == step.blocks


def test_what_model_messages_are_sent_is_not_told_twice():
    options = model_messages.dump(conversation(says(Reasoning("A", "anthropic", "s"))))[0]["content"][0][
        "providerOptions"
    ]
    assert options == {"anthropic": {"signature": "s"}}


def test_a_summary_is_worded_as_pydantic_ai_shows_it():
    request = {"kind": "request", "parts": [{"part_kind": "compaction", "content": "We spoke of Paris."}]}
    (held,) = pydantic_ai.conversations([[request]])
    assert again(held).turns[0].blocks == turns_of(held)[0].blocks


def test_what_goes_from_ui_to_model_messages_is_what_the_parts_say():
    held = load(
        ui("user", text("A"), ident="u"),
        ui(
            "assistant",
            {"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": {"x": 1}},
            text("B"),
            {"type": "source-url", "sourceId": "1", "url": "https://example.com"},
            ident="a",
        ),
    )
    assert type(turns_of(held)[-1].blocks[-1]) is Source
    assert model_messages.dump(held)[1:3] == [
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}]},
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c",
                    "toolName": "f",
                    "output": {"type": "json", "value": {"x": 1}},
                }
            ],
        },
    ]


def test_a_results_name_is_its_calls_where_it_has_none():
    _, message = model_messages.dump(conversation(says(calling()), answers(Result("call_abc"))))
    assert message["content"][0]["toolName"] == "weather"


@pytest.mark.parametrize("breaks", ["xyz", [0, "a"], [4, 1], [1, 2], [-3], [99], [True], {"a": 1}])
def test_places_of_parts_that_a_log_makes_up_split_nothing(breaks):
    held = load(ui("assistant", {"type": "reasoning", "text": "a\n\n\nb\n\nc", "breaks": breaks}))
    for form in FORMS.values():
        assert again(held, form).turns[0].blocks[0].text == "a\n\n\nb\n\nc"
