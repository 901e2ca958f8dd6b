"""Findings about converting records to the shape of a preset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import MAX_QUOTED, escape, pluralize, quote

_KINDS = 12  # the maximum number of kinds in a finding


@rule("error")
def no_assistant_turn() -> Fact:
    """Reported when a conversation has no assistant message, so training presets exclude it."""
    return Fact("no assistant message, so there is nothing to train on: check whether replies were logged")


@rule("error")
def arguments_unparsable(name: str, seen: str, at: int) -> Fact:
    """Reported when a preset requires arguments to be objects, and those in the only reply are not.

    The record ends before the call; if no reply precedes it, the record is excluded. `sharegpt` and `text` write the
    arguments as a JSON string if the conversation continues.
    """
    return Fact(
        f"arguments of {quote(name)} are {seen}, but must be a JSON object: --preset openai keeps them as text", at
    )


@rule("error")
def integer_too_large(spelled: str) -> Fact:
    """Reported when a record would contain an integer beyond 64 bits, so it is excluded."""
    return Fact(f"the integer {quote(spelled)} exceeds 64 bits, which loaders reject: log it as a string")


@rule("error")
def lone_surrogate(text: str) -> Fact:
    """Reported when text contains a lone UTF-16 surrogate, so the record is excluded."""
    return Fact(f"a lone surrogate in {quote(text)}: check where the logger truncates text")


@rule("error")
def unpaired_call(what: str, at: int, hint: str = "") -> Fact:
    """Reported when a call has no result, or a result has no call; training presets exclude the record.

    `--unpaired` changes this for calls without a result.
    """
    return Fact(f"{escape(what)}: {hint}--preset chat keeps it", at)


@rule("error")
def media_dropped(what: str, at: int) -> Fact:
    """Reported when a preset does not support an image, audio, video or file, so the record is excluded.

    `--media refuse` requests this. `--media keep` does the same for anything other than images with data, and all
    presets do so for a reply that consists only of media.
    """
    hint = "--media text replaces it with a placeholder; --media drop removes it"
    return Fact(f"{escape(what)}: {hint}; --preset chat keeps it", at)


@rule("warning")
def media_replaced(kinds: Mapping[str, int]) -> Fact:
    """Reported when images, audio, video or files are replaced by placeholders such as `[image]`."""
    hint = "--media keep with --preset hf keeps images that the log contains; --media refuse excludes the record"
    return Fact(f"media replaced by placeholders: {_list_kinds(kinds)} ({hint})")


@rule("warning")
def user_after_result(count: int, at: int | None = None) -> Fact:
    """Reported when a user message follows a tool result, which some trainers reject.

    ms-swift drops the record, torchtune stops, and LLaMA-Factory skips it; others accept it.
    """
    where = f"{pluralize(count, 'user message')} right after a result"
    fails = "ms-swift deletes such records, torchtune stops, and LLaMA-Factory skips them"
    return Fact(f"{where}: {fails} (--bridge-results join appends their text to the result)", at)


@rule("error")
def unsupported_shape(what: str, at: int | None, hint: str = "") -> Fact:
    """Reported when the preset does not support the form of a message or definition, so the record is excluded."""
    return Fact(f"{escape(what)}, which the preset does not support: {hint}--preset chat keeps it", at)


@rule("warning")
def shape_dropped(kinds: Mapping[str, int]) -> Fact:
    """Reported when a preset drops content that it does not support, such as a refusal."""
    return Fact(f"the preset does not support: {_list_kinds(kinds)} (--preset chat keeps them)")


@rule("info")
def shape_changed(kinds: Mapping[str, int]) -> Fact:
    """Reported when a preset or option represents something differently from the log."""
    return Fact(f"changed to fit: {_list_kinds(kinds)}")


@rule("warning")
def float_rounded(spellings: Sequence[str], count: int) -> Fact:
    """Reported when Hugging Face datasets would round a number while loading the JSON."""
    some = ", ".join(spellings[:3]) + (", …" if count > 3 else "")
    return Fact(f"{pluralize(count, 'number')} that datasets rounds when loading: {some} (log them as strings)")


def _list_kinds(kinds: Mapping[str, int]) -> str:
    parts = [f"{escape(kind[:MAX_QUOTED])} {count}" for kind, count in islice(kinds.items(), _KINDS)]
    return ", ".join([*parts, *([f"{len(kinds) - _KINDS} more kinds"] if len(kinds) > _KINDS else [])])
