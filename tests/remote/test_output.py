"""An output in a bucket: what is ours, what a reader may find meanwhile, and two runs at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem

from chatsquash import Options, convert
from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.dataset import bucket
from chatsquash.results.verify import verify
from chatsquash.sources import remote
from chatsquash.storage import stores
from chatsquash.storage.stores import files, objects
from chatsquash.storage.stores.base import LARGEST, PARTS, StaleError, part_size, refuse_large
from tests.conftest import tree
from tests.remote.conftest import ROOT
from tests.remote.hub import REPOSITORY
from tests.remote.hub import hub as serving
from tests.remote.logs import SAMPLES, comparable, folder, log

ONE = Options(workers=1, anonymize=False)
RECORD = "out/.chatsquash/written.json"
LOCK = "out/.chatsquash/lock"


@pytest.fixture
def out(s3, here):
    (here / "logs").mkdir()
    (here / "logs/a.jsonl").write_bytes(log(3, session="a"))
    return f"{s3.url}/out"


def ours(s3):
    return sorted(s3.files("out").keys() - {".chatsquash/written.json"})


def test_what_is_written_is_verified_there_and_each_log_with_it(s3, out):
    convert("logs", out, ONE)
    done = verify(out, logs=True)
    assert (done.files, done.logs, done.problems) == (len(ours(s3)) - 1, 1, [])
    s3.put("out/2026-01-02.jsonl", b"{}\n")
    assert [
        problem
        for problem in verify(out).problems
        if problem.startswith(f"{out}/2026-01-02.jsonl: 3 bytes with the hash")
    ]
    s3.client.delete_object(Bucket=s3.name, Key="out/2026-01-02.jsonl")
    assert f"{out}/2026-01-02.jsonl: cannot be read (no such object)" in verify(out).problems


def test_run_json_goes_first_and_comes_last(s3, out):
    convert("logs", out, ONE)
    s3.server.requests.clear()
    convert("logs", out, ONE)
    changed = [path for method, path, _ in s3.server.requests if method in ("PUT", "DELETE", "POST")]
    named = [path.partition("?")[0].partition("/out/")[2] for path in changed]
    assert named[:2] == [".chatsquash/lock", ".chatsquash/written.json"]
    assert named[-2] == "run.json"
    assert not {"run.json"}.intersection(named[3:-2])
    assert len([path for path in named if path.endswith(".jsonl")]) >= 3


def test_what_only_an_earlier_run_wrote_goes_and_what_others_wrote_stays(s3, out, here):
    convert("logs", out, Options(workers=1, anonymize=False, group_by="none"))
    s3.put("out/mine.txt", b"mine")
    before = ours(s3)
    convert("logs", out, ONE)
    assert sorted({*before, "2026-01-02.jsonl"} - {"conversations.jsonl"}) == ours(s3)
    assert set(json.loads(s3.read(RECORD))["files"]) == {*ours(s3)} - {"mine.txt"}
    assert s3.read("out/mine.txt") == b"mine"


def test_a_folder_of_others_is_refused_and_with_force_nothing_of_theirs_is_touched(s3, out):
    s3.put("out/mine.txt", b"mine")
    with pytest.raises(UsageError, match="is not empty and was not written by chatsquash"):
        convert("logs", out, ONE)
    force = Options(workers=1, anonymize=False, force=True)
    assert convert("logs", out, force).written == 1
    assert s3.read("out/mine.txt") == b"mine"
    s3.put("out/data/any", b"")
    s3.put("out/reports/tools.csv", b"mine")
    record = json.loads(s3.read(RECORD))
    record["files"].remove("reports/tools.csv")
    s3.put(RECORD, json.dumps(record))
    with pytest.raises(UsageError, match=r"reports/tools.csv: not written by chatsquash, but would be overwritten"):
        convert("logs", out, force)


def test_a_result_that_was_copied_there_is_known_by_its_run_json(s3, out):
    convert("logs", "local", ONE)
    for name in ("run.json", "2026-01-02.jsonl", "reports/findings.jsonl"):
        s3.put(f"out/{name}", Path("local", name).read_bytes())
    assert convert("logs", out, ONE).written == 1


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", ".chatsquash/lock", "a//b"])
def test_a_record_that_names_what_cannot_be_ours_is_refused(s3, out, name):
    s3.put(RECORD, json.dumps({"files": [name]}))
    with pytest.raises(UsageError, match="is damaged"):
        convert("logs", out, ONE)


def test_a_result_is_not_replaced_by_that_of_other_logs(s3, out, here):
    convert("logs", out, ONE)
    (here / "others").mkdir()
    (here / "others/b.jsonl").write_bytes(log(2, session="b"))
    with pytest.raises(UsageError, match=r"written at 20..-.* none of these logs is read in this run"):
        convert("others", out, ONE)
    assert convert("others", out, Options(workers=1, anonymize=False, replace=True)).written == 1


def test_two_runs_at_once_are_told_apart(s3, out):
    told = []

    def second(*_):
        with pytest.raises(UsageError) as problem:
            convert("logs", out, ONE)
        told.append(str(problem.value))

    convert("logs", out, ONE, second)
    assert (
        f"{out}: another run is writing to this folder (process {os.getpid()} on {os.uname().nodename}, since 20"
        in told[0]
    )
    assert f"if it is gone, remove {out}/.chatsquash/lock" in told[0]
    assert LOCK not in s3.keys()


def test_a_lock_that_was_taken_away_stops_the_run_before_anything_changes(s3, out):
    convert("logs", out, ONE)
    before = s3.files("out")
    with pytest.raises(ChatsquashError, match="another run took over the lock"):
        convert("logs", out, ONE, lambda *_: s3.put(LOCK, json.dumps({"token": "another"})))
    assert {**s3.files("out"), ".chatsquash/lock": None} == {**before, ".chatsquash/lock": None}
    assert json.loads(s3.read(LOCK)) == {"token": "another"}


def test_the_lock_of_a_run_on_this_host_that_was_killed_is_taken_over(s3, out):
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    owner = f"process {int(gone.stdout)} on {os.uname().nodename}"
    s3.put(LOCK, json.dumps({"owner": owner, "begun": 1, "token": "x"}))
    assert convert("logs", out, ONE).written == 1


@pytest.mark.parametrize("held", [b"", b"[]", b"{", b'{"owner": 5, "begun": "x"}', b'{"begun": 1e300}', b"[" * 4000])
def test_a_lock_that_says_nothing_holds(s3, out, held):
    s3.put(LOCK, held)
    with pytest.raises(UsageError, match="another run is writing to this folder"):
        convert("logs", out, ONE)


def test_a_run_that_fails_while_it_writes_leaves_no_result_and_the_next_one_does(s3, out, monkeypatch):
    convert("logs", out, ONE)
    s3.server.before = [
        lambda method, path, _: (403, b"<Error><Code>AccessDenied</Code></Error>") if "tools.csv" in path else None
    ]
    with pytest.raises(OSError, match=r"tools.csv: cannot be written \(the store denied access\)") as problem:
        convert("logs", out, ONE)
    assert problem.value.__notes__ == [
        "the output is incomplete without run.json; run the same command again to rewrite it"
    ]
    assert "out/run.json" not in s3.keys()
    assert LOCK not in s3.keys()
    s3.server.before = []
    convert("logs", out, ONE)
    assert verify(out).problems == []


def test_a_run_that_stops_before_it_writes_leaves_what_was_there(s3, out, here):
    convert("logs", out, ONE)
    before = s3.files("out")
    (here / "logs/b.jsonl").write_bytes(b"{broken\n")
    with pytest.raises(ChatsquashError):
        convert("logs", out, Options(workers=1, anonymize=False, strict=True))
    assert s3.files("out") == before


def test_large_files_are_written_in_parts(s3, out, monkeypatch):
    monkeypatch.setattr(objects, "part_size", lambda size: 5 << 20)
    monkeypatch.setattr(bucket, "_LARGE", 1 << 20)
    Path("logs/b.jsonl").write_bytes(log(1, 2_500_000, "b"))
    convert("logs", out, ONE)
    asked = [path for method, path, _ in s3.server.requests if method == "PUT" and "partNumber=" in path]
    assert len(asked) == 5
    assert verify(out).problems == []


@pytest.mark.parametrize("size", [0, 1, 8 << 20, 80_000_000_001, 123_456_789_012, LARGEST])
def test_so_many_parts_suffice(size):
    assert part_size(size) >= 8 << 20
    assert part_size(size) * PARTS >= size
    assert part_size(size) <= 5 << 30


def test_a_file_beyond_what_a_store_takes_is_refused():
    refuse_large("s3://b/x", LARGEST)
    with pytest.raises(
        UsageError, match="more than the 5,497,558,138,880 bytes allowed for an object; divide the records"
    ):
        refuse_large("s3://b/x", LARGEST + 1)


@pytest.mark.parametrize("url", ["https://example.com/out", "hf://datasets/me/out", "sftp://host/out"])
def test_what_is_only_read_is_not_written_to(out, url):
    with pytest.raises(UsageError, match="cannot be written to; use a folder, or one of s3://, gs://, az://"):
        convert("logs", url, ONE)


def test_what_is_staged_here_is_private_and_goes(s3, out, here, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(here / "room"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (here / "room").mkdir()
    modes = []
    convert("logs", out, ONE, lambda *_: modes.extend(oct(each.stat().st_mode) for each in (here / "room").iterdir()))
    assert modes == ["0o40700"]
    assert list((here / "room").iterdir()) == []


def changes(method, path, headers):
    return method in ("PUT", "POST", "DELETE") and "/.chatsquash/lock" not in path


@pytest.mark.parametrize("left", range(16))
def test_wherever_a_run_is_stopped_no_mixture_is_taken_for_a_result(s3, out, here, left):
    convert("logs", out, Options(workers=1, anonymize=False, group_by="none"))
    (here / "logs/b.jsonl").write_bytes(log(2, session="b"))
    allowed = iter(range(left))

    def stop(method, path, headers):
        if changes(method, path, headers) and next(allowed, None) is None:
            return 403, b"<Error><Code>AccessDenied</Code></Error>"
        return None

    s3.server.before = [stop]
    try:
        convert("logs", out, ONE)
        is_done = True
    except OSError:
        is_done = False
    s3.server.before = []
    assert is_done == (left >= 14)  # what comes after says too much only
    assert ("out/run.json" in s3.keys()) == (left < 2 or is_done)
    if "out/run.json" in s3.keys():
        assert verify(out).problems == []
    if LOCK in s3.keys():  # that of this process, which could not remove it
        s3.client.delete_object(Bucket=s3.name, Key=LOCK)
    convert("logs", out, ONE)
    assert verify(out).problems == []
    assert "out/conversations.jsonl" not in s3.keys()


# Files of an SFTP host, and what is read as the Hub is: folders that are listed, files that are read in ranges


@pytest.fixture
def host(here, monkeypatch):
    """The URL of this folder on a host that is known and lets us in."""
    monkeypatch.setenv("HOME", str(here))
    for name, size in {"FIRST": 64 << 10, "_STEP": 64 << 10}.items():
        monkeypatch.setattr(remote, name, size)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    stores._open_store.cache_clear()
    with subprocess.Popen([sys.executable, "-m", "tests.remote.host", here], cwd=ROOT, **pipes) as server:
        yield f"sftp://me@127.0.0.1:{int(server.stdout.readline())}{here}"
        stores._open_store.cache_clear()
        server.terminate()


def test_a_run_over_sftp_equals_the_local_run(host, here):
    convert(folder(samples=SAMPLES / "documents"), "local", ONE)
    url = f"{host}/logs"
    convert(url, "out", ONE)
    assert comparable(tree(here / "out"), url) == comparable(tree(here / "local"))


def test_a_host_that_is_not_known_is_refused(host, here):
    (here / ".ssh/known_hosts").write_text("")
    with pytest.raises(UsageError, match="the host key is not in known_hosts"):
        convert(f"{host}/logs", "out", ONE)


def test_a_key_that_is_not_allowed_is_refused(host, here):
    (here / ".ssh/id_ed25519").unlink()
    with pytest.raises(UsageError, match="access was denied"):
        convert(f"{host}/logs", "out", ONE)


def test_a_run_over_the_hub_equals_the_local_run(here):
    convert(folder(samples=SAMPLES / "documents"), "local", ONE)
    files = {f"x/{name}": data for name, data in tree(here / "logs").items() if data is not None}
    url = f"hf://{REPOSITORY}/x"
    command = [sys.executable, "-m", "chatsquash", "convert", url, "-o", "out", "--no-anonymize", "--workers", "1"]
    with serving(files) as place:
        environment = {**os.environ, "HF_ENDPOINT": place, "HF_HOME": str(here / "home")}
        refused = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        told = {**environment, "HF_TOKEN": "hf_secret"}
        done = subprocess.run(command, capture_output=True, text=True, env=told, check=False)
    assert (refused.returncode, refused.stderr) == (2, f"error: {url}: cannot be listed (access was denied)\n")
    assert done.returncode in (0, 3), done.stderr
    assert comparable(tree(here / "out"), url) == comparable(tree(here / "local"))
    assert b"hf_secret" not in b"".join(data or b"" for data in tree(here / "out").values())


@pytest.fixture
def hub(here):
    (here / "hub/datasets/me/logs").mkdir(parents=True)
    (here / "hub/datasets/me/logs/a.jsonl").write_bytes(log(3))
    return files.FileTree(LocalFileSystem(), f"{here}/hub/datasets/")


def test_a_folder_is_listed_and_a_file_is_read_in_ranges(hub):
    [[found]] = hub.list("me")
    assert (found.key, found.size) == ("me/logs/a.jsonl", len(log(3)))
    assert hub.status("me/logs") is None
    assert hub.status("me/none") is None
    assert list(hub.inside("me/logs")) == ["me/logs/a.jsonl"]
    piece = hub.get("me/logs/a.jsonl", 5, 7, None)
    assert (bytes(piece.data), piece.size, piece.state) == (log(3)[5:12], found.size, found.state)
    assert hub.get("me/logs/a.jsonl", 10**6, 7, None).data == b""


def test_a_file_that_changed_is_stale(hub, here):
    tag = hub.get("me/logs/a.jsonl", 0, 7, None).tag
    os.utime(here / "hub/datasets/me/logs/a.jsonl", (1, 1))
    with pytest.raises(StaleError):
        hub.get("me/logs/a.jsonl", 7, 7, tag)
