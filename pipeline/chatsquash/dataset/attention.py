"""What needs attention in a result and what to do next, by the counts of ``run.json``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from chatsquash.checks import explanations, harm, rules
from chatsquash.checks.coverage import NEVER
from chatsquash.core.model import Severity
from chatsquash.core.overview import Headline, comma_separated
from chatsquash.core.text import pluralize
from chatsquash.dataset.omissions import COMPLETE, lacks, most_frequent, reasons

_MIXED = "session-id-mismatch"
"""The finding for which a file of several sessions is left out."""
Findings = Mapping[str, Mapping[str, int]]
"""The number of findings by severity and code."""
_GRAVE: tuple[Severity, ...] = ("error", "warning")


def attention(counts: Mapping[str, Any]) -> Headline:
    """Return whether there are no records, and how many secrets, omissions, errors and warnings there are."""
    worse = [
        "no records" if _is_empty(counts) else "",
        _secrets(counts),
        *(f"{each.what} left out" for each in lacks(counts)),
    ]
    return found(counts["findings"], *filter(None, worse))


def found(findings: Findings, *worse: str) -> Headline:
    """Return how many errors and warnings there are, after what is worse."""
    graves = [pluralize(sum(findings[each].values()), each) for each in _GRAVE if each in findings]
    if not worse and not graves:
        return Headline(("nothing needs attention",))
    severity: Severity = "error" if worse or "error" in findings else "warning"
    return Headline(("needs attention:", *comma_separated([*worse, *graves])), severity)


def next_step(counts: Mapping[str, Any], option: str = "") -> Headline | None:
    """Return the cost and the command of what matters most: replies that an option keeps, or else the worst finding.

    Args:
        counts: The counts of ``run.json``.
        option: The option that writes more replies; empty if there is none.
    """
    steps = (more_replies(counts, option), _replace_secrets(counts), left_out(counts))
    harmless = () if lost_replies(counts) else ("replies-lost",)
    return next(filter(None, steps), None) or worst(counts["findings"], harmless)


def lost_replies(counts: Mapping[str, Any], but: tuple[str, ...] = ()) -> int:
    """Return how many replies are in no record though one could contain them, or for a reason that is named.

    Answers to requests of the client's own, such as titles, do not count.
    """
    never = {*NEVER, "side-request"}.difference(but)
    return sum(count for why, count in counts["replies"]["lost"].items() if why not in never)


def more_replies(counts: Mapping[str, Any], option: str) -> Headline | None:
    """Return how many replies no record contains that ``option`` writes; ``None`` if there are none, or no option.

    A file that was refused since it mixes sessions needs ``--sessions-by chain`` as well, which ``--complete`` sets.
    """
    mixed = _MIXED in counts["sessions"]["left_out"]
    missing = lost_replies(counts, but=("refused",) if mixed else ())
    is_filtered = _is_empty(counts) and counts["sessions"]["filtered"]  # an option for more replies changes nothing
    if not option or not missing or is_filtered:
        return None
    options = f"--sessions-by chain {option}" if mixed and option != COMPLETE else option
    are, them = ("is", "it") if missing == 1 else ("are", "them")
    replies = pluralize(counts["replies"]["logged"], "reply", "replies")
    return Headline((f"{missing:,} of {replies} {are} in no record;", f"add {options} to keep {them}"), "warning")


def _is_empty(counts: Mapping[str, Any]) -> bool:
    return bool(counts["sessions"]["seen"] and not counts["conversations"]["written"])


def _secrets(counts: Mapping[str, Any]) -> str:
    """The secrets that are not replaced; empty if there are none."""
    secrets = counts["secrets"]
    unreplaced = secrets["found"] - secrets["replaced"]
    return f"{pluralize(unreplaced, 'secret')} in {pluralize(secrets['records'], 'record')}" if unreplaced else ""


def _replace_secrets(counts: Mapping[str, Any]) -> Headline | None:
    secrets = _secrets(counts)
    return Headline((f"{secrets};", "add --redact secrets to replace all secrets"), "error") if secrets else None


def left_out(counts: Mapping[str, Any]) -> Headline | None:
    """Return what was left out and why; what filters took out was requested, and is named if there is no record."""
    sessions, missing = counts["sessions"], lacks(counts)
    is_empty = _is_empty(counts)
    parts = ["no record was written"] if is_empty else []
    if missing:
        parts.append(f"left out: {', '.join(map(str, missing))}")
    if is_empty and (filtered := sessions["filtered"]):
        parts.append(f"filtered: {pluralize(sum(filtered.values()), 'session')}{reasons(filtered)}")
    code = most_frequent(missing) or (next(iter(sessions["left_out"]), "") if is_empty else "")
    return _phrases(parts, code, "error") if parts else None


def worst(findings: Findings, harmless: Collection[str] = ()) -> Headline | None:
    """Return the worst error or warning, of equally bad ones the most frequent, with the command that explains it."""
    ranked = [
        (harm.rank(severity, code), -count, code, severity)
        for severity in _GRAVE
        for code, count in findings.get(severity, {}).items()
        if code in rules() and code not in harmless
    ]
    if not ranked:
        return None
    *_, code, severity = min(ranked)
    return _phrases([explanations.meaning(code).rstrip(".").replace("`", "")], code, severity)


def _phrases(parts: list[str], code: str, severity: Severity) -> Headline:
    """Phrases, and the command that explains a code if there is one."""
    *before, last = parts
    explains = (f"{last}:", f"chatsquash explain {code}") if code else (last,)
    return Headline((*(f"{each};" for each in before), *explains), severity)
