"""Several processes give what one gives, the largest logs first, and records stay where their worker wrote them."""

import errno
import os
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.conversion import pool, workers
from chatsquash.conversion.journal import Journals, JournalWriter
from chatsquash.core import platform
from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome, SessionFindings
from chatsquash.session.converter import Converter
from chatsquash.sources.logs import Logs
from chatsquash.storage.folder import Folder
from tests.conftest import cases, log_line, tree, write_log

KEY = b"a key for tests of workers"


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Sessions of two days in the present folder, which are worth several processes."""
    monkeypatch.chdir(tmp_path)
    for number in range(12):
        lines = [log_line(*"abc"[:n], "x" * 500 * number, at=n) for n in (1, 2, 3)]
        write_log(tmp_path / "logs" / f"2026-01-1{number % 2}" / f"{number:02}.jsonl", *lines)
    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(workers, "_BATCH_JOBS", 2)
    return tmp_path


def records(folder: Path) -> dict[str, bytes | None]:
    return {name: data for name, data in tree(folder).items() if name.endswith(".jsonl") and not name.startswith(".")}


def converted(out: str, count: int, **options) -> dict[str, bytes | None]:
    convert("logs", out, Options(workers=count, anonymize_key=KEY, **options))
    return records(Path(out))


def without_copying(monkeypatch) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)


def refusing(monkeypatch) -> None:
    def refuse(*_):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)


def copying_nothing(monkeypatch) -> None:
    monkeypatch.setattr(os, "copy_file_range", lambda *_: 0, raising=False)


@cases(
    "change",
    ("that copies by itself", lambda _: None),
    ("without that", without_copying),
    ("that refuses", refusing),
    ("that copies nothing and says so", copying_nothing),
)
def test_joined_files_are_those_of_one_process(here, monkeypatch, change):
    alone = converted("alone", 1)
    change(monkeypatch)
    assert converted("out", 2) == alone


@cases(
    "options",
    ("duplicates", {"drop_duplicates": True}),
    ("long records", {"max_chars": 3000}),
    ("a folder", {"split": "train=0.5,test=0.5"}),
)
def test_who_looks_at_records_is_given_them(here, options):
    assert converted("out", 2, **options) == converted("alone", 1, **options)


def test_an_observer_is_given_the_lines_of_records(here):
    def observed(count: int) -> list[bytes | None]:
        lines: list[bytes | None] = []
        options = Options(workers=count, anonymize_key=KEY)
        convert("logs", f"out{count}", options, lambda log, outcome, size: lines.append(outcome.record))
        return lines

    alone = observed(1)
    assert len(alone) == 12
    assert observed(2) == alone


def test_only_who_looks_at_records_reads_them(here, monkeypatch):
    def read(*_):
        raise AssertionError("nobody asked for the lines of records")

    monkeypatch.setattr(Journals, "fill", read)
    assert converted("out", 2)
    with pytest.raises(AssertionError, match="nobody asked"):
        converted("other", 2, max_chars=3000)


def test_what_workers_kept_is_taken_by_the_next_run(here):
    before = converted("out", 2)
    convert("logs", "out", Options(workers=1, anonymize_key=KEY, group_by="none", tool_report=False))
    summary = convert("logs", "out", Options(workers=2, anonymize_key=KEY))
    assert (summary.reused, records(Path("out"))) == (12, before)


def test_a_journal_that_is_gone_stops_the_run_and_leaves_the_old_result(here, monkeypatch):
    before = converted("out", 2)

    def gone(journals: Journals, held: object) -> int:
        del held
        return journals.folder.open("gone")

    monkeypatch.setattr(Journals, "descriptor", gone)
    with pytest.raises(FileNotFoundError):
        converted("out", 2, full=True)
    assert records(Path("out")) == before


def test_the_journals_of_many_processes_are_not_all_open_at_once(here, monkeypatch):
    monkeypatch.setattr(workers, "_BATCH_JOBS", 1)
    for number in range(40):  # each of which is divided among processes of its own
        apart = (log_line(f"{what} {number}", session_id=None, at=at) for at, what in enumerate(("one", "other")))
        write_log(here / "logs" / f"apart-{number:02}.jsonl", *apart)
    alone = converted("alone", 1)
    before, most = len(os.listdir("/proc/self/fd")), []
    settle = Journals.settle
    monkeypatch.setattr(Journals, "settle", lambda self: most.append(len(os.listdir("/proc/self/fd"))) or settle(self))
    assert converted("out", 2) == alone
    assert len(list(Path("out/.chatsquash/journal").iterdir())) > 40
    assert most[0] - before < 40


def test_the_lines_of_an_outcome_stand_in_the_journal_as_they_are_written(here):
    path = str(here / "logs/2026-01-10/00.jsonl")
    status = os.stat(path)
    log = Log(path, path, "00.jsonl", status.st_size, modified=status.st_mtime_ns)
    journals = Journals(JournalWriter(Folder(here / "journal"), "1", b""))
    outcome = Converter(Options(anonymize=False)).convert(log)
    packed = journals.writer.add(log, outcome)
    journals.writer.flush()
    (record,) = packed.outcome.records
    assert record.line == b""
    assert (
        os.pread(journals.descriptor(record.line_place), record.line_place.size, record.line_place.offset)
        == outcome.record + b"\n"
    )
    assert journals.fill(packed.outcome) == outcome


def test_a_copy_of_more_than_there_is_fails(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    source, target = os.open(tmp_path / "a", os.O_RDONLY), os.open(tmp_path / "b", os.O_RDWR | os.O_CREAT)
    platform.copy_range(source, 1, 4, target)
    assert (tmp_path / "b").read_bytes() == b"2345"
    with pytest.raises(OSError, match="is shorter than expected"):
        platform.copy_range(source, 3, 4, target)


def taken(sizes: list[int], count: int = 2) -> list[str]:
    """The logs of these sizes in the order in which workers are given them, each done as soon as the next begins."""
    logs = Logs()
    for number, size in enumerate(sizes):
        logs.append(Log(f"{number}", f"{number}", f"{number}", size))
    queue = pool.Queue(workers.batches(logs), 2, workers._lose, workers._largest(logs, count))
    begun, ended = [], []
    while batch := queue.take():
        begun += [log.name for log in batch.jobs]
        queue.put(batch, [(log, Outcome(log.name, report=SessionFindings("x"))) for log in batch.jobs])
        while queue.is_next_done():
            ended += [log.name for log, _ in queue.next_done()]
    assert ended == [f"{number}" for number in range(len(sizes))]
    return begun


LARGE = 100 << 20


def test_the_largest_logs_go_first_and_come_back_in_their_order():
    assert taken([1, 2, LARGE, 3, 2 * LARGE, 4, LARGE + 1]) == ["4", "6", "2", "0", "1", "3", "5"]


def test_logs_that_are_alike_go_in_their_order():
    assert taken([LARGE // 100] * 200) == [f"{number}" for number in range(200)]
