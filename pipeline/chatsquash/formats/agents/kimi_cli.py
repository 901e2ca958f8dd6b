"""Kimi CLI's contexts: the system prompt, then OpenAI chat messages with additional parts for thoughts.

When a context is compacted, reverted or cleared, ``context.jsonl`` is renamed to ``context_N.jsonl``, and a new file
begins with copies of the remaining messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation, ConversationKind, Json, Origin
from chatsquash.core.outcome import EACH
from chatsquash.formats.agents.kimi_code import split_thoughts
from chatsquash.formats.evidence import (
    Evidence,
    LoggedTurn,
    Unread,
    entries,
    line_numbers,
    load_conversation,
    session_folder,
)
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import never
from chatsquash.formats.threads import text, with_unread
from chatsquash.formats.truncation import as_truncated
from chatsquash.formats.values import Object, as_list, at, objects, string, texts

NAME = "kimi_cli"
HAS_TOOLS = False
MEMBERS = ("role",)
LOCATIONS = (
    "${KIMI_SHARE_DIR:-~/.kimi}/sessions/*/*/context.jsonl",
    "${KIMI_SHARE_DIR:-~/.kimi}/sessions/*/*/subagents/*/context.jsonl",
)
RETENTION = never("Kimi CLI", "kimi-cli 1.52.0 on PyPI")

_ROLES = ("system", "user", "assistant", "tool")
_OWN = ("_system_prompt", "_checkpoint", "_usage")
_ROW = ("role", "content", "tool_calls", "tool_call_id", "name", "partial")
_NAME = "context.jsonl"
_PARTS = re.compile(r"context_\d+\.jsonl|wire\.jsonl|state\.json")
_CONTEXT = re.compile(r"(?:^|/)context(?:_sub)?(?:_\d+)?\.jsonl$")
_ERROR = "<system>ERROR"


def fits(values: list[Json]) -> str | None:
    """Check for rows with roles specific to Kimi, or with parts for thoughts."""
    rows = objects(values)
    own = sum(row.get("role") in _OWN for row in rows)
    thoughts = sum(_has_thoughts(row) for row in rows)
    others = len(rows) < len(values) or any(row.get("role") not in (*_ROLES, *_OWN) for row in rows)
    if not own and (others or not thoughts):
        return None
    return f"roles such as _checkpoint, or parts of type think, in {own + thoughts} rows"


def _has_thoughts(row: Object) -> bool:
    return any(part.get("type") == "think" for part in objects(row.get("content")))


def companions(name: str) -> str | None:
    """Return globs for the description of a sub-agent and for the earlier contexts, in order."""
    return f"meta.json{EACH}context_[0-9]*.jsonl" if name == _NAME else None


def owner(path: str) -> str | None:
    """Return the context file or the session folder that another Kimi CLI file belongs to."""
    folder, slash, name = path.rpartition("/")
    if _PARTS.fullmatch(name):
        return f"{folder}{slash}{_NAME}"
    above, _, last = folder.rpartition("/")
    return f"{above}/sessions" if last in ("user-history", "telemetry") else None


def session(path: str, origin: Origin) -> str | None:
    """Return the name of the session's folder, which is its id; the folders of sub-agents are inside it."""
    del origin
    return session_folder(path, "subagents") if _CONTEXT.search(path) else None


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return the conversation at the end, then the earlier contexts, last first.

    ``meta`` contains the earlier contexts and the description of a sub-agent.  Their line numbers follow those of the
    file.  The model, times and tool definitions are not stored.
    """
    unread = Unread()
    contexts, count = list[_Context](), max(line_numbers(values, lines), default=0)
    for rows in (each for each in as_list(meta) if isinstance(each, list) and fits(each)):
        contexts.append(_Context([*entries(rows, [*range(count + 1, count + len(rows) + 1)])]))
        count += len(rows)
    contexts.append(_Context([*entries(values, lines)]))
    for before, after in pairwise(contexts):
        after.follow(before)
    has_usage = any(context.counted_replies for context in contexts)
    is_inner = any(text(at(each, "agent_id")) for each in as_list(meta))
    converted = list[Conversation]()
    for number, context in reversed([*enumerate(contexts, 1)]):
        kind = "subagent" if is_inner and context.kind == "main" else context.kind
        known: Object = {"kind": kind}
        if len(contexts) > 1:
            parent = contexts.index(context.parent) + 1 if context.parent else None
            known |= {"id": str(number), "parent": str(parent) if parent else None}
        turns = context.turns(unread, has_usage=has_usage)
        if turns and (context is contexts[-1] or any(each.evidence.is_sampled for each in turns)):
            converted.append(load_conversation(openai_chat, turns, **known))
    return with_unread(converted, unread)


class _Context:
    """The rows of a context."""

    def __init__(self, rows: list[tuple[int, int, Object]]) -> None:
        self.rows = rows
        self.kind: ConversationKind = "main"
        self.parent: _Context | None = None
        roles = [row.get("role") for _, _, row in rows]
        first = next((at for at, (_, _, row) in enumerate(rows) if _is_later_checkpoint(row)), None)
        end = roles.index("_usage") if first is None and "_usage" in roles else first
        self.head = [row for _, _, row in rows[:end] if row.get("role") in _ROLES]
        """The messages before the first request."""
        self.copied = 0 if first is None else len(self.head)
        """The number of messages at the beginning that were copied from another context."""
        self.counted_replies = set(_counted_rows(roles))
        """The rows of replies that a token count follows."""

    @property
    def messages(self) -> list[Object]:
        """The messages, without the system prompt."""
        return [row for _, _, row in self.rows if row.get("role") in _ROLES]

    def follow(self, before: _Context) -> None:
        """Detect whether the previous context was compacted, reverted to an earlier message, or cleared."""
        earlier, own = before.messages, self.messages
        shared_count = next((at for at, pair in enumerate(zip(earlier, own, strict=False)) if pair[0] != pair[1]), None)
        shared_count = min(len(earlier), len(own)) if shared_count is None else shared_count
        kept_counts = range(len(self.head) - 1, 0, -1)
        if shared_count:
            self.kind, self.parent, self.copied = before.kind, before.parent, before.copied
            before.kind, before.parent, before.copied = "branch", self, shared_count
        elif any(earlier[-count:] == self.head[1 : count + 1] for count in kept_counts):
            self.kind, self.parent = "compacted", before

    def turns(self, unread: Unread, *, has_usage: bool) -> list[LoggedTurn]:
        """Return the turns; if any reply has a token count, replies without a token count are marked as truncated."""
        turns, number = list[LoggedTurn](), 0
        for index, (place, line, row) in enumerate(self.rows):
            role = string(row, "role")
            if role == "_system_prompt":
                turn: Object = {"role": "system", "content": row.get("content")}
                turns.append(LoggedTurn(f"entry {place}", turn, Evidence(line)))
                continue
            if role not in _ROLES:
                unread.count(f"row {role}")
                continue
            unread.count_members("row", row, *_ROW)
            number += 1
            is_sampled = role == "assistant" and number > self.copied
            logged_turn = LoggedTurn(f"entry {place}", _turn(row), Evidence(line, is_sampled=is_sampled))
            turns.append(
                as_truncated(logged_turn)
                if is_sampled and has_usage and index not in self.counted_replies
                else logged_turn
            )
        return turns


def _counted_rows(roles: list[Json]) -> Iterator[int]:
    """Yield the places of replies that a token count follows before the next prompt, reply or checkpoint."""
    reply = -1
    for place, role in enumerate(roles):
        if role == "_usage" and reply >= 0:
            yield reply
        if role in ("assistant", "user", "_checkpoint", "_usage"):
            reply = place if role == "assistant" else -1


def _is_later_checkpoint(row: Object) -> bool:
    """Return whether a row is a checkpoint after the first request."""
    # Checkpoint 0 precedes the first request.
    return row.get("role") == "_checkpoint" and row.get("id") != 0


def _turn(row: Object) -> Object:
    """Convert a row to an OpenAI chat message."""
    content = row.get("content")
    parts, thoughts = split_thoughts(content)
    turn = {name: row[name] for name in ("role", "tool_call_id", "name") if row.get(name) is not None}
    turn["content"] = (parts or None) if isinstance(content, list) else content
    if calls := objects(row.get("tool_calls")):
        turn["tool_calls"] = [_call(call) for call in calls]
    if thoughts and turn.get("role") == "assistant":
        turn["reasoning_content"] = "\n\n".join(thoughts)
    if turn.get("role") == "tool" and any(words.startswith(_ERROR) for words in texts(turn["content"])[:1]):
        # Rows have no member for failures; the text begins with an error instead.
        turn[PRIVATE] = Private({"outcome": "failed"})
    return turn


def _call(call: Object) -> Object:
    function = call.get("function")
    if isinstance(function, dict) and function.get("arguments") is None:
        function = {**function, "arguments": "{}"}
    return {"id": call.get("id"), "type": "function", "function": function}
