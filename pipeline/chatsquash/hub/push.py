"""The command: what may leave is told, whoever runs it is asked, and only then anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.text import counted
from chatsquash.core.urls import refuse_remote
from chatsquash.hub.public import public_files, repository


class Asked(NamedTuple):
    """How to push."""

    public: bool
    dry_run: bool
    say: Callable[[list[str]], None]
    """Told what would be sent."""
    agree: Callable[[], bool]
    """Whether to send it."""
    observe: Callable[[int, int], None]
    """Told the bytes that are done, and of how many."""


class Pushed(NamedTuple):
    """How it ended."""

    told: str
    agreed: bool = True


def push(out: str, url: str, asked: Asked) -> Pushed:
    """Send a dataset folder to the Hub.

    Raises ``UsageError`` for a folder or a dataset that cannot be used, and ``ChatsquashError`` where the Hub refuses.
    """
    refuse_remote(out)
    at = repository(url)
    try:
        from chatsquash.hub.hub import Hub
        from chatsquash.hub.plan import plan, send
    except ImportError as problem:
        why = f"push needs {problem.name or 'a library'}, which is not installed"
        raise UsageError(f"{why}: pip install 'chatsquash[hub]'") from None
    hub = Hub(at)
    files = public_files(Path(out))
    with hub.connected():
        planned = plan(at, Path(out), files, hub, public=asked.public)
        asked.say(planned.lines())
        if not planned.send and not planned.gone:
            return Pushed("nothing to send")
        if asked.dry_run:
            return Pushed("nothing was sent (--dry-run)")
        if not asked.agree():
            return Pushed("nothing was sent", agreed=False)
        send(planned, hub, asked.observe)
    done = f"sent {counted(len(planned.send), 'file')}, {counted(planned.size, 'byte')}, in one commit"
    return Pushed(f"{done}: {hub.page}")
