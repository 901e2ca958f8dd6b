"""Logs that are converted while their lines are grouped by chain."""

from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.early_outcomes import EarlyOutcomes
from chatsquash.conversion.journal import JournalWriter
from chatsquash.session import converter
from chatsquash.session.chains import ChainedLogs
from chatsquash.session.converter import Converter
from chatsquash.session.log_lines import LogLines
from tests.conftest import assistant, log_line, tree, user, write_log

CHAIN: dict[str, Any] = {"sessions_by": "chain", "conversations": "all", "trace_replies": True, "anonymize": False}


def put(count: int = 6, chained: int = 0) -> None:
    """Write unrelated logs, and two more for each session that continues in another file."""
    for number in range(count):
        asked = f"What does number {number} mean in this table of results?"
        write_log(
            Path(f"logs/{number}.jsonl"),
            log_line(asked, reply=f"It counts {number} runs.", at=number, session_id=f"s{number}"),
        )
    for number in range(chained):
        asked, said = (
            f"Which test of group {number} fails on this machine?",
            f"Only test {number} fails, all others pass.",
        )
        write_log(Path(f"logs/c{number}-a.jsonl"), log_line(asked, reply=said, at=20, session_id=f"a{number}"))
        history = [user(asked), assistant(said), user("Why does it fail?")]
        write_log(Path(f"logs/c{number}-b.jsonl"), log_line(*history, reply="A race.", at=21, session_id=f"b{number}"))


def conversions(monkeypatch) -> list[str]:
    """Return the logs whose conversion begins."""
    seen: list[str] = []
    convert_log = Converter.convert
    monkeypatch.setattr(
        Converter,
        "convert",
        lambda self, log, *more, **by: seen.append(log.name) or convert_log(self, log, *more, **by),
    )
    return seen


def content(out: str) -> dict[str, bytes | None]:
    return {name: data for name, data in tree(Path(out)).items() if not name.startswith((".chatsquash", "run.json"))}


def convert_late(out: str, **fields: Any) -> None:
    """Convert as several workers do: no log is converted before all are grouped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chatsquash.conversion.inputs.useful_workers", lambda logs, options: 2)
        patch.setattr(EarlyOutcomes, "convert", lambda *_: pytest.fail("converted early"))
        convert("logs", out, Options(**CHAIN, **fields))


def test_a_log_that_is_a_session_of_its_own_is_converted_once(here, monkeypatch):
    put()
    seen = conversions(monkeypatch)
    summary = convert("logs", "out", Options(**CHAIN))
    assert (summary.written, summary.reused) == (6, 0)
    assert sorted(seen) == [f"{number}.jsonl" for number in range(6)]


def test_logs_that_continue_others_are_converted_again_together(here, monkeypatch):
    put(2, chained=2)
    seen = conversions(monkeypatch)
    assert convert("logs", "out", Options(**CHAIN)).sessions == 4
    assert sorted(seen) == ["0.jsonl", "1.jsonl", *(f"c{number}-{part}.jsonl" for number in (0, 1) for part in "aab")]


def test_a_second_run_on_unchanged_logs_has_nothing_to_do(here):
    put(chained=2)
    results = [convert("logs", "out", Options(**CHAIN)) for _ in range(2)]
    assert [each.unchanged for each in results] == [False, True]


def test_a_log_that_changes_after_its_conversion_is_converted_by_the_next_run(here, monkeypatch):
    put()
    sessions = ChainedLogs.sessions

    def change_first(chains: ChainedLogs) -> Any:
        write_log(Path("logs/0.jsonl"), log_line("What else is there?", reply="Nothing.", at=0, session_id="s0"))
        return sessions(chains)

    with monkeypatch.context() as patch:
        patch.setattr(ChainedLogs, "sessions", change_first)
        convert("logs", "out", Options(**CHAIN))
    assert not convert("logs", "out", Options(**CHAIN)).unchanged
    convert("logs", "new", Options(**CHAIN))
    assert content("out") == content("new")


@pytest.mark.parametrize("more", [{}, {"keep_rejected": True}, {"preset": "openai", "max_chars": 10_000}], ids=str)
def test_the_output_is_that_of_a_later_conversion(here, more):
    put(4, chained=2)
    write_log(Path("logs/broken.jsonl"), log_line("A question?", reply="An answer."), b"{not JSON")
    convert("logs", "early", Options(**CHAIN, **more))
    convert_late("late", **more)
    assert content("early") == content("late")


def test_a_document_is_converted_by_conversation_only(here, monkeypatch):
    rows = [
        {"type": kind, "uuid": kind, "parentUuid": parent, "sessionId": "s", "message": message, "timestamp": at}
        for kind, parent, message, at in (
            ("user", None, {"role": "user", "content": "Hello there"}, "2026-01-13T10:00:00Z"),
            (
                "assistant",
                "user",
                {"role": "assistant", "content": [{"type": "text", "text": "Hi"}], "id": "m"},
                "2026-01-13T10:00:01Z",
            ),
        )
    ]
    write_log(Path("logs/agent.jsonl"), *rows)
    put(1)
    convert("logs", "early", Options(**CHAIN))
    convert_late("late")
    assert content("early") == content("late")


def test_a_request_is_not_resolved_with_responses_of_other_logs(here):
    for number in range(3):
        request = {"model": "m", "input": [{"role": "user", "content": f"Question {number} about this long report?"}]}
        if number:
            request["previous_response_id"] = f"resp_{number - 1}"
        output = [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"So {number}."}]}
        ]
        response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": output}
        write_log(Path(f"logs/{number}.jsonl"), {"timestamp": number, "request": request, "response": response})
    convert("logs", "early", Options(**CHAIN))
    convert_late("late")
    assert content("early") == content("late")


@pytest.mark.parametrize("stops", [{"limit": 3}, {"strict": True}, {"on_invalid": "abort"}], ids=str)
def test_a_run_that_may_stop_early_converts_no_log_in_advance(here, monkeypatch, stops):
    put()
    monkeypatch.setattr(EarlyOutcomes, "convert", lambda *_: pytest.fail("converted early"))
    assert convert("logs", "out", Options(**CHAIN, **stops)).written == stops.get("limit", 6)


def test_without_a_journal_logs_are_converted_when_their_sessions_are_known(here, monkeypatch):
    put()
    monkeypatch.setattr(JournalWriter, "flush", lambda self: False)
    seen = conversions(monkeypatch)
    assert convert("logs", "out", Options(**CHAIN)).written == 6
    assert len(seen) == 12


def test_an_outcome_that_cannot_be_read_is_made_again(here, monkeypatch):
    put()
    monkeypatch.setattr(EarlyOutcomes, "get", lambda self, frame: None)
    seen = conversions(monkeypatch)
    assert convert("logs", "out", Options(**CHAIN)).written == 6
    assert len(seen) == 12


def test_a_run_that_was_interrupted_while_grouping_is_resumed(here, monkeypatch):
    put()
    convert_log = EarlyOutcomes.convert

    def interrupted(self: EarlyOutcomes, log: Any, lines: Any) -> bool:
        if log.number == 4:
            raise KeyboardInterrupt
        return convert_log(self, log, lines)

    with monkeypatch.context() as patch:
        patch.setattr(EarlyOutcomes, "convert", interrupted)
        with pytest.raises(KeyboardInterrupt):
            convert("logs", "out", Options(**CHAIN))
    seen = conversions(monkeypatch)
    summary = convert("logs", "out", Options(**CHAIN, resume=True))
    assert (summary.written, summary.reused, len(seen)) == (6, 4, 2)
    convert_late("late")
    assert content("out") == content("late")


def test_a_log_that_cannot_be_opened_does_not_affect_the_next_conversion(here, monkeypatch):
    put(2, chained=1)
    write_log(Path("logs/last.jsonl"), log_line("Which log is the last one?", at=90, session_id="last"))
    open_log = converter.open_log

    def refuse_last(log: Any, *more: Any, **by: Any) -> Any:
        if log.name == "last.jsonl":
            raise OSError(5, "cannot be read")
        return open_log(log, *more, **by)

    monkeypatch.setattr(converter, "open_log", refuse_last)
    seen: list[Any] = []
    collect = LogLines.read
    monkeypatch.setattr(
        LogLines, "read", lambda self, file, log, *more: seen.append(log.name) or collect(self, file, log, *more)
    )
    convert("logs", "out", Options(**CHAIN))
    assert sorted(seen) == ["0.jsonl", "1.jsonl", "c0-a.jsonl", "c0-b.jsonl"]
