"""What the conversations of a file are to each other, of what their formats say of each."""

import gc
import time

from chatsquash.core.model import Conversation, Origin, OriginReply
from chatsquash.trees.documents import paths
from tests.conftest import cases


def told(name, kind="main", parent=None, said="", **more):
    """A conversation in which the model said these letters, each a message; its time is that of the letter."""
    messages = [{"role": "user", "content": name}, *({"role": "assistant", "content": each} for each in said)]
    replies = tuple(OriginReply(at, time=ord(each)) for at, each in enumerate(said, 1))
    return Conversation(messages, [], origin=Origin(name, kind=kind, parent=parent, replies=replies, **more))


def called(name, call_id, said="", **more):
    """One whose last reply holds a call."""
    found = told(name, said=said, **more)
    found.messages[-1]["tool_calls"] = [{"id": call_id, "type": "function", "function": {"name": "task"}}]
    return found


# What a file holds, and of each conversation: kind, parent, the replies that belong to it.


@cases(
    "held, expected",
    ("nothing is told", [Conversation([{"role": "user", "content": "hi"}], [])], [("main", None, "")]),
    ("one conversation", [told("a", said="xyx")], [("main", None, "xyx")]),
    ("a branch shares what came before it", [told("a", said="bcd"), told("b", "branch", "a", said="bx")], [("main", None, "bcd"), ("branch", "a", "x")]),
    ("the branch with more replies is the trunk", [told("a", said="bx"), told("b", "branch", "a", said="bcd")], [("branch", "b", "x"), ("main", None, "bcd")]),
    ("of equal ones the one that ends last is it", [told("a", said="bc"), told("b", "branch", "a", said="bd")], [("branch", "b", "c"), ("main", None, "bd")]),
    (
        "of those that end at once it is the first of the file",
        [told("a", said="bc"), told("b", "branch", "a", said="bc")],
        [("main", None, "bc"), ("branch", "a", "")],
    ),
    (
        "what two branches share belongs to the longer one, which the other leaves",
        [told("a", said="abcdef"), told("b", "branch", "a", said="axy"), told("c", "branch", "b", said="axzz")],
        [("main", None, "abcdef"), ("branch", "c", "y"), ("branch", "a", "xzz")],
    ),
    ("a branch of the first prompt leaves the trunk", [told("a", said="bc"), told("b", "branch", "a", said="x")], [("main", None, "bc"), ("branch", "a", "x")]),
    (
        "the trunk of what a compaction begins is compacted",
        [told("c", "compacted", "a", said="x"), told("a", said="ab"), told("d", "branch", "c", said="yz")],
        [("branch", "d", "x"), ("main", None, "ab"), ("compacted", "a", "yz")],
    ),
    (
        "replies that a summary's conversation holds once more belong to what was there before",
        [told("c", "compacted", "a", said="bx"), told("a", said="ab")],
        [("compacted", "a", "x"), ("main", None, "ab")],
    ),
    (
        "a sub-agent comes from what holds its call, whatever its file names",
        [told("a", said="ab"), called("b", "t1", said="axy"), told("s", "subagent", "a", said="s", call="t1")],
        [("main", None, "ab"), ("main", None, "xy"), ("subagent", "b", "s")],
    ),
    (
        "a sub-agent comes from the session that is named",
        [told("", said="ab", session_id="s1"), told("", "subagent", "s1", said="s", session_id="s2")],
        [("main", None, "ab"), ("subagent", 0, "s")],
    ),
    ("a branch of what is not there begins a tree", [told("b", "branch", "gone", said="x")], [("main", None, "x")]),
    (
        "branches of each other are one tree",
        [told("a", "branch", "b", said="x"), told("b", "branch", "a", said="y")],
        [("branch", "b", "x"), ("main", None, "y")],
    ),
    ("what comes from itself comes from nothing", [told("a", "compacted", "a", said="x")], [("compacted", None, "x")]),
    (
        "branches of a side request are side requests",
        [told("a", "side", said="x"), told("b", "branch", "a", said="yz")],
        [("side", "b", "x"), ("side", None, "yz")],
    ),
)  # fmt: skip
def test_kinds_parents_and_replies(held, expected):
    found = paths(held)
    names = {id(place): place.origin.id or place.number for place in found}
    assert [
        (
            place.kind,
            names[id(place.parent)] if place.parent else None,
            "".join(held[place.number].messages[reply.evidence.at]["content"] for reply in place.own),
        )
        for place in found
    ] == expected


def test_replies_without_times_that_say_the_same_are_told_apart_by_their_order():
    def said(words, **more):
        messages = [{"role": "user", "content": "hi"}, *({"role": "assistant", "content": each} for each in words)]
        replies = tuple(OriginReply(at, line=1) for at in range(1, len(messages)))
        return Conversation(messages, [], origin=Origin(replies=replies, **more))

    found = paths([said("aab", id="a"), said("aaac", id="b", kind="branch", parent="a")])
    assert [[place.replies.index(reply) for reply in place.own] for place in found] == [[2], [0, 1, 2, 3]]


@cases("held, expected",
    ("the last of a chain", [told("a", said="a"), told("b", "compacted", "a", said="b")], [1, 0]),
    ("of two chains the one with more replies", [told("a", said="abc"), told("b", said="d"), told("c", "compacted", "b", said="e")], [0]),
    ("of equal ones the later one", [told("a", said="ab"), told("b", said="cd")], [1]),
    ("never a sub-agent", [told("a", said="a"), told("b", "subagent", "a", said="bcd")], [0]),
    ("nor what a summary of a sub-agent begins", [told("a", said="a"), told("b", "subagent", "a", said="b"), told("c", "compacted", "b", said="cdef")], [0]),
    ("nor a side request", [told("a", "side", said="a")], []),
    ("a summary of what another file holds", [told("a", "compacted", said="a")], [0]),
    ("summaries of each other", [told("a", "compacted", "b", said="a"), told("b", "compacted", "a", said="b")], []),
)  # fmt: skip
def test_the_chain_of_a_person(held, expected):
    found = paths([Conversation(each.messages, [], origin=named(each.origin)) for each in held])
    assert {id(place.session) for place in found} == {id(found[0].session)}
    assert [place.number for place in found[0].session.chain] == expected


def named(origin):
    return Origin(**{name: getattr(origin, name) for name in ("id", "kind", "parent", "replies")}, session_id="s")


def test_sessions_are_told_apart_by_their_ids_and_put_together_by_parents():
    held = [
        told("a", session_id="s1"), told("b", session_id="s2"), told("c", "subagent", "a", session_id="s3"),
        told("d"), told("e"), told("f", "compacted", "e"), told("g", session_id="s2", started_at=0),
    ]  # fmt: skip
    found = paths(held)
    groups: dict[int, list[str]] = {}
    for place in found:
        groups.setdefault(id(place.session), []).append(place.origin.id)
    assert list(groups.values()) == [["a", "c"], ["b", "g"], ["d"], ["e", "f"]]
    assert [place.session.first.origin.id for place in found] == ["a", "b", "a", "d", "e", "e", "b"]


MANY = 20_000


@cases(
    "shape",
    ("a chain of branches", lambda n: told(str(n), "branch" if n else "main", str(n - 1), said="ab")),
    ("branches of one", lambda n: told(str(n), "branch" if n else "main", "0", said="ab")),
    ("a chain of compactions", lambda n: told(str(n), "compacted" if n else "main", str(n - 1), said="a")),
    ("no links", lambda n: told(str(n), said="a")),
)
def test_many_conversations_take_linear_time(shape):
    def seconds(count):
        held = [shape(number) for number in range(count)]
        gc.collect()
        gc.disable()  # which looks at all that other tests left, however little is made here
        try:
            started = time.process_time()
            paths(held)
            return time.process_time() - started
        finally:
            gc.enable()

    assert seconds(MANY) < 30 * max(seconds(MANY // 10), 0.01)
