"""The replies of agents' files that a session is joined with, and which reply of the gateway's log each of them is."""

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
from chatsquash.reading.identify import document_in
from chatsquash.session.lineages import Lineages
from chatsquash.sources import relatives
from chatsquash.sources.open import open_file
from chatsquash.trees.canonical import is_long, normalized_arguments
from chatsquash.trees.documents import FilePath, Key, paths_of
from chatsquash.trees.replies import Reply


class AgentView(Struct, eq=False):
    """A conversation in an agent's file."""

    number: int
    """Which of the agents of the session it is."""
    file: int
    """The number of the first conversation of its file."""
    place: FilePath

    @property
    def messages(self) -> list[Message]:
        """What is said in it."""
        return self.place.conversation.messages

    @property
    def own(self) -> list[int]:
        """Which of its replies belong to it, without those that another file counts."""
        own = {reply for reply in self.place.own if not reply.is_copy}
        return [number for number, reply in enumerate(self.place.replies) if reply in own]

    def key(self, number: int) -> tuple[int, Key]:
        """What tells one of its replies from all others, whichever conversations of its file hold it."""
        return self.file, self.place.replies[number].key

    def reply(self, number: int) -> OriginReply:
        """What the file says of one of its replies."""
        return self.place.origin.replies[number]

    def said(self, number: int) -> Message | None:
        """The message of one of its replies."""
        at = self.reply(number).at
        return self.messages[at] if at is not None else None

    def keys(self, number: int) -> Keys | None:
        """By what a reply is known in other files."""
        message = self.said(number)
        return keys(message, self.reply(number).response_id) if message is not None else None

    def results(self) -> Iterator[tuple[str, Message]]:
        """The results in it, by the ids of their calls."""
        for message in self.messages:
            if call_id := answered_call_id(message):
                yield call_id, message


def views(agents: Iterable[Log], options: Options, lineages: Lineages | None = None) -> list[AgentView]:
    """The conversations that are joined; of a file that cannot be read any more there are none."""
    joined: list[AgentView] = []
    numbered = enumerate(agents)
    for _, group in groupby(numbered, key=lambda each: (each[1].path, each[1].unit)):
        logs = [*group]
        number, log = logs[0]
        places = _places(log, options, lineages)
        parts = ((at, each.part or 0) for at, each in logs)
        joined += [AgentView(at, number, places[part]) for at, part in parts if part < len(places)]
    return joined


def mark_elsewhere(document: LogDocument, elsewhere: Iterable[int]) -> None:
    """Mark the replies of a document that no session is joined with, but that a gateway logged by these keys."""
    known = frozenset(elsewhere)
    for path in paths_of(document):
        view = AgentView(0, 0, path)
        for number, reply in enumerate(path.replies):
            names = view.keys(number)
            reply.is_copy |= names is not None and not known.isdisjoint((*names.ids, names.said))


def looked_at(agents: Iterable[Log]) -> list[Relative]:
    """The files of agents, as they are now."""
    paths = dict.fromkeys(relatives.absolute(each.display_path) for each in agents)
    return [relatives.look(glob.escape(path)) for path in paths]


def _places(log: Log, options: Options, lineages: Lineages | None) -> list[FilePath]:
    try:
        with open_file(log.path, options) as file:
            document = document_in(file, options, log.unit)
    except (OSError, TurnError):
        return []
    if document is None:
        return []
    if lineages:
        lineages.mark(document, log)
    return paths_of(document)


_LONG_ID = 16
"""Characters from which on an id of a call is one that no other session has."""


class Keys(NamedTuple):
    """Numbers of 64 bits by which a reply is known."""

    ids: tuple[int, ...]
    """Those of its response and of its calls; sessions have none of them in common."""
    said: int
    """That of what it says and calls, without its reasoning."""
    is_telling: bool
    """Whether no other session says that by chance."""


def keys(message: Message, response: str | None) -> Keys:
    """The keys of a reply, given the id of its response, if that has one."""
    text, calls = _text(message).strip(), [*_calls(message)]
    content = [text, [[name, arguments] for _, name, arguments in calls]]
    ids = [response or "", *(call_id for call_id, _, _ in calls if len(call_id) >= _LONG_ID)]
    return Keys(tuple(map(_number, filter(None, ids))), _digest(jsonio.dumps(content)), bool(calls) or is_long(text))


def said(message: Message) -> int:
    """The number of what a message says and calls."""
    return keys(message, None).said


def call_ids(message: Message) -> Iterator[str]:
    """The ids of a message's calls."""
    return (call_id for call_id, _, _ in _calls(message) if call_id)


def answered_call_id(message: Message) -> str:
    """The id of the call that a message is the result of; empty for none."""
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


def _number(name: str) -> int:
    return _digest(name.encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> int:
    return xxh3_64_intdigest(data) or 1


ReplyKey = tuple[int, Key]
_Left = tuple[AgentView, int, int]
"""A conversation, the number of a reply in it that nothing tells by an id, and the number of what that says."""


class Matching(Struct):
    """The replies that both sides have, and those that another session of a gateway has."""

    replies: dict[ReplyKey, Reply] = field(default_factory=dict)
    elsewhere: set[ReplyKey] = field(default_factory=set)
    differing: list[Reply] = field(default_factory=list)
    """Replies that say something else in the agent's file."""

    def is_open(self, key: ReplyKey) -> bool:
        """Whether nobody logged a reply but the agent."""
        return key not in self.replies and key not in self.elsewhere

    def take(self, key: ReplyKey, reply: Reply, content: int) -> None:
        """Note that a reply is the same as one that says something by its number."""
        self.replies[key] = reply
        if said(reply.message) != content:
            self.differing.append(reply)


def match_replies(logged: list[Reply], joined: list[AgentView], elsewhere: Iterable[int]) -> Matching:
    """Match replies by ids, then by what they say, then by their place between two that are matched.

    ``elsewhere`` are keys of replies that other sessions have.
    """
    matching, others = Matching(), frozenset(elsewhere)
    by_id: dict[int, Reply] = {}
    for reply in logged:
        for name in keys(reply.message, reply.response).ids:
            by_id.setdefault(name, reply)
    taken = set[int]()
    left: list[_Left] = []
    for view, number in _own(joined):
        known_here = view.keys(number)
        if known_here is None:
            continue
        key = view.key(number)
        same = next((by_id[name] for name in known_here.ids if name in by_id), None)
        if same:
            taken.add(same.number)
            matching.take(key, same, known_here.said)
        elif others.isdisjoint((*known_here.ids, known_here.said)):
            left.append((view, number, known_here.said))
        else:
            matching.elsewhere.add(key)
    _match_said(logged, left, matching, taken)
    _fill(joined, matching, taken)
    return matching


def _match_said(logged: list[Reply], left: list[_Left], matching: Matching, taken: set[int]) -> None:
    """Match replies that say the same: first where all before them is the same, then what they answer, then others."""
    if not left:
        return
    waiting: list[dict[int, deque[Reply]]] = [{} for _ in range(LEVELS)]
    for reply, known in zip(logged, contexts_of_replies(logged), strict=True):
        for replies, name in zip(waiting, known, strict=True):
            replies.setdefault(name, deque()).append(reply)
    views = {id(view): view for view, _, _ in left}
    there = {name: contexts_of_view(view) for name, view in views.items()}
    for level, replies in enumerate(waiting):
        for view, number, content in left:
            key = view.key(number)
            same = replies.get(there[id(view)][number][level]) if matching.is_open(key) else None
            while same and same[0].number in taken:
                same.popleft()
            if same:
                taken.add(same[0].number)
                matching.take(key, same.popleft(), content)


def _own(joined: list[AgentView]) -> Iterator[tuple[AgentView, int]]:
    return ((view, number) for view in joined for number in view.own)


def _fill(joined: list[AgentView], matching: Matching, taken: set[int]) -> None:
    """Match replies between two that are matched, where both sides have as many there."""
    for view in joined:
        known = [number for number in range(view.place.length) if view.key(number) in matching.replies]
        for first, last in pairwise(known):
            between = [number for number in range(first + 1, last) if matching.is_open(view.key(number))]
            if len(between) != last - first - 1:
                continue
            ends = matching.replies[view.key(first)], matching.replies[view.key(last)]
            for number, reply in zip(between, _between(*ends, len(between)), strict=False):
                known_here = view.keys(number)
                if known_here and reply.number not in taken:
                    taken.add(reply.number)
                    matching.take(view.key(number), reply, known_here.said)


def _between(first: Reply, last: Reply, count: int) -> list[Reply]:
    """The replies on the way from one to another, if they are so many; else none."""
    way: list[Reply] = []
    reply = last.parent
    while reply and reply is not first and len(way) <= count:
        way.append(reply)
        reply = reply.parent
    return way[::-1] if reply is first and len(way) == count else []


_BITS = (1 << 64) - 1

Context = tuple[int, ...]
"""Numbers by which a reply is known, the most telling one first: what assistants said before, what it answers, and what
it says."""
LEVELS = 3


def contexts_of_replies(replies: list[Reply]) -> Iterator[Context]:
    """The context of each of a session's replies."""
    chains: dict[int, int] = {}
    for reply in replies:
        way: list[Reply] = []
        above: Reply | None = reply
        while above and above.number not in chains:
            way.append(above)
            above = above.parent
        chain = chains[above.number] if above else 0
        for each in reversed(way):
            chain = _chain(chain, [*each.new_messages, each.message])
            chains[each.number] = chain
        yield _context(chains[reply.number], reply.new_messages, reply.message)


def contexts_of_view(view: AgentView) -> dict[int, Context]:
    """The contexts of a conversation's own replies, by their numbers."""
    contexts: dict[int, Context] = {}
    own, chain, begin = frozenset(view.own), 0, 0
    places = ((view.reply(number).at, number) for number in range(view.place.length))
    for at, number in sorted((at, number) for at, number in places if at is not None):
        chain = _chain(chain, view.messages[begin : at + 1])
        begin = max(begin, at + 1)
        if number in own:
            contexts[number] = _context(chain, view.messages[max(0, at - 1) : at], view.messages[at])
    return contexts


def _chain(chain: int, messages: Iterable[Message]) -> int:
    for message in messages:
        if message["role"] == "assistant":
            chain = _both(chain, said(message))
    return chain


def _context(chain: int, before: list[Message], reply: Message) -> Context:
    content = said(reply)
    answers = _both(said(before[-1]), content) if before else content
    return _both(chain, answers), answers, content


def _both(one: int, other: int) -> int:
    return hash((one, other)) & _BITS
