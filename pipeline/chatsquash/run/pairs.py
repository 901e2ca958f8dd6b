"""Pairs of options of which one has no effect: an error that names both, in Python as on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from chatsquash.checks import rules
from chatsquash.options import FLAGGED


class Pair(NamedTuple):
    """An option that has no effect with another, or without it."""

    idle: str
    """The option that has no effect, as a field of ``Options``."""
    other: str
    """The one because of which."""
    meets: Callable[[Any], bool]
    """Whether options, or what has their fields, hold the pair."""
    told: str
    """The pair in words, for ``docs/cli.md``."""
    example: str = ""
    """A value of the other one, where it is its absence that counts."""
    rest: Callable[[Any], Any] | None = None
    """What of the idle one has an effect all the same."""


def _in_folder(given: Any) -> bool:
    return bool(given.format or given.split or given.preset != "chat")


def _looked_for(given: Any) -> tuple[str, ...]:
    """The findings to drop sessions for, those aside that the checks on records would find."""
    checked = {code for code, rule in rules().items() if rule.kind in _OF_CHECKS} | _CHECKED_WHILE_READ
    return tuple(code for code in given.drop if code not in checked)


_OF_CHECKS = ("record", "tools", "native", "inlined")
_CHECKED_WHILE_READ = {"role-sequence", "vendor-form"}
_SHARES = "train=0.98,validation=0.02"
PAIRS = (
    Pair(
        "json_tool_calls",
        "preset",
        lambda given: given.json_tool_calls and given.preset != "chat",
        "`--json-tool-calls` with a `--preset` other than `chat`; `text` writes calls as text",
    ),
    Pair(
        "unpaired",
        "preset",
        lambda given: given.unpaired != "refuse" and given.preset == "chat",
        "`--unpaired` without a `--preset`; `chat` keeps calls as they are",
        "hf",
    ),
    Pair(
        "unpaired_text",
        "unpaired",
        lambda given: given.unpaired_text is not None and given.unpaired != "close",
        "`--unpaired-text` without `--unpaired close`",
        "close",
    ),
    Pair(
        "media",
        "preset",
        lambda given: given.media != "refuse" and given.preset == "chat",
        "`--media` without a `--preset`; `chat` keeps media as they are",
        "hf",
    ),
    Pair(
        "media",
        "preset",
        lambda given: given.media == "keep" and given.preset not in ("chat", "hf"),
        "`--media keep` with a `--preset` other than `hf`; the others have texts only",
    ),
    Pair(
        "flag_phrase",
        "integrity_analysis",
        lambda given: tuple(given.flag_phrase) != FLAGGED and not given.integrity_analysis,
        "`--flag-phrase` with `--no-integrity-analysis`",
    ),
    Pair(
        "tool_ids",
        "preset",
        lambda given: given.tool_ids == "short9" and given.preset in ("mistral", "sharegpt", "text"),
        "`--tool-ids short9` with `--preset mistral`, which has such ids, and `sharegpt` and `text`, which have none",
    ),
    Pair(
        "split_text_and_calls",
        "preset",
        lambda given: given.split_text_and_calls and given.preset == "sharegpt",
        "`--split-text-and-calls` with `--preset sharegpt`, which joins messages in a row",
    ),
    Pair(
        "split_text_and_calls",
        "preset",
        lambda given: given.split_text_and_calls and given.preset == "mistral",
        "`--split-text-and-calls` with `--preset mistral`, which has no place for text beside calls",
    ),
    Pair(
        "anonymize_key",
        "anonymize",
        lambda given: bool(given.anonymize_key) and not given.anonymize,
        "`--anonymize-key-file` with `--no-anonymize`",
    ),
    Pair(
        "drop",
        "integrity_analysis",
        lambda given: given.drop and not given.integrity_analysis and _looked_for(given) != tuple(given.drop),
        "`--drop` with `--no-integrity-analysis`, of a code that is found by checking records",
        rest=_looked_for,
    ),
    Pair(
        "on_invalid",
        "strict",
        lambda given: given.on_invalid == "abort" and given.strict,
        "`--on-invalid abort` with `--strict`, which stops for more",
    ),
    Pair(
        "keep_rejected",
        "strict",
        lambda given: given.keep_rejected and given.strict,
        "`--keep-rejected` with `--strict`, which stops at the first such line",
    ),
    Pair("seed", "split", lambda given: given.seed and not given.split, "`--seed` without `--split`", _SHARES),
    Pair(
        "split_by",
        "split",
        lambda given: given.split_by != "prompt" and not given.split,
        "`--split-by` without `--split`",
        _SHARES,
    ),
    Pair(
        "metadata",
        "format",
        lambda given: given.metadata and not _in_folder(given),
        "`--metadata` without `--format`, `--split` or a `--preset`",
        "parquet",
    ),
    Pair(
        "shard_size",
        "format",
        lambda given: given.shard_size and not _in_folder(given),
        "`--shard-size` without `--format`, `--split` or a `--preset`",
        "parquet",
    ),
)
"""Those of ``convert``."""


def met(given: Any) -> Iterator[Pair]:
    """The pairs that options hold."""
    return (pair for pair in PAIRS if pair.meets(given))


def problem(idle: str, other: str, example: str = "", given: str = "") -> str:
    """The error for a pair, whose options are spelled as the user wrote them, or is to write the other one.

    ``given`` is the other one where it was given, with a value that does not help.
    """
    if example and given:
        return f"{idle} has no effect with {given}: change the latter, as in {example}"
    if example:
        return f"{idle} has no effect without {other}: add it, as in {example}"
    return f"{idle} has no effect with {other}: leave one of them out"
