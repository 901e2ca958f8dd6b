"""Build trees of logged replies: find the reply that each request continues.

Replies are matched by chains, so that equal histories are found in constant time. Only messages that do not match are
compared with reworded, truncated or shortened histories, within a budget per request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.edits import Histories, kept_prefix
from chatsquash.core.model import AddedRun, Compacted, Edits, Entry, KeptRun, Response
from chatsquash.trees.calls import Calls
from chatsquash.trees.canonical import NOTHING, is_similar_prompt
from chatsquash.trees.links import Link, Links
from chatsquash.trees.prefill import Prefill, is_beginning, is_joinable, is_kept_beginning, is_prefill
from chatsquash.trees.replies import (
    How,
    LogPath,
    RecognisedReply,
    RepeatedLine,
    Reply,
    Requests,
    RequestState,
    follow_links,
    logged_reply,
    system_prompt,
)
from chatsquash.trees.reply_index import CANDIDATES, ReplyIndex
from chatsquash.trees.restore import first_emptied
from chatsquash.trees.rewrites import (
    HistoryMessage,
    is_long_reply,
    is_part,
    is_resent,
    is_reworded,
    is_reworded_prompt,
    messages_between,
    messages_of_path,
    replies_after,
    segments,
)
from chatsquash.trees.translation import is_translated

if TYPE_CHECKING:
    from chatsquash.trees.choices import Choices

_COMPARISONS_PER_MESSAGE, _LEAST_COMPARISONS = 2, 256
"""The budget of comparisons for reworded histories: per message of a request, and the minimum."""


class Trees(Struct):
    """The replies of a session so far, with indexes for later requests."""

    detects_gaps: bool = False
    """Whether to detect requests with emptied results."""
    joins_beginnings: bool = True
    """Whether equal first requests belong to one tree even if both replies are complete."""
    grows: bool = False
    """Whether any request extends an earlier one, with or without the reply to it."""
    rewords: bool = False
    """Whether any request rewords earlier prompts."""
    requests: Requests = field(default_factory=Requests)
    replies: list[Reply] = field(default_factory=list)
    repeats: list[RepeatedLine] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    """The origin of each tree."""
    revise: Callable[[list[LogPath]], None] | None = None
    """Corrects conversations based on another file of the session."""
    recognised: list[RecognisedReply] = field(default_factory=list)
    """The logged replies in the current request, in order."""
    _awaited: dict[int, Reply] = field(default_factory=dict)
    """The reply whose request contains an assistant message that is not logged yet, by the chain of that message."""
    _others: Histories[RequestState] = field(default_factory=Histories)
    """Earlier requests that the next one may continue."""
    _emptied: int | None = None
    """The index of the first emptied result in the current request."""
    _comparisons: int = 0
    """The remaining budget for comparing messages of the current request with reworded histories."""
    _lookup: Links = field(default_factory=Links)
    index: ReplyIndex = field(default_factory=ReplyIndex)
    _cut_chains: set[int] = field(default_factory=set)
    """The chains of histories with missing messages."""
    _replaced_chains: set[int] = field(default_factory=set)
    """The chains of histories whose last reply differs from the logged one, or whose prompt is missing."""
    _choices: Choices | None = None
    """The choices of responses with more than one."""
    _has_finish_reasons: bool = False
    """Whether the log contains finish reasons."""
    _beginning: Reply | None = None
    """The last reply that is the root of a tree."""

    def add(self, entry: Entry, limit: int | None, response: str, edits: Edits | None = None) -> Reply | None:
        """Add the next request; return its reply, or ``None`` without a reply or for a repeated request.

        ``edits``: the edits since the last added request, if they differ from those of the entry.
        """
        self._has_finish_reasons = self._has_finish_reasons or (
            entry.reply.finish_reason is not None and not entry.reply.cut
        )
        unchanged = self._follow(entry, edits)
        has_gaps = self._has_gaps(unchanged)
        if entry.reply.message is None:
            return None
        prefill = self._prefill(entry.reply)
        recognised = self.recognised
        if prefill and prefill.truncated_reply and prefill.logged_reply:
            # The reply continues the last one instead of answering it, so both have the same parent.
            recognised = recognised[:-1]
        last = recognised[-1] if recognised else None
        start = last.place + 1 if last else 0
        reply = self._make_reply(entry, last, limit, response)
        if prefill:
            prefill.join(reply, self.requests.canon)
        reply.has_gaps = has_gaps
        sibling = self._sibling(reply)
        if sibling and self._is_same_tree(sibling, reply):
            reply.tree, reply.request_chain = sibling.tree, sibling.request_chain
            if self._is_repeat(sibling, reply):
                return None
        self._await_replies(reply, start)
        later = self._take_awaiting(reply)
        if later:
            reply.tree = later.tree
        self._link(reply, entry.compacted)
        self._append(reply)
        if entry.reply.choices > 1 and not reply.is_merged:
            self._learn_choices(reply, entry.reply.raw)
        if later:
            later.set_parent(reply)
        return reply

    @property
    def models(self) -> set[str]:
        """The models that produced the replies, as logged; one is empty if any is unknown."""
        return {reply.model for reply in self.replies}

    def _learn_choices(self, reply: Reply, raw: bytes) -> None:
        from chatsquash.trees.choices import Choices  # few logs need them

        self._choices = self._choices or Choices()
        self._choices.add(reply, self.requests, raw)

    def _make_reply(self, entry: Entry, last: RecognisedReply | None, limit: int | None, response: str) -> Reply:
        """Return the reply to the current request, as a continuation of the last logged reply in it."""
        parent = last.reply if last else None
        reply = logged_reply(entry, self.requests, parent, last.place + 1 if last else 0)
        reply.number, reply.limit, reply.response = len(self.replies), limit, response
        reply.tree = parent.tree if parent else len(self.links)
        if last:
            reply.how, reply.intact, reply.wording = last.how, last.intact, last.wording
        return reply

    def _prefill(self, reply: Response) -> Prefill | None:
        """Return the last message of the current request if the reply continues it."""
        requests = self.requests
        place = len(requests.messages) - 1
        if place < 0 or not is_prefill(requests.messages[place]):
            return None
        if reply.message is None or not is_joinable(reply.message):
            return None
        message = requests.messages[place]
        request_chain, assistant_chain = (
            (requests.chains[place - 1], requests.assistant_chains[place - 1]) if place else (0, 0)
        )
        logged_reply = self.recognised[-1].reply if self.recognised and self.recognised[-1].place == place else None
        truncated = (
            each
            for each in ([logged_reply] if logged_reply else self.index.replies_to(request_chain))
            if each.is_truncated(has_finish_reasons=self._has_finish_reasons) and is_beginning(message, each.message)
        )
        return Prefill(
            message, request_chain, assistant_chain, logged_reply, next(truncated, None), reply.body is not None
        )

    def _take_awaiting(self, reply: Reply) -> Reply | None:
        """Return the earlier-logged reply to a request that contains this reply."""
        later = self._awaited.pop(reply.chain, None)
        return later if later and later.parent is reply.parent and later is not reply else None

    def _await_replies(self, reply: Reply, start: int) -> None:
        """Remember the assistant messages after the last logged reply, whose own lines may come later."""
        requests = self.requests
        for place in islice(reversed(requests.assistants), CANDIDATES):
            if place < start:
                break
            if not (reply.is_merged and place == len(requests.messages) - 1):
                self._awaited[requests.chains[place]] = reply

    def _follow(self, entry: Entry, edits: Edits | None) -> int:
        """Read a request and find the logged replies in it; return how many messages are unchanged."""
        requests = self.requests
        edits = entry.edits if edits is None else edits
        before, unchanged = len(requests.messages), kept_prefix(edits)
        if before == unchanged < len(entry.messages) and requests.chain:
            self.grows = True
        if entry.known > unchanged:
            edits = self._restore_request(entry) or (AddedRun(tuple(entry.messages)),)
            unchanged = kept_prefix(edits)
        while self.recognised and self.recognised[-1].place >= unchanged:
            self.recognised.pop()
        self._comparisons = _COMPARISONS_PER_MESSAGE * len(entry.messages) + _LEAST_COMPARISONS
        requests.follow(entry.messages, edits, self._match_message)
        places = requests.assistants
        if places and (not self.recognised or self.recognised[-1].place != places[-1]) and places[-1] >= unchanged:
            self._recognise_window(places[-1])
        return unchanged

    def _restore_request(self, entry: Entry) -> Edits:
        """Restore the state of the earlier request that an entry continues, if known; return the edits since then."""
        requests = self.requests
        now = RequestState(requests.state(), self.recognised, self._emptied)
        self._others.put(requests.messages, now)
        count, state = self._others.take(entry) or (0, now)
        is_all = requests.restore_state(count, state.requests)
        end = bisect_left(state.recognised, count, key=attrgetter("place"))
        self.recognised = state.recognised if is_all else state.recognised[:end]
        self._emptied = state.emptied
        return (KeptRun(0, count), AddedRun(tuple(entry.messages[count:]))) if count else ()

    def _has_gaps(self, unchanged: int) -> bool:
        """Return whether the request is missing context of its path; its first ``unchanged`` messages are known."""
        last = self.recognised[-1] if self.recognised else None
        if last is None:
            self._emptied = None
            return False
        if self.detects_gaps:
            begin = self._first_unchecked(min(unchanged, last.place + 1))
            if self._emptied is not None and self._emptied >= begin:
                self._emptied = None
            if self._emptied is None:
                self._emptied = first_emptied(self.requests, begin, last.place + 1, last.reply)
        return self._emptied is not None or last.how == "cut"

    def _first_unchecked(self, unchanged: int) -> int:
        """Return the index of the first message whose original may differ from that in the previous request."""
        last = next((each for each in reversed(self.recognised) if each.place < unchanged), None)
        return last.place + 1 if last else 0

    def _link(self, reply: Reply, compacted: Compacted | None) -> None:
        """Record the origin of a new tree."""
        if reply.tree == len(self.links):
            link = self.find_origin(reply, self._copied_replies())
            if compacted and not link.summary and not link.same_summary:
                self._link_compacted(link, compacted)
            if link.same_summary:
                reply.tree = link.same_summary.tree
                reply.is_other_prompt = not is_similar_prompt(link.same_summary.system, reply.system)
            else:
                self.links.append(link)

    def _link_compacted(self, link: Link, compacted: Compacted) -> None:
        """Record the reply that a service returned as the summary, and the last reply that it replaced."""
        link.summary = self.index.with_content(self.requests.canon.number(compacted.summary))
        if link.summary:
            link.summary.is_summary = True
        last = self.index.with_content(self.requests.canon.number(compacted.last)) if compacted.last else None
        link.copies = [last] if last else []

    def _append(self, reply: Reply) -> None:
        if parent := reply.parent:
            parent.children += 1
            reply.before, parent.last_child = parent.last_child, reply
        else:
            reply.before, self._beginning = self._beginning, reply
        self.replies.append(reply)
        self.index.add(reply)

    def _copied_replies(self) -> list[Reply]:
        """Return the replies of other trees that the request contains."""
        candidates = (self.index.with_content(self.requests.numbers[place]) for place in self.requests.assistants)
        return [reply for reply in candidates if reply]

    def find_origin(self, first: Reply, copies: list[Reply], *, quotations: bool = True) -> Link:
        """Return the origin of a tree, given its first reply, which is not added yet.

        ``quotations``: as in ``Links.begin``.
        """
        return self._lookup.begin(first, self.replies, copies, quotations=quotations) if self.replies else Link()

    def calls(self) -> Calls:
        """Return the calls of all replies so far."""
        self._lookup.learn_calls(self.replies)
        return self._lookup.calls

    # Repeated requests

    def _sibling(self, reply: Reply) -> Reply | None:
        """Return the last reply to the same request, or to one that differs only in a reminder."""
        for each in self.index.replies_to(reply.request_chain):
            if each.parent is reply.parent and is_similar_prompt(each.system, reply.system):
                return each
        last = reply.parent.last_child if reply.parent else self._beginning
        if last is None:
            return None
        others = islice(follow_links(last, "before"), CANDIDATES)
        return next((each for each in others if self._is_resent(each, reply)), None)

    def _is_resent(self, earlier: Reply, reply: Reply) -> bool:
        """Return whether a request was repeated with another reminder but without another summary."""
        if not is_resent(earlier, reply, loosely=self.rewords):
            return False
        pairs = zip(reply.new_messages, earlier.new_messages, strict=True)
        texts = [(chat.text(one) or "", chat.text(other) or "") for one, other in pairs]
        return not any(one != other and self._lookup.adds_summary(one, other, self.replies) for one, other in texts)

    def _is_same_tree(self, sibling: Reply, reply: Reply) -> bool:
        """Return whether two replies to the same request belong to one tree."""
        # Several calls may start conversations with the same prompt; these are separate trees.
        if reply.parent or sibling.is_same_reply(reply):
            return True
        return self.joins_beginnings and (
            sibling.content_number == reply.content_number or not self._lookup.begins_with_call(reply, self.replies)
        )

    def _is_repeat(self, earlier: Reply, reply: Reply) -> bool:
        """Return whether a reply repeats that of an earlier line; the earlier reply then represents both."""
        if earlier.content_number == reply.content_number and earlier.is_ended == reply.is_ended:
            is_same = earlier.response == reply.response
            self.repeats.append(RepeatedLine(earlier.line, earlier.at, earlier, is_same))
            earlier.line, earlier.at, earlier.response = reply.line, reply.at, reply.response
            earlier.message = reply.message
            if len(earlier.new_messages) == len(reply.new_messages):
                # The new messages may differ, for example in the results of a second run.
                earlier.new_numbers, earlier.new_messages = reply.new_numbers, reply.new_messages
            return True
        earlier.is_resent = True
        return False

    # Recognizing the content of a request

    def _match_message(self, place: int, chain: int, assistant_chain: int) -> tuple[int, int]:
        """Match an assistant message with a logged reply; return the reply's chains, or else the given ones."""
        is_cut = bool(self.recognised) and self.recognised[-1].how == "cut"
        how: How = "appended"
        # An exact match of the history is the common case. Reworded histories are searched only if there is none.
        reply = self.index.with_chain(chain) or self._choice(chain)
        if reply is None:
            how = "rewritten"
            reply = self._rewritten_reply(place, assistant_chain)
            if reply is None and (reply := self._reworded(place)) and self._is_replaced(reply, place):
                self._replaced_chains.add(chain)
            if reply is None:
                return chain, assistant_chain
            self.index.add_chain(chain, reply)
        self._recognise(place, chain, reply, "cut" if is_cut or chain in self._cut_chains else how)
        return reply.chain, reply.assistant_chain

    def _recognise(self, place: int, chain: int, reply: Reply, how: How) -> None:
        """Add a logged reply to those in the current request, with the context that it has there."""
        last = self.recognised[-1] if self.recognised else None
        intact, wording = (last.intact, last.wording) if last else (None, 0)
        if chain in self._replaced_chains:
            wording = hash((wording, chain))
        elif reply.wording == wording or not wording:
            intact, wording = reply, 0
        self.recognised.append(RecognisedReply(place, reply, how, intact, wording))

    def _is_replaced(self, reply: Reply, place: int) -> bool:
        """Return whether the client replaced a complete reply with different words."""
        if reply.is_truncated(has_finish_reasons=self._has_finish_reasons) or any(
            map(chat.is_malformed, chat.calls(reply.message))
        ):
            return False
        return not is_translated(reply.message, self.requests.messages[place], freely=reply.is_translated)

    def _choice(self, chain: int) -> Reply | None:
        """Return the reply if one of its choices after the first one ends this chain."""
        reply = self._choices.choose(chain) if self._choices else None
        if reply is None:
            return None
        if reply.chain == chain:
            self.index.add_choice(reply)
        self.index.add_chain(chain, reply)
        return reply

    def _rewritten_reply(self, place: int, assistant_chain: int) -> Reply | None:
        """Return the reply after the same assistant messages if the messages between these are only reworded."""
        candidates = self.index.all_with_assistant_chain(assistant_chain)
        for reply in candidates:
            if self._comparisons > 0 and self._is_rewritten(reply, place, unique=len(candidates) == 1):
                return reply
        choice = self._choices.after(assistant_chain) if self._choices else None
        return self._choice(choice.chain) if choice and self._is_rewritten(choice, place, unique=True) else None

    def _is_rewritten(self, reply: Reply, place: int, *, unique: bool) -> bool:
        """Return whether a request contains the history of a reply since the last recognized reply."""
        last = self.recognised[-1] if self.recognised else None
        path = replies_after(last.reply if last else None, reply)
        begin = last.place + 1 if last else 0
        self._comparisons -= place - begin + len(path or ())
        if path is None:
            return False
        ours, theirs = segments(messages_between(self.requests, begin, place)), segments(messages_of_path(path))
        if len(ours) != len(theirs):
            return False
        changed = [(one, other) for one, other in zip(ours, theirs, strict=True) if not one.is_same(other)]
        if not all(one.has_same_others(other) for one, other in changed):
            return False
        is_rewritten = (
            all(one.is_rewritten(other, loosely=self.rewords) for one, other in changed)
            or (unique and self._has_same_prompt(reply) and is_long_reply(reply.message))
            or self._are_few(len(changed), len(ours))
        ) and not any(
            self._lookup.adds_summary(*pair, self.replies) for one, other in changed for pair in one.more(other)
        )
        self.rewords = self.rewords or is_rewritten
        return is_rewritten

    def _has_same_prompt(self, reply: Reply) -> bool:
        """Return whether the current request has the system prompt of a reply."""
        # Under another system prompt, the reply may be a summary of a transcript.
        return is_similar_prompt(reply.system, system_prompt(self.requests.messages))

    def _are_few(self, changed: int, of: int) -> bool:
        """Return whether few messages changed, including those before the last recognized reply."""
        if 3 * changed > of + len(self.recognised):
            return False
        return 3 * (changed + sum(each.how == "rewritten" for each in self.recognised)) <= of + len(self.recognised)

    def _reworded(self, place: int) -> Reply | None:
        """Return the reply to the history before an index if the message there is a rewording of it."""
        requests = self.requests
        before = requests.chains[place - 1] if place else 0
        message = requests.messages[place]
        for each in self.index.replies_to(before):
            is_truncated = each.is_truncated(has_finish_reasons=self._has_finish_reasons)
            if is_reworded(each.message, message) or (is_truncated and is_kept_beginning(message, each.message)):
                return each
        return None

    def _recognise_window(self, place: int) -> None:
        """Recognize a reply whose path contains all messages up to an index in order, even if some are missing."""
        requests = self.requests
        number = requests.numbers[place]
        # Clients may send only the newest messages; the conversation still continues.
        messages = messages_between(requests, 0, place) if self.index.with_content(number) else []
        for reply in self.index.all_with_content(number):
            if is_similar_prompt(reply.system, system_prompt(requests.messages)) and self._is_cut(reply, messages):
                chain = requests.chains[place]
                self.index.add_chain(chain, reply)
                is_cut = not self.recognised or self.recognised[-1].how == "cut" or self._has_prompt(reply, place)
                (self._cut_chains if is_cut else self._replaced_chains).add(chain)
                self._recognise(place, chain, reply, "cut" if is_cut else "rewritten")
                requests.rebase(place, reply.chain, reply.assistant_chain)
                return

    def _has_prompt(self, reply: Reply, place: int) -> bool:
        """Return whether a request contains the message that a reply answers, as a sliding window does."""
        requests = self.requests
        at = next((at for at in range(place - 1, -1, -1) if requests.numbers[at] != NOTHING), None)
        if at is None or not reply.new_messages:
            return True
        message, prompt = requests.messages[at], reply.new_messages[-1]
        if prompt["role"] == "tool" and reply.parent:
            caller = bisect_left(requests.assistants, place) - 1
            return caller >= 0 and requests.numbers[requests.assistants[caller]] == reply.parent.content_number
        is_same = requests.numbers[at] == reply.new_numbers[-1]
        return is_same or is_reworded_prompt(message, prompt, loosely=self.rewords)

    def _is_cut(self, reply: Reply, messages: list[HistoryMessage]) -> bool:
        """Return whether messages are part of a reply's path and none of them is a summary."""
        reworded = is_part(messages, reply, loosely=self.rewords)
        return reworded is not None and not any(self._lookup.adds_summary(*pair, self.replies) for pair in reworded)
