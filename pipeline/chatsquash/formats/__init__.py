"""Conversation formats: how each is detected, loaded and written.

Request and response formats are modules or packages in ``providers``; document formats are in ``agents``, ``clients``
and ``exports`` and are listed by ``documents``.  The modules in this folder are shared by several formats.  Log files
are read by ``reading``, and their lines are grouped into sessions by ``session``.

A provider's module declares its ``NAME`` and optionally its ``PLACE``, which orders formats whose evidence has the same
rank.  Both are read from the source text without importing the module.  Installed packages add formats through entry
points in the group ``chatsquash.formats``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

from msgspec import Struct

from chatsquash.core.model import Json
from chatsquash.core.registry import Item, Room, assigned_value
from chatsquash.formats import providers
from chatsquash.formats.base import Format, Mark
from chatsquash.formats.values import Object, kind, objects

PLAIN = "openai_chat"
"""The format of chat messages without the marks of any provider."""
PLAIN_RANK, NO_RANK = 9, 10
"""The ranks of plain chat messages and of unknown formats, which follow the ranks of all marks."""

_DEFAULT_PLACE = 50
"""The place of a format without ``PLACE``, ahead of plain chat."""
_DECISIVE = 4
"""Evidence up to this rank rules out other formats, so evidence for two formats is a contradiction."""
_SHOWN_KEYS, _SHOWN_LENGTH = 8, 40


class Recognised(Struct, frozen=True):
    """The format of one exchange."""

    name: str | None
    """``None`` if the format is unknown, or if there is decisive evidence for two formats."""
    why: str
    """The evidence in words; without evidence, a description of the value."""
    rank: int
    """The rank of the evidence; ``NO_RANK`` without evidence."""


class RecognisedFile(Struct, frozen=True):
    """The format of a file."""

    name: str | None
    why: str
    """The evidence with line counts."""
    is_mixed: bool
    """Whether some lines are evidence for other formats or for several at once."""


def _place(item: Item) -> int | None:
    """Return the place of a format, or ``None`` for a module that is not a format."""
    # Importing every format only to sort their names would slow down each start.
    text = Path(item.path).read_text(encoding="utf-8")
    if not assigned_value(text, "NAME"):
        return None
    place = assigned_value(text, "PLACE").strip()
    return int(place) if place.isdecimal() else _DEFAULT_PLACE


_ROOM: Room[Format] = Room(Format, providers, place=_place, accepts=lambda module: hasattr(module, "TURNS"))
names, get_format = _ROOM.names, _ROOM.get


@cache
def formats() -> dict[str, Format]:
    """Return all formats by name."""
    return _ROOM.all()


def recognise(request: Object | None, response: Json, events: list[Json] | None) -> Recognised:
    """Detect the format of an exchange from the lowest-ranked evidence in its response, stream or request."""
    return _strongest(_marks(), request, response, events) or _unmarked(request, response)


def recognise_request(request: Object | None) -> Recognised:
    """Detect the format of a request without its response."""
    return _strongest(_marks_of("request"), request, None, None) or _unmarked(request, None)


def recognise_response(response: Json, events: list[Json] | None) -> Recognised:
    """Detect the format of a response or its stream without the request."""
    return _strongest_answer(response, events) or Recognised(None, _describe(response), NO_RANK)


def is_response(value: Json) -> bool:
    """Return whether a value is certainly a provider's response, or the list of the events of one."""
    evidence = _strongest_answer(value, None)
    return evidence is not None and evidence.name is not None and evidence.rank <= _DECISIVE


def _strongest_answer(response: Json, events: list[Json] | None) -> Recognised | None:
    """Return the lowest-ranked evidence in a response or its stream, or ``None``."""
    # Bodies are the most frequent responses, and they have no events to examine.
    places = ("response",) if events is None and isinstance(response, dict) else ("stream", "response")
    return _strongest(_marks_of(*places), None, response, events)


def _strongest(
    marks: list[tuple[str, str, Mark]], request: Object | None, response: Json, events: list[Json] | None
) -> Recognised | None:
    """Return the lowest-ranked evidence, or ``None``."""
    # A logged response can be a list of stream events, so its elements are checked for both kinds of marks.
    elements = response if isinstance(response, list) else []
    values = {"stream": [*elements, *(events or [])], "response": [response, *elements], "request": [request]}
    places = {place: objects(each) for place, each in values.items()}
    hits: list[Recognised] = []
    for name, place, mark in marks:
        if hits and mark.rank > hits[0].rank:
            break  # marks are sorted by rank, so no later one can be as strong
        if any(map(mark.test, places[place])):
            hits.append(Recognised(name, f"{mark.what} in the {place}", mark.rank))
    if not hits:
        return None
    other = next((hit for hit in hits if hit.name != hits[0].name), None)
    # Weaker evidence for a second format is normal, because formats share some members.
    if other and other.rank <= _DECISIVE:
        both = f"{hits[0].name} ({hits[0].why}) and {other.name} ({other.why})"
        return Recognised(None, f"more than one format matches: {both}", other.rank)
    return hits[0]


@cache
def _marks() -> list[tuple[str, str, Mark]]:
    """Return all marks with their formats and the places to look for them, sorted by rank, then by format."""
    marks = []
    for name, form in formats().items():
        marks += [(name, "stream", mark) for mark in form.marks.event]
        marks += [(name, "response", mark) for mark in form.marks.response]
        marks += [(name, "request", mark) for mark in form.marks.request]
    return sorted(marks, key=lambda item: item[2].rank)


@cache
def _marks_of(*places: str) -> list[tuple[str, str, Mark]]:
    """Return the marks for the given places."""
    return [each for each in _marks() if each[1] in places]


def _unmarked(request: Json, response: Json) -> Recognised:
    if _is_chat(request) and not _is_count(response):
        return Recognised(PLAIN, "chat messages without provider-specific members", PLAIN_RANK)
    seen = f"the request is {_describe(request)}, the response is {_describe(response)}"
    return Recognised(None, f"no known format: {seen}; expected one of {', '.join(names())}", NO_RANK)


def _is_chat(request: Json) -> bool:
    """Return whether a request has an empty list of messages, or messages with roles of OpenAI chat."""
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list):
        return False
    roles = [message.get("role") for message in messages if isinstance(message, dict)]
    # The role ``model`` is Gemini's.
    return not messages or (any(isinstance(role, str) for role in roles) and "model" not in roles)


def _is_count(response: Json) -> bool:
    """Return whether a response contains only a token count."""
    return isinstance(response, dict) and "input_tokens" in response and not response.keys() & {"choices", "content"}


def _describe(value: Json) -> str:
    if isinstance(value, dict):
        return f"an object with {_keys(value)}"
    return "missing" if value is None else kind(value)


def _keys(value: Object) -> str:
    """List the first keys of an object as JSON, each shortened to a readable length."""
    keys = [json.dumps(key if len(key) <= _SHOWN_LENGTH else f"{key[:_SHOWN_LENGTH]}...") for key in value]
    more = [f"{len(keys) - _SHOWN_KEYS} more"] if len(keys) > _SHOWN_KEYS else []
    return f"the keys {', '.join([*keys[:_SHOWN_KEYS], *more])}" if keys else "no keys"


def recognise_file(lines_seen: list[Recognised]) -> RecognisedFile:
    """Return the most frequent format of a file's first lines; plain chat counts only if no line has a mark."""
    candidates = [line for line in lines_seen if line.name]
    # Messages without marks occur in logs of every format, so other marks take precedence.
    voting = [line for line in candidates if line.rank < PLAIN_RANK] or candidates
    clashing = [line for line in lines_seen if line.name is None and line.rank <= _DECISIVE]
    if not voting:
        why = next((line.why for line in [*clashing, *lines_seen]), "there are no lines")
        return RecognisedFile(None, why, bool(clashing))
    votes = Counter(line.name or "" for line in voting)
    # Ties are resolved by the order of the formats, not by the order of the lines.
    best = min(votes, key=lambda name: (-votes[name], names().index(name)))
    evidence = Counter(line.why for line in voting if line.name == best).most_common(1)[0][0]
    others = Counter(_label_of(line) for line in lines_seen if line.name != best)
    counts = [f"{best} on {sum(line.name == best for line in lines_seen)} of {len(lines_seen)} lines ({evidence})"]
    counts += [f"{sort} on {count}" for sort, count in sorted(others.items())]
    return RecognisedFile(best, ", ".join(counts), len(votes) > 1 or bool(clashing))


def _label_of(line: Recognised) -> str:
    """Return the label for a line in the counts of a file of another format."""
    if line.name is None:
        return "several formats" if line.rank <= _DECISIVE else "no known format"
    return line.name if line.rank < PLAIN_RANK else "plain chat messages"


def look_alike(obj: Json) -> str | None:
    """Describe an object that is not a log entry; return ``None`` for log entries, provider bodies and other values."""
    if not isinstance(obj, dict):
        return None
    for words, test in _LOOK_ALIKES:
        if test(obj):
            return words
    # The object may be a request, a response or an event.
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


def _is_forest(obj: Object) -> bool:
    return obj.keys() >= {"session", "node", "source"} and bool(obj.keys() & {"message", "sample"})


def _has_prompt(obj: Object) -> bool:
    return isinstance(obj.get("prompt"), list) and not obj.keys() & {"messages", "model", "request", "response"}


_SAMPLES: tuple[tuple[str, Callable[[Object], bool]], ...] = (
    ("a dataset of token ids", lambda obj: "input_ids" in obj and not obj.keys() & {"messages", "model"}),
    ("a forest of samples", _is_forest),
    ("a dataset of prompts", _has_prompt),
)
"""Datasets that chatsquash writes and that contain no lists of messages with replies."""


def describe_samples(obj: Json) -> str | None:
    """Describe a row of a dataset of samples without a list of messages; return ``None`` for any other value."""
    return next((words for words, test in _SAMPLES if test(obj)), None) if isinstance(obj, dict) else None


_TELEMETRY = frozenset(("resourceMetrics", "resourceSpans", "resourceLogs"))


_LOOK_ALIKES: tuple[tuple[str, Callable[[Object], bool]], ...] = (
    ("an OpenAPI file", lambda obj: "paths" in obj and bool(obj.keys() & {"openapi", "swagger"})),
    (
        "an Entire session view, without reasoning and with different tool names (convert full.jsonl instead)",
        lambda obj: obj.keys() >= {"v", "agent", "cli_version", "type"},
    ),
    ("a ShareGPT dataset", _is_sharegpt),
    ("a preference dataset", _has("chosen", "rejected")),
    *_SAMPLES,
    ("an instruction dataset", _has("instruction", "output")),
    ("a dataset of messages", _is_dataset),
    ("a response with embeddings", lambda obj: any("embedding" in item for item in objects(obj.get("data")))),
    ("OpenTelemetry metrics or traces without messages", lambda obj: bool(obj.keys() & _TELEMETRY)),
    ("a Jupyter notebook", _has("cells", "nbformat")),
    (
        "a HAR capture without model requests",
        lambda obj: isinstance(obj.get("log"), dict) and "entries" in obj["log"],
    ),
    ("a moderation response", lambda obj: any("flagged" in item for item in objects(obj.get("results")))),
)
