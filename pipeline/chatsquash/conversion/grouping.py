"""How lines are grouped into sessions if no option says it and the logger numbers calls, not sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from chatsquash.checks import dataset
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.reading.envelopes import litellm
from chatsquash.reading.evidence import first_lines
from chatsquash.reading.members import members
from chatsquash.session.session import finding
from chatsquash.sources.find import Discovery
from chatsquash.sources.open import open_file

_LOGS = 8
"""Logs that are looked at, which is enough as one that is not of this kind decides."""
_GLANCE, _WHOLE = 1 << 12, 1 << 22
"""Bytes of a log that are looked at: of any, and of one of this logger."""
_ROWS = 16


def choose_grouping(discovery: Discovery, options: Options) -> Options:
    """Return the options with ``sessions_by`` as ``chain`` if the logs have a new trace id for each call.

    Such an id names no session, and the histories alone say which calls belong together. All sampled logs must be rows
    of LiteLLM without session ids. The choice is a finding of the discovery.
    """
    if options.sessions_by is not None or options.from_format is not None or not _number_calls(discovery.logs, options):
        return options
    discovery.findings.append(finding(dataset.chosen_chain(), "", ""))
    return replace(options, sessions_by="chain")


def _number_calls(logs: Sequence[Log], options: Options) -> bool:
    """Whether the first rows of logs have trace ids, all different, and no session ids."""
    seen: list[bytes] = []
    for log in islice(logs, _LOGS):
        traces = _traces(log, options)
        if not traces:
            return False
        seen += traces
    return 1 < len(seen) == len(set(seen))


def _traces(log: Log, options: Options) -> list[bytes]:
    """The trace ids of the first rows of a log; empty if a row has a session id or no trace id."""
    try:
        with open_file(log.path, options) as file:
            start = file.read(_GLANCE)
            file.seek(0)
            if b'"call_type"' not in start:
                return []
            lines = first_lines(file, _WHOLE, options.max_memory)[:_ROWS]
    except (OSError, MemoryError):
        return []
    traces = [litellm.trace(members(line) or {}) for line in lines]
    known = [trace for trace in traces if trace]
    return known if len(known) == len(traces) else []
