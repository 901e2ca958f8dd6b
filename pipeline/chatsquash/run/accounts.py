"""Outcomes of logs of which nothing could be converted, and what became of each line of a session."""

from __future__ import annotations

from chatsquash.checks import reading
from chatsquash.ledger import Ledger
from chatsquash.model import Account, Cleaned, Found, Log, Outcome
from chatsquash.stages.select import Snapshot


def accounts(snapshot: Snapshot | None, ledger: Ledger, *, written: bool) -> tuple[Account, Account]:
    """What became of the lines, and of their bytes."""
    aside = ledger.cleaned, len(ledger.rejected), ledger.blank
    aside_sizes = ledger.cleaned_size, ledger.rejected_size, ledger.blank_size
    if snapshot and written:
        kept = 1, snapshot.superseded, snapshot.cut, 0
        kept_sizes = snapshot.entry.size, snapshot.superseded_size, snapshot.cut_size, 0
    else:
        kept = 0, 0, 0, ledger.lines - sum(aside)
        kept_sizes = 0, 0, 0, ledger.size - sum(aside_sizes)
    lines, sizes = _account(kept, aside), _account(kept_sizes, aside_sizes)
    assert sum(lines) == ledger.lines, (lines, ledger.lines)
    assert sum(sizes) == ledger.size, (sizes, ledger.size)
    return lines, sizes


def _account(kept: tuple[int, int, int, int], aside: tuple[int, int, int]) -> Account:
    (selected, superseded, cut, left_out), (cleaned, unreadable, blank) = kept, aside
    return Account(selected, superseded, cut, cleaned, left_out, unreadable, blank)


def unreadable(log: Log, problem: OSError) -> Outcome:
    """The outcome of a log that cannot be opened or read."""
    return nothing(log, reading.unreadable_log(problem.strerror or type(problem).__name__))


def nothing(log: Log, why: Found) -> Outcome:
    """The outcome of a log of which nothing is known but why."""
    ledger = Ledger(log.stem)
    ledger.note(why)
    findings = ledger.findings(log.shown)
    return Outcome(log.stem, None, why.code, findings, [], 0, Account(), Cleaned(), 0, None, None, "", "")
