"""Logged replies with the replies that they continue, and the messages of each request as numbers.

A *number* is the canonical number of one message. A *chain* combines the numbers of a history, so equal chains mean
equal histories. An *assistant chain* combines only the numbers of assistant messages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from operator import not_
from typing import Literal, NamedTuple

from msgspec import Struct, field

from chatsquash.core import chat, jsonio
from chatsquash.core.accounting import model_of
from chatsquash.core.edits import kept_prefix
from chatsquash.core.model import AddedRun, Edits, Entry, Json, KeptRun, Message, Tool
from chatsquash.core.text import plain_id
from chatsquash.trees.canonical import NOTHING, Canon, is_similar_prompt, prompt_text, result_number
from chatsquash.trees.paths import LoggedReply, Path

How = Literal["appended", "rewritten", "cut"]
"""How a request contains the history of its reply's parent: unchanged, reworded, or with messages missing."""


class Reply(LoggedReply, eq=False, kw_only=True):
    """A reply in a gateway's log, with the request that it answers."""

    at: int | None
    """The time of logging, as in ``Entry.at``."""
    request_chain: int
    """The chain of its request."""
    content_number: int
    """Its canonical number."""
    chain: int
    """The chain of its request and itself."""
    assistant_chain: int
    """The assistant chain of its request and itself."""
    parent: Reply | None
    """The reply that its request continues."""
    how: How
    tree: int
    new_numbers: list[int]
    """The numbers of the messages in its request after the parent, without messages outside chains."""
    new_messages: list[Message]
    """These messages."""
    notes: list[Message]
    """The user messages in its request after the parent that consist only of reminders."""
    system: str
    tools: list[Tool]
    limit: int | None
    """Its maximum number of tokens."""
    is_ended: bool
    """Whether the log contains its finish reason."""
    is_cut: bool
    """Whether its stream was interrupted."""
    is_limited: bool
    """Whether it reached its limit."""
    response: str
    """The id of its response; may be empty."""
    has_gaps: bool = False
    """Whether its request has emptied results or missing messages compared to an earlier one."""
    cleared: str = ""
    """The content that the service removed from its request before the model saw it, as in ``Response.cleared``."""
    is_translated: bool = False
    """As in ``Entry.is_translated``."""
    is_other_prompt: bool = False
    """Whether its request has a different system prompt from that of its parent."""
    children: int = 0
    last_child: Reply | None = None
    before: Reply | None = None
    """The previous child of its parent, or the first reply of the previous tree."""
    is_resent: bool = False
    """Whether its request was repeated and answered differently."""
    choice: int = 0
    """The index of its choice, for a response with several."""
    is_continued: bool = False
    """Whether it was truncated and continued by a later request."""
    is_merged: bool = False
    """Whether its message includes the last message of its request, which it continues."""
    finished: Message | None = None
    """The message of finished items before it; they come from a truncated response and were kept by the client."""
    is_prefilled: bool = False
    """Whether it continues a last message of its request that the client wrote."""
    other_content_number: int = 0
    """Its number without the message that it continues, or with it; 0 if it does not continue a message."""
    other_chain: int = 0
    """Its chain in the same sense."""
    is_summary: bool = False
    """Whether a later conversation begins with its content."""

    intact: Reply | None = None
    """The last reply in its original context within the request, if it is not the parent."""
    wording: int = 0
    """A hash of the history with replaced replies, if its parent is not in its original context."""
    previous_same_content: Reply | None = None
    """The previous reply with the same content."""
    previous_same_assistants: Reply | None = None
    """The previous reply with the same assistant chain."""
    previous_same_request: Reply | None = None
    """The previous reply to the same request, possibly under another system prompt."""

    @property
    def logged_id(self) -> str:
        """The id of its response."""
        return plain_id(self.response)

    @property
    def nth(self) -> int:
        """Its line."""
        return self.line

    @property
    def logged_at(self) -> tuple[int | None, int | None]:
        """The line and the time of logging."""
        return self.line, self.at

    @property
    def preceding(self) -> Reply | None:
        """The last reply in its original context within the request."""
        return self.intact if self.wording else self.parent

    def users(self) -> Iterator[tuple[int, Message]]:
        """Yield the user messages between the parent and this reply, with their numbers."""
        for number, message in zip(self.new_numbers, self.new_messages, strict=True):
            if message["role"] == "user":
                yield number, message

    def last_prompt(self) -> str:
        """Return the text of the last user message between the parent and this reply, or an empty string."""
        return next((prompt_text(message) for message in reversed(self.new_messages) if message["role"] == "user"), "")

    def is_same_reply(self, later: Reply) -> bool:
        """Return whether a later reply to the same first request belongs to the same tree as this one."""
        is_same = self.response == later.response != ""
        return self.is_cut or (later.is_ended and not self.is_ended) or is_same

    def set_parent(self, reply: Reply) -> None:
        """Set a parent that was logged later and that the request contains as an assistant message."""
        at = self.new_numbers.index(reply.content_number) + 1 if reply.content_number in self.new_numbers else 0
        self.new_numbers, self.new_messages = self.new_numbers[at:], self.new_messages[at:]
        if self.parent:
            self.parent.children -= 1
        self.parent = reply
        reply.children += 1

    def is_interrupted(self, *, has_finish_reasons: bool) -> bool:
        """Return whether it is incomplete; ``has_finish_reasons``: whether the log contains finish reasons."""
        return self.is_cut or (has_finish_reasons and not self.is_ended)

    def is_truncated(self, *, has_finish_reasons: bool) -> bool:
        """Return whether it reached its limit or was interrupted; the argument is that of ``is_interrupted``."""
        return self.is_limited or self.is_interrupted(has_finish_reasons=has_finish_reasons)

    def path(self) -> list[Reply]:
        """Return the replies that it continues, followed by itself, oldest first."""
        return [*self.back()][::-1]

    def back(self) -> Iterator[Reply]:
        """Return itself and the replies that it continues, latest first."""
        return follow_links(self, "parent")


def follow_links(
    last: Reply | None,
    by: Literal[
        "parent",
        "preceding",
        "before",
        "last_child",
        "previous_same_content",
        "previous_same_assistants",
        "previous_same_request",
    ],
) -> Iterator[Reply]:
    """Yield a reply and those that are reached from it through a member, latest first."""
    while last is not None:
        yield last
        last = getattr(last, by)


class LogPath(Path[Reply], eq=False, kw_only=True):
    """A conversation in a log of exchanges: the replies from the root of a tree to one that nothing continues."""

    last: Reply

    @property
    def ends(self) -> tuple[int, ...]:
        """A sort key, as for any path: the index of its last reply."""
        return (self.last.number,)

    def back(self) -> Iterable[Reply]:
        """Return its replies that are in their original context, latest first."""
        return follow_links(self.last, "preceding")


class RepeatedLine(Struct, frozen=True):
    """A line whose reply a later line repeats."""

    line: int
    at: int | None
    by: Reply
    """The reply that represents both."""
    is_same_response: bool
    """Whether both lines have the same response; otherwise the same text was sampled twice."""


class RecognisedReply(Struct, frozen=True):
    """A logged reply in a request, and its index there."""

    place: int
    reply: Reply
    how: How
    intact: Reply | None
    """The last reply so far that is in its original context."""
    wording: int = 0
    """A hash of the history from the first reply that the client replaced; 0 if it replaced none."""


class RequestState(NamedTuple):
    """The state after a request was read."""

    requests: tuple[list[int], ...]
    """As returned by ``Requests.state``."""
    recognised: list[RecognisedReply]
    emptied: int | None


ReplyMatcher = Callable[[int, int, int], tuple[int, int]]
"""A function that matches an assistant message with a logged reply in any wording.

Its arguments are the index of the message and the two chains that end with it. It returns the chains of the logged
reply.
"""


_UNPAIRED = result_number(0)


def number_messages(messages: list[Message], canon: Canon) -> list[tuple[int, Message]]:
    """Return the messages of a request with their numbers."""
    requests = Requests(canon)
    requests.follow(messages, (AddedRun(tuple(messages)),))
    return [*zip(requests.numbers, messages, strict=True)]


class Requests(Struct):
    """The last request that was read, message by message."""

    canon: Canon = field(default_factory=Canon)
    messages: list[Message] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """The number of each message."""
    chains: list[int] = field(default_factory=list)
    """The chain up to and including each message."""
    assistant_chains: list[int] = field(default_factory=list)
    """The assistant chain up to and including each message."""
    assistants: list[int] = field(default_factory=list)
    """The indices of the assistant messages."""

    def follow(self, messages: list[Message], edits: Edits, match: ReplyMatcher | None = None) -> int:
        """Read the next request; return how many of its first messages are unchanged."""
        unchanged = kept_prefix(edits)
        before, self.messages = self.numbers, messages
        if unchanged < len(before):
            self.numbers = before[:unchanged]
            del self.chains[unchanged:], self.assistant_chains[unchanged:]
            while self.assistants and self.assistants[-1] >= unchanged:
                self.assistants.pop()
        at = unchanged
        for run in edits[1:] if unchanged else edits:
            if isinstance(run, KeptRun):
                self._extend(at, before[run.start : run.stop], (), match)
                at += run.stop - run.start
            else:
                self._extend(at, None, run.messages, match)
                at += len(run.messages)
        return unchanged

    def state(self) -> tuple[list[int], ...]:
        """Return the state of the request, for ``restore_state``."""
        return self.numbers, self.chains, self.assistant_chains, self.assistants

    def restore_state(self, count: int, state: tuple[list[int], ...]) -> bool:
        """Restore the state after ``count`` messages of an earlier request; return whether it has no more messages."""
        numbers, chains, assistant_chains, assistants = state
        is_all = len(numbers) == count
        # If the request is complete, its lists are extended in place; a part of it must be copied.
        if not is_all:
            numbers, chains, assistant_chains = numbers[:count], chains[:count], assistant_chains[:count]
            assistants = assistants[: bisect_left(assistants, count)]
        self.numbers, self.chains, self.assistant_chains, self.assistants = (
            numbers,
            chains,
            assistant_chains,
            assistants,
        )
        return is_all

    def _extend(
        self, at: int, known: list[int] | None, messages: tuple[Message, ...], match: ReplyMatcher | None
    ) -> None:
        """Append messages from an index on, reusing their numbers if known."""
        chain = self.chains[-1] if self.chains else 0
        assistant_chain = self.assistant_chains[-1] if self.assistant_chains else 0
        chains, assistant_chains, numbers, canon = self.chains, self.assistant_chains, self.numbers, self.canon
        answered_numbers: set[int] | None = None
        places: dict[str | bytes, int] | None = None
        for place, message in enumerate(messages or self.messages[at : at + len(known or ())], at):
            role = message["role"]
            # The number of a result depends on the calls before it, so it cannot be reused.
            if known and role != "tool":
                number = known[place - at]
            elif role == "tool":
                if places is None:
                    places = places_of_calls(self.messages[self.assistants[-1]]) if self.assistants else {}
                number = result_number(answered_place(message, places))
            else:
                number = canon.number(message)
            if role == "tool" and number != _UNPAIRED:
                answered_numbers = self._current_results() if answered_numbers is None else answered_numbers
                number = NOTHING if number in answered_numbers else number  # results may be sent twice
                answered_numbers.add(number)
                chain ^= number  # results may be sent in any order
            elif number != NOTHING:
                chain = hash((chain, number))
            numbers.append(number)
            if role == "assistant":
                answered_numbers, places = set(), None
                assistant_chain = hash((assistant_chain, number))
                self.assistants.append(place)
                if match:
                    chain, assistant_chain = match(place, chain, assistant_chain)
            chains.append(chain)
            assistant_chains.append(assistant_chain)

    def _current_results(self) -> set[int]:
        """Return the numbers of the results after the last assistant message."""
        return set(self.numbers[self.assistants[-1] + 1 :]) if self.assistants else set()

    def rebase(self, place: int, chain: int, assistant_chain: int) -> None:
        """Replace the chains at an index and continue from there; no assistant message may follow."""
        numbers = self.numbers[place + 1 :]
        del self.chains[place:], self.assistant_chains[place:], self.numbers[place + 1 :]
        self.chains.append(chain)
        self.assistant_chains.append(assistant_chain)
        self._extend(place + 1, numbers, (), None)

    @property
    def chain(self) -> int:
        """The chain of the entire request."""
        return self.chains[-1] if self.chains else 0

    def chains_after(self, reply: Message) -> tuple[int, int, int]:
        """Return the number of a reply and the two chains that end with it."""
        number = self.canon.number(reply)
        assistant_chain = self.assistant_chains[-1] if self.assistant_chains else 0
        return number, hash((self.chain, number)), hash((assistant_chain, number))


def logged_reply(entry: Entry, requests: Requests, parent: Reply | None, start: int) -> Reply:
    """Return the reply of an entry to the last request, without its number, limit and response id.

    ``start``: the index of the first message after ``parent``.
    """
    message = entry.reply.message
    assert message is not None
    system, (content_number, chain, assistant_chain) = system_prompt(requests.messages), requests.chains_after(message)
    numbers, messages = requests.numbers[start:], requests.messages[start:]
    new_numbers = [*filter(None, numbers)]  # without ``NOTHING``
    return Reply(
        number=0,
        line=entry.line,
        at=entry.at,
        message=message,
        model=model_of(entry.reply) or "",
        completion_tokens=entry.reply.tokens.completion,
        request_chain=requests.chain,
        content_number=content_number,
        chain=chain,
        assistant_chain=assistant_chain,
        parent=parent,
        how="appended",
        tree=parent.tree if parent else 0,
        new_numbers=new_numbers,
        new_messages=[*compress(messages, numbers)],
        notes=_notes(numbers, messages) if len(new_numbers) < len(numbers) else [],
        system=system,
        tools=entry.tools,
        limit=None,
        is_ended=entry.reply.finish_reason is not None and not entry.reply.cut,
        is_cut=entry.reply.cut,
        is_limited=chat.is_truncated(entry.reply.finish_reason),
        response="",
        cleared=entry.reply.cleared,
        is_translated=entry.is_translated,
        is_other_prompt=parent is not None and not is_similar_prompt(parent.system, system),
    )


def _notes(numbers: list[int], messages: list[Message]) -> list[Message]:
    """Return the user messages that are outside chains."""
    return [message for message in compress(messages, map(not_, numbers)) if message["role"] == "user"]


def answered_place(message: Message, places: dict[str | bytes, int]) -> int:
    """Return the place of the call that a result answers, counted from 1; 0 for no call."""
    call_id = message.get("tool_call_id")
    return 0 if call_id is None else places.get(_call_key(call_id), 0)


def places_of_calls(reply: Message) -> dict[str | bytes, int]:
    """Return the places of a reply's calls by id, counted from 1."""
    places: dict[str | bytes, int] = {}
    calls = reply.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if isinstance(call, dict) and call.get("id") is not None:
            places.setdefault(_call_key(call["id"]), place)
    return places


def _call_key(call_id: Json) -> str | bytes:
    return call_id if isinstance(call_id, str) else jsonio.dumps(call_id)


def system_prompt(messages: list[Message]) -> str:
    """Return the system prompt at the beginning of messages, or an empty string."""
    texts = []
    for message in messages:
        if message["role"] not in ("system", "developer"):
            break
        texts.append(chat.text(message) or "")
    return "\n".join(texts)
