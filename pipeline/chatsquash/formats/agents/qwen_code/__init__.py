"""Qwen Code's session files: lines that form a tree, each with a Gemini turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents.qwen_code.retries import Retries
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, moment, origin_of, with_origin
from chatsquash.formats.retention import never
from chatsquash.formats.threads import (
    ThreadEntry,
    last_named,
    link_entries,
    load_paths,
    paths,
    text,
    with_unread,
)
from chatsquash.formats.values import Object, as_list, at, count, objects, string, total

if TYPE_CHECKING:
    from chatsquash.formats.providers import gemini
else:
    # Detection imports this module for all files with the member.
    gemini = LazyModule("chatsquash.formats.providers.gemini")

NAME = "qwen_code"
HAS_TOOLS = False
MEMBERS = ("sessionId",)
LOCATIONS = ("${QWEN_DATA_DIR:-~/.qwen}/projects/*/chats/*.jsonl",)
RETENTION = never("Qwen Code", "@qwen-code/qwen-code 0.24.4 on npm")

_TYPES = ("user", "assistant", "tool_result")
_LINE = (
    *("uuid", "parentUuid", "sessionId", "timestamp", "type", "cwd", "message", "model", "usageMetadata"),
    *("isSidechain", "version", "gitBranch", "toolCallResult", "subtype", "agentId"),
)
_OWN = frozenset(("uuid", "parentUuid", "sessionId", "type"))
"""The members that every line has."""
_LATE = 20
"""The maximum number of lines after a summary that repeat the end of its history."""
_SUMMARY = "chat_compression"
_BOOT = "agent_bootstrap"


def fits(values: list[Json]) -> str | None:
    """Check for lines with an id, a parent and a session, including lines with message parts or a history."""
    with_parts = [line for line in lines_with_parts(values) if _OWN.issubset(line)]
    if not with_parts and not any(map(_is_history, objects(values))):
        return None
    return f"uuid, parentUuid and message.parts in {len(with_parts)} of {len(values)} lines"


def _is_history(line: Object) -> bool:
    return "subtype" in line and line["subtype"] in (_SUMMARY, _BOOT) and _OWN.issubset(line)


def lines_with_parts(values: list[Json]) -> list[Object]:
    """Return the lines that have a message with parts."""
    return [
        line
        for line in values
        if type(line) is dict
        and "message" in line
        and type(message := line["message"]) is dict
        and "parts" in message
        and type(message["parts"]) is list
    ]


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation on the path to the last line, then compressed parts, then branches.

    The system prompt and the tools are stored only for sub-agents that start with a history.
    """
    unread = Unread()
    rows = list(entries(values, lines))
    if not rows:
        return []
    steps = [_step(f"entry {place}", line, value, values[place : place + _LATE], unread) for place, line, value in rows]
    names = [text(value.get("uuid")) for value in values]
    before = link_entries(names, [text(value.get("parentUuid")) for value in values])
    retries = Retries(steps, values, before)
    selected_paths = retries.apply(
        paths(before, last_named(names), [each.is_sampled for each in steps], unread), unread
    )
    inner = any(value.get("isSidechain") is True or text(value.get("agentId")) for value in values[:1])
    session: Object = {"session_id": next((name for value in values if (name := text(value.get("sessionId")))), None)}
    converted = load_paths(gemini, retries.steps, selected_paths, session, _tools(values))
    if inner:
        converted = [
            with_origin(each, kind="subagent") if origin_of(each).kind == "main" else each for each in converted
        ]
    return with_unread(converted, unread)


def _repeat_length(turns: list[Object], later: list[Object]) -> int:
    """Return how many turns at the end of a summary's history are repeated by the lines after it."""
    # A summary is written late, after lines that its history already contains.
    parts = [at(line, "message", "parts") for line in later if string(line, "type") in _TYPES]
    ends = [at(turn, "parts") for turn in turns[-_LATE:]]
    return next((length for length in range(len(ends), 0, -1) if ends[-length:] == parts[:length]), 0)


def _step(place: str, line: int, value: Object, later: list[Object], unread: Unread) -> ThreadEntry:
    kind, subtype = string(value, "type"), string(value, "subtype")
    evidence = Evidence(line, moment(value.get("timestamp")))
    history = {_SUMMARY: "compressedHistory", _BOOT: "history"}.get(subtype)
    if kind == "system" and history:
        turns = objects(at(value, "systemPayload", history))
        turns = turns[: len(turns) - _repeat_length(turns, later)]
        system = _system(value)
        turns_logged = tuple(LoggedTurn(place, turn, evidence) for turn in [*system, *turns])
        return ThreadEntry(turns_logged, is_summary=True)
    if kind not in _TYPES:
        unread.count(f"line of type {kind}" + (f" {subtype}" if subtype else ""))
        return ThreadEntry()
    unread.count_members(f"line {kind}", value, *_LINE)
    turn = value.get("message")
    if not isinstance(turn, dict) or not as_list(turn.get("parts")):
        unread.count(f"line {kind} without parts")
        return ThreadEntry()
    is_sampled = kind == "assistant"
    known = _reply_evidence(evidence, value) if is_sampled else evidence
    return ThreadEntry((LoggedTurn(place, turn, known),), is_sampled=is_sampled)


def _system(value: Object) -> list[Object]:
    """Return the system instruction of a sub-agent's history as a turn, or an empty list."""
    instruction = at(value, "systemPayload", "systemInstruction")
    parts = [{"text": instruction}] if text(instruction) else at(instruction, "parts")
    return [{"role": "system", "parts": parts}] if parts else []


def _tools(values: list[Object]) -> list[Json]:
    """Return the tools of a sub-agent's history, or an empty list."""
    definitions = next((tools for value in values if (tools := at(value, "systemPayload", "tools"))), None)
    return list(gemini.tools(definitions).functions) if isinstance(definitions, list) else []


def _reply_evidence(evidence: Evidence, value: Object) -> Evidence:
    usage = value.get("usageMetadata")
    return replace(
        evidence,
        is_sampled=True,
        model=text(value.get("model")),
        prompt_tokens=count(at(usage, "promptTokenCount")),
        completion_tokens=total(usage, "candidatesTokenCount", "thoughtsTokenCount"),
    )
