"""The scores of a run that are logged apart from their replies, by outcome."""

from __future__ import annotations

from chatsquash.core.outcome import ScoreAccount


class ScoreTotals:
    """Counts each score once, whatever the number of its versions and of the sessions that it is about."""

    def __init__(self) -> None:
        self._rows: set[int] = set()
        self._joined: set[int] = set()
        self._count = self._unusable = 0

    def add(self, account: ScoreAccount) -> None:
        """Add the scores of a session."""
        self._rows.update(account.rows)
        self._joined.update(account.joined)
        self._count += len(account.rows)
        self._unusable += account.unusable

    def counts(self) -> dict[str, object]:
        """Return the number of scores, of those that are joined with replies, and of the others by reason."""
        others = {
            "superseded": self._count - len(self._rows),
            "unmatched": len(self._rows - self._joined),
            "unusable": self._unusable,
        }
        # Scores in files that are not among the logs count if they are joined.
        return {
            "rows": len(self._joined) + sum(others.values()),
            "joined": len(self._joined),
            "not_joined": {reason: count for reason, count in others.items() if count},
        }
