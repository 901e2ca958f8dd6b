"""``--samples forest`` and ``flatten``: messages once, and the samples back byte for byte."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, check, convert, stats
from chatsquash.conversion.flatten import flatten
from chatsquash.core.errors import UsageError
from chatsquash.core.marks import FLAGS
from chatsquash.records.forest import Forest
from chatsquash.records.forest import flatten as samples_of
from chatsquash.results.verify import verify
from tests.conftest import assistant, cases, examples, user, write_log
from tests.outputs import report
from tests.session.test_front_truncation import FRONT
from tests.session.test_lengths import lines
from tests.trees import logs as trees

ROOT = Path(__file__).parents[2]
PLAIN = {"anonymize": False, "integrity_analysis": False, "samples": "forest"}


def data(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder, "data").glob("*"))}


def rows(folder):
    return [json.loads(line) for content in data(folder).values() for line in content.splitlines()]


def both(source, out, **options):
    """The data files of the samples, and those that flatten writes of their forest."""
    given = {**PLAIN, "format": "jsonl", **options}
    convert(source, out / "reply", Options(**{**given, "samples": "reply"}))
    convert(source, out / "forest", Options(**given))
    flatten(str(out / "forest"), str(out / "flat"))
    return data(out / "reply"), data(out / "flat")


@pytest.mark.parametrize("preset", ["chat", "hf", "openai", "mistral", "sharegpt", "text"])
def test_samples_of_all_sample_logs_come_back(tmp_path, preset):
    reply, flat = both(ROOT / "sample_logs", tmp_path, preset=preset)
    assert reply == flat
    assert len(rows(tmp_path / "reply")) > 100
    assert len(data(tmp_path / "forest")["train-00000-of-00001.jsonl"]) < len(reply["train-00000-of-00001.jsonl"]) / 2


GOLDEN = sorted(path.name for path in (ROOT / "tests/golden").iterdir() if path.is_dir() and path.name != "presets")


@pytest.mark.parametrize("number", range(6))
def test_samples_of_all_golden_logs_come_back(tmp_path, number):
    for name in GOLDEN[number::6]:
        reply, flat = both(
            ROOT / "tests/golden" / name, tmp_path / name, preset="hf", conversations="all", metadata=True
        )
        assert reply == flat, name


@cases(
    "options",
    ("Parquet", {"format": "parquet", "preset": "hf", "metadata": True}),
    ("Parquet with flags", {"format": "parquet", "preset": "openai"}),
    ("Parquet with the members of messages in columns", {"format": "parquet", "preset": "text"}),
    ("Parquet with tools as text", {"format": "parquet", "preset": "sharegpt"}),
    ("compressed", {"format": "jsonl.gz"}),
    ("a flag", {"preset": "hf", "sample_shape": "messages"}),
    ("another flag", {"preset": "hf", "sample_shape": "messages", "loss": "loss"}),
    ("a flag of all messages", {"preset": "hf", "sample_shape": "messages", "loss": "trainable"}),
    ("replies of several messages", {"preset": "hf", "split_parallel": True, "split_text_and_calls": True}),
    ("splits", {"preset": "hf", "split": "train=0.6,test=0.4"}),
    ("small files", {"preset": "hf", "shard_size": 20_000}),
    ("without exact duplicates", {"duplicates": "ids", "conversations": "all"}),
    ("filters", {"where": "sample <> 2", "conversations": "all"}),
)
def test_samples_come_back_with_options(tmp_path, options):
    reply, flat = both(ROOT / "sample_logs/2026-01-12", tmp_path, **options)
    assert reply == flat
    assert len(b"".join(reply.values())) > 1000


def test_samples_without_their_first_exchanges_come_back(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", *lines())
    reply, flat = both(tmp_path / "logs", tmp_path, **{**FRONT, "samples": "forest", "preset": "hf", "max_tokens": 8})
    assert reply == flat


def test_the_rows_of_a_session(tmp_path):
    """A message that both requests contain is one row; each sample ends at a row of its own."""
    write_log(tmp_path / "logs/a.jsonl", *trees.grows())
    convert(tmp_path / "logs", tmp_path / "out", Options(**PLAIN, preset="hf"))
    found = rows(tmp_path / "out")
    assert [(row["node"], row["parent"], row["message"]["role"], row["loss"]) for row in found] == [
        (0, None, "system", 0), (1, 0, "user", 0), (2, 1, "assistant", 1), (3, 2, "user", 0), (4, 3, "assistant", 1),
    ]  # fmt: skip
    assert [row["source"] for row in found] == ["a.jsonl:1"] * 3 + ["a.jsonl:2"] * 2
    assert [row.get("sample") for row in found] == [
        None, None, {"prompt": 2, "completion": 1}, None, {"prompt": 4, "completion": 1},
    ]  # fmt: skip


def test_a_list_of_tools_is_written_once_per_session(tmp_path):
    convert(ROOT / "sample_logs", tmp_path / "out", Options(**PLAIN))
    found = rows(tmp_path / "out")
    lists = [(row["session"], json.dumps(row["tools"])) for row in found if "tools" in row]
    assert len(lists) == len(set(lists))
    with_tools = {row["node"] for row in found if "tools" in row}
    assert {row["sample"]["tools"] for row in found if "sample" in row} == with_tools


def test_each_sample_is_a_row_and_each_trained_message_too(tmp_path):
    convert(ROOT / "sample_logs", tmp_path / "reply", Options(**{**PLAIN, "samples": "reply", "preset": "hf"}))
    convert(ROOT / "sample_logs", tmp_path / "forest", Options(**PLAIN, preset="hf"))
    found, samples = rows(tmp_path / "forest"), rows(tmp_path / "reply")
    assert sum("sample" in row for row in found) == len(samples)
    assert sum(row["loss"] for row in found) == sum(len(sample["completion"]) for sample in samples)
    assert [row["node"] for row in found] == list(range(len(found)))
    assert all(row["parent"] is None or row["parent"] < row["node"] for row in found)


@cases("format", "jsonl", "jsonl.gz", "parquet")
def test_commands_read_the_samples_of_a_forest(tmp_path, format):
    """check, stats and verify find the same as in the samples."""
    named = {"sample": "reply", "forest": "forest"}  # as long as each other, since tables are as wide as their names
    for name, samples in named.items():
        options = {**PLAIN, "samples": samples, "preset": "hf", "format": format}
        convert(ROOT / "sample_logs/2026-01-13", tmp_path / name, Options(**options))
    assert not verify(tmp_path / "forest").problems
    one, other = (str(stats(str(tmp_path / name))) for name in named)
    assert one.replace("/sample", "") == other.replace("/forest", "")
    found = [[(each.code, each.line, each.text) for each in check(str(tmp_path / name))] for name in named]
    assert found[0] == found[1]


@cases("format", "jsonl", "parquet")
def test_single_samples_are_found_by_their_place(tmp_path, monkeypatch, command, format):
    monkeypatch.chdir(tmp_path)
    for samples in ("reply", "forest"):
        convert(ROOT / "sample_logs/2026-01-13", samples, Options(**{**PLAIN, "samples": samples, "format": format}))
    for number in ("1", "7"):
        one, other = (command("show", samples, number).out for samples in ("reply", "forest"))
        assert one.replace("reply/", "") == other.replace("forest/", "")
        assert "user" in one


def test_any_number_of_workers_and_shards_gives_the_same_bytes(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    source, options = str(ROOT / "sample_logs/2026-01-13"), ["--samples", "forest", "--preset", "hf"]
    for out, more in (("one", ["--workers", "1"]), ("two", ["--workers", "2"])):
        command("convert", source, "-o", out, *options, *more)
    command("shards", source, "-o", "parts", "-n", "2", *options)
    for shard in ("1/2", "2/2"):
        command("convert", "-o", "parts", "--shard", shard)
    command("merge", "parts")
    assert data("one") == data("two") == data("parts")
    assert len(rows("one")) > 20


@cases("format", "jsonl", "parquet")
def test_forests_are_merged(tmp_path, monkeypatch, command, format):
    """Merged forests have the samples of both."""
    monkeypatch.chdir(tmp_path)
    for samples in ("reply", "forest"):
        for day in ("12", "13"):
            options = {**PLAIN, "samples": samples, "preset": "hf", "format": format, "metadata": True}
            convert(ROOT / f"sample_logs/2026-01-{day}", f"{samples}-{day}", Options(**options))
        ended = command("merge", f"{samples}-12", f"{samples}-13", "-o", samples, "-q")
        assert ended.code in (0, 3), ended.err
    flatten("forest", "flat")
    assert data("flat") == data("reply")


@cases(
    "options, message",
    ("a trainer", {"trainer": "trl"}, "trainers do not read"),
    ("images", {"preset": "hf", "media": "keep"}, "does not support images"),
    ("prefixes", {"duplicates": "prefix"}, "duplicates='prefix' with samples='forest'"),
)
def test_options_that_a_forest_does_not_support(tmp_path, options, message):
    write_log(tmp_path / "a.jsonl", *trees.grows())
    with pytest.raises(UsageError, match=message):
        convert(tmp_path / "a.jsonl", tmp_path / "out", Options(**PLAIN, **options))


def test_flatten_refuses_other_outputs_and_existing_files(tmp_path):
    write_log(tmp_path / "a.jsonl", *trees.grows())
    convert(tmp_path / "a.jsonl", tmp_path / "reply", Options(**{**PLAIN, "samples": "reply", "preset": "hf"}))
    convert(tmp_path / "a.jsonl", tmp_path / "forest", Options(**PLAIN, preset="hf"))
    with pytest.raises(UsageError, match="not written with --samples forest"):
        flatten(str(tmp_path / "reply"), str(tmp_path / "flat"))
    with pytest.raises(UsageError, match="already exists; add --force"):
        flatten(str(tmp_path / "forest"), str(tmp_path / "reply"))
    flatten(str(tmp_path / "forest"), str(tmp_path / "reply"), force=True)
    assert not verify(tmp_path / "reply").problems


@cases(
    "out, message",
    ("forest", "is inside the input folder"),
    ("forest/data", "is inside the input folder"),
    ("s3://b/x", "s3://"),
)
def test_flatten_writes_neither_to_the_forest_nor_to_a_store(tmp_path, monkeypatch, out, message):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "a.jsonl", *trees.grows())
    convert("a.jsonl", "forest", Options(**PLAIN, preset="hf"))
    with pytest.raises(UsageError, match=message):
        flatten("forest", out, force=True)
    assert not verify(Path("forest")).problems
    assert not Path("s3:").exists()


@cases(
    "name, text",
    ("a number of messages", b'"prompt":2,', b'"prompt":1,'),
    ("the first row", b'{"session":"s1","node":0', b'{"session":"s1","knot":0'),
)
def test_flatten_refuses_a_changed_forest(tmp_path, name, text):
    """Its samples could be other ones, although each row is as expected."""
    write_log(tmp_path / "a.jsonl", *trees.grows())
    convert(tmp_path / "a.jsonl", tmp_path / "forest", Options(**PLAIN, preset="hf"))
    (file,) = (tmp_path / "forest/data").iterdir()
    content = file.read_bytes()
    assert name in content
    file.write_bytes(content.replace(name, text))
    with pytest.raises(UsageError, match="the file was changed since it was written, so convert again"):
        flatten(str(tmp_path / "forest"), str(tmp_path / "flat"))
    assert not (tmp_path / "flat").exists()


@cases("format", "jsonl", "parquet")
def test_the_card_counts_the_rows_that_a_loader_reads(tmp_path, format):
    """``load_dataset`` raises if the number of examples is another one (datasets 5.2, ``verify_splits``)."""
    convert(ROOT / "sample_logs/2026-01-12", tmp_path / "out", Options(**PLAIN, preset="hf", format=format))
    name = f"train-00000-of-00001.{format}"
    count = pl.read_parquet(tmp_path / "out/data" / name).height if format == "parquet" else len(rows(tmp_path / "out"))
    text = (tmp_path / "out/README.md").read_text("utf-8")
    assert f"num_examples: {count}\n" in text
    assert format == "parquet" or f"num_bytes: {len(data(tmp_path / 'out')[name])}\n" in text
    assert "Each row of the files is a message" in text


# Rows

OK = {
    "session": "s",
    "node": 0,
    "parent": None,
    "message": {"role": "user", "content": "a"},
    "loss": 0,
    "source": "f:1",
}
LEAF = {**OK, "node": 1, "parent": 0, "loss": 1, "sample": {"prompt": 1, "completion": 1}}


@cases(
    "damaged",
    ("no row", [b"1"]),
    ("no JSON", [b"{"]),
    ("a deeply nested message", [b'{"session":"s","node":0,"message":' + b"[" * 100_000 + b"]" * 100_000 + b"}"]),
    ("a row without a number", [{"session": "s"}]),
    ("a missing parent", [{**LEAF, "parent": 7}]),
    ("a cycle", [{**LEAF, "parent": 1}]),
    ("a parent of another type", [{**LEAF, "parent": "x"}]),
    ("a list as parent", [{**LEAF, "parent": []}]),
    ("missing tools", [OK, {**LEAF, "sample": {"prompt": 1, "completion": 1, "tools": 9}}]),
    ("no number of messages", [OK, {**LEAF, "sample": {}}]),
    ("a sample of another type", [OK, {**LEAF, "sample": 3}]),
    ("no last row of a sample", [OK, LEAF, {**OK, "node": 2, "parent": 1}]),
    ("no last row of a sample, before another session", [OK, {**LEAF, "session": "t", "node": 1, "parent": None}]),
    ("no members of a sample", [OK, {**LEAF, "sample": None}]),
    ("an unknown flag", [OK, {**LEAF, "sample": {"messages": 2, "trained": 1, "flag": "x"}}]),
    (
        "a message of another type",
        [OK, {**LEAF, "message": 1, "sample": {"messages": 2, "trained": 1, "flag": "weight"}}],
    ),
)
def test_a_damaged_forest_is_an_error_with_its_place(damaged):
    texts = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in damaged]
    with pytest.raises(UsageError, match=r"f\.jsonl:\d: .*convert again"):
        list(samples_of((f"f.jsonl:{at}", text) for at, text in enumerate(texts, start=1)))


MESSAGE = st.builds(
    lambda role, text, more: {"role": role, "content": text, **more},
    st.sampled_from(["user", "assistant", "system", "tool"]),
    st.text(st.characters(codec="utf-8"), max_size=3),
    st.dictionaries(st.sampled_from(["name", "weight", "n"]), st.one_of(st.integers(), st.floats(allow_nan=False), st.none()), max_size=2),
)  # fmt: skip
SAMPLE = st.one_of(
    st.builds(lambda prompt, completion, more: {"prompt": prompt, "completion": completion, **more}, st.lists(MESSAGE, max_size=4), st.lists(MESSAGE, max_size=2), st.dictionaries(st.sampled_from(["tools", "x", "sample"]), st.lists(st.integers(0, 3), max_size=2))),
    st.builds(lambda messages, more: {"messages": messages, **more}, st.lists(MESSAGE, max_size=5), st.dictionaries(st.sampled_from(["tools", "flag", "trained", "record"]), st.lists(st.integers(0, 3), max_size=2))),
)  # fmt: skip


@given(st.lists(st.tuples(SAMPLE, st.sampled_from(["s", "t"])), max_size=8), st.sampled_from(["none", *FLAGS]))
@examples(600)
def test_any_samples_come_back(samples, flag):
    """The law, also for samples that no preset writes: flags in odd places, members named like those of rows."""
    from chatsquash.core import jsonio

    texts = [jsonio.dumps(sample) for sample, _ in samples]
    forest = Forest()
    found = [
        row for text, (_, session) in zip(texts, samples, strict=True) for row in forest.add(text, session, "f:1", flag)
    ]
    assert list(samples_of(("f", row) for row in found)) == texts


def test_a_forest_grows_with_the_messages_and_not_with_their_square():
    """The samples of a conversation of n turns have n² messages."""
    sizes = []
    for turns in (40, 80):
        messages = [each for at in range(turns) for each in (user(f"question {at}"), assistant(f"answer {at}"))]
        forest = Forest()
        lines_of = [
            json.dumps({"prompt": messages[:at], "completion": messages[at : at + 1]}, separators=(",", ":")).encode()
            for at in range(1, len(messages), 2)
        ]
        sizes.append(sum(len(row) for line in lines_of for row in forest.add(line, "s", "f:1", "none")))
    assert sizes[1] < 2.1 * sizes[0]


def test_parquet_has_the_columns_of_the_rows(tmp_path):
    write_log(tmp_path / "a.jsonl", *trees.grows())
    convert(tmp_path / "a.jsonl", tmp_path / "out", Options(**PLAIN, format="parquet"))
    frame = pl.read_parquet(tmp_path / "out/data/*.parquet")
    assert frame.columns == ["session", "node", "parent", "message", "loss", "source", "sample", "tools"]
    assert frame["node"].to_list() == [0, 1, 2, 3, 4]
    assert json.loads(frame["message"][1]) == {"role": "user", "content": "Which test fails?"}
    assert [row["row"] for row in report("sessions.jsonl", tmp_path / "out")] == [1, 2]
