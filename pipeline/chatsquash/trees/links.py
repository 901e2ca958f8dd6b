"""What a tree comes from: the summary that stands in it, the call that began it, the messages that it copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice, takewhile

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.trees.calls import Calls, CallSite, arguments
from chatsquash.trees.canonical import is_similar_prompt, runs, sketch, without_reminders
from chatsquash.trees.replies import Reply

_QUOTED = 2
"""Runs of a reply that tell that a text quotes it."""
_HELD = 8
"""Replies that are remembered by one run of words."""
_LEAST_RUNS = 5
_BACK = 20
"""Replies before a summary that are looked at."""


class Link(Struct):
    """What is known of where a tree comes from."""

    summary: Reply | None = None
    """The reply that summed up what came before."""
    caller: CallSite | None = None
    """The call whose argument is its prompt."""
    is_exact: bool = False
    """Whether the argument is all of the prompt."""
    is_short: bool = False
    """Whether it is only a part, and so short that other texts may contain it, too."""
    copied: list[Reply] = field(default_factory=list)
    """The replies of other trees that stand in its first request."""
    quoted: Reply | None = None
    """The last reply that a text in its first request quotes."""
    quotes: int = 0
    """How many it quotes."""
    same: Reply | None = None
    """The first reply of a tree that begins with the same summary."""


class Links(Struct):
    """What beginnings are held to, made only when a session has a second one."""

    _seen: int = 0
    _by_run: dict[int, list[Reply]] = field(default_factory=dict)
    calls: Calls = field(default_factory=Calls)
    _claimed: dict[int, Reply] = field(default_factory=dict)
    """By the numbers of summaries, the first reply of the tree that begins with each."""

    def begin(self, first: Reply, before: list[Reply], copied: list[Reply]) -> Link:
        """The link of a tree that begins, to the replies before it."""
        self.learn(before)
        texts = [text for _, message in first.users() if (text := without_reminders(chat.text(message) or "").strip())]
        link = Link(copied=copied)
        said = [runs(text) for text in texts]
        for words in said:
            self._read(words, first, link)
        if link.summary is None and texts:
            self._find_call(first, [*zip(texts, said, strict=True)][: _prompts(first)], link)
        return link

    def sums_up(self, text: str, other: str, before: list[Reply]) -> bool:
        """Whether what a text has beside another one stands for what a reply summed up that nothing goes on from."""
        self.learn(before)
        words = runs(text) - runs(other)
        count: Counter[Reply] = Counter(reply for run in words for reply in self._by_run.get(run, ()))
        return any(_is_summary(reply, words) for reply, _ in count.most_common(_HELD))

    def begins_with_call(self, first: Reply, before: list[Reply]) -> bool:
        """Whether the prompt of a tree is the argument of a call that no other tree began with."""
        self.learn(before)
        users = [*islice(first.users(), _prompts(first))]
        return any(self.calls.is_open(without_reminders(chat.text(message) or "").strip()) for _, message in users)

    def learn(self, replies: list[Reply]) -> None:
        """Remember what replies say and call that were not looked at before."""
        for reply in replies[self._seen :]:
            for run in sketch(chat.text(reply.message) or "").runs:
                recent = self._by_run.setdefault(run, [])
                recent.append(reply)
                del recent[:-_HELD]
            self.calls.learn(reply)
        self._seen = len(replies)

    def _read(self, words: set[int], first: Reply, link: Link) -> None:
        """Look for replies that a text of a beginning quotes, and for a summary among them."""
        hits: dict[int, Reply] = {}
        count: Counter[int] = Counter()
        for run in words:
            for reply in self._by_run.get(run, ()):
                hits[reply.number] = reply
                count[reply.number] += 1
        quoted = sorted(number for number, times in count.items() if times >= _QUOTED)
        link.quotes += len(quoted)
        if quoted and (link.quoted is None or quoted[-1] > link.quoted.number):
            link.quoted = hits[quoted[-1]]
        most = sorted(quoted, key=lambda number: (count[number], number))[-_HELD:]
        candidates = (hits[number] for number in sorted(most, reverse=True))
        summaries = (each for each in candidates if _is_summary(each, words) and not _has_transcript(each, words))
        if summary := next(summaries, None):
            self._sum_up(summary, first, link)
        if link.summary and not link.same:
            self._claimed[link.summary.number] = first
            link.summary.is_summary = True

    def _sum_up(self, summary: Reply, first: Reply, link: Link) -> None:
        """Note that a tree begins with a summary, or with that of another tree."""
        other = self._claimed.get(summary.number)
        if other is None:
            link.summary = summary
        elif other is not first and (other.tools == first.tools or is_similar_prompt(other.system, first.system)):
            link.same = other

    def _find_call(self, first: Reply, texts: list[tuple[str, set[int]]], link: Link) -> None:
        """Look for the call that one of the first texts of a tree is the argument of, or contains it."""
        for text, _ in texts:
            if caller := self.calls.claim(text, first):
                link.caller, link.is_exact = caller, True
                return
        for _, words in texts:
            if caller := self.calls.contained(words):
                link.caller = caller
                return
        for text, _ in texts:
            if caller := self.calls.short(text):
                link.caller, link.is_short = caller, True
                return


def _prompts(first: Reply) -> int:
    """How many messages of the user a request begins with, and at least one."""
    before = takewhile(lambda message: message["role"] != "assistant", first.behind)
    return max(1, sum(message["role"] == "user" for message in before))


def _is_summary(reply: Reply, words: set[int]) -> bool:
    """Whether a text with these runs of words stands for what a reply summed up."""
    if reply.children or chat.calls(reply.message):
        return False
    said = runs(chat.text(reply.message) or "")
    shared = len(said & words)
    return shared >= max(_LEAST_RUNS, 0.25 * len(said), 0.3 * len(words))


def _has_transcript(reply: Reply, words: set[int]) -> bool:
    """Whether a text with these runs of words holds what was said before this reply, too: it only tells that."""
    for each in islice(reply.back(), _BACK):
        for text in _around(each, reply):
            said = runs(text)
            if len(said) >= _LEAST_RUNS and len(said & words) >= 0.6 * len(said):
                return True
    return False


def _around(each: Reply, last: Reply) -> Iterator[str]:
    """What a reply says and calls, and what was said before it, but for the last reply and the first task."""
    if each is not last:
        yield chat.text(each.message) or ""
    for call in chat.calls(each.message):
        yield from arguments(call)
    for message in each.behind:
        if each.parent or message["role"] != "user":
            yield chat.text(message) or ""
    if each is last and not each.parent and each.behind:  # which a beginning that is kept is not
        yield chat.text(each.behind[-1]) or ""


def is_tail(first: Reply, link: Link) -> bool:
    """Whether a tree goes on with messages of another one under its system prompt, without a summary."""
    return any(is_similar_prompt(reply.system, first.system) for reply in link.copied)
