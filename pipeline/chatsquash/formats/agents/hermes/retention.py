"""When Hermes deletes sessions: only with ``sessions.auto_prune``, ended ones after ``retention_days``."""

from __future__ import annotations

from chatsquash.formats.retention import Period, Retention, Settings, is_number, limit_days

_DAYS = 90


def _period(settings: Settings) -> Period:
    """Return the period, if pruning is enabled."""
    section = settings("sessions")
    if section is not None and not isinstance(section.value, dict):
        return Period(_DAYS, source=section.path, problem="sessions is written in a style that is not supported")
    enabled = settings("sessions", "auto_prune")
    if enabled is None or not enabled.value:
        return Period(source=enabled.path if enabled else "")
    days = settings("sessions", "retention_days")
    if days is not None and not is_number(days.value):
        return Period(source=days.path, problem="retention_days is not a number, so nothing is deleted")
    return Period(limit_days(days.value if days else _DAYS), source=enabled.path)


RETENTION = Retention(
    "Hermes",
    "hermes-agent 0.19.0 on PyPI",
    remark="only ended sessions are deleted, by their start",
    setting="sessions.auto_prune",
    period=_period,
    settings=("${HERMES_HOME:-~/.hermes}/config.yaml",),
)
