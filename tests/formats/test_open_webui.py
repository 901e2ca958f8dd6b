"""Open WebUI's exported chats.

Members and items are those of the models and the middleware in the package open-webui 0.12.4, and of
``serialize_content_blocks`` in 0.6.33; feedback is ``FeedbackModel`` of its ``models/feedbacks.py``. Texts are invented.
"""

import html
import json

import pytest

from chatsquash.core.chat import PRIVATE
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.formats.exports import open_webui
from chatsquash.formats.values import without
from tests.conftest import cases


def message(key, parent, role, content="", **more):
    return {
        "id": key,
        "parentId": parent,
        "childrenIds": [],
        "role": role,
        "content": content,
        "timestamp": 1770000000,
        **more,
    }


def answer(key, parent, content="", **more):
    return message(key, parent, "assistant", content, model="m", done=True, **more)


def chat(*messages, current=None, **more):
    history = {"messages": {each["id"]: each for each in messages}, "currentId": current or messages[-1]["id"]}
    return {
        "id": "c",
        "title": "t",
        "chat": {"history": history, "messages": [], **more},
        "created_at": 1,
        "updated_at": 2,
    }


def text(said):
    return {"type": "message", "content": [{"type": "output_text", "text": said}]}


def call(call_id, **more):
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": "f",
        "arguments": '{"a": 1}',
        "status": "completed",
        **more,
    }


def output(call_id, said):
    return {"type": "function_call_output", "call_id": call_id, "output": [{"type": "input_text", "text": said}]}


def details(kind, inner="", **attributes):
    spelled = "".join(f' {name}="{html.escape(value)}"' for name, value in attributes.items())
    return f'<details type="{kind}"{spelled}>\n<summary>Title</summary>\n{inner}\n</details>\n'


def roles(conversation):
    return [each["role"] for each in conversation.messages]


CALLED = {"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
USER = {"role": "user", "content": "Hi"}


def called(kind="x"):
    return {"role": "assistant", "tool_calls": [{**CALLED, "id": kind}]}


@cases(
    "said, expected",
    ({"output": [text("Hello")]}, [{"role": "assistant", "content": "Hello"}]),
    ({"output": [text("Hello")], "content": "another"}, [{"role": "assistant", "content": "Hello"}]),
    ({"content": "Hello"}, [{"role": "assistant", "content": "Hello"}]),
    (
        {"output": [{"type": "reasoning", "summary": None, "content": [{"type": "output_text", "text": "Hm"}]}, text("Hello")]},
        [{"role": "assistant", "content": "Hello", "reasoning_content": "Hm"}],
    ),
    (
        {"output": [text("I look."), call("x"), call("y"), output("x", "1"), output("y", "2"), text("Done.")]},
        [
            {"role": "assistant", "content": "I look.", "tool_calls": [CALLED, {**CALLED, "id": "y"}]},
            {"role": "tool", "tool_call_id": "x", "content": "1"},
            {"role": "tool", "tool_call_id": "y", "content": "2"},
            {"role": "assistant", "content": "Done."},
        ],
    ),
    ({"output": [call("x", status="in_progress"), text("Stopped.")]}, [{"role": "assistant", "content": "Stopped."}]),
    (
        {"content": details("reasoning", "> Hm\n> well", done="true", duration="2") + "Hello"},
        [{"role": "assistant", "content": "Hello", "reasoning_content": "Hm\nwell"}],
    ),
    (
        {"content": details("tool_calls", done="true", id="x", name="f", arguments=json.dumps('{"a": 1}'), result=json.dumps('say "1"')) + "Done."},
        [called(), {"role": "tool", "tool_call_id": "x", "content": 'say "1"'}, {"role": "assistant", "content": "Done."}],
    ),
    (
        {"content": details("tool_calls", done="false", id="x", name="f", arguments=json.dumps("{}")) + "Stopped."},
        [{"role": "assistant", "content": "Stopped."}],
    ),
    (
        {"content": "<details>\n<summary>Of the model</summary>\nx\n</details>"},
        [{"role": "assistant", "content": "<details>\n<summary>Of the model</summary>\nx\n</details>"}],
    ),
)  # fmt: skip
def test_what_an_answer_is(said, expected):
    (conversation,) = open_webui.conversations([chat(message("u", None, "user", "Hi"), {**answer("a", "u"), **said})])
    assert [without(each, PRIVATE) for each in conversation.messages] == [USER, *expected]
    assert {each.at for each in conversation.origin.replies} == {
        at for at, each in enumerate(conversation.messages) if each["role"] == "assistant"
    }


def test_each_regenerated_answer_and_edited_prompt_is_a_branch():
    conversations = open_webui.conversations([
        chat(
            message("u", None, "user", "Hi"), answer("a", "u", "one"), answer("b", "u", "two"),
            message("v", "b", "user", "More"), answer("c", "v", "three"), message("w", "b", "user", "Less"), answer("d", "w", "four"),
            current="d",
        )
    ])  # fmt: skip
    ends = [(each.origin.kind, each.messages[-1]["content"], len(each.messages)) for each in conversations]
    assert ends == [("main", "four", 4), ("branch", "one", 2), ("branch", "three", 4)]


@pytest.mark.parametrize("change", [{"done": False}, {"error": {"content": "503"}}])
def test_an_answer_that_was_stopped_or_failed_is_not_sampled(change):
    log = chat(
        message("u", None, "user", "Hi"),
        {**answer("a", "u", "Hel"), **change},
        message("v", "a", "user", "Again"),
        answer("b", "v", "Hello"),
    )
    (conversation,) = open_webui.conversations([log])
    assert [each.at for each in conversation.origin.replies] == [3]


def test_a_summary_replaces_what_was_said_before_it():
    log = chat(
        message("u", None, "user", "Hi"), answer("a", "u", "Hello"),
        message("v", "a", "user", "Go on", contextSummary="They greeted."), answer("b", "v", "Well"), params={"system": "Be kind."},
    )  # fmt: skip
    after, before = open_webui.conversations([log])
    assert before.messages == [
        {"role": "system", "content": "Be kind."},
        USER,
        {"role": "assistant", "content": "Hello"},
    ]
    assert after.messages == [
        {"role": "system", "content": "Be kind.\n[CONVERSATION SUMMARY]\nThey greeted."},
        {"role": "user", "content": "Go on"},
        {"role": "assistant", "content": "Well"},
    ]
    assert (before.origin.kind, after.origin.kind) == ("main", "compacted")


def test_images_of_a_prompt_are_parts_and_other_files_are_counted():
    files = [
        {"type": "image", "url": "data:image/png;base64,AA=="},
        {"type": "file", "id": "f"},
        {"type": "image", "url": "file-id"},
    ]
    (conversation,) = open_webui.conversations(
        [chat(message("u", None, "user", "Look", files=files), answer("a", "u", "A cat"))]
    )
    assert conversation.messages[0]["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    assert conversation.origin.unread == {"file": 2}


@cases(
    "usage, expected",
    ({"prompt_tokens": 3, "completion_tokens": 4}, (3, 4)),
    ({"input_tokens": 3, "output_tokens": 4}, (3, 4)),
    ({"prompt_eval_count": 3, "eval_count": 4}, (3, 4)),
    ({}, (None, None)),
)
def test_tokens_are_counted_at_the_last_reply_of_an_answer(usage, expected):
    log = chat(
        message("u", None, "user", "Hi"),
        answer("a", "u", output=[call("x"), output("x", "1"), text("Done.")], usage=usage),
    )
    (conversation,) = open_webui.conversations([log])
    replies = conversation.origin.replies
    assert [(each.prompt_tokens, each.completion_tokens) for each in replies] == [(None, None), expected]
    assert {each.model for each in replies} == {"m"}


def test_wrong_shapes_are_refused_and_loops_end():
    with pytest.raises(TurnError, match=r"message u: unknown role \"bot\""):
        open_webui.conversations([chat(message("u", None, "bot"))])
    with pytest.raises(TurnError, match="message u is a number, expected an object"):
        open_webui.conversations([{"chat": {"history": {"messages": {"u": 1}}}}])
    loop = chat(message("u", "a", "user", "Hi"), answer("a", "u", "Hello"))
    assert all(roles(each) for each in open_webui.conversations([loop]))
    assert open_webui.conversations([{"chat": {"history": {"messages": {}, "currentId": None}}}]) == []


def test_a_file_is_recognised_by_its_history():
    log = chat(message("u", None, "user", "Hi"))
    assert documents.recognise([log]).name == "open_webui"
    assert documents.recognise([{"chat": {"messages": []}}]) is None


@cases(
    "rating, expected",
    ("a thumb up", 1, 1.0),
    ("a thumb down as a text", "-1", -1.0),
    ("no rating", None, None),
    ("what is neither", 7, None),
)
def test_the_reward_of_a_conversation_is_the_rating_of_its_last_reply(rating, expected):
    rated = answer("b", "v", "two", annotation={"rating": rating, "tags": []})
    log = chat(message("u", None, "user", "Hi"), answer("a", "u", "one", annotation={"rating": 1}), message("v", "a", "user", "More"), rated)  # fmt: skip
    (conversation,) = open_webui.conversations([log])
    assert conversation.origin.reward == expected
    assert conversation.origin.reward_evidence == (expected and "the rating of the last reply")


def feedback(rated, rating, log):
    return {
        "id": f"f-{rated}",
        "user_id": "u",
        "version": 0,
        "type": "rating",
        "data": {"rating": rating, "model_id": "m"},
        "meta": {"chat_id": "c", "message_id": rated},
        "snapshot": log and {"chat": log},
        "created_at": 1,
        "updated_at": 2,
    }


def test_feedback_is_the_path_to_the_answer_that_was_rated_which_alone_is_sampled():
    said = [message("u", None, "user", "Hi"), answer("a", "u", "one"), message("v", "a", "user", "More"), answer("b", "v", "two")]  # fmt: skip
    given = [feedback("a", 1, chat(*said[:2])), feedback("b", -1, chat(*said)), feedback("c", 1, None)]
    assert documents.recognise(given).name == "open_webui"
    found = [
        (
            [each["content"] for each in made.messages],
            [reply.logged_id for reply in made.origin.replies],
            made.origin.reward,
        )
        for made in open_webui.conversations(given)
    ]
    assert found == [(["Hi", "one"], ["a"], 1.0), (["Hi", "one", "More", "two"], ["b"], -1.0)]
