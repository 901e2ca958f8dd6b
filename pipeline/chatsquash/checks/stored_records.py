"""Findings of `chatsquash check` and `redact` about existing datasets, in addition to the rules over records."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape, pluralize


@rule("error")
def bad_record(reason: str) -> Fact:
    """Reported when `chatsquash check` reads a line that is not an object with `messages`."""
    return Fact(f'not a record: {escape(reason)}; a record is {{"messages": [...], "tools": [...]}}')


@rule("error")
def bad_tokens(reason: str) -> Fact:
    """Reported when a trainer would misread a sample of token ids.

    `labels`, `completion_mask` and `logprobs` are as long as `input_ids`. Labels equal the ids where the mask is 1, and
    are -100 elsewhere.
    """
    return Fact(f"not a sample of token ids: {escape(reason)}; convert again with --samples tokens")


@rule("error")
def unreadable_by_trainer(trainer: str, preset: str, why: str) -> Fact:
    """Reported when `chatsquash check --for` reads a record that the trainer does not accept."""
    return Fact(f"{trainer} cannot read the record ({why}): convert with --preset {preset}")


@rule("error")
def empty_dataset() -> Fact:
    """Reported when `chatsquash check` reads a file without records."""
    return Fact("the file has no records: check the program that wrote it")


@rule("warning")
def address_not_redacted(count: int, at: int | None) -> Fact:
    """Reported when `chatsquash check --anonymize` detects an e-mail address.

    Once per message, and once for the tool definitions. Pseudonyms and addresses that belong to nobody are ignored.
    """
    return Fact(f"{pluralize(count, 'e-mail address', 'e-mail addresses')}, which convert --anonymize replaces", at)


@rule("warning")
def personal_data_found(kind: str, count: int, at: int | None) -> Fact:
    """Reported when `chatsquash check --redact` detects a phone number, IP address, user name or path.

    Once per kind, without the value. Secrets are reported as `secret-found`, e-mail addresses as
    `address-not-redacted`.
    """
    kind_name = kind.lower().replace("_", " ")
    return Fact(f"private values found ({kind_name}): {count:,}, which chatsquash redact replaces", at)


@rule("error")
def unsearched_line(reason: str) -> Fact:
    """Reported when `chatsquash redact` skips a line that is not JSON."""
    return Fact(f"line skipped: {escape(reason)}; text that cannot be searched is not written")


@rule("error")
def eval_overlap(place: str, words: int, messages: int, at: int) -> Fact:
    """Reported when a record shares 13 consecutive words with an evaluation set (`chatsquash check --against`).

    Case and punctuation are ignored.
    """
    more = f"; {pluralize(messages - 1, 'later message')} with other overlaps" if messages > 1 else ""
    return Fact(f"{words} consecutive words shared with {escape(place)}{more}", at)


@rule("error")
def eval_task(task: str, others: int, at: int | None) -> Fact:
    """Reported when a record names a task of a benchmark by its id (`chatsquash check --against`)."""
    return Fact(f"task {escape(task)} of a benchmark{_and_others(others, 'task')}: exclude the session", at)


@rule("error")
def eval_commit(digits: str, repository: str | None, others: int, at: int | None) -> Fact:
    """Reported when a record names the commit from which a task of a benchmark starts (`chatsquash check --against`).

    A hash of less than 12 digits counts only if the record also names the repository.
    """
    of = f" of {escape(repository)}" if repository else ""
    more = _and_others(others, "commit")
    return Fact(f"a task starts from commit {digits[:12]}{of}{more}: exclude the session", at)


@rule("warning")
def eval_repository(repository: str, others: int, at: int | None) -> Fact:
    """Reported when a record names a repository of a benchmark, but no task or commit (`check --against`)."""
    more = _and_others(others, "repository", "repositories")
    return Fact(f"a benchmark has tasks in {escape(repository)}{more}: check the session", at)


def _and_others(count: int, one: str, many: str = "") -> str:
    return f" and {pluralize(count, f'other {one}', f'other {many}' if many else '')}" if count else ""
