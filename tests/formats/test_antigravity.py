"""Antigravity's transcripts.

Members and types of steps are those that public readers of such files list: jazzyalex/agent-sessions (2026-06),
vshulcz/deja-vu #68 and transcripts that users published; the texts are invented.
"""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.formats import documents
from chatsquash.formats.agents import antigravity
from tests.conftest import cases


def step(index, source, kind, content=None, **more):
    said = {} if content is None else {"content": content}
    return {"step_index": index, "source": source, "type": kind, "status": "DONE", **said, **more}


def asked(index, content):
    return step(index, "USER_EXPLICIT", "USER_INPUT", content)


def reply(index, content=None, *names, **more):
    calls = {"tool_calls": [{"name": name, "args": {"n": 1}} for name in names]} if names else {}
    return step(index, "MODEL", "PLANNER_RESPONSE", content, **calls, **more)


def only(*steps):
    (conversation,) = antigravity.conversations(list(steps))
    return conversation


def test_results_follow_the_calls_of_a_reply_in_order():
    conversation = only(
        asked(0, "Hi"),
        reply(2, None, "view_file", "run_command"),
        step(3, "MODEL", "VIEW_FILE", "a"),
        step(4, "SYSTEM", "TOOL_RESPONSE", "b"),
        reply(5, "Done."),
    )
    roles = [(each["role"], each.get("tool_call_id")) for each in conversation.messages]
    assert roles[2:] == [("tool", "call_2_0"), ("tool", "call_2_1"), ("assistant", None)]
    assert [call["id"] for call in conversation.messages[1]["tool_calls"]] == ["call_2_0", "call_2_1"]


def test_a_step_that_no_call_asked_for_is_counted():
    conversation = only(
        asked(0, "Hi"), step(1, "SYSTEM", "EPHEMERAL_MESSAGE", "x"), reply(2, "a"), step(3, "MODEL", "CODE_ACTION", "y")
    )
    assert [each["role"] for each in conversation.messages] == ["user", "assistant"]
    assert conversation.origin.unread == {"step EPHEMERAL_MESSAGE": 1, "step CODE_ACTION": 1}


@cases(
    "args, expected",
    ("values that are JSON texts", {"path": '"/w"', "lines": "3", "keep": "false"}, {"path": "/w", "lines": 3, "keep": False}),
    ("values as they were sent", {"path": "/w", "lines": 3}, {"path": "/w", "lines": 3}),
    ("texts that look like numbers alone", {"code": "3"}, {"code": "3"}),
)  # fmt: skip
def test_arguments_of_a_transcript_with(args, expected):
    calling = {**reply(1), "tool_calls": [{"name": "f", "args": args}]}
    conversation = only(asked(0, "Hi"), calling)
    assert json.loads(conversation.messages[1]["tool_calls"][0]["function"]["arguments"]) == expected


def test_a_reply_that_did_not_end_is_not_sampled_and_the_last_line_of_a_step_counts():
    running, done = reply(1, "He", status="RUNNING"), reply(1, "Hello.")
    assert [each.at for each in only(asked(0, "Hi"), running, done).origin.replies] == [1]
    assert [each.at for each in only(asked(0, "Hi"), running).origin.replies] == []


def test_the_model_is_that_of_the_last_change_of_the_setting():
    change = "\n<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from {} to {}. No need to.\n"
    conversation = only(
        asked(0, "Hi" + change.format("None", "Gemini 3.5 Flash (Medium)")),
        reply(1, "a"),
        asked(2, "Go on." + change.format("Gemini 3.5 Flash (Medium)", "Gemini 3.8 Pro")),
        reply(3, "b"),
    )
    assert [each.model for each in conversation.origin.replies] == ["Gemini 3.5 Flash (Medium)", "Gemini 3.8 Pro"]


def test_a_checkpoint_replaces_what_was_before_it():
    after, before = antigravity.conversations(
        [asked(0, "Hi"), reply(1, "a"), step(2, "SYSTEM", "CHECKPOINT", "They greeted."), asked(3, "More"), reply(4, "b")]
    )  # fmt: skip
    assert [each["content"] for each in after.messages] == ["They greeted.", "More", "b"]
    assert (after.origin.kind, before.origin.kind) == ("compacted", "main")


def test_the_folder_names_the_conversation_and_has_the_transcripts_of_a_database():
    folder = "a/brain/5f/.system_generated/logs"
    assert antigravity.session(f"{folder}/transcript_full.jsonl", None) == "5f"
    assert antigravity.session("a/transcript.jsonl", None) is None
    assert antigravity.owner("a/conversations/5f.db") == folder
    assert documents.recognise([asked(0, "Hi"), reply(1, "a")]).name == "antigravity"


def test_a_folder_of_encrypted_conversations_says_what_to_convert_instead(tmp_path):
    (tmp_path / "conversations").mkdir()
    (tmp_path / "conversations/5f.pb").write_bytes(bytes(range(256)))
    with pytest.raises(UsageError, match=r"Antigravity encrypts its conversations .*: convert its transcripts, brain/"):
        convert([str(tmp_path)], tmp_path / "out", Options())
