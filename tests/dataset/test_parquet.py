"""What stands in a Parquet file, as polars reads it."""

import json
from array import array
from pathlib import Path

import polars as pl

from chatsquash.dataset import arrow, parquet
from chatsquash.dataset.columns import Field
from chatsquash.dataset.parquet import ParquetFile, rows_per_group
from chatsquash.dataset.store import Output
from tests.conftest import cases

COLUMNS = [Field(name, "list", (Field("item", "json"),)) for name in ("messages", "tools")]
TURNS = Field("item", "struct", (Field("role", "text"), Field("content", "text")))
TEXTS = [Field("conversations", "list", (TURNS,)), Field("system", "text"), Field("entries", "int")]


def written(folder, columns, rows) -> Path:
    out = Output(folder / "out")
    file = ParquetFile(out, "data/a.parquet", columns)
    for record, beside in rows:
        file.add(record, beside)
    file.finish()
    (staged,) = out.staged_files()
    assert staged.lines == len(rows)
    out.commit()
    out.discard()
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == [
        "a.parquet",
        "lock",
        "state.json",
        "written.json",
    ]
    return folder / "out/data/a.parquet"


def texts(path) -> list[dict]:
    """The rows of a file; JSON is text."""
    return pl.read_parquet(path).to_dicts()


def test_messages_are_the_texts_of_the_record(tmp_path):
    """Spaces, the order of keys, long numbers, escapes and what is nested stay as they are."""
    spelled = ['{"b": 1, "a":2.50}', '{"n":123456789012345678901234567890}', '{"s":"\\u00e9 é"}', '[{"x":[null]}]']
    record = f'{{"messages":[{",".join(spelled)}],"tools":[]}}'.encode()
    assert texts(written(tmp_path, COLUMNS, [(record, {})])) == [{"messages": spelled, "tools": []}]


def test_so_are_those_of_a_record_with_lone_surrogates(tmp_path):
    spelled = ['{"n":123456789012345678901234567890,"s":"\\ud800 é"}', "2.5"]
    record = f'{{"messages":[{",".join(spelled)}]}}'.encode()
    assert texts(written(tmp_path, COLUMNS, [(record, {})])) == [{"messages": spelled, "tools": None}]


def test_what_a_record_lacks_is_null(tmp_path):
    rows = [(b'{"messages":[1]}', {}), (b'{"messages":[],"tools":[2]}', {})]
    assert texts(written(tmp_path, COLUMNS, rows)) == [
        {"messages": ["1"], "tools": None},
        {"messages": [], "tools": ["2"]},
    ]


def test_texts_and_numbers_have_columns_of_their_own(tmp_path):
    said = [{"role": "user", "content": "é\n\u0000"}, {"role": "assistant", "content": ""}]
    rows = [
        (json.dumps({"conversations": said, "system": "s"}).encode(), {"entries": 5}),
        (b'{"conversations":[]}', {"entries": None}),
    ]
    path = written(tmp_path, TEXTS, rows)
    assert pl.read_parquet(path).to_dicts() == [
        {"conversations": said, "system": "s", "entries": 5},
        {"conversations": [], "system": None, "entries": None},
    ]


def test_the_footer_names_the_types_and_nothing_else(tmp_path):
    path = written(tmp_path, COLUMNS, [(b'{"messages":[]}', {})])
    found = pl.read_parquet_metadata(path)
    assert found[arrow.KEY] == arrow.schema(COLUMNS)


def test_many_batches_make_one_file_with_the_rows_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_BATCH", 100)
    rows = [(b'{"messages":[%d,"%b"]}' % (number, b"x" * number), {}) for number in range(200)]
    found = texts(written(tmp_path, COLUMNS, rows))
    assert [json.loads(row["messages"][0]) for row in found] == list(range(200))


def test_the_same_rows_make_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_BATCH", 1000)
    rows = [(b'{"messages":[%d]}' % number, {}) for number in range(1000)]
    one, other = (written(tmp_path / name, COLUMNS, rows).read_bytes() for name in ("a", "b"))
    assert one == other


@cases(
    "sizes, aim, most, rows",
    ("one row", [5], 100, 200, 20),
    ("all in one group", [10] * 10, 100, 200, 10),
    ("groups of the size aimed at", [10] * 100, 100, 200, 10),
    ("a row that is larger than a group", [500], 100, 200, 1),
    ("large rows near each other make smaller groups", [1] * 40 + [120] + [1] * 5 + [120] + [1] * 200, 100, 200, 6),
    ("rows of nothing", [0, 0], 100, 200, 200),
)
def test_groups_are_of_about_one_size(monkeypatch, sizes, aim, most, rows):
    monkeypatch.setattr(parquet, "_TARGET", aim)
    monkeypatch.setattr(parquet, "_LIMIT", most)
    found = rows_per_group(array("Q", sizes))
    assert found == rows
    groups = [sum(sizes[at : at + found]) for at in range(0, len(sizes), found)]
    assert max(groups) <= max(most, *sizes)
