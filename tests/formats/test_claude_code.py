"""What Claude Code's files say of their conversations; what is said in these is in ``rows/claude_code.json``."""

import time

import pytest

from chatsquash.core.model import OriginReply, RepeatedViolation
from chatsquash.formats import documents, threads
from chatsquash.formats.agents.claude_code.rows import rows
from chatsquash.formats.base import TurnError
from chatsquash.trees.documents import paths
from tests.conftest import cases
from tests.conversion.shapes import SHAPES

CLAUDE = documents.get_format("claude_code")
NOON = 1_767_268_800 * 10**9


def row(key, parent, of, **more):
    line = {"sessionId": "s", "uuid": key, "parentUuid": parent, "type": of}
    second = int("".join(filter(str.isdigit, key)) or 0)
    return {**line, "timestamp": f"2026-01-01T12:00:{second:02}Z", **more}


def user(key, parent, said="hi", **more):
    return row(key, parent, "user", message={"role": "user", "content": said}, **more)


def assistant(key, parent, said="hello", **more):
    blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
    message = {"role": "assistant", "content": blocks, "id": f"m{key}", "model": "claude-x", **more.pop("message", {})}
    return row(key, parent, "assistant", message=message, **more)


def call(call_id="t1", name="Bash", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(key, parent, call_id="t1", **more):
    return user(key, parent, [{"type": "tool_result", "tool_use_id": call_id, "content": "ok"}], **more)


def queued(key, parent, prompt="and?", **more):
    return row(key, parent, "attachment", attachment={"type": "queued_command", "prompt": prompt, **more})


def queue(operation, content="and?", **more):
    return {"sessionId": "s", "type": "queue-operation", "operation": operation, "content": content, **more}


def absorbed(content="and?"):
    return queue("remove", content, reason="absorbed_mid_turn")


def boundary(key="c5", **metadata):
    more = {"subtype": "compact_boundary", "compactMetadata": metadata}
    return row(key, None, "system", logicalParentUuid="a4", **more)


def summary(key="u6", parent="c5"):
    return user(key, parent, "In short.", isCompactSummary=True, isVisibleInTranscriptOnly=True)


def side(line, agent="x"):
    return {**line, "isSidechain": True, "agentId": agent}


def said(conversation):
    return [message.get("content") for message in conversation.messages]


TALK = [user("u1", None), assistant("a2", "u1"), user("u3", "a2", "go"), assistant("a4", "u3", "gone")]
AFTER = [user("u7", "u6", "more"), assistant("a8", "u7", "fine")]
COPIES = [user("k1", "u6", "go"), assistant("k2", "k1", "gone", message={"id": "ma4"})]
SUMMED = ["In short.", "go", "gone", "more", "fine"]

RUN = [user("u1", None), assistant("a4", "u1", [call()])]
PARALLEL = [
    user("u1", None),
    assistant("a2", "u1", [call("t1")], message={"id": "m"}),
    result("u3", "a2"),
    assistant("a5", "a2", [call("t2")], message={"id": "m"}),
    result("u6", "a5", "t2"),
]
ENDED = {"message": {"stop_reason": "end_turn"}}


def thought(key, parent):
    return assistant(key, parent, [{"type": "thinking", "thinking": "hm", "signature": "s"}])


def cut(key, parent):
    return assistant(key, parent, "At fi", message={"stop_reason": None})


def no_response(key, parent, **more):
    flags = {"isApiErrorMessage": False, "message": {"model": "<synthetic>"}, **more}
    return assistant(key, parent, "No response requested.", **flags)


# What is said, and in which order: the texts of each conversation.


@cases("lines, expected",
    ("a prompt that the next reply follows", [*TALK, queued("q5", "a4"), assistant("a6", "q5", "yes")], [["hi", "hello", "go", "gone", "and?", "yes"]]),
    ("a prompt that nothing follows", [*TALK[:2], queued("q5", "a2"), *TALK[2:]], [["hi", "hello", "and?", "go", "gone"]]),
    ("two of them", [*TALK[:2], queued("q5", "a2"), queued("q6", "q5", "so?"), *TALK[2:]], [["hi", "hello", "and?", "so?", "go", "gone"]]),
    ("one of blocks", [*TALK, queued("q5", "a4", [{"type": "text", "text": "look"}])], [["hi", "hello", "go", "gone", "look"]]),
    ("an empty one", [*TALK, queued("q5", "a4", " "), queued("q6", "q5", [])], [["hi", "hello", "go", "gone"]]),
    ("one in the queue alone", [*TALK[:2], queue("enqueue"), absorbed(), *TALK[2:]], [["hi", "hello", "and?", "go", "gone"]]),
    ("one in the queue and attached", [*TALK, absorbed(), queued("q5", "a4"), assistant("a6", "q5", "yes")], [["hi", "hello", "go", "gone", "and?", "yes"]]),
    ("attached once, absorbed twice", [*TALK, queued("q5", "a4"), absorbed(), absorbed()], [["hi", "hello", "go", "gone", "and?", "and?"]]),
    ("one while a call runs", [*RUN, queued("q5", "a4"), result("u6", "a4"), assistant("a7", "u6", "done")], [["hi", None, "ok", "and?", "done"]]),
    ("two in the queue while calls run", [*PARALLEL[:2], absorbed("one"), PARALLEL[2], absorbed("two"), *PARALLEL[3:], absorbed("three"), assistant("a8", "u6", "done")], [["hi", None, "ok", "ok", "one", "two", "three", "done"]]),
    ("one between the lines of a reply", [*TALK[:2], user("u3", "a2"), assistant("a4", "u3", "look", message={"id": "m"}), absorbed(), assistant("a5", "a4", [call()], message={"id": "m"}), result("u6", "a5"), assistant("a7", "u6", "done")], [["hi", "hello", "hi", "look", "ok", "and?", "done"]]),
    ("one while a call runs that nothing answers", [*RUN, absorbed(), user("u5", "a4", "stop"), assistant("a6", "u5")], [["hi", None, "and?", "stop", "hello"]]),
    ("one while a call runs that a compaction kept", [*RUN, absorbed(), result("u6", "a4"), boundary("c7", preservedMessages={"uuids": ["a4", "u6"], "anchorUuid": "u8"}), summary("u8", "c7"), assistant("a9", "u8", "done")], [["In short.", None, "ok", "and?", "done"], ["hi", None, "ok", "and?"]]),
    ("taken back from the queue", [*TALK, queue("enqueue"), queue("remove"), queue("popAll")], [["hi", "hello", "go", "gone"]]),
    ("a command of the client's", [*TALK[:2], row("s3", "a2", "system", subtype="local_command", content="<command-name>/x</command-name>"), user("u4", "s3", "go"), assistant("a5", "u4")], [["hi", "hello", "<command-name>/x</command-name>", "go", "hello"]]),
    ("a compaction", [*TALK, boundary(), summary(), *AFTER], [["In short.", "more", "fine"], ["hi", "hello", "go", "gone"]]),
    ("a compaction whose boundary cannot be read", [*TALK, summary(), *AFTER], [["In short.", "more", "fine"], ["hi", "hello", "go", "gone"]]),
    ("a compaction that nothing answers", [*TALK, boundary(), summary()], [["hi", "hello", "go", "gone"]]),
    ("messages that are kept", [*TALK, boundary(preservedMessages={"uuids": ["u3", "a4"], "anchorUuid": "u6"}), summary(), *AFTER], [SUMMED, ["hi", "hello", "go", "gone"]]),
    ("a segment that is kept", [*TALK, boundary(preservedSegment={"headUuid": "u3", "tailUuid": "a4", "anchorUuid": "u6"}), summary(), *AFTER], [SUMMED, ["hi", "hello", "go", "gone"]]),
    ("what follows names what is kept", [*TALK, boundary(preservedMessages={"allUuids": ["u3", "a4"]}), summary(), {**AFTER[0], "parentUuid": "a4"}, AFTER[1]], [SUMMED, ["hi", "hello", "go", "gone"]]),
    ("what is kept is written again", [*TALK, boundary(preservedSegment={"headUuid": "k1", "tailUuid": "k2", "anchorUuid": "u6"}), summary(), *COPIES, {**AFTER[0], "parentUuid": "k2"}, AFTER[1]], [SUMMED, ["hi", "hello", "go", "gone"]]),
    ("a segment without its head keeps nothing", [*TALK, boundary(preservedSegment={"headUuid": "?", "tailUuid": "a4"}), summary(), *AFTER], [["In short.", "more", "fine"], ["hi", "hello", "go", "gone"]]),
    ("a boundary names a line behind it", [*TALK, {**boundary(), "logicalParentUuid": "a8"}, summary(), *AFTER], [["In short.", "more", "fine"], ["hi", "hello", "go", "gone"]]),
    ("a prompt before a compaction is taken up again", [*TALK, boundary(), summary(), *AFTER, user("u9", "a2", "again"), assistant("a10", "u9", "well")], [["hi", "hello", "again", "well"], ["hi", "hello", "go", "gone"], ["In short.", "more", "fine"]]),
    ("blocks that repeat", [user("u1", None), *(assistant(f"a{n}", f"a{n - 1}" if n > 2 else "u1", "once", message={"id": "m"}) for n in (2, 3))], [["hi", "once"]]),
    ("blocks that grow", [user("u1", None), assistant("a2", "u1", "on", message={"id": "m"}), assistant("a3", "a2", "once", message={"id": "m"})], [["hi", "once"]]),
    ("a content that is a text", [user("u1", None), assistant("a2", "u1", message={"id": "m", "content": "on"}), assistant("a3", "a2", "once", message={"id": "m"})], [["hi", "once"]]),
    ("an id of several replies", [user("u1", None), assistant("a2", "u1", [call()], message={"id": "m"}), result("u3", "a2"), assistant("a4", "u3", "two", message={"id": "m"}), user("u5", "a4", "why"), assistant("a6", "u5", "so", message={"id": "m"})], [["hi", None, "ok", "two", "why", "so"]]),
    ("an id of several requests", [user("u1", None), assistant("a2", "u1", [call()], message={"id": "m"}, requestId="r1"), result("u3", "a2"), assistant("a4", "u3", "so", message={"id": "m"}, requestId="r2")], [["hi", None, "ok", "so"]]),
    ("an id of replies that ended for several reasons", [user("u1", None), assistant("a2", "u1", [call()], message={"id": "m", "stop_reason": "tool_use"}), result("u3", "a2"), assistant("a4", "u3", [call("t2")], message={"id": "m", "stop_reason": "tool_use"}), result("u5", "a4", "t2"), assistant("a6", "u5", "so", message={"id": "m", **ENDED["message"]})], [["hi", None, "ok", None, "ok", "so"]]),
    ("an id of several replies over several lines", [user("u1", None), assistant("a2", "u1", "one", message={"id": "m"}), assistant("a3", "a2", [call()], message={"id": "m"}), result("u4", "a3"), user("u5", "u4", "why"), assistant("a6", "u5", "so", message={"id": "m"})], [["hi", "one", "ok", "why", "so"]]),
    ("parallel calls with results between them are one reply", PARALLEL, [["hi", None, "ok", "ok"]]),
    ("what the client said for the assistant", [*TALK[:2], user("u3", "a2", "[Request interrupted by user]"), no_response("s4", "u3"), user("u5", "s4", "go"), assistant("a6", "u5")], [["hi", "hello", "[Request interrupted by user]", "No response requested.", "go", "hello"]]),
    ("what the client said for the assistant at the end", [*TALK[:2], user("u3", "a2", "[Request interrupted by user]"), no_response("s4", "u3")], [["hi", "hello", "[Request interrupted by user]"]]),
    ("an id of several replies at one time", [user("u1", None), *(line for n in (1, 2) for line in (assistant("a2" * n, "u1" if n == 1 else "u3", f"no {n}", message={"id": "m"}, timestamp="2026-01-01T12:00:00Z"), user("u3" * n, "a2" * n, "why"))), assistant("a9", "u3u3", "no 3", message={"id": "m"})], [["hi", "no 1", "why", "no 2", "why", "no 3"]]),
    ("errors that the client wrote for the assistant", [*TALK[:2], no_response("s3", "a2", isApiErrorMessage=True), user("u4", "s3", "go"), assistant("a5", "u4")], [["hi", "hello", "go", "hello"]]),
    ("reasoning that another request followed", [user("u1", None), thought("t2", "u1"), user("u3", "t2", "go"), assistant("a4", "u3")], [["hi", "go", "hello"]]),
    ("reasoning whose text was never written", [user("u1", None), thought("t2", "u1"), user("u3", "gone", "go"), assistant("a4", "u3")], [["hi", "", "go", "hello"]]),
    ("reasoning at the end", [*TALK, user("u5", "a4"), thought("t6", "u5")], [["hi", "hello", "go", "gone", "hi", ""]]),
    ("a truncated reply that was asked for again", [*TALK, user("u5", "a4"), cut("a6", "u5"), assistant("a7", "u5", "fine", **ENDED)], [["hi", "hello", "go", "gone", "hi", "fine"]]),
    ("a truncated reply that was sent again", [*TALK, user("u5", "a4"), cut("a6", "u5"), user("u7", "a6", "on"), assistant("a8", "u7", "fine", **ENDED)], [["hi", "hello", "go", "gone", "hi", "At fi", "on", "fine"]]),
    ("lines that were never written before a result", [*RUN, result("u5", "gone"), assistant("a6", "u5", "done")], [["hi", None, "ok", "done"]]),
    ("lines that were never written before a prompt", [*TALK, user("u5", "gone", "so"), assistant("a6", "u5")], [["hi", "hello", "go", "gone", "so", "hello"]]),
    ("lines that were never written before a result without its call", [*TALK, result("u5", "gone"), assistant("a6", "u5")], [["ok", "hello"], ["hi", "hello", "go", "gone"]]),
    ("ids of users mean nothing", [user("u1", None), assistant("a2", "u1"), {**user("u3", "a2", "go"), "message": {"role": "user", "content": "go", "id": "ma2"}}, assistant("a4", "u3")], [["hi", "hello", "go", "hello"]]),
    ("a file that begins with a summary", [summary(parent="gone"), *AFTER], [["In short.", "more", "fine"]]),
    ("nothing but prompts sent meanwhile", [queued("q1", None)], []),
    ("an agent's name on lines of the session", [user("u1", None), assistant("a2", "u1", agentId="main"), user("u3", "a2", "go"), assistant("a4", "u3")], [["hi", "hello", "go", "hello"]]),
)  # fmt: skip
def test_what_is_said(lines, expected):
    assert [said(each) for each in CLAUDE.conversations(lines)] == expected


TASK = [user("u1", None), assistant("a2", "u1", [call(name="Agent", prompt="find it")])]
AGENT = [side(user("u3", None, "find it")), side(assistant("a4", "u3", "found"))]
OTHER = [side(user("s3", None, "find it")), side(assistant("s4", "s3", "found"))]
FORK = [user("u5", "a2", "no"), assistant("a6", "u5", "well"), user("u7", "a2", "yes"), assistant("a8", "u7", "fine")]
AGAIN = [user("u9", "a6", "why"), assistant("a10", "u9", "so")]

# What each conversation is: id, kind, parent, call.


@cases("lines, expected",
    ("one conversation", TALK, [("", "main", None, None)]),
    ("a compaction", [*TALK, boundary(), summary(), *AFTER], [("a8", "compacted", "a4", None), ("a4", "main", None, None)]),
    ("a compaction of another", [*TALK, boundary(), summary(), *AFTER, {**boundary("c9"), "logicalParentUuid": "a8"}, summary("u10", "c9"), assistant("a11", "u10")], [("a11", "compacted", "a8", None), ("a4", "main", None, None), ("a8", "compacted", "a4", None)]),
    ("a compaction that names what follows", [*TALK, {**boundary(), "logicalParentUuid": "a8"}, summary(), *AFTER], [("a8", "compacted", "a4", None), ("a4", "main", None, None)]),
    ("what was compacted is in no file", [boundary(), summary(), *AFTER], [("", "compacted", None, None)]),
    ("a branch", [*TALK[:2], *FORK], [("a8", "main", None, None), ("a6", "branch", "a8", None)]),
    ("a branch that was taken up again", [*TALK[:2], *FORK, *AGAIN], [("a10", "main", None, None), ("a8", "branch", "a10", None)]),
    ("a branch of a branch", [*TALK[:2], *FORK[:2], *AGAIN, user("u11", "a6", "how"), assistant("a12", "u11"), *FORK[2:], user("u13", "a8"), assistant("a14", "u13")], [("a14", "main", None, None), ("a10", "branch", "a12", None), ("a12", "branch", "a14", None)]),
    ("a sub-agent that a result names", [*TASK, *AGENT, result("u5", "a2", toolUseResult={"agentId": "x"}), assistant("a6", "u5")], [("a6", "main", None, None), ("x", "subagent", "a6", "t1")]),
    ("a sub-agent whose prompt is that of a call", [*TASK, *(side(each, "") for each in AGENT), result("u5", "a2"), assistant("a6", "u5")], [("a6", "main", None, None), ("a4", "subagent", "a6", "t1")]),
    ("two sub-agents of one prompt", [user("u1", None), assistant("a2", "u1", [call(name="Agent", prompt="find it"), call("t2", "Agent", prompt="find it")]), *AGENT, *(side(each, "y") for each in OTHER)], [("a2", "main", None, None), ("x", "subagent", "a2", "t1"), ("y", "subagent", "a2", "t2")]),
    ("a sub-agent of which nothing tells", [*TALK, *OTHER], [("a4", "main", None, None), ("x", "subagent", None, None)]),
    ("an agent of a team", [{**each, "teamName": "fence", "agentName": "post"} for each in TALK], [("", "subagent", None, None)]),
    ("the session that leads a team", [{**each, "teamName": "fence", "agentName": "team-lead"} for each in TALK], [("", "main", None, None)]),
    ("a session with a name", [{**each, "agentName": "post"} for each in TALK], [("", "main", None, None)]),
    ("a sub-agent's own file", AGENT, [("x", "subagent", None, None)]),
    ("a sub-agent's branch", [*AGENT, side(user("u5", "u3", "no")), side(assistant("a6", "u5", "well"))], [("x", "subagent", None, None), ("a4", "branch", "x", None)]),
    ("beginnings without a link", [user("u1", None), assistant("a2", "u1"), user("u3", None), assistant("a4", "u3")], [("a4", "main", None, None), ("a2", "main", None, None)]),
)  # fmt: skip
def test_what_a_conversation_is(lines, expected):
    found = [each.origin for each in CLAUDE.conversations(lines)]
    assert [(each.id, each.kind, each.parent, each.call) for each in found] == expected


def test_a_result_names_a_sub_agent_of_another_file():
    lines = [*TASK, result("u5", "a2", toolUseResult={"agentId": "x"}), assistant("a6", "u5")]
    assert [each.origin.began for each in CLAUDE.conversations(lines)] == [{"x": "t1"}]
    assert [each.origin.began for each in CLAUDE.conversations([*lines, *AGENT])] == [{"x": "t1"}, {}]


def test_a_file_beside_names_the_call_of_a_sub_agent():
    assert CLAUDE.companions("agent-x.jsonl") == "agent-x.meta.json"
    assert [CLAUDE.companions(name) for name in ("s.jsonl", "agent-x.meta.json")] == [None, None]
    meta = {"agentType": "Explore", "toolUseId": "t9"}
    assert [each.origin.call for each in CLAUDE.conversations(AGENT, None, meta)] == ["t9"]
    assert [each.origin.call for each in CLAUDE.conversations(AGENT, None, ["t9"])] == [None]
    assert [each.origin.call for each in CLAUDE.conversations(TALK, None, meta)] == [None]


# Replies


def test_what_is_said_of_a_reply():
    usage = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500, "output_tokens": 1}
    lines = [
        user("u1", None),
        assistant("a2", "u1", message={"id": "m", "usage": usage, "stop_reason": None}),
        assistant(
            "a3", "a2", [call()], message={"id": "m", "usage": {**usage, "output_tokens": 9}, "stop_reason": "tool_use"}
        ),
        result("u4", "a3"),
        assistant("a5", "u4", message={"stop_reason": "max_tokens", "usage": {"output_tokens": -1}}),
    ]
    (found,) = CLAUDE.conversations(lines, [1, 2, 4, 5, 7])
    assert found.origin.replies == (
        OriginReply(1, 2, NOON + 2 * 10**9, "claude-x", 543, 9, "tool_calls", "m", "a2"),
        OriginReply(3, 7, NOON + 5 * 10**9, "claude-x", None, None, "length", "ma5", "a5"),
    )
    assert found.origin.lines == (1, 2, 5, 7)
    assert (found.origin.started_at, found.origin.ended_at) == (NOON + 10**9, NOON + 5 * 10**9)
    assert found.origin.session_id == "s"


@cases("lines, expected",
    ("all have a stop reason", [user("u1", None), assistant("a2", "u1", **ENDED)], ["stop"]),
    ("none has one", [user("u1", None), assistant("a2", "u1"), user("u3", "a2"), assistant("a4", "u3")], [None, None]),
    ("others have one", [user("u1", None), cut("a2", "u1"), user("u3", "a2"), assistant("a4", "u3", **ENDED)], ["incomplete", "stop"]),
    ("others of another version have one", [user("u1", None, version="1"), cut("a2", "u1") | {"version": "1"}, user("u3", "a2"), assistant("a4", "u3", version="2", **ENDED)], [None, "stop"]),
    ("few have one, and calls of the others were answered", [*RUN, result("u5", "a4"), assistant("a6", "u5", [call("t2")]), result("u7", "a6", "t2"), assistant("a8", "u7", **ENDED)], [None, None, "stop"]),
    ("the last of several lines has one", [user("u1", None), assistant("a2", "u1", "so", message={"id": "m", "stop_reason": None}), assistant("a3", "a2", "so so", message={"id": "m", "stop_reason": "end_turn"})], ["stop"]),
    ("the client gave one to have a reply continued", [user("u1", None), assistant("a2", "u1", **ENDED), user("u3", "a2", "on", isMeta=True, turnCompanion=True), assistant("a4", "u3", message={"stop_reason": "end_turn", "stop_details": None})], ["incomplete", "stop"]),
    ("the client's note follows a complete reply", [user("u1", None), assistant("a2", "u1", message={"stop_reason": "end_turn", "stop_details": None}), user("u3", "a2", "on", isMeta=True, turnCompanion=True), assistant("a4", "u3", **ENDED)], ["stop", "stop"]),
    ("reasoning alone", [*TALK, user("u5", "a4"), thought("t6", "u5")], [None, None, "incomplete"]),
)  # fmt: skip
def test_a_reply_that_ended_early_is_incomplete(lines, expected):
    # Recorded with Claude Code 2.1.197 (no stop reason) and 2.1.332 (no stop_details, or both).
    (found,) = CLAUDE.conversations(lines)
    assert [each.finish_reason for each in found.origin.replies] == expected


def test_incomplete_replies_are_reported_with_their_first_lines():
    lines = [user("u1", None), thought("t2", "u1"), cut("a3", "u1"), user("u4", "a3"), assistant("a5", "u4", **ENDED)]
    (found,) = CLAUDE.conversations(lines)
    assert found.origin.findings == (
        (2, RepeatedViolation("incomplete-reply", ("reasoning",))),
        (3, RepeatedViolation("incomplete-reply", ("truncated",))),
    )
    assert found.origin.unread == {"assistant": 1}


@cases("lines, fits",
    ("one message among lines of new types", [*TALK[:1], *({"type": "artifact", "n": n} for n in range(9))], True),
    ("a known line among lines of new types", [queue("enqueue"), *({"type": "artifact", "sessionId": "s"} for _ in range(9))], True),
    ("a known line among lines of other sources", [queue("enqueue"), *({"type": "artifact"} for _ in range(9))], False),
    ("new types alone", [{"type": "artifact", "sessionId": "s"}], False),
)  # fmt: skip
def test_lines_of_new_types_hide_no_session(lines, fits):
    assert bool(CLAUDE.fits(lines)) is fits


def test_a_reply_belongs_to_one_conversation():
    for lines in (
        [*TALK[:2], *FORK, *AGAIN],
        [*TALK, boundary(preservedMessages={"uuids": ["u3", "a4"]}), summary(), *AFTER],
        [
            *TALK,
            boundary(preservedSegment={"headUuid": "k1", "tailUuid": "k2"}),
            summary(),
            *COPIES,
            {**AFTER[0], "parentUuid": "k2"},
            AFTER[1],
        ],
    ):
        found = CLAUDE.conversations(lines)
        ids = [reply.evidence.response_id for path in paths(found) for reply in path.own]
        assert sorted(ids) == sorted({line["message"]["id"] for line in lines if line["type"] == "assistant"})
        for each in found:
            assert all(each.messages[reply.at]["role"] == "assistant" for reply in each.origin.replies)


def test_a_copy_that_a_compaction_kept_is_no_reply_of_a_fork():
    # Recorded with Claude Code 2.1.332: a fork after a compaction begins with the boundary and what was kept.
    kept = boundary(preservedMessages={"uuids": ["u3", "a4"], "anchorUuid": "u2"})
    lines = [
        kept,
        summary("u2"),
        user("u3", "u2", "go"),
        assistant("a4", "u3", "gone"),
        user("u5", "a4"),
        assistant("a6", "u5"),
    ]
    (found,) = CLAUDE.conversations(lines)
    assert said(found) == ["In short.", "go", "gone", "hi", "hello"]
    assert [each.response_id for each in found.origin.replies] == ["ma6"]


def test_times_of_what_was_kept_are_not_those_of_the_conversation():
    found, _ = CLAUDE.conversations([*TALK, boundary(preservedMessages={"uuids": ["u3", "a4"]}), summary(), *AFTER])
    assert found.origin.started_at == NOON + 6 * 10**9


# System prompts and tools

BRIEF = {"type": "prompt_snapshot", "systemPrompt": ["Be brief.", {"type": "text", "text": "Be kind."}, 3, ""]}
TOOLS = [
    {"name": "a", "description": "d", "schema": {"name": "a", "description": "d", "input_schema": {"type": "object"}}},
    {"name": "b", "description": "d", "schema": {"type": "object"}},
    {"name": "c", "input_schema": {"type": "object"}},
    {"name": "d"},
    {"description": "nobody"},
    "e",
]


def test_a_snapshot_has_the_system_prompt_and_definitions():
    lines = [
        user("u1", None),
        row("p2", "u1", "attachment", attachment={**BRIEF, "systemPrompt": ["Old."], "tools": TOOLS}),
        row("p3", "p2", "attachment", attachment=BRIEF),
        assistant("a4", "p3"),
    ]
    (found,) = CLAUDE.conversations(lines)
    assert said(found)[0] == [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    assert found.origin.lines == (3, 1, 4)
    schema = {"type": "object"}
    assert [tool["function"] for tool in found.tools] == [
        {"name": "a", "description": "d", "parameters": schema},
        {"name": "b", "description": "d", "parameters": schema},
        {"name": "c", "parameters": schema},
        {"name": "d"},
    ]


def test_each_conversation_has_the_snapshot_of_its_time_and_chain():
    old, new = ({"type": "prompt_snapshot", "systemPrompt": [text]} for text in ("Old.", "New."))
    lines = [
        *TALK,
        row("p1", "a4", "attachment", attachment=old),
        boundary(),
        summary(),
        row("p2", "u6", "attachment", attachment=new),
        user("u7", "p2"),
        assistant("a8", "u7"),
        *OTHER,
    ]
    assert [said(each)[0] for each in CLAUDE.conversations(lines)] == ["New.", "Old.", "find it"]


# Findings

LOST = [("unreadable", [1, 2, 4]), ("unknown", None)]


@pytest.mark.parametrize("how, numbers", LOST, ids=[each[0] for each in LOST])
def test_a_line_whose_parent_is_missing(how, numbers):
    found = CLAUDE.conversations([TALK[0], TALK[1], TALK[3]], numbers)
    assert [said(each) for each in found] == (
        [["hi", "hello", "gone"]] if how == "unreadable" else [["gone"], ["hi", "hello"]]
    )
    assert found[0].origin.findings == (((numbers or [0, 0, 3])[2], RepeatedViolation("missing-parent", (how,))),)


def test_a_line_that_cannot_be_read_stands_for_one_parent():
    lines = [user("u1", None), assistant("a2", "x1"), user("u3", "a2"), assistant("a4", "x2")]
    found = CLAUDE.conversations(lines, [1, 3, 4, 5])
    assert sorted(map(said, found)) == [["hello"], ["hi", "hello", "hi"]]
    assert [each.values for _, each in found[0].origin.findings] == [("unreadable",), ("unknown",)]


def test_lines_that_cannot_be_read_may_stand_one_after_the_other():
    lines = [user("u1", None), assistant("a2", "x1"), user("u3", "x2"), assistant("a4", "x3")]
    found = CLAUDE.conversations(lines, [1, 4, 5, 6])
    assert [each.values for _, each in found[0].origin.findings] == [("unreadable",), ("unreadable",), ("unknown",)]


def test_a_parent_is_looked_for_on_the_same_chain():
    lines = [user("u1", None), side(user("u2", None, "find")), assistant("a4", "x", "yes")]
    assert said(CLAUDE.conversations(lines, [1, 2, 4])[0]) == ["hi", "yes"]


def test_nothing_follows_itself_over_lines_that_say_nothing():
    lines = [user("u1", "p2"), row("p2", "p3", "progress"), row("p3", "p2", "progress"), assistant("a4", "u1")]
    assert [said(each) for each in CLAUDE.conversations(lines)] == [["hi", "hello"]]
    with pytest.raises(TurnError, match="entry 2 is its own ancestor"):
        CLAUDE.conversations([user("u1", "a2"), assistant("a2", "u1")])


def test_what_the_client_wrote_is_counted_by_kind_with_its_line():
    lines = [
        user("u1", None, "<command-name>/x</command-name>"),
        user("u2", "u1", [{"type": "text", "text": "<system-reminder>a</system-reminder>"}]),
        user("u3", "u2", "[Request interrupted by user]"),
        row("s4", "u3", "system", subtype="local_command", content="<local-command-stdout></local-command-stdout>"),
        assistant("a5", "s4", "<system-reminder>a</system-reminder>"),
    ]
    (found,) = CLAUDE.conversations(lines)
    kinds = ["echoes of commands", "reminders", "interruptions", "output of local commands"]
    assert found.origin.findings == tuple(
        (line, RepeatedViolation("client-text", (kind,))) for line, kind in enumerate(kinds, 1)
    )


def test_a_time_without_a_zone_is_told_once():
    lines = [{**each, "timestamp": each["timestamp"].rstrip("Z")} for each in TALK]
    (found,) = CLAUDE.conversations(lines)
    assert found.origin.findings == ((1, RepeatedViolation("naive-timestamp")),)


def test_every_line_and_member_is_read_or_counted():
    lines = [
        {"type": "summary", "leafUuid": "a2", "summary": "x"},
        user("u1", None, cwd="/", toolUseResult=None),
        assistant("a2", "u1", message={"container": {}, "stop_sequence": None}),
        {**assistant("a3", "a2"), "isApiErrorMessage": True},
        user("u4", "a2", "unanswered"),
        user("u5", "a2", "not for the model", isVisibleInTranscriptOnly=True),
        queued("q6", "a2", commandMode="prompt"),
        queued("q6", "a2", "a copy"),
        row("p7", "q6", "attachment", attachment={"type": "file", "content": "x"}, rendered=[]),
        row("p8", "p7", "attachment", attachment={"type": "prompt_snapshot", "systemPrompt": ["x"], "cliPrefix": "y"}),
        queue("enqueue"),
        row("s9", "p8", "system", subtype="turn_duration"),
        {"sessionId": "s"},
        user("u10", "s9", "go"),
        assistant("a11", "u10"),
    ]
    found = CLAUDE.conversations(lines)
    assert [said(each) for each in found] == [["x", "hi", "hello", "and?", "go", "hello"]]
    assert found[0].origin.unread == {
        "assistant isApiErrorMessage": 1, "assistant.message.container": 1, "attachment file": 1,
        "attachment.attachment.cliPrefix": 1, "attachment.attachment.commandMode": 1, "line without a type": 1,
        "queue-operation enqueue": 1, "summary": 1, "system turn_duration": 1, "user": 1,
        "user isVisibleInTranscriptOnly": 1, "user.cwd": 1,
    }  # fmt: skip


def takes_linear_time(lines):
    """Whether reading takes time linear in the size, for which ``lines`` returns the lines and their numbers, or none."""

    def seconds(size):
        values, numbers = lines(size)
        start = time.process_time()
        CLAUDE.conversations(values, numbers)
        return time.process_time() - start

    seconds(100)
    return seconds(4_000) < 16 * max(seconds(1_000), 0.02)


def test_time_is_linear():
    def lines(size):
        deep = [
            user("u0", None),
            *(assistant(f"a{n}", f"a{n - 1}" if n > 1 else "u0", message={"id": "m"}) for n in range(1, size)),
        ]
        loops = [row(f"p{n}", f"p{(n + 1) % size}", "progress") for n in range(size)]
        lost = [user(f"l{n}", f"x{n}") for n in range(size)]
        lost += [result(f"r{n}", f"y{n}", f"t{n}") for n in range(size)]
        numbers = [*range(1, size + 1), *range(2 * size, 5 * size + 2)]
        return [*deep, *loops, *lost, user("end", "p0"), assistant("z", "end")], numbers

    assert takes_linear_time(lines)


def forks_with_snapshots(size):
    prompts = [row(f"p{n}", "u0", "attachment", attachment=BRIEF) for n in range(size)]
    return [user("u0", None), *prompts, *(assistant(f"a{n}", "u0") for n in range(size))]


def compactions_after_prompts(size):
    prompts = [user(f"u{n}", f"u{n - 1}" if n else None) for n in range(size)]
    return prompts + [
        line
        for n in range(size)
        for line in ({**boundary(f"c{n}"), "logicalParentUuid": f"u{size - 1}"}, assistant(f"a{n}", f"c{n}"))
    ]


def replies_after_themselves(size):
    return [*(assistant(f"a{n}", f"a{n}") for n in range(size)), user("u0", None)]


def compactions_with_the_same_kept_lines(size):
    kept = {"headUuid": "u0", "tailUuid": f"u{size - 1}"}
    prompts = [user(f"u{n}", f"u{n - 1}" if n else None) for n in range(size)]
    return prompts + [
        line
        for n in range(size)
        for line in (boundary(f"c{n}", preservedSegment=kept), assistant(f"a{n}", f"c{n}", f"a{n}"))
    ]


@pytest.mark.parametrize(
    "lines",
    [forks_with_snapshots, compactions_after_prompts, replies_after_themselves, compactions_with_the_same_kept_lines],
)
def test_time_is_linear_in_lines_that_many_conversations_depend_on(lines, monkeypatch):
    monkeypatch.setattr(threads, "_LEAST", 0)
    assert takes_linear_time(lambda size: (lines(size), None))


def test_compactions_that_would_repeat_too_many_lines_are_counted(monkeypatch):
    monkeypatch.setattr(threads, "_LEAST", 0)
    monkeypatch.setattr(threads, "_MOST", 1)
    read = CLAUDE.conversations(compactions_with_the_same_kept_lines(10))
    assert [said(each)[-1] for each in read] == ["a9", "a7", "a8"]
    assert read[0].origin.unread["branch over the limit"] == 7
    by_id = [boundary(f"c{n}", preservedMessages={"uuids": ["u1", "a2", "u3", "a4"]}) for n in range(4)]
    answers = [assistant(f"b{n}", f"c{n}") for n in range(4)]
    pairs = [line for pair in zip(by_id, answers, strict=True) for line in pair]
    read = CLAUDE.conversations([*TALK, *pairs])
    assert read[0].origin.unread["branch over the limit"] == 1


def test_branches_that_would_repeat_too_many_lines_are_counted(monkeypatch):
    """The trunk, and what repeats nothing, such as a first prompt that was edited, is read however little room there is."""
    monkeypatch.setattr(threads, "_LEAST", 0)
    monkeypatch.setattr(threads, "_MOST", 1)
    agent = [side(user("s1", None, "look")), side(assistant("s2", "s1"))]
    read = CLAUDE.conversations([*SHAPES["edited_prompts"](40), *agent])
    assert sorted(len(each.messages) for each in read) == [2, 2, 38, 40, 40]
    assert read[0].origin.unread["branch over the limit"] == 17


def test_lines_that_are_written_late_are_before_those_that_follow_them():
    """As a terminal's first turn was recorded with version 2.1.197."""
    late = [
        assistant("a2", "n1", [call()]),
        result("u3", "a2"),
        user("u1", None),
        {**user("n1", "u1"), "type": "system"},
    ]
    lines = [*late, assistant("a4", "u3", "two"), user("u5", "a4", "why"), assistant("a6", "u5", "so")]
    (found,) = CLAUDE.conversations(lines)
    assert [each["role"] for each in found.messages] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert found.origin.lines == (3, 1, 2, 5, 6, 7)
    loop = [assistant("a1", "u2", "one"), user("u2", "a1", "why"), assistant("a3", "u2", "so")]
    assert CLAUDE.conversations(loop)


@pytest.mark.parametrize(
    ("lines", "parents"),
    [
        ([user("u1", None), assistant("a2", "u1"), user("u3", "a2"), assistant("a4", "u3")], {0: -1}),
        ([user("u1", None), assistant("a2", "u1"), user("u3", "a2"), user("u4", "a2")], {0: -1, 3: 1}),
        ([user("u1", None), side(user("u2", "u1")), side(assistant("a3", "u2"))], {0: -1, 1: 0}),
        ([user("u1", None), assistant("a2", "gone"), user("u3", "a2")], {0: -1, 1: -1}),
        ([user("u1", None), boundary("c2"), summary("u3", "c2"), assistant("a4", "u3")], {0: -1, 1: -1}),
    ],
    ids=["one line of conversation", "a fork", "a sidechain", "a missing parent", "a compaction"],
)
def test_parents_are_only_stored_where_a_line_does_not_follow_the_line_before_it(lines, parents):
    assert rows(lines, None).parents == parents


def test_a_sub_agent_with_only_text_that_the_client_wrote_has_no_messages():
    [conversation] = CLAUDE.conversations([side(no_response("a1", None))])
    assert (conversation.messages, conversation.origin.kind) == ([], "subagent")
