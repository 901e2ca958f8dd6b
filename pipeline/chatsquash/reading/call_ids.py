"""Determine whether ids in logs identify calls rather than sessions, as LiteLLM's do if clients send no session ids."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.reading.evidence import first_lines
from chatsquash.reading.members import members
from chatsquash.sources.open import open_file

if TYPE_CHECKING:
    from chatsquash.reading.envelopes import litellm
else:
    litellm = LazyModule("chatsquash.reading.envelopes.litellm")

_LOGS = 8
"""The number of logs to examine; a single log with real session ids is decisive."""
_GLANCE, _EXAMINED = 1 << 12, 1 << 22
"""The numbers of bytes to examine: of any log, and of one written by LiteLLM."""
_ROWS = 16


def are_call_ids(logs: Sequence[Log], options: Options) -> bool:
    """Return whether the first rows of the logs have distinct trace ids and no session ids."""
    seen: list[bytes] = []
    for log in islice(logs, _LOGS):
        traces = _traces(log, options)
        if not traces:
            return False
        seen += traces
    return 1 < len(seen) == len(set(seen))


def _traces(log: Log, options: Options) -> list[bytes]:
    """Return the trace ids of a log's first rows, or an empty list if any row has a session id or no trace id."""
    try:
        with open_file(log.path, options) as file:
            start = file.read(_GLANCE)
            file.seek(0)
            if b'"call_type"' not in start:
                return []
            lines = first_lines(file, _EXAMINED, options.max_memory)[:_ROWS]
    except (OSError, MemoryError):
        return []
    traces = [litellm.trace(members(line) or {}) for line in lines]
    trace_ids = [trace for trace in traces if trace]
    return trace_ids if len(trace_ids) == len(traces) else []
