"""Findings about secrets and other values that are replaced by placeholders."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import pluralize


@rule("warning")
def secret_found(kind: str, count: int, at: int | None, option: str = "--redact secrets replaces") -> Fact:
    """Reported when a record contains a secret, such as a key or password; reported once per kind.

    The finding never contains the value. It refers to the first line of the log that contains the value, or to that of
    the record's entry if no line contains it in this form.
    """
    kind_name = kind.lower().replace("_", " ")
    return Fact(f"{pluralize(count, 'secret')} found ({kind_name}): {option} {'it' if count == 1 else 'them'}", at)


@rule("warning")
def placeholder_in_reply(count: int, at: int | None, hint: str = ": --loss excludes these from training") -> Fact:
    """Reported when a reply that is trained on contains a placeholder."""
    return Fact(f"{pluralize(count, 'reply', 'replies')} with a placeholder for a secret{hint}", at)


@rule("error")
def redaction_failed(why: str, what: str = "session") -> Fact:
    """Reported when text cannot be searched for private data, so the session is not written."""
    return Fact(f"text cannot be searched for private data ({why}): the {what} is not written")
