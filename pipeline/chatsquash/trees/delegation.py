"""Decide which calls started conversations in other sessions, after all requests are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.trees.calls import MOST, Calls, CallSite, returning
from chatsquash.trees.canonical import is_long, is_similar_prompt, runs
from chatsquash.trees.links import Link, prompts
from chatsquash.trees.replies import Reply, follow_links

_MOST_RUNS = 256
"""The number of runs of a prompt above which they are computed again when they are needed."""
_SessionOf = Callable[[Reply], int]


class _Delegated(Struct):
    """A conversation that may have been started by a call."""

    first: Reply
    prompts: list[tuple[str, set[int] | None]]
    """Its prompts, those that are not long with their runs of words."""
    sites: list[CallSite] = field(default_factory=list)
    """Calls whose argument is the prompt or a part of it."""
    is_exact: bool = False

    def equal(self, calls: Calls) -> list[CallSite]:
        """Return the calls with a long prompt as argument."""
        return [site for text, _ in self.prompts if is_long(text) for site in calls.equal(text)]

    def contained(self, calls: Calls) -> list[CallSite]:
        """Return the calls with an argument that a prompt contains."""
        return [site for text, words in self.prompts for site in calls.contained(words or runs(text))]


class Delegations(Struct):
    """Conversations for which the call that started them is still to be determined."""

    _candidates: list[_Delegated] = field(default_factory=list)

    def add(self, first: Reply, link: Link, calls: Calls) -> None:
        """Add the first reply of a conversation, with the earlier calls that may have started it."""
        if link.summary or link.copies:
            return
        known = [(text, words if len(words) <= _MOST_RUNS else None) for text, words in link.prompts]
        link.prompts = []
        delegated = _Delegated(first, known or [(text, None) for text in prompts(first)])
        delegated.sites = delegated.equal(calls)
        delegated.is_exact = bool(delegated.sites)
        if not delegated.sites and link.caller and not link.is_short:
            delegated.sites = delegated.contained(calls)
        self._candidates.append(delegated)

    def callers(self, calls: Calls, replies: list[Reply], session: _SessionOf) -> Iterator[tuple[Reply, Reply]]:
        """Yield each reply with a call and the first reply of the conversation that it started in another session."""
        answers, used_calls = _answers(replies), set[tuple[int, int]]()
        for each in self._candidates:
            later = each.equal(calls)
            if not later and not each.sites:
                later = each.contained(calls)
            each.sites += [site for site in later if site.reply.number > each.first.number]
            each.sites = [site for site in each.sites if session(site.reply) != session(each.first)]
        # Results decide first. Without a result, a call needs a prompt that no other session has. If several sessions
        # fit equally well, the conversation stays unassigned.
        for choose in (_confirmed, _unanswered):
            for each in self._candidates:
                candidates = choose(each, answers[each.first.tree]) if each.sites else ()
                sites = [site for site in candidates if (site.reply.number, site.place) not in used_calls]
                if sites and len({session(site.reply) for site in sites}) == 1:
                    used_calls.add((sites[0].reply.number, sites[0].place))
                    yield sites[0].reply, each.first
                    each.sites = []


def _answers(replies: list[Reply]) -> dict[int, list[Reply]]:
    """Return, for each tree, its last replies without calls and its last reply."""
    answers: dict[int, list[Reply]] = {}
    for reply in replies:
        known = answers.setdefault(reply.tree, [])
        if known and chat.calls(known[-1].message):
            known.pop()
        known.append(reply)
        del known[:-MOST]
    return answers


def _confirmed(delegated: _Delegated, answers: list[Reply]) -> list[CallSite]:
    """Return the calls whose result the conversation contains; calls that were open throughout are preferred."""
    first, last = delegated.first, answers[-1]
    sites = returning(delegated.sites, answers, is_strict=True)
    pending = [site for site in sites if _is_before(site.reply, first) and not _is_answered_before(site, last)]
    return pending or sites


def _unanswered(delegated: _Delegated, answers: list[Reply]) -> list[CallSite]:
    """Return the calls with the same prompt that had no result before the conversation started or after it ended."""
    first, last = delegated.first, answers[-1]
    before = [site for site in delegated.sites if delegated.is_exact and _is_before(site.reply, first)]
    others = [site for site in before if _has_other_settings(site.reply, first)]
    # With settings other than the caller's, the conversation is a sub-agent regardless of the result, which may only
    # report a start or a failure. With the same settings, the user may have pasted the prompt.
    pending = [
        site
        for site in before
        if not site.reply.children
        or (not _is_answered_before(site, first) and (site in others or _is_answered_before(site, last)))
    ]
    return pending or others


def _has_other_settings(caller: Reply, first: Reply) -> bool:
    """Return whether a conversation has different tools or a different system prompt from its possible caller."""
    return first.tools != caller.tools or not is_similar_prompt(caller.system, first.system)


def _is_before(one: Reply, other: Reply) -> bool:
    """Return whether a reply is not later than another one."""
    # Files are read one after the other, so the order of replies is only meaningful without times.
    if one.at is None or other.at is None:
        return one.number < other.number
    return one.at <= other.at


def _is_answered_before(site: CallSite, reply: Reply) -> bool:
    """Return whether the conversation with a call continued before a reply."""
    children = [*islice(follow_links(site.reply.last_child, "before"), MOST)]
    return bool(children) and not _is_before(reply, children[-1])
