"""What a machine may have too little of to read a log; that is no damage of the log."""

from __future__ import annotations

from errno import EMFILE, ENFILE, ENOMEM

from chatsquash.errors import ShortageError

SCARCE = frozenset((EMFILE, ENFILE, ENOMEM))
"""Why a log cannot be opened that has nothing to do with the log."""


def shortage(path: str, what: str, problem: OSError) -> ShortageError:
    """The error for a log of which something cannot be done for want of what the machine should have."""
    why = problem.strerror or type(problem).__name__
    todo = "make room or raise the limit, then run the same command again"
    return ShortageError(f"{path}: cannot be {what} ({why}), which is no fault of the log: {todo}")
