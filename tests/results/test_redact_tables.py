"""Parquet files with placeholders in the place of what is private, and columns and types as they were."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.dataset import arrow
from chatsquash.records.datasets import rows
from chatsquash.results.redact import tables
from chatsquash.results.redact.redact import Watch, redact
from tests.conftest import KEY, cases, log_line, write_log

TOKEN = "ghp_Zq7Vn2Lk9Xw4Rt8Bm3Hc6Yd1Pf5Js0GuAe7T"
PLACE = re.compile(r"<[A-Z_]+_[0-9a-f]{10}>")
pytestmark = pytest.mark.usefixtures("here")


def options(**asked):
    return Options(**{"redact": "secrets", "anonymize": False, "anonymize_key": KEY.encode(), **asked})


def redacted(frame, **asked):
    """What becomes of a table, what is said of its records, and what the run came to."""
    found = []
    frame.write_parquet("in.parquet")
    done = redact(["in.parquet"], "out.parquet", options(**asked), Watch(found.append), force=True)
    return pl.read_parquet("out.parquet"), [(each.code, each.line) for each in found], done


MESSAGE = pl.Struct({"role": pl.String, "content": pl.String, "weight": pl.Int64})


@cases("dtype, cells",
    ("texts", pl.String, [f"a {TOKEN}", None, ""]),
    ("lists of texts", pl.List(pl.String), [[TOKEN, "b"], None, []]),
    ("lists of a length", pl.Array(pl.String, 2), [[TOKEN, "b"], ["", None], None]),
    ("messages as structs", pl.List(MESSAGE), [[{"role": "user", "content": TOKEN, "weight": None}], None, []]),
    ("structs in structs", pl.Struct({"a": pl.Struct({"b": pl.String})}), [{"a": {"b": TOKEN}}, None, {"a": None}]),
    ("texts in structs beside times", pl.Struct({"a": pl.String, "t": pl.Datetime("us", "UTC")}), [{"a": TOKEN, "t": datetime(2026, 1, 2, tzinfo=UTC)}, None, None]),
)  # fmt: skip
def test_a_column_keeps_its_type(dtype, cells):
    before = pl.DataFrame({"c": pl.Series(cells, dtype=dtype), "n": [1, 2, 3]})
    after, found, done = redacted(before)
    assert after.schema == before.schema
    assert (found, done.secrets, done.written) == ([], 1, 3)
    assert PLACE.sub(TOKEN, repr(after.rows())) == repr(before.rows())
    assert TOKEN not in repr(after.rows())


def test_what_holds_no_text_is_the_same():
    times = pl.Series([1_700_000_000_123_456_789, None], dtype=pl.Datetime("ns"))
    before = pl.DataFrame(
        {"a": [TOKEN, "x"], "t": times, "b": [b"\xff\x00", None], "f": [0.1, None], "l": [[True], []]}
    )
    after, _, _ = redacted(before)
    assert after.schema == before.schema
    assert after.drop("a").equals(before.drop("a"))


def test_bytes_are_passed_over():
    image = [[{"bytes": TOKEN.encode(), "path": "x.png"}]]
    before = pl.DataFrame(
        {"images": image}, schema={"images": pl.List(pl.Struct({"bytes": pl.Binary, "path": pl.String}))}
    )
    after, _, done = redacted(before)
    assert after.equals(before)
    assert done.secrets == 0


def test_columns_that_list_their_texts_become_columns_of_any():
    values = [TOKEN, "b", TOKEN]
    before = pl.DataFrame(
        {"e": pl.Series(values, dtype=pl.Enum([TOKEN, "b"])), "c": pl.Series(values, dtype=pl.Categorical)}
    )
    after, _, done = redacted(before)
    assert done.secrets == 4
    assert after["e"].dtype == pl.String
    assert [PLACE.sub("P", text) for name in ("e", "c") for text in after[name].cast(pl.String)] == ["P", "b", "P"] * 2
    assert TOKEN.encode() not in Path("out.parquet").read_bytes()


def test_messages_that_are_json_in_texts_are_read_as_messages():
    call = {"id": TOKEN, "function": {"name": "sh", "arguments": json.dumps({"id": TOKEN})}}
    said = [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "weight": 1, "tool_calls": [call]}]
    after, _, done = redacted(pl.DataFrame({"messages": [[json.dumps(each) for each in said]]}))
    (texts,) = after["messages"].to_list()
    reply = json.loads(texts[1])
    assert texts[0] == json.dumps(said[0]), "what has nothing private is spelled as it was"
    assert reply["tool_calls"][0]["id"] == TOKEN, "the id of a call stays"
    assert PLACE.fullmatch(json.loads(reply["tool_calls"][0]["function"]["arguments"])["id"])
    assert reply["weight"] == 0
    assert done.secrets == 1


def test_a_member_that_another_of_its_name_hides_is_not_written():
    hidden = f'{{"role": "user", "content": "{TOKEN}", "content": "x"}}'
    after, _, _ = redacted(pl.DataFrame({"messages": [[hidden]]}))
    assert after["messages"].to_list() == [['{"role":"user","content":"x"}']]


def test_a_reply_is_not_trained_on_that_has_a_placeholder():
    said = [{"role": "assistant", "content": TOKEN, "weight": 1}, {"role": "assistant", "content": "x", "weight": 1}]
    after, found, _ = redacted(pl.DataFrame({"messages": [said]}, schema={"messages": pl.List(MESSAGE)}))
    assert [each["weight"] for each in after["messages"][0].to_list()] == [0, 1]
    assert found == []
    bare = [{"role": "assistant", "content": TOKEN}]
    _, found, _ = redacted(pl.DataFrame({"messages": [bare]}))
    assert found == [("placeholder-in-reply", 1)]


def test_a_number_for_which_its_column_has_no_place_leaves_its_row_out():
    pins = list(range(101, 110))
    before = pl.DataFrame({"pin": pl.Series([*pins, 5], dtype=pl.Int8)})
    after, found, done = redacted(before, redact=None, deny="\n".join(map(str, pins)).encode())
    kept = after["pin"].to_list()
    assert not set(kept) & set(pins)
    assert kept[-1] == 5
    assert {code for code, _ in found} == {"redaction-failed"}
    assert (done.left_out, done.written) == (len(found), len(kept))
    assert len(found) + len(kept) == 10


def test_names_of_columns_have_placeholders_too():
    before = pl.DataFrame(
        {TOKEN: ["a", "b"], "s": [{TOKEN: 1}, None]}, schema={TOKEN: pl.String, "s": pl.Struct({TOKEN: pl.Int64})}
    )
    after, _, _ = redacted(before)
    (name,) = (each for each in after.columns if each != "s")
    assert PLACE.fullmatch(name)
    assert after.rows() == [("a", {name: 1}), ("b", None)]
    assert TOKEN.encode() not in Path("out.parquet").read_bytes()


def test_columns_whose_names_would_be_one_are_refused():
    names = b"Anna\nanna\n"
    pl.DataFrame({"Anna": ["a"], "anna": ["b"]}).write_parquet("in.parquet")
    with pytest.raises(UsageError, match="two columns would have the same name"):
        redact(["in.parquet"], "out.parquet", options(redact="names", redact_names=names), Watch(print))


def test_what_the_file_says_of_itself_has_placeholders():
    pl.DataFrame({"a": ["x"]}).write_parquet("in.parquet", metadata={"who": f"{TOKEN}", "huggingface": "{}"})
    redact(["in.parquet"], "out.parquet", options(), Watch(print))
    footer = pl.read_parquet_metadata("out.parquet")
    assert PLACE.fullmatch(footer["who"])
    assert footer["huggingface"] == "{}"


def test_a_table_without_rows_stays_one():
    before = pl.DataFrame(schema={"messages": pl.List(pl.String), "n": pl.Int64})
    after, found, done = redacted(before)
    assert (after.schema, after.height, found, done.written) == (before.schema, 0, [], 0)


def test_what_is_no_parquet_is_an_error(here):
    (here / "in.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError, match=r"in\.parquet: cannot be read"):
        redact(["in.parquet"], "out.parquet", options(), Watch(print))
    assert not (here / "out.parquet").exists()


def test_rows_come_in_their_order_however_many_are_held_at_once(monkeypatch):
    monkeypatch.setattr(tables, "_BATCH", 200)
    texts = [f"{number} {TOKEN if number % 3 else ''}" for number in range(150)]
    after, _, done = redacted(pl.DataFrame({"a": texts}))
    assert [text.split()[0] for text in after["a"]] == [str(number) for number in range(150)]
    assert done.secrets == 100


def test_records_of_a_dataset_folder_are_those_of_its_lines(here):
    line = log_line(f"use {TOKEN}", reply=f"done, {TOKEN}", tools=[{"name": "sh"}])
    write_log(here / "logs/a.jsonl", line)
    for kind in ("jsonl", "parquet"):
        convert(
            here / "logs", here / kind, Options(format=kind, preset="hf", loss="weight", metadata=True, anonymize=False)
        )
        redact([str(here / kind)], str(here / f"{kind}-clean"), options(), Watch(print))
    (lines,) = rows(str(here / "jsonl-clean"))
    (table,) = rows(str(here / "parquet-clean"))
    said = [
        {key: each for key, each in message.items() if each is not None}
        for message in json.loads(table.data)["messages"]
    ]
    assert said == json.loads(lines.data)["messages"]
    assert TOKEN.encode() not in lines.data
    assert said[-1]["weight"] == 0
    schemas = [
        pl.read_parquet_metadata(next((here / name / "data").glob("*.parquet")))[arrow.KEY]
        for name in ("parquet", "parquet-clean")
    ]
    assert schemas[0] == schemas[1]
