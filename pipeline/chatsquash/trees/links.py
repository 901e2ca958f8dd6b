"""What a tree comes from: the summary that stands in it, the call that began it, the messages that it copied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from itertools import islice, takewhile

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.model import Message
from chatsquash.trees.calls import Calls, CallSite
from chatsquash.trees.canonical import LEAST_RUNS, is_similar_prompt, prompt_text, runs, sketch
from chatsquash.trees.replies import Reply

_QUOTED = 2
"""Runs of a reply that tell that a text quotes it."""
_COMPLETE = 0.8
"""The share of a reply from which on it counts as quoted completely."""
_LEAST_OF_TEXT, _LEAST_OF_TEXT_COMPLETE, _LEAST_OF_CONTINUATION = 0.3, 0.24, 0.1
"""The share of a text that a summary has to make up, if it is complete, and if its conversation continues so."""
_OWN = 64
"""Replies whose own words are kept."""
_HELD = 8
"""Replies that are remembered by one run of words."""
_MOST_PARTS = 16
"""Texts of one message that are looked at by themselves."""
_BACK = 20
"""Replies before a summary that are looked at."""


class Link(Struct):
    """What is known of where a tree comes from."""

    summary: Reply | None = None
    """The reply that summed up what came before."""
    rivals: list[Reply] = field(default_factory=list)
    """Other replies that may be this summary just as well."""
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
    _begun: set[int] = field(default_factory=set)
    """What the texts are the same by that trees began with which begin with a summary."""
    _own: dict[int, tuple[Message, list[Message], set[int]]] = field(default_factory=dict)
    """What the last replies that were quoted say themselves, by their numbers, with the messages that this is of."""
    _links: dict[int, Link] = field(default_factory=dict)
    """By the numbers of first replies, where their trees come from."""

    def begin(self, first: Reply, before: list[Reply], copied: list[Reply]) -> Link:
        """The link of a tree that begins, to the replies before it."""
        self.learn(before)
        users = [(message, text) for _, message in first.users() if (text := prompt_text(message))]
        self._links[first.number] = link = Link(copied=copied)
        summaries: dict[Reply, float] = {}
        texts: list[set[int]] = []
        for message, text in users:
            texts.append(runs(text))
            summaries |= self._read(first, message, texts[-1], before, link)
        self._claim(summaries or {each: 1.0 for each in copied if self._is_first_in(first, each)}, first, link)
        if link.summary:
            self._begun.update(hash(chat.text(message)) for message, _ in users)
        elif users:
            words = dict(zip((text for _, text in users), texts, strict=True))
            self._find_call(first, [(text, words[text]) for text in prompts(first) if text in words], link)
        return link

    def sums_up(self, text: str, other: str, before: list[Reply]) -> bool:
        """Whether a text contains what another one does not of a summary from which nothing continues."""
        self.learn(before)
        words = runs(text)
        more = words - runs(other)
        candidates = dict.fromkeys([*self._most_quoted(more), *self._most_quoted(words)])  # it may add one sentence
        return any(
            len(said & more) >= LEAST_RUNS and (_quoted_share(said, words) or _quoted_share(said, more))
            for reply in candidates
            if _may_sum_up(reply)
            for said in [runs(chat.text(reply.message) or "")]
        )

    def _most_quoted(self, words: set[int]) -> list[Reply]:
        """The replies that most of some runs of words are of."""
        count: Counter[Reply] = Counter(reply for run in words for reply in self._by_run.get(run, ()))
        return [reply for reply, _ in count.most_common(_HELD)]

    def begins_with_call(self, first: Reply, before: list[Reply]) -> bool:
        """Whether the prompt of a tree is the argument of a call that no other tree began with."""
        self.learn(before)
        return any(map(self.calls.is_open, prompts(first)))

    def learn(self, replies: list[Reply]) -> None:
        """Remember what replies say and call that were not looked at before."""
        for reply in replies[self._seen :]:
            for run in sketch(chat.text(reply.message) or "").runs:
                recent = self._by_run.setdefault(run, [])
                recent.append(reply)
                del recent[:-_HELD]
            self.calls.learn(reply)
        self._seen = len(replies)

    def _read(
        self, first: Reply, message: Message, words: set[int], before: list[Reply], link: Link
    ) -> dict[Reply, float]:
        """Look for replies that a message of a beginning quotes; returns the summaries as ``_summaries`` does."""
        hits: dict[int, Reply] = {}
        count: Counter[int] = Counter()
        for run in words:
            for reply in self._by_run.get(run, ()):
                hits[reply.number] = reply
                count[reply.number] += 1
        quoted = sorted(number for number, times in count.items() if times >= _QUOTED)
        own = [hits[number] for number in quoted[-_HELD:] if len(self._own_words(hits[number]) & words) >= _QUOTED]
        link.quotes += len(own) + len(quoted[:-_HELD])
        if own and (link.quoted is None or own[-1].number > link.quoted.number):
            link.quoted = own[-1]
        most = sorted(quoted, key=lambda number: (count[number], number))[-_HELD:]
        candidates = [hits[number] for number in most if _may_sum_up(hits[number])]
        return self._summaries(first, message, words, candidates, before) if candidates else {}

    def _summaries(
        self, first: Reply, message: Message, words: set[int], candidates: list[Reply], before: list[Reply]
    ) -> dict[Reply, float]:
        """Those of some replies that a message quotes as summaries, and how much of each.

        Each may be quoted in a part of the message, or together with earlier summaries.  A text with which another tree
        began contains no new summary.  One that also contains what the tree of a summary says does not begin with it.
        """
        said = {each: runs(chat.text(each.message) or "") for each in candidates}
        claimed = [each for each in candidates if each.number in self._claimed]
        older = set[int]().union(*(said[each] for each in claimed if len(said[each] & words) >= 0.6 * len(said[each])))
        summaries = [each for each in claimed if not _are_quoted(_after(self._claimed[each.number], before), words)]
        if hash(chat.text(message)) not in self._begun:
            summaries += [each for each in candidates if each not in claimed]
        parts = [words, *map(runs, _parts(message))]
        shares = {
            each: max(
                _quoted_share(said[each], part, set() if each in claimed else older, least=self._least(first, each))
                for part in parts
            )
            for each in summaries
        }
        return {
            each: share
            for each, share in shares.items()
            if share and not _has_transcript(each, words - said[each]) and self._has_own_words(each, words)
        }

    def _has_own_words(self, reply: Reply, words: set[int]) -> bool:
        """Whether a text quotes what a reply says itself, and not only what users said before it, perhaps here, too."""
        own = self._own_words(reply)
        return len(own & words) >= max(1, 0.25 * len(own))

    def _own_words(self, reply: Reply) -> set[int]:
        """The runs of words of a reply that users did not say before it; kept for the next messages that quote it."""
        message, behind, own = self._own.pop(reply.number, (None, None, set[int]()))
        if message is not reply.message or behind is not reply.behind:  # both may change later
            users = (each for earlier in islice(reply.back(), _BACK) for _, each in earlier.users())
            own = runs(chat.text(reply.message) or "").difference(*(runs(chat.text(each) or "") for each in users))
        self._own[reply.number] = reply.message, reply.behind, own
        if len(self._own) > _OWN:
            del self._own[next(iter(self._own))]
        return own

    def _least(self, first: Reply, summary: Reply) -> float:
        """The share of a text that a complete summary has to make up: less under the settings of its conversation."""
        link = self._links.get(summary.number)
        before = summary.parent or (link.copied[-1] if link and link.copied else summary)
        is_same = bool(first.tools) and first.tools == before.tools and is_similar_prompt(before.system, first.system)
        return _LEAST_OF_CONTINUATION if is_same else _LEAST_OF_TEXT_COMPLETE

    def _is_first_in(self, first: Reply, reply: Reply) -> bool:
        """Whether a reply is a summary that the first request of a tree contains as the first message of an assistant.

        The user says something else before it than in its own request.
        """
        said = runs(chat.text(reply.message) or "")
        if not _may_sum_up(reply) or len(said) < LEAST_RUNS or not self._has_history(reply):
            return False
        place = next((at for at, message in enumerate(first.behind) if message["role"] == "assistant"), 0)
        before = "\n".join(chat.text(message) or "" for message in first.behind[:place])
        asked = [text for _, message in reply.users() if (text := (chat.text(message) or "").strip())]
        return first.added[place] == reply.said and not any(text in before for text in asked)

    def _has_history(self, reply: Reply) -> bool:
        """Whether the request of a reply contains other replies, as messages or as a text that quotes them."""
        link = self._links.get(reply.number)
        return reply.parent is not None or (link is not None and (link.quotes > 0 or bool(link.copied)))

    def _claim(self, summaries: dict[Reply, float], first: Reply, link: Link) -> None:
        """Note that a tree begins with a summary which no other tree began with, or else with that of another tree."""
        own = [reply for reply in summaries if reply.number not in self._claimed and _takes_over(first, reply)]
        if own:
            most = max(map(summaries.__getitem__, own))
            *link.rivals, link.summary = sorted(
                (each for each in own if summaries[each] == most), key=lambda reply: reply.number
            )
            for each in (link.summary, *link.rivals):
                self._claimed[each.number] = first
                _mark(each, first)
        elif claimed := [reply.number for reply in summaries if reply.number in self._claimed]:
            other = self._claimed[max(claimed)]
            if first.tools == other.tools != [] or is_similar_prompt(other.system, first.system):
                link.same = other

    def _find_call(self, first: Reply, texts: list[tuple[str, set[int]]], link: Link) -> None:
        """Look for the call that one of the first texts of a tree is the argument of, or contains it."""
        for text, _ in texts:
            if caller := self.calls.claim(text, first):
                link.caller, link.is_exact = caller, True
                return
        for _, words in texts:
            if callers := self.calls.contained(words):
                link.caller = callers[-1]
                return
        for text, _ in texts:
            if caller := self.calls.short(text):
                link.caller, link.is_short = caller, True
                return


def prompts(first: Reply) -> list[str]:
    """Return the texts of users in a first request, without reminders: those before any assistant, and the last one.

    Clients may begin with a text of their own and an answer to it, before the prompt.
    """
    before = sum(1 for _ in takewhile(lambda message: message["role"] != "assistant", first.behind))
    users = [
        (at, text) for at, each in enumerate(first.behind) if each["role"] == "user" and (text := prompt_text(each))
    ]
    return [text for number, (at, text) in enumerate(users, 1) if at < before or number == len(users)]


def _quoted_share(
    said: set[int], words: set[int], older: AbstractSet[int] = frozenset(), *, least: float = _LEAST_OF_TEXT_COMPLETE
) -> float:
    """The share of a reply that a text quotes, by their runs of words; 0 unless the text may replace what it sums up.

    ``older``: those of earlier summaries that the text quotes, too.  ``least``: the share of the text that a reply has
    to make up that is quoted completely.
    """
    shared = said & words
    if older and len(shared - older) < LEAST_RUNS:
        return 0.0
    least = least if len(shared) >= _COMPLETE * len(said) else _LEAST_OF_TEXT
    is_enough = len(shared) >= max(LEAST_RUNS, 0.25 * len(said), least * len((words - older) | shared))
    return len(shared) / len(said) if is_enough else 0.0


def _may_sum_up(reply: Reply) -> bool:
    """Whether a reply may be a summary: nothing continues from it, and it calls no tool."""
    return not reply.children and not chat.calls(reply.message)


def _parts(message: Message) -> list[str]:
    """The texts of a message, where it has several."""
    content = message.get("content")
    texts = [text for part in content if (text := chat.part_text(part))] if isinstance(content, list) else []
    return texts if 1 < len(texts) <= _MOST_PARTS else []


def _takes_over(first: Reply, summary: Reply) -> bool:
    """Whether a tree may continue a conversation with tools: a request without any, under another prompt, does not."""
    before = summary.parent or summary
    return bool(first.tools) or not before.tools or is_similar_prompt(before.system, first.system)


def _mark(summary: Reply, first: Reply) -> None:
    """Mark a summary, and those before it that it is a corrected version of: each is much of the other.

    So are drafts that were requested under a system prompt for summaries.
    """
    said = runs(chat.text(summary.message) or "")
    drafts = _drafts(summary, first)
    for each in islice(summary.back(), _BACK):
        text = runs(chat.text(each.message) or "")
        is_version = each in drafts or len(text & said) >= max(LEAST_RUNS, 0.5 * len(text), 0.5 * len(said))
        if each is not summary and (chat.calls(each.message) or not is_version):
            break
        each.is_summary = True


def _drafts(summary: Reply, first: Reply) -> list[Reply]:
    """The replies up to a summary under another system prompt than those before and the tree that begins with it."""
    back = islice(summary.back(), _BACK)
    others = [*takewhile(lambda each: not is_similar_prompt(each.system, first.system), back)]
    return others if others and len(others) < _BACK and others[-1].parent else []


def _has_transcript(reply: Reply, others: set[int]) -> bool:
    """Whether a text contains what was said before a reply: it only reports that.

    ``others``: the runs of words of the text that the reply does not have.  Prompts do not count, except the one that
    the reply answers.
    """
    messages = [each.message for each in islice(reply.back(), 1, _BACK)]
    return _are_quoted([*messages, *reply.behind[-1:]], others)


def _after(first: Reply, replies: list[Reply]) -> list[Message]:
    """The first replies of a tree."""
    return [each.message for each in replies[first.number : first.number + _BACK] if each.tree == first.tree]


def _are_quoted(messages: list[Message], words: set[int]) -> bool:
    """Whether a text with these runs of words contains what one of some messages says."""
    said = [runs(chat.text(message) or "") for message in messages]
    return any(len(text & words) >= 0.6 * len(text) for text in said if len(text) >= LEAST_RUNS)


def is_tail(first: Reply, link: Link) -> bool:
    """Whether a tree goes on with messages of another one under its system prompt, without a summary."""
    return any(is_similar_prompt(reply.system, first.system) for reply in link.copied)
