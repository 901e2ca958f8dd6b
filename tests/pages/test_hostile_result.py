"""A page of a folder that holds anything: it is shown or refused, and nothing else is read, changed or waited for."""

import json
import os
import shutil

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.pages.report import PAGE, charts, report
from chatsquash.results.output import LONGEST
from tests.conftest import assistant, cases, log_line, write_log

TABLE, FOUND = "reports/sessions.jsonl", "reports/findings.jsonl"
WRONG = "invalid content|was not written by this version of chatsquash|no session table of this version"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A result with a record, a lost reply and a line that could not be read."""
    folder = tmp_path_factory.mktemp("made")
    lines = [log_line("one"), log_line("one", assistant(), "two"), "no JSON", log_line("SIDE")]
    write_log(folder / "logs/a.jsonl", *lines)
    convert(folder / "logs", folder / "out", Options(workers=1, trace_replies=True))
    return folder / "out"


@pytest.fixture
def out(made, tmp_path, monkeypatch):
    """A copy of the result, whose charts are not drawn, since that takes most of the time."""
    drawn = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><text>a chart</text></svg>'
    monkeypatch.setattr(charts, "_svg", lambda chart: charts._ticks(chart) and charts._labels(chart) and drawn)
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def call(name, number):
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}


def change(path, at, value):
    """Put a value at a place of the first line of a file, which is JSON."""
    first, _, rest = path.read_text("utf-8").partition("\n")
    if path.name == "run.json":
        first, rest = path.read_text("utf-8"), ""
    told = inner = json.loads(first)
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    path.write_text(f"{json.dumps(told)}\n{rest}", "utf-8")


def test_traces_are_not_read_as_records(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", log_line("one", assistant(), "two"))
    convert(tmp_path / "logs", tmp_path / "out", Options(preset="hf", format="jsonl", traces=True))
    assert report(tmp_path / "out").is_file()


def test_a_result_with_token_ids_is_refused_with_the_reason(out):
    change(out / "run.json", ("options", "samples"), "tokens")
    with pytest.raises(UsageError, match="a report shows messages, which --samples tokens does not write"):
        report(out)


REFUSED = [
    ("run.json", ("counts",), {}),
    ("run.json", ("counts", "findings"), {"error": {}, "warning": 1}),
    ("run.json", ("counts", "findings"), {"other": {"a": 1}}),
    ("run.json", ("counts", "sessions"), []),
    ("run.json", ("counts", "sessions", "seen"), "x"),
    ("run.json", ("counts", "sessions", "seen"), -1),
    ("run.json", ("counts", "lines"), {}),
    ("run.json", ("counts", "replies", "lost"), None),
    ("run.json", ("counts", "secrets", "found"), {"a": 1}),
    ("run.json", ("inputs",), [1]),
    ("run.json", ("inputs", 0, "size"), "x"),
    ("run.json", ("outputs",), [1]),
    ("run.json", ("outputs", 0, "path"), "../x"),
    ("run.json", ("outputs", 0, "path"), "/etc/passwd"),
    ("run.json", ("options", "cleanup"), [1]),
    (TABLE, ("log",), None),
    (TABLE, ("session",), None),
    (TABLE, ("session",), 1),
    (TABLE, ("offset",), -1),
    (TABLE, ("offset",), float("nan")),
    (TABLE, ("row",), None),
    (TABLE, ("row",), 0),
    (TABLE, ("row",), 10**30),
    (TABLE, ("file",), None),
    (TABLE, ("file",), "reports/findings.jsonl"),
    (TABLE, ("file",), ".chatsquash/written.json"),
    (TABLE, ("file",), "a\n\0b"),
    (TABLE, ("findings",), []),
    (TABLE, ("replies",), {"lost": 1}),
    (TABLE, ("replies", "lost"), {"a": "b"}),
    (TABLE, ("usage", "prompt_tokens"), "x"),
    (FOUND, ("session",), {}),
    (FOUND, ("code",), None),
    (FOUND, ("severity",), "grave"),
    (FOUND, ("message",), "x"),
    ("reports/replies.jsonl", ("file",), []),
    ("reports/replies.jsonl", ("status",), "x"),
    ("reports/rejected.jsonl", ("reason",), {}),
]


@pytest.mark.parametrize("name, at, value", REFUSED, ids=[f"{row[0]}-{row[1][-1]}-{row[2]!r}" for row in REFUSED])
def test_what_no_run_writes_is_one_clear_error(out, name, at, value):
    change(out / name, at, value)
    with pytest.raises(UsageError, match=WRONG):
        report(out)


def elsewhere(out, name):
    (out.parent / "elsewhere.jsonl").write_bytes((out / "2026-01-13.jsonl").read_bytes())
    return name


def linked(out):
    os.symlink(out.parent / "elsewhere.jsonl", out / "linked.jsonl")
    return "linked.jsonl"


def pipe(out):
    os.mkfifo(out / "pipe.jsonl")
    return "pipe.jsonl"


@pytest.mark.parametrize("is_named", [False, True])
@cases(
    "make",
    ("an absolute path", lambda out: str(out.parent / "elsewhere.jsonl")),
    ("a path that leads out", lambda out: "../elsewhere.jsonl"),
    ("a link", linked),
    ("a pipe, which nobody writes to", pipe),
    ("a file that the run did not write", lambda out: elsewhere(out, "other.jsonl")),
)
def test_records_are_read_from_files_of_the_run_alone(out, make, is_named):
    name = make(out)
    elsewhere(out, name)
    change(out / TABLE, ("file",), name)
    if is_named:
        run = json.loads((out / "run.json").read_text())
        (out / "run.json").write_text(json.dumps({**run, "outputs": [*run["outputs"], {"path": name, "size": 1}]}))
    with pytest.raises(UsageError):
        report(out)


def test_files_of_others_beside_the_records_are_not_read(out):
    (out / "mine.jsonl").write_text("no record\n")
    os.mkfifo(out / "pipe.jsonl")
    report(out)
    assert (out / "mine.jsonl").read_text() == "no record\n"


def test_a_line_without_end_is_refused(out, monkeypatch):
    assert LONGEST >= 1 << 28
    monkeypatch.setattr("chatsquash.results.output.LONGEST", 100)
    with pytest.raises(UsageError, match="invalid content"):
        report(out)


def test_a_number_of_very_many_digits_is_refused(out):
    (out / "reports/tools.csv").write_text(f"tool,sessions,calls,failed,unanswered\na,1,{'9' * 6000},0,0\n")
    with pytest.raises(UsageError, match="invalid content"):
        report(out)


def test_a_log_that_may_expand_without_end_is_not_read(out):
    change(out / "run.json", ("options", "max_expanded"), 1 << 62)
    assert "The run raised the limits for decompressed logs" in report(out).read_text("utf-8")


def test_what_lies_beside_the_page_stays(out):
    (out / f"{PAGE}.new").write_text("mine")
    report(out)
    assert (out / f"{PAGE}.new").read_text() == "mine"
    (out / f"{PAGE}.new").unlink()
    (out / f"{PAGE}.new").mkdir()
    report(out)
    (out / f"{PAGE}.new").rmdir()
    assert not (out / f".chatsquash/{PAGE}.new").exists()


def test_a_folder_in_the_place_of_the_page_is_a_clear_error(out):
    for taken, told in ((out / PAGE, "not written by chatsquash"), (out / f".chatsquash/{PAGE}.new", "cannot be")):
        taken.mkdir()
        with pytest.raises(UsageError, match=told):
            report(out)
        taken.rmdir()
    report(out)


@pytest.mark.parametrize("length", [131_000, 140_000])
def test_long_names_of_tools_leave_the_page_small(tmp_path, length):
    calls = [call("<" * length + str(n), n) for n in range(15)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in range(15)]
    write_log(tmp_path / "logs/a.jsonl", log_line("one", assistant(None, tool_calls=calls), *results, "two"))
    convert(tmp_path / "logs", tmp_path / "out", Options(workers=1))
    page = report(tmp_path / "out").read_bytes()
    assert len(page) < 500_000
    assert b"15 calls to 15 tools" in page


LONG = {
    ("reports/sessions.jsonl", "model"),
    ("reports/sessions.jsonl", "format"),
    ("reports/sessions.jsonl", "session"),
    ("reports/sessions.jsonl", "log"),
    ("reports/sessions.jsonl", "finish"),
    ("reports/findings.jsonl", "code"),
    ("reports/findings.jsonl", "text"),
    ("reports/findings.jsonl", "file"),
    ("reports/findings.jsonl", "record"),
    ("reports/replies.jsonl", "why"),
    ("reports/replies.jsonl", "record"),
    ("reports/rejected.jsonl", "reason"),
}


@pytest.mark.parametrize("name, member", sorted(LONG))
def test_no_text_of_a_result_makes_the_page_large(out, name, member):
    change(out / name, (member,), "<" * 1_000_000)
    assert len(report(out).read_bytes()) < 500_000


def test_no_name_in_the_counts_makes_the_page_large(out):
    many = {f"{n}{'<' * 1000}": 1 for n in range(10_000)}
    change(out / "run.json", ("counts", "findings"), {"error": many})
    change(out / "run.json", ("counts", "replies", "lost"), many)
    change(out / "run.json", ("counts", "lines"), {"seen": 1, **many})
    change(out / "run.json", ("options", "include"), ["<" * 1_000_000])
    change(out / "run.json", ("chatsquash_version",), "<" * 1_000_000)
    assert len(report(out).read_bytes()) < 500_000


def test_days_from_all_times_leave_the_page_small(out):
    row = json.loads((out / TABLE).read_text())
    days = (f"{year:04}-{month:02}-01T00:00:00Z" for year in range(1, 10_000) for month in (1, 7))
    rows = (json.dumps({**row, "start": day, "format": f"{n % 40}"}) for n, day in enumerate(days))
    (out / TABLE).write_text("\n".join(rows) + "\n")
    page = report(out).read_text("utf-8")
    assert "Records per century" in page
    assert len(page) < 500_000
