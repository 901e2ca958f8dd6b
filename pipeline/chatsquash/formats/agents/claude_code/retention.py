"""When Claude Code deletes sessions: at each start, those that were not changed for ``cleanupPeriodDays``."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.retention import Period, Retention, Settings, limit_days, on_platform

_MANAGED = on_platform(
    linux="/etc/claude-code", darwin="/Library/Application Support/ClaudeCode", win32="C:\\Program Files\\ClaudeCode"
)
_PERIOD = "cleanupPeriodDays"
_DAYS = 30


def _period(settings: Settings) -> Period:
    """Return the period; while a value is invalid, nothing is deleted."""
    setting = settings(_PERIOD)
    if setting is None:
        return Period(_DAYS)
    if not _is_valid(setting.value):
        return Period(
            _DAYS, source=setting.path, problem=f"{_PERIOD} is not a positive number of days, so nothing is deleted"
        )
    return Period(limit_days(setting.value), source=setting.path)


def _is_valid(value: Json) -> bool:
    if isinstance(value, float):
        return value.is_integer() and value > 0
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


RETENTION = Retention(
    "Claude Code",
    "@anthropic-ai/claude-code 2.1.332 on npm",
    remark="sessions of the desktop app are exempt",
    setting=_PERIOD,
    period=_period,
    settings=(
        f"{_MANAGED}/managed-settings.d/*.json",
        f"{_MANAGED}/managed-settings.json",
        "<project>/.claude/settings.local.json",
        "<project>/.claude/settings.json",
        "${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json",
    ),
    projects="${CLAUDE_CONFIG_DIR:-~}/.claude.json",
    folder="${CLAUDE_CONFIG_DIR:-~/.claude}/projects",
)
