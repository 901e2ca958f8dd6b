"""The calls of a record and the results that answer them, matched block by block in one walk over the messages.

A block is an assistant message with calls and what follows up to the next assistant message.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from chatsquash.checks.failures import MARKING, failure
from chatsquash.checks.registry import Calls, View
from chatsquash.core import chat
from chatsquash.core.chat import id_key
from chatsquash.core.model import Json, Message

State = Literal["ok", "failed", "empty", "unanswered"]


class ToolResult(Struct, frozen=True, gc=False):  # a named tuple takes twice as long to make
    """A tool message, judged."""

    at: int
    """Index of the message."""
    call_id: Json
    key: str | bytes | None
    """Its id as something to look up; ``None`` if it has none."""
    failure: str | None
    """What says that it failed, if it did, as the end of a sentence."""
    empty: bool

    @property
    def good(self) -> bool:
        """Whether it neither failed nor is empty."""
        return self.failure is None and not self.empty


class ToolCall(Struct, gc=False):
    """A call, and the results of its block that answer it."""

    at: int
    """Index of the assistant message."""
    block: int
    """Index of its block."""
    given: dict[str, Any]
    """The call itself."""
    name: str | None
    """Of the function that it names."""
    key: str | bytes | None
    """Its id as something to look up; ``None`` if it has none."""
    results: list[ToolResult] = []

    @property
    def state(self) -> State:
        """How it went."""
        state: State = "unanswered"
        for result in self.results:
            if result.failure is not None:
                return "failed"
            if state != "ok":
                state = "empty" if result.empty else "ok"
        return state


class Exchanges(NamedTuple):
    """What the messages of a record call, and the results."""

    calls: list[ToolCall]
    """Those that are objects, with their results."""
    strays: list[ToolResult]
    """Results that stand in a block and answer no call of it."""
    outside: list[ToolResult]
    """Those that stand in no block."""


def call_counts(view: View) -> dict[int, int]:
    """How many calls the messages make that make some, also in the legacy form or as markup, by their indices."""
    calls = view.columns.calls
    counts = dict(calls.counts) if calls else {}
    for at, role in enumerate(view.columns.roles):
        if role == "assistant" and at not in counts and (count := chat.call_count(view.messages[at])):
            counts[at] = count
    return counts


def bad_results(view: View) -> dict[int, tuple[str | None, bool]]:
    """Of each result that failed or is empty what says that it failed, if anything does, and whether it is empty."""
    outcomes: dict[int, tuple[str | None, bool]] = {}
    is_marked = not MARKING.isdisjoint(view.columns.keys)
    for at, content in zip(view.columns.results, view.columns.given, strict=True):
        text = content if isinstance(content, str) else chat.text(view.messages[at]) or ""
        said = failure(view.messages[at] if is_marked else _UNMARKED, text)
        empty = (not text or text.isspace()) and (isinstance(content, str) or not chat.other_parts(view.messages[at]))
        if empty or said is not None:
            outcomes[at] = said, empty
    return outcomes


_GOOD = None, False
_UNMARKED: Message = {}


def exchanges(view: View) -> Exchanges:
    """Match results with calls, block by block; calls of a block that share an id get theirs in order."""
    columns = view.columns
    return _match_in_order(view, columns.calls) if columns.calls and columns.matched else _match_by_id(view)


def _match_in_order(view: View, calls: Calls) -> Exchanges:
    """The same where the results stand in the order of the calls."""
    columns, bad = view.columns, view.once(bad_results)
    places = [(at, block) for block, (at, count) in enumerate(calls.counts.items()) for _ in range(count)]
    both = zip(places, calls.given, calls.names, calls.ids, strict=True)
    matched_calls = [ToolCall(at, block, given, name, key) for (at, block), given, name, key in both]
    for call, at, key in zip(matched_calls, columns.results, columns.result_ids, strict=False):
        call.results = [ToolResult(at, key, key, *bad.get(at, _GOOD))]
    return Exchanges(matched_calls, [], [])


def _match_by_id(view: View) -> Exchanges:
    bad = view.once(bad_results)
    pairs = Exchanges([], [], [])
    waiting: dict[str | bytes, deque[ToolCall]] | None = None  # the calls of the present block by their ids
    block = -1
    for at, message in enumerate(view.messages):
        role = message.get("role")
        if role == "assistant":
            waiting = None
            for given in chat.calls(message):
                if waiting is None:
                    waiting, block = {}, block + 1
                call = ToolCall(at, block, given, chat.call_name(given), id_key(given.get("id")))
                pairs.calls.append(call)
                if call.key is not None:
                    waiting.setdefault(call.key, deque()).append(call)
        elif role == "tool":
            call_id = message.get("tool_call_id")
            result = ToolResult(at, call_id, id_key(call_id), *bad.get(at, _GOOD))
            if waiting is None:
                pairs.outside.append(result)
            elif result.key is not None and (queue := waiting.get(result.key)):
                (queue.popleft() if len(queue) > 1 else queue[0]).results.append(result)
            else:
                pairs.strays.append(result)
    return pairs
