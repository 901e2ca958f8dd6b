"""Make the record of a session whose every request contains the previous one and its reply: it is one conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chatsquash.core import reasoning
from chatsquash.core.marks import by_ordinal
from chatsquash.core.model import Mark, Message
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Rejection
from chatsquash.session.log_findings import SessionCoverage, line_of, loss_findings
from chatsquash.session.record_measures import of_records
from chatsquash.session.reply_counts import count_flags, count_trained, judge_of_run, needs_marks, sum_coverage
from chatsquash.session.session import LineFinding, Session, Snapshot
from chatsquash.trees.account import assistants, growing_outcomes
from chatsquash.trees.canonical import NOTHING, Canon
from chatsquash.trees.kinds import Turn, conversation_id
from chatsquash.trees.paths import GrowingRequest
from chatsquash.trees.replies import number_messages

if TYPE_CHECKING:
    from chatsquash.session.samples import Make


def convert_growing(
    session: Session, name: str, options: Options, make: Make
) -> tuple[list[Record], list[LineFinding], SessionCoverage, None] | None:
    """Make the record of a session, as ``convert_each``; return ``None`` if this requires trees."""
    messages = _messages(session, options)
    if not messages:
        return None
    requests = session.growth.growing_requests
    has_marks = needs_marks(options) or len({each.model for each in requests}) > 1
    snapshot = _snapshot(session, requests)
    result, findings = make(snapshot, judge_of_run(options).of_growing(requests) if has_marks else None)
    marks = None if isinstance(result, Rejection) or not result.marks else by_ordinal(result.marks)
    if isinstance(result, Rejection) or any(why(result) for why in of_records(options).values()):
        return None
    if marks is not None and len(marks) < len(requests):
        return None
    beginning = _new_messages(messages[: requests[0].count])
    prompt = next((message for message in beginning if message["role"] == "user"), None)
    conversation = conversation_id(name, prompt, _turns(beginning, messages, requests))
    rows = growing_outcomes(requests, messages, conversation, marks)
    sums = sum_coverage(rows, (), 1)
    return (
        [_with_counts(result, conversation, requests, marks, options)],
        [(line_of(snapshot.entry, each), replace(each, conversation=conversation)) for each in findings],
        SessionCoverage(sums, rows, loss_findings(sums, snapshot.entry.line), set()),
        None,
    )


def _messages(session: Session, options: Options) -> list[Message]:
    """Return the messages of the last request and the reply to it; empty if the record may need other content."""
    growth, snapshot = session.growth, session.snapshot
    requests, last = growth.growing_requests, growth.last
    if session.side_requests or session.other_files or growth.trees is not None:
        return []
    if last is None or snapshot is None or snapshot.entry is not last or snapshot.superseded + 1 != len(requests):
        return []
    if last.reply.message is None or growth.several or not growth.has_only_grown():
        return []
    messages = last.messages_with_reply
    if assistants(messages) != [each.count for each in requests]:
        return []
    # Clients may remove reasoning from the history, which can be restored.
    has_reasoning = options.restore != "none" and any(
        reasoning.text_or_block(each.message) for each in requests if each.message
    )
    return [] if has_reasoning else messages


def _snapshot(session: Session, requests: list[GrowingRequest]) -> Snapshot:
    assert session.snapshot is not None
    times: list[int | None] = [each.at for each in requests if each.at is not None] or [None]
    return Snapshot(session.snapshot.entry, session.snapshot.tools, times[0], times[-1], len(requests) - 1, 0)


def _with_counts(
    record: Record, name: str, requests: list[GrowingRequest], marks: dict[int, Mark] | None, options: Options
) -> Record:
    """Add its conversation, and the counts of its flags and of the replies to train on, to a record."""
    trained = requests
    if options.flag != "none":
        trained = [each for at, each in enumerate(requests) if marks and not marks[at].why]
    record = replace(count_flags(record, options), trained_replies=count_trained(trained))
    return replace(record, conversation=name, kind="main")


def _turns(beginning: list[Message], messages: list[Message], requests: list[GrowingRequest]) -> Iterator[Turn]:
    """Yield the turns of a conversation, latest first; ``beginning`` are the messages of its first request."""
    for before, each in zip(requests[-2::-1], requests[:0:-1], strict=True):
        assert each.message is not None
        yield each.message, _new_messages(messages[before.count : each.count])[1:]
    assert requests[0].message is not None
    yield requests[0].message, beginning


def _new_messages(messages: list[Message]) -> list[Message]:
    """Return messages without those outside chains; a reply before results shows which calls they answer."""
    return [message for number, message in number_messages(messages, Canon()) if number != NOTHING]
