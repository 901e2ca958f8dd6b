"""Records whose messages have what was logged of their tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.model import Message
from chatsquash.core.outcome import Record
from chatsquash.records.samples import Draft
from chatsquash.session.conversations import end_of
from chatsquash.session.samples import Sample, said
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.account import place_replies
from chatsquash.trees.kinds import LogPath
from chatsquash.trees.replies import Reply

MEMBER = "logprobs"


def with_logprobs(session: Session, snapshot: Snapshot, made: Record) -> Record:
    """A record whose replies have theirs, as far as they stand in it word for word, each as one message."""
    logged = session.followed.logprobs
    trees = session.followed.branch()
    end = end_of(trees, snapshot, session.followed.unanswered)
    if not logged or end is None or not made.marks:
        return made
    replies, messages = end.path(), said(snapshot.entry)
    shown = place_replies(LogPath(last=end), replies, messages, trees.requests.canon)
    places: dict[int, bytes] = {}
    alone = {mark.at[0]: mark.place for mark in made.marks if len(mark.at) == 1}
    times = Counter(at for mark in made.marks for at in mark.at)
    for reply in replies:
        ordinal = shown.standing[reply.number].ordinal if reply.number in shown.standing else -1
        is_one = ordinal in alone and times[ordinal] == 1
        if is_one and reply.line in logged and _is_whole(shown.message(reply.number), reply.message):
            places[alone[ordinal]] = logged[reply.line]
    return _with_logprobs_at(made, places)


def in_sample(sample: Sample, replies: Sequence[Reply], logged: dict[int, bytes]) -> Draft:
    """The draft of a sample in which the replies that are trained on have theirs.

    Those of its context stand in the samples of these: in all that hold them, they would grow with the square of the
    session.
    """
    spoken = [message for message in sample.messages if message["role"] == "assistant"]
    places: dict[int, bytes] = {}
    for each in sample.trained:
        reply = replies[each.key]
        is_one = each.span.stop - each.span.start == 1
        if is_one and reply.line in logged and _is_whole(spoken[each.ordinal], reply.message):
            places[each.span.start] = logged[reply.line]
    return replace(sample.draft, record=_with_logprobs_at(sample.draft.record, places))


def _with_logprobs_at(made: Record, places: dict[int, bytes]) -> Record:
    """A record whose messages at these places have what was logged of their tokens."""
    if not places:
        return made
    value = jsonio.loads(made.line)
    for place, logged in places.items():
        value["messages"][place][MEMBER] = jsonio.loads(logged)
    line = jsonio.dumps(value)
    return replace(made, line=line, digest=xxh3_128_digest(line))


def _is_whole(one: Message, other: Message) -> bool:
    """Whether a reply stands in the record with the text that was sampled."""
    return (one.get("content") or "") == (other.get("content") or "")
