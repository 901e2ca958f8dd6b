"""How commands end: exit codes, and output to pipes that may be closed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from chatsquash.cli.click_options import Codes, option
from chatsquash.core.errors import UsageError

_Run = TypeVar("_Run", bound="Callable[..., Any]")
INCOMPLETE = 3
"""The exit code if sessions, lines or records are missing, or if a selected finding is reported."""
_ERROR = "error"
"""Selects every finding that is an error when used as a code."""
_REQUIRED_OPTIONS = {
    "secret-found": "--redact",
    "personal-data-found": "--redact",
    "address-not-redacted": "--anonymize",
    "eval-overlap": "--against",
    "eval-task": "--against",
    "eval-commit": "--against",
    "eval-repository": "--against",
    "arguments-invalid": "--check-arguments",
    "arguments-unchecked": "--check-arguments",
}
"""Findings that ``check`` reports only with an option."""


class RunResult(Protocol):
    """The summary of a run."""

    def as_json(self) -> dict[str, Any]:
        """Return its counts."""


def refuse_unknown(codes: Sequence[str]) -> None:
    """Raise ``UsageError`` for an unknown code."""
    if not codes:
        return
    from chatsquash import checks  # which few runs need here

    for code in _split_codes(codes):
        checks.refuse_unknown(code, option="--fail-on", any_error=_ERROR)


def refuse_without_option(codes: Sequence[str], flags: Collection[str]) -> None:
    """Raise ``UsageError`` for a code that needs an option of ``check`` which is not in ``flags``."""
    for code in _split_codes(codes):
        flag = "--template" if code.startswith("template-") else _REQUIRED_OPTIONS.get(code)
        if flag and flag not in flags:
            raise UsageError(f"--fail-on {code} has no effect without {flag}; add it")


def code(done: RunResult, codes: Sequence[str], *, is_complete: bool, is_shard: bool) -> int:
    """Return 3 if sessions or lines were skipped or no record was written, else 0.

    With ``codes``, only these findings, and an output without records, lead to 3. A shard without records is fine, and
    so are logs that only contain calls to other endpoints.
    """
    if not codes and not is_complete:
        return INCOMPLETE
    counts = done.as_json()
    severities = counts.get("findings", {})
    is_empty = counts.get("conversations", {"written": 1})["written"] == 0
    if is_empty and not is_shard and not _has_no_exchange(counts):
        return INCOMPLETE
    findings = [(severity, code) for severity, by_code in severities.items() for code in by_code]
    return INCOMPLETE if _names_any(codes, findings) else 0


def _has_no_exchange(counts: dict[str, Any]) -> bool:
    """Return whether logs contain only lines that cannot be exchanges."""
    is_blank = counts["lines"]["blank"] == counts["lines"]["seen"] > 0
    return is_blank and "no-exchange" in counts.get("findings", {}).get("info", {})


def code_of_check(findings: Iterable[tuple[str, str]], codes: Sequence[str], gates: Iterable[str]) -> int:
    """Return 3 if a finding is an error or in ``gates``, else 0; ``codes`` replace these two conditions.

    Args:
        findings: The severity and code of each finding.
        codes: The values of ``--fail-on``.
        gates: Codes that also fail by default.
    """
    return INCOMPLETE if _names_any(codes or (_ERROR, *gates), findings) else 0


def _names_any(codes: Sequence[str], findings: Iterable[tuple[str, str]]) -> bool:
    names = {*_split_codes(codes)}
    return any((severity == _ERROR and _ERROR in names) or code in names for severity, code in findings)


def _split_codes(codes: Sequence[str]) -> Iterator[str]:
    return (code for value in codes for each in value.split(",") if (code := each.strip()))


def fail_on(otherwise: str) -> Callable[[_Run], _Run]:
    """Add ``--fail-on``; ``otherwise`` ends its help with the default that the option replaces."""
    description = f"Exit with 3 if one of these findings is reported (error: any error), {otherwise}."
    return option("--fail-on", multiple=True, type=Codes("error", ","), metavar="CODE,...", help=description)


@contextmanager
def tolerate_closed_pipe() -> Iterator[None]:
    """Ignore a closed pipe while printing, so that ``| head`` does not change how a command ends."""
    try:
        yield
    except BrokenPipeError:
        null_device = os.open(os.devnull, os.O_WRONLY)
        for stream in filter(None, (sys.stdout, sys.stderr)):
            os.dup2(null_device, stream.fileno())
