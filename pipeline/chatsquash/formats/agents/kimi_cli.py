"""Kimi CLI's contexts: messages of OpenAI chat with parts for thoughts, the system prompt before them."""

from __future__ import annotations

import re

from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.agents.kimi_code import split_thoughts
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, load_conversation, session_folder
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.values import Object, objects, string, texts

NAME = "kimi_cli"
HOLDS_TOOLS = False
MEMBERS = ("role",)
KEPT = (
    "${KIMI_SHARE_DIR:-~/.kimi}/sessions/*/*/context.jsonl",
    "${KIMI_SHARE_DIR:-~/.kimi}/sessions/*/*/subagents/*/context.jsonl",
)

_ROLES = ("system", "user", "assistant", "tool")
_OWN = ("_system_prompt", "_checkpoint", "_usage")
_ROW = ("role", "content", "tool_calls", "tool_call_id", "name", "partial")
_CONTEXT = re.compile(r"(?:^|/)context(?:_sub)?(?:_\d+)?\.jsonl$")
_ERROR = "<system>ERROR"


def fits(values: list[Json]) -> str | None:
    """Check for rows with roles, some of which only Kimi has, or with parts for thoughts."""
    rows = objects(values)
    own = sum(row.get("role") in _OWN for row in rows)
    thoughts = sum(_thinks(row) for row in rows)
    others = len(rows) < len(values) or any(row.get("role") not in (*_ROLES, *_OWN) for row in rows)
    if not own and (others or not thoughts):
        return None
    return f"roles such as _checkpoint, or parts of the type think, in {own + thoughts} rows"


def _thinks(row: Object) -> bool:
    return any(part.get("type") == "think" for part in objects(row.get("content")))


def beside(name: str) -> str | None:
    """Return the file that describes a sub-agent."""
    return "meta.json" if name == "context.jsonl" else None


def owner(path: str) -> str | None:
    """Return what the events of a session, or a list of prompts, belongs to."""
    folder, _, name = path.rpartition("/")
    if name == "wire.jsonl":
        return f"{folder}/context.jsonl"
    above, _, last = folder.rpartition("/")
    return f"{above}/sessions" if last == "user-history" else None


def session(path: str, origin: Origin) -> str | None:
    """Return the id of a session, the name of its folder; sub-agents have folders below it."""
    del origin
    return session_folder(path, "subagents") if _CONTEXT.search(path) else None


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return what the model saw; ``meta`` describes a sub-agent.

    Neither the model nor times nor the definitions of tools are kept in it.
    """
    unread, turns = Unread(), list[LoggedTurn]()
    for place, line, row in entries(values, lines):
        role = string(row, "role")
        if role == "_system_prompt":
            turn: Object = {"role": "system", "content": row.get("content")}
            turns.append(LoggedTurn(f"entry {place}", turn, Evidence(line)))
        elif role not in _ROLES:
            unread.one(f"row {role}")
        else:
            unread.rest("row", row, *_ROW)
            turn = _turn(row)
            turns.append(LoggedTurn(f"entry {place}", turn, Evidence(line, is_sampled=role == "assistant")))
    if not turns:
        return []
    inner: Object = {"kind": "subagent"} if isinstance(meta, dict) and text(meta.get("agent_id")) else {}
    return with_unread([load_conversation(openai_chat, turns, **inner)], unread)


def _turn(row: Object) -> Object:
    """Return a row as a message of OpenAI chat."""
    content = row.get("content")
    parts, thoughts = split_thoughts(content)
    turn = {name: row[name] for name in ("role", "tool_call_id", "name") if row.get(name) is not None}
    turn["content"] = (parts or None) if isinstance(content, list) else content
    if calls := objects(row.get("tool_calls")):
        turn["tool_calls"] = [_call(call) for call in calls]
    if thoughts and turn.get("role") == "assistant":
        turn["reasoning_content"] = "\n\n".join(thoughts)
    if turn.get("role") == "tool" and any(said.startswith(_ERROR) for said in texts(turn["content"])[:1]):
        turn[PRIVATE] = Private({"outcome": "failed"})
    return turn


def _call(call: Object) -> Object:
    function = call.get("function")
    if isinstance(function, dict) and function.get("arguments") is None:
        function = {**function, "arguments": "{}"}
    return {"id": call.get("id"), "type": "function", "function": function}
