"""Whether the ids in logs name calls and not sessions, as LiteLLM's trace ids do if the client sends no session id."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.reading.envelopes import litellm
from chatsquash.reading.evidence import first_lines
from chatsquash.reading.members import members
from chatsquash.sources.open import open_file

_LOGS = 8
"""Logs that are looked at, which is enough as one that is not of this kind decides."""
_GLANCE, _WHOLE = 1 << 12, 1 << 22
"""Bytes of a log that are looked at: of any, and of one of this logger."""
_ROWS = 16


def number_calls(logs: Sequence[Log], options: Options) -> bool:
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
