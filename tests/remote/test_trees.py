"""Files of a host by SFTP, and what is read as the Hub is: folders that are listed, files that are read in ranges."""

import os
import subprocess
import sys

import pytest
from fsspec.implementations.local import LocalFileSystem

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.sources import remote
from chatsquash.storage import stores
from chatsquash.storage.stores import files
from chatsquash.storage.stores.base import StaleError
from tests.conftest import tree
from tests.remote.conftest import ROOT
from tests.remote.hub import REPOSITORY
from tests.remote.hub import hub as serving
from tests.remote.logs import SAMPLES, comparable, folder, log

ONE = Options(workers=1, anonymize=False)


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
    with pytest.raises(UsageError, match="its key is not in known_hosts"):
        convert(f"{host}/logs", "out", ONE)


def test_a_key_that_is_not_allowed_is_refused(host, here):
    (here / ".ssh/id_ed25519").unlink()
    with pytest.raises(UsageError, match="it is not allowed"):
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
    assert (refused.returncode, refused.stderr) == (2, f"error: {url}: cannot be listed (it is not allowed)\n")
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
