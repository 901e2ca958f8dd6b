"""``chatsquash report`` and ``convert --report``."""

import importlib.util
from pathlib import Path

from chatsquash.pages import report as page
from tests.conftest import write_log


def test_the_command_says_where_the_page_is(here, command):
    write_log(here / "logs/a.jsonl")
    assert command("convert", "logs").code == 0
    assert not Path("out/report.html").exists()
    assert command("report", "out") == (0, "", "report: out/report.html\n")
    assert Path("out/report.html").read_bytes().startswith(b"<!doctype html>")


def test_convert_writes_it_when_it_is_asked(here, command):
    write_log(here / "logs/a.jsonl")
    done = command("convert", "logs", "--report")
    assert done.code == 0
    assert done.err.endswith("report: out/report.html\n")
    first = Path("out/report.html").read_bytes()
    assert command("convert", "logs", "--report", "--quiet") == (0, "", "")  # nothing changed
    assert Path("out/report.html").read_bytes() == first
    done = command("convert", "logs", "--report", "--full")
    assert done.code == 0
    assert Path("out/report.html").read_bytes() == first


def test_it_decides_no_byte_of_the_result(here, command):
    write_log(here / "logs/a.jsonl")
    assert command("convert", "logs", "--report", "-o", "one").code == 0
    assert command("convert", "logs", "-o", "other").code == 0
    one, other = ({each.name: each.read_bytes() for each in Path(name).glob("*.jsonl")} for name in ("one", "other"))
    assert one == other
    assert command("convert", "logs", "-o", "one").err.count("nothing changed") == 1


def test_without_the_packages_the_error_names_the_install(here, command, monkeypatch):
    write_log(here / "logs/a.jsonl")
    assert command("convert", "logs").code == 0
    find = importlib.util.find_spec
    monkeypatch.setattr(page, "find_spec", lambda name: None if name == "vl_convert" else find(name))
    told = "error: a report requires vl_convert: pip install 'chatsquash[report]'\n"
    assert command("report", "out") == (2, "", told)
    assert command("convert", "logs", "--report", "-o", "new") == (2, "", told)
    assert not Path("new").exists()  # which is said before the work is done
    assert command("convert", "logs", "-o", "new").code == 0


def test_a_place_that_is_taken_is_said_before_the_work_is_done(here, command):
    write_log(here / "logs/a.jsonl")
    assert command("convert", "logs").code == 0
    Path("out/report.html").write_text("mine")
    write_log(here / "logs/b.jsonl")
    done = command("convert", "logs", "--report", "--replace")
    assert (done.code, "out/report.html: not written by chatsquash" in done.err) == (2, True)
    assert Path("out/report.html").read_text() == "mine"
    assert (
        Path("out/run.json").read_text().count('"path": "logs/')
        + Path("out/run.json").read_text().count('"path":"logs/')
        == 1
    )


def test_a_page_stands_in_a_folder_of_one_whole_run(here, command):
    write_log(here / "logs/a.jsonl")
    done = command("convert", "logs", "--report", "-o", "s3://bucket/out")
    assert (done.code, "only reads local files" in done.err) == (2, True)
    done = command("convert", "--shard", "1/2", "--report")
    assert (done.code, "--report has no effect with --shard" in done.err) == (2, True)
