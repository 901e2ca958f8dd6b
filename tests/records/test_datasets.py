"""Files and folders of records, line by line or row by row."""

import gzip
import json
import os

import polars as pl
import pytest
import zstandard

from chatsquash.core.errors import UsageError
from chatsquash.records import datasets
from chatsquash.records.datasets import files, rows
from tests.conftest import cases

RECORDS = [
    {"messages": [{"role": "user", "content": f"Número {n} \u2028"}], "tools": [{"name": "ls"}]} for n in range(5)
]
TEXT = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in RECORDS).encode()


def parquet(path, **settings):
    columns = {
        name: [[json.dumps(each) for each in record[name]] for record in RECORDS] for name in ("messages", "tools")
    }
    schema = dict.fromkeys(columns, pl.List(pl.String))
    pl.DataFrame(columns, schema=schema).with_columns(session_id=pl.lit("s")).write_parquet(path, **settings)


def read(path):
    return [json.loads(row.data) for row in rows(str(path))]


WRITERS = [
    ("a.jsonl", lambda path: path.write_bytes(TEXT)),
    ("a.NDJSON", lambda path: path.write_bytes(TEXT)),
    ("a.jsonl.gz", lambda path: path.write_bytes(gzip.compress(TEXT))),
    ("a.jsonl.zst", lambda path: path.write_bytes(zstandard.compress(TEXT))),
    ("a.parquet", parquet),
]


@pytest.mark.parametrize("name, write", WRITERS, ids=[row[0] for row in WRITERS])
def test_the_records_of_every_kind_of_file_are_the_same(tmp_path, name, write):
    write(tmp_path / name)
    assert read(tmp_path / name) == RECORDS
    assert read(tmp_path) == RECORDS
    assert [(row.number, row.session) for row in rows(str(tmp_path))] == [(n, "a") for n in range(1, 6)]


def test_several_members_and_frames_are_read_to_the_end(tmp_path):
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]))
    (tmp_path / "b.jsonl.zst").write_bytes(zstandard.compress(TEXT[:100]) + zstandard.compress(TEXT[100:]))
    assert read(tmp_path) == RECORDS * 2


@pytest.mark.parametrize("batch, most", [(1, 8192), (150, 8192), (32 << 20, 2), (32 << 20, 8192)])
def test_batches_of_any_size_give_the_same(tmp_path, monkeypatch, batch, most):
    monkeypatch.setattr(datasets, "_BATCH", batch)
    monkeypatch.setattr(datasets, "_MAX_ROWS", most)
    parquet(tmp_path / "a.parquet", row_group_size=2)
    assert read(tmp_path / "a.parquet") == RECORDS


def test_cells_may_be_json_texts_objects_texts_or_null(tmp_path):
    objects = [[{"role": "user", "content": "hi"}], [{"role": "user", "content": None}], None]
    frame = pl.DataFrame({"messages": objects, "tools": ['[{"name":"ls"}]', "", None], "more": [1, 2, 3]})
    frame.write_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == [
        {"messages": objects[0], "tools": '[{"name":"ls"}]'},
        {"messages": objects[1], "tools": ""},
        {},
    ]


def test_a_folder_stands_for_its_record_files_or_for_those_in_data(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("train-00001-of-00002.jsonl", "train-00000-of-00002.jsonl", "notes.md", "a.json", "b.gz", "c.txt.gz"):
        (data / name).write_bytes(TEXT)
    assert [file.name for file in files(str(tmp_path))] == ["train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl"]
    (tmp_path / "top.jsonl").write_bytes(TEXT)
    assert [file.name for file in files(str(tmp_path))] == ["top.jsonl"]


@cases(
    "name, data, message",
    ("a.jsonl.gz", b"no gzip", "cannot be read (not compressed, despite its suffix)"),
    ("a.jsonl.gz", gzip.compress(os.urandom(9999))[:-100], "cannot be read (the compressed data ends early)"),
    ("a.jsonl.gz", gzip.compress(TEXT)[:20] + b"\0" * 99, "cannot be read ("),
    ("a.jsonl.zst", b"no zstd", "cannot be read (not compressed, despite its suffix)"),
    ("a.jsonl.zst", zstandard.compress(TEXT)[:-5], "cannot be read (the compressed data ends early)"),
    ("a.parquet", b"no parquet", "cannot be read ("),
    ("a.parquet", b"", "cannot be read ("),
)
def test_a_file_that_is_broken_is_told(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        list(rows(str(tmp_path / name)))
    assert str(caught.value).startswith(f"{tmp_path / name}: {message}")
    assert "\n" not in str(caught.value)


def test_zstd_without_its_package_is_told(tmp_path, monkeypatch):
    import sys

    (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(TEXT))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(UsageError, match=r"chatsquash\[zstd\]"):
        read(tmp_path / "a.jsonl.zst")


def test_the_name_of_a_session_is_the_files_without_suffixes(tmp_path):
    for name in ("2026-01-12.jsonl", "x.y.jsonl.zst", "train-0.parquet", "odd.name"):
        assert datasets.DatasetRow(tmp_path / name, 1, b"").session == {
            "odd.name": "odd.name",
            "x.y.jsonl.zst": "x.y",
        }.get(name, name.rpartition(".")[0])
