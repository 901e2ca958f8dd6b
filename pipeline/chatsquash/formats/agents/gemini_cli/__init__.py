"""Gemini CLI's sessions and checkpoints: Gemini turns, with tool calls in separate members."""

from __future__ import annotations

from glob import escape

from chatsquash.core.model import Conversation, Json, Origin
from chatsquash.formats.agents.gemini_cli.history import (
    KINDS,
    ChatRecord,
    SessionPath,
    SessionState,
    parts_of,
    response,
)
from chatsquash.formats.agents.gemini_cli.retention import RETENTION as RETENTION
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import (
    Evidence,
    LoggedTurn,
    Unread,
    entries,
    load_conversation,
    moment,
    span,
)
from chatsquash.formats.providers import gemini
from chatsquash.formats.providers.gemini.blocks import camel
from chatsquash.formats.threads import EntryBudget
from chatsquash.formats.truncation import TRUNCATED
from chatsquash.formats.values import Object, count, is_plain_name, objects, string
from chatsquash.formats.values import at as member

NAME = "gemini_cli"
HAS_TOOLS = False
MEMBERS = ("$set", "$rewindTo", "projectHash", "id", "history")
LOCATIONS = ("${GEMINI_CLI_HOME:-~}/.gemini/tmp/*/chats/**/*.json*",)


def fits(values: list[Json]) -> str | None:
    """Check for a session with a project hash or edits, or for a checkpoint with Gemini turns."""
    if any(map(_is_of_session, objects(values))):
        return "$set or $rewindTo, or sessionId next to projectHash"
    if values and all(map(_is_record, values)):
        return "records of types user and gemini"
    return "a history of contents" if len(values) == 1 and _history(values[0]) else None


def _is_of_session(line: Object) -> bool:
    return "$set" in line or "$rewindTo" in line or ("projectHash" in line and "sessionId" in line)


def _is_record(line: Json) -> bool:
    members = {"id", "timestamp", "content"}
    own = isinstance(line, dict) and line.keys() >= members and not line.keys() & {"message", "role"}
    return own and line.get("type") in KINDS


def _history(value: Json) -> list[Json]:
    """Return the turns of a checkpoint, or an empty list for other values."""
    history = value.get("history") if isinstance(value, dict) else value
    return history if isinstance(history, list) and history and all(map(_is_content, history)) else []


def _is_content(value: Json) -> bool:
    """Return whether a value has a Gemini role and untyped parts."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "model"):
        return False
    parts = value.get("parts")
    return isinstance(parts, list) and all(isinstance(part, dict) and "type" not in part for part in parts)


def home(path: str, origin: Origin) -> str | None:
    """Return a glob for the file of a sub-agent's parent."""
    del origin
    # It is next to the folder named after the parent's id; its name contains the first 8 characters of the id.
    chats, _, parent = path.rpartition("/")[0].rpartition("/")
    return f"{escape(chats)}/session-*{parent[:8]}.json*" if is_plain_name(parent) else None


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the conversation at the end, then the conversations before messages were removed or replaced.

    Neither the system prompt nor the tools are stored.
    """
    history = _history(values[0]) if len(values) == 1 else []
    if history:
        turns = [
            LoggedTurn(f"history[{place}]", content, Evidence(1, is_sampled=content["role"] == "model"))
            for place, content in enumerate(history)
        ]
        return [load_conversation(gemini, turns)]
    histories = (
        member(value, "$set", "messages") or member(value, "messages")
        for value in values
        if type(value) is dict and ("$set" in value or "messages" in value)
    )
    session = SessionState(EntryBudget(len(values) + sum(len(objects(each)) for each in histories)))
    for place, number, line in entries(values, lines):
        session.add(f"entry {place}", number, line)
    histories_read = [
        (turns, path) for path in session.paths() if (turns := _RecordReader(session.unread).read(path.records))
    ]
    return [_conversation(session, turns, path, place) for place, (turns, path) in enumerate(histories_read)]


def _conversation(session: SessionState, turns: list[LoggedTurn], path: SessionPath, place: int) -> Conversation:
    header = session.header
    return load_conversation(
        gemini,
        turns,
        id=path.id,
        parent=path.parent,
        kind=path.kind or ("subagent" if header.get("kind") == "subagent" else "main"),
        session_id=string(header, "sessionId") or None,
        session_times=span(header.get("startTime"), header.get("lastUpdated")),
        unread=session.unread.counts_for(place),
        began=path.began(),
    )


_NOTICES = {"Response truncated due to token limits.": "MAX_TOKENS", "Response stopped ": TRUNCATED}
"""The finish reasons of replies that ended early, by terminal notice."""
_RECORD = ("id", "timestamp", "type", "content", "toolCalls", "thoughts", "tokens", "model")
_CALL = ("id", "name", "args", "result", "agentId")


class _RecordReader:
    """A converter from records to Gemini turns, without repetitions of results stored with their calls."""

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        self.answered_ids: set[str] = set()
        self.parts_with_results: list[Json] = []
        """The other parts that are stored with the last results."""

    def read(self, records: list[ChatRecord]) -> list[LoggedTurn]:
        """Return the turns of messages, except notices from the client to the user."""
        turns: list[LoggedTurn] = []
        stops = _stops(records)
        for number, each in enumerate(records):
            place, line, record, is_sampled = each.place, each.line, each.record, each.is_sampled
            record_type = record.get("type")
            if record_type not in KINDS:
                raise TurnError(f"{place}: unknown type; expected one of {', '.join(KINDS)}")
            at = Evidence(line, moment(record.get("timestamp")))
            calls = objects(record.get("toolCalls"))
            if record_type == "gemini":
                self.rest(record, calls)
                parts = _reply_parts(record)
                if is_sampled and not any(map(_is_shown, parts)):
                    self.unread.count("reply without text or calls")
                    continue
                known = _reply_evidence(record, at, stops.get(number)) if is_sampled else at
                turns.append(LoggedTurn(place, {"role": "model", "parts": parts}, known))
                answers = [part for call in calls for part in self.results(call)]
                turns += [LoggedTurn(place, {"role": "user", "parts": answers}, at)] if answers else []
            elif record_type == "user":
                self.rest(record, calls)
                parts = self.fresh_parts(parts_of(record.get("content")))
                has_content = bool(parts) or not record.get("content")
                turns += [LoggedTurn(place, {"role": "user", "parts": parts}, at)] if has_content else []
            else:
                self.unread.count(f"message of type {record_type}")
        return turns

    def rest(self, record: Object, calls: list[Object]) -> None:
        """Count the unread members of a message and of its calls."""
        self.unread.count_members("message", record, *_RECORD)
        for call in calls:
            self.unread.count_members("message.toolCalls", call, *_CALL)

    def results(self, call: Object) -> list[Json]:
        """Return the new results stored with a call; each of several parallel calls may contain all results."""
        parts = [_with_call_id(part, call) for part in _answer(call)]
        if len(parts) == 1 and (answer := response(parts[0])) is not None:  # the usual case
            if not self.is_new(answer):
                return []
            self.parts_with_results = []
            return parts
        fresh = [part for part in parts if (answer := response(part)) is not None and self.is_new(answer)]
        others = [part for part in parts if response(part) is None]
        self.parts_with_results = others if fresh else self.parts_with_results
        return [part for part in parts if part in fresh or part in others] if fresh else []

    def fresh_parts(self, parts: list[Json]) -> list[Json]:
        """Return the parts of a user message without repeated results."""
        answers = list(map(response, parts))
        if answers.count(None) == len(answers):
            return parts
        pairs = zip(parts, answers, strict=True)
        return [part for part, answer in pairs if self.is_new(answer) and part not in self.parts_with_results]

    def is_new(self, answer: Json) -> bool:
        """Return whether a result is not repeated, and remember it; true for ``None``."""
        key = string(answer, "id")
        if key in self.answered_ids:
            return False
        if key:
            self.answered_ids.add(key)
        return True


def _stops(records: list[ChatRecord]) -> dict[int, str]:
    """Return finish reasons by reply index, based on notices about limits and interruptions."""
    # A notice is written when the reply ends: before the reply, or before the next user message.
    stops, reply, notice = dict[int, str](), -1, ""
    for number, each in enumerate(records):
        record_type = each.record.get("type")
        if record_type == "info" and isinstance(notice_text := each.record.get("content"), str):
            notice = next((reason for text, reason in _NOTICES.items() if text in notice_text), notice)
        elif notice and record_type in ("gemini", "user"):
            stops[number if record_type == "gemini" else reply] = notice
            notice = ""
        reply = number if record_type == "gemini" else reply
    return stops | ({reply: notice} if notice else {})


def _reply_evidence(record: Object, at: Evidence, finish_reason: str | None) -> Evidence:
    """Return the evidence for a reply."""
    tokens = record.get("tokens")
    # The output count does not include thoughts.
    counts = [count(value) for name in ("output", "thoughts") if (value := member(tokens, name)) is not None]
    completion_tokens = sum(each for each in counts if each is not None) if counts else None
    model, prompt_tokens = string(record, "model") or None, count(member(tokens, "input"))
    return Evidence(at.line, at.time, True, model, prompt_tokens, completion_tokens, finish_reason)


def _answer(call: Object) -> list[Json]:
    """Return the parts of a call's result; parts without a function response are wrapped."""
    parts = parts_of(call.get("result"))
    if not parts or any(response(part) is not None for part in parts):
        return parts
    texts = [text for part in parts if isinstance(text := camel(part).get("text"), str)]
    media = [part for part in parts if not isinstance(camel(part).get("text"), str)]
    answer = {"name": call.get("name"), "response": {"output": "".join(texts)}}
    return [{"functionResponse": {**answer, "parts": media} if media else answer}]


def _with_call_id(part: Json, call: Object) -> Json:
    """Return a part, with the id of the call added to a result without an id."""
    answer = response(part)
    return part if answer is None or string(answer, "id") else {"functionResponse": {**answer, "id": call.get("id")}}


def _reply_parts(record: Object) -> list[Json]:
    """Return the thoughts, content and calls of a reply as the parts of a turn."""
    content_parts = parts_of(record.get("content"))
    call_ids = {string(camel(part).get("functionCall"), "id") for part in content_parts} - {""}
    # A call may be stored in both the content and the separate member.
    calls = [call for call in objects(record.get("toolCalls")) if string(call, "id") not in call_ids]
    thoughts = [_thought(each) for each in objects(record.get("thoughts"))]
    new_calls = [{name: call[name] for name in ("id", "name", "args") if name in call} for call in calls]
    return [*thoughts, *content_parts, *({"functionCall": call} for call in new_calls)]


def _is_shown(part: Json) -> bool:
    """Return whether a part is neither a thought nor empty."""
    # Calls are written after they ran, so a process that was killed earlier leaves a reply with only thoughts.
    return isinstance(part, dict) and part.get("thought") is not True and part.get("text") != ""


def _thought(thought: Object) -> Object:
    """Convert a thought to a part, with its subject in bold, as written by the model."""
    subject, text = string(thought, "subject"), string(thought, "description")
    return {"thought": True, "text": "\n\n".join(filter(None, [f"**{subject}**" if subject else "", text]))}
