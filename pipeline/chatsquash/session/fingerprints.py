"""By what records are compared with others: digests of what they hold, and sketches of their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.core.outcome import Likeness, Outcome, Record
from chatsquash.core.reasoning import PARTS
from chatsquash.records.line import StoredRecord, digest
from chatsquash.records.reading import native, record, said
from chatsquash.records.sketch import sketch

SIZE = 16
"""Bytes of a digest."""
_MESSAGES = ("messages", "conversations", "prompt", "completion", "tools")
"""Members of records that hold their messages and tools."""
_DIGITS = re.compile(r"\d+")
_Object = dict[str, Any]


def of_outcome(outcome: Outcome, options: Options) -> Outcome:
    """An outcome whose records have what they are compared by, where somebody compares them."""
    if not options.compares or not outcome.records:
        return outcome
    records = [replace(each, alike=of_record(each, options)) for each in outcome.records]
    return outcome.with_records(records)


def of_record(made: Record, options: Options) -> Likeness:
    """What a record is compared by, as far as the options ask for it.

    Of one that would take more memory than may be, its bytes are.
    """
    if made.alike is not None:
        return made.alike
    try:
        return _likeness(jsonio.loads(made.line), made, options)
    except jsonio.TooLargeError:
        whole = digest(made.line)
        return Likeness(whole, whole, sketch([], whole) if _asks_words(options) else b"")


def _likeness(value: _Object, made: Record, options: Options) -> Likeness:
    written = record(value)
    read, rule, flag = native(written), options.duplicate_mode, options.flag
    beside = {key: each for key, each in value.items() if key not in _MESSAGES}
    beside["prompt"] = len(value["prompt"]) if isinstance(value.get("prompt"), list) else None
    return Likeness(
        same=_digests(read, beside, flag)[-SIZE:] if rule in ("ids", "prefix") else b"",
        begins=_digests(written, beside, "") if rule == "prefix" else b"",
        sketch=sketch(_words(read), made.digest.hex().encode()) if _asks_words(options) else b"",
        prompt=_prompt(read) if options.clusters else b"",
    )


def _asks_words(options: Options) -> bool:
    return options.duplicate_mode == "near" or options.clusters


def _digests(record: StoredRecord, beside: _Object, flag: str) -> bytes:
    """The digests of what a record begins with, one for each of its messages; messages without a flag."""
    seen = blake2b(jsonio.dumps([record.tools, beside], sort_keys=True), digest_size=SIZE)
    digests, ids = [seen.digest()], dict[str, str]()
    for message in record.messages:
        spelled = jsonio.dumps(_canonical(message, flag, ids), sort_keys=True)
        seen.update(b"%d %b" % (len(spelled), spelled))
        digests.append(seen.digest())
    return b"".join(digests)


def _canonical(message: _Object, flag: str, ids: dict[str, str]) -> _Object:
    """A message without a flag, with the ids of calls in the order in which they appear, and arguments as values."""
    members = {key: value for key, value in message.items() if key != flag}
    if isinstance(calls := message.get("tool_calls"), list):
        members["tool_calls"] = [_call(call, ids) if isinstance(call, dict) else call for call in calls]
    if isinstance(answered := message.get("tool_call_id"), str):
        members["tool_call_id"] = _with_numbers(answered, ids)
    return members


def _call(call: _Object, ids: dict[str, str]) -> _Object:
    members = dict(call)
    if isinstance(name := call.get("id"), str):
        members["id"] = _with_numbers(name, ids)
    function = call.get("function")
    if isinstance(function, dict) and isinstance(function.get("arguments"), str):
        members["function"] = {**function, "arguments": _value(function["arguments"])}
    return members


def _with_numbers(name: str, ids: dict[str, str]) -> str:
    return ids.setdefault(name, str(len(ids)))


def _value(arguments: str) -> Json:
    """The value of arguments; a text that is none stays itself, and is told apart from the value that is this text."""
    try:
        return [jsonio.loads(arguments)]
    except (ValueError, RecursionError):
        return arguments


def _words(record: StoredRecord) -> Iterator[str]:
    """All that is said and called; system prompts aside, which are the same in most sessions of an agent.

    An image, or whatever else is no text, is a word.
    """
    for message in record.messages:
        if message["role"] == "system":
            continue
        yield from said(message)
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if chat.part_text(part) is None and not (isinstance(part, dict) and part.get("type") in PARTS):
                yield blake2b(jsonio.dumps(part, sort_keys=True), digest_size=SIZE).hexdigest()


def _prompt(record: StoredRecord) -> bytes:
    """A digest of what the user says first, in any case, spacing and numbers."""
    first = next((message for message in record.messages if message["role"] == "user"), None)
    text = chat.text(first) if first else None
    words = _DIGITS.sub("0", text or "").casefold().split()
    return blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=SIZE).digest() if words else b""
