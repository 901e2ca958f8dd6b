"""Reasoning, in every spelling that vendors have, is written before the text or removed; never as an empty block."""

import copy
import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.core.model import Conversation
from chatsquash.session.stages.reasoning import place_reasoning
from tests.checks.rows import assistant, call, result, user
from tests.conftest import cases
from tests.reading.exchanges import plain
from tests.session.streams import staged

THOUGHT = "<think>\nhm\n</think>\n\n"


def shown(mode, *messages):
    before = copy.deepcopy(messages)
    found = place_reasoning(Conversation(list(messages), []), mode=mode)[0].messages
    assert list(messages) == list(before), "messages are shared with the entries around and never changed"
    return found


@cases(
    "members",
    ("reasoning_content", {"reasoning_content": "hm"}),
    ("reasoning", {"reasoning": "hm"}),
    ("thinking", {"thinking": "hm"}),
    ("reasoning_details", {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
    ("a summary in reasoning_details", {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]}),
    ("thinking_blocks", {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}),
    ("two spellings of the same", {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
    ("white space around", {"reasoning_content": "\nhm \n"}),
    ("one that is empty and one that is not", {"reasoning_content": "", "reasoning": "hm"}),
    ("null and one that is not", {"reasoning_content": None, "thinking": "hm"}),
)
def test_every_spelling(members):
    message = assistant("a", call(), **members)
    assert shown("inline", message) == [assistant(THOUGHT + "a", call())]
    assert shown("drop", message) == [assistant("a", call())]


@cases(
    "content",
    (
        "a list of thinking",
        [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "a"}],
    ),
    ("a thinking block", [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}]),
    (
        "beside what nobody can read",
        [
            {"type": "redacted_thinking", "data": "x"},
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "a"},
        ],
    ),
)
def test_parts_of_a_content_list(content):
    rest = [{"type": "text", "text": "a"}]
    assert shown("inline", assistant(content)) == [assistant([{"type": "text", "text": THOUGHT}, *rest])]
    assert shown("drop", assistant(content)) == [assistant(rest)]


@pytest.mark.parametrize("mode", ["inline", "drop"])
@cases(
    "members",
    ("an empty text", {"reasoning_content": ""}),
    ("white space", {"reasoning_content": " \n"}),
    ("null", {"reasoning_content": None}),
    ("an empty list", {"reasoning_details": []}),
    ("encrypted reasoning only", {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}),
    ("redacted thinking only", {"thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]}),
    ("a thinking block with a signature only", {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "s"}]}),
)  # fmt: skip
def test_no_block_is_empty(mode, members):
    assert shown(mode, assistant("a", **members)) == [assistant("a")]


@cases(
    "content, expected",
    ("text", "a", THOUGHT + "a"),
    ("no text", "", THOUGHT),
    ("null", None, THOUGHT),
    ("parts", [{"type": "text", "text": "a"}], [{"type": "text", "text": THOUGHT}, {"type": "text", "text": "a"}]),
    ("no parts", [], [{"type": "text", "text": THOUGHT}]),
)
def test_the_block_stands_before_the_text(content, expected):
    assert shown("inline", assistant(content, call(), reasoning="hm")) == [assistant(expected, call())]


def test_a_message_without_content_gets_one():
    assert shown("inline", {"role": "assistant", "reasoning": "hm"}) == [{"role": "assistant", "content": THOUGHT}]


@cases(
    "content, left",
    ("a block that was logged in the text", "<think>\nold\n</think>\n\na", "a"),
    ("white space before it", "\n<think>old</think> a", "a"),
    ("an empty one", "<think>\n\n</think>\n\na", "a"),
    ("nothing behind it", "<think>old</think>", ""),
    ("several of them", "<think>old</think>\n<think>older</think>\na", "a"),
)
def test_a_block_that_was_logged_in_the_text_goes_with_the_rest(content, left):
    whole = [assistant(left)] if left else []
    assert shown("drop", assistant(content)) == whole
    assert shown("drop", assistant(content, reasoning="hm")) == whole
    parts = [{"type": "text", "text": content, "cache_control": {}}, {"type": "text", "text": "z"}]
    kept = [{"type": "text", "text": left, "cache_control": {}}] if left else []
    assert shown("drop", assistant(parts)) == [assistant([*kept, parts[1]])]


def test_a_block_that_was_logged_in_the_text_is_not_said_twice():
    message = assistant("<think>\nhm\n</think>\n\na", reasoning_content="hm")
    assert shown("inline", message) == [assistant("<think>\nhm\n</think>\n\na")]


def test_an_empty_block_that_was_logged_gives_way_to_the_reasoning():
    assert shown("inline", assistant("<think>\n\n</think>\n\na", reasoning_content="hm")) == [assistant(THOUGHT + "a")]


def test_an_empty_block_that_was_logged_does_not_stay():
    assert shown("inline", assistant("<think>\n\n</think>\n\na")) == [assistant("a")]


@pytest.mark.parametrize("mode", ["inline", "drop"])
@cases(
    "message",
    ("a user's members", {**user(), "reasoning": "x", "thinking": "y"}),
    ("a user's text", user("<think>x</think> a")),
    ("a result", result("<think>x</think>")),
    ("text without reasoning", assistant("a", call())),
    ("a tag further down", assistant("like <think>x</think>")),
    ("a tag that is left open", assistant("<think>x")),
    ("parts without reasoning", assistant([{"type": "text", "text": "a"}, {"type": "image_url"}])),
    ("content that is neither", assistant({"a": 1})),
)
def test_nothing_else_changes(mode, message):
    assert shown(mode, message) == [message]


RECORDS = {
    "keep": [{"role": "assistant", "content": "a", "reasoning_content": "hm"}],
    "inline": [{"role": "assistant", "content": THOUGHT + "a"}],
    "drop": [{"role": "assistant", "content": "a"}],
}


@pytest.mark.parametrize("mode", RECORDS)
def test_other_formats_use_the_canonical_name(mode):
    response = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}],
        "stop_reason": "end_turn",
    }
    line = plain({"messages": [user()], "max_tokens": 1}, response)
    (outcome,) = convert_session([json.dumps(line)], Options(anonymize=False, reasoning=mode))
    assert json.loads(outcome.record)["messages"] == [user(), *RECORDS[mode]]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content", "thinking"])
def test_a_chat_log_keeps_the_name_that_it_has(key):
    line = plain({"messages": [user()]}, {"choices": [{"message": assistant("a", **{key: "hm"})}]})
    (outcome,) = convert_session([json.dumps(line)], Options(anonymize=False))
    assert json.loads(outcome.record)["messages"][1] == assistant("a", **{key: "hm"})


@cases("content, inlined, dropped",
    ("the same", "<think>A</think>so", "<think>A</think>so", "so"),
    ("another", "<think>B</think>so", "<think>\nA\n\nB\n</think>\n\nso", "so"),
    ("more than it", "<think>\nA, and B\n</think>so", "<think>\nA, and B\n</think>so", "so"),
    ("two blocks, of which one is the same", "<think>A</think>\n<think>B</think>so", "<think>\nA\n\nB\n</think>\n\nso", "so"),
    ("a block that the prompt opened", "A</think>\n\nso", "<think>\nA\n</think>\n\nso", "so"),
    ("one that closes what it did not think", "B</think>so", "<think>\nA\n</think>\n\nB</think>so", "B</think>so"),
    ("the same further down", "so: <think>A</think>it is", "so: <think>A</think>it is", "so: it is"),
    ("another further down", "like <think>B</think>", "<think>\nA\n</think>\n\nlike <think>B</think>", "like <think>B</think>"),
    ("another, and the same further down", "<think>B</think>so <think>A</think>", "<think>B</think>so <think>A</think>", "so "),
)  # fmt: skip
def test_reasoning_that_stands_in_the_text_too(content, inlined, dropped):
    for thought in ("A", "\n<think>A</think>\n"):
        (found,) = shown("inline", assistant(content, reasoning_content=thought))
        assert found["content"] == inlined
        (found,) = shown("drop", assistant(content, reasoning_content=thought))
        assert found["content"] == dropped


def test_parts_that_are_reasoning_are_written_before_the_text():
    parts = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "so"}]
    (found,) = shown("inline", assistant(parts))
    assert found["content"] == [{"type": "text", "text": THOUGHT}, {"type": "text", "text": "so"}]


def test_what_a_provider_repeats_goes_too():
    fields = {"reasoning_content": "hm", "citations": [1]}
    (found,) = shown("drop", assistant("so", reasoning_content="hm", provider_specific_fields=fields))
    assert found == assistant("so", provider_specific_fields={"citations": [1]})


@cases(
    "content, text",
    ("a block", THOUGHT + "a", "a"),
    ("a block that the prompt opened", "hm\n</think>\n\na", "a"),
    ("a block alone", THOUGHT, ""),
)
def test_presets_keep_a_block_in_the_text_in_a_member_of_its_own(content, text):
    assert shown("keep", assistant(content, call())) == [{**assistant(text, call()), "reasoning_content": "hm"}]
    named = assistant(content, reasoning_content="hm")
    assert shown("keep", named) == [assistant(text, reasoning_content="hm")]


def test_a_block_that_the_prompt_opened_is_written_as_one():
    assert shown("inline", assistant("hm\n</think>\n\na")) == [assistant(THOUGHT + "a")]
    assert shown("drop", assistant("hm\n</think>\n\na")) == [assistant("a")]


def test_a_message_of_reasoning_alone_is_left_out_and_noted():
    messages = [user("hi"), assistant(None, reasoning_content="hm"), assistant("")]
    conversation, found = staged(place_reasoning(Conversation(messages, []), mode="drop"))
    assert conversation.messages == [user("hi"), assistant("")], "one that was empty before stays"
    assert [(each.code, each.text) for each in found] == [
        (
            "unsupported-content",
            "omitted because chat messages cannot represent them: 1 'reasoning without other content'",
        )
    ]
