"""The commit of a killed ``redact`` or ``translate`` is finished by the next run, and a planted one leads nowhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import lock, unlock
from chatsquash.storage.staging import StagedFiles
from tests.conftest import cases, tree

JOURNAL = f"{OURS}-0123456789abcdef"
NAMES = ["a", "in/b", "c"]


class Killed(BaseException):
    """What no run catches, as it cannot catch what kills its process."""


def run(place: Path, word: str, names: list[str] = NAMES, *, force: bool = True) -> None:
    """A run that writes these files."""
    staged = StagedFiles(place, force=force)
    try:
        staged.begin()
        for name in names:
            with staged.open(name) as file:
                file.write(word.encode() * len(name))
        staged.put(names)
    finally:
        staged.discard()


def killed_at(monkeypatch, place: Path, name: str, word: str = "new") -> None:
    """A run that is killed when a file is to take its place."""
    move = Folder._move

    def kill(folder, each, other, to):
        if other.path == place and to == name:
            raise Killed
        move(folder, each, other, to)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_move", kill)
        with pytest.raises(Killed):
            run(place, word)


def planted(place: Path, plan: object = None, **staged: str) -> Path:
    """A journal folder with a plan and staged files."""
    journal = place / JOURNAL
    (journal / "staging").mkdir(parents=True)
    for name, text in staged.items():
        (journal / "staging" / name).write_text(text)
    if plan is not None:
        (journal / "commit.json").write_text(plan if isinstance(plan, str) else json.dumps(plan))
    return journal


def plan(*names: str, size: int = 3, **more: object) -> dict:
    return {"files": dict.fromkeys(names, size), "gone": [], "memory": "", **more}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("old", [False, True])
def test_the_next_run_finishes_what_a_killed_one_began(here, monkeypatch, name, old):
    if old:
        run(here, "old")
    killed_at(monkeypatch, here, name)
    assert [path.name for path in here.glob(f"{OURS}-*/commit.json")] == ["commit.json"]
    run(here, "other", ["d"])
    expected = {name: b"new" * len(name) for name in NAMES}
    assert tree(here) == {**expected, "in": None, "d": b"other"}


def test_a_run_without_force_finishes_it_too_and_then_refuses_what_is_there(here, monkeypatch):
    killed_at(monkeypatch, here, "c")
    with pytest.raises(UsageError, match=r"a: already exists; add --force to replace it$"):
        run(here, "more", force=False)
    assert tree(here) == {**{name: b"new" * len(name) for name in NAMES}, "in": None}


def test_what_can_no_longer_be_finished_gives_way_to_the_old_files(here, monkeypatch):
    run(here, "old")
    before = tree(here)
    killed_at(monkeypatch, here, "c")
    (next(here.glob(f"{OURS}-*")) / "staging/c").unlink()
    staged = StagedFiles(here, force=True)
    staged.begin()
    staged.discard()
    assert tree(here) == before


def test_a_run_that_was_killed_meanwhile_does_not_undo_what_another_one_wrote(here, monkeypatch):
    run(here, "old")
    staged = StagedFiles(here, force=True)
    staged.begin()
    killed_at(monkeypatch, here, "c")
    for name in ("a", "c"):
        with staged.open(name) as file:
            file.write(b"last")
    staged.put(["a", "c"])
    staged.discard()
    run(here, "other", ["d"])
    assert tree(here) == {"a": b"last", "c": b"last", "in": None, "in/b": b"new" * 4, "d": b"other"}


@pytest.mark.parametrize("name", ["redact", "translate"])
def test_the_same_command_completes_it(here, name):
    body = {"messages": [{"role": "user", "content": "bob@corp.de"}, {"role": "assistant", "content": "ok"}]}
    (here / "logs").mkdir()
    for each in "abc":
        (here / "logs" / (each + (".jsonl" if name == "redact" else ".json"))).write_text(json.dumps(body) + "\n")
    options = ["--redact", "emails"] if name == "redact" else ["--to", "gemini"]
    words = [name, "logs", "-o", "out", "--force", *options]
    (here / "out").mkdir()
    (here / "out/theirs").write_text("theirs")
    script = (
        "import os, signal, sys\n"
        "from chatsquash.storage.folder import Folder\n"
        "move = Folder._move\n"
        "def kill(folder, name, other, to):\n"
        "    move(folder, name, other, to)\n"
        "    if to.startswith('b.'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "Folder._move = kill\n"
        "from chatsquash.cli.main import main\n"
        "main()\n"
    )
    run_it = [sys.executable, "-c", script, *words]
    assert subprocess.run(run_it, check=False, capture_output=True, timeout=60).returncode == -9
    assert len(list((here / "out").glob(f"{OURS}-*"))) == 1
    again = [sys.executable, "-m", "chatsquash", *words]
    assert subprocess.run(again, check=False, capture_output=True, timeout=60).returncode == 0
    kept = {"redact": ["a.jsonl", "b.jsonl", "c.jsonl", "reports"], "translate": ["a.json", "b.json", "c.json"]}
    assert sorted(os.listdir("out")) == [*kept[name], "theirs"]


# What others planted

HOSTILE = {
    "no JSON": "{",
    "no plan": [],
    "deep": "[" * 100_000,
    "above": plan("../outside/a"),
    "absolute": plan(str(Path("/tmp/planted"))),
    "in the middle": plan("in/../../outside/a"),
    "nothing": plan(""),
    "the folder": plan("."),
    "a byte of zero": plan("a\0b"),
    "half of a pair": '{"files": {"\\ud800": 3}, "gone": [], "memory": ""}',
    "ours": plan(f"{OURS}/journal/a"),
    "of another run": plan(f"{OURS}-fedcba9876543210/lock"),
    "very deep": plan("a/" * 10_000 + "a"),
    "very long": plan("a" * 10_000),
    "what is to go": plan("a", gone=["theirs"]),
    "through a link": plan("link/a"),
}


@pytest.fixture
def folders(here):
    """The folder of a run, with a link to one that no run may touch."""
    for name in ("in", "out", "outside"):
        (here / name).mkdir()
    (here / "outside/a").write_text("theirs")
    (here / "out/theirs").write_text("theirs")
    (here / "out/link").symlink_to("../outside")
    (here / "in/x.json").write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}))
    return here


def refused(command, *outputs: str) -> None:
    """Both commands say why they do not write to these places."""
    for output in outputs:
        done = command("translate", "in", "--to", "gemini", "--output", output, "--force")
        assert (done.code, done.out) == (2, "")
        assert "the interrupted run that left this folder cannot be completed (" in done.err
        assert "Traceback" not in done.err


@pytest.mark.parametrize("name", HOSTILE)
def test_a_planted_plan_is_refused_in_words_and_changes_nothing(folders, command, name):
    planted(folders / "out", HOSTILE[name], a="new")
    before = tree(folders)
    refused(command, "out", "out/x.jsonl", "out/new")
    after = tree(folders)
    assert {each: after.get(each) for each in before} == before
    assert set(after) - set(before) <= {f"out/{JOURNAL}/lock"}


@pytest.mark.parametrize("where", ["staged", "in its place"])
def test_a_planted_plan_replaces_and_moves_no_folder(folders, command, where):
    journal = planted(folders / "out", plan("src"))
    (journal / "staging").joinpath("src").mkdir() if where == "staged" else (folders / "out/src").mkdir()
    if where == "in its place":
        (journal / "staging/src").write_text("new")
        (folders / "out/src/work.py").write_text("mine")
    refused(command, "out", "out/x.jsonl", "out/new")
    if where == "in its place":
        assert (folders / "out/src/work.py").read_text() == "mine"


@cases(
    "make",
    ("a pipe", os.mkfifo),
    ("a folder", Path.mkdir),
    ("a link", lambda path: path.symlink_to("../../outside/a")),
    ("a file that is too large", lambda path: os.truncate(os.open(path, os.O_RDWR | os.O_CREAT), 1 << 40)),
)
def test_what_is_no_plan_is_refused_in_words(folders, command, make):
    make(planted(folders / "out") / "commit.json")
    refused(command, "out")
    assert (folders / "outside/a").read_text() == "theirs"


@pytest.mark.parametrize("name", ["staging", "replacing", "replaced", "lock"])
@pytest.mark.parametrize("target", ["../../outside", "../../outside/a", "gone"])
def test_links_in_a_journal_lead_nowhere(folders, command, name, target):
    journal = planted(folders / "out", plan("a", size=6))
    if name == "staging":
        (journal / name).rmdir()
    (journal / name).symlink_to(target)
    outside = tree(folders / "outside")
    done = command("translate", "in", "--to", "gemini", "--output", "out", "--force")
    assert done.code in (0, 2)
    assert tree(folders / "outside") == outside
    assert (folders / "out/theirs").read_text() == "theirs"
    assert not os.path.lexists(folders / "out/a")


def test_the_journal_of_another_user_is_neither_carried_out_nor_removed(folders, monkeypatch):
    planted(folders / "out", plan("theirs"), theirs="new")
    monkeypatch.setattr(StagedFiles, "_owner", os.getuid() + 1)
    run(folders / "out", "mine", ["d"])
    assert (folders / "out/theirs").read_text() == "theirs"
    assert (folders / "out" / JOURNAL / "staging/theirs").read_text() == "new"


def test_the_journal_of_a_run_that_goes_on_is_neither_carried_out_nor_removed(folders):
    journal = Folder(planted(folders / "out", plan("theirs"), theirs="new"))
    descriptor = lock(journal, "lock")
    run(folders / "out", "mine", ["d"])
    assert (folders / "out/theirs").read_text() == "theirs"
    assert sorted(os.listdir(journal.path)) == ["commit.json", "lock", "staging"]
    unlock(descriptor)
    run(folders / "out", "mine", ["d"])
    assert (folders / "out/theirs").read_text() == "new"
    assert not journal.path.exists()


def test_commands_that_write_to_one_folder_at_the_same_time_keep_apart(folders, command):
    (folders / "in/y.jsonl").write_text((folders / "in/x.json").read_text() + "\n")
    staged = StagedFiles(folders / "out", force=True)
    staged.begin()
    for name in ("d", "e"):
        with staged.open(name) as file:
            file.write(b"mine")
    journal = next((folders / "out").glob(f"{OURS}-*"))
    before = tree(journal)
    assert command("translate", "in/x.json", "--to", "gemini", "-o", "out").code == 0
    assert command("redact", "in/y.jsonl", "--redact", "emails", "-o", "out").code == 0
    assert tree(journal) == before
    staged.put(["d", "e"])
    staged.discard()
    assert sorted(os.listdir("out")) == ["d", "e", "link", "reports", "theirs", "x.json", "y.jsonl"]


def test_folders_in_folders_leave_nothing_and_too_many_are_refused(here):
    run(here, "x", ["a/" * 60 + "b", "c"])
    assert (here / ("a/" * 60) / "b").read_bytes()
    before = tree(here)
    with pytest.raises(OSError, match="not allowed as the name of an output file"):
        run(here, "y", ["a/" * 64 + "b", "c"])
    assert tree(here) == before
    assert not list(here.glob(f"{OURS}-*"))
