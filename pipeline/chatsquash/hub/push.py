"""The command: the user sees what would be sent and agrees before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.text import pluralize
from chatsquash.core.urls import refuse_remote
from chatsquash.hub.public import public_files, repository


class PushRequest(NamedTuple):
    """How to push."""

    public: bool
    dry_run: bool
    say: Callable[[list[str]], None]
    """Told what would be sent."""
    agree: Callable[[], bool]
    """Whether to send it."""
    observe: Callable[[int, int], None]
    """Told the bytes that are done, and of how many."""


class PushOutcome(NamedTuple):
    """How it ended."""

    message: str
    agreed: bool = True


def push(out: str, url: str, request: PushRequest) -> PushOutcome:
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
        planned = plan(at, Path(out), files, hub, public=request.public)
        request.say(planned.lines())
        if not planned.send and not planned.gone:
            return PushOutcome("nothing to send")
        if request.dry_run:
            return PushOutcome("nothing was sent (--dry-run)")
        if not request.agree():
            return PushOutcome("nothing was sent", agreed=False)
        send(planned, hub, request.observe)
    done = f"sent {pluralize(len(planned.send), 'file')}, {pluralize(planned.size, 'byte')}, in one commit"
    return PushOutcome(f"{done}: {hub.page}")
