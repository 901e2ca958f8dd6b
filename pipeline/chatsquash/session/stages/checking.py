"""Checks of a session: one id, a clock that never goes back, and the rules over logged conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from msgspec.structs import replace

from chatsquash.checks import examine, reading
from chatsquash.checks.dataset import OF_TOOLS
from chatsquash.checks.registry import Kind, View
from chatsquash.core.model import Conversation, Entry, RepeatedViolation, SkippedLine, Violation
from chatsquash.core.reasoning import MEMBERS
from chatsquash.formats import PLAIN, documents
from chatsquash.formats.providers.openai_chat.vendors import TELLING, variants
from chatsquash.session.stages.tools import check_definitions

_TEXT = frozenset({str, type(None)})


def examined(
    conversation: Conversation, view: View, *, keeps_reasoning: bool, holds_arguments: bool = False
) -> Iterator[Violation]:
    """What the rules over records find in one whose calls are native, in its definitions, and in its arguments."""
    explained = OF_TOOLS if without_tools(conversation) else ()
    kinds: tuple[Kind, ...] = ("record", "native", "arguments") if holds_arguments else ("record", "native")
    for finding in (*check_definitions(view.tools), *examine(view, *kinds)):
        if finding.code not in explained:
            yield finding
    if conversation.source == PLAIN and not _is_ordinary(view):
        gone = () if keeps_reasoning else MEMBERS
        forms = [form for form in chain.from_iterable(map(variants, view.messages)) if form not in gone]
        if forms:
            yield reading.vendor_extension(Counter(forms))


def _is_ordinary(view: View) -> bool:
    """Whether a look at all messages at once shows that none departs from what OpenAI writes, as nearly none does."""
    columns = view.columns
    calls, ids = columns.calls, columns.result_ids
    return (
        calls is not None
        and [call.get("type") for call in calls.given].count("function") == len(calls.given)
        and TELLING.isdisjoint(columns.keys)
        and "function" not in columns.roles
        and _TEXT.issuperset(columns.kinds)
        and _TEXT.issuperset(map(type, ids))
        and None not in ids
        and "" not in ids
    )


def without_tools(conversation: Conversation) -> str:
    """The format of the log that a conversation is of, where that explains that it has no tools."""
    name = conversation.source if conversation.has_private and not conversation.tools else None
    return name if name and not documents.holds_tools(name) else ""


def validate(
    items: Iterator[Entry | SkippedLine], *, keep: bool, merge: bool = False, joined: bool = False
) -> Iterator[Entry | SkippedLine]:
    """Report the first entry with another session id and the first whose clock went back, and count equal times.

    Entries without an id or a readable time are not compared.  ``keep``: a clock that goes back is a warning and the
    session is converted all the same; else it is an error.  ``merge``: so it is with another session id.
    ``joined``: the session was joined of several, each with an id of its own.  Every entry goes on, so that the whole
    log is accounted for.
    """
    named: Entry | None = None
    timed: Entry | None = None
    mixed = backward = False
    for entry in items:
        if isinstance(entry, SkippedLine):
            yield entry
            continue
        findings: list[Violation | RepeatedViolation] = []
        if entry.session_id is not None:
            if named is None:
                named = entry
            elif entry.session_id != named.session_id and not mixed and not joined:
                mixed = True
                findings.append(
                    reading.session_id_mismatch(named.session_id or "", entry.session_id, named.line, merge)
                )
        if entry.at is not None:
            if timed is not None and entry.at == timed.at:
                findings.append(RepeatedViolation("equal-timestamps"))
            elif timed is not None and entry.at < (timed.at or 0) and not backward:
                backward = True
                findings.append(reading.timestamp_order(timed.line, keep))
            timed = entry
        yield replace(entry, findings=(*entry.findings, *findings)) if findings else entry
