"""``redact`` of forests and of outputs with session traces."""

import json
import random

import polars as pl
import pytest

from chatsquash import Options, check, convert
from chatsquash.conversion.flatten import flatten
from chatsquash.records import forest
from chatsquash.records.datasets import complete_rows
from tests.conftest import cases, user, write_log
from tests.trees.logs import AGENT, READ, Log, calling, result

KEY = ["--anonymize-key-file", "key"]
TOKEN = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"  # the shape in tests/redact/test_lists.py
PASSWORD = "pepper4892Thistle"
TEXTS = (
    "Read the file.",
    f"The token is {TOKEN}.",
    f"Log in with {PASSWORD}.",
    f"net use Z: \\\\fs\\share /user:bob {PASSWORD}",
    "Write to ines@azulejos-tejo.pt.",
    "It works.",
)
"""The password is a secret in one of them, and a word in another one."""


def session(seed):
    """A session with a branch, whose texts have secrets in some messages of users, calls, results and replies."""
    chance = random.Random(seed)
    log = Log(tools=[READ])
    history = [AGENT]
    for number in range(4):
        history.append(user(chance.choice(TEXTS)))
        if chance.random() < 0.5:
            arguments = json.dumps({"path": chance.choice(TEXTS)})
            history += [log.add(*history, says=calling("read_file", arguments)), result(chance.choice(TEXTS))]
        history.append(log.add(*history, says=f"{number}: {chance.choice(TEXTS)}"))
    log.add(*history[:-2], user("Another way."), says=chance.choice(TEXTS))
    return log.lines


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Some sessions, with the current folder next to them and a key."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key").write_bytes(b"k" * 32)
    (tmp_path / "key").chmod(0o600)
    for seed in range(4):
        write_log(tmp_path / f"logs/s{seed}.jsonl", *session(seed))
    return tmp_path


def make(samples, **options):
    given = {"preset": "hf", "anonymize": False, "conversations": "all", "workers": 1, **options}
    convert("logs", samples, Options(samples=samples, **given))


def read(folder):
    """The rows of the data files, with JSON texts parsed."""
    rows = []
    for file in sorted(folder.glob("data/train-*")):
        rows += [json.loads(row.data) for row in complete_rows(str(file))]
    return rows


@cases(
    "options",
    ("JSON lines", {"format": "jsonl"}),
    ("compressed", {"format": "jsonl.gz"}),
    ("Parquet", {"format": "parquet"}),
    ("metadata, whose session shares its values", {"format": "jsonl", "metadata": True}),
    ("Parquet with metadata", {"format": "parquet", "metadata": True}),
    ("flags", {"format": "jsonl", "sample_shape": "messages"}),
    ("a flag of all messages", {"format": "jsonl", "sample_shape": "messages", "loss": "trainable"}),
    ("another preset", {"format": "jsonl", "preset": "sharegpt"}),
    ("calls in texts", {"format": "jsonl", "preset": "text"}),
)
def test_flattening_a_redacted_forest_gives_the_redacted_samples(logs, command, options):
    """The law: both orders give the same samples, and the summaries count the same."""
    make("reply", **options)
    make("forest", **options)
    kinds = ["--redact", "secrets,emails", *KEY]
    ended = {
        name: command("redact", f"{name}/data", "-o", f"clean-{name}/data", *kinds) for name in ("reply", "forest")
    }
    assert [each.code for each in ended.values()] == [0, 0], ended
    assert ended["forest"].err.replace("forest", "reply") == ended["reply"].err
    samples = read(logs / "clean-reply")
    packed = [(str(at), json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()) for at, row in enumerate(read(logs / "clean-forest"))]  # fmt: skip
    flat = [json.loads(line) for line in forest.flatten(packed)]
    # Parquet has no members that are null.
    assert [{name: member for name, member in row.items() if member is not None} for row in flat] == [
        {name: member for name, member in row.items() if member is not None} for row in samples
    ]
    text = json.dumps([samples, [json.loads(line) for _, line in packed]])
    assert TOKEN not in text and "ines@" not in text and "<GITHUB" in text  # noqa: PT018


def test_a_message_is_written_once_and_as_often_as_before(logs, command):
    make("forest", format="jsonl", metadata=True)
    command("redact", "forest/data", "-o", "clean/data", "--redact", "secrets", *KEY)
    before, after = read(logs / "forest"), read(logs / "clean")
    assert [(row["node"], row["parent"]) for row in before] == [(row["node"], row["parent"]) for row in after]
    assert [row["source"] for row in before] == [row["source"] for row in after]
    assert before != after


def test_a_secret_in_one_reply_is_not_trained_on(logs, command):
    make("forest", format="jsonl", sample_shape="messages", loss="weight")
    command("redact", "forest/data", "-o", "clean/data", "--redact", "secrets", *KEY)
    clean = read(logs / "clean")
    with_placeholder = [
        row["loss"] for row in clean if row["message"]["role"] == "assistant" and "<" in json.dumps(row)
    ]
    assert with_placeholder
    assert not any(with_placeholder)
    assert 0 < sum(row["loss"] for row in clean) < sum(row["loss"] for row in read(logs / "forest"))


def test_the_parquet_file_has_its_columns(logs, command):
    make("forest", format="parquet")
    command("redact", "forest/data", "-o", "clean/data", "--redact", "secrets", *KEY)
    assert pl.read_parquet_schema(next(logs.glob("clean/data/train-*"))) == pl.read_parquet_schema(next(logs.glob("forest/data/train-*")))  # fmt: skip
    assert not [each for each in check("clean") if each.severity == "error"]


@cases("format", "jsonl", "parquet")
def test_check_counts_the_same_secrets_in_a_forest(logs, command, format):
    make("reply", format=format)
    make("forest", format=format)
    found = [
        command("check", name, "--redact", "secrets").out.replace("forest", "reply") for name in ("reply", "forest")
    ]
    assert found[0] == found[1]
    assert "secret-found" in found[0]


def test_a_damaged_forest_is_an_error_with_its_place(logs, command):
    make("forest", format="jsonl")
    file = next(logs.glob("forest/data/train-*"))
    first, *_, last = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + last)
    ended = command("redact", "forest/data", "-o", "clean", "--redact", "secrets")
    assert ended.code == 2
    assert f"{file.name}:2: rows of the sample are missing or damaged" in ended.err


def test_the_lines_of_traces_are_redacted_and_are_no_records(logs, command):
    convert("logs", "out", Options(preset="hf", anonymize=False, traces=True, workers=1, conversations="all"))
    ended = command("redact", "out", "-o", "clean", "--redact", "secrets", *KEY)
    records = sum(1 for file in logs.glob("out/data/*.jsonl") for _ in file.read_bytes().splitlines())
    traces = [*logs.glob("out/traces/*.jsonl")]
    with_token = [each for each in traces if TOKEN in each.read_text()]
    assert f"{records} records written to clean\n" in ended.err
    assert f"traces {len(traces)}" in " ".join(ended.err.split())
    assert f"in {len(with_token)} records and" not in ended.err or with_token
    assert not [each for each in logs.glob("clean/**/*.jsonl") if TOKEN in each.read_text()]


def test_a_folder_named_traces_elsewhere_has_records(logs, command):
    (logs / "sets/traces").mkdir(parents=True)
    record = {"messages": [user("a"), {"role": "assistant", "content": "b"}]}
    (logs / "sets/traces/a.jsonl").write_text(f"{json.dumps(record)}\n", "utf-8")
    ended = command("redact", "sets", "-o", "clean", "--redact", "secrets")
    assert "1 record written to clean" in ended.err


def test_flatten_reads_a_forest_that_was_redacted_during_conversion(logs):
    make("forest", format="jsonl", redact="secrets")
    make("reply", format="jsonl", redact="secrets")
    flatten("forest", "flat")
    assert [path.read_bytes() for path in logs.glob("flat/data/train-*")] == [path.read_bytes() for path in logs.glob("reply/data/train-*")]  # fmt: skip
