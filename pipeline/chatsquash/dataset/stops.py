"""The reason why ``--strict`` or ``--on-invalid abort`` stops a run."""

from __future__ import annotations

import re

from chatsquash.core.model import Finding
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import escape
from chatsquash.dataset import findings_text as report

_QUOTED = re.compile(r"""\\.|'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\"""", re.DOTALL)
"""Quoted text of a log in a finding, which is not shown on a terminal; or an escape outside of quotes."""


def cut_short(outcome: Outcome) -> Finding | None:
    """Return the finding that the rest of a log was not read, if it was reported."""
    return next((finding for finding in outcome.findings if finding.code == "cut-short"), None)


def why(outcome: Outcome, file: str) -> str:
    """Format the reason as an error message: location, text and code."""
    if outcome.report.rejected and outcome.left_out in (None, "empty-session"):
        first = outcome.report.rejected[0]
        return f"{report.place(file, first.line)}: {escape(first.reason)} [{first.code}]"
    matching = (finding for finding in outcome.findings if finding.code == outcome.left_out)
    stop = next(matching, None) or cut_short(outcome)
    assert stop
    text = _QUOTED.sub(lambda quoted: quoted[0] if quoted[0][0] == "\\" else "'…'", stop.text)
    return f"{report.place(file, stop.line)}: {text} [{stop.code}]"
