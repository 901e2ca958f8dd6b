"""One session whose truth is known, as a gateway logs it and as Claude Code and Codex keep it.

Each reply, thought, call and result has a word of its own, so that looking for words counts what a converter kept.
The session is rewound once, starts a sub-agent, and is compacted. A second session has a line that is cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Row = dict[str, Any]
Files = dict[str, list[bytes]]
"""Lines of files, by their paths."""

BEFORE, LEFT, SUB, AFTER, CUT = "before the compaction", "left branch", "sub-agent", "after the compaction", "cut file"
_ID, _CUT_ID = "7f6c0c1e-1f6e-4c43-9d8e-000000000001", "7f6c0c1e-1f6e-4c43-9d8e-000000000002"
_AGENT = "a1b2c3d"
_START = datetime(2026, 2, 3, 9, tzinfo=UTC)
_TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("Read", "Task")
]


class Turn(NamedTuple):
    """A prompt, or a reply with what it thought, called and was given."""

    part: str
    prompt: str = ""
    reply: str = ""
    thought: str = ""
    call: str = ""
    result: str = ""


SESSION = (
    Turn(BEFORE, prompt="PROMPT-A"),
    Turn(BEFORE, reply="REPLY-A", thought="THOUGHT-A", call="CALL-A", result="RESULT-A"),
    Turn(BEFORE, reply="REPLY-B"),
    Turn(LEFT, prompt="PROMPT-B"),
    Turn(LEFT, reply="REPLY-C"),
    Turn(BEFORE, prompt="PROMPT-C"),
    Turn(BEFORE, reply="REPLY-D", thought="THOUGHT-B", call="CALL-B", result="RESULT-B"),
    Turn(SUB, prompt="PROMPT-D"),
    Turn(SUB, reply="REPLY-E", thought="THOUGHT-C", call="CALL-C", result="RESULT-C"),
    Turn(SUB, reply="REPLY-F"),
    Turn(BEFORE, reply="REPLY-G"),
    Turn(AFTER, prompt="SUMMARY-A"),
    Turn(AFTER, prompt="PROMPT-E"),
    Turn(AFTER, reply="REPLY-H", thought="THOUGHT-D", call="CALL-D", result="RESULT-D"),
    Turn(AFTER, reply="REPLY-I"),
)
BROKEN = (
    Turn(CUT, prompt="PROMPT-X"),
    Turn(CUT, reply="REPLY-X"),
    Turn(CUT, prompt="PROMPT-Y"),
    Turn(CUT, reply="REPLY-Y"),
    Turn(CUT, prompt="PROMPT-Z"),
    Turn(CUT, reply="REPLY-Z"),
)
"""The session of which the line of one reply is cut."""
_LOST = "REPLY-Y"


def facts(parts: Iterable[str], members: Iterable[str]) -> list[str]:
    """The words of these members of the turns of these parts."""
    chosen = [turn for turn in (*SESSION, *BROKEN) if turn.part in set(parts) and turn.reply != _LOST]
    return [word for turn in chosen for member in members if (word := getattr(turn, member))]


def apart(words: set[str]) -> list[str]:
    """What a record joins, of which no request held both."""
    has = {part: bool(words & set(facts([part], ["reply"]))) for part in (BEFORE, LEFT, SUB, AFTER)}
    later = {"REPLY-D", "REPLY-G", *facts([AFTER], ["reply"])}  # no request held these and the branch that was left
    joined = {
        "a sub-agent": has[SUB] and (has[BEFORE] or has[AFTER]),
        "an abandoned branch": has[LEFT] and bool(words & later),
        "both sides of a compaction": has[BEFORE] and has[AFTER],
    }
    return [name for name, is_so in joined.items() if is_so]


class _Clock:
    """Tells times a second apart."""

    def __init__(self) -> None:
        self._seconds = 0

    def next(self) -> str:
        self._seconds += 1
        return (_START + timedelta(seconds=self._seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _lines(rows: Iterable[Row], told: str = "") -> list[bytes]:
    """Rows as lines; the one that tells the reply that is lost, in its member ``told`` or anywhere, is cut."""
    found = []
    for row in rows:
        line = json.dumps(row, separators=(",", ":")).encode()
        is_cut = _LOST in json.dumps(row.get(told, row))
        found.append(line[: len(line) * 3 // 5] if is_cut else line)
    return found


# Claude Code: a line for each block, with its parent


def claude_code(*, cut: bool) -> Files:
    """The file of the session, and that of its sub-agent in a folder beside it; or the file with the cut line."""
    folder = ".claude/projects/-home-nora-tides"
    if cut:
        return {f"{folder}/{_CUT_ID}.jsonl": _lines(_claude_rows(_CUT_ID, BROKEN))}
    main = [turn for turn in SESSION if turn.part != SUB]
    sub = [turn for turn in SESSION if turn.part == SUB]
    return {
        f"{folder}/{_ID}.jsonl": _lines(_claude_rows(_ID, main)),
        f"{folder}/{_ID}/subagents/agent-{_AGENT}.jsonl": _lines(_claude_rows(_ID, sub, agent=_AGENT)),
    }


def _claude_rows(session: str, turns: Iterable[Turn], agent: str = "") -> Iterator[Row]:
    clock, parent, fork = _Clock(), None, None
    aside = {"isSidechain": bool(agent), **({"agentId": agent} if agent else {})}
    head = {**aside, "userType": "external", "cwd": "/home/nora/tides", "sessionId": session, "version": "2.1.89"}
    before = BEFORE
    for number, turn in enumerate(turns):
        if turn.part == LEFT and before == BEFORE:
            fork = parent
        elif turn.part == BEFORE and before == LEFT:
            parent = fork
        elif turn.part == AFTER and before == BEFORE:
            parent = f"{session}-boundary"
            told = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
            yield {**head, **told, "parentUuid": None, "uuid": parent, "timestamp": clock.next()}
        before = turn.part
        for at, row in enumerate(_claude_turn(turn, f"{session[-3:]}{agent}{number}")):
            uuid = f"{session}-{agent}{number}-{at}"
            yield {"parentUuid": parent, **head, **row, "uuid": uuid, "timestamp": clock.next()}
            parent = uuid


def _claude_turn(turn: Turn, name: str) -> Iterator[Row]:
    if turn.prompt:
        summary = {"isCompactSummary": True} if turn.prompt.startswith("SUMMARY") else {}
        yield {"type": "user", "message": {"role": "user", "content": _said(turn.prompt)}, **summary}
        return
    blocks: list[Row] = []
    if turn.thought:
        blocks.append({"type": "thinking", "thinking": _said(turn.thought), "signature": "c2lnbmVk"})
    blocks.append({"type": "text", "text": _said(turn.reply)})
    if turn.call:
        asked = {"description": _said(turn.call)}
        if _tool(turn) == "Task":
            asked |= {"prompt": _said(*facts([SUB], ["prompt"])), "subagent_type": "Explore"}
        blocks.append({"type": "tool_use", "id": f"toolu_{name}", "name": _tool(turn), "input": asked})
    usage = {"input_tokens": 4, "output_tokens": 20}
    body = {"model": "claude-example-5", "id": f"msg_{name}", "type": "message", "role": "assistant", "usage": usage}
    for block in blocks:
        yield {"type": "assistant", "message": {**body, "content": [block]}, "requestId": f"req_{name}"}
    if turn.result:
        given = {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": _said(turn.result)}
        beside = {"toolUseResult": {"status": "completed", "agentId": _AGENT}} if _tool(turn) == "Task" else {}
        yield {"type": "user", "message": {"role": "user", "content": [given]}, **beside}


# Codex: items of OpenAI Responses, and events that repeat them


def codex(*, cut: bool) -> Files:
    """A rollout; the sub-agent is left out, since Codex writes another session for it."""
    session = _CUT_ID if cut else _ID
    turns = BROKEN if cut else [turn for turn in SESSION if turn.part != SUB]
    path = f".codex/sessions/2026/02/03/rollout-2026-02-03T09-00-00-{session}.jsonl"
    return {path: _lines(_codex_rows(session, turns))}


def _codex_rows(session: str, turns: Iterable[Turn]) -> Iterator[Row]:
    clock = _Clock()
    for of, payload in _codex_items(session, turns):
        yield {"timestamp": clock.next(), "type": of, "payload": payload}


def _codex_items(session: str, turns: Iterable[Turn]) -> Iterator[tuple[str, Row]]:
    told = {"cwd": "/srv/kiln", "originator": "codex_cli_rs", "cli_version": "0.139.0", "source": "cli"}
    prompt = {"base_instructions": {"text": "You are a coding agent."}}
    yield "session_meta", {"id": session, "timestamp": "2026-02-03T09:00:00.000Z", **told, **prompt}
    yield "turn_context", {"turn_id": "t1", "cwd": "/srv/kiln", "model": "example-codex"}
    before = BEFORE
    for number, turn in enumerate(turns):
        if turn.part == BEFORE and before == LEFT:
            yield "event_msg", {"type": "thread_rolled_back", "num_turns": 1}
        before = turn.part
        if turn.prompt.startswith("SUMMARY"):
            yield "compacted", {"message": "", "replacement_history": [_item("user", turn.prompt)]}
            yield "event_msg", {"type": "context_compacted"}
        elif turn.prompt:
            yield "event_msg", {"type": "task_started", "turn_id": f"t{number}"}
            yield "response_item", _item("user", turn.prompt)
            yield "event_msg", {"type": "user_message", "message": _said(turn.prompt)}
        else:
            yield from _codex_reply(turn, f"call_{number}")


def _codex_reply(turn: Turn, call_id: str) -> Iterator[tuple[str, Row]]:
    if turn.thought:
        yield "event_msg", {"type": "agent_reasoning", "text": _said(turn.thought)}
        summary = [{"type": "summary_text", "text": _said(turn.thought)}]
        yield "response_item", {"type": "reasoning", "summary": summary, "encrypted_content": "c2VhbGVk"}
    yield "event_msg", {"type": "agent_message", "message": _said(turn.reply)}
    yield "response_item", _item("assistant", turn.reply)
    if turn.call:
        arguments = json.dumps({"command": f"echo {turn.call}", "workdir": "/srv/kiln"})
        yield (
            "response_item",
            {"type": "function_call", "name": "shell_command", "arguments": arguments, "call_id": call_id},
        )
        output = f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\n{_said(turn.result)}"
        yield "response_item", {"type": "function_call_output", "call_id": call_id, "output": output}


def _item(role: str, word: str) -> Row:
    of = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": of, "text": _said(word)}]}


# A gateway: a line for each request, which has the whole history, and its response


def plain(*, cut: bool) -> Files:
    """A file a session; requests of the sub-agent stand among those of the session."""
    session = "tides-0002" if cut else "tides-0001"
    rows = _plain_rows(session, BROKEN if cut else SESSION)
    return {f"logs/2026-02-03/{session}.jsonl": _lines(rows, told="response")}


def _plain_rows(session: str, turns: Iterable[Turn]) -> Iterator[Row]:
    clock = _Clock()
    histories: dict[str, list[Row]] = {part: [] for part in (BEFORE, LEFT, SUB, AFTER, CUT)}
    for number, turn in enumerate(turns):
        history = histories[turn.part]
        if turn.part == LEFT and not history:
            history += histories[BEFORE]
        if not history:
            history.append(
                {"role": "system", "content": f"You are an agent, {'a sub-agent' if turn.part == SUB else 'main'}."}
            )
        if turn.prompt:
            history.append({"role": "user", "content": _said(turn.prompt)})
            continue
        reply = _plain_reply(turn, f"call_{number}")
        request = {"model": "example", "messages": list(history), "tools": _TOOLS}
        choice = {"index": 0, "message": reply, "finish_reason": "tool_calls" if turn.call else "stop"}
        response = {"id": f"r-{session}-{number}", "model": "example", "choices": [choice]}
        yield {"timestamp": clock.next(), "session_id": session, "request": request, "response": response}
        history.append({name: value for name, value in reply.items() if name != "reasoning_content"})
        if turn.result:
            history.append({"role": "tool", "tool_call_id": f"call_{number}", "content": _said(turn.result)})


def _plain_reply(turn: Turn, call_id: str) -> Row:
    reply: Row = {"role": "assistant", "content": _said(turn.reply)}
    if turn.thought:
        reply["reasoning_content"] = _said(turn.thought)
    if turn.call:
        called = {"name": _tool(turn), "arguments": json.dumps({"prompt": _said(turn.call)})}
        reply["tool_calls"] = [{"id": call_id, "type": "function", "function": called}]
    return reply


def _tool(turn: Turn) -> str:
    return "Task" if turn.call == "CALL-B" else "Read"


def _said(word: str) -> str:
    return f"The word is {word}, and nothing else."


KNOWN: dict[str, Callable[..., Files]] = {"plain": plain, "claude_code": claude_code, "codex": codex}
"""How the session is kept, by the name of the logs."""
PARTS: dict[str, tuple[str, ...]] = {
    "plain": (BEFORE, LEFT, SUB, AFTER),
    "claude_code": (BEFORE, LEFT, SUB, AFTER),
    "codex": (BEFORE, LEFT, AFTER),
}
