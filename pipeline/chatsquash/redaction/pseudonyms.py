"""The key of a run, and the pseudonyms that it makes of e-mail addresses; ``addresses`` finds these."""

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
from chatsquash.redaction.addresses import Address, addresses, may_have_address, may_hold_address, private
from chatsquash.redaction.hits import Hit
from chatsquash.redaction.placeholders import Placeholders, redaction

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAME_LENGTH, _LABEL_LENGTH = 16, 8
_AT_ONCE = 8  # messages
_REMEMBERED = 8192  # addresses, under 2 MB

# No address has a colon or a space, so what is signed for one purpose is never signed for another.
_DOMAIN_PURPOSE = "domain:"
_FINGERPRINT_PURPOSE = "fingerprint of a chatsquash key"

Inside = tuple[Json, int, Json]
"""A container, the number of the one that it is in, and its place in there."""


def fingerprint(key: bytes) -> str:
    """16 hexadecimal characters that tell keys apart and say nothing about the pseudonyms made with them."""
    return _sign(key, _FINGERPRINT_PURPOSE).hex()[:16]


class Anonymizer:
    """Replaces e-mail addresses in strings, the same address always by the same pseudonym of one key.

    ``jane@corp.com`` becomes 16 characters from a-z0-9, the at sign as it was written, 8 more that all addresses of
    ``corp.com`` share, and ``.example``.  Upper and lower case make no difference, nor do the escapes of URLs.

    In the place of the passwords of URLs it puts placeholders, unless ``passwords`` says that somebody else does;
    ``hashes`` says whether those of their values are to be told.
    """

    def __init__(self, key: bytes, *, passwords: bool = True, hashes: bool = False) -> None:
        self.count = 0
        """Addresses replaced so far, repeated ones each time."""
        self.passwords: list[Hit] = []
        """Passwords and tokens of URLs replaced so far, until somebody takes them."""
        self._key, self._hashes = key, hashes
        self._found = private if passwords else addresses
        self._placeholders = Placeholders(key)
        self._pseudonym = lru_cache(maxsize=_REMEMBERED)(self._make_pseudonym)

    def text(self, text: str) -> str:
        """Replace all addresses in a text; text that parsed as JSON still does, and a second time changes nothing."""
        if not may_have_address(text):
            return text
        pieces: list[str] = []
        done = 0
        for hit in self._found(text):
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

    def counted(self, value: Json) -> tuple[Json, int]:
        """What ``value`` gives, and how many addresses it replaced; neither these nor passwords are counted here."""
        before, passwords = self.count, len(self.passwords)
        replaced = self.value(value)
        count, self.count = self.count - before, before
        del self.passwords[passwords:]
        return replaced, count

    def take_passwords(self) -> list[Redaction]:
        """The passwords and tokens that were replaced since this was called last, each value once."""
        counts = Counter(hit._replace(start=0, end=0) for hit in self.passwords)
        self.passwords.clear()
        return [redaction(hit, count, self._placeholders, hashes=self._hashes) for hit, count in counts.items()]

    def value(self, value: Json) -> Json:
        """Replace all addresses in the strings of a JSON value, keys aside; what has none is the same object after."""
        if isinstance(value, str):
            return self.text(value)
        inside: list[Inside] = [(value, -1, None)]
        copies: dict[int, Json] = {}  # of those that change
        for number, (container, _, _) in enumerate(inside):  # which grows meanwhile, so that depth costs no recursion
            for place, member in _members(container):
                if isinstance(member, str):
                    if (
                        "@" not in member and "\\" not in member and "%" not in member
                    ):  # as in most, which is found at once
                        continue
                    if (replaced := self.text(member)) is not member:
                        copies.setdefault(number, container.copy())[place] = replaced
                elif isinstance(member, (dict, list)):
                    inside.append((member, number, place))
        return _with(copies, inside) if copies else value

    def messages(self, messages: list[Message]) -> tuple[list[Message], list[bytes] | None]:
        """Messages without addresses, and their JSON, some at a time, where the fast encoder takes all of them.

        In that JSON what may be an address is found at once, so that only messages with one are looked through.
        """
        try:
            written = [orjson.dumps(messages[at : at + _AT_ONCE])[1:-1] for at in range(0, len(messages), _AT_ONCE)]
        except orjson.JSONEncodeError:
            return list(map(self.value, messages)), None
        replaced = messages
        for number, some in enumerate(written):
            if not may_hold_address(some):
                continue
            at = number * _AT_ONCE
            parts = list(map(orjson.dumps, messages[at : at + _AT_ONCE]))
            for place, part in enumerate(parts, at):
                if may_hold_address(part) and (message := self.value(messages[place])) is not messages[place]:
                    replaced = replaced.copy() if replaced is messages else replaced
                    replaced[place] = message
                    parts[place - at] = orjson.dumps(message)
            written[number] = b",".join(parts)
        return replaced, written

    def _make_pseudonym(self, local: str, domain: str) -> tuple[str, str]:
        address, host = _sign(self._key, f"{local}@{domain}"), _sign(self._key, _DOMAIN_PURPOSE + domain)
        return _base36(address, _NAME_LENGTH), _base36(host, _LABEL_LENGTH)


def anonymizer(options: Options) -> Anonymizer | None:
    """Replaces addresses where the options ask for that; passwords of URLs, too, where secrets are not looked for."""
    if not options.anonymize:
        return None
    hashes = options.write_known is not None
    return Anonymizer(options.anonymize_key or b"", passwords="secrets" not in options.redacts, hashes=hashes)


def with_passwords(record: Record, anonymizer: Anonymizer | None) -> Record:
    """A record that says which passwords of URLs were replaced in it."""
    if anonymizer is None or not anonymizer.passwords:
        return record
    count, redactions = len(anonymizer.passwords), [*record.redactions, *anonymizer.take_passwords()]
    secrets, replaced = record.secrets + count, record.replaced_secrets + count
    return structs.replace(record, secrets=secrets, replaced_secrets=replaced, redactions=redactions)


def _with(copies: dict[int, Json], inside: list[Inside]) -> Json:
    """A copy of the outermost container with these copies of what is in it."""
    for number in range(len(inside) - 1, 0, -1):  # parents come before what they hold
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
    """The last ``length`` digits of a big-endian number in base 36."""
    number = int.from_bytes(digest, "big")
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


VARIABLE = "CHATSQUASH_ANONYMIZE_KEY_FILE"
SHORTEST_KEY = 16


def load_key(path: str | None = None) -> bytes:
    """The key in a file: the one named, else the one the environment names, else the user's own, made once.

    Raises ``UsageError`` for a file that cannot be read or holds fewer than 16 bytes.
    """
    place = path or os.environ.get(VARIABLE)
    if place:
        return _read(Path(place))
    own = Path(click.get_app_dir("chatsquash")) / "anonymize.key"
    try:
        return _read(own) if own.exists() else _make(own)
    except OSError as problem:
        hint = "name one with --anonymize-key-file"
        raise UsageError(f"{own}: the key cannot be made ({problem.strerror}); {hint}") from None


def _read(path: Path) -> bytes:
    try:
        key = path.read_bytes().strip()
    except OSError as problem:
        raise UsageError(f"{path}: the key cannot be read ({problem.strerror})") from None
    if len(key) < SHORTEST_KEY:
        raise UsageError(f"{path}: holds {len(key)} bytes; a key has at least {SHORTEST_KEY}")
    return key


def _make(path: Path) -> bytes:
    """A new key, which appears whole; of two processes that make one at a time, the first wins."""
    # Needed once in a user's life, and slow to import.
    import secrets
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_hex(32).encode()
    # A temporary file is its owner's alone from the start.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.") as file:
        file.write(key + b"\n")
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(file.name, path)
        except FileExistsError:
            return _read(path)
    return key
