"""How the texts of a message become one: by who speaks, and by what stood between them."""

import json

import pytest

from chatsquash import Options, convert_session
from chatsquash.core import chat
from chatsquash.core.model import Conversation
from chatsquash.session.stages.public import join_texts
from tests.conftest import cases

IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
THOUGHT = {"type": "thinking", "thinking": "hm"}


@cases(
    "role, content, expected",
    ("a line each", "user", ["a", "b"], "a\nb"),
    ("a system's, too", "system", ["a", {"text": "b"}], "a\nb"),
    ("a result's, too", "tool", ["a", "b", "c"], "a\nb\nc"),
    ("unless white space ends the first", "user", ["a ", "b"], "a b"),
    ("or begins the second", "user", ["a", "\tb"], "a\tb"),
    ("a text that is white space", "user", ["a", " ", "b"], "a b"),
    ("an empty text is nowhere", "user", ["", "a", "", "b", ""], "a\nb"),
    ("the assistant's are one", "assistant", ["The sum ", "is 3", "."], "The sum is 3."),
    ("an image stood between", "user", ["a", IMAGE, "b"], "a\n\nb"),
    ("images around say nothing", "user", [IMAGE, "a", "b", IMAGE], "a\nb"),
    ("a refusal of the assistant", "assistant", ["a", {"type": "refusal", "refusal": "no"}, "b", "c"], "a\n\nbc"),
    ("a call among the parts", "assistant", ["a", {"type": "tool_use", "id": "1"}, "b"], "a\n\nb"),
    ("an empty line that stands there", "assistant", ["a\n", IMAGE, "\nb"], "a\n\nb"),
    ("half of one", "assistant", ["a\n", IMAGE, "b"], "a\n\nb"),
    ("more than one", "assistant", ["a\n\n\n", IMAGE, "b"], "a\n\n\nb"),
    ("an empty text behind an image", "assistant", ["a", IMAGE, "", "b"], "a\n\nb"),
    ("white space behind an image", "assistant", ["a", IMAGE, " ", "b"], "a\n\n b"),
    ("nothing at all", "user", [], ""),
)
def test_parts_become_one_text(role, content, expected):
    assert chat.joined_text({"role": role, "content": content}) == expected


@pytest.mark.parametrize("content", ["a", None, "", 5])
def test_what_has_no_parts_is_its_text(content):
    assert chat.joined_text({"role": "user", "content": content}) == (content if isinstance(content, str) else None)


def test_cleaning_and_checks_read_texts_as_they_did():
    assert chat.text({"role": "user", "content": ["a", IMAGE, "b"]}) == "ab"


def test_many_parts_take_linear_time():
    text = chat.joined_text({"role": "user", "content": [" "] * 200_000 + ["a"] * 200_000})
    assert len(text) == 200_000 + 399_999


@pytest.mark.parametrize(
    "content, expected",
    [
        (["a", THOUGHT, "b"], [THOUGHT, {"type": "text", "text": "a\n\nb"}]),
        (["a", "b", IMAGE, "c"], [{"type": "text", "text": "ab"}, IMAGE, {"type": "text", "text": "c"}]),
        (["a", "b"], "ab"),
    ],
    ids=["reasoning comes first", "images stay in place", "texts alone"],
)
def test_texts_are_joined_before_it_is_forgotten_what_stood_between(content, expected):
    conversation = Conversation([{"role": "assistant", "content": content}], [])
    joined, _ = join_texts(conversation, joins=lambda _: True, loaded_only=False)
    assert joined.messages[0]["content"] == expected


# What logs of other formats tell


def converted(request, response, **options):
    line = json.dumps({"session_id": "s", "timestamp": 1, "request": request, "response": response}).encode()
    (outcome,) = convert_session([line], Options(anonymize=False, **options))
    return outcome


def said(outcome):
    return json.loads(outcome.record)["messages"][-1]["content"]


def text(words, **more):
    return {"type": "text", "text": words, **more}


ASKED = {"model": "claude", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "q"}]}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
HOSTED = [text("I look."), SEARCH, FOUND, text("The sum "), text("is 3", citations=[{"url": "u"}]), text(".")]


def of_anthropic(*blocks):
    return {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": "end_turn"}


@pytest.mark.parametrize("preset", ["hf", "openai", "mistral", "text"])
def test_a_hosted_call_of_anthropic_stood_between(preset):
    assert said(converted(ASKED, of_anthropic(*HOSTED), preset=preset)) == "I look.\n\nThe sum is 3."


def test_reasoning_stood_between_whatever_becomes_of_it():
    blocks = [text("a"), {"type": "thinking", "thinking": "hm", "signature": "s"}, text("b")]
    for reasoning in ("keep", "drop"):
        assert said(converted(ASKED, of_anthropic(*blocks), preset="hf", reasoning=reasoning)) == "a\n\nb"
    assert said(converted(ASKED, of_anthropic(*blocks), preset="hf", reasoning="inline")).endswith("</think>\n\na\n\nb")


USE = {"type": "tool_use", "id": "c1", "name": "add", "input": {}}
ANSWER = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]}
BEHIND = {
    **ASKED,
    "messages": [*ASKED["messages"], {"role": "assistant", "content": [text("a"), USE, text("b")]}, ANSWER],
}


def test_text_behind_a_call_is_a_paragraph_before_it():
    outcome = converted(BEHIND, of_anthropic(text("3")), preset="hf")
    assert json.loads(outcome.record)["messages"][2]["content"] == "a\n\nb"
    assert "text after calls moved before them 1" in "; ".join(finding.text for finding in outcome.findings)
    assert "unsupported-content" not in {finding.code for finding in outcome.findings}


def test_text_behind_a_call_is_written_where_calls_are_inlined():
    outcome = converted(BEHIND, of_anthropic(text("3")), json_tool_calls=True)
    assert json.loads(outcome.record)["messages"][2]["content"].startswith("a\n\nb\n<tool_call>")


def test_the_specified_record_stays_without_text_behind_calls():
    outcome = converted(BEHIND, of_anthropic(text("3")))
    assert json.loads(outcome.record)["messages"][2]["content"] == "a"
    assert "unsupported-content" in {finding.code for finding in outcome.findings}


def test_the_specified_record_keeps_its_parts():
    outcome = converted(ASKED, of_anthropic(*HOSTED))
    assert [part["text"] for part in said(outcome)] == ["I look.", "The sum ", "is 3", "."]


def test_messages_of_responses_are_paragraphs():
    def message(*texts):
        content = [{"type": "output_text", "text": each, "annotations": []} for each in texts]
        return {"type": "message", "role": "assistant", "content": content}

    output = [message("a", "b"), {"type": "web_search_call", "id": "ws_1"}, message("c"), message("d")]
    response = {"object": "response", "status": "completed", "output": output}
    assert said(converted({"model": "gpt", "input": "q"}, response, preset="hf")) == "ab\n\nc\n\nd"


def test_what_gemini_ran_itself_stood_between():
    parts = [{"text": "a"}, {"executableCode": {"code": "1+2"}}, {"text": "b"}, {"text": "c"}]
    response = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    asked = {"contents": [{"role": "user", "parts": [{"text": "q"}, {"text": "r"}]}]}
    outcome = converted(asked, response, preset="hf")
    assert [each["content"] for each in json.loads(outcome.record)["messages"]] == ["q\nr", "a\n\nbc"]


def test_reasoning_among_the_parts_of_openai_chat_stood_between_where_calls_are_inlined():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    message = {"role": "assistant", "content": [text("a"), THOUGHT, text("b"), text("c")], "tool_calls": [call]}
    asked = {"messages": [{"role": "user", "content": "q"}]}
    outcome = converted(asked, {"choices": [{"message": message}]}, json_tool_calls=True, reasoning="drop")
    assert said(outcome).startswith("a\n\nbc\n<tool_call>")
