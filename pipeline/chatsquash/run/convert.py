"""A directory of session logs to a dataset: the whole run."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from os import PathLike, fspath
from typing import TYPE_CHECKING, BinaryIO

from chatsquash.checks import dataset, reading
from chatsquash.errors import StoppedError, UsageError
from chatsquash.log import Log
from chatsquash.model import Finding, Found
from chatsquash.options import Options
from chatsquash.outcome import Outcome, Place, counted_once
from chatsquash.read.sessions import cleared
from chatsquash.records import presets
from chatsquash.report.files import TakenSession
from chatsquash.report.progress import Observer
from chatsquash.report.summary import Summary
from chatsquash.run.described import asked, described
from chatsquash.run.filters import Filters
from chatsquash.run.incremental import Incremental
from chatsquash.run.journal import Journals
from chatsquash.run.manifest import Manifest
from chatsquash.run.meetings import Meetings
from chatsquash.run.reports import Reports
from chatsquash.run.session import with_key
from chatsquash.run.workers import chained, outcomes
from chatsquash.sources.compression import stem
from chatsquash.sources.find import Discovered, discover, nothing_to_read
from chatsquash.sources.joined import opened_log
from chatsquash.sources.logs import Logs
from chatsquash.stages.session import INVALID, finding
from chatsquash.text import printable
from chatsquash.write.groups import LABELS, Groups
from chatsquash.write.outputs import output_in, place_of
from chatsquash.write.store import RUN, Output

if TYPE_CHECKING:
    from chatsquash.run.old_result import OldResult
    from chatsquash.write.dataset import Dataset

_KEPT = "reports/rejected-lines.jsonl"
_PIECE = 1 << 20


def convert(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]],
    output: str | PathLike[str] = "out",
    options: Options | None = None,
    observer: Observer | None = None,
) -> Summary:
    """Convert session logs into a dataset folder.

    Args:
        logs: Directories, files, globs or URLs, in order.
        output: The folder for records and reports, or its URL in a store; made if it is not there.
        options: What to do; by default what the command does, in this process.
        observer: Called after each session with its log, its outcome and the bytes of all logs.

    Returns:
        The counts that the command's summary shows.

    Raises:
        UsageError: A wrong option, nothing to read, an output folder or key file that cannot be used, or an old result
            that would be replaced by nothing or by that of other logs.
        StoppedError: ``strict`` or ``on_invalid="abort"`` ended the run; nothing new was written.
        ShortageError: A log cannot be read for want of room or descriptors; nothing new was written.
        OSError: Writing failed, for example on a full disk.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "s.jsonl").write_text('{"request": {"messages": [{"role": "user", "content": "hi"}]}}')
    >>> convert(folder, folder / "out", Options(anonymize=False)).written
    1
    """
    started = time.monotonic()
    options = with_key(options or Options())
    roots = [fspath(root) for root in ([logs] if isinstance(logs, str | PathLike) else logs)]
    out = place_of(output)
    _forget_documents()
    found = discover(roots, options, _is_document, out, lambda log: _days(log, options))
    if not found.logs:
        raise UsageError(nothing_to_read(roots, found))
    return _converted(found, output_in(out, force=options.force), options, observer, started)


def _days(log: Log, options: Options) -> list[str]:
    from chatsquash.run.days import days_logged  # which only a choice by day needs

    return days_logged(options, log)


def _converted(found: Discovered, out: Output, options: Options, observer: Observer | None, started: float) -> Summary:
    """The summary of a run into an output folder, which is given up at its end."""
    incremental = Incremental(out, options, described(options))
    summary = Summary(has_flags=options.loss != "none")
    try:
        if same := incremental.unchanged(found):
            return replace(same, output=printable(out.shown), seconds=time.monotonic() - started)
        old = None if options.replace else _old_result(out)
        if old:
            old.refuse_other_logs(found.logs)
        run = _Conversion(options, out, observer, summary)
        run.all(found.logs, incremental)
        if old:
            old.refuse_nothing(summary)
        run.close(found, started)
        out.commit(incremental.memory(summary, found))
        incremental.finished()
    except BaseException as problem:
        incremental.stopped(problem, summary.sessions)
        raise
    finally:
        out.discard()
    return summary


def _old_result(out: Output) -> OldResult | None:
    """What an earlier run left in the output folder, where that has records."""
    if (left := out.result()) is None:
        return None
    from chatsquash.run.old_result import old_result  # which a new folder does not need

    return old_result(out.shown, *left)


def _forget_documents() -> None:
    """Let go of documents of an earlier run, if there was one that read any."""
    if documents := sys.modules.get("chatsquash.read.documents"):
        documents.forget()


def _is_document(path: str, options: Options) -> bool | str:
    from chatsquash.read import documents  # which logs do not need

    return documents.is_document(path, options)


class _Conversion:
    """Takes outcomes in order and writes what they hold."""

    def __init__(self, options: Options, out: Output, observer: Observer | None, summary: Summary) -> None:
        self._options = options
        self._out = out
        self._observer = observer
        self._summary = summary
        self._label = LABELS[options.group_by]
        self._by_name = options.group_by == "scenario"
        self._groups = Groups()
        self._rows: Counter[str] = Counter()
        self._filters = Filters(options)
        self._meetings: Meetings | None = None
        self._journals: Journals | None = None
        self._dataset: Dataset | None = None
        if options.folder:
            from chatsquash.write.dataset import Dataset  # which takes time to import

            self._dataset = Dataset(options, out)
        self._manifest = Manifest(out, described(options))
        out.refuse_foreign(RUN, _KEPT)  # at once, not after the work is done
        self._reports = Reports(out, options)

    def all(self, logs: Logs, incremental: Incremental) -> None:
        """Convert every session, or take what the journals know of it."""
        total, expanded = logs.size, self._out.expanded
        self._journals = incremental.journals
        by_chain = self._options.sessions_by == "chain"
        found = chained(logs, self._options, expanded) if by_chain else None
        self._meetings = None if by_chain else Meetings(logs)
        if found:
            done = outcomes(logs, self._options, incremental.journals, expanded, found.sessions())
        else:
            done = cleared(outcomes(logs, self._options, incremental.journals, expanded), expanded)
        for log, outcome in islice(done, self._options.limit):
            self._take(log, outcome)
            incremental.take(outcome)
            if not found:
                self._manifest.add(log, outcome.digest)
                incremental.see(log)
            if self._observer:
                self._observer(log, incremental.journals.filled(outcome), total)
        for log, digest in zip(logs, found.digests, strict=True) if found else ():
            self._manifest.add(log, digest)
            incremental.see(log)
        self._summary.reused = incremental.journals.reused
        self._reports.render()

    def close(self, found: Discovered, started: float) -> None:
        """Add up, assert the sums, and write ``run.json``."""
        summary = self._summary
        summary.others, summary.passed_over = found.others, found.passed_over
        for each in found.findings:
            self._add(each)
        for what, count in sorted(found.others.items()):
            self._note(reading.file_not_read(what, count))
        if unaware := presets.unaware(self._options):
            self._note(dataset.loss_not_read(self._options.loss, unaware))
        for source, count in sorted(summary.without_tools.items()):
            self._note(dataset.source_without_tools(source, count))
        if self._dataset:
            summary.files = self._dataset.finish()
            for fact in self._dataset.findings:
                self._note(fact)
            summary.splits = self._dataset.shares()
            self._reports.close(self._dataset.final())
        summary.close()
        if self._dataset:
            self._dataset.describe(summary.counts(), asked(self._options))
        else:
            summary.files = [file.name for file in self._out.staged() if "/" not in file.name]
        summary.output = printable(self._out.shown)
        summary.seconds = time.monotonic() - started
        self._manifest.write(summary)

    def _take(self, log: Log, outcome: Outcome) -> None:
        self._stop_for(outcome, log.shown)
        if self._meetings and (met := self._meetings.take(log, outcome)):
            outcome = outcome.also(finding(met, outcome.session, log.shown))
        turns = outcome.records[0].usage.assistant_turns if outcome.records else None
        made = len(outcome.records)
        outcome, filtered, duplicates = self._filters.apply(log, outcome)
        if not made and outcome.left_out is None:  # none of its conversations was asked for
            filtered = (f"--conversations {self._options.conversations}",)
        if self._options.keep_rejected and outcome.rejected:
            outcome = self._keep(log, outcome)
        group = ""
        if outcome.records:
            group = self._groups.file(self._label(outcome.day, stem(log) if self._by_name else ""))
        outcome, places = self._write(log, outcome, group)
        self._summary.add(log, outcome, filtered, duplicates, made)
        why = filtered[0] if filtered and not outcome.records else None
        self._reports.add(TakenSession(log, outcome, places, turns, why, group))

    def _write(self, log: Log, outcome: Outcome, group: str) -> tuple[Outcome, list[Place]]:
        """Write the records: what is known of their session then, and where they stand."""
        places: list[Place] = []
        for record, usage in counted_once(outcome.records):
            if self._dataset:
                outcome, place = self._dataset.add(log, outcome, record, usage)
                places += [place] if place else []
                continue
            name = f"{group}.jsonl"
            if record.held and self._journals:
                self._out.join(name, self._journals.descriptor(record.held), record.held)
            else:
                self._out.append(name, record.line)
            self._rows[name] += 1
            places.append(Place(name, self._rows[name]))
        return outcome, places

    def _note(self, fact: Found) -> None:
        """A fact about no session."""
        self._add(finding(fact, "", ""))

    def _add(self, finding: Finding) -> None:
        """A finding that is in no outcome."""
        self._summary.findings[finding.severity, finding.code] += 1
        self._reports.note(finding)

    def _stop_for(self, outcome: Outcome, file: str) -> None:
        aborts = self._options.on_invalid == "abort"
        if not aborts and not self._options.strict:
            return
        from chatsquash.run.stops import cut_short, why  # which few runs need

        if aborts and outcome.left_out in INVALID:
            raise StoppedError(f"stopped by --on-invalid abort, nothing was written: {why(outcome, file)}")
        if self._options.strict and (outcome.left_out or outcome.rejected or cut_short(outcome)):
            raise StoppedError(f"stopped by --strict, nothing was written: {why(outcome, file)}")

    def _keep(self, log: Log, outcome: Outcome) -> Outcome:
        """Copy lines that could not be read; private, since nothing but credentials was taken out of them.

        The outcome has one finding more if the log is gone.
        """
        from chatsquash.redact.credentials import without_credentials  # which few runs need

        try:
            with opened_log(log, self._options) as file:
                for rejected in outcome.rejected:
                    file.seek(rejected.offset)
                    pieces = without_credentials(_pieces(file, rejected.length))
                    self._out.append_private(_KEPT, pieces)
        except FileNotFoundError:  # it was there when the session was converted
            vanished = finding(reading.changed_log("vanished"), outcome.session, log.shown)
            return outcome.also(vanished)
        return outcome


def _pieces(file: BinaryIO, length: int) -> Iterator[bytes]:
    """So many bytes of a file, a moderate number at a time."""
    while length and (piece := file.read(min(length, _PIECE))):
        length -= len(piece)
        yield piece
