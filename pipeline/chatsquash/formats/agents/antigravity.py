"""Transcripts of Antigravity and its CLI, with a line for each step of a conversation.

Its databases are encrypted or contain Protocol Buffers, so only transcripts can be read.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.calls import assistant_message, spell_call, tool_message
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, moment
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.retention import unknown
from chatsquash.formats.threads import ThreadEntry, load_paths, text, with_unread
from chatsquash.formats.values import Object, as_list, at, members, objects, string

NAME = "antigravity"
HAS_TOOLS = False
MEMBERS = ("step_index",)
LOCATIONS = (
    "~/.gemini/antigravity*/brain/*/.system_generated/logs/transcript_full.jsonl",
    "~/.gemini/antigravity*/brain/*/.system_generated/logs/transcript.jsonl",
)
RETENTION = unknown("Antigravity", "its source is not available")

_STEP = ("step_index", "source", "type", "status", "created_at", "content", "thinking", "tool_calls", "model")
_REPLY = "PLANNER_RESPONSE"
_MODEL = re.compile(r"changed setting `Model Selection` from .*? to (.+?)\.(?: |\n|$)")
_DATABASE = re.compile(r"(.*/)conversations/([^/]+)\.db", re.DOTALL)
_FOLDER = re.compile(r"([^/]+)/\.system_generated/logs/transcript(?:_full)?\.jsonl$")


def fits(values: list[Json]) -> str | None:
    """Check for steps with an index, a source and a type."""
    steps = sum(isinstance(at(value, "step_index"), int) and _is_step(value) for value in values)
    return f"step_index, source and type in {steps} lines" if steps * 2 > len(values) else None


def _is_step(value: Json) -> bool:
    return bool(string(value, "source")) and string(value, "type").isupper()


def companions(name: str) -> str | None:
    """Return a glob for the full transcript of a shortened transcript."""
    return "transcript_full.jsonl*" if name == "transcript.jsonl" else None


COMPANION_MARKS = (b'"step_index"',)


def owner(path: str) -> str | None:
    """Return the folder with the transcripts of a conversation, given the path of its unreadable database."""
    match = _DATABASE.fullmatch(path)
    return f"{match[1]}brain/{match[2]}/.system_generated/logs" if match else None


def session(path: str, origin: Origin) -> str | None:
    """Return the name of the conversation's folder, which is its id."""
    del origin
    folder = _FOLDER.search(path)
    return folder[1] if folder else None


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return the conversation at the end, then the parts that checkpoints replaced, last first.

    ``meta`` is the full transcript next to a shortened transcript.  Transcripts contain neither the system prompt nor
    the tools.
    """
    if as_list(meta):
        return []  # the full transcript is converted as a separate file
    unread = Unread()
    steps = _Steps(unread)
    for number, line, value in _last_of_each(values, lines):
        steps.add(f"line {line or number}", line, value)
    path = list(range(len(steps.entries)))
    return with_unread(load_paths(openai_chat, steps.entries, [path], {}), unread)


def _last_of_each(values: list[Json], lines: list[int] | None) -> list[tuple[int, int, Object]]:
    """Return the last line of each step, in the order of their first lines; finished steps may be written again."""
    known: dict[Json, tuple[int, int, Object]] = {}
    for place in entries(values, lines):
        index = place[2].get("step_index")
        known[index if isinstance(index, int) else f"line {place[0]}"] = place
    return list(known.values())


class _Steps:
    """A converter from steps to thread entries; results answer the calls of the previous reply in order."""

    def __init__(self, unread: Unread) -> None:
        self.entries = list[ThreadEntry]()
        self._unread = unread
        self._waiting = list[str]()
        self._model: str | None = None

    def add(self, place: str, line: int, step: Object) -> None:
        """Add a step."""
        kind, source = string(step, "type"), string(step, "source")
        self._unread.count_members("step", step, *_STEP)
        known = Evidence(line, moment(step.get("created_at")))
        words = text(step.get("content"))
        if kind == _REPLY:
            self._reply(place, step, known)
        elif kind == "CHECKPOINT" and words:
            self._append(place, {"role": "user", "content": words}, known, is_summary=True)
        elif source.startswith("USER") or kind == "SYSTEM_MESSAGE":
            match = _MODEL.search(words or "")
            self._model = match[1] if match else self._model
            self._append(place, {"role": "user", "content": words or ""}, known)
        elif self._waiting and (source == "MODEL" or kind == "TOOL_RESPONSE"):
            outcome = "error" if string(step, "status") == "ERROR" else ""
            self._append(place, tool_message(self._waiting.pop(0), words or "", outcome), known)
        else:
            self._unread.count(f"step {kind}")

    def _reply(self, place: str, step: Object, known: Evidence) -> None:
        calls = objects(step.get("tool_calls"))
        # Transcripts contain no call ids.
        ids = [f"call_{step.get('step_index')}_{number}" for number in range(len(calls))]
        self._waiting = list(ids)
        spelled = [
            spell_call(name, call.get("name"), _arguments(call.get("args")))
            for name, call in zip(ids, calls, strict=True)
        ]
        thoughts = text(step.get("thinking")) or ""
        if not (step.get("content") or calls or thoughts):
            self._unread.count("reply without text")
            return
        message = assistant_message(step.get("content"), spelled, thoughts)
        is_sampled = string(step, "status") in ("DONE", "")
        model = text(step.get("model")) or self._model
        self._append(place, message, replace(known, is_sampled=is_sampled, model=model), is_sampled=is_sampled)

    def _append(
        self, place: str, turn: Object, known: Evidence, *, is_sampled: bool = False, is_summary: bool = False
    ) -> None:
        entry = ThreadEntry((LoggedTurn(place, turn, known),), is_sampled=is_sampled, is_summary=is_summary)
        self.entries.append(entry)


def _arguments(logged_arguments: Json) -> Json:
    """Return the arguments of a call; in shortened transcripts, each value is a JSON string."""
    arguments = members(logged_arguments)
    values = [jsonio.value(value) if isinstance(value, str) else None for value in arguments.values()]
    # In full transcripts, strings are not quoted, so no value is a JSON string.
    is_spelled = any(isinstance(value, str) for value in values) and None not in values
    return dict(zip(arguments, values, strict=True)) if is_spelled else logged_arguments
