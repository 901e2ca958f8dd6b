"""Replace secrets and personal data in records, conversations, and other texts such as paths."""

from __future__ import annotations

import hmac
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.redaction import requests
from chatsquash.redaction.addresses import FILE_ENDINGS
from chatsquash.redaction.pseudonyms import Anonymizer, anonymizer
from chatsquash.redaction.values import Finder, Hit, Placeholders, UnsearchedError, Value

_PATH_PURPOSE = "path:"
_PRIVATE_OPTIONS = ("redact_names", "redact_known", "allow", "deny", "write_known", "tool_report_path")
"""Options with private values."""
_HIDDEN_VALUE = "given"
_CUT, _MIN_BEGINNING, _LONG = "…", 6, 16
"""The mark of truncated text, and the lengths from which the beginning of a value is recognizable."""
_AHEAD, _NEAR = 1 << 17, 1 << 12
"""The number of characters of a stream that are searched with their context, and of those in which it is cut."""


def anonymize_path(path: str, anonymizer: Anonymizer) -> str:
    """Anonymize the addresses in a path without its file extensions, which would hide addresses."""
    stem, endings = path, ""
    while (parts := stem.rpartition("."))[0] and _is_ending(parts[2]):
        stem, endings = parts[0], f".{parts[2]}{endings}"
    return str(anonymizer.anonymize(stem)[0]) + endings


def _is_ending(label: str) -> bool:
    """Return whether the last part of a name does not belong to a domain."""
    return label.lower() in FILE_ENDINGS or (label.isalnum() and not label.isalpha())


def path_digest(key: bytes, path: str) -> str:
    """Return a keyed digest that identifies a path without revealing it, because guesses require the key."""
    return hmac.digest(key, f"{_PATH_PURPOSE}{path}".encode("utf-8", "surrogatepass"), "sha256").hex()[:32]


class Anonymized(Struct, frozen=True):
    """A value with pseudonyms for e-mail addresses."""

    value: Any
    addresses: int
    """The number of replaced addresses, with repetitions."""
    passwords: list[Hit]
    """The passwords and tokens of URLs that were replaced as well."""


class Privacy:
    """Replaces private values according to the options of a run, in records and other texts.

    Without a key, ``text`` replaces nothing and raises ``UsageError`` for a text with private values.
    """

    def __init__(self, options: Options) -> None:
        self._key = options.anonymize_key
        key = self._key or b""
        self.placeholders = Placeholders(key)
        self.anonymizer = anonymizer(options)
        self.redactor = requests.redactor(options, key)

    @property
    def is_active(self) -> bool:
        """Whether anything is replaced."""
        return bool(self.anonymizer or self.redactor)

    def replace(self, values: Sequence[Json]) -> Counter[tuple[int, Value]]:
        """Replace private values except addresses in place; see ``Redactor.replace``."""
        return self.redactor.replace(values) if self.redactor else Counter()

    def anonymized(self, value: Json) -> Anonymized:
        """Replace the addresses in a value."""
        if self.anonymizer is None:
            return Anonymized(value, 0, [])
        before = self.anonymizer.count
        self.anonymizer.passwords.clear()
        value = self.anonymizer.value(value)
        passwords = [*self.anonymizer.passwords]
        self.anonymizer.passwords.clear()
        return Anonymized(value, self.anonymizer.count - before, passwords)

    def value_finder(self, values: Iterable[Value]) -> Finder | None:
        """Create a finder for replaced values, wherever else they occur."""
        return self.redactor.find_everywhere(sorted(values)) if self.redactor else None

    def text(self, text: str, also: Finder | None = None) -> str:
        """Replace private values and the hits of ``also`` in a text, or return nothing if it cannot be searched."""
        try:
            hidden = self.redactor.text(text, also) if self.redactor else text
        except UnsearchedError:
            hidden = ""
        hidden = anonymize_path(hidden, self.anonymizer) if self.anonymizer else hidden
        if hidden != text and self._key is None:
            hint = "pass the key of the run with --anonymize-key-file"
            raise UsageError(f"a path or an option contains a private value, and replacing it requires a key; {hint}")
        return hidden

    def value(self, value: Json) -> Json:
        """Replace private values in all strings of a JSON value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(member) for key, member in value.items()}
        return list(map(self.value, value)) if isinstance(value, list) else value

    def options(self, values_by_option: dict[str, object]) -> dict[str, Any]:
        """Return the options for ``run.json`` and the card, with ``given`` in place of private values."""
        values = {name: self.value(each) for name, each in values_by_option.items()}
        lists = {name: _HIDDEN_VALUE for name in _PRIVATE_OPTIONS if values_by_option.get(name) is not None}
        patterns: Any = values_by_option.get("redact_pattern", ())
        names = [f"{each.partition('=')[0]}={_HIDDEN_VALUE}" for each in patterns]
        return {**values, **lists, **({"redact_pattern": names} if names else {})}

    def digest(self, path: str) -> str:
        """Return ``path_digest`` with the key of the run."""
        return path_digest(self._key or b"", path)

    def pieces(self, pieces: Iterable[bytes], also: Finder | None = None) -> Iterator[bytes]:
        """Replace private values in a stream of bytes, keeping back only what may continue in the next piece."""
        decoder, rest, known = getincrementaldecoder("utf-8")("surrogateescape"), "", list[Hit]()
        for piece in pieces:
            rest += decoder.decode(piece)
            if len(rest) >= 2 * _AHEAD:
                hits = self._hits(rest, also, known)
                cut = _cut(rest, hits)
                yield self._encode_hits(rest[:cut], [hit for hit in hits if hit.end <= cut])
                # Hits after the cut may depend on context before it, so they are carried over.
                known = [hit._replace(start=hit.start - cut, end=hit.end - cut) for hit in hits if hit.start >= cut]
                rest = rest[cut:]
        rest += decoder.decode(b"", final=True)
        yield self._encode_hits(rest, self._hits(rest, also, known))

    def _hits(self, text: str, also: Finder | None, known: list[Hit]) -> list[Hit]:
        if self.redactor is None:
            return []
        from chatsquash.redaction.forms import merge_overlapping  # imported here because only redaction needs it

        return merge_overlapping([*known, *self.redactor.find(text, also)])

    def _encode_hits(self, text: str, hits: list[Hit]) -> bytes:
        hidden = self.redactor.insert(text, hits) if self.redactor else text
        hidden = self.anonymizer.anonymize(hidden)[0] if self.anonymizer else hidden
        return hidden.encode("utf-8", "surrogateescape")


def _cut(text: str, hits: list[Hit]) -> int:
    """Return an offset at which a text can be cut without splitting a hit or an address."""
    cut = len(text) - _AHEAD
    space = max(text.rfind(each, cut - _NEAR, cut) for each in ' \n"') + 1
    for place in (space, cut) if space else (cut,):
        crossed = [hit for hit in hits if hit.start < place < hit.end]
        if not crossed:
            return place
    return crossed[0].end


_LISTS_OF_MESSAGES = ("messages", "conversations", "prompt", "completion", "chosen", "rejected")
"""The keys of message lists in records; the last one present contains the trainable messages."""
_CONTEXT = "prompt"
"""The key of messages that are never trained on."""
_REPLIES = ("completion", "chosen", "rejected")
"""The keys that contain a reply if their values are strings."""


def kinds(counts: Counter[tuple[int, Value]]) -> list[tuple[str, int, int]]:
    """Return each kind of value with its count and the first piece that contains it, sorted."""
    numbers: Counter[str] = Counter()
    first: dict[str, int] = {}
    for (at, value), count in counts.items():
        numbers[value.kind] += count
        first[value.kind] = min(at, first.get(value.kind, at))
    return [(kind, count, first[kind]) for kind, count in sorted(numbers.items())]


def remove_beginnings(text: str, values: list[Value]) -> str:
    """Remove the beginnings of values that were quoted and truncated."""
    text = text[: len(text) - _beginning(text, values, _LONG)]  # the text itself may be truncated
    at = text.find(_CUT)
    while at >= 0:
        start = at - _beginning(text[:at], values)
        text = text[:start] + text[at:]
        at = text.find(_CUT, start + 1)
    return text


def _beginning(text: str, values: list[Value], least: int = _MIN_BEGINNING) -> int:
    """Return how many characters of a value a text ends with, if enough to be recognizable."""
    for each in values:
        if each.value[:least] in text:
            for length in range(min(len(each.value), len(text)), least - 1, -1):
                if text.endswith(each.value[:length]):
                    return length
    return 0


class Pieces:
    """The messages of a record and its other members, which can be changed in place and reassembled by ``assemble``."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record
        self._rest: dict[str, Json] = {}
        self.values: list[Json] = []
        """JSON objects and lists; the last one contains the other members."""
        self._places: list[int | None] = []
        self._replies: set[int] = set()
        self._texts: dict[str, dict[str, Json]] = {}
        """Replies that are strings, as pieces."""
        before = 0
        for name, member in record.items():
            if name in _REPLIES and isinstance(member, str):
                self._texts[name] = {name: member}
                self._add(self._texts[name], None, is_reply=True)
                continue
            if not _are_turns(name, member):
                self._rest[name] = member
                continue
            for at, turn in enumerate(member):
                self._add(turn, before + at, is_reply=name != _CONTEXT and _is_reply(turn))
            before += len(member) if name == _CONTEXT else 0
        self.values.append(self._rest)

    def _add(self, piece: dict[str, Json], place: int | None, *, is_reply: bool) -> None:
        if is_reply:
            self._replies.add(len(self.values))
        self._places.append(place)
        self.values.append(piece)

    def place(self, piece: int) -> int | None:
        """Return the index of a message in its record, or ``None`` for a string reply and for the other members."""
        return self._places[piece] if piece < len(self._places) else None

    def secret_replies(self) -> list[int]:
        """Return the indices of the replies that contain a placeholder of a secret, as ``replies``."""
        return self.replies(self.masked_pieces())

    def masked_pieces(self) -> list[int]:
        """Return the pieces except the last one that contain a placeholder of a secret."""
        pieces = enumerate(self.values[:-1])
        from chatsquash.redaction.placeholders import contains_secret  # imported here because few runs need it

        return [at for at, each in pieces if contains_secret(jsonio.dumps(each).decode())]

    def replies(self, pieces: Iterable[int]) -> list[int]:
        """Return the indices of the trainable replies among pieces; 0 for a string reply."""
        return sorted({self._places[piece] or 0 for piece in pieces if piece in self._replies})

    def assemble(self) -> dict[str, Json]:
        """Return the record with its changed pieces, with members in their original order."""
        rest = iter(self._rest.items())
        return dict(self._member(name, member) or next(rest) for name, member in self._record.items())

    def _member(self, name: str, member: Json) -> tuple[str, Json] | None:
        """Return the current state of a member that is not one of the other members."""
        if name in self._texts:
            return name, self._texts[name][name]
        return (name, member) if _are_turns(name, member) else None


def _are_turns(name: str, member: Json) -> bool:
    return name in _LISTS_OF_MESSAGES and isinstance(member, list) and all(isinstance(turn, dict) for turn in member)


def _is_reply(turn: Json) -> bool:
    return isinstance(turn, dict) and (turn.get("role") == "assistant" or turn.get("from") in ("gpt", "function_call"))
