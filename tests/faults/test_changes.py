"""Logs that change while a run goes on are read as they were found."""

import io
import json
import os
from pathlib import Path

import pytest
from msgspec import structs

from chatsquash import Options, convert
from chatsquash.core.log import Log
from chatsquash.reading import identify
from chatsquash.session.converter import Converter
from chatsquash.sources import identity
from chatsquash.sources.identity import limit_to_discovered_size
from tests.conftest import cases, log_line, write_log

ENTRIES = [log_line(*"abcdef"[:n], at=n) for n in range(1, 5)]
WHOLE = b"".join(json.dumps(entry).encode() + b"\n" for entry in ENTRIES)
NEXT = json.dumps(log_line(*"abcdef", at=9)).encode() + b"\n"


def found(path: Path) -> Log:
    status = path.stat()
    return Log(str(path), str(path), path.name, status.st_size, modified=status.st_mtime_ns)


def append(data: bytes):
    def act(path: Path) -> None:
        with path.open("ab") as file:
            file.write(data)

    return act


def rewrite(path: Path) -> None:
    os.utime(path, ns=(1, 1))


# What was there, what happens to it, and the finding, the lines that are read, whether the last is whole.


@cases("data, act, how, lines",
    ("nothing", WHOLE, lambda path: None, None, 4),
    ("whole lines are added", WHOLE, append(NEXT), "grew", 4),
    ("the last line is finished", WHOLE + NEXT[:50], append(NEXT[50:]), "grew", 4),
    ("the only line is finished", NEXT[:50], append(NEXT[50:]), "grew", 0),
    ("the line feed is added", WHOLE + NEXT[:-1], append(b"\n"), "grew", 4),
    ("it is cut when it was read", WHOLE, lambda path: os.truncate(path, 5), "shrank", 4),
    ("it vanishes", WHOLE, Path.unlink, "vanished", 4),
    ("another takes its place", WHOLE, lambda path: (path.with_name("n").write_bytes(WHOLE), path.with_name("n").rename(path)), "was written to", 4),
    ("it is written to", WHOLE, rewrite, "was written to", 4),
)  # fmt: skip
def test_a_log_that_changes_while_it_is_read(tmp_path, monkeypatch, data, act, how, lines):
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    job = found(path)
    converter = Converter(Options(anonymize=False))
    read = converter._reader.read

    def entries(items):
        for number, entry in enumerate(items):
            if number == 0 and not acted:
                acted.append(act(path))
            yield entry
        if not acted:
            acted.append(act(path))

    acted: list = []

    def begun(self, *given):
        reading = read(*given)
        return structs.replace(reading, items=entries(reading.items))

    monkeypatch.setattr(type(converter._reader), "read", begun)
    outcome = converter.convert(job)
    texts = [finding.text for finding in outcome.findings if finding.code == "changed-log"]
    assert [text.partition(" during")[0] for text in texts] == ([f"the log {how}"] if how else [])
    assert outcome.account.lines == lines
    assert not outcome.report.rejected


def test_a_document_that_is_cut_once_its_first_lines_were_read(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps(ENTRIES[0], indent=1).encode() + b"\n" * 50)
    job = found(path)
    document = identify.document_in

    def cut(*given):
        os.truncate(path, job.size - 20)
        return document(*given)

    monkeypatch.setattr(identify, "document_in", cut)
    outcome = Converter(Options(anonymize=False)).convert(job)
    assert len(outcome.records) == 1
    assert "changed-log" in [finding.code for finding in outcome.findings]


@pytest.mark.parametrize("place", [0, 1, 10, len(WHOLE) - 1, len(WHOLE)])
@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_a_log_that_grew_ends_with_the_last_whole_line_that_it_had(tmp_path, monkeypatch, place, step):
    monkeypatch.setattr(identity, "_STEP", step)
    path = tmp_path / "a.jsonl"
    path.write_bytes(WHOLE[:place])
    job = found(path)
    path.write_bytes(WHOLE + NEXT)
    expected = WHOLE[: WHOLE[:place].rfind(b"\n") + 1]
    with path.open("rb", buffering=0) as file:
        before = limit_to_discovered_size(file, job)
        assert before.read() == expected
        assert before.seek(0, io.SEEK_END) == len(expected)
        assert before.read(5) == b""
        assert before.seek(max(0, len(expected) - 3)) == max(0, len(expected) - 3)
        assert before.read(5) == expected[-3:]


def test_a_log_that_grows_while_others_are_converted_counts_as_it_was_found_and_the_next_run_reads_the_rest(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs" / "a.jsonl")
    log = write_log(tmp_path / "logs" / "b.jsonl", *ENTRIES)
    add = [append(NEXT)]
    first = convert("logs", "out", None, lambda *_: add and add.pop()(log))
    assert first.findings["warning", "changed-log"] == 1
    assert first.lines == 5
    second = convert("logs", "out")
    assert (second.lines, second.reused, second.findings["warning", "changed-log"]) == (6, 1, 0)
    assert convert("logs", "out").unchanged


def test_a_log_that_vanishes_before_its_turn_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs" / "a.jsonl")
    log = write_log(tmp_path / "logs" / "b.jsonl")
    summary = convert("logs", "out", None, lambda *_: log.unlink(missing_ok=True))
    assert (summary.written, summary.left_out) == (1, {"unreadable-log": 1})


def test_lines_to_keep_of_a_log_that_vanished_are_not_kept_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = write_log(tmp_path / "logs" / "a.jsonl", log_line("x"), b"{broken")
    add = Converter.convert

    def convert_and_remove(self, job, **more):
        outcome = add(self, job, **more)
        log.unlink()
        return outcome

    monkeypatch.setattr(Converter, "convert", convert_and_remove)
    summary = convert("logs", "out", Options(keep_rejected=True))
    assert (summary.written, summary.findings["warning", "changed-log"]) == (1, 1)
    assert not (tmp_path / "out" / "reports" / "rejected-lines.jsonl").exists()


def test_a_mixed_log_that_grew_is_split_up_to_its_last_whole_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs" / "a.jsonl")
    log = tmp_path / "logs" / "b.jsonl"
    one, two = (json.dumps(log_line("x", session_id=name)).encode() for name in ("s1", "s2"))
    log.write_bytes(one + b"\n" + two + b"\n" + one[:40])
    add = [append(one[40:] + b"\n")]
    summary = convert("logs", "out", Options(sessions_by="id"), lambda *_: add and add.pop()(log))
    assert (summary.written, summary.account.unreadable, summary.findings["warning", "changed-log"]) == (3, 0, 2)
