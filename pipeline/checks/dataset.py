"""What is found while a dataset is put together of records."""

from __future__ import annotations

from pipeline.checks.registry import Fact, escaped, quoted, rule


@rule("info")
def filtered(option: str, why: str) -> Fact:
    """Reported when an option filters a session.

    That is `--min-turns`, `--max-turns`, `--max-chars`, `--drop` or `--only-model`. Its record is not written.
    """
    return Fact(f"filtered by {option}: {escaped(why)}")


@rule("info")
def duplicate_record(first: str) -> Fact:
    """Reported when a record is left out since it is that of another session, byte for byte (`--drop-duplicates`)."""
    return Fact(f"the record is that of {escaped(first)}, which is written (--no-drop-duplicates writes both)")


@rule("warning")
def split_leak(split: str, other: str, first: str) -> Fact:
    """Reported when a record has the system prompt and the first user message of one in another split.

    What is learned from the one then helps with the other, so a validation loss looks better than it is.
    `--split-by prompt` keeps them together.
    """
    return Fact(
        f"in {split}, but begins as {escaped(first)} in {other}: --split-by prompt keeps what begins alike together"
    )


@rule("warning")
def empty_split(split: str, records: int) -> Fact:
    """Reported when a split that was asked for has no records. It gets no file, and the card does not name it."""
    return Fact(f"the split {quoted(split)} has none of {records:,} records: give it more, or try another --seed")
