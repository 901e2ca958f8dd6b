"""Find the origin of a tree: the summary in its first request, the call that started it, the messages it copies."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import islice, takewhile
from operator import attrgetter

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.model import Message
from chatsquash.trees.calls import Calls, CallSite
from chatsquash.trees.canonical import LEAST_RUNS, is_similar_prompt, prompt_text, runs
from chatsquash.trees.quotations import MOST_QUOTED, QUOTED, Quotations
from chatsquash.trees.replies import Reply

_COMPLETE = 0.8
"""The minimum share of a reply in a text that quotes it completely."""
_LEAST_OF_TEXT, _LEAST_OF_TEXT_COMPLETE, _LEAST_OF_CONTINUATION = 0.3, 0.24, 0.1
"""The minimum share of a text that a summary makes up: partial, complete, and complete in the same conversation."""
_LEAST_OF_REPLY = 0.25
"""The minimum share of a reply that a text must contain to quote it."""
_OWN = 64
"""The number of replies whose own words are cached."""
_MOST_PARTS = 16
"""The maximum number of texts in a message to examine separately."""
_BACK = 20
"""The number of replies before a summary to examine."""


class Link(Struct):
    """The known origin of a tree."""

    summary: Reply | None = None
    """The reply that summarized the previous conversation."""
    rivals: list[Reply] = field(default_factory=list)
    """Other replies that could equally be this summary."""
    caller: CallSite | None = None
    """The call whose argument is the prompt."""
    is_exact: bool = False
    """Whether the argument is the entire prompt."""
    is_short: bool = False
    """Whether the argument is only part of the prompt, and so short that other texts may contain it."""
    copies: list[Reply] = field(default_factory=list)
    """Replies of other trees that its first request contains."""
    quoted: Reply | None = None
    """The last reply that a text in its first request quotes."""
    quotes: int = 0
    """The number of quoted replies."""
    same_summary: Reply | None = None
    """The first reply of a tree that begins with the same summary."""
    prompts: list[tuple[str, set[int]]] = field(default_factory=list)
    """The prompts of its first request with their runs of words, if they were compared without quotations."""


class Links(Struct):
    """Compares the beginnings of trees with earlier replies; nothing is computed before a session's second tree."""

    _replies: Quotations = field(default_factory=Quotations)
    _summaries: Quotations = field(default_factory=lambda: Quotations(_may_sum_up))
    """The replies that may be summaries; most texts quote none, and then no other replies are examined."""
    _seen: int = 0
    """The number of replies whose calls are known."""
    calls: Calls = field(default_factory=Calls)
    _firsts_by_summary: dict[int, Reply] = field(default_factory=dict)
    """The first reply of the tree that begins with each summary, by the number of the summary."""
    _opening_texts: set[int] = field(default_factory=set)
    """The hashes of the first texts of trees that begin with a summary."""
    _own: dict[int, tuple[Message, list[Message], set[int]]] = field(default_factory=dict)
    """The own words of the last quoted replies, by number, with the messages from which they were computed."""
    _links: dict[int, Link] = field(default_factory=dict)
    """The links of trees by the numbers of their first replies."""

    def begin(self, first: Reply, before: list[Reply], copies: list[Reply], *, quotations: bool = True) -> Link:
        """Return the link of a new tree to the replies before it.

        ``quotations``: whether to look for replies that it quotes and for calls with a short argument that it contains.
        """
        if quotations:
            self._learn(before)
        else:
            self.learn_calls(before)
        users = _user_texts(first)
        self._links[first.number] = link = Link(copies=copies)
        summaries: dict[Reply, float] = {}
        texts: list[set[int]] = []
        for _, message, text in users:
            texts.append(runs(text))
            if not (hits := self._quoted(texts[-1], before, quotations=quotations)):
                continue
            if quotations:
                self._add_quotations(link, texts[-1], sorted(hits, key=attrgetter("number")))
            candidates = [each for each in hits[-MOST_QUOTED:] if _may_sum_up(each)]
            if candidates:
                summaries |= self._find_summaries(first, message, texts[-1], candidates, before)
        self._claim(summaries or {each: 1.0 for each in copies if self._is_first_in(first, each)}, first, link)
        if link.summary:
            self._opening_texts.update(hash(chat.text(message)) for _, message, _ in users)
        elif users:
            words = dict(zip((text for _, _, text in users), texts, strict=True))
            own = [(text, words[text]) for text in _prompts(first, users)]
            self._find_call(first, own, link)
            if not quotations:
                link.prompts = own
            elif link.caller is None:
                link.caller = next(filter(None, (self.calls.short(text) for text, _ in own)), None)
                link.is_short = link.caller is not None
        return link

    def adds_summary(self, text: str, other: str, before: list[Reply]) -> bool:
        """Return whether a text contains a summary without a continuation that another text does not contain."""
        self._learn(before)
        words = runs(text)
        new_words = words - runs(other)
        # The difference may be a single sentence, too short to find the summary by itself.
        candidates = dict.fromkeys([*self._replies.most_similar(new_words), *self._replies.most_similar(words)])
        return any(
            len(said & new_words) >= LEAST_RUNS and (_quoted_share(said, words) or _quoted_share(said, new_words))
            for reply in candidates
            if _may_sum_up(reply)
            for said in [runs(chat.text(reply.message) or "")]
        )

    def begins_with_call(self, first: Reply, before: list[Reply]) -> bool:
        """Return whether the prompt of a tree is the argument of a call that has not started another tree."""
        self._learn(before)
        return any(map(self.calls.is_open, prompts(first)))

    def _learn(self, replies: list[Reply]) -> None:
        """Remember the content and calls of new replies."""
        self._replies.learn(replies)
        self.learn_calls(replies)

    def learn_calls(self, replies: list[Reply]) -> None:
        """Remember the calls of new replies."""
        for reply in replies[self._seen :]:
            self.calls.learn(reply)
        self._seen = len(replies)

    def _quoted(self, words: set[int], before: list[Reply], *, quotations: bool) -> list[Reply]:
        """Return the replies that a text quotes; without ``quotations``, none if none of them may be a summary."""
        if not quotations:
            self._summaries.learn(before)
            if not any(_may_sum_up(each) and _may_be_quoted(each, words) for each in self._summaries.quoted(words)):
                return []
            self._replies.learn(before)
        return self._replies.quoted(words)

    def _add_quotations(self, link: Link, words: set[int], quoted: list[Reply]) -> None:
        """Record the replies that a text quotes; only the last ones are examined for their own words."""
        own = [each for each in quoted[-MOST_QUOTED:] if len(self._own_words(each) & words) >= QUOTED]
        link.quotes += len(own) + len(quoted[:-MOST_QUOTED])
        if own and (link.quoted is None or own[-1].number > link.quoted.number):
            link.quoted = own[-1]

    def _find_summaries(
        self, first: Reply, message: Message, words: set[int], candidates: list[Reply], before: list[Reply]
    ) -> dict[Reply, float]:
        """Return the candidates that a message quotes as summaries, with the quoted share of each.

        A summary may be quoted in a part of the message, or together with earlier summaries.
        """
        words_of_replies = {each: runs(chat.text(each.message) or "") for each in candidates}
        known_summaries = [each for each in candidates if each.number in self._firsts_by_summary]
        older = set[int]().union(
            *(
                words_of_replies[each]
                for each in known_summaries
                if len(words_of_replies[each] & words) >= 0.6 * len(words_of_replies[each])
            )
        )
        # A text that also quotes the conversation after a summary does not begin with that summary.
        summaries = [
            each
            for each in known_summaries
            if not _are_quoted(_after(self._firsts_by_summary[each.number], before), words)
        ]
        # A text that already began another tree contains no new summary.
        if hash(chat.text(message)) not in self._opening_texts:
            summaries += [each for each in candidates if each not in known_summaries]
        # Clients may wrap a summary in other text or put it next to messages that they keep.
        parts = [words, *map(runs, _parts(message))]
        shares = {
            each: max(
                _quoted_share(
                    words_of_replies[each],
                    part,
                    set() if each in known_summaries else older,
                    least=self._least(first, each),
                )
                for part in parts
            )
            for each in summaries
        }
        return {
            each: share
            for each, share in shares.items()
            if share and not _has_transcript(each, words - words_of_replies[each]) and self._has_own_words(each, words)
        }

    def _has_own_words(self, reply: Reply, words: set[int]) -> bool:
        """Return whether a text quotes a reply's own words, and not only those of earlier user messages."""
        own = self._own_words(reply)
        return len(own & words) >= max(1, 0.25 * len(own))

    def _own_words(self, reply: Reply) -> set[int]:
        """Return the word runs of a reply that users did not write before it; cached for the next messages."""
        message, new_messages, own = self._own.pop(reply.number, (None, None, set[int]()))
        if message is not reply.message or new_messages is not reply.new_messages:  # both may change later
            users = (each for earlier in islice(reply.back(), _BACK) for _, each in earlier.users())
            own = runs(chat.text(reply.message) or "").difference(*(runs(chat.text(each) or "") for each in users))
        self._own[reply.number] = reply.message, reply.new_messages, own
        if len(self._own) > _OWN:
            del self._own[next(iter(self._own))]
        return own

    def _least(self, first: Reply, summary: Reply) -> float:
        """Return the minimum share of a text that a complete summary makes up; it is lower under the same settings."""
        link = self._links.get(summary.number)
        before = summary.parent or (link.copies[-1] if link and link.copies else summary)
        is_same = bool(first.tools) and first.tools == before.tools and is_similar_prompt(before.system, first.system)
        return _LEAST_OF_CONTINUATION if is_same else _LEAST_OF_TEXT_COMPLETE

    def _is_first_in(self, first: Reply, reply: Reply) -> bool:
        """Return whether a reply is a summary and the first assistant message in the first request of a tree.

        The user messages before it must differ from those in the request of the summary.
        """
        reply_words = runs(chat.text(reply.message) or "")
        if not _may_sum_up(reply) or len(reply_words) < LEAST_RUNS or not self._has_history(reply):
            return False
        place = next((at for at, message in enumerate(first.new_messages) if message["role"] == "assistant"), 0)
        before = "\n".join(chat.text(message) or "" for message in first.new_messages[:place])
        prompts_before = [text for _, message in reply.users() if (text := (chat.text(message) or "").strip())]
        return first.new_numbers[place] == reply.content_number and not any(text in before for text in prompts_before)

    def _has_history(self, reply: Reply) -> bool:
        """Return whether the request of a reply contains other replies, as messages or as quotations."""
        link = self._links.get(reply.number)
        return reply.parent is not None or (link is not None and (link.quotes > 0 or bool(link.copies)))

    def _claim(self, summaries: dict[Reply, float], first: Reply, link: Link) -> None:
        """Link a tree to a summary that has not started another tree, or else to the tree with the same summary."""
        own = [
            reply for reply in summaries if reply.number not in self._firsts_by_summary and _takes_over(first, reply)
        ]
        if own:
            most = max(map(summaries.__getitem__, own))
            *link.rivals, link.summary = sorted(
                (each for each in own if summaries[each] == most), key=lambda reply: reply.number
            )
            for each in (link.summary, *link.rivals):
                self._firsts_by_summary[each.number] = first
                _mark(each, first)
        elif numbers := [reply.number for reply in summaries if reply.number in self._firsts_by_summary]:
            other = self._firsts_by_summary[max(numbers)]
            if first.tools == other.tools != [] or is_similar_prompt(other.system, first.system):
                link.same_summary = other

    def _find_call(self, first: Reply, texts: list[tuple[str, set[int]]], link: Link) -> None:
        """Find the call whose argument equals one of the first texts of a tree, or is contained in one."""
        for text, _ in texts:
            if caller := self.calls.claim(text, first):
                link.caller, link.is_exact = caller, True
                return
        for _, words in texts:
            # Clients may wrap the argument in other text.
            if callers := self.calls.contained(words):
                link.caller = callers[-1]
                return


def prompts(first: Reply) -> list[str]:
    """Return the user texts of a first request without reminders: those before any assistant message and the last."""
    return _prompts(first, _user_texts(first))


_UserText = tuple[int, Message, str]
"""The index of a user message among the new messages of a request, the message, and its text without reminders."""


def _user_texts(first: Reply) -> list[_UserText]:
    return [
        (at, each, text)
        for at, each in enumerate(first.new_messages)
        if each["role"] == "user" and (text := prompt_text(each))
    ]


def _prompts(first: Reply, users: list[_UserText]) -> list[str]:
    # Clients may begin with another text and an answer to it before the actual prompt.
    before = sum(1 for _ in takewhile(lambda message: message["role"] != "assistant", first.new_messages))
    return [text for number, (at, _, text) in enumerate(users, 1) if at < before or number == len(users)]


def _quoted_share(
    reply_words: set[int],
    words: set[int],
    older: AbstractSet[int] = frozenset(),
    *,
    least: float = _LEAST_OF_TEXT_COMPLETE,
) -> float:
    """Return the share of a reply that a text quotes; 0 if the text cannot replace the summarized conversation.

    Args:
        reply_words: The word runs of the reply.
        words: The word runs of the text.
        older: The word runs of earlier summaries that the text also quotes.
        least: The minimum share of the text for a completely quoted reply.
    """
    common = reply_words & words
    if older and len(common - older) < LEAST_RUNS:
        return 0.0
    least = least if len(common) >= _COMPLETE * len(reply_words) else _LEAST_OF_TEXT
    is_enough = len(common) >= max(
        LEAST_RUNS, _LEAST_OF_REPLY * len(reply_words), least * len((words - older) | common)
    )
    return len(common) / len(reply_words) if is_enough else 0.0


def _may_be_quoted(reply: Reply, words: set[int]) -> bool:
    """Return whether a text may have a quoted share of a reply, whatever else it quotes."""
    reply_words = runs(chat.text(reply.message) or "")
    return len(reply_words & words) >= max(LEAST_RUNS, _LEAST_OF_REPLY * len(reply_words))


def _may_sum_up(reply: Reply) -> bool:
    """Return whether a reply may be a summary: nothing continues it, and it has no calls."""
    return not reply.children and not chat.calls(reply.message)


def _parts(message: Message) -> list[str]:
    """Return the texts in a message that contains several."""
    content = message.get("content")
    texts = [text for part in content if (text := chat.part_text(part))] if isinstance(content, list) else []
    return texts if 1 < len(texts) <= _MOST_PARTS else []


def _takes_over(first: Reply, summary: Reply) -> bool:
    """Return whether a tree may continue the conversation of a summary."""
    # A request without tools under another prompt does not continue a conversation with tools.
    before = summary.parent or summary
    return bool(first.tools) or not before.tools or is_similar_prompt(before.system, first.system)


def _mark(summary: Reply, first: Reply) -> None:
    """Mark a summary, and the preceding replies that are drafts of it.

    Drafts have much text in common with it, or were requested under a system prompt for summaries.
    """
    summary_words = runs(chat.text(summary.message) or "")
    drafts = _drafts(summary, first)
    for each in islice(summary.back(), _BACK):
        text = runs(chat.text(each.message) or "")
        is_version = each in drafts or len(text & summary_words) >= max(
            LEAST_RUNS, 0.5 * len(text), 0.5 * len(summary_words)
        )
        if each is not summary and (chat.calls(each.message) or not is_version):
            break
        each.is_summary = True


def _drafts(summary: Reply, first: Reply) -> list[Reply]:
    """Return the replies up to a summary that were requested under a different system prompt from the conversation."""
    back = islice(summary.back(), _BACK)
    others = [*takewhile(lambda each: not is_similar_prompt(each.system, first.system), back)]
    return others if others and len(others) < _BACK and others[-1].parent else []


def _has_transcript(reply: Reply, others: set[int]) -> bool:
    """Return whether a text contains the conversation before a reply, which makes it a transcript and not a summary.

    ``others``: the word runs of the text that are not in the reply.
    """
    # Summaries may repeat prompts; only the prompt that the reply answers indicates a transcript.
    messages = [each.message for each in islice(reply.back(), 1, _BACK)]
    return _are_quoted([*messages, *reply.new_messages[-1:]], others)


def _after(first: Reply, replies: list[Reply]) -> list[Message]:
    """Return the messages of the first replies of a tree."""
    return [each.message for each in replies[first.number : first.number + _BACK] if each.tree == first.tree]


def _are_quoted(messages: list[Message], words: set[int]) -> bool:
    """Return whether a text with these word runs contains one of the messages."""
    texts = [runs(chat.text(message) or "") for message in messages]
    return any(len(text & words) >= 0.6 * len(text) for text in texts if len(text) >= LEAST_RUNS)


def is_tail(first: Reply, link: Link) -> bool:
    """Return whether a tree continues with messages of another tree under the same system prompt, without summary."""
    return any(is_similar_prompt(reply.system, first.system) for reply in link.copies)
