"""Turns of a message, their texts, results and tokens, as both versions of opencode need them."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.core.model import Json, Tokens
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence
from chatsquash.formats.truncation import TRUNCATED
from chatsquash.formats.values import Object, at, count, kind, objects, string

UNKNOWN = "unknown"
"""The finish reason of a reply whose stream ended without one."""
OPTIONS = "providerOptions"
EXECUTED = "providerExecuted"
CLEARED = "[Old tool result content cleared]"
"""What opencode sends in place of a result that was cleared."""


class SessionMessage(NamedTuple):
    """A message of a session and its place."""

    place: str
    line: int
    value: Object


class ModelTurn(NamedTuple):
    """A turn as the AI SDK has it in model messages."""

    turn: Object
    evidence: Evidence
    cleared: Object | None = None
    """The turn without the results that were cleared later."""
    cleared_at: int = 0
    """When the last of these was cleared, in nanoseconds since the epoch; 0: none was."""
    last: Object | None = None
    """The turn where nothing comes behind it: what was interrupted has no result yet."""
    calls_by_session: dict[str, str] = {}  # noqa: RUF012 - never changed
    """The sessions of sub-agents that its calls began, with the ids of these."""
    system: str = ""
    """What the user's client added to the system prompt."""


class CallResult(NamedTuple):
    """The result of a call."""

    output: Object
    cleared_at: int = 0
    is_made_up: bool = False
    """Whether it is opencode's word for a call that has no result."""


def text(value: str) -> Object:
    """Return a text part."""
    return {"type": "text", "text": value}


def error_output(value: str) -> Object:
    """Return the output of a tool that failed."""
    return {"type": "error-text", "value": value}


def texts_and_files(said: str, files: list[Object]) -> Object:
    """Return the output of a tool that returned files beside a text."""
    if not files:
        return {**text(said), "value": said}
    return {"type": "content", "value": [*([text(said)] if said else []), *files]}


def file_part(file_type: str, mime: str, url: Json, name: str) -> Object:
    """Return a file by its address."""
    return {"type": file_type, "mediaType": mime, "url": url, **({"filename": name} if name else {})}


def result_parts(part: Object, answer: CallResult) -> tuple[Object, Object, bool]:
    """Return a result, the same after it was cleared, and whether it is made up."""
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
    """Return the turns of a reply, unless it is empty, and of the results of its calls.

    ``cleared``: when the last of these was cleared, 0 if none was.
    """
    if not any(part["type"] not in ("text", "reasoning") or part["text"] != "" or OPTIONS in part for part in content):
        return []
    said = ModelTurn({"role": "assistant", "content": content}, known, calls_by_session=calls_by_session)
    return [said, *_results(answers, known, cleared)]


def _results(answers: list[tuple[Object, Object, bool]], evidence: Evidence, cleared_at: int) -> list[ModelTurn]:
    if not answers:
        return []
    original = [each[0] for each in answers]
    after_clearing = [each[1] for each in answers]
    real = [each[0] for each in answers if not each[2]]
    turn, cleared, last = ({"role": "tool", "content": content} for content in (original, after_clearing, real))
    at = evidence._replace(is_sampled=False, model=None, prompt_tokens=None, completion_tokens=None, finish_reason=None)
    return [
        ModelTurn(turn, at, cleared if cleared_at else None, cleared_at, last if len(real) < len(original) else None)
    ]


def finish_reason(reason: str, *, is_complete: bool) -> str | None:
    """Return why a reply stopped; one that failed or was interrupted may have no reason of its own."""
    if reason == UNKNOWN or (not reason and not is_complete):
        return TRUNCATED
    return reason or None


def member(holder: Object, name: str, place: str) -> str:
    """Return a member that must be a text; raise ``TurnError`` otherwise."""
    value = holder.get(name)
    if not isinstance(value, str) or not value:
        problem = f"no {name}" if value == "" else f"a {name} that is {kind(value)}, not a text"
        raise TurnError(f"{place} has {problem}")
    return value


def subagent_session(state: Json) -> str:
    """Return the session of the sub-agent that a call started, by its state; empty without one."""
    holders = objects([state.get(name) for name in ("metadata", "structured")]) if isinstance(state, dict) else []
    session_ids = (string(holder, name) for holder in holders for name in ("sessionId", "sessionID"))
    return next(filter(None, session_ids), "")


def tokens(usage: Json, *, is_split: bool = False) -> Tokens:
    """Return the tokens sent (including cached ones) and received; none if all are zero.

    Reasoning stands beside the output (``is_split``), or within it as in older versions, which their sum may tell.
    """
    input_counts = [count(at(usage, *path)) for path in (("input",), ("cache", "read"), ("cache", "write"))]
    output, reasoning, total = (count(at(usage, name)) for name in ("output", "reasoning", "total"))
    prompt = sum(each or 0 for each in input_counts) if input_counts[0] is not None else None
    is_split = is_split or (total is not None and total != (prompt or 0) + (output or 0))
    completion = output + (reasoning or 0) if is_split and output is not None else output
    return Tokens(prompt, completion) if prompt or completion else Tokens()
