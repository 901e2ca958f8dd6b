"""The texts of an outcome that come from its log, and the paths of that log: what may be private beside records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from chatsquash.core.accounting import ToolUse
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.outcome import Ending, Facts, LogNames, Outcome, Record, Relative, SelectedEntry
from chatsquash.core.text import printable

Hide = Callable[[str], str]
"""Gives a text with nothing private in it."""
_ENDING = ("finish", "exit_evidence", "reward_evidence", "finish_evidence", "truncated_evidence", "last_user_evidence")
_GONE = Relative(b"", b"")
"""Stands for a file whose path is not told; it is never the same, so that its session is converted again."""


def texts(outcome: Outcome, log: Log) -> list[str]:
    """All texts that come from a log, each once; the lines of records aside."""
    unique: dict[str, None] = {}

    def note(text: str) -> str:
        unique[text] = None
        return text

    hidden(outcome, log, note)
    unique.pop("", None)
    return list(unique)


def hidden(outcome: Outcome, log: Log, hide: Hide, digest: Hide = str) -> Outcome:
    """An outcome whose texts are hidden, and which says how its log is called where something was private there.

    ``digest`` tells the path of such a log from others.
    """
    paths = {path: hide(path) for path in (log.shown, *log.beside)}
    chosen, family = outcome.output.chosen, outcome.output.family
    relatives = [_relative(each, hide) for each in outcome.account.relatives]
    return structs.replace(
        outcome,
        session=hide(outcome.session),
        output=structs.replace(
            outcome.output,
            records=[_record(record, hide) for record in outcome.records],
            chosen=_chosen(chosen, hide) if chosen else None,
            family=family and family._replace(session=hide(family.session), log=hide(family.log)),
        ),
        report=structs.replace(
            outcome.report,
            findings=[_finding(each, paths, hide) for each in outcome.findings],
            rejected=[each._replace(reason=hide(each.reason)) for each in outcome.report.rejected],
            trace=hide(outcome.report.trace),
        ),
        account=structs.replace(outcome.account, relatives=relatives),
        privacy=structs.replace(outcome.privacy, named=_named(log, paths, hide, digest)),
    )


def renamed(log: Log, named: LogNames | None) -> Log:
    """A log as reports call it."""
    if named is None:
        return log
    paths = iter(named.beside)
    pieces = tuple(structs.replace(piece, shown=next(paths)) for piece in log.pieces)
    agents = tuple(structs.replace(agent, shown=next(paths)) for agent in log.agents)
    join = structs.replace(log.join, agents=agents) if log.join else None
    return structs.replace(log, shown=named.shown, name=named.name, pieces=pieces, join=join)


def _named(log: Log, paths: dict[str, str], hide: Hide, digest: Hide) -> LogNames | None:
    named = LogNames(paths[log.shown], hide(log.name), [paths[each] for each in log.beside])
    return None if renamed(log, named) == log else structs.replace(named, digest=digest(printable(log.shown)))


def _record(record: Record, hide: Hide) -> Record:
    usage, facts, chosen = record.usage, record.facts, record.chosen
    tools = tuple(_tool(each, hide) for each in usage.tools)
    shared = tuple(each._replace(tools=tuple(_tool(tool, hide) for tool in each.tools)) for each in usage.shared)
    usage = usage._replace(tool_names=tuple(map(hide, usage.tool_names)), tools=tools, shared=shared)
    return structs.replace(
        record,
        usage=usage,
        facts=_facts(facts, hide) if facts else None,
        ending=_ending(record.ending, hide),
        chosen=_chosen(chosen, hide) if chosen else None,
    )


def _facts(facts: Facts, hide: Hide) -> Facts:
    hidden = facts._replace(session=hide(facts.session), source=hide(facts.source))
    return hidden._replace(model=hide(facts.model)) if facts.model else hidden


def _chosen(chosen: SelectedEntry, hide: Hide) -> SelectedEntry:
    return chosen._replace(model=hide(chosen.model)) if chosen.model else chosen


def _ending(ending: Ending, hide: Hide) -> Ending:
    members: dict[str, Any] = ending._asdict()
    hidden = {name: hide(members[name]) for name in _ENDING if members[name]}
    return Ending(**{**members, **hidden}) if hidden else ending


def _tool(tool: ToolUse, hide: Hide) -> ToolUse:
    return tool._replace(name=hide(tool.name))


def _finding(finding: Finding, paths: dict[str, str], hide: Hide) -> Finding:
    text = hide(finding.text)
    for path, shown in paths.items():
        text = text.replace(path, shown) if path else text
    file = paths.get(finding.file) or hide(finding.file)
    return finding._replace(session=hide(finding.session), file=file, text=text)


def _relative(relative: Relative, hide: Hide) -> Relative:
    pattern = relative.pattern.decode("utf-8", "surrogateescape")
    return relative if hide(pattern) == pattern else _GONE
