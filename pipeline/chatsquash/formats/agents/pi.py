"""Pi's session files: lines that form a tree of messages, compactions and branch summaries."""

from __future__ import annotations

import re

from msgspec.structs import replace

from chatsquash.core.model import Conversation, Json
from chatsquash.core.times import Moment
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries_after_header, moment, span
from chatsquash.formats.exports import sts
from chatsquash.formats.providers import anthropic
from chatsquash.formats.retention import never
from chatsquash.formats.threads import (
    ThreadEntry,
    entries_with_turns_after,
    first_places,
    last_named,
    link_entries,
    load_paths,
    paths,
    text,
    with_unread,
    without_entries,
)
from chatsquash.formats.truncation import TRUNCATED, has_usage, mark_without_usage, models_with_usage
from chatsquash.formats.values import (
    Object,
    as_list,
    at,
    compact,
    count,
    objects,
    string,
    texts,
    total,
    without,
)

NAME = "pi"
HAS_TOOLS = False
MEMBERS = ("cwd",)
TYPES = ("session",)
LOCATIONS = (
    "${PI_CODING_AGENT_SESSION_DIR:-~/.pi/agent/sessions}/**/*.jsonl",
    "~/.omp/agent/sessions/**/*.jsonl",
)
RETENTION = never("Pi", "@mariozechner/pi-coding-agent 0.73.1 on npm")

_HEADER = ("type", "version", "id", "timestamp", "parentSession", "cwd")
_OPENCLAW = ("openclaw", "model-snapshot")
"""The type prefixes of entries that only OpenClaw writes."""
_PREFIX = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,40}\] ")
"""The time that OpenClaw inserts before the text of user messages."""
_FIRST = 200


def fits(values: list[Json]) -> str | None:
    """Check for the header of a session that was not written by OpenClaw."""
    is_of_pi = is_session(values) and not is_of_openclaw(values) and not sts.fits(values)
    return "a line of type session with cwd" if is_of_pi else None


def is_session(values: list[Json]) -> bool:
    """Return whether a line is the header of a session; lines of unknown types may precede it."""
    return any(isinstance(line, dict) and _is_header(line) for line in values)


def _is_header(line: Object) -> bool:
    return line.get("type") == "session" and isinstance(line.get("id"), str) and isinstance(line.get("cwd"), str)


def is_of_openclaw(values: list[Json]) -> bool:
    """Return whether OpenClaw wrote any of the first lines."""
    return any(map(_is_of_openclaw, objects(values[1:_FIRST])))


def _is_of_openclaw(entry: Object) -> bool:
    if entry.get("type") == "custom" and string(entry, "customType").startswith(_OPENCLAW):
        return True
    if at(entry, "message", "role") != "user":
        return False
    return any(map(_PREFIX.match, texts(at(entry, "message", "content"))[:1]))


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation on the path to the last line, then the parts that compactions replaced, then branches.

    Neither the system prompt nor the tools are stored.
    """
    unread = Unread()
    header, rows = entries_after_header(values, lines, "session", unread, *_HEADER)
    if not rows:
        return []
    names = [text(value.get("id")) for _, _, value in rows]
    known = first_places(names)
    steps = [step(f"entry {place}", line, value, known, unread) for place, line, value in rows]
    before = link_entries(names, [text(value.get("parentId")) for _, _, value in rows], known)
    if not any("parentId" in value for _, _, value in rows):  # files of the first version have no parents
        before = list(range(-1, len(rows) - 1))
    failed = {
        place
        for place, (_, _, value) in enumerate(rows)
        if type(message := value.get("message")) is dict and message.get("stopReason") in _FAILED
    }
    unsent = failed & entries_with_turns_after(before, steps) if failed else failed
    steps = without_entries(_with_truncated(steps), unsent, unread)
    selected_paths = paths(before, last_named(names), [each.is_sampled for each in steps], unread)
    session = {"session_id": text(header.get("id"))} | span(header.get("timestamp"), None)
    return with_unread(load_paths(anthropic, steps, selected_paths, session), unread)


def _with_truncated(steps: list[ThreadEntry]) -> list[ThreadEntry]:
    """Mark replies without token counts as truncated; their streams ended early without an error from the service."""
    places = [place for place, each in enumerate(steps) if each.is_sampled and not all(map(has_usage, each.turns))]
    models = models_with_usage(turn for each in steps for turn in each.turns) if places else ()
    for place in places:
        turns = tuple([mark_without_usage(turn, models) for turn in steps[place].turns])
        steps[place] = replace(steps[place], turns=turns)
    return steps


_ENTRY = ("type", "id", "parentId", "timestamp")
_READ = {
    "message": ("message",),
    "compaction": ("summary", "firstKeptEntryId"),
    "branch_summary": ("summary", "fromId"),
    "custom_message": ("content", "customType", "display"),
}
"""The members that are read of entries that the model sees, by entry type."""
_PROMPT_TOKENS = ("input", "cacheRead", "cacheWrite")
_FAILED = ("error", "aborted")
"""The stop reasons of replies that failed (for example because of a content filter) or were interrupted.
Later requests do not contain these replies.
"""
_STOPS = {"stop": "stop", "toolUse": "tool_calls", "length": "length", **dict.fromkeys(_FAILED, TRUNCATED)}
_MESSAGE_MEMBERS = {
    "user": ("content",),
    "assistant": ("content", "model", "usage", "stopReason", "provider", "api"),
    "toolResult": ("content", "toolCallId", "toolName", "isError"),
    "bashExecution": (
        *("command", "output", "exitCode", "cancelled", "truncated", "fullOutputPath", "excludeFromContext"),
    ),
    "custom": ("content", "customType", "display"),
    "hookMessage": ("content", "customType", "display"),
    "branchSummary": ("summary", "fromId"),
    "compactionSummary": ("summary",),
}
"""The members that are read of messages, by role."""
_OF_ENTRIES = {of: frozenset((*_ENTRY, *names)) for of, names in _READ.items()}
_OF_MESSAGES = {role: frozenset(("role", "timestamp", *names)) for role, names in _MESSAGE_MEMBERS.items()}
"""All members that are read, by entry type and by message role."""
_COMPACTED = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"


def step(place: str, line: int, entry: Object, known: dict[str, int], unread: Unread) -> ThreadEntry:
    """Convert an entry; ``known`` contains the places of all entries by name."""
    entry_type = string(entry, "type")
    if entry_type not in _READ:
        unread.count(f"entry of type {entry_type}")
        return ThreadEntry()
    if not _OF_ENTRIES[entry_type].issuperset(entry):
        unread.count_members(f"entry {entry_type}", entry, *_OF_ENTRIES[entry_type])
    if entry_type == "message":
        return _message(place, line, entry, unread)
    evidence = Evidence(line, moment(entry.get("timestamp")))
    match entry_type:
        case "compaction":
            turn = _user(f"{_COMPACTED}{string(entry, 'summary')}\n</summary>")
            first_kept = known.get(string(entry, "firstKeptEntryId")) if text(entry.get("firstKeptEntryId")) else None
            return ThreadEntry((LoggedTurn(place, turn, evidence),), is_summary=True, first_kept=first_kept)
        case "branch_summary":
            turns = [_user(f"{_BRANCH}{string(entry, 'summary')}</summary>")] if entry.get("summary") else []
            return ThreadEntry(tuple(LoggedTurn(place, turn, evidence) for turn in turns))
    return ThreadEntry((LoggedTurn(place, _user(_content(entry.get("content"))), evidence),))


def _message(place: str, line: int, entry: Object, unread: Unread) -> ThreadEntry:
    message = expect_object(entry.get("message"), f"{place}: message is")
    role = string(message, "role")
    if role not in _MESSAGE_MEMBERS:
        seen = compact(message.get("role"))[:40]
        raise TurnError(f"{place}: unknown role {seen}; expected one of {', '.join(_MESSAGE_MEMBERS)}")
    if not _OF_MESSAGES[role].issuperset(message):
        unread.count_members(f"message {role}", message, *_OF_MESSAGES[role])
    # Some messages have a zero time, which ``moment`` ignores.
    time = moment(message.get("timestamp")) or moment(entry.get("timestamp"))
    if role == "assistant":
        return _assistant(place, line, time, message)
    if role == "bashExecution" and message.get("excludeFromContext") is True:
        unread.count("command that the model does not see")
        return ThreadEntry()
    return ThreadEntry((LoggedTurn(place, _user_message(role, message), Evidence(line, time)),))


def _assistant(place: str, line: int, time: Moment | None, message: Object) -> ThreadEntry:
    """Return the entry of a reply, which may be partial if it failed or was aborted."""
    usage = message.get("usage")
    known = Evidence(
        line,
        time,
        is_sampled=True,
        model=text(message.get("model")),
        prompt_tokens=total(usage, *_PROMPT_TOKENS),
        completion_tokens=count(at(usage, "output")),
        finish_reason=_STOPS.get(string(message, "stopReason"), text(message.get("stopReason"))),
    )
    content = list(map(_part, _content(message.get("content"))))
    if not content:
        return ThreadEntry(is_sampled=False)
    return ThreadEntry((LoggedTurn(place, {"role": "assistant", "content": content}, known),), is_sampled=True)


def _user_message(role: str, message: Object) -> Object:
    """Convert a message of any other role to a user message."""
    match role:
        case "toolResult":
            failed = {"is_error": True} if message.get("isError") is True else {}
            content = [_part(part) for part in _content(message.get("content"))]
            result = {"type": "tool_result", "tool_use_id": message.get("toolCallId"), "content": content, **failed}
            return {"role": "user", "content": [result]}
        case "bashExecution":
            return _user(_command_text(message))
        case "branchSummary":
            return _user(f"{_BRANCH}{string(message, 'summary')}</summary>")
        case "compactionSummary":
            return _user(f"{_COMPACTED}{string(message, 'summary')}\n</summary>")
    return {"role": "user", "content": [_part(part) for part in _content(message.get("content"))]}


def _user(content: Json) -> Object:
    return {"role": "user", "content": content if isinstance(content, str) else [_part(part) for part in content]}


def _content(content: Json) -> list[Json]:
    """Return content as parts; a string becomes a single part."""
    if isinstance(content, str) and content:
        return [{"type": "text", "text": content}]
    return [part for part in as_list(content) if part != ""]


_CALL = {"type", "id", "name", "arguments"}


def _part(part: Json) -> Json:
    of = part.get("type") if type(part) is dict else None
    if of == "toolCall" and part.keys() == _CALL:  # the usual call
        return {"type": "tool_use", "id": part["id"], "name": part["name"], "input": part["arguments"]}
    return part if of in ("text", "thinking") and len(part) == 2 else _block(part)


def _block(part: Json) -> Json:
    match part:
        case {"type": "text", "text": str(words)}:
            return {"type": "text", "text": words}
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case {"type": "thinking", "redacted": True, "thinkingSignature": str(signature)}:
            # Pi stores encrypted reasoning in the member for signatures.
            return {"type": "redacted_thinking", "data": signature}
        case {"type": "thinking", "thinking": str(thought)}:
            signature_member = {"signature": part["thinkingSignature"]} if text(part.get("thinkingSignature")) else {}
            return {"type": "thinking", "thinking": thought, **signature_member}
        case {"type": "toolCall", "id": identity, "name": name, **rest}:
            more = without(rest, "type", "arguments")
            return {"type": "tool_use", "id": identity, "name": name, "input": rest.get("arguments"), **more}
    return part


def _command_text(message: Object) -> str:
    """Return the text that the model sees for a command that the user ran."""
    words = f"Ran `{string(message, 'command')}`\n"
    output = string(message, "output")
    words += f"```\n{output}\n```" if output else "(no output)"
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        words += "\n\n(command cancelled)"
    elif type(code) is int and code != 0:
        words += f"\n\nCommand exited with code {code}"
    if message.get("truncated") is True and text(message.get("fullOutputPath")):
        words += f"\n\n[Output truncated. Full output: {message['fullOutputPath']}]"
    return words
