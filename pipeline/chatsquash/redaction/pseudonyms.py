"""The key of a run, and pseudonyms for e-mail addresses; detection is in ``addresses``."""

from __future__ import annotations

import hmac
import os
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import click
import orjson
from msgspec import structs

from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json, Message
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Redaction
from chatsquash.redaction.addresses import (
    Address,
    addresses,
    addresses_and_secrets,
    may_contain_address,
    may_have_address,
)
from chatsquash.redaction.values import Hit, Placeholders, redaction

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAME_LENGTH, _LABEL_LENGTH = 16, 8
_AT_ONCE = 8  # messages
_REMEMBERED = 8192  # addresses, under 2 MB

# Addresses have no colon or space, so the signatures for different purposes never coincide.
_DOMAIN_PURPOSE = "domain:"
_FINGERPRINT_PURPOSE = "fingerprint of a chatsquash key"

Inside = tuple[Json, int, Json]
"""A container, the index of its parent, and its key in the parent."""


def may_change(text: str) -> bool:
    """Return whether a text contains a sign without which ``Anonymizer`` changes nothing."""
    return "@" in text or "\\" in text or "%" in text


def fingerprint(key: bytes) -> str:
    """Return 16 hexadecimal characters that identify a key and reveal nothing about its pseudonyms."""
    return _sign(key, _FINGERPRINT_PURPOSE).hex()[:16]


class Anonymizer:
    """Replaces e-mail addresses in strings; with one key, equal addresses get equal pseudonyms.

    ``jane@corp.com`` becomes 16 characters of a-z0-9, the at sign as written, 8 more characters shared by all addresses
    of ``corp.com``, and ``.example``. Case and URL escapes make no difference.

    If ``passwords`` is set, passwords in URLs are replaced with placeholders. With ``hashes``, their hashes are
    recorded.
    """

    def __init__(self, key: bytes, *, passwords: bool = True, hashes: bool = False) -> None:
        self.count = 0
        """The number of replaced addresses, with repetitions."""
        self.passwords: list[Hit] = []
        """The passwords and tokens of URLs that were replaced since the last ``take_passwords``."""
        self._key, self._hashes = key, hashes
        self._find = addresses_and_secrets if passwords else addresses
        self._placeholders = Placeholders(key)
        self._pseudonym = lru_cache(maxsize=_REMEMBERED)(self._make_pseudonym)

    def text(self, text: str) -> str:
        """Replace all addresses in a text. JSON remains valid, and a second run changes nothing."""
        if not may_have_address(text):
            return text
        pieces: list[str] = []
        done = 0
        for hit in self._find(text):
            pieces.append(text[done : hit.start])
            if isinstance(hit, Address):
                name, label = self._pseudonym(hit.name, hit.host)
                pieces += (name, text[hit.sign : hit.domain], label, ".example")
                self.count += 1
            else:
                pieces.append(self._placeholders.of(hit))
                self.passwords.append(hit)
            done = hit.end
        return "".join((*pieces, text[done:])) if pieces else text

    def anonymize(self, value: Json) -> tuple[Json, int]:
        """Return the result of ``value`` and the number of replaced addresses, without counting them."""
        before, passwords = self.count, len(self.passwords)
        result = self.value(value)
        count, self.count = self.count - before, before
        del self.passwords[passwords:]
        return result, count

    def take_passwords(self) -> list[Redaction]:
        """Return and forget the passwords and tokens replaced since the last call, without duplicates."""
        counts = Counter(hit._replace(start=0, end=0) for hit in self.passwords)
        self.passwords.clear()
        return [redaction(hit, count, self._placeholders, hashes=self._hashes) for hit, count in counts.items()]

    def value(self, value: Json) -> Json:
        """Replace all addresses in the strings of a JSON value, not keys; if there are none, return the same value."""
        if isinstance(value, str):
            return self.text(value)
        inside: list[Inside] = [(value, -1, None)]
        copies: dict[int, Json] = {}  # of changed containers
        for number, (container, _, _) in enumerate(inside):  # the list grows during iteration, to avoid recursion
            for place, member in _members(container):
                if isinstance(member, str):
                    if may_change(member) and (new_text := self.text(member)) is not member:
                        copies.setdefault(number, container.copy())[place] = new_text
                elif isinstance(member, (dict, list)):
                    inside.append((member, number, place))
        return _rebuild(copies, inside) if copies else value

    def messages(self, messages: list[Message]) -> tuple[list[Message], list[bytes] | None]:
        """Replace addresses in messages, and return them with their encoded JSON in batches.

        The JSON can be searched quickly for messages that may contain addresses. It is ``None`` if the fast encoder
        cannot encode a message.
        """
        try:
            chunks = [orjson.dumps(messages[at : at + _AT_ONCE])[1:-1] for at in range(0, len(messages), _AT_ONCE)]
        except orjson.JSONEncodeError:
            return list(map(self.value, messages)), None
        result = messages
        for number, chunk in enumerate(chunks):
            if not may_contain_address(chunk):
                continue
            at = number * _AT_ONCE
            parts = list(map(orjson.dumps, messages[at : at + _AT_ONCE]))
            for place, part in enumerate(parts, at):
                if may_contain_address(part) and (message := self.value(messages[place])) is not messages[place]:
                    result = result.copy() if result is messages else result
                    result[place] = message
                    parts[place - at] = orjson.dumps(message)
            chunks[number] = b",".join(parts)
        return result, chunks

    def _make_pseudonym(self, local: str, domain: str) -> tuple[str, str]:
        address, host = _sign(self._key, f"{local}@{domain}"), _sign(self._key, _DOMAIN_PURPOSE + domain)
        return _base36(address, _NAME_LENGTH), _base36(host, _LABEL_LENGTH)


def anonymizer(options: Options) -> Anonymizer | None:
    """Create the anonymizer for the options, if any; it replaces passwords in URLs unless secrets are redacted."""
    if not options.anonymize:
        return None
    hashes = options.write_known is not None
    return Anonymizer(options.anonymize_key or b"", passwords="secrets" not in options.redacts, hashes=hashes)


def with_passwords(record: Record, anonymizer: Anonymizer | None) -> Record:
    """Add the replaced passwords of URLs to a record."""
    if anonymizer is None or not anonymizer.passwords:
        return record
    count, redactions = len(anonymizer.passwords), [*record.redactions, *anonymizer.take_passwords()]
    secrets, replaced_secrets = record.secrets + count, record.replaced_secrets + count
    return structs.replace(record, secrets=secrets, replaced_secrets=replaced_secrets, redactions=redactions)


def _rebuild(copies: dict[int, Json], inside: list[Inside]) -> Json:
    """Return a copy of the outermost container with the changed containers in it."""
    for number in range(len(inside) - 1, 0, -1):  # parents precede their members
        if number in copies:
            _, parent, place = inside[number]
            copies.setdefault(parent, inside[parent][0].copy())[place] = copies[number]
    return copies[0]


def _members(container: Json) -> Iterable[tuple[Json, Json]]:
    if isinstance(container, dict):
        return container.items()
    return enumerate(container) if isinstance(container, list) else ()


def _sign(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


def _base36(digest: bytes, length: int) -> str:
    """Return the last ``length`` digits of a big-endian number in base 36."""
    number = int.from_bytes(digest, "big")
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


VARIABLE = "CHATSQUASH_ANONYMIZE_KEY_FILE"
SHORTEST_KEY = 16


def load_key(path: str | None = None) -> bytes:
    """Load the key from the given file, the file in the environment, or the user's own, which is created if missing.

    Raises:
        UsageError: The file cannot be read or contains fewer than 16 bytes.
    """
    place = path or os.environ.get(VARIABLE)
    if place:
        return _read(Path(place))
    own = Path(click.get_app_dir("chatsquash")) / "anonymize.key"
    try:
        return _read(own) if own.exists() else _make(own)
    except OSError as problem:
        hint = "pass one with --anonymize-key-file"
        raise UsageError(f"{own}: the key cannot be created ({problem.strerror}); {hint}") from None


def _read(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except OSError as problem:
        raise UsageError(f"{path}: the key cannot be read ({problem.strerror})") from None
    if len(key) < SHORTEST_KEY:
        raise UsageError(f"{path}: the key has {len(key)} bytes; at least {SHORTEST_KEY} are required")
    return key


def _make(path: Path) -> bytes:
    """Create a key file atomically; if two processes create it at the same time, the first one wins."""
    # Needed once per user, and slow to import.
    import secrets
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_hex(32).encode()
    # From the start, only its owner can read a temporary file.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.") as file:
        file.write(key + b"\n")
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(file.name, path)
        except FileExistsError:
            return _read(path)
    return key
