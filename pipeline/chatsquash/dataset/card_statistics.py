"""The numbers of a dataset card, added up record by record."""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import compress

from msgspec import Struct, field

from chatsquash.core.accounting import Usage
from chatsquash.core.outcome import Contents, Outcome, Record
from chatsquash.session.record_filters import ToolTotals


def _numbers() -> array[int]:
    return array("Q")


class Statistics(Struct):
    """The statistics of a dataset card.

    Only a few numbers of 8 bytes are stored per record, to limit the memory for many records.
    """

    turns: array[int] = field(default_factory=_numbers)
    """Assistant turns."""
    calls: array[int] = field(default_factory=_numbers)
    characters: array[int] = field(default_factory=_numbers)
    tokens: array[int] = field(default_factory=_numbers)
    """Tokens of the last request and its reply, if the log has both counts."""
    tokenizer_tokens: array[int] = field(default_factory=_numbers)
    """Tokens counted by the tokenizer."""
    records_with: Counter[str] = field(default_factory=Counter)
    """Records with a feature, by its name in ``FEATURES``."""
    unmeasured: int = 0
    """Records too large to be parsed again."""
    sources: Counter[str] = field(default_factory=Counter)
    """Records by log format."""
    days: list[str] = field(default_factory=list)
    """The first and the last day of all records; empty until a record has a day."""
    tools: ToolTotals = field(default_factory=ToolTotals)

    @property
    def unit(self) -> str:
        """The unit of the length of the messages trained on."""
        return "tokens" if self.tokenizer_tokens else "characters"

    def add(self, outcome: Outcome, record: Record, usage: Usage) -> None:
        """Add a record of a session, and its tool usage."""
        self.turns.append(record.usage.assistant_turns)
        self.tools.add(usage)
        self.sources[outcome.account.format or "unknown"] += 1
        day, facts, truncated = outcome.output.day, record.facts, record.ending.truncated
        if day and (not self.days or not self.days[0] <= day <= self.days[1]):
            self.days = [min([day, *self.days]), max([day, *self.days])]
        if record.tokens is not None:
            self.tokenizer_tokens.append(record.tokens)
        if facts and facts.prompt_tokens is not None and facts.completion_tokens is not None:
            self.tokens.append(facts.prompt_tokens + facts.completion_tokens)
        if truncated is not False:
            self.records_with[TRUNCATED if truncated else UNKNOWN_END] += 1
        if record.contents is None:
            self.unmeasured += 1
        else:
            self._add_contents(record.contents)

    def _add_contents(self, contents: Contents) -> None:
        self.calls.append(contents.calls)
        self.characters.append(contents.characters)
        features = contents.defines_tools, contents.calls, contents.images, contents.reasons, contents.redacted
        for name in compress(FEATURES, features):
            self.records_with[name] += 1


FEATURES = ("tool definitions", "tool calls", "images", "reasoning", "redacted text")
"""The features of records, in the order in which ``Statistics`` checks for them."""
TRUNCATED = "a truncated last reply"
UNKNOWN_END = "an unknown end"


def quantile(values: array[int], share: float) -> int:
    """Return the value that a share of all values does not exceed, without interpolation."""
    ascending = sorted(values)
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))]
