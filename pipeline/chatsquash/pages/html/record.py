"""Render a record as HTML: messages by role, calls paired with their results, long texts collapsed, size limited."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from chatsquash.core import chat, jsonio, reasoning
from chatsquash.core.marks import FLAGS
from chatsquash.core.model import Json, Message
from chatsquash.pages.html.markup import Child, Html, tag, together
from chatsquash.records import StoredRecord, media
from chatsquash.records.reading import RESULTS, call_arguments, message_calls

_OPENING = 90
"""Characters of a call's arguments that are shown on its line."""
_NAME = 120
"""Maximum characters of a role, a name or an id."""
_TOOLS = 200
"""Maximum number of tool names that are listed."""
_SMALL_TEXT = 400
"""Bytes shown per text when texts are large."""
_END_SHARE = 0.35
"""Share of the space that is reserved for the end of a conversation."""
_SHORT_RESULT = 400
"""Maximum characters of a result that is shown expanded."""
_WORDS = {"tool": "tool result", "function": "tool result", "developer": "system"}
_KNOWN = ("system", "user", "assistant", "tool")


def size(count: int) -> str:
    """Format a number of bytes with a unit."""
    if count < 1000:
        return f"{count} B"
    for unit in ("KB", "MB", "GB"):
        count_of_unit = count / 1000
        if count_of_unit < 999.5:
            return f"{count_of_unit:,.0f} {unit}" if count_of_unit >= 9.95 else f"{count_of_unit:,.1f} {unit}"
        count = round(count_of_unit)
    return f"{count:,} TB"


def medium(part: Json) -> Html:
    """Render a non-text part as its type and size."""
    try:
        image = media.picture(part)
    except media.NoPictureError:
        kind = chat.media_type(part) or (part.get("type") if isinstance(part, dict) else None) or "part"
        suffix = f", {size(len(jsonio.dumps(part)))}" if not isinstance(part, dict) or len(part) > 1 else ""
        return tag("p", f"{_short(str(kind))}{suffix}", class_="medium")
    return tag("p", f"{image.name.rpartition('.')[2]} image, {size(len(image.data))}", class_="medium")


def _plain(kind: str, text: str) -> Html:
    """Render a text verbatim, with ``kind`` as its class."""
    # HTML ignores a line feed at the start of <pre>; without it, one of the text would be lost.
    return tag("pre", Html("\n"), text, class_=kind, dir="auto")


@dataclass(frozen=True, slots=True)
class Showing:
    """Options for rendering a record."""

    place: str = ""
    """Location of the complete record, as ``FILE:ROW``; named where text is cut."""
    prefix: str = "m"
    """Prefix of message ids: ``m3`` is the message with index 3 in the file."""
    text: int | None = 2048
    """Bytes shown per text; ``None`` for all."""
    article: int | None = 12_000
    """Size in characters of HTML after which the rest of a message is cut; ``None`` for no limit."""
    parts: int = 20
    """Maximum number of non-text parts per content."""
    notes: Mapping[int, Sequence[Child]] = field(default_factory=dict)
    """Notes on messages, such as findings, by index in the file."""
    trained: AbstractSet[int] | None = None
    """Indices in the file of the messages that are trained on; ``None`` if only flags are known."""
    medium: Callable[[Json], Html] = medium
    """Renders a non-text part."""
    is_open: Callable[[str], bool] = lambda arguments: False  # noqa: ARG005
    """Whether a call with these arguments is expanded."""
    body: Callable[[str, str], Html] = _plain
    """Renders a text that has been cut to size; its kind is ``said``, ``thought``, ``call`` or ``result``."""


def articles(record: StoredRecord, showing: Showing, reduced: Showing | None = None, limit: int = 0) -> Iterator[Html]:
    """Yield the messages of a record; a result is rendered with its call.

    After ``limit`` characters of HTML, messages are rendered with the options ``reduced``.
    """
    results = answers(record.messages)
    result_indices = set(results.values())
    length = 0
    for at in range(len(record.messages)):
        if at not in result_indices:
            article = _article(record, at, results, reduced if reduced and length > limit else showing)
            length += len(article)
            yield article


def tools(record: StoredRecord) -> Html | None:
    """Render the names of a record's tools, collapsed; return ``None`` if there are no tools."""
    definitions = record.tools if isinstance(record.tools, list) else []
    if not definitions:
        return None
    names = [_short(_tool_name(tool)) for tool in definitions[:_TOOLS]]
    more = [f"{len(definitions) - _TOOLS:,} more"] if len(definitions) > _TOOLS else []
    items = (tag("li", name, dir="auto") for name in [*names, *more])
    return _details(
        f"{len(definitions):,} tool{'' if len(definitions) == 1 else 's'}",
        tag("ul", *items, class_="names"),
        class_="tools",
    )


def fitting(record: StoredRecord, showing: Showing, limit: int) -> list[Html]:
    """Return the articles that fit into ``limit`` bytes: mainly from the beginning, and some from the end."""
    items = _fit_articles(record, showing, limit)
    if len(items) < 4 <= len(record.messages):  # a few large messages take all the space
        items = _fit_articles(record, replace(showing, text=_SMALL_TEXT, article=8 * _SMALL_TEXT), limit)
    return items


def _fit_articles(record: StoredRecord, showing: Showing, limit: int) -> list[Html]:
    results = answers(record.messages)
    result_indices = set(results.values())
    places = [at for at in range(len(record.messages)) if at not in result_indices]
    first, last = deque[Html](), deque[Html]()
    start, end, remaining = 0, len(places), limit
    while start < end:
        is_first = remaining > limit * _END_SHARE or not first
        article = _article(record, places[start if is_first else end - 1], results, showing)
        remaining -= len(article.encode())
        if remaining < 0:
            break
        if is_first:
            first.append(article)
            start += 1
        else:
            last.appendleft(article)
            end -= 1
    if start == end:
        return [*first, *last]
    between = f"… {end - start:,} of {len(places):,} turns are not shown here{_location(showing)}"
    return [*first, tag("p", between, class_="cut"), *last]


def _tool_name(tool: Json) -> str:
    inner = tool.get("function") if isinstance(tool, dict) else None
    return chat.tool_name(tool) or chat.tool_name(inner) or "?"


def _article(record: StoredRecord, at: int, results: Mapping[tuple[int, int], int], showing: Showing) -> Html:
    message, number = record.messages[at], _number(record, at)
    role = message["role"]
    style_class = "tool" if role in RESULTS else {"developer": "system"}.get(role, role)
    calls = deque(_calls(record, at, results, showing))
    parts = [*_bounded(_content(message, showing), calls, showing), *_notes(number, showing)]
    return tag(
        "article",
        _head(message, number, showing),
        *(parts or [tag("p", "empty", class_="medium")]),
        class_=f"message {style_class if style_class in _KNOWN else 'other'}",
        id=_id(record, at, showing),
    )


def _bounded(content: Iterator[Html], calls: deque[Callable[[], Html]], showing: Showing) -> Iterator[Html]:
    """Yield the parts of a message up to its size limit; calls beyond it are not rendered."""
    seen = 0
    for part in chain(content, (calls.popleft()() for _ in range(len(calls)))):
        yield part
        seen += len(part)
        if showing.article is not None and seen > showing.article:
            if rest := sum(1 for _ in content) + len(calls):
                yield tag("p", f"… {rest:,} more parts of this message{_location(showing)}", class_="cut")
            return


def _location(showing: Showing) -> str:
    return f" ({showing.place})" if showing.place else ""


def _number(record: StoredRecord, at: int) -> int:
    """Return the index of a message in the file."""
    return record.places[at] if record.places else at


def _id(record: StoredRecord, at: int, showing: Showing) -> str | None:
    """Return the id of a message; if several are one message in the file, only the first has one."""
    number = _number(record, at)
    is_first = at == 0 or _number(record, at - 1) != number
    return f"{showing.prefix}{number}" if is_first else None


def _head(message: Message, number: int, showing: Showing) -> Html:
    role = _WORDS.get(message["role"], message["role"])
    names = (_short(value) for name in ("name", "tool_call_id") if isinstance(value := message.get(name), str))
    return tag(
        "header",
        tag("a", f"{number:,}", class_="number", href=f"#{showing.prefix}{number}"),
        tag("h4", _short(role), dir="auto"),
        *(tag("span", value, class_="name", dir="auto") for value in names if value),
        _training(message, number, showing),
    )


def _training(message: Message, number: int, showing: Showing) -> Html | None:
    """Return a label for whether a message is trained on, if it is known."""
    if showing.trained is not None and number in showing.trained:
        return tag("span", "trained on", class_="training")
    is_reply = showing.trained is not None and message["role"] == "assistant"
    return tag("span", "not trained on", class_="untrained") if is_reply or _is_untrained(message) else None


def _is_untrained(message: Message) -> bool:
    return any(message.get(flag) is no or message.get(flag) == no for flag, (no, _) in FLAGS.items() if flag in message)


def _content(message: Message, showing: Showing) -> Iterator[Html]:
    """Yield the content of a message: reasoning, text, media."""
    if thought := reasoning.text(message):
        yield _details(f"reasoning, {size(_bytes(thought))}", *_body("thought", thought, showing), class_="thought")
    if content := chat.joined_text(message):
        yield from _result(content, showing) if message["role"] in RESULTS else _body("said", content, showing)
    parts = [part for part in chat.other_parts(message) if not reasoning.is_part(part)]
    members = dict(message)
    parts += [{"type": name, name: members[name]} for name in media.MEMBERS if members.get(name)]
    yield from map(showing.medium, parts[: showing.parts])
    if len(parts) > showing.parts:
        yield tag("p", f"… {len(parts) - showing.parts:,} more parts{_location(showing)}", class_="cut")


def _calls(
    record: StoredRecord, at: int, results: Mapping[tuple[int, int], int], showing: Showing
) -> Iterator[Callable[[], Html]]:
    """Yield a function per call that renders it with its result."""
    for number, call in enumerate(message_calls(record.messages[at])):
        yield partial(_pair, record, call, results.get((at, number)), showing)


def _pair(record: StoredRecord, call: dict[str, Any], result: int | None, showing: Showing) -> Html:
    return tag("div", _call(call, showing), _call_result(record, result, showing), class_="pair")


def _call(call: dict[str, Any], showing: Showing) -> Html:
    text = call_arguments(call)
    name = tag("code", _short(chat.call_name(call) or "?"), class_="name", dir="auto")
    opening = tag("span", " ".join(text[: 4 * _OPENING].split())[:_OPENING], class_="opening", dir="auto")
    return _details(
        together(("call ", name, " ", opening)),
        *_body("call", text, showing),
        class_="call",
        open=showing.is_open(text),
    )


def _call_result(record: StoredRecord, result: int | None, showing: Showing) -> Html:
    """Render the result of a call."""
    if result is None:
        return tag("p", "no result", class_="unanswered")
    message = record.messages[result]
    parts = [*_content(message, showing), *_notes(_number(record, result), showing)] or [
        tag("p", "empty result", class_="medium")
    ]
    return tag("div", *parts, class_="answer", id=_id(record, result, showing))


def _result(text: str, showing: Showing) -> Iterator[Html]:
    title = f"result, {size(_bytes(text))}"
    yield _details(title, *_body("result", text, showing), class_="result", open=len(text) <= _SHORT_RESULT)


def _notes(number: int, showing: Showing) -> Iterator[Html]:
    for note in showing.notes.get(number, ()):
        yield tag("p", note, class_="note")


def _body(kind: str, text: str, showing: Showing) -> Iterator[Html]:
    """Yield a text up to its limit, and a note with the size of the rest."""
    beginning, remaining = cut(text, showing.text)
    yield showing.body(kind, beginning)
    if remaining:
        yield tag("p", f"… {size(remaining)} more{_location(showing)}", class_="cut")


def cut(text: str, limit: int | None) -> tuple[str, int]:
    """Return the first ``limit`` bytes of a text, and the number of bytes that follow."""
    if limit is None:
        return text, 0
    beginning = text[:limit]
    if _bytes(beginning) > limit:
        beginning = _truncate(beginning, limit)
    return beginning, _bytes(text[len(beginning) :])


def _truncate(text: str, limit: int) -> str:
    """Return the longest prefix that fits into ``limit`` bytes."""
    for at, character in enumerate(text):
        limit -= _bytes(character)
        if limit < 0:
            return text[:at]
    return text


def _details(summary: Child, *inside: Child, **attributes: Any) -> Html:
    return tag("details", tag("summary", summary), *inside, **attributes)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"


Place = tuple[int, int]
"""The index of a message, and the index of a call in it."""


def answers(messages: list[Any]) -> dict[Place, int]:
    """Map each call with a result to the index of the result.

    A result belongs to the first open call with its id; a result without an id belongs to the first open call of the
    preceding assistant message.
    """
    result_of: dict[Place, int] = {}
    by_id: dict[str | bytes, deque[Place]] = defaultdict(deque)
    last: deque[Place] = deque()
    for at, message in enumerate(messages):
        if message["role"] in RESULTS:
            key = chat.id_key(message.get("tool_call_id"))
            waiting = last if key is None else by_id.get(key, deque())
            place = _next(waiting, result_of)
            if place:
                result_of[place] = at
        elif message["role"] == "assistant":
            last = deque()
            for number, call in enumerate(message_calls(message)):
                last.append((at, number))
                if (key := chat.id_key(call.get("id"))) is not None:
                    by_id[key].append((at, number))
    return result_of


def _next(waiting: deque[Place], results: dict[Place, int]) -> Place | None:
    while waiting:
        place = waiting.popleft()
        if place not in results:
            return place
    return None
