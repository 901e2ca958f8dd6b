import pytest

from chatsquash.checks import archives, coverage, definition_members, definitions, phrases, reading, stored_records

HINT = " (--on-invalid keep converts it anyway)"

ROWS = [
    (reading.bad_line("line 1 column 5: expected ','"), "bad-line", "error", "expected ','"),
    (reading.bad_line("evil \x1b[2J\u202e"), "bad-line", "error", "evil \\x1b[2J\\u202e"),
    (reading.bad_entry("request.messages is missing"), "bad-entry", "error", "request.messages is missing"),
    (
        reading.session_id_mismatch("s1", "s2", 1, False),
        "session-id-mismatch",
        "error",
        "'s2', but line 1 has 's1': --sessions-by id separates them (--on-invalid keep --sessions-by file joins",
    ),
    (reading.session_id_mismatch("s1", "s2", 1, True), "session-id-mismatch", "warning", "converted as one session"),
    (reading.timestamp_order(6, False), "timestamp-order", "error", f"timestamp is earlier than that of line 6{HINT}"),
    (reading.timestamp_order(6, True), "timestamp-order", "warning", "file order is used"),
    (reading.equal_timestamps(1), "equal-timestamps", "warning", "1 entry with the same time as the previous one; file order"),
    (reading.missing_session_id(1), "missing-session-id", "warning", "in 1 entry; the file name"),
    (reading.missing_timestamp(2), "missing-timestamp", "warning", "in 2 entries; file order"),
    (reading.naive_timestamp(2), "naive-timestamp", "warning", "2 entries; UTC is assumed"),
    (reading.wrong_type("request.tools", "a string", 2), "wrong-type", "warning", "request.tools is a string in 2 entries"),
    (reading.unknown_format("a ShareGPT dataset"), "unknown-format", "error", "unknown format: a ShareGPT dataset; "),
    (reading.unknown_format("keys \x1b[2J"), "unknown-format", "error", "keys \\x1b[2J; set it with --from"),
    (reading.mixed_formats("gemini", "ollama", 2), "mixed-formats", "warning", "2 entries with the format ollama in a log of gemini"),
    (reading.mixed_formats("gemini", "gemini", 1), "mixed-formats", "warning", "1 entry with another envelope in a log of gemini"),
    (reading.missing_history(2), "missing-history", "warning", "2 entries with earlier turns that are not in this log"),
    (reading.other_conversations(3), "other-conversations", "warning", "3 conversations; only the first is converted"),
    (reading.context_cleared("thinking", 2), "context-cleared", "info", "2 entries without thinking, which the service removed before the model replied"),
    (reading.hosted_tools(1), "hosted-tools", "info", "hosted tools in 1 entry"),
    (reading.stream_interrupted(), "stream-interrupted", "warning", "the reply stream was interrupted; only the part received is converted"),
    (reading.unsupported_content({"server_tool_use": 2, "x\x1b": 1}, 4), "unsupported-content", "warning", "2 'server_tool_use', 1 'x\\x1b'"),
    (reading.vendor_extension({"reasoning": 2, "no type": 1}), "vendor-extension", "info", "vendor-specific forms kept as logged: reasoning 2, no type 1"),
    (
        reading.unrelated_requests(1000),
        "unrelated-requests",
        "warning",
        "1,000 requests without a session_id do not build on each other: each is a session (--sessions-by file joins them)",
    ),
    (reading.short_tail(9, 2, 8, 40), "short-tail", "warning", "line 9 has 2 messages, but line 8 has 40 and is converted"),
    (reading.missing_reply("the response is an error body"), "missing-reply", "warning", "the response is an error body"),
    (reading.grouped_by_id(1_200), "grouped-by-id", "info", "the file mixes 1,200 sessions, so its lines are grouped as with --sessions-by id"),
    (reading.reordered(1_200), "reordered", "info", "1,200 lines were out of order"),
    (reading.extra_choices(3), "extra-choices", "warning", "3 choices; only the first"),
    (reading.reply_truncated(), "reply-truncated", "warning", "length limit"),
    (reading.unreadable_log("Permission denied"), "unreadable-log", "error", "cannot be read (Permission denied)"),
    (reading.lost_worker("memory ran out"), "lost-worker", "error", "the log was skipped (memory ran out): check that"),
    (reading.changed_log("grew"), "changed-log", "warning", "the log grew during the run, so its earlier content was read"),
    (stored_records.empty_dataset(), "empty-dataset", "error", "the file has no records: check the program that wrote it"),
    (stored_records.address_not_redacted(1, 3), "address-not-redacted", "warning", "1 e-mail address, which convert --anonymize replaces"),
    (stored_records.eval_overlap("e.jsonl:7", 13, 1, 2), "eval-overlap", "error", "13 consecutive words shared with e.jsonl:7"),
    (stored_records.eval_task("a__b-1", 0, 2), "eval-task", "error", "task a__b-1 of a benchmark: exclude the session"),
    (stored_records.eval_commit("0123456789abcdef", None, 2, None), "eval-commit", "error", "a task starts from commit 0123456789ab and 2 other commits: exclude the session"),
    (stored_records.eval_repository("a/b", 1, 0), "eval-repository", "warning", "a benchmark has tasks in a/b and 1 other repository: check the session"),
    (stored_records.eval_overlap("e.jsonl:7", 13, 3, 2), "eval-overlap", "error", "e.jsonl:7; 2 later messages with other overlaps"),
    (stored_records.address_not_redacted(2, None), "address-not-redacted", "warning", "2 e-mail addresses"),
    (phrases.flagged_phrase("a\nb", 2, 3), "flagged-phrase", "warning", "'a\\nb' is in 2 messages: check whether"),
    (stored_records.bad_record("the line is a list"), "bad-record", "error", "not a record: the line is a list"),
    (stored_records.bad_tokens("input_ids is a string"), "bad-tokens", "error", "not a sample of token ids: input_ids is a string"),
    (
        stored_records.unreadable_by_trainer("verl", "text", "'/tools' violates 'type'"),
        "unreadable-by-trainer",
        "error",
        "verl cannot read the record ('/tools' violates 'type'): convert with --preset text",
    ),
    (reading.unanswered_session(), "unanswered-session", "info", "the session has no reply, so there is no record"),
    (reading.unanswered_session("a\nb"), "unanswered-session", "info", "no record: a\\nb"),
    (reading.empty_session(0, 0), "empty-session", "error", "no usable entry, so there is no record: it is empty"),
    (reading.empty_session(0, 2), "empty-session", "error", "no usable entry, so there is no record: check why"),
    (reading.empty_session(1, 0), "empty-session", "error", "all content of 1 entry"),
    (reading.role_sequence(3, 5, 2, "user", "At"), "role-sequence", "error", "on line 5, message 2 is 'At', but line 3 has 'user'"),
    (reading.role_sequence(3, 5, 2, "user", ""), "role-sequence", "error", "on line 5, there is no message 2, but line 3 has"),
    (definitions.tool_conflict("a\n", 3, 5), "tool-conflict", "warning", "line 5 defines 'a\\n' differently than line 3; the first"),
    (
        definitions.tool_conflict("grep", 3, 5, kept_definition="last"),
        "tool-conflict",
        "warning",
        "than line 3; the last definition is kept: check whether earlier calls match it",
    ),
    (definition_members.tool_members({"name": "a\n"}, ["b\n"]), "tool-members", "info", "tool 'a\\n' has 1 member that no provider defines: 'b\\n'; check"),
    (definitions.supplied_tools(2), "supplied-tools", "info", "defines no tools, so --tools-file supplies 2 definitions"),
    (definitions.supplied_system(), "supplied-system", "info", "has no system prompt, so --system-file is used"),
    (definitions.tool_conflict("sql", 3, 5, kept_definition="each"), "tool-conflict", "warning", "differently than line 3; each definition is kept: check whether"),
    (reading.parts_dropped({"image_url": 2, "x\x00": 1}, 4), "parts-dropped", "warning", "2 'image_url', 1 'x\\x00'"),
    (reading.number_changed(["0.1234567890123456789"], 1), "number-changed", "warning", "1 number lost digits: '0.12345"),
    (reading.number_changed(["1", "2", "3", "4"], 4), "number-changed", "warning", "'1', '2', '3', … ("),
    (reading.cleaned({"info-msg": 3, "goose-system": 1}), "cleaned", "info", "info-msg 3, goose-system 1"),
    (reading.cut_short("it \x1b"), "cut-short", "error", "only the beginning of the log was read: it \\x1b; look for"),
    (archives.unreadable_archive("x\n"), "unreadable-archive", "error", "not read: x\\n; extract it yourself"),
    (archives.truncated_archive("x\n"), "truncated-archive", "error", "only the beginning was read: x\\n"),
    (archives.archive_member("is a link"), "archive-member", "error", "not read because it is a link: extract it"),
    (reading.truncated_by_logger("a text", 3), "truncated-by-logger", "error", "the logger truncated a text, 3 times: check whether"),
    (reading.truncated_by_logger("a text", 1), "truncated-by-logger", "error", "the logger truncated a text: check whether"),
    (reading.no_exchange("run of type x", 2), "no-exchange", "info", "without an exchange (run of type x): 2, not"),
    (coverage.duplicate_log("a\n.jsonl"), "duplicate-log", "info", "not read because 'a\\n.jsonl' has the same content"),
    (coverage.duplicate_log_differs("a.jsonl", 1000), "duplicate-log-differs", "warning", "'a.jsonl' is read instead, but the copies differ from byte 1,000 on: "),
    (coverage.duplicate_log_differs("a.jsonl", None, "x\n"), "duplicate-log-differs", "warning", "but the copies cannot be compared (x\\n): check"),
    (reading.file_not_read("second copy", 2), "file-not-read", "info", "2 second copies not read: only one copy"),
    (reading.file_not_read(".md", 2), "file-not-read", "info", "2 files with suffix '.md' not read"),
    (reading.file_not_read("no suffix", 1), "file-not-read", "info", "1 file with no suffix not read"),
    (reading.file_not_read("linked folder", 2), "file-not-read", "info", "2 linked folders not read: --follow-links"),
]  # fmt: skip


@pytest.mark.parametrize("fact, code, severity, part", ROWS, ids=[f"{row[1]}: {row[3]!a}" for row in ROWS])
def test_a_finding_has_its_code_and_severity_and_says_what_and_what_to_do(fact, code, severity, part):
    assert (fact.code, fact.severity) == (code, severity)
    assert part in fact.text
    assert not fact.text.endswith(".")


def test_dropped_parts_and_blocks_stand_at_their_message():
    assert reading.parts_dropped({"image_url": 1}, 4).at == 4
    assert (reading.unsupported_content({"x": 1}, 4).at, reading.unsupported_content({"x": 1}, None).at) == (4, None)


@pytest.mark.parametrize(
    "found", [reading.missing_session_id, reading.missing_timestamp, reading.naive_timestamp, reading.equal_timestamps]
)
def test_what_an_export_may_lack_asks_nobody_to_log_it(found):
    _, asked = found(3).text.split(": ")
    assert not asked.startswith("log ")
