"""What a service refuses, and what becomes of it in a request that is to be sent: a test for each rule.

The services' own types are asked in ``tests/conformance``.
"""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chatsquash
from chatsquash.core.blocks import Call, HostedCall, HostedResult, Media, Other, Reasoning, Refusal, Result, Source
from chatsquash.core.errors import UsageError
from chatsquash.formats import get_format, names
from chatsquash.translate import conversations, losses, sendable
from tests.conftest import cases
from tests.formats.kinds import KINDS, ODD, PDF, answers, asks, calling, conversation, gives, says, turn
from tests.formats.odd import CONVERSATIONS

SENT = tuple(name for name in names() if get_format(name).dump)
LEGAL = {
    "anthropic": r"[a-zA-Z0-9_-]{1,128}",
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    "openai_chat": r"[a-zA-Z0-9_-]{1,64}",
    "openai_responses": r"[a-zA-Z0-9_-]{1,128}",
}
TOOL = {"type": "function", "function": {"name": "fs.read", "parameters": {"type": "object"}}}
CALLED = [asks(), says(calling()), answers()]


def sent(name, *turns, tools=(), reasoning="drop"):
    """What of a conversation is sent, as turns again."""
    body = chatsquash.dump(conversation(*turns, tools=tools), name, sendable=True, foreign_reasoning=reasoning)
    return list(chatsquash.load(body, name).turns)


def fitted(name, *turns, tools=()):
    return dict(sendable.request(get_format(name), conversation(*turns, tools=tools), "drop").adaptations)


def blocks(turns, kind):
    return [block for turn in turns for block in turn.blocks if isinstance(block, kind)]


# What is left as it is


@pytest.mark.parametrize("name", SENT)
@cases("kind", "system first", "text", "tool call", "text+call", "parallel calls", "unanswered call")
def test_what_a_service_takes_is_written_as_without(name, kind):
    held = KINDS[kind]
    plain = [
        {key: value for key, value in each.items() if key != "name"} for each in _messages(chatsquash.dump(held, name))
    ]
    body = chatsquash.dump(held, name, sendable=True)
    assert [{key: value for key, value in each.items() if key != "name"} for each in _messages(body)] == plain


def _messages(body):
    return next(body[member] for member in ("messages", "contents", "input") if member in body)


@pytest.mark.parametrize("name", [*LEGAL, "ollama"])
def test_without_it_nothing_is_fitted(name):
    held = conversation(asks(), says(calling("a b", name="fs read")), answers(gives(to="a b")), tools=[TOOL])
    assert chatsquash.losses(held, name) == []


@pytest.mark.parametrize("name", ["portable", "clippy", "oumi", "oumi_history", "pydantic_ai", "vercel_ai"])
def test_a_format_that_is_sent_to_no_service(name):
    with pytest.raises(UsageError, match=f"^{name}: no service accepts"):
        chatsquash.dump(KINDS["text"], name, sendable=True)


# Names


@cases(
    "given, expected",
    ("an allowed name is left", ["read"], ["read"]),
    ("other letters are underscores", ["a b"], ["a_b"]),
    ("no name is that of another tool", ["a b", "a_b"], ["a_b_2", "a_b"]),
    ("nor of another that is changed", ["a b", "a/b"], ["a_b", "a_b_2"]),
    ("long ones are cut", ["a" * 200], ["a" * 64]),
    ("and told apart all the same", ["a" * 200, "a" * 201], ["a" * 64, "a" * 62 + "_2"]),
    ("one name becomes one name", ["a b", "a b"], ["a_b", "a_b"]),
)
def test_names(given, expected):
    calls = [calling(f"c{at}", name=name) for at, name in enumerate(given)]
    turns = sent("openai_chat", asks(), says(*calls), answers(*(gives(to=call.id) for call in calls)))
    assert [call.name for call in blocks(turns, Call)] == expected


@pytest.mark.parametrize("name", LEGAL)
def test_a_call_without_a_name_gets_one(name):
    turns = sent(name, asks(), says(calling(name=None)), answers(gives(name="")))
    assert [block.name for block in blocks(turns, Call)] == ["unknown"]
    assert not any(block.name not in ("unknown", "") for block in blocks(turns, Result))


def test_of_two_calls_with_one_id_the_one_stays_that_is_answered():
    turns = sent("anthropic", asks(), says(calling("a"), calling("a")), answers(gives(to="a")), asks())
    assert len(blocks(turns, Call)) == len(blocks(turns, Result)) == 1


def test_a_beginning_that_is_not_allowed_gets_another():
    assert [call.name for call in blocks(sent("gemini", asks(), says(calling(name="9a"))), Call)] == ["_9a"]


@cases("name, expected", ("anthropic", "fs_read"), ("gemini", "fs.read"), ("openai_chat", "fs_read"))
def test_definitions_calls_and_results_have_one_name(name, expected):
    held = conversation(
        asks(),
        says(calling("a", name="fs.read"), calling("b", name="fs.read")),
        answers(gives(to="a", name="fs.read"), gives(to="b")),
        tools=[TOOL],
    )
    document = str(chatsquash.dump(held, name, sendable=True))
    assert document.count(f"'{expected}'") >= 3
    assert ("'fs.read'" in document) is (expected == "fs.read")


@pytest.mark.parametrize("name", LEGAL)
@given(found=st.lists(st.text(min_size=1, max_size=140), min_size=1, max_size=4, unique=True))
def test_every_name_is_one_that_the_service_takes(name, found):
    made = [call.name for call in blocks(sent(name, asks(), says(*(calling(f"c{at}", name=each) for at, each in enumerate(found)))), Call)]  # fmt: skip
    assert all(re.fullmatch(LEGAL[name], each) for each in made)
    assert len(set(made)) == len(found)


# Definitions


@pytest.mark.parametrize("name", SENT)
def test_of_definitions_with_one_name_the_first_stays(name):
    found = chatsquash.load(chatsquash.dump(conversation(asks(), tools=[TOOL, TOOL]), name, sendable=True), name)
    assert len(found.tools) == 1
    assert fitted(name, asks(), tools=[TOOL, TOOL])["duplicate definitions dropped"] == 1


@pytest.mark.parametrize("name, properties", [("openai_chat", {}), ("openai_responses", {}), ("anthropic", None)])
@pytest.mark.parametrize("parameters", [{}, {"type": "object"}])
def test_parameters_list_their_properties_for_openai(name, properties, parameters):
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    found = chatsquash.load(chatsquash.dump(conversation(asks(), tools=[tool]), name, sendable=True), name).tools
    assert found[0]["function"]["parameters"].get("properties") == properties


# Ids

AGAIN = [
    asks(),
    says(calling("a"), calling("a", "{}", "other")),
    answers(gives("1", to="a"), gives("2", to="a")),
    says(calling("b")),
    answers(gives("3", to="b")),
    says(calling("a")),
    answers(gives("4", to="a")),
]
"""An id that stands three times."""


@pytest.mark.parametrize("name", LEGAL)
def test_each_call_has_an_id_of_its_own_and_its_result_follows(name):
    turns = sent(name, *AGAIN)
    assert [call.id for call in blocks(turns, Call)] == ["a", "a_2", "b", "a_3"]
    assert [(result.id, result.content[0].text) for result in blocks(turns, Result)] == [
        ("a", "1"),
        ("a_2", "2"),
        ("b", "3"),
        ("a_3", "4"),
    ]


def test_an_id_that_is_made_is_nobody_elses():
    turns = sent("openai_chat", asks(), says(calling("a"), calling("a"), calling("a_2")))
    assert [call.id for call in blocks(turns, Call)] == ["a", "a_3", "a_2"]


@cases(
    "name, logged, expected",
    ("anthropic", "a.b/c", "a_b_c"),
    ("openai_chat", "a" * 50, "a" * 40),
    ("openai_responses", "a" * 70, "a" * 64),
    ("gemini", "a.b/c", "a.b/c"),
)
def test_an_id_is_as_the_service_has_it(name, logged, expected):
    turns = sent(name, asks(), says(calling(logged)), answers(gives(to=logged)))
    assert [block.id for block in blocks(turns, Call | Result)] == [expected] * 2


# Calls and their results


@pytest.mark.parametrize("name", LEGAL)
def test_a_call_that_nothing_answers_is_left_out_but_at_the_end(name):
    turns = sent(name, asks(), says("a", calling("a")), asks(), says(calling("b")))
    assert [call.id for call in blocks(turns, Call)] == ["b"]


@pytest.mark.parametrize("name", LEGAL)
def test_a_result_that_answers_nothing_is_left_out(name):
    turns = sent(
        name, asks(), says(calling("a")), answers(gives("x", to="a"), gives("y", to="a"), gives("z", to="b")), says()
    )
    assert [result.content[0].text for result in blocks(turns, Result)] == ["x"]


# Reasoning

SIGNED = {
    "anthropic": Reasoning("hm", "anthropic", "c2ln"),
    "gemini": Reasoning("hm", "google", "c2ln"),
    "openai_responses": Reasoning("hm", "openai", encrypted="c2ln", id="rs_1"),
}
FOREIGN = [Reasoning("hm"), Reasoning("hm", "xai", "c2ln")]


@pytest.mark.parametrize("name", SIGNED)
def test_reasoning_that_the_service_signed_stays(name):
    assert blocks(sent(name, asks(), says(SIGNED[name], "a")), Reasoning) == [SIGNED[name]]


@pytest.mark.parametrize("name", [*SIGNED, "openai_chat"])
@pytest.mark.parametrize("thought", [*FOREIGN, *SIGNED.values()])
def test_other_reasoning_is_left_out_and_counted(name, thought):
    if thought != SIGNED.get(name):
        assert sent(name, asks(), says(thought, "a"))[1:] == [says("a")]
        assert fitted(name, asks(), says(thought, "a")) == {"reasoning dropped": 1}


@pytest.mark.parametrize("name", [*SIGNED, "openai_chat"])
def test_or_said_as_a_text(name):
    turns = sent(name, asks(), says(FOREIGN[0], "a"), reasoning="text")
    assert not blocks(turns, Reasoning)
    assert "".join(block.text for block in turns[1].blocks).split() in (["hm", "a"], ["hma"])
    assert (
        blocks(sent(name, asks(), says(Reasoning(signer="xai", encrypted="eA=="), "a"), reasoning="text"), Reasoning)
        == []
    )


@pytest.mark.parametrize("name", [*SIGNED, "openai_chat"])
def test_what_is_said_as_a_text_stands_apart(name):
    turns = sent(name, asks(), says(FOREIGN[0], "a"), reasoning="text")
    assert [block.text for each in turns[1:] for block in each.blocks] in (["hm", "a"], ["hm\n\na"])


@pytest.mark.parametrize("name", [*SIGNED, "openai_chat"])
def test_what_is_said_as_a_text_is_no_loss(name):
    held = conversation(asks(), says(FOREIGN[0], "a"))
    made = sendable.request(get_format(name), held, "text")
    assert made.adaptations == {"reasoning written as text": 1}
    assert conversations.losses_in(made.original, made.body, name) == []
    assert conversations.losses_in(held, made.body, name) != []


def test_a_refusal_is_apart_from_a_text():
    assert sent("ollama", asks(), says("a", Refusal("no"), "b"))[1] == says("a\n\nno\n\nb")


@pytest.mark.parametrize("name", ["anthropic", "openai_responses"])
def test_reasoning_that_nothing_follows_is_left_out_and_counted(name):
    held = [asks(), says("a", SIGNED[name]), asks(), says(SIGNED[name])]
    assert sent(name, *held) == [asks(), says("a"), asks()]
    assert fitted(name, *held) == {"reasoning at the end of a turn dropped": 2}


def test_ollama_takes_the_reasoning_of_whomever():
    assert blocks(sent("ollama", asks(), says(FOREIGN[1], "a")), Reasoning) == [Reasoning("hm")]


# Prompts


@pytest.mark.parametrize("name", SENT)
def test_leading_prompts_are_one(name):
    turns = sent(name, turn("system", "a"), turn("system", "b"), asks(), says())
    assert [each.role for each in turns] == ["system", "user", "assistant"]
    assert fitted(name, turn("system", "a"), turn("system", "b"), asks())["system prompts joined"] == 1


@pytest.mark.parametrize("name", SENT)
def test_a_service_gets_only_roles_that_it_has(name):
    turns = sent(name, turn("developer", "a"), asks(), turn("critic", "c"), says())
    expected = "developer" if name.startswith("openai") else "system"
    assert [each.role for each in turns] == [expected, "user", "assistant"]


@pytest.mark.parametrize("name, expected", [("anthropic", "system"), ("openai_chat", "system"), ("openai_responses", "system"), ("ollama", "system"), ("gemini", "user")])  # fmt: skip
def test_a_prompt_in_the_middle(name, expected):
    turns = sent(name, asks(), says(), turn("system", "b"), asks("c"))
    assert turns[2].role == expected
    text = turns[2].blocks[0].text
    assert text == ("b" if expected == "system" else "<system>b</system>")


@pytest.mark.parametrize("name", SENT)
@pytest.mark.parametrize("turns", [[], [turn("system", "s")], [turn("system", "s"), turn("user"), turn("critic", "c")]])
def test_a_conversation_in_which_nobody_speaks_is_refused(name, turns):
    with pytest.raises(UsageError, match="nothing to send"):
        sent(name, *turns)


# Turns and texts


def test_gemini_wants_calls_behind_the_user_or_results():
    assert sent("gemini", says("a", calling()), answers(), asks(), says("b")) == [says("a"), asks(), says("b")]
    turns = sent("gemini", asks(), says("a"), says(calling()), answers(), says("b"))
    assert [each.role for each in turns] == ["user", "assistant", "tool", "assistant"]
    assert [each.role for each in sent("anthropic", asks(), says("a"), says("b"))] == ["user", "assistant", "assistant"]


@pytest.mark.parametrize("name", ["anthropic", "openai_chat", "openai_responses"])
@cases(
    "empty",
    ("an assistant who says nothing", turn("assistant")),
    ("a user who says nothing", turn("user")),
    ("an assistant of whose reasoning nothing may be sent", says(Reasoning("hm"))),
    ("one who called what nothing answers", says(calling("z"))),
    ("one of another provider's blocks", says(Other("x", {"a": 1}), HostedCall("s", "f", provider="x"), Source())),
    ("a user with a film that has no place", asks(Media("video", url="https://example.com/a.mp4"))),
)
def test_no_turn_is_empty(name, empty):
    turns = sent(name, asks("a"), says("b"), empty, asks("c"))
    assert [each.blocks for each in turns] == [asks("a").blocks, says("b").blocks, asks("c").blocks]


def test_anthropic_refuses_texts_of_white_space():
    assert sent("anthropic", asks("a", " \n"), says("b"), asks("\n")) == [asks("a"), says("b")]
    assert sent("anthropic", asks("a"), says("b \n")) == [asks("a"), says("b")]
    assert sent("openai_chat", asks("a"), says("b \n")) == [asks("a"), says("b \n")]


def test_a_file_has_a_name_made_from_its_type():
    body = chatsquash.dump(conversation(asks(Media("file", "application/pdf", PDF))), "openai_chat", sendable=True)
    assert body["messages"][0]["content"][0]["file"]["filename"] == "file.pdf"


# Media

HELD_BY = {"anthropic": "anthropic", "openai_chat": "openai", "openai_responses": "openai", "gemini": "google"}
IMAGE = {"image/gif": "R0lGODdh", "image/tiff": "SUkqAAgAAAAA", "image/heic": "AAAAGGZ0eXBoZWlj"}


@pytest.mark.parametrize("name", HELD_BY)
@cases("medium, takers",
    ("a file that another provider holds", Media("file", file_id="f", provider="xai"), []),
    ("one that nobody knows who holds", Media("file", file_id="f"), ["anthropic", "openai_chat", "openai_responses", "gemini"]),
    ("an address of Google's storage", Media("image", url="gs://b/a.png"), ["gemini"]),
    ("a file that lies with Gemini", Media("image", url="https://generativelanguage.googleapis.com/v1beta/files/a"), ["gemini"]),
    ("an address that nobody opens", Media("image", url="s3://b/a.png"), []),
    ("a public address", Media("image", url="https://e.com/a.png"), ["anthropic", "openai_chat", "openai_responses", "gemini"]),
    ("no base64", Media("image", "image/png", "no base64"), []),
    ("an image in motion", Media("image", "image/gif", IMAGE["image/gif"]), ["anthropic", "openai_chat", "openai_responses"]),
    ("one of a type that Gemini alone has", Media("image", "image/heic", IMAGE["image/heic"]), ["gemini"]),
    ("one of a type that nobody has", Media("image", "image/tiff", IMAGE["image/tiff"]), []),
)  # fmt: skip
def test_media_that_the_service_cannot_open_are_left_out_and_counted(name, medium, takers):
    assert len(blocks(sent(name, asks("a", medium), says()), Media)) == (name in takers)
    left = {} if name in takers else {"media inaccessible to the service dropped": 1}
    assert fitted(name, asks("a", medium), says()) == left


@pytest.mark.parametrize("name", ["anthropic", "openai_responses", "gemini"])
def test_those_in_results_too(name):
    foreign = Media("image", url="s3://b/a.png")
    assert not blocks(sent(name, asks(), says(calling()), answers(gives("a", foreign))), Media)
    assert fitted(name, asks(), says(calling()), answers(gives("a", foreign)))["media inaccessible to the service dropped"] == 1  # fmt: skip


@pytest.mark.parametrize("source", HELD_BY)
@pytest.mark.parametrize("name", ["anthropic", "openai_responses"])
def test_ids_of_files_do_not_cross_providers(source, name):
    medium = Media("file", file_id="file-1", provider=HELD_BY[source])
    is_own = HELD_BY[source] == HELD_BY[name]
    assert [block.file_id for block in blocks(sent(name, asks("a", medium)), Media)] == ["file-1"] * is_own
    told = chatsquash.losses(conversation(asks("a", medium)), name)
    assert ("turns[0].blocks[1].provider" in told) is not is_own


@pytest.mark.parametrize("name", HELD_BY)
def test_the_usual_name_of_a_type(name):
    assert [block.mime for block in blocks(sent(name, asks(Media("image", "image/jpg", "/9j/"))), Media)] == ["image/jpeg"]  # fmt: skip


# Calls that the provider ran

SEARCH = [HostedCall("w", "web_search", "{}", "anthropic"), HostedResult("w", "web_search", [], "success", "anthropic")]
MCP = [
    HostedCall("m", "read", "{}", "anthropic", {"anthropic": {"type": "mcp_tool_use", "server_name": "s"}}),
    HostedResult("m", "mcp", [], "success", "anthropic"),
]


@cases("ran, stay",
    ("its own stay", SEARCH, 2),
    ("those of a server, too", MCP, 2),
    ("a tool that it has not is left out", [HostedCall("w", "f", "{}", "anthropic"), HostedResult("w", "f", [], "success", "anthropic")], 0),
    ("with its result", [HostedCall("m", "read", "{}", "anthropic"), MCP[1]], 0),
    ("a result must be data", [SEARCH[0], HostedResult("w", "web_search", "boom", "failed", "anthropic")], 0),
    ("a call has a result", SEARCH[:1], 0),
    ("and a result a call", SEARCH[1:], 0),
    ("another provider ran it", [HostedCall("w", "web_search", "{}", "openai")], 0),
)  # fmt: skip
def test_anthropic_gets_what_it_ran_itself(ran, stay):
    turns = sent("anthropic", asks(), says(*ran, "a"), asks())
    assert len(blocks(turns, HostedCall | HostedResult)) == stay
    left = {"hosted calls of other providers dropped": len(ran) - stay} if len(ran) > stay else {}
    assert fitted("anthropic", asks(), says(*ran, "a"), asks()) == left


# Members


@pytest.mark.parametrize("name", SENT)
def test_no_mark_of_ours_is_sent(name):
    held = conversation(turn("system", "s", instructions=True), *CALLED[:2], answers(gives(outcome="failed")))
    assert '"chatsquash"' not in json.dumps(chatsquash.dump(held, name, sendable=True))


def test_openai_gets_only_members_that_it_has():
    logged = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "video_url", "video_url": {"url": "https://x/y.mp4"}}], "n": 1},
            {"role": "assistant", "content": "b", "reasoning": "hm", "annotations": [{"type": "url_citation", "url_citation": {"url": "https://x"}}], "tool_calls": [{"id": "c", "index": 0, "type": "function", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"a": 1}}]},
            {"role": "tool", "tool_call_id": "c", "name": "f", "content": "d"},
        ]
    }  # fmt: skip
    assert chatsquash.dump(chatsquash.load(logged), "openai_chat", sendable=True)["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": "b", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "d"},
    ]  # fmt: skip


@cases("name, logged",
    ("anthropic", {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://e.com", "odd": 1}}]}]}),
    ("openai_chat", {"messages": [{"role": "user", "content": "a"}], "tools": [{"type": "function", "odd": 1, "function": {"name": "f", "odd": 1}}]}),
    ("openai_responses", {"input": [{"role": "user", "odd": 1, "content": [{"type": "input_text", "text": "a", "odd": 1}]}, {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "odd": 1}, {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "b", "odd": 1}], "odd": 1}], "tools": [{"type": "function", "name": "f", "odd": 1}]}),
    ("anthropic", {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "odd": 1}]}, {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}, "odd": 1}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "b", "odd": 1}], "odd": 1}]}]}),
    ("gemini", {"contents": [{"role": "user", "parts": [{"text": "a", "odd": 1}], "odd": 1}]}),
)  # fmt: skip
def test_members_that_a_service_does_not_know_are_not_sent(name, logged):
    held = chatsquash.load(logged, name)
    assert '"odd"' in json.dumps(chatsquash.dump(held, name))
    assert '"odd"' not in json.dumps(chatsquash.dump(held, name, sendable=True))


ITEM_IDS = [
    ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, "fc_1", "item_1"),
    ({"type": "custom_tool_call", "call_id": "c", "name": "f", "input": ""}, "ctc_1", "fc_1"),
    ({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}, "msg_1", "item_1"),
    ({"type": "reasoning", "summary": [], "encrypted_content": "c2ln"}, "rs_1", "item_1"),
]  # fmt: skip


@pytest.mark.parametrize("item, fit, unfit", ITEM_IDS, ids=[row[1] for row in ITEM_IDS])
def test_responses_refuse_ids_that_begin_otherwise(item, fit, unfit):
    for ident, expected in ((fit, fit), (unfit, None)):
        held = chatsquash.load({"input": [{"role": "user", "content": "q"}, {**item, "id": ident}, {"role": "assistant", "content": "b"}]} if item["type"] == "reasoning" else {"input": [{"role": "user", "content": "q"}, {**item, "id": ident}]}, "openai_responses")  # fmt: skip
        assert chatsquash.dump(held, "openai_responses", sendable=True)["input"][1].get("id") == expected


def test_a_name_of_who_speaks_has_the_letters_that_openai_takes():
    held = chatsquash.load([{"role": "user", "content": "a", "name": "a b<c>"}])
    assert chatsquash.dump(held, "openai_chat", sendable=True)["messages"][0]["name"] == "a_b_c_"


def test_nothing_is_left_of_a_member_in_which_only_a_mark_stood():
    held = conversation(turn("system", "s", instructions=True), asks())
    body = chatsquash.dump(held, "gemini", sendable=True)
    assert body["systemInstruction"] == {"parts": [{"text": "s"}]}


def test_a_refusal_stays_where_the_service_has_it():
    assert sent("openai_chat", asks(), says(Refusal("no"))) == [asks(), says(Refusal("no"))]


@pytest.mark.parametrize("of", ["builtin_function", True, [1]])
def test_calls_are_of_types_that_openai_has(of):
    called = {"id": "a", "type": of, "function": {"name": "f", "arguments": "{}"}}
    held = chatsquash.load(
        [{"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [called]}]
    )
    (made,) = chatsquash.dump(held, "openai_chat", sendable=True)["messages"][1]["tool_calls"]
    assert made == {**called, "type": "function"}


@pytest.mark.parametrize("name", SENT)
def test_nobody_calls_but_the_assistant(name):
    told = [asks(), turn("tool", calling()), says()]
    assert sent(name, *told) == [asks(), says()]
    assert fitted(name, *told)["calls not made by the assistant dropped"] == 1


def test_of_a_call_that_is_made_again_the_later_one_is_answered_by_gemini():
    again = calling(arguments='{"n":2}')
    told = [asks(), says(calling(arguments='{"n":1}')), says(again), answers(gives(name="weather"))]
    assert sent("gemini", *told) == [told[0], *told[2:]]


@pytest.mark.parametrize("name", SENT)
def test_results_answer_their_calls_whatever_stands_between(name):
    told = [
        asks(),
        says(calling("call_a"), calling("call_b")),
        answers(gives(to="call_a")),
        asks("c"),
        answers(gives(to="call_b")),
        says(),
    ]
    results = [block.id for each in sent(name, *told) for block in each.blocks if isinstance(block, Result)]
    assert results == ["call_a", "call_b"]
    assert not [what for what in fitted(name, *told) if "dropped" in what]


@pytest.mark.parametrize(
    "behind", [Source("https://e.com"), Other("openai", {"a": 1}), Media("audio", "audio/wav", "UklGRg==")]
)
def test_a_last_answer_ends_without_white_space_whatever_is_left_out_behind_it(behind):
    assert sent("anthropic", asks(), says("a\n", behind)) == [asks(), says("a")]


def test_calls_of_others_do_not_follow_reasoning():
    thought = Reasoning("r", "openai", encrypted="E", id="rs_1")
    others = HostedCall("h", "web_search", provider="google")
    assert sent("openai_responses", asks(), says(thought, others)) == [asks()]


# Whatever is given


@pytest.mark.parametrize("name", SENT)
@given(held=ODD | CONVERSATIONS)
def test_what_is_sendable_is_left_as_it_is(name, held):
    before = repr(held)
    try:
        body = chatsquash.dump(held, name, sendable=True)
    except sendable.NothingToSendError:
        return
    assert repr(held) == before
    assert json.loads(json.dumps(body)) == body
    again = chatsquash.load(body, name)
    assert losses.differences(again, chatsquash.load(chatsquash.dump(again, name, sendable=True), name)) == []
