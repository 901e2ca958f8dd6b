"""The preset and the modifiers with which a record has to be converted so that a template shows all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from chatsquash.checks import rules
from chatsquash.checks.template import Kind
from chatsquash.core.model import Conversation
from chatsquash.core.options import Options, declared
from chatsquash.records import presets
from chatsquash.session.plan import plan, through

Codes = frozenset[str]

REMEDIES = (
    Options(preset="hf"),
    Options(preset="openai"),
    Options(preset="hf", split_parallel=True),
    Options(preset="hf", split_text_and_calls=True),
    Options(preset="hf", split_parallel=True, split_text_and_calls=True),
    Options(preset="hf", reasoning="inline"),
    Options(preset="hf", tool_ids="short9"),
    Options(preset="hf", tool_ids="short9", split_text_and_calls=True),
    Options(preset="hf", merge_consecutive=True),
    Options(preset="hf", merge_consecutive=True, tool_ids="short9"),
    Options(preset="hf", system="drop"),
    Options(preset="hf", system="drop", merge_consecutive=True),
    Options(preset="mistral"),
    Options(preset="text"),
    Options(preset="text", system="drop"),
    Options(preset="text", merge_consecutive=True),
    Options(preset="text", merge_consecutive=True, system="drop"),
)
"""What is tried, the simplest first."""


class Look(NamedTuple):
    """What is wrong with a record, and of what kinds are the things that its rendering should show."""

    codes: Codes
    kinds: frozenset[Kind]


_SERIOUS = frozenset(code for code, rule in rules().items() if rule.severity != "info")
RAISES = "template-error"
_HELD: dict[str, Kind] = {
    "template-definition-lost": "tool",
    "template-reasoning-lost": "reasoning",
    "template-system-lost": "system",
}
"""What must still be there where a code is gone: to drop a thing is no remedy for its loss."""
_NO_REMEDY = {
    "template-reasoning-lost": ("text",),
    "template-definition-lost": ("text",),
    "template-text-lost": ("mistral",),
}
"""Presets that are no remedy for a code: to make all text is too much for what is lost in part or for a reason, and to
drop text is none for its loss."""


def stays(code: str, options: Options, kinds: frozenset[Kind]) -> bool:
    """Whether a code counts as found although it is not, in a record that should show things of these kinds."""
    return options.preset in _NO_REMEDY.get(code, ()) or _HELD.get(code, "") not in ("", *kinds)


class _Helped(NamedTuple):
    """What helped conversations that are alike."""

    remedies: dict[str, Options]
    times: int
    """In a row."""


_OFTEN = 20
_MANY = 1000


class Remedies:
    """Finds remedies by trying them, simple ones first; what helped often is tried before, which is faster."""

    def __init__(self, look: Callable[[dict[str, Any]], Look]) -> None:
        self._look = look
        self._helped: dict[object, _Helped] = {}

    def find(self, conversation: Conversation, wrong: Codes, like: object) -> dict[str, Options]:
        """The first remedy of each code: options that take it away and bring no other.

        Where none does that, it is one that renders.  ``like`` says which conversations are alike.
        """
        known = self._helped.get(like, _Helped({}, 0))
        if known.remedies and known.times >= _OFTEN:
            tried = known.remedies.items()
            if all(code in self._effect(remedy, conversation, wrong)[0] for code, remedy in tried):
                return known.remedies
        remedies = self._search(conversation, wrong)
        if len(self._helped) > _MANY:  # what a template raises may be another text for every record
            self._helped.clear()
        self._helped[like] = _Helped(remedies, known.times + 1 if remedies == known.remedies else 1)
        return remedies

    def _search(self, conversation: Conversation, wrong: Codes) -> dict[str, Options]:
        remedies: dict[str, Options] = {}
        rendering: Options | None = None
        for remedy in REMEDIES:
            if wrong - remedies.keys():
                taken, renders = self._effect(remedy, conversation, wrong)
                rendering = rendering or (remedy if renders else None)
                for code in taken:
                    remedies.setdefault(code, remedy)
        if rendering and RAISES in wrong:
            remedies.setdefault(RAISES, rendering)
        return remedies

    def _effect(self, remedy: Options, conversation: Conversation, wrong: Codes) -> tuple[Codes, bool]:
        """The codes that a remedy takes away, and whether it makes a record that the template renders."""
        record = record_of(conversation, remedy)
        if record is None:
            return frozenset(), False
        left, kinds = self._look(record)
        taken = frozenset(code for code in wrong - left if not stays(code, remedy, kinds))
        return (taken if left & _SERIOUS <= wrong else frozenset()), RAISES not in left


def record_of(conversation: Conversation, options: Options) -> dict[str, Any] | None:
    """The record of a conversation; ``None`` where the preset cannot hold it."""
    try:
        conversation, _ = through(plan(options, None).conversation, conversation)
        return presets.named(options.preset).shape(conversation, presets.choices(options)).record
    except RecursionError:
        return None


def changes(options: Options) -> dict[str, Any]:
    """The options that are not the defaults, the preset first."""
    values = {each.name: getattr(options, each.name) for each in declared(type(options))}
    changed = [each.name for each in declared(type(options)) if values[each.name] != each.default]
    return {name: values[name] for name in sorted(changed, key=lambda name: name != "preset")}


def spelled(options: Options) -> str:
    """Options as they are written on the command line: those that are not the defaults, the preset first."""
    flags = {each.name: each.flag for each in declared(type(options))}
    written = changes(options).items()
    return " ".join(flags[name] if value is True else f"{flags[name]} {value}" for name, value in written)
