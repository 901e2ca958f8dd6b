"""Preference pairs: two replies to one request, with evidence in the log for which one was preferred.

``candidates`` finds the pairs in a log; this module turns them into records and decides which differ enough to be
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from chatsquash.checks.denials import is_denied
from chatsquash.checks.failures import failure
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Entry, Mark, Message
from chatsquash.core.outcome import PreferencePair, Record
from chatsquash.records.samples import CONTEXT, draft, split_prompt
from chatsquash.session.samples import Make, messages_of
from chatsquash.session.session import Snapshot

PairKind = Literal["regenerated", "rewound", "choice", "retry", "denied"]


class LoggedAnswer(NamedTuple):
    """A reply with its position in the log."""

    message: Message
    line: int | None
    choice: int | None = None
    """The number of the reply among the choices of its response, from 1; ``None`` if there is only one."""


class Candidate(NamedTuple):
    """Two replies to one request."""

    kind: PairKind
    snapshot: Snapshot
    """The snapshot of the request."""
    preferred: LoggedAnswer
    rejected: LoggedAnswer


def preference_pairs(
    candidates: Iterable[Candidate], make: Make, place: Callable[[int | None], str]
) -> list[PreferencePair]:
    """Make the records of preference pairs.

    Pairs are skipped if a reply cannot be separated from its context, or if both replies are equal. ``place`` returns
    the file and line of a logged reply.
    """
    pairs: dict[bytes, PreferencePair] = {}
    for each in candidates:
        records = [_split_record(each.snapshot, answer.message, make) for answer in (each.preferred, each.rejected)]
        if None in records:
            continue
        preferred, rejected = (value or {} for value in records)
        prompt, tools = preferred["prompt"], preferred.get("tools")
        if prompt != rejected["prompt"] or tools != rejected.get("tools") or "images" in preferred:
            continue
        if preferred["completion"] == rejected["completion"]:
            continue
        value = {"prompt": prompt, "chosen": preferred["completion"], "rejected": rejected["completion"]}
        value |= {} if tools is None else {"tools": tools}
        key = jsonio.dumps([each.kind, value])
        evidence = "; ".join(
            f"{name} {place(reply.line)}" + ("" if reply.choice is None else f" choice {reply.choice}")
            for name, reply in (("chosen", each.preferred), ("rejected", each.rejected))
        )
        line = jsonio.dumps(value | {"evidence": f"{each.kind}; {evidence}"})
        pairs.setdefault(key, PreferencePair(each.kind, line))
    return [*pairs.values()]


def _split_record(snapshot: Snapshot, message: Message, make: Make) -> dict[str, Any] | None:
    """Make a record of a request with a reply, split into prompt and completion; ``None`` if that is not possible."""
    entry = _with_reply(snapshot.entry, message)
    ordinal = sum(each["role"] == "assistant" for each in messages_of(entry)) - 1
    marks = [*(Mark((at,), CONTEXT) for at in range(ordinal)), Mark((ordinal,))]
    record, _ = make(replace(snapshot, entry=entry), marks)
    if not isinstance(record, Record):
        return None
    record_draft = draft(record)
    span = record_draft.span(ordinal)
    # A preset may have joined the reply to a message of its context.
    if span is None or span.stop != record_draft.messages:
        return None
    return split_prompt(jsonio.loads(record.line), span.start)


def _with_reply(entry: Entry, message: Message) -> Entry:
    if entry.reply.included:
        return replace(entry, messages=[*entry.messages, message])
    return replace(entry, reply=replace(entry.reply, message=message))


class RepairStep(NamedTuple):
    """A reply with calls, their results, and the next reply."""

    reply: Message
    results: list[Message]
    next_reply: Message
    later_results: list[Message]
    """The results of the next reply's calls."""


def counterfactual(step: RepairStep) -> Literal["retry", "denied"] | None:
    """Return whether the next reply corrects a failed call (``retry``) or follows a denied one (``denied``)."""
    names = {str(call.get("id")): chat.call_name(call) for call in chat.calls(step.reply)}
    if any(map(is_denied, step.results)):
        return "denied"
    failed = {names.get(str(each.get("tool_call_id"))) for each in step.results if _has_failed(each)} - {None}
    first_calls = {(chat.call_name(call), _arguments(call)) for call in chat.calls(step.reply)}
    successful = {str(each.get("tool_call_id")) for each in step.later_results if not _has_failed(each)}
    repeated_calls = (call for call in chat.calls(step.next_reply) if chat.call_name(call) in failed)
    corrected = [call for call in repeated_calls if (chat.call_name(call), _arguments(call)) not in first_calls]
    return "retry" if any(str(call.get("id")) in successful for call in corrected) else None


def results_in(messages: Iterable[Message]) -> Iterator[Message]:
    """Return the results among some messages."""
    return (message for message in messages if message["role"] == "tool")


def _arguments(call: dict[str, Any]) -> Any:
    function = call.get("function")
    return function.get("arguments") if isinstance(function, dict) else None


def _has_failed(result: Message) -> bool:
    return failure(result, chat.text(result) or "") is not None
