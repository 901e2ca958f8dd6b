"""A file that holds several sessions: whose each line is, found in one pass that keeps places only."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import BinaryIO

from pipeline.model import Job
from pipeline.read import documents, envelopes
from pipeline.read.changes import as_found
from pipeline.read.lines import lines

SPAN = 3
"""Numbers that a line takes in ``Job.spans``: its number, its offset, its length."""


class MixedSessionsError(Exception):
    """A log is wrapped as loggers wrap that are known to write several sessions into a file."""


def split(job: Job, from_format: str | None = None) -> list[Job]:
    """The sessions in a file, in the order of their first lines; lines that name none are one session together.

    Of a document each conversation is a session; ``from_format`` is what the user says that it is.

    A line that cannot be read stays with the one before it.
    A file that cannot be read is left as it is, so that converting it will say what is wrong.
    """
    if parts := documents.count(job.path, from_format):
        return [replace(job, part=part) for part in range(parts)]
    try:
        with open(job.path, "rb", buffering=0) as file:
            return parts_of(job, as_found(file, job))
    except OSError:
        return [job]


def parts_of(job: Job, file: BinaryIO) -> list[Job]:
    """The sessions in an open log by the ids that its lines name."""
    places: dict[str | None, array[int]] = {}
    name: str | None = None
    for line in lines(file):
        found = envelopes.outer(bytes(line.buffer[line.start : line.stop]))
        name = name if found is None else envelopes.session_id(found)
        places.setdefault(name, array("Q")).extend((line.number, line.offset, line.length))
    return [replace(job, size=sum(spans[2::SPAN]), spans=spans, whole=job.size) for spans in places.values()] or [job]
