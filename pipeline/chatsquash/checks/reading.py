"""Findings about reading and converting logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from chatsquash.checks import files
from chatsquash.checks.registry import Fact, rule
from chatsquash.core.model import Violation
from chatsquash.core.text import escape, pluralize, printable, quote


@rule("error")
def bad_line(reason: str) -> Fact:
    """Reported when a line is not a JSON object; it is skipped and listed in `reports/rejected.jsonl`."""
    return Fact(f"line skipped: {escape(reason)}; see reports/rejected.jsonl")


@rule("error")
def bad_entry(reason: str) -> Fact:
    """Reported when a line has no valid request; it is skipped and listed in `reports/rejected.jsonl`."""
    return Fact(f"entry skipped: {escape(reason)}; see reports/rejected.jsonl")


@rule("error", kept_severity="warning")
def session_id_mismatch(first_id: str, other_id: str, first_line: int, merge: bool) -> Fact:
    """Reported when a file has more than one `session_id`, so it is skipped.

    Only `--on-invalid keep` with `--sessions-by file` converts the file as one session, with a warning. If two ids have
    two lines or more, lines are grouped by id by default (`grouped-by-id`).
    """
    seen = f"session_id is {quote(other_id)}, but line {first_line} has {quote(first_id)}"
    if merge:
        return Fact(f"{seen}, converted as one session: --sessions-by id separates them", is_kept=True)
    return Fact(f"{seen}: --sessions-by id separates them (--on-invalid keep --sessions-by file joins them)")


@rule("error", kept_severity="warning")
def timestamp_order(earlier_line: int, keep: bool) -> Fact:
    """Reported when an entry is earlier than the previous one, so the session is skipped.

    `--on-invalid keep` converts the session in file order, with a warning.
    """
    seen = f"timestamp is earlier than that of line {earlier_line}"
    if keep:
        return Fact(f"{seen}; file order is used", is_kept=True)
    return Fact(f"{seen} (--on-invalid keep converts it anyway)")


@rule("warning")
def equal_timestamps(count: int) -> Fact:
    """Reported when consecutive entries have the same timestamp, so file order is used."""
    seen = f"{_entries(count)} with the same time as the previous one; file order is used"
    return Fact(f"{seen}: check that the entries are in the order in which they were sent")


@rule("warning")
def missing_session_id(count: int) -> Fact:
    """Reported when entries have no `session_id`, so the file name is used."""
    seen = f"no session_id in {_entries(count)}; the file name is used"
    return Fact(f"{seen}: if the file mixes sessions, --sessions-by chain separates them")


@rule("warning")
def missing_timestamp(count: int) -> Fact:
    """Reported when entries have no readable timestamp, so file order is used."""
    seen = f"no readable timestamp in {_entries(count)}; file order is used"
    return Fact(f"{seen}: check that the entries are in the order in which they were sent")


@rule("warning")
def naive_timestamp(count: int) -> Fact:
    """Reported when timestamps have no time zone and are treated as UTC."""
    seen = f"no time zone in the timestamp of {_entries(count)}; UTC is assumed"
    return Fact(f"{seen}: if the clock was not in UTC, the record may be a day off")


@rule("warning")
def wrong_type(what: str, seen: str, count: int) -> Fact:
    """Reported when `tools`, `response`, `choices` or the reply has the wrong type and is treated as missing."""
    return Fact(f"{escape(what)} is {escape(seen)} in {_entries(count)} and treated as missing: fix the logger")


@rule("error")
def unknown_format(instead: str) -> Fact:
    """Reported when no known format matches a log, or more than one does."""
    return Fact(f"unknown format: {escape(instead)}; set it with --from (chatsquash formats lists all)")


@rule("warning")
def mixed_formats(most: str, other: str, count: int) -> Fact:
    """Reported when lines have a different format or envelope from the first lines of the log.

    Each line is read in its own format.
    """
    there = "another envelope" if most == other else f"the format {other}"
    return Fact(
        f"{_entries(count)} with {there} in a log of {most}, read in their own format: check whether logs were mixed"
    )


@rule("warning")
def missing_history(count: int) -> Fact:
    """Reported when a request refers to turns that are not in the log."""
    return Fact(f"{_entries(count)} with earlier turns that are not in this log: check where the conversation begins")


@rule("warning")
def other_conversations(count: int) -> Fact:
    """Reported when `--sessions-by file` converts only the first of several conversations in a document."""
    return Fact(f"the document has {count:,} conversations; only the first is converted: --sessions-by id converts all")


@rule("info")
def hosted_tools(count: int) -> Fact:
    """Reported when requests include hosted tools, such as web search, which are omitted from `tools`."""
    return Fact(f"hosted tools in {_entries(count)}: they have no definition, so they are not in tools")


@rule("info")
def context_cleared(what: str, count: int) -> Fact:
    """Reported when the service removed content, such as old tool results, before the model saw the request.

    `--loss` never trains on replies to such requests, because the record still contains the content.
    """
    return Fact(f"{_entries(count)} without {escape(what)}, which the service removed before the model replied")


@rule("warning")
def stream_interrupted() -> Fact:
    """Reported when the stream of a reply was interrupted; the record contains the part that was received."""
    return Fact("the reply stream was interrupted; only the part received is converted: check whether to train on it")


@rule("warning")
def unsupported_content(kinds: Mapping[str, int], at: int | None) -> Fact:
    """Reported when OpenAI chat cannot express some content, such as calls to hosted tools.

    Members of definitions that only one provider has, such as `input_examples`, are counted once per tool.
    """
    blocks = ", ".join(f"{count} {quote(kind)}" for kind, count in kinds.items())
    return Fact(f"omitted because chat messages cannot represent them: {blocks}", at)


@rule("info")
def vendor_extension(forms: Mapping[str, int]) -> Fact:
    """Reported when messages use vendor-specific names, types or structures, which are kept."""
    seen = ", ".join(f"{name} {count}" for name, count in forms.items())
    return Fact(f"vendor-specific forms kept as logged: {seen}")


@rule("warning")
def unrelated_requests(count: int) -> Fact:
    """Reported when lines have no session id and do not build on each other, so each becomes a session."""
    how = "--sessions-by file joins them"
    return Fact(f"{count:,} requests without a session_id do not build on each other: each is a session ({how})")


@rule("info")
def grouped_by_id(count: int) -> Fact:
    """Reported when a file mixes sessions, so its lines are grouped by session id.

    At least two ids have two lines or more, and neither `--sessions-by` nor `--on-invalid` is used.
    """
    return Fact(f"the file mixes {count:,} sessions, so its lines are grouped as with --sessions-by id")


@rule("info")
def reordered(count: int) -> Fact:
    """Reported when lines were out of order and were sorted by time.

    Lines with equal times keep their order. Applies to `--conversations main` and `all`, and to `--sessions-by chain`.
    """
    were = "was" if count == 1 else "were"
    return Fact(f"{pluralize(count, 'line')} {were} out of order, so lines are sorted by time")


@rule("warning")
def short_tail(last_line: int, last_messages: int, kept_line: int, kept_messages: int) -> Fact:
    """Reported when the last request has fewer messages than an earlier one, which becomes the record.

    With `--conversations main` or `all`, it is reported only if nothing explains the last request and no record
    contains its reply.
    """
    last = f"line {last_line} has {pluralize(last_messages, 'message')}"
    record_source = f"line {kept_line} has {kept_messages}"
    return Fact(f"{last}, but {record_source} and is converted: check whether the conversation continued after it")


@rule("warning")
def missing_reply(why: str) -> Fact:
    """Reported when the selected request has no reply, so the record ends with the request."""
    return Fact(f"no reply appended ({escape(why)}): check whether the record should end with the request")


@rule("warning")
def extra_choices(count: int) -> Fact:
    """Reported when a response has more than one choice; the record contains the first one."""
    return Fact(
        f"the response has {pluralize(count, 'choice')}; only the first is converted: the others remain in the log"
    )


@rule("warning")
def reply_truncated(reason: str = "length") -> Fact:
    """Reported when a reply was stopped by its length limit, a filter or an error.

    Unknown finish reasons are treated in the same way. Such replies have weight 0.
    """
    how = "was truncated at its length limit" if reason == "length" else f"ended early ({printable(reason[:40])})"
    return Fact(f"the reply {how}: check whether to train on the record")


@rule("error")
def empty_session(entries_seen: int, rejected: int) -> Fact:
    """Reported when a session has no usable entries, or none after cleaning."""
    if entries_seen == 0:
        why = "check why its lines were skipped" if rejected else "it is empty; check whether the logger ran"
        return Fact(f"the log has no usable entry, so there is no record: {why}")
    seen = _entries(entries_seen)
    return Fact(f"cleaning removed all content of {seen}, so there is no record: --no-cleanup-goose keeps them")


@rule("info")
def unanswered_session(why: str = "") -> Fact:
    """Reported when a session has no reply.

    It is empty, or contains only bookkeeping, commands or a prompt. There is no record for files of agents, nor with
    presets for training; otherwise `missing-reply` is reported. The exit code is still 0 if other sessions have
    records.
    """
    return Fact(f"the session has no reply, so there is no record{f': {escape(why)}' if why else ''}")


@rule("error")
def unreadable_log(reason: str) -> Fact:
    """Reported when a log cannot be opened or read.

    It may also be too large for the available memory. The session is skipped.
    """
    return Fact(f"the log cannot be read ({escape(reason)}): check the file and its permissions")


@rule("error")
def cut_short(reason: str) -> Fact:
    """Reported when a log is damaged or truncated, or exceeds a limit; only the part before that point is converted."""
    return Fact(f"only the beginning of the log was read: {escape(reason)}; look for an intact copy")


@rule("info")
def no_exchange(what: str, count: int) -> Fact:
    """Reported when lines, such as embedding requests, are not exchanges with a model.

    They are treated as blank lines.
    """
    return Fact(f"lines without an exchange ({escape(what)}): {count:,}, not in any record")


@rule("error")
def truncated_by_logger(what: str, count: int) -> Fact:
    """Reported when the logger truncated the model's input or output.

    Presets other than `chat` exclude the session, unless `--keep-cut` is used. Output that was truncated by a tool does
    not count, because the model saw it in that form.
    """
    times = f", {count:,} times" if count > 1 else ""
    return Fact(
        f"the logger truncated {escape(what)}{times}: check whether it can log more (--keep-cut keeps the session)"
    )


@rule("error")
def lost_worker(how: str) -> Fact:
    """Reported when the process that converts a session died twice, so the session is skipped.

    The usual reason is that memory ran out.
    """
    return Fact(f"the log was skipped ({how}): check that enough memory is available, and convert again")


@rule("warning")
def changed_log(how: str) -> Fact:
    """Reported when a log changed or was deleted during the run; the next run reads it again.

    If the log grew, the complete lines within its earlier size are read.
    """
    return Fact(f"the log {how} during the run, so its earlier content was read: convert again when it is complete")


@rule("error")
def role_sequence(earlier_line: int, line: int, position: int, expected: str, seen: str) -> Fact:
    """Reported when a request does not continue the previous one, and no reason is known.

    Roles are compared, and assistant messages based on whether they have text and calls; two messages, one with text
    and one with calls, may also be a single message. Reported only if no call, summary or client request began the
    conversation.
    """
    there = f"message {position} is {quote(seen)}" if seen else f"there is no message {position}"
    where = f"line {earlier_line} has {quote(expected)}"
    return Fact(f"on line {line}, {there}, but {where}: the history was rewritten (see chatsquash inspect)")


@rule("warning")
def parts_dropped(kinds: Mapping[str, int], at: int | None) -> Fact:
    """Reported when calls are written as text, and other parts, such as images, are dropped."""
    parts = ", ".join(f"{count} {quote(kind)}" for kind, count in kinds.items())
    return Fact(f"parts other than text dropped: {parts} (--no-json-tool-calls keeps them)", at)


@rule("warning")
def number_changed(spellings: Sequence[str], count: int) -> Fact:
    """Reported when a number has more digits than a double can represent and is rounded."""
    some = ", ".join(quote(spelling) for spelling in spellings[:3])
    rest = ", …" if count > 3 else ""
    return Fact(f"{pluralize(count, 'number')} lost digits: {some}{rest} (log them as strings to keep them)")


@rule("info")
def cleaned(counts: Mapping[str, int], by_default: bool = True) -> Fact:
    """Reported when cleaning changed a session; the finding has a count per rule."""
    rules = ", ".join(f"{escape(name)} {count}" for name, count in counts.items())
    how = "--no-cleanup-goose" if by_default else "--no-cleanup-goose without --cleanup"
    return Fact(f"cleaning changed the session: {rules} ({how} keeps it as logged)")


@rule("info")
def file_not_read(what: str, count: int) -> Fact:
    """Reported when files next to the logs are skipped because of their suffix or type."""
    explanation = {
        "same file again": ("duplicate path", "duplicate paths", "each file is converted once, under its first name"),
        "second copy": ("second copy", "second copies", "only one copy of a log is read"),
    }.get(what)
    if what == "earlier output":
        readers = "chatsquash stats, check and translate read its records, and merge joins it with other results"
        return Fact(f"a chatsquash output, not logs: {readers}")
    if explanation:
        return Fact(f"{pluralize(count, explanation[0], explanation[1])} not read: {explanation[2]}")
    if what == "part of another file":
        return Fact(f"{pluralize(count, 'part of another file', 'parts of other files')}, read there")
    hint = {
        "linked folder": "--follow-links includes them",
        "broken link": "the target does not exist",
        "special file": "only regular files are read",
    }.get(what)
    if hint:
        return Fact(f"{pluralize(count, what)} not read: {hint}")
    kind = f"suffix {quote(what)}" if what.startswith(".") else "no suffix"
    return Fact(
        f"{pluralize(count, 'file')} with {kind} not read: pass the path of a file to read it regardless of its suffix"
    )


def _entries(count: int) -> str:
    return pluralize(count, "entry", "entries")


OF_LINES: dict[str, Callable[..., Violation]] = {
    "missing-session-id": missing_session_id,
    "missing-timestamp": missing_timestamp,
    "equal-timestamps": equal_timestamps,
    "naive-timestamp": naive_timestamp,
    "missing-history": missing_history,
    "hosted-tools": hosted_tools,
    "context-cleared": context_cleared,
    "mixed-formats": mixed_formats,
    "wrong-type": wrong_type,
    "missing-parent": files.missing_parent,
    "client-text": files.client_text,
    "incomplete-reply": files.incomplete_reply,
    "truncated-by-logger": truncated_by_logger,
    "no-exchange": no_exchange,
}
"""The rules whose facts are counted over the lines of a log."""
