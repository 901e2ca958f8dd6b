"""Fingerprints for comparing records: digests of their contents and sketches of their words."""

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
from chatsquash.records import StoredRecord, digest
from chatsquash.records.reading import message_texts, native, record
from chatsquash.records.sketch import sketch

SIZE = 16
"""The size of a digest in bytes."""
_MESSAGES = ("messages", "conversations", "prompt", "completion", "tools")
"""The record fields that contain messages and tools."""
_DIGITS = re.compile(r"\d+")
_Object = dict[str, Any]


def of_outcome(outcome: Outcome, options: Options) -> Outcome:
    """Add fingerprints to the records of an outcome if any option compares them."""
    if not options.compares or not outcome.records:
        return outcome
    records = [replace(each, alike=of_record(each, options)) for each in outcome.records]
    return outcome.with_records(records)


def of_record(full_record: Record, options: Options) -> Likeness:
    """Return the fingerprints that the options need."""
    if full_record.alike is not None:
        return full_record.alike
    try:
        return _likeness(jsonio.loads(full_record.line), full_record, options)
    except jsonio.TooLargeError:
        # Parsing would take too much memory, so the record is compared by its bytes.
        record_digest = digest(full_record.line)
        return Likeness(record_digest, record_digest, sketch([], record_digest) if _needs_words(options) else b"")


def _likeness(value: _Object, full_record: Record, options: Options) -> Likeness:
    as_written = record(value)
    as_messages, rule, flag = native(as_written), options.duplicate_mode, options.flag
    other_fields = {key: each for key, each in value.items() if key not in _MESSAGES}
    # Equal messages that are divided differently into prompt and completion are different records.
    other_fields["prompt"] = len(value["prompt"]) if isinstance(value.get("prompt"), list) else None
    return Likeness(
        same=_digests(as_messages, other_fields, flag)[-SIZE:] if rule in ("ids", "prefix") else b"",
        begins=_digests(as_written, other_fields, "") if rule == "prefix" else b"",
        sketch=sketch(_words(as_messages), full_record.digest.hex().encode()) if _needs_words(options) else b"",
        prompt=_prompt(as_messages) if options.clusters else b"",
    )


def _needs_words(options: Options) -> bool:
    return options.duplicate_mode == "near" or options.clusters


def _digests(record: StoredRecord, other_fields: _Object, flag: str) -> bytes:
    """Return a digest for each prefix of a record, from no message to all of them; the field ``flag`` is ignored."""
    running_digest = blake2b(jsonio.dumps([record.tools, other_fields], sort_keys=True), digest_size=SIZE)
    digests, ids = [running_digest.digest()], dict[str, str]()
    for message in record.messages:
        # Every digest includes the messages before it, so equal digests mean equal prefixes.
        spelled = jsonio.dumps(_canonical(message, flag, ids), sort_keys=True)
        running_digest.update(b"%d %b" % (len(spelled), spelled))
        digests.append(running_digest.digest())
    return b"".join(digests)


def _canonical(message: _Object, flag: str, ids: dict[str, str]) -> _Object:
    """Return a message without its flag, with call ids numbered in order of appearance and arguments as parsed JSON."""
    members = {key: value for key, value in message.items() if key != flag}
    if isinstance(calls := message.get("tool_calls"), list):
        members["tool_calls"] = [_call(call, ids) if isinstance(call, dict) else call for call in calls]
    if isinstance(call_id := message.get("tool_call_id"), str):
        members["tool_call_id"] = _with_numbers(call_id, ids)
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
    """Parse arguments as JSON, wrapped in a list to distinguish them from text that is not JSON."""
    try:
        return [jsonio.loads(arguments)]
    except (ValueError, RecursionError):
        return arguments


def _words(record: StoredRecord) -> Iterator[str]:
    """Yield the words of all messages and calls, without system prompts."""
    for message in record.messages:
        # System prompts are the same in most sessions of an agent.
        if message["role"] == "system":
            continue
        yield from message_texts(message)
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            # An image or any other part that is not text counts as one word.
            if chat.part_text(part) is None and not (isinstance(part, dict) and part.get("type") in PARTS):
                yield blake2b(jsonio.dumps(part, sort_keys=True), digest_size=SIZE).hexdigest()


def _prompt(record: StoredRecord) -> bytes:
    """Return a digest of the first user message, ignoring case, white space and numbers."""
    first = next((message for message in record.messages if message["role"] == "user"), None)
    text = chat.text(first) if first else None
    words = _DIGITS.sub("0", text or "").casefold().split()
    return blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=SIZE).digest() if words else b""
