"""The dataset card: YAML for loaders, and below what somebody wants to know who trains with it."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chatsquash.core.accounting import Usage
from chatsquash.core.outcome import Record
from chatsquash.core.text import certified, escape, pluralize
from chatsquash.dataset.arrow import Field
from chatsquash.dataset.columns import IMAGES, features, has_json
from chatsquash.dataset.shards import Shards
from chatsquash.session.record_filters import ToolTotals

CARD = "README.md"
_MOST = 20  # tools and models that are named
_LONGEST = 80  # characters of a name
_TAGS = ("task_categories:", "- text-generation", "tags:", "- chatsquash", "- conversations")
_INERT = str.maketrans("`|", "'¦")


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
    """Records that define tools."""
    with_calls: int = 0
    """Records that call tools."""
    days: list[str] = field(default_factory=list)
    """The first and the last day of all, once a record has one."""

    tools: ToolTotals = field(default_factory=ToolTotals)

    def add(self, record: Record, day: str | None, usage: Usage) -> None:
        """One record more, the day of its session, and the use of tools that counts with it."""
        self.turns.append(record.usage.assistant_turns)
        self.calls.append(record.usage.calls)
        self.characters.append(len(record.line.decode()))
        self.tools.add(usage)
        self.with_tools += bool(record.usage.tool_names)
        self.with_calls += bool(record.usage.calls)
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


class CardFacts(NamedTuple):
    """What the card says."""

    splits: dict[str, Shards]
    """Those that have records."""
    columns: list[Field]
    pairs: dict[str, Shards]
    """The splits that have pairs."""
    pair_columns: list[Field]
    typed: bool
    """Whether the files tell the types of their columns."""
    statistics: Statistics
    counts: dict[str, Any]
    """Of the whole run, as in ``run.json``."""
    asked: dict[str, object]
    """The options that are not as by default."""
    anonymized: bool
    flag: str
    """The member that says which messages are trained on, if there is one."""
    are_samples: bool
    """Whether each record is a reply, or several, behind what was sent to get it."""


def card(facts: CardFacts) -> str:
    """The text of ``README.md``."""
    return "\n".join([*_yaml(facts), *_page(facts)]) + "\n"


def plain_card(files: list[str], records: int, columns: list[Field]) -> str:
    """The text of ``README.md`` beside files of records in the default layout: what a loader needs, and no statistics.

    Without it ``load_dataset`` would take the reports for data, and would infer columns from the first records.
    """
    yaml = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path:",
        *(f"    - {json.dumps(name, ensure_ascii=False)}" for name in files),
        "dataset_info:",
        "  features:",
        *(f"  {line}" for line in features(columns, typed=False)),
        *_TAGS,
        "---",
    ]
    said = f"{pluralize(records, 'record')} in {pluralize(len(files), 'file')}, made by chatsquash of session logs."
    page = ["", "# Conversations for fine-tuning", "", said, *_section("How to load", _loading(columns, typed=False))]
    return "\n".join([*yaml, *page]) + "\n"


def _yaml(facts: CardFacts) -> Iterator[str]:
    yield "---"
    if facts.splits:
        yield "configs:"
    for config, splits in (("default", facts.splits), ("pairs", facts.pairs)):
        if splits:
            yield from (f"- config_name: {config}", "  data_files:")
        for name, shards in splits.items():
            yield from (f"  - split: {name}", f"    path: {shards.pattern()}")
    yield "dataset_info:"
    if facts.pairs:
        yield from _list_item(["config_name: default", *_info(facts.columns, facts.splits, facts)])
        yield from _list_item(["config_name: pairs", *_info(facts.pair_columns, facts.pairs, facts)])
    else:
        yield from (f"  {line}" for line in _info(facts.columns, facts.splits, facts))
    yield from _TAGS
    if facts.statistics.with_tools or facts.statistics.with_calls:
        yield "- tool-calling"
    yield "---"


def _list_item(lines: list[str]) -> Iterator[str]:
    """Lines of YAML as an item of a list."""
    yield from (f"{'- ' if at == 0 else '  '}{line}" for at, line in enumerate(lines))


def _info(columns: list[Field], splits: dict[str, Shards], facts: CardFacts) -> Iterator[str]:
    """What loaders are told of a config."""
    yield "features:"
    yield from features(columns, typed=facts.typed)
    if splits:
        yield "splits:"
        for name, shards in splits.items():
            yield from (f"- name: {name}", f"  num_bytes: {shards.text}", f"  num_examples: {shards.records}")


def _page(facts: CardFacts) -> Iterator[str]:
    records = sum(shards.records for shards in facts.splits.values())
    yield from ("", "# Conversations for fine-tuning", "")
    what = (
        "logged replies behind the context that they were sampled in" if facts.are_samples else "a whole conversation"
    )
    yield f"{pluralize(records, 'record')}, each {what}, made by chatsquash of session logs."
    files = [
        (name, f"{shards.records:,}", f"{shards.text:,}", f"`{shards.pattern()}`")
        for name, shards in facts.splits.items()
    ]
    yield from _section("Files", _table(("split", "records", "bytes of text", "files"), files))
    if facts.pairs:
        yield from _section("Preference pairs", _pairs(facts))
    yield from _section("How to load", _loading(facts.columns, typed=facts.typed))
    yield from _section("What the records are like", _likeness(facts.statistics, records))
    if facts.statistics.models:
        models = sorted(facts.statistics.models.items(), key=lambda item: (-item[1], item[0]))
        rows: list[tuple[str, ...]] = [(_code(name), f"{count:,}") for name, count in models]
        yield from _section("Models", _table(("model, as logged", "records"), _first(rows)))
    if tools := facts.statistics.tools.most_used():
        rows = [(_code(name), *(f"{number:,}" for number in numbers)) for name, numbers in tools]
        head = ("tool", "records", "calls", "failed", "unanswered")
        yield from _section("Tools", _table(head, _first(rows)))
    yield from _section("How it was made", _making(facts))
    yield from _section("Findings", _findings(facts.counts["findings"]))


def _pairs(facts: CardFacts) -> Iterator[str]:
    kinds = facts.counts["pairs"]
    total = pluralize(sum(kinds.values()), "pair")
    yield f"The config `pairs` has {total} of a preferred and another reply to the same prompt."
    yield "`evidence` says what tells which was preferred, and where both were logged."
    yield ""
    yield from _table(("kind", "pairs"), [(f"`{kind}`", f"{count:,}") for kind, count in kinds.items()])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "", *lines)


def _loading(columns: list[Field], *, typed: bool) -> Iterator[str]:
    yield from (
        "```python",
        "from datasets import load_dataset",
        "",
        'dataset = load_dataset("path/to/this/folder")',
        "```",
    )
    if IMAGES in columns and not typed:
        yield ""
        yield "Run it in this folder, from which the images are looked for."
    if has_json(columns):
        yield ""
        yield "This needs `datasets` 4.7 or newer, and the head of this file, which names the types of the columns."


def _likeness(statistics: Statistics, records: int) -> Iterator[str]:
    kinds = {
        "turns of the assistant": statistics.turns,
        "calls of tools": statistics.calls,
        "characters of the record": statistics.characters,
        "tokens, as logged": statistics.tokens,
    }
    rows = [(what, *_distribution(values)) for what, values in kinds.items() if values]
    yield from _table(("per record", "least", "median", "90 %", "most", "sum"), rows)
    yield ""
    used = f"{statistics.with_tools:,} define tools and {statistics.with_calls:,} call them"
    yield f"Of {pluralize(records, 'record')}, {used}."
    if statistics.tokens:
        known = len(statistics.tokens)
        yield f"Tokens are those that services counted for the last request and its reply, in {known:,} of {records:,}."
    else:
        yield "The logs do not say how many tokens they are."


def _distribution(values: array[int]) -> list[str]:
    points = [min(values), quantile(values, 0.5), quantile(values, 0.9), max(values), sum(values)]
    return [f"{point:,}" for point in points]


def _making(facts: CardFacts) -> Iterator[str]:
    first, last = facts.statistics.days or (None, None)
    when = f"of {first}" + (f" to {last}" if last != first else "") if first else "without dates"
    yield f"- source: session logs {when}"
    sessions = facts.counts["sessions"]
    parts = [f"{sessions['seen']:,} sessions seen = {sessions['written']:,} written"]
    for what in ("left_out", "filtered"):
        reasons = sessions[what]
        why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons.items())
        parts.append(f"{sum(reasons.values()):,} {what.replace('_', ' ')}" + (f" ({why})" if why else ""))
    yield "- " + " + ".join([*parts, f"{pluralize(sessions['duplicates'], 'duplicate')}"])
    cleaned = ", ".join(f"{rule.replace('_', ' ')}: {count:,}" for rule, count in facts.counts["cleaned"].items())
    yield f"- cleaned: {cleaned or 'nothing'}"
    addresses = pluralize(facts.counts["addresses"], "e-mail address", "e-mail addresses")
    yield f"- anonymised: {addresses} replaced by pseudonyms" if facts.anonymized else "- not anonymised"
    if loss := facts.counts.get("loss"):
        whys = ", ".join(f"{why}: {count:,}" for why, count in loss["not_trained"].items())
        aside = f"{sum(loss['not_trained'].values()):,} not" + (f" ({whys})" if whys else "")
        yield f"- assistant messages: {loss['trained']:,} trained on + {aside}, as `{facts.flag}` says"
    if samples := facts.counts.get("samples"):
        yield f"- {certified(samples['true'], samples['trained'])}"
    preset = facts.asked.get("preset", "chat")
    yield f"- preset: `{preset}`"
    others = {name: value for name, value in facts.asked.items() if name != "preset"}
    spelled = {name: value if isinstance(value, str) else json.dumps(value) for name, value in others.items()}
    chosen = ", ".join(f"{name}: {_code(text)}" for name, text in spelled.items())
    yield f"- other options: {chosen or 'as by default'}"


def _findings(findings: dict[str, dict[str, int]]) -> Iterator[str]:
    rows = [
        (severity, f"`{code}`", f"{count:,}") for severity, codes in findings.items() for code, count in codes.items()
    ]
    if rows:
        yield from _table(("severity", "code", "count"), rows)
    else:
        yield "None."


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _first(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The first rows, and how many there are beyond."""
    beyond = len(rows) - _MOST
    return rows if beyond <= 0 else [*rows[:_MOST], (f"and {beyond:,} more", *("" for _ in rows[0][1:]))]


def _code(text: str) -> str:
    """A name from a log or from whoever ran this, so that nothing in it is markup."""
    shown = escape(text[:_LONGEST])
    inert = shown.translate(_INERT)
    return f"`{inert}`"
