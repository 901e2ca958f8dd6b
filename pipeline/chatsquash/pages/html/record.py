"""A record as HTML: who says what, calls with their results beside them, long things folded, all of it bounded."""

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
from chatsquash.records import media
from chatsquash.records.line import StoredRecord
from chatsquash.records.reading import RESULTS, call_arguments, message_calls

_OPENING = 90
"""Characters of a call's arguments that its line shows."""
_NAME = 120
"""Characters of a role, a name or an id that are shown."""
_TOOLS = 200
"""Tools whose names are listed."""
_LITTLE = 400
"""Bytes of a text that are shown where texts are large."""
_ENDING = 0.35
"""The share of what fits that is of the end of a conversation."""
_OPEN = 400
"""Characters of a result that is shown open."""
_WORDS = {"tool": "tool result", "function": "tool result", "developer": "system"}
_KNOWN = ("system", "user", "assistant", "tool")


def size(count: int) -> str:
    """Bytes as people read them."""
    if count < 1000:
        return f"{count} B"
    for unit in ("KB", "MB", "GB"):
        count_of_unit = count / 1000
        if count_of_unit < 999.5:
            return f"{count_of_unit:,.0f} {unit}" if count_of_unit >= 9.95 else f"{count_of_unit:,.1f} {unit}"
        count = round(count_of_unit)
    return f"{count:,} TB"


def medium(part: Json) -> Html:
    """A part that is no text as its type and size."""
    try:
        image = media.picture(part)
    except media.NoPictureError:
        kind = chat.media_type(part) or (part.get("type") if isinstance(part, dict) else None) or "part"
        sized = f", {size(len(jsonio.dumps(part)))}" if not isinstance(part, dict) or len(part) > 1 else ""
        return tag("p", f"{_short(str(kind))}{sized}", class_="medium")
    return tag("p", f"{image.name.rpartition('.')[2]} image, {size(len(image.data))}", class_="medium")


def _plain(kind: str, text: str) -> Html:
    """A text as it stands; what it is says how it looks.  The first line feed is none of the text."""
    return tag("pre", Html("\n"), text, class_=kind, dir="auto")


@dataclass(frozen=True, slots=True)
class Showing:
    """How a record is shown."""

    place: str = ""
    """Where all of it is, as ``FILE:ROW``; what is cut says so."""
    prefix: str = "m"
    """What the ids of messages begin with: ``m3`` is the message with index 3 of the file."""
    text: int | None = 2048
    """The bytes of a text that are shown; ``None`` for all."""
    article: int | None = 12_000
    """The bytes of a message about which no more of it is shown; ``None`` for all."""
    parts: int = 20
    """The parts of one content that are no text, and are shown."""
    notes: Mapping[int, Sequence[Child]] = field(default_factory=dict)
    """What is said of a message, such as findings, by its index in the file."""
    trained: AbstractSet[int] | None = None
    """The messages that are trained on, by their indices in the file; ``None``: only flags say so."""
    medium: Callable[[Json], Html] = medium
    """Makes HTML of a part of a content that is no text."""
    is_open: Callable[[str], bool] = lambda arguments: False  # noqa: ARG005
    """Whether a call with these arguments is unfolded."""
    body: Callable[[str, str], Html] = _plain
    """Makes HTML of a text, cut to size, that is ``said``, ``thought``, ``call`` or ``result``."""


def articles(record: StoredRecord, showing: Showing, less: Showing | None = None, most: int = 0) -> Iterator[Html]:
    """The messages of a record, one by one; a result stands beside its call, not in its own place.

    ``less`` is how those are shown that stand behind ``most`` characters of HTML.
    """
    answered = answers(record.messages)
    beside = set(answered.values())
    made = 0
    for at in range(len(record.messages)):
        if at not in beside:
            article = _article(record, at, answered, less if less and made > most else showing)
            made += len(article)
            yield article


def tools(record: StoredRecord) -> Html | None:
    """The names of a record's tools, folded; ``None`` where it has none."""
    defined = record.tools if isinstance(record.tools, list) else []
    if not defined:
        return None
    names = [_short(_tool_name(tool)) for tool in defined[:_TOOLS]]
    more = [f"{len(defined) - _TOOLS:,} more"] if len(defined) > _TOOLS else []
    shown = (tag("li", name, dir="auto") for name in [*names, *more])
    return _details(
        f"{len(defined):,} tool{'' if len(defined) == 1 else 's'}", tag("ul", *shown, class_="names"), class_="tools"
    )


def fitting(record: StoredRecord, showing: Showing, most: int) -> list[Html]:
    """As many articles as so many bytes hold: those of the beginning, most of them, and those of the end."""
    fitted = _fitting(record, showing, most)
    if len(fitted) < 4 <= len(record.messages):  # since some are large
        fitted = _fitting(record, replace(showing, text=_LITTLE, article=8 * _LITTLE), most)
    return fitted


def _fitting(record: StoredRecord, showing: Showing, most: int) -> list[Html]:
    answered = answers(record.messages)
    beside = set(answered.values())
    places = [at for at in range(len(record.messages)) if at not in beside]
    first, last = deque[Html](), deque[Html]()
    begin, end, left = 0, len(places), most
    while begin < end:
        is_first = left > most * _ENDING or not first
        article = _article(record, places[begin if is_first else end - 1], answered, showing)
        left -= len(article.encode())
        if left < 0:
            break
        if is_first:
            first.append(article)
            begin += 1
        else:
            last.appendleft(article)
            end -= 1
    if begin == end:
        return [*first, *last]
    between = f"… {end - begin:,} of {len(places):,} turns are not shown here{_where(showing)}"
    return [*first, tag("p", between, class_="cut"), *last]


def _tool_name(tool: Json) -> str:
    inner = tool.get("function") if isinstance(tool, dict) else None
    return chat.tool_name(tool) or chat.tool_name(inner) or "?"


def _article(record: StoredRecord, at: int, answered: Mapping[tuple[int, int], int], showing: Showing) -> Html:
    message, number = record.messages[at], _number(record, at)
    role = message["role"]
    known = "tool" if role in RESULTS else {"developer": "system"}.get(role, role)
    calls = deque(_calls(record, at, answered, showing))
    parts = [*_bounded(_said(message, showing), calls, showing), *_notes(number, showing)]
    return tag(
        "article",
        _head(message, number, showing),
        *(parts or [tag("p", "empty", class_="medium")]),
        class_=f"message {known if known in _KNOWN else 'other'}",
        id=_id(record, at, showing),
    )


def _bounded(said: Iterator[Html], calls: deque[Callable[[], Html]], showing: Showing) -> Iterator[Html]:
    """The parts of a message, as far as it is shown; of calls that are not, no HTML is made."""
    seen = 0
    for part in chain(said, (calls.popleft()() for _ in range(len(calls)))):
        yield part
        seen += len(part)
        if showing.article is not None and seen > showing.article:
            if rest := sum(1 for _ in said) + len(calls):
                yield tag("p", f"… {rest:,} parts more of this message{_where(showing)}", class_="cut")
            return


def _where(showing: Showing) -> str:
    return f" ({showing.place})" if showing.place else ""


def _number(record: StoredRecord, at: int) -> int:
    """Where a message stands in the file."""
    return record.places[at] if record.places else at


def _id(record: StoredRecord, at: int, showing: Showing) -> str | None:
    """What leads to a message; of those that are one message of the file, to the first."""
    number = _number(record, at)
    is_first = at == 0 or _number(record, at - 1) != number
    return f"{showing.prefix}{number}" if is_first else None


def _head(message: Message, number: int, showing: Showing) -> Html:
    role = _WORDS.get(message["role"], message["role"])
    beside = (_short(value) for name in ("name", "tool_call_id") if isinstance(value := message.get(name), str))
    return tag(
        "header",
        tag("a", f"{number:,}", class_="number", href=f"#{showing.prefix}{number}"),
        tag("h4", _short(role), dir="auto"),
        *(tag("span", value, class_="name", dir="auto") for value in beside if value),
        _training(message, number, showing),
    )


def _training(message: Message, number: int, showing: Showing) -> Html | None:
    """Whether a message is trained on, as far as it is known."""
    if showing.trained is not None and number in showing.trained:
        return tag("span", "trained on", class_="training")
    is_reply = showing.trained is not None and message["role"] == "assistant"
    return tag("span", "not trained on", class_="untrained") if is_reply or _is_untrained(message) else None


def _is_untrained(message: Message) -> bool:
    return any(message.get(flag) is no or message.get(flag) == no for flag, (no, _) in FLAGS.items() if flag in message)


def _said(message: Message, showing: Showing) -> Iterator[Html]:
    """What a message says, in the order in which it is said: reasoning, text, media."""
    if thought := reasoning.text(message):
        yield _details(f"reasoning, {size(_bytes(thought))}", *_body("thought", thought, showing), class_="thought")
    if said := chat.joined_text(message):
        yield from _result(said, showing) if message["role"] in RESULTS else _body("said", said, showing)
    parts = [part for part in chat.other_parts(message) if not reasoning.is_part(part)]
    members = dict(message)
    parts += [{"type": name, name: members[name]} for name in media.MEMBERS if members.get(name)]
    yield from map(showing.medium, parts[: showing.parts])
    if len(parts) > showing.parts:
        yield tag("p", f"… {len(parts) - showing.parts:,} parts more{_where(showing)}", class_="cut")


def _calls(
    record: StoredRecord, at: int, answered: Mapping[tuple[int, int], int], showing: Showing
) -> Iterator[Callable[[], Html]]:
    """What makes each call with its result."""
    for number, call in enumerate(message_calls(record.messages[at])):
        yield partial(_pair, record, call, answered.get((at, number)), showing)


def _pair(record: StoredRecord, call: dict[str, Any], result: int | None, showing: Showing) -> Html:
    return tag("div", _call(call, showing), _beside(record, result, showing), class_="pair")


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


def _beside(record: StoredRecord, result: int | None, showing: Showing) -> Html:
    """The result of a call."""
    if result is None:
        return tag("p", "no result", class_="unanswered")
    message = record.messages[result]
    parts = [*_said(message, showing), *_notes(_number(record, result), showing)] or [
        tag("p", "an empty result", class_="medium")
    ]
    return tag("div", *parts, class_="answer", id=_id(record, result, showing))


def _result(text: str, showing: Showing) -> Iterator[Html]:
    title = f"result, {size(_bytes(text))}"
    yield _details(title, *_body("result", text, showing), class_="result", open=len(text) <= _OPEN)


def _notes(number: int, showing: Showing) -> Iterator[Html]:
    for note in showing.notes.get(number, ()):
        yield tag("p", note, class_="note")


def _body(kind: str, text: str, showing: Showing) -> Iterator[Html]:
    """A text, of which no more is shown than is wanted."""
    beginning, left = cut(text, showing.text)
    yield showing.body(kind, beginning)
    if left:
        yield tag("p", f"… {size(left)} more{_where(showing)}", class_="cut")


def cut(text: str, most: int | None) -> tuple[str, int]:
    """The beginning of a text that has so many bytes, and the bytes of the rest."""
    if most is None:
        return text, 0
    beginning = text[:most]
    if _bytes(beginning) > most:
        beginning = _within(beginning, most)
    return beginning, _bytes(text[len(beginning) :])


def _within(text: str, most: int) -> str:
    """As many characters as so many bytes hold."""
    for at, character in enumerate(text):
        most -= _bytes(character)
        if most < 0:
            return text[:at]
    return text


def _details(summary: Child, *inside: Child, **attributes: Any) -> Html:
    return tag("details", tag("summary", summary), *inside, **attributes)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"


Place = tuple[int, int]
"""The index of a message, and which of its calls it is."""


def answers(messages: list[Any]) -> dict[Place, int]:
    """Of each call that is answered the index of the message that does.

    A result answers the first open call with its id; one without an id, the first open call of the message before.
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


def _next(waiting: deque[Place], answered: dict[Place, int]) -> Place | None:
    while waiting:
        place = waiting.popleft()
        if place not in answered:
            return place
    return None
