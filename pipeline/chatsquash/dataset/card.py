"""The dataset card: YAML metadata for loaders, followed by a description for people who train with the dataset."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from chatsquash.core.accounting import TrainedReplies
from chatsquash.core.text import escape, inference_match, pluralize
from chatsquash.dataset.card_facts import (
    FEATURES,
    TRUNCATED,
    UNKNOWN_END,
    CardFacts,
    Statistics,
    quantile,
    terms,
    terms_of,
)
from chatsquash.dataset.columns import IMAGES, Field, features, has_json

if TYPE_CHECKING:
    from chatsquash.dataset.shards import Shards

CARD = "README.md"
TRACES = "traces"
"""The folder of session traces, and their config."""
_MAX_ROWS = 20  # rows in the tables of tools and models
_MAX_NAMES = 5  # models listed per family
_MAX_NAME_LENGTH = 80  # characters shown of a name
_TAGS = ("task_categories:", "- text-generation", "tags:", "- chatsquash", "- conversations")
_TRACE_FEATURES = (
    *(
        "- name: harness",
        "  dtype: string",
        "- name: session_id",
        "  dtype: string",
        "- name: prompt",
        "  dtype: string",
    ),
    *("- name: messages", "  list: json", "- name: tools", "  list: json", "- name: metadata", "  dtype: json"),
    *("- name: sent_at", "  dtype: string", "- name: num_user_messages", "  dtype: int64"),
    *("- name: num_tool_calls", "  dtype: int64", "- name: trace", "  dtype: json", "- name: file_path"),
    "  dtype: string",
)
"""The features by which ``datasets`` recognizes traces of agents (``AGENT_TRACES_FEATURES`` in 5.2)."""
_TRACES = (
    f"`{TRACES}/` and the config `{TRACES}` have each record as a session trace, for the trace viewer of the Hub.",
    "The traces have no splits and no images.",
)
_INERT = str.maketrans("`|", "'¦")


def card(facts: CardFacts) -> str:
    """Return the text of ``README.md``."""
    return "\n".join([*_yaml(facts), *_page(facts)]) + "\n"


def _yaml(facts: CardFacts) -> Iterator[str]:
    """Yield the metadata."""
    yield "---"
    # Without it, load_dataset would load the reports as data and infer the columns.
    yield from _configs(facts)
    yield "dataset_info:"
    if facts.pairs or facts.has_traces:
        yield from _list_item(["config_name: default", *_info(facts.columns, facts.splits, facts)])
        if facts.pairs:
            yield from _list_item(["config_name: pairs", *_info(facts.pair_columns, facts.pairs, facts)])
        if facts.has_traces:
            yield from _list_item([f"config_name: {TRACES}", "features:", *_TRACE_FEATURES])
    else:
        yield from (f"  {line}" for line in _info(facts.columns, facts.splits, facts))
    yield from _TAGS
    if facts.statistics.records_with["tool definitions"] or facts.statistics.records_with["tool calls"]:
        yield "- tool-calling"
    if facts.has_traces:
        yield "- agent-traces"
    yield "---"


def _configs(facts: CardFacts) -> Iterator[str]:
    if facts.splits or facts.files:
        yield "configs:"
    if facts.files:
        yield from ("- config_name: default", "  data_files:", "  - split: train", "    path:")
        yield from (f"    - {json.dumps(name, ensure_ascii=False)}" for name in facts.files)
    for config, splits in (("default", facts.splits), ("pairs", facts.pairs)):
        if splits:
            yield from (f"- config_name: {config}", "  data_files:")
        for name, shards in splits.items():
            yield from (f"  - split: {name}", f"    path: {shards.pattern()}")
    if facts.has_traces and facts.splits:
        yield from (f"- config_name: {TRACES}", "  data_files:", "  - split: train", f"    path: {TRACES}/*.jsonl")


def _list_item(lines: list[str]) -> Iterator[str]:
    """Indent lines of YAML as a list item."""
    yield from (f"{'- ' if at == 0 else '  '}{line}" for at, line in enumerate(lines))


def _info(columns: list[Field], splits: dict[str, Shards], facts: CardFacts) -> Iterator[str]:
    """Yield the columns and splits of a config."""
    yield "features:"
    yield from features(columns, has_types=facts.has_types)
    if splits:
        yield "splits:"
        for name, shards in splits.items():
            yield from (f"- name: {name}", f"  num_bytes: {shards.text}", f"  num_examples: {shards.rows}")


def _page(facts: CardFacts) -> Iterator[str]:
    statistics = facts.statistics
    yield from ("", "# Conversations for fine-tuning", "")
    what = "one or more logged replies with their context" if facts.are_samples else "a complete conversation"
    where = f" in {pluralize(len(facts.files), 'file')}" if facts.files else ""
    yield f"{pluralize(facts.records, 'record')}{where}, each {what}, converted by chatsquash from session logs."
    if facts.is_forest:
        yield from ("", "Each row of the files is a message; `chatsquash flatten` writes the records.")
    if facts.splits:
        yield from _section("Files", _files(facts))
    if facts.pairs:
        yield from _section("Preference pairs", _pairs(facts))
    if facts.has_traces:
        yield from _section("Session traces", _TRACES)
    yield from _section("How to load", _loading_example(facts.columns, has_types=facts.has_types))
    yield from _section("Contents", _contents(statistics, facts.records))
    yield from _section("Record sizes", _size_table(statistics, facts.records))
    yield from _section("Models", _models(facts))
    yield from _section("Model terms", _terms(facts))
    sources = sorted(statistics.sources.items(), key=lambda item: (-item[1], item[0]))
    rows: list[tuple[str, ...]] = [(_code(name), f"{count:,}") for name, count in sources]
    yield from _section("Sources", _table(("log format", "records"), rows))
    if tools := statistics.tools.most_used():
        rows = [(_code(name), *(f"{number:,}" for number in numbers)) for name, numbers in tools]
        head = ("tool", "records", "calls", "failed", "unanswered")
        yield from _section("Tools", _table(head, _first(rows)))
    yield from _section("Provenance", _provenance(facts))
    yield from _section("Findings", _findings(facts.counts["findings"]))


def _files(facts: CardFacts) -> Iterator[str]:
    files = [
        (name, f"{shards.records:,}", f"{shards.text:,}", f"`{shards.pattern()}`")
        for name, shards in facts.splits.items()
    ]
    yield from _table(("split", "records", "bytes of text", "files"), files)


def _contents(statistics: Statistics, records: int) -> Iterator[str]:
    known = records - statistics.unmeasured
    counts = {name: (statistics.records_with[name], known) for name in FEATURES}
    counts[TRUNCATED] = statistics.records_with[TRUNCATED], records - statistics.records_with[UNKNOWN_END]
    rows = [(name, f"{count:,}", f"{of - count:,}") for name, (count, of) in counts.items()]
    yield from _table(("records", "with", "without"), rows)
    if unknown := statistics.records_with[UNKNOWN_END]:
        yield from ("", f"The logs do not record how the last reply of {pluralize(unknown, 'record')} ended.")
    if statistics.unmeasured:
        yield from ("", f"Not counted: {pluralize(statistics.unmeasured, 'record')} too large to be measured.")


def _models(facts: CardFacts) -> Iterator[str]:
    unit = facts.statistics.unit
    models = sorted(facts.models.items(), key=lambda item: (-item[1].length, item[0]))
    total = sum(each.length for _, each in models)
    rows: list[tuple[str, ...]] = [
        (
            _code(name) if name else "not named in the log",
            f"{each.records:,}",
            f"{each.replies.replies:,}",
            _logged_tokens(each.replies),
            f"{each.length:,}",
            f"{each.length / total if total else 0:.1%}",
        )
        for name, each in models
        if each.records
    ]
    if not rows:
        yield "No message is marked for training."
        return
    head = "model (as logged)", "records", "replies trained on", "their tokens (as logged)"
    yield from _table((*head, f"{unit} trained on", "share"), _first(rows))
    yield from ("", f"In total, {total:,} {unit} of assistant messages are trained on: text, reasoning and tool calls.")
    yield "Logged tokens include reasoning that the record may not contain."


def _logged_tokens(replies: TrainedReplies) -> str:
    """Return the logged tokens of replies, with the number of replies that have any, unless all do."""
    if not replies.with_tokens:
        return "not logged"
    some = pluralize(replies.with_tokens, "reply", "replies")
    return f"{replies.tokens:,}" + (f" ({some})" if replies.with_tokens < replies.replies else "")


def _terms(facts: CardFacts) -> Iterator[str]:
    names = sorted(name for name, each in facts.models.items() if name and each.records)
    rows = [
        (each.family, _names(name for name in names if each in terms_of(name)), each.note, each.source)
        for each in terms(names)
    ]
    if rows:
        yield from _table(("models", "as logged", "note", "source"), rows)
        yield ""
    yield "Publishing or training on a model's outputs is subject to the terms of the model and of its service."
    yield "These notes are not legal advice, and terms change: read the sources."


def _names(names: Iterable[str]) -> str:
    codes = [_code(name) for name in names]
    more = [f"{len(codes) - _MAX_NAMES:,} more"] if len(codes) > _MAX_NAMES else []
    return ", ".join([*codes[:_MAX_NAMES], *more])


def _pairs(facts: CardFacts) -> Iterator[str]:
    kinds = facts.counts["pairs"]
    total = pluralize(sum(kinds.values()), "pair")
    yield f"The config `pairs` has {total}, each with a preferred and a rejected reply to the same prompt."
    yield "`evidence` records why a reply is preferred and where both replies were logged."
    yield ""
    yield from _table(("kind", "pairs"), [(f"`{kind}`", f"{count:,}") for kind, count in kinds.items()])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "", *lines)


def _loading_example(columns: list[Field], *, has_types: bool) -> Iterator[str]:
    yield from (
        "```python",
        "from datasets import load_dataset",
        "",
        'dataset = load_dataset("path/to/this/folder")',
        "```",
    )
    if IMAGES in columns and not has_types:
        yield ""
        yield "Run this in the dataset folder: image paths are relative to it."
    if has_json(columns):
        yield ""
        yield "This requires `datasets` 4.7 or newer and the column types in the metadata at the top of this file."


def _size_table(statistics: Statistics, records: int) -> Iterator[str]:
    kinds = {
        "assistant turns": statistics.turns,
        "tool calls": statistics.calls,
        "characters": statistics.characters,
        "tokens (as logged)": statistics.tokens,
        "tokens (tokenizer)": statistics.tokenizer_tokens,
    }
    rows = [(what, *_distribution(values)) for what, values in kinds.items() if values]
    yield from _table(("per record", "least", "median", "90%", "most", "sum"), rows)
    yield ""
    if statistics.tokens:
        known = len(statistics.tokens)
        yield f"Token counts are those logged for the last request and its reply, in {known:,} of {records:,} records."
    else:
        yield "The logs contain no token counts."


def _distribution(values: array[int]) -> list[str]:
    points = [min(values), quantile(values, 0.5), quantile(values, 0.9), max(values), sum(values)]
    return [f"{point:,}" for point in points]


def _provenance(facts: CardFacts) -> Iterator[str]:
    first, last = facts.statistics.days or (None, None)
    when = f"of {first}" + (f" to {last}" if last != first else "") if first else "without dates"
    yield f"- source: session logs {when}"
    sessions = facts.counts["sessions"]
    parts = [f"{sessions['seen']:,} sessions seen = {sessions['written']:,} written"]
    for what, label in (("left_out", "skipped"), ("filtered", "filtered")):
        reasons = sessions[what]
        why = ", ".join(f"{reason}: {count:,}" for reason, count in reasons.items())
        parts.append(f"{sum(reasons.values()):,} {label}" + (f" ({why})" if why else ""))
    yield "- " + " + ".join([*parts, f"{pluralize(sessions['duplicates'], 'duplicate')}"])
    cleaning = ", ".join(f"{rule.replace('_', ' ')}: {count:,}" for rule, count in facts.counts["cleaned"].items())
    yield f"- cleaned: {cleaning or 'nothing'}"
    addresses = pluralize(facts.counts["addresses"], "e-mail address", "e-mail addresses")
    yield f"- anonymized: {addresses} replaced by pseudonyms" if facts.anonymized else "- not anonymized"
    if loss := facts.counts.get("loss"):
        untrained_reasons = ", ".join(f"{why}: {count:,}" for why, count in loss["not_trained"].items())
        aside = f"{sum(loss['not_trained'].values()):,} not" + (f" ({untrained_reasons})" if untrained_reasons else "")
        yield f"- assistant messages: {loss['trained']:,} trained on + {aside}, as marked by `{facts.flag}`"
    samples = facts.counts.get("samples") or {}
    if "desirable" in samples:
        yield f"- labels: {samples['desirable']:,} desirable + {samples['undesirable']:,} undesirable completions"
    elif samples:
        yield f"- {inference_match(samples['true'], samples['trained'])}"
    preset = facts.options.get("preset", "chat")
    yield f"- preset: `{preset}`"
    others = {name: value for name, value in facts.options.items() if name != "preset"}
    spelled = {name: value if isinstance(value, str) else json.dumps(value) for name, value in others.items()}
    options = ", ".join(f"{name}: {_code(text)}" for name, text in spelled.items())
    yield f"- other options: {options or 'defaults'}"


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
    """Return the first rows, and a row with the number of further ones."""
    beyond = len(rows) - _MAX_ROWS
    return rows if beyond <= 0 else [*rows[:_MAX_ROWS], (f"and {beyond:,} more", *("" for _ in rows[0][1:]))]


def _code(text: str) -> str:
    """Format a name from a log or an option as code, so that nothing in it acts as markup."""
    escaped = escape(text[:_MAX_NAME_LENGTH])
    inert = escaped.translate(_INERT)
    return f"`{inert}`"
