"""An archive is read as logs: the same records as from the files that were copied."""

import json
import os
import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.sources import archive_logs
from tests.archive.cases import poll

SAMPLES = Path(__file__).parents[2] / "sample_logs"
KEY = b"a key for tests, and for nothing else"


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """The sample logs, in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAMPLES, "logs")
    return tmp_path / "logs"


def data(folder):
    """The files of a dataset that no path of a log is in."""
    files = {path.relative_to(folder): path for path in Path(folder).rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in files.items()
        if name.parts[0] not in ("reports", ".chatsquash", "run.json")
    }


def counts(folder):
    return json.loads(Path(folder, "run.json").read_bytes())["counts"]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="as usual"),
        pytest.param({"conversations": "all", "workers": 2}, id="all conversations, with two workers"),
        pytest.param({"sessions_by": "chain"}, id="sessions by chain"),
    ],
)
def test_the_same_records_come_from_an_archive_as_from_the_files(logs, options):
    poll("store", logs)
    chosen = Options(anonymize_key=KEY, **options)
    convert("logs", "one", chosen)
    shutil.rmtree(logs)
    convert("archive:store", "two", chosen)
    assert data("one") == data("two")
    assert sum(map(len, data("one").values())) > 100_000
    assert counts("one") == counts("two")


def test_one_file_of_an_archive_is_read_and_files_are_excluded_by_name(logs):
    poll("store", logs)
    name = next(each for each in archive_logs.members("archive:store") if "litellm" in each)
    convert(f"archive:store!/{name}", "one", Options(anonymize_key=KEY))
    assert counts("one")["logs"] == 1
    convert("archive:store", "two", Options(anonymize_key=KEY, exclude=("litellm",)))
    convert("logs", "three", Options(anonymize_key=KEY, exclude=("litellm",)))
    assert data("two") == data("three")


def test_a_grown_archive_is_converted_incrementally(logs):
    poll("store", logs)
    convert("archive:store", "out", Options(anonymize_key=KEY))
    path = next(logs.rglob("*.jsonl"))
    shutil.copy(path, path.with_name("again.jsonl"))
    poll("store", logs)
    convert("archive:store", "out", Options(anonymize_key=KEY))
    convert("logs", "full", Options(anonymize_key=KEY))
    assert data("out") == data("full")


def test_an_encrypted_archive_is_read_with_the_key_in_the_environment(logs, monkeypatch, tmp_path):
    pytest.importorskip("nacl")
    (tmp_path / "key").write_bytes(b"secret\n")
    poll("store", logs / "litellm", secret=b"secret")
    with pytest.raises(UsageError, match="is encrypted"):
        convert("archive:store", "out", Options(anonymize_key=KEY))
    monkeypatch.setenv("CHATSQUASH_KEY_FILE", str(tmp_path / "key"))
    convert("archive:store", "out", Options(anonymize_key=KEY))
    assert counts("out")["logs"]


@pytest.mark.parametrize("command_name", ["list", "stats", "inspect"])
def test_other_commands_read_archives_too(logs, command, command_name):
    poll("store", logs / "litellm")
    if command_name == "stats":
        convert("archive:store", "out", Options(anonymize_key=KEY))
        assert command("verify", "out").code == 0
        return
    one, two = command(command_name, "logs/litellm"), command(command_name, "archive:store")
    assert (one.code, two.code) == (0, 0)
    assert len(one.out.splitlines()) == len(two.out.splitlines())


@pytest.mark.parametrize("argument", ["archive:missing", "archive:store!/missing.jsonl", "archive:"])
def test_an_archive_that_is_missing_is_refused(logs, argument, command):
    poll("store", logs / "litellm")
    ended = command("convert", argument, "-o", "out")
    assert ended.code == 2
    assert argument.removeprefix("archive:").partition("!")[0] in ended.err
    assert not os.path.exists("out")


def test_the_viewer_converts_an_archive_and_finds_its_logs_again(logs, tmp_path):
    from chatsquash.view import serve
    from chatsquash.view.logs import NoLogError, _log_path

    poll("store", logs / "litellm")
    out = serve._convert(("archive:store",), tmp_path / "out", Options(anonymize_key=KEY), None)
    rows = [json.loads(line) for line in (out / "reports" / "sessions.jsonl").read_text().splitlines()]
    paths = {row["log"] for row in rows}
    assert paths
    assert all(path.startswith(f"archive:{tmp_path}/store!/") for path in paths)
    assert {_log_path(path, []) for path in paths} == paths
    with pytest.raises(NoLogError, match="does not exist"):
        _log_path(f"archive:{tmp_path}/store!/nothing.jsonl", [])
    with pytest.raises(NoLogError, match="cannot be read"):
        _log_path(f"archive:{tmp_path}/missing!/nothing.jsonl", [])
