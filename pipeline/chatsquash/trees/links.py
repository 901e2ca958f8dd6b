"""What a tree comes from: the summary that stands in it, the call that began it, the messages that it copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field

from chatsquash.core import chat, jsonio
from chatsquash.trees.canonical import Sketch, is_similar_prompt, runs, sketch, without_reminders
from chatsquash.trees.replies import Reply

_QUOTED = 2
"""Runs of a reply that tell that a text quotes it."""
_PROMPTED = 3
"""Runs of an argument that tell that a text holds it."""
_HELD = 8
"""Replies that are remembered by one run of words."""
_LEAST_RUNS = 5
_BACK = 20
"""Replies before a summary that are looked at."""


class CallSite(Struct, frozen=True):
    """A call of a tool by its reply and its place among the calls there, from 1."""

    reply: Reply
    place: int


class Link(Struct):
    """What is known of where a tree comes from."""

    summary: Reply | None = None
    """The reply that summed up what came before."""
    caller: CallSite | None = None
    """The call whose argument is its prompt."""
    is_exact: bool = False
    """Whether the argument is all of the prompt."""
    result: str | None = None
    """The result of that call, once it is logged."""
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
    _by_argument: dict[str, CallSite] = field(default_factory=dict)
    _by_argument_run: dict[int, list[tuple[CallSite, Sketch]]] = field(default_factory=dict)
    _claimed: dict[int, Reply] = field(default_factory=dict)
    """By the numbers of summaries, the first reply of the tree that begins with each."""
    _awaited: dict[int, dict[int, Link]] = field(default_factory=dict)
    """Links whose call has no result yet, by the number of its reply and its place there."""

    def begin(self, first: Reply, before: list[Reply], copied: list[Reply]) -> Link:
        """The link of a tree that begins, to the replies before it."""
        self._learn(before)
        texts = [text for _, message in first.users() if (text := without_reminders(chat.text(message) or "").strip())]
        link = Link(copied=copied)
        said = [runs(text) for text in texts]
        for words in said:
            self._read(words, first, link)
        if link.summary is None and texts:
            self._find_call(texts[0], said[0], link)
        if link.caller and not link.is_exact:
            self._awaited.setdefault(link.caller.reply.number, {})[link.caller.place] = link
        return link

    def sums_up(self, text: str, other: str, before: list[Reply]) -> bool:
        """Whether what a text has beside another one stands for what a reply summed up that nothing goes on from."""
        self._learn(before)
        words = runs(text) - runs(other)
        count: Counter[Reply] = Counter(reply for run in words for reply in self._by_run.get(run, ()))
        return any(_is_summary(reply, words) for reply, _ in count.most_common(_HELD))

    def awaits(self, reply: Reply) -> bool:
        """Whether the result of a call of this reply is wanted."""
        return reply.number in self._awaited

    def hear(self, reply: Reply, place: int, result: str) -> None:
        """The result of a call was logged, which tells something where it is wanted."""
        link = self._awaited[reply.number].pop(place, None)
        if link:
            link.result = result

    def _learn(self, replies: list[Reply]) -> None:
        """Remember what replies say and call that were not looked at before."""
        for reply in replies[self._seen :]:
            for run in sketch(chat.text(reply.message) or "").runs:
                recent = self._by_run.setdefault(run, [])
                recent.append(reply)
                del recent[:-_HELD]
            for place, call in enumerate(chat.calls(reply.message), 1):
                for argument in _arguments(call):
                    self._learn_argument(argument, CallSite(reply, place))
        self._seen = len(replies)

    def _learn_argument(self, argument: str, call: CallSite) -> None:
        self._by_argument[argument] = call
        words = sketch(argument)
        if words.all < _PROMPTED:
            return
        for run in words.runs:
            others = self._by_argument_run.setdefault(run, [])
            others.append((call, words))
            del others[:-_HELD]

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

    def _find_call(self, text: str, words: set[int], link: Link) -> None:
        """Look for the call that a tree's first text is the argument of, or holds it."""
        if call := self._by_argument.get(text):
            link.caller, link.is_exact = call, True
            return
        counts: dict[tuple[int, int], list[tuple[CallSite, Sketch]]] = {}
        for run in words if self._by_argument_run else ():
            for call, sketched in self._by_argument_run.get(run, ()):
                counts.setdefault((call.reply.number, call.place), []).append((call, sketched))
        fitting = [
            matches[0][0] for matches in counts.values() if len(matches) >= max(_PROMPTED, len(matches[0][1].runs) - 1)
        ]
        if fitting:
            link.caller = max(fitting, key=lambda call: (call.reply.number, call.place))


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
        yield from _arguments(call)
    for message in each.behind:
        if each.parent or message["role"] != "user":
            yield chat.text(message) or ""
    if each is last and not each.parent and each.behind:  # which a beginning that is kept is not
        yield chat.text(each.behind[-1]) or ""


def is_tail(first: Reply, link: Link) -> bool:
    """Whether a tree goes on with messages of another one under its system prompt, without a summary."""
    return any(is_similar_prompt(reply.system, first.system) for reply in link.copied)


def _arguments(call: dict[str, object]) -> list[str]:
    """The texts that a call gives to its tool."""
    function = call.get("function") or call.get("custom")
    given = (function.get("arguments") or function.get("input")) if isinstance(function, dict) else None
    value = jsonio.value(given, given) if isinstance(given, str) else given
    return [text for each in chat.strings(value) if (text := each.strip())]
