"""Helpers for turns, parts, results and tokens, shared by both versions of opencode's messages."""

from __future__ import annotations

from msgspec import Struct

from chatsquash.core.model import Json, Tokens
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence
from chatsquash.formats.truncation import TRUNCATED
from chatsquash.formats.values import Object, count, kind, members, objects, string

UNKNOWN = "unknown"
"""The finish reason of replies whose streams ended without a finish reason."""
OPTIONS = "providerOptions"
EXECUTED = "providerExecuted"
CLEARED = "[Old tool result content cleared]"
"""The text that opencode sends instead of cleared results."""


class SessionMessage(Struct, frozen=True, gc=False):
    """A message of a session, and its place."""

    place: str
    line: int
    value: Object


class ModelTurn(Struct, frozen=True, gc=False):
    """A turn in the form of the AI SDK's model messages."""

    turn: Object
    evidence: Evidence
    cleared: Object | None = None
    """The turn after some of its results were cleared."""
    cleared_at: int = 0
    """The time at which results were last cleared, in nanoseconds since the epoch; 0 if they were not."""
    last: Object | None = None
    """The turn if it ends a conversation, in which interrupted calls have no result yet."""
    calls_by_session: dict[str, str] = {}
    """The ids of the calls that started sub-agents, by session id."""
    system: str = ""
    """The text that the user's client added to the system prompt."""


class CallResult(Struct, frozen=True, gc=False):
    """The result of a call."""

    output: Object
    cleared_at: int = 0
    is_made_up: bool = False
    """Whether it is opencode's placeholder for a missing result."""


def text(value: str) -> Object:
    """Build a text part."""
    return {"type": "text", "text": value}


def error_output(value: str) -> Object:
    """Build the output of a failed tool."""
    return {"type": "error-text", "value": value}


def texts_and_files(words: str, files: list[Object]) -> Object:
    """Build the output of a tool that returned text and possibly files."""
    if not files:
        return {**text(words), "value": words}
    return {"type": "content", "value": [*([text(words)] if words else []), *files]}


def file_part(file_type: str, mime: str, url: Json, name: str) -> Object:
    """Build a file part with a URL."""
    return {"type": file_type, "mediaType": mime, "url": url, **({"filename": name} if name else {})}


def result_parts(part: Object, answer: CallResult) -> tuple[Object, Object, bool]:
    """Return a result, the result after it was cleared, and whether it is a placeholder."""
    original = {**part, "output": answer.output}
    after_clearing = {**part, "output": {"type": "text", "value": CLEARED}} if answer.cleared_at else original
    return original, after_clearing, answer.is_made_up


def reply(
    content: list[Json],
    known: Evidence,
    calls_by_session: dict[str, str],
    answers: list[tuple[Object, Object, bool]],
    cleared: int,
) -> list[ModelTurn]:
    """Return the turns of a reply and of the results of its calls, or an empty list for an empty reply.

    ``cleared`` is the time at which results were last cleared, or 0.
    """
    if not any(part["type"] not in ("text", "reasoning") or part["text"] != "" or OPTIONS in part for part in content):
        return []
    reply_turn = ModelTurn({"role": "assistant", "content": content}, known, calls_by_session=calls_by_session)
    return [reply_turn, *_results(answers, known, cleared)]


def _results(answers: list[tuple[Object, Object, bool]], evidence: Evidence, cleared_at: int) -> list[ModelTurn]:
    if not answers:
        return []
    original = [each[0] for each in answers]
    after_clearing = [each[1] for each in answers]
    real = [each[0] for each in answers if not each[2]]
    turn, cleared, last = ({"role": "tool", "content": content} for content in (original, after_clearing, real))
    at = Evidence(evidence.line, evidence.time)
    return [
        ModelTurn(turn, at, cleared if cleared_at else None, cleared_at, last if len(real) < len(original) else None)
    ]


def finish_reason(reason: str, *, is_complete: bool) -> str | None:
    """Return the finish reason of a reply; failed or interrupted replies without a finish reason are truncated."""
    if reason == UNKNOWN or (not reason and not is_complete):
        return TRUNCATED
    return reason or None


def member(holder: Object, name: str, place: str) -> str:
    """Return a member that must be a non-empty string; raise ``TurnError`` for other values."""
    value = holder.get(name)
    if not isinstance(value, str) or not value:
        problem = f" has no {name}" if value == "" else f": {name} is {kind(value)}, expected a string"
        raise TurnError(f"{place}{problem}")
    return value


def subagent_session(state: Json) -> str:
    """Return the session id of the sub-agent that a call started, from the call's state, or an empty string."""
    holders = objects([state.get(name) for name in ("metadata", "structured")]) if isinstance(state, dict) else []
    session_ids = (string(holder, name) for holder in holders for name in ("sessionId", "sessionID"))
    return next(filter(None, session_ids), "")


def tokens(usage: Json, *, is_split: bool = False) -> Tokens:
    """Return the counts of prompt tokens, including cached tokens, and completion tokens; empty if both are zero.

    ``is_split`` means that the output count does not include reasoning.
    """
    known = members(usage)
    cache = members(known.get("cache"))
    input_counts = [count(known.get("input")), count(cache.get("read")), count(cache.get("write"))]
    output, reasoning, total = count(known.get("output")), count(known.get("reasoning")), count(known.get("total"))
    prompt = sum(each or 0 for each in input_counts) if input_counts[0] is not None else None
    # In older versions, only the total shows whether the output includes reasoning.
    is_split = is_split or (total is not None and total != (prompt or 0) + (output or 0))
    completion = output + (reasoning or 0) if is_split and output is not None else output
    return Tokens(prompt, completion) if prompt or completion else Tokens()
