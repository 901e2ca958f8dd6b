"""Objects with attributes (spans, events and log records), and the evidence in the attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.scores import MAX_SCORES, Score, read_score
from chatsquash.core.times import Moment
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, Unread, moment
from chatsquash.formats.exports.otel import flattened
from chatsquash.formats.values import Object, as_list, at, count, objects, string

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
SYSTEM, TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
_IDS = (
    *("gen_ai.conversation.id", "session.id"),
    *("ai.telemetry.metadata.sessionId", "traceloop.association.properties.session_id"),
)
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "ai.model.id")
_USAGE = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "ai.usage.inputTokens"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "ai.usage.outputTokens"),
)
"""The names of token counts in the conventions, in earlier versions of OpenLLMetry, and in the AI SDK."""
_ANSWER = ("gen_ai.response.id", "gen_ai.response.finish_reasons")
READ = (INPUT, OUTPUT, SYSTEM, TOOLS, *_IDS, *_MODELS, *_USAGE[0], *_USAGE[1], *_ANSWER)
_STARTED = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "timeUnixNano", "timestamp")
_END = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime")
NESTING = (
    *("resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans", "events"),
    *("resourceLogs", "scopeLogs", "logRecords"),
)
"""The members that contain objects with attributes, outermost first."""
_MEMBERS = (*NESTING, "attributes", *_STARTED, *_END)
_LEVELS = 4
_LENGTH = ("length", "max_tokens", "MAX_TOKENS")
"""The providers' finish reasons for replies that reached the length limit."""


EVALUATION = "gen_ai.evaluation.name"
_EVALUATED = "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"
_RESPONSE_ID = "gen_ai.response.id"
_SPAN_IDS = ("spanId", "span_id")
_PARENT_IDS = ("parentSpanId", "parent_span_id")


class Holder(NamedTuple):
    """An object with attributes, and the object that contains it."""

    place: str
    line: int
    attributes: dict[str, Any]
    value: Object
    outer: Holder | None = None

    def around(self) -> Iterator[Holder]:
        """Yield the object and the objects that contain it: for an event, its span, scope and resource."""
        holder: Holder | None = self
        for _ in range(_LEVELS):
            if holder is None:
                return
            yield holder
            holder = holder.outer

    def known(self, *names: str) -> Json:
        """Return the first of these attributes that is not null, in the object or the nearest object around it."""
        values = (each.attributes[name] for each in self.around() for name in names if name in each.attributes)
        return next((value for value in values if value is not None), None)

    def time(self, names: tuple[str, ...]) -> Moment | None:
        """Return the first of these times, in the object or the nearest object around it."""
        times = (_moment(each.value.get(name)) for each in self.around() for name in names)
        return next((time for time in times if time), None)

    @property
    def session(self) -> str | None:
        """The id of the session, or ``None``."""
        session_ids = self.known(*_IDS)
        return session_ids if isinstance(session_ids, str) and session_ids else None

    def evidence(self) -> Evidence:
        """Return the evidence for all messages."""
        return Evidence(self.line, self.time(_STARTED))

    def of_reply(self) -> Evidence:
        """Return the evidence for the reply."""
        model, answer = self.known(*_MODELS), self.known("gen_ai.response.id")
        tokens = [count(self.known(*names)) for names in _USAGE]
        reason_values = as_list(self.json_value("gen_ai.response.finish_reasons"))
        reason_values = reason_values or [self.known(flattened.FINISHED, f"{flattened.COMPLETION}0.finish_reason")]
        # The AI SDK writes reasons with hyphens.
        reasons = [reason.replace("-", "_") for reason in reason_values if isinstance(reason, str)]
        # The choices share this attribute, so one that reached the limit marks all of them.
        finish_reason = "length" if any(reason in _LENGTH for reason in reasons) else next(iter(reasons), None)
        values = (
            model if isinstance(model, str) else None,
            *tokens,
            finish_reason,
            answer if isinstance(answer, str) else None,
        )
        return Evidence(self.line, self.time(_END) or self.time(_STARTED), True, *values)  # type: ignore[arg-type]

    def json_value(self, name: str) -> Json:
        """Return the value of an attribute, which may be a JSON string."""
        value = self.attributes.get(name)
        if not isinstance(value, str):
            return value
        try:
            return jsonio.loads(value)
        except (ValueError, RecursionError):
            if name == SYSTEM:
                # Some instrumentations write the instructions as plain text.
                return [{"type": "text", "content": value}]
            if name not in (INPUT, OUTPUT, TOOLS):
                return value
            raise TurnError(f"{self.place}: {name} is not valid JSON; it may have been truncated") from None

    def rest(self, unread: Unread) -> None:
        """Count the unread members and attributes."""
        unread.count_members("span", self.value, *_MEMBERS)
        attributes = {name: value for name, value in self.attributes.items() if not flattened.is_read(name)}
        unread.count_members("attribute", attributes, *READ)


def _moment(value: Json) -> Moment | None:
    """Parse a time, including OTLP's nanoseconds as a string, and JavaScript's pairs of seconds and nanoseconds."""
    match value:
        case [int(seconds), int(nanoseconds)]:
            return moment(seconds * 10**9 + nanoseconds)
    is_digits = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 30
    return moment(int(value) if is_digits else value)


def holders(values: list[Json], lines: Sequence[int]) -> Iterator[Holder]:
    """Yield all objects with attributes, at any depth, and objects that consist of attributes."""
    first = ((f"entry {place}", value, line) for place, (value, line) in enumerate(zip(values, lines, strict=True), 1))
    waiting: list[tuple[Holder | None, Iterator[tuple[str, Json, int]]]] = [(None, first)]
    while waiting:
        outer, inner = waiting[-1]
        place, value, line = next(inner, ("", None, 0))
        if not place:
            waiting.pop()
        elif isinstance(value, list):
            waiting.append((outer, _elements(place, value, line)))
        elif isinstance(value, dict):
            is_holder = "attributes" in value
            attributes = _attributes(value["attributes"]) if is_holder else value
            holder = Holder(place, line, attributes, value if is_holder else {}, outer)
            yield holder
            waiting.append((holder if is_holder else outer, _own_attributes(place, value, line)))


def _elements(place: str, values: list[Json], line: int) -> Iterator[tuple[str, Json, int]]:
    """Yield the lists and objects in a list."""
    return ((f"{place}[{number}]", each, line) for number, each in enumerate(values) if isinstance(each, list | dict))


def _own_attributes(place: str, value: Object, line: int) -> Iterator[tuple[str, Json, int]]:
    return ((f"{place}, {name}", value[name], line) for name in NESTING if isinstance(value.get(name), list))


def _attributes(attributes: Json) -> dict[str, Any]:
    """Return attributes by name; OTLP has a list of keys and typed values instead of an object."""
    if isinstance(attributes, dict):
        return attributes
    return {string(each, "key"): _value(each.get("value")) for each in objects(attributes)}


def _value(typed_value: Json) -> Json:
    """Return the value in an OTLP typed value, whose member is named after its type."""
    match typed_value:
        case {"arrayValue": inner}:
            return [_value(each) for each in as_list(at(inner, "values"))]
        case {"kvlistValue": inner}:
            return _attributes(at(inner, "values"))
        # OTLP writes 64-bit integers as strings.
        case {"intValue": str(digits)} if digits.removeprefix("-").isdecimal() and digits.isascii():
            return int(digits)
        case dict() if len(typed_value) == 1:
            return next(iter(typed_value.values()))
    return None


class Evaluations:
    """The evaluation results among spans, events and log records.

    By the conventions, a result is an event of the evaluated span, or names the span or the response.
    """

    def __init__(self, every: Iterable[Holder]) -> None:
        self._scores: dict[object, list[Score]] = {}
        for holder in every:
            if EVALUATION in holder.attributes and (score := _score(holder)):
                for key in _evaluated(holder):
                    self._scores.setdefault(key, []).append(score)

    def of(self, holder: Holder) -> tuple[Score, ...]:
        """Return the scores of the reply in a span or record."""
        if not self._scores:
            return ()
        scores = [score for key in _identities(holder) for score in self._scores.get(key, ())]
        return tuple(dict.fromkeys(scores))[:MAX_SCORES]


def _score(holder: Holder) -> Score | None:
    values = (holder.attributes.get(name) for name in _EVALUATED)
    value = next((value for value in values if value is not None), None)
    return read_score(holder.attributes[EVALUATION], value, "OpenTelemetry")


def _evaluated(holder: Holder) -> list[object]:
    """Return the identities of the span that a result evaluates: named by it, its parent, or around it."""
    parents = [("span", holder.value[name]) for name in _PARENT_IDS if isinstance(holder.value.get(name), str)]
    around = [id(holder.outer.value)] if holder.outer else []
    return [*_identities(holder)[1:], *parents, *around]


def _identities(holder: Holder) -> list[object]:
    span = next((holder.value[name] for name in _SPAN_IDS if isinstance(holder.value.get(name), str)), None)
    response = holder.attributes.get(_RESPONSE_ID)
    references = [("span", span)] if span else []
    references += [("response", response)] if isinstance(response, str) and response else []
    return [id(holder.value), *references]
