"""One preset with modifiers that mends all it can of what a template loses in many records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from chatsquash.checks import rules
from chatsquash.core.model import Conversation
from chatsquash.core.options import Options
from chatsquash.core.text import pluralize
from chatsquash.dataset.option_rules import met
from chatsquash.results.remedies import RAISES, Codes, Look, changes, converted, stays

SINGLE: tuple[tuple[str, Any], ...] = (
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
_AT_ONCE = (("bridge_results", "merge_consecutive", "tool_ids"), ("split_parallel", "split_text_and_calls"))
"""What a template may want at once, so that one alone mends nothing: roles that alternate, one thing in a message."""
_ERRORS = frozenset(code for code, rule in rules().items() if rule.severity == "error")
_NO_SYSTEM = "template-system-lost"
_PRESETS = ("hf", "openai", "text", "mistral")
"""An earlier one is taken where a later one mends no more errors."""
_EACH, _MOST = 4, 40
"""Records that are kept of those that are alike, and of all."""


class Sample(NamedTuple):
    """A record that is not whole."""

    conversation: Conversation
    wrong: Codes


class Mended(NamedTuple):
    """What mends the records that were tried."""

    options: Options | None
    """``None``: nothing mends anything."""
    stays: Counter[str]
    """Of each code, in how many of them it is found all the same."""
    tried: int
    apart: int
    """Records beside these that presets leave out."""


class _Cost(NamedTuple):
    """How bad it is, the worst first."""

    raising: int
    """Records that are not rendered, or that the preset cannot hold."""
    errors: int
    others: int

    @property
    def grave(self) -> tuple[int, int]:
        """The same without what is no error."""
        return self.raising, self.errors


class Mending:
    """Keeps some of the records that are not whole, and looks for what mends as much of all of them as can be."""

    def __init__(self, look: Callable[[dict[str, Any]], Look]) -> None:
        self._look = look
        self._samples: list[Sample] = []
        self._alike: Counter[object] = Counter()
        self._seeds: dict[str, Any] = {}

    def note(self, conversation: Conversation, wrong: Codes, problem: str, remedies: Iterable[Options]) -> None:
        """A record that is not whole, what the template raised, and what was found to mend it."""
        remedies = tuple(remedies)
        like = wrong, problem, remedies
        if len(self._samples) < _MOST and self._alike[like] < _EACH:
            self._alike[like] += 1
            self._samples.append(Sample(conversation, wrong))
            for remedy in remedies:
                self._seeds |= {name: value for name, value in changes(remedy).items() if name != "preset"}

    def find(self) -> Mended | None:
        """What mends most; ``None`` where all records are whole."""
        if not self._samples:
            return None
        held = [each for each in self._samples if converted(each.conversation, Options(preset=_PRESETS[0]))]
        cost = cache(lambda options: _cost([self._wrong(each, options) for each in held]))
        best, least = None, _cost([each.wrong for each in held])
        for preset in _PRESETS:
            if not any(least.grave) and best:
                break
            found = self._found(preset, cost)
            if cost(found).grave < least.grave or (best is None and cost(found) < least):
                best, least = found, cost(found)
        left = [self._tried(each, best)[0] if best else each.wrong for each in held]
        stays = Counter(sorted(code for codes in left for code in codes))
        return Mended(best, stays, len(held), len(self._samples) - len(held))

    def _found(self, preset: str, cost: Callable[[Options], _Cost]) -> Options:
        """The best that is found with a preset, from several beginnings."""
        unions = [self._seeds, *({name: value for name, value in SINGLE if name in names} for names in _AT_ONCE)]
        found = [_grown(_united(Options(preset=preset), union), cost) for union in unions]
        return min(found, key=lambda options: (cost(options), len(changes(options))))

    def _wrong(self, sample: Sample, options: Options) -> Codes:
        """What is wrong with a record that options make, and what they do not mend but hide."""
        left, kinds = self._tried(sample, options)
        return left | {code for code in sample.wrong if stays(code, options, kinds)}

    def _tried(self, sample: Sample, options: Options) -> Look:
        """What is wrong with a record that options make."""
        record = converted(sample.conversation, options)
        if record is None:
            return Look(sample.wrong | {RAISES}, frozenset())
        left, kinds = self._look(record)
        roles = {message["role"] for message in sample.conversation.messages} if options.system == "drop" else ()
        return Look(left | {_NO_SYSTEM} if "system" in roles else left, kinds)


def _united(options: Options, union: dict[str, Any]) -> Options:
    for name, value in union.items():
        options = _with(options, name, value) or options
    return options


def _grown(options: Options, cost: Callable[[Options], _Cost]) -> Options:
    """Options with all single changes that mend something, and without those that mend nothing."""
    for name, value in SINGLE * 2:
        more = _with(options, name, value)
        if more and _mends(cost(more), cost(options), name):
            options = more
    for name in [name for name in changes(options) if name != "preset"]:
        less = replace(options, **{name: getattr(Options(), name)})
        if not _mends(cost(options), cost(less), name):
            options = less
    return options


def _mends(with_it: _Cost, without: _Cost, name: str) -> bool:
    """Whether a change mends something; what is lost of reasoning, only a change of reasoning does."""
    return with_it < without if name == "reasoning" else with_it.grave < without.grave


def _with(options: Options, name: str, value: Any) -> Options | None:
    """Options with a change; ``None`` where it has no effect with them."""
    changed = replace(options, **{name: value})
    return None if next(met(changed), None) else changed


def _cost(left: Iterable[Codes]) -> _Cost:
    codes = [code for each in left for code in each]
    errors = sum(code in _ERRORS for code in codes)
    return _Cost(codes.count(RAISES), errors, len(codes) - errors)


def told(mended: Mended, spelled: Callable[[Options], str]) -> str:
    """The line that mends, for people."""
    if not mended.tried:
        return f"no preset holds {pluralize(mended.apart, 'record')} that the template does not show whole"
    left = ", ".join(f"{code} {count:,}" for code, count in mended.stays.items())
    notes = [f"what stays: {left}" if left else "nothing stays", f"{pluralize(mended.tried, 'record')} tried"]
    if mended.apart:
        notes.append(f"{mended.apart:,} that presets leave out")
    mends = f"chatsquash convert LOGS {spelled(mended.options)}" if mended.options else "no preset or modifier mends it"
    return f"{mends}  # {', '.join(notes)}"
