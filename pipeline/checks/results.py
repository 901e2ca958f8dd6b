"""What can be wrong with tool results: calls, and what answers them, block by block.

A block is an assistant message with calls and what follows up to the next assistant message.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pipeline import chat, codec
from pipeline.chat import PRIVATE
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
    for result, call in view.once(_bad_results):
        if result.failure is not None:
            seen = "is marked as an error" if result.failure == MARKED else f"has a truthy {quoted(result.failure)}"
            yield _graded(f"the result{_of(call)} {seen}", view, call, result.at)


@check("error", "warning")
def tool_result_empty(view: View) -> Iterator[Found]:
    """Reported when a call's result has no image or other part and no text but white space.

    The model is then trained to go on from nothing, which is only a warning when the call was retried with success.
    """
    for result, call in view.once(_bad_results):
        if call is not None and result.empty:
            yield _graded(f"the result{_of(call)} is empty", view, call, result.at)


@check("error", "warning")
def tool_result_missing(view: View) -> Iterator[Found]:
    """Reported when a call has no result in its block.

    Chat templates and trainers expect one for every call; it is only a warning when the call was retried with success.
    """
    for call in view.once(_exchanges).calls:
        if not call.results and not _is_last(view, call):
            yield _graded(f"no result answers the call{_of(call)}", view, call, call.at)


@check("warning")
def unanswered_call(view: View) -> Iterator[Found]:
    """Reported when a call of the record's very last message has no result.

    The session ended there, which is a fine place to end for training: the model learns to make the call.
    """
    for call in view.once(_exchanges).calls:
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
    return [(call.name, call.state) for call in view.once(_exchanges).calls if call.name is not None]


class Result(NamedTuple):
    """A tool message, judged."""

    at: int
    call_id: Json
    key: str | bytes | None
    """Its id as something to look up; ``None`` if it has none."""
    failure: str | None
    """The key that says that it failed."""
    empty: bool

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
    """All calls of a record with their results, and the results that are left over."""

    calls: list[Call]
    strays: list[Stray]


def _exchanges(view: View) -> Exchanges:
    """Match results with calls, block by block."""
    found = Exchanges([], [])
    outside = {at: message for at, message in enumerate(view.messages) if message.get("role") == "tool"}
    for number, block in enumerate(view.blocks):
        _match(number, block, found)
        for at, _ in block.results:
            del outside[at]
    found.strays.extend(Stray(_judge(at, message), in_block=False) for at, message in outside.items())
    return found


def _match(number: int, block: Block, found: Exchanges) -> None:
    """Give every result of a block to the call with its id; calls that share an id get theirs in order."""
    waiting: dict[str | bytes, deque[Call]] = {}
    for given in block.calls:
        call = Call(block.at, number, chat.call_name(given), given.get("id"), [])
        found.calls.append(call)
        if (key := id_key(call.call_id)) is not None:
            waiting.setdefault(key, deque()).append(call)
    for at, message in block.results:
        result = _judge(at, message)
        queue = waiting.get(result.key) if result.key is not None else None
        if queue is None:
            found.strays.append(Stray(result, in_block=True))
        else:
            (queue.popleft() if len(queue) > 1 else queue[0]).results.append(result)


def _bad_results(view: View) -> list[tuple[Result, Call | None]]:
    """Every result that failed or is empty, in the order of the messages, and the call it answers."""
    calls, strays = view.once(_exchanges)
    answers: list[tuple[Result, Call | None]] = [(result, call) for call in calls for result in call.results]
    answers += [(stray.result, None) for stray in strays]
    return sorted((answer for answer in answers if not answer[0].good), key=lambda answer: answer[0].at)


def _good_calls(view: View) -> Counter[tuple[int, str | None]]:
    """How many calls of a tool have a good result, by their block."""
    calls = view.once(_exchanges).calls
    return Counter((call.block, call.name) for call in calls if _is_good(call))


def _is_good(call: Call) -> bool:
    """Whether a result of a call neither failed nor is empty."""
    return any(result.good for result in call.results)


def _is_retried(view: View, call: Call) -> bool:
    """Whether another call of a call's tool, in its block or in the next one, has a good result."""
    good = view.once(_good_calls)
    others = good[call.block, call.name] + good[call.block + 1, call.name] - _is_good(call)
    return call.name is not None and others > 0


def _judge(at: int, message: Message) -> Result:
    text = chat.text(message) or ""
    empty = (not text or text.isspace()) and not chat.other_parts(message)
    failure = MARKED if PRIVATE in message and chat.private(message).get("is_error") else _failure(text)
    call_id = message.get("tool_call_id")
    return Result(at, call_id, id_key(call_id), failure, empty)


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
    if b"\\u" in lower:
        return True
    present = ((key, null) for key, null in _NULL.items() if key in lower)
    return any(lower.count(key) > sum(map(lower.count, null)) for key, null in present)


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


def _graded(text: str, view: View, call: Call | None, at: int) -> Found:
    if call is not None and _is_retried(view, call):
        return warning(f"{text}, and another call of the tool went well: nothing to do if retries are wanted", at)
    return error(f"{text}, and no retry went well: see whether the record should be trained on", at)
