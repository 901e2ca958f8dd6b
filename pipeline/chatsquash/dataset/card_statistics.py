"""The numbers of a dataset card, added up record by record."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from chatsquash.core.accounting import Usage
from chatsquash.core.outcome import Contents, Outcome, Record
from chatsquash.session.record_filters import ToolTotals


def _numbers() -> array[int]:
    return array("Q")


@dataclass(slots=True)
class Statistics:
    """A few numbers of each record, 8 bytes each, so that they may be as many as the records."""

    turns: array[int] = field(default_factory=_numbers)
    """Turns of the assistant."""
    calls: array[int] = field(default_factory=_numbers)
    characters: array[int] = field(default_factory=_numbers)
    tokens: array[int] = field(default_factory=_numbers)
    """Of the last request and its reply, if the log counts both."""
    counted: array[int] = field(default_factory=_numbers)
    """Tokens as the tokenizer counts them."""
    records_with: Counter[str] = field(default_factory=Counter)
    """Records that contain something, by its name in ``FEATURES``."""
    unmeasured: int = 0
    """Records that are too large to be parsed again."""
    models: Counter[str] = field(default_factory=Counter)
    """Records by the models that wrote what is trained on in them; ``""``: the log names none."""
    trained: Counter[str] = field(default_factory=Counter)
    """The length of the messages that are trained on, by model."""
    sources: Counter[str] = field(default_factory=Counter)
    """Records by the format of their logs."""
    days: list[str] = field(default_factory=list)
    """The first and the last day of all, once a record has one."""
    tools: ToolTotals = field(default_factory=ToolTotals)

    @property
    def unit(self) -> str:
        """The unit of ``trained``."""
        return "tokens" if self.counted else "characters"

    def add(self, outcome: Outcome, record: Record, usage: Usage) -> None:
        """Add a record of a session, and the use of tools that counts with it."""
        self.turns.append(record.usage.assistant_turns)
        self.tools.add(usage)
        self.sources[outcome.account.format or "unknown"] += 1
        if day := outcome.output.day:
            self.days = [min([day, *self.days]), max([day, *self.days])]
        if record.tokens is not None:
            self.counted.append(record.tokens)
        if record.facts and record.facts.prompt_tokens is not None and record.facts.completion_tokens is not None:
            self.tokens.append(record.facts.prompt_tokens + record.facts.completion_tokens)
        truncated = {True: TRUNCATED, None: UNKNOWN_END}.get(record.ending.truncated)
        self.records_with.update([truncated] if truncated else [])
        if record.contents is None:
            self.unmeasured += 1
        else:
            self._add_contents(record.contents)

    def _add_contents(self, contents: Contents) -> None:
        self.calls.append(contents.calls)
        self.characters.append(contents.characters)
        self.records_with.update(name for name, has in FEATURES.items() if has(contents))
        self.models.update(contents.trained.keys())
        self.trained.update(contents.trained)


FEATURES: dict[str, Callable[[Contents], bool]] = {
    "tool definitions": lambda contents: contents.defines_tools,
    "tool calls": lambda contents: contents.calls > 0,
    "images": lambda contents: contents.images,
    "reasoning": lambda contents: contents.reasons,
    "redacted text": lambda contents: contents.redacted,
}
"""What a record may contain, and how its contents say so."""
TRUNCATED = "a truncated last reply"
UNKNOWN_END = "an unknown end"


def quantile(values: array[int], share: float) -> int:
    """The value that so many of all are below or equal to: one of them."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
