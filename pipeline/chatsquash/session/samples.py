"""The replies of a session as samples, each behind its logged context, and the logged tokens of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.checks import sampling as checks
from chatsquash.core import jsonio
from chatsquash.core.accounting import model_of
from chatsquash.core.model import Entry, Mark, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Ending, Record, Rejection
from chatsquash.reading.documents import line_of
from chatsquash.records.samples import CONTEXT, Draft, MessageSpan, draft, make_sample, reply_marks
from chatsquash.session.session import LineFinding, Session, Snapshot
from chatsquash.trees.account import place_replies
from chatsquash.trees.canonical import Canon
from chatsquash.trees.replies import LogPath, Reply

if TYPE_CHECKING:
    from chatsquash.templates.confined import Inference

Reread = Callable[[set[int]], Iterator[Entry]]
"""Gives the entries of some lines of the log once more."""
Make = Callable[[Snapshot, list[Mark] | None], tuple[Record | Rejection, list[Violation]]]
"""Makes the record of a snapshot, whose assistant messages may have marks, and says what was found."""


class SampleRequest(Struct, frozen=True):
    """What samples are made by."""

    options: Options
    make: Make
    reread: Reread
    inference: Inference | None
    """``None``: each reply is a sample."""


class Trained(Struct, frozen=True):
    """A reply that is trained on in a sample."""

    key: int
    """What tells it from the other replies of the session."""
    ordinal: int
    """Which of the assistant's messages it is, in the sample's context."""
    span: MessageSpan
    """Where it stands in the record."""
    model: str
    """The model that gave it, as logged; empty if it is not known."""


class Sample(Struct):
    """A logged reply behind its context, and the replies that are trained on in it, itself among them."""

    key: int
    conversation: str
    """The id of its conversation."""
    line: int
    messages: list[Message]
    """Those of its request, and itself."""
    draft: Draft
    trained: list[Trained]
    is_true: bool | None = None
    """Whether it stands behind what the template gives at inference; ``None``: nobody asked."""

    @property
    def models(self) -> dict[int, str]:
        """Which of the assistant's messages are trained on, and the models that wrote them."""
        return {each.ordinal: each.model for each in self.trained}


class Sampling(Struct):
    """Makes the samples of a session, one reply after the other."""

    asked: SampleRequest
    goes_on: Callable[[int, int], bool]
    """Whether a reply, by its key, goes on from another one."""
    canon: Canon = field(default_factory=Canon)
    refused: list[tuple[Violation, int, str]] = field(default_factory=list)
    """Why replies have no sample, with their keys and their conversations."""
    _notes: dict[tuple[str, str, int | None], LineFinding] = field(default_factory=dict)
    """What was found of each message of a conversation, said last, since that tells of most."""
    _alone: list[Sample] = field(default_factory=list)
    _numbers: dict[int, tuple[Message, int]] = field(default_factory=dict)
    """What messages with calls are the same by, by their ``id()``."""
    _shared: dict[tuple[int, int], int] = field(default_factory=dict)
    _endings: dict[str, Ending] = field(default_factory=dict)
    """How conversations ended, by their ids."""

    def end(self, conversation: str, snapshot: Snapshot) -> None:
        """Note how a conversation ended, given its last snapshot, which has no sample of its own."""
        made, _ = self.asked.make(snapshot, None)
        if not isinstance(made, Rejection):
            self._endings[conversation] = made.ending

    def add(self, key: int, conversation: str, snapshot: Snapshot) -> None:
        """The next reply, which is the last message of a snapshot."""
        entry = snapshot.entry
        messages = said(entry)
        ordinal = sum(message["role"] == "assistant" for message in messages) - 1
        marks = [*(Mark((at,), CONTEXT) for at in range(ordinal)), Mark((ordinal,))]
        made, findings = self.asked.make(replace(snapshot, shared_calls=self._shared_calls(messages)), marks)
        self._note(conversation, entry, findings)
        if isinstance(made, Rejection):
            self.refused.append((made.why, key, conversation))
            return
        self._endings[conversation] = made.ending
        drafted = draft(made)
        span = drafted.span(ordinal)
        if span is None or span.stop != drafted.messages:
            self._refuse(checks.joined_reply(), key, conversation, entry)
            return
        model = _model(entry, len(messages) - 1)
        sample = Sample(key, conversation, entry.line, messages, drafted, [Trained(key, ordinal, span, model)])
        self._take(sample, span, entry)

    def _take(self, sample: Sample, span: MessageSpan, entry: Entry) -> None:
        if self.asked.inference is None:
            self._alone.append(sample)
            return
        rendered = self.asked.inference.renderings(sample.draft.record.line, sample.draft.messages - span.start)
        if rendered.problem:
            self._refuse(checks.not_rendered(rendered.problem), sample.key, sample.conversation, entry)
            return
        sample.is_true = rendered.is_true
        aside = self.asked.inference.longest.add(rendered.text, sample, self._takes) if rendered.is_true else sample
        if aside is not None:
            self._alone.append(aside)

    def _takes(self, longer: Sample, shorter: Sample) -> bool:
        """Have a sample train on the replies of another one, whose rendering begins its own, if it can say so."""
        options = self.asked.options
        if options.shape == "messages" and options.flag == "none":
            return False
        if not self.goes_on(longer.key, shorter.key):
            return False
        if any(longer.draft.span(each.ordinal) != each.span for each in shorter.trained):
            return False
        both = [*shorter.trained, *longer.trained]
        if options.shape == "prompt-completion":
            first = min((each.span for each in both), key=lambda span: span.start)
            if not longer.draft.is_whole(first, {each.ordinal for each in both}):
                return False
        longer.trained = both
        return True

    def _refuse(self, finding: Violation, key: int, conversation: str, entry: Entry) -> None:
        self.refused.append((finding, key, conversation))
        self._note(conversation, entry, [finding])

    def _note(self, conversation: str, entry: Entry, findings: Iterable[Violation]) -> None:
        for fact in findings:
            if fact.code == "unanswered-call" and fact.at is not None and fact.at >= len(said(entry)) - 1:
                continue  # a sample ends with its reply
            about = fact._replace(conversation=conversation)
            self._notes[conversation, fact.code, fact.at] = (line_of(entry, fact), about)

    def _shared_calls(self, messages: list[Message]) -> dict[int, int]:
        """The messages with calls, by index, each with a number that it has in the other samples, too."""
        times: dict[int, int] = {}
        shared: dict[int, int] = {}
        for at, message in enumerate(messages):
            if message["role"] != "assistant" or not message.get("tool_calls"):
                continue
            if id(message) not in self._numbers:
                self._numbers[id(message)] = message, self.canon.number(message)
            number = self._numbers[id(message)][1]
            times[number] = times.get(number, 0) + 1
            shared[at] = self._shared.setdefault((number, times[number]), len(self._shared))
        return shared

    def finish(self) -> list[Sample]:
        """The samples, in the order of the lines."""
        longest = self.asked.inference.longest.items() if self.asked.inference else iter(())
        return sorted([*self._alone, *longest], key=lambda sample: (sample.line, sample.key))

    def marks(self, sample: Sample) -> list[Mark]:
        """The marks of a sample's assistant messages."""
        return reply_marks(sample.draft, sample.models)

    def records(self, samples: list[Sample]) -> Iterator[Record]:
        """The record of each sample."""
        for number, sample in enumerate(samples, start=1):
            made = make_sample(sample.draft, self.marks(sample), self.asked.options)
            true = len(sample.trained) if sample.is_true else 0
            yield replace(
                made,
                conversation=sample.conversation,
                sample=number,
                samples=len(samples),
                trained=len(sample.trained),
                inference_matches=true if sample.is_true is not None else None,
                ending=self._endings[sample.conversation],
            )

    def notes(self, samples: list[Sample]) -> list[LineFinding]:
        """What was found of all."""
        findings = [*self._notes.values()]
        if untrue := [sample for sample in samples if sample.is_true is False]:
            findings.append((untrue[0].line, checks.context_mismatch(len(untrue))))
        if self.asked.options.restore != "none" and samples:
            findings.append((samples[0].line, checks.restore_not_applied()))
        return findings


def said(entry: Entry) -> list[Message]:
    """The messages of a request, and its reply."""
    reply = entry.reply.message
    return [*entry.messages, reply] if reply is not None and not entry.reply.included else entry.messages


def _model(entry: Entry, at: int) -> str:
    """The model that gave the reply at the end of a request, or at a place in a document."""
    if entry.origin is None:
        return model_of(entry.reply) or ""
    return next((reply.model or "" for reply in entry.origin.replies if reply.at == at), "")


def alone(snapshot: Snapshot, messages: list[Message]) -> Snapshot:
    """A snapshot of a document with its first messages only."""
    return replace(snapshot, entry=replace(snapshot.entry, messages=messages))


MEMBER = "logprobs"


def with_logprobs(session: Session, snapshot: Snapshot, made: Record) -> Record:
    """A record whose replies have theirs, as far as they stand in it word for word, each as one message."""
    logged = session.growth.logprobs
    trees = session.growth.branch()
    end = session.growth.last_reply(snapshot.entry.line)
    if not logged or end is None or not made.marks:
        return made
    replies, messages = end.path(), said(snapshot.entry)
    shown = place_replies(LogPath(last=end), replies, messages, trees.requests.canon)
    places: dict[int, bytes] = {}
    alone = {mark.at[0]: mark.place for mark in made.marks if len(mark.at) == 1}
    times = Counter(at for mark in made.marks for at in mark.at)
    for reply in replies:
        ordinal = shown.positions[reply.number].ordinal if reply.number in shown.positions else -1
        is_one = ordinal in alone and times[ordinal] == 1
        if (
            is_one
            and not reply.choice
            and reply.line in logged
            and _is_whole(shown.message(reply.number), reply.message)
        ):
            places[alone[ordinal]] = logged[reply.line]
    return _with_logprobs_at(made, places)


def in_sample(sample: Sample, replies: Sequence[Reply], logged: dict[int, bytes]) -> Draft:
    """The draft of a sample in which the replies that are trained on have theirs.

    Those of its context stand in the samples of these: in all that hold them, they would grow with the square of the
    session.
    """
    spoken = [message for message in sample.messages if message["role"] == "assistant"]
    places: dict[int, bytes] = {}
    for each in sample.trained:
        reply = replies[each.key]
        is_one = each.span.stop - each.span.start == 1 and not reply.choice
        if is_one and reply.line in logged and _is_whole(spoken[each.ordinal], reply.message):
            places[each.span.start] = logged[reply.line]
    return replace(sample.draft, record=_with_logprobs_at(sample.draft.record, places))


def _with_logprobs_at(made: Record, places: dict[int, bytes]) -> Record:
    """A record whose messages at these places have what was logged of their tokens."""
    if not places:
        return made
    value = jsonio.loads(made.line)
    for place, logged in places.items():
        value["messages"][place][MEMBER] = jsonio.loads(logged)
    line = jsonio.dumps(value)
    return replace(made, line=line, digest=xxh3_128_digest(line))


def _is_whole(one: Message, other: Message) -> bool:
    """Whether a reply stands in the record with the text that was sampled."""
    return (one.get("content") or "") == (other.get("content") or "")
