"""ChatGPT: nodes that the page does not show, and parents that lead nowhere."""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.formats.exports import chatgpt
from tests.outputs import findings, report

HIDDEN = {"is_visually_hidden_from_conversation": True}


def node(name, parent, role, text, **more):
    content = {"content_type": "text", "parts": [text]}
    return {"id": name, "parent": parent, "message": {"author": {"role": role}, "content": content, **more}}


def thought(content):
    return {"id": "2", "parent": "1", "message": {"author": {"role": "assistant"}, "content": content}}


def read(*nodes):
    return chatgpt.conversations([{"mapping": {each["id"]: each for each in nodes}, "current_node": nodes[-1]["id"]}])


def test_a_result_that_is_hidden_answers_its_call():
    call = node("2", "1", "assistant", '{"query": "x"}', recipient="browser")
    (found,) = read(
        node("1", None, "user", "a"),
        call,
        node("3", "2", "tool", "found", metadata=HIDDEN),
        node("4", "3", "assistant", "b"),
    )
    assert [message["role"] for message in found.messages] == ["user", "assistant", "tool", "assistant"]
    assert found.messages[2]["tool_call_id"] == found.messages[1]["tool_calls"][0]["id"]


def test_what_a_user_did_not_write_is_of_the_system():
    (found,) = read(
        node("1", None, "user", "likes tea", metadata=HIDDEN),
        node("2", "1", "user", "a"),
        node("3", "2", "assistant", "b"),
    )
    assert [message["role"] for message in found.messages] == ["system", "user", "assistant"]


def test_a_summary_stands_for_a_thought_and_one_without_is_counted():
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Tea?", "content": ""}]}
    (found,) = read(node("1", None, "user", "a"), thought(thoughts), node("3", "2", "assistant", "b"))
    assert found.messages[1]["reasoning_content"] == "Tea?"
    empty = thought({"content_type": "thoughts"})
    (found,) = read(node("1", None, "user", "a"), empty, node("3", "2", "assistant", "b"))
    assert found.origin.unread == {"thoughts without text": 1}


def test_parents_that_form_a_loop_or_are_not_there_come_to_an_end():
    (found,) = read(node("1", "2", "user", "a"), node("2", "1", "assistant", "b"))
    assert found.messages[-1]["content"] == "b"
    (found,) = read(node("1", "gone", "user", "a"), node("2", "1", "assistant", "b"))
    assert len(found.messages) == 2


SHOWN = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-7", "width": 4}


def shown(*parts, **metadata):
    content = {"content_type": "multimodal_text", "parts": list(parts)}
    return {"id": "1", "message": {"author": {"role": "user"}, "content": content, "metadata": metadata}}


@pytest.mark.parametrize("pointer", ["file-service://file-7", "sediment://file-7", "file-7"])
def test_a_picture_stands_in_a_prompt_by_its_id(pointer):
    picture = {**SHOWN, "asset_pointer": pointer}
    (found,) = read(shown(picture, "What is this?"), node("2", "1", "assistant", "A cat."))
    assert found.messages[0]["content"] == [
        {"type": "file", "file": {"file_id": "file-7"}},
        {"type": "text", "text": "What is this?"},
    ]
    assert found.origin.unread == {}


def test_other_parts_and_files_are_counted_and_texts_alone_are_one_text():
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://s"}
    (found,) = read(
        shown("a", {"content_type": "audio_transcription", "text": "b"}, sound, "", attachments=[{"id": "file-9"}]),
        node("2", "1", "assistant", "c"),
    )
    assert found.messages[0]["content"] == "a\n\nb"
    assert found.origin.unread == {"attachment": 1, "part audio_asset_pointer": 1}


def test_a_file_that_is_shown_as_a_picture_is_not_counted_once_more():
    (found,) = read(shown(SHOWN, "a", attachments=[{"id": "file-7"}]), node("2", "1", "assistant", "c"))
    assert found.origin.unread == {}


MEDIA = [
    ({"preset": "hf", "media": "refuse"}, 0, ["media-dropped"]),
    ({"preset": "hf"}, 1, []),
    ({"preset": "hf", "media": "drop"}, 1, []),
    ({}, 1, []),
]


@pytest.mark.parametrize(("options", "records", "codes"), MEDIA, ids=str)
def test_a_preset_refuses_a_conversation_about_a_picture_only_on_request(here, options, records, codes):
    nodes = [shown(SHOWN, "What is this?"), node("2", "1", "assistant", "A cat.")]
    value = {"mapping": {each["id"]: each for each in nodes}, "current_node": "2", "conversation_id": "c"}
    (here / "logs").mkdir()
    (here / "logs/conversations.json").write_text(json.dumps([value]))
    convert("logs", "out", Options(anonymize=False, **options))
    (session,) = report("sessions.jsonl")
    assert (session["left_out"], session["file"] is not None) == (next(iter(codes), None), bool(records))
    assert [found["code"] for found in findings("media-dropped")] == codes
