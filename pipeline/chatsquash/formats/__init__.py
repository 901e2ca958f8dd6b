"""One module or package per conversation format: how to recognise it, and how to load it.

A format of a provider is a module in ``providers`` that declares its ``NAME``, and by ``PLACE`` whose evidence comes
first among those of a rank.  Both are read without running it.  What several formats need is in the modules here.  An
installed package adds formats by entry points of the group ``chatsquash.formats``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.model import Json
from chatsquash.core.registry import Item, Room
from chatsquash.formats import providers
from chatsquash.formats.base import Format, Mark
from chatsquash.formats.values import Object, kind, objects

PLAIN = "openai_chat"
"""The format of chat messages that no provider has marked: plain text means the same in all of them."""
PLAIN_RANK, NO_RANK = 9, 10
"""Behind the ranks of all marks: plain chat messages, and nothing that is known."""

_NAMED = re.compile(r"^NAME = ", re.MULTILINE)
_PLACED = re.compile(r"^PLACE = (\d+)$", re.MULTILINE)
_USUAL_PLACE = 50
"""Of a format that declares none: before plain chat."""
_DECISIVE = 4
"""Up to this rank, two formats contradict each other."""
_SHOWN_KEYS, _SHOWN_LENGTH = 8, 40


class Recognised(NamedTuple):
    """The format of one exchange."""

    name: str | None
    """``None`` where nothing is known, or where two formats contradict each other."""
    why: str
    """The evidence in words, or what was seen instead."""
    rank: int
    """The rank of the evidence; ``NO_RANK`` without any."""


class RecognisedFile(NamedTuple):
    """The format of a file."""

    name: str | None
    why: str
    """The evidence with counts of lines."""
    mixed: bool
    """Whether there is evidence of other formats, or lines that contradict themselves."""


def _place(item: Item) -> int | None:
    """The place of a format; ``None`` for what is none."""
    text = Path(item.path).read_text(encoding="utf-8")
    if not _NAMED.search(text):
        return None
    placed = _PLACED.search(text)
    return int(placed[1]) if placed else _USUAL_PLACE


_ROOM: Room[Format] = Room(Format, providers, place=_place, accepts=lambda module: hasattr(module, "TURNS"))
names, named = _ROOM.names, _ROOM.get


@cache
def formats() -> dict[str, Format]:
    """Every format by its name."""
    return _ROOM.all()


def recognise(request: Object | None, response: Json, events: list[Json] | None) -> Recognised:
    """The format of an exchange, by the evidence of the lowest rank in its response, its stream and its request."""
    return _strongest(_marks(), request, response, events) or _unmarked(request, response)


def recognise_request(request: Object | None) -> Recognised:
    """The format of a request by its own evidence."""
    return _strongest(_marks_of("request"), request, None, None) or _unmarked(request, None)


def recognise_response(response: Json, events: list[Json] | None) -> Recognised:
    """The format of a response, or of its stream, by its own evidence."""
    answered = _strongest(_marks_of("stream", "response"), None, response, events)
    return answered or Recognised(None, _describe(response), NO_RANK)


def _strongest(
    marks: list[tuple[str, str, Mark]], request: Object | None, response: Json, events: list[Json] | None
) -> Recognised | None:
    """The evidence of the lowest rank; ``None`` without any."""
    listed = response if isinstance(response, list) else []
    values = {"stream": [*listed, *(events or [])], "response": [response, *listed], "request": [request]}
    places = {place: objects(each) for place, each in values.items()}
    hits: list[Recognised] = []
    for name, place, mark in marks:
        if hits and mark.rank > hits[0].rank:
            break
        if any(map(mark.test, places[place])):
            hits.append(Recognised(name, f"{mark.what} in the {place}", mark.rank))
    if not hits:
        return None
    other = next((hit for hit in hits if hit.name != hits[0].name), None)
    if other and other.rank <= _DECISIVE:
        both = f"{hits[0].name} ({hits[0].why}) and {other.name} ({other.why})"
        return Recognised(None, f"two formats at once: {both}", other.rank)
    return hits[0]


@cache
def _marks() -> list[tuple[str, str, Mark]]:
    """Every mark with its format and the place where it is looked for, by rank, and by the order of the formats."""
    marks = []
    for name, form in formats().items():
        marks += [(name, "stream", mark) for mark in form.marks.event]
        marks += [(name, "response", mark) for mark in form.marks.response]
        marks += [(name, "request", mark) for mark in form.marks.request]
    return sorted(marks, key=lambda item: item[2].rank)


@cache
def _marks_of(*places: str) -> list[tuple[str, str, Mark]]:
    """The marks that are looked for in some places."""
    return [each for each in _marks() if each[1] in places]


def _unmarked(request: Json, response: Json) -> Recognised:
    if _is_chat(request) and not _is_count(response):
        return Recognised(PLAIN, "chat messages without the marks of any provider", PLAIN_RANK)
    seen = f"the request is {_describe(request)}, the response is {_describe(response)}"
    return Recognised(None, f"no known format: {seen}; known are {', '.join(names())}", NO_RANK)


def _is_chat(request: Json) -> bool:
    """Whether a request has messages, one of them at least with a role; ``model`` is that of a format with parts."""
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list):
        return False
    roles = [message.get("role") for message in messages if isinstance(message, dict)]
    return not messages or (any(isinstance(role, str) for role in roles) and "model" not in roles)


def _is_count(response: Json) -> bool:
    """Whether a response only counts tokens."""
    return isinstance(response, dict) and "input_tokens" in response and not response.keys() & {"choices", "content"}


def _describe(value: Json) -> str:
    if isinstance(value, dict):
        return f"an object with {_keys(value)}"
    return "missing" if value is None else kind(value)


def _keys(value: Object) -> str:
    """The first keys of an object, as JSON and no longer than can be read."""
    shown = [json.dumps(key if len(key) <= _SHOWN_LENGTH else f"{key[:_SHOWN_LENGTH]}...") for key in value]
    more = [f"{len(shown) - _SHOWN_KEYS} more"] if len(shown) > _SHOWN_KEYS else []
    return f"the keys {', '.join([*shown[:_SHOWN_KEYS], *more])}" if shown else "no keys"


def recognise_file(lines_seen: list[Recognised]) -> RecognisedFile:
    """The format of most of a file's first lines; plain chat counts only where no line is marked."""
    named = [line for line in lines_seen if line.name]
    voting = [line for line in named if line.rank < PLAIN_RANK] or named
    clashing = [line for line in lines_seen if line.name is None and line.rank <= _DECISIVE]
    if not voting:
        why = next((line.why for line in [*clashing, *lines_seen]), "there are no lines")
        return RecognisedFile(None, why, bool(clashing))
    votes = Counter(line.name or "" for line in voting)
    best = min(votes, key=lambda name: (-votes[name], names().index(name)))
    evidence = Counter(line.why for line in voting if line.name == best).most_common(1)[0][0]
    others = Counter(_sort(line) for line in lines_seen if line.name != best)
    counts = [f"{best} on {sum(line.name == best for line in lines_seen)} of {len(lines_seen)} lines ({evidence})"]
    counts += [f"{sort} on {count}" for sort, count in sorted(others.items())]
    return RecognisedFile(best, ", ".join(counts), len(votes) > 1 or bool(clashing))


def _sort(line: Recognised) -> str:
    """What a line counts as in a file of another format."""
    if line.name is None:
        return "two formats at once" if line.rank <= _DECISIVE else "no known format"
    return line.name if line.rank < PLAIN_RANK else "messages without marks"


def look_alike(obj: Json) -> str | None:
    """What an object is that is no log entry, in words; ``None`` for a log entry, a provider's body and no object."""
    if not isinstance(obj, dict):
        return None
    for words, test in _LOOK_ALIKES:
        if test(obj):
            return words
    if obj.keys() & {"request", "response"} or recognise(obj, obj, [obj]).rank < NO_RANK:
        return None
    return f"a JSON object with {_keys(obj)}"


def _has(*names: str) -> Callable[[Object], bool]:
    return lambda obj: obj.keys() >= set(names)


def _is_dataset(obj: Object) -> bool:
    return isinstance(obj.get("messages"), list) and not obj.keys() & {"model", "request", "response", "max_tokens"}


def _is_sharegpt(obj: Object) -> bool:
    turns = objects(obj.get("conversations", obj.get("conversation")))
    return any({"from", "value"} <= turn.keys() for turn in turns)


_TELEMETRY = frozenset(("resourceMetrics", "resourceSpans", "resourceLogs"))


_LOOK_ALIKES: tuple[tuple[str, Callable[[Object], bool]], ...] = (
    ("an OpenAPI file", lambda obj: "paths" in obj and bool(obj.keys() & {"openapi", "swagger"})),
    (
        "a view of a session by Entire, without reasoning and with other names of tools (convert full.jsonl instead)",
        lambda obj: obj.keys() >= {"v", "agent", "cli_version", "type"},
    ),
    ("a ShareGPT dataset", _is_sharegpt),
    ("a preference dataset", _has("chosen", "rejected")),
    ("an instruction dataset", _has("instruction", "output")),
    ("a dataset of messages", _is_dataset),
    ("a response with embeddings", lambda obj: any("embedding" in item for item in objects(obj.get("data")))),
    ("metrics or traces of OpenTelemetry without messages", lambda obj: bool(obj.keys() & _TELEMETRY)),
    ("a notebook of Jupyter", _has("cells", "nbformat")),
    (
        "a HAR capture without requests to a model",
        lambda obj: isinstance(obj.get("log"), dict) and "entries" in obj["log"],
    ),
    ("a response of a moderation service", lambda obj: any("flagged" in item for item in objects(obj.get("results")))),
)
