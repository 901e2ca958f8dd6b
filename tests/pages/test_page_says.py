"""What the page of a result says is what the run did, in words that are read once."""

import re
from html import unescape
from types import SimpleNamespace

import pytest

from chatsquash import Options, convert
from chatsquash.core.accounting import WHY
from chatsquash.pages.report import report
from chatsquash.pages.report.charts import Bar, Chart, _ticks, figure
from chatsquash.pages.report.sessions import _outcome_sentences
from tests.conftest import assistant, cases, log_line, write_log


def page_of(logs, out, **options):
    convert(logs, out, Options(**{"workers": 1, **options}))
    return unescape(report(out).read_text("utf-8"))


def value(page, name):
    """What the summary says of something, and what that is made of."""
    return re.findall(rf'<dt>{name}</dt><dd[^>]*>([^<]*)</dd>(?:<dd class="quiet">([^<]*)</dd>)?', page)[0]


def fact(page, name):
    return re.findall(rf"<dt>{name}</dt><dd[^>]*>([^<]*)</dd>", page)


def reasons(page):
    return re.findall(r'<span class="why">([^<]*)</span>', page)


def entries(page):
    """By line of a log, what became of it."""
    return dict(
        re.findall(r'<tr><td>([\d,]+)</td><td[^>]*>[^<]*</td><td>.*?</td><td dir="auto">([^<]*)</td></tr>', page)
    )


def branched(tmp_path, **options):
    """A session whose second line goes another way than those behind it."""
    lines = [
        log_line("one", reply="to one"),
        log_line("one", assistant("to one"), "left", reply="to left"),
        log_line("one", assistant("to one"), "right", reply="to right"),
        log_line("one", assistant("to one"), "right", assistant("to right"), "more", reply="to more"),
    ]
    write_log(tmp_path / "logs/a.jsonl", *lines)
    return page_of(tmp_path / "logs", tmp_path / "out", trace_replies=True, **options)


def test_of_several_records_the_main_one_is_shown_and_the_others_are_named(tmp_path):
    page = branched(tmp_path, conversations="all")
    (place,) = fact(page, "record")
    (others,) = fact(page, "other records")
    assert place not in others
    assert re.fullmatch(r"2026-01-13\.jsonl:\d \(branch\)", others)
    assert "to more</pre>" in page
    assert "to left</pre>" not in page
    other = others.partition(" ")[0]
    told = entries(page)
    assert told["1"].startswith("earlier than the entry that became the record; ")
    assert (
        told["2"] == f"earlier than the entry that became the record; also used for {other}; {other} contains its reply"
    )
    assert told["4"] == "this entry became the record; the record contains its reply"


@pytest.mark.parametrize(("count", "listed", "end"), [(5, 5, "r4"), (12, 12, "r11"), (15, 12, "r11 and 3 more")])
def test_the_number_of_records_that_are_not_listed_is_never_negative(count, listed, end):
    entry = {"outcome": "selected", "reason": "", "others": [f"r{n}" for n in range(count)], "replies": []}
    _, said = _outcome_sentences(SimpleNamespace(record="r", place="r"), entry)
    assert said.startswith("also used for r0, ")
    assert said.count(", ") == listed - 1
    assert said.endswith(f", {end}")


def test_with_one_record_entries_are_told_by_where_they_stand(tmp_path):
    told = entries(branched(tmp_path))
    assert told["2"] == f"earlier than the entry that became the record; its reply is lost: {WHY['branch']}"
    assert told["4"] == "this entry became the record; the record contains its reply"


def test_what_an_entry_adds_is_told_in_words(tmp_path):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "c", "content": "ok"}
    last = log_line("one", "two", assistant(None, tool_calls=[call]), result, "three")
    write_log(tmp_path / "logs/a.jsonl", log_line("one", "two", reply=assistant(None, tool_calls=[call])), last)
    page = page_of(tmp_path / "logs", tmp_path / "out")
    added = re.findall(r"<small>([^<]*)</small>", page)
    assert added == ["adds 2 user", "adds assistant with calls, tool result, user"]
    assert re.search(r"<td>calls, \d+ B<br>", page)
    assert re.search(r"<td>text, \d+ B<br>", page)


def test_a_reply_for_which_another_record_stands_is_not_lost(tmp_path):
    for name in "ab":
        write_log(tmp_path / f"logs/{name}.jsonl", log_line("one", session_id=name))
    page = page_of(tmp_path / "logs", tmp_path / "out", duplicates="exact", trace_replies=True)
    assert value(page, "logged replies") == ("2", "1 in records, 1 in another session's record")
    assert fact(page, "replies") == ["1 logged, none lost", "1 logged, none lost; 1 in another session's record"]
    assert "2 replies logged, 0 lost. In another session's record: 1." in page
    assert reasons(page) == ["", "no record"]
    assert 'class="key red"' not in page
    assert "its reply is not in any record of this session: its record duplicates another record" in page


def named_line(model):
    line = log_line("one")
    line["request"]["model"] = model
    return line


def test_the_summary_says_which_run_it_is(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", named_line("M"))
    page = page_of(tmp_path / "logs", tmp_path / "out", anonymize=False, reasoning="drop", exclude=("x", "y"))
    assert fact(page, "written by")[0].startswith("chatsquash ")
    assert fact(page, "requests") == ["2026-01-13"]
    assert fact(page, "options") == ["--reasoning drop, --no-anonymize, --exclude x y"]
    assert fact(page, "models") == ["M (1)"]
    other = page_of(tmp_path / "logs", tmp_path / "other")
    assert fact(other, "options") == ["defaults"]


def test_the_files_of_records_are_counted_as_convert_counts_them(tmp_path):
    write_log(tmp_path / "logs/a.jsonl")
    for options in ({"format": "jsonl", "pairs": "logged"}, {"format": "parquet"}, {}):
        out = tmp_path / f"out-{len(options)}"
        summary = convert(tmp_path / "logs", out, Options(workers=1, **options))
        page = report(out).read_text("utf-8")
        assert len(summary.files) == 1
        assert value(page, "records") == ("1", "in 1 file")


def test_codes_that_are_there_as_often_are_both_named(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", "no JSON", log_line("one", session_id=None, at="2026-01-13T10:00:00"))
    page = page_of(tmp_path / "logs", tmp_path / "out")
    assert value(page, "findings: warning")[1] == "1 missing-session-id, 1 naive-timestamp"


def test_a_small_set_is_shown_without_reasons_that_tell_nothing(tmp_path):
    for name in ("a", "b", "c"):
        write_log(tmp_path / f"logs/{name}/s1.jsonl", log_line("one", name, session_id="s1"))
    page = page_of(tmp_path / "logs", tmp_path / "out")
    assert reasons(page) == [""] * 3
    for name in ("a", "b", "c"):
        assert f'<span class="quiet" dir="auto">{tmp_path}/logs/{name}/s1.jsonl</span>' in page
    assert "3 of 3 sessions: those with lost replies, errors or secrets first, and the longest." in page


def test_those_that_are_longer_than_most_are_called_long(tmp_path):
    for n in range(60):
        write_log(tmp_path / f"logs/{n:02}.jsonl", log_line("x" * (5_000 if n == 7 else 100), session_id=f"{n:02}"))
    told = reasons(page_of(tmp_path / "logs", tmp_path / "out"))
    assert [each for each in told if "longest" in each] == ["one of the longest, 5,005 characters"]
    assert sum("random sample" in each for each in told) == 10


@cases(
    "most, ticks", (0, [0, 1]), (1, [0, 1]), (2, [0, 1, 2]), (4, [0, 1, 2, 3, 4]), (7, [0, 2, 4, 6]), (11, [0, 5, 10])
)
def test_an_axis_counts_in_whole_numbers(most, ticks):
    chart = Chart("A", "Told.", {"one": "blue"}, [Bar("a", "one", most)], "things")
    assert _ticks(chart) == ticks
    shown = [each for each in re.findall(r"<text[^>]*>([^<]*)</text>", figure(chart)) if each not in ("a", "things")]
    assert sorted(shown, key=int) == [str(each) for each in ticks]


def test_large_numbers_are_told_short():
    chart = Chart("A", "Told.", {"one": "blue"}, [Bar("a", "one", 30_000)], "things")
    assert ">20k</text>" in figure(chart)


def test_sources_have_colours_that_say_nothing_of_how_grave_something_is():
    from chatsquash.pages.report.chart_data import _SEVERITIES, _SOURCES

    assert not {*_SOURCES} & {"red", "amber", "green"}
    assert {*_SEVERITIES.values()} >= {"red", "amber"}
