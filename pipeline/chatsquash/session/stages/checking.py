"""Validation of entries (one session id, increasing timestamps) and the checks of logged conversations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chatsquash.checks import dataset, examine, reading
from chatsquash.checks.registry import Kind, View
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Conversation, Entry, RepeatedViolation, SkippedLine, Violation
from chatsquash.core.reasoning import MEMBERS
from chatsquash.formats import PLAIN
from chatsquash.formats.providers.openai_chat.members import UNUSUAL_MEMBERS, variants
from chatsquash.session.stages.tools import check_definitions

if TYPE_CHECKING:
    from chatsquash.formats import documents
else:
    documents = LazyModule("chatsquash.formats.documents")

_TEXT = frozenset({str, type(None)})
_KINDS: tuple[Kind, ...] = ("record", "native")
_WITH_ARGUMENTS: tuple[Kind, ...] = (*_KINDS, "arguments")
_NO_RULES: frozenset[str] = frozenset()


def check_conversation(
    conversation: Conversation, view: View, *, keeps_reasoning: bool, checks_arguments: bool = False
) -> list[Violation]:
    """Run the checks for records, native calls and tool definitions, and optionally for call arguments.

    Findings about missing definitions are skipped if the log's format never contains any. Plain logs are also searched
    for vendor extensions.
    """
    skipped = dataset.OF_TOOLS if format_without_tools(conversation) else _NO_RULES
    kinds = _WITH_ARGUMENTS if checks_arguments else _KINDS
    violations = [*check_definitions(view.tools), *examine(view, *kinds, skipped=skipped)]
    if conversation.source == PLAIN and not _is_ordinary(view):
        ignored = () if keeps_reasoning else MEMBERS
        forms = [form for form in chain.from_iterable(map(variants, view.messages)) if form not in ignored]
        if forms:
            violations.append(reading.vendor_extension(Counter(forms)))
    return violations


def _is_ordinary(view: View) -> bool:
    """Return whether all messages follow OpenAI's own format."""
    # Nearly all conversations do, so columns are checked instead of every message.
    columns = view.columns
    calls, ids = columns.calls, columns.result_ids
    return (
        calls is not None
        and [call.get("type") for call in calls.objects].count("function") == len(calls.objects)
        and UNUSUAL_MEMBERS.isdisjoint(columns.keys)
        and "function" not in columns.roles
        and _TEXT.issuperset(columns.kinds)
        and _TEXT.issuperset(map(type, ids))
        and None not in ids
        and "" not in ids
    )


def format_without_tools(conversation: Conversation) -> str:
    """Return the format of the log if that format never contains tool definitions, else an empty string."""
    name = conversation.source if conversation.has_private and not conversation.tools else None
    return name if name and not documents.has_tools(name) else ""


def validate(
    items: Iterator[Entry | SkippedLine], *, keep: bool, merge: bool = False, is_joined: bool = False
) -> Iterator[Entry | SkippedLine]:
    """Report the first change of the session id and the first step back in time; count equal timestamps.

    Entries without an id or a readable time are not compared. Every entry is yielded so that the complete log is
    accounted for.

    Args:
        items: The entries and skipped lines of a session, in order.
        keep: Report a step back in time as a warning instead of an error so that the session is converted.
        merge: Report a change of the session id as a warning instead of an error.
        is_joined: The session was joined from several with different ids, so ids are not compared.
    """
    first_with_id: Entry | None = None
    previous_with_time: Entry | None = None
    # Only the first violation of each kind is reported.
    is_mixed = is_backward = False
    for entry in items:
        if isinstance(entry, SkippedLine):
            yield entry
            continue
        findings: list[Violation | RepeatedViolation] = []
        if entry.session_id is not None:
            if first_with_id is None:
                first_with_id = entry
            elif entry.session_id != first_with_id.session_id and not is_mixed and not is_joined:
                is_mixed = True
                findings.append(
                    reading.session_id_mismatch(
                        first_with_id.session_id or "", entry.session_id, first_with_id.line, merge
                    )
                )
        if entry.at is not None:
            if previous_with_time is not None and entry.at == previous_with_time.at:
                findings.append(RepeatedViolation("equal-timestamps"))
            elif previous_with_time is not None and entry.at < (previous_with_time.at or 0) and not is_backward:
                is_backward = True
                findings.append(reading.timestamp_order(previous_with_time.line, keep))
            previous_with_time = entry
        yield replace(entry, findings=(*entry.findings, *findings)) if findings else entry
