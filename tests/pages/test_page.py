"""The page of a result: one file that loads nothing and runs nothing but ours, whatever the logs hold."""

import base64
import hashlib
import os
import re
import stat
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.accounting import WHY
from chatsquash.core.errors import UsageError
from chatsquash.hub.public import public_files
from chatsquash.pages.report import PAGE, report
from chatsquash.pages.report.sessions import MOST
from chatsquash.records import datasets
from chatsquash.results.verify import verify
from tests import hostile_logs
from tests.conftest import assistant, cases, log_line, user, write_log

ROOT = Path(__file__).parents[2]
OURS = set(
    "html head meta title style body header h1 h2 h3 h4 nav ul ol li a main section dl div dt dd b p span br code kbd pre "
    "figure figcaption svg g path line rect text details summary table thead tbody tr th td form label input select "
    "option button output article small script".split()
)
POINTS = re.compile(r"#[\w-]+")


class Parsed(HTMLParser):
    """The elements of a page, its attributes, and what stands in scripts, styles and texts."""

    def __init__(self, page: bytes):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.inside, self.said, self.ids = [], [], {"script": [], "style": []}, [], []
        self._open = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, name, attributes):
        self.elements.append(name)
        self.attributes += [(name, *each) for each in attributes]
        self.ids += [value for key, value in attributes if key == "id"]
        self._open.append(name)

    def handle_endtag(self, name):
        while self._open and self._open.pop() != name:
            pass

    def handle_data(self, data):
        kind = self._open[-1] if self._open else ""
        (self.inside[kind] if kind in self.inside else self.said).append(data)


def hold_to_the_policy(page: bytes) -> Parsed:
    """The page is made of our elements alone, and its policy lets nothing run or load but our script and styles."""
    parsed = Parsed(page)
    assert set(parsed.elements) <= OURS
    (script,), (style,) = parsed.inside["script"], parsed.inside["style"]
    hashes = [
        "'sha256-" + base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() + "'" for each in (script, style)
    ]
    (policy,) = [value for name, key, value in parsed.attributes if key == "content" and "default-src" in value]
    told = dict(each.split(" ", 1) for each in policy.split("; "))
    assert told == {
        "default-src": "'none'",
        "script-src": hashes[0],
        "style-src": hashes[1],
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    names = {key for _, key, _ in parsed.attributes}
    assert not {each for each in names if each.startswith("on")} | (
        names & {"style", "src", "srcset", "action", "ping"}
    )
    assert all(POINTS.fullmatch(value) for _, key, value in parsed.attributes if key == "href")
    assert not re.search("url\\(|@import|https?:", style)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {value[1:] for _, key, value in parsed.attributes if key == "href"} <= set(parsed.ids)
    assert not re.search(
        "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069\\u200e\\u200f]", page.decode()
    )
    return parsed


def converted(logs, out, **options) -> bytes:
    convert(logs, out, Options(**{"workers": 1, **options}))
    return report(out).read_bytes()


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    return converted(hostile_logs.write(folder / "logs"), folder / "out")


def test_nothing_of_a_hostile_log_becomes_more_than_text(hostile_page):
    parsed = hold_to_the_policy(hostile_page)
    said = "".join(parsed.said)
    assert "<script>window.hacked=1" in said
    assert r"\x1b[2J" in said
    assert r"\u202egnp.exe" in said
    assert "שלום" in said
    assert "👩\u200d👩\u200d👧" in said
    assert r"\x00NUL\x00" in said


def test_a_session_has_at_most_its_bytes(hostile_page):
    sessions = re.findall(rb'<details id="s\d+" class="session">.*?</section></div></details>', hostile_page, re.DOTALL)
    assert len(sessions) == hostile_logs.SESSIONS
    assert max(map(len, sessions)) <= MOST
    (long,) = [each for each in sessions if b"long.jsonl" in each]
    assert b"turn 0 " in long
    assert re.search(rb"\xe2\x80\xa6 [\d,]+ of 4,002 turns are not shown here", long)
    assert b"turn 1999" in long
    (large,) = [each for each in sessions if b"large.jsonl" in each]
    assert re.search(r"… 10 MB more \(\S+:\d+\)".encode(), large)


def test_the_same_result_gives_the_same_bytes(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", log_line("hi"), log_line("hi", assistant(), "more"))
    convert(tmp_path / "logs", tmp_path / "out", Options(workers=1))
    first = report(tmp_path / "out").read_bytes()
    assert report(tmp_path / "out").read_bytes() == first
    assert converted(tmp_path / "logs", tmp_path / "other", workers=2) == first


def test_the_page_is_its_owners_alone_and_goes_with_the_result(tmp_path):
    write_log(tmp_path / "logs/a.jsonl")
    out = tmp_path / "out"
    before = os.umask(0)
    try:
        converted(tmp_path / "logs", out)
    finally:
        os.umask(before)
    assert stat.S_IMODE((out / PAGE).stat().st_mode) == 0o600
    assert convert(tmp_path / "logs", out, Options(workers=1)).unchanged
    assert (out / PAGE).is_file()
    write_log(tmp_path / "logs/b.jsonl", log_line("another", session_id="s2"))
    convert(tmp_path / "logs", out, Options(workers=1))
    assert not (out / PAGE).exists()


def test_the_page_is_no_part_of_the_dataset(tmp_path, monkeypatch):
    write_log(tmp_path / "logs/a.jsonl")
    out = tmp_path / "out"
    convert(tmp_path / "logs", out, Options(workers=1, format="jsonl"))
    before, files = (out / "run.json").read_bytes(), public_files(out)
    report(out)
    assert (out / "run.json").read_bytes() == before
    assert public_files(out) == files
    assert verify(out).problems == []
    assert [each.name for each in datasets.files(str(out))] == ["train-00000-of-00001.jsonl"]


def test_texts_are_those_of_the_records(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", log_line("write to anna@firma.pl", session_id="s1"))
    page = converted(tmp_path / "logs", tmp_path / "out", anonymize_key=b"a key for the tests of pages")
    assert b"write to" in page
    assert b"anna@firma.pl" not in page


def test_what_is_told_of_the_log_holds_nothing_that_the_run_replaced(tmp_path):
    mail = "anna@firma.pl"
    hostile = {"role": mail, "content": mail}
    for name, session in ((mail, mail), ("b", "b")):
        lines = [
            log_line("one", hostile, reply=mail, session_id=session, model=mail),
            f"no JSON {mail}",
            log_line("one", hostile, assistant(mail), "two", session_id=session),
        ]
        write_log(tmp_path / f"logs/{name}.jsonl", *lines)
    key = b"a key for the tests of pages"
    page = converted(tmp_path / "logs", tmp_path / "out", anonymize_key=key, on_invalid="keep", trace_replies=True)
    assert mail.encode() not in page
    assert b"The run did not record the path of the log" in page
    assert b'<p class="quiet" dir="auto">b.jsonl</p>' in page
    assert b"<td>3</td>" in page


def test_the_log_is_told_beside_the_record_and_says_why_lines_were_left_out(tmp_path):
    lines = [
        log_line("one"),
        log_line("one", assistant(), "two"),
        "no JSON",
        log_line("SIDE", at="2026-01-13T11:00:00Z"),
    ]
    write_log(tmp_path / "logs/a.jsonl", *lines)
    page = converted(tmp_path / "logs", tmp_path / "out", trace_replies=True).decode()
    assert '<p class="quiet" dir="auto">a.jsonl</p>' in page
    rows = re.findall(r'<tr><td>(\d)</td><td[^>]*>([^<]*)</td>.*?<td dir="auto">(.*?)</td></tr>', page)
    assert [(line, time) for line, time, _ in rows] == [
        ("1", "2026-01-13 10:00:00"),
        ("2", "2026-01-13 10:00:00"),
        ("3", "-"),
        ("4", "2026-01-13 11:00:00"),
    ]
    outcomes = [outcome for _, _, outcome in rows]
    assert outcomes[0] == "earlier than the entry that became the record; the record contains its reply"
    assert outcomes[1] == "this entry became the record; the record contains its reply"
    assert outcomes[2].startswith("skipped (bad-line): not a JSON object")
    assert outcomes[3].startswith("later than the entry that became the record; its reply is lost: ")
    assert WHY["short-tail"] in outcomes[3]
    assert page.count("SIDE") == 0  # which stands in no record


def test_logs_of_all_formats_that_did_not_change_are_told(tmp_path):
    page = converted(ROOT / "sample_logs", tmp_path / "out").decode()
    assert page.count('class="entries"') == page.count('class="session"') == 50
    assert "has changed since" not in page


@cases(
    "change, told",
    ("a log that is gone", lambda log: log.unlink(), "The log was not found"),
    ("a log that changed", lambda log: log.write_bytes(log.read_bytes() + b"\n"), "has changed since"),
    ("a log that is a folder", lambda log: (log.unlink(), log.mkdir()), "The log was not found"),
)
def test_what_is_no_longer_there_is_said(tmp_path, change, told):
    log = write_log(tmp_path / "logs/a.jsonl")
    convert(tmp_path / "logs", tmp_path / "out", Options(workers=1))
    change(log)
    assert told in report(tmp_path / "out").read_text("utf-8")


def test_a_session_without_a_record_says_why(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", "no JSON")
    page = converted(tmp_path / "logs", tmp_path / "out").decode()
    assert "This session has no record: unknown-format." in page
    hold_to_the_policy(page.encode())


@cases(
    "options",
    ("Parquet", {"format": "parquet"}),
    ("compressed lines", {"format": "jsonl.gz"}),
    ("shards", {"format": "jsonl", "shard_size": 1}),
    ("messages as texts", {"preset": "sharegpt"}),
    ("calls in texts", {"json_tool_calls": True}),
)
def test_records_are_shown_whatever_file_holds_them(tmp_path, options):
    for name in "ab":
        write_log(tmp_path / f"logs/{name}.jsonl", log_line(f"TEXT {name}", session_id=name))
    page = converted(tmp_path / "logs", tmp_path / "out", **options).decode()
    for name in "ab":
        assert f"TEXT {name}</pre>" in page
    hold_to_the_policy(page.encode())


def test_images_become_their_size(tmp_path):
    png = b"\x89PNG\r\n\x1a\n" + bytes(2000)
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    message = user([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}])
    write_log(tmp_path / "logs/a.jsonl", log_line(message))
    page = converted(tmp_path / "logs", tmp_path / "plain").decode()
    assert "png image, 2.0 KB" in page
    kept = converted(tmp_path / "logs", tmp_path / "kept", preset="hf", format="jsonl", media="keep").decode()
    assert "image, 2.0 KB" in kept
    assert "iVBOR" not in page + kept


def test_the_sample_logs_have_all_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = converted("sample_logs", tmp_path / "out")
    parsed = hold_to_the_policy(page)
    said = "".join(parsed.said)
    for title in ("Records per day", "Turns per record", "Characters per record", "Tools", "Findings by code"):
        assert title in said
    assert parsed.elements.count("svg") == 6
    assert 'class="session"' in page.decode()
    assert "random sample" in said


def test_ten_thousand_sessions_are_no_more_than_five_megabytes(tmp_path):
    """Fifty with more than fits, each with a long log and errors, and findings that are as long as may be."""
    small = [user("s"), assistant("a")] * 30
    large = [user("&" * 9000), assistant("<&" * 3000, reasoning_content=">" * 5000)] * 30
    lines = [log_line(*small[: 2 * n + 1], at=f"2026-01-13T10:00:{n:02}Z") for n in range(30)]
    for number in range(50):
        last = log_line(*small, *large, "end", at="2026-01-13T11:00:00Z")
        write_log(tmp_path / f"logs/{number}.jsonl", *lines, last, "no JSON")
    out = tmp_path / "out"
    convert(tmp_path / "logs", out, Options(workers=2))
    table, findings = out / "reports/sessions.jsonl", out / "reports/findings.jsonl"
    told = table.read_text().splitlines()
    others = [told[0].replace("/0.jsonl", f"/other-{n}.jsonl").replace('"error":1', '"error":0') for n in range(9950)]
    table.write_text("\n".join([*told, *others]) + "\n")
    found = findings.read_text().splitlines()
    findings.write_text("\n".join([*found, *[found[0].replace("the line is", "<" * 600)] * 30_000]) + "\n")
    page = report(out).read_bytes()
    sessions = re.findall(rb'<details id="s\d+" class="session">.*?</section></div></details>', page, re.DOTALL)
    assert len(sessions) == 50
    assert max(map(len, sessions)) <= MOST
    assert min(map(len, sessions)) > 0.7 * MOST
    assert 2_500_000 < len(page) < 5_000_000
    assert "examples of each code" in page.decode()


TAKEN = [
    ("a file of others", lambda out: (out / PAGE).write_text("mine")),
    ("a link", lambda out: (out / PAGE).symlink_to(out.parent / "elsewhere")),
    ("a link in the place of the reports", lambda out: swap(out, "reports")),
    ("a link in the place of our folder", lambda out: swap(out, ".chatsquash")),
    ("a link in the place of a record file", lambda out: swap(out, "2026-01-13.jsonl")),
    ("a link in the place of a report", lambda out: swap(out, "reports/sessions.jsonl")),
    ("a link in the place of a table", lambda out: swap(out, "reports/tools.csv")),
    ("a link in the place of run.json", lambda out: swap(out, "run.json")),
]


def swap(out: Path, name: str) -> None:
    """Put what has a name elsewhere, and a link to it in its place."""
    (out / name).rename(out.parent / "moved")
    (out / name).symlink_to(out.parent / "moved")


@pytest.mark.parametrize("what, plant", TAKEN, ids=[row[0] for row in TAKEN])
def test_nothing_is_written_over_or_through_what_is_not_ours(tmp_path, what, plant):
    write_log(tmp_path / "logs/a.jsonl")
    out = tmp_path / "out"
    convert(tmp_path / "logs", out, Options(workers=1))
    plant(out)
    before = (out / PAGE).read_text() if (out / PAGE).is_file() else None
    with pytest.raises(UsageError):
        report(out)
    assert not (tmp_path / "elsewhere").exists()
    assert ((out / PAGE).read_text() if (out / PAGE).is_file() else None) == before


def test_a_link_in_the_place_of_our_page_is_replaced_and_not_followed(tmp_path):
    write_log(tmp_path / "logs/a.jsonl")
    out = tmp_path / "out"
    page = converted(tmp_path / "logs", out)
    (tmp_path / "elsewhere").write_text("mine")
    (out / PAGE).unlink()
    (out / PAGE).symlink_to(tmp_path / "elsewhere")
    assert report(out).read_bytes() == page
    assert not (out / PAGE).is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "mine"


@cases(
    "name, data",
    ("run.json that is none", "run.json", b"{}"),
    ("run.json without counts", "run.json", b'{"chatsquash_version": "0", "options": {}, "counts": {}, "outputs": []}'),
    ("run.json that is no text", "run.json", b"\xff"),
    ("sessions that are none", "reports/sessions.jsonl", b"[1]\n"),
    ("findings that are none", "reports/findings.jsonl", b'{"code": 1}\n'),
    ("tools that are none", "reports/tools.csv", b"a,b\n1,2\n"),
    ("records that are none", "2026-01-13.jsonl", b"no JSON\n"),
)
def test_a_damaged_result_is_an_error_and_no_page(tmp_path, name, data):
    write_log(tmp_path / "logs/a.jsonl")
    out = tmp_path / "out"
    convert(tmp_path / "logs", out, Options(workers=1))
    (out / name).write_bytes(data)
    with pytest.raises(UsageError, match=re.escape(name)):
        report(out)
    assert not (out / PAGE).exists()


def test_a_record_that_does_not_stand_where_the_table_says_is_an_error(tmp_path):
    write_log(tmp_path / "logs/a.jsonl")
    out = tmp_path / "out"
    convert(tmp_path / "logs", out, Options(workers=1))
    table = out / "reports/sessions.jsonl"
    table.write_text(table.read_text().replace('"offset":0', '"offset":7'))
    with pytest.raises(UsageError, match=r"2026-01-13\.jsonl:1: no line begins there; chatsquash verify"):
        report(out)
    assert not (out / PAGE).exists()


def test_the_bytes_of_the_records_that_were_read_are_told(tmp_path):
    for packing in ("jsonl", "jsonl.gz", "parquet"):
        for name in "abc":
            write_log(tmp_path / f"logs/{name}.jsonl", log_line(f"TEXT {name}" * 50, session_id=name))
        out = tmp_path / packing
        convert(tmp_path / "logs", out, Options(workers=1, format=packing))
        told = []
        report(out, lambda size, total, told=told: told.append((size, total)))
        (file,) = (out / "data").iterdir()
        assert {total for _, total in told} == {file.stat().st_size}
        assert len(told) == 3
        assert 0 < sum(size for size, _ in told) <= file.stat().st_size
        assert all(size >= 0 for size, _ in told)


def test_a_terminal_shows_how_much_is_read_and_a_pipe_only_where_the_page_is(here, command, monkeypatch):
    write_log(here / "logs/a.jsonl")
    convert("logs", "out", Options(workers=1))
    assert command("report", "out").err == "report: out/report.html\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "B/s" in command("report", "out").err
    assert "B/s" not in command("convert", "logs", "--report", "--quiet").err


def test_a_folder_without_a_result_and_one_in_use_are_errors(tmp_path):
    from chatsquash.storage.folder import Folder
    from chatsquash.storage.lock import lock, unlock

    with pytest.raises(UsageError, match="no finished run in this folder"):
        report(tmp_path)
    with pytest.raises(UsageError, match="no finished run in this folder"):
        report(tmp_path / "nothing")
    with pytest.raises(UsageError, match="only reads local files"):
        report("s3://bucket/out")
    write_log(tmp_path / "logs/a.jsonl")
    convert(tmp_path / "logs", tmp_path / "out", Options(workers=1))
    held = lock(Folder(tmp_path / "out/.chatsquash"), "lock")
    try:
        with pytest.raises(UsageError, match="a run is writing to this folder"):
            report(tmp_path / "out")
    finally:
        unlock(held)
    report(tmp_path / "out")
