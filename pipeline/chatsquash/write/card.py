"""The dataset card: YAML for loaders, and below what somebody wants to know who trains with it."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from chatsquash.text import counted, escaped
from chatsquash.write.arrow import Field
from chatsquash.write.columns import IMAGES, features, has_json
from chatsquash.write.shards import Shards
from chatsquash.write.statistics import Statistics, quantile

CARD = "README.md"
_MOST = 20  # tools and models that are named
_LONGEST = 80  # characters of a name
_INERT = str.maketrans("`|", "'¦")


Rows = list[tuple[str, ...]]


class Told(NamedTuple):
    """What the card tells."""

    splits: dict[str, Shards]
    """Those that have records."""
    columns: list[Field]
    typed: bool
    """Whether the files tell the types of their columns."""
    statistics: Statistics
    counts: dict[str, Any]
    """Of the whole run, as in ``run.json``."""
    asked: dict[str, object]
    """The options that are not as by default."""
    anonymized: bool


def card(told: Told) -> str:
    """The text of ``README.md``."""
    return "\n".join([*_yaml(told), *_page(told)]) + "\n"


def _yaml(told: Told) -> Iterator[str]:
    yield "---"
    if told.splits:
        yield from ("configs:", "- config_name: default", "  data_files:")
        for name, shards in told.splits.items():
            yield from (f"  - split: {name}", f"    path: {shards.pattern()}")
    yield from ("dataset_info:", "  features:")
    yield from (f"  {line}" for line in features(told.columns, typed=told.typed))
    if told.splits:
        yield "  splits:"
        for name, shards in told.splits.items():
            yield from (f"  - name: {name}", f"    num_bytes: {shards.text}", f"    num_examples: {shards.records}")
    yield from ("task_categories:", "- text-generation", "tags:", "- chatsquash", "- conversations")
    if told.statistics.with_tools:
        yield "- tool-calling"
    yield "---"


def _page(told: Told) -> Iterator[str]:
    records = sum(shards.records for shards in told.splits.values())
    yield from ("", "# Conversations for fine-tuning", "")
    yield f"{counted(records, 'record')}, each a whole conversation, made by chatsquash of session logs."
    yield from _section("Files", _table(("split", "records", "bytes of text", "files"), _files(told)))
    yield from _section("How to load", _loading(told))
    yield from _section("What the records are like", _likeness(told.statistics, records))
    if told.statistics.models:
        models = sorted(told.statistics.models.items(), key=lambda item: (-item[1], item[0]))
        rows: Rows = [(_code(name), f"{count:,}") for name, count in models]
        yield from _section("Models", _table(("model, as logged", "records"), _first(rows)))
    if tools := told.statistics.tools.most_used():
        rows = [(_code(name), *(f"{number:,}" for number in numbers)) for name, numbers in tools]
        head = ("tool", "records", "calls", "failed", "unanswered")
        yield from _section("Tools", _table(head, _first(rows)))
    yield from _section("How it was made", _making(told))
    yield from _section("Findings", _findings(told.counts["findings"]))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "", *lines)


def _files(told: Told) -> Iterator[tuple[str, ...]]:
    for name, shards in told.splits.items():
        yield name, f"{shards.records:,}", f"{shards.text:,}", f"`{shards.pattern()}`"


def _loading(told: Told) -> Iterator[str]:
    yield from (
        "```python",
        "from datasets import load_dataset",
        "",
        'dataset = load_dataset("path/to/this/folder")',
        "```",
    )
    if IMAGES in told.columns and not told.typed:
        yield ""
        yield "Run it in this folder, from which the images are looked for."
    if has_json(told.columns):
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
    yield f"{counted(statistics.with_tools, 'record')} of {records:,} with tools."
    if statistics.tokens:
        known = len(statistics.tokens)
        yield f"Tokens are those that services counted for the last request and its reply, in {known:,} of {records:,}."
    else:
        yield "The logs do not say how many tokens they are."


def _distribution(values: array[int]) -> list[str]:
    points = [min(values), quantile(values, 0.5), quantile(values, 0.9), max(values), sum(values)]
    return [f"{point:,}" for point in points]


def _making(told: Told) -> Iterator[str]:
    first, last = told.statistics.days or (None, None)
    when = f"of {first}" + (f" to {last}" if last != first else "") if first else "without dates"
    yield f"- source: session logs {when}"
    sessions = told.counts["sessions"]
    parts = [f"{sessions['seen']:,} sessions seen = {sessions['written']:,} written"]
    for what in ("left_out", "filtered"):
        reasons = sessions[what]
        why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons.items())
        parts.append(f"{sum(reasons.values()):,} {what.replace('_', ' ')}" + (f" ({why})" if why else ""))
    yield "- " + " + ".join([*parts, f"{counted(sessions['duplicates'], 'duplicate')}"])
    cleaned = ", ".join(f"{rule.replace('_', ' ')}: {count:,}" for rule, count in told.counts["cleaned"].items())
    yield f"- cleaned: {cleaned or 'nothing'}"
    addresses = counted(told.counts["addresses"], "e-mail address", "e-mail addresses")
    yield f"- anonymised: {addresses} replaced by pseudonyms" if told.anonymized else "- not anonymised"
    preset = told.asked.get("preset", "chat")
    yield f"- preset: `{preset}`"
    others = {name: value for name, value in told.asked.items() if name != "preset"}
    chosen = ", ".join(f"{name}: {_code(_spelled(value))}" for name, value in others.items())
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


def _first(rows: Rows) -> Rows:
    """The first rows, and how many there are beyond."""
    beyond = len(rows) - _MOST
    return rows if beyond <= 0 else [*rows[:_MOST], (f"and {beyond:,} more", *("" for _ in rows[0][1:]))]


def _spelled(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _code(text: str) -> str:
    """A name from a log or from whoever ran this, so that nothing in it is markup."""
    shown = escaped(text[:_LONGEST])
    inert = shown.translate(_INERT)
    return f"`{inert}`"
