import pytest

from chatsquash.checks import files

ROWS = [
    (files.not_read({"a.b": 1, "c\x1b": 1_200}), "not-read", "info", "not in the record: 'c\\x1b' 1,200, 'a.b' 1"),
    (files.not_read({f"m{number:02}": 1 for number in range(22)}), "not-read", "info", "'m19' 1 and 2 other names"),
    (files.missing_parent("unreadable", 1), "missing-parent", "warning", "1 line after an unreadable line"),
    (files.missing_parent("unknown", 2), "missing-parent", "warning", "2 lines without a parent in the file"),
    (files.missing_parent("unwritten", 2), "missing-parent", "warning", "2 lines after lines that were never written"),
    (files.incomplete_reply("truncated", 1), "incomplete-reply", "warning", "1 reply that ended early"),
    (files.incomplete_reply("reasoning", 2), "incomplete-reply", "warning", "2 replies with reasoning but neither"),
    (files.client_text("reminders", 1_200), "client-text", "info", "(reminders): 1,200 (--cleanup claude-code"),
]


@pytest.mark.parametrize("found, code, severity, text", ROWS, ids=[row[3] for row in ROWS])
def test_what_is_found(found, code, severity, text):
    assert (found.code, found.severity) == (code, severity)
    assert text in found.text
