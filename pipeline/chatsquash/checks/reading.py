"""What is found while a log is read and converted: each rule makes the finding from the few values that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape, pluralize, printable, quote


@rule("error")
def bad_line(reason: str) -> Fact:
    """Reported when a line is no JSON object. chatsquash leaves it out; `reports/rejected.jsonl` says where it is."""
    return Fact(f"the line is left out, {escape(reason)}: see reports/rejected.jsonl")


@rule("error")
def bad_entry(reason: str) -> Fact:
    """Reported when a JSON object lacks what an entry needs.

    The finding names that. chatsquash leaves the line out, and `reports/rejected.jsonl` says where it is.
    """
    return Fact(f"the entry is left out, {escape(reason)}: see reports/rejected.jsonl")


@rule("error", kept="warning")
def session_id_mismatch(first_id: str, other_id: str, first_line: int, merge: bool) -> Fact:
    """Reported when a file holds more than one `session_id`: the record would mix sessions.

    chatsquash leaves the session out, also with `--on-invalid keep`. `--sessions-by id` makes a session of the lines of
    each id, as is the default where two ids have two lines or more (`grouped-by-id`). Only `--on-invalid keep` with
    `--sessions-by file` converts the file as one session, and this is a warning.
    """
    seen = f"session_id is {quote(other_id)}, line {first_line} has {quote(first_id)}"
    if merge:
        return Fact(f"{seen}, converted as one session: --sessions-by id takes them apart", kept=True)
    return Fact(f"{seen}: --sessions-by id takes them apart (--on-invalid keep --sessions-by file makes one of them)")


@rule("error", kept="warning")
def timestamp_order(earlier_line: int, keep: bool) -> Fact:
    """Reported when an entry is earlier than the one before it: the last snapshot may not be the last one.

    chatsquash leaves the session out. `--on-invalid keep` converts it in file order, and this is a warning.
    """
    seen = f"timestamp is earlier than line {earlier_line}"
    if keep:
        return Fact(f"{seen}, file order counts", kept=True)
    return Fact(f"{seen} (--on-invalid keep converts it all the same)")


@rule("warning")
def equal_timestamps(count: int) -> Fact:
    """Reported when entries have the time of the entry before them. chatsquash takes them in file order."""
    seen = f"{_entries(count)} with the time of the one before, file order counts"
    return Fact(f"{seen}: see whether the file has them in the order in which they were sent")


@rule("warning")
def missing_session_id(count: int) -> Fact:
    """Reported when entries have no `session_id`. The file's stem stands in, which the record does not show."""
    seen = f"no session_id in {_entries(count)}, the file's name stands in"
    return Fact(f"{seen}: where the file mixes sessions, --sessions-by chain tells them apart")


@rule("warning")
def missing_timestamp(count: int) -> Fact:
    """Reported when entries have no readable time. chatsquash takes them in file order, which nothing confirms."""
    seen = f"no readable timestamp in {_entries(count)}, file order counts"
    return Fact(f"{seen}: see whether the file has them in the order in which they were sent")


@rule("warning")
def naive_timestamp(count: int) -> Fact:
    """Reported when times have no time zone. chatsquash reads them as UTC, so the day of a record may be off by one."""
    seen = f"no time zone in the timestamp of {_entries(count)}, read as UTC"
    return Fact(f"{seen}: where the clock showed another time, the record may be a day off")


@rule("warning")
def wrong_type(what: str, seen: str, count: int) -> Fact:
    """Reported when `tools`, `response`, `choices` or the reply is of the wrong type, and counts as missing.

    The record may lack tools or its last reply.
    """
    return Fact(f"{escape(what)} is {escape(seen)} in {_entries(count)}, taken as missing: correct the logger")


@rule("error")
def unknown_format(instead: str) -> Fact:
    """Reported when a log is of no known format, or of two at once.

    It gets no record. The text names what chatsquash saw and what it knows.
    """
    return Fact(f"no log that can be read, {escape(instead)}: --from names a format, chatsquash formats lists them")


@rule("warning")
def mixed_formats(most: str, other: str, count: int) -> Fact:
    """Reported when lines of a log have another format or envelope than its first lines.

    chatsquash reads each line by its own.
    """
    there = "another envelope" if most == other else f"the format {other}"
    return Fact(f"{_entries(count)} with {there} in a log of {most}, read as such: see whether logs got mixed up")


@rule("warning")
def missing_history(count: int) -> Fact:
    """Reported when a request refers to turns that the log does not have, as by `previous_response_id` or a cache.

    The conversation up to there is missing in the record.
    """
    return Fact(f"{_entries(count)} with turns that are kept elsewhere, and not in this log: see where it begins")


@rule("warning")
def other_conversations(count: int) -> Fact:
    """Reported when a document holds several conversations and counts as one session: the first is the record.

    That is what `--sessions-by file` asks for.
    """
    return Fact(f"the document holds {count:,} conversations, the first is converted: --sessions-by id takes all")


@rule("info")
def hosted_tools(count: int) -> Fact:
    """Reported when requests have tools that the provider runs itself, such as web search. They are not in `tools`."""
    return Fact(f"tools that the provider runs are no part of tools, in {_entries(count)}: they have no definitions")


@rule("info")
def context_cleared(what: str, count: int) -> Fact:
    """Reported when the service removed something from requests before the model saw it, such as old tool results.

    The record shows it, so a reply to such a request is not trained on with `--loss`.
    """
    return Fact(f"{_entries(count)} without {escape(what)}, which the service removed before the model replied")


@rule("warning")
def stream_interrupted() -> Fact:
    """Reported when the stream of a reply ended early or with an error. The record has what arrived."""
    return Fact("the stream of the reply was cut, what arrived is converted: see whether it should be trained on")


@rule("warning")
def unsupported_content(kinds: Mapping[str, int], at: int | None) -> Fact:
    """Reported when messages have blocks or members that OpenAI chat has no place for.

    Such as calls of hosted tools, titles of documents and pending safety checks. Members of definitions that only one
    provider has, such as `input_examples`, count once for each tool. The record lacks them, so the text may speak of
    what is not there.
    """
    blocks = ", ".join(f"{count} {quote(kind)}" for kind, count in kinds.items())
    return Fact(f"left out, since chat messages have no place for them: {blocks}", at)


@rule("info")
def vendor_extension(forms: Mapping[str, int]) -> Fact:
    """Reported when chat messages are not as OpenAI has them: other names, types or forms of a vendor. They stay so."""
    seen = ", ".join(f"{name} {count}" for name, count in forms.items())
    return Fact(f"left as logged, in forms of a vendor: {seen}")


@rule("warning")
def unrelated_requests(count: int) -> Fact:
    """Reported when no line of a file has a session's id and no request goes on from another: each is a session.

    `--sessions-by file` makes one session of such a file all the same.
    """
    how = "--sessions-by file makes one of them"
    return Fact(f"{count:,} requests without a session_id go on from no other one: each is a session ({how})")


@rule("info")
def grouped_by_id(count: int) -> Fact:
    """Reported once for each file that clearly mixes sessions: at least two ids have two lines or more.

    Without `--sessions-by` and `--on-invalid`, the lines of each id then become a session. `--sessions-by file` refuses
    such a file.
    """
    return Fact(f"the file mixes {count:,} sessions, so that its lines are grouped as by --sessions-by id")


@rule("info")
def reordered(count: int) -> Fact:
    """Reported when lines stood behind later ones, and chatsquash put them in the order of their times.

    `--conversations main` and `all` and `--sessions-by chain` take the lines of a session so. Lines of equal times stay
    as they stood.
    """
    were = "was" if count == 1 else "were"
    return Fact(f"{pluralize(count, 'line')} stood behind later ones and {were} put in the order of their times")


@rule("warning")
def short_tail(last_line: int, last_messages: int, kept_line: int, kept_messages: int) -> Fact:
    """Reported when the last entry has fewer messages than an earlier one.

    chatsquash makes the record from the last entry that has the most. The record lacks what came after it, often a side
    request. `--conversations main` and `all` report it only where the last entry begins anew for no known reason, and
    no record holds its reply.
    """
    last = f"line {last_line} has {pluralize(last_messages, 'message')}"
    kept = f"line {kept_line} has {kept_messages}"
    return Fact(f"{last}, {kept} and is converted: see whether the conversation went on after it")


@rule("warning")
def missing_reply(why: str) -> Fact:
    """Reported when the chosen entry has no reply. The record then ends with the request."""
    return Fact(f"no reply is appended, {escape(why)}: see whether the record should end with the request")


@rule("warning")
def extra_choices(count: int) -> Fact:
    """Reported when the response has more than one choice. The record has only the first."""
    return Fact(f"the response has {pluralize(count, 'choice')}, the first is converted: the others stay in the log")


@rule("warning")
def reply_truncated(reason: str = "length") -> Fact:
    """Reported when the reply stopped at its length limit (`finish_reason` is `length`), by a filter or an error.

    So do replies that ended for a reason that chatsquash does not know.  They have weight 0.  A model trained on them
    learns to stop in the middle.
    """
    how = "was cut off at its length limit" if reason == "length" else f"ended early ({printable(reason[:40])})"
    return Fact(f"the reply {how}: see whether the record should be trained on")


@rule("error")
def empty_session(entries_seen: int, rejected: int) -> Fact:
    """Reported when a session has no usable entry, or none left after cleaning. It gets no record."""
    if entries_seen == 0:
        why = "see why its lines were left out" if rejected else "it is empty, see whether its logger ran"
        return Fact(f"the log has no usable entry, so there is no record: {why}")
    seen = _entries(entries_seen)
    return Fact(f"cleaning left none of {seen}, so there is no record: --no-cleanup-goose keeps them")


@rule("info")
def unanswered_session(why: str = "") -> Fact:
    """Reported when nobody answered in a session: it has no line, only bookkeeping or commands, or a prompt alone.

    It gets no record from files of agents, nor under a preset for training. Otherwise `missing-reply` is reported. If
    other sessions have records, the exit code remains 0.
    """
    return Fact(f"nobody answered in this session, so there is no record{f': {escape(why)}' if why else ''}")


@rule("error")
def unreadable_log(reason: str) -> Fact:
    """Reported when chatsquash cannot open a log, read it to its end, or hold it in memory.

    It leaves the session out.
    """
    return Fact(f"the log cannot be read ({escape(reason)}): check the file and its permissions")


@rule("error")
def cut_short(reason: str) -> Fact:
    """Reported when a compressed log ends early, has damage, or expands beyond the bounds.

    And when a log has more unreadable lines than `--max-rejected` allows. chatsquash converts what was whole up to
    there, and the exit code says that something is missing.
    """
    return Fact(f"the log is read up to where that ended, {escape(reason)}: see whether there is a better copy")


@rule("info")
def no_exchange(what: str, count: int) -> Fact:
    """Reported when a log has lines that are no exchanges with a model, such as spans around those that are.

    Calls of endpoints without conversations, such as embeddings or token counts, are such lines, too.
    They count as blank lines.
    """
    return Fact(f"lines that are no exchange, {escape(what)}, {count:,}: nothing of them is in a record")


@rule("error")
def truncated_by_logger(what: str, count: int) -> Fact:
    """Reported when whoever wrote the log cut what it held: at a number of bytes, or with a mark in its place.

    Nobody knows what the model read or said there. Presets other than `chat` leave the session out, unless `--keep-cut`
    keeps it. What a tool cut of its own result is no such cut, since the model saw it so.
    """
    times = f", {count:,} times" if count > 1 else ""
    return Fact(f"the logger cut {escape(what)}{times}: see whether it can log more (--keep-cut keeps the session)")


@rule("error")
def lost_worker(how: str) -> Fact:
    """Reported when the process that converts a session dies, and does so again with that session alone.

    The run leaves the session out. Most often there was too little memory for it.
    """
    return Fact(f"the log is left out, {how}: see whether there is enough memory for it, and convert again")


@rule("warning")
def changed_log(how: str) -> Fact:
    """Reported when a log grew, shrank or vanished after chatsquash found it, or somebody wrote to it.

    Of one that grew, chatsquash reads the whole lines that it had then. The next run reads it again.
    """
    return Fact(f"the log {how} while the run went on, what it was before is read: convert again when it is written")


@rule("error")
def role_sequence(earlier_line: int, line: int, position: int, expected: str, seen: str) -> Fact:
    """Reported when an entry's sequence of roles does not begin with that of the entry before it.

    The conversation was rewritten, compacted or branched, and the record holds only the selected snapshot of it. An
    assistant message counts by whether it has text and calls; text and calls that stood in two messages may meet in
    one. Reported only if a conversation begins anew and neither a call nor a summary nor the client began it.
    """
    there = f"message {position} is {quote(seen)}" if seen else f"there is no message {position}"
    where = f"line {earlier_line} has {quote(expected)}"
    return Fact(f"in line {line} {there}, {where}: the history was rewritten, see chatsquash inspect")


@rule("warning")
def parts_dropped(kinds: Mapping[str, int], at: int | None) -> Fact:
    """Reported when calls become text and a content list has parts that cannot, such as images.

    The record lacks them, so the text may speak of what the model cannot see.
    """
    parts = ", ".join(f"{count} {quote(kind)}" for kind, count in kinds.items())
    return Fact(f"parts that are no text are left out: {parts} (--no-json-tool-calls keeps them)", at)


@rule("warning")
def number_changed(spellings: Sequence[str], count: int) -> Fact:
    """Reported when a number has more digits than a double holds, so that the record has a neighbouring value."""
    some = ", ".join(quote(spelling) for spelling in spellings[:3])
    rest = ", …" if count > 3 else ""
    return Fact(f"{pluralize(count, 'number')} lost digits: {some}{rest} (log them as strings to keep them)")


@rule("info")
def cleaned(counts: Mapping[str, int], by_default: bool = True) -> Fact:
    """Reported when cleaning changed the session, with the count of each rule. The record has the rest."""
    rules = ", ".join(f"{escape(name)} {count}" for name, count in counts.items())
    how = "--no-cleanup-goose" if by_default else "--no-cleanup-goose without --cleanup"
    return Fact(f"cleaning changed the session: {rules} ({how} leaves it as logged)")


@rule("info")
def file_not_read(what: str, count: int) -> Fact:
    """Reported when chatsquash passes over what lies beside the logs, by its suffix or because it is no file."""
    again = {
        "same file again": "each file is converted once, under its first name",
        "second copy": "of a log that is compressed, too, one counts",
    }.get(what)
    if what == "earlier output":
        readers = "chatsquash stats, check and translate read its records, and merge joins it with others"
        return Fact(f"an output of chatsquash, not logs: {readers}")
    if again:
        return Fact(f"{what}, {count:,} not read: {again}")
    if what == "part of another file":
        return Fact(f"{pluralize(count, 'part of another file', 'parts of other files')}, which is where they are read")
    hint = {
        "linked folder": "--follow-links looks into it",
        "broken link": "nothing is where it leads",
        "special file": "only regular files are read",
    }.get(what)
    if hint:
        return Fact(f"{pluralize(count, what)} not read: {hint}")
    kind = f"suffix {quote(what)}" if what.startswith(".") else "no suffix"
    return Fact(f"{pluralize(count, 'file')} with {kind} not read: name a file itself to read it whatever its suffix")


def _entries(count: int) -> str:
    return pluralize(count, "entry", "entries")
