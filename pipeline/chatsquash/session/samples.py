"""Turn the replies of a session into samples, each with its logged context, and add logprobs to messages."""

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
from chatsquash.core.scores import Verdict
from chatsquash.core.token_ids import unpack_ids
from chatsquash.records.samples import CONTEXT, Draft, MessageSpan, draft, make_prompt, make_sample, reply_marks
from chatsquash.session.log_findings import line_of
from chatsquash.session.select import ToolUnion
from chatsquash.session.session import LineFinding, Session, Snapshot
from chatsquash.storage.line_spool import LineSpool
from chatsquash.trees.account import place_replies
from chatsquash.trees.canonical import Canon
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.token_store import TokenStore

if TYPE_CHECKING:
    from chatsquash.templates.confined import Inference, Rerendering
    from chatsquash.templates.counting import Tokenizer

Reread = Callable[[set[int]], Iterator[Entry]]
"""Reads the entries at the given lines of the log again."""
Make = Callable[[Snapshot, list[Mark] | None], tuple[Record | Rejection, list[Violation]]]
"""Makes the record of a snapshot, whose assistant messages may have marks; also returns findings."""


_ABOUT_SHAPES = ("shape-changed", "shape-dropped")
"""The codes of findings about the form of written messages."""
Count = Callable[[bytes], int | None]
"""Returns the number of tokens of a record, or ``None`` if the template rejects it."""


class SampleRequest(Struct, frozen=True):
    """The inputs for making samples."""

    options: Options
    make: Make
    reread: Reread
    inference: Inference | None
    """Renders samples as at inference; if ``None``, each reply is a sample."""
    rerendering: Rerendering | None = None
    """Renders samples of token ids, to count those that would differ."""
    tokenizer: Tokenizer | None = None
    """The tokenizer of the replies, if the options name one."""
    count: Count | None = None
    """Counts the tokens of a record if they are counted."""


class TrainedReply(Struct, frozen=True):
    """A reply that is trained on in a sample."""

    key: int
    """The number of the reply in its session."""
    ordinal: int
    """The position of the reply among the assistant messages of the sample."""
    span: MessageSpan
    """The position of the reply in the record."""
    model: str
    """The logged model of the reply; empty if unknown."""
    weight: float = 1.0
    """Its weight according to a label."""


class Sample(Struct):
    """A logged reply with its context, and the replies in it to train on, including the logged one."""

    key: int
    conversation: str
    """The id of the reply's conversation."""
    line: int
    messages: list[Message]
    """The messages of its request, and the reply."""
    draft: Draft
    trained: list[TrainedReply]
    is_true: bool | None = None
    """Whether the context equals what the template renders at inference; ``None`` if this was not compared."""

    @property
    def models(self) -> dict[int, str]:
        """The models of the assistant messages that are trained on, by position."""
        return {each.ordinal: each.model for each in self.trained}

    @property
    def weights(self) -> dict[int, float]:
        """The weights of these messages, by position."""
        return {each.ordinal: each.weight for each in self.trained}


class Sampling(Struct):
    """Makes the samples of a session, one reply after another.

    Without an inference template each reply becomes a sample. With one, a reply whose rendering is a prefix of a later
    reply's rendering is trained on in the later sample.
    """

    request: SampleRequest
    continues: Callable[[int, int], bool]
    """Whether the reply with the first key continues the reply with the second one."""
    canon: Canon = field(default_factory=Canon)
    labels: dict[int, Verdict] = field(default_factory=dict)
    """The verdicts on replies by key, if samples have labels."""
    unknown_models: int = 0
    """The number of replies of a file that have no sample because their model is unknown."""
    unlabelled: int = 0
    """The number of replies that have no sample because they have no verdict."""
    rejections: list[tuple[Violation, int, str]] = field(default_factory=list)
    """The reasons why replies have no sample, with their keys and conversations."""
    _notes: dict[tuple[str, str, int | None], LineFinding] = field(default_factory=dict)
    """The findings by conversation, code and message; later samples contain more context, so their findings win."""
    weights: dict[int, float] = field(default_factory=dict)
    """The weights of replies with labels, by key."""
    _spool: LineSpool = field(default_factory=LineSpool)
    _marks: dict[Mark, Mark] = field(default_factory=dict)
    """Equal marks as the same object, because each sample repeats those of its context."""
    _samples: list[Sample] = field(default_factory=list)
    _numbers: dict[int, tuple[Message, int]] = field(default_factory=dict)
    """The number of each message with calls, by ``id()``; equal messages have equal numbers."""
    _call_numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _endings: dict[str, Ending] = field(default_factory=dict)
    """The endings of conversations by id."""

    def end(self, conversation: str, snapshot: Snapshot) -> None:
        """Record the ending of a conversation whose last snapshot has no sample."""
        result, _ = self.request.make(snapshot, None)
        if not isinstance(result, Rejection):
            self._endings[conversation] = result.ending

    def add(self, key: int, conversation: str, snapshot: Snapshot) -> None:
        """Add the next reply, which is the last message of a snapshot."""
        if sample := self.attempt(key, conversation, snapshot):
            self._place(sample, sample.trained[0].span, snapshot.entry)

    def attempt(self, key: int, conversation: str, snapshot: Snapshot) -> Sample | None:
        """Make the sample of a reply; return ``None`` if it is rejected."""
        entry = snapshot.entry
        messages = messages_of(entry)
        ordinal = sum(message["role"] == "assistant" for message in messages) - 1
        marks = [*(Mark((at,), CONTEXT) for at in range(ordinal)), Mark((ordinal,))]
        result, findings = self.request.make(replace(snapshot, shared_calls=self._shared_calls(messages)), marks)
        self._note(conversation, entry, findings)
        if isinstance(result, Rejection):
            self.rejections.append((result.why, key, conversation))
            return None
        self._endings[conversation] = result.ending
        record_draft = draft(result)
        marks = [self._marks.setdefault(mark, mark) for mark in result.marks]
        stored_record = replace(result, content=self._spool.keep(result.line), marks=marks)
        record_draft = replace(record_draft, record=stored_record, marks=marks)
        span = record_draft.span(ordinal)
        if span is None or span.stop != record_draft.messages:
            self._reject(checks.joined_reply(), key, conversation, entry)
            return None
        model = _model(entry, len(messages) - 1)
        trained = [TrainedReply(key, ordinal, span, model, self.weights.get(key, 1.0))]
        return Sample(key, conversation, entry.line, messages, record_draft, trained)

    def _place(self, sample: Sample, span: MessageSpan, entry: Entry) -> None:
        if self.request.inference is None:
            self._samples.append(sample)
            return
        rendered = self.request.inference.renderings(sample.draft.record.line, sample.draft.messages - span.start)
        if rendered.problem:
            self._reject(checks.not_rendered(rendered.problem), sample.key, sample.conversation, entry)
            return
        sample.is_true = rendered.is_true
        separate = (
            self.request.inference.longest.add(rendered.text, sample, self._absorb) if rendered.is_true else sample
        )
        if separate is not None:
            self._samples.append(separate)

    def _absorb(self, longer: Sample, shorter: Sample) -> bool:
        """Train on the shorter sample's replies in the longer one, which extends it; return whether this succeeded."""
        options = self.request.options
        if options.shape == "messages" and options.flag == "none":
            return False
        if not self.continues(longer.key, shorter.key):
            return False
        if any(longer.draft.span(each.ordinal) != each.span for each in shorter.trained):
            return False
        trained = [*shorter.trained, *longer.trained]
        if options.shape == "prompt-completion":
            first = min((each.span for each in trained), key=lambda span: span.start)
            if not longer.draft.covers_rest(first, {each.ordinal for each in trained}):
                return False
        longer.trained = trained
        return True

    def _reject(self, finding: Violation, key: int, conversation: str, entry: Entry) -> None:
        self.rejections.append((finding, key, conversation))
        self._note(conversation, entry, [finding])

    def _note(self, conversation: str, entry: Entry, findings: Iterable[Violation]) -> None:
        for fact in findings:
            if fact.code == "unanswered-call" and fact.at is not None and fact.at >= len(messages_of(entry)) - 1:
                continue  # a sample ends with its reply
            if self.request.options.samples == "tokens" and fact.code in _ABOUT_SHAPES:
                continue  # the messages are not written
            fact_in_conversation = replace(fact, conversation=conversation)
            self._notes[conversation, fact.code, fact.at] = (line_of(entry, fact), fact_in_conversation)

    def _shared_calls(self, messages: list[Message]) -> dict[int, int]:
        """Number the messages with calls by index so that a message has the same number in all samples."""
        times: dict[int, int] = {}
        numbers_by_index: dict[int, int] = {}
        for at, message in enumerate(messages):
            if message["role"] != "assistant" or not message.get("tool_calls"):
                continue
            if id(message) not in self._numbers:
                self._numbers[id(message)] = message, self.canon.number(message)
            number = self._numbers[id(message)][1]
            times[number] = times.get(number, 0) + 1
            numbers_by_index[at] = self._call_numbers.setdefault((number, times[number]), len(self._call_numbers))
        return numbers_by_index

    def finish(self) -> list[Sample]:
        """Return the samples in the order of the lines."""
        longest = self.request.inference.longest.items() if self.request.inference else iter(())
        return sorted([*self._samples, *longest], key=lambda sample: (sample.line, sample.key))

    def marks(self, sample: Sample) -> list[Mark]:
        """Return the marks of a sample's assistant messages; a prompt contains only those before its reply."""
        if self.request.options.shape != "prompt":
            return reply_marks(sample.draft, sample.models, sample.weights)
        place = sample.trained[0].span.start
        return [mark for mark in reply_marks(sample.draft, {}, {}) if mark.place < place]

    def trained_keys(self, sample: Sample) -> list[int]:
        """Return the keys of the replies that a sample trains on; a prompt trains on none."""
        return [] if self.request.options.shape == "prompt" else [each.key for each in sample.trained]

    def records(self, samples: list[Sample]) -> Iterator[Record]:
        """Yield the record of each sample."""
        for number, sample in enumerate(samples, start=1):
            record = self._record(sample)
            matching = len(sample.trained) if sample.is_true else 0
            yield replace(
                record,
                content=self._spool.keep(record.line),
                conversation=sample.conversation,
                sample=number,
                samples=len(samples),
                trained=len(self.trained_keys(sample)),
                inference_matches=matching if sample.is_true is not None else None,
                ending=self._endings[sample.conversation],
            )

    def _record(self, sample: Sample) -> Record:
        options = self.request.options
        if options.shape != "prompt":
            return make_sample(sample.draft, self.marks(sample), options, self.labels.get(sample.key))
        record = make_prompt(sample.draft, sample.trained[0].span.start)
        calls = self._shared_calls(sample.messages)
        record = replace(record, usage=record.usage.before_reply(calls.get(len(sample.messages) - 1)))
        count = self.request.count
        return replace(record, tokens=count(record.line)) if count and record.tokens is not None else record

    def no_sample(self, reply_count: int) -> Violation:
        """Return why a session with a number of replies has no sample."""
        return checks.no_verdict(self.unlabelled) if self.unlabelled else checks.no_sample(reply_count)

    def notes(self, samples: list[Sample]) -> list[LineFinding]:
        """Return the findings of all samples."""
        findings = [*self._notes.values()]
        if mismatches := [sample for sample in samples if sample.is_true is False]:
            findings.append((mismatches[0].line, checks.context_mismatch(len(mismatches))))
        if shorter := [sample for sample in samples if sample.draft.record.front_truncated]:
            assert self.request.options.max_tokens is not None
            finding = checks.front_truncated(len(shorter), self.request.options.max_tokens)
            findings.append((shorter[0].line, finding))
        if self.unlabelled:
            findings.append((None, checks.no_verdict(self.unlabelled)))
        if self.request.options.restore != "none" and samples:
            findings.append((samples[0].line, checks.restore_not_applied()))
        return findings


def messages_of(entry: Entry) -> list[Message]:
    """Return the messages of a request with its reply."""
    reply = entry.reply.message
    return [*entry.messages, reply] if reply is not None and not entry.reply.included else entry.messages


def _model(entry: Entry, at: int) -> str:
    """Return the model of the reply at the end of a request, or at a position in a document."""
    if entry.origin is None:
        return model_of(entry.reply) or ""
    return next((reply.model or "" for reply in entry.origin.replies if reply.at == at), "")


def snapshot_of(path: list[Reply], entry: Entry) -> Snapshot:
    """Return the snapshot of a reply: its own request, with the tools of that request."""
    tools = ToolUnion()
    for _ in tools.offer(entry.tools, entry.line):
        pass
    tools.settle()
    times = [reply.at for reply in path if reply.at is not None]
    return Snapshot(entry, tools.settled(), times[0] if times else None, entry.at, len(path) - 1, 0)


def truncate_snapshot(snapshot: Snapshot, messages: list[Message]) -> Snapshot:
    """Return the snapshot of a document with only its first messages."""
    return replace(snapshot, entry=replace(snapshot.entry, messages=messages))


MEMBER = "logprobs"


def with_logprobs(session: Session, snapshot: Snapshot, record: Record) -> Record:
    """Add logprobs to the replies that are unchanged in a record and are a single message."""
    logprobs = session.growth.logprobs
    trees = session.growth.branch()
    end = session.growth.last_reply(snapshot.entry.line)
    if not logprobs or end is None or not record.marks:
        return record
    replies, messages = end.path(), messages_of(snapshot.entry)
    placement = place_replies(LogPath(last=end), replies, messages, trees.requests.canon)
    places: dict[int, bytes] = {}
    single_messages = {mark.at[0]: mark.place for mark in record.marks if len(mark.at) == 1}
    times = Counter(at for mark in record.marks for at in mark.at)
    for reply in replies:
        ordinal = placement.positions[reply.number].ordinal if reply.number in placement.positions else -1
        # A reply that was split, joined or changed no longer has the text that was sampled.
        is_one = ordinal in single_messages and times[ordinal] == 1
        if (
            is_one
            and not reply.choice
            and reply.line in logprobs
            and _has_sampled_text(placement.message(reply.number), reply.message)
        ):
            places[single_messages[ordinal]] = logprobs[reply.line]
    return _with_logprobs_at(record, places)


def in_sample(
    sample: Sample, replies: Sequence[Reply], logprobs: dict[int, bytes], store: TokenStore | None = None
) -> Draft:
    """Add logprobs to the replies that are trained on in a sample, and the token ids of the first one's prompt."""
    assistant_messages = [message for message in sample.messages if message["role"] == "assistant"]
    places: dict[int, bytes] = {}
    # Replies in the context have logprobs in their own samples. Repeated in every sample, logprobs would grow
    # quadratically with the session.
    for each in sample.trained:
        reply = replies[each.key]
        is_one = each.span.stop - each.span.start == 1 and not reply.choice
        if is_one and reply.line in logprobs and _has_sampled_text(assistant_messages[each.ordinal], reply.message):
            places[each.span.start] = logprobs[reply.line]
    # Later prompts contain the first one, so their token ids would also grow quadratically.
    first = min(sample.trained, key=lambda each: each.ordinal)
    key = (replies[first.key].line, 0)
    if store is not None and first.span.start in places and key in store:
        ids = {"prompt_token_ids": unpack_ids(store.sequence(key)[: store.get(key).prompt])}
        places[first.span.start] = jsonio.dumps({**jsonio.loads(places[first.span.start]), **ids})
    return replace(sample.draft, record=_with_logprobs_at(sample.draft.record, places))


def _with_logprobs_at(record: Record, places: dict[int, bytes]) -> Record:
    """Add logprobs to the messages at the given positions."""
    if not places:
        return record
    value = jsonio.loads(record.line)
    for place, logprobs_of_message in places.items():
        value["messages"][place][MEMBER] = jsonio.loads(logprobs_of_message)
    line = jsonio.dumps(value)
    return replace(record, content=line, digest=xxh3_128_digest(line))


def _has_sampled_text(one: Message, other: Message) -> bool:
    """Return whether a reply has the sampled text in the record."""
    return (one.get("content") or "") == (other.get("content") or "")
