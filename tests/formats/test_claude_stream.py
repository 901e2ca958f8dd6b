"""What `claude --output-format stream-json` of version 2.1.332 prints, from recordings of it; all texts are invented."""

from chatsquash.core.model import RepeatedViolation
from chatsquash.formats import documents
from tests.conftest import cases

CLAUDE = documents.get_format("claude_code")
INIT = {"type": "system", "subtype": "init", "session_id": "s", "uuid": "i1", "claude_code_version": "2.1.332", "tools": ["Bash"]}  # fmt: skip
END = {"type": "result", "subtype": "success", "session_id": "s", "uuid": "r1", "is_error": False, "result": "done"}


def line(of, key, content, call=None, **more):
    message = {"role": of, "content": content, **more.pop("message", {})}
    return {"type": of, "message": message, "parent_tool_use_id": call, "session_id": "s", "uuid": key, **more}


def prompt(key, said="hi", **more):
    return line("user", key, said, isReplay=True, **more)


def reply(key, said="hello", call=None, **more):
    blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
    message = {"id": f"m{key}", "model": "claude-x", "stop_reason": None, **more.pop("message", {})}
    return line("assistant", key, blocks, call, message=message, **more)


def called(key, call_id, call=None, **arguments):
    return reply(key, [{"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}], call)


def result(key, call_id, call=None):
    return line("user", key, [{"type": "tool_result", "tool_use_id": call_id, "content": "ok"}], call)


def summary(key, **kept):
    boundary = {"type": "system", "subtype": "compact_boundary", "session_id": "s", "uuid": f"b{key}"}
    return {**boundary, "compact_metadata": kept}, line("user", key, "In short.", isSynthetic=True)


def said(conversation):
    return [message.get("content") for message in conversation.messages]


TURN = [INIT, called("a1", "t1"), result("u2", "t1"), reply("a3"), END]
AGENT = [called("a1", "t1"), called("a2", "t2", call="t1"), result("u3", "t2", "t1"), reply("a4", "found", "t1"), result("u5", "t1"), reply("a6")]  # fmt: skip
KEPT = {"preserved_messages": {"anchor_uuid": "u5", "uuids": ["u3", "a4"], "all_uuids": ["u3", "a4"]}}


@cases("lines, expected",
    ("a turn without its prompt", TURN, [(["", "ok", "hello"], "main", True)]),
    ("a turn with its prompt", [INIT, prompt("u0"), *TURN[1:]], [(["hi", "", "ok", "hello"], "main", False)]),
    ("a second turn without its prompt", [INIT, prompt("u0"), *TURN[1:], INIT, reply("a4", "more"), END], [(["hi", "", "ok", "hello", "more"], "main", True)]),
    ("blocks of one message", [INIT, prompt("u0"), reply("a1", "I", message={"id": "m"}), reply("a2", "look", message={"id": "m"})], [(["hi", [{"type": "text", "text": "I"}, {"type": "text", "text": "look"}]], "main", False)]),
    ("a sub-agent", [INIT, prompt("u0"), *AGENT], [(["hi", "", "ok", "hello"], "main", False), (["", "ok", "found"], "subagent", True)]),
    ("a compaction", [INIT, prompt("u1"), reply("a2"), *summary("u3"), prompt("u4", "go"), reply("a5", "gone")], [(["In short.", "go", "gone"], "compacted", False), (["hi", "hello"], "main", False)]),
    ("a compaction that keeps messages", [INIT, prompt("u1"), reply("a2"), prompt("u3", "go"), reply("a4", "gone"), *summary("u5", **KEPT), prompt("u6", "on"), reply("a7")], [(["In short.", "go", "gone", "on", "hello"], "compacted", False), (["hi", "hello", "go", "gone"], "main", False)]),
    ("a compaction that keeps messages of an earlier run", [INIT, *summary("u5", **KEPT), prompt("u6", "on"), reply("a7")], [(["In short.", "on", "hello"], "compacted", True)]),
    ("an error of the client", [INIT, prompt("u1"), reply("a2"), prompt("u3"), reply("a4", "API Error", message={"model": "<synthetic>"}, error="rate_limit")], [(["hi", "hello", "hi"], "main", False)]),
)  # fmt: skip
def test_what_is_printed_is_a_session(lines, expected):
    found = CLAUDE.conversations(lines)
    texts = [([each or "" for each in said(read)], read.origin.kind, read.origin.lacks_context) for read in found]
    assert texts == expected
    assert all(read.origin.session_id == "s" for read in found)


def test_a_sub_agent_is_linked_to_its_call():
    main, agent = CLAUDE.conversations([INIT, prompt("u0"), *AGENT])
    assert (agent.origin.call, agent.origin.parent) == ("t1", None)
    assert [each.logged_id for each in main.origin.replies] == ["a1", "a6"]


def test_a_missing_prompt_is_reported_with_the_first_reply():
    (found,) = CLAUDE.conversations(TURN)
    assert found.origin.findings == ((2, RepeatedViolation("missing-history")),)
    assert found.origin.unread == {"result success": 1, "system init": 1}


@cases("lines, fits",
    ("messages of a stream", TURN, True),
    ("without the beginning", TURN[1:], True),
    ("the beginning alone", TURN[:1], False),
    ("lines without a type", [*TURN, {"session_id": "s"}], False),
    ("requests with a session", [{"session_id": "s", "type": "user", "request": {}}], False),
)  # fmt: skip
def test_streams_are_recognised_by_their_messages(lines, fits):
    assert bool(CLAUDE.fits(lines)) is fits
    assert documents.version("claude_code", TURN) == "2.1.332"
