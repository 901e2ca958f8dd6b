"""Compressed logs are read as plain ones are, as far as they are whole and within the bounds."""

import bz2
import gzip
import importlib
import json
import lzma
import os
import random
import stat
import sys
import tracemalloc
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert
from chatsquash.core.log import Log
from chatsquash.reading import sessions
from chatsquash.session.converter import Converter
from chatsquash.sources import open as opening
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.open import open_file
from chatsquash.storage import decoders
from tests.conftest import cases, examples, log_line, tree, write_log

ROWS = [log_line(*"abc"[: n + 1], at=n) for n in range(3)]
DATA = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
WAYS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}
EARLY, DAMAGED = "the compressed data ends early", "the compressed data is damaged"
GARBAGE = "other data follows the compressed data"
PIECE = 1000


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    return tmp_path


def read(path, **options):
    with open_file(path, Options(**options)) as file:
        data = b"".join(iter(lambda: file.read(PIECE), b""))
        return data, getattr(file, "problem", None)


def put(path, data: bytes):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [0, 1, 999, 1000, 200_000])
def test_what_is_in_a_compressed_file_comes_out(tmp_path, way, size):
    data = os.urandom(size)
    assert read(put(tmp_path / "x", WAYS[way](data))) == (data, None)


@pytest.mark.parametrize("way", WAYS)
def test_streams_in_a_row_are_one(tmp_path, way):
    compress = WAYS[way]
    data = compress(b"a\n") + compress(b"") + compress(b"b" * 5000)
    assert read(put(tmp_path / "x", data)) == (b"a\n" + b"b" * 5000, None)


def test_a_frame_of_zstd_without_data_is_passed_over(tmp_path):
    frame = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    assert read(put(tmp_path / "x", frame + zstandard.compress(b"x") + frame)) == (b"x", None)


@pytest.mark.parametrize("way", WAYS)
@cases("change, whole, problem",
    ("zeros at the end are none", lambda data: data + bytes(5000), True, None),
    ("something behind it", lambda data: data + b"more" * 5000, True, GARBAGE),
    ("a little something behind it", lambda data: data + b"x", True, GARBAGE),
    ("the end is cut", lambda data: data[:-3], False, EARLY),
    ("half of it is cut", lambda data: data[: len(data) // 2], False, EARLY),
    ("a changed byte in the middle", lambda data: data[:5000] + bytes([data[5000] ^ 255]) + data[5001:], False, DAMAGED),
)  # fmt: skip
def test_what_was_whole_of_a_broken_file_is_read(tmp_path, way, change, whole, problem):
    if way == "zst" and problem == DAMAGED:
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        compress = compressor.compress
    else:
        compress = WAYS[way]
    data = random.Random(0).randbytes(20_000)
    got, seen = read(put(tmp_path / "x", change(compress(data))))
    assert seen == problem
    assert got == data if whole else data.startswith(got) or problem == DAMAGED


# By a seed, since of some lines one byte in 70,000 can be damaged so that they come out whole: a distance that leads to
# the same letters elsewhere.
_LETTERS = random.Random(0)
LINES = b"".join(b"%d %s\n" % (number, _LETTERS.randbytes(20).hex().encode()) for number in range(400))


def whole_before(data: bytes) -> bytes:
    """What zlib gives of a member up to its damage, a byte at a time, as ``zcat`` has it."""
    made, one = b"", zlib.decompressobj(31)
    for place in range(len(data)):
        try:
            made += one.decompress(data[place : place + 1])
        except zlib.error:
            break
    return made


def test_a_gzip_that_is_damaged_late_gives_all_that_was_whole_before(tmp_path):
    data = gzip.compress(LINES, mtime=0)
    for place in [*range(len(data) - 40, len(data)), *range(20, len(data), len(data) // 30)]:
        damaged = data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]
        got, seen = read(put(tmp_path / "x", damaged))
        assert got == whole_before(damaged), place
        assert seen in (DAMAGED, EARLY), place
        if place >= len(data) - 8:
            assert (got, seen) == (LINES, DAMAGED), "the checksum and the length"


@pytest.mark.parametrize("before", [b"", b"first\n" * 1000, os.urandom(100_000)], ids=["none", "short", "long"])
@pytest.mark.parametrize("size", [400, 100_000, 3_000_000])
def test_members_before_a_damaged_one_are_whole_and_so_is_what_it_begins_with(tmp_path, before, size):
    rest = os.urandom(size // 2).hex().encode()
    damaged = bytearray(gzip.compress(rest))
    damaged[-6] ^= 1
    data = gzip.compress(before) + bytes(damaged) + gzip.compress(b"behind")
    path = put(tmp_path / "x", data)
    assert read(path) == (before + rest, DAMAGED)
    with open_file(path) as file:
        hashed = []
        file.hashed = lambda part: hashed.append(bytes(part))
        assert file.seek(0, os.SEEK_END) == len(before + rest)
        file.finish()
        assert b"".join(hashed) == data, "each byte once, although some were expanded twice"


@pytest.mark.parametrize("way", ["bz2", "xz", "zst"])
def test_other_kinds_give_what_their_blocks_gave_before_the_damage(tmp_path, way):
    # By a seed: of one in some thousand texts, the damaged end of bzip2 asks for more bytes than there are.
    letters = random.Random(0)
    text = b"".join(b"%d %s\n" % (number, letters.randbytes(40).hex().encode()) for number in range(20_000))
    compress = zstandard.ZstdCompressor(write_checksum=True).compress if way == "zst" else WAYS[way]
    data = bytearray(compress(text))
    data[-60] ^= 255
    got, seen = read(put(tmp_path / "x", bytes(data)))
    assert seen == DAMAGED
    half = len(text) // 2  # what the damaged block holds may be anything
    assert got[:half] == text[:half]


@pytest.mark.parametrize("sessions_by", [None, "id"])
def test_of_a_log_with_a_damaged_checksum_all_lines_are_converted(here, sessions_by):
    data = bytearray(gzip.compress(DATA))
    data[-5] ^= 4
    put(here / "logs/a.jsonl.gz", bytes(data))
    summary = convert("logs", "out", Options(sessions_by=sessions_by))
    assert (summary.written, summary.lines, len(findings("cut-short"))) == (1, 3, 1)
    assert not summary.complete


@pytest.mark.parametrize("way", WAYS)
@cases(
    "bound, problem",
    ({"max_expansion": 3}, "it expands to more than 3 times its size (--max-expansion allows more)"),
    ({"max_expanded": 5000}, "it expands to more than 5,000 bytes (--max-expanded allows more)"),
)
def test_expansion_is_bounded(tmp_path, way, bound, problem):
    path = put(tmp_path / "x", WAYS[way](b"x" * 1_000_000))
    allowed = bound.get("max_expanded", 3 * path.stat().st_size)
    assert read(path, **bound) == (b"x" * allowed, problem)
    exact = read(path, max_expanded=1_000_000, max_expansion=10**6)
    assert exact == (b"x" * 1_000_000, None)


@pytest.mark.parametrize("way", WAYS)
def test_a_bomb_takes_no_memory(tmp_path, way):
    path = put(tmp_path / "x", WAYS[way](bytes(100_000_000)))
    with open_file(path, Options(max_expansion=10**6)) as file:
        tracemalloc.start()
        try:
            assert file.seek(0, os.SEEK_END) == 100_000_000
            assert tracemalloc.get_traced_memory()[1] < 50_000_000
        finally:
            tracemalloc.stop()


def test_an_archive_that_takes_much_memory_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(decoders, "MEMORY", 1 << 20)
    data = lzma.compress(b"x" * 9000, preset=9)
    assert read(put(tmp_path / "x", data)) == (b"", "it takes more than 1 MiB of memory to expand")
    frame = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=24, write_content_size=0)
    ).compressobj()
    data = frame.compress(os.urandom(100)) + frame.flush()
    assert read(put(tmp_path / "x", data)) == (b"", "it takes more than 1 MiB of memory to expand")


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 1200), st.integers(1, 700)), max_size=12), st.sampled_from(list(WAYS)))
def test_places_are_those_of_the_expanded_file(tmp_path_factory, steps, way):
    data = bytes(range(256)) * 4
    path = put(tmp_path_factory.mktemp("x") / "x", WAYS[way](data))
    with open_file(path) as file:
        for place, length in steps:
            assert file.seek(place) == min(place, len(data))
            assert file.read(length) == data[place : place + length]
            assert file.tell() == min(max(place, min(place + length, len(data))), len(data))


@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_on_the_disk_are_hashed_once_each(tmp_path, way):
    path = put(tmp_path / "x", WAYS[way](os.urandom(300_000)) + b"garbage" * 20_000)
    hashed = []
    with open_file(path) as file:
        file.hashed = lambda part: hashed.append(bytes(part))
        file.seek(250_000)
        file.seek(10)
        file.finish()
    assert b"".join(hashed) == path.read_bytes()


@cases("data", b"", b"{}", b"\x1f", b"\x1f\x8b", b"BZ", b"BZhello world", b"\xfd7zX", b"\x28\xb5\x2f", b"PK\x03\x04")
def test_what_no_other_begins_with_is_plain(tmp_path, data):
    with open_file(put(tmp_path / "x.gz", data)) as file:
        assert not isinstance(file, ExpandedFile)
        assert file.read() == data


def test_zstd_without_its_library_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    found = importlib.import_module

    def missing(name):
        if "zst" in name:
            raise ImportError(name)
        return found(name)

    monkeypatch.setattr(decoders, "import_module", missing)
    path = put(tmp_path / "x.jsonl.zst", zstandard.compress(DATA))
    summary = convert(path, tmp_path / "out")
    assert summary.left_out == {"unreadable-log": 1}
    said = "the log cannot be read (zstd requires Python 3.14, or pip install 'chatsquash[zstd]')"
    assert said in (tmp_path / "out/reports/integrity-report.txt").read_text()


@pytest.mark.skipif(sys.version_info < (3, 14), reason="Python cannot read zstd itself yet")
def test_zstd_needs_no_library_from_python_3_14_on(tmp_path, monkeypatch):
    monkeypatch.setattr(decoders, "Zstandard", lambda *_: pytest.fail("used"))
    assert read(put(tmp_path / "x", zstandard.compress(DATA))) == (DATA, None)


# Whole runs


def outputs(out="out") -> dict[str, bytes]:
    return {name: data for name, data in tree(Path(out)).items() if data is not None and name != "run.json"}


def findings(*codes, out="out"):
    text = (Path(out) / "reports/findings.jsonl").read_text()
    found = [json.loads(row) for row in text.splitlines()]
    return [(each["code"], each["severity"], each["file"], each["text"]) for each in found if each["code"] in codes]


@pytest.mark.parametrize("way", WAYS)
def test_a_compressed_log_gives_the_bytes_of_the_plain_one(here, way):
    plain = put(here / "logs/support-01.jsonl", DATA)
    convert("logs", "plain", Options(group_by="scenario"))
    plain.unlink()
    put(here / f"logs/support-01.jsonl.{way}", WAYS[way](DATA))
    summary = convert("logs", "out", Options(group_by="scenario"))
    assert summary.written == 1
    assert summary.bytes == len(DATA)
    one, other = outputs("plain"), outputs("out")
    assert {name.replace(f".{way}", ""): data.replace(f".{way}".encode(), b"") for name, data in other.items()} == one


def test_suffixes_of_compressed_logs_are_read_and_others_are_counted(here):
    for name in ("a.jsonl.gz", "b.NDJSON.Gz", "c.txt.gz", "d.gz", "e.json.gz", ".gz"):
        put(here / "logs" / name, gzip.compress(DATA))
    put(here / "logs" / "f.json.gz", gzip.compress(b'{"not": "known"}'))
    summary = convert("logs")
    assert summary.others == {".gz": 3, "no suffix": 1}
    assert summary.written == 3
    assert convert("logs/*.gz", "other").written == 4


@pytest.mark.parametrize("way", WAYS)
def test_what_is_cut_is_reported_and_the_rest_of_the_run_goes_on(here, way):
    data = WAYS[way](DATA + os.urandom(5000).hex().encode() + b"\n")
    put(here / f"logs/a.jsonl.{way}", data[: -len(data) // 3])
    write_log(here / "logs/b.jsonl", log_line("good"))
    summary = convert("logs")
    ((_, severity, file, text),) = findings("cut-short")
    assert (severity, file) == ("error", f"logs/a.jsonl.{way}")
    assert text == f"only the beginning of the log was read: {EARLY}; look for an intact copy"
    assert not summary.complete
    assert summary.written >= 1
    assert sum(summary.sizes) == summary.bytes


def test_a_cut_between_lines_shows_in_the_exit_code_and_stops_a_strict_run(here, command):
    data = zstandard.ZstdCompressor().compressobj()
    whole = data.compress(DATA) + data.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    put(here / "logs/a.jsonl.zst", whole)
    assert command("convert", "logs", "--quiet") == (3, "", "")
    assert [text[:39] for *_, text in findings("cut-short")] == ["only the beginning of the log was read:"]
    code, _, err = command("convert", "logs", "--strict")
    assert code == 1
    assert err.startswith(
        "error: stopped by --strict; nothing was written: logs/a.jsonl.zst: only the beginning of the log"
    )
    assert err.endswith("[cut-short]\n")


DECIDE = "check which one is complete and delete the other"


@cases("copy, severity, text",
    ("the same", DATA, "info", "not read because 'logs/a.jsonl' has the same content"),
    (
        "another end",
        DATA + b"{}\n",
        "warning",
        f"'logs/a.jsonl' is read instead, but the copies differ from byte {len(DATA)} on: {DECIDE}",
    ),
    (
        "another byte",
        b"[" + DATA[1:],
        "warning",
        f"'logs/a.jsonl' is read instead, but the copies differ from byte 0 on: {DECIDE}",
    ),
)  # fmt: skip
def test_of_a_log_that_is_there_twice_the_plain_one_counts(here, copy, severity, text):
    put(here / "logs/a.jsonl", DATA)
    put(here / "logs/a.jsonl.zst", zstandard.compress(copy))
    summary = convert("logs")
    assert (summary.written, summary.lines, summary.others) == (1, 3, {"second copy": 1})
    code = "duplicate-log" if severity == "info" else "duplicate-log-differs"
    assert findings("duplicate-log", "duplicate-log-differs") == [(code, severity, "logs/a.jsonl.zst", text)]
    assert [text for *_, text in findings("file-not-read")] == [
        "1 second copy not read: only one copy of a log is read"
    ]


def test_of_two_compressed_ones_the_first_by_name_counts_and_one_that_cannot_be_read_is_said(here, monkeypatch):
    put(here / "logs/a.jsonl.gz", gzip.compress(DATA))
    put(here / "logs/a.jsonl.xz", lzma.compress(DATA))
    put(here / "logs/b.jsonl.gz", gzip.compress(DATA))
    convert("logs")
    assert [(file, text) for _, _, file, text in findings("duplicate-log")] == [
        ("logs/a.jsonl.xz", "not read because 'logs/a.jsonl.gz' has the same content")
    ]


def test_a_copy_counts_where_the_plain_log_is_passed_over(here):
    put(here / "logs/a.jsonl", DATA)
    put(here / "logs/a.jsonl.gz", gzip.compress(DATA))
    assert convert("logs", "out", Options(exclude=("*.jsonl",))).others == {}


# Sessions by id in a compressed file

MIXED = [log_line(f"{name}{n}", at=n, session_id=name) for n in range(1, 40) for name in ("x", "y", "z")]
MIXED_DATA = b"".join(json.dumps(row).encode() + b"\n" for row in MIXED)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_sessions_of_a_compressed_file_are_taken_apart(here, way, workers, monkeypatch):
    monkeypatch.setattr("chatsquash.conversion.workers._WORTH_A_PROCESS", 1)
    put(here / "a.jsonl", MIXED_DATA)
    options = Options(sessions_by="id", workers=workers)
    convert("a.jsonl", "plain", options)
    (here / "a.jsonl").unlink()
    put(here / f"a.jsonl.{way}", WAYS[way](MIXED_DATA))
    summary = convert(f"a.jsonl.{way}", "out", options)
    assert (summary.written, summary.bytes, sum(summary.sizes)) == (3, len(MIXED_DATA), len(MIXED_DATA))
    assert outputs("plain")["1970-01-01.jsonl"] == outputs("out")["1970-01-01.jsonl"]
    assert not (here / "out/.chatsquash/expanded").exists()


def test_what_is_expanded_is_its_owners_alone_and_goes_when_its_sessions_are_done(here, monkeypatch):
    for name in "ab":
        put(here / "logs" / f"{name}.jsonl.gz", gzip.compress(MIXED_DATA))
    seen = []

    def observe(job, outcome, total):
        files = list((here / "out/.chatsquash/expanded").iterdir())
        seen.append([stat.S_IMODE(file.stat().st_mode) for file in files])
        assert job.display_path in ("logs/a.jsonl.gz", "logs/b.jsonl.gz")

    convert("logs", "out", Options(sessions_by="id"), observe)
    assert len(seen) == 6
    assert {mode for modes in seen for mode in modes} == {0o600}
    assert len(seen[-1]) == 1


def test_without_a_folder_each_session_is_read_from_the_compressed_file(here):
    path = put(here / "a.jsonl.gz", gzip.compress(MIXED_DATA))
    parts = sessions.split(Log(str(path), "a", "a", 1), Options())
    assert len(parts) == 3
    assert {part.path for part in parts} == {str(path)}
    found = [Converter(Options(anonymize=False)).convert(part) for part in parts]
    assert [outcome.session for outcome in found] == ["x", "y", "z"]
    assert sum(outcome.account.size for outcome in found) == len(MIXED_DATA)


def test_a_cut_file_that_is_taken_apart_is_reported_once(here):
    data = gzip.compress(MIXED_DATA)
    put(here / "logs/a.jsonl.gz", data[: len(data) * 2 // 3])
    summary = convert("logs", "out", Options(sessions_by="id"))
    assert len(findings("cut-short")) == 1
    assert not summary.complete


def test_rejected_lines_of_a_compressed_log_are_kept(here):
    put(here / "logs/a.jsonl.zst", zstandard.compress(DATA + b"broken\n" + DATA + b"again\n"))
    convert("logs", "out", Options(keep_rejected=True))
    assert (here / "out/reports/rejected-lines.jsonl").read_bytes() == b"broken\nagain\n"


def test_inspect_check_and_translate_read_compressed_files(here, command):
    path = put(here / "a.jsonl.gz", gzip.compress(DATA))
    assert "record: " in command("inspect", path).out
    assert command("translate", path, "--to", "portable", "--output", "-").code == 0
    convert(path)
    (record,) = (here / "out").glob("*.jsonl")
    assert command("check", put(here / "r.jsonl.gz", gzip.compress(record.read_bytes()))).code == 0


def test_a_compressed_document_is_read(here):
    held = (Path(__file__).parents[2] / "sample_logs/documents/goose-beehives.json").read_bytes()
    put(here / "logs/a.json.gz", gzip.compress(held))
    summary = convert("logs")
    assert (summary.written, summary.bytes) == (1, len(held))


RAISED = [IndexError("x"), KeyError("x"), RuntimeError("x"), NotImplementedError("x"), AssertionError("x"), EOFError()]


@pytest.mark.parametrize("problem", RAISED, ids=lambda each: type(each).__name__)
def test_whatever_a_parser_raises_the_good_session_is_written(here, monkeypatch, problem):
    def fails(*_, **__):
        raise problem

    put(here / "logs/a.jsonl.gz", gzip.compress(DATA))
    put(here / "logs/a.har", b'{"log": {"version": "1.2", "creator": {}, "entries": [{"startedDateTime": "x"}]}}')
    (here / "logs/a.zip").write_bytes(b"PK\5\6" + bytes(18))
    write_log(here / "logs/good.jsonl", log_line("good"))
    monkeypatch.setattr(decoders.Gzip, "decompress", fails)
    monkeypatch.setattr("zipfile.ZipFile.infolist", fails)
    monkeypatch.setattr("chatsquash.sources.unfold.har.elements", fails)
    summary = convert("logs")
    assert (summary.written, summary.complete) == (1, False)


def test_the_beginning_of_a_file_of_sessions_is_examined_once_until_it_changes(tmp_path, monkeypatch):
    path, examined = tmp_path / "a.jsonl", []
    monkeypatch.setattr(opening, "_head", lambda file, head=opening._head: examined.append(1) or head(file))

    def content():
        with open_file(path, is_part=True) as file:
            return file.read()

    path.write_bytes(DATA)
    assert (content(), content(), len(examined)) == (DATA, DATA, 1)
    path.write_bytes(gzip.compress(DATA))
    assert (content(), content()) == (DATA, DATA), "compressed files are recognized each time"
    path.write_bytes(DATA + DATA)
    assert content() == DATA + DATA
