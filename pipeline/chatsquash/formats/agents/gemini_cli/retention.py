"""When Gemini CLI deletes sessions: at its start in a project, those beyond ``general.sessionRetention``."""

from __future__ import annotations

import re

from chatsquash.core.model import Json
from chatsquash.formats.retention import Period, Retention, Setting, Settings, is_number, limit_days, on_platform

_SYSTEM = on_platform(
    linux="/etc/gemini-cli", darwin="/Library/Application Support/GeminiCli", win32="C:\\ProgramData\\gemini-cli"
)
_DURATION = re.compile(r"(\d+)([hdwm])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}
_DEFAULT, _LEAST = "30d", 1.0


def _period(settings: Settings) -> Period:
    """Return the period; invalid settings disable the deletion."""
    enabled = _setting(settings, "enabled")
    age = _setting(settings, "maxAge") or Setting(_DEFAULT, "")
    most = _setting(settings, "maxCount")
    source = next((each.path for each in (enabled, age, most) if each and each.path), "")
    if enabled and not enabled.value:
        return Period(source=enabled.path)
    days = _days(age.value) if age.value else None
    least = _setting(settings, "minRetention")
    shortest = (_days(least.value) if least else None) or _LEAST
    if age.value and (days is None or days < shortest):
        return Period(source=age.path, problem="maxAge is invalid or shorter than minRetention, so nothing is deleted")
    if most and not (is_number(most.value) and most.value >= 1):
        return Period(source=most.path, problem="maxCount is not a number of at least 1, so nothing is deleted")
    return Period(
        limit_days(days) if days is not None else None,
        most=int(min(most.value, 1e9)) if most else None,
        source=source,
    )


def _setting(settings: Settings, name: str) -> Setting | None:
    return settings("general", "sessionRetention", name)


def _days(value: Json) -> float | None:
    """Return a duration in days, or ``None`` if it is not one or zero."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return float(match[1]) * _DAYS[match[2]] or None if match else None


RETENTION = Retention(
    "Gemini CLI",
    "@google/gemini-cli 0.61.0 on npm",
    remark="sessions without a reply are deleted at the next start",
    setting="general.sessionRetention",
    period=_period,
    settings=(
        f"${{GEMINI_CLI_SYSTEM_SETTINGS_PATH:-{_SYSTEM}/settings.json}}",
        "<project>/.gemini/settings.json",
        "${GEMINI_CLI_HOME:-~}/.gemini/settings.json",
        f"${{GEMINI_CLI_SYSTEM_DEFAULTS_PATH:-{_SYSTEM}/system-defaults.json}}",
    ),
    allows_comments=True,
    projects="${GEMINI_CLI_HOME:-~}/.gemini/projects.json",
    project_folder="${GEMINI_CLI_HOME:-~}/.gemini/tmp/*",
)
