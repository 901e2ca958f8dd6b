"""A complete run: from session logs to a dataset."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING

from msgspec import structs

from chatsquash.checks import dataset, reading
from chatsquash.conversion.complete_options import choose_grouping, with_key
from chatsquash.conversion.inputs import Converting, Incremental, SessionInputs, find
from chatsquash.conversion.progress import Observer, Watch
from chatsquash.core.accounting import Usage, count_once
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Place
from chatsquash.core.platform import name_full_folder
from chatsquash.core.text import printable
from chatsquash.dataset import output_in
from chatsquash.dataset.card import CARD, card
from chatsquash.dataset.card_facts import Statistics, card_facts
from chatsquash.dataset.choice import Selection, Selector, stop_for
from chatsquash.dataset.claim import FORGOTTEN
from chatsquash.dataset.filters import reject_all
from chatsquash.dataset.groups import LABELS, Groups
from chatsquash.dataset.manifest import Manifest, describe, non_default_options
from chatsquash.dataset.reports import ProcessedSession, Reports
from chatsquash.dataset.store import RUN, Output, place_of
from chatsquash.dataset.summary import Summary, summary_of
from chatsquash.records import presets
from chatsquash.redaction.privacy import Privacy
from chatsquash.session.session import finding
from chatsquash.sources.compression import stem
from chatsquash.sources.find import EARLIER_OUTPUT, Discovery

if TYPE_CHECKING:
    from chatsquash.conversion.in_memory import Session
    from chatsquash.conversion.previous_result import OldResult
    from chatsquash.dataset import score_totals
    from chatsquash.dataset.dataset import Dataset
    from chatsquash.dataset.label_outcomes import LossLabels
    from chatsquash.provenance.tables import Provenance
else:
    score_totals = LazyModule("chatsquash.dataset.score_totals")

Keeps = Callable[["Session"], bool]
"""Returns whether the records of a session are written."""
_REJECTED_LINES = "reports/rejected-lines.jsonl"


def convert(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]],
    output: str | PathLike[str] = "out",
    options: Options | None = None,
    progress: Observer | None = None,
    *,
    filter: Keeps | None = None,  # noqa: A002 - the usual name
) -> Summary:
    """Convert session logs into a dataset folder.

    Args:
        logs: Directories, files, globs or URLs, in order.
        output: The folder for records and reports, or its URL in a store; created if it does not exist.
        options: The options; by default those of the command, but in a single process.
        progress: Called after each session with its log, its outcome and the bytes of all logs.
        filter: Called with each session that has a record; returns whether its records are written. An
            exception ends the run, and nothing is written.

    Returns:
        The counts that the command's summary shows.

    Raises:
        UsageError: An option is invalid, there is nothing to read, the output folder or key file cannot be used, or an
            earlier result would be replaced by an empty one or by one of other logs.
        StoppedError: ``strict`` or ``on_invalid="abort"`` ended the run; nothing new was written.
        ShortageError: A log cannot be read because disk space or file descriptors ran out; nothing new was written.
        OSError: Writing failed, for example on a full disk.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "s.jsonl").write_text('{"request": {"messages": [{"role": "user", "content": "hi"}]}}')
    >>> convert(folder, folder / "out", Options(anonymize=False)).written
    1
    """
    started, out = time.monotonic(), place_of(output)
    options = with_key(options or Options())
    # Archives may be expanded into the output, so it is claimed on first use.
    claim = cache(partial(output_in, out, force=options.force))
    try:
        discovery = find(logs, out, options, lambda: claim().expanded)
    except BaseException:
        if claim.cache_info().currsize:
            claim().discard()
        raise
    return _convert(discovery, claim(), choose_grouping(discovery, options), (progress, filter), started)


def _convert(
    discovery: Discovery, out: Output, options: Options, asks: tuple[Observer | None, Keeps | None], started: float
) -> Summary:
    """Run a conversion into an output folder, and discard the output at the end."""
    incremental = Incremental(out, options, describe(options))
    summary = summary_of(options)
    try:
        refuse_misplaced(options, out, discovery)
        same = incremental.unchanged(discovery)
        if same and asks[1] is None:  # the results of a filter function are not stored
            return structs.replace(same, output=printable(out.display_path), seconds=time.monotonic() - started)
        if "kingfisher" in options.redacts:
            from chatsquash.conversion import scanner_rules  # rarely needed

            scanner_rules.make(options, out.path)
        old = old_result(out)
        if old and not options.replace:
            old.refuse_other_logs(discovery.logs, Privacy(options).digest)
        receipts = b"" if options.replace else out.receipts()
        run = Conversion(options, out, asks[0], summary, describe(options))
        run.keeps, run.receipts = asks[1], receipts
        inputs = Converting(discovery.logs, options, incremental, out)
        inputs.observe = asks[0].read if isinstance(asks[0], Watch) else None
        run.all(refusing(inputs, receipts))
        summary.reused = incremental.journals.reused
        if old and not options.replace:
            old.refuse_nothing(summary)
        if old:
            summary.other_options = old.other_options(run.options_json)
        run.close(discovery, started)
        run.write_named()
        out.commit(incremental.memory(summary, discovery))
        incremental.delete_useless()
    except BaseException as problem:
        name_full_folder(problem, out.path)
        incremental.interrupt(problem, summary.sessions)
        raise
    finally:
        out.discard()
    return summary


def refusing(inputs: SessionInputs, receipts: bytes) -> SessionInputs:
    """Return inputs that refuse the sessions with receipts of ``forget`` in the output folder."""
    if not receipts:
        return inputs
    from chatsquash.conversion.forget.refusal import RefusingInputs  # rarely needed

    return RefusingInputs(inputs, receipts)


def _trainers_ignoring_flags(options: Options) -> list[str]:
    """Return the trainers that ignore the loss flags of the records."""
    if options.trainer is None:
        return presets.trainers_ignoring_flags(options)
    from chatsquash.dataset import trainers  # rarely needed

    return trainers.trainers_ignoring_flags(options)


def refuse_misplaced(options: Options, out: Output, discovery: Discovery) -> None:
    """Refuse files outside the output folder that must not be written; raises as ``elsewhere.refuse_misplaced``."""
    if options.names_files:
        from chatsquash.conversion import elsewhere  # rarely needed

        elsewhere.refuse_misplaced(options, out.path, discovery.logs)


def old_result(out: Output) -> OldResult | None:
    """Return the result of an earlier run in the output folder, or ``None`` if it has no records."""
    if (previous := out.result()) is None:
        return None
    from chatsquash.conversion import previous_result as known  # not needed for a new folder

    return known.old_result(out.display_path, *previous)


class Conversion:
    """Writes outcomes, in order, to the output; ``options_json`` are the options as in ``run.json``."""

    def __init__(
        self,
        options: Options,
        out: Output,
        observer: Observer | None,
        summary: Summary,
        options_json: dict[str, object],
    ) -> None:
        self._options = options
        self.keeps: Keeps | None = None
        """The filter function of the API."""
        self.receipts = b""
        """The receipts of ``forget`` for sessions that are not in the output."""
        self._out = out
        self._observer = observer
        self._summary = summary
        self._label = LABELS[options.group_by]
        self._by_name = options.group_by == "scenario"
        self._groups = Groups()
        self._ends: dict[str, tuple[int, int]] = {}
        """The number of rows and bytes written so far, by the name of the file."""
        self._statistics = Statistics()
        self._selector = self._new_selector(options)
        self._inputs: SessionInputs | None = None
        self._dataset: Dataset | None = None
        if options.folder:
            from chatsquash.dataset.dataset import Dataset  # slow to import

            self._dataset = Dataset(options, out)
        self._names = self._selector.names
        self._known: set[str] = set()
        """The hashes of private values, if ``--write-known`` requests them."""
        self.options_json = self._names.options(options_json)
        """The options as in ``run.json``."""
        self.manifest = Manifest(out, self.options_json)
        """Collects the content of ``run.json``."""
        out.refuse_foreign(RUN, _REJECTED_LINES)  # fails before the conversion rather than after it
        self._reports = Reports(out, options)
        self._scores: score_totals.ScoreTotals | None = None
        self._provenance: Provenance | None = None
        if options.provenance:
            from chatsquash.provenance.tables import Provenance  # few runs need it

            self._provenance = Provenance(out)

    def _new_selector(self, options: Options) -> Selector:
        return Selector(options)

    def all(self, inputs: SessionInputs) -> None:
        """Write every session."""
        self._inputs = inputs
        is_ahead, is_chained = self._options.needs_all_records, self._options.sessions_by == "chain"
        if is_ahead:
            self._selector.run_pre_pass(self._ahead(inputs), self._out.scratch)
        self._selector.begin(inputs.logs)
        for log, outcome in islice(inputs.sessions(), self._options.limit):
            display_log, display_outcome = self._selector.rename(log, outcome)
            self._take(log, display_log, display_outcome, inputs)
            if not is_ahead:
                self._report(log, outcome, inputs)
            if not is_chained:
                log_names = display_outcome.privacy.log_names
                self.manifest.add(display_log, outcome.account.digest, log_names.digest if log_names else "")
        for log, digest in inputs.inputs():
            self.manifest.add(*self._input(log, digest))
        self._reports.render()
        if labels := self.labels_report():
            self._summary.labels = labels.counts
        if self._scores:
            self._summary.scores = self._scores.counts()

    def labels_report(self) -> LossLabels | None:
        """Return the report of ``--loss-labels`` if there is any."""
        if self._options.loss_labels is None:
            return None
        from chatsquash.dataset.label_outcomes import LossLabels  # rarely needed

        return self._reports.find(LossLabels)

    def _input(self, log: Log, digest: str) -> tuple[Log, str, str]:
        """Return a log with parts of sessions, as listed in the manifest."""
        display_path = self._selector.path(log.display_path)
        if display_path == log.display_path:
            return log, digest, ""
        return structs.replace(log, display_path=display_path), digest, self._names.digest(printable(log.display_path))

    def _report(self, log: Log, outcome: Outcome, inputs: SessionInputs) -> None:
        """Report a converted session to the inputs and the observer."""
        inputs.acknowledge(log, outcome)
        if self._observer:
            needs_records = getattr(self._observer, "needs_records", True)
            self._observer(log, inputs.fill(outcome) if needs_records else outcome, inputs.size)

    def _ahead(self, inputs: SessionInputs) -> Iterator[tuple[Log, Outcome]]:
        """Yield all sessions before the first is written."""
        for log, outcome in islice(inputs.ahead(), self._options.limit):
            stop_for(outcome, log.display_path, self._options)
            self._report(log, outcome, inputs)
            yield log, outcome

    def close(self, discovery: Discovery, started: float) -> None:
        """Complete the summary, check its sums, and write the card and ``run.json``."""
        summary = self._summary
        others = Counter({self._names.text(what): count for what, count in discovery.others.items()})
        summary.logs, summary.others, summary.passed_over = self.manifest.logs, others, discovery.passed_over
        for each in discovery.findings:
            self._add(self._hide(each))
        for what, count in sorted(others.items()):
            if what == EARLIER_OUTPUT:
                continue  # each has its own finding
            self._note(reading.file_not_read(what, count))
        if ignoring := _trainers_ignoring_flags(self._options):
            self._note(dataset.loss_not_read(self._options.flag, ignoring))
        for source, count in sorted(summary.without_tools.items()):
            self._note(dataset.source_without_tools(source, count))
        if self._dataset:
            summary.files = self._dataset.finish()
            for fact in self._dataset.findings:
                self._note(fact)
            summary.splits = self._dataset.shares()
            self._reports.close(self._dataset.final())
        self._close_provenance()
        summary.close()
        facts = card_facts(self._options, self._statistics)
        facts = structs.replace(
            facts,
            counts=summary.counts(),
            models=summary.models,
            options=non_default_options(self.options_json, type(self._options)),
        )
        if self._dataset:
            self._dataset.describe(facts)
        else:
            summary.files = [file.name for file in self._out.staged_files() if "/" not in file.name]
            if summary.files and self._out.is_ours(CARD):
                self._out.write(CARD, card(structs.replace(facts, files=summary.files)).encode())
        self._write_receipts()
        summary.output = printable(self._out.display_path)
        summary.seconds = time.monotonic() - started
        self._write_manifest()

    def _close_provenance(self) -> None:
        if self._provenance:
            final = self._dataset.final() if self._dataset else {}
            self._summary.provenance = self._provenance.finish(final)

    def _write_manifest(self) -> None:
        """Write ``run.json``, and the statement about it."""
        self.manifest.write(self._summary)
        if self._provenance:
            self._provenance.write_statement(self._options)

    def _write_receipts(self) -> None:
        if self.receipts:
            self._out.write(FORGOTTEN, self.receipts)

    def write_named(self) -> None:
        """Write the files outside the output folder that options name."""
        if self._options.names_files:
            from chatsquash.conversion import elsewhere  # rarely needed
            from chatsquash.redaction.lists import hash_list

            elsewhere.write_named(self._options, self._out, lambda: hash_list(self._known))

    def _take(self, source: Log, log: Log, outcome: Outcome, inputs: SessionInputs) -> None:
        stop_for(outcome, source.display_path, self._options)
        self.manifest.records_made.add(outcome.records)
        selection = self._selector.select(source, log, outcome)
        if self.keeps and selection.outcome.records and not self._is_kept(log, selection, inputs):
            count = len(selection.outcome.records)
            selection = structs.replace(
                selection, outcome=reject_all(selection.outcome, log), filtered=("filter",) * count
            )
        self.write(source, log, selection, inputs)

    def write(self, source: Log, log: Log, selection: Selection, inputs: SessionInputs) -> None:
        """Write the selected records of a session."""
        line_count = 0
        if self._options.keep_rejected and selection.outcome.report.rejected:
            selection, line_count = self._keep(source, log, selection, inputs)
        outcome = self._selector.with_cluster(log, selection.outcome)
        records, group = outcome.output.records, ""
        if records:
            group = self._groups.file(self._label(outcome.output.day, stem(log) if self._by_name else ""))
        usages = count_once([record.usage for record in records])
        outcome, places = self._write(log, outcome, group, usages)
        if self._provenance:
            self._provenance.add(log, outcome, places)
        if self._dataset:
            self._dataset.add_pairs(outcome)
        for record in records:
            if record.redactions:
                self._known.update([each.digest for each in record.redactions if each.digest])
        if scores := outcome.account.scores:
            self._scores = self._scores or score_totals.ScoreTotals()
            self._scores.add(scores)
        self._summary.add(log, outcome, selection.filtered, selection.duplicates, selection.record_count)
        self._reports.add(ProcessedSession(log, selection, outcome, places, group, line_count, usages))

    def _is_kept(self, log: Log, selection: Selection, inputs: SessionInputs) -> bool:
        from chatsquash.conversion.in_memory import session_of  # only needed for the API

        with_lines = structs.replace(selection, outcome=inputs.fill(selection.outcome))
        return bool(self.keeps and self.keeps(session_of(log, with_lines)))

    def _write(self, log: Log, outcome: Outcome, group: str, usages: list[Usage]) -> tuple[Outcome, list[Place]]:
        """Write the records; return the outcome with findings about splits, and the places of the records."""
        places: list[Place] = []
        name = f"{group}.jsonl"
        for record, usage in zip(outcome.output.records, usages, strict=True):
            self._statistics.add(outcome, record, usage)
            if self._dataset:
                outcome, place = self._dataset.add(log, outcome, record)
                places += [place] if place else []
                continue
            line_place, (rows, offset) = record.line_place, self._ends.get(name, (0, 0))
            if line_place and self._inputs:
                self._out.join(name, self._inputs.descriptor(line_place), line_place)
                size = line_place.size
            else:
                line = record.line
                self._out.append(name, line)
                size = len(line) + 1
            self._ends[name] = rows + 1, offset + size
            places.append(Place(name, rows + 1, offset))
        return outcome, places

    def _hide(self, about: Finding) -> Finding:
        """Replace private values in a finding about a file.

        If the path changes, the session is named after the replaced path.
        """
        file, text = map(self._names.text, (about.file, about.text))
        session = about.session if file == about.file else stem(Log(file, file, file, 0))
        return about._replace(session=self._names.text(session), file=file, text=text)

    def _note(self, fact: Violation) -> None:
        """Add a fact that is not about a session."""
        self._add(finding(fact, "", ""))

    def _add(self, finding: Finding) -> None:
        """Add a finding that is not part of an outcome."""
        self._summary.findings[finding.severity, finding.code] += 1
        self._reports.note(finding)

    def _keep(self, source: Log, log: Log, selection: Selection, inputs: SessionInputs) -> tuple[Selection, int]:
        """Copy malformed lines to a private file, and count them; add a finding if the log was removed.

        The file is private because secrets in malformed lines may go undetected.
        """
        count = 0
        try:
            for pieces in inputs.rejected(source, selection.outcome):
                self._out.append_private(_REJECTED_LINES, pieces)
                count += 1
        except FileNotFoundError:  # it was there when the session was converted
            return structs.replace(selection, outcome=vanish(log, selection.outcome)), count
        return selection, count


def vanish(log: Log, outcome: Outcome) -> Outcome:
    """Add the finding that a log was removed since it was converted."""
    return outcome.with_finding(finding(reading.changed_log("vanished"), outcome.session, log.display_path))
