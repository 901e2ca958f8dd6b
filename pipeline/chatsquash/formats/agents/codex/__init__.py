"""Codex's rollout files: items of OpenAI Responses, and events that mostly repeat them."""

from __future__ import annotations

from glob import escape
from itertools import chain, pairwise

from chatsquash.core.model import Conversation, Json, Message, Origin, RepeatedViolation, Tool
from chatsquash.formats import view
from chatsquash.formats.agents.codex import events
from chatsquash.formats.agents.codex.history import Earlier, continues_from
from chatsquash.formats.agents.codex.items import is_bare
from chatsquash.formats.agents.codex.messages import load_items
from chatsquash.formats.agents.codex.rollout import Meta, Rollout, is_header
from chatsquash.formats.agents.codex.rollout_history import RolloutHistory
from chatsquash.formats.evidence import Evidence, entries, origin
from chatsquash.formats.providers import openai_responses
from chatsquash.formats.retention import never
from chatsquash.formats.threads import EntryBudget
from chatsquash.formats.values import Object, at, is_plain_name, string

__all__ = ("continues_from",)

NAME = "codex"
HAS_TOOLS = False
MEMBERS = ("payload", "instructions", "thread_id")
LOCATIONS = (
    "${CODEX_HOME:-~/.codex}/sessions/**/*.jsonl*",
    "${CODEX_HOME:-~/.codex}/archived_sessions/**/*.jsonl*",
)
RETENTION = never("Codex", "@openai/codex 0.171.0 on npm")

_KINDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_CERTAIN = ("session_meta", "response_item")
"""The types of lines that are sufficient evidence individually."""
_BETWEEN_AGENTS = "inter_agent_communication"


def fits(values: list[Json]) -> str | None:
    """Check for lines with a known type and a payload, for bare items after a header, or for thread events.

    The oldest files consist of bare items, and ``codex exec --json`` prints thread events.
    """
    count = sum(map(_is_line, values))
    if count * 2 > len(values) or any(_is_line(line) and string(line, "type") in _CERTAIN for line in values):
        return f"session lines with a payload in {count} of {len(values)} lines"
    old = (isinstance(line, dict) and (line.get("record_type") == "state" or is_bare(line)) for line in values[1:])
    is_old = len(values) > 1 and is_header(values[0]) and all(old)
    return "a session's id, time and instructions before bare items" if is_old else events.find_evidence(values)


def _is_line(line: Json) -> bool:
    if type(line) is not dict or type(line.get("payload")) is not dict:
        return False
    line_type = line.get("type")
    return line_type in _KINDS or (type(line_type) is str and line_type.startswith(_BETWEEN_AGENTS))


def owner(path: str) -> str | None:
    """Return the session folder for a file that lists the prompts or names of sessions."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}sessions" if name in ("history.jsonl", "session_index.jsonl") else None


def home(path: str, origin: Origin) -> str | None:
    """Return a glob for the file of a sub-agent's parent session, which is in the same folder."""
    folder = path.rpartition("/")[0]
    return f"{escape(folder)}/rollout-*-{origin.parent}.jsonl*" if is_plain_name(origin.parent) else None


def conversations(values: list[Json], lines: list[int] | None = None, earlier: Earlier = None) -> list[Conversation]:
    """Return the conversation at the end, then the conversations before each compaction and each rollback.

    ``earlier`` contains the lines of the files in which the session begins.  Gaps in ``lines`` are lines that could not
    be read; items after a gap belong to a new reply.
    """
    if events.find_evidence(values):
        return events.conversations(values, lines)
    everything = [*chain.from_iterable(earlier or ()), *values] if earlier else values
    rollout = Rollout(
        has_events=any(at(line, "payload", "type") == "user_message" for line in everything),
        budget=EntryBudget(len(everything)),
        has_records="token_usage_record" in [line.get("type") for line in everything if type(line) is dict],
        has_all=earlier is not None,
    )
    for number, inherited in enumerate(earlier or (), 1):
        rollout.inherit(f"file {number} of the history", inherited)
    rollout.read("entry ", entries(values, lines), _gaps(lines))
    prompt, meta = _instructions(rollout)
    histories = [each for each in (rollout.now, *rollout.earlier) if each.items]
    return [_conversation(rollout, each, prompt, meta, place) for place, each in enumerate(histories)]


def _gaps(lines: list[int] | None) -> set[int]:
    """Return the lines after gaps, or an empty set if there are gaps between most lines, for example blank lines."""
    if not lines or lines[-1] - lines[0] + 1 == len(lines):
        return set()
    gaps = {line for before, line in pairwise(lines) if line > before + 1}
    return gaps if len(gaps) * 2 < len(lines) else set()


def _conversation(
    rollout: Rollout, history: RolloutHistory, prompt: list[Message], meta: Meta, place: int
) -> Conversation:
    head = Evidence(meta.line, meta.time if history.kind == "main" else None)
    logged_messages = load_items(history.items, prompt, head, rollout.breaks, rollout.truncated)
    known: Object = {"session_id": string(rollout.meta[0].payload, "id") or None} if rollout.meta else {}
    # The items of the oldest files have no times.
    if meta.time and not any(each.time for each in logged_messages.evidence):
        known |= {"started_at": meta.time.at, "ended_at": meta.time.at}
    is_hidden = rollout.kind != "main" and history.has_hidden_prompt
    is_headless = history.begins_here and not rollout.has_all and rollout.is_continued
    if is_headless or is_hidden:
        known["findings"] = ((meta.line, RepeatedViolation("missing-history")),)
    kind = rollout.kind if history.kind == "main" else history.kind
    # Only the first history is linked to the session that started this one.
    parent = history.parent or (rollout.parent if kind in ("subagent", "side") else None)
    lacks_context = is_headless or history.kind == "side" or is_hidden
    known |= {
        "lacks_context": lacks_context,
        "is_undone": history.is_undone,
        "unread": rollout.unread.counts_for(place),
    }
    links = {"id": history.id, "kind": kind, "parent": parent}
    return Conversation(
        logged_messages.messages, _definitions(rollout), origin=origin(logged_messages, **links, **known)
    )


def _definitions(rollout: Rollout) -> list[Tool]:
    """Return the definitions of tools that Codex's client runs; definitions of Codex's own tools are not stored."""
    lists = (meta.payload.get("dynamic_tools") for meta in rollout.meta)
    definitions = next((tools for tools in lists if isinstance(tools, list)), [])
    spelled = [
        {
            "type": "function",
            "name": each.get("name"),
            "description": each.get("description"),
            "parameters": each.get("inputSchema", each.get("input_schema")),
        }
        for each in definitions
        if isinstance(each, dict)
    ]
    return list(openai_responses.tools(spelled).functions)


def _instructions(rollout: Rollout) -> tuple[list[Message], Meta]:
    """Return the system prompt and its metadata; there is no prompt if a message repeats the instructions."""
    items = [each.turn for history in (rollout.now, *rollout.earlier) for each in history.items]
    for meta in (*rollout.meta, *reversed(rollout.inherited)):
        based = meta.payload.get("base_instructions")
        prompt = string(based, "text") or (based if isinstance(based, str) else "")
        # Older files have only the user's instructions, which Codex also sends as a message.
        older = string(meta.payload, "instructions")
        if prompt or older:
            is_input = bool(prompt) or not _is_repeated(older, items)
            return view.messages(openai_responses.system(prompt or older)) if is_input else [], meta
    return [], rollout.meta[0] if rollout.meta else Meta(None, None, {})


def _is_repeated(text: str, items: list[Json]) -> bool:
    """Return whether any message contains a text."""
    for item in items:
        content = item.get("content")
        blocks = content if isinstance(content, list) else [{"text": content}]
        if any(text in block_text for block in blocks if isinstance(block_text := at(block, "text"), str)):
            return True
    return False
