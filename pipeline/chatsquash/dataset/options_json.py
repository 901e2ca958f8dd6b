"""Options as ``run.json`` and the dataset card hold them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from xxhash import xxh3_128_hexdigest

from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options, declared
from chatsquash.core.text import printable
from chatsquash.dataset.option_rules import can_have
from chatsquash.redact.pseudonyms import fingerprint


def describe(options: Options) -> dict[str, object]:
    """The options that decide the output's bytes, as ``run.json`` holds them; the key as its fingerprint."""
    deciding = (each.name for each in declared(type(options)) if each.decides != "nothing" and not each.secret)
    chosen = {name: _json_value(getattr(options, name)) for name in deciding}
    key = options.anonymize_key if options.has_key else None
    return {**chosen, "anonymize_key_fingerprint": fingerprint(key) if key else None}


def _json_value(value: object) -> object:
    if isinstance(value, bytes):  # what a file holds
        return xxh3_128_hexdigest(value)
    return [printable(each) for each in value] if isinstance(value, tuple | list) else value


def requests(options: Options) -> dict[str, object]:
    """The options that are not as by default, the key and what says where logs are aside."""
    usual = describe(type(options)())
    on_card = {each.name for each in declared(type(options)) if each.on_card}
    chosen = describe(options).items()
    return {name: value for name, value in chosen if name in on_card and value != usual[name]}


def as_described(recorded: Mapping[str, Any], groups: Collection[str]) -> dict[str, Any]:
    """The options of some groups that ``run.json`` tells, as ``Options`` takes them.

    Those that it has as a hash are left out.  Raises ``UsageError`` for a value that the option cannot have.
    """
    values: dict[str, Any] = {}
    for option in declared():
        if option.group not in groups or option.content or option.secret or option.name not in recorded:
            continue
        value = recorded[option.name]
        value = tuple(value) if isinstance(value, list) else value
        if not can_have(option, value):
            raise UsageError(
                f"run.json: {option.name} cannot be what it says there: chatsquash verify says what changed"
            )
        values[option.name] = value
    return values
