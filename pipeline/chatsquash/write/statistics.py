"""What the records of a dataset are like, in numbers."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

from chatsquash.model import Record
from chatsquash.stages.measure import ToolTotals


@dataclass(slots=True)
class Statistics:
    """A few numbers of each record; 8 bytes each, so that they may be as many as the records."""

    turns: array[int] = field(default_factory=lambda: array("Q"))
    """Turns of the assistant."""
    calls: array[int] = field(default_factory=lambda: array("Q"))
    characters: array[int] = field(default_factory=lambda: array("Q"))
    tokens: array[int] = field(default_factory=lambda: array("Q"))
    """Of the last request and its reply, where the log counts both."""
    models: Counter[str] = field(default_factory=Counter)
    with_tools: int = 0
    """Records that define or call tools."""
    days: list[str] = field(default_factory=list)
    """The first and the last day of all, once a record has one."""

    tools: ToolTotals = field(default_factory=ToolTotals)

    def add(self, record: Record, day: str | None) -> None:
        """One record more, and the day of its session."""
        self.turns.append(record.usage.assistant_turns)
        self.calls.append(record.usage.calls)
        self.characters.append(len(record.line.decode()))
        self.tools.add(record.usage)
        self.with_tools += bool(record.usage.calls or record.usage.tool_names)
        if day:
            self.days = [min([day, *self.days]), max([day, *self.days])]
        if record.facts is None:
            return
        prompt, completion = record.facts.prompt_tokens, record.facts.completion_tokens
        if prompt is not None and completion is not None:
            self.tokens.append(prompt + completion)
        if record.facts.model:
            self.models[record.facts.model] += 1


def quantile(values: array[int], share: float) -> int:
    """The value that so many of all are below or equal to: one of them."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
