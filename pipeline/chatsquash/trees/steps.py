"""Step facts of logged replies, each found in the conversation that the reply belongs to.

``checks.steps`` finds the facts that the messages show; the truncated and interrupted replies that only the log shows
are added here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from chatsquash.checks.registry import View
from chatsquash.checks.steps import find_steps
from chatsquash.core import chat
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.model import Conversation, Message
from chatsquash.trees.documents import FilePath
from chatsquash.trees.paths import LoggedReply
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.trees import Trees

_SPARE = 100_000
"""The number of replies that may be examined in addition to those of the session, because branches repeat them."""
_INTERRUPTED = ("interrupt", "abort", "cancel")
"""Parts of the finish reasons of replies that the user or the client interrupted, in lower case."""


def find_in_trees(trees: Trees, paths: list[LogPath]) -> None:
    """Set the facts of the replies in a gateway's log."""
    has_finish_reasons = any(reply.is_ended for reply in trees.replies)
    budget = len(trees.replies) + _SPARE
    for path in paths:
        budget -= path.length
        # Many branches of a long conversation would take quadratic time, so the last ones are judged without it.
        replies = path.last.path() if budget >= 0 else path.own
        messages, places = _messages(replies)
        steps = find_steps(View(Conversation(messages, [])))
        for reply in path.own:
            of_log = _of_log(reply, has_finish_reasons=has_finish_reasons)
            reply.facts = _in_order(steps.get(places.get(reply.number, -1), ()), of_log)


def find_in_file(paths: list[FilePath]) -> None:
    """Set the facts of the replies of some conversations in a file, each judged in the conversation it belongs to."""
    for path in paths:
        owners = {id(owner): owner for reply in path.replies if (owner := path.owners.get(reply.number))}
        facts: dict[int, tuple[str, ...]] = {}
        for owner in owners.values():
            if not owner.has_steps:
                _find_in_path(owner)
            facts |= {reply.number: reply.facts for reply in owner.own}
        for reply in path.replies:
            reply.facts = facts.get(reply.number, ())


def _find_in_path(path: FilePath) -> None:
    steps = find_steps(View(Conversation(path.conversation.messages, [])))
    for reply in path.own:
        at = -1 if reply.evidence.at is None else reply.evidence.at
        reply.facts = _in_order(steps.get(at, ()), _of_finish_reason(reply.evidence.finish_reason))
    path.has_steps = True


def count_facts(replies: Iterable[LoggedReply]) -> dict[str, int]:
    """Return the number of replies with each fact."""
    counts = Counter(kind for reply in replies for kind in reply.facts)
    return {kind: counts[kind] for kind in STEP_FACTS}


def _messages(replies: Sequence[Reply]) -> tuple[list[Message], dict[int, int]]:
    """Return the messages of a conversation as they were first logged, and the index of each reply by number."""
    messages: list[Message] = []
    places: dict[int, int] = {}
    for reply in replies:
        messages += reply.new_messages
        if reply.is_merged and not reply.finished and messages and messages[-1]["role"] == "assistant":
            messages.pop()  # the reply includes it
        places[reply.number] = len(messages)
        messages.append(reply.message)
    return messages, places


def _of_log(reply: Reply, *, has_finish_reasons: bool) -> Collection[str]:
    """Return the facts that the response of a reply shows."""
    is_interrupted = reply.is_retried or reply.is_interrupted(has_finish_reasons=has_finish_reasons)
    return [*(["truncated"] if reply.is_limited else ()), *(["interrupted"] if is_interrupted else ())]


def _of_finish_reason(reason: str | None) -> Collection[str]:
    if not chat.is_truncated(reason):
        return ()
    return ("interrupted",) if any(map(str(reason).lower().__contains__, _INTERRUPTED)) else ("truncated",)


def _in_order(*groups: Collection[str]) -> tuple[str, ...]:
    """Return facts without repetition, in the order of ``STEP_FACTS``."""
    if not any(groups):
        return ()
    return tuple(kind for kind in STEP_FACTS if any(kind in group for group in groups))
