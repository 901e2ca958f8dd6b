"""Secrets and personal data, replaced as options say: in records, in conversations, and in texts such as paths."""

from __future__ import annotations

import hmac
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.redaction import requests
from chatsquash.redaction.addresses import FILE_ENDINGS
from chatsquash.redaction.forms import apart
from chatsquash.redaction.hits import Finder, Hit, Value
from chatsquash.redaction.placeholders import Placeholders, holds_secret
from chatsquash.redaction.pseudonyms import Anonymizer, anonymizer
from chatsquash.redaction.redactor import UnsearchedError

_PATH_PURPOSE = "path:"
_PRIVATE_OPTIONS = ("redact_names", "redact_known", "allow", "deny", "write_known", "tool_report_path")
"""Options whose values are private."""
_GIVEN = "given"
_CUT, _TELLING, _LONG = "…", 6, 16
"""Follows what was cut, and the characters of a value from which on its beginning tells something."""
_AHEAD, _NEAR = 1 << 17, 1 << 12
"""Characters of a long text that are searched together with what stands before them, and those in which it is cut."""


def without_addresses(path: str, anonymizer: Anonymizer) -> str:
    """A path, or a text that ends with one; with the ending of a file behind it, no address would be one."""
    named, endings = path, ""
    while (parts := named.rpartition("."))[0] and _is_ending(parts[2]):
        named, endings = parts[0], f".{parts[2]}{endings}"
    return str(anonymizer.counted(named)[0]) + endings


def _is_ending(label: str) -> bool:
    """Whether a last part of a name is none of a domain's."""
    return label.lower() in FILE_ENDINGS or (label.isalnum() and not label.isalpha())


def path_digest(key: bytes, path: str) -> str:
    """Tells paths apart that are not told; nobody without the key can test a guess."""
    return hmac.digest(key, f"{_PATH_PURPOSE}{path}".encode("utf-8", "surrogatepass"), "sha256").hex()[:32]


class Anonymized(NamedTuple):
    """A value without e-mail addresses."""

    value: Any
    addresses: int
    """How many there were, repeated ones each time."""
    passwords: list[Hit]
    """Passwords and tokens of URLs that were replaced with them."""


class Privacy:
    """Replaces what the options of a run name, in values and in the texts in addition to them.

    Without a key, ``text`` replaces nothing, and raises ``UsageError`` for a text in which it would.
    """

    def __init__(self, options: Options) -> None:
        self._key = options.anonymize_key
        key = self._key or b""
        self.placeholders = Placeholders(key)
        self.anonymizer = anonymizer(options)
        self.redactor = requests.redactor(options, key)

    @property
    def hides(self) -> bool:
        """Whether it replaces anything at all."""
        return bool(self.anonymizer or self.redactor)

    def replace(self, values: Sequence[Json]) -> Counter[tuple[int, Value]]:
        """Replace what is private in values, in their place, addresses aside; as ``Redactor.replace``."""
        return self.redactor.replace(values) if self.redactor else Counter()

    def anonymized(self, value: Json) -> Anonymized:
        """A value without addresses."""
        if self.anonymizer is None:
            return Anonymized(value, 0, [])
        before = self.anonymizer.count
        self.anonymizer.passwords.clear()
        value = self.anonymizer.value(value)
        passwords = [*self.anonymizer.passwords]
        self.anonymizer.passwords.clear()
        return Anonymized(value, self.anonymizer.count - before, passwords)

    def value_finder(self, values: Iterable[Value]) -> Finder | None:
        """Finds values that were replaced, also where nothing but that tells that they are private."""
        return self.redactor.remembered(sorted(values)) if self.redactor else None

    def text(self, text: str, also: Finder | None = None) -> str:
        """A text without what is private and what ``also`` finds; nothing is left of one that cannot be searched."""
        try:
            hidden = self.redactor.text(text, also) if self.redactor else text
        except UnsearchedError:
            hidden = ""
        hidden = without_addresses(hidden, self.anonymizer) if self.anonymizer else hidden
        if hidden != text and self._key is None:
            hint = "name the key of the run with --anonymize-key-file"
            raise UsageError(f"a path or an option holds what is to be replaced, which needs a key; {hint}")
        return hidden

    def value(self, value: Json) -> Json:
        """A value with nothing private in its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(member) for key, member in value.items()}
        return list(map(self.value, value)) if isinstance(value, list) else value

    def options(self, described: dict[str, object]) -> dict[str, Any]:
        """Options as ``run.json`` and the card hold them; of private values only that they were given."""
        values = {name: self.value(each) for name, each in described.items()}
        lists = {name: _GIVEN for name in _PRIVATE_OPTIONS if described.get(name) is not None}
        patterns: Any = described.get("redact_pattern", ())
        names = [f"{each.partition('=')[0]}={_GIVEN}" for each in patterns]
        return {**values, **lists, **({"redact_pattern": names} if names else {})}

    def digest(self, path: str) -> str:
        """As ``path_digest``, with the key of the run."""
        return path_digest(self._key or b"", path)

    def pieces(self, pieces: Iterable[bytes], also: Finder | None = None) -> Iterator[bytes]:
        """Bytes with nothing private in them, which come in pieces; no more is kept than what may go on."""
        decoder, rest, known = getincrementaldecoder("utf-8")("surrogateescape"), "", list[Hit]()
        for piece in pieces:
            rest += decoder.decode(piece)
            if len(rest) >= 2 * _AHEAD:
                hits = self._hits(rest, also, known)
                cut = _cut(rest, hits)
                yield self._encode_hits(rest[:cut], [hit for hit in hits if hit.end <= cut])
                # What is found is known by what stood before it, which is gone then.
                known = [hit._replace(start=hit.start - cut, end=hit.end - cut) for hit in hits if hit.start >= cut]
                rest = rest[cut:]
        rest += decoder.decode(b"", final=True)
        yield self._encode_hits(rest, self._hits(rest, also, known))

    def _hits(self, text: str, also: Finder | None, known: list[Hit]) -> list[Hit]:
        return apart([*known, *self.redactor.find(text, also)]) if self.redactor else []

    def _encode_hits(self, text: str, hits: list[Hit]) -> bytes:
        hidden = self.redactor.put(text, hits) if self.redactor else text
        hidden = self.anonymizer.counted(hidden)[0] if self.anonymizer else hidden
        return hidden.encode("utf-8", "surrogateescape")


def _cut(text: str, hits: list[Hit]) -> int:
    """Where a text may be cut in two, so that neither a hit nor an address, which has no white space, is cut."""
    cut = len(text) - _AHEAD
    space = max(text.rfind(each, cut - _NEAR, cut) for each in ' \n"') + 1
    for place in (space, cut) if space else (cut,):
        crossed = [hit for hit in hits if hit.start < place < hit.end]
        if not crossed:
            return place
    return crossed[0].end


_LISTS_OF_MESSAGES = ("messages", "conversations", "prompt", "completion", "chosen", "rejected")
"""Members of records that hold messages; the last of several hold what is trained on."""
_CONTEXT = "prompt"
"""Messages that are never trained on."""
_REPLIES = ("completion", "chosen", "rejected")
"""Members that are a reply where they are a text."""


def kinds(counts: Counter[tuple[int, Value]]) -> list[tuple[str, int, int]]:
    """Each kind of value in some pieces, how many there are of it, and the first piece with it; sorted."""
    numbers: Counter[str] = Counter()
    first: dict[str, int] = {}
    for (at, value), count in counts.items():
        numbers[value.kind] += count
        first[value.kind] = min(at, first.get(value.kind, at))
    return [(kind, count, first[kind]) for kind, count in sorted(numbers.items())]


def without_beginnings(text: str, values: list[Value]) -> str:
    """A text without the beginnings of values in it that were quoted and cut."""
    text = text[: len(text) - _beginning(text, values, _LONG)]  # of a text that is cut where it is too long
    at = text.find(_CUT)
    while at >= 0:
        start = at - _beginning(text[:at], values)
        text = text[:start] + text[at:]
        at = text.find(_CUT, start + 1)
    return text


def _beginning(text: str, values: list[Value], least: int = _TELLING) -> int:
    """How many characters of a value a text ends with, if they tell something of it."""
    for each in values:
        if each.value[:least] in text:
            for length in range(min(len(each.value), len(text)), least - 1, -1):
                if text.endswith(each.value[:length]):
                    return length
    return 0


class Pieces:
    """A record's messages, and all that stands beside them; to be changed in place, and put together by ``whole``."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record
        self._rest: dict[str, Json] = {}
        self.values: list[Json] = []
        """JSON objects and lists, the last of which has what is beside the messages."""
        self._places: list[int | None] = []
        self._replies: set[int] = set()
        self._texts: dict[str, dict[str, Json]] = {}
        """Members that are a text and a reply, as pieces."""
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
        """The index of a message in its record; ``None`` for a text alone, and for what stands beside all."""
        return self._places[piece] if piece < len(self._places) else None

    def secret_replies(self) -> list[int]:
        """The indices of the replies in which a placeholder stands for a secret, as ``replies`` gives them."""
        return self.replies(self.masked_pieces())

    def masked_pieces(self) -> list[int]:
        """The pieces beside the last one in which a placeholder stands for a secret."""
        pieces = enumerate(self.values[:-1])
        return [at for at, each in pieces if holds_secret(jsonio.dumps(each).decode())]

    def replies(self, pieces: Iterable[int]) -> list[int]:
        """The indices of those messages that are the assistant's, and that may be trained on; 0 for a text alone."""
        return sorted({self._places[piece] or 0 for piece in pieces if piece in self._replies})

    def whole(self) -> dict[str, Json]:
        """The record as its pieces are now, its members in the order that they had."""
        rest = iter(self._rest.items())
        return dict(self._member(name, member) or next(rest) for name, member in self._record.items())

    def _member(self, name: str, member: Json) -> tuple[str, Json] | None:
        """A member that is no part of the rest, as it is now."""
        if name in self._texts:
            return name, self._texts[name][name]
        return (name, member) if _are_turns(name, member) else None


def _are_turns(name: str, member: Json) -> bool:
    return name in _LISTS_OF_MESSAGES and isinstance(member, list) and all(isinstance(turn, dict) for turn in member)


def _is_reply(turn: Json) -> bool:
    return isinstance(turn, dict) and (turn.get("role") == "assistant" or turn.get("from") in ("gpt", "function_call"))
