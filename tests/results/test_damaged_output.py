"""Whatever is damaged in an output folder, each command that reads one ends in words, and waits for nothing."""

import json
import os
import shutil

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.place import Shard
from tests.conftest import log_line, user, write_log

TOOL = {"type": "function", "function": {"name": "grep", "description": "d", "parameters": {"type": "object"}}}
DATASET = {"preset": "hf", "anonymize": False}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Finished outputs of each form, and a folder of shards that are converted."""
    folder = tmp_path_factory.mktemp("outputs")
    logs = folder / "logs"
    for number in range(2):
        write_log(logs / f"{number}.jsonl", log_line(user(f"q{number}"), session_id=f"s{number}", tools=[TOOL]))
    with (logs / "0.jsonl").open("ab") as file:
        file.write(b"{\n{\n")
    convert(logs, folder / "records", Options(anonymize=False))
    convert(logs, folder / "lines", Options(format="jsonl", **DATASET))
    convert(logs, folder / "parquet", Options(format="parquet", **DATASET))
    divide([str(logs)], folder / "shards", Options(anonymize=False), 2)
    for number in (1, 2):
        convert_shard(folder / "shards", Shard(number, 2), Options(anonymize=False))
    return folder


@pytest.fixture
def damaged(outputs, here):
    """A copy of an output, with one of its files damaged."""

    def copy(form, name, damage):
        shutil.rmtree("out", ignore_errors=True)
        shutil.copytree(outputs / form, "out")
        damage(here / "out" / name)

    return copy


def missing(path):
    path.unlink()


def empty(path):
    path.write_bytes(b"")


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def controls(path):
    path.write_bytes(b"\0\xff\x1b[2J no JSON \xe2\x80\xae\n")


def a_list(path):
    path.write_bytes(b"[]\n")


def an_object(path):
    path.write_bytes(b"{}\n")


def deep(path):
    path.write_bytes(b"[" * 100_000 + b"]" * 100_000 + b"\n")


def other_types(path):
    """Of each member another value, in a report of its first line alone."""
    data = path.read_bytes()
    try:
        value = json.loads(data if data.startswith(b"{\n") else data.partition(b"\n")[0])
    except ValueError:
        value = 5
    values = (None, [1], {"x": -1})
    if isinstance(value, dict):
        value = {name: values[number % 3] for number, name in enumerate(value)}
    path.write_bytes(json.dumps(value).encode() + b"\n")


def huge(path):
    """More bytes than are read at once, none of which is on the disk."""
    with path.open("r+b") as file:
        file.truncate(3 << 30)


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def link(path):
    outside = path.parent / "outside"
    path.rename(outside)
    path.symlink_to(outside)


def loop(path):
    path.unlink()
    path.symlink_to(path)


def folder(path):
    path.unlink()
    path.mkdir()


CONTENTS = (missing, empty, truncated, controls, a_list, an_object, deep, other_types)
PLACES = (pipe, link, loop, folder)
OF_RECORDS = {
    "stats": ("stats", "out"),
    "check": ("check", "out"),
    "redact": ("redact", "out", "--output", "clean", "--redact", "secrets", "--force"),
    "translate": ("translate", "out", "--to", "openai_chat", "--output", "translated", "--force"),
    "inspect": ("inspect", "out"),
}
"""Commands that read only records."""
OF_RUN = {
    "verify": ("verify", "out", "--logs"),
    "show": ("show", "out", "1"),
    "show a session": ("show", "out", "s1"),
    "report": ("report", "out"),
    "push": ("push", "out", "hf://datasets/owner/name", "--dry-run"),
}
OF_SHARDS = {"merge": ("merge", "out"), "shard": ("convert", "--shard", "1/2", "--output", "out")}
RECORDS = {
    "records": "2026-01-13.jsonl",
    "lines": "data/train-00000-of-00001.jsonl",
    "parquet": "data/train-00000-of-00001.parquet",
}
REPORTS = ("run.json", "reports/sessions.jsonl", "reports/findings.jsonl", "reports/rejected.jsonl")
OFFLINE = "the Hub could not be reached"
"""What ``push`` ends with if nothing is wrong, since no server is there."""
damages = pytest.mark.parametrize("damage", [*CONTENTS, *PLACES], ids=lambda damage: damage.__name__)


def assert_in_words(done, *what):
    assert all(char.isprintable() or char in "\n\t" for char in done.out + done.err), what
    assert done.code in (0, 2, 3) or (done.code == 1 and OFFLINE in done.err), (*what, done.err)
    assert "Traceback" not in done.err, what
    if done.code == 2:
        assert done.err.startswith("error: "), what


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_TOKEN", "hf_none")


@damages
@pytest.mark.parametrize("form", RECORDS)
def test_damaged_records_are_an_answer_in_words(damaged, command, form, damage):
    for what, arguments in {**OF_RECORDS, **OF_RUN}.items():
        damaged(form, RECORDS[form], damage)
        assert_in_words(command(*arguments), what)


@damages
@pytest.mark.parametrize("name", REPORTS)
def test_damaged_reports_are_an_answer_in_words(damaged, command, name, damage):
    for what, arguments in OF_RUN.items():
        damaged("lines", name, damage)
        done = command(*arguments)
        assert_in_words(done, what)
        assert what != "verify" or done.code in (2, 3), damage


@damages
def test_damaged_files_of_shards_are_an_answer_in_words(damaged, outputs, command, damage):
    files = sorted(path for path in (outputs / "shards/.chatsquash/shards").iterdir() if path.is_file())
    assert len(files) > 3
    for path in files:
        for what, arguments in OF_SHARDS.items():
            damaged("shards", path.relative_to(outputs / "shards"), damage)
            assert_in_words(command(*arguments), path.name, what)


@pytest.mark.parametrize("arguments", OF_RUN.values(), ids=OF_RUN)
def test_a_manifest_of_more_bytes_than_any_has_is_not_read(damaged, command, arguments):
    damaged("lines", "run.json", huge)
    assert_in_words(done := command(*arguments))
    if arguments[0] != "show":  # which needs no manifest
        assert done.code == 2
        assert "run.json: cannot be read (file is larger than 2,147,483,648 bytes)" in done.err
