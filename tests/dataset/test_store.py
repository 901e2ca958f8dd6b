"""The output folder: whole files or none, and nothing of anybody else's is touched."""

import hashlib
import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.dataset import store as output
from chatsquash.dataset.store import Output
from chatsquash.storage import lock
from chatsquash.storage.folder import Folder
from tests.conftest import cases, tree


def run(out: Path, force: bool = False, **files: str) -> None:
    """A run that writes these files; ``__`` in a name is a slash."""
    folder = Output(out, force=force)
    try:
        for name, text in files.items():
            folder.write(name.replace("__", "/"), text.encode())
        folder.write("run.json", b"{}")
        folder.commit()
    finally:
        folder.discard()


class Killed(BaseException):
    """What no run catches, as it cannot catch what kills its process; the lock goes with the descriptor."""


def test_files_stand_in_their_places_after_commit(tmp_path):
    out = tmp_path / "some" / "out"
    run(out, a="1", reports__b="2")
    record = json.dumps({"files": ["a", "reports/b", "run.json"]}, indent=1).encode()
    hidden = {".chatsquash": None, ".chatsquash/lock": b"", ".chatsquash/written.json": record}
    assert tree(out) == {**hidden, "a": b"1", "reports": None, "reports/b": b"2", "run.json": b"{}"}


def test_before_commit_nothing_stands_there(tmp_path):
    folder = Output(tmp_path / "out")
    folder.write("a", b"1")
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".chatsquash"]
    folder.discard()


@pytest.mark.parametrize("made", ["out", "some/out", "."])
def test_discarding_leaves_no_trace(tmp_path, made):
    before = tree(tmp_path)
    folder = Output(tmp_path / made)
    folder.write("reports/a", b"1")
    folder.discard()
    assert tree(tmp_path) == before


def test_discarding_leaves_what_stood_there(tmp_path):
    run(tmp_path, a="1", reports__b="2")
    before = tree(tmp_path)
    folder = Output(tmp_path)
    folder.write("a", b"new")
    folder.append("c", b"new")
    folder.discard()
    assert tree(tmp_path) == before


def test_a_rerun_replaces_its_files_and_removes_those_it_no_longer_writes(tmp_path):
    run(tmp_path, a="1", b="2", reports__c="3")
    (tmp_path / "mine").write_text("stays")
    run(tmp_path, a="new", d="4")
    files = {name: data for name, data in tree(tmp_path).items() if data is not None and not name.startswith(".")}
    assert files == {"a": b"new", "d": b"4", "mine": b"stays", "run.json": b"{}"}


def test_what_was_removed_since_does_not_matter(tmp_path):
    run(tmp_path, a="1", b="2")
    (tmp_path / "a").unlink()
    (tmp_path / "b").unlink()
    run(tmp_path, a="new")
    assert (tmp_path / "a").read_text() == "new"


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "mine").write_text("stays")
    before = tree(tmp_path)
    with pytest.raises(UsageError, match=r"is not empty and was not written by chatsquash; choose another .* --force$"):
        Output(tmp_path)
    assert tree(tmp_path) == before


def test_force_adds_to_other_files(tmp_path):
    (tmp_path / "mine").write_text("stays")
    run(tmp_path, force=True, a="1")
    assert (tmp_path / "mine").read_text() == "stays"
    run(tmp_path, a="2")
    assert (tmp_path / "a").read_text() == "2"


@cases(
    "name, make",
    ("a file", "a", Path.touch),
    ("a folder", "a", Path.mkdir),
    ("a link, also a broken one", "a", lambda path: path.symlink_to("gone")),
    ("a report", "reports/b", lambda path: (path.parent.mkdir(), path.touch())),
    ("the file that ends a run", "run.json", Path.touch),
    ("a file called reports", "reports", Path.touch),
)
@pytest.mark.parametrize("force", [False, True])
def test_what_is_not_ours_is_never_overwritten(tmp_path, name, make, force):
    run(tmp_path, z="1")
    (tmp_path / "run.json").unlink()
    (tmp_path / ".chatsquash" / "written.json").write_text('{"files": ["z"]}')
    make(tmp_path / name)
    before = tree(tmp_path)
    with pytest.raises(UsageError) as caught:
        run(tmp_path, force=force, a="1", reports__b="2")
    hint = "move it elsewhere, or choose another folder with --output"
    assert str(caught.value) == f"{tmp_path / name}: not written by chatsquash, but would be overwritten; {hint}"
    assert tree(tmp_path) == before


def test_names_can_be_refused_before_there_is_anything_to_write(tmp_path):
    (tmp_path / "a").touch()
    folder = Output(tmp_path, force=True)
    with pytest.raises(UsageError, match="would be overwritten"):
        folder.refuse_foreign("b", "a")
    folder.discard()


def test_a_file_is_no_output_folder(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(UsageError, match=r"out: not a folder; choose another with --output$"):
        Output(tmp_path / "out")


def test_below_a_file_there_is_no_output_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"file/out: cannot be written to \(Not a directory\)$"):
        Output(tmp_path / "file" / "out")


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(UsageError, match=r"out: cannot be written to \(Permission denied\)$"):
        Output(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_folder_is_taken(tmp_path):
    run(tmp_path, a="1")
    assert (tmp_path / "a").exists()


def test_a_link_to_a_folder_is_taken(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    run(tmp_path / "out", a="1")
    assert (tmp_path / "real" / "a").exists()


@cases(
    "text",
    ("no JSON", "{"),
    ("no text", "\x00\xff"),
    ("no object", "[]"),
    ("no list", '{"files": 1}'),
    ("no names", '{"files": [1]}'),
    ("a name that leads up", '{"files": ["../mine"]}'),
    ("a name that leads up in the middle", '{"files": ["reports/../../mine"]}'),
    ("a name that leads to the root", '{"files": ["/etc/mine"]}'),
    ("a name that is the folder", '{"files": [""]}'),
    ("our own mark", '{"files": [".chatsquash/written.json"]}'),
)
def test_a_damaged_record_of_what_is_ours_stops_before_anything_is_touched(tmp_path, text):
    out = tmp_path / "out"
    run(out, a="1")
    (out / ".chatsquash" / "written.json").write_text(text, encoding="latin-1")
    before = tree(tmp_path)
    with pytest.raises(UsageError) as caught:
        Output(out)
    ways_out = f"choose another folder with --output, or delete {out / '.chatsquash'}, after which all other files"
    expected = f"written.json: is damaged; {ways_out} in the folder are treated as foreign"
    assert str(caught.value).endswith(expected)
    assert tree(tmp_path) == before


@cases(
    "make",
    ("a folder", Path.mkdir),
    ("a folder with something in it", lambda path: (path / "mine").mkdir(parents=True)),
    ("what is not a file", os.mkfifo),
)
@pytest.mark.parametrize("name", ["a", "reports/b"])
def test_what_took_the_place_of_a_file_of_ours_is_refused_at_once(tmp_path, make, name):
    run(tmp_path, a="1", reports__b="2")
    (tmp_path / name).unlink()
    make(tmp_path / name)
    paths = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as caught:
        Output(tmp_path, force=True)
    assert str(caught.value).startswith(f"{tmp_path / name}: not written by chatsquash, but would be overwritten;")
    assert sorted(tmp_path.rglob("*")) == paths


def test_a_link_in_the_place_of_a_file_of_ours_is_replaced(tmp_path):
    run(tmp_path / "out", a="1")
    (tmp_path / "out" / "a").rename(tmp_path / "mine")
    (tmp_path / "out" / "a").symlink_to("../mine")
    run(tmp_path / "out", a="2")
    assert not (tmp_path / "out" / "a").is_symlink()
    assert [(tmp_path / name).read_text() for name in ("out/a", "mine")] == ["2", "1"]


def test_what_a_killed_run_left_is_swept_away(tmp_path):
    run(tmp_path, a="1")
    (tmp_path / ".chatsquash" / "staging").mkdir()
    (tmp_path / ".chatsquash" / "staging" / "b").write_text("half")
    run(tmp_path, a="2")
    assert not (tmp_path / ".chatsquash" / "staging").exists()


WRITER = """
import sys
from pathlib import Path
from chatsquash.dataset.store import Output
from tests.conftest import tree
folder = Output(Path(sys.argv[1]))
folder.write("a", b"other")
print("here", flush=True)
sys.stdin.read()
folder.commit()
folder.discard()
"""


def test_two_runs_do_not_write_to_one_folder_at_a_time(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", WRITER, str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "here\n"
        with pytest.raises(
            UsageError,
            match=rf"out: another run is writing to this folder \(process {other.pid} on \S+\); wait until it ends, or choose another",
        ):
            Output(out)
        other.communicate("")
    assert (out / "a").read_text() == "other"
    run(out, a="mine")
    assert (out / "a").read_text() == "mine"


def test_the_lock_of_a_run_that_was_killed_does_not_block(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "here\n"
        other.kill()
    assert (tmp_path / ".chatsquash" / "lock").read_text().startswith(f"process {other.pid} on ")
    run(tmp_path, a="mine")
    assert (tmp_path / "a").read_text() == "mine"
    assert (tmp_path / ".chatsquash" / "lock").read_bytes() == b""


@cases(
    "owner, blocks",
    ("a process of this host that runs", f"process {os.getppid()} on {os.uname().nodename}", True),
    ("a process of this host that does not", f"process {2**22 + 1} on {os.uname().nodename}", False),
    ("a process that no system could have", f"process {10**30} on {os.uname().nodename}", False),
    ("this process", f"process {os.getpid()} on {os.uname().nodename}", False),
    ("a process of another host", "process 1 on elsewhere.example", False),
    ("something else", "\x00\xff", False),
)
def test_where_the_file_system_has_no_locks_the_owner_counts_that_still_runs(tmp_path, monkeypatch, owner, blocks):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    run(tmp_path, a="1")
    (tmp_path / ".chatsquash" / "lock").write_text(owner, encoding="latin-1")
    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    if blocks:
        with pytest.raises(UsageError, match=f"another run is writing to this folder \\({owner}\\)"):
            Output(tmp_path)
    else:
        run(tmp_path, a="2")


def test_a_lock_that_the_file_system_does_not_know_is_done_without(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    run(tmp_path, a="1")
    assert (tmp_path / "a").exists()


def calls_of_a_commit(out, monkeypatch) -> list[str]:
    """What a commit does to the disk, in order: ``sync NAME``, ``keep NAME``, ``place NAME`` and ``remove NAME``."""
    seen = []

    def watch(method, word, where):
        call = getattr(Folder, method)

        def watched(folder, *given):
            path = where(folder, *given)
            call(folder, *given)
            if word == "sync" or path.suffix != ".new":
                seen.append(f"{word} {path.relative_to(out).as_posix()}")

        monkeypatch.setattr(Folder, method, watched)

    watch("sync", "sync", lambda folder, name="": folder.path / name)
    watch("_move", "place", lambda _, __, folder, to: folder.path / to)
    watch("link", "keep", lambda folder, name, *_: folder.path / name)
    watch("remove", "remove", lambda folder, name: folder.path / name)
    return seen


def in_steps(calls: list[str]) -> list[str]:
    """The calls with those that flush, and may go side by side, in the order of the alphabet."""
    steps = groupby(calls, lambda call: call.startswith("sync "))
    return [call for is_flush, step in steps for call in (sorted(step) if is_flush else step)]


def test_files_take_their_places_in_order_and_the_one_that_names_them_last(tmp_path, monkeypatch):
    seen = calls_of_a_commit(tmp_path, monkeypatch)
    run(tmp_path, b="1", z="2", reports__a="3")
    places = [call for call in seen if call.startswith("place ") and "." not in call.removesuffix("run.json")]
    assert places == ["place b", "place reports/a", "place z", "place run.json"]


def test_all_is_flushed_in_the_order_that_a_crash_at_any_instant_needs(tmp_path, monkeypatch):
    run(tmp_path, old="1", reports__c="1")
    seen = calls_of_a_commit(tmp_path, monkeypatch)
    run(tmp_path, a="2", reports__c="2")
    ours, staging = ".chatsquash", ".chatsquash/staging"
    assert in_steps(seen) == [
        # The staged files and the names in their folders, what will be ours, and the plan, in any order;
        f"sync {ours}/commit.json.new", f"sync {staging}", f"sync {staging}/a", f"sync {staging}/reports",
        f"sync {staging}/reports/c", f"sync {staging}/run.json", f"sync {ours}/written.json.new",
        # from here on the next run would finish it.
        f"place {ours}/written.json", f"place {ours}/commit.json", f"sync {ours}",
        # What goes is kept until all is done, and all of it before anything goes;
        "keep old", "keep reports/c", "keep run.json", f"place {ours}/replaced",
        # no result stands there while files take their places,
        "remove run.json", "remove old",
        "place a", "place reports/c",
        "sync .", "sync reports",
        # and the new one comes when all that it names is there to stay;
        "place run.json", "sync .",
        # what is ours, what to remember, and no plan any more.
        f"sync {ours}/written.json.new", f"place {ours}/written.json",
        f"place {ours}/state.json",
        f"remove {ours}/commit.json", f"sync {ours}",
    ]  # fmt: skip


def test_a_first_commit_makes_the_folders_that_it_needs_stay(tmp_path, monkeypatch):
    seen = calls_of_a_commit(tmp_path, monkeypatch)
    run(tmp_path, a="2", data__b="2")
    at = {call: number for number, call in enumerate(seen)}
    assert at["place data/b"] < at["sync data"] < at["place run.json"] < len(seen) - 1
    assert "remove run.json" in at


def test_folders_that_a_first_run_made_stay(tmp_path, monkeypatch):
    seen = calls_of_a_commit(tmp_path, monkeypatch)
    sync = output._sync
    monkeypatch.setattr(output, "_sync", lambda folder: seen.append(f"sync {folder.name}") or sync(folder))
    run(tmp_path / "new" / "out", a="2")
    at = {call: number for number, call in enumerate(seen)}
    assert (
        max(at[f"sync {tmp_path.name}"], at["sync new"], at["sync out"]) < at["place new/out/.chatsquash/commit.json"]
    )


def failed(tmp_path, monkeypatch, failing: int, error=Killed, **files: str) -> None:
    """A commit that fails when so many files took their places."""
    move, calls = Folder._move, []

    def fail(folder, name, other, to):
        if other.path == tmp_path:
            calls.append(to)
            if len(calls) == failing:
                raise error
        return move(folder, name, other, to)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_move", fail)
        with pytest.raises(type(error) if isinstance(error, OSError) else error):
            run(tmp_path, **files)


def visible(tmp_path) -> dict[str, bytes | None]:
    return {name: data for name, data in tree(tmp_path).items() if not name.startswith(".") and data is not None}


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_the_next_run_first_finishes_a_commit_that_was_not(tmp_path, monkeypatch, failing):
    run(tmp_path, a="1", old="1")
    failed(tmp_path, monkeypatch, failing, a="2", b="2")
    assert not (tmp_path / "run.json").exists()
    Output(tmp_path).discard()
    assert visible(tmp_path) == {"a": b"2", "b": b"2", "run.json": b"{}"}
    assert not (tmp_path / ".chatsquash" / "commit.json").exists()
    again = Output(tmp_path)
    assert again.read_memory() == (b"", True)
    again.discard()


def test_a_commit_that_cannot_be_finished_leaves_the_result_before_it(tmp_path, monkeypatch):
    run(tmp_path, a="1", old="1")
    before = tree(tmp_path)
    failed(tmp_path, monkeypatch, 2, a="2", b="2")
    (tmp_path / ".chatsquash" / "staging" / "b").unlink()
    folder = Output(tmp_path)
    assert folder.read_memory()[1] is True
    folder.discard()
    assert tree(tmp_path) == before
    run(tmp_path, a="3")
    assert visible(tmp_path) == {"a": b"3", "run.json": b"{}"}


@pytest.mark.parametrize("text", ["{", "[]", '{"files": {"../x": 1}, "gone": [], "memory": ""}'])
def test_a_damaged_plan_stops_before_anything_is_touched(tmp_path, text):
    run(tmp_path, a="1")
    (tmp_path / ".chatsquash" / "commit.json").write_text(text)
    before = tree(tmp_path)
    with pytest.raises(UsageError, match=r"commit.json: is damaged; choose another folder"):
        Output(tmp_path)
    assert tree(tmp_path) == before


def test_a_commit_is_not_finished_over_what_is_not_ours(tmp_path, monkeypatch):
    run(tmp_path, a="1")
    failed(tmp_path, monkeypatch, 2, a="2", b="2")
    (tmp_path / "b").mkdir()
    with pytest.raises(UsageError, match="b: not written by chatsquash, but would be overwritten; move it elsewhere"):
        Output(tmp_path)
    (tmp_path / "b").rmdir()
    Output(tmp_path).discard()
    assert visible(tmp_path) == {"a": b"2", "b": b"2", "run.json": b"{}"}


@cases(
    "act, same",
    ("nothing happened", lambda out: None, True),
    ("a file is gone", lambda out: (out / "a").unlink(), False),
    ("a file was changed", lambda out: (out / "a").write_text("longer"), False),
    ("a file was written to", lambda out: os.utime(out / "a", ns=(1, 1)), False),
    ("another file came", lambda out: (out / "mine").touch(), True),
)
def test_what_a_run_wants_to_remember_comes_back_with_whether_its_files_are_the_same(tmp_path, act, same):
    folder = Output(tmp_path)
    folder.write("a", b"1")
    folder.write("run.json", b"{}")
    folder.commit(b"remember\xff")
    folder.discard()
    act(tmp_path)
    again = Output(tmp_path)
    assert again.read_memory() == (b"remember\xff", same)
    again.discard()


@pytest.mark.parametrize("failing", range(14))
def test_a_commit_that_fails_leaves_the_result_before_it_and_never_forgets_what_is_ours(tmp_path, monkeypatch, failing):
    run(tmp_path, a="1", old="1", reports__c="1")
    before = tree(tmp_path)
    calls = []

    def failing_once(method):
        call = getattr(Folder, method)

        def fail(*given):
            calls.append(given)
            if len(calls) == failing + 1:
                raise OSError(5, "Input/output error")
            return call(*given)

        monkeypatch.setattr(Folder, method, fail)

    failing_once("_move")
    failing_once("link")
    failing_once("sync")
    with pytest.raises(OSError, match="Input/output error"):
        run(tmp_path, a="2", b="2", reports__c="2")
    monkeypatch.undo()
    assert {name: data for name, data in tree(tmp_path).items() if name != ".chatsquash/written.json"} == {
        name: data for name, data in before.items() if name != ".chatsquash/written.json"
    }
    run(tmp_path, a="3", b="3", reports__c="3")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".chatsquash", "a", "b", "reports", "run.json"]


def test_a_full_disk_is_told_and_leaves_what_stood_there(tmp_path, monkeypatch):
    run(tmp_path, a="1")
    before = tree(tmp_path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(platform, "sync", full)
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path, a="2")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("together", [0, 7, 1 << 16])
def test_lines_are_appended_in_turn_to_more_files_than_are_open(tmp_path, monkeypatch, together):
    monkeypatch.setattr(output, "_OPEN_FILES", 2)
    monkeypatch.setattr(output, "_BATCH", together)
    folder = Output(tmp_path)
    for number in range(20):
        folder.append(f"{number % 5}", str(number).encode())
    folder.commit()
    folder.discard()
    assert {path.name: path.read_text() for path in tmp_path.glob("[0-9]")} == {
        str(name): "".join(f"{number}\n" for number in range(name, 20, 5)) for name in range(5)
    }


def test_lines_that_wait_are_written_before_what_comes_after(tmp_path):
    folder = Output(tmp_path)
    folder.append("a", b"one")
    folder.write("a", b"two\n")
    folder.append("a", b"three")
    folder.rename("a", "b")
    folder.append("b", b"four")
    folder.commit()
    folder.discard()
    assert (tmp_path / "b").read_text() == "one\ntwo\nthree\nfour\n"


def test_size_lines_and_hash_are_those_of_the_files(tmp_path):
    folder = Output(tmp_path)
    folder.append("a", b"one")
    folder.append("a", b"two")
    folder.write("b", b"x\ny\nz")
    folder.write("empty", b"")
    folder.append_private("p", iter([b"se", b"cret"]))
    told = {staged.name: (staged.size, staged.lines, staged.digest.hexdigest()) for staged in folder.staged_files()}
    folder.commit()
    folder.discard()
    data = {name: (tmp_path / name).read_bytes() for name in told}
    assert told == {
        name: (len(each), each.count(b"\n"), hashlib.sha256(each).hexdigest()) for name, each in data.items()
    }
    assert data == {"a": b"one\ntwo\n", "b": b"x\ny\nz", "empty": b"", "p": b"secret\n"}


def test_a_private_file_is_its_owners_alone_and_others_go_by_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        folder = Output(tmp_path)
        folder.append_private("p", [b"secret"])
        folder.append_private("p", [b"more"])
        folder.append("a", b"open")
        folder.commit()
        folder.discard()
    finally:
        os.umask(before)
    assert (tmp_path / "p").read_text() == "secret\nmore\n"
    assert oct((tmp_path / "p").stat().st_mode & 0o777) == "0o600"
    assert oct((tmp_path / "a").stat().st_mode & 0o777) == "0o640"
