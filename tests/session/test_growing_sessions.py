"""A session that only grew is converted as one conversation without trees; its outcome is that of the trees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.session import conversations, plan
from tests.conftest import assistant, user
from tests.session.test_loss import ROWS, outcome
from tests.trees.logs import AGENT, READ, Log, calling, result

GOLDEN = Path(__file__).parents[1] / "golden"
COMPLETE: dict[str, Any] = {"conversations": "all", "restore": "reasoning", "loss": "weight"}


def reading_files(*replies: str, **entry: Any) -> list[Any]:
    """An agent that reads a file before each reply."""
    log, messages = Log(), [AGENT, user("Read the files.")]
    for number, text in enumerate(replies):
        call = calling("read", f'{{"path": "{number}"}}', f"c{number}")
        log.add(*messages, says=call, tools=[READ], **entry)
        messages += [call, result("done", f"c{number}"), user("<system-reminder>Be brief.</system-reminder>")]
        log.add(*messages, says=text, tools=[READ], **entry)
        messages += [assistant(text), user("And now?")]
    return log.lines


def with_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "_trees_after", lambda options: "start")


@pytest.mark.parametrize(
    "options", [{}, {"restore": "none"}, {"loss": "none"}, {"tools": "last"}, {"subagents": False}]
)
def test_a_session_that_only_grew_has_the_outcome_that_its_trees_have(options, monkeypatch):
    logs = [
        *(row.log for row in ROWS),
        reading_files("ok"),
        reading_files("It works.", "API Error: 500 overloaded", "Bye."),
        reading_files("ok", "Bye.")[::-1],
    ]
    simple = [outcome(log, **COMPLETE | options) for log in logs]
    with_trees(monkeypatch)
    assert simple == [outcome(log, **COMPLETE | options) for log in logs]


def test_no_trees_are_built_for_a_session_that_only_grew(monkeypatch):
    monkeypatch.setattr(conversations, "conversation_ids", None)
    found = outcome(reading_files("ok", "Bye."), **COMPLETE)
    assert [(record.kind, record.flags) for record in found.records] == [("main", {"": 4})]
    assert [(row.message, row.loss) for row in found.replies.rows] == [(2, 1), (5, 1), (7, 1), (10, 1)]


def test_replies_are_listed_in_the_order_of_their_lines_although_these_are_sorted_by_time():
    found = outcome(reading_files("ok", "Bye.")[::-1], **COMPLETE)
    assert [(row.line, row.message) for row in found.replies.rows] == [(1, 10), (2, 7), (3, 5), (4, 2)]


def test_golden_logs_have_the_same_outcomes_with_and_without_trees(tmp_path, monkeypatch):
    options = Options(anonymize=False, sessions_by="chain", **COMPLETE)
    runs = []
    for name in ("simple", "trees"):
        convert(GOLDEN, tmp_path / name, options)
        files = sorted(each for each in (tmp_path / name).rglob("*.jsonl"))
        runs.append({each.relative_to(tmp_path / name): each.read_bytes() for each in files})
        with_trees(monkeypatch)
    assert runs[0] == runs[1]


def test_reasoning_that_the_client_removed_is_restored_with_trees():
    log, thought = Log(), assistant("Yes.", reasoning_content="Let me think.")
    log.add(AGENT, user("Is it?"), says=thought)
    log.add(AGENT, user("Is it?"), assistant("Yes."), user("Why?"), says="Because.")
    (record,) = outcome(log.lines, **COMPLETE).records
    assert b"Let me think." in record.line
