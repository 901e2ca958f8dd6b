"""Checks records against the requirements of a trainer: the schemas of the presets that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.checks import schemas, stored_records
from chatsquash.core.model import Json, Violation
from chatsquash.core.text import pluralize
from chatsquash.dataset.trainers import TRAINERS, parse
from chatsquash.records import presets


class Requirements:
    """The requirements of a trainer; raises ``UsageError`` if it is unknown or jsonschema is not installed."""

    def __init__(self, name: str) -> None:
        self._trainer = TRAINERS[parse(name)[0]]
        schemas.refuse_missing(f"--for {name}")
        self._schemas = [presets.get_preset(each).SCHEMA for each in self._trainer.presets]
        self._is_closed = self._trainer.presets == ("openai",)
        self.records = self.readable = 0

    def look(self, value: Json) -> Iterator[Violation]:
        """Yield the first mismatch of a record."""
        self.records += 1
        mismatches = [schemas.first_problem(schema, self._columns(value, schema)) for schema in self._schemas]
        if all(mismatches):
            which = " or ".join(self._trainer.presets)
            yield stored_records.unreadable_by_trainer(self._trainer.title, which, mismatches[0])
        else:
            self.readable += 1

    def _columns(self, value: Any, schema: dict[str, Any]) -> Any:
        """Return the members of a record that the trainer reads; for services all, since they reject unknown ones."""
        if not isinstance(value, dict):
            return value
        shape = self._trainer.sample_shape
        halves = value.get("prompt"), value.get("completion")
        if shape == "prompt-completion" and all(isinstance(half, list) for half in halves):
            value = {"messages": [*value["prompt"], *value["completion"]], "tools": value.get("tools")}
        known = value if self._is_closed else schema["properties"]
        return {name: member for name, member in value.items() if name in known and member is not None}

    def summary(self) -> str:
        """Return a line for the user about the scope of the check and the result."""
        counts = f"{pluralize(self.records, 'record')} checked for {self._trainer.title}: {self.readable:,} readable"
        return f"{counts} (columns, roles and members; not how it renders or masks them)"
