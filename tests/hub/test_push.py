"""What is sent to the Hub, and when."""

import json
import os
import signal
import subprocess
import sys

import pytest

from chatsquash import Options, convert
from chatsquash.hub.hub import TITLE
from tests.conftest import KEY, cases, log_line, write_log
from tests.hub.conftest import PRIVATE, manifest, public
from tests.hub.hub import TOKEN, File

BEFORE = {".gitattributes"}


def test_a_push_sends_the_dataset_in_one_commit_and_nothing_else(push, hub, out):
    done = push()
    assert (done.code, hub.private) == (0, {"me/chats": True})
    expected = public(out)
    names = sorted(name.partition("/")[0] for name in expected)
    assert names == ["README.md", "croissant.json", "data", "data", "images"]
    assert hub.files() == {".gitattributes": b"", **expected}
    assert [file.title for file in hub.branches["main"][-1].files.values()] == ["initial commit", *[TITLE] * 5]
    assert len(hub.branches["main"]) == 2  # what made it, and the push
    for asked in hub.asked:
        assert PRIVATE.encode() not in asked.body
        assert asked.token == (None if asked.path.startswith("/storage/") else f"Bearer {TOKEN}")
    named = {each["path"] for each in manifest(out)["outputs"]}
    assert len(named - expected.keys()) >= 6  # reports and .gitignore, which stayed


def test_what_is_sent_is_listed_with_sizes(push, hub, out):
    done = push()
    sizes = {name: f"{len(data):,}" for name, data in public(out).items()}
    total = sum(len(data) for data in public(out).values())
    assert done.out.splitlines()[0] == "hf://datasets/me/chats: a new dataset, private"
    rows = [line.split() for line in done.out.splitlines()[1:-2]]
    images = ["send", sizes[next(name for name in sizes if name.startswith("images/"))], "images/", "1", "image"]
    others = [["send", size, name] for name, size in sorted(sizes.items()) if not name.startswith("images/")]
    assert rows == [*others, images]
    assert done.out.splitlines()[-2:] == [
        f"5 files, {total:,} bytes to send",
        "not uploaded from out: reports, run.json, journals",
    ]
    assert done.err == f"sent 5 files, {total:,} bytes, in one commit: {hub.url}/datasets/me/chats\n"


def test_a_second_push_sends_nothing(push, hub):
    push()
    hub.asked.clear()
    done = push()
    assert (done.code, done.err) == (0, "nothing to send\n")
    assert done.out.splitlines()[1] == "0 files, 0 bytes to send; 5 files already there"
    assert {asked.method for asked in hub.asked} == {"GET"}
    assert len(hub.branches["main"]) == 2


def test_another_result_replaces_files_and_deletes_those_of_a_former_push_only(push, hub, out):
    push()
    theirs = {"data/theirs-00000-of-00001.jsonl": File(b"1", "Upload"), "notes.txt": File(b"2", TITLE)}
    hub.add("main", theirs)
    before = set(public(out))
    write_log(out.parent / "logs" / "c.jsonl", log_line("bye", session_id="c"))
    options = Options(preset="hf", format="jsonl", anonymize_key=KEY.encode(), replace=True)
    convert("logs", "out", options)
    hub.asked.clear()
    done = push()
    assert done.code == 0
    assert hub.files() == {".gitattributes": b"", **{name: file.data for name, file in theirs.items()}, **public(out)}
    gone = sorted(before - set(public(out)))
    assert [line.split()[1] for line in done.out.splitlines() if line.startswith("delete")] == gone
    assert len(gone) >= 2
    replaced = [line.split()[2] for line in done.out.splitlines() if "replaces the existing file" in line]
    assert replaced == ["README.md", "croissant.json", "data/train-00000-of-00001.jsonl"]
    assert len(hub.branches["main"]) == 4


def test_a_push_that_was_killed_before_its_commit_goes_on_without_sending_again(hub, out):
    command = [sys.executable, "-m", "chatsquash", "push", "out", "hf://me/chats", "--yes"]
    running = []

    def kill(asked):
        if "/commit/" in asked.path:
            os.kill(running[0].pid, signal.SIGKILL)
            running[0].wait()
            return 500, b""
        return None

    hub.before = kill
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        running.append(process)
    assert process.returncode == -signal.SIGKILL
    assert set(hub.files()) == BEFORE  # nothing of it is seen
    assert len(hub.uploaded) == 3
    hub.before = lambda asked: None
    hub.asked.clear()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert hub.sent("PUT") == hub.sent("api/agent-harnesses") == []
    assert hub.files() == {".gitattributes": b"", **public(out)}
    assert len(hub.branches["main"]) == 2


@cases(
    "there, options, code, private",
    ("a new dataset is private", None, [], 0, True),
    ("a new dataset is public if that is asked for", None, ["--public"], 0, False),
    ("a private one stays private", True, [], 0, True),
    ("a public one is refused", False, [], 2, False),
    ("a public one is taken if that is asked for", False, ["--public"], 0, False),
    ("a private one is not made public", True, ["--public"], 2, True),
)
def test_visibility(push, hub, there, options, code, private):
    if there is not None:
        hub.make(private=there)
    done = push(*options)
    assert (done.code, hub.private["me/chats"]) == (code, private), done.err
    assert (set(hub.files()) == BEFORE) == (code == 2)
    if code:
        assert not hub.sent("preupload")
        assert "--public" in done.err


def test_a_hub_that_makes_it_public_all_the_same_gets_nothing(push, hub):
    def make(asked):
        if asked.path != "/api/repos/create":
            return None
        hub.make(private=False)
        return 200, json.dumps({"url": f"{hub.url}/datasets/me/chats"}).encode()

    hub.before = make
    assert "the dataset is public, so everyone could read the uploaded files" in push().err
    assert not hub.sent("preupload")


# Questions


def test_without_a_terminal_it_has_to_be_told_not_to_ask(push, hub, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    done = push(yes=False)
    assert (done.code, hub.asked) == (2, [])
    assert "there is no terminal; add --yes" in done.err


@pytest.mark.parametrize("given, code, told", [("y", 0, "sent 5 files"), ("n", 1, "nothing was sent\n")])
def test_whoever_is_there_is_asked(push, hub, answer, given, code, told):
    answer(given)
    done = push(yes=False)
    assert (done.code, told in done.err, bool(hub.private)) == (code, True, code == 0)
    assert "Upload these files? [y/N]: " in done.err


def test_a_dry_run_only_looks(push, hub):
    done = push("--dry-run", yes=False)
    assert (done.code, done.err, len(done.out.splitlines())) == (0, "nothing was sent (--dry-run)\n", 8)
    assert [asked.method for asked in hub.asked] == ["GET"]
    assert push("--dry-run").code == 2  # with --yes


# Branches, and what the Hub has


def without_a_token(monkeypatch, here):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(here / "none"))
    monkeypatch.setattr("huggingface_hub.utils._auth._get_token_from_google_colab", lambda: None)
    return "no token for the Hub was found"


def without_the_library(monkeypatch, here):
    for name in [name for name in sys.modules if name.startswith("chatsquash.hub.hub")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    return "huggingface_hub is not installed"


def without_a_network(monkeypatch, here):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    return "the Hub could not be reached"


@pytest.mark.parametrize("hinder", [without_a_token, without_the_library, without_a_network])
def test_a_dry_run_that_cannot_ask_the_hub_lists_every_file(push, hub, monkeypatch, here, hinder):
    compared = push("--dry-run", yes=False).out.splitlines()
    asked = len(hub.asked)
    why = hinder(monkeypatch, here)
    done = push("--dry-run", yes=False)
    assert (done.code, done.err, len(hub.asked)) == (0, "nothing was sent (--dry-run)\n", asked)
    assert done.out.splitlines() == [f"hf://datasets/me/chats: all files are listed because {why}", *compared[1:]]


def test_a_branch_is_made_and_main_stays(push, hub):
    hub.make(files={"notes.txt": b"mine"})
    done = push(url="hf://me/chats@draft/1")
    assert done.out.splitlines()[0] == "hf://datasets/me/chats@draft/1: private, a new branch"
    assert set(hub.files()) == {*BEFORE, "notes.txt"}
    assert len(hub.files("draft/1")) == 7
    assert push(url="hf://me/chats@draft/1").err == "nothing to send\n"
    assert push(url="hf://me/chats@refs/pr/1").code == 2


def test_what_the_hub_is_told_to_ignore_is_sent_all_the_same(push, hub, out):
    hub.make(files={".gitignore": b"*"})
    assert push().code == 0
    assert public(out).items() <= hub.files().items()


def test_a_commit_of_somebody_else_meanwhile_ends_it(push, hub):
    hub.make()

    def add(asked):
        if "/batch" in asked.path:
            hub.add("main", {"x": File(b"", "x")})

    hub.before = add
    done = push()
    assert (done.code, done.err) == (
        1,
        "error: hf://datasets/me/chats: the dataset changed during the push: push again (HTTP status 412)\n",
    )
    assert set(hub.files()) == {*BEFORE, "x"}


def test_a_renamed_dataset_is_refused(push, hub):
    hub.before = lambda asked: (200, json.dumps({"id": "other/chats", "sha": "a" * 40, "private": True}).encode())
    done = push()
    assert (done.code, len(hub.asked)) == (2, 1)
    assert "was renamed; use its current name" in done.err


def test_session_traces_are_sent_with_the_dataset_and_those_of_a_former_push_are_deleted(push, hub, out):
    logs = out.parent / "logs"
    for name in ("a", "b"):
        write_log(logs / f"{name}.jsonl", log_line(f"hi {name}", session_id=name))
    options = Options(preset="hf", format="jsonl", traces=True, anonymize_key=KEY.encode(), replace=True)
    convert(logs, out, options)
    done = push()
    assert done.code == 0
    sent = {name: data for name, data in public(out).items() if name.startswith("traces/")}
    assert len(sent) == 2
    assert sent.items() <= hub.files().items()
    size = f"{sum(map(len, sent.values())):,}"
    assert ["send", size, "traces/", "2", "traces"] in [line.split() for line in done.out.splitlines()]
    (logs / "a.jsonl").unlink()
    convert(logs, out, options)
    done = push()
    assert done.code == 0
    gone = next(name for name in sent if name.startswith("traces/a-"))
    assert ["delete", gone] in [line.split()[:2] for line in done.out.splitlines()]
    assert {name for name in hub.files() if name.startswith("traces/")} == sent.keys() - {gone}
