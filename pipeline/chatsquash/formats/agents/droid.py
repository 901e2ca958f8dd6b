"""Factory Droid's session files: a header line, then one Anthropic message per line."""

from __future__ import annotations

from glob import escape

from msgspec.structs import replace

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries_after_header, moment
from chatsquash.formats.providers import anthropic
from chatsquash.formats.retention import never
from chatsquash.formats.threads import ThreadEntry, first_places, link_entries, load_paths, paths, text, with_unread
from chatsquash.formats.values import Object, at, string

NAME = "droid"
HAS_TOOLS = False
MEMBERS = ("owner",)
LOCATIONS = ("~/.factory/sessions/**/*.jsonl",)
RETENTION = never("Factory Droid", "@factory/cli-linux-x64 0.225.2 on npm")

_BEGIN = ("type", "id", "title", "sessionTitle", "owner", "cwd", "version")
_LINE = ("type", "id", "parentId", "timestamp", "message")
_MESSAGE = ("role", "content", "modelId")
_SUMMARY = ("summary", "summaryText", "text", "content")
"""The members of a compaction that may contain the summary; Factory does not document them."""


def fits(values: list[Json]) -> str | None:
    """Check for the beginning of a session in the first line."""
    first = values[0] if values else None
    fitting = at(first, "type") == "session_start" and isinstance(at(first, "id"), str)
    return "a line of type session_start" if fitting else None


def companions(name: str) -> str | None:
    """Return a glob for the settings file, which contains the model of the session."""
    return f"{escape(name.removesuffix('.jsonl'))}.settings.json" if name.endswith(".jsonl") else None


def owner(path: str) -> str | None:
    """Return the path of the session that a settings file belongs to."""
    return f"{path.removesuffix('.settings.json')}.jsonl" if path.endswith(".settings.json") else None


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return the conversation at the end, then the parts that compactions replaced, then abandoned branches.

    Neither the system prompt nor the tools are stored.
    """
    unread = Unread()
    header, rows = entries_after_header(values, lines, "session_start", unread, *_BEGIN)
    if not rows:
        return []
    model = text(at(meta, "model"))
    steps = [_step(f"entry {place}", line, value, model, unread) for place, line, value in rows]
    parent_ids = {text(value.get("parentId")) for *_, value in rows} - {None}
    places = [place for place, step in enumerate(steps) if step.turns or text(rows[place][2].get("id")) in parent_ids]
    # Lines without turns matter only if another line refers to them.
    rows, steps = [rows[place] for place in places], [steps[place] for place in places]
    leaf = max((place for place, step in enumerate(steps) if step.turns), default=None)
    if leaf is None:
        return []
    before = _before([value for *_, value in rows], [step.is_summary for step in steps])
    selected_paths = paths(before, leaf, [each.is_sampled for each in steps], unread)
    return with_unread(load_paths(anthropic, steps, selected_paths, {"session_id": text(header.get("id"))}), unread)


def _before(rows: list[Object], summaries: list[bool]) -> list[int]:
    """Return the index of each line's parent, or -1; a summary without a parent follows the line above it."""
    parents = [text(value.get("parentId")) for value in rows]
    # Files without parent ids are linear.
    if not any(parents):
        return list(range(-1, len(rows) - 1))
    known = first_places([text(value.get("id")) for value in rows])
    before = [known.get(parent) if parent else None for parent in parents]
    replacements = dict[int, int]()
    for place, parent in enumerate(before):
        if parent in replacements:
            before[place] = replacements[parent]
        elif parents[place] is None and summaries[place] and place:
            before[place] = place - 1
            # Lines that follow the compacted line must follow its summary.
            replacements[place - 1] = place
    return link_entries(list(map(str, range(len(rows)))), [None if each is None else str(each) for each in before])


def _step(place: str, line: int, value: Object, model: str | None, unread: Unread) -> ThreadEntry:
    line_type = string(value, "type")
    evidence = Evidence(line, moment(value.get("timestamp")))
    if line_type == "compaction_state":
        summary = next((words for name in _SUMMARY if (words := text(value.get(name)))), None)
        unread.count_members("compaction_state", value, "type", "id", "parentId", "timestamp", *_SUMMARY)
        turn = {"role": "user", "content": summary}
        return ThreadEntry((LoggedTurn(place, turn, evidence),), is_summary=True) if summary else ThreadEntry()
    message = value.get("message")
    if line_type != "message" or not isinstance(message, dict):
        unread.count(f"line of type {line_type}")
        return ThreadEntry()
    unread.count_members("message", value, *_LINE)
    unread.count_members("message.message", message, *_MESSAGE)
    is_sampled = message.get("role") == "assistant"
    if is_sampled:
        evidence = replace(evidence, is_sampled=True, model=text(message.get("modelId")) or model)
    turn = {name: message[name] for name in ("role", "content") if name in message}
    return ThreadEntry((LoggedTurn(place, turn, evidence),), is_sampled=is_sampled)
