"""The errors that stop a run. A problem with a session is a finding and never one of these."""

from __future__ import annotations


class ChatsquashError(Exception):
    """Base class of all errors that chatsquash raises deliberately; messages state place, problem and remedy."""

    exit_code = 1


class UsageError(ChatsquashError):
    """Options, inputs or an output folder that cannot be used."""

    exit_code = 2


class NothingToReadError(UsageError):
    """There are no session logs to read. Quoted values are escaped, so they add no lines to the message."""


class StoppedError(ChatsquashError):
    """``--strict`` or ``--on-invalid abort`` ended the run, and nothing new was written."""


class ShortageError(ChatsquashError):
    """The machine ran out of a resource, such as disk space or file descriptors; the next run reads the log again."""
