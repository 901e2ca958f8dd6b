"""What the records of a dataset are like, in numbers."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

from chatsquash.model import Outcome


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

    def add(self, outcome: Outcome) -> None:
        """One record more."""
        if outcome.record is None or outcome.usage is None or outcome.facts is None:
            return
        self.turns.append(outcome.usage.assistant_turns)
        self.calls.append(outcome.usage.calls)
        self.characters.append(len(outcome.record.decode()))
        self.with_tools += bool(outcome.usage.calls or outcome.usage.tool_names)
        prompt, completion = outcome.facts.prompt_tokens, outcome.facts.completion_tokens
        if prompt is not None and completion is not None:
            self.tokens.append(prompt + completion)
        if outcome.day:
            self.days = [min([outcome.day, *self.days]), max([outcome.day, *self.days])]
        if outcome.facts.model:
            self.models[outcome.facts.model] += 1


def quantile(values: array[int], share: float) -> int:
    """The value that so many of all are below or equal to: one of them."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
