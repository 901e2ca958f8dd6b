"""Run a push: show the plan, ask for confirmation, then upload."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.text import pluralize
from chatsquash.hub.plan import Plan, list_all, plan, send
from chatsquash.hub.public import Repository, parse_url, public_files
from chatsquash.storage import refuse_remote


class PushRequest(NamedTuple):
    """The options and callbacks of a push."""

    public: bool
    dry_run: bool
    show: Callable[[list[str]], None]
    """Receives the lines of the plan."""
    confirm: Callable[[], bool]
    """Returns whether the user confirmed the upload."""
    observe: Callable[[int, int], None]
    """Receives the number of bytes just uploaded, and the total."""


class PushOutcome(NamedTuple):
    """The outcome of a push."""

    message: str
    is_confirmed: bool = True
    """``False`` if the user declined the upload."""
    plan: tuple[str, ...] = ()
    """The lines of the plan; set only by ``chatsquash.push``."""


def push(out: str, url: str, request: PushRequest) -> PushOutcome:
    """Upload a dataset folder to the Hub.

    Args:
        out: The dataset folder.
        url: The destination, ``hf://datasets/OWNER/NAME[@BRANCH]``.
        request: Options and callbacks.

    Raises:
        UsageError: The folder or the destination cannot be used.
        ChatsquashError: The Hub cannot be reached or rejects a request.
    """
    refuse_remote(out)
    at = parse_url(url)
    if request.dry_run:
        upload_plan = _compare(at, Path(out), public=request.public)
        request.show(upload_plan.lines())
        return PushOutcome(
            "nothing was sent (--dry-run)" if upload_plan.send or upload_plan.stale else "nothing to send"
        )
    try:
        from chatsquash.hub.hub import Hub
    except ImportError as problem:
        why = f"push requires {problem.name or 'a library'}, which is not installed"
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
    """Return the plan of a dry run; without access to the Hub, it lists every file."""
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
        why = "no token for the Hub was found"
    except UnreachableError:
        why = "the Hub could not be reached"
    return list_all(at, out, files, why, public=public)
