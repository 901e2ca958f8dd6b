"""What is found while a record gets the shape of a preset: each rule makes the finding from the few values it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import MAX_QUOTED, escape, pluralize, quote

_KINDS = 12  # that a finding names


@rule("error")
def no_assistant_turn() -> Fact:
    """Reported when a conversation has no message of the assistant. A preset for training leaves the record out."""
    return Fact("no assistant message, so there is nothing to train on: see whether replies were logged")


@rule("error")
def arguments_unparsable(name: str, seen: str, at: int) -> Fact:
    """Reported when a preset requires arguments as an object, and they are not one.

    The record ends before the call. If there is no earlier reply, the record is excluded; the call is never guessed.
    `sharegpt` and `text` write the arguments as a JSON string if the conversation continues.
    """
    return Fact(f"arguments of {quote(name)} are {seen}, not a JSON object: --preset openai keeps them as text", at)


@rule("error")
def integer_too_large(spelled: str) -> Fact:
    """Reported when a number beyond 64 bits would be a number in a record of a preset, or of a dataset folder.

    The dataset goes without the record, since loading one such number fails for the whole dataset.
    """
    return Fact(f"the integer {quote(spelled)} is beyond 64 bits, which loaders refuse: log it as a string")


@rule("error")
def lone_surrogate(text: str) -> Fact:
    """Reported when a text has half of a UTF-16 pair, which no loader gives back. chatsquash leaves the record out."""
    return Fact(f"a lone surrogate in {quote(text)}: see where the logger cuts texts")


@rule("error")
def unpaired_call(what: str, at: int, hint: str = "") -> Fact:
    """Reported when a call has no result before the assistant goes on, or a result has no such call before it.

    Presets for training want each result right behind its call, so they leave the record out. For a call without a
    result `--unpaired` says otherwise.
    """
    return Fact(f"{escape(what)}: {hint}--preset chat keeps it", at)


@rule("error")
def media_dropped(what: str, at: int) -> Fact:
    """Reported when a preset has no place for an image, a sound, a film or a file, and the record is left out.

    That is what `--media refuse` requests. It also happens with `--media keep` for what is no image with its data, and
    for a reply that consists of such media alone.
    """
    hint = "--media text puts a placeholder in its place, --media drop leaves it out of the record"
    return Fact(f"{escape(what)}: {hint}, --preset chat keeps all", at)


@rule("warning")
def media_replaced(kinds: Mapping[str, int]) -> Fact:
    """Reported when a record has placeholders such as `[image]` for images, sounds, films or files.

    The model saw these, so a reply that describes one comes from what the record does not show. `--media` says
    otherwise: `keep` keeps images that the log contains, `refuse` leaves the record out.
    """
    hint = "--media keep with --preset hf keeps images that the log contains, --media refuse leaves the record out"
    return Fact(f"placeholders stand for media: {_list_kinds(kinds)} ({hint})")


@rule("warning")
def user_after_result(count: int, at: int | None = None) -> Fact:
    """Reported when messages of the user stand right behind the result of a call, in a shape that trainers read so.

    Of these, ms-swift deletes the record and goes on, torchtune stops, and LLaMA-Factory passes over it. Others take
    it. `--bridge-results join` puts what the user says behind the text of the result.
    """
    where = f"{pluralize(count, 'message')} of the user right behind a result"
    fails = "ms-swift deletes such a record, torchtune stops, LLaMA-Factory passes over it"
    return Fact(f"{where}: {fails} (--bridge-results join makes it a part of the result)", at)


@rule("error")
def unsupported_shape(what: str, at: int | None, hint: str = "") -> Fact:
    """Reported when a message or a definition is of a form that the preset has no place for, such as another role.

    It leaves the record out.
    """
    return Fact(f"{escape(what)}, which the preset cannot hold: {hint}--preset chat keeps it", at)


@rule("warning")
def shape_dropped(kinds: Mapping[str, int]) -> Fact:
    """Reported when a preset has no place for something in a record, such as a refusal. The record has the rest."""
    return Fact(f"the preset has no place for: {_list_kinds(kinds)} (--preset chat keeps them)")


@rule("info")
def shape_changed(kinds: Mapping[str, int]) -> Fact:
    """Reported when a preset or a modifier says something otherwise than the log."""
    return Fact(f"changed to fit: {_list_kinds(kinds)}")


@rule("warning")
def float_rounded(spellings: Sequence[str], count: int) -> Fact:
    """Reported when the loader of Hugging Face datasets gives back a neighbour of a number, as it parses JSON in haste.

    The file has the number of the log.
    """
    some = ", ".join(spellings[:3]) + (", …" if count > 3 else "")
    return Fact(f"{pluralize(count, 'number')} that datasets rounds when it loads them: {some} (log them as strings)")


def _list_kinds(kinds: Mapping[str, int]) -> str:
    shown = [f"{escape(kind[:MAX_QUOTED])} {count}" for kind, count in islice(kinds.items(), _KINDS)]
    return ", ".join([*shown, *([f"{len(kinds) - _KINDS} kinds more"] if len(kinds) > _KINDS else [])])
