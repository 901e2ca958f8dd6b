"""A file that holds several sessions: whose each line is, found in one pass that keeps places only."""

from __future__ import annotations

from array import array
from dataclasses import replace

from pipeline.model import Job
from pipeline.read import envelopes
from pipeline.read.lines import lines

SPAN = 3
"""Numbers that a line takes in ``Job.spans``: its number, its offset, its length."""


class MixedSessionsError(Exception):
    """A log is wrapped as loggers wrap that are known to write several sessions into a file."""


def split(job: Job) -> list[Job]:
    """The sessions in a file, in the order of their first lines; lines that name none are one session together.

    A line that cannot be read stays with the one before it.
    A file that cannot be read is left as it is, so that converting it will say what is wrong.
    """
    places: dict[str | None, array[int]] = {}
    name: str | None = None
    try:
        with open(job.path, "rb", buffering=0) as file:
            for line in lines(file, size=job.size):
                found = envelopes.outer(bytes(line.buffer[line.start : line.stop]))
                name = name if found is None else envelopes.session_id(found)
                places.setdefault(name, array("Q")).extend((line.number, line.offset, line.length))
    except OSError:
        return [job]
    return [replace(job, size=sum(spans[2::SPAN]), spans=spans) for spans in places.values()] or [job]
