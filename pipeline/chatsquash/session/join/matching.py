"""Match the replies in agent files with the replies in a gateway log."""

from __future__ import annotations

import glob
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from msgspec import Struct, field
from xxhash import xxh3_64_intdigest

from chatsquash.core import chat, jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import Message, OriginReply
from chatsquash.core.options import Options
from chatsquash.core.outcome import Relative
from chatsquash.core.reasoning import is_part
from chatsquash.formats.base import TurnError
from chatsquash.reading.documents import LogDocument
from chatsquash.reading.identify import read_document
from chatsquash.session.lineages import Lineages
from chatsquash.sources import relatives
from chatsquash.sources.open import open_file
from chatsquash.trees.canonical import is_long, normalized_arguments
from chatsquash.trees.documents import FilePath, Key, paths_of
from chatsquash.trees.replies import Reply


class AgentView(Struct, eq=False):
    """A conversation in an agent file."""

    number: int
    """The number of the conversation among all agent conversations of the session."""
    file: int
    """The number of the first conversation in its file."""
    place: FilePath

    @property
    def messages(self) -> list[Message]:
        """The messages of the conversation."""
        return self.place.conversation.messages

    @property
    def own_replies(self) -> list[int]:
        """The indices of the conversation's own replies, without copies that are counted in another file."""
        own = {reply for reply in self.place.own if not reply.is_copy}
        return [number for number, reply in enumerate(self.place.replies) if reply in own]

    def key(self, number: int) -> tuple[int, Key]:
        """Return the identity of a reply, which is the same in every conversation of its file that contains it."""
        return self.file, self.place.replies[number].key

    def reply(self, number: int) -> OriginReply:
        """Return the metadata of a reply."""
        return self.place.origin.replies[number]

    def message(self, number: int) -> Message | None:
        """Return the message of a reply."""
        at = self.reply(number).at
        return self.messages[at] if at is not None else None

    def keys(self, number: int) -> Keys | None:
        """Return the keys that identify a reply in other files."""
        message = self.message(number)
        return keys(message, self.reply(number).response_id) if message is not None else None

    def results(self) -> Iterator[tuple[str, Message]]:
        """Yield the results in the conversation with the ids of their calls."""
        for message in self.messages:
            if call_id := answered_call_id(message):
                yield call_id, message


def read_views(agents: Iterable[Log], options: Options, lineages: Lineages | None = None) -> list[AgentView]:
    """Read the conversations to join; files that are no longer readable are skipped."""
    result: list[AgentView] = []
    numbered_logs = enumerate(agents)
    for _, group in groupby(numbered_logs, key=lambda each: (each[1].path, each[1].unit)):
        logs = [*group]
        number, log = logs[0]
        places = _places(log, options, lineages)
        parts = ((at, each.part or 0) for at, each in logs)
        result += [AgentView(at, number, places[part]) for at, part in parts if part < len(places)]
    return result


def mark_elsewhere(document: LogDocument, elsewhere: Iterable[int]) -> None:
    """Mark the replies of an unjoined document that a gateway logged, given their keys."""
    known = frozenset(elsewhere)
    for path in paths_of(document):
        view = AgentView(0, 0, path)
        for number, reply in enumerate(path.replies):
            names = view.keys(number)
            reply.is_copy |= names is not None and not known.isdisjoint((*names.ids, names.content_hash))


def fingerprint_files(agents: Iterable[Log]) -> list[Relative]:
    """Return the current state of the agent files."""
    paths = dict.fromkeys(relatives.absolute(each.display_path) for each in agents)
    return [relatives.inspect_relatives(glob.escape(path)) for path in paths]


def _places(log: Log, options: Options, lineages: Lineages | None) -> list[FilePath]:
    try:
        with open_file(log.path, options) as file:
            # Not cached: the cached document is released when the next file is read, but its paths stay in use.
            document = read_document(file, options, log.unit)
    except (OSError, TurnError):
        return []
    if document is None:
        return []
    if lineages:
        lineages.mark(document, log)
    return paths_of(document)


_LONG_ID = 16
"""The minimum length of a call id that is considered unique across sessions."""


class Keys(NamedTuple):
    """64-bit hashes that identify a reply."""

    ids: tuple[int, ...]
    """Hashes of the ids of its response and its calls, which occur in only one session."""
    content_hash: int
    """Hash of its text and calls, without reasoning."""
    is_distinctive: bool
    """Whether the content is unlikely to occur in another session."""


def keys(message: Message, response: str | None) -> Keys:
    """Compute the keys of a reply; ``response`` is the id of its response, if known."""
    text, calls = _text(message).strip(), [*_calls(message)]
    content = [text, [[name, arguments] for _, name, arguments in calls]]
    ids = [response or "", *(call_id for call_id, _, _ in calls if len(call_id) >= _LONG_ID)]
    return Keys(tuple(map(_hash_id, filter(None, ids))), _hash(jsonio.dumps(content)), bool(calls) or is_long(text))


def content_hash(message: Message) -> int:
    """Hash the text and the calls of a message."""
    return keys(message, None).content_hash


def call_ids(message: Message) -> Iterator[str]:
    """Yield the ids of a message's calls."""
    return (call_id for call_id, _, _ in _calls(message) if call_id)


def answered_call_id(message: Message) -> str:
    """Return the id of the call that a result answers, or an empty string for other messages."""
    call_id = message.get("tool_call_id") if message["role"] == "tool" else None
    return call_id if isinstance(call_id, str) else ""


def _text(message: Message) -> str:
    content = message.get("content")
    if not isinstance(content, list):
        return chat.text(message) or ""
    return "".join(chat.part_text(part) or "" for part in content if not is_part(part))


def _calls(message: Message) -> Iterator[tuple[str, str | None, str]]:
    for call in chat.calls(message):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else call
        call_id = call.get("id")
        yield (
            call_id if isinstance(call_id, str) else "",
            chat.call_name(call),
            normalized_arguments(arguments).decode("utf-8", "replace"),
        )


def _hash_id(name: str) -> int:
    return _hash(name.encode("utf-8", "surrogatepass"))


def _hash(data: bytes) -> int:
    return xxh3_64_intdigest(data) or 1


ReplyKey = tuple[int, Key]
_Unmatched = tuple[AgentView, int, int]
"""A conversation, the index of a reply in it that no id matches, and the hash of its content."""


class Matching(Struct):
    """The replies on both sides, and those in another gateway session."""

    replies: dict[ReplyKey, Reply] = field(default_factory=dict)
    elsewhere: set[ReplyKey] = field(default_factory=set)
    different: list[Reply] = field(default_factory=list)
    """Replies whose text differs in the agent's file."""

    def is_open(self, key: ReplyKey) -> bool:
        """Return whether only the agent logged a reply."""
        return key not in self.replies and key not in self.elsewhere

    def add(self, key: ReplyKey, reply: Reply, content: int) -> None:
        """Match a reply; ``content`` is the hash of its content in the agent's file."""
        self.replies[key] = reply
        if content_hash(reply.message) != content:
            self.different.append(reply)


def match_replies(logged_replies: list[Reply], views: list[AgentView], elsewhere: Iterable[int]) -> Matching:
    """Match replies by ids, then by content, then by their position between two matched replies.

    Args:
        logged_replies: The replies in the gateway's log.
        views: The agent's conversations.
        elsewhere: The keys of replies that other sessions contain.
    """
    matching, others = Matching(), frozenset(elsewhere)
    by_id: dict[int, Reply] = {}
    for reply in logged_replies:
        for name in keys(reply.message, reply.response).ids:
            by_id.setdefault(name, reply)
    matched_numbers = set[int]()
    unmatched: list[_Unmatched] = []
    for view, number in _own_replies(views):
        keys_of_reply = view.keys(number)
        if keys_of_reply is None:
            continue
        key = view.key(number)
        same = next((by_id[name] for name in keys_of_reply.ids if name in by_id), None)
        if same:
            matched_numbers.add(same.number)
            matching.add(key, same, keys_of_reply.content_hash)
        elif others.isdisjoint((*keys_of_reply.ids, keys_of_reply.content_hash)):
            unmatched.append((view, number, keys_of_reply.content_hash))
        else:
            matching.elsewhere.add(key)
    _match_content(logged_replies, unmatched, matching, matched_numbers)
    _match_between(views, matching, matched_numbers)
    return matching


def _match_content(
    logged_replies: list[Reply], unmatched: list[_Unmatched], matching: Matching, matched_numbers: set[int]
) -> None:
    """Match replies with equal content: first equal histories, then equal prompts, then others."""
    if not unmatched:
        return
    by_level: list[dict[int, deque[Reply]]] = [{} for _ in range(LEVELS)]
    for reply, known in zip(logged_replies, contexts_of_replies(logged_replies), strict=True):
        for replies, name in zip(by_level, known, strict=True):
            replies.setdefault(name, deque()).append(reply)
    views = {id(view): view for view, _, _ in unmatched}
    contexts = {name: contexts_of_view(view) for name, view in views.items()}
    for level, replies in enumerate(by_level):
        for view, number, content in unmatched:
            key = view.key(number)
            same = replies.get(contexts[id(view)][number][level]) if matching.is_open(key) else None
            # Skip replies already matched by id or at a more specific level.
            while same and same[0].number in matched_numbers:
                same.popleft()
            if same:
                matched_numbers.add(same[0].number)
                matching.add(key, same.popleft(), content)


def _own_replies(views: list[AgentView]) -> Iterator[tuple[AgentView, int]]:
    return ((view, number) for view in views for number in view.own_replies)


def _match_between(views: list[AgentView], matching: Matching, matched_numbers: set[int]) -> None:
    """Match the replies between two matched ones if both sides have the same number of them."""
    for view in views:
        known = [number for number in range(view.place.length) if view.key(number) in matching.replies]
        for first, last in pairwise(known):
            between = [number for number in range(first + 1, last) if matching.is_open(view.key(number))]
            if len(between) != last - first - 1:
                continue
            ends = matching.replies[view.key(first)], matching.replies[view.key(last)]
            for number, reply in zip(between, _path_between(*ends, len(between)), strict=False):
                keys_of_reply = view.keys(number)
                if keys_of_reply and reply.number not in matched_numbers:
                    matched_numbers.add(reply.number)
                    matching.add(view.key(number), reply, keys_of_reply.content_hash)


def _path_between(first: Reply, last: Reply, count: int) -> list[Reply]:
    """Return the replies on the path from one reply to another if there are exactly ``count``, else none."""
    path: list[Reply] = []
    reply = last.parent
    while reply and reply is not first and len(path) <= count:
        path.append(reply)
        reply = reply.parent
    return path[::-1] if reply is first and len(path) == count else []


_BITS = (1 << 64) - 1

Context = tuple[int, ...]
"""Hashes that identify a reply, most specific first: with its history and prompt, with its prompt, and without."""
LEVELS = 3


def contexts_of_replies(replies: list[Reply]) -> Iterator[Context]:
    """Yield the context of each reply in a session."""
    # Hashes are chained from reply to reply, so that a long history is not hashed again for every reply.
    chains: dict[int, int] = {}
    for reply in replies:
        path: list[Reply] = []
        above: Reply | None = reply
        while above and above.number not in chains:
            path.append(above)
            above = above.parent
        chain = chains[above.number] if above else 0
        for each in reversed(path):
            chain = _chain(chain, [*each.new_messages, each.message])
            chains[each.number] = chain
        yield _context(chains[reply.number], reply.new_messages, reply.message)


def contexts_of_view(view: AgentView) -> dict[int, Context]:
    """Return the contexts of a conversation's own replies by index."""
    contexts: dict[int, Context] = {}
    own_replies, chain, begin = frozenset(view.own_replies), 0, 0
    places = ((view.reply(number).at, number) for number in range(view.place.length))
    for at, number in sorted((at, number) for at, number in places if at is not None):
        chain = _chain(chain, view.messages[begin : at + 1])
        begin = max(begin, at + 1)
        if number in own_replies:
            contexts[number] = _context(chain, view.messages[max(0, at - 1) : at], view.messages[at])
    return contexts


def _chain(chain: int, messages: Iterable[Message]) -> int:
    for message in messages:
        if message["role"] == "assistant":
            chain = _both(chain, content_hash(message))
    return chain


def _context(chain: int, before: list[Message], reply: Message) -> Context:
    content = content_hash(reply)
    answers = _both(content_hash(before[-1]), content) if before else content
    return _both(chain, answers), answers, content


def _both(one: int, other: int) -> int:
    return hash((one, other)) & _BITS
