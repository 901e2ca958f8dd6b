"""Find the calls that started conversations, based on arguments in prompts and on results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from msgspec import Struct, field

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json
from chatsquash.trees.canonical import anchors, is_long, is_similar_prompt, result_number, runs, sketch
from chatsquash.trees.replies import Reply, follow_links

_PROMPTED = 3
"""The minimum number of word runs that a text shares with a longer argument that it contains."""
MOST = 8
"""The maximum number of calls with the same words to remember."""
_EQUAL = 64
"""The maximum number of calls with equal arguments to remember."""
ARGUMENTS = 64
"""The maximum number of arguments of one reply to compare."""
_SHORT_WORDS, _SHORT_LENGTH = 3, 30
"""The minimum size of a short argument: in words, or else in characters."""
_WORD = re.compile(r"\w")
_FURTHER = 16
"""The number of replies after a call whose requests are searched for its outcome."""


class CallSite(Struct, frozen=True):
    """A tool call: its reply, and its place among the calls there, counted from 1."""

    reply: Reply
    place: int


class Calls(Struct):
    """The arguments of all calls so far."""

    _sites: dict[str, list[CallSite]] = field(default_factory=dict)
    """For each argument, the last calls with it."""
    _open: dict[str, list[CallSite]] = field(default_factory=dict)
    """For each argument that started a conversation, the last calls with it that have not started one."""
    _first_replies: dict[str, Reply] = field(default_factory=dict)
    """For each argument, the first reply of the last conversation that started with it."""
    _by_anchor: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """For each run of words, the last arguments with it as an anchor."""
    _sketches: dict[str, list[int]] = field(default_factory=dict)
    """The sketches of the arguments that were compared with texts."""
    _short: list[tuple[CallSite, str]] = field(default_factory=list)
    """The last short arguments."""

    def learn(self, reply: Reply) -> None:
        """Remember the calls of a reply."""
        for place, call in enumerate(chat.calls(reply.message), 1):
            site = CallSite(reply, place)
            for argument in arguments(call):
                self._learn(argument, site)

    def _learn(self, argument: str, site: CallSite) -> None:
        _remember(self._sites.setdefault(argument, []), site, _EQUAL)
        if argument in self._open:
            _remember(self._open[argument], site, _EQUAL)
        starts = anchors(argument)
        if len(starts) >= _PROMPTED:
            only = (argument,)
            for run in starts:
                others = self._by_anchor.setdefault(run, only)
                if others is not only and argument not in others:
                    self._by_anchor[run] = others[1 - MOST :] + only
        elif len(argument.split()) >= _SHORT_WORDS or len(argument) >= _SHORT_LENGTH:
            _remember(self._short, (site, argument), ARGUMENTS)

    def equal(self, text: str) -> list[CallSite]:
        """Return the last calls with an argument equal to a text."""
        return self._sites.get(text, [])

    def is_open(self, text: str) -> bool:
        """Return whether a text is the argument of a call that has not started a conversation."""
        return bool(self._open.get(text, self.equal(text)))

    def claim(self, prompt: str, first: Reply) -> CallSite | None:
        """Return the call whose argument is the prompt of a new conversation, and mark it as used."""
        # Each call starts one conversation.
        if self.is_open(prompt):
            sites = self._open.setdefault(prompt, self._sites[prompt].copy())
            at = next(at for at, site in enumerate(sites) if site.reply is sites[-1].reply)
            self._first_replies[prompt] = first
            return sites.pop(at)
        before = self._first_replies.get(prompt)
        # A repeated prompt is the user's own if it follows the caller's system prompt, otherwise a second attempt.
        if before is None or not is_similar_prompt(before.system, first.system):
            return None
        site = self._sites[prompt][-1]
        return None if is_similar_prompt(site.reply.system, first.system) else site

    def contained(self, words: set[int]) -> list[CallSite]:
        """Return the last calls whose argument is contained in a text, in order; ``words`` are the text's word runs."""
        matches = Counter(argument for run in self._by_anchor.keys() & words for argument in self._by_anchor[run])
        fitting = [argument for argument, times in matches.items() if times > 1 and self._is_contained(argument, words)]
        return sorted((site for argument in fitting for site in self._sites[argument]), key=_order)

    def short(self, text: str) -> CallSite | None:
        """Return the last call without a logged result whose short argument occurs in a text."""
        candidates = [site for site, argument in self._short if site.reply.children == 0 and contains(text, argument)]
        return max(candidates, key=_order, default=None)

    def _is_contained(self, argument: str, words: set[int]) -> bool:
        """Return whether a text with these word runs contains nearly all of an argument."""
        if argument not in self._sketches:
            self._sketches[argument] = sketch(runs(argument))
        sample = self._sketches[argument]
        return len(words.intersection(sample)) >= max(_PROMPTED, len(sample) - 1)


T = TypeVar("T")


def _remember(items: list[T], item: T, most: int) -> None:
    items.append(item)
    if len(items) > most:
        del items[0]


def _order(site: CallSite) -> tuple[int, int]:
    return site.reply.number, site.place


def contains(text: str, argument: str) -> bool:
    """Return whether a text contains an argument as separate words, literally or escaped as in JSON."""
    return any(_is_separate(form, text) for form in {argument, _escape(argument)})


def _is_separate(form: str, text: str) -> bool:
    """Return whether a form occurs in a text without an adjacent letter, digit or underscore."""
    position = text.find(form) if form else -1
    while position >= 0:
        end = position + len(form)
        if not _WORD.search(text[max(position - 1, 0) : position] + text[end : end + 1]):
            return True
        position = text.find(form, end)
    return False


def _escape(text: str) -> str:
    """Return a text escaped as in a JSON string."""
    return jsonio.dumps(text)[1:-1].decode("utf-8", "surrogatepass")


def arguments(call: Json) -> list[str]:
    """Return the strings in the arguments of a call."""
    function = (call.get("function") or call.get("custom")) if isinstance(call, dict) else None
    raw = (function.get("arguments") or function.get("input")) if isinstance(function, dict) else None
    value = jsonio.value(raw, raw) if isinstance(raw, str) else raw
    return [text for each in chat.strings(value) if (text := each.strip())]


def equal_calls(site: CallSite) -> int:
    """Return how many calls of a reply have the same arguments as this one."""
    calls = [arguments(call) for call in chat.calls(site.reply.message)]
    return calls.count(calls[site.place - 1])


def _results(site: CallSite) -> Iterator[str]:
    """Yield the results of a call."""
    for child in islice(follow_links(site.reply.last_child, "before"), MOST):
        for number, message in zip(child.new_numbers, child.new_messages, strict=True):
            if message["role"] == "tool" and number == result_number(site.place):
                yield chat.text(message) or ""


def _sent_later(site: CallSite) -> Iterator[str]:
    """Yield the texts sent in the conversation after a call."""
    for each in islice(follow_links(site.reply.last_child, "last_child"), _FURTHER):
        messages = (message for message in each.new_messages if message["role"] in ("tool", "user"))
        yield from (chat.text(message) or "" for message in (*messages, *each.notes))


def returning(sites: Iterable[CallSite], replies: Iterable[Reply], *, is_strict: bool) -> list[CallSite]:
    """Return the calls whose result, or else a later message, is the text of one of the replies.

    Args:
        sites: The calls.
        replies: The replies of the conversation that a call may have started.
        is_strict: Whether a short reply must equal the result instead of being contained in it.
    """
    texts = [text for reply in replies for text in _reply_texts(reply)]

    def fits(outcomes: Iterator[str]) -> bool:
        return any(_is_outcome(text, outcome, is_strict=is_strict) for outcome in outcomes for text in texts)

    sites = [*sites]
    # Some agents return an id as the result of the call, and the outcome in a later message.
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


def _reply_texts(reply: Reply) -> list[str]:
    """Return the text of a reply and the long arguments of its calls."""
    texts = [(chat.text(reply.message) or "").strip()]
    # Some agents report their result as the argument of a final call.
    texts += [each for call in chat.calls(reply.message)[:MOST] for each in arguments(call) if is_long(each)]
    return [text for text in texts if text]
