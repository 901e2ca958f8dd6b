"""What is found while a dataset is put together of records."""

from __future__ import annotations

from collections.abc import Sequence

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape, pluralize, quote

OF_TOOLS = frozenset(("no-tools", "calls-without-tools", "undeclared-tool"))
"""Codes of what ``source_without_tools`` says once for all sessions of a source."""


@rule("info")
def source_without_tools(source: str, records: int) -> Fact:
    """Reported once for each format whose files have no definitions of tools, about all of its records together.

    Most agents keep none. What follows from that, `no-tools`, `calls-without-tools` and `undeclared-tool`, then comes
    for none of these sessions, and `--drop` finds nothing to drop for it.
    """
    seen = f"{pluralize(records, 'record')} of {source} without tools, since its files hold no definitions of any"
    return Fact(f"{seen}: add them where calls are trained on")


@rule("warning")
def loss_not_read(flag: str, trainers: Sequence[str]) -> Fact:
    """Reported once where trainers that a preset is for do not read the flag that `--loss` writes.

    They train on all replies, or on those that an option of theirs says.
    """
    named = f"{', '.join(trainers[:-1])} and {trainers[-1]} do" if len(trainers) > 1 else f"{trainers[0]} does"
    return Fact(f"{named} not read {quote(flag)}: see docs/conversations.md for trainers that read it")


@rule("info")
def filtered(option: str, why: str) -> Fact:
    """Reported when an option filters a session, so that it gets no record.

    That is `--min-turns`, `--max-turns`, `--max-chars`, `--drop` or `--only-model`. In a file with other sessions that
    you want, it is also `--since` or `--until`.
    """
    return Fact(f"filtered by {option}: {escape(why)}")


@rule("info")
def duplicate_record(first: str, how: str = "exact", share: float = 1) -> Fact:
    """Reported when another record stands for one, as `--duplicates` says.

    chatsquash leaves the one out and names the other. By default in a dataset folder, the two are equal byte for byte.
    """
    of = f"that of {escape(first)}, which is written"
    if how == "exact":
        return Fact(f"the record is {of} (--no-drop-duplicates writes both)")
    both = "--duplicates keep writes both"
    if how == "ids":
        return Fact(f"the record is, but for ids of calls and the order of keys, {of} ({both})")
    if how == "prefix":
        return Fact(f"the record is the beginning of {of} ({both})")
    return Fact(f"the record is nearly {of}: about {share:.0%} of what they say, by five words, is in both ({both})")


@rule("warning")
def divided_session(how: str, file: str) -> Fact:
    """Reported when a session has the id of one in another file, or goes on from it, or that from this one.

    By default each file has sessions of its own, so a conversation in two files becomes two records, of which the later
    holds much of the earlier. `--sessions-by chain` makes one session of both. The check looks only at the first
    request and the last reply of a session.
    """
    return Fact(f"{how} {escape(file)}: --sessions-by chain makes one session of both")


@rule("info")
def grouped_by_chain() -> Fact:
    """Reported once when rows of LiteLLM have no session id and a new trace id for each call.

    A trace id would make a session of each call. Without `--sessions-by`, chatsquash then groups the calls by their
    histories, as `--sessions-by chain` does.
    """
    return Fact("each call has its own trace id and no session id: calls are grouped by --sessions-by chain")


@rule("warning")
def split_leak(split: str, other: str, first: str) -> Fact:
    """Reported when a record has the system prompt and the first user message of one in another split.

    What the model learns from the one then helps with the other, so a validation loss looks better than it is.
    `--split-by prompt` keeps them together.
    """
    return Fact(
        f"in {split}, but begins as {escape(first)} in {other}: --split-by prompt keeps what begins alike together"
    )


@rule("warning")
def empty_split(split: str, records: int) -> Fact:
    """Reported when a split that you asked for has no records. It gets no file, and the card does not name it."""
    return Fact(f"the split {quote(split)} has none of {records:,} records: give it more, or try another --seed")


@rule("warning")
def split_share(split: str, share: float, records: int, total: int, largest: tuple[int, str, str]) -> Fact:
    """Reported when a split has a fifth more or fewer records than its share, though it should have 20 groups or more.

    No group of `--split-by` is ever in two splits, so large groups decide how many records a split has. The finding
    names the largest one.
    """
    size, where, first = largest
    seen = f"{quote(split)} has {records:,} of {total:,} records, {records / total:.2%} and not {share:.2%}"
    group = f"the largest group has {pluralize(size, 'record')} in {quote(where)}, its first log is {escape(first)}"
    return Fact(f"the split {seen}; {group}: try another --split-by or --seed")
