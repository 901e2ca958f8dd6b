"""What `chatsquash check` finds of datasets that exist already, beside what the rules find in their records."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape, pluralize


@rule("error")
def bad_record(reason: str) -> Fact:
    """Reported by `chatsquash check` when a line of a dataset is no record, that is no object with `messages`."""
    return Fact(f'not a record, {escape(reason)}: a record is {{"messages": [...], "tools": [...]}}')


@rule("error")
def unreadable_by_trainer(trainer: str, preset: str, why: str) -> Fact:
    """Reported by `chatsquash check --for` when a record does not have the shape that the trainer reads."""
    return Fact(f"{trainer} does not read the record, {why}: convert with the preset {preset}")


@rule("error")
def empty_dataset() -> Fact:
    """Reported by `chatsquash check` when a file has no records: training on it would be training on nothing."""
    return Fact("the file has no records: see what wrote it")


@rule("warning")
def address_not_redacted(count: int, at: int | None) -> Fact:
    """Reported by `chatsquash check --anonymize` for e-mail addresses that `chatsquash convert --anonymize` replaces.

    Once for each message, and once for the tools. Pseudonyms and addresses that are nobody's are none of them.
    """
    return Fact(f"{pluralize(count, 'e-mail address', 'e-mail addresses')} left: convert --anonymize replaces them", at)


@rule("warning")
def personal_data_found(kind: str, count: int, at: int | None) -> Fact:
    """Reported by `chatsquash check --redact KINDS` for phone numbers, IP addresses, names and paths of users.

    Once for each kind, at the first message with it, and never with the value. `secret-found` tells of secrets,
    `address-not-redacted` of e-mail addresses.
    """
    named = kind.lower().replace("_", " ")
    return Fact(f"private values found ({named}): {count:,}, which chatsquash redact replaces", at)


@rule("error")
def unsearched_line(reason: str) -> Fact:
    """Reported by `chatsquash redact` when a line is no JSON. It cannot search the line, and leaves it out."""
    return Fact(f"the line is left out, {escape(reason)}: what cannot be searched is not written")


@rule("error")
def eval_overlap(place: str, words: int, messages: int, at: int) -> Fact:
    """Reported by `chatsquash check --against EVALSET` for records that share 13 words in a row with a row of that.

    It compares words in lower case and without punctuation. Training on such a record makes the evaluation worthless.
    """
    more = f", and {pluralize(messages - 1, 'message')} behind it with others" if messages > 1 else ""
    return Fact(f"the message shares {words} words in a row with {escape(place)}{more}", at)
