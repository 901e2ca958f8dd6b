"""Damaged samples, each by chance and the same in every run: a session is left out at worst, and nothing crashes."""

import bz2
import csv
import gzip
import json
import lzma
import os
import random
import sqlite3
import tarfile
import zipfile

import polars as pl
import pytest
import zstandard

from chatsquash import Options, convert_session
from chatsquash.sources.open import open_file
from tests.samples.table import agents, exports

SAMPLES = [*agents(), *exports()]
DATABASES = (".db", ".vscdb")
OPTIONS = Options(anonymize=False, conversations="all", max_database_time=20)


COMPRESSIONS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress}
MUTATIONS = int(os.environ.get("MUTATIONS", "0"))
SEED = os.environ.get("SEED", "")
"""Another one makes other mutations."""


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A sample with a few bytes that are others, gone, or there twice."""
    held = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(held)) if held else 0
        stop = min(len(held), at + chance.choice((1, 1, 2, 8, 200)))
        match chance.randrange(6):
            case 0:
                held[at:stop] = bytes(chance.randrange(256) for _ in range(stop - at))
            case 1:
                del held[at:stop]
            case 2:
                held[at:at] = held[at:stop]
            case 3:
                del held[at:]
            case 4:
                held[at:stop] = chance.choice((b"null", b"[]", b"{}", b'"x"', b"-1", b"1e999", b"true"))
            case 5:
                other = chance.randrange(len(held)) if held else 0
                held[at:at] = held[other : other + 100]
    return bytes(held)


@pytest.mark.parametrize("name, path", SAMPLES, ids=[f"{name}-{path.name}" for name, path in SAMPLES])
def test_a_damaged_sample_breaks_nothing(name, path, tmp_path):
    chance = random.Random(f"{name} {path.name}{SEED}")
    data, copy = path.read_bytes(), tmp_path / path.name
    usual = 10 if path.suffix in DATABASES else 25  # since each of a database starts a process
    for number in range(MUTATIONS or usual):
        copy.write_bytes(damaged(data, chance))
        outcomes = convert_session(copy, OPTIONS)
        assert outcomes, number


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_what_a_damaged_stream_gives_does_not_depend_on_the_size_of_the_reads(kind, tmp_path):
    chance = random.Random(kind + SEED)
    repeated = b'{"role": "user", "content": "lorem ipsum dolor"}\n'
    texts = [repeated * 8000, repeated * 20 + bytes(100_000), chance.randbytes(20_000).hex().encode()]
    copy = tmp_path / f"log.jsonl.{kind}"
    for number in range(MUTATIONS or 15):
        copy.write_bytes(damaged(COMPRESSIONS[kind](chance.choice(texts)), chance))
        given = [_read(copy, size) for size in (997, 1 << 16, 1 << 24)]
        assert given == given[:1] * 3, number


def _read(path, size):
    with open_file(path, Options()) as file:
        data = b"".join(iter(lambda: file.read(size), b""))
        return data, file.tell(), file.seek(0) or file.seek(0, os.SEEK_END), getattr(file, "problem", None)


ROW = {"session_id": "s", "request": {"messages": [{"role": "user", "content": "q"}]}}
REPLY = {"choices": [{"message": {"role": "assistant", "content": "a"}}]}


def _log(path):
    path.write_bytes(
        b"".join(json.dumps({**ROW, "timestamp": at, "response": REPLY}).encode() + b"\n" for at in range(9))
    )


def _zip(path, log):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(log, "folder/a.jsonl")
        archive.writestr("b.json", log.read_bytes().splitlines()[0], zipfile.ZIP_BZIP2)


def _tar(path, log):
    with tarfile.open(path, "w:" + path.suffix.removeprefix(".").replace("tar", "")) as archive:
        archive.add(log, "folder/a.jsonl")


def _parquet(path, log):
    rows = [json.loads(line) for line in log.read_bytes().splitlines()]
    cells = {name: [json.dumps(row[name]) for row in rows] for name in ("request", "response")}
    pl.DataFrame(cells).write_parquet(path)


def _csv(path, log):
    rows = [json.loads(line) for line in log.read_bytes().splitlines()]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ("request", "response"))
        writer.writeheader()
        writer.writerows({name: json.dumps(row[name]) for name in ("request", "response")} for row in rows)


def _database(path, log):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sessions (id TEXT, data TEXT)")
        database.execute("INSERT INTO sessions VALUES (?, ?)", ("s", log.read_text()))


def _compressed(path, log):
    path.write_bytes(COMPRESSIONS[path.suffix[1:]](log.read_bytes()))


def _sample(path, log):
    path.write_bytes(next(each for _, each in exports() if each.suffix == path.suffix).read_bytes())


CONTAINERS = {
    "a.zip": _zip, "a.tar": _tar, "a.tar.gz": _tar, "a.tar.xz": _tar, "a.parquet": _parquet, "a.csv": _csv,
    "a.db": _database, "a.har": _sample, "a.flow": _sample, **{f"a.jsonl.{kind}": _compressed for kind in COMPRESSIONS},
}  # fmt: skip

CONFINED = ("a.parquet", "a.db")  # each of which starts a process


@pytest.mark.parametrize("name", CONTAINERS)
def test_next_to_a_damaged_container_the_good_session_is_written(name, here, command):
    chance = random.Random(name + SEED)
    (here / "logs").mkdir()
    _log(here / "logs/good.jsonl")
    path = here / "logs" / name
    CONTAINERS[name](path, here / "logs/good.jsonl")
    data = path.read_bytes()
    for number in range(MUTATIONS or 4):
        path.write_bytes(damaged(data, chance))
        done = command("convert", "logs", f"logs/{name}", "--replace", "--quiet", "--full")
        assert done.code in (0, 3), (number, done.err)
        assert b'"q"' in b"".join(each.read_bytes() for each in (here / "out").glob("*.jsonl")), number
        assert_inspected(command, f"logs/{name}", number)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_that_ends_early_is_inspected_as_far_as_it_goes(name, here, command):
    _log(here / "good.jsonl")
    path = here / name
    CONTAINERS[name](path, here / "good.jsonl")
    data = path.read_bytes()
    for tenth in range(3 if name in CONFINED else 1, 11, 3 if name in CONFINED else 1):
        path.write_bytes(data[: len(data) * tenth // 10])
        assert_inspected(command, name, tenth)
        done = command("inspect", name, "good.jsonl")
        assert done.code in (0, 3), tenth
        assert "good.jsonl: session" in done.out, tenth


def assert_inspected(command, name, number):
    done = command("inspect", name)
    assert (done.code in (0, 3), done.err) == (True, ""), number
    unread = ("unreadable-log", "cut-short", "unreadable-archive", "truncated-archive", "archive-member")
    assert (done.code == 3) == any(f"[{code}]" in done.out for code in unread), number


def test_cells_that_are_equal_expand_no_further_than_other_bytes(here, command):
    """The footer counts the dictionary of a column; the rows that it stands for are many times that."""
    (here / "logs").mkdir()
    _log(here / "logs/good.jsonl")
    for cells in (pl.Series(["x" * 1000] * 5_000), pl.Series([None] * 1_000_000, dtype=pl.String)):
        pl.DataFrame({"request": cells, "response": cells}).write_parquet(here / "logs/a.parquet")
        done = command("convert", "logs", "logs/a.parquet", "--replace", "--quiet", "--full")
        assert done.code == 3
        assert "--max-expansion allows more" in (here / "out/reports/integrity-report.txt").read_text()
        assert b'"q"' in b"".join(each.read_bytes() for each in (here / "out").glob("*.jsonl"))
    pl.DataFrame({"request": [str(at) for at in range(1000)], "response": ["r"] * 1000}).write_parquet(
        here / "a.parquet"
    )
    with open_file(here / "a.parquet") as file:
        assert [json.loads(line)["request"] for line in file.readlines()] == [str(at) for at in range(1000)]
