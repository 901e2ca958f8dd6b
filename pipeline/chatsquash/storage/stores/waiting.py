"""Calls that wait for a store, in threads that an interrupt need not wait for."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")
_AT_ONCE = 8


class Call(Generic[T]):
    """A call that goes on in a thread of its own, which ends with the process, whatever it waits for."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._done: SimpleQueue[tuple[T] | BaseException] = SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._done.put((self._call(),))
        except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
            self._done.put(problem)

    def result(self, seconds: float | None = None) -> T:
        """What it gives, once; raises what it raised, and ``TimeoutError``.  A signal is heard meanwhile."""
        try:
            outcome = self._done.get(timeout=seconds)
        except Empty:
            raise TimeoutError from None
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome[0]


def interruptible(call: Callable[[], T]) -> T:
    """What a call gives that would not hear of signals by itself, which only the main thread does."""
    return Call(call).result() if threading.current_thread() is threading.main_thread() else call()


def several(calls: Iterable[Callable[[], object]]) -> None:
    """Make calls, some of them at a time; raises what the first raised that failed."""
    under_way: deque[Call[object]] = deque()
    for call in calls:
        if len(under_way) >= _AT_ONCE:
            under_way.popleft().result()
        under_way.append(Call(call))
    while under_way:
        under_way.popleft().result()
