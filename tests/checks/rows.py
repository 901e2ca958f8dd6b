"""Short ways to write a conversation, and what a row of a table of checks is."""

from __future__ import annotations

from typing import Any, NamedTuple

from chatsquash.checks import examine, rules
from chatsquash.checks.registry import View
from chatsquash.core.model import Conversation


class Row(NamedTuple):
    code: str
    """The rule that the row is about."""
    sentence: str
    conversation: Conversation
    findings: str = ""
    """All that is found, by any rule of the kind: ``error 2`` is of this rule, in message 2; others have a code first."""

    @property
    def expected(self) -> list[tuple[str, str, int | None]]:
        """Code, severity, index of the message."""
        return [_fact(self.code, each.split()) for each in self.findings.split(",") if each]


def _fact(code: str, words: list[str]) -> tuple[str, str, int | None]:
    at = int(words.pop()) if words[-1].isdecimal() else None
    return (words[0] if len(words) > 1 else code), words[-1], at


def tool(name: str = "grep", **changes: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}}
    return {"name": name, "description": "d", "parameters": parameters, **changes}


def call(call_id: Any = "c1", name: Any = "grep", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def user(content: Any = "hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any = "ok", *calls: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **fields}


def result(content: Any = "done", call_id: Any = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def talk(*messages: Any, tools: Any = None) -> Conversation:
    return Conversation(list(messages), [tool()] if tools is None else tools)


def found(row: Row) -> list[tuple[str, str, int | None]]:
    kind = rules()[row.code].kind
    kinds = (kind,) if kind in ("inlined", "arguments") else ("tools", "record", "native")
    return [(fact.code, fact.severity, fact.at) for fact in examine(View(row.conversation), *kinds)]


def names(rows: list[Row]) -> list[str]:
    return [f"{row.code}: {row.sentence}" for row in rows]


def part(text):
    return {"type": "text", "text": text}
