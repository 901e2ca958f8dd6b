"""Cline: what it left out of what it sends, more than once."""

import json

from chatsquash.formats.agents import cline, cline_sdk

TASK = "<task>\nx\n</task>\n<environment_details>"


def history(replies):
    return [
        {"role": "assistant" if at % 2 else "user", "content": str(at) if at else TASK} for at in range(2 * replies)
    ]


def shown(*ranges):
    return [{"say": "text", "conversationHistoryDeletedRange": each} for each in ranges]


def told(replies, *ranges):
    found = cline.conversations([history(replies)], meta=shown(*ranges))
    return [[message["content"] for message in each.messages][1:] for each in found]


def test_each_reply_that_was_left_out_stands_in_the_conversation_before():
    assert told(3, [2, 3]) == [["1", "4", "5"], ["1", "2", "3"]]
    assert told(4, [2, 3], [2, 3], [2, 5]) == [["1", "6", "7"], ["1", "4", "5"], ["1", "2", "3"]]


def test_each_such_conversation_goes_on_from_the_one_before():
    found = cline.conversations([history(4)], meta=shown([2, 3], [2, 5]))
    links = [(each.origin.id, each.origin.kind, each.origin.parent) for each in found]
    assert links == [("3", "compacted", "2"), ("2", "compacted", "1"), ("1", "main", None)]


def test_a_range_that_is_none_leaves_nothing_out():
    for odd in ([3, 2], [-1, 2], [2, 99], [2], "2", [True, 2], [2, 2.0], None):
        assert told(2, odd) == [["1", "2", "3"]]


IMAGE = {"type": "image", "data": "iVBORw0KGgo=", "mediaType": "image/png"}


def result_of(content):
    """The content of a result in a session of Cline's command line."""
    asked = {"type": "tool_use", "id": "c1", "name": "read_files", "input": {}}
    said = {"type": "tool_result", "tool_use_id": "c1", "name": "read_files", "content": content}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [asked]},
        {"role": "user", "content": [said]},
    ]
    (found,) = cline_sdk.conversations([{"version": 1, "agent": "lead", "sessionId": "k", "messages": messages}])
    return found.messages[-1]["content"]


def test_an_image_within_a_result_is_an_image_behind_the_text():
    value = [{"query": "i.png", "result": [{"type": "text", "text": "An image"}, IMAGE], "success": True}]
    text, image = result_of(value)
    assert text == {"type": "text", "text": '[{"query":"i.png","result":["An image"],"success":true}]'}
    assert image == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def test_a_result_without_images_is_its_json():
    value = [{"query": "ls", "result": [{"type": "text", "text": "x"}], "success": True}]
    assert json.loads(result_of(value)) == value
