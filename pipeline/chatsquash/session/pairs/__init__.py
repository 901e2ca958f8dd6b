"""Pairs of replies to one request, of which the log tells which was preferred."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from chatsquash.checks.failures import failure
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Entry, Mark, Message
from chatsquash.core.outcome import PreferencePair, Record
from chatsquash.records.samples import CONTEXT, draft, split_prompt
from chatsquash.session.samples import Make, said
from chatsquash.session.session import Snapshot

PairKind = Literal["regenerated", "rewound", "choice", "retry", "denied"]
_DENIED = (
    "user doesn't want to proceed with this tool use",
    "user doesn't want to take this action right now",
    "user rejected the",
    "rejected by the user",
    "rejected by user",
    "denied by the user",
    "denied by user",
    "user denied",
    "user has denied",
    "user declined",
)
"""What agents write in the result of a call that the user did not allow."""
_SHOWN = 400
"""Characters of a result in which it says so."""


class LoggedAnswer(NamedTuple):
    """A reply, and where it was logged."""

    message: Message
    line: int | None
    choice: int | None = None
    """Which of the choices of its response it is, from 1; ``None``: the response has one."""


class Candidate(NamedTuple):
    """Two replies to one request."""

    kind: PairKind
    snapshot: Snapshot
    """Of the request."""
    chosen: LoggedAnswer
    rejected: LoggedAnswer


def preference_pairs(
    candidates: Iterable[Candidate], make: Make, place: Callable[[int | None], str]
) -> list[PreferencePair]:
    """The pairs as they are written; ``place`` names the file and the line that a reply was logged at.

    One whose replies cannot be told from their context, or that says the same twice, is none.
    """
    pairs: dict[bytes, PreferencePair] = {}
    for each in candidates:
        both = [_divide(each.snapshot, answered.message, make) for answered in (each.chosen, each.rejected)]
        if None in both:
            continue
        chosen, rejected = (value or {} for value in both)
        prompt, tools = chosen["prompt"], chosen.get("tools")
        if prompt != rejected["prompt"] or tools != rejected.get("tools") or "images" in chosen:
            continue
        if chosen["completion"] == rejected["completion"]:
            continue
        value = {"prompt": prompt, "chosen": chosen["completion"], "rejected": rejected["completion"]}
        value |= {} if tools is None else {"tools": tools}
        key = jsonio.dumps([each.kind, value])
        evidence = "; ".join(
            f"{name} {place(answered.line)}" + ("" if answered.choice is None else f" choice {answered.choice}")
            for name, answered in (("chosen", each.chosen), ("rejected", each.rejected))
        )
        line = jsonio.dumps(value | {"evidence": f"{each.kind}; {evidence}"})
        pairs.setdefault(key, PreferencePair(each.kind, line))
    return [*pairs.values()]


def _divide(snapshot: Snapshot, message: Message, make: Make) -> dict[str, Any] | None:
    """A record of a request and a reply to it, divided into prompt and completion; ``None`` where there is none."""
    entry = _with_reply(snapshot.entry, message)
    ordinal = sum(each["role"] == "assistant" for each in said(entry)) - 1
    marks = [*(Mark((at,), CONTEXT) for at in range(ordinal)), Mark((ordinal,))]
    record, _ = make(replace(snapshot, entry=entry), marks)
    if not isinstance(record, Record):
        return None
    drafted = draft(record)
    span = drafted.span(ordinal)
    if span is None or span.stop != drafted.messages:
        return None
    return split_prompt(jsonio.loads(record.line), span.start)


def _with_reply(entry: Entry, message: Message) -> Entry:
    if entry.reply.included:
        return replace(entry, messages=[*entry.messages, message])
    return replace(entry, reply=replace(entry.reply, message=message))


class RepairStep(NamedTuple):
    """A reply with calls, the results that it got, and the reply to these."""

    reply: Message
    results: list[Message]
    then: Message
    later: list[Message]
    """The results of what was called then; nothing where there are none."""


def counterfactual(step: RepairStep) -> Literal["retry", "denied"] | None:
    """Whether the second reply of a step corrects a call of the first one that failed, or goes on from a denied one."""
    names = {str(call.get("id")): chat.call_name(call) for call in chat.calls(step.reply)}
    if any(map(_is_denied, step.results)):
        return "denied"
    failed = {names.get(str(each.get("tool_call_id"))) for each in step.results if _has_failed(each)} - {None}
    given = {(chat.call_name(call), _arguments(call)) for call in chat.calls(step.reply)}
    worked = {str(each.get("tool_call_id")) for each in step.later if not _has_failed(each)}
    again = (call for call in chat.calls(step.then) if chat.call_name(call) in failed)
    corrected = [call for call in again if (chat.call_name(call), _arguments(call)) not in given]
    return "retry" if any(str(call.get("id")) in worked for call in corrected) else None


def results_in(messages: Iterable[Message]) -> Iterator[Message]:
    """The results among messages."""
    return (message for message in messages if message["role"] == "tool")


def _arguments(call: dict[str, Any]) -> Any:
    function = call.get("function")
    return function.get("arguments") if isinstance(function, dict) else None


def _has_failed(result: Message) -> bool:
    return failure(result, chat.text(result) or "") is not None


def _is_denied(result: Message) -> bool:
    if chat.outcome(result) == "denied":
        return True
    text = (chat.text(result) or "")[:_SHOWN].lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return any(map(text.__contains__, _DENIED))
