"""The problems of a result that need attention and the next step, computed from the counts in ``run.json``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chatsquash.checks import explanations, harm, rules
from chatsquash.checks.coverage import NEVER
from chatsquash.core.model import Severity
from chatsquash.core.overview import Headline, comma_separated
from chatsquash.core.text import pluralize
from chatsquash.dataset.omissions import COMPLETE, list_omissions, most_frequent, reasons

_SESSION_ID_MISMATCH = "session-id-mismatch"
"""The finding that skips a file with several sessions."""
Findings = Mapping[str, Mapping[str, int]]
"""Numbers of findings by severity and code."""
_GRAVE: tuple[Severity, ...] = ("error", "warning")


def attention(counts: Mapping[str, Any]) -> Headline:
    """Return a line that reports missing records and the numbers of secrets, omissions, errors and warnings."""
    worse = [
        "no records" if _is_empty(counts) else "",
        _secrets(counts),
        *(f"{each.what} skipped" for each in list_omissions(counts)),
    ]
    return findings_headline(counts["findings"], *filter(None, worse))


def findings_headline(findings: Findings, *worse: str) -> Headline:
    """Return a line with the numbers of errors and warnings, after more serious problems."""
    graves = [pluralize(sum(findings[each].values()), each) for each in _GRAVE if each in findings]
    if not worse and not graves:
        return Headline(("nothing needs attention",))
    severity: Severity = "error" if worse or "error" in findings else "warning"
    return Headline(("needs attention:", *comma_separated([*worse, *graves])), severity)


def next_step(counts: Mapping[str, Any], option: str = "") -> Headline | None:
    """Return the most important problem with its remedy: replies that an option would keep, or the worst finding.

    Args:
        counts: The counts of ``run.json``.
        option: The option that writes more replies; empty if no option does.
    """
    steps = (more_replies(counts, option), _replace_secrets(counts), omissions_headline(counts))
    harmless = () if lost_replies(counts) else ("replies-lost",)
    return next(filter(None, steps), None) or worst_finding(counts["findings"], harmless)


def lost_replies(counts: Mapping[str, Any], but: tuple[str, ...] = ()) -> int:
    """Return the number of missing replies that a record could contain, or that are missing for a reason in ``but``.

    Replies to the client's own requests, such as those for titles, do not count.
    """
    never = {*NEVER, "side-request"}.difference(but)
    return sum(count for why, count in counts["replies"]["lost"].items() if why not in never)


def more_replies(counts: Mapping[str, Any], option: str) -> Headline | None:
    """Return how many missing replies ``option`` would write, or ``None`` if no reply is missing or no option helps."""
    is_mixed = _SESSION_ID_MISMATCH in counts["sessions"]["left_out"]
    missing = lost_replies(counts, but=("refused",) if is_mixed else ())
    is_filtered = _is_empty(counts) and counts["sessions"]["filtered"]  # an option for more replies would not help
    if not option or not missing or is_filtered:
        return None
    # A file that was rejected because it mixes sessions also needs --sessions-by chain, which --complete includes.
    options = f"--sessions-by chain {option}" if is_mixed and option != COMPLETE else option
    are, them = ("is", "it") if missing == 1 else ("are", "them")
    replies = pluralize(counts["replies"]["logged"], "reply", "replies")
    return Headline((f"{missing:,} of {replies} {are} not in any record;", f"add {options} to keep {them}"), "warning")


def _is_empty(counts: Mapping[str, Any]) -> bool:
    return bool(counts["sessions"]["seen"] and not counts["conversations"]["written"])


def _secrets(counts: Mapping[str, Any]) -> str:
    """Describe the secrets that were not replaced; return an empty string if all were."""
    secrets = counts["secrets"]
    unreplaced = secrets["found"] - secrets["replaced"]
    return f"{pluralize(unreplaced, 'secret')} in {pluralize(secrets['records'], 'record')}" if unreplaced else ""


def _replace_secrets(counts: Mapping[str, Any]) -> Headline | None:
    secrets = _secrets(counts)
    return Headline((f"{secrets};", "add --redact secrets to replace all secrets"), "error") if secrets else None


def omissions_headline(counts: Mapping[str, Any]) -> Headline | None:
    """Return the omissions with their reasons; filtered sessions are included only if no record was written."""
    sessions, missing = counts["sessions"], list_omissions(counts)
    is_empty = _is_empty(counts)
    parts = ["no record was written"] if is_empty else []
    if missing:
        parts.append(f"skipped: {', '.join(map(str, missing))}")
    if is_empty and (filtered := sessions["filtered"]):
        parts.append(f"filtered: {pluralize(sum(filtered.values()), 'session')}{reasons(filtered)}")
    code = most_frequent(missing) or (next(iter(sessions["left_out"]), "") if is_empty else "")
    return _phrases(parts, code, "error") if parts else None


def worst_finding(findings: Findings, harmless: Collection[str] = ()) -> Headline | None:
    """Return the worst error or warning, the most frequent in case of a tie, and the command that explains it."""
    candidates = [
        (harm.rank(severity, code), -count, code, severity)
        for severity in _GRAVE
        for code, count in findings.get(severity, {}).items()
        if code in rules() and code not in harmless
    ]
    if not candidates:
        return None
    *_, code, severity = min(candidates)
    return _phrases([explanations.meaning(code).rstrip(".").replace("`", "")], code, severity)


def _phrases(parts: list[str], code: str, severity: Severity) -> Headline:
    """Join phrases, and append the command that explains a code if there is one."""
    *before, last = parts
    explains = (f"{last}:", f"chatsquash explain {code}") if code else (last,)
    return Headline((*(f"{each};" for each in before), *explains), severity)
