"""The output of ``claude --output-format stream-json``: the lines of a session file, mostly without prompts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from chatsquash.core.model import Conversation, Json, RepeatedViolation
from chatsquash.formats.agents.claude_code.rows import BOUNDARY, SYNTHETIC
from chatsquash.formats.evidence import origin_of, with_origin
from chatsquash.formats.values import Object, at, members, string

MEMBER = "parent_tool_use_id"
"""The member that identifies message lines in a stream."""
_Chain = tuple[str, str]
"""The id of a session, and the id of the call that started a sub-agent."""


def find_evidence(values: list[Json]) -> str | None:
    """Check for messages with a session id in a file whose lines all have a type."""
    count = sum(map(_is_message, values))
    is_stream = count and all(isinstance(at(each, "type"), str) for each in values)
    return f"messages of a stream in {count} of {len(values)} lines" if is_stream else None


def _is_message(line: Json) -> bool:
    is_of = string(line, "type") in ("user", "assistant") and isinstance(at(line, "message"), dict)
    return is_of and isinstance(at(line, "session_id"), str) and isinstance(line, dict) and MEMBER in line


def is_stream(values: list[Json]) -> bool:
    """Return whether a file is a stream, based on the first line with a distinctive member."""
    for each in values:
        if isinstance(each, dict) and (MEMBER in each or "sessionId" in each):
            return "sessionId" not in each
    return False


def as_lines(values: list[Json]) -> list[Json]:
    """Convert the lines to the form of session files, in which each message follows the previous message."""
    return [*_lines(values)]


def _lines(values: list[Json]) -> Iterator[Json]:
    last: dict[_Chain, str] = {}
    compacted: set[_Chain] = set()
    for place, value in enumerate(values, 1):
        if not isinstance(value, dict):
            yield value
            continue
        line = {name: member for name, member in value.items() if name not in ("session_id", MEMBER)}
        chain = string(value, "session_id"), string(value, MEMBER)
        line["sessionId"] = chain[0]
        if _is_message(value):
            line |= {"uuid": string(value, "uuid") or f"line {place}", "parentUuid": last.get(chain)}
            line |= {"isSidechain": True, "agentId": chain[1]} if chain[1] else {}
            line |= _flags(value, is_summary=chain in compacted)
            compacted.discard(chain)
            last[chain] = line["uuid"]
        elif string(value, "subtype") == BOUNDARY and string(value, "uuid"):
            line |= {"parentUuid": None, "compactMetadata": _metadata(members(line.pop("compact_metadata", None)))}
            compacted.add(chain)
            last[chain] = line["uuid"]
        else:
            # Other lines must not become part of the tree.
            line.pop("uuid", None)
        yield line


def _flags(value: Object, *, is_summary: bool) -> Object:
    """Return the flags of a message; the first message after a compaction is the summary."""
    if string(value, "type") == "assistant":
        return {"isApiErrorMessage": "error" in value} if at(value, "message", "model") == SYNTHETIC else {}
    return {"isCompactSummary": True} if is_summary else {"isMeta": True} if value.get("isSynthetic") is True else {}


def _metadata(value: Object) -> Object:
    preserved, segment = members(value.get("preserved_messages")), members(value.get("preserved_segment"))
    names = {"anchor_uuid": "anchorUuid", "all_uuids": "allUuids", "head_uuid": "headUuid", "tail_uuid": "tailUuid"}
    messages = {names.get(name, name): member for name, member in preserved.items()}
    ends = {names.get(name, name): member for name, member in segment.items()}
    return {**({"preservedMessages": messages} if messages else {}), **({"preservedSegment": ends} if ends else {})}


def mark_context(conversations: list[Conversation], values: list[Json]) -> list[Conversation]:
    """Link sub-agents to their calls, and mark conversations with missing prompts."""
    # Claude Code prints prompts only with ``--replay-user-messages``.
    calls = {string(each, MEMBER) for each in values} - {""}
    printed_ids = {string(each, "uuid") for each in values if _is_message(each)}
    preserved = (at(each, "compact_metadata", "preserved_messages", "uuids") for each in values)
    lacks_kept = any(isinstance(keys, list) and not printed_ids.issuperset(map(str, keys)) for keys in preserved)
    return [_mark_replies(each, calls, lacks_kept=lacks_kept) for each in conversations]


def _mark_replies(conversation: Conversation, calls: set[str], *, lacks_kept: bool) -> Conversation:
    origin = origin_of(conversation)
    if origin.kind == "subagent" and origin.id in calls:
        conversation = with_origin(conversation, call=origin.id, parent=None)
    roles = ["", *(message["role"] for message in conversation.messages if message["role"] != "system")]
    is_missing = any(before in ("", "assistant") and role == "assistant" for before, role in pairwise(roles))
    if not is_missing and not (lacks_kept and origin.kind == "compacted"):
        return conversation
    line = next((reply.line for reply in origin.replies), None)
    findings = (*origin.findings, (line, RepeatedViolation("missing-history")))
    return with_origin(conversation, lacks_context=True, findings=findings)
