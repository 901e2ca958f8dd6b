"""The conversations of a session: the paths of its trees, their kinds, parents and ids, and which become records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from itertools import chain, islice, takewhile
from typing import Any

from chatsquash.core import chat, jsonio
from chatsquash.core.model import ConversationKind, Message
from chatsquash.core.options import Options
from chatsquash.trees.calls import equal_calls, returning
from chatsquash.trees.canonical import is_long
from chatsquash.trees.forks import find_later_calls, is_fork, separate_forks
from chatsquash.trees.links import Link, is_tail
from chatsquash.trees.paths import assign_replies, is_selected, longest_chain, set_kinds, sort_members
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.sides import Sides, inside
from chatsquash.trees.trees import Trees

_NAMED = 8
"""Short replies at the end of a conversation that its id depends on."""
_ANSWERS = 8
"""Replies of a sub-agent that its call's result is compared with."""


def conversations(trees: Trees) -> list[LogPath]:
    """All conversations of trees, in the order in which they end, as another file tells of them where there is one."""
    members = paths(trees.replies, trees.links)
    if trees.revise:
        trees.revise(members)
    return members


def paths(replies: list[Reply], links: list[Link]) -> list[LogPath]:
    """All conversations, in the order in which they end; each reply that was not retried belongs to one."""
    separate_forks(replies, links)
    find_later_calls(replies, links)
    says_ends = any(reply.is_ended for reply in replies)
    for reply in replies:
        reply.is_retried = reply.is_continued or (reply.is_resent and reply.broke_off(says_ends=says_ends))
    leaves, sides = _leaves(replies)
    replaced = {reply.parent.number for reply in replies if reply.wording and reply.parent and reply not in sides}
    trees: dict[int, list[LogPath]] = {}
    for reply in sorted(leaves, key=lambda reply: reply.tree):  # a fork follows what it leaves, which has its history
        kind: ConversationKind = "side" if reply in sides else "branch"
        path = LogPath(last=reply, kind=kind, is_abandoned=reply.number in replaced)
        trees.setdefault(reply.tree, []).append(path)
    _count(replies, trees.values())
    shapes = _Shapes(replies, links, trees)
    for tree, members in trees.items():
        sort_members(members)
        set_kinds(members, shapes.kind(tree, members[0]))
        shapes.set_equal_calls(tree, members)
    owners = assign_replies(trees.values())
    trunks = {tree: members[0] for tree, members in trees.items()}
    for tree, trunk in trunks.items():
        trunk.parent = shapes.parent(tree, trunk, owners, trunks)
        for path in trees[tree]:
            path.parent = trunk.parent if path.kind == "subagent" else path.parent
    return sorted(chain.from_iterable(trees.values()), key=lambda path: path.last.number)


def _leaves(replies: list[Reply]) -> tuple[list[Reply], set[Reply]]:
    """The replies that conversations end with, and those of them that are to requests of the client's own."""
    sides = inside(replies)
    going_on = {reply.number: reply.children for reply in replies}
    for reply in replies:
        if reply.wording and reply.parent:  # which ends a conversation in which its replies have their context
            going_on[reply.parent.number] -= 1
            if reply.intact:
                going_on[reply.intact.number] += 1
    ended = [reply for reply in replies if not going_on[reply.number] and (reply in sides or reply.is_retried)]
    for reply in ended:
        if before := reply.preceding:
            going_on[before.number] -= 1
            if before.is_summary and not going_on[before.number]:  # which was corrected
                ended.append(before)
    aside = {reply.number for reply in ended} - {reply.number for reply in sides}
    ends = [reply for reply in replies if not going_on[reply.number] and reply.number not in aside]
    return ends, sides


def _count(replies: list[Reply], trees: Iterable[list[LogPath]]) -> None:
    """Give each path its length."""
    lengths: dict[int, int] = {}
    for reply in replies:
        above = [*takewhile(lambda each: each.number not in lengths, reply.back())]  # which may be logged later
        before = above[-1].parent if above else None
        length = lengths[before.number] if before else 0
        for number, each in enumerate(reversed(above), 1):
            lengths[each.number] = length + number
    for path in chain.from_iterable(trees):
        path.length = lengths[path.last.number]


class _Shapes:
    """What tells the kinds of trees: their links, and what their requests have beside those of others."""

    def __init__(self, replies: list[Reply], links: list[Link], trees: dict[int, list[LogPath]]) -> None:
        self._links, self._trees = links, trees
        self._firsts = {reply.tree: reply for reply in reversed(replies) if reply.parent is None or is_fork(reply)}
        self._sides = Sides(replies, links, trees, self._firsts)

    def kind(self, tree: int, trunk: LogPath) -> ConversationKind:
        """The kind of a tree."""
        first, link = self._firsts[tree], self._links[tree]
        if link.summary and not link.summary.children:
            return "compacted"
        if link.caller and (link.is_exact or self._is_confirmed(link, trunk)):
            return "subagent"
        goes_on = trunk.length > 1
        if is_tail(first, link) and (goes_on or not self._sides.is_small(first)):
            return "compacted"
        return "side" if not goes_on and self._sides.begins(first) else "main"

    def _is_confirmed(self, link: Link, trunk: LogPath) -> bool:
        """Whether a tree whose prompt holds a call's argument was begun by that call."""
        assert link.caller
        answers = (reply for reply in trunk.back() if reply is trunk.last or not chat.calls(reply.message))
        if returning([link.caller], islice(answers, _ANSWERS), is_strict=link.is_short):
            return True
        return not link.is_short and trunk.length > 1 and bool(trunk.last.tools)

    def set_equal_calls(self, tree: int, members: list[LogPath]) -> None:
        """Several calls with equal arguments may begin with the same first reply, as one tree."""
        link = self._links[tree]
        if len(members) > 1 and members[0].kind == "subagent" and link.caller and link.is_exact:
            for path in members[1 : equal_calls(link.caller) - self._callers[link.caller.reply.number] + 1]:
                path.kind = "subagent" if path.kind == "branch" else path.kind

    @cached_property
    def _callers(self) -> Counter[int]:
        """How many trees the calls of each reply began, by its number."""
        return Counter(link.caller.reply.number for link in self._links if link.caller and link.is_exact)

    def parent(
        self, tree: int, trunk: LogPath, owners: dict[int, LogPath], trunks: dict[int, LogPath]
    ) -> LogPath | None:
        """The conversation that a tree comes from."""
        link = self._links[tree]
        if trunk.kind == "compacted":
            return self._summarised(link, owners, trunks)
        if trunk.kind == "subagent" and link.caller:
            return owners.get(link.caller.reply.number)
        if trunk.kind == "side":
            if link.copied and (owner := owners.get(link.copied[-1].number)) and owner is not trunk:
                return owner
            about = link.quoted or (link.caller.reply if link.caller else None)
            if about and about.tree != tree:
                return trunks.get(about.tree)
            like = self._sides.like(self._firsts[tree])
            alike = trunks.get(like.tree) if like else None
            return alike if alike and alike.kind != "side" else self._nearest(tree, trunks)
        return None

    def _summarised(self, link: Link, owners: dict[int, LogPath], trunks: dict[int, LogPath]) -> LogPath | None:
        """The conversation that holds the last reply of what a summary stands for."""
        summary = link.summary
        if summary is None:
            return owners.get(link.copied[-1].number) if link.copied else None
        while summary.parent and summary.parent.is_summary:
            summary = summary.parent
        if summary.parent:
            return owners.get(summary.parent.number)
        about = self._links[summary.tree]
        last = about.quoted or (about.copied[-1] if about.copied else None)
        if last and last.number in self._trees_by_summary:
            return trunks.get(self._trees_by_summary[last.number])
        return owners.get(last.number) if last else None

    @cached_property
    def _trees_by_summary(self) -> dict[int, int]:
        """By the numbers of summaries, the trees that begin with them."""
        return {link.summary.number: tree for tree, link in enumerate(self._links) if link.summary}

    def _nearest(self, tree: int, trunks: dict[int, LogPath]) -> LogPath | None:
        """The trunk of the tree that began last before a request of the client's own, else of the one behind it."""
        others = [each for each, trunk in trunks.items() if trunk.kind != "side"]
        before = [each for each in others if each < tree]
        return trunks[max(before) if before else min(others)] if others else None


def select_paths(paths: list[LogPath], options: Options) -> list[LogPath]:
    """The conversations of a log that become records."""
    last = next(iter(longest_chain(paths)), None)
    return [path for path in paths if is_selected(path, last, options)]


def names(paths: Iterable[LogPath], session: str) -> dict[int, str]:
    """The id of each conversation by its ``id()``: a digest of the session and of the path's beginning and end.

    What precedes a short end, or that of a client's own request, counts too: other sessions of that name may end so.
    """
    names_by_path: dict[int, str] = {}
    times: dict[str, int] = {}
    firsts: dict[int, Reply] = {}
    said = _SaidOnce()
    begun: dict[int, Any] = {}
    for path in paths:
        first = _first(path.last, firsts)
        if first.number not in begun:
            prompt = next((message for _, message in first.users()), None)
            begun[first.number] = sha256(b"[%b,%b," % (jsonio.dumps(session), jsonio.dumps(_said(prompt))))
        ended = begun[first.number].copy()
        ended.update(jsonio.dumps([_said(path.last.message), *_before_end(path, said)])[1:])
        name = ended.hexdigest()[:16]
        times[name] = times.get(name, 0) + 1
        names_by_path[id(path)] = name if times[name] == 1 else f"{name}-{times[name]}"
    return names_by_path


def _first(reply: Reply, firsts: dict[int, Reply]) -> Reply:
    """The reply that a path begins with, given those of other paths by the numbers of their replies."""
    passed = []
    while reply.number not in firsts and reply.parent:
        passed.append(reply)
        reply = reply.parent
    first = firsts.get(reply.number, reply)
    firsts.update((each.number, first) for each in passed)
    return first


_LONG = 4096
"""Characters of a text that counts by its hash, since many conversations may continue it."""


class _SaidOnce(dict[int, object]):
    """What messages say, of each message once."""

    def of(self, message: Message) -> object:
        """Return what a message says, and the hash of a long text in its place."""
        if id(message) not in self:
            text = chat.text(message) or ""
            digest = sha256(jsonio.dumps(text)).hexdigest() if len(text) > _LONG else None
            self[id(message)] = digest or _said(message)
        return self[id(message)]


def _before_end(path: LogPath, said: _SaidOnce) -> Iterator[object]:
    """What is said before the end of a conversation, up to a long reply; clients often repeat theirs."""
    is_end = path.kind != "side"
    for each in islice(path.last.back(), _NAMED):
        if each is not path.last:
            yield said.of(each.message)
        if is_end and is_long(chat.text(each.message) or ""):
            return
        is_end = True
        yield from map(said.of, each.behind[-2:])


def name_of_line(session: str, line: int) -> str:
    """The id of the conversation of a request that cleaning dropped, which is in no path."""
    return sha256(jsonio.dumps([session, "line", line])).hexdigest()[:16]


def digest(session: str, first: object, last: object, *more: object) -> str:
    """What a conversation is called, given what the user says first in it and the last reply."""
    return sha256(jsonio.dumps([session, _said(first), _said(last), *more])).hexdigest()[:16]


def _said(message: object) -> object:
    if not isinstance(message, dict):
        return None
    return [chat.text(message), [chat.call_name(call) for call in chat.calls(message)]]  # type: ignore[arg-type]


def are_unrelated(trees: Trees) -> bool:
    """Whether there are several requests, and none goes on from another or was begun by it."""
    follow_links = any(link.summary or (link.caller and not link.is_short) or link.copied for link in trees.links)
    return (
        len(trees.links) > 1
        and not follow_links
        and not trees.grows
        and all(reply.parent is None for reply in trees.replies)
    )


def unexplained(trees: Trees, paths: list[LogPath], unanswered: dict[int, Reply | None]) -> set[int]:
    """The lines that begin a conversation of the person's anew, or go on from nothing and have no reply.

    Requests that go on from a logged reply are explained, wherever that stands, and so is what a call, a summary or the
    client began, and the first conversation.
    """
    begun = {reply.number: reply.line for reply in beginnings(trees, paths)[1:]}
    lines = {*begun.values(), *(each.line for each in trees.again if each.by.number in begun)}
    return lines | {line for line, reply in unanswered.items() if reply is None}


def first_conversation(trees: Trees, paths: list[LogPath]) -> Reply | None:
    """The first reply of the conversation that the person began first, or of the first one if none did."""
    begun = beginnings(trees, paths) or trees.replies
    return begun[0] if begun else None


def beginnings(trees: Trees, paths: list[LogPath]) -> list[Reply]:
    """The first reply of each tree that a person began."""
    main = {path.last.tree for path in paths if path.kind == "main"}
    firsts = {reply.tree: reply for reply in reversed(trees.replies)}
    return [firsts[tree] for tree in sorted(main)]
