"""The facts that a dataset card presents: numbers added up record by record, options, and the terms of models."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import compress
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from chatsquash.core.accounting import Usage
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.options import Options
from chatsquash.core.outcome import Contents, Outcome, Record
from chatsquash.dataset.columns import Field, fields, pair_fields
from chatsquash.session.record_measures import ToolTotals

if TYPE_CHECKING:
    from chatsquash.dataset.shards import Shards
    from chatsquash.dataset.summary import ModelTotals


# Numbers


def _numbers() -> array[int]:
    return array("Q")


class Statistics(Struct):
    """The statistics of a dataset card.

    Only a few numbers of 8 bytes are stored per record, to limit the memory for many records.
    """

    turns: array[int] = field(default_factory=_numbers)
    """Assistant turns."""
    calls: array[int] = field(default_factory=_numbers)
    characters: array[int] = field(default_factory=_numbers)
    tokens: array[int] = field(default_factory=_numbers)
    """Tokens of the last request and its reply, if the log has both counts."""
    tokenizer_tokens: array[int] = field(default_factory=_numbers)
    """Tokens counted by the tokenizer."""
    records_with: Counter[str] = field(default_factory=Counter)
    """Records with a feature, by its name in ``FEATURES``."""
    unmeasured: int = 0
    """Records too large to be parsed again."""
    sources: Counter[str] = field(default_factory=Counter)
    """Records by log format."""
    days: list[str] = field(default_factory=list)
    """The first and the last day of all records; empty until a record has a day."""
    tools: ToolTotals = field(default_factory=ToolTotals)

    @property
    def unit(self) -> str:
        """The unit of the length of the messages trained on."""
        return "tokens" if self.tokenizer_tokens else "characters"

    def add(self, outcome: Outcome, record: Record, usage: Usage) -> None:
        """Add a record of a session, and its tool usage."""
        self.turns.append(record.usage.assistant_turns)
        self.tools.add(usage)
        self.sources[outcome.account.format or "unknown"] += 1
        day, facts, truncated = outcome.output.day, record.facts, record.ending.truncated
        if day and (not self.days or not self.days[0] <= day <= self.days[1]):
            self.days = [min([day, *self.days]), max([day, *self.days])]
        if record.tokens is not None:
            self.tokenizer_tokens.append(record.tokens)
        if facts and facts.prompt_tokens is not None and facts.completion_tokens is not None:
            self.tokens.append(facts.prompt_tokens + facts.completion_tokens)
        if truncated is not False:
            self.records_with[TRUNCATED if truncated else UNKNOWN_END] += 1
        if record.contents is None:
            self.unmeasured += 1
        else:
            self._add_contents(record.contents)

    def _add_contents(self, contents: Contents) -> None:
        self.calls.append(contents.calls)
        self.characters.append(contents.characters)
        features = contents.defines_tools, contents.calls, contents.images, contents.reasons, contents.redacted
        for name in compress(FEATURES, features):
            self.records_with[name] += 1


FEATURES = ("tool definitions", "tool calls", "images", "reasoning", "redacted text")
"""The features of records, in the order in which ``Statistics`` checks for them."""
TRUNCATED = "a truncated last reply"
UNKNOWN_END = "an unknown end"


def quantile(values: array[int], share: float) -> int:
    """Return the value that a share of all values does not exceed, without interpolation."""
    ascending = sorted(values)
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))]


# The terms of models for training on their outputs


class Terms(Struct, frozen=True):
    """The terms of a family of models."""

    family: str
    words: tuple[str, ...]
    """Prefixes of words in the names of its models."""
    note: str
    source: str


UNKNOWN = Terms("other models", (), "Check the terms of the model and of the service that runs it.", "")

FAMILIES = (
    Terms(
        "DeepSeek",
        ("deepseek",),
        "The service permits training other models on outputs (distillation); R1 and later weights are under MIT.",
        "https://cdn.deepseek.com/policies/en-US/deepseek-terms-of-use.html",
    ),
    Terms(
        "OpenAI gpt-oss",
        ("gpt oss",),
        "Weights under Apache-2.0, which does not restrict outputs.",
        "https://huggingface.co/openai/gpt-oss-120b",
    ),
    Terms(
        "OpenAI",
        ("gpt 3", "gpt 4", "gpt 5", "chatgpt", "o1", "o3", "o4", "codex", "davinci"),
        "You own outputs, but must not use them to develop models that compete with OpenAI.",
        "https://openai.com/policies/services-agreement/",
    ),
    Terms(
        "Anthropic Claude",
        ("claude",),
        "You own outputs, but training competing or general models on them requires Anthropic's permission.",
        "https://support.claude.com/en/articles/12326764-can-i-use-my-outputs-to-train-an-ai-model",
    ),
    Terms(
        "Google Gemma",
        ("gemma",),
        "Under the Gemma Terms of Use, a model trained on outputs to perform like Gemma is subject to them.",
        "https://ai.google.dev/gemma/terms",
    ),
    Terms(
        "Google Gemini",
        ("gemini",),
        "The service must not be used to develop models that compete with it.",
        "https://ai.google.dev/gemini-api/terms",
    ),
    Terms(
        "Meta Llama",
        ("llama", "codellama"),
        'Since Llama 3.1, the name of a distributed model trained on outputs must begin with "Llama"; '
        "Llama 2 and 3 forbid improving other models.",
        "https://www.llama.com/llama3_3/license/",
    ),
    Terms(
        "Mistral",
        ("mistral", "mixtral", "ministral", "codestral", "devstral", "magistral", "pixtral"),
        "You own outputs of the service; weights are under Apache-2.0 or a research license, depending on the model.",
        "https://mistral.ai/terms",
    ),
    Terms(
        "Alibaba Qwen",
        ("qwen", "qwq"),
        "Most weights are under Apache-2.0; others are under the Qwen license: models trained on outputs must show "
        '"Built with Qwen".',
        "https://huggingface.co/Qwen/Qwen2.5-72B-Instruct/blob/main/LICENSE",
    ),
    Terms(
        "Moonshot Kimi",
        ("kimi",),
        "K2 weights are under a modified MIT license; the service has its own terms.",
        "https://huggingface.co/moonshotai/Kimi-K2-Instruct/blob/main/LICENSE",
    ),
    Terms(
        "xAI Grok",
        ("grok",),
        "Outputs must not be used to develop models that compete with xAI.",
        "https://x.ai/legal/terms-of-service-enterprise",
    ),
)


_NO_WORD = lazy_compile(r"[^a-z0-9]+")


def terms_of(model: str) -> list[Terms]:
    """Return the terms of the families that a model's name refers to; distilled models belong to several."""
    # The part before the last slash is a service or an organisation, which may run the models of others.
    name = f" {_NO_WORD.sub(' ', model.lower().rpartition('/')[2])}"
    return [each for each in FAMILIES if any(f" {word}" in name for word in each.words)] or [UNKNOWN]


def terms(models: Iterable[str]) -> list[Terms]:
    """Return the terms of models, each family once, in the order of ``FAMILIES``."""
    known = {each for model in models for each in terms_of(model)}
    return [each for each in (*FAMILIES, UNKNOWN) if each in known]


# All facts


class CardFacts(Struct, frozen=True):
    """The facts that the card presents."""

    columns: list[Field]
    pair_columns: list[Field]
    has_types: bool
    """Whether the files contain the types of their columns, as Parquet does."""
    statistics: Statistics
    anonymized: bool
    flag: str
    """The member that marks the messages trained on, or ``none``."""
    are_samples: bool
    """Whether each record is a sample: one or more replies with their context."""
    is_forest: bool = False
    """Whether the rows of the files are the messages of the samples."""
    counts: dict[str, Any] = {}
    """The counts of the run, as in ``run.json``."""
    models: dict[str, ModelTotals] = {}
    """The messages and replies that are trained on, by model; the model is ``""`` if it is not logged."""
    options: dict[str, object] = {}
    """The options with values other than their defaults."""
    files: list[str] = []
    """The record files of the default layout; empty for a dataset folder."""
    splits: dict[str, Shards] = {}
    """The splits of a dataset folder that have records."""
    pairs: dict[str, Shards] = {}
    """The splits that have pairs."""
    has_traces: bool = False
    """Whether the folder contains a session trace for each record."""

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.statistics.turns)


def card_facts(options: Options, statistics: Statistics) -> CardFacts:
    """Return the facts that are known before the run has written its files."""
    return CardFacts(
        columns=fields(options),
        pair_columns=pair_fields(options) if options.pairs != "none" else [],
        has_types=options.format == "parquet",
        statistics=statistics,
        anonymized=options.anonymize,
        flag=options.flag,
        are_samples=options.samples != "session",
        is_forest=options.samples == "forest",
        has_traces=options.traces,
    )
