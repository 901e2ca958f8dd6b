"""The preset and modifiers with which a template shows all of a record, or as much as possible of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from chatsquash.checks import rules
from chatsquash.checks.template import Kind
from chatsquash.core.model import Conversation
from chatsquash.core.options import Options, list_options
from chatsquash.core.shape_options import Preset
from chatsquash.core.text import pluralize
from chatsquash.dataset.option_rules import matching_pairs
from chatsquash.records import presets
from chatsquash.session.plan import plan, run_stages

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
_REQUIRED_KIND: dict[str, Kind] = {
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


def counts_as_found(code: str, options: Options, kinds: frozenset[Kind]) -> bool:
    """Whether a code counts as found although it is not, in a record that should show things of these kinds."""
    return options.preset in _NO_REMEDY.get(code, ()) or _REQUIRED_KIND.get(code, "") not in ("", *kinds)


class _Recent(NamedTuple):
    """What helped conversations that are alike."""

    remedies: dict[str, Options]
    times: int
    """In a row."""


_TRUSTED = 20
_MAX_RECENT = 1000


class Remedies:
    """Finds remedies by trying them, simple ones first; what helped often is tried before, which is faster."""

    def __init__(self, look: Callable[[dict[str, Any]], Look]) -> None:
        self._look = look
        self._recent: dict[object, _Recent] = {}

    def find(self, conversation: Conversation, wrong: Codes, like: object) -> dict[str, Options]:
        """The first remedy of each code: options that take it away and bring no other.

        Where none does that, it is one that renders.  ``like`` says which conversations are alike.
        """
        recent = self._recent.get(like, _Recent({}, 0))
        if recent.remedies and recent.times >= _TRUSTED:
            expected = recent.remedies.items()
            if all(code in self._effect(remedy, conversation, wrong)[0] for code, remedy in expected):
                return recent.remedies
        remedies = self._search(conversation, wrong)
        if len(self._recent) > _MAX_RECENT:  # what a template raises may be another text for every record
            self._recent.clear()
        self._recent[like] = _Recent(remedies, recent.times + 1 if remedies == recent.remedies else 1)
        return remedies

    def _search(self, conversation: Conversation, wrong: Codes) -> dict[str, Options]:
        remedies: dict[str, Options] = {}
        rendering: Options | None = None
        for remedy in REMEDIES:
            if wrong - remedies.keys():
                fixed, renders = self._effect(remedy, conversation, wrong)
                rendering = rendering or (remedy if renders else None)
                for code in fixed:
                    remedies.setdefault(code, remedy)
        if rendering and RAISES in wrong:
            remedies.setdefault(RAISES, rendering)
        return remedies

    def _effect(self, remedy: Options, conversation: Conversation, wrong: Codes) -> tuple[Codes, bool]:
        """The codes that a remedy takes away, and whether it makes a record that the template renders."""
        record = record_of(conversation, remedy)
        if record is None:
            return frozenset(), False
        remaining, kinds = self._look(record)
        fixed = frozenset(code for code in wrong - remaining if not counts_as_found(code, remedy, kinds))
        return (fixed if remaining & _SERIOUS <= wrong else frozenset()), RAISES not in remaining


def record_of(conversation: Conversation, options: Options) -> dict[str, Any] | None:
    """The record of a conversation; ``None`` where the preset cannot hold it."""
    try:
        conversation, _ = run_stages(plan(options, None).record_stages, conversation)
        return presets.named(options.preset).shape(conversation, presets.choices(options)).record
    except RecursionError:
        return None


def changes(options: Options) -> dict[str, Any]:
    """The options that are not the defaults, the preset first."""
    values = {each.name: getattr(options, each.name) for each in list_options(type(options))}
    changed = [each.name for each in list_options(type(options)) if values[each.name] != each.default]
    return {name: values[name] for name in sorted(changed, key=lambda name: name != "preset")}


def as_flags(options: Options) -> str:
    """Options as they are written on the command line: those that are not the defaults, the preset first."""
    flags = {each.name: each.flag for each in list_options(type(options))}
    values = changes(options).items()
    return " ".join(flags[name] if value is True else f"{flags[name]} {value}" for name, value in values)


CHANGES: tuple[tuple[str, Any], ...] = (
    ("bridge_results", "join"),
    ("merge_consecutive", True),
    ("split_parallel", True),
    ("split_text_and_calls", True),
    ("enums", "text"),
    ("tool_ids", "short9"),
    ("reasoning", "inline"),
    ("system", "drop"),
)
"""What is tried with each other."""
_COMBINATIONS = (("bridge_results", "merge_consecutive", "tool_ids"), ("split_parallel", "split_text_and_calls"))
"""What a template may want at once, so that one alone mends nothing: roles that alternate, one thing in a message."""
_ERRORS = frozenset(code for code, rule in rules().items() if rule.severity == "error")
_NO_SYSTEM = "template-system-lost"
_PRESETS: tuple[Preset, ...] = ("hf", "openai", "text", "mistral")
"""An earlier one is taken where a later one mends no more errors."""
_MAX_SIMILAR, _MAX_SAMPLES = 4, 40
"""Records that are kept of those that are alike, and of all."""


class Sample(NamedTuple):
    """A record that is not whole."""

    conversation: Conversation
    wrong: Codes


class Repair(NamedTuple):
    """What mends the records that were tried."""

    options: Options | None
    """``None``: nothing mends anything."""
    stays: Counter[str]
    """Of each code, in how many of them it is found all the same."""
    tried: int
    unrepresentable: int
    """Records beside these that presets leave out."""


class _Cost(NamedTuple):
    """How bad it is, the worst first."""

    raising: int
    """Records that are not rendered, or that the preset cannot hold."""
    errors: int
    others: int

    @property
    def severity(self) -> tuple[int, int]:
        """The same without what is no error."""
        return self.raising, self.errors


class RepairSearch:
    """Keeps some of the records that are not whole, and looks for what mends as much of all of them as can be."""

    def __init__(self, look: Callable[[dict[str, Any]], Look]) -> None:
        self._look = look
        self._samples: list[Sample] = []
        self._similar: Counter[object] = Counter()
        self._seeds: dict[str, Any] = {}

    def note(self, conversation: Conversation, wrong: Codes, problem: str, remedies: Iterable[Options]) -> None:
        """A record that is not whole, what the template raised, and what was found to mend it."""
        remedies = tuple(remedies)
        key = wrong, problem, remedies
        if len(self._samples) < _MAX_SAMPLES and self._similar[key] < _MAX_SIMILAR:
            self._similar[key] += 1
            self._samples.append(Sample(conversation, wrong))
            for remedy in remedies:
                self._seeds |= {name: value for name, value in changes(remedy).items() if name != "preset"}

    def find(self) -> Repair | None:
        """What mends most; ``None`` where all records are whole."""
        if not self._samples:
            return None
        samples = [each for each in self._samples if record_of(each.conversation, Options(preset=_PRESETS[0]))]
        cost = cache(lambda options: _cost([self._remaining_codes(each, options) for each in samples]))
        best, least_cost = None, _cost([each.wrong for each in samples])
        for preset in _PRESETS:
            if not any(least_cost.severity) and best:
                break
            candidate = self._best(preset, cost)
            if cost(candidate).severity < least_cost.severity or (best is None and cost(candidate) < least_cost):
                best, least_cost = candidate, cost(candidate)
        codes_left = [self._judge(each, best)[0] if best else each.wrong for each in samples]
        remaining = Counter(sorted(code for codes in codes_left for code in codes))
        return Repair(best, remaining, len(samples), len(self._samples) - len(samples))

    def _best(self, preset: Preset, cost: Callable[[Options], _Cost]) -> Options:
        """The best that is found with a preset, from several beginnings."""
        unions = [self._seeds, *({name: value for name, value in CHANGES if name in names} for names in _COMBINATIONS)]
        candidates = [_optimize(_with_all(Options(preset=preset), union), cost) for union in unions]
        return min(candidates, key=lambda options: (cost(options), len(changes(options))))

    def _remaining_codes(self, sample: Sample, options: Options) -> Codes:
        """What is wrong with a record that options make, and what they do not mend but hide."""
        remaining, kinds = self._judge(sample, options)
        return remaining | {code for code in sample.wrong if counts_as_found(code, options, kinds)}

    def _judge(self, sample: Sample, options: Options) -> Look:
        """What is wrong with a record that options make."""
        record = record_of(sample.conversation, options)
        if record is None:
            return Look(sample.wrong | {RAISES}, frozenset())
        remaining, kinds = self._look(record)
        roles = {message["role"] for message in sample.conversation.messages} if options.system == "drop" else ()
        return Look(remaining | {_NO_SYSTEM} if "system" in roles else remaining, kinds)


def _with_all(options: Options, union: dict[str, Any]) -> Options:
    for name, value in union.items():
        options = _with(options, name, value) or options
    return options


def _optimize(options: Options, cost: Callable[[Options], _Cost]) -> Options:
    """Options with all single changes that mend something, and without those that mend nothing."""
    for name, value in CHANGES * 2:
        more = _with(options, name, value)
        if more and _improves(cost(more), cost(options), name):
            options = more
    for name in [name for name in changes(options) if name != "preset"]:
        less = replace(options, **{name: getattr(Options(), name)})
        if not _improves(cost(options), cost(less), name):
            options = less
    return options


def _improves(with_it: _Cost, without: _Cost, name: str) -> bool:
    """Whether a change mends something; what is lost of reasoning, only a change of reasoning does."""
    return with_it < without if name == "reasoning" else with_it.severity < without.severity


def _with(options: Options, name: str, value: Any) -> Options | None:
    """Options with a change; ``None`` where it has no effect with them."""
    changed = replace(options, **{name: value})
    return None if next(matching_pairs(changed), None) else changed


def _cost(codes_left: Iterable[Codes]) -> _Cost:
    codes = [code for each in codes_left for code in each]
    errors = sum(code in _ERRORS for code in codes)
    return _Cost(codes.count(RAISES), errors, len(codes) - errors)


def repair_line(repair: Repair, spelled: Callable[[Options], str]) -> str:
    """The line that mends, for people."""
    if not repair.tried:
        return f"no preset holds {pluralize(repair.unrepresentable, 'record')} that the template does not show whole"
    remaining = ", ".join(f"{code} {count:,}" for code, count in repair.stays.items())
    notes = [f"what stays: {remaining}" if remaining else "nothing stays", f"{pluralize(repair.tried, 'record')} tried"]
    if repair.unrepresentable:
        notes.append(f"{repair.unrepresentable:,} that presets leave out")
    command = f"chatsquash convert LOGS {spelled(repair.options)}" if repair.options else "no preset or modifier mends it"
    return f"{command}  # {', '.join(notes)}"
