"""What can be wrong with tool results: calls, and what answers them, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from chatsquash.checks.exchanges import State, ToolCall, ToolResult, exchanges
from chatsquash.checks.registry import Fact, View, check
from chatsquash.core.text import quote


def _unanswered(view: View) -> list[ToolCall]:
    """The calls that have no result."""
    calls, columns = view.columns.calls, view.columns
    if calls is None or not columns.matched:
        return [call for call in view.once(exchanges).calls if not call.results]
    at, behind = len(columns.roles) - 1, len(columns.results)  # which only those of the last message have not
    left = zip(calls.given[behind:], calls.names[behind:], calls.ids[behind:], strict=True)
    return [ToolCall(at, len(calls.counts) - 1, given, name, key) for given, name, key in left]


class _Trouble(NamedTuple):
    """A call that did not go well, or a result that is no good."""

    kind: Literal["failed", "empty", "missing"]
    text: str
    at: int
    """Index of the message."""
    retried: bool
    """Whether the same tool then succeeded."""


def _troubles(view: View) -> list[_Trouble]:
    """What did not go well: the results, in the order of the messages, and behind them the calls without one."""
    calls, strays, outside = view.once(exchanges)
    answers: list[tuple[ToolResult, ToolCall | None]] = [(result, call) for call in calls for result in call.results]
    answers += [(result, None) for result in (*strays, *outside)]
    bad = [
        _Trouble(kind, text, result.at, call is not None and _is_retried(view, call))
        for result, call in sorted(answers, key=lambda answer: answer[0].at)
        for kind, text in _reasons(result, call)
    ]
    return bad + [
        _Trouble("missing", f"no result answers the call{_of(call)}", call.at, _is_retried(view, call))
        for call in view.once(_unanswered)
        if not _is_last(view, call)
    ]


def _reasons(result: ToolResult, call: ToolCall | None) -> Iterator[tuple[Literal["failed", "empty"], str]]:
    """What is wrong with a result."""
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
    """Reported when a tool result has only white space, and no retry succeeded."""
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
    for trouble in view.once(_troubles):
        if trouble.retried:
            advice = "nothing to do if retries are wanted"
            yield Fact(f"{trouble.text}, and another call of the tool went well: {advice}", trouble.at)


@check("warning", looks=("open calls",))
def unanswered_call(view: View) -> Iterator[Fact]:
    """Reported when the last message of a record has a call without a result.

    Such a record is fine for training: the model learns to make the call.
    """
    for call in view.once(_unanswered):
        if _is_last(view, call):
            yield Fact(f"the record ends before the call{_of(call)} is answered: see whether the log is whole", call.at)


@check("error", looks=("unmatched results",))
def tool_result_without_call(view: View) -> Iterator[Fact]:
    """Reported when a tool result does not match a call of its block."""
    pairs = view.once(exchanges)
    for result in pairs.strays:
        if result.key is not None:
            shown = quote(result.call_id)
            yield Fact(f"no call of its block has id {shown}: correct the id or leave the record out", result.at)
    for result in pairs.outside:
        yield Fact("the result follows no assistant message with calls: leave the record out", result.at)


@check("error", looks=("unmatched results",))
def tool_result_without_id(view: View) -> Iterator[Fact]:
    """Reported when a tool result has no `tool_call_id`."""
    _, strays, outside = view.once(exchanges)
    for result in (*strays, *outside):
        if result.key is None:
            yield Fact("the result has no tool_call_id: log the id of the call that it answers", result.at)


def outcomes(view: View) -> list[tuple[str, State]]:
    """What became of every native call that names a function, in order: the name and how it went.

    A call with a failed result is ``failed``, one whose results are all empty ``empty``, one without any
    ``unanswered``, also in the last message.
    """
    return [(call.name, call.state) for call in view.once(exchanges).calls if call.name is not None]


def corrected(view: View) -> set[int]:
    """The messages with a call that failed, where a later call of its tool did not."""
    places: set[int] = set()
    worked: dict[str, int] = {}
    """The last message in which a call of a tool did not fail."""
    for call in reversed(view.once(exchanges).calls):
        if call.name is None:
            continue
        if call.state == "ok":
            worked.setdefault(call.name, call.at)
        elif call.state == "failed" and worked.get(call.name, -1) > call.at:
            places.add(call.at)
    return places


def _good_calls(view: View) -> Counter[tuple[int, str | None]]:
    """How many calls of a tool have a good result, by their block."""
    calls = view.once(exchanges).calls
    return Counter((call.block, call.name) for call in calls if _is_good(call))


def _is_good(call: ToolCall) -> bool:
    """Whether a result of a call neither failed nor is empty."""
    return any(result.good for result in call.results)


def _is_retried(view: View, call: ToolCall) -> bool:
    """Whether another call of a call's tool, in its block or in the next one, has a good result."""
    good = view.once(_good_calls)
    others = good[call.block, call.name] + good[call.block + 1, call.name] - _is_good(call)
    return call.name is not None and others > 0


def _is_last(view: View, call: ToolCall) -> bool:
    return call.at == len(view.columns.roles) - 1


def _of(call: ToolCall | None) -> str:
    """`` of 'grep' (id 'c1')``, as far as it is known."""
    if call is None:
        return ""
    name = f" of {quote(call.name)}" if call.name is not None else ""
    return name if call.key is None else f"{name} (id {quote(call.given['id'])})"


def _not_retried(view: View, kind: str) -> Iterator[Fact]:
    for trouble in view.once(_troubles):
        if trouble.kind == kind and not trouble.retried:
            advice = "see whether the record should be trained on"
            yield Fact(f"{trouble.text}, and no retry went well: {advice}", trouble.at)
