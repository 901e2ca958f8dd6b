"""Dataset folders load, and give back exactly what was written: by ``datasets``, DuckDB, polars and Arrow."""

import json
import subprocess
from base64 import b64decode
from pathlib import Path

import datasets
import duckdb
import mlcroissant
import polars as pl
import pyarrow as pa
import pytest
from datasets import load_dataset
from datasets.packaged_modules.json.json import AGENT_TRACES_FEATURES
from huggingface_hub.utils import filter_repo_objects

from chatsquash import Options, convert
from chatsquash.dataset import arrow
from chatsquash.dataset.columns import Field
from chatsquash.records.presets import names
from tests.conftest import cases, log_line, tree, write_log

FILLER = "All work and no play makes for long logs. " * 240
PLAIN = 1_100
"""Sessions of about ten kilobytes, with which the first ten megabytes of lines are of one kind."""


def tool(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.", "parameters": parameters}}


def call(number, name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def result(number, content):
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": content}


MIXED = [
    # Texts that look like something else, which a loader without types takes for that.
    log_line("42", reply="2026-01-13T10:00:00Z"),
    log_line('{"a": 1}', reply="null"),
    log_line("2026-01-13", reply="true"),
    # Content as parts beside content as text, members that only some messages have.
    log_line({"role": "user", "content": [{"type": "text", "text": "as parts"}]}, reply={"role": "assistant", "content": "x", "reasoning_content": "y"}),
    # Tools whose schemas and arguments have nothing in common.
    log_line(
        "weather",
        {"role": "assistant", "content": None, "tool_calls": [call(1, "weather", {"city": "Oslo", "days": 3})]},
        result(1, '{"sky": "grey", "deep": [[1, [2.5]], {"": null}]}'),
        tools=[tool("weather", city={"type": "string"}, days={"type": "integer", "default": None})],
        reply="grey",
    ),
    log_line(
        "run",
        {"role": "assistant", "content": "both", "tool_calls": [call(1, "run", {"cmd": ["ls", None]}), call(2, "run", {"cmd": []})]},
        result(1, ""), result(2, "é\n\U0001f680\u2028"),
        tools=[tool("run", cmd={"type": "array", "items": {"type": ["string", "null"]}}), tool("weather", at={"enum": [1, "a", None]})],
        reply="ran",
    ),
    log_line({"role": "system", "content": "s"}, "integers as large as may be", reply="ok", tools=[tool("big", n={"maximum": 2**63 - 1, "minimum": -(2**63)})]),
]  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Plain chats for more than ten megabytes, then all kinds of sessions."""
    folder = tmp_path_factory.mktemp("logs")
    for number in range(PLAIN):
        write_log(
            folder / f"{number // 1000:02}/plain-{number:05}.jsonl", log_line(f"{number}: {FILLER}", reply=str(number))
        )
    for number, line in enumerate(MIXED):
        write_log(folder / f"mixed/z-{number:02}.jsonl", line)
    return folder


@pytest.fixture(scope="module")
def folder(logs, tmp_path_factory):
    """Makes dataset folders, each once."""
    made: dict[tuple, Path] = {}

    def make(**options):
        key = tuple(sorted(options.items()))
        if key not in made:
            made[key] = tmp_path_factory.mktemp("out") / "dataset"
            convert(logs, made[key], Options(anonymize=False, integrity_analysis=False, **options))
        return made[key]

    return make


@pytest.fixture(scope="module", autouse=True)
def _alone(tmp_path_factory):
    """A cache of its own, and nothing fetched."""
    patch = pytest.MonkeyPatch()
    patch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))
    patch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    yield
    patch.undo()


def lines(folder, split="train") -> list[dict]:
    """The records of a folder of plain lines."""
    found = sorted(folder.glob(f"data/{split}-*.jsonl"))
    return [json.loads(line) for path in found for line in path.read_bytes().splitlines()]


def without_nulls(row: dict) -> dict:
    """A row without the columns that its record lacks."""
    return {name: value for name, value in row.items() if value is not None}


def load(folder, **settings):
    cache = folder.parent / "cache"
    return load_dataset(str(folder), cache_dir=str(cache), **settings)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("packing", ["jsonl", "parquet"])
@pytest.mark.parametrize("preset", names())
def test_every_preset_gives_back_exactly_its_records(folder, preset, packing, streaming):
    made = folder(preset=preset, format=packing, shard_size=4_000_000)
    expected = lines(folder(preset=preset, format="jsonl", shard_size=4_000_000))
    assert (
        sum(path.stat().st_size for path in folder(preset=preset, format="jsonl", shard_size=4_000_000).glob("data/*"))
        > 10 << 20
    )
    assert len(expected) > PLAIN + len(MIXED) // 2
    found = load(made, streaming=streaming)
    assert list(found) == ["train"]
    assert [without_nulls(row) for row in found["train"]] == expected


@cases("packing", "jsonl", "jsonl.gz", "jsonl.zst", "parquet")
def test_splits_metadata_and_compressed_lines_load_as_they_are(folder, packing):
    options = {"split": "train=0.9,validation=0.1", "metadata": True, "shard_size": 5_000_000}
    found = load(folder(format=packing, **options))
    for split in ("train", "validation"):
        assert found[split].to_list() == lines(folder(format="jsonl", **options), split)


def test_times_beside_turns_of_texts_are_spelled_as_datasets_does(folder):
    """Its older versions, for which these presets are, know no JSON that would keep them."""
    options = {"preset": "text", "metadata": True}
    found, written = load(folder(format="jsonl", **options))["train"][0], lines(folder(format="jsonl", **options))[0]
    assert (found.pop("started_at"), written.pop("started_at")) == ("2026-01-13 10:00:00", "2026-01-13T10:00:00Z")
    assert found == written


def test_one_file_of_mixed_lines_loads_where_the_types_are_named(folder):
    """Without the card it does not: a loader that guesses fails behind the first ten megabytes."""
    made = folder(format="jsonl")
    assert load(made)["train"].num_rows == PLAIN + len(MIXED)
    (path,) = made.glob("data/*.jsonl")
    with pytest.raises(datasets.exceptions.DatasetGenerationError):
        load_dataset("json", data_files=str(path), cache_dir=str(made.parent / "other"))


@pytest.mark.parametrize("group_by", ["date", "scenario", "none"])
def test_the_default_layout_gives_back_exactly_its_records(logs, tmp_path, group_by):
    summary = convert(logs, tmp_path / "out", Options(group_by=group_by, anonymize=False))
    written = [
        json.loads(line) for name in summary.files for line in (tmp_path / "out" / name).read_bytes().splitlines()
    ]
    assert load(tmp_path / "out", split="train").to_list() == written


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what mlcroissant imports
@cases("packing", "jsonl", "jsonl.gz", "parquet")
def test_croissant_is_valid_and_not_taken_for_data(folder, packing):
    made = folder(format=packing)
    metadata = mlcroissant.Dataset(str(made / "croissant.json")).metadata
    assert not metadata.ctx.issues.errors
    assert {each.content_url for each in metadata.distribution} == {f"data/{each.name}" for each in made.glob("data/*")}
    assert metadata.data_collection
    assert metadata.personal_sensitive_information
    assert load(made)["train"].num_rows == PLAIN + len(MIXED)


def test_parquet_needs_no_card(folder):
    made = folder(format="parquet")
    found = load_dataset("parquet", data_files=str(made / "data/*.parquet"), cache_dir=str(made.parent / "other"))
    assert found["train"].to_list() == lines(folder(format="jsonl"))


def test_it_can_be_joined_with_what_others_wrote(folder):
    found = load(folder(preset="hf", format="parquet"))["train"]
    other = datasets.Dataset.from_list(
        [{"messages": [{"role": "user", "content": "hi"}], "tools": None}], features=found.features
    )
    assert datasets.concatenate_datasets([found, other]).num_rows == found.num_rows + 1


ROUNDED = [0.7, 1e-12, 0.1]


def test_floats_come_back_as_datasets_rounds_them(tmp_path):
    """Its parser takes ten decimals, and is off by one in the last place of some."""
    values = {"type": "array", "items": {"enum": ROUNDED}}
    write_log(tmp_path / "logs/a.jsonl", log_line("x", tools=[tool("f", x=values)]))
    for packing in ("jsonl", "parquet"):
        convert(tmp_path / "logs", tmp_path / packing, Options(preset="hf", format=packing))
        (row,) = load(tmp_path / packing)["train"]
        found = row["tools"][0]["function"]["parameters"]["properties"]["x"]["items"]["enum"]
        assert found == [0.7000000000000001, 0.0 if packing == "jsonl" else 1e-12, 0.1]


@pytest.mark.parametrize("packing", ["jsonl", "parquet"])
@pytest.mark.parametrize("preset", names())
def test_one_session_that_no_loader_takes_does_not_keep_the_others_from_loading(tmp_path, preset, packing):
    write_log(tmp_path / "logs/a.jsonl", log_line("x", tools=[tool("f", x={"maximum": 2**64})]))
    write_log(tmp_path / "logs/b.jsonl", log_line("\ud800"))
    write_log(tmp_path / "logs/c.jsonl", log_line("y", reply="z"))
    convert(tmp_path / "logs", tmp_path / "out", Options(preset=preset, format=packing))
    convert(tmp_path / "logs", tmp_path / "lines", Options(preset=preset, format="jsonl"))
    assert [without_nulls(row) for row in load(tmp_path / "out")["train"]] == lines(tmp_path / "lines")


# Other readers


def test_duckdb_reads_it_as_json_texts(folder):
    made = folder(preset="hf", format="parquet", shard_size=4_000_000)
    rows = f"read_parquet('{made}/data/*.parquet', filename=true, file_row_number=true)"
    found = duckdb.sql(f"select messages, tools from {rows} order by filename, file_row_number")
    named = [dict(zip(("messages", "tools"), row, strict=True)) for row in found.fetchall()]
    parsed = [{name: list(map(json.loads, texts)) for name, texts in row.items() if texts is not None} for row in named]
    assert parsed == lines(folder(preset="hf", format="jsonl", shard_size=4_000_000))
    roles = duckdb.sql(f"select distinct messages[1]->>'role' from '{made}/data/*.parquet'").fetchall()
    assert set(roles) == {("user",), ("system",)}


def test_polars_reads_it_as_json_texts(folder):
    made = folder(preset="hf", format="parquet")
    rows = pl.read_parquet(made / "data/*.parquet").to_dicts()
    parsed = [{name: list(map(json.loads, texts)) for name, texts in row.items() if texts is not None} for row in rows]
    assert parsed == lines(folder(preset="hf", format="jsonl"))


def test_row_groups_are_of_the_size_that_was_meant(folder, monkeypatch, logs, tmp_path):
    monkeypatch.setattr("chatsquash.dataset.parquet._TARGET", 1 << 20)
    monkeypatch.setattr("chatsquash.dataset.parquet._LIMIT", 2 << 20)
    convert(logs, tmp_path / "out", Options(format="parquet", anonymize=False, integrity_analysis=False))
    path = next((tmp_path / "out/data").iterdir())
    groups = duckdb.sql(
        f"select distinct row_group_id, row_group_num_rows from parquet_metadata('{path}') order by 1"
    ).fetchall()
    counts = [rows for _, rows in groups]
    assert len(counts) > 8
    assert set(counts[:-1]) == {counts[0]}
    assert sum(counts) == PLAIN + len(MIXED)


def test_arrow_reads_the_schema_that_we_write():
    text, number = Field("system", "text"), Field("entries", "int")
    turns = Field("item", "struct", (Field("role", "text"), Field("content", "text")))
    columns = [Field("messages", "list", (Field("item", "json"),)), Field("turns", "list", (turns,)), text, number]
    found = pa.ipc.read_schema(pa.py_buffer(b64decode(arrow.schema(columns))))
    struct = pa.struct([("role", pa.string()), ("content", pa.string())])
    expected = {
        "messages": pa.list_(pa.json_()),
        "turns": pa.list_(struct),
        "system": pa.string(),
        "entries": pa.int64(),
    }
    assert found.equals(pa.schema(list(expected.items())), check_metadata=True)


# Upload


def test_only_what_is_for_upload_would_be_uploaded(folder):
    made = folder(preset="sharegpt", format="jsonl")
    (made / "notes.txt").unlink(missing_ok=True)
    every = [name for name, data in tree(made).items() if data is not None]
    ignored = [line for line in (made / ".gitignore").read_text().splitlines() if line and line[0] not in "#!/"]
    left = list(filter_repo_objects(every, ignore_patterns=ignored))
    assert left == ["README.md", "croissant.json", "data/train-00000-of-00001.jsonl", "dataset_info.json"]
    subprocess.run(["git", "init", "-q", str(made)], check=True)
    listed = ["git", "-C", str(made), "ls-files", "--others", "--exclude-standard"]
    assert subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines() == left


@pytest.mark.parametrize("trainer", ["trl", "unsloth", "ms-swift", "oumi"])
def test_the_configuration_of_a_trainer_is_not_taken_for_records(logs, tmp_path, trainer):
    convert(logs, tmp_path / "out", Options(trainer=trainer, anonymize=False))
    assert [*(tmp_path / "out" / "trainer").iterdir()]
    loaded = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert [*loaded] == ["train"]
    assert {*loaded["train"].column_names} == {"messages", "tools"}


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "parquet"])
@pytest.mark.parametrize("shape, samples", [("kto", "reply"), ("prompt", "first")])
def test_labels_and_outcomes_load_as_they_are(tmp_path, shape, samples, packing):
    thanks = {"role": "user", "content": "Thanks, it works now."}
    for number, line in enumerate(MIXED):
        first = line["request"]["messages"]
        reply = line["response"]["choices"][0]["message"]
        follow = log_line(reply="2026-01-13")
        follow["timestamp"] = line["timestamp"].replace("T10", "T11")
        follow["request"] = {**line["request"], "messages": [*first, reply, thanks]}
        write_log(tmp_path / f"logs/{number}.jsonl", line, follow)
    options = {"preset": "hf", "samples": samples, "sample_shape": shape, "anonymize": False}
    convert(tmp_path / "logs", tmp_path / "plain", Options(format="jsonl", **options))
    convert(tmp_path / "logs", tmp_path / "out", Options(format=packing, **options))
    expected = lines(tmp_path / "plain")
    assert len(expected) > len(MIXED) // 2
    found = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"), split="train")
    assert [without_nulls(row) for row in found] == [without_nulls(row) for row in expected]
    assert found[0]["last_user"] == "thanks" if shape == "prompt" else found[0]["label"] is True


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "parquet"])
def test_the_rows_of_a_forest_load(tmp_path, packing):
    write_log(tmp_path / "logs/a.jsonl", *MIXED)
    convert(tmp_path / "logs", tmp_path / "out", Options(preset="hf", samples="forest", format=packing))
    rows = load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"), split="train")
    assert rows["node"] == [*range(len(rows))]
    assert len(rows) > sum(row["sample"] is not None for row in rows) > 0


def test_session_traces_are_a_config_that_datasets_takes_for_traces_of_agents(here):
    """Reading the features needs no decoder of traces, as reading the rows does."""
    write_log(here / "logs" / "a.jsonl", log_line("hi", session_id="a"))
    write_log(here / "logs" / "b.jsonl", *MIXED[4:5])
    convert("logs", "out", Options(preset="hf", traces=True))
    assert datasets.get_dataset_config_names("out") == ["default", "traces"]
    assert len(list(Path("out/traces").iterdir())) == 2
    assert load_dataset("out", "traces", split="train", streaming=True).features == AGENT_TRACES_FEATURES
    assert load_dataset("out", "default", split="train").column_names == ["messages", "tools"]
