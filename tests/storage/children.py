"""What processes in these tests do with a request, which is the name of a function here."""

import os
import signal


def answers(request):
    yield from globals()[bytes(request).decode()]()


def words():
    yield b"one"
    yield b""
    yield b"three"


def environment():
    yield ",".join(sorted(os.environ)).encode()


def nothing():
    yield from ()


def loop():
    sum(range(10**18))  # one call into C, which no signal handler interrupts
    yield b"done"


def take():
    yield str(len(bytes(300_000_000))).encode()


def flood():
    while True:
        yield bytes(1 << 16)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)
    yield b""


def leave():
    os._exit(3)
    yield b""
