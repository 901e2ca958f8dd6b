"""Measure records: their use of tools and their contents; filter single records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chatsquash.checks.registry import View
from chatsquash.checks.results import State, bad_results, exchanges, outcomes
from chatsquash.core import chat, jsonio, reasoning, text
from chatsquash.core.accounting import SharedUse, ToolUse, Usage
from chatsquash.core.memo import Last
from chatsquash.core.model import Json, Message
from chatsquash.core.options import Options
from chatsquash.core.outcome import Contents, Outcome, Record
from chatsquash.core.text import pluralize, quote
from chatsquash.records import media, presets
from chatsquash.records import reading as records
from chatsquash.redaction.values import is_secret

if TYPE_CHECKING:
    from chatsquash.session.lengths import Lengths

RecordFilter = Callable[[Record], str | None]
"""Returns why a record is filtered out; ``None`` if it is not."""
parsed: Last[bytes, Any] = Last(jsonio.loads)
"""Parses the line of a record; the value is shared with the search for secrets, so it must not be changed."""


def of_records(options: Options) -> dict[str, RecordFilter]:
    """Return the filters of single records by option, in the order in which they are counted."""
    filters: dict[str, RecordFilter] = {}
    if (least := options.min_turns) is not None:
        filters["--min-turns"] = lambda record: _turns(record) if record.usage.assistant_turns < least else None
    if (most := options.max_turns) is not None:
        filters["--max-turns"] = lambda record: _turns(record) if record.usage.assistant_turns > most else None
    if (chars := options.max_chars) is not None:
        filters["--max-chars"] = lambda record: _too_long(record, chars)
    if (tokens := options.max_tokens) is not None:
        filters["--max-tokens"] = lambda record: _too_many(record, tokens)
    if options.only_model:
        filters["--only-model"] = lambda record: _other_model(record, options.only_model)
    return filters


def _turns(record: Record) -> str:
    return f"the assistant has {pluralize(record.usage.assistant_turns, 'turn')}"


def _too_long(record: Record, most: int) -> str | None:
    if len(record.line) <= most:  # a character takes at least one byte
        return None
    chars = len(record.line.decode())
    return f"the record has {chars:,} characters" if chars > most else None


def _too_many(record: Record, most: int) -> str | None:
    return f"the record has {record.tokens:,} tokens" if record.tokens is not None and record.tokens > most else None


def _other_model(record: Record, globs: tuple[str, ...]) -> str | None:
    model = record.facts.model if record.facts else None
    if model is None:
        return "the log names no model"
    return None if any(fnmatchcase(model, glob) for glob in globs) else f"the model is {quote(model)}"


_CLIENT_ROLES = ("user", "system")
_RESULT_ROLES = ("tool", "function")
_NONE: dict[int, int] = {}


def measure(view: View, shared_calls: Mapping[int, int] = _NONE) -> Usage:
    """Count the calls and turns of a record with native calls.

    ``shared_calls`` maps the ``id()`` of messages that are also in other records of the session to their numbers.
    """
    calls = client = assistant = with_tools = 0
    side: str | None = None
    is_counted = False  # whether the current assistant turn is already counted as one with tools
    native = view.columns.calls.counts if view.columns.calls else _NONE
    for at, role in enumerate(view.columns.roles):
        if role == "assistant":
            if side != "assistant":
                side, is_counted = "assistant", False
                assistant += 1
            if count := native.get(at) or chat.call_count(view.messages[at]):
                calls += count
                with_tools += not is_counted
                is_counted = True
        elif role not in _RESULT_ROLES:
            new = "client" if role in _CLIENT_ROLES else None
            client += new is not None and side != "client"
            side = new
    elsewhere = tuple(_shared_use(view, shared_calls)) if shared_calls else ()
    return Usage(calls, _names(view.tool_names), client, assistant, with_tools, _tool_use(view), elsewhere)


@Last
def _names(names: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


def _tool_use(view: View) -> tuple[ToolUse, ...]:
    columns = view.columns
    calls = columns.calls
    if calls is None or not columns.are_matched:
        return _by_tool(outcomes(view))
    counts: dict[str, int] = {}
    failed: dict[str, int] = {}
    unanswered: dict[str, int] = {}
    for name in calls.names:
        counts[name] = counts.get(name, 0) + 1
    for name in calls.names[len(columns.results) :]:
        unanswered[name] = unanswered.get(name, 0) + 1
    for at, (failure, _) in view.once(bad_results).items():
        if failure is not None:
            name = calls.names[columns.results.index(at)]
            failed[name] = failed.get(name, 0) + 1
    return tuple(
        [ToolUse(name, count, failed.get(name, 0), unanswered.get(name, 0)) for name, count in sorted(counts.items())]
    )


def _shared_use(view: View, shared_calls: Mapping[int, int]) -> Iterator[SharedUse]:
    """Yield the use of tools in messages that are in several records."""
    states: dict[int, list[tuple[str, State]]] = {}
    for call in view.once(exchanges).calls:
        if call.name is not None:
            states.setdefault(call.at, []).append((call.name, call.state))
    for at, message in enumerate(view.messages):
        if id(message) in shared_calls:
            yield SharedUse(shared_calls[id(message)], chat.call_count(message), _by_tool(states.get(at, [])))


def _by_tool(states: Iterable[tuple[str, State]]) -> tuple[ToolUse, ...]:
    calls: dict[str, list[int]] = {}
    for name, state in states:
        counts = calls.get(name)
        if counts is None:
            counts = calls[name] = [0, 0, 0]
        counts[0] += 1
        if state == "failed":
            counts[1] += 1
        elif state == "unanswered":
            counts[2] += 1
    return tuple([ToolUse(name, *counts) for name, counts in sorted(calls.items())])


class ToolTotals:
    """The use of each tool, added up over sessions."""

    def __init__(self) -> None:
        self._tools: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])

    def add(self, usage: Usage) -> None:
        """Add the usage of one session."""
        tools, names = self._tools, usage.tool_names
        for name in names:
            tools[name][0] += 1
        for tool in usage.tools:
            sums = tools[tool.name]
            sums[1] += tool.calls
            if tool.failed:
                sums[2] += tool.failed
            if tool.unanswered:
                sums[3] += tool.unanswered
            if tool.name not in names:
                sums[0] += 1

    def by_name(self) -> list[tuple[str, list[int]]]:
        """Return each tool with its counts: sessions that define or call it, calls, failed calls, unanswered calls."""
        return sorted(self._tools.items())

    def most_used(self) -> list[tuple[str, list[int]]]:
        """Return each tool with its counts, sorted by calls in descending order."""
        return sorted(self.by_name(), key=lambda item: (-item[1][1], item[0]))


def remember(line: bytes, value: dict[str, Json]) -> None:
    """Remember the value of a line, which then needs no parsing."""
    if len(line) <= jsonio.LARGE:
        parsed.remember(line, value)


_Measure = Callable[[list[str]], int]
"""Returns the total length of strings, in tokens if a tokenizer is set, else in characters."""


class ContentsMeasure:
    """Measures the contents of the records in outcomes."""

    def __init__(self, options: Options, lengths: Lengths | None) -> None:
        self._options = options
        self._length: _Measure = lengths.tokenizer.count if lengths else _characters

    def measure(self, outcome: Outcome) -> Outcome:
        """Add the measured contents to each record, and remove its marks."""
        if not outcome.records:
            return outcome
        records_with_contents = []
        for record in outcome.records:
            entry = record.entry or outcome.output.entry
            model = entry.model or "" if entry else ""
            contents = self._contents(record, model)
            models = self._models(record, model) if contents and self._options.traces else []
            records_with_contents.append(replace(record, contents=contents, models=models, marks=[]))
        return outcome.with_records(records_with_contents)

    def _contents(self, record: Record, model: str) -> Contents | None:
        try:
            line = record.line
            value = parsed(line)
        except jsonio.TooLargeError:
            return None
        content = records.record(value)
        if self._options.preset != presets.DEFAULT:
            content = records.native(content)  # recognised by trying all presets
        trained = self._trained(value, record)
        models = {mark.place: mark.model for mark in record.marks if mark.model}
        lengths: dict[str, int] = {}
        call_count, reasons, has_images = 0, False, bool(value.get("images"))
        for at, message in enumerate(content.messages):
            if type(message.get("content")) is list or "images" in message:
                has_images = has_images or media.has_image(message)
            if message["role"] != "assistant":
                continue
            thought, calls = reasoning.text(message), chat.calls(message)
            call_count += self._count(message, calls)
            reasons = reasons or bool(thought or reasoning.in_text(message))
            place = content.place(at) if content.places else at
            if trained is None or place in trained:
                by = models.get(place or 0, model) if models else model
                lengths[by] = lengths.get(by, 0) + self._length(records.texts_of(message, thought, calls))
        return Contents(
            characters=len(line) if line.isascii() else text.count_characters(line),
            defines_tools=bool(content.tools),
            calls=call_count,
            images=has_images,
            reasons=reasons,
            redacted=bool(record.replaced_secrets or record.addresses)
            or any(not is_secret(each.kind) for each in record.redactions),
            trained=dict(sorted(lengths.items())),
        )

    def _models(self, record: Record, model: str) -> list[str]:
        """Return the model of each reply, or an empty list if none is known."""
        models = {mark.place: mark.model for mark in record.marks if mark.model}
        content = records.native(records.record(parsed(record.line)))
        replies = (at for at, message in enumerate(content.messages) if message["role"] == "assistant")
        by_reply = [models.get(content.place(at) or 0, "") if models else model for at in replies]
        return by_reply if any(by_reply) else []

    def _count(self, message: Message, calls: list[dict[str, Any]]) -> int:
        """Count the calls in an assistant message, including calls in the legacy form or written in its text."""
        if self._options.json_tool_calls:
            return chat.call_count(message)
        return len(calls) + len(records.legacy_calls(message))

    def _trained(self, value: dict[str, Json], record: Record) -> set[int] | None:
        """Return the positions of the messages that are trained on, or ``None`` for all assistant messages."""
        flag = self._options.flag
        turns: Any = value.get("messages", value.get("conversations"))
        if flag != "none" and isinstance(turns, list) and "completion" not in value:
            from chatsquash.core.marks import is_trained  # most records have no flags

            return {at for at, turn in enumerate(turns) if is_trained(turn, flag)}
        if record.sample:
            return {mark.place for mark in record.marks if not mark.why}
        return None


def _characters(texts: list[str]) -> int:
    return sum(map(len, texts))
