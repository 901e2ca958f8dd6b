"""Build trees of logged replies: find the reply that each request continues."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.accounting import model_of
from chatsquash.core.edits import Histories, kept_prefix
from chatsquash.core.model import AddedRun, Compacted, Edits, Entry, KeptRun, Response
from chatsquash.trees.calls import Calls
from chatsquash.trees.canonical import NOTHING, is_long, is_similar_prompt
from chatsquash.trees.links import Link, Links
from chatsquash.trees.prefill import Prefill, is_beginning, is_joinable, is_kept_beginning, is_prefill
from chatsquash.trees.replies import (
    Again,
    How,
    LogPath,
    Reply,
    Requests,
    follow_links,
    logged_reply,
    system_prompt,
)
from chatsquash.trees.reply_index import CANDIDATES, ReplyIndex
from chatsquash.trees.restore import first_emptied
from chatsquash.trees.rewrites import (
    SpokenMessage,
    between,
    is_part,
    is_reminded,
    is_resent,
    is_reworded,
    of_path,
    said_in,
    segments,
    words,
)
from chatsquash.trees.translation import is_translated

if TYPE_CHECKING:
    from chatsquash.trees.choices import Choices

_COMPARED, _COMPARED_LEAST = 2, 256
"""Messages that are compared for each one of a request, and at least, to detect a reworded history."""


class RecognisedReply(Struct, frozen=True):
    """A logged reply in a request, and its place there."""

    place: int
    reply: Reply
    how: How
    intact: Reply | None
    """The last reply up to here in the context in which it was sampled."""
    wording: int = 0
    """The history from there on, by a hash, if the client replaced a reply in it."""


class _RequestState(NamedTuple):
    """What is known of a request that was followed."""

    requests: tuple[list[int], ...]
    """As ``Requests.histories`` returns it."""
    met: list[RecognisedReply]
    emptied: int | None


class Trees(Struct):
    """The replies of a session so far, and what later requests find them by."""

    looks_closely: bool = False
    """Whether to check which requests lack results of earlier ones."""
    joins_beginnings: bool = True
    """Whether equal first requests belong to one tree although both replies are complete."""
    grows: bool = False
    """Whether a request extends an earlier one, with or without the reply to that."""
    rewords: bool = False
    """Whether a request rewords earlier prompts."""
    requests: Requests = field(default_factory=Requests)
    replies: list[Reply] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    """The models that gave the replies, as logged; empty for those that are not known."""
    again: list[Again] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    """Where each tree comes from."""
    revise: Callable[[list[LogPath]], None] | None = None
    """Corrects conversations by another file of the session."""
    met: list[RecognisedReply] = field(default_factory=list)
    """The logged replies in the current request, in order."""
    _unmet: dict[int, Reply] = field(default_factory=dict)
    """For the chain of each assistant message that was not logged before its request: the reply to that request."""
    _others: Histories[_RequestState] = field(default_factory=Histories)
    """Earlier requests that the next one may continue."""
    _emptied: int | None = None
    """The index of the first emptied result in the current request."""
    _left: int = 0
    """How many messages of the current request may still be compared with reworded histories."""
    _lookup: Links = field(default_factory=Links)
    index: ReplyIndex = field(default_factory=ReplyIndex)
    _cut: set[int] = field(default_factory=set)
    """The chains of histories that lack messages."""
    _replaced: set[int] = field(default_factory=set)
    """The chains of histories whose last reply has other words than logged, or lacks its prompt."""
    _choices: Choices | None = None
    """Those of responses that have several."""
    _says_ends: bool = False
    """Whether the log says of some replies why they ended."""
    _beginning: Reply | None = None
    """The last first reply of a tree."""

    def add(self, entry: Entry, limit: int | None, response: str, edits: Edits | None = None) -> Reply | None:
        """Add the next request; return its reply, or ``None`` if it has none or repeats an earlier one.

        ``edits``: the edits from the last request that was added, if they differ from the entry's.
        """
        self._says_ends = self._says_ends or (entry.reply.finish_reason is not None and not entry.reply.cut)
        kept = self._follow(entry, edits)
        lacks = self._lacks_something(kept)
        if entry.reply.message is None:
            return None
        prefill = self._prefill(entry.reply)
        met = self.met[:-1] if prefill and prefill.begun and prefill.logged else self.met
        last = met[-1] if met else None
        behind = last.place + 1 if last else 0
        reply = self._reply(entry, last, limit, response)
        if prefill:
            prefill.join(reply, self.requests.canon)
        reply.lacks = lacks
        sibling = self._sibling(reply)
        if sibling and self._is_one(sibling, reply):
            reply.tree, reply.asked = sibling.tree, sibling.asked
            if self._is_again(sibling, reply):
                return None
        self._await(reply, behind)
        later = self._held_before(reply)
        if later:
            reply.tree = later.tree
        self._link(reply, entry.compacted)
        self._take(reply)
        self.models.append(model_of(entry.reply) or "")
        if entry.reply.choices > 1 and not reply.is_merged:
            self._learn_choices(reply, entry.reply.raw)
        if later:
            later.go_on_from(reply)
        return reply

    def _learn_choices(self, reply: Reply, raw: bytes) -> None:
        from chatsquash.trees.choices import Choices  # which few logs need

        self._choices = self._choices or Choices()
        self._choices.add(reply, self.requests, raw)

    def _reply(self, entry: Entry, last: RecognisedReply | None, limit: int | None, response: str) -> Reply:
        """The reply to the current request, which continues from its last logged reply."""
        parent = last.reply if last else None
        reply = logged_reply(entry, self.requests, parent, last.place + 1 if last else 0)
        reply.number, reply.limit, reply.response = len(self.replies), limit, response
        reply.tree = parent.tree if parent else len(self.links)
        if last:
            reply.how, reply.intact, reply.wording = last.how, last.intact, last.wording
        return reply

    def _prefill(self, reply: Response) -> Prefill | None:
        """The last message of the current request, if the reply continues it."""
        requests = self.requests
        place = len(requests.messages) - 1
        if place < 0 or not is_prefill(requests.messages[place]):
            return None
        if reply.message is None or not is_joinable(reply.message):
            return None
        message = requests.messages[place]
        asked, spoken = (requests.chains[place - 1], requests.spoken[place - 1]) if place else (0, 0)
        logged = self.met[-1].reply if self.met and self.met[-1].place == place else None
        truncated = (
            each
            for each in ([logged] if logged else self.index.all_answering(asked))
            if each.is_truncated(says_ends=self._says_ends) and is_beginning(message, each.message)
        )
        return Prefill(message, asked, spoken, logged, next(truncated, None), reply.body is not None)

    def _held_before(self, reply: Reply) -> Reply | None:
        """The reply to a request that contains this reply but was logged earlier."""
        later = self._unmet.pop(reply.chain, None)
        return later if later and later.parent is reply.parent and later is not reply else None

    def _await(self, reply: Reply, behind: int) -> None:
        """Remember the assistant messages after the last logged reply, which may be logged later."""
        requests = self.requests
        for place in islice(reversed(requests.assistants), CANDIDATES):
            if place < behind:
                break
            if not (reply.is_merged and place == len(requests.messages) - 1):
                self._unmet[requests.chains[place]] = reply

    def _follow(self, entry: Entry, edits: Edits | None) -> int:
        """Read a request and find its logged replies; return how many messages are unchanged."""
        requests = self.requests
        edits = entry.edits if edits is None else edits
        before, kept = len(requests.messages), kept_prefix(edits)
        if before == kept < len(entry.messages) and requests.chain:
            self.grows = True
        if entry.known > kept:
            edits = self._go_back(entry) or (AddedRun(tuple(entry.messages)),)
            kept = kept_prefix(edits)
        while self.met and self.met[-1].place >= kept:
            self.met.pop()
        self._left = _COMPARED * len(entry.messages) + _COMPARED_LEAST
        requests.follow(entry.messages, edits, self._meet)
        places = requests.assistants
        if places and (not self.met or self.met[-1].place != places[-1]) and places[-1] >= kept:
            self._window(places[-1])
        return kept

    def _go_back(self, entry: Entry) -> Edits:
        """Continue after the earlier request that an entry continues, if it is known; return the edits since then."""
        requests = self.requests
        now = _RequestState(requests.histories(), self.met, self._emptied)
        self._others.put(requests.messages, now)
        count, followed = self._others.take(entry) or (0, now)
        is_all = requests.go_back(count, followed.requests)
        met = followed.met
        self.met = met if is_all else met[: bisect_left(met, count, key=attrgetter("place"))]
        self._emptied = followed.emptied
        return (KeptRun(0, count), AddedRun(tuple(entry.messages[count:]))) if count else ()

    def _lacks_something(self, kept: int) -> bool:
        """Whether the current request lacks context of its path; its first ``kept`` messages are unchanged."""
        last = self.met[-1] if self.met else None
        if last is None:
            self._emptied = None
            return False
        if self.looks_closely:
            begin = self._first_unchecked(min(kept, last.place + 1))
            if self._emptied is not None and self._emptied >= begin:
                self._emptied = None
            if self._emptied is None:
                self._emptied = first_emptied(self.requests, begin, last.place + 1, last.reply)
        return self._emptied is not None or last.how == "cut"

    def _first_unchecked(self, kept: int) -> int:
        """The index of the first message whose original may be another one than in the last request."""
        last = next((each for each in reversed(self.met) if each.place < kept), None)
        return last.place + 1 if last else 0

    def _link(self, reply: Reply, compacted: Compacted | None) -> None:
        """Note where a tree that begins comes from."""
        if reply.tree == len(self.links):
            link = self.find_origin(reply, self._copied_replies())
            if compacted and not link.summary and not link.same:
                self._link_compacted(link, compacted)
            if link.same:
                reply.tree = link.same.tree
                reply.is_other_prompt = not is_similar_prompt(link.same.system, reply.system)
            else:
                self.links.append(link)

    def _link_compacted(self, link: Link, compacted: Compacted) -> None:
        """Note the reply that a service gave as the summary, and the last one that it replaced."""
        link.summary = self.index.with_words(self.requests.canon.number(compacted.summary))
        if link.summary:
            link.summary.is_summary = True
        last = self.index.with_words(self.requests.canon.number(compacted.last)) if compacted.last else None
        link.copied = [last] if last else []

    def _take(self, reply: Reply) -> None:
        if parent := reply.parent:
            parent.children += 1
            reply.before, parent.last_child = parent.last_child, reply
        else:
            reply.before, self._beginning = self._beginning, reply
        self.replies.append(reply)
        self.index.add(reply)

    def _copied_replies(self) -> list[Reply]:
        """The replies of other trees that the request holds."""
        candidates = (self.index.with_words(self.requests.numbers[place]) for place in self.requests.assistants)
        return [reply for reply in candidates if reply]

    def find_origin(self, first: Reply, copied: list[Reply]) -> Link:
        """Where a tree comes from that begins with a reply, which is not added yet."""
        return self._lookup.begin(first, self.replies, copied) if self.replies else Link()

    def calls(self) -> Calls:
        """The calls of all replies so far."""
        self._lookup.learn(self.replies)
        return self._lookup.calls

    # The same request again

    def _sibling(self, reply: Reply) -> Reply | None:
        """The last reply to the same request, or to one that differs by a reminder only."""
        for each in self.index.all_answering(reply.asked):
            if each.parent is reply.parent and is_similar_prompt(each.system, reply.system):
                return each
        last = reply.parent.last_child if reply.parent else self._beginning
        others = islice(follow_links(last, "before"), CANDIDATES)
        return next((each for each in others if self._is_resent(each, reply)), None)

    def _is_resent(self, earlier: Reply, reply: Reply) -> bool:
        """Whether a request was sent again with another reminder, and not with another summary."""
        if not is_resent(earlier, reply, loosely=self.rewords):
            return False
        pairs = zip(reply.behind, earlier.behind, strict=True)
        texts = [(chat.text(one) or "", chat.text(other) or "") for one, other in pairs]
        return not any(one != other and self._lookup.sums_up(one, other, self.replies) for one, other in texts)

    def _is_one(self, sibling: Reply, reply: Reply) -> bool:
        """Whether two replies to the same request are of one tree: several calls may begin conversations alike."""
        if reply.parent or sibling.is_one_with(reply):
            return True
        return self.joins_beginnings and (
            sibling.said == reply.said or not self._lookup.begins_with_call(reply, self.replies)
        )

    def _is_again(self, earlier: Reply, reply: Reply) -> bool:
        """Whether a reply repeats that of an earlier line, which then represents both."""
        if earlier.said == reply.said and earlier.is_ended == reply.is_ended:
            is_same = earlier.response == reply.response
            self.again.append(Again(earlier.line, earlier.at, earlier, is_same))
            earlier.line, earlier.at, earlier.response = reply.line, reply.at, reply.response
            earlier.message = reply.message
            if len(earlier.behind) == len(reply.behind):
                earlier.added, earlier.behind = reply.added, reply.behind  # such as the results of a second run
            return True
        earlier.is_resent = True
        return False

    # What a request holds

    def _meet(self, place: int, chain: int, spoken: int) -> tuple[int, int]:
        """Find the logged reply that an assistant message is; return its chains, or the given ones."""
        is_cut = bool(self.met) and self.met[-1].how == "cut"
        how: How = "appended"
        reply = self.index.with_chain(chain) or self._choice(chain)
        if reply is None:
            how = "rewritten"
            reply = self._rewritten_reply(place, spoken)
            if reply is None and (reply := self._reworded(place)) and self._is_other(reply, place):
                self._replaced.add(chain)
            if reply is None:
                return chain, spoken
            self.index.add_chain(chain, reply)
        self._recognise(place, chain, reply, "cut" if is_cut or chain in self._cut else how)
        return reply.chain, reply.spoken

    def _recognise(self, place: int, chain: int, reply: Reply, how: How) -> None:
        """Note a reply in the current request, and up to where the request has the context of its replies."""
        last = self.met[-1] if self.met else None
        intact, wording = (last.intact, last.wording) if last else (None, 0)
        if chain in self._replaced:
            wording = hash((wording, chain))
        elif reply.wording == wording or not wording:
            intact, wording = reply, 0
        self.met.append(RecognisedReply(place, reply, how, intact, wording))

    def _is_other(self, reply: Reply, place: int) -> bool:
        """Whether a message is not a complete reply as it was logged, but other words of the client."""
        if reply.is_truncated(says_ends=self._says_ends) or any(map(chat.is_malformed, chat.calls(reply.message))):
            return False
        return not is_translated(reply.message, self.requests.messages[place], freely=reply.is_translated)

    def _choice(self, chain: int) -> Reply | None:
        """The reply of which a choice after the first one ends this chain."""
        reply = self._choices.choose(chain) if self._choices else None
        if reply is None:
            return None
        if reply.chain == chain:
            self.index.add_choice(reply)
        self.index.add_chain(chain, reply)
        return reply

    def _rewritten_reply(self, place: int, spoken: int) -> Reply | None:
        """The reply after the same assistant messages, if the messages between them are only rewritten."""
        candidates = self.index.all_spoken(spoken)
        for reply in candidates:
            if self._left > 0 and self._is_rewritten(reply, place, unique=len(candidates) == 1):
                return reply
        choice = self._choices.after(spoken) if self._choices else None
        return self._choice(choice.chain) if choice and self._is_rewritten(choice, place, unique=True) else None

    def _is_rewritten(self, reply: Reply, place: int, *, unique: bool) -> bool:
        """Whether a request contains the history of a reply since its last recognised reply."""
        last = self.met[-1] if self.met else None
        path = between(last.reply if last else None, reply)
        begin = last.place + 1 if last else 0
        self._left -= place - begin + len(path or ())
        if path is None:
            return False
        ours, theirs = segments(said_in(self.requests, begin, place)), segments(of_path(path))
        if len(ours) != len(theirs):
            return False
        changed = [(one, other) for one, other in zip(ours, theirs, strict=True) if not one.is_same(other)]
        if not all(one.has_same_others(other) for one, other in changed):
            return False
        is_rewritten = (
            all(one.is_rewritten(other, loosely=self.rewords) for one, other in changed)
            or (unique and self._is_of_prompt(reply) and is_long(words(reply.message)))
            or self._are_few(len(changed), len(ours))
        ) and not any(self._lookup.sums_up(*pair, self.replies) for one, other in changed for pair in one.more(other))
        self.rewords = self.rewords or is_rewritten
        return is_rewritten

    def _is_of_prompt(self, reply: Reply) -> bool:
        """Whether the present request has the system prompt of a reply: a summary may be one to a transcript."""
        return is_similar_prompt(reply.system, system_prompt(self.requests.messages))

    def _are_few(self, changed: int, of: int) -> bool:
        """Whether few messages changed, including those before the last recognised reply."""
        if 3 * changed > of + len(self.met):
            return False
        return 3 * (changed + sum(each.how == "rewritten" for each in self.met)) <= of + len(self.met)

    def _reworded(self, place: int) -> Reply | None:
        """The reply to the history before a place, if the message there is another wording of it."""
        requests = self.requests
        before = requests.chains[place - 1] if place else 0
        message = requests.messages[place]
        for each in self.index.all_answering(before):
            is_truncated = each.is_truncated(says_ends=self._says_ends)
            if is_reworded(each.message, message) or (is_truncated and is_kept_beginning(message, each.message)):
                return each
        return None

    def _window(self, place: int) -> None:
        """Recognise a reply whose path contains all messages up to a place, in order, although some are missing."""
        requests = self.requests
        number = requests.numbers[place]
        spoken = said_in(requests, 0, place) if self.index.with_words(number) else []
        for reply in self.index.all_with_words(number):
            if is_similar_prompt(reply.system, system_prompt(requests.messages)) and self._is_cut(reply, spoken):
                chain = requests.chains[place]
                self.index.add_chain(chain, reply)
                is_cut = not self.met or self.met[-1].how == "cut" or self._has_prompt(reply, place)
                (self._cut if is_cut else self._replaced).add(chain)
                self._recognise(place, chain, reply, "cut" if is_cut else "rewritten")
                requests.rebase(place, reply.chain, reply.spoken)
                return

    def _has_prompt(self, reply: Reply, place: int) -> bool:
        """Whether a request has before a place what a reply answers, which a window that slides has."""
        requests = self.requests
        at = next((at for at in range(place - 1, -1, -1) if requests.numbers[at] != NOTHING), None)
        if at is None or not reply.behind:
            return True
        message, prompt = requests.messages[at], reply.behind[-1]
        if prompt["role"] == "tool" and reply.parent:
            caller = bisect_left(requests.assistants, place) - 1
            return caller >= 0 and requests.numbers[requests.assistants[caller]] == reply.parent.said
        return requests.numbers[at] == reply.added[-1] or is_reminded(message, prompt, loosely=self.rewords)

    def _is_cut(self, reply: Reply, spoken: list[SpokenMessage]) -> bool:
        """Whether messages are a part of a reply's path and none is a summary."""
        reworded = is_part(spoken, reply, loosely=self.rewords)
        return reworded is not None and not any(self._lookup.sums_up(*pair, self.replies) for pair in reworded)
