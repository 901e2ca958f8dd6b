"""The sessions of logs for programs, one at a time, without a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO

from chatsquash.conversion.complete_options import with_key
from chatsquash.conversion.convert import find
from chatsquash.conversion.inputs import Sessions
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.dataset.choice import Choice, stop_for
from chatsquash.dataset.selection import Session, session_of
from chatsquash.storage.folder import Folder


def read(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]], options: Options | None = None
) -> Iterator[Session]:
    """Iterate over the sessions of logs, each with the records that ``convert`` would write of it.

    A session is converted when it is asked for, so that a loop may end early and memory holds few of them at a time.
    Nothing is written but temporary files that only their owner can read: copies of compressed archives, and what
    options need that compare all sessions, such as ``duplicates="near"``.  Options that name or arrange files of a
    dataset change nothing.

    Args:
        logs: Directories, files, globs or URLs, in order.
        options: What to do; by default what the command does, in this process.

    Yields:
        Sessions in the order of the logs, those without a record among them: ``refused`` says why.

    Raises:
        UsageError: A wrong option, nothing to read, or a key file that cannot be used.
        StoppedError: ``strict`` or ``on_invalid="abort"`` ends the iteration.
        OSError: A temporary file cannot be written.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "s.jsonl").write_text('{"request": {"messages": [{"role": "user", "content": "hi"}]}}')
    >>> [session.records for session in read(folder, Options(anonymize=False))]
    [[{'messages': [{'role': 'user', 'content': 'hi'}], 'tools': []}]]
    """
    options = with_key(options or Options())
    with TemporaryDirectory(prefix="chatsquash-") as name, closing(Folder(Path(name))) as folder, ExitStack() as files:
        expanded = folder.folder("expanded")

        def scratch() -> BinaryIO:
            return files.enter_context(TemporaryFile(dir=name))

        discovery = find(logs, Path(name), options, lambda: expanded)
        inputs = Sessions(discovery.logs, options, expanded, scratch, None)
        choice = Choice(options)
        if options.foresees:
            choice.foresee(_unstopped(inputs.ahead(), options), scratch)
        choice.begin(discovery.logs)
        for log, outcome in _unstopped(inputs.sessions(), options):
            named, renamed = choice.named(log, outcome)
            yield session_of(named, choice.choose(log, named, renamed))


def _unstopped(sessions: Iterator[tuple[Log, Outcome]], options: Options) -> Iterator[tuple[Log, Outcome]]:
    """As many sessions as are asked for; raises for one that the options stop for."""
    for log, outcome in islice(sessions, options.limit):
        stop_for(outcome, log.shown, options)
        yield log, outcome
