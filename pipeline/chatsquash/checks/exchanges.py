"""The calls of a record and their results, matched block by block in one pass over the messages.

A block is an assistant message with calls, and all messages up to the next assistant message.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from chatsquash.checks.failures import MARKING, failure_mark, text_failure
from chatsquash.checks.registry import Calls, View
from chatsquash.core import chat, jsonio
from chatsquash.core.chat import id_key
from chatsquash.core.model import Json

State = Literal["ok", "failed", "empty", "unanswered"]


class ToolResult(Struct, frozen=True, gc=False):  # creating a named tuple takes twice as long
    """A tool message and whether it is a failure or empty."""

    at: int
    """The index of the message."""
    call_id: Json
    key: str | bytes | None
    """The call id as a dictionary key; ``None`` if it has no id."""
    failure: str | None
    """The evidence that the call failed, as the end of a sentence, or ``None``."""
    empty: bool

    @property
    def good(self) -> bool:
        """Whether it is neither a failure nor empty."""
        return self.failure is None and not self.empty


class ToolCall(Struct, gc=False):
    """A call with its results in the same block."""

    at: int
    """The index of the assistant message."""
    block: int
    """The index of the block."""
    call_object: dict[str, Any]
    """The logged call."""
    name: str | None
    """The name of the called function."""
    key: str | bytes | None
    """The id as a dictionary key; ``None`` if it has no id."""
    results: list[ToolResult] = []

    @property
    def state(self) -> State:
        """The outcome of the call."""
        state: State = "unanswered"
        for result in self.results:
            if result.failure is not None:
                return "failed"
            if state != "ok":
                state = "empty" if result.empty else "ok"
        return state


class Exchanges(NamedTuple):
    """The calls of a record and their results."""

    calls: list[ToolCall]
    """Calls that are objects, with their results."""
    strays: list[ToolResult]
    """Results in a block that match none of its calls."""
    outside: list[ToolResult]
    """Results outside any block."""


_decode = jsonio.decoder(dict).decode


def decoded_arguments(view: View) -> list[dict[str, Any] | None]:
    """Return the arguments of each call of the usual form; ``None`` if they may not be a JSON object."""
    return list(map(_object, view.columns.calls.arguments)) if view.columns.calls else []


def _object(arguments: str) -> dict[str, Any] | None:
    try:
        return _decode(arguments)
    except (ValueError, RecursionError):
        return None


def bad_results(view: View) -> dict[int, tuple[str | None, bool]]:
    """Return failed and empty results by message index: the evidence of failure, and whether the result is empty."""
    outcomes: dict[int, tuple[str | None, bool]] = {}
    columns, messages = view.columns, view.messages
    is_marked = not MARKING.isdisjoint(columns.keys)
    for at, content in zip(columns.results, columns.result_contents, strict=True):
        is_text = isinstance(content, str)
        text = content if is_text else chat.text(messages[at]) or ""
        stripped_text = text.strip()
        evidence = failure_mark(messages[at]) if is_marked and not MARKING.isdisjoint(messages[at]) else None
        if stripped_text:
            evidence = evidence or text_failure(text, stripped_text)
            if evidence is not None:
                outcomes[at] = evidence, False
        elif is_text or evidence is not None or not chat.other_parts(messages[at]):
            outcomes[at] = evidence, is_text or not chat.other_parts(messages[at])
    return outcomes


_GOOD = None, False


def exchanges(view: View) -> Exchanges:
    """Match results with calls block by block; calls with the same id are matched with results in order."""
    columns = view.columns
    return _match_in_order(view, columns.calls) if columns.calls and columns.are_matched else _match_by_id(view)


def _match_in_order(view: View, calls: Calls) -> Exchanges:
    """Match results that are in the order of the calls."""
    columns, bad = view.columns, view.once(bad_results)
    places = [(at, block) for block, (at, count) in enumerate(calls.counts.items()) for _ in range(count)]
    both = zip(places, calls.objects, calls.names, calls.ids, strict=True)
    matched_calls = [ToolCall(at, block, call_object, name, key) for (at, block), call_object, name, key in both]
    for call, at, key in zip(matched_calls, columns.results, columns.result_ids, strict=False):
        call.results = [ToolResult(at, key, key, *bad.get(at, _GOOD))]
    return Exchanges(matched_calls, [], [])


def _match_by_id(view: View) -> Exchanges:
    bad = view.once(bad_results)
    pairs = Exchanges([], [], [])
    waiting: dict[str | bytes, deque[ToolCall]] | None = None  # the calls of the current block by id
    block = -1
    for at, message in enumerate(view.messages):
        role = message.get("role")
        if role == "assistant":
            waiting = None
            for call_object in chat.calls(message):
                if waiting is None:
                    waiting, block = {}, block + 1
                call = ToolCall(at, block, call_object, chat.call_name(call_object), id_key(call_object.get("id")))
                pairs.calls.append(call)
                if call.key is not None:
                    waiting.setdefault(call.key, deque()).append(call)
        elif role == "tool":
            call_id = message.get("tool_call_id")
            result = ToolResult(at, call_id, id_key(call_id), *bad.get(at, _GOOD))
            if waiting is None:
                pairs.outside.append(result)
            elif result.key is not None and (queue := waiting.get(result.key)):
                # Several results may answer the last call with an id.
                (queue.popleft() if len(queue) > 1 else queue[0]).results.append(result)
            else:
                pairs.strays.append(result)
    return pairs
