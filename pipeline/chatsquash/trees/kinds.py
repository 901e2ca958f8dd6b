"""Determine the conversations of a session: paths, kinds, parents and ids, and which of them become records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256
from itertools import chain, count, islice
from typing import Any

from chatsquash.core import chat, jsonio
from chatsquash.core.model import ConversationKind, Message
from chatsquash.core.options import Options
from chatsquash.trees.calls import equal_calls, returning
from chatsquash.trees.canonical import is_long
from chatsquash.trees.forks import find_later_calls, is_fork, separate_forks
from chatsquash.trees.links import Link, is_tail
from chatsquash.trees.paths import assign_replies, content_of, is_selected, longest_chain, set_kinds, sort_members
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.sides import Sides, side_replies
from chatsquash.trees.trees import Trees

Turn = tuple[Message, list[Message]]
"""A reply, and the messages before it that are new in its request."""
_ID_REPLIES = 8
"""The maximum number of short replies at the end of a conversation that its id depends on."""
_ANSWERS = 8
"""The number of a sub-agent's replies to compare with the result of its call."""


def conversations(trees: Trees) -> list[LogPath]:
    """Return all conversations of trees in the order in which they end, corrected from another file if there is one."""
    members = paths(trees.replies, trees.links)
    if trees.revise:
        trees.revise(members)
    return members


def paths(replies: list[Reply], links: list[Link]) -> list[LogPath]:
    """Return all conversations in the order in which they end; each reply that was not retried belongs to one."""
    separate_forks(replies, links)
    find_later_calls(replies, links)
    has_finish_reasons = any(reply.is_ended for reply in replies)
    for reply in replies:
        reply.is_retried = reply.is_continued or (
            reply.is_resent and reply.is_interrupted(has_finish_reasons=has_finish_reasons)
        )
    leaves, sides = _leaves(replies)
    replaced_numbers = {
        reply.parent.number for reply in replies if reply.wording and reply.parent and reply not in sides
    }
    trees: dict[int, list[LogPath]] = {}
    # Sorted by tree, because a fork follows the tree with its history.
    for reply in sorted(leaves, key=lambda reply: reply.tree):
        kind: ConversationKind = "side" if reply in sides else "branch"
        path = LogPath(last=reply, kind=kind, is_abandoned=reply.number in replaced_numbers)
        trees.setdefault(reply.tree, []).append(path)
    _set_lengths(replies, trees.values())
    kinds = _TreeKinds(replies, links, trees)
    for tree, members in trees.items():
        sort_members(members)
        set_kinds(members, kinds.kind(tree, members[0]))
        kinds.set_equal_calls(tree, members)
    owners = assign_replies(trees.values())
    trunks = {tree: members[0] for tree, members in trees.items()}
    for tree, trunk in trunks.items():
        trunk.parent = kinds.parent(tree, trunk, owners, trunks)
        for path in trees[tree]:
            path.parent = trunk.parent if path.kind == "subagent" else path.parent
    return sorted(chain.from_iterable(trees.values()), key=lambda path: path.last.number)


def _leaves(replies: list[Reply]) -> tuple[list[Reply], set[Reply]]:
    """Return the last replies of conversations, and the replies to the client's own requests."""
    sides = side_replies(replies)
    continuations = {reply.number: reply.children for reply in replies}
    for reply in replies:
        # The conversation with replaced replies ends here; the one with their original context may end earlier.
        if reply.wording and reply.parent:
            continuations[reply.parent.number] -= 1
            if reply.intact:
                continuations[reply.intact.number] += 1
    dead_ends = [reply for reply in replies if not continuations[reply.number] and (reply in sides or reply.is_retried)]
    for reply in dead_ends:
        if before := reply.preceding:
            continuations[before.number] -= 1
            if before.is_summary and not continuations[before.number]:  # a corrected draft of a summary
                dead_ends.append(before)
    excluded = {reply.number for reply in dead_ends} - {reply.number for reply in sides}
    ends = [reply for reply in replies if not continuations[reply.number] and reply.number not in excluded]
    return ends, sides


def _set_lengths(replies: list[Reply], trees: Iterable[list[LogPath]]) -> None:
    """Set the length of each path."""
    lengths: dict[int, int] = {}
    for reply in replies:
        unmeasured: list[int] = []
        before: Reply | None = reply
        while before and before.number not in lengths:  # parents may be logged later
            unmeasured.append(before.number)
            before = before.parent
        length = lengths[before.number] if before else 0
        lengths.update(zip(reversed(unmeasured), count(length + 1), strict=False))
    for path in chain.from_iterable(trees):
        path.length = lengths[path.last.number]


class _TreeKinds:
    """Determines the kinds and parents of trees from their links and from comparisons with other requests."""

    def __init__(self, replies: list[Reply], links: list[Link], trees: dict[int, list[LogPath]]) -> None:
        self._links, self._trees = links, trees
        self._firsts = {reply.tree: reply for reply in reversed(replies) if reply.parent is None or is_fork(reply)}
        self._sides = Sides(replies, links, trees, self._firsts)

    def kind(self, tree: int, trunk: LogPath) -> ConversationKind:
        """Return the kind of a tree."""
        first, link = self._firsts[tree], self._links[tree]
        # If a reply continues from the summary, the conversation continued there and not in the new tree.
        if link.summary and not link.summary.children:
            return "compacted"
        if link.caller and (link.is_exact or self._is_confirmed(link, trunk)):
            return "subagent"
        has_turns = trunk.length > 1
        if is_tail(first, link) and (has_turns or not self._sides.is_small(first)):
            return "compacted"
        # A conversation that continues is never the client's own request.
        return "side" if not has_turns and self._sides.begins(first) else "main"

    def _is_confirmed(self, link: Link, trunk: LogPath) -> bool:
        """Return whether the call whose argument is part of a tree's prompt actually started the tree."""
        assert link.caller
        answers = (reply for reply in trunk.back() if reply is trunk.last or not chat.calls(reply.message))
        if returning([link.caller], islice(answers, _ANSWERS), is_strict=link.is_short):
            return True
        return not link.is_short and trunk.length > 1 and bool(trunk.last.tools)

    # These paths form one tree because they begin alike.
    def set_equal_calls(self, tree: int, members: list[LogPath]) -> None:
        """Mark as sub-agents the paths that equal calls started."""
        link = self._links[tree]
        if len(members) > 1 and members[0].kind == "subagent" and link.caller and link.is_exact:
            for path in members[1 : equal_calls(link.caller) - self._callers[link.caller.reply.number] + 1]:
                path.kind = "subagent" if path.kind == "branch" else path.kind

    @cached_property
    def _callers(self) -> Counter[int]:
        """The number of trees started by the calls of each reply, by reply number."""
        return Counter(link.caller.reply.number for link in self._links if link.caller and link.is_exact)

    def parent(
        self, tree: int, trunk: LogPath, owners: dict[int, LogPath], trunks: dict[int, LogPath]
    ) -> LogPath | None:
        """Return the parent of a tree: the conversation that it comes from."""
        link = self._links[tree]
        if trunk.kind == "compacted":
            return self._summarized(link, owners, trunks)
        if trunk.kind == "subagent" and link.caller:
            return owners.get(link.caller.reply.number)
        if trunk.kind == "side":
            if link.copies and (owner := owners.get(link.copies[-1].number)) and owner is not trunk:
                return owner
            about = link.quoted or (link.caller.reply if link.caller else None)
            if about and about.tree != tree:
                return trunks.get(about.tree)
            like = self._sides.find_similar(self._firsts[tree])
            alike = trunks.get(like.tree) if like else None
            return alike if alike and alike.kind != "side" else self._nearest(tree, trunks)
        return None

    def _summarized(self, link: Link, owners: dict[int, LogPath], trunks: dict[int, LogPath]) -> LogPath | None:
        """Return the conversation with the last reply that a summary replaced."""
        summary = link.summary
        if summary is None:
            return owners.get(link.copies[-1].number) if link.copies else None
        while summary.parent and summary.parent.is_summary:
            summary = summary.parent
        if summary.parent:
            return owners.get(summary.parent.number)
        about = self._links[summary.tree]
        last = about.quoted or (about.copies[-1] if about.copies else None)
        if last and last.number in self._trees_by_summary:
            return trunks.get(self._trees_by_summary[last.number])
        return owners.get(last.number) if last else None

    @cached_property
    def _trees_by_summary(self) -> dict[int, int]:
        """The trees that begin with each summary, by the number of the summary."""
        return {link.summary.number: tree for tree, link in enumerate(self._links) if link.summary}

    def _nearest(self, tree: int, trunks: dict[int, LogPath]) -> LogPath | None:
        """Return the trunk of the last tree before a client's own request, or else of the first one after it."""
        others = [each for each, trunk in trunks.items() if trunk.kind != "side"]
        before = [each for each in others if each < tree]
        return trunks[max(before) if before else min(others)] if others else None


def select_paths(paths: list[LogPath], options: Options) -> list[LogPath]:
    """Return the conversations of a log that become records."""
    last = next(iter(longest_chain(paths)), None)
    return [path for path in paths if is_selected(path, last, options)]


def conversation_ids(paths: Iterable[LogPath], session: str) -> dict[int, str]:
    """Return the id of each conversation by its ``id()``: a digest of its session, its beginning and its end."""
    # A short end, or that of a client's own request, may also occur in another session with the same id, so the replies
    # before it are included.
    names_by_path: dict[int, str] = {}
    times: dict[str, int] = {}
    firsts: dict[int, Reply] = {}
    contents = _ContentCache()
    hashes: dict[int, Any] = {}
    for path in paths:
        first = _first(path.last, firsts)
        if first.number not in hashes:
            hashes[first.number] = _hash_beginning(session, next((message for _, message in first.users()), None))
        end_hash = hashes[first.number].copy()
        turns = ((each.message, each.new_messages) for each in path.last.back())
        end_hash.update(_encode_end(turns, contents, is_side=path.kind == "side"))
        name = end_hash.hexdigest()[:16]
        times[name] = times.get(name, 0) + 1
        names_by_path[id(path)] = name if times[name] == 1 else f"{name}-{times[name]}"
    return names_by_path


def conversation_id(session: str, prompt: Message | None, back: Iterable[Turn]) -> str:
    """Return the id of the only conversation of a session; ``back`` are its turns, latest first."""
    digest = _hash_beginning(session, prompt)
    digest.update(_encode_end(back, _ContentCache(), is_side=False))
    return str(digest.hexdigest()[:16])


def _hash_beginning(session: str, prompt: Message | None) -> Any:
    return sha256(b"[%b,%b," % (jsonio.dumps(session), jsonio.dumps(content_of(prompt))))


def _first(reply: Reply, firsts: dict[int, Reply]) -> Reply:
    """Return the first reply of a path; ``firsts`` caches the results by reply number."""
    visited = []
    while reply.number not in firsts and reply.parent:
        visited.append(reply)
        reply = reply.parent
    first = firsts.get(reply.number, reply)
    firsts.update((each.number, first) for each in visited)
    return first


_LONG = 4096
"""The length above which texts are represented by their hash."""


class _ContentCache(dict[int, object]):
    """The content of messages, computed once per message."""

    def of(self, message: Message) -> object:
        """Return the content of a message, with a long text replaced by its hash."""
        if id(message) not in self:
            text = chat.text(message) or ""
            # Many conversations may continue the same long text.
            digest = sha256(jsonio.dumps(text)).hexdigest() if len(text) > _LONG else None
            self[id(message)] = digest or content_of(message)
        return self[id(message)]


def _encode_end(back: Iterable[Turn], cache: _ContentCache, *, is_side: bool) -> bytes:
    """Return the end of a conversation back to a long reply, as JSON; ``back`` are its turns, latest first."""
    contents: list[object] = []
    # The replies to a client's own requests often repeat, so even a long one is not enough.
    is_end = not is_side
    for message, new_messages in islice(back, _ID_REPLIES):
        contents.append(cache.of(message) if contents else content_of(message))
        if is_end and is_long(chat.text(message) or ""):
            break
        is_end = True
        contents += map(cache.of, new_messages[-2:])
    return jsonio.dumps(contents)[1:]


def name_of_line(session: str, line: int) -> str:
    """Return the conversation id of a request that cleaning dropped and that is therefore on no path."""
    return sha256(jsonio.dumps([session, "line", line])).hexdigest()[:16]


def are_unrelated(trees: Trees) -> bool:
    """Return whether there are several requests without any relation between them."""
    has_links = any(link.summary or (link.caller and not link.is_short) or link.copies for link in trees.links)
    return (
        len(trees.links) > 1
        and not has_links
        and not trees.grows
        and all(reply.parent is None for reply in trees.replies)
    )


def unexplained(trees: Trees, paths: list[LogPath], unanswered: dict[int, Reply | None]) -> set[int]:
    """Return the lines of unexpected beginnings: later user conversations, and unrelated requests without a reply.

    Requests that continue a logged reply, or that a call, a summary or the client started, are expected.
    """
    lines_by_reply = {reply.number: reply.line for reply in beginnings(trees, paths)[1:]}
    lines = {*lines_by_reply.values(), *(each.line for each in trees.repeats if each.by.number in lines_by_reply)}
    return lines | {line for line, reply in unanswered.items() if reply is None}


def first_conversation(trees: Trees, paths: list[LogPath]) -> Reply | None:
    """Return the first reply of the first conversation that the user started, or else of the first conversation."""
    firsts = beginnings(trees, paths) or trees.replies
    return firsts[0] if firsts else None


def beginnings(trees: Trees, paths: list[LogPath]) -> list[Reply]:
    """Return the first reply of each tree that a user started."""
    main = {path.last.tree for path in paths if path.kind == "main"}
    firsts = {reply.tree: reply for reply in reversed(trees.replies)}
    return [firsts[tree] for tree in sorted(main)]
