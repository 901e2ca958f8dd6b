"""The calls of a record with their results, and the rules about results.

Results are matched with calls block by block, in one pass over the messages. A block is an assistant message with
calls, and all messages up to the next assistant message.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from chatsquash.checks.failures import MARKING, failure_mark, text_failure
from chatsquash.checks.registry import Calls, Fact, View, check
from chatsquash.core import chat, jsonio
from chatsquash.core.chat import id_key
from chatsquash.core.model import Json
from chatsquash.core.text import quote

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


class Exchanges(Struct, frozen=True):
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


def _unanswered(view: View) -> list[ToolCall]:
    """Return the calls without a result."""
    calls, columns = view.columns.calls, view.columns
    if calls is None or not columns.are_matched:
        return [call for call in view.once(exchanges).calls if not call.results]
    # Only calls of the last message are unanswered.
    at, result_count = len(columns.roles) - 1, len(columns.results)
    open_calls = zip(calls.objects[result_count:], calls.names[result_count:], calls.ids[result_count:], strict=True)
    return [ToolCall(at, len(calls.counts) - 1, call_object, name, key) for call_object, name, key in open_calls]


class _Problem(Struct, frozen=True):
    """A call without a result, or a failed or empty result."""

    kind: Literal["failed", "empty", "missing"]
    text: str
    at: int
    """The index of the message."""
    retried: bool
    """Whether a retry of the tool succeeded."""


def _problems(view: View) -> list[_Problem]:
    """Return failed and empty results in the order of messages, followed by calls without a result."""
    pairs = view.once(exchanges)
    answers: list[tuple[ToolResult, ToolCall | None]] = []
    for call in pairs.calls:
        answers += [(result, call) for result in call.results if not result.good]
    answers += [(result, None) for result in (*pairs.strays, *pairs.outside) if not result.good]
    bad = [
        _Problem(kind, text, result.at, call is not None and _is_retried(view, call))
        for result, call in sorted(answers, key=lambda answer: answer[0].at)
        for kind, text in _reasons(result, call)
    ]
    return bad + [
        _Problem("missing", f"the call{_of(call)} has no result", call.at, _is_retried(view, call))
        for call in view.once(_unanswered)
        if not _is_last(view, call)
    ]


def _reasons(result: ToolResult, call: ToolCall | None) -> Iterator[tuple[Literal["failed", "empty"], str]]:
    """Yield the problems of a result."""
    if result.failure is not None:
        yield "failed", f"the result{_of(call)} {result.failure}"
    if result.empty and call is not None:
        yield "empty", f"the result{_of(call)} is empty"


@check("warning", looks=("bad results",))
def tool_result_failed(view: View) -> Iterator[Fact]:
    """Reported when a tool result reports a failure, and no retry succeeded."""
    yield from _not_retried(view, "failed")


@check("warning", looks=("bad results",))
def tool_result_empty(view: View) -> Iterator[Fact]:
    """Reported when a tool result is empty or blank, and no retry succeeded."""
    yield from _not_retried(view, "empty")


@check("warning", looks=("unmatched results",))
def tool_result_missing(view: View) -> Iterator[Fact]:
    """Reported when a call has no result in its block, and no retry succeeded."""
    yield from _not_retried(view, "missing")


@check("info", looks=("bad results", "unmatched results"))
def tool_result_retried(view: View) -> Iterator[Fact]:
    """Reported when a call failed or has no result, and a retry succeeded.

    It is then not reported as `tool-result-failed`, `tool-result-empty` or `tool-result-missing`.
    """
    for trouble in view.once(_problems):
        if trouble.retried:
            advice = "no action is needed if you want retries"
            yield Fact(f"{trouble.text}, but another call to the tool succeeded: {advice}", trouble.at)


@check("warning", looks=("open calls",))
def unanswered_call(view: View) -> Iterator[Fact]:
    """Reported when the last message of a record has a call without a result.

    Such a record is suitable for training: the model learns to make the call.
    """
    for call in view.once(_unanswered):
        if _is_last(view, call):
            yield Fact(
                f"the record ends before the call{_of(call)} is answered: check whether the log is complete",
                call.at,
            )


@check("error", looks=("unmatched results",))
def tool_result_without_call(view: View) -> Iterator[Fact]:
    """Reported when a tool result does not match any call in its block."""
    pairs = view.once(exchanges)
    for result in pairs.strays:
        if result.key is not None:
            call_id = quote(result.call_id)
            yield Fact(f"no call in its block has the id {call_id}: fix the id or exclude the record", result.at)
    for result in pairs.outside:
        yield Fact("the result does not follow an assistant message with calls: exclude the record", result.at)


@check("error", looks=("unmatched results",))
def tool_result_without_id(view: View) -> Iterator[Fact]:
    """Reported when a tool result has no `tool_call_id`."""
    pairs = view.once(exchanges)
    for result in (*pairs.strays, *pairs.outside):
        if result.key is None:
            yield Fact("the result has no tool_call_id: log the id of the call that it answers", result.at)


def outcomes(view: View) -> list[tuple[str, State]]:
    """Return the name and outcome of each native call with a function name, in order.

    A call with a failed result is ``failed``, one with only empty results ``empty``, and one without results
    ``unanswered``, even in the last message.
    """
    return [(call.name, call.state) for call in view.once(exchanges).calls if call.name is not None]


def corrected(view: View) -> set[int]:
    """Return the messages with a failed call of a tool that a later call used successfully."""
    places: set[int] = set()
    worked: dict[str, int] = {}
    """The last message with a successful call of each tool."""
    for call in reversed(view.once(exchanges).calls):
        if call.name is None:
            continue
        if call.state == "ok":
            worked.setdefault(call.name, call.at)
        elif call.state == "failed" and worked.get(call.name, -1) > call.at:
            places.add(call.at)
    return places


def _good_calls(view: View) -> Counter[tuple[int, str | None]]:
    """Return the number of calls with a good result by block and tool."""
    counts: Counter[tuple[int, str | None]] = Counter()
    for call in view.once(exchanges).calls:
        for result in call.results:
            if result.failure is None and not result.empty:
                counts[call.block, call.name] += 1
                break
    return counts


def _is_good(call: ToolCall) -> bool:
    """Return whether any result of a call is neither a failure nor empty."""
    return any(result.good for result in call.results)


def _is_retried(view: View, call: ToolCall) -> bool:
    """Return whether another call of the same tool, in the same block or the next one, has a good result."""
    good = view.once(_good_calls)
    others = good[call.block, call.name] + good[call.block + 1, call.name] - _is_good(call)
    return call.name is not None and others > 0


def _is_last(view: View, call: ToolCall) -> bool:
    return call.at == len(view.columns.roles) - 1


def _of(call: ToolCall | None) -> str:
    """Return the tool and id of a call for a message, such as `` of 'grep' (id 'c1')``, without missing parts."""
    if call is None:
        return ""
    name = f" of {quote(call.name)}" if call.name is not None else ""
    return name if call.key is None else f"{name} (id {quote(call.call_object['id'])})"


def _not_retried(view: View, kind: str) -> Iterator[Fact]:
    for trouble in view.once(_problems):
        if trouble.kind == kind and not trouble.retried:
            advice = "check whether to train on the record"
            yield Fact(f"{trouble.text}, and no retry succeeded: {advice}", trouble.at)
