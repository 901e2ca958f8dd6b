"""Links and other things that were planted in an output folder lead nowhere: nothing outside of it changes."""

import gc
import json
import os
import pickle
import shutil
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import ShortageError, StoppedError, UsageError
from chatsquash.dataset import store as output
from chatsquash.dataset.store import Output
from chatsquash.results.verify import verify
from chatsquash.storage import folder as folders
from chatsquash.storage import lock
from tests.conftest import cases, log_line, tree, write_log

OURS = ".chatsquash"
MIXED = [log_line(f"{name}{n}", at=n, session_id=name) for n in range(1, 4) for name in ("x", "y")]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The present folder is a new one with logs, one compressed and of several sessions, and what nobody may touch."""
    import gzip

    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        write_log(tmp_path / "logs" / f"{number}.jsonl", log_line(f"{number}"), b"{broken")
    mixed = write_log(tmp_path / "mixed.jsonl", *MIXED)
    (tmp_path / "logs" / "m.jsonl.gz").write_bytes(gzip.compress(mixed.read_bytes()))
    mixed.unlink()
    (tmp_path / "victim" / "folder").mkdir(parents=True)
    (tmp_path / "victim" / "file").write_text("precious")
    (tmp_path / "victim" / "folder" / "keep.txt").write_text("precious")
    return tmp_path


def outside() -> dict[str, tuple[int, int, bytes | None]]:
    """What nobody may touch, with its times."""
    found = tree(Path("victim"))
    stats = {name: (Path("victim") / name).lstat() for name in found}
    return {name: (stats[name].st_mtime_ns, stats[name].st_nlink, data) for name, data in found.items()}


def result() -> None:
    """A result in ``out``."""
    convert("logs", "out", Options(keep_rejected=True))


PLACES = [
    *((name, "folder") for name in (OURS, "reports", "data", "images")),
    *((f"{OURS}/{name}", "folder") for name in ("journal", "staging", "expanded", "replaced", "replacing", "x")),
    *((f"{OURS}/{name}", "file") for name in ("lock", "written.json", "commit.json", "state.json", "journal/x")),
    *((f"{OURS}/{name}.json.new", "file") for name in ("written", "commit", "state")),
    (f"{OURS}/staging/reports", "folder"),
    (f"{OURS}/staging/1.jsonl", "file"),
    (f"{OURS}/expanded/1.jsonl", "file"),
]


@pytest.mark.parametrize("target", ["where it says", "gone", "itself"])
@pytest.mark.parametrize("name, kind", PLACES, ids=[name for name, _ in PLACES])
def test_a_link_in_the_place_of_what_is_ours_is_refused_before_anything_changes(here, name, kind, target):
    result()
    link = Path("out") / name
    link.parent.mkdir(exist_ok=True)
    with suppress(FileNotFoundError):
        link.rename("aside")
    link.symlink_to({"where it says": here / "victim" / kind, "gone": "gone", "itself": link.name}[target])
    before, inside = outside(), tree(Path("out"))
    with pytest.raises(UsageError) as caught:
        convert("logs", "out", Options(force=True, format="jsonl"))
    assert str(caught.value).startswith(f"out/{name}: is a link, and files written to it would end up in its target;")
    assert (outside(), tree(Path("out"))) == (before, inside)
    link.unlink()
    with suppress(FileNotFoundError):
        Path("aside").rename(link)
    assert convert("logs", "out", Options(force=True)).written == 4


@pytest.mark.parametrize("name", ["1970-01-01.jsonl", "reports/findings.jsonl", "run.json"])
def test_a_link_in_the_place_of_a_record_or_report_is_replaced(here, name):
    convert("logs", "out", Options(full=True))
    name = next(iter(sorted(path.name for path in Path("out").glob("*.jsonl")))) if name[0] == "1" else name
    (Path("out") / name).unlink()
    (Path("out") / name).symlink_to(here / "victim" / "file")
    before = outside()
    assert any(f"out/{name}: cannot be read (symbolic links are not followed" in each for each in problems())
    assert not convert("logs", "out").unchanged
    assert outside() == before
    assert not (Path("out") / name).is_symlink()
    assert problems() == []


@pytest.mark.parametrize("target", ["pipe", "/dev/zero"])
def test_a_link_in_the_place_of_run_json_is_never_read(here, target):
    result()
    os.mkfifo("pipe")
    Path("out/run.json").unlink()
    Path("out/run.json").symlink_to(here / target)
    assert convert("logs", "out").written == 4
    assert problems() == []


@pytest.mark.parametrize("name", ["written.json", "commit.json", "state.json", "state.json.new", "commit.json.new"])
def test_a_folder_in_the_place_of_a_file_of_ours_is_refused_before_anything_changes(here, name):
    result()
    place = Path("out") / OURS / name
    place.unlink(missing_ok=True)
    place.mkdir()
    before = tree(Path("out"))
    with pytest.raises(UsageError, match=f"out/{OURS}/{name}: not written by chatsquash; remove it, or choose"):
        convert("logs", "out", Options(full=True))
    assert tree(Path("out")) == before


def problems() -> list[str]:
    try:
        return verify(Path("out")).problems
    except UsageError as problem:
        return [f"{problem}".replace("cannot be read, it", "cannot be read (it")]


def test_other_links_stay_as_they_are(here):
    result()
    for name in ("mine", "reports/mine"):
        (Path("out") / name).symlink_to(here / "victim" / "folder")
    before = outside()
    convert("logs", "out", Options(full=True))
    assert outside() == before
    assert all((Path("out") / name).readlink() == here / "victim" / "folder" for name in ("mine", "reports/mine"))


@pytest.mark.parametrize("where", ["out", "over/there/out"])
def test_the_output_folder_itself_and_those_above_it_may_be_links(here, where):
    (here / "real").mkdir()
    (here / "over").symlink_to("real")
    (here / "real" / "there").mkdir()
    (here / "results").mkdir()
    Path(where).symlink_to(here / "results")
    convert("logs", where)
    assert (here / "results" / "run.json").exists()
    assert convert("logs", where).unchanged
    assert verify(Path(where), logs=True).problems == []


@pytest.mark.parametrize("target", ["gone", "out"])
def test_an_output_folder_that_is_a_link_to_nothing_is_an_error(here, target):
    Path("out").symlink_to(target)
    with pytest.raises(UsageError, match="out: broken link; remove it, or choose another"):
        convert("logs", "out")


def test_an_output_folder_named_from_here_is_the_same_from_elsewhere(here, monkeypatch):
    def elsewhere(*_):
        os.chdir(here / "victim")

    before = outside()
    convert(str(here / "logs"), "out", None, elsewhere)
    os.chdir(here)
    assert outside() == before
    assert verify(Path("out")).problems == []


@cases(
    "name, make",
    ("a pipe", "journal/x", os.mkfifo),
    ("a pipe in the place of the record", "written.json", lambda path: (path.unlink(), os.mkfifo(path))),
    ("a pipe in the place of the lock", "lock", lambda path: (path.unlink(), os.mkfifo(path))),
    ("a pipe in the place of the plan", "commit.json", os.mkfifo),
    ("folders without end", "/".join("x" * 20), lambda path: path.mkdir(parents=True)),
)
def test_what_is_neither_a_file_nor_a_folder_is_refused_and_never_waited_for(here, name, make):
    result()
    make(Path("out") / OURS / name)
    before = tree(Path("out/reports"))
    with pytest.raises(UsageError, match=r"not written by chatsquash; remove it, or choose another folder"):
        convert("logs", "out")
    assert tree(Path("out/reports")) == before


@pytest.mark.parametrize("name", ["run.json", "reports/findings.jsonl"])
def test_verify_does_not_wait_for_a_pipe(here, name):
    result()
    (Path("out") / name).unlink()
    os.mkfifo(Path("out") / name)
    assert any("not a regular file" in each for each in problems())


HARD = [f"{OURS}/{name}" for name in ("lock", "written.json.new", "state.json.new", "commit.json.new", "staging/1.jsonl", "journal/x")]  # fmt: skip


@pytest.mark.parametrize("name", [*HARD, "1.jsonl", "reports/findings.jsonl", "run.json"])
def test_a_file_that_also_stands_elsewhere_is_never_written_to(here, name):
    by_scenario = Options(group_by="scenario", full=True)
    convert("logs", "out", by_scenario)
    path = Path("out") / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.link(here / "victim" / "file", path)
    convert("logs", "out", by_scenario)
    assert (here / "victim" / "file").read_text() == "precious"
    assert name == f"{OURS}/journal/x" or not path.exists() or not path.samefile(here / "victim" / "file")
    assert problems() == []


@cases(
    "names",
    ("a file behind a link of another name", ["mine/keep.txt"]),
    ("a file outside", ["../victim/file"]),
    ("a file of our own", [".chatsquash/journal"]),
    ("the same in other letters", [".ChatSquash/lock"]),
    ("no name", ["a\0b"]),
    ("no text", ["\ud800"]),
    ("nothing that can be read", "[" * 100_000),
)
def test_a_record_of_what_is_ours_that_says_more_is_not_believed(here, names):
    result()
    (Path("out") / "mine").symlink_to(here / "victim" / "folder")
    text = names if isinstance(names, str) else json.dumps({"files": names})
    (Path("out") / OURS / "written.json").write_text(text)
    before, inside = outside(), tree(Path("out"))
    with pytest.raises(UsageError):
        convert("logs", "out", Options(full=True))
    assert (outside(), tree(Path("out"))) == (before, inside)


# Races: what is checked is swapped before it is used.

SWAPPED = [OURS, "reports", f"{OURS}/staging", f"{OURS}/journal", f"{OURS}/expanded", f"{OURS}/staging/reports"]
HOOKED = ["open", "mkdir", "rename", "unlink", "rmdir", "stat", "link", "fsync", "write", "writev"]


def swapping(monkeypatch, here: Path, name: str, at: int) -> list[str]:
    """A folder that is swapped for a link just before one of the calls to the system, each of which is counted."""
    seen: list[str] = []

    def hooked(call, original):
        def hook(*given, **named):
            path = here / "out" / name
            seen.append(call)
            if len(seen) == at and path.is_dir() and not path.is_symlink():
                os.replace(path, here / "aside")
                path.symlink_to(here / "victim" / "folder")
            return original(*given, **named)

        return hook

    for call in HOOKED:
        monkeypatch.setattr(os, call, hooked(call, getattr(os, call)))
    return seen


@pytest.mark.parametrize("name", SWAPPED)
def test_a_folder_that_is_swapped_for_a_link_at_any_moment_leads_nowhere(here, monkeypatch, name):
    options = Options(sessions_by="id", keep_rejected=True, full=True)
    convert("logs", "first", options)
    with monkeypatch.context() as patch:
        shutil.copytree("first", "out")
        seen = swapping(patch, here, name, 0)
        convert("logs", "out", options)
    before = outside()
    swapped = 0
    for at in range(1, len(seen) + 1, len(seen) // 20):
        shutil.rmtree("out")
        shutil.rmtree("aside", ignore_errors=True)
        shutil.copytree("first", "out")
        with monkeypatch.context() as patch:
            swapping(patch, here, name, at)
            with suppress(OSError, UsageError, ShortageError):
                convert("logs", "out", options)
        swapped += (Path("out") / name).is_symlink() or Path("aside").exists()
        assert outside() == before, at
    assert swapped > 5


def test_a_staged_file_that_another_takes_the_place_of_is_not_written_to(here, monkeypatch):
    monkeypatch.setattr(output, "_OPEN_FILES", 1)
    monkeypatch.setattr(output, "_BATCH", 0)
    out = Output(here / "new")
    out.append("a", b"1")
    out.append("b", b"2")  # ``a`` is closed by now
    staged = here / "new" / OURS / "staging" / "a"
    staged.unlink()
    os.link(here / "victim" / "file", staged)
    with pytest.raises(OSError, match="it was replaced by another file"):
        out.append("a", b"3")
    out.discard()
    assert (here / "victim" / "file").read_text() == "precious"


# What is left open


def opened() -> set[str]:
    """What this process has open, but for the list of it."""
    open_now = (f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd"))
    return {os.readlink(each) for each in open_now if os.path.lexists(each)}


def in_a_full_folder(name: str) -> None:
    Path("out").mkdir()
    Path(f"out/{name}").symlink_to("x")
    convert("logs", "out", Options(force=name == "reports"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no other way to see what is open")
@cases(
    "error, act",
    ("a result", None, lambda: convert("logs", "out", Options(sessions_by="id"))),
    ("nothing changed", None, lambda: (result(), result())),
    ("a file of another", UsageError, lambda: in_a_full_folder("x")),
    ("a link", UsageError, lambda: in_a_full_folder("reports")),
    ("a stop", StoppedError, lambda: convert("logs", "out", Options(strict=True))),
    ("verify", None, lambda: (result(), verify(Path("out")))),
)
def test_no_descriptor_is_left_open(here, error, act):
    gc.collect()  # else what earlier tests left to the collector is closed while this one runs
    before = opened()
    with pytest.raises(error) if error else nullcontext():
        act()
    assert opened() == before
    assert not lock._own_locks


@cases("name", "", ".", "..", "a/../b", "/etc/passwd", "a//b", "a/")
def test_a_name_that_leads_elsewhere_is_none(here, name):
    folder = folders.Folder(here)
    for act in (folder.status, folder.read, folder.remove, folder.open):
        with pytest.raises(ValueError):
            act(name)
    folder.close()


def test_a_folder_that_is_sent_to_another_process_is_opened_anew_there_and_follows_no_link(here):
    sent = folders.Folder(here).folder("inner").folder("journal")
    folders.Folder(here).make("inner/journal")
    os.close(sent.create("a"))
    there = pickle.loads(pickle.dumps(sent))
    assert there.names() == ["a"]
    (here / "inner" / "journal").rename("aside")
    (here / "inner" / "journal").symlink_to(here / "victim" / "folder")
    assert sent.names() == ["a"]
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        pickle.loads(pickle.dumps(sent)).names()
    for each in (sent, there):
        each._above._above.close()
