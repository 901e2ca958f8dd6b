"""OpenClaw's session files: Pi's format with additional entries and prefixes added by the gateway."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.agents import pi
from chatsquash.formats.retention import Period, Retention, Settings
from chatsquash.formats.values import objects

NAME = "openclaw"
HAS_TOOLS = False
MEMBERS = ("cwd",)
TYPES = pi.TYPES
LOCATIONS = (
    "~/.openclaw/agents/*/sessions/*.jsonl",
    "~/.clawdbot/agents/*/sessions/*.jsonl",
    "~/.moltbot/agents/*/sessions/*.jsonl",
)


def _period(settings: Settings) -> Period:
    """Return the size from which the oldest sessions are deleted, per agent; 10 GB by default."""
    mode = settings("session", "maintenance", "mode")
    size = settings("session", "maintenance", "maxDiskBytes")
    if mode and mode.value == "warn":
        return Period(source=mode.path)
    if size is None:
        return Period(size="10gb")
    is_disabled = size.value in (False, 0, "0")
    return Period(size="" if is_disabled else str(size.value)[:20], source=size.path)


RETENTION = Retention(
    "OpenClaw",
    "openclaw 2026.9.6 on npm",
    remark="the oldest archived sessions of an agent are deleted above this size",
    setting="session.maintenance.maxDiskBytes",
    period=_period,
    settings=("~/.openclaw/openclaw.json",),
    allows_comments=True,
)


def fits(values: list[Json]) -> str | None:
    """Check for a Pi session with entries or prefixes that only OpenClaw writes."""
    if not pi.is_session(values) or not pi.is_of_openclaw(values):
        return None
    own = any(each.get("type") == "custom" for each in objects(values[1:]))
    return "a session with entries of openclaw" if own else "a session with the time before user texts"


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Load a session in the same way as Pi's."""
    # The prefixes of the gateway are kept, because the model saw them.
    return pi.conversations(values, lines)
