"""Merges finished results into one, without duplicate sessions and records."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.conversion.convert import Conversion, old_result
from chatsquash.conversion.inputs import SessionInputs
from chatsquash.conversion.merge_options import merged_options
from chatsquash.conversion.progress import Observer
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options, list_options
from chatsquash.core.outcome import LinePlace, Outcome
from chatsquash.core.platform import name_full_folder
from chatsquash.dataset import output_in
from chatsquash.dataset.choice import Selection, Selector
from chatsquash.dataset.stored_sessions import StoredSession
from chatsquash.dataset.summary import Summary, summary_of
from chatsquash.results.finished import FinishedResult
from chatsquash.sources.find import SAME_FILE, Discovery
from chatsquash.sources.logs import Logs

if TYPE_CHECKING:
    from chatsquash.dataset.store import Output


def merge_results(
    results: Sequence[str], out: Path | str, options: Options, observer: Observer | None = None
) -> Summary:
    """Write the sessions of finished results to an output folder, as one run over all of their logs would.

    Args:
        results: Output folders of ``convert`` or ``merge``, in order; they are only read.
        out: The output folder.
        options: ``duplicates``, if given, replaces that of the results; ``force`` and ``replace`` as for ``convert``.
        observer: As for ``convert``.

    Raises:
        UsageError: A folder that is not a result or was changed, results that were made with different options or
            keys, or an output folder that cannot be used.
        OSError: Writing failed; nothing new was written.
    """
    started = time.monotonic()
    if len(results) < 2:
        raise UsageError(f"{results[0]}: only one result was passed; add another to merge it with")
    with ExitStack() as stack:
        finished = [stack.enter_context(closing(FinishedResult(path))) for path in results]
        merged, options_json = merged_options(finished, options)
        _refuse_inside(out, results)
        output = output_in(out, force=options.force)
        stack.callback(output.discard)
        stack.push(lambda _, problem, __: name_full_folder(problem, output.path))
        if (old := old_result(output)) and not options.replace:
            old.refuse()
        summary = write_results(finished, output, MergedRun(merged, options_json, started), observer)
        output.commit()
        output.clear(output.journal)
    return summary


class MergedRun(NamedTuple):
    """The settings of a run over finished results."""

    options: Options
    options_json: dict[str, Any]
    """The options as in ``run.json``."""
    started: float
    """The start of the run, as a time of the monotonic clock."""


def write_results(
    results: Sequence[FinishedResult],
    output: Output,
    settings: MergedRun,
    observer: Observer | None = None,
    receipts: bytes | None = None,
) -> Summary:
    """Stage the sessions of finished results as one result, without the commit.

    Args:
        results: The results, in order.
        output: The output folder, which may be that of a result.
        settings: The options and the start of the run.
        observer: As for ``convert``.
        receipts: The receipts of ``forget``, by default those of the results.
    """
    summary, inputs = summary_of(settings.options), _Inputs(results, settings.options)
    run = _Merging(settings.options, output, observer, summary, settings.options_json)
    run.receipts = b"".join(each.receipts() for each in results) if receipts is None else receipts
    if labels := run.labels_report():
        labels.set_rows(results[0].labels())
    run.all(inputs)
    for each in results:
        run.manifest.records_made.add_counts(each.records_made)
    summary.size = inputs.size  # sessions in several files have no size
    run.close(inputs.discovery, settings.started)
    return summary


def _refuse_inside(out: Path | str, results: Sequence[str]) -> None:
    """Refuse an output folder that is, or is inside, one of the results."""
    for path in results:
        if isinstance(out, Path) and Path(os.path.realpath(out)).is_relative_to(os.path.realpath(path)):
            raise UsageError(
                f"{out}: the output folder is inside the input {path}; choose another folder with --output"
            )


class _Inputs:
    """The sessions of the results, in order; a log in several results is used once. See ``SessionInputs``."""

    def __init__(self, results: Sequence[FinishedResult], options: Options) -> None:
        self.logs = Logs()
        self.size = sum(each["size"] for result in results for each in result.inputs)
        self.discovery = Discovery()
        """Other facts from the discoveries of the runs."""
        self.current: StoredSession
        """The session that was returned last."""
        self._results, self._options = results, options
        self._rejected_lines: Iterator[bytes] = iter(())

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        return self._sessions(Discovery())

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        for log, outcome in self._sessions(self.discovery):
            if log.number == len(self.logs):
                self.logs.append(log)
            yield log, outcome

    def _sessions(self, discovery: Discovery) -> Iterator[tuple[Log, Outcome]]:
        earlier: set[int] = set()
        duplicates: set[str] = set()
        number, last = -1, None
        for result in self._results:
            discovery.others.update(result.counts["other_files"])
            discovery.passed_over += result.counts["passed_over"]
            self._rejected_lines, present = result.rejected_lines(), set[int]()
            for each in result.sessions(self._options):
                if isinstance(each, Finding):
                    discovery.findings.append(each)
                    continue
                if (key := _key(each)) in earlier:
                    duplicates.add(each.log.path)
                    deque(islice(self._rejected_lines, each.kept_lines), maxlen=0)
                    continue
                present.add(key)
                if last != (result, each.log.path):
                    number, last = number + 1, (result, each.log.path)
                self.current = each
                yield each.log.log(number), each.outcome
            earlier |= present
        discovery.others.update({SAME_FILE: len(duplicates)} if duplicates else {})

    def acknowledge(self, log: Log, outcome: Outcome) -> None:
        """See ``SessionInputs``; does nothing."""

    def inputs(self) -> Iterator[tuple[Log, str]]:
        """See ``SessionInputs``; runs with ``--sessions-by chain`` list logs, others list sessions."""
        if self._options.sessions_by != "chain":
            return
        inputs = (each for result in self._results for each in result.inputs)
        for path, size, digest in dict.fromkeys((each["path"], each["size"], each["xxh3_128"]) for each in inputs):
            yield Log(path, path, path, size), digest

    def fill(self, outcome: Outcome) -> Outcome:
        """See ``SessionInputs``: nothing is missing."""
        return outcome

    def descriptor(self, place: LinePlace) -> int:
        """See ``SessionInputs``; the lines are in the records."""
        raise AssertionError(place)

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """See ``SessionInputs``; the lines are those of the session that was returned last."""
        del log, outcome
        return ([line] for line in islice(self._rejected_lines, self.current.kept_lines))


def _key(session: StoredSession) -> int:
    """Return the key that identifies a session across results: its log, its name and a hash of its lines."""
    outcome, log = session.outcome, session.log
    path_digest = outcome.privacy.log_names.digest if outcome.privacy.log_names else ""
    known = (log.path, log.pieces, log.part, path_digest, outcome.session, outcome.account.digest)
    return xxh3_64_intdigest(repr(known).encode())


class _Merging(Conversion):
    """Writes sessions that were converted before; only duplicates across results are removed."""

    def _new_selector(self, options: Options) -> Selector:
        groups = ("filters", "days", "privacy", "addresses")
        done = {each.name: each.default for each in list_options() if each.group in groups and not each.secret}
        return Selector(replace(options, **{**done, "anonymize": False}))

    def _take(self, source: Log, log: Log, outcome: Outcome, inputs: SessionInputs) -> None:
        assert isinstance(inputs, _Inputs)
        session, selection = inputs.current, self._selector.select(source, log, outcome)
        duplicates = session.duplicates + selection.duplicates
        self.write(
            source,
            log,
            Selection(selection.outcome, session.record_count, session.turns, session.filtered, duplicates),
            inputs,
        )
