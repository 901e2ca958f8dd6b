"""Finds presets and modifiers with which a template renders all content of a record, or most of many records."""

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
from chatsquash.core.record_options import Preset
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
"""The options to try, simplest first."""


class Look(NamedTuple):
    """The codes that apply to a record, and the kinds of content that its rendering should contain."""

    codes: Codes
    kinds: frozenset[Kind]


_SERIOUS = frozenset(code for code, rule in rules().items() if rule.severity != "info")
RAISES = "template-error"
_REQUIRED_KIND: dict[str, Kind] = {
    "template-definition-lost": "tool",
    "template-reasoning-lost": "reasoning",
    "template-system-lost": "system",
}
"""The kind of content that must remain if a code disappears, since dropping the content does not fix its loss."""
_NO_REMEDY = {
    "template-reasoning-lost": ("text",),
    "template-definition-lost": ("text",),
    "template-text-lost": ("mistral",),
}
"""Presets that do not count as a remedy: ``text`` changes far more than a partial loss, and ``mistral`` drops text."""


def counts_as_found(code: str, options: Options, kinds: frozenset[Kind]) -> bool:
    """Return whether a code still counts because options hide the problem, given the kinds of content in the record."""
    return options.preset in _NO_REMEDY.get(code, ()) or _REQUIRED_KIND.get(code, "") not in ("", *kinds)


class _Recent(NamedTuple):
    """The remedies of the last similar conversations."""

    remedies: dict[str, Options]
    times: int
    """How many times in a row they were the same."""


_TRUSTED = 20
_MAX_RECENT = 1000


class Remedies:
    """Finds remedies by trying them, simplest first; frequent remedies of similar conversations are tried before."""

    def __init__(self, look: Callable[[dict[str, Any]], Look]) -> None:
        self._look = look
        self._recent: dict[object, _Recent] = {}

    def find(self, conversation: Conversation, wrong: Codes, like: object) -> dict[str, Options]:
        """Return the first remedy of each code: options that remove it and add no other serious one.

        If the template raises and nothing else helps, any options that render count.  ``like`` is a key that similar
        conversations share.
        """
        recent = self._recent.get(like, _Recent({}, 0))
        if recent.remedies and recent.times >= _TRUSTED:
            expected = recent.remedies.items()
            if all(code in self._effect(remedy, conversation, wrong)[0] for code, remedy in expected):
                return recent.remedies
        remedies = self._search(conversation, wrong)
        if len(self._recent) > _MAX_RECENT:  # a template may raise a different message for every record
            self._recent.clear()
        self._recent[like] = _Recent(remedies, recent.times + 1 if remedies == recent.remedies else 1)
        return remedies

    def _search(self, conversation: Conversation, wrong: Codes) -> dict[str, Options]:
        remedies: dict[str, Options] = {}
        rendering: Options | None = None
        for remedy in REMEDIES:
            if wrong - remedies.keys():
                solved, renders = self._effect(remedy, conversation, wrong)
                rendering = rendering or (remedy if renders else None)
                for code in solved:
                    remedies.setdefault(code, remedy)
        if rendering and RAISES in wrong:
            remedies.setdefault(RAISES, rendering)
        return remedies

    def _effect(self, remedy: Options, conversation: Conversation, wrong: Codes) -> tuple[Codes, bool]:
        """Return the codes that a remedy removes, and whether the template renders its record."""
        record = record_of(conversation, remedy)
        if record is None:
            return frozenset(), False
        remaining, kinds = self._look(record)
        solved = frozenset(code for code in wrong - remaining if not counts_as_found(code, remedy, kinds))
        return (solved if remaining & _SERIOUS <= wrong else frozenset()), RAISES not in remaining


def record_of(conversation: Conversation, options: Options) -> dict[str, Any] | None:
    """Return the record of a conversation, or ``None`` if the preset cannot represent it."""
    try:
        conversation, _ = run_stages(plan(options, None).record_stages, conversation)
        return presets.get_preset(options.preset).shape(conversation, presets.choices(options)).record
    except RecursionError:
        return None


def changes(options: Options) -> dict[str, Any]:
    """Return the options that differ from the defaults, the preset first."""
    values = {each.name: getattr(options, each.name) for each in list_options(type(options))}
    changed = [each.name for each in list_options(type(options)) if values[each.name] != each.default]
    return {name: values[name] for name in sorted(changed, key=lambda name: name != "preset")}


def as_flags(options: Options) -> str:
    """Return the command-line flags of options that differ from the defaults, the preset first."""
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
"""The changes that are tried in combination."""
_COMBINATIONS = (("bridge_results", "merge_consecutive", "tool_ids"), ("split_parallel", "split_text_and_calls"))
"""Changes that only help together, for templates with alternating roles or with one part per message."""
_ERRORS = frozenset(code for code, rule in rules().items() if rule.severity == "error")
_NO_SYSTEM = "template-system-lost"
_PRESETS: tuple[Preset, ...] = ("hf", "openai", "text", "mistral")
"""A later preset is only chosen if it fixes more errors."""
_MAX_SIMILAR, _MAX_SAMPLES = 4, 40
"""The largest numbers of similar samples and of all samples."""


class Sample(NamedTuple):
    """A conversation that is not rendered completely, with its codes."""

    conversation: Conversation
    wrong: Codes


class Repair(NamedTuple):
    """The options that fix most of the samples."""

    options: Options | None
    """``None`` if nothing helps."""
    stays: Counter[str]
    """The number of samples per remaining code."""
    tried: int
    unrepresentable: int
    """Further records that no preset can represent."""


class _Cost(NamedTuple):
    """How much is lost, compared by the most serious losses first."""

    raising: int
    """Records that are not rendered, or that the preset cannot represent."""
    errors: int
    others: int

    @property
    def severity(self) -> tuple[int, int]:
        """The cost without losses that are not errors."""
        return self.raising, self.errors


class RepairSearch:
    """Collects some incomplete records, and finds the options that fix as much as possible of all of them."""

    def __init__(self, look: Callable[[dict[str, Any]], Look]) -> None:
        self._look = look
        self._samples: list[Sample] = []
        self._similar: Counter[object] = Counter()
        self._seeds: dict[str, Any] = {}

    def note(self, conversation: Conversation, wrong: Codes, problem: str, remedies: Iterable[Options]) -> None:
        """Add an incomplete record, the error that the template raised, and its remedies."""
        remedies = tuple(remedies)
        key = wrong, problem, remedies
        if len(self._samples) < _MAX_SAMPLES and self._similar[key] < _MAX_SIMILAR:
            self._similar[key] += 1
            self._samples.append(Sample(conversation, wrong))
            for remedy in remedies:
                self._seeds |= {name: value for name, value in changes(remedy).items() if name != "preset"}

    def find(self) -> Repair | None:
        """Return the best options, or ``None`` if all records are complete."""
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
        """Return the best options with a preset, searched from several starting points."""
        unions = [self._seeds, *({name: value for name, value in CHANGES if name in names} for names in _COMBINATIONS)]
        candidates = [_optimize(_with_all(Options(preset=preset), union), cost) for union in unions]
        return min(candidates, key=lambda options: (cost(options), len(changes(options))))

    def _remaining_codes(self, sample: Sample, options: Options) -> Codes:
        """Return the codes that remain with options, including problems that they only hide."""
        remaining, kinds = self._judge(sample, options)
        return remaining | {code for code in sample.wrong if counts_as_found(code, options, kinds)}

    def _judge(self, sample: Sample, options: Options) -> Look:
        """Check the record that options produce."""
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
    """Add every change that improves the result, then remove those that do not."""
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
    """Return whether a change is an improvement; a change of reasoning also is if it only reduces minor losses."""
    return with_it < without if name == "reasoning" else with_it.severity < without.severity


def _with(options: Options, name: str, value: Any) -> Options | None:
    """Return options with a change, or ``None`` if it has no effect with them."""
    changed = replace(options, **{name: value})
    return None if next(matching_pairs(changed), None) else changed


def _cost(codes_left: Iterable[Codes]) -> _Cost:
    codes = [code for each in codes_left for code in each]
    errors = sum(code in _ERRORS for code in codes)
    return _Cost(codes.count(RAISES), errors, len(codes) - errors)


def repair_line(repair: Repair, spelled: Callable[[Options], str]) -> str:
    """Return the command line of a repair, with a comment about the remaining losses."""
    if not repair.tried:
        records = pluralize(repair.unrepresentable, "record")
        return f"no preset can represent {records} that the template renders incompletely"
    remaining = ", ".join(f"{code} {count:,}" for code, count in repair.stays.items())
    notes = [
        f"remaining: {remaining}" if remaining else "nothing remains",
        f"{pluralize(repair.tried, 'record')} tried",
    ]
    if repair.unrepresentable:
        notes.append(f"{repair.unrepresentable:,} that presets cannot represent")
    command = (
        f"chatsquash convert LOGS {spelled(repair.options)}" if repair.options else "no preset or other option fixes it"
    )
    return f"{command}  # {', '.join(notes)}"
