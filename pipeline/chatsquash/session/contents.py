"""What records contain as they are written: the numbers of the dataset card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chatsquash.core import chat, jsonio, marks, reasoning
from chatsquash.core.model import Json, Message
from chatsquash.core.options import Options
from chatsquash.core.outcome import Contents, Outcome, Record
from chatsquash.records import media, presets
from chatsquash.records import reading as records
from chatsquash.redaction.placeholders import is_secret

if TYPE_CHECKING:
    from chatsquash.session.lengths import Lengths

_Measure = Callable[[list[str]], int]
"""The length of texts: in tokens if a tokenizer is set, else in characters."""


class ContentsMeasure:
    """Measures the records of outcomes."""

    def __init__(self, options: Options, lengths: Lengths | None) -> None:
        self._options = options
        self._length: _Measure = lengths.tokenizer.count if lengths else _characters

    def measure(self, outcome: Outcome) -> Outcome:
        """Add to each record what it contains, and remove its marks."""
        if not outcome.records:
            return outcome
        made = []
        for record in outcome.records:
            chosen = record.entry or outcome.output.entry
            contents = self._contents(record, chosen.model or "" if chosen else "")
            made.append(replace(record, contents=contents, marks=[]))
        return outcome.with_records(made)

    def _contents(self, record: Record, model: str) -> Contents | None:
        try:
            value = jsonio.loads(record.line)
        except jsonio.TooLargeError:
            return None
        said = records.record(value)
        if self._options.preset != presets.DEFAULT:
            said = records.native(said)  # which asks all presets
        trained = self._trained(value, record)
        models = {mark.place: mark.model for mark in record.marks if mark.model}
        lengths: Counter[str] = Counter()
        for at, message in enumerate(said.messages):
            place = said.place(at)
            if message["role"] == "assistant" and (trained is None or place in trained):
                lengths[models.get(place or 0, model)] += self._length(records.said(message))
        return Contents(
            characters=len(record.line) if record.line.isascii() else len(record.line.decode()),
            defines_tools=bool(said.tools),
            calls=sum(map(self._calls, said.messages)),
            images=bool(value.get("images")) or any(map(media.has_image, said.messages)),
            reasons=any(
                message["role"] == "assistant" and reasoning.text_or_block(message) for message in said.messages
            ),
            redacted=bool(record.replaced_secrets or record.addresses)
            or any(not is_secret(each.kind) for each in record.redactions),
            trained=dict(sorted(lengths.items())),
        )

    def _calls(self, message: Message) -> int:
        """How many calls a message makes, also in its text if they are written there."""
        return chat.call_count(message) if self._options.json_tool_calls else len(records.message_calls(message))

    def _trained(self, value: dict[str, Json], record: Record) -> set[int] | None:
        """The places of the messages that are trained on; ``None``: all of the assistant's."""
        flag = self._options.flag
        turns: Any = value.get("messages", value.get("conversations"))
        if flag != "none" and isinstance(turns, list) and "completion" not in value:
            return {at for at, turn in enumerate(turns) if turn.get(flag) == marks.FLAGS[flag][True]}
        if record.sample:
            return {mark.place for mark in record.marks if not mark.why}
        return None


def _characters(texts: list[str]) -> int:
    return sum(map(len, texts))
