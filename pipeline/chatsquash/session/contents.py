"""Measure the contents of final records for the dataset card."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chatsquash.core import chat, jsonio, marks, reasoning, text
from chatsquash.core.memo import Last
from chatsquash.core.model import Json, Message
from chatsquash.core.options import Options
from chatsquash.core.outcome import Contents, Outcome, Record
from chatsquash.records import media, presets
from chatsquash.records import reading as records
from chatsquash.redaction.values import is_secret

if TYPE_CHECKING:
    from chatsquash.session.lengths import Lengths

parsed: Last[bytes, Any] = Last(jsonio.loads)
"""Parses the line of a record; the value is shared with the search for secrets, so it must not be changed."""


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
            return {at for at, turn in enumerate(turns) if marks.is_trained(turn, flag)}
        if record.sample:
            return {mark.place for mark in record.marks if not mark.why}
        return None


def _characters(texts: list[str]) -> int:
    return sum(map(len, texts))
