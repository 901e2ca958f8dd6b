"""Detect replies that several files contain because forks and resumed sessions repeat the beginning of another session.

A reply is a copy if another file has one with the same id and content, or if both follow a shared prefix with the
same content and times, or without times but with the same call ids. Different times, or equal content by itself, are
not decisive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct
from xxhash import xxh3_128_digest

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Message, OriginReply
from chatsquash.formats.ancestry import LONG_ID
from chatsquash.trees.documents import FilePath, FileReply

_NOT_CONTEXT = ("system", "developer")
"""Roles of messages that may differ in a copy."""
_NEVER = 1 << 63


class SampledReply(NamedTuple):
    """Data that identifies a reply in other files."""

    number: int
    """As in ``FileReply``."""
    time: int | None
    keys: tuple[bytes, ...]
    """Digests of an id with the content, and of the beginning with its times; copies share at least one."""
    beginning: bytes | None
    """A digest of the beginning without times; ``None`` for a reply with a logged id."""


class LineageMember(Struct, frozen=True):
    """One of several files with a shared prefix."""

    name: str
    """The file name, which breaks ties."""
    session: str
    parents: tuple[str, ...]
    started: int | None
    """As in ``Ancestry``."""
    replies: list[SampledReply]


def sampled_replies(paths: Iterable[FilePath]) -> list[SampledReply]:
    """Return the identifying data of the replies in a file."""
    contents: dict[int, bytes] = {}
    replies: dict[int, SampledReply] = {}
    for path in paths:
        for each in _on_path(path, contents):
            replies.setdefault(each.number, each)
    return list(replies.values())


def _on_path(path: FilePath, contents: dict[int, bytes]) -> Iterator[SampledReply]:
    """Yield the replies on a path; ``contents`` caches digests by the ``id()`` of messages that paths share."""
    by_place: dict[int, tuple[FileReply, OriginReply]] = {
        evidence.at: (reply, evidence)
        for reply, evidence in zip(path.replies, path.origin.replies, strict=True)
        if evidence.at is not None
    }
    digest, timed_digest = b"", b""
    is_timed, is_identified = True, False
    for place, message in enumerate(path.conversation.messages):
        if message["role"] in _NOT_CONTEXT:
            continue
        content = contents.get(id(message)) or contents.setdefault(id(message), _content(message))
        digest = xxh3_128_digest(digest + content)
        timed_digest = xxh3_128_digest(timed_digest + content)
        if place not in by_place:
            continue
        reply, known = by_place[place]
        is_timed = is_timed and known.time is not None
        timed_digest = xxh3_128_digest(timed_digest + str(known.time).encode())
        ids = [*_ids(message, known)]
        is_identified = is_identified or _has_call_id(message)
        if is_identified and not ids and known.time is None:
            # After a unique call id, the history is unique as well.
            ids = [f"beginning {digest.hex()}"]
        keys = [xxh3_128_digest(name.encode("utf-8", "surrogatepass") + b"\n" + content) for name in ids]
        yield SampledReply(
            reply.number,
            known.time,
            tuple([*keys, timed_digest] if is_timed else keys),
            None if known.logged_id else digest,
        )


def _content(message: Message) -> bytes:
    """Return a digest of the text and calls of a message."""
    # The reasoning may be missing in copies.
    content = {name: message.get(name) for name in ("role", "content", "tool_calls", "tool_call_id")}
    return xxh3_128_digest(jsonio.dumps(content, sort_keys=True))


def _ids(message: Message, known: OriginReply) -> Iterator[str]:
    if known.logged_id:
        yield f"message {known.logged_id}"
    if known.response_id and known.time is not None:  # some services use one id for all responses
        yield f"response {known.response_id} {known.time}"
    if _has_call_id(message):
        yield f"calls {[call.get('id') for call in chat.calls(message)]}"


def _has_call_id(message: Message) -> bool:
    """Return whether a message has calls with ids that are unique across sessions."""
    ids = [call.get("id") for call in chat.calls(message)]
    return bool(ids) and all(isinstance(each, str) and len(each) >= LONG_ID for each in ids)


def copies(members: Sequence[LineageMember]) -> list[frozenset[int]]:
    """Return, for each file, the numbers of its replies that count in another file.

    A reply counts in the first file that contains it. Parents come before files that refer to them; then the file that
    started first, then the one with the earliest unique reply, then the first one by name.
    """
    owners: dict[bytes, int] = {}
    beginnings: dict[str, set[bytes]] = {}
    result: list[frozenset[int]] = [frozenset() for _ in members]
    for index in _in_order(members):
        member = members[index]
        parent_beginnings = set().union(*(beginnings.get(name, ()) for name in member.parents))
        numbers = set[int]()
        for reply in member.replies:
            if reply.beginning in parent_beginnings or any(owners.get(key, index) != index for key in reply.keys):
                numbers.add(reply.number)
        for reply in member.replies:
            for key in reply.keys:
                owners.setdefault(key, index)
        result[index] = frozenset(numbers)
        if member.session:
            known = beginnings.setdefault(member.session, set())
            known.update(each.beginning for each in member.replies if each.beginning)
    return result


def _in_order(members: Sequence[LineageMember]) -> list[int]:
    """Return the indices of files in the order in which they claim replies."""
    times = Counter(key for member in members for key in {key for reply in member.replies for key in reply.keys})
    sessions = {member.session: index for index, member in reversed([*enumerate(members)]) if member.session}
    own = [_first_own(member, times) for member in members]
    ranks: dict[int, tuple[int, int]] = {}

    def rank(index: int, visited: frozenset[int]) -> tuple[int, int]:
        """Return the start of a file, no earlier than that of its parents, and the number of generations before it."""
        if index not in ranks:
            started = members[index].started
            parents = {sessions[name] for name in members[index].parents if name in sessions} - visited - {index}
            above = [rank(parent, visited | {index}) for parent in parents]
            first = _NEVER if started is None else started
            ranks[index] = max([first, *(each[0] for each in above)]), max((each[1] + 1 for each in above), default=0)
        return ranks[index]

    return sorted(range(len(members)), key=lambda each: (*rank(each, frozenset()), own[each], members[each].name))


def _first_own(member: LineageMember, times: Counter[bytes]) -> int:
    """Return the time of the first reply that no other file contains."""
    own = (each.time for each in member.replies if each.time is not None and all(times[key] == 1 for key in each.keys))
    return min(own, default=_NEVER)
