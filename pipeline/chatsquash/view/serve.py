"""The server of ``chatsquash view``: serves a result on loopback until stopped, with a private scratch folder."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from time import time
from types import FrameType
from typing import TYPE_CHECKING, Self

from chatsquash.core.errors import UsageError
from chatsquash.core.text import escape
from chatsquash.storage import refuse_remote
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import lock, unlock

if TYPE_CHECKING:
    import uvicorn

    from chatsquash.conversion.progress import Watch
    from chatsquash.core.options import Options
    from chatsquash.view.logs import Viewer

HOST = "127.0.0.1"
_PACKAGES = {"starlette": "starlette", "uvicorn": "uvicorn", "markdown_it": "markdown-it-py"}
"""Required packages by module."""
_GRACE = 1
"""Seconds that responses have to finish once the server is stopped."""
_THREADS = 8
"""Pages that are rendered at the same time."""
_MEMORY = "dirty_decay_ms:300,muzzy_decay_ms:0"
"""Makes the allocator of polars return freed memory quickly; it is read when polars is imported."""
Say = Callable[[str], None]


def refuse_without_packages() -> None:
    """Raise ``UsageError`` with the install command if a package is missing."""
    missing = [name for module, name in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise UsageError(f"view requires the {missing[0]} package: pip install 'chatsquash[view]'")


def view(  # noqa: PLR0913 - each is one of the command
    arguments: tuple[str, ...],
    options: Options,
    *,
    port: int,
    template: str | None,
    opens: bool,
    say: Say,
    watch: Watch | None = None,
    against: str | None = None,
) -> None:
    """Serve an output folder, or converted session logs, until Ctrl-C.

    Args:
        arguments: An output folder or logs, optionally followed by the id of a session.
        options: Options for converting logs.
        port: The port; 0 selects a free one.
        template: A chat template to show records with.
        opens: Whether to open the browser.
        say: Called with each line for the terminal.
        watch: The progress display of the conversion.
        against: An earlier output folder to compare records with.
    """
    arguments, session = _prepare(arguments)
    result = _result(arguments, options, say, watch)
    with _exit_at_end(), _HangUp() as hang_up, _listening(port) as listener, result as path:
        from chatsquash.view.logs import Viewer
        from chatsquash.view.pages.template import Model

        model = Model(template) if template else None
        try:
            viewer = Viewer(path, model, _title(arguments, path))
            start = viewer.page_of(session) if session else "/"
            with _comparison(viewer, against):
                if viewer.against and not session:
                    start = f"/r/{viewer.tag}/against"
                _serve(viewer, start, listener, hang_up, opens=opens, say=say)
        finally:
            if model:
                model.close()


def _prepare(arguments: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """Prepare serving; return the arguments without the id of a session, and this id."""
    from chatsquash.results.show import with_session  # which few runs need

    refuse_without_packages()
    os.environ.setdefault("_RJEM_MALLOC_CONF", _MEMORY)
    paths, session = with_session(arguments)
    for each in paths:
        refuse_remote(each)
    clear()
    return paths, session


@contextmanager
def _comparison(viewer: Viewer, against: str | None) -> Iterator[None]:
    """Compare the result on display with another one."""
    if against is None:
        yield
        return
    from chatsquash.results.diff.comparison import Comparison
    from chatsquash.view.against import Against

    with Comparison(against, str(viewer.path)) as comparison:
        viewer.against = Against(comparison)
        yield


def result_of(arguments: tuple[str, ...]) -> Path | None:
    """Return the output folder among the arguments, or ``None`` if they are logs.

    Raises:
        UsageError: The session table of the folder is missing, or there are arguments in addition to the folder.
    """
    from chatsquash.dataset.session_table import SESSIONS
    from chatsquash.results.output import Lines, is_output, is_result
    from chatsquash.storage.folder import Folder

    if len(arguments) > 1:
        if folder := next((each for each in arguments if is_output(Path(each))), None):
            raise UsageError(f"{folder}: output folder; view shows a single output folder, without other arguments")
        return None
    path = Path(arguments[0]).absolute()
    if not is_output(path):
        return None
    if not is_result(path):
        Lines(Folder(path), SESSIONS)  # raises the error for the missing table
    return path


def _title(arguments: tuple[str, ...], path: Path) -> str:
    """Return the display name of the result: the folder, or the logs that were converted."""
    is_given = len(arguments) == 1 and Path(arguments[0]).absolute() == path
    return escape(str(path) if is_given else ", ".join(arguments))


@contextmanager
def _result(arguments: tuple[str, ...], options: Options, say: Say, watch: Watch | None) -> Iterator[Path]:
    """Yield the folder to show: the argument, or a temporary private folder with the converted logs."""
    if path := result_of(arguments):
        yield path
        return
    from chatsquash.dataset.attention import omissions_headline
    from chatsquash.results.output import ResultFolder
    from chatsquash.storage.folder import Folder

    with scratch() as folder:
        out = _convert(arguments, folder / "out", options, watch)
        if missing := omissions_headline(ResultFolder(Folder(out)).counts):
            say(str(missing))
        yield out


def _convert(logs: tuple[str, ...], out: Path, options: Options, watch: Watch | None) -> Path:
    from chatsquash.conversion.convert import convert
    from chatsquash.sources.relatives import absolute

    with watch or nullcontext():
        convert(map(absolute, logs), out, options, watch.observer if watch else None)
    return out


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """Open a socket on loopback, which is not reachable from the network."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()  # reserves the port and queues early requests until the server runs
        except OSError as problem:
            raise UsageError(f"--port {port}: {problem.strerror}; remove the option to use a free port") from None
        yield listener


@contextmanager
def _exit_at_end() -> Iterator[None]:
    """Exit the process after cleanup even if a page is still being rendered, since threads cannot be stopped."""
    before = {*threading.enumerate()}
    try:
        yield
    except SystemExit as exit_request:
        _exit(before, exit_request.code if isinstance(exit_request.code, int) else 1)
        raise
    _exit(before, 0)


def _exit(before: set[Thread], code: int) -> None:
    if all(each.daemon or each in before for each in threading.enumerate()):
        return
    for stream in (sys.stdout, sys.stderr):
        if stream:  # a process may be started without
            with suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)


class _HangUp:
    """Handles SIGHUP, sent when a terminal or ssh connection closes, like Ctrl-C, so that cleanup runs."""

    def __init__(self) -> None:
        self.server: uvicorn.Server | None = None
        """The running server."""
        self._code = 0

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGHUP, self._stop) if hasattr(signal, "SIGHUP") else None
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._before)

    def _stop(self, number: int, _: FrameType | None) -> None:
        self._code = 128 + number
        if self.server is None:
            sys.exit(self._code)
        self.server.should_exit = True

    def run(self, server: uvicorn.Server, listener: socket.socket) -> None:
        """Serve until stopped."""
        self.server = server
        server.run(sockets=[listener])
        if self._code:
            sys.exit(self._code)


def _serve(  # noqa: PLR0913 - each is one of the run
    viewer: Viewer, start: str, listener: socket.socket, hang_up: _HangUp, *, opens: bool, say: Say
) -> None:
    import uvicorn

    from chatsquash.view.app import app
    from chatsquash.view.guard import Connection, Keys

    keys = Keys(start)
    port: int = listener.getsockname()[1]
    _log_escaped()
    config = uvicorn.Config(
        app(viewer, keys, threads=_THREADS),
        access_log=False,  # it would contain the token
        http=Connection,
        limit_concurrency=100,
        log_config=None,
        loop="asyncio",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        ws="none",
    )
    for line in _greeting(viewer, port, keys.token):
        say(line)
    Thread(target=viewer.prepare, daemon=True).start()
    if opens:
        Thread(target=_open, args=(_url(port, keys.once), say), daemon=True).start()
    try:
        hang_up.run(uvicorn.Server(config), listener)
    except KeyboardInterrupt:
        say("stopped")


def _greeting(viewer: Viewer, port: int, token: str) -> Iterator[str]:
    yield f"Showing {viewer.title} at"
    yield f"  {_url(port, token)}"
    if connection := os.environ.get("SSH_CONNECTION"):
        yield "To open it from your machine, forward the port first:"
        yield f"  {escape(_forward(connection, port))}"
    yield "Press Ctrl-C to stop."


def _url(port: int, token: str) -> str:
    return f"http://{HOST}:{port}/?token={token}"


def _forward(connection: str, port: int) -> str:
    """Return the ssh command that forwards the port; ``connection`` is the value of ``SSH_CONNECTION``."""
    parts = connection.split()
    host, ssh_port = (parts[2], parts[3]) if len(parts) == 4 else ("HOST", "22")
    at_port = f" -p {ssh_port}" if ssh_port != "22" else ""
    return f"ssh -N -L {port}:{HOST}:{port}{at_port} {getpass.getuser()}@{host}"


def _open(url: str, say: Say) -> None:
    if not webbrowser.open(url):
        say("No browser was found: open the URL above.")


class _EscapingFormatter(logging.Formatter):
    """Escapes the errors of the server, which may contain text of a log."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(escape, super().format(record).split("\n")))


def _is_error(record: logging.LogRecord) -> bool:
    """Return whether to log a record; pages that were cancelled when the server stopped are not errors."""
    problem = record.exc_info[1] if record.exc_info else None
    return not isinstance(problem, asyncio.CancelledError) and "timeout graceful shutdown" not in str(record.msg)


def _log_escaped() -> None:
    handler = logging.StreamHandler()
    handler.addFilter(_is_error)
    handler.setFormatter(_EscapingFormatter("%(message)s"))
    logger = logging.getLogger("uvicorn.error")
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(logging.ERROR)


_PREFIX = "chatsquash-view-"
_LOCK = "lock"
_OLD = 3_600
"""Seconds after which a folder without a lock no longer belongs to a viewer that is starting or stopping."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Create a temporary folder that only its owner can read, and delete it at the end."""
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    folder = Folder(path)
    descriptor = lock(folder, _LOCK)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        unlock(descriptor)
        folder.close()


def clear() -> None:
    """Delete the folders of viewers that were killed: those of the same user whose lock is free."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            folder = Folder(path)
            try:
                if folder.status(_LOCK):
                    descriptor = lock(folder, _LOCK)
                    shutil.rmtree(path, ignore_errors=True)
                    unlock(descriptor)
                elif (
                    time() - status.st_mtime > _OLD
                ):  # a younger one may belong to a viewer that is starting or stopping
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                folder.close()
