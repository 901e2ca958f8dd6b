"""The order of findings by harm: leaks, losses and truncation come first, then all others by severity."""

from __future__ import annotations

from chatsquash.core.model import Severity

_SECRETS = ("secret-found", "personal-data-found", "address-not-redacted", "redaction-failed", "unsearched-line")
_LOSSES = (
    *("unreadable-archive", "truncated-archive", "archive-member", "unreadable-log", "cut-short", "lost-worker"),
    *("unknown-format", "session-id-mismatch", "timestamp-order", "bad-line", "bad-entry", "bad-record"),
    *("empty-session", "no-sample", "output-growth", "no-assistant-turn", "arguments-unparsable", "unpaired-call"),
    *("unsupported-shape", "media-dropped", "not-rendered", "joined-reply", "replies-lost", "other-conversations"),
    *("unrelated-conversations",),
)
_TRUNCATED = ("reply-truncated", "truncated-by-logger", "stream-interrupted", "incomplete-reply")
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


def rank(severity: Severity, code: str) -> tuple[int, int]:
    """Return the rank of a finding by harm, worst first; ``info`` findings are always last."""
    kinds = (_SECRETS, _LOSSES, _TRUNCATED)
    harm = next((place for place, codes in enumerate(kinds) if code in codes), len(kinds))
    grave = _SEVERITIES.index(severity)
    return (len(kinds) + 1, grave) if severity == "info" else (harm, grave)
