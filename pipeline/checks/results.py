"""What can be wrong with tool results: calls, and what answers them, block by block.

A block is an assistant message with calls and what follows up to the next assistant message.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pipeline import chat, codec
from pipeline.checks.registry import Block, View, check, error, id_key, quoted, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.model import Found, Json, Message

State = Literal["ok", "failed", "empty", "unanswered"]
FAILURES = frozenset({"error", "timeout", "missing", "incomplete"})
MARKED = "is_error"
"""What stands for the key where a format has a mark for failed results."""
_NULL = {f'"{key}"'.encode(): (f'"{key}":null'.encode(), f'"{key}": null'.encode()) for key in sorted(FAILURES)}
"""As rows of a table mostly have these keys."""
_JSON = re.compile(r"\s*[{\[]")


@check("error", "warning")
def tool_result_failed(view: View) -> Iterator[Found]:
    """Reported when a tool result is JSON with a truthy `error`, `timeout`, `missing` or `incomplete`.

    The key counts at any depth and in any case; in formats that mark failed results (`is_error`), so does the mark. The
    model is then trained on a call that did not work, which is only a warning when it was retried with success.
    """
    for result, call, retried in _results(view):
        if result.failure is not None:
            seen = "is marked as an error" if result.failure == MARKED else f"has a truthy {quoted(result.failure)}"
            text = f"the result{_of(call)} {seen}"
            yield _graded(text, retried=retried, at=result.at)


@check("error", "warning")
def tool_result_empty(view: View) -> Iterator[Found]:
    """Reported when a call's result has no image or other part and no text but white space.

    The model is then trained to go on from nothing, which is only a warning when the call was retried with success.
    """
    for result, call, retried in _results(view):
        if call is not None and result.empty:
            yield _graded(f"the result{_of(call)} is empty", retried=retried, at=result.at)


@check("error", "warning")
def tool_result_missing(view: View) -> Iterator[Found]:
    """Reported when a call has no result in its block.

    Chat templates and trainers expect one for every call; it is only a warning when the call was retried with success.
    """
    for call, retried in view.once(_graded_calls):
        if not call.results and not _is_last(view, call):
            yield _graded(f"no result answers the call{_of(call)}", retried=retried, at=call.at)


@check("warning")
def unanswered_call(view: View) -> Iterator[Found]:
    """Reported when a call of the record's very last message has no result.

    The session ended there, which is a fine place to end for training: the model learns to make the call.
    """
    for call, _ in view.once(_graded_calls):
        if not call.results and _is_last(view, call):
            yield warning(
                f"the record ends before the call{_of(call)} is answered: see whether the log is whole", call.at
            )


@check("error")
def tool_result_without_call(view: View) -> Iterator[Found]:
    """Reported when a tool result answers no call of its block, or stands in no block.

    The model would be trained on results out of nowhere, and most chat templates refuse them.
    """
    for stray in view.once(_exchanges).strays:
        if not stray.in_block:
            yield error("the result follows no assistant message with calls: leave the record out", stray.result.at)
        elif stray.result.key is not None:
            shown = quoted(stray.result.call_id)
            yield error(f"no call of its block has id {shown}: correct the id or leave the record out", stray.result.at)


@check("error")
def tool_result_without_id(view: View) -> Iterator[Found]:
    """Reported when a tool result has no `tool_call_id`: nobody can tell which call it answers."""
    for stray in view.once(_exchanges).strays:
        if stray.result.key is None:
            yield error("the result has no tool_call_id: log the id of the call that it answers", stray.result.at)


def outcomes(view: View) -> list[tuple[str, State]]:
    """What became of every native call that names a function, in order: the name and how it went.

    A call with a failed result is ``failed``, one whose results are all empty ``empty``, one without any
    ``unanswered``, also in the last message.
    """
    return [(call.name, call.state) for call, _ in view.once(_graded_calls) if call.name is not None]


class Result(NamedTuple):
    """A tool message, judged."""

    at: int
    call_id: Json
    failure: str | None
    """The key that says that it failed."""
    empty: bool

    @property
    def key(self) -> str | bytes | None:
        """Its id as something to look up; ``None`` if it has none."""
        return id_key(self.call_id)

    @property
    def good(self) -> bool:
        """Whether it neither failed nor is empty."""
        return self.failure is None and not self.empty


class Stray(NamedTuple):
    """A result that answers no call."""

    result: Result
    in_block: bool


class Call(NamedTuple):
    """A call, and the results of its block that answer it."""

    at: int
    """Index of the assistant message."""
    block: int
    """Index of its block."""
    name: str | None
    call_id: Json
    results: list[Result]

    @property
    def good(self) -> bool:
        """Whether a result of it neither failed nor is empty."""
        return any(result.good for result in self.results)

    @property
    def state(self) -> State:
        """How it went."""
        if not self.results:
            return "unanswered"
        if any(result.failure is not None for result in self.results):
            return "failed"
        return "ok" if self.good else "empty"


class Exchanges(NamedTuple):
    """All calls of a record with their results, and the results that are left over."""

    calls: list[Call]
    strays: list[Stray]


def _exchanges(view: View) -> Exchanges:
    """Match results with calls, block by block."""
    found = Exchanges([], [])
    inside: set[int] = set()
    for number, block in enumerate(view.blocks):
        calls, strays = _match(number, block)
        found.calls.extend(calls)
        found.strays.extend(strays)
        inside.update(at for at, _ in block.results)
    for at, message in enumerate(view.messages):
        if message.get("role") == "tool" and at not in inside:
            found.strays.append(Stray(_judge(at, message), in_block=False))
    return found


def _match(number: int, block: Block) -> Exchanges:
    """Give every result of a block to the call with its id; calls that share an id get theirs in order."""
    calls = [Call(block.at, number, chat.call_name(call), call.get("id"), []) for call in block.calls]
    waiting: dict[str | bytes, list[Call]] = {}
    for call in reversed(calls):
        if (key := id_key(call.call_id)) is not None:
            waiting.setdefault(key, []).append(call)
    strays: list[Stray] = []
    for at, message in block.results:
        result = _judge(at, message)
        queue = waiting.get(result.key) if result.key is not None else None
        if queue is None:
            strays.append(Stray(result, in_block=True))
        else:
            (queue.pop() if len(queue) > 1 else queue[0]).results.append(result)
    return Exchanges(calls, strays)


def _graded_calls(view: View) -> list[tuple[Call, bool]]:
    """Every call, and whether another call of its tool, in its block or in the next one, has a good result."""
    calls = view.once(_exchanges).calls
    good = Counter((call.block, call.name) for call in calls if call.good)

    def retried(call: Call) -> bool:
        others = good[call.block, call.name] + good[call.block + 1, call.name] - call.good
        return call.name is not None and others > 0

    return [(call, retried(call)) for call in calls]


def _results(view: View) -> list[tuple[Result, Call | None, bool]]:
    """Every result in the order of the messages, the call it answers, and whether that was retried with success."""
    found: list[tuple[Result, Call | None, bool]] = [
        (result, call, retried) for call, retried in view.once(_graded_calls) for result in call.results
    ]
    found += [(stray.result, None, False) for stray in view.once(_exchanges).strays]
    return sorted(found, key=lambda item: item[0].at)


def _judge(at: int, message: Message) -> Result:
    text = chat.text(message) or ""
    empty = (not text or text.isspace()) and not chat.other_parts(message)
    failure = MARKED if chat.private(message).get("is_error") else _failure(text)
    return Result(at, message.get("tool_call_id"), failure, empty)


def _failure(text: str) -> str | None:
    """The first key in a JSON result that says that the call failed."""
    if not _JSON.match(text) or not _may_fail(text):
        return None
    todo = [_parsed(text)]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if not FAILURES.isdisjoint(map(str.lower, item)):
                for key, value in item.items():
                    if value and key.lower() in FAILURES:
                        return str(key)
            item = item.values()
        todo += [member for member in reversed(item or ()) if isinstance(member, (dict, list))]
    return None


def _may_fail(text: str) -> bool:
    """Whether a text may hold one of the keys with something true, which is found sooner than by parsing it."""
    lower = text.encode("utf-8", "surrogatepass").lower()  # of the keys' letters only ASCII has other cases
    return b"\\u" in lower or any(lower.count(key) > sum(map(lower.count, null)) for key, null in _NULL.items())


def _parsed(text: str) -> Any:
    """The value of a JSON text, ``None`` for what is none; NaN counts, since tools written in Python print it."""
    try:
        return codec.loads(text)
    except codec.NotFiniteError:
        return _lenient(text)
    except (ValueError, RecursionError):
        return None


def _lenient(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_last(view: View, call: Call) -> bool:
    return call.at == len(view.messages) - 1


def _of(call: Call | None) -> str:
    """`` of 'grep' (id 'c1')``, as far as it is known."""
    if call is None:
        return ""
    name = f" of {quoted(call.name)}" if call.name is not None else ""
    return name if id_key(call.call_id) is None else f"{name} (id {quoted(call.call_id)})"


def _graded(text: str, *, retried: bool, at: int) -> Found:
    if retried:
        return warning(f"{text}, and another call of the tool went well: nothing to do if retries are wanted", at)
    return error(f"{text}, and no retry went well: see whether the record should be trained on", at)
