"""``chatsquash verify`` says what does not agree with ``run.json``, and nothing else."""

import gzip
import json
from hashlib import sha256
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.results.verify import verify
from tests.conftest import cases, log_line, write_log
from tests.session.test_join import both

MIXED = [log_line("m", session_id=name, at=at) for at, name in enumerate(("s1", "s2", "s1"))]


@pytest.fixture
def out(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs" / "a.jsonl", log_line("x"), b"{broken")
    write_log(tmp_path / "logs" / "b.jsonl", log_line("y", at="2026-01-14T00:00:00Z", session_id="s2"))
    convert("logs", "out")
    return Path("out")


def edit(change) -> None:
    run = json.loads(Path("out/run.json").read_bytes())
    change(run)
    Path("out/run.json").write_text(json.dumps(run))


def without(path: str):
    return lambda run: run.update(outputs=[each for each in run["outputs"] if each["path"] != path])


def added(name: str, data: str):
    def act() -> None:
        with Path(name).open("a") as file:
            file.write(data)

    return act


def retold(member: str, value):
    """The first session of the table has another value, and ``run.json`` the hash of that."""

    def act() -> None:
        path = Path("out/reports/sessions.jsonl")
        first, *rest = path.read_text().splitlines()
        path.write_text("\n".join([json.dumps({**json.loads(first), member: value}), *rest, ""]))
        size, digest = path.stat().st_size, sha256(path.read_bytes()).hexdigest()
        told = {"size": size, "sha256": digest}
        edit(lambda run: next(o for o in run["outputs"] if o["path"] == "reports/sessions.jsonl").update(told))

    return act


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_a_dataset_folder_is_what_it_says_and_a_record_more_is_found(out, packing):
    convert("logs", "set", Options(format=packing, drop_duplicates=False))
    assert verify(Path("set")).problems == []
    path = Path("set/run.json")
    run = json.loads(path.read_bytes())
    run["counts"]["conversations"].update(seen=3, written=3)
    path.write_text(json.dumps(run))
    assert "set/run.json: counts 3 records, but the files have 2" in verify(Path("set")).problems


@cases("spoil, problem",
    ("a file with more in it", added("out/2026-01-13.jsonl", "x"), "out/2026-01-13.jsonl: "),
    ("a file with other bytes", lambda: Path("out/2026-01-14.jsonl").write_bytes(b"\n" * 109), "out/2026-01-14.jsonl: "),
    ("a file that is gone", lambda: Path("out/reports/tools.csv").unlink(), "out/reports/tools.csv: cannot be read (No such file"),
    ("a folder in its place", lambda: (Path("out/reports/tools.csv").unlink(), Path("out/reports/tools.csv").mkdir()), "out/reports/tools.csv: cannot be read (is a folder)"),
    ("another number of lines", lambda: edit(lambda run: run["outputs"][0].update(lines=7)), "out/2026-01-13.jsonl: 1 line, expected 7"),
    ("sessions that are not accounted for", lambda: edit(lambda run: run["counts"]["sessions"].update(seen=3)), "out/run.json: 2 of 3 sessions are accounted for"),
    ("lines that are not accounted for", lambda: edit(lambda run: run["counts"]["lines"].update(blank=1)), "out/run.json: 4 of 3 lines are accounted for"),
    ("findings that are not there", lambda: edit(lambda run: run["counts"]["findings"]["error"].update(x=1)), "out/run.json: counts 2 error findings, but the reports have 1"),
    ("findings of a severity that is not there", lambda: edit(lambda run: run["counts"]["findings"].update(warning={"x": 1})), "out/run.json: counts 1 warning finding, but the reports have 0"),
    ("records that are not there", lambda: edit(lambda run: run["counts"]["conversations"].update(seen=3, written=3)), "out/run.json: counts 3 records, but the files have 2"),
    ("sessions without the records that they are to have", lambda: edit(lambda run: run["counts"]["sessions"].update(seen=3, written=3)), "out/run.json: counts 3 sessions with a record, but 2 records"),
    ("replies that are not accounted for", lambda: edit(lambda run: run["counts"]["replies"].update(carried=0)), "out/run.json: 0 of 2 replies are accounted for"),
    ("conversations that are not accounted for", lambda: edit(lambda run: run["counts"]["conversations"]["not_chosen"].update(side=1)), "out/run.json: 3 of 2 conversations are accounted for"),
    ("logs that are not named", lambda: edit(lambda run: run["inputs"].pop()), "out/run.json: counts 2 sessions, but lists 1 input"),
    ("rejected lines that are not there", lambda: edit(lambda run: run["counts"]["lines"].update(unreadable=2, blank=-1)), "out/run.json: counts 2 rejected lines, but the reports have 1"),
    ("sessions that were left out for something else", lambda: edit(lambda run: run["counts"]["sessions"].update(written=1, left_out={"bad": 1})), "out/run.json: counts 1 session skipped: bad, but reports/sessions.jsonl has 0"),
    ("a session in another file", retold("file", "x.jsonl"), "out/run.json: counts 0 records in x.jsonl, but reports/sessions.jsonl has 1"),
    ("a session in another row", retold("row", 2), "out/reports/sessions.jsonl: row 2 of 2026-01-13.jsonl instead of row 1"),
    ("a commit that was not finished", lambda: Path("out/.chatsquash/commit.json").touch(), "out: a run was killed while moving files into place"),
)  # fmt: skip
def test_what_does_not_agree_is_named(out, spoil, problem):
    assert verify(out).problems == []
    spoil()
    found = verify(out).problems
    assert len(found) <= 3  # a number may disagree with more than one other
    assert any(each.startswith(problem) for each in found)


def test_files_of_others_do_not_matter(out):
    (out / "notes.txt").touch()
    done = verify(out, logs=True)
    assert (done.files, done.logs, done.problems) == (11, 2, [])


def test_a_run_of_before_that_counted_no_conversations_is_what_it_says(out):
    edit(lambda run: [run["counts"].pop(name) for name in ("replies", "reasoning", "conversations")])
    assert verify(out).problems == []
    edit(lambda run: run["counts"]["sessions"].update(seen=3, written=3))
    assert "out/run.json: counts 3 records, but the files have 2" in verify(out).problems


@cases(
    "spoil, problem",
    ("more in it", added("logs/a.jsonl", "x"), "logs/a.jsonl: file has changed since it was converted"),
    ("gone", lambda: Path("logs/a.jsonl").unlink(), "logs/a.jsonl: cannot be read (No such file or directory)"),
)
def test_logs_are_compared_where_that_is_asked_for(out, spoil, problem):
    spoil()
    assert verify(out).problems == []
    assert verify(out, logs=True).problems == [problem]


@pytest.mark.parametrize("sessions_by", ["file", "id"])
def test_logs_of_several_sessions_are_compared_session_by_session(out, sessions_by):
    write_log(Path("logs/m.jsonl"), *MIXED)
    convert("logs", "out", Options(sessions_by=sessions_by))
    done = verify(out, logs=True)
    assert (done.logs, done.problems) == (3, [])
    write_log(Path("logs/m.jsonl"), *MIXED[:2], log_line("other", session_id="s1", at=2))
    assert verify(out, logs=True).problems == ["logs/m.jsonl: file has changed since it was converted"]


THREE = [log_line(f"hi {name}", session_id=name, at=at) for at, name in enumerate("abcab", 1)]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "compressed"])
def test_a_log_in_which_the_limit_ended_is_compared_as_far_as_it_was_converted(tmp_path, monkeypatch, limit, pack):
    monkeypatch.chdir(tmp_path)
    write_log(Path("logs/a.jsonl"), log_line("first", session_id="first"))
    name = f"logs/m.jsonl{'.gz' if pack is gzip.compress else ''}"

    def write(*lines):
        write_log(Path("m"), *lines)
        Path(name).write_bytes(pack(Path("m").read_bytes()))

    write(*THREE)
    options = Options(sessions_by="id", limit=limit)
    convert("logs", "out", options)
    assert verify(Path("out"), logs=True).problems == []
    for at, session in enumerate("abcab"):
        write(*THREE[:at], log_line("else", session_id=session, at=at + 1), *THREE[at + 1 :])
        is_converted = "abc".index(session) + 2 <= limit
        assert bool(verify(Path("out"), logs=True).problems) is is_converted
    write(*[line for line in THREE if line["session_id"] != "a"])
    assert bool(verify(Path("out"), logs=True).problems) is (limit > 1)


def test_a_limit_that_was_not_reached_lets_nothing_pass(out):
    write_log(Path("logs/m.jsonl"), *MIXED)
    convert("logs", "out", Options(sessions_by="id", limit=99))
    edit(lambda run: run["inputs"].pop())
    edit(lambda run: run["counts"]["sessions"].update(seen=run["counts"]["sessions"]["seen"] - 1))
    assert "logs/m.jsonl: file has changed since it was converted" in verify(out, logs=True).problems


def test_a_log_that_could_not_be_read_then_is_not_compared(out):
    edit(lambda run: run["inputs"][0].update(xxh3_128=""))
    Path("logs/a.jsonl").unlink()
    assert verify(out, logs=True).problems == []


def test_a_log_whose_name_is_no_text_is_found(out):
    write_log(Path("logs/\udcff.jsonl"))
    convert("logs", "out")
    assert verify(out, logs=True).problems == []


@cases("spoil, problem",
    ("nothing", lambda: Path("out/run.json").unlink(), "out/run.json: cannot be read (no run has finished there"),
    ("no JSON", lambda: Path("out/run.json").write_text("{"), "out/run.json: not valid JSON; convert again"),
    ("no object", lambda: Path("out/run.json").write_text("[]"), "out/run.json: not a JSON object; convert again"),
    ("another's", lambda: Path("out/run.json").write_text('{"outputs": []}'), "out/run.json: not a run.json of chatsquash"),
    ("a name that leads out", lambda: edit(lambda run: run["outputs"][0].update(path="../logs/a.jsonl")), "out/run.json: not a run.json of"),
)  # fmt: skip
def test_a_folder_without_a_run_is_an_error(out, spoil, problem):
    spoil()
    with pytest.raises(UsageError) as caught:
        verify(out)
    assert str(caught.value).startswith(problem)


def test_the_command_prints_what_does_not_agree_and_ends_with_3(out, command):
    assert command("verify", "out", "--logs") == (0, "", "11 files, 2 logs compared, 0 differences\n")
    Path("out/reports/tools.csv").unlink()
    code, printed, err = command("verify", "out")
    assert (code, err) == (3, "11 files compared, 1 difference\n")
    assert printed == "out/reports/tools.csv: cannot be read (No such file or directory)\n"
    assert command("verify", "nope")[0] == 2


def test_a_result_with_joined_sessions_is_unchanged(here):
    """Agents' files without a record of their own are counted apart, and their findings with the filtered ones."""
    both(here)
    convert("logs", "out", Options(anonymize=False, join=True))
    assert json.loads(Path("out/run.json").read_text())["counts"]["sessions"]["joined"] > 0
    assert verify(Path("out")).problems == []
