"""Findings about a dataset as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape, pluralize, quote

OF_TOOLS = frozenset(("no-tools", "calls-without-tools", "undeclared-tool"))
"""Codes that ``source_without_tools`` replaces with one finding for all sessions of a source."""


@rule("info")
def source_without_tools(source: str, records: int) -> Fact:
    """Reported when an agent's files contain no tool definitions; reported once per format.

    The findings `no-tools`, `calls-without-tools` and `undeclared-tool` are then not reported for these sessions, so
    `--drop` does not apply to them either.
    """
    seen = f"{pluralize(records, 'record')} of {source} without tools because its files have no definitions"
    return Fact(f"{seen}: add definitions if you train on calls")


@rule("warning")
def loss_not_read(flag: str, trainers: Sequence[str]) -> Fact:
    """Reported when some trainers for the preset ignore the flag written by `--loss`."""
    names = f"{', '.join(trainers[:-1])} and {trainers[-1]} do" if len(trainers) > 1 else f"{trainers[0]} does"
    return Fact(f"{names} not read {quote(flag)}: see docs/conversations.md for trainers that read it")


@rule("info")
def filtered(option: str, why: str) -> Fact:
    """Reported when an option such as `--min-turns` or `--drop` excludes a session."""
    return Fact(f"filtered by {option}: {escape(why)}")


@rule("info")
def duplicate_record(first: str, how: str = "exact", share: float = 1) -> Fact:
    """Reported when a record is dropped as a duplicate, according to `--duplicates`."""
    of = f"the record of {escape(first)}, which is written"
    if how == "exact":
        return Fact(f"identical to {of} (--no-drop-duplicates writes both)")
    both = "--duplicates keep writes both"
    if how == "ids":
        return Fact(f"except for call ids and key order, identical to {of} ({both})")
    if how == "prefix":
        return Fact(f"the beginning of {of} ({both})")
    return Fact(f"nearly identical to {of}: about {share:.0%} of their five-word sequences are in both ({both})")


@rule("warning")
def divided_session(how: str, file: str) -> Fact:
    """Reported when a session has the same id as a session in another file, or continues it.

    Only the first request and the last reply of a session are compared.
    """
    return Fact(f"{how} {escape(file)}: --sessions-by chain joins both")


@rule("info")
def grouped_by_chain() -> Fact:
    """Reported when LiteLLM rows have no session id, so calls are grouped by matching histories.

    Grouping by trace id would make each call a session.
    """
    return Fact("each call has its own trace id and no session id: calls are grouped by --sessions-by chain")


@rule("warning")
def split_leak(split: str, other: str, first: str) -> Fact:
    """Reported when a record begins with the same prompts as one in another split."""
    return Fact(
        f"in {split}, but begins like {escape(first)} in {other}: --split-by prompt keeps identical beginnings together"
    )


@rule("warning")
def trace_incomplete(why: str) -> Fact:
    """Reported when a part of a record is missing in its session trace, which contains only text."""
    return Fact(f"missing in the trace of the record: {escape(why)}")


@rule("warning")
def empty_split(split: str, records: int) -> Fact:
    """Reported when a requested split has no records."""
    return Fact(
        f"the split {quote(split)} has none of the {records:,} records: give it a larger share or try another --seed"
    )


@rule("warning")
def split_share(split: str, share: float, records: int, total: int, largest: tuple[int, str, str]) -> Fact:
    """Reported when the size of a split differs from the requested share by more than a fifth.

    Only if the requested share is 20 groups or more. Groups of `--split-by` are never divided, so large groups
    determine how many records a split has. The finding contains the largest one.
    """
    size, where, first = largest
    seen = f"{quote(split)} has {records:,} of {total:,} records, {records / total:.2%} instead of {share:.2%}"
    group = f"the largest group has {pluralize(size, 'record')} in {quote(where)} (first log: {escape(first)})"
    return Fact(f"the split {seen}; {group}: try another --split-by or --seed")
