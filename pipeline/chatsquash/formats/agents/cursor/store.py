"""CLI sessions: messages stored by hash, and roots that list them."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, ConversationKind, Json
from chatsquash.formats.agents.cursor.messages import MODEL, is_summary, named_model, turns
from chatsquash.formats.base import TurnError, expect_object
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, load_conversation, member_path, span
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.values import Object, as_list, compact, members, string, without_prefixes

_STORE = ("agentId", "latestRootBlobId", "createdAt", MODEL, "messages", "lists", "unread")
_HIDDEN = "blobEncryptionKey"
"""A metadata member that is not reported as unread."""
_PLAIN = ("agentId", "latestRootBlobId", "createdAt", MODEL)
_ROLES = ("system", "user", "assistant", "tool")


def is_one(value: Json) -> bool:
    """Return whether an object was returned by ``from_rows``."""
    return isinstance(value, dict) and value.keys() >= {"latestRootBlobId", "messages", "lists"}


# Reading the rows


def from_rows(meta: list[Object], blobs: list[Object]) -> list[Json]:
    """Return an object with the messages of a store and the message list of each root, last root first.

    Raises:
        TurnError: if the last root or one of its messages is missing
    """
    known = _metadata(meta)
    last = string(known, "latestRootBlobId")
    if not last:
        return []
    data_by_id = {row["id"]: _bytes(row.get("data")) for row in blobs if isinstance(row.get("id"), str)}
    if last not in data_by_id:
        raise TurnError("the store has no blob for its latestRootBlobId")
    reader = _BlobReader(data_by_id)
    first, fields = reader.list_of(last)
    lists = [first, *(earlier for blob in data_by_id if blob != last and (earlier := reader.earlier(blob)))]
    messages = {ident: reader.message(ident) for each in lists for ident in each}
    unread = {member_path("store", name): 1 for name in sorted(known) if name not in (*_PLAIN, _HIDDEN)}
    unread |= {f"root.field {number}": count for number, count in fields.items()}
    plain = {name: known[name] for name in _PLAIN if name in known}
    return [{**plain, "messages": messages, "lists": lists, "unread": unread}]


def _metadata(rows: list[Object]) -> Object:
    """Parse the value in the metadata table, which is usually hexadecimal JSON."""
    row = next((row for row in rows if row.get("key") == "0"), rows[0] if rows else None)
    data = _bytes(row.get("value")) if row else b"{}"
    try:
        data = data if data.lstrip()[:1] == b"{" else bytes.fromhex(data.decode("ascii"))
        value = jsonio.loads(data)
    except (ValueError, RecursionError):
        raise TurnError("the metadata of the store is not valid JSON") from None
    return expect_object(value, "the metadata of the store is")


def _bytes(cell: Json) -> bytes:
    if isinstance(cell, str):
        return cell.encode("utf-8", "surrogateescape")
    return cell if isinstance(cell, bytes) else b""


class _BlobReader:
    """The blobs by id, with a cache of the parsed messages."""

    def __init__(self, blobs: dict[str, bytes]) -> None:
        self._blobs = blobs
        self._messages: dict[str, Object | None] = {}
        self._ids = {raw: ident for ident in blobs if (raw := _hash(ident))}

    def message(self, ident: str) -> Object | None:
        """Return a message, or ``None`` for other blobs."""
        if ident not in self._messages:
            data = self._blobs[ident]
            value = jsonio.value(data) if data[:1] == b"{" else None
            is_message = isinstance(value, dict) and value.get("role") in _ROLES
            self._messages[ident] = value if is_message else None
        return self._messages[ident]

    def list_of(self, last: str) -> tuple[list[str], dict[int, int]]:
        """Return the messages and the other fields of the last root; all its messages must exist."""
        fields = root(self._blobs[last])
        if fields is None:
            raise TurnError("the last root of the store is not a protobuf message")
        idents = []
        for number, raw in enumerate(fields.references):
            ident = self._ids.get(raw)
            if ident is None or self.message(ident) is None:
                raise TurnError(f"the store has no message for reference {number} of its last root")
            idents.append(ident)
        return idents, fields.others

    def earlier(self, blob: str) -> list[str]:
        """Return the messages of an earlier root, or an empty list for other blobs."""
        data = self._blobs[blob]
        # A root begins with a reference: field 1 with a length of 32 bytes.
        fields = root(data) if data[:2] == b"\x0a\x20" else None
        idents = [self._ids.get(raw, "") for raw in fields.references] if fields else []
        return idents if all(ident and self.message(ident) for ident in idents) else []


def _hash(ident: str) -> bytes:
    """Return the bytes of a hexadecimal id, or empty bytes for other ids."""
    try:
        return bytes.fromhex(ident)
    except ValueError:
        return b""


# Reading the object


def conversations(place: str, line: int, value: Object, unread: Unread) -> list[Conversation]:
    """Return the conversation of the last root, then of each earlier root that no other root continues."""
    unread.count_members("store", value, *_STORE)
    for name, count in members(value.get("unread")).items():
        # The object may come from a file, so the counts are limited.
        for _ in range(count if type(count) is int and 0 < count <= 1_000 else 1):
            unread.count(name)
    lists = _lists(place, value)
    known = {"session_id": string(value, "agentId") or None} | span(value.get("createdAt"), None)
    model = string(value, MODEL)
    converted = []
    for number, era in enumerate(eras(lists)):
        turns = _turns_of(f"{place}, list {number + 1}", line, era, model, Unread() if number else unread)
        links = {"id": era.id, "kind": era.kind, "parent": era.parent}
        converted.append(load_conversation(openai_chat, turns, **known, **links))
    return converted


def _lists(place: str, value: Object) -> list[list[StoredMessage]]:
    """Return the lists with ids replaced by messages."""
    messages, lists = value.get("messages"), value.get("lists")
    if not isinstance(messages, dict) or not isinstance(lists, list):
        raise TurnError(f"{place} has no messages or no lists of them")
    by_id = {
        ident: stored_message(each, is_summary(each)) for ident, each in messages.items() if isinstance(each, dict)
    }
    message_lists = []
    for number, idents in enumerate(lists):
        if not isinstance(idents, list) or not all(isinstance(each, str) and each in by_id for each in idents):
            raise TurnError(f"{place}: list {number + 1} refers to messages that do not exist")
        message_lists.append([by_id[ident] for ident in idents])
    return message_lists


def _turns_of(place: str, line: int, era: MessageView, last_model: str, unread: Unread) -> list[LoggedTurn]:
    turns_of = []
    for number, item in enumerate(era.messages):
        message = item.message
        is_sampled = message.get("role") == "assistant" and number not in era.copied_places and not item.is_summary
        model = named_model(message) or last_model or None
        options = members(members(message.get("providerOptions")).get("cursor"))
        known = Evidence(line, None, True, model, response_id=string(options, "modelProviderMessageId") or None)
        where = f"{place}, message {number + 1}"
        message_turns = turns(message, model or "", unread)
        turns_of += [LoggedTurn(where, turn, known if is_sampled else Evidence(line)) for turn in message_turns]
    return turns_of


_REFERENCE = 32
"""The size in bytes of a reference, which is the hash of a blob."""
_LONGEST = 10
"""The maximum size in bytes of a variable-length number."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class RootFields(NamedTuple):
    """The fields of a root."""

    references: list[bytes]
    """The hashes in the first field, in order."""
    others: dict[int, int]
    """The number of occurrences of each other field."""


def root(data: bytes) -> RootFields | None:
    """Parse the fields of a root, which is a protobuf message; return ``None`` for other data."""
    references, others, at = list[bytes](), Counter[int](), 0
    while at < len(data):
        key, at = _number(data, at)
        kind, number = key & 7, key >> 3
        if key < 0 or not number:
            return None
        if kind == _BYTES:
            length, at = _number(data, at)
            if length < 0 or at + length > len(data):
                return None
            if number == 1 and length == _REFERENCE:
                references.append(data[at : at + length])
            else:
                others[number] += 1
            at += length
            continue
        others[number] += 1
        at = _skip_value(data, at, kind)
        if not 0 < at <= len(data):
            return None
    return RootFields(references, dict(sorted(others.items())))


def _skip_value(data: bytes, at: int, kind: int) -> int:
    """Return the offset after a number or a fixed-length value; -1 for other values."""
    if kind == _VARINT:
        value, at = _number(data, at)
        return at if value >= 0 else -1
    return at + 8 if kind == _FIXED64 else at + 4 if kind == _FIXED32 else -1


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Parse a variable-length number, and return it (-1 if it is not terminated) and the offset after it."""
    value = 0
    for shift, byte in enumerate(data[at : at + _LONGEST]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    return -1, at


_MOST_COMPARED = 20
"""The maximum number of continuations with which the last message of a list is compared."""


class StoredMessage(NamedTuple):
    """A message, and its key for comparisons."""

    message: Object
    key: bytes
    is_summary: bool
    """Whether it replaces compacted messages."""


class MessageView(NamedTuple):
    """The messages of a conversation."""

    messages: list[StoredMessage]
    id: str
    kind: ConversationKind
    parent: str | None
    copied_places: frozenset[int]
    """The indices of messages copied from an earlier conversation."""


def stored_message(message: Object, is_summary: bool) -> StoredMessage:
    """Return a message with its key, which ignores members that change later."""
    key = compact([message.get("role"), message.get("content")]).encode("utf-8", "surrogatepass")
    return StoredMessage(message, blake2b(key, digest_size=16).digest(), is_summary)


def eras(lists: list[list[StoredMessage]]) -> list[MessageView]:
    """Return the first list, then the lists before compactions, then branches, in order of creation.

    Lists that another list continues are skipped, even if they end with an incomplete version of a reply in it.
    """
    if not lists or not lists[0]:
        return []
    first, *others = [lists[0], *_independent(lists)]
    own = _summaries(first)
    before: dict[tuple[bytes, ...], list[StoredMessage]] = {}
    branches: list[tuple[tuple[bytes, ...], list[StoredMessage]]] = []
    for each in others:
        summaries = _summaries(each)
        if summaries in before:
            branches.append((summaries, before[summaries]))
        if summaries == own:
            branches.append((summaries, each))
        else:
            before[summaries] = each  # the last list between two compactions
    names = {summaries: str(number) for number, summaries in enumerate([own, *before], 1)}
    has_others = bool(before or branches)
    order = [*before, own]
    views = [_era(first, "1" if has_others else "", names, order, before)]
    views += [_era(each, names[summaries], names, order, before) for summaries, each in before.items()]
    for number, (summaries, each) in enumerate(branches, len(names) + 1):
        era = _era(each, str(number), names, order, before)
        views.append(era._replace(kind="branch", parent=names[summaries]))
    return views


def _era(
    messages: list[StoredMessage],
    name: str,
    names: dict[tuple[bytes, ...], str],
    order: list[tuple[bytes, ...]],
    before: dict[tuple[bytes, ...], list[StoredMessage]],
) -> MessageView:
    """Return a conversation of a sequence in which each conversation starts with a summary of the previous one."""
    summaries = _summaries(messages)
    at = order.index(summaries)
    if not summaries:
        return MessageView(messages, name, "main", None, frozenset())
    previous = order[at - 1] if at else None
    known = {each_message.key for each_message in before[previous]} if previous is not None else set[bytes]()
    copied_places = frozenset(number for number, each in enumerate(messages) if each.key in known)
    return MessageView(messages, name, "compacted", names[previous] if previous is not None else None, copied_places)


def _summaries(messages: list[StoredMessage]) -> tuple[bytes, ...]:
    return tuple(each_message.key for each_message in messages if each_message.is_summary)


def _independent(lists: list[list[StoredMessage]]) -> list[list[StoredMessage]]:
    """Return the lists, except the first, that are neither prefixes nor earlier states of another list."""
    # Prefixes are identified by their digests, so that the last message can be compared with its alternatives.
    distinct = without_prefixes([[each.key for each in messages] for messages in lists])
    following: dict[bytes, dict[bytes, StoredMessage]] = {}
    ends: dict[int, bytes] = {}
    for place in distinct:
        prefix_hash = blake2b(digest_size=16)
        for number, each in enumerate(lists[place]):
            if number == len(lists[place]) - 1:
                ends[place] = prefix_hash.digest()
            then = following.setdefault(prefix_hash.digest(), {})
            if len(then) < _MOST_COMPARED:
                then.setdefault(each.key, each)
            prefix_hash.update(each.key)
    return [
        lists[place] for place in distinct if place and not _is_incomplete(lists[place][-1], following[ends[place]])
    ]


def _is_incomplete(last: StoredMessage, others: dict[bytes, StoredMessage]) -> bool:
    """Return whether the last message of a list is an incomplete state of another message."""
    return any(key != last.key and _is_beginning(last.message, each.message) for key, each in others.items())


def _is_beginning(message: Object, other: Object) -> bool:
    """Return whether an assistant message is the beginning of another assistant message."""
    if not message.get("role") == other.get("role") == "assistant":
        return False
    parts, longer = as_list(message.get("content")), as_list(other.get("content"))
    if not parts:
        return True
    *parts_before, last = parts
    if longer[: len(parts_before)] != parts_before or len(longer) < len(parts):
        return False
    return bool(last == longer[len(parts_before)] or _text(longer[len(parts_before)]).startswith(_text(last) or "\0"))


def _text(part: Json) -> str:
    return part if isinstance(part, str) else string(part, "text")
