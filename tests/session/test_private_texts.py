"""Every text of an outcome is hidden where it may come from a log; a new field has to be put on one of two lists."""

from typing import get_args, get_type_hints

import msgspec

from chatsquash.core.accounting import ReplyOutcome, ToolUse, TrainedReplies, Usage
from chatsquash.core.log import Log, Piece
from chatsquash.core.model import Finding, Mark, RejectedLine
from chatsquash.core.outcome import (
    Contents,
    Ending,
    Facts,
    Family,
    LogNames,
    Outcome,
    Record,
    Relative,
    SelectedEntry,
    SessionAccount,
    SessionFindings,
    SessionRecords,
    SessionReplies,
)
from chatsquash.core.scores import Score
from chatsquash.session import private_texts

HIDDEN = {
    "Outcome.session", "SessionFindings.trace", "Finding.session", "Finding.file", "Finding.text",
    "RejectedLine.reason", "SelectedEntry.model", "Family.session", "Family.log", "Relative.pattern", "Facts.session",
    "Facts.source", "Facts.model", "Mark.model", "Contents.trained", "Record.trained_replies", "Record.models", "Score.name", "Score.value", "ReplyEvidence.model", "Ending.scores", "ToolUse.name", "Usage.tool_names", "Ending.finish",
    *(f"Ending.{name}_evidence" for name in ("exit", "reward", "finish", "truncated", "failed_results", "last_user", "scores")),
}  # fmt: skip
OURS = {
    "SessionFindings.left_out", "SessionAccount.cleanup_counts", "SessionAccount.dropped", "SessionRecords.day",
    "SessionAccount.digest", "SessionAccount.format",
    "Finding.code", "Finding.severity", "Finding.conversation", "RejectedLine.code", "Coverage.lost", "Coverage.not_chosen",
    "Record.without_tools", "Record.conversation", "Record.kind", "Record.parent", "Record.flags", "Record.steps", "Record.images",
    "Facts.prefix", "Facts.started_at", "SelectedEntry.started_at", "SelectedEntry.ended_at", "LinePlace.journal", "Mark.why", "Mark.kind",
    "Ending.last_user", "Family.prefix", "Family.day", "Redaction.kind", "Redaction.rule", "Redaction.fingerprint",
    "Redaction.digest", "PreferencePair.kind", "SessionReplies.breaks", "ReplyOutcome.kind", "ReplyOutcome.status", "ReplyOutcome.why",
    "ReplyOutcome.conversation", "ReplyOutcome.parent", "ReplyOutcome.reasoning", "ReplyOutcome.facts", "ReplyOutcome.untrained", "ReplyOutcome.labels", "Score.source", "ReplyOutcome.id", "ReplyPlace.status", "LogNames.display_path",
    "LogNames.name", "LogNames.other_files", "LogNames.digest",
}  # fmt: skip
"""Codes, hashes, times, kinds, and names that are hidden already."""


def texts_of(kind, seen):
    """The fields of a type, and of those in it, that hold texts."""
    for name, told in get_type_hints(kind).items():
        parts = list(leaves(told))
        if str in parts or any(isinstance(part, str) for part in parts):
            yield f"{kind.__name__}.{name}"
        for part in parts:
            if hasattr(part, "__annotations__") and part not in seen and not isinstance(part, str):
                seen.add(part)
                yield from texts_of(part, seen)


def leaves(told):
    args = get_args(told)
    if not args:
        yield told
    for each in args:
        yield from [each] if isinstance(each, str) else leaves(each)


def test_every_text_is_known_to_be_hidden_or_ours():
    found = set(texts_of(Outcome, {Outcome}))
    assert found - HIDDEN - OURS == set(), (
        "say whether it may come from a log, and hide it in session/private_texts.py then"
    )


def test_what_may_come_from_a_log_is_hidden():
    log = Log("p", "x-shown", "x-name", 1, pieces=(Piece("p", "x-piece", 0, 0, 1, None),))
    ending = Ending(
        **{name: f"x-{name}" for name in Ending.__struct_fields__ if name.endswith("evidence")}, finish="x-finish"
    )
    chosen = SelectedEntry(1, None, None, "x-model", 1)
    usage = Usage(1, ("x-tool",), 1, 1, 1, (ToolUse("x-used", 1, 0, 0),))
    facts = Facts(session="x-facts", source="x-source", model="x-served")
    marks, contents = [Mark((0,), model="x-marked")], Contents(trained={"x-trained": 1, "": 2})
    replies = {"x-trained": TrainedReplies(1, 1, 1), "x-sampled": TrainedReplies(2), "": TrainedReplies(3)}
    record = Record(b"{}", usage, facts=facts, entry=chosen, ending=ending, marks=marks, contents=contents)
    record = msgspec.structs.replace(record, trained_replies=replies)
    scored_reply = ReplyOutcome(1, "main", "lost", None, "c", None, id="id", scores=(Score("x-score", "x-label"),))
    outcome = Outcome(
        "x-session",
        SessionRecords([record], entry=chosen, family=Family("x-family", "p", "x-stem", None)),
        SessionFindings(
            findings=[Finding("code", "error", "x-found", "x-file", 1, None, "see x-shown: x-text")],
            rejected=[RejectedLine(1, 0, 1, "code", "x-reason")],
            trace="x-trace",
        ),
        SessionAccount(relatives=[Relative(b"x-relative", b"")]),
        SessionReplies(rows=[scored_reply]),
    )
    told = private_texts.hide_texts(outcome, log, lambda text: text.replace("x-", "y-"), lambda path: "digest")
    assert b"x-" not in msgspec.msgpack.encode(told)
    assert told.privacy.log_names == LogNames("y-shown", "y-name", ["y-piece"], "digest")
    renamed = private_texts.with_log_names(log, told.privacy.log_names)
    assert (renamed.path, renamed.at(1)) == ("p", ("y-piece", 1))
    assert private_texts.hide_texts(outcome, log, str) == outcome
    before = private_texts.collect_texts(outcome, log)
    visited = []
    private_texts.hide_texts(outcome, log, lambda text: visited.append(text) or text)
    assert before == [text for text in dict.fromkeys(visited) if text]
    assert all("x-" in text for text in before)
