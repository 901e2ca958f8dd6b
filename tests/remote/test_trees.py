"""Files of a host by SFTP, and what is read as the Hub is: folders that are listed, files that are read in ranges."""

import asyncio
import os
import threading

import asyncssh
import pytest
from fsspec.implementations.local import LocalFileSystem

from chatsquash import Options, convert, stores
from chatsquash.errors import UsageError
from chatsquash.sources import stored
from chatsquash.stores import files
from chatsquash.stores.base import StaleError
from tests.conftest import tree
from tests.remote.logs import comparable, folder, log

ONE = Options(workers=1, anonymize=False)


class Host(threading.Thread):
    """An SSH server with SFTP, which lets in whoever has the key."""

    def __init__(self, home):
        super().__init__(daemon=True)
        self.loop = asyncio.new_event_loop()
        self.port = 0
        key = asyncssh.generate_private_key("ssh-ed25519")
        user = asyncssh.generate_private_key("ssh-ed25519")
        (home / ".ssh").mkdir()
        user.write_private_key(home / ".ssh/id_ed25519")
        user.write_public_key(home / ".ssh/authorized")
        self.known = home / ".ssh/known_hosts"
        self._given = {"server_host_keys": [key], "authorized_client_keys": str(home / ".ssh/authorized")}
        self._public = key.export_public_key().decode()
        self.started = threading.Event()

    def run(self):
        async def serve():
            self._over = asyncio.Event()
            async with await asyncssh.listen("127.0.0.1", 0, sftp_factory=True, **self._given) as server:
                self.port = server.get_port()
                self.known.write_text(f"[127.0.0.1]:{self.port} {self._public}")
                self.started.set()
                await self._over.wait()

        self.loop.run_until_complete(serve())
        self.loop.close()

    def stop(self):
        self.loop.call_soon_threadsafe(self._over.set)
        self.join()


@pytest.fixture
def host(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here))
    for name, size in {"FIRST": 64 << 10, "_STEP": 64 << 10}.items():
        monkeypatch.setattr(stored, name, size)
    server = Host(here)
    server.start()
    assert server.started.wait(10)
    stores._opened.cache_clear()
    yield server
    stores._opened.cache_clear()
    server.stop()


def test_a_run_over_sftp_equals_the_local_run(host, here):
    convert(folder(), "local", ONE)
    url = f"sftp://me@127.0.0.1:{host.port}{here}/logs"
    convert(url, "out", ONE)
    assert comparable(tree(here / "out"), url) == comparable(tree(here / "local"))


def test_a_host_that_is_not_known_is_refused(host, here):
    host.known.write_text("")
    with pytest.raises(UsageError, match="its key is not in known_hosts"):
        convert(f"sftp://me@127.0.0.1:{host.port}{here}/logs", "out", ONE)


def test_a_key_that_is_not_allowed_is_refused(host, here):
    (here / ".ssh/id_ed25519").unlink()
    with pytest.raises(UsageError, match="it is not allowed"):
        convert(f"sftp://me@127.0.0.1:{host.port}{here}/logs", "out", ONE)


@pytest.fixture
def hub(here):
    (here / "hub/datasets/me/logs").mkdir(parents=True)
    (here / "hub/datasets/me/logs/a.jsonl").write_bytes(log(3))
    return files.Tree(LocalFileSystem(), f"{here}/hub/datasets/")


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
