"""Which conversations the calls of other sessions began: decided by results, when all requests were read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.trees.calls import MOST, Calls, CallSite, returning
from chatsquash.trees.canonical import is_long, is_similar_prompt, runs
from chatsquash.trees.links import Link, prompts
from chatsquash.trees.replies import Reply, follow_links

SessionOf = Callable[[Reply], int]


class _Delegated(Struct):
    """A conversation that a call may have begun."""

    first: Reply
    sites: list[CallSite]
    """Calls with its prompt as an argument, or with a part of it."""
    is_exact: bool


class Delegations(Struct):
    """The beginnings of conversations, until it is decided which calls began them."""

    _begun: list[_Delegated] = field(default_factory=list)

    def add(self, first: Reply, link: Link, calls: Calls) -> None:
        """Add the first reply of a conversation, with the calls before it."""
        if link.summary or link.copied:
            return
        texts = prompts(first)
        sites = [site for text in texts if is_long(text) for site in calls.equal(text)]
        is_exact = bool(sites)
        if not sites and link.caller and not link.is_short:
            sites = [site for text in texts for site in calls.contained(runs(text))]
        self._begun.append(_Delegated(first, sites, is_exact))

    def callers(self, calls: Calls, replies: list[Reply], session: SessionOf) -> Iterator[tuple[Reply, Reply]]:
        """Each reply with a call and the first reply of the conversation in another session that the call began.

        The result decides.  Without a result, a call is the one if no other session has a call with the same prompt.
        Where several sessions fit alike, none does.
        """
        answers, claimed = _answers(replies), set[tuple[int, int]]()
        for each in self._begun:
            texts = prompts(each.first)
            later = [site for text in texts if is_long(text) for site in calls.equal(text)]
            if not later and not each.sites:
                later = [site for text in texts for site in calls.contained(runs(text))]
            each.sites += [site for site in later if site.reply.number > each.first.number]
            each.sites = [site for site in each.sites if session(site.reply) != session(each.first)]
        for choose in (_confirmed, _unanswered):
            for each in self._begun:
                chosen = choose(each, answers[each.first.tree]) if each.sites else ()
                sites = [site for site in chosen if (site.reply.number, site.place) not in claimed]
                if sites and len({session(site.reply) for site in sites}) == 1:
                    claimed.add((sites[0].reply.number, sites[0].place))
                    yield sites[0].reply, each.first
                    each.sites = []


def _answers(replies: list[Reply]) -> dict[int, list[Reply]]:
    """For each tree the last replies without calls, and the last reply."""
    answers: dict[int, list[Reply]] = {}
    for reply in replies:
        known = answers.setdefault(reply.tree, [])
        if known and chat.calls(known[-1].message):
            known.pop()
        known.append(reply)
        del known[:-MOST]
    return answers


def _confirmed(delegated: _Delegated, answers: list[Reply]) -> list[CallSite]:
    """The calls whose result is what the conversation says; of several those that were waiting for it all the time."""
    first, last = delegated.first, answers[-1]
    sites = returning(delegated.sites, answers, is_strict=True)
    waiting = [site for site in sites if _is_before(site.reply, first) and not _is_answered_before(site, last)]
    return waiting or sites


def _unanswered(delegated: _Delegated, answers: list[Reply]) -> list[CallSite]:
    """The calls with the same prompt before the conversation that had no result then, nor one after its end.

    Under other settings than the caller's it is a sub-agent whatever the result is, which may report only a start or a
    failure; under equal settings the user may have pasted the prompt.
    """
    first, last = delegated.first, answers[-1]
    before = [site for site in delegated.sites if delegated.is_exact and _is_before(site.reply, first)]
    others = [site for site in before if _has_other_settings(site.reply, first)]
    waiting = [
        site
        for site in before
        if not site.reply.children
        or (not _is_answered_before(site, first) and (site in others or _is_answered_before(site, last)))
    ]
    return waiting or others


def _has_other_settings(caller: Reply, first: Reply) -> bool:
    """Whether a conversation has other tools or another system prompt than the one with a call."""
    return first.tools != caller.tools or not is_similar_prompt(caller.system, first.system)


def _is_before(one: Reply, other: Reply) -> bool:
    """Whether a reply is not later than another one, by time where both have one: files are read one by one."""
    if one.at is None or other.at is None:
        return one.number < other.number
    return one.at <= other.at


def _is_answered_before(site: CallSite, reply: Reply) -> bool:
    """Whether the conversation with a call went on before a reply."""
    children = [*islice(follow_links(site.reply.last_child, "before"), MOST)]
    return bool(children) and not _is_before(reply, children[-1])
