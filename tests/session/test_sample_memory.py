"""The memory of samples does not grow with the square of a session, although their text does."""

import pickle
import tracemalloc

import msgspec
import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.conversion import frames
from chatsquash.conversion.journal import JournalWriter
from chatsquash.core.outcome import Outcome, Record
from chatsquash.session import samples
from chatsquash.storage import line_spool
from chatsquash.storage.line_spool import LineSpool, SpooledLine
from tests.conftest import cases, user, write_log
from tests.dataset.test_summary import NO_USE
from tests.trees.logs import AGENT, Log

TEXT = "the test of sums fails because the first line is skipped " * 4


def growing(turns):
    log, history = Log(), [AGENT]
    for at in range(turns):
        history.append(user(f"Question {at}: {TEXT}"))
        history.append(log.add(*history, says=f"Answer {at}: {TEXT}"))
    return log.lines


def size_of_outcome(path, turns, **options):
    """The number of bytes in memory of the outcome of a session of so many turns."""
    write_log(path, *growing(turns))
    given = Options(anonymize=False, preset="hf", **options)
    convert_session(path, given)  # caches
    tracemalloc.start()
    (outcome,) = convert_session(path, given)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(outcome.records) == turns
    return size


@cases("options", ("replies", {"samples": "reply"}), ("a forest", {"samples": "forest"}))
def test_memory_grows_with_the_session_and_not_with_its_square(tmp_path, monkeypatch, options):
    monkeypatch.setattr(samples, "LineSpool", lambda: LineSpool(1 << 16))
    small, large = (size_of_outcome(tmp_path / f"{turns}.jsonl", turns, **options) for turns in (60, 240))
    assert large < 6 * small  # four times as many turns have sixteen times as many bytes


@cases("options", ("replies", {"samples": "reply"}), ("a forest", {"samples": "forest"}), ("flags", {"samples": "reply", "sample_shape": "messages"}))  # fmt: skip
@pytest.mark.parametrize("workers", [1, 2])
def test_lines_outside_of_memory_give_the_same_bytes(tmp_path, monkeypatch, options, workers):
    """Also when an unchanged session is reused from the journal of an earlier run."""
    for at in range(3):
        write_log(tmp_path / f"logs/{at}.jsonl", *growing(12 + at))
    given = Options(anonymize=False, preset="hf", workers=1, **options)
    convert(tmp_path / "logs", tmp_path / "one", given)
    monkeypatch.setattr(line_spool, "MOST", 1)
    monkeypatch.setattr(samples, "LineSpool", lambda: LineSpool(1))
    monkeypatch.setattr("chatsquash.conversion.workers._WORTH_A_PROCESS", 1)
    given = Options(anonymize=False, preset="hf", workers=workers, **options)
    for number in range(2):
        convert(tmp_path / "logs", tmp_path / "other", given)
        write_log(tmp_path / f"logs/{number + 3}.jsonl", *growing(3))
        convert(tmp_path / "logs", tmp_path / "other", given)
        (tmp_path / f"logs/{number + 3}.jsonl").unlink()
    convert(tmp_path / "logs", tmp_path / "other", given)
    for name in ("data/train-00000-of-00001.jsonl", "reports/sessions.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


# The spool


def spooled(*lines):
    spool = LineSpool(most=4)
    return [spool.keep(line) for line in lines]


def test_only_further_lines_are_outside_of_memory():
    kept = spooled(b"1234", b"5", b"", b"678")
    assert [type(each) is bytes for each in kept] == [True, False, False, False]
    assert [bytes(each) for each in kept] == [b"1234", b"5", b"", b"678"]
    assert [len(each) for each in kept] == [4, 1, 0, 3]


def test_a_line_reaches_other_processes_as_bytes():
    outcome = Outcome("s").with_records([Record(each, NO_USE) for each in spooled(b"1234", b'{"a":1}')])
    assert pickle.loads(pickle.dumps(outcome)).records[1].content == b'{"a":1}'
    assert frames.unpack(frames.pack(outcome), Outcome).records[1].line == b'{"a":1}'
    assert [each.line_place.size for each in frames.without_lines(outcome).records] == [5, 8]
    assert msgspec.msgpack.encode(frames.without_lines(outcome))


def test_a_full_disk_keeps_lines_in_memory(monkeypatch):
    def full(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert spooled(b"1234", b"56") == [b"1234", b"56"]


def test_an_incomplete_file_is_an_error():
    line = SpooledLine(lambda: b"12", 3)
    with pytest.raises(OSError, match="a temporary file of this run is incomplete"):
        bytes(line)


def test_a_large_frame_has_the_bytes_of_a_small_one(tmp_path):
    from chatsquash.storage.folder import Folder

    written = []
    for name, most in (("memory", 1 << 20), ("file", 1)):
        spool = LineSpool(most)
        lines = [spool.keep(f'{{"number":{at}}}'.encode()) for at in range(3000)]
        outcome = Outcome("s").with_records([Record(each, NO_USE) for each in lines])
        writer = JournalWriter(Folder(tmp_path / name), "run", b"identity", _name="journal")
        payload = msgspec.msgpack.encode(frames.without_lines(outcome))
        append = writer._append_large if frames.are_spooled(outcome) else None
        offset = append(b"k" * 16, payload, outcome) if append else writer._append(b"k" * 16, payload, frames.lines(outcome))  # fmt: skip
        writer.close()
        (file,) = (tmp_path / name).iterdir()
        assert file.read_bytes()[offset:].splitlines()[-1] == b'{"number":2999}'
        assert writer.size == file.stat().st_size
        written.append(file.read_bytes())
    assert written[0] == written[1]
