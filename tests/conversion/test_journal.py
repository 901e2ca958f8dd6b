"""What a session gave is kept, and taken again only where nothing that decides it has changed."""

import os
import re
from array import array
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from chatsquash import Options
from chatsquash.conversion import journal
from chatsquash.conversion.journal import Journals, JournalWriter, identity
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import list_options
from chatsquash.core.outcome import Outcome, SessionFindings
from chatsquash.dataset.manifest import describe
from chatsquash.session.converter import Converter
from chatsquash.storage.folder import Folder
from tests.conftest import cases, log_line, write_log

OPTIONS = Options(anonymize_key=b"k" * 16)


@pytest.fixture
def log(tmp_path) -> Log:
    path = write_log(tmp_path / "a.jsonl", *(log_line(*"abc"[:n], "x" * 5000, at=n) for n in (1, 2, 3)))
    return found(path)


def found(path: Path, **fields) -> Log:
    status = path.stat()
    return Log(str(path), str(path), path.name, status.st_size, modified=status.st_mtime_ns, **fields)


_OPEN: list[Folder] = []
"""The folders of journals that are not closed yet."""


@pytest.fixture(autouse=True)
def _closed_folders():
    yield
    close_folders()


def close_folders() -> None:
    while _OPEN:
        _OPEN.pop().close()


def journals(tmp_path: Path, run: str = "1", options: Options = OPTIONS) -> Journals:
    _OPEN.append(Folder(tmp_path / "journal"))
    return Journals(JournalWriter(_OPEN[-1], run, identity(describe(options))))


def kept(tmp_path: Path, *jobs: Log, run: str = "1") -> list[Outcome]:
    """The outcomes of these, kept by a run that is over."""
    earlier = journals(tmp_path, run)
    outcomes = [Converter(OPTIONS).convert(job) for job in jobs]
    for job, outcome in zip(jobs, outcomes, strict=True):
        earlier.writer.add(job, outcome)
    earlier.writer.close()
    return outcomes


def taken(tmp_path: Path, job: Log, options: Options = OPTIONS) -> Outcome | None:
    """What a later run takes of it."""
    later = journals(tmp_path, "2", options)
    later.load(later.names())
    known = later.find(job)
    outcome = later.get(known[0]) if known else None
    close_folders()
    return outcome


def test_an_outcome_comes_back_as_it_was(tmp_path, log):
    (outcome,) = kept(tmp_path, log)
    assert outcome.record
    assert taken(tmp_path, log) == outcome


def test_every_field_of_an_outcome_comes_back(tmp_path, log):
    outcome = kept(tmp_path, log)[0]
    made = structs.replace(outcome, report=structs.replace(outcome.report, trace="At", left_out="x"))
    writer = JournalWriter(Folder(tmp_path / "journal"), "3", identity(describe(OPTIONS)))
    writer.add(log, made)
    writer.flush()
    assert taken(tmp_path, log) == made


def test_a_journal_is_its_owners_alone(tmp_path, log):
    kept(tmp_path, log)
    (name,) = os.listdir(tmp_path / "journal")
    assert oct((tmp_path / "journal" / name).stat().st_mode & 0o777) == "0o600"
    assert oct((tmp_path / "journal").stat().st_mode & 0o777) == "0o700"


def grown(job: Log) -> Log:
    with open(job.path, "ab") as file:
        file.write(b"\n")
    return found(Path(job.path))


def altered(at: int):
    """The byte at a place is another; size and time are as before."""

    def act(job: Log) -> Log:
        with open(job.path, "r+b") as file:
            file.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
            file.write(b"#")
        os.utime(job.path, ns=(job.modified, job.modified))
        return job

    return act


def touched(job: Log) -> Log:
    os.utime(job.path, ns=(5, 5))
    return found(Path(job.path))


@cases(
    "change, same",
    ("nothing", lambda job: job, True),
    ("a byte more", grown, False),
    ("another head", altered(3), False),
    ("another tail", altered(-3), False),
    ("another time", touched, False),
    ("another path", lambda job: structs.replace(job, display_path="other"), False),
    ("another name below LOGS", lambda job: structs.replace(job, name="2026-01-01/a.jsonl"), False),
    ("a part of it", lambda job: structs.replace(job, part=0), False),
    ("gone", lambda job: (Path(job.path).unlink(), job)[1], False),
)
def test_an_outcome_is_that_of_a_log_as_it_was(tmp_path, log, change, same):
    kept(tmp_path, log)
    assert (taken(tmp_path, change(log)) is not None) == same


@cases(
    "fields, same",
    ("the same", {}, True),
    ("another key", {"anonymize_key": b"o" * 16}, False),
    ("no key", {"anonymize": False}, False),
    ("calls as text", {"json_tool_calls": True}, False),
    ("reasoning", {"reasoning": "drop"}, False),
    ("what is invalid", {"on_invalid": "keep"}, False),
    ("how they are grouped", {"group_by": "none"}, True),
    ("which are taken", {"include": ("*",), "limit": 3, "since": "2026-01-01"}, True),
    ("how many workers", {"workers": 7}, True),
)
def test_an_outcome_is_that_of_the_options_that_decide_it(tmp_path, log, fields, same):
    kept(tmp_path, log)
    assert (taken(tmp_path, log, replace(OPTIONS, **fields)) is not None) == same


def test_an_outcome_is_that_of_the_code_that_found_it(tmp_path, log, monkeypatch):
    kept(tmp_path, log)
    assert journal.code_version().startswith("0.")
    monkeypatch.setattr(journal, "code_version", lambda: "another")
    assert taken(tmp_path, log) is None


@pytest.mark.parametrize("step", [1, 37])
def test_a_journal_that_is_cut_gives_what_is_whole_in_it(tmp_path, step):
    logs = [found(write_log(tmp_path / f"{name}.jsonl", log_line(name))) for name in "abc"]
    outcomes = kept(tmp_path, *logs)
    (name,) = os.listdir(tmp_path / "journal")
    path = tmp_path / "journal" / name
    data = path.read_bytes()
    third = len(data) // 3
    for size in range(0, len(data) + 1, step):
        path.write_bytes(data[:size])
        assert [taken(tmp_path, job) for job in logs] == [
            outcome if size >= third * number else None for number, outcome in enumerate(outcomes, 1)
        ]


@pytest.mark.parametrize("at", range(0, 400, 7))
def test_a_byte_that_changed_in_a_journal_is_noticed(tmp_path, at):
    logs = [found(write_log(tmp_path / f"{name}.jsonl", log_line(name))) for name in "ab"]
    outcomes = kept(tmp_path, *logs)
    (name,) = os.listdir(tmp_path / "journal")
    path = tmp_path / "journal" / name
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)
    for job, outcome in zip(logs, outcomes, strict=True):
        assert taken(tmp_path, job) in (outcome, None)
    assert [taken(tmp_path, job) for job in logs] != outcomes


@cases("code", "unreadable-log", "changed-log", "lost-worker")
def test_what_may_be_otherwise_the_next_time_is_not_kept(tmp_path, log, code):
    (outcome,) = kept(tmp_path, log)
    writer = JournalWriter(Folder(tmp_path / "journal"), "3", identity(describe(replace(OPTIONS, reasoning="drop"))))
    writer.add(
        log,
        structs.replace(outcome, report=SessionFindings(findings=[Finding(code, "error", "s", "f", None, None, "")])),
    )
    assert writer.descriptor is None


def test_a_name_that_is_no_text_is_converted_each_time(tmp_path, log):
    (outcome,) = kept(tmp_path, log)
    job = structs.replace(log, display_path="\udcff")
    writer = JournalWriter(Folder(tmp_path / "journal"), "3", identity(describe(OPTIONS)))
    writer.add(job, structs.replace(outcome, session="\udcff"))
    writer.add(log, outcome)
    assert writer.flush()
    assert taken(tmp_path, job) is None
    assert taken(tmp_path, log) == outcome


def test_a_full_disk_ends_the_journal_and_nothing_else(tmp_path, log, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    (outcome,) = kept(tmp_path, log)
    writer = JournalWriter(Folder(tmp_path / "journal"), "3", identity(describe(OPTIONS)))
    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", full)
        writer.add(log, outcome)
        assert not writer.flush()
    writer.add(log, outcome)
    assert not writer.flush()
    assert (tmp_path / "journal" / f"3-{os.getpid()}").read_bytes() == b""


def test_frames_are_written_together_but_no_more_than_a_bound(tmp_path, log, monkeypatch):
    (outcome,) = kept(tmp_path, log)
    sizes, write = [], os.writev
    monkeypatch.setattr(os, "writev", lambda *given: sizes.append(write(*given)) or sizes[-1])
    writer = journals(tmp_path, "3").writer
    for _ in range(1000):
        writer.add(log, outcome)
    writer.close()
    each = writer.size // 1000
    assert sum(sizes) == writer.size == 1000 * each
    assert 2 < len(sizes) < 100
    assert max(sizes) < journal._BATCH + each


def test_a_log_that_is_gone_ends_no_journal(tmp_path, log):
    other = found(write_log(tmp_path / "b.jsonl", log_line("b")))
    outcome, kept_too = (Converter(OPTIONS).convert(job) for job in (log, other))
    Path(log.path).unlink()
    writer = journals(tmp_path).writer
    writer.add(log, outcome)
    writer.add(other, kept_too)
    writer.flush()
    assert taken(tmp_path, other) == kept_too


def test_journals_stay_as_they_are_where_there_is_no_room_to_join_them(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    logs = [found(write_log(tmp_path / f"{name}.jsonl", log_line(name))) for name in "abcde"]
    kept(tmp_path, *logs)
    later = journals(tmp_path, "2")
    later.load(later.names())
    later.get(later.find(logs[0])[0])
    monkeypatch.setattr(journal, "_read", full)
    assert later.settle() == [f"1-{os.getpid()}"]


def test_journals_of_little_use_are_joined(tmp_path):
    logs = [found(write_log(tmp_path / f"{name}.jsonl", log_line(name))) for name in "abcde"]
    outcomes = kept(tmp_path, *logs)
    later = journals(tmp_path, "2")
    later.load(later.names())
    assert [later.get(later.find(job)[0]) for job in logs[:2]] == outcomes[:2]
    names = later.settle()
    assert names == ["2-joined"]
    later.forget(set(later.names()) - set(names))
    assert os.listdir(tmp_path / "journal") == names
    assert [taken(tmp_path, job) for job in logs] == [*outcomes[:2], None, None, None]
    assert oct((tmp_path / "journal" / "2-joined").stat().st_mode & 0o777) == "0o600"


def test_journals_of_use_stay_as_they_are_until_they_are_many(tmp_path, monkeypatch):
    logs = [found(write_log(tmp_path / f"{name}.jsonl", log_line(name))) for name in "ab"]
    for number, job in enumerate(logs):
        kept(tmp_path, job, run=f"0{number}")
    for many, names in ((2, [f"0{number}-{os.getpid()}" for number in range(2)]), (1, ["2-joined"])):
        monkeypatch.setattr(journal, "_MANY", many)
        later = journals(tmp_path, "2")
        later.load(later.names())
        for job in logs:
            later.get(later.find(job)[0])
        assert later.settle() == names


def test_the_page_names_the_options_that_convert_nothing_again():
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text()
    text = " ".join(page.split())
    named = text.partition("may change without a new conversion:")[2].partition("and those that do not affect")[0]
    assert set(re.findall(r"`(--[a-z-]+)`", named)) == {
        each.flag for each in list_options() if each.decides == "output"
    }


def test_a_file_of_sessions_is_identified_once(tmp_path, log, monkeypatch):
    identified = []
    monkeypatch.setattr(journal, "identify", lambda *of, run=journal.identify: identified.append(1) or run(*of))
    parts = [structs.replace(log, size=10, spans=array("Q", (1, 0, 10, 1)), container_size=log.size), log]
    writer = JournalWriter(Folder(tmp_path / "journal"), "3", identity(describe(OPTIONS)))
    seen = []
    with open(log.path, "rb", buffering=0) as file:
        for each in (parts[0], parts[0], parts[1], structs.replace(parts[0], container_size=log.size - 1)):
            writer.identify_open(each, file)
            seen.append(writer.seen.pop(each.display_path))
    assert len(identified) == 3, "another file, or one of another size, is another one"
    assert seen[0] == seen[1] == seen[2] != seen[3]
