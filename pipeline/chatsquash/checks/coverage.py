"""Findings on what the records do not contain: copies of other logs, and logged replies that are lost."""

from __future__ import annotations

from collections.abc import Mapping

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape, pluralize, quote

_WORDS = {
    "compacted": ("compacted away", "compacted away"),
    "branch": ("on another branch", "on other branches"),
    "subagent": ("of a sub-agent", "of sub-agents"),
    "side-request": ("side request", "side requests"),
    "retry": ("retried", "retried"),
    "short-tail": ("of another conversation", "of other conversations"),
    "duplicate": ("duplicate", "duplicates"),
    "filtered": ("filtered", "filtered"),
    "refused": ("refused", "refused"),
    "cut": ("cut off", "cut off"),
    "truncated": ("truncated", "truncated"),
    "malformed-call": ("malformed call", "malformed calls"),
    "error-text": ("error text", "error texts"),
    "failed-call": ("failed call", "failed calls"),
    "rewritten": ("rewritten", "rewritten"),
    "other-record": ("of another session", "of other sessions"),
    "not-logged": ("not logged as a reply", "not logged as replies"),
}
NEVER = (
    "retry",
    "duplicate",
    "refused",
    "filtered",
    "truncated",
    "malformed-call",
    "error-text",
    "failed-call",
    "not-logged",
    "rewritten",
    "other-record",
    "cut",
)
"""Why no record holds a reply, whatever is asked for."""


def in_words(lost: Mapping[str, int]) -> list[tuple[str, int]]:
    """Why records do not contain replies, in words, with their number."""
    return [(_WORDS[why][count != 1], count) for why, count in lost.items()]


def by_why(lost: Mapping[str, int]) -> list[str]:
    """How many replies no record holds, in words, for each why."""
    return [f"{count:,} {words}" for words, count in in_words(lost)]


@rule("info")
def duplicate_log(first: str) -> Fact:
    """Reported when a log lies there twice, compressed and not, or compressed in two ways. The first one met counts.

    In a folder that is the plain one.
    """
    return Fact(f"not read, since {quote(first)} counts, which holds the same")


@rule("warning")
def duplicate_log_differs(first: str, differs: int | None, unread: str = "") -> Fact:
    """Reported when a log lies there twice, and the two differ, or chatsquash cannot compare them.

    The first one met counts.
    """
    counts = f"not read, since {quote(first)} counts"
    if differs is None:
        return Fact(f"{counts}, with which it cannot be compared ({escape(unread)}): see which one is whole")
    return Fact(f"{counts}, which differs from byte {differs:,} on: see which one is whole, and remove the other")


@rule("warning", kind="replies")
def replies_repeated(count: int) -> Fact:
    """Reported when several records contain the same replies, and no flag says in which one to train on them.

    `--loss` writes the flag. `--conversations main` writes one record for each conversation of the user.
    """
    replies = pluralize(count, "reply", "replies")
    return Fact(f"{replies} in more than one record, and a trainer trains on each: --loss flags them, once each")


@rule("warning")
def copies_not_compared(count: int, most: int) -> Fact:
    """Reported when more logs begin with the same message than are compared.

    Replies that they have in common count in each of them.
    """
    return Fact(
        f"begins as {pluralize(count, 'other log')}, of which at most {most:,} are compared: replies may repeat"
    )


@rule("info")
def repeated_conversation() -> Fact:
    """Reported when a conversation of a file has no record, since another one in the file has all of its replies.

    Each reply counts once. The summary counts such a conversation as `filtered: copy`.
    """
    return Fact("no record: another conversation of the file has all of its replies")


@rule("warning", kind="replies")
def replies_lost(logged: int, in_records: int, lost: Mapping[str, int], ways: Mapping[str, int]) -> Fact:
    """Reported when replies of a session are in none of its records.

    It tells how many, why, and which options keep them. A session may hold several conversations: edited, compacted or
    rewound histories, sub-agents, requests of the client's own. `--conversations all` writes a record for each.
    """
    missing = sum(lost.values())
    most_first = dict(sorted(lost.items(), key=lambda each: -each[1]))
    keeps = ", ".join(f"{how} keeps {count:,}" for how, count in ways.items())
    reasons = ", ".join(by_why(most_first)) + (f" ({keeps})" if keeps else "")
    rest = f"{missing:,} {'is' if missing == 1 else 'are'} not: {reasons}"
    return Fact(f"{in_records:,} of {pluralize(logged, 'logged reply', 'logged replies')} are in the records; {rest}")


@rule("error", kind="replies")
def unrelated_conversations(conversations: int, logged: int, carried: int) -> Fact:
    """Reported when a file without session ids has several conversations, and its record less than half of the replies.

    Nothing relates them: none is a side request, a sub-agent, a compaction or a retry of another one. chatsquash writes
    the record, and the exit code says that something is missing.
    """
    seen = f"{conversations:,} conversations without a session_id that do not continue each other"
    return Fact(f"{seen}; the record has {carried:,} of {logged:,} replies: --complete keeps all of them")


@rule("info", kind="replies")
def reasoning_lost(logged: int, reasoned: int, carried: int) -> Fact:
    """Reported when replies had reasoning that no record holds, since the client left it out of the history."""
    seen = f"{reasoned:,} of {pluralize(logged, 'reply', 'replies')} had reasoning, {carried:,} in the records"
    return Fact(f"{seen}; --restore reasoning gives all that the log has")


@rule("info", kind="replies")
def reasoning_withheld(count: int) -> Fact:
    """Reported when a provider gave no text of a reply's reasoning: a signature alone, encrypted, or an empty text."""
    return Fact(f"the reasoning of {pluralize(count, 'reply', 'replies')} was withheld at the source")


@rule("warning", kind="replies")
def side_request_selected(kind: str) -> Fact:
    """Reported when the last longest request is none of the person's conversation: a title, a summary, a sub-agent's.

    chatsquash makes the record from it all the same. `--conversations main` takes the person's conversation.
    """
    what = "a sub-agent's request" if kind == "subagent" else "a request of the client's own"
    return Fact(f"the record is made from {what}: --conversations main takes the person's conversation")


@rule("info", kind="replies")
def reasoning_restored(count: int) -> Fact:
    """Reported when `--restore` put reasoning back that the client had left out of the history.

    A template that keeps earlier reasoning then shows what the model did not see; most templates strip it.
    """
    return Fact(f"the reasoning of {pluralize(count, 'message')} is put back from the logged replies")


@rule("info", kind="replies")
def context_restored(results: int, messages: int, replies: int) -> Fact:
    """Reported when chatsquash puts back emptied results, or messages that the client left out.

    The model wrote the replies to requests that lacked them without seeing them.
    """
    parts = [pluralize(count, what) for count, what in ((results, "result"), (messages, "message")) if count]
    lacked = pluralize(replies, "reply", "replies")
    return Fact(f"{' and '.join(parts)} put back that later requests lacked; {lacked} did not see them")


@rule("info", kind="replies")
def restore_ambiguous(count: int) -> Fact:
    """Reported when `--restore` could take a message for several logged ones, and so restored nothing in it.

    The record shows these messages as the client sent them.
    """
    what = pluralize(count, "message")
    return Fact(f"nothing is restored in {what} that may be one of several logged ones")
