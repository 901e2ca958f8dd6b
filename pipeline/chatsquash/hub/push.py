"""The command: the user sees what would be sent and agrees before anything is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.text import pluralize
from chatsquash.core.urls import refuse_remote
from chatsquash.hub.plan import Plan, list_all, plan, send
from chatsquash.hub.public import Repository, public_files, repository


class PushRequest(NamedTuple):
    """How to push."""

    public: bool
    dry_run: bool
    show: Callable[[list[str]], None]
    """Told what would be sent."""
    confirm: Callable[[], bool]
    """Whether to send it."""
    observe: Callable[[int, int], None]
    """Told the bytes that are done, and of how many."""


class PushOutcome(NamedTuple):
    """How it ended."""

    message: str
    is_confirmed: bool = True
    plan: tuple[str, ...] = ()
    """What was, or would be, sent, as lines; for programs, which are not told of it before."""


def push(out: str, url: str, request: PushRequest) -> PushOutcome:
    """Send a dataset folder to the Hub.

    Raises ``UsageError`` for a folder or a dataset that cannot be used, and ``ChatsquashError`` where the Hub refuses.
    """
    refuse_remote(out)
    at = repository(url)
    if request.dry_run:
        upload_plan = _compare(at, Path(out), public=request.public)
        request.show(upload_plan.lines())
        return PushOutcome(
            "nothing was sent (--dry-run)" if upload_plan.send or upload_plan.stale else "nothing to send"
        )
    try:
        from chatsquash.hub.hub import Hub
    except ImportError as problem:
        why = f"push needs {problem.name or 'a library'}, which is not installed"
        raise UsageError(f"{why}: pip install 'chatsquash[hub]'") from None
    hub = Hub(at)
    files = public_files(Path(out))
    with hub.connected():
        upload_plan = plan(at, Path(out), files, hub, public=request.public)
        request.show(upload_plan.lines())
        if not (upload_plan.send or upload_plan.stale):
            return PushOutcome("nothing to send")
        if not request.confirm():
            return PushOutcome("nothing was sent", is_confirmed=False)
        send(upload_plan, hub, request.observe)
    summary = f"sent {pluralize(len(upload_plan.send), 'file')}, {pluralize(upload_plan.size, 'byte')}, in one commit"
    return PushOutcome(f"{summary}: {hub.page}")


def _compare(at: Repository, out: Path, *, public: bool) -> Plan:
    """What a push would send: what the Hub does not have where it can be asked, else every file."""
    files = public_files(out)
    try:
        from chatsquash.hub.hub import Hub, NoTokenError, UnreachableError
    except ImportError as problem:
        return list_all(at, out, files, f"{problem.name or 'a library'} is not installed", public=public)
    try:
        hub = Hub(at)
        with hub.connected():
            return plan(at, out, files, hub, public=public)
    except NoTokenError:
        why = "there is no token to ask the Hub with"
    except UnreachableError:
        why = "the Hub could not be reached"
    return list_all(at, out, files, why, public=public)
