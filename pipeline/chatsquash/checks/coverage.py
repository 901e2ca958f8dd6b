"""Findings about content that is missing from the records: copies of other logs, and logged replies that are lost."""

from __future__ import annotations

from collections.abc import Mapping

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.accounting import STEP_FACTS
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
    "repeated-call": ("repeated call", "repeated calls"),
    "loop": ("in a loop", "in loops"),
    "undone": ("undone", "undone"),
    "ignored-result": ("ignored result", "ignored results"),
    "asked-again": ("asked again", "asked again"),
    "interrupted": ("interrupted", "interrupted"),
    "denied": ("denied", "denied"),
    "reads-future": ("reads the future", "read the future"),
    "other-model": ("of another model", "of other models"),
    "rewritten": ("rewritten", "rewritten"),
    "other-record": ("of another session", "of other sessions"),
    "not-logged": ("not logged as a reply", "not logged as replies"),
    "label": ("labeled as bad", "labeled as bad"),
    "no-token-ids": ("without token ids", "without token ids"),
    "private-text": ("with private text", "with private text"),
    "context-missing": ("with missing context", "with missing context"),
    "context-cleared": ("with cleared context", "with cleared context"),
    "no-verdict": ("without a verdict", "without a verdict"),
    "prompts-only": ("after a prompt", "after prompts"),
    "not-first": ("after the first", "after the first"),
    "not-last": ("before the last", "before the last"),
}
BY_REQUEST = ("no-verdict", "prompts-only", "not-first", "not-last")
"""Reasons for replies that the requested kind of samples excludes."""
NEVER = (
    "retry",
    "duplicate",
    "refused",
    "filtered",
    "malformed-call",
    "error-text",
    *(kind.replace("_", "-") for kind in STEP_FACTS),
    "other-model",
    "not-logged",
    "rewritten",
    "other-record",
    "cut",
    "label",
    "no-token-ids",
    "private-text",
    "context-missing",
    "context-cleared",
    *BY_REQUEST,
)
"""Reasons because of which a reply is missing from the records with any option."""
_MAX_MODELS = 3
"""The maximum number of models in a finding."""


def describe_losses(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the reasons for lost replies in words, each with its count."""
    return [(_WORDS[why][count != 1], count) for why, count in counts.items()]


def count_losses(counts: Mapping[str, int]) -> list[str]:
    """Return the number of lost replies for each reason, in words."""
    return [f"{count:,} {words}" for words, count in describe_losses(counts)]


@rule("info")
def duplicate_log(first: str) -> Fact:
    """Reported when a log exists both plain and compressed, with identical contents.

    The first one is read; in a folder, this is the plain one.
    """
    return Fact(f"not read because {quote(first)} has the same content")


@rule("warning")
def duplicate_log_differs(first: str, differs: int | None, unread: str = "") -> Fact:
    """Reported when a log exists both plain and compressed, and the copies differ or cannot be compared."""
    other = f"{quote(first)} is read instead"
    if differs is None:
        return Fact(f"{other}, but the copies cannot be compared ({escape(unread)}): check which one is complete")
    where = f"the copies differ from byte {differs:,} on"
    return Fact(f"{other}, but {where}: check which one is complete and delete the other")


@rule("warning", kind="replies")
def replies_repeated(count: int) -> Fact:
    """Reported when several records contain the same replies and have no loss flags."""
    replies = pluralize(count, "reply", "replies")
    return Fact(f"{replies} in more than one record would be trained on several times: --loss flags each only once")


@rule("warning")
def copies_not_compared(count: int, most: int) -> Fact:
    """Reported when too many logs begin with the same message to compare them all.

    Replies that these logs share are counted in each of them.
    """
    return Fact(
        f"begins like {pluralize(count, 'other log')}, but at most {most:,} are compared: replies may be repeated"
    )


@rule("info")
def repeated_conversation() -> Fact:
    """Reported when a conversation only repeats replies of another conversation in the same file.

    It has no record; the summary counts it as `filtered: copy`.
    """
    return Fact("no record: another conversation in the file contains all of its replies")


@rule("warning", kind="replies")
def replies_lost(total: int, in_records: int, lost_counts: Mapping[str, int], ways: Mapping[str, int]) -> Fact:
    """Reported when some replies of a session are not in any of its records.

    The finding contains their number, the reasons, and the options that keep them.
    """
    missing = sum(lost_counts.values())
    most_first = dict(sorted(lost_counts.items(), key=lambda each: -each[1]))
    keeps = ", ".join(f"{how} keeps {count:,}" for how, count in ways.items())
    reasons = ", ".join(count_losses(most_first)) + (f" ({keeps})" if keeps else "")
    rest = f"{missing:,} {'is' if missing == 1 else 'are'} not: {reasons}"
    return Fact(f"{in_records:,} of {pluralize(total, 'logged reply', 'logged replies')} are in the records; {rest}")


@rule("error", kind="replies")
def unrelated_conversations(conversations: int, total: int, count: int) -> Fact:
    """Reported when a file contains several unrelated conversations, and most replies are not in any record.

    None of them is a side request, a sub-agent, a compaction or a retry of another one, and the record has less than
    half of the replies. It is written, and the exit code indicates that data is missing.
    """
    seen = f"{conversations:,} conversations without a session_id that do not build on each other"
    return Fact(f"{seen}; the record has {count:,} of {total:,} replies: --complete keeps all of them")


@rule("info", kind="replies")
def reasoning_lost(total: int, reasoned: int, count: int) -> Fact:
    """Reported when the client dropped reasoning from the history, so no record contains it."""
    seen = f"{reasoned:,} of {pluralize(total, 'reply', 'replies')} had reasoning, {count:,} of them in the records"
    return Fact(f"{seen}; --restore reasoning restores all reasoning in the log")


@rule("info", kind="replies")
def reasoning_withheld(count: int) -> Fact:
    """Reported when the provider returned reasoning without its text.

    It returned only a signature, ciphertext or an empty string.
    """
    return Fact(f"the reasoning of {pluralize(count, 'reply', 'replies')} was withheld by the provider")


@rule("warning", kind="replies")
def side_request_selected(kind: str) -> Fact:
    """Reported when the selected request is a side request or belongs to a sub-agent.

    The last of the longest requests is selected, even if it is for a title, a summary or a sub-agent.
    """
    what = "a sub-agent's request" if kind == "subagent" else "a side request"
    return Fact(f"the record was made from {what}: --conversations main selects the user's conversation")


@rule("info", kind="replies")
def reasoning_restored(count: int) -> Fact:
    """Reported when `--restore` restored reasoning that the client had dropped."""
    return Fact(f"the reasoning of {pluralize(count, 'message')} was restored from the logged replies")


@rule("info", kind="replies")
def context_restored(results: int, messages: int, replies: int) -> Fact:
    """Reported when tool results or messages dropped by the client are restored."""
    parts = [pluralize(count, what) for count, what in ((results, "result"), (messages, "message")) if count]
    lacked = pluralize(replies, "reply", "replies")
    return Fact(f"restored {' and '.join(parts)} that later requests did not contain; {lacked} did not see them")


@rule("info", kind="replies")
def restore_ambiguous(count: int) -> Fact:
    """Reported when `--restore` skipped a message that matches several logged ones."""
    what = pluralize(count, "message")
    return Fact(f"{what} not restored because several logged messages match")


@rule("info", kind="replies")
def mixed_models(counts: Mapping[str, int]) -> Fact:
    """Reported when a conversation trains on replies from several models, and no option selects models.

    Names that differ only in their provider or date count as one model.
    """
    most_first = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    shares = [f"{count:,} of {quote(model)}" for model, count in most_first[:_MAX_MODELS]]
    rest = sum(count for _, count in most_first[_MAX_MODELS:])
    replies = ", ".join([*shares, *([f"{rest:,} of other models"] if rest else [])])
    return Fact(f"replies of {len(counts):,} models are trained on: {replies}; --loss-model GLOB selects models")


@rule("warning", kind="replies")
def unknown_model(count: int) -> Fact:
    """Reported when `--loss-model` excludes replies because the log does not contain their model."""
    replies = pluralize(count, "reply is", "replies are")
    return Fact(f"{replies} not trained on because the log does not contain the model, which --loss-model requires")
