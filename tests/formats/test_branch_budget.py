"""A bound in bytes on what the branches of a file repeat."""

import pytest

from chatsquash.formats import documents, threads
from chatsquash.formats.evidence import origin_of
from tests.conversion.shape_table import SHAPES

BEYOND = "branch over the limit"


def branches(edits, prompt):
    """The conversations of a file of Claude Code whose first prompt has so many letters, with so many edited prompts."""
    rows = list(SHAPES["edited_prompts"](2 * edits))
    rows[0]["message"]["content"] = "x" * prompt
    return documents.load("claude_code", rows)


def test_few_branches_are_read_however_long_they_are():
    assert len(branches(15, 2_000_000)) == 16


def test_a_session_of_300_replies_keeps_its_branches():
    """Also if each of its prompts was edited, which is far more than people do."""
    read = branches(150, 10)
    assert len(read) == 151
    assert BEYOND not in origin_of(read[0]).unread


def test_branches_of_a_long_history_are_counted_beyond_twenty_times_their_file():
    read = branches(60, 600_000)
    assert len(read[0].messages) == 120
    assert origin_of(read[0]).unread[BEYOND] == 61 - len(read)
    assert sum(len(str(each.messages)) for each in read) < 22 * 600_000


def test_branches_beyond_the_lines_and_the_letters_are_counted_together():
    read = branches(500, 100_000)
    assert origin_of(read[0]).unread[BEYOND] == 501 - len(read)
    assert len(read) < 110


@pytest.mark.parametrize(
    ("form", "shape"), [("codex", "rollbacks"), ("gemini_cli", "gemini_rewinds"), ("pi", "pi_edits")]
)
def test_turns_that_were_taken_back_are_read_within_the_bound_and_the_others_are_counted(monkeypatch, form, shape):
    """A rollback costs what it removes, however long the session is."""
    rows = [*SHAPES[shape](40)]
    everything = documents.load(form, rows)
    assert len(everything) == 21
    monkeypatch.setattr(threads, "_LEAST", 0)
    monkeypatch.setattr(threads, "_MOST", 1)
    read = documents.load(form, rows)
    assert read[0].messages == everything[0].messages
    assert 1 < len(read) < 21
    assert sum(count for name, count in origin_of(read[0]).unread.items() if "over the limit" in name) == 21 - len(read)
