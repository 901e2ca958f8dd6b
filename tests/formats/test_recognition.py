"""Which format an exchange and a file are of, by the ordered rule, and what foreign objects are called."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from chatsquash import formats
from chatsquash.formats import NO_RANK, PLAIN_RANK, Recognised, look_alike, recognise, recognise_file
from tests.conftest import cases

ALL = ["gemini", "gemini_interactions", "openai_responses", "anthropic", "bedrock", "ollama", "openai_chat"]
PLAIN = "chat messages without provider-specific members"


def chat(*messages, **more):
    return {"model": "m", "messages": [*messages], **more}


USER = {"role": "user", "content": "x"}


def said(**members):
    return {"role": "assistant", "content": None, **members}


def calls(*made):
    return chat(USER, said(tool_calls=[*made]))


def call(arguments, ident=None, **more):
    return {**({"id": ident} if ident else {}), "function": {"name": "f", "arguments": arguments, **more}}


def content(*blocks, role="assistant"):
    return chat(USER, {"role": role, "content": [*blocks]})


def test_formats_are_the_modules_with_a_name_in_a_stable_order():
    assert list(formats.formats()) == ALL
    assert all(known.NAME == name for name, known in formats.formats().items())
    assert formats.formats() is formats.formats()


@cases("request_, name, rank",
    ("contents", {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}, "gemini", 6),
    ("contents without a role", {"contents": [{"parts": [{"text": "x"}]}]}, "gemini", 6),
    ("steps of an interaction", {"model": "m", "input": [{"type": "user_input", "content": "x"}]}, "gemini_interactions", 6),
    ("a text that continues an interaction", {"model": "m", "input": "x", "previous_interaction_id": "i"}, "gemini_interactions", 6),
    ("input with items", {"model": "m", "input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]}, "openai_responses", 6),
    ("input with messages that have no type", {"model": "m", "input": [USER]}, "openai_responses", 6),
    ("input as a text beside instructions", {"model": "m", "input": "x", "instructions": "y"}, "openai_responses", 6),
    ("input as a text beside store", {"model": "m", "input": "x", "store": False}, "openai_responses", 6),
    ("tool_use blocks", content({"type": "tool_use", "id": "t", "name": "f", "input": {}}), "anthropic", 7),
    ("tool_result blocks", content({"type": "tool_result", "tool_use_id": "t"}, role="user"), "anthropic", 7),
    ("evidence in a late turn", chat(*[USER] * 9, said(content=[{"type": "redacted_thinking", "data": "d"}])), "anthropic", 7),
    ("thinking with a string", content({"type": "thinking", "thinking": "t", "signature": "s"}), "anthropic", 7),
    ("thinking with a list is Mistral's", content({"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}), "openai_chat", PLAIN_RANK),
    ("images with a source", content({"type": "image", "source": {"type": "url", "url": "x"}}, role="user"), "anthropic", 7),
    ("a dated tool", chat(USER, tools=[{"type": "web_search_20250305", "name": "web_search"}]), "anthropic", 8),
    ("tools with input_schema", chat(USER, tools=[{"name": "f", "input_schema": {}}]), "anthropic", 8),
    ("system beside max_tokens", chat(USER, system="s", max_tokens=9), "anthropic", 8),
    ("a claude model with max_tokens", {"model": "claude-x", "max_tokens": 9, "messages": [USER]}, "anthropic", 8),
    ("tool calls", calls(call("{}", "c")), "openai_chat", 7),
    ("tool calls without type and id", calls(call("{}")), "openai_chat", 7),
    ("object arguments with ids", calls(call({}, "c")), "openai_chat", 7),
    ("a tool role", chat({"role": "tool", "tool_call_id": "c", "content": "x"}), "openai_chat", 7),
    ("a developer role", chat({"role": "developer", "content": "x"}, USER), "openai_chat", 7),
    ("a legacy function_call", chat(USER, said(function_call={"name": "f", "arguments": "{}"})), "openai_chat", 7),
    ("image_url parts", content({"type": "image_url", "image_url": {"url": "x"}}, role="user"), "openai_chat", 7),
    ("reasoning", chat(USER, said(content="x", reasoning_content="r")), "openai_chat", 7),
    ("object arguments without ids", calls(call({})), "ollama", None),
    ("an index in the function", calls(call({}, "c", index=0)), "ollama", None),
    ("tool_name", chat(USER, {"role": "tool", "tool_name": "f", "content": "x"}), "ollama", None),
    ("a thinking string beside the content", chat(USER, said(content="x", thinking="t")), "ollama", None),
    ("a list of images", chat({"role": "user", "content": "x", "images": ["AA=="]}), "ollama", None),
    ("options", chat(USER, options={"num_ctx": 4096}), "ollama", 8),
    ("plain text", chat(USER), "openai_chat", PLAIN_RANK),
    ("no messages yet", chat(), "openai_chat", PLAIN_RANK),
    ("one message of many is broken", chat(USER, 5, {"role": 5}), "openai_chat", PLAIN_RANK),
    ("Cohere's chat, which looks like OpenAI's", chat(USER, safety_mode="NONE"), "openai_chat", PLAIN_RANK),
)  # fmt: skip
def test_a_request(request_, name, rank):
    found = recognise(request_, None, None)
    assert found.name == name, found.why
    assert rank in (None, found.rank)


@cases(
    "body, name, rank",
    ("a completion", {"object": "chat.completion", "choices": []}, "openai_chat", 4),
    ("choices with a message", {"choices": [{"message": said()}]}, "openai_chat", 4),
    ("choices with a delta", {"choices": [{"delta": {}}]}, "openai_chat", 4),
    ("a response", {"object": "response", "output": []}, "openai_responses", 4),
    ("a message with usage", {"type": "message", "role": "assistant", "content": [], "usage": {}}, "anthropic", 4),
    ("candidates", {"candidates": [{"content": {"parts": []}}]}, "gemini", 4),
    ("candidates without content", {"candidates": [{"finishReason": "SAFETY"}]}, "gemini", 4),
    ("a blocked prompt", {"promptFeedback": {"blockReason": "SAFETY"}}, "gemini", 4),
    ("done", {"model": "m", "message": said(), "done": True}, "ollama", 4),
)
def test_a_response(body, name, rank):
    found = recognise(None, body, None)
    assert (found.name, found.rank) == (name, rank)
    assert recognise(chat(USER), body, None) == found, "it decides before what the request says"


@cases("event, name, rank",
    ("a chunk", {"object": "chat.completion.chunk", "choices": []}, "openai_chat", 3),
    ("a chunk that does not name itself", {"choices": [{"index": 0, "delta": {"content": "x"}}]}, "openai_chat", 4),
    ("a response event", {"type": "response.output_text.delta", "sequence_number": 4, "delta": "x"}, "openai_responses", 3),
    ("an old response event", {"type": "response.output_text.delta", "item_id": "i", "delta": "x"}, "openai_responses", 3),
    ("a message event", {"type": "content_block_delta", "index": 0, "delta": {}}, "anthropic", 3),
    ("a partial response", {"candidates": [{"content": {"parts": []}}]}, "gemini", 3),
    ("a line that is not done", {"model": "m", "message": said(), "done": False}, "ollama", 3),
)  # fmt: skip
def test_a_stream(event, name, rank):
    found = recognise(chat(USER), None, [{"unknown": 1}, event])
    assert (found.name, found.rank) == (name, rank)
    assert recognise(chat(USER), [event], None).name == name, "a list for a response is a stream as well"


@cases(
    "request_, response",
    ("embeddings", {"model": "m", "input": "text"}, {"object": "list", "data": [{"embedding": [0.1]}]}),
    ("embeddings with a format", {"model": "m", "input": ["a"], "encoding_format": "float"}, None),
    ("embeddings with dimensions", {"model": "m", "input": [[1, 2]], "dimensions": 3}, None),
    ("embeddings of several texts", {"model": "m", "input": ["a", "b"]}, None),
    ("a count of tokens", None, {"input_tokens": 5}),
    ("a count of tokens for plain messages", chat(USER), {"input_tokens": 5}),
    ("moderation", {"model": "omni-moderation-latest", "input": "x"}, {"id": "m", "results": [{"flagged": False}]}),
    ("moderation of parts", {"input": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {}}]}, None),
    ("a text completion", {"model": "m", "prompt": "x"}, {"object": "text_completion", "choices": [{"text": "y"}]}),
    ("images", {"model": "m", "prompt": "x", "n": 1, "size": "1x1"}, {"created": 1, "data": [{"url": "x"}]}),
    ("an OpenAPI file", {"openapi": "3.1.0", "info": {}, "paths": {}}, None),
    ("Cohere's first chat", {"message": "x", "chat_history": [{"role": "USER", "message": "y"}]}, {"text": "z"}),
    ("Cohere's response", None, {"id": "c", "finish_reason": "COMPLETE", "message": said(), "usage": {}}),
    ("the model's role without parts", chat(USER, {"role": "model", "content": "x"}), None),
    ("an error body", None, {"error": {"code": 429}}),
    ("messages without roles", chat({"from": "human", "value": "x"}), None),
    ("messages that are no list", {"messages": "x"}, None),
    ("marks inside strings", {"prompt": '{"contents": [], "choices": [{"message": {}}]}'}, '{"candidates": []}'),
    ("nothing", None, None),
)
def test_what_is_no_chat_is_none(request_, response):
    found = recognise(request_, response, None)
    assert (found.name, found.rank) == (None, NO_RANK), found.why
    assert found.why.endswith(
        "; expected one of gemini, gemini_interactions, openai_responses, anthropic, bedrock, ollama, openai_chat"
    )


def test_nothing_known_says_what_was_seen():
    many = {f"k{n}": 1 for n in range(11)}
    assert recognise({"model": "m", 'a"b': 1}, 5, None).why.startswith(
        r'no known format: the request is an object with the keys "model", "a\"b", the response is a number; expected one of'
    )
    assert 'the keys "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", 3 more,' in recognise(many, None, None).why
    assert "an object with no keys, the response is missing;" in recognise({}, None, None).why
    assert f'"{"x" * 40}...",' in recognise({"x" * 99: 1}, None, None).why


def test_two_formats_at_once_are_a_conflict_that_names_both():
    body = {"candidates": [{"content": {}}], "choices": [{"message": {}}]}
    found = recognise(chat(USER), body, None)
    assert (found.name, found.rank) == (None, 4)
    assert found.why.startswith("more than one format matches: gemini (candidates[].content")
    assert found.why.endswith(" and openai_chat (choices[].message in the response)")


def test_the_response_decides_against_the_request():
    assert recognise({"contents": []}, {"choices": [{"message": {}}]}, None).name == "openai_chat"


def test_among_requests_the_order_of_the_evidence_decides():
    both = chat({"role": "model", "parts": [{"text": "x"}]}, {"role": "tool", "content": "x"})
    found = recognise(both, None, None)
    assert (found.name, found.rank) == ("gemini", 7)


def test_plain_chat_says_so():
    assert recognise(chat(USER), None, None) == Recognised("openai_chat", PLAIN, PLAIN_RANK)
    assert recognise(chat(USER), {"error": {}}, None).name == "openai_chat"


def line(name, rank=4, why="w"):
    return Recognised(name, why, rank)


UNMARKED, UNKNOWN, CLASH = line("openai_chat", PLAIN_RANK, PLAIN), line(None, NO_RANK, "no"), line(None, 4, "clash")


@cases("lines, expected",
    ("no lines", [], (None, "there are no lines", False)),
    ("one format", [line("gemini"), line("gemini")], ("gemini", "gemini on 2 of 2 lines (w)", False)),
    ("the most lines decide", [line("gemini"), line("anthropic"), line("anthropic")], ("anthropic", "anthropic on 2 of 3 lines (w), gemini on 1", True)),
    ("plain lines say nothing against marked ones", [UNMARKED, UNMARKED, line("anthropic")], ("anthropic", "anthropic on 1 of 3 lines (w), plain chat messages on 2", False)),
    ("plain lines count with OpenAI's", [UNMARKED, line("openai_chat", 7)], ("openai_chat", "openai_chat on 2 of 2 lines (w)", False)),
    ("plain lines alone", [UNMARKED, UNKNOWN], ("openai_chat", f"openai_chat on 1 of 2 lines ({PLAIN}), no known format on 1", False)),
    ("a clash is a mixture", [line("gemini"), CLASH], ("gemini", "gemini on 1 of 2 lines (w), several formats on 1", True)),
    ("nothing but clashes", [UNKNOWN, CLASH], (None, "clash", True)),
    ("nothing known", [UNKNOWN], (None, "no", False)),
    ("as many lines of each", [line("anthropic"), line("gemini")], ("gemini", "gemini on 1 of 2 lines (w), anthropic on 1", True)),
)  # fmt: skip
def test_a_file(lines, expected):
    assert astuple(recognise_file(lines)) == expected
    assert astuple(recognise_file(lines[::-1]))[::2] == expected[::2], "the order of the lines does not matter"


ALIKE = [
    ({"messages": [USER], "tools": []}, "a dataset of messages"),
    ({"conversations": [{"from": "human", "value": "x"}]}, "a ShareGPT dataset"),
    ({"openapi": "3.1.0", "paths": {}}, "an OpenAPI file"),
    ({"prompt": "x", "chosen": "y", "rejected": "z"}, "a preference dataset"),
    ({"instruction": "x", "input": "", "output": "y"}, "an instruction dataset"),
    ({"data": [{"embedding": [0.1]}]}, "a response with embeddings"),
    ({"results": [{"flagged": True}]}, "a moderation response"),
    ({"a": 1, "b": 2}, 'a JSON object with the keys "a", "b"'),
    ({}, "a JSON object with no keys"),
    ({"request": chat(USER), "response": None}, None),
    (chat(USER), None),
    ({"choices": [{"message": {}}]}, None),
    ([], None),
    ("x", None),
]


@pytest.mark.parametrize(("obj", "words"), ALIKE, ids=[str(row[1]) for row in ALIKE])
def test_what_an_object_looks_like(obj, words):
    assert look_alike(obj) == words


WORDS = st.sampled_from(
    "role content tool_calls function arguments id type input output object messages contents parts candidates choices "
    "message delta done system tools options think response usage stop_reason images tool_name thinking assistant user "
    "model text tool_use item sequence_number conversations data results payload".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=15,
)


@given(st.none() | st.dictionaries(WORDS, JSON, max_size=5), JSON, st.none() | st.lists(JSON, max_size=3))
def test_anything_is_recognised_or_not_and_stays_as_it_is(request_, response, events):
    before = copy.deepcopy((request_, response, events))
    found = recognise(request_, response, events)
    assert found.name in (None, *ALL)
    assert found.why
    assert recognise_file([found, found]).name == found.name
    look_alike(response)
    assert (request_, response, events) == before
    assert found == recognise(*before)
