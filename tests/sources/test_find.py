"""Which files are session logs, in which order, and what is said of the others."""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from chatsquash import convert
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.reading.identify import is_readable
from chatsquash.sources.compression import stem
from chatsquash.sources.find import discover
from chatsquash.sources.names import path_day
from tests.conftest import cases, write_log
from tests.outputs import findings, manifest

LINE = b"{}\n"
any_bytes = pytest.mark.skipif(sys.platform == "darwin", reason="file names are text there")


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """A folder ``logs`` in the present folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    return Path("logs")


def put(*paths):
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(LINE)


def found(*given, out=None, days_of=None, **options):
    more = {"days_of": days_of} if days_of else {}
    return discover(list(given), Options(**options), is_readable, Path(out) if out else None, **more)


def paths(*given, **options):
    return [job.path for job in found(*given, **options).logs]


def names(*given, **options):
    return [job.name for job in found(*given, **options).logs]


@cases(
    "given, expected",
    ("a folder gives its .jsonl and .ndjson files", ["logs"], ["a.jsonl", "b.ndjson", "c.JSONL", "d/e.jsonl"]),
    ("a named file is read", ["logs/a.jsonl"], ["a.jsonl"]),
    ("a named file is read whatever its suffix", ["logs/f.txt", "logs/none"], ["f.txt", "none"]),
    ("arguments are taken in the order given", ["logs/b.ndjson", "logs/a.jsonl"], ["b.ndjson", "a.jsonl"]),
    ("a file that is given twice counts once", ["logs/a.jsonl", "logs/a.jsonl", "./logs/a.jsonl"], ["a.jsonl"]),
    ("and once when its folder is given, too", ["logs/d", "logs"], ["e.jsonl", "a.jsonl", "b.ndjson", "c.JSONL"]),
    ("a glob is expanded here where the shell did not", ["logs/*.jsonl"], ["a.jsonl"]),
    ("names below a glob start where its fixed part ends", ["log?/d/*.jsonl"], ["logs/d/e.jsonl"]),
    ("a folder that fits a glob is read like one that is named", ["logs/?"], ["d/e.jsonl"]),
    ("two stars stand for any folders", ["logs/**/*.jsonl"], ["a.jsonl", "d/e.jsonl"]),
    ("and for none", ["logs/**/a.jsonl"], ["a.jsonl"]),
    ("two stars at the end are all below", ["logs/d/**"], ["e.jsonl"]),
    ("two stars can stand at the start", ["**/e.jsonl"], ["logs/d/e.jsonl"]),
    ("a folder below two stars is read whole", ["logs/**/d"], ["d/e.jsonl"]),
    ("a glob that spells its suffix gives files of that suffix", ["logs/*.txt"], ["f.txt"]),
    ("a glob that does not gives logs alone", ["logs/*"], ["a.jsonl", "b.ndjson", "c.JSONL", "d/e.jsonl"]),
    ("a path in a glob's spelling that is there is that path", ["logs/[x].jsonl"], ["[x].jsonl"]),
)
def test_what_arguments_give(logs, given, expected):
    put(*(logs / name for name in ("a.jsonl", "b.ndjson", "c.JSONL", "d/e.jsonl", "d/g.md", "f.txt", "none")))
    if "[" in given[0]:
        put(logs / "[x].jsonl")
    assert names(*given) == expected


def test_logs_come_in_the_order_of_their_paths_part_by_part(logs):
    put(
        *(
            logs / name
            for name in ("a-b.jsonl", "a/b.jsonl", "a/a.jsonl", "a.jsonl", "B.jsonl", "é.jsonl", "a b/c.jsonl")
        )
    )
    assert names("logs") == ["B.jsonl", "a/a.jsonl", "a/b.jsonl", "a b/c.jsonl", "a-b.jsonl", "a.jsonl", "é.jsonl"]


@cases(
    "given, message",
    ("a path that is not there", ["nope"], "nope: cannot be read (No such file or directory)"),
    ("an empty path, as of a variable that is not set", [""], ": cannot be read (No such file or directory)"),
    ("a glob that nothing fits", ["logs/*.x"], "logs/*.x: no match"),
    ("a deep glob below nothing", ["nope/**"], "nope/**: no match"),
    ("a broken link", ["logs/broken"], "logs/broken: cannot be read (No such file or directory)"),
    ("a link to itself", ["logs/self"], "logs/self: cannot be read (Too many levels of symbolic links)"),
)
def test_an_argument_that_names_nothing_is_an_error(logs, given, message):
    (logs / "broken").symlink_to("gone")
    (logs / "self").symlink_to("self")
    with pytest.raises(UsageError) as caught:
        found(*given)
    assert str(caught.value) == message


@cases(
    "options, expected",
    ("without options all are taken", {}, ["1/a.jsonl", "1/b.jsonl", "2/c/a.jsonl", "d.jsonl"]),
    ("--include without a slash fits names at any depth", {"include": ["a*"]}, ["1/a.jsonl", "2/c/a.jsonl"]),
    ("--include fits folders", {"include": ["1"]}, ["1/a.jsonl", "1/b.jsonl"]),
    ("--include may be given more than once", {"include": ["d*", "c"]}, ["2/c/a.jsonl", "d.jsonl"]),
    ("--include with a slash fits the path below LOGS", {"include": ["1/a.*"]}, ["1/a.jsonl"]),
    ("a star stays within a part", {"include": ["2/*.jsonl"]}, []),
    ("two stars do not", {"include": ["2/**/*.jsonl"]}, ["2/c/a.jsonl"]),
    ("two stars may stand for no folder", {"include": ["**/d.jsonl"]}, ["d.jsonl"]),
    ("a path with a slash may be a folder", {"include": ["2/c"]}, ["2/c/a.jsonl"]),
    ("a slash at the end changes nothing", {"include": ["1/"]}, ["1/a.jsonl", "1/b.jsonl"]),
    ("globs tell upper from lower case", {"include": ["A*"]}, []),
    ("--exclude takes away", {"exclude": ["b.jsonl", "2/c"]}, ["1/a.jsonl", "d.jsonl"]),
    ("--exclude beats --include", {"include": ["1"], "exclude": ["a.jsonl"]}, ["1/b.jsonl"]),
    ("--limit takes the first ones", {"limit": 2}, ["1/a.jsonl", "1/b.jsonl"]),
    ("--limit counts what is left", {"limit": 1, "exclude": ["1"]}, ["2/c/a.jsonl"]),
)
def test_options_choose_among_the_logs(logs, options, expected):
    put(*(logs / name for name in ("1/a.jsonl", "1/b.jsonl", "2/c/a.jsonl", "d.jsonl")))
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    assert names("logs", **options) == expected


def test_logs_that_options_leave_aside_are_counted(logs):
    put(*(logs / f"{name}.jsonl" for name in "abcd"))
    assert found("logs", include=("[a-c].jsonl",), exclude=("b.jsonl",), limit=1).passed_over == 3


@cases(
    "since, until, expected",
    ("no bounds", None, None, "12 13 14 none"),
    ("--since is inclusive", "2026-01-13", None, "13 14"),
    ("--until is inclusive", None, "2026-01-13", "12 13"),
    ("both may be the same day", "2026-01-13", "2026-01-13", "13"),
    ("nothing in between", "2026-01-15", None, ""),
)
def test_days_choose_by_the_path_else_by_what_is_told(logs, since, until, expected):
    put(*(logs / name for name in ("12.jsonl", "13.jsonl", "2026-01-14/14.jsonl", "none.jsonl")))
    days = {"12": "2026-01-12", "13": "2026-01-13", "none": None}  # none for 14, whose path has one
    found_ = found("logs", since=since, until=until, days_of=lambda job: [day for day in [days[stem(job)]] if day])
    assert " ".join(stem(job) for job in found_.logs) == expected
    assert found_.passed_over == 4 - len(expected.split())


WRONG_DAYS = [
    ({"since": "13.1.2026"}, "--since 13.1.2026: not a date; write YYYY-MM-DD"),
    ({"until": "2026-02-30"}, "--until 2026-02-30: not a date; write YYYY-MM-DD"),
    ({"since": "20260113"}, "--since 20260113: not a date; write YYYY-MM-DD"),
    (
        {"since": "2026-01-14", "until": "2026-01-13"},
        "--since 2026-01-14 is after --until 2026-01-13, so no session can match",
    ),
]


@pytest.mark.parametrize("options, message", WRONG_DAYS, ids=[row[1] for row in WRONG_DAYS])
def test_days_that_are_none_are_an_error(logs, options, message):
    with pytest.raises(UsageError) as caught:
        found("logs", **options)
    assert str(caught.value) == message


@cases(
    "name, day",
    ("a folder", "2026-01-13/a.jsonl", "2026-01-13"),
    ("the last one", "2026-01-13/x/2026-01-14/a.jsonl", "2026-01-14"),
    ("the file's name", "2026-01-13/2026-01-15.jsonl", "2026-01-15"),
    ("the file's name before all its suffixes", "2026-01-15.raw.jsonl", "2026-01-15"),
    ("not a part of a part", "logs-2026-01-13/a-2026-01-14.jsonl", None),
    ("not a day that does not exist", "2026-02-30/a.jsonl", None),
    ("not another spelling", "20260113/2026-1-13/2026-W03-2.jsonl", None),
    ("not other digits", "٢٠٢٦-٠١-١٣/a.jsonl", None),
)
def test_the_day_in_a_path_is_its_last_part_that_is_one(name, day):
    assert path_day(name) == day


def test_other_files_are_counted_by_suffix(logs):
    put(*(logs / name for name in ("a.jsonl", "b.md", "x/c.md", "d", ".hidden", "e.JSON", "f.\x1b[2J")))
    assert found("logs").others == Counter({".md": 2, "no suffix": 2, ".json": 1, ".\\x1b[2j": 1})


@any_bytes
def test_suffixes_that_are_no_text_are_escaped(logs):
    put(logs / "a.\udcff")
    assert found("logs").others == Counter({".\\udcff": 1})


def test_what_is_no_file_is_counted_and_never_opened(logs):
    put(logs / "a.jsonl", "elsewhere/b.jsonl")
    os.mkfifo(logs / "fifo.jsonl")
    (logs / "folder.jsonl").mkdir()
    (logs / "broken.jsonl").symlink_to("gone")
    (logs / "self.jsonl").symlink_to("self.jsonl")
    (logs / "linked").symlink_to("../elsewhere")
    found_ = found("logs")
    assert [job.name for job in found_.logs] == ["a.jsonl"]
    assert found_.others == Counter({"special file": 1, "broken link": 2, "linked folder": 1})
    assert found("logs/fifo.jsonl").others == Counter({"special file": 1})


def test_a_folder_whose_name_is_a_logs_is_looked_into(logs):
    put(logs / "x.jsonl" / "y.jsonl")
    assert names("logs") == names("logs/*.jsonl") == ["x.jsonl/y.jsonl"]


def test_linked_files_are_read_and_each_file_once(logs):
    put("real.jsonl", logs / "b.jsonl")
    (logs / "a.jsonl").symlink_to("../real.jsonl")
    os.link("real.jsonl", logs / "c.jsonl")
    (logs / "d.jsonl").symlink_to("b.jsonl")
    found_ = found("logs", "real.jsonl")
    assert [job.name for job in found_.logs] == ["a.jsonl", "b.jsonl"]
    assert found_.others == Counter({"same file again": 3})


def test_linked_folders_are_read_on_request_only(logs):
    put("elsewhere/b.jsonl", logs / "a.jsonl")
    (logs / "linked").symlink_to("../elsewhere")
    assert names("logs") == names("logs/*") == names("logs/**") == ["a.jsonl"]
    for given in ("logs", "logs/*", "logs/**", "logs/**/*.jsonl"):
        assert names(given, follow_links=True) == ["a.jsonl", "linked/b.jsonl"], given


def test_a_link_that_is_named_is_a_folder_like_any_other(logs):
    put(logs / "a.jsonl")
    Path("latest").symlink_to("logs")
    assert paths("latest") == ["latest/a.jsonl"]


def test_links_that_lead_back_end(logs):
    put(logs / "a" / "a.jsonl", logs / "b" / "b.jsonl")
    for folder in "ab":
        for number in range(3):
            (logs / folder / f"up{number}").symlink_to("..")
            (logs / folder / f"across{number}").symlink_to("../a")
    expected = ["a.jsonl", "b.jsonl"]
    for given in ("logs", "logs/**", "logs/**/*.jsonl", "logs/*/*.jsonl"):
        for follow in (False, True):
            assert sorted(Path(path).name for path in paths(given, follow_links=follow)) == expected, given


def test_the_output_folder_is_never_read(logs):
    put(logs / "a.jsonl", logs / "out" / "b.jsonl", logs / "out" / "reports" / "c.jsonl", logs / "x" / "d.jsonl")
    (logs / "e.jsonl").symlink_to("out/b.jsonl")
    (logs / "x" / "reports").symlink_to("../out/reports")
    (logs / "f.jsonl").symlink_to("f.jsonl")
    for given in ("logs", "logs/*", "logs/**", "logs/**/*.jsonl"):
        assert names(given, out="logs/out", follow_links=True) == ["a.jsonl", "x/d.jsonl"], given
    assert names("logs/*/*.jsonl", out="logs/out") == ["x/d.jsonl"]
    assert names("logs/out/*", out="logs/out") == names("logs/out/**", out="logs/out") == []


@pytest.mark.parametrize("given", ["logs", "logs/*", "logs/**", "log?", "logs/*/*", "**/*.jsonl"])
def test_earlier_outputs_below_logs_are_passed_over_and_counted(logs, given):
    put(logs / "x" / "a.jsonl", *(logs / "old" / name for name in ("b.jsonl", "c.jsonl", "reports/d.jsonl")))
    (logs / "old" / ".chatsquash").mkdir()
    found_ = found(given, "logs")
    assert [Path(job.path).name for job in found_.logs] == ["a.jsonl"]
    assert found_.others["earlier output"] == 1


def test_an_earlier_output_is_no_argument_and_the_present_one_is_not_counted(logs):
    put(*(logs / name / "a.jsonl" for name in ("old", "new")))
    for name in ("old", "new"):
        (logs / name / ".chatsquash").mkdir()
    with pytest.raises(UsageError, match="logs/old: is a chatsquash output, not logs: "):
        names("logs/old")
    assert names("logs/old/*.jsonl") == names("logs/old/a.jsonl") == ["a.jsonl"]
    assert found("logs", out="logs/new").others == Counter({"earlier output": 1})
    assert found("logs", out="logs/new", exclude=("old",)).others == Counter()


@pytest.fixture
def copied(here):
    """An output without what is hidden in it, as a copy of its files has it, and a log in a folder of its own below."""
    write_log(here / "logs" / "a.jsonl")
    for name, options in (("plain", Options()), ("packed", Options(format="jsonl"))):
        convert("logs", name, options)
        shutil.rmtree(here / name / ".chatsquash")
    write_log(here / "plain" / "logs" / "b.jsonl")
    return here


@cases("given, problem",
    ("a copy of an output", "plain", "plain: is a chatsquash output, not logs: pass the logs that it was made from"),
    ("a file of records in it", "plain/2026-01-13.jsonl", "plain/2026-01-13.jsonl: is in plain, a chatsquash output, not logs"),
    ("its reports", "plain/reports", "plain/reports: is in plain, a chatsquash output, not logs"),
    ("a report", "plain/reports/findings.jsonl", "plain/reports/findings.jsonl: is in plain, a chatsquash output, not logs"),
    ("the data of a dataset folder", "packed/data", "packed/data: is in packed, a chatsquash output, not logs"),
    ("its run.json", "packed/run.json", "packed/run.json: is in packed, a chatsquash output, not logs"),
    ("a glob of its records", "plain/*.jsonl", "1 earlier output; plain is a chatsquash output, not logs"),
    ("a folder that has one", ".", None),
    ("other files in it", "plain/logs", None),
)  # fmt: skip
def test_what_a_run_wrote_is_never_read_as_logs(copied, given, problem):
    if problem is None:
        assert {Path(each["path"]).parent.name for each in manifest(convert(given, "out").output)["inputs"]} == {"logs"}
        return
    with pytest.raises(UsageError) as refused:
        convert(given, "out")
    assert problem in str(refused.value)
    assert "merge joins it with other results" in str(refused.value)


def test_outputs_below_the_logs_are_named(copied):
    assert convert(".", "out").others["earlier output"] == 2
    named = [each["file"] for each in findings("file-not-read") if "a chatsquash output" in each["text"]]
    assert named == ["packed", "plain"]


@pytest.mark.parametrize("given", ["out", "out/logs", "out/logs/a.jsonl", "link"])
def test_an_argument_in_the_output_folder_is_an_error(logs, given):
    put("out/logs/a.jsonl")
    Path("link").symlink_to("out/logs")
    with pytest.raises(UsageError) as caught:
        found(given, out="out")
    hint = "is in the output folder, which is never read; choose another with --output"
    assert str(caught.value) == f"{given}: {hint}"


NAMES = ["a b", "a\nb", "a\tb", "a\x1b[2Jb", "\u202eb", "日本", "*", "[a]", "-o", "'\"", "a\\b", " "]


@pytest.mark.parametrize("name", [*NAMES, pytest.param("\udcff\udcfe", marks=any_bytes)], ids=ascii)
def test_any_file_name_is_read(logs, name):
    put(logs / name / f"{name}.jsonl")
    (job,) = found("logs").logs
    assert (job.path, stem(job)) == (f"logs/{name}/{name}.jsonl", name)
    assert Path(job.path).read_bytes() == LINE
    assert paths(f"logs/{name}") == [job.path]


def test_a_folder_that_cannot_be_listed_is_an_error_unless_it_is_excluded(logs, monkeypatch):
    put(logs / "a.jsonl", logs / "locked" / "b.jsonl")
    listed = os.scandir

    def refuse(folder):
        if str(folder).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UsageError, match=r"^logs/locked: cannot be listed .Permission denied.; fix its permissions"):
        found("logs")
    assert names("logs", exclude=("locked",)) == ["a.jsonl"]


def test_a_log_whose_place_cannot_be_reached_is_left_to_the_conversion(logs, monkeypatch):
    put(logs / "a.jsonl")
    reach = Path.stat

    def refuse(path, **more):
        if path.name == "a.jsonl":
            raise PermissionError(13, "Permission denied")
        return reach(path, **more)

    monkeypatch.setattr(Path, "stat", refuse)
    assert names("logs") == ["a.jsonl"]


def test_a_log_that_cannot_be_opened_is_in_time(logs):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    put(logs / "a.jsonl")
    assert names("logs", since="2026-01-01", days_of=refuse) == ["a.jsonl"]
