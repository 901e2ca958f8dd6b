"""Which calls begin conversations: their arguments in prompts, and their results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from msgspec import Struct, field

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json
from chatsquash.trees.canonical import Sketch, is_long, is_similar_prompt, result_number, sketch
from chatsquash.trees.replies import Reply, follow_links

_PROMPTED = 3
"""Runs of an argument by which a text that contains it is found."""
MOST = 8
"""Calls with the same words that are remembered."""
_EQUAL = 64
"""Calls with equal arguments that are remembered."""
ARGUMENTS = 64
"""Arguments of one reply that are compared."""
_SHORT_WORDS, _SHORT_LENGTH = 3, 30
"""A short argument has at least so many words, or else characters."""
_WORD = re.compile(r"\w")
_FURTHER = 16
"""Replies after a call in whose requests its outcome is looked for."""


class CallSite(Struct, frozen=True):
    """A call of a tool by its reply and its place among the calls there, from 1."""

    reply: Reply
    place: int


class Calls(Struct):
    """The arguments of calls so far."""

    _sites: dict[str, list[CallSite]] = field(default_factory=dict)
    """For each argument the last calls with it."""
    _open: dict[str, list[CallSite]] = field(default_factory=dict)
    """Those of them that no conversation began with."""
    _begun: dict[str, Reply] = field(default_factory=dict)
    """For each argument the first reply of the last conversation that began with it."""
    _by_run: dict[int, list[tuple[str, Sketch]]] = field(default_factory=dict)
    """The last arguments with a run of words."""
    _short: list[tuple[CallSite, str]] = field(default_factory=list)
    """The last short arguments."""

    def learn(self, reply: Reply) -> None:
        """Remember the calls of a reply."""
        for place, call in enumerate(chat.calls(reply.message), 1):
            for argument in arguments(call):
                self._learn(argument, CallSite(reply, place))

    def _learn(self, argument: str, site: CallSite) -> None:
        for sites in (self._sites, self._open):
            _remember(sites.setdefault(argument, []), site, _EQUAL)
        words = sketch(argument)
        if words.all >= _PROMPTED:
            for run in words.runs:
                others = self._by_run.setdefault(run, [])
                if all(other != argument for other, _ in others):
                    _remember(others, (argument, words), MOST)
        elif len(argument.split()) >= _SHORT_WORDS or len(argument) >= _SHORT_LENGTH:
            _remember(self._short, (site, argument), ARGUMENTS)

    def equal(self, text: str) -> list[CallSite]:
        """The last calls with an argument that is a text."""
        return self._sites.get(text, [])

    def is_open(self, text: str) -> bool:
        """Whether an argument is a text, of a call that no conversation began with."""
        return bool(self._open.get(text))

    def claim(self, text: str, first: Reply) -> CallSite | None:
        """The call with an argument which is the prompt of a conversation that begins.

        Each call begins one conversation.  The same prompt again is the user's own under the system prompt of the
        caller, and else a second attempt.
        """
        if sites := self._open.get(text):
            at = next(at for at, site in enumerate(sites) if site.reply is sites[-1].reply)
            self._begun[text] = first
            return sites.pop(at)
        before = self._begun.get(text)
        if before is None or not is_similar_prompt(before.system, first.system):
            return None
        site = self._sites[text][-1]
        return None if is_similar_prompt(site.reply.system, first.system) else site

    def contained(self, words: set[int]) -> list[CallSite]:
        """The last calls with an argument that a text contains, given the runs of words of that, in order."""
        matches: Counter[str] = Counter()
        least: dict[str, int] = {}
        for run in words if self._by_run else ():
            for argument, sketched in self._by_run.get(run, ()):
                matches[argument] += 1
                least[argument] = max(_PROMPTED, len(sketched.runs) - 1)
        fitting = [argument for argument, times in matches.items() if times >= least[argument]]
        return sorted((site for argument in fitting for site in self._sites[argument]), key=_order)

    def short(self, text: str) -> CallSite | None:
        """The last call with a short argument that a text contains, of those whose result is not logged so far."""
        fitting = [site for site, argument in self._short if site.reply.children == 0 and contains(text, argument)]
        return max(fitting, key=_order, default=None)


T = TypeVar("T")


def _remember(items: list[T], item: T, most: int) -> None:
    items.append(item)
    del items[:-most]


def _order(site: CallSite) -> tuple[int, int]:
    return site.reply.number, site.place


def contains(text: str, argument: str) -> bool:
    """Whether a text contains an argument word by word, as it is or as a part of JSON."""
    return any(_is_separate(form, text) for form in {argument, _escape(argument)})


def _is_separate(form: str, text: str) -> bool:
    """Whether a text contains another one with no letter, digit or underscore next to it."""
    at = text.find(form) if form else -1
    while at >= 0:
        end = at + len(form)
        if not _WORD.search(text[max(at - 1, 0) : at] + text[end : end + 1]):
            return True
        at = text.find(form, end)
    return False


def _escape(text: str) -> str:
    """A text as it is written in a JSON string."""
    return jsonio.dumps(text)[1:-1].decode("utf-8", "surrogatepass")


def arguments(call: Json) -> list[str]:
    """The texts that a call gives to its tool."""
    function = (call.get("function") or call.get("custom")) if isinstance(call, dict) else None
    given = (function.get("arguments") or function.get("input")) if isinstance(function, dict) else None
    value = jsonio.value(given, given) if isinstance(given, str) else given
    return [text for each in chat.strings(value) if (text := each.strip())]


def equal_calls(site: CallSite) -> int:
    """How many calls of a reply have the arguments of one of them."""
    calls = [arguments(call) for call in chat.calls(site.reply.message)]
    return calls.count(calls[site.place - 1])


def _results(site: CallSite) -> Iterator[str]:
    """The results of a call."""
    for child in islice(follow_links(site.reply.last_child, "before"), MOST):
        for number, message in zip(child.added, child.behind, strict=True):
            if message["role"] == "tool" and number == result_number(site.place):
                yield chat.text(message) or ""


def _sent_later(site: CallSite) -> Iterator[str]:
    """What the conversation with a call is sent after it."""
    for each in islice(follow_links(site.reply.last_child, "last_child"), _FURTHER):
        messages = (message for message in each.behind if message["role"] in ("tool", "user"))
        yield from (chat.text(message) or "" for message in (*messages, *each.notes))


def returning(sites: Iterable[CallSite], replies: Iterable[Reply], *, is_strict: bool) -> list[CallSite]:
    """The calls of which the result, or else what comes later, is what one of some replies says.

    ``is_strict``: a short reply has to be all of it.
    """
    texts = [text for reply in replies for text in _said(reply)]

    def fits(outcomes: Iterator[str]) -> bool:
        return any(_is_outcome(text, outcome, is_strict=is_strict) for outcome in outcomes for text in texts)

    sites = [*sites]
    return [site for site in sites if fits(_results(site))] or [
        site for site in sites[-MOST:] if fits(_sent_later(site))
    ]


def _is_outcome(text: str, outcome: str, *, is_strict: bool) -> bool:
    outcome = outcome.strip()
    if text == outcome:
        return True
    if is_long(outcome) and text.startswith(outcome):
        return True
    return (is_long(text) or not is_strict) and (text in outcome or _escape(text) in outcome)


def _said(reply: Reply) -> list[str]:
    """What a reply says, and gives to the tool that ends its work."""
    texts = [(chat.text(reply.message) or "").strip()]
    texts += [each for call in chat.calls(reply.message)[:MOST] for each in arguments(call) if is_long(each)]
    return [text for text in texts if text]
