"""Files that a run writes outside of its output folder: written complete or not at all, and never over anything else."""

import os
import stat
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from tests.conftest import log_line, write_log

PLAIN = Options(anonymize=False, tool_report_path="usage.csv")
USAGE = Path("out/reports/tool-usage.csv")


@pytest.fixture
def logs(here):
    write_log(here / "logs/a.jsonl", log_line("hi"))
    return here / "logs"


def test_the_report_on_tool_usage_is_written_to_a_named_file_with_the_same_bytes(logs):
    convert(logs, "out", PLAIN)
    assert Path("usage.csv").read_bytes() == USAGE.read_bytes()
    assert Path("usage.csv").stat().st_mode & 0o777 == USAGE.stat().st_mode & 0o777
    assert sorted(os.listdir()) == ["logs", "out", "usage.csv"]


def test_a_rerun_writes_a_named_file_again_that_is_gone_or_old(logs):
    convert(logs, "out", PLAIN)
    for change in (Path.unlink, lambda file: file.write_text("old")):
        change(Path("usage.csv"))
        assert not convert(logs, "out", PLAIN).unchanged
        assert Path("usage.csv").read_bytes() == USAGE.read_bytes()
    assert convert(logs, "out", Options(anonymize=False)).unchanged is False  # another option
    assert convert(logs, "out", Options(anonymize=False)).unchanged


def test_shards_write_a_named_file_when_they_are_merged(logs, here):
    divide([logs], here / "out", PLAIN, 2)
    for number in (1, 2):
        convert_shard(here / "out", Shard(number, 2), PLAIN)
    assert not Path("usage.csv").exists()
    merge(here / "out")
    assert Path("usage.csv").read_bytes() == USAGE.read_bytes()


REFUSED = {
    "logs/a.jsonl": "is a log",
    "link-to-logs/a.jsonl": "is a log",
    "hard-link": "is a log",
    "out/usage.csv": "is in the output folder",
    "out/reports/tool-usage.csv": "is in the output folder",
    "link-to-out/usage.csv": "is in the output folder",
    "link": "exists and is not a regular file",
    "dangling": "exists and is not a regular file",
    "pipe": "exists and is not a regular file",
    "logs": "exists and is not a regular file",
}


@pytest.mark.parametrize("option", ["tool_report_path", "write_known"])
@pytest.mark.parametrize(("name", "why"), REFUSED.items(), ids=REFUSED)
def test_a_named_file_never_replaces_anything_but_the_result_of_an_earlier_run(logs, here, option, name, why):
    convert(logs, "out", Options(anonymize=False))
    Path("target").write_text("target")
    Path("link").symlink_to("target")
    Path("dangling").symlink_to("nothing")
    Path("link-to-logs").symlink_to(logs)
    Path("link-to-out").symlink_to(here / "out")
    Path("hard-link").hardlink_to(logs / "a.jsonl")
    os.mkfifo("pipe")
    before = _content(here)
    with pytest.raises(UsageError, match=f"^{option}='{name}': {why}; choose another file$"):
        convert(logs, "out", Options(anonymize=False, full=True, **{option: name}))
    assert _content(here) == before


def _content(folder):
    files = (path for path in folder.rglob("*") if not path.is_relative_to(folder / "out/.chatsquash"))
    modes = {path: path.lstat().st_mode for path in files}
    return {path: (mode, path.read_bytes() if stat.S_ISREG(mode) else b"") for path, mode in modes.items()}


def test_a_member_of_an_archive_is_a_log_whose_archive_is_not_replaced(logs, command):
    assert os.system("tar cf logs.tar logs") == 0
    refused = command("convert", "logs.tar", "--tool-report-path", "logs.tar")
    assert (refused.code, refused.err) == (2, "error: --tool-report-path logs.tar: is a log; choose another file\n")


def test_two_options_never_name_one_file(logs):
    with pytest.raises(UsageError, match="tool_report_path='both': is also the path of write_known"):
        convert(logs, "out", Options(anonymize=False, write_known="both", tool_report_path="./both"))
    assert not Path("out").exists()


def test_a_run_fails_at_once_if_the_folder_of_a_named_file_is_missing(logs, command):
    failed = command("convert", "logs", "--tool-report-path", "none/usage.csv")
    assert failed.code == 1
    assert "none/usage.csv: No such file or directory" in failed.err
    assert not Path("out").exists()
    Path("none").mkdir()
    assert command("convert", "logs", "--tool-report-path", "none/usage.csv").code == 0
    assert Path("none/usage.csv").read_bytes() == USAGE.read_bytes()


def test_a_path_without_a_report_is_refused_and_passed_over_in_a_variable(logs, command, monkeypatch):
    refused = command("convert", "logs", "--tool-report-path", "usage.csv", "--no-tool-report")
    assert refused.code == 2
    why = "--tool-report-path usage.csv has no effect with --no-tool-report; use only one of them"
    assert why in " ".join(refused.err.split())
    with pytest.raises(UsageError, match=r"tool_report_path='usage.csv' has no effect with tool_report=False"):
        convert(logs, "out", Options(tool_report=False, tool_report_path="usage.csv"))
    monkeypatch.setenv("CHATSQUASH_TOOL_REPORT_PATH", "usage.csv")
    assert command("convert", "logs", "--no-tool-report").code == 0
    assert not Path("usage.csv").exists()
