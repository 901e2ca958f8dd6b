"""What is found where replies become samples, each behind the context that it was sampled in."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import pluralize


@rule("error", kind="replies")
def no_sample(logged: int) -> Fact:
    """Reported when a session has no reply to train on, so that `--samples` gives nothing of it.

    Its replies broke off or are errors, or its file does not say which messages a model gave.
    """
    subject = "no logged reply" if not logged else f"none of {pluralize(logged, 'logged reply', 'logged replies')}"
    return Fact(f"{subject} of the conversations that were asked for is to be trained on")


@rule("error", kind="replies")
def joined_reply() -> Fact:
    """Reported when a reply stands in one message with what another one says, so that no sample has it alone."""
    return Fact("the reply shares its message with another one: leave out --merge-consecutive")


@rule("error", kind="replies")
def not_rendered(problem: str) -> Fact:
    """Reported when the template of `--samples auto` cannot render a reply, or what the model saw before it."""
    return Fact(f"the template raises {problem}")


@rule("warning", kind="replies")
def context_mismatch(count: int) -> Fact:
    """Reported when the rendering of a sample does not begin with what the template gives at inference.

    Such a reply has a sample of its own, but does not stand there behind the very text that the model saw.
    """
    subject = f"the rendering of {pluralize(count, 'reply', 'replies')}"
    return Fact(f"{subject} does not begin with what the template gives as prompt of the same request")


@rule("info", kind="replies")
def truncated_to_fit(tokens: int, most: int, exchanges: int) -> Fact:
    """Reported when `--too-long cut` left exchanges off the end of a record, so that it fits `--max-tokens`.

    An exchange is a reply, with the prompt or the results that it answers.
    """
    left = f"{pluralize(exchanges, 'exchange')} at its end {'is' if exchanges == 1 else 'are'} left off"
    return Fact(f"the record had {tokens:,} tokens, more than {most:,}: {left}")


@rule("info", kind="replies")
def restore_not_applied() -> Fact:
    """Reported when `--restore` stands beside `--samples`: it would restore context that the model had not."""
    return Fact("the samples have the context that was sent, so --restore puts nothing back")


@rule("error", kind="log")
def output_growth(records: int, size: int, log: int, most: int) -> Fact:
    """Reported when the records of a session would take too many times the bytes of its log, and none is written.

    Branches repeat the history that they share, and so do samples and pairs.
    """
    times = size // max(log, 1)
    return Fact(
        f"{records:,} records with {times:,} times the bytes of the log: --max-output-growth {most} refuses them"
    )
