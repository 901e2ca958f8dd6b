"""What stops a run.  A bad session is a finding, never one of these."""

from __future__ import annotations


class ChatsquashError(Exception):
    """Base of all errors that chatsquash raises on purpose; the text says where, what, and what to do next."""

    exit_code = 1


class UsageError(ChatsquashError):
    """Options, inputs or an output folder that cannot be used."""

    exit_code = 2


class NothingToReadError(UsageError):
    """There are no session logs to read; what the lines of the message quote is escaped, so that it adds none."""


class StoppedError(ChatsquashError):
    """``--strict`` or ``--on-invalid abort`` ended the run; nothing new was written."""


class ShortageError(ChatsquashError):
    """Reading a log takes what this machine has no more of: room on a disk, descriptors; the next run tries again."""
