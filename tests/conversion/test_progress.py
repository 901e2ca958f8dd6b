"""How far a conversion is: a line now and then, or JSON lines."""

import json

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.progress import Watch
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.outcome import Outcome, SessionFindings
from tests.conftest import log_line, write_log

LOG = Log("a", "a", "a", 10_000_000)


def outcome(*severities):
    return Outcome(
        "s", report=SessionFindings(findings=[Finding("code", each, "s", "a", 1, None, "text") for each in severities])
    )


def watched(capsys, *, after, **options):
    """What is said of sessions that take so many seconds each."""
    now = [0.0]
    with Watch(quiet=options.pop("quiet", False), verbose=False, clock=lambda: now[0], **options) as watch:
        for number, seconds in enumerate(after):
            now[0] += seconds
            if watch.observer:
                watch.observer(LOG, outcome(*(["error", "info"] if number else ["warning"])), 40_000_000)
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("after, said", [([1, 1], 0), ([29.9, 0.2, 1], 1), ([31, 31, 31], 3)])
def test_where_nobody_watches_there_is_a_line_every_half_minute(capsys, after, said):
    assert len(watched(capsys, after=after)) == said


def test_a_line_says_how_far_how_fast_and_what_was_found(capsys):
    lines = watched(capsys, after=[20, 20])
    assert lines == ["20.0 of 40.0 MB, 40 s left: 2 sessions, 1 error, 1 warning"]


def test_json_lines_are_for_programs_and_the_last_one_has_all(capsys):
    lines = list(map(json.loads, watched(capsys, after=[2, 0.1, 0.1], as_json=True)))
    assert [each["sessions"] for each in lines] == [1, 3]
    assert lines[-1] == {
        "bytes": 30_000_000,
        "of": 40_000_000,
        "sessions": 3,
        "seconds": 2.2,
        "bytes_per_second": 13_636_364,
        "seconds_left": 0.7,
        "findings": {"error": 2, "info": 2, "warning": 1},
    }


@pytest.mark.parametrize("as_json", [True, False])
def test_reading_before_the_first_session_is_shown_and_does_not_count_as_converting(capsys, as_json):
    now = [0.0]
    with Watch(quiet=False, verbose=False, as_json=as_json, clock=lambda: now[0]) as watch:
        for now[0] in (0.5, 40):
            watch.read(LOG, 40_000_000)
        for now[0] in (40, 71):
            watch(LOG, outcome("warning"), 40_000_000)
    reading, converting, *_ = capsys.readouterr().err.splitlines()
    if as_json:
        assert json.loads(reading) == {"bytes_read": 20_000_000, "of": 40_000_000, "seconds": 40}
        assert json.loads(converting)["seconds"] == 31
    else:
        assert reading == "20.0 of 40.0 MB read to find sessions"
        assert converting == "20.0 of 40.0 MB, 31 s left: 2 sessions, 2 warnings"


def test_a_run_by_chain_shows_every_log_that_it_reads(tmp_path):
    paths = [write_log(tmp_path / "logs" / f"{name}.jsonl", log_line(name, session_id=None)) for name in "ab"]
    with Watch(quiet=False, verbose=False) as watch:
        seen = []
        watch.read = lambda log, total: seen.append((log.path, total))
        convert(tmp_path / "logs", tmp_path / "out", Options(sessions_by="chain", anonymize=False), watch)
    assert seen == [(str(path), sum(each.stat().st_size for each in paths)) for path in paths]


@pytest.mark.parametrize("as_json", [True, False])
def test_quiet_says_nothing(capsys, as_json):
    assert watched(capsys, after=[60, 60], quiet=True, as_json=as_json) == []
