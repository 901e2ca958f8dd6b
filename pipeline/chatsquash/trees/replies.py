"""Logged replies with what each continues, and the messages of each request as numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct, field

from chatsquash.core import chat, jsonio
from chatsquash.core.edits import kept_prefix
from chatsquash.core.model import AddedRun, Edits, Entry, Json, KeptRun, Message, Tool
from chatsquash.trees.canonical import NOTHING, Canon, is_similar_prompt, prompt_text, result_number
from chatsquash.trees.paths import LoggedReply, Path

How = Literal["appended", "rewritten", "cut"]
"""Whether a request holds what its reply's parent held: as it was, in another wording, or with messages left out."""


class Reply(LoggedReply, eq=False, kw_only=True):
    """A reply in a gateway's log, and the request that it answers."""

    at: int | None
    """When it was logged, as in ``Entry.at``."""
    asked: int
    """What its request is the same by."""
    said: int
    """What it is the same by itself."""
    chain: int
    """What its request and it are the same by."""
    spoken: int
    """The same for what assistants say alone."""
    parent: Reply | None
    """The reply that its request goes on from."""
    how: How
    tree: int
    added: list[int]
    """What the messages of its request behind its parent are the same by; not those that are no part of a chain."""
    behind: list[Message]
    """These messages."""
    notes: list[Message]
    """Those of the user's messages there that consist of reminders."""
    system: str
    tools: list[Tool]
    limit: int | None
    """How many tokens it was to have at most."""
    is_ended: bool
    """Whether the log says why it ended."""
    is_cut: bool
    """Whether its stream broke off."""
    is_limited: bool
    """Whether it reached its limit."""
    response: str
    """The id of its response; empty if it has none."""
    lacks: bool = False
    """Whether its request had results emptied that an earlier one had, or messages left out."""
    cleared: str = ""
    """What the service removed from its request before the model saw it, as in ``Response.cleared``."""
    is_translated: bool = False
    """As in ``Entry.is_translated``."""
    is_other_prompt: bool = False
    """Whether its request has another system prompt than its parent's."""
    children: int = 0
    last_child: Reply | None = None
    before: Reply | None = None
    """The child of its parent, or the first reply of a tree, that came before it."""
    is_resent: bool = False
    """Whether the same request was sent again and answered otherwise."""
    choice: int = 0
    """The index of the choice that it is, of a response with several."""
    is_continued: bool = False
    """Whether it was truncated, and a later request had it continued."""
    is_merged: bool = False
    """Whether its message consists of the last one of its request, which it continues, and of what was logged."""
    finished: Message | None = None
    """The message of finished items that it follows, of a truncated response whose items the client kept."""
    is_prefilled: bool = False
    """Whether the last message of its request is one that the client wrote for it to continue."""
    other_said: int = 0
    """What it is the same by without the message that it continues, or with it; 0 where it continues none."""
    other_chain: int = 0
    """The same for its request and it."""
    is_summary: bool = False
    """Whether a later conversation begins with what it says."""

    intact: Reply | None = None
    """The last reply that its request has in the context in which it was sampled, if that is not its parent."""
    wording: int = 0
    """The history in which the client replaced replies, by a hash, if its parent is not in the context of then."""
    said_before: Reply | None = None
    """The last reply before it that says the same."""
    spoken_before: Reply | None = None
    """The last one before it behind the same words of assistants."""
    asked_before: Reply | None = None
    """The last one before it to the same request, perhaps under another system prompt."""

    @property
    def preceding(self) -> Reply | None:
        """The last reply that its request has in the context in which it was sampled."""
        return self.intact if self.wording else self.parent

    def users(self) -> Iterator[tuple[int, Message]]:
        """What the user says before it, behind its parent, by what each is the same by."""
        for number, message in zip(self.added, self.behind, strict=True):
            if message["role"] == "user":
                yield number, message

    def last_prompt(self) -> str:
        """Return the text of the last message of the user between the parent and this reply; empty if there is none."""
        return next((prompt_text(message) for message in reversed(self.behind) if message["role"] == "user"), "")

    def is_one_with(self, later: Reply) -> bool:
        """Whether a later reply to the same first request is since this one broke off, or stands in the log twice."""
        is_same = self.response == later.response != ""
        return self.is_cut or (later.is_ended and not self.is_ended) or is_same

    def go_on_from(self, reply: Reply) -> None:
        """Have a reply that was logged later for the parent, which its request holds as what an assistant says."""
        at = self.added.index(reply.said) + 1 if reply.said in self.added else 0
        self.added, self.behind = self.added[at:], self.behind[at:]
        if self.parent:
            self.parent.children -= 1
        self.parent = reply
        reply.children += 1

    def broke_off(self, *, says_ends: bool) -> bool:
        """Whether it is not whole; ``says_ends``: the log says of some replies why they ended."""
        return self.is_cut or (says_ends and not self.is_ended)

    def is_truncated(self, *, says_ends: bool) -> bool:
        """Whether it reached its limit or was interrupted; ``says_ends`` is as in ``broke_off``."""
        return self.is_limited or self.broke_off(says_ends=says_ends)

    def path(self) -> list[Reply]:
        """The replies that it goes on from, the first one first, and itself."""
        return [*self.back()][::-1]

    def back(self) -> Iterator[Reply]:
        """Itself, and the replies that it goes on from, the last one first."""
        return follow_links(self, "parent")


def follow_links(
    last: Reply | None,
    by: Literal["parent", "preceding", "before", "last_child", "said_before", "spoken_before", "asked_before"],
) -> Iterator[Reply]:
    """A reply, and those to which one of its members leads, the last one first."""
    while last is not None:
        yield last
        last = getattr(last, by)


class LogPath(Path[Reply], eq=False, kw_only=True):
    """A conversation in a log of exchanges: the replies from the beginning of a tree to one that nothing continues."""

    last: Reply

    @property
    def ends(self) -> tuple[int, ...]:
        """As for any path: the place of its last reply among the session's."""
        return (self.last.number,)

    def back(self) -> Iterable[Reply]:
        """All its replies that it has in the context in which they were sampled, the last one first."""
        return follow_links(self.last, "preceding")


class Again(Struct, frozen=True):
    """A line whose reply is logged once more by a later line."""

    line: int
    at: int | None
    by: Reply
    """The one that stands for both."""
    is_same_response: bool
    """Whether it is the same response; else the same words were sampled anew."""


Meet = Callable[[int, int, int], tuple[int, int]]
"""Takes the place of an assistant's message, the chain and the spoken chain that end there; gives them as those of the
logged reply that this is, in whatever wording."""


_UNPAIRED = result_number(0)


def number_messages(messages: list[Message], canon: Canon) -> list[tuple[int, Message]]:
    """Messages of a request, each with what it is the same by."""
    requests = Requests(canon)
    requests.follow(messages, (AddedRun(tuple(messages)),))
    return [*zip(requests.numbers, messages, strict=True)]


class Requests(Struct):
    """The request that was followed last, message by message."""

    canon: Canon = field(default_factory=Canon)
    messages: list[Message] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """What each message is the same by."""
    chains: list[int] = field(default_factory=list)
    """What everything up to and including each message is the same by."""
    spoken: list[int] = field(default_factory=list)
    """The same for what assistants say alone."""
    assistants: list[int] = field(default_factory=list)
    """The places of the assistants' messages."""

    def follow(self, messages: list[Message], edits: Edits, meet: Meet | None = None) -> int:
        """Go on to the next request; returns how many of its first messages are as they were."""
        kept = kept_prefix(edits)
        before, self.messages = self.numbers, messages
        if kept < len(before):
            self.numbers = before[:kept]
            del self.chains[kept:], self.spoken[kept:]
            while self.assistants and self.assistants[-1] >= kept:
                self.assistants.pop()
        at = kept
        for run in edits[1:] if kept else edits:
            if isinstance(run, KeptRun):
                self._extend(at, before[run.start : run.stop], (), meet)
                at += run.stop - run.start
            else:
                self._extend(at, None, run.messages, meet)
                at += len(run.messages)
        return kept

    def histories(self) -> tuple[list[int], ...]:
        """What is known of each message, to go back to."""
        return self.numbers, self.chains, self.spoken, self.assistants

    def go_back(self, count: int, histories: tuple[list[int], ...]) -> bool:
        """Be as after so many messages of an earlier request; return whether these are all, so that its lists go on."""
        numbers, chains, spoken, assistants = histories
        is_all = len(numbers) == count
        if not is_all:
            numbers, chains, spoken = numbers[:count], chains[:count], spoken[:count]
            assistants = assistants[: bisect_left(assistants, count)]
        self.numbers, self.chains, self.spoken, self.assistants = numbers, chains, spoken, assistants
        return is_all

    def _extend(self, at: int, known: list[int] | None, messages: tuple[Message, ...], meet: Meet | None) -> None:
        """Messages from a place on, by their numbers where these are known."""
        chain = self.chains[-1] if self.chains else 0
        spoken = self.spoken[-1] if self.spoken else 0
        chains, spokens, numbers, canon = self.chains, self.spoken, self.numbers, self.canon
        answered: set[int] | None = None
        places: dict[str | bytes, int] | None = None
        for place, message in enumerate(messages or self.messages[at : at + len(known or ())], at):
            role = message["role"]
            if known and role != "tool":
                number = known[place - at]
            elif role == "tool":
                if places is None:
                    places = places_of_calls(self.messages[self.assistants[-1]]) if self.assistants else {}
                number = result_number(answered_place(message, places))
            else:
                number = canon.number(message)
            if role == "tool" and number != _UNPAIRED:
                answered = self._current_results() if answered is None else answered
                number = NOTHING if number in answered else number  # it may be sent twice
                answered.add(number)
                chain ^= number  # in whatever order results are sent
            elif number != NOTHING:
                chain = hash((chain, number))
            numbers.append(number)
            if role == "assistant":
                answered, places = set(), None
                spoken = hash((spoken, number))
                self.assistants.append(place)
                if meet:
                    chain, spoken = meet(place, chain, spoken)
            chains.append(chain)
            spokens.append(spoken)

    def _current_results(self) -> set[int]:
        """The numbers of the results that follow the last message of an assistant."""
        return set(self.numbers[self.assistants[-1] + 1 :]) if self.assistants else set()

    def rebase(self, place: int, chain: int, spoken: int) -> None:
        """Continue another chain from a place on, after which no assistant says anything."""
        numbers = self.numbers[place + 1 :]
        del self.chains[place:], self.spoken[place:], self.numbers[place + 1 :]
        self.chains.append(chain)
        self.spoken.append(spoken)
        self._extend(place + 1, numbers, (), None)

    @property
    def chain(self) -> int:
        """What the whole request is the same by."""
        return self.chains[-1] if self.chains else 0

    def behind(self, reply: Message) -> tuple[int, int, int]:
        """The number of a reply, and the chain and the spoken chain that end with it."""
        number = self.canon.number(reply)
        spoken = self.spoken[-1] if self.spoken else 0
        return number, hash((self.chain, number)), hash((spoken, number))


def logged_reply(entry: Entry, requests: Requests, parent: Reply | None, behind: int) -> Reply:
    """Make the reply of an entry to the request that was followed last, without a number, a limit and a response id.

    ``behind``: the place of the first message after ``parent``.
    """
    message = entry.reply.message
    assert message is not None
    system, (said, chain, spoken) = system_prompt(requests.messages), requests.behind(message)
    places = [at for at in range(behind, len(requests.numbers)) if requests.numbers[at] != NOTHING]
    return Reply(
        number=0,
        line=entry.line,
        at=entry.at,
        message=message,
        asked=requests.chain,
        said=said,
        chain=chain,
        spoken=spoken,
        parent=parent,
        how="appended",
        tree=parent.tree if parent else 0,
        added=[requests.numbers[at] for at in places],
        behind=[requests.messages[at] for at in places],
        notes=_notes(requests, behind) if len(places) < len(requests.numbers) - behind else [],
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


def _notes(requests: Requests, behind: int) -> list[Message]:
    """The user's messages from a place on that are no part of a chain."""
    pairs = zip(requests.numbers[behind:], requests.messages[behind:], strict=True)
    return [message for number, message in pairs if number == NOTHING and message["role"] == "user"]


def answered_place(message: Message, places: dict[str | bytes, int]) -> int:
    """The place of the call that a result answers, from 1; 0 for none. ``places`` are those of the reply's calls."""
    wanted = message.get("tool_call_id")
    return 0 if wanted is None else places.get(_call_key(wanted), 0)


def places_of_calls(reply: Message) -> dict[str | bytes, int]:
    """The places of the calls of a reply by their ids, from 1."""
    places: dict[str | bytes, int] = {}
    calls = reply.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if isinstance(call, dict) and call.get("id") is not None:
            places.setdefault(_call_key(call["id"]), place)
    return places


def _call_key(call_id: Json) -> str | bytes:
    return call_id if isinstance(call_id, str) else jsonio.dumps(call_id)


def system_prompt(messages: list[Message]) -> str:
    """The system prompt that messages begin with; empty if they have none."""
    said = []
    for message in messages:
        if message["role"] not in ("system", "developer"):
            break
        said.append(chat.text(message) or "")
    return "\n".join(said)
