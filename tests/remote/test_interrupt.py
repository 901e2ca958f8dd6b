"""Ctrl-C and a signal end a run that waits for a store, within a second."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from chatsquash.storage.stores.base import PendingCall, interruptible, several
from tests.remote.logs import log


@pytest.fixture
def silent():
    """The port of a service that takes connections and says nothing, and what tells that one came."""
    came = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept():
            held = []
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return [each.close() for each in held]
                came.set()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("arguments", [("s3://bucket/logs",), ("a.jsonl", "-o", "s3://bucket/out")])
def test_a_store_that_says_nothing_holds_no_run_up(here, silent, arguments, number, code):
    (here / "a.jsonl").write_bytes(log(2))
    port, came = silent
    told = {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
    }
    command = [sys.executable, "-m", "chatsquash", "convert", *arguments]
    with subprocess.Popen(command, env={**os.environ, **told}, stderr=subprocess.PIPE) as run:
        assert came.wait(20)
        time.sleep(0.2)
        run.send_signal(number)
        began = time.monotonic()
        assert run.wait(20) == code
        assert time.monotonic() - began < 3
        assert b"Traceback" not in run.stderr.read()


def test_a_call_gives_what_it_gives_and_raises_what_it_raises():
    assert PendingCall(lambda: 5).result() == 5
    assert interruptible(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        PendingCall(lambda: 1 / 0).result()
    with pytest.raises(TimeoutError):
        PendingCall(lambda: time.sleep(1)).result(0.01)


def test_of_several_calls_all_are_made_and_what_the_first_raised_is_raised():
    made = []
    several([lambda at=at: made.append(at) for at in range(30)])
    assert sorted(made) == list(range(30))
    with pytest.raises(ZeroDivisionError):
        several([lambda: 1 / 0, *[lambda: None] * 20])
