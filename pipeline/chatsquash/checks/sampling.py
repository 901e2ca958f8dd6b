"""Findings about dividing sessions into samples, each of which is a reply after the context in which it was sampled."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import pluralize


@rule("error", kind="replies")
def no_sample(reply_count: int) -> Fact:
    """Reported when a session has no reply to train on, so `--samples` writes nothing.

    Its replies are incomplete or errors, or its file does not record which messages were written by a model.
    """
    if reply_count == 1:
        return Fact("the only logged reply in the requested conversations cannot be trained on")
    subject = f"none of the {reply_count:,} logged replies" if reply_count else "no logged reply"
    return Fact(f"{subject} in the requested conversations can be trained on")


@rule("info", kind="replies")
def no_verdict(reply_count: int) -> Fact:
    """Reported when `--sample-shape kto` skips replies without evidence of a preference.

    Evidence is, in this order: a row of `--loss-labels`, a logged score with a clear meaning, a denied call, the user's
    comment in the next message, and another reply to the same request.
    """
    return Fact(f"{pluralize(reply_count, 'reply', 'replies')} without evidence of a preference: not written")


@rule("error", kind="replies")
def joined_reply() -> Fact:
    """Reported when a reply shares a message with another reply, so it gets no sample."""
    return Fact("the reply shares its message with another reply: remove --merge-consecutive")


@rule("error", kind="replies")
def not_rendered(problem: str) -> Fact:
    """Reported when the template of `--samples auto` cannot render a reply or its context."""
    return Fact(f"the template raises {problem}")


@rule("warning", kind="replies")
def context_mismatch(count: int) -> Fact:
    """Reported when a rendered sample does not begin with the text used at inference.

    Such a reply has its own sample, but its context is not the exact text that the model saw.
    """
    subject = f"the rendering of {pluralize(count, 'reply', 'replies')}"
    return Fact(f"{subject} does not begin with the prompt that the template renders for the same request")


@rule("info", kind="replies")
def truncated_to_fit(tokens: int, most: int, exchanges: int) -> Fact:
    """Reported when `--too-long cut` removed exchanges from the end of a record.

    An exchange is a reply with the prompt or the results before it.
    """
    removal = f"{pluralize(exchanges, 'exchange')} removed from its end"
    return Fact(f"the record had {tokens:,} tokens, more than {most:,}: {removal}")


@rule("info", kind="replies")
def front_truncated(count: int, most: int) -> Fact:
    """Reported when `--too-long front` removed exchanges after the system prompt of samples.

    The model saw these messages before the reply; the sample does not contain them.
    """
    return Fact(
        f"{pluralize(count, 'sample')} had more than {most:,} tokens: exchanges removed after the system prompt"
    )


@rule("info", kind="replies")
def restore_not_applied() -> Fact:
    """Reported when `--restore` is combined with `--samples` and has no effect."""
    return Fact("samples have the context that the client sent, so --restore has no effect")


_BREAKS = {
    "template": "the server rendered earlier messages to other token ids, although the client did not change them",
    "rewrite": "the client changed earlier messages, their tools or their reasoning",
    "truncation": "earlier messages or token ids are missing",
    "tokenizer": "the token ids are those of another tokenizer",
    "unknown": "the log does not show why",
}


@rule("info", kind="replies")
def token_break(why: str, count: int) -> Fact:
    """Reported when the token ids of a prompt do not begin with those of the previous prompt and its reply.

    With `--samples tokens`, such a reply starts a new sample.
    """
    start = "starts" if count == 1 else "start"
    return Fact(f"{pluralize(count, 'reply', 'replies')} {start} a new sample ({why}): {_BREAKS[why]}")


@rule("warning", kind="replies")
def token_ids_missing(count: int) -> Fact:
    """Reported when replies have no logged token ids, so `--samples tokens` does not train on them."""
    has = "has" if count == 1 else "have"
    return Fact(f"{pluralize(count, 'reply', 'replies')} {has} no logged token ids of both the prompt and the reply")


@rule("warning", kind="replies")
def private_tokens(count: int) -> Fact:
    """Reported when token ids contain an e-mail address or a password, so they are not written.

    Token ids cannot be anonymized.
    """
    subject = f"the context of {pluralize(count, 'reply', 'replies')} contains"
    return Fact(f"{subject} text that is anonymized, which token ids cannot be: --no-anonymize writes them")


@rule("error", kind="log")
def output_growth(records: int, size: int, log: int, most: int) -> Fact:
    """Reported when the records of a session would exceed `--max-output-growth`, so none are written."""
    times = size // max(log, 1)
    return Fact(f"{records:,} records with {times:,} times the size of the log exceed --max-output-growth {most}")
