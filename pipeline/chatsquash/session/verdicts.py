"""Verdicts on logged replies, which become the labels of ``--sample-shape kto``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from chatsquash.checks.denials import is_denied
from chatsquash.core.model import Message
from chatsquash.core.options import Options
from chatsquash.core.scores import Verdict, verdict
from chatsquash.session.agents import DocumentPart
from chatsquash.session.ending import judge_messages
from chatsquash.session.pairs import PairKind, results_in
from chatsquash.session.pairs.candidates import resampled, resampled_in_file
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.account import Placement
from chatsquash.trees.documents import FilePath
from chatsquash.trees.kinds import conversations
from chatsquash.trees.paths import OF_USERS, LoggedReply

if TYPE_CHECKING:
    from chatsquash.session.samples import Reread


class Reaction(Struct, frozen=True):
    """What followed a reply: whether the user denied a call, and a comment on the work."""

    is_denied: bool
    last_user: str
    words: str
    """The words of the comment that decide."""


def reaction(following: Iterable[Message], *, by_user: bool) -> Reaction:
    """Return the reaction in the messages between a reply and the next one.

    Only the user's comments count (``by_user``), because the user of a sub-agent is a model.
    """
    messages = [*following]
    comment, words = judge_messages(messages) if by_user else ("none", "")
    return Reaction(any(map(is_denied, results_in(messages))), comment, words)


def judge(
    reply: LoggedReply | None, reactions: Iterable[Reaction], preference: tuple[PairKind, bool] | None
) -> Verdict | None:
    """Return the verdict on a reply: by its label or scores, the reactions to it, or else because of a pair.

    Reactions differ if the user returned to a reply and commented on it again; contradictory comments do not count.
    """
    weight, scores = (reply.weight, reply.scores) if reply else (None, ())
    each = [*reactions]
    comments = [reaction for reaction in each if reaction.last_user in _COMMENTS]
    is_clear = len({reaction.last_user == "thanks" for reaction in comments}) == 1
    comment = comments[0] if is_clear else None
    denied = any(reaction.is_denied for reaction in each)
    result = verdict(weight, scores, is_denied=denied, last_user=comment.last_user if comment else None)
    if result and comment and result.evidence.startswith("last_user"):
        return structs.replace(result, evidence=f"{result.evidence}: {comment.words}")
    return result or (Verdict(preference[1], preference[0]) if preference else None)


_COMMENTS = frozenset(("thanks", "complaint", "correction"))
"""The comments that are a verdict on the reply before them."""


def of_log(session: Session, reread: Reread, options: Options) -> dict[int, Verdict]:
    """Return the verdicts on the replies of a gateway log, by number."""
    trees = session.growth.branch()
    kinds = {reply.number: path.kind for path in conversations(trees) for reply in path.own}
    preferences = resampled(session, reread, options)
    reactions: dict[int, list[Reaction]] = {}
    for reply in trees.replies:
        if reply.parent:
            by_user = kinds.get(reply.parent.number) in OF_USERS
            reactions.setdefault(reply.parent.number, []).append(reaction(reply.new_messages, by_user=by_user))
    verdicts = (
        (reply.number, judge(reply, reactions.get(reply.number, ()), preferences.get(reply.line)))
        for reply in trees.replies
    )
    return {number: each for number, each in verdicts if each}


def of_document(part: DocumentPart, snapshot: Snapshot, placement: Placement[FilePath]) -> dict[int, Verdict]:
    """Return the verdicts on the assistant messages of a conversation in a file, by position."""
    messages, by_user = snapshot.entry.messages, part.place.kind in OF_USERS
    preference, positions = resampled_in_file(part, len(messages)), placement.assistants
    ordinals = {number: each.ordinal for number, each in placement.positions.items()}
    replies = {positions[ordinals[each.number]]: each for each in placement.path.replies if each.number in ordinals}
    verdicts = (
        (at, judge(replies.get(at), [reaction(messages[at + 1 : after], by_user=by_user)], preference(at)))
        for at, after in pairwise([*positions, len(messages)])
    )
    return {at: each for at, each in verdicts if each}
