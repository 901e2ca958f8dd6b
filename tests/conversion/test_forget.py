"""Sessions that are forgotten: the result is that of the other logs; no text of them remains; what is refused."""

from __future__ import annotations

import gzip
import json
import re
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert
from chatsquash.cli.main import cli
from chatsquash.conversion.forget.forget import ForgetOutcome, ForgetRequest, forget
from chatsquash.conversion.inputs import find
from chatsquash.conversion.merge_results import merge_results
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge as merge_shards
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from chatsquash.dataset.sidecar import locked_result
from chatsquash.results.verify import verify
from tests.conftest import cases, examples, log_line, tree, write_log
from tests.conversion.test_shards_law import KEY, written
from tests.outputs import findings, manifest, report
from tests.session.test_join import both
from tests.simulator import play

SAMPLES = sorted(path for path in Path("sample_logs").resolve().iterdir() if path.is_dir())
LOGS = sorted({each.path for each in find(SAMPLES, Path("out"), Options(anonymize=False)).logs})
PLAIN = Options(anonymize=False)
LAYOUTS: list[Any] = [
    ("the default", {}),
    ("e-mail addresses that stay", {"anonymize": False}),
    ("all conversations, with the outcome of each reply", {"conversations": "all", "trace_replies": True, "loss": "weight"}),
    ("sessions that chains find", {"sessions_by": "chain", "conversations": "all"}),
    ("sessions by id, and malformed lines", {"sessions_by": "id", "keep_rejected": True}),
    ("one file", {"group_by": "none", "max_turns": 6}),
    ("files by scenario", {"group_by": "scenario", "json_tool_calls": True}),
    ("secrets and phones", {"redact": "secrets,phones"}),
    ("splits by session", {"preset": "hf", "split": "train=0.7,validation=0.3", "split_by": "session"}),
    ("Parquet with images and columns", {"preset": "hf", "format": "parquet", "metadata": True, "shard_size": 4000, "media": "keep"}),
    ("images in files", {"preset": "hf", "format": "jsonl", "media": "keep"}),
    ("Parquet of structs", {"preset": "sharegpt", "format": "parquet", "loss": "weight"}),
    ("compressed lines with columns", {"preset": "sharegpt", "format": "jsonl.gz", "metadata": True}),
    ("Zstandard", {"preset": "mistral", "format": "jsonl.zst"}),
    ("text", {"preset": "text", "format": "parquet", "metadata": True}),
    ("samples, and preference pairs", {"preset": "hf", "samples": "reply", "pairs": "logged", "format": "parquet"}),
    ("a forest", {"preset": "hf", "samples": "forest"}),
    ("session traces", {"preset": "hf", "traces": True}),
    ("pairs in lines", {"preset": "hf", "pairs": "logged", "split": "train=0.5,test=0.5"}),
    ("provenance", {"provenance": True}),
    ("provenance of samples in Parquet", {"provenance": True, "preset": "hf", "samples": "reply", "format": "parquet"}),
    ("a trainer", {"trainer": "trl", "preset": "hf", "format": "jsonl"}),
]  # fmt: skip


def run(*arguments: str, out: str = "out", is_dry_run: bool = False, confirm: bool = True) -> ForgetOutcome:
    return forget(out, ForgetRequest(arguments, is_dry_run, lambda matches: None, lambda: confirm))


def alike(folder: str) -> dict[str, Any]:
    """All files of a result, without the seconds, the receipts and the statement, which has the hash of ``run.json``."""
    files = written(Path(folder))
    files.pop("provenance/statement.json", None)
    files.pop("reports/forgotten.jsonl", None)
    run = files["run.json"]
    run["outputs"] = [each for each in run["outputs"] if each["path"] != "reports/forgotten.jsonl"]
    return files


# The result is that of the other logs


@cases("options", *LAYOUTS)  # fmt: skip
def test_the_result_is_that_of_a_run_over_the_other_logs(here, options):
    wanted = Options(**options, duplicates="keep", anonymize_key=KEY if options.get("anonymize", True) else None)
    others = LOGS[::2]
    convert(LOGS, "out", wanted)
    convert(others, "others", wanted)
    done = run(*LOGS[1::2])
    assert alike("out") == alike("others")
    assert verify(Path("out")).problems == []
    assert done.pages == done.foreign_files == []
    assert (
        done.remaining
        == manifest("others")["counts"]["sessions"]["seen"]
        == manifest("out")["counts"]["sessions"]["seen"]
    )
    assert len(report("forgotten.jsonl")) == len(done.matches) > 20


# No text of them remains


def words(data: bytes) -> set[tuple[str, ...]]:
    """All sequences of 13 words in a text, JSON or not."""
    text = re.sub(r"\\\\+(?:[nrtbf\"/]|u[0-9a-f]{4})?", " ", data.decode("utf-8", "replace"))
    tokens = re.findall(r"\w+", text)
    return {tuple(tokens[at : at + 13]) for at in range(len(tokens) - 12)}


def content(path: Path) -> bytes:
    """The content of a file, decompressed."""
    match path.suffix:
        case ".parquet":
            return repr(pl.read_parquet(path).rows()).encode()
        case ".gz":
            return gzip.decompress(path.read_bytes())
        case ".zst":
            return zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
    return path.read_bytes()


def words_in(folder: str) -> set[tuple[str, ...]]:
    """All sequences of 13 words in the files of a folder, hidden ones too."""
    return {each for path in Path(folder).rglob("*") if path.is_file() for each in words(content(path))}


@cases("options", *LAYOUTS)  # fmt: skip
def test_no_13_words_that_only_these_sessions_had_remain(here, options):
    """What the other sessions had is what their logs contain, and what a run over these writes with keys in its order."""
    wanted = Options(**options, anonymize_key=KEY if options.get("anonymize", True) else None)
    convert(LOGS[::2], "others", wanted)
    others = words_in("others").union(*(words(content(Path(path))) for path in LOGS[::2]))
    only = {each for path in LOGS[1::2] for each in words(content(Path(path)))} - others
    convert(LOGS, "out", wanted)
    (Path("out/.chatsquash/journal") / "of-a-killed-run").write_bytes(Path(LOGS[1]).read_bytes())
    assert len(words_in("out") & only) > 1000
    run(*LOGS[1::2])
    assert not words_in("out") & only
    assert verify(Path("out")).problems == []


@examples(40)
@given(st.lists(st.integers(0, 400), min_size=2, max_size=5, unique=True), st.data())
def test_no_13_words_of_generated_sessions_remain(seeds, data):
    """In any layout, and whichever of the sessions are forgotten."""
    _, options = data.draw(st.sampled_from(LAYOUTS))
    forgotten = data.draw(st.lists(st.sampled_from(seeds), min_size=1, max_size=len(seeds) - 1, unique=True))
    wanted = Options(**options, anonymize_key=KEY if options.get("anonymize", True) else None)
    others = [seed for seed in seeds if seed not in forgotten]
    with tempfile.TemporaryDirectory() as here:
        put(Path(here), seeds)
        convert([f"{here}/{seed}" for seed in seeds], f"{here}/out", wanted)
        convert([f"{here}/{seed}" for seed in others], f"{here}/others", wanted)
        kept = words_in(f"{here}/others").union(*(words_in(f"{here}/{seed}") for seed in others))
        only = set.union(*(words_in(f"{here}/{seed}") for seed in forgotten)) - kept
        run(*(f"{here}/{seed}/**" for seed in forgotten), out=f"{here}/out")
        assert not words_in(f"{here}/out") & only
        assert verify(Path(here, "out")).problems == []


def put(here: Path, seeds: list[int]) -> None:
    """Write played sessions, a folder each."""
    for seed in seeds:
        for name, data in play(seed).files.items():
            path = here / str(seed) / f"{seed}-{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


# What else is about a session


@pytest.fixture
def result(here) -> Path:
    """A result of three sessions, the last of which repeats the first."""
    write_log(here / "logs/a.jsonl", log_line("which tide is it?", session_id="a"))
    write_log(here / "logs/b.jsonl", log_line("and now?", session_id="b"), b"{broken", b"")
    write_log(here / "logs/c.jsonl", log_line("which tide is it?", session_id="c"))
    convert("logs", "out", PLAIN)
    return here


def mentions(text: str) -> list[str]:
    """The files of the result with a text, hidden ones too."""
    return [name for name, data in tree(Path("out")).items() if data and text.encode() in data]


def test_what_forget_removes_is_gone_and_the_receipt_does_not_name_it(result):
    assert mentions("logs/a.jsonl")
    run("a")
    assert mentions("logs/a.jsonl") == mentions("a.jsonl") == []
    [receipt] = report("forgotten.jsonl")
    assert set(receipt) == {"forgotten_at", "salt", "session", "log", "request", "records"}
    assert receipt["session"] == sha256(f"{receipt['salt']}:a".encode()).hexdigest()
    assert receipt["records"] == 1


def test_a_duplicate_of_a_forgotten_session_is_counted(result):
    convert("logs", "out", Options(anonymize=False, drop_duplicates=True))
    assert "the record of logs/a.jsonl" in findings("duplicate-record")[0]["text"]
    assert run("a").duplicates == 1
    assert "the record of a forgotten session" in findings("duplicate-record")[0]["text"]
    assert mentions("logs/a.jsonl") == []


def test_a_session_in_several_files_is_no_longer_divided(here):
    write_log(here / "logs/a.jsonl", log_line("which tide is it?", session_id="s"))
    write_log(here / "logs/b.jsonl", log_line("and now?", session_id="s"))
    convert("logs", "out", PLAIN)
    assert "logs/a.jsonl" in findings("divided-session")[0]["text"]
    run("logs/a.jsonl")
    assert findings("divided-session") == mentions("logs/a.jsonl") == []


def test_a_copy_of_a_forgotten_log_is_not_named(here):
    for name, data in (("a.jsonl", b""), ("b.jsonl", b" ")):
        line = log_line(f"which tide{data.decode()} is it?")
        write_log(here / "logs" / name, line)
    Path("logs/a.jsonl.gz").write_bytes(gzip.compress(Path("logs/a.jsonl").read_bytes()))
    convert("logs", "out", PLAIN)
    assert findings("duplicate-log")
    run("a.jsonl")
    assert findings("duplicate-log") == []
    assert mentions("a.jsonl") == []


def test_malformed_lines_of_other_sessions_stay(here):
    for name in "abc":
        write_log(here / f"logs/{name}.jsonl", log_line(name), f"{{broken {name}".encode())
    convert("logs", "out", Options(anonymize=False, keep_rejected=True))
    run("b.jsonl")
    assert Path("out/reports/rejected-lines.jsonl").read_text() == "{broken a\n{broken c\n"


def test_rows_of_labels_are_only_removed_with_their_replies(here):
    for name in "ab":
        write_log(here / f"logs/{name}.jsonl", log_line(name, session_id=name))
    convert("logs", "out", Options(anonymize=False, trace_replies=True))
    ids = [each["id"] for each in report("replies.jsonl")]
    rows = [*({"id": each, "weight": 0.5} for each in ids), {"id": "nobody", "weight": 1}]
    Path("labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["convert", "logs", "-o", "out", "--no-anonymize", "--loss", "weight", "--loss-labels", "labels.jsonl"]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert [row["row"] for row in report("loss-labels.jsonl")] == [1, 2, 3]
    run("a")
    assert [(row["row"], row["outcome"]) for row in report("loss-labels.jsonl")] == [(2, "applied"), (3, "unknown")]
    assert manifest()["counts"]["loss_labels"]["rows"] == 2


@pytest.mark.parametrize("argument", ["gateway.jsonl", "s1.jsonl"])
def test_both_files_of_a_joined_session_are_forgotten(here, argument):
    """Each contains texts of the other."""
    both(here)
    write_log(here / "logs/z.jsonl", log_line("which tide is it?"))
    convert("logs", "out", Options(anonymize=False, join=True, conversations="all"))
    assert mentions("mended now")
    done = run(argument)
    assert sorted({each.path for each in done.matches}) == ["logs/gateway.jsonl", "logs/projects/p/s1.jsonl"]
    assert any("joined with a session above" in str(each) for each in done.matches)
    assert mentions("mended now") == mentions("Hello, what shall we build") == []
    assert verify(Path("out")).problems == []


# Which sessions


@cases("arguments, expected",
    ("an id", ["s-1"], ["s-1"]),
    ("several ids", ["s-1", "t-1"], ["s-1", "t-1"]),
    ("a glob for ids", ["s-*"], ["s-1", "s-2"]),
    ("a path", ["logs/x/two.jsonl"], ["s-2"]),
    ("a file name", ["two.jsonl"], ["s-2"]),
    ("a glob for file names", ["t*.jsonl"], ["s-2", "t-1"]),
    ("a folder", ["logs/x"], ["s-2"]),
    ("a glob for paths", ["logs/*/t*"], ["s-2"]),
)  # fmt: skip
def test_sessions_are_selected_by_ids_paths_and_globs(here, arguments, expected):
    for name, session in (("one", "s-1"), ("x/two", "s-2"), ("three", "t-1"), ("four", "u-1")):
        write_log(here / f"logs/{name}.jsonl", log_line(session, session_id=session))
    convert("logs", "out", Options(anonymize=False, sessions_by="id"))
    assert sorted(each.session for each in run(*arguments, is_dry_run=True).matches) == expected


def test_a_dry_run_and_a_refused_one_change_nothing(result):
    before = tree(Path("out"))
    assert not run("a", is_dry_run=True).is_confirmed
    assert not run("a", confirm=False).is_confirmed
    assert tree(Path("out")) == before


@cases("arguments, problem",
    ("an unknown session", ["a", "x"], "out: no session or log matches 'x'; reports/sessions.jsonl lists the sessions and their logs"),
    ("a folder name that is no path", ["logs"], "out: no session or log matches 'logs'"),
    ("an empty argument", ["a", ""], "'': neither a session nor a log; pass the id of a session, the path of its log, or a pattern for these"),
    ("the current folder", ["."], "'.': neither a session nor a log"),
    ("all sessions", ["?"], "out: these are all of its 3 sessions; delete the folder instead"),
)  # fmt: skip
@pytest.mark.parametrize("is_dry_run", [False, True])
def test_what_cannot_be_forgotten_is_refused(result, arguments, problem, is_dry_run):
    before = tree(Path("out"))
    with pytest.raises(UsageError, match=re.escape(problem)):
        run(*arguments, is_dry_run=is_dry_run)
    assert tree(Path("out")) == before


def test_a_folder_that_is_no_result_is_refused_and_not_changed(result):
    for folder in ("logs", "nothing"):
        with pytest.raises(UsageError, match=f"{folder}: not a result of chatsquash convert"):
            run("a", out=folder)
    assert sorted(path.name for path in Path().iterdir()) == ["logs", "out"]
    next(Path("out").glob("*.jsonl")).write_text("{}\n")
    with pytest.raises(UsageError, match="out: the output was changed since it was written"):
        run("a")


# Afterwards


def test_the_same_command_again_says_that_it_was_done(result):
    run("a")
    done = run("a")
    assert done.matches == ()
    assert done.forgotten_at == report("forgotten.jsonl")[0]["forgotten_at"]
    run("b*")
    assert run("b*").forgotten_at
    assert len({receipt["salt"] for receipt in report("forgotten.jsonl")}) == 1
    assert len(report("forgotten.jsonl")) == 2


def test_a_run_that_would_bring_a_session_back_is_refused(result):
    run("a")
    before = tree(Path("out"))
    with pytest.raises(UsageError) as refused:
        convert("logs", "out", PLAIN)
    assert "logs/a.jsonl: session 'a' was removed by chatsquash forget on 20" in str(refused.value)
    assert "skip its log with exclude, or write it again with replace=True" in str(refused.value)
    assert tree(Path("out")) == before
    convert("logs", "out", Options(anonymize=False, exclude=("a.jsonl",)))
    assert len(report("forgotten.jsonl")) == 1
    assert verify(Path("out")).problems == []
    with pytest.raises(UsageError, match="was removed by chatsquash forget"):
        convert("logs", "out", PLAIN)
    convert("logs", "out", Options(anonymize=False, replace=True))
    assert not Path("out/reports/forgotten.jsonl").exists()


def test_shards_that_would_bring_a_session_back_are_refused(result):
    run("a")
    for exclude in ((), ("a.jsonl",)):
        divide("logs", Path("out"), Options(anonymize=False, exclude=exclude), 1)
        convert_shard(Path("out"), Shard(1, 1), Options(anonymize=False))
        if exclude:
            merge_shards(Path("out"))
            continue
        with pytest.raises(UsageError, match=r"logs/a\.jsonl: session 'a' was removed by chatsquash forget"):
            merge_shards(Path("out"))
        with pytest.raises(UsageError, match=r"shards: contains shards with texts of sessions; run chatsquash merge"):
            run("b")
    assert len(report("forgotten.jsonl")) == 1
    assert verify(Path("out")).problems == []


def test_files_of_the_same_name_without_ids_are_told_apart_by_their_folders(here):
    for name in "xyz":
        line = log_line(f"question {name}")
        del line["session_id"]
        write_log(here / f"logs/{name}/log.jsonl", line)
    convert("logs", "out", PLAIN)
    assert [each["session"] for each in report("sessions.jsonl")] == ["log"] * 3
    assert [each.path for each in run("logs/y/log.jsonl").matches] == ["logs/y/log.jsonl"]
    with pytest.raises(UsageError, match=r"logs/y/log\.jsonl: session 'log' was removed"):
        convert("logs", "out", PLAIN)
    assert convert("logs", "out", Options(anonymize=False, exclude=("y",))).written == 2


def test_a_refused_run_leaves_no_text_of_the_session(here):
    for name in "ab":
        write_log(here / f"logs/{name}.jsonl", log_line(f"the secret of {name}"))
    convert("logs", "out", PLAIN)
    run("a.jsonl")
    with pytest.raises(UsageError, match="was removed by chatsquash forget"):
        convert("logs", "out", PLAIN)
    assert mentions("the secret of a") == []
    assert mentions("the secret of b") != []


def test_merged_results_have_the_receipts_of_both(result):
    write_log(result / "more/d.jsonl", log_line("and then?", session_id="d"))
    write_log(result / "more/e.jsonl", log_line("and there?", session_id="e"))
    convert("more", "more-out", PLAIN)
    run("a")
    run("d", out="more-out")
    merge_results(["out", "more-out"], Path("both"), Options())
    assert report("forgotten.jsonl", "both") == [*report("forgotten.jsonl"), *report("forgotten.jsonl", "more-out")]
    assert run("b", out="both").remaining == 2
    with pytest.raises(UsageError, match=r"d\.jsonl: session 'd' was removed"):
        convert(["logs", "more"], "both", Options(anonymize=False, exclude=("a.jsonl", "b.jsonl")))


def test_a_run_without_the_receipts_is_refused(result):
    run("a")
    Path("out/reports/forgotten.jsonl").unlink()
    before = tree(Path("out"))
    with pytest.raises(UsageError) as refused:
        convert("logs", "out", Options(anonymize=False, exclude=("a.jsonl",)))
    why = "is missing, so sessions removed by chatsquash forget cannot be recognized"
    assert f"out/reports/forgotten.jsonl: {why}; restore it, or write them again with replace=True" in str(
        refused.value
    )
    assert tree(Path("out")) == before
    assert convert("logs", "out", Options(anonymize=False, replace=True)).written == 3
    assert convert("logs", "out", PLAIN).written == 3


def test_damaged_receipts_are_an_error(result):
    run("a")
    path = Path("out/reports/forgotten.jsonl")
    path.write_text("[" * 10**5 + "\n")
    with pytest.raises(UsageError, match=r"reports/forgotten\.jsonl: invalid content"):
        convert("logs", "out", PLAIN)


def test_files_that_chatsquash_did_not_write_are_named(result):
    Path("out/notes.txt").write_text("which tide is it?")
    assert run("a").foreign_files == ["notes.txt"]
    assert Path("out/notes.txt").exists()


def test_a_report_page_of_the_old_result_is_deleted(result):
    with locked_result(Path("out")) as place:
        place.put("report.html", b"which tide is it?")
    assert run("a").pages == ["report.html"]
    assert not Path("out/report.html").exists()


# The command


def invoke(*arguments: str, **options: Any):
    return CliRunner().invoke(cli, ["forget", *arguments], **options)


def test_the_command_lists_what_it_removes(result):
    done = invoke("out", "a", "--dry-run")
    assert (done.exit_code, done.stdout) == (0, "a (logs/a.jsonl, 1 record)\n")
    assert done.stderr == "nothing was removed (--dry-run)\n"
    done = invoke("out", "a", "--yes")
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        "1 session with 1 record removed from out, 2 sessions left",
        "the logs still contain them: delete them, or use --exclude in later runs",
    ]
    done = invoke("out", "a", "--yes")
    assert done.exit_code == 0
    assert done.stderr.startswith("nothing to remove: out has had no such session since 20")


def test_lines_are_wrapped_to_the_terminal(result, monkeypatch):
    monkeypatch.setattr("chatsquash.cli.printing._columns", lambda stream: 20)
    name = "x" * 30
    Path("out", name).touch()
    done = invoke("out", "a", "--yes")
    assert done.stdout == "a (logs/a.jsonl, 1\n  record)\n"
    assert done.stderr.splitlines()[-1] == f"  {name}"
    assert max(map(len, done.stderr.splitlines()[:-1])) <= 20


def test_the_command_asks_first(result):
    done = invoke("out", "a")
    assert done.exit_code == 2
    assert "forget requires confirmation, but there is no terminal; add --yes or --dry-run" in done.stderr
    assert "use only one of them" in invoke("out", "a", "--yes", "--dry-run").stderr
    assert mentions("logs/a.jsonl")
