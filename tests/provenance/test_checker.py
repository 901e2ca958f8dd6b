"""The checker of docs/recipes: it replays every text, and finds every change of rows, logs, statements and files."""

import base64
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from chatsquash import Options, convert
from tests.archive.cases import poll
from tests.conftest import KEY, cases, tree
from tests.provenance.checker import PATH, ROOT, checker

SAMPLE_LOGS = ROOT / "sample_logs"
SMALL = ("2026-01-14/gpt-4-1.jsonl", "anthropic/people-age-01.jsonl", "documents/codex-tide-table.jsonl")
MUTATIONS = 100
"""A tenth of all: 400 of files and logs, 300 of statements, 300 of rows."""


def converted(logs="logs", out="out", **values):
    return convert(logs, out, Options(**{"provenance": True, "anonymize_key": KEY.encode(), **values}))


def rows(name, out="out"):
    return checker.table(Path(out), name)


def test_the_checker_is_short_and_imports_nothing_of_ours():
    text = PATH.read_text()
    assert text.count("\n") <= 300
    assert not re.search(r"(import|from) chatsquash", text)


@cases(
    "values",
    {},
    {"preset": "hf", "format": "parquet", "split": "train=0.7,test=0.3", "metadata": True},
    {"loss": "weight", "conversations": "all", "redact": "secrets,phones,ips,paths"},
    {"samples": "reply", "preset": "hf"},
    {"preset": "text", "format": "jsonl.gz"},
    {"samples": "reply", "preset": "hf", "sample_shape": "prompt"},
    {"sessions_by": "chain", "json_tool_calls": True},
)
def test_every_text_of_the_sample_logs_is_replayed(here, values):
    done = converted(SAMPLE_LOGS, **values)
    problems = checker.check("out")
    assert problems == []
    messages = rows("messages")
    assert len(messages) == done.provenance["messages"] > 500
    assert problems.replayed > 200_000
    assert not [row for row in messages if row["reason"] in ("not-in-log", "unreadable", "replay-failed")]


def test_the_trained_text_of_the_sample_logs_is_from_the_logs(here):
    done = converted(SAMPLE_LOGS)
    trained = [row for row in rows("messages") if row["trained"]]
    assert done.provenance["trained"] == {"complete": 280, "partial": 3, "none": 0}
    inserted = [
        piece["text"]
        for row in trained
        if row["proof"] != "complete"
        for path, pieces in json.loads(row["texts"])
        for piece in pieces
        if isinstance(piece, dict) and not path.endswith("id")
    ]
    assert sorted(inserted) == ["**", "**\n\n", '{"input":', '{"input":', "}", "}"]  # all that readers of formats added
    logged = [row for row in trained if row["reply_line"] is not None]
    assert len(logged) > 260
    assert sum(row["time_at"] is not None for row in logged) > 240
    elsewhere = {Path(row["reply_log"]).name for row in logged if row["model"] and not row["model_at"]}
    assert elsewhere == {"dr1.jsonl", "2026-06-01_count.eval"}  # in another file, and compressed


@pytest.fixture
def small(here):
    for name in SMALL:
        Path("logs", name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SAMPLE_LOGS / name, Path("logs", name))
    converted()
    assert checker.check("out") == []


def found():
    """Whether the checker finds anything in the current state of the output and the logs."""
    try:
        return bool(checker.check("out"))
    except (ValueError, LookupError, TypeError, AttributeError, OSError, pl.exceptions.PolarsError):
        return True  # so damaged that it is no dataset with a provenance


def flip(path, random_):
    data = bytearray(path.read_bytes())
    at = random_.randrange(len(data))
    data[at] ^= 1 << random_.randrange(8)
    path.write_bytes(data)


def test_changed_bytes_of_logs_and_files_are_found(small):
    random_ = random.Random(47)
    paths = [path for folder in ("logs", "out") for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    paths = [path for path in paths if ".chatsquash" not in path.parts and path.stat().st_size]
    for number in range(MUTATIONS * 4):
        path = paths[number % len(paths)]
        data = path.read_bytes()
        flip(path, random_)
        assert found(), path
        path.write_bytes(data)
    assert not found()


def leaves(value, place=()):
    if isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*place, name))
    else:
        yield place, value


def other(value, random_):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random_.choice((-2, -1, 1, 2, 100))
    if not isinstance(value, str):
        return "x"
    at = random_.randrange(len(value) + 1)
    return random_.choice((value[:at] + "x" + value[at:], value[:at] + value[at + 1 :] + "y"))


def changed(value, random_):
    """A value with another leaf, without one, or with one twice."""
    value = json.loads(json.dumps(value))
    place, leaf = random_.choice([*leaves(value)])
    inner = value
    for name in place[:-1]:
        inner = inner[name]
    kind = random_.randrange(4)
    if kind == 0 and isinstance(inner, list):
        inner.append(inner[place[-1]])
    elif kind == 1:
        del inner[place[-1]]
    else:
        inner[place[-1]] = other(leaf, random_)
    return value


def test_changed_statements_are_found(small):
    random_ = random.Random(48)
    path = Path("out/provenance/statement.json")
    statement = json.loads(path.read_bytes())
    for _ in range(MUTATIONS * 3):
        path.write_text(json.dumps(changed(statement, random_)))
        assert found()


FREE = ("session", "conversation", "model", "time", "changes", "reply_line", "line")
"""Cells that another row could have; the hashes of the files protect them."""


def reseal(name):
    """Change the hashes of a file in run.json, and write the statement again, as a careful forger would."""
    run = json.loads(Path("out/run.json").read_bytes())
    data = Path("out", name).read_bytes()
    for each in run["outputs"]:
        if each["path"] == name:
            each["size"], each["sha256"] = len(data), checker.sha256(data)
    Path("out/run.json").write_text(json.dumps(run))
    path = Path("out/provenance/statement.json")
    statement = json.loads(path.read_bytes())
    known = {each["path"]: each["sha256"] for each in run["outputs"]}
    known["run.json"] = checker.sha256(Path("out/run.json").read_bytes())
    for each in statement["subject"]:
        each["digest"]["sha256"] = known[each["name"]]
    path.write_text(json.dumps(statement))


def test_forged_rows_are_found_although_all_hashes_were_renewed(small):
    random_ = random.Random(49)
    original = tree(Path("out/provenance")) | {"run": Path("out/run.json").read_bytes()}
    for number in range(MUTATIONS * 3):
        name = f"provenance/{('messages', 'messages', 'records')[number % 3]}-00000.parquet"
        table = pl.read_parquet(Path("out", name)).to_dicts()
        at = random_.randrange(len(table))
        columns = [column for column in table[at] if column not in FREE and table[at][column] is not None]
        column = random_.choice(columns)
        value = table[at][column]
        if column == "texts":
            table[at][column] = json.dumps(changed(json.loads(value), random_))
        elif column == "logs":
            table[at][column] = json.dumps([other(each, random_) for each in json.loads(value)])
        else:
            table[at][column] = other(value, random_)
        pl.DataFrame(table, infer_schema_length=None).write_parquet(Path("out", name))
        reseal(name)
        assert found(), (column, value, table[at][column])
        for path, data in original.items():
            (Path("out/run.json") if path == "run" else Path("out/provenance", path)).write_bytes(data)
    assert not found()


def test_a_signature_protects_what_no_replay_can(small):
    crypto = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = crypto.Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    converted(provenance_key=private, full=True)
    assert checker.check("out", key=public) == []
    envelope = json.loads(Path("out/provenance/statement.dsse.json").read_bytes())
    assert base64.b64decode(envelope["payload"]) == Path("out/provenance/statement.json").read_bytes()
    table = pl.read_parquet("out/provenance/records-00000.parquet")
    table.with_columns(session=pl.lit("another")).write_parquet("out/provenance/records-00000.parquet")
    reseal("provenance/records-00000.parquet")
    assert checker.check("out") == []  # nothing in the logs contradicts it
    assert checker.check("out", key=public)


def test_logs_that_moved_are_found_by_their_hashes(small):
    shutil.move("logs", "elsewhere")
    assert checker.check("out")
    assert checker.check("out", ["elsewhere"]) == []


@pytest.mark.parametrize("is_archived", [False, True], ids=["a name that is not UTF-8", "in an archive"])
def test_a_log_that_cannot_be_opened_is_one_problem_with_the_number_of_its_messages(here, is_archived):
    name = os.fsdecode(b"logs/\xff.jsonl")
    Path("logs").mkdir()
    shutil.copy(SAMPLE_LOGS / SMALL[0], name)
    if is_archived:
        pytest.importorskip("pyfastcdc")
        poll("store", Path("logs"))
    converted("archive:store" if is_archived else "logs")
    [problem] = checker.check("out")
    rest = f"not the log that was converted ({len(rows('messages'))} messages not checked)"
    assert problem.split(": ")[-1] == f"{rest}; --logs names the folder of others"
    assert checker.check("out", ["logs"]) == []


@cases("arguments, name",
    ("no result", ["nowhere"], "nowhere/run.json"),
    ("a result without provenance", ["plain"], "plain/provenance/statement.json"),
    ("no logs", ["out", "--logs", "nowhere"], "nowhere"),
    ("no key", ["out", "--key", "nowhere"], "nowhere"),
)  # fmt: skip
def test_missing_files_are_a_usage_error(small, arguments, name):
    converted(out="plain", provenance=False)
    done = subprocess.run([sys.executable, PATH, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"{name}: No such file or directory\n")
    assert "Traceback" not in done.stderr
