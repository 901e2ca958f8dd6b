"""A process that works for this one: what it answers, where its bounds are, and how it ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from chatsquash.storage.confine.process import Confined, EndedError, OutOfMemoryError, OutOfTimeError
from tests.conftest import cases

MEMORY = 200_000_000
MOST = 1 << 24


def confined(seconds=20, memory=MEMORY):
    return Confined("tests.storage.children", memory, seconds)


def is_alive(pid):
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] not in ("", "Z")


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_answers_come_frame_by_frame_and_one_process_gives_many():
    with closing(confined()) as process:
        for _ in range(3):
            process.begin(b"wo", b"rds")
            assert list(process.answers(MOST)) == [b"one", b"", b"three"]
        process.begin(b"nothing")
        assert process.answer(MOST) == b""


def test_it_is_told_nothing_of_the_environment_that_it_does_not_need(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.setenv("TZ", "UTC")
    with closing(confined()) as process:
        process.begin(b"environment")
        told = process.answer(MOST).decode().split(",")
    assert "TZ" in told
    assert "SECRET_TOKEN" not in told
    assert "HOME" not in told


@cases(
    "request_, seconds, kind",
    ("a call that never ends", b"loop", 0.5, OutOfTimeError),
    ("an answer that never ends", b"flood", 0.5, OutOfMemoryError),
    ("more memory than there is", b"take", 20, OutOfMemoryError),
    ("a crash", b"crash", 20, EndedError),
    ("an exit", b"leave", 20, EndedError),
    ("an exception", b"unknown", 20, EndedError),
)
def test_what_goes_beyond_its_bounds_is_killed_and_reaped(request_, seconds, kind):
    process = confined(seconds)
    process.begin(request_)
    with pytest.raises(EndedError) as caught:
        list(process.answers(MOST))
    assert type(caught.value) is kind
    assert not is_alive(process._process.pid)
    assert process._process.returncode is not None


def test_an_answer_may_be_given_less_time_than_others():
    process = confined(seconds=1000)
    process.begin(b"loop")
    with pytest.raises(OutOfTimeError):
        process.answer(MOST, seconds=0.2)


def test_memory_counts_beyond_what_the_process_takes_at_first():
    with closing(confined(memory=400_000_000)) as process:
        process.begin(b"take")
        assert process.answer(MOST) == b"300000000"


def test_who_asks_for_no_more_ends_it():
    process = confined()
    process.begin(b"flood")
    for _ in process.answers(MOST):
        break
    assert not is_alive(process._process.pid)


def test_it_goes_with_its_object():
    process = confined()
    pid = process._process.pid
    del process
    assert not is_alive(pid)


def test_it_works_for_a_thread_that_is_not_the_first():
    found = []

    def work():
        with closing(confined()) as process:
            process.begin(b"words")
            found.append(process.answer(MOST))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [b"onethree"]


PARENT = """
from chatsquash.storage.confine.process import Confined
process = Confined("tests.storage.children", 10**9, 1000)
process.begin(b"loop")
print(process._process.pid, flush=True)
process.answer(10)
"""


@pytest.mark.parametrize("number, code", [(signal.SIGINT, -signal.SIGINT), (signal.SIGKILL, -signal.SIGKILL)])
def test_it_ends_with_its_parent_at_once_whatever_it_is_busy_with(number, code):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    pid = int(parent.stdout.readline())
    time.sleep(0.5)  # until it is in its loop
    assert is_alive(pid)
    parent.send_signal(number)
    assert parent.wait(20) == code
    parent.stdout.close()
    wait_for(lambda: not is_alive(pid))


def test_no_descriptor_is_left():
    before = len(os.listdir("/dev/fd"))
    for request in (b"words", b"crash"):
        process = confined()
        process.begin(request)
        try:
            list(process.answers(MOST))
        except EndedError:
            pass
        process.close()
    assert len(os.listdir("/dev/fd")) == before
