"""Codex's rollouts as version 0.171 writes them, from recordings of it; and the events of `codex exec --json`."""

import pytest

from chatsquash.formats.agents import codex
from chatsquash.trees.documents import paths
from tests.formats.table import words


def line(of, /, **payload):
    return {"timestamp": "2026-02-01T12:00:00Z", "type": of, "payload": payload}


def meta(**more):
    return line("session_meta", id="s", **more)


def event(of, **more):
    return line("event_msg", type=of, **more)


def said(role, text):
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return line("response_item", type="message", role=role, content=[part])


def user(text):
    return said("user", text)


def reply(text):
    return said("assistant", text)


def thought(text):
    return line("response_item", type="reasoning", summary=[{"type": "summary_text", "text": text}])


def call(call_id):
    return line("response_item", type="function_call", call_id=call_id, name="ls", arguments="{}")


def result(call_id, text):
    return line("response_item", type="function_call_output", call_id=call_id, output=text)


def counted(ident):
    return line("token_usage_record", response_id=ident, usage={"input_tokens": 9, "output_tokens": 2})


def count():
    return event("token_count", info={"last_token_usage": {"input_tokens": 1, "output_tokens": 1}})


def replies(conversation):
    """The texts of the replies that the model gave, with why they ended."""
    given = conversation.origin.replies
    return [(conversation.messages[each.at]["content"], each.finish_reason) for each in given]


def test_a_reply_has_the_id_and_the_tokens_of_the_line_that_counts_it():
    (found,) = codex.conversations([meta(), user("a"), thought("x"), reply("b"), counted("r1"), count()])
    (given,) = found.origin.replies
    assert (given.response_id, given.prompt_tokens, given.completion_tokens) == ("r1", 9, 2)


def test_items_of_a_stream_that_ended_early_are_a_truncated_reply_before_the_next_one():
    cut = [thought("x"), reply("half"), count()]
    (found,) = codex.conversations([meta(), user("a"), *cut, thought("y"), reply("all"), counted("r2"), count()])
    assert words([found]) == [["a", "half", "all"]]
    assert replies(found) == [("half", "incomplete"), ("all", None)]
    assert [each.get("reasoning_content") for each in found.messages[1:]] == ["x", "y"]


@pytest.mark.parametrize("end", ["task_complete", "turn_aborted", "task_started"])
def test_what_a_turn_ends_in_the_middle_of_is_truncated(end):
    lines = [meta(), user("a"), reply("b"), counted("r1"), user("c"), reply("d"), event(end), user("e"), reply("f")]
    (found,) = codex.conversations([*lines, counted("r2")])
    assert replies(found) == [("b", None), ("d", "incomplete"), ("f", None)]


def test_a_call_that_is_answered_before_its_reply_is_counted_is_of_a_truncated_one():
    lines = [meta(), user("a"), call("c1"), result("c1", "x"), count(), reply("b"), counted("r1")]
    (found,) = codex.conversations(lines)
    assert [why for _, why in replies(found)] == ["incomplete", None]


def test_the_last_reply_of_a_turn_that_failed_is_truncated():
    error = {"message": "Incomplete response returned, reason: max_output_tokens"}
    lines = [meta(), user("a"), reply("b"), counted("r1"), count(), event("task_complete", error=error)]
    assert replies(codex.conversations(lines)[0]) == [("b", "incomplete")]
    lines[4:4] = [user("c")]
    assert replies(codex.conversations(lines)[0]) == [("b", None)]


def test_without_lines_that_count_replies_none_is_truncated():
    (found,) = codex.conversations([meta(), user("a"), reply("b"), count(), event("task_complete")])
    assert replies(found) == [("b", None)]


def test_blank_lines_between_all_lines_divide_no_reply():
    lines = [meta(), user("a"), thought("x"), reply("b")]
    (found,) = codex.conversations(lines, lines=[1, 3, 5, 7])
    assert len(found.messages) == 2


def compacted(message, *history):
    items = [each["payload"] for each in history]
    return line("compacted", message=message, replacement_history=items)


def test_the_summary_before_a_compaction_is_a_side_request():
    before = [meta(), event("task_started"), user("a"), reply("b"), counted("r1")]
    summary = [event("task_started"), thought("x"), reply("It was b."), counted("r2")]
    after = [compacted("Earlier:\nIt was b.", user("a"), user("Earlier:\nIt was b.")), user("c"), reply("d")]
    now, main, side = codex.conversations([*before, *summary, *after, counted("r3")])
    assert words([now, main, side]) == [["a", "Earlier:\nIt was b.", "c", "d"], ["a", "b"], ["a", "b", "It was b."]]
    assert [each.origin.kind for each in (now, main, side)] == ["compacted", "main", "side"]
    assert now.origin.parent == side.origin.parent == main.origin.id
    assert [replies(each) for each in (main, side)] == [[("b", None)], [("It was b.", None)]]
    assert side.origin.lacks_context


def test_the_longest_conversation_of_a_file_is_not_the_request_for_a_summary():
    before = [meta(), user("a"), reply("b"), user("c"), reply("d"), counted("r1"), reply("It was d."), counted("r2")]
    after = [compacted("It was d.", user("It was d.")), user("e"), reply("f"), counted("r3")]
    (first, *_) = paths(codex.conversations([*before, *after]))
    assert first.session.longest.kind == "main"


def test_a_reply_that_a_summary_only_mentions_is_none():
    after = [compacted("", user("Earlier: Done. Now go on.")), user("c"), reply("d")]
    found = codex.conversations([meta(), user("a"), reply("Done."), *after])
    assert [each.origin.kind for each in found] == ["compacted", "main"]


def turn(prompt, answer):
    return [event("task_started"), user(prompt), reply(answer)]


def test_a_rollback_takes_back_the_last_turn_and_not_only_what_codex_said_in_it():
    stopped = [user("<turn_aborted>\nThe user stopped this.\n</turn_aborted>"), event("turn_aborted")]
    lines = [meta(), *turn("a", "b"), *turn("c", "d"), *stopped, event("thread_rolled_back", num_turns=1)]
    now, branch = codex.conversations([*lines, *turn("e", "f")])
    assert words([now])[0] == ["a", "b", "e", "f"]
    assert (branch.origin.kind, words([branch])[0][:4]) == ("branch", ["a", "b", "c", "d"])


def test_what_was_rolled_back_is_a_branch_although_it_has_more_replies():
    more = [call("c1"), result("c1", "x"), reply("more"), call("c2"), result("c2", "x"), reply("most")]
    lines = [meta(), *turn("a", "b"), *turn("c", "d"), *more, event("thread_rolled_back", num_turns=1)]
    now, branch = paths(codex.conversations([*lines, *turn("e", "f")]))
    assert (now.kind, branch.kind, branch.parent) == ("main", "branch", now)
    assert now.session.longest is now
    only, gone = paths(codex.conversations([meta(), user("<skill>x"), *turn("c", "d"), *more, lines[-1]]))
    assert (only.length, gone.kind) == (0, "main")


def test_without_events_what_codex_says_as_the_user_begins_no_turn():
    stopped = user("<turn_aborted>\nThe user stopped this.\n</turn_aborted>")
    lines = [meta(), user("a"), reply("b"), user("c"), reply("d"), stopped, event("thread_rolled_back", num_turns=1)]
    now, _ = codex.conversations([*lines, user("e"), reply("f")])
    assert words([now]) == [["a", "b", "e", "f"]]


def test_a_prompt_that_the_user_adds_to_a_turn_does_not_begin_another():
    lines = [meta(), *turn("a", "b"), *turn("c", "d"), user("and"), reply("e")]
    now, _ = codex.conversations([*lines, event("thread_rolled_back", num_turns=1), *turn("f", "g")])
    assert words([now]) == [["a", "b", "f", "g"]]


def test_replies_on_both_sides_of_a_line_that_cannot_be_read_are_two():
    lines = [meta(), user("a"), thought("x"), reply("b"), reply("c")]
    assert [len(each.messages) for each in codex.conversations(lines)] == [2]
    assert words(codex.conversations(lines, lines=[1, 2, 3, 4, 6])) == [["a", "b", "c"]]


KINDS = [
    ({"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}, "subagent"),
    ({"subagent": {"other": "guardian"}}, "side"),
    ({"subagent": "review"}, "side"),
    ({"subagent": "memory_consolidation"}, "side"),
    ({"internal": "memory_consolidation"}, "side"),
    ("exec", "main"),
]


@pytest.mark.parametrize("source, kind", KINDS)
def test_the_kind_of_a_file_is_that_of_the_agent_that_it_is_of(source, kind):
    (found,) = codex.conversations([meta(source=source, parent_thread_id="p"), user("a"), reply("b")])
    assert (found.origin.kind, found.origin.parent) == (kind, None if kind == "main" else "p")


@pytest.mark.parametrize(
    "ended", [event("item_completed", item={"type": "ExitedReviewMode"}), event("exited_review_mode")]
)
def test_the_result_of_a_review_is_a_reply_in_the_file_of_the_review_alone(ended):
    lines = [meta(), event("task_started"), user("<user_action>review"), ended, reply("fine"), event("task_complete")]
    (found,) = codex.conversations([*lines, event("task_started"), user("a"), reply("b"), counted("r1")])
    assert words([found]) == [["<user_action>review", "fine", "a", "b"]]
    assert replies(found) == [("b", None)]


def task(*content):
    return line("response_item", type="agent_message", author="/root", recipient="/root/a", content=[*content])


SEALED = {"type": "encrypted_content", "encrypted_content": "gAAAA"}


def test_an_encrypted_task_is_a_placeholder_and_its_replies_lack_context():
    head = {"type": "input_text", "text": "Task:\n"}
    spawned = meta(source={"subagent": {"thread_spawn": {"parent_thread_id": "p"}}})
    (found,) = codex.conversations([spawned, task(head, SEALED), reply("b")])
    assert [message["role"] for message in found.messages] == ["user", "assistant"]
    assert [part["text"] for part in found.messages[0]["content"]] == ["Task:\n", "[encrypted message]"]
    assert found.origin.lacks_context
    (found,) = codex.conversations([spawned, task(head), reply("b")])
    assert not found.origin.lacks_context


# The events of codex exec --json

BEGIN = {"type": "thread.started", "thread_id": "t"}
TURN = {"type": "turn.started"}
END = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}


def item(of, **more):
    return {"type": "item.completed", "item": {"id": "item_1", "type": of, **more}}


def shown(text):
    return item("agent_message", text=text)


def test_the_events_of_a_thread_are_its_replies_and_calls():
    lookup = item("mcp_tool_call", server="notes", tool="find", arguments={"q": 1}, result={"content": []}, error=None)
    command = item("command_execution", command="ls", aggregated_output="a.txt", exit_code=0, status="completed")
    lines = [BEGIN, TURN, item("reasoning", text="x"), command, lookup, shown("b"), END]
    assert codex.fits(lines)
    (found,) = codex.conversations(lines)
    first, one, second, two, last = found.messages
    calls = [message["tool_calls"][0]["function"] for message in (first, second)]
    assert [(each["name"], each["arguments"]) for each in calls] == [
        ("command_execution", '{"command":"ls"}'),
        ("notes__find", '{"q":1}'),
    ]
    assert (first["reasoning_content"], one["content"], two["content"], last["content"]) == (
        "x",
        "a.txt",
        '{"content":[]}',
        "b",
    )
    assert (one["tool_call_id"], two["tool_call_id"]) == ("item_1", "item_1+")
    assert found.origin.lacks_context
    assert [each.code for _, each in found.origin.findings] == ["missing-history"]


def test_turns_of_a_thread_are_one_conversation_and_interrupted_ones_end_in_a_truncated_reply():
    failed = [{"type": "error", "message": "lost"}, {"type": "turn.failed", "error": {"message": "lost"}}]
    lines = [BEGIN, TURN, shown("a"), END, BEGIN, TURN, shown("b"), *failed, BEGIN, TURN, shown("c")]
    (found,) = codex.conversations(lines)
    assert replies(found) == [("a", None), ("b", "incomplete"), ("c", "incomplete")]


def test_each_thread_is_a_conversation():
    other = {**BEGIN, "thread_id": "u"}
    found = codex.conversations([BEGIN, TURN, shown("a"), END, other, TURN, shown("b"), END])
    assert [each.origin.session_id for each in found] == ["t", "u"]
