"""A directory of session logs to a dataset: the whole run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from os import PathLike, fspath
from pathlib import Path

import orjson

import pipeline
from pipeline.checks import log
from pipeline.errors import StoppedError, UsageError
from pipeline.model import Finding, Job, Options, Outcome
from pipeline.read.discover import discover
from pipeline.report import findings as report
from pipeline.report.summary import Summary
from pipeline.report.usage import Totals
from pipeline.run.session import with_key
from pipeline.run.workers import outcomes
from pipeline.stages.anonymize import fingerprint
from pipeline.write.groups import Groups, labeller
from pipeline.write.output import RUN, Output

SCHEMA_VERSION = 1
Observer = Callable[[Job, Outcome, int], None]
"""Told each session's job and outcome in order, and the bytes of all logs."""


def convert(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]],
    output: str | PathLike[str] = "out",
    options: Options | None = None,
    observer: Observer | None = None,
) -> Summary:
    """Convert session logs into a dataset folder.

    Args:
        logs: Directories, files or globs, in order.
        output: The folder for records and reports; made if it is not there.
        options: What to do; by default what the command does, in this process.
        observer: Called after each session with its job, its outcome and the bytes of all logs.

    Returns:
        The counts that the command's summary shows.

    Raises:
        UsageError: Nothing to read, or an output folder or key file that cannot be used.
        StoppedError: ``strict`` or ``on_invalid="abort"`` ended the run; nothing new was written.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "s.jsonl").write_text('{"request": {"messages": [{"role": "user", "content": "hi"}]}}')
    >>> convert(folder, folder / "out", Options(anonymize=False)).written
    1
    """
    started = time.monotonic()
    options = with_key(options or Options())
    roots = [logs] if isinstance(logs, str | PathLike) else list(logs)
    out = Path(output)
    found = discover([fspath(root) for root in roots], options, out)
    if not found.jobs:
        raise UsageError(_nothing([fspath(root) for root in roots], found.others))
    folder = Output(out, force=options.force)
    try:
        run = _Run(options, folder, observer)
        run.all(found.jobs)
        summary = run.close(found.others, started)
        folder.commit()
    except BaseException:
        folder.discard()
        raise
    return summary


def _nothing(logs: list[str], others: Mapping[str, int]) -> str:
    seen = ", ".join(f"{count:,} {suffix}" for suffix, count in sorted(others.items())) or "no files"
    return f"{', '.join(logs)}: no session logs (*.jsonl, *.ndjson); seen: {seen}. Name a file to read it whatever its suffix"


class _Run:
    """Takes outcomes in order and writes what they hold."""

    def __init__(self, options: Options, out: Output, observer: Observer | None) -> None:
        self._options = options
        self._out = out
        self._observer = observer
        self._summary = Summary()
        self._totals = Totals()
        self._label = labeller(options.group_by)
        self._groups = Groups()
        self._inputs: list[dict[str, object]] = []
        for name in ("reports/integrity-report.txt", "reports/findings.jsonl", "reports/rejected.jsonl"):
            out.write(name, b"")

    def all(self, jobs: list[Job]) -> None:
        """Convert every session."""
        total = sum(job.size for job in jobs)
        for job, outcome in outcomes(jobs, self._options):
            self._take(job, outcome)
            if self._observer:
                self._observer(job, outcome, total)
        if self._options.tool_report:
            self._out.write("reports/tool-usage.csv", self._totals.usage_csv(self._options.group_by))
            self._out.write("reports/tools.csv", self._totals.tools_csv())

    def close(self, others: Counter[str], started: float) -> Summary:
        """Add up, assert the sums, and write ``run.json``."""
        summary = self._summary
        summary.others = others
        for suffix, count in sorted(others.items()):
            found = log.file_not_read(suffix, count)
            summary.findings[found.severity, found.code] += 1
            self._report(Finding(found.code, found.severity, "", "", None, None, found.text))
        summary.close()
        staged = self._out.staged()
        summary.output = str(self._out.path)
        summary.files = [file.name for file in staged if "/" not in file.name]
        summary.seconds = time.monotonic() - started
        written = [{"path": f.name, "size": f.size, "lines": f.lines, "sha256": f.digest.hexdigest()} for f in staged]
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "chatsquash_version": pipeline.__version__,
            "options": described(self._options),
            "counts": summary.counts(),
            "seconds": round(summary.seconds, 3),
            "inputs": self._inputs,
            "outputs": written,
        }
        self._out.write(RUN, orjson.dumps(manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        return summary

    def _take(self, job: Job, outcome: Outcome) -> None:
        self._stop_for(outcome)
        self._summary.add(job, outcome)
        self._inputs.append({"path": report.printable(job.shown), "size": job.size, "sha256_ends": outcome.digest})
        for finding in outcome.findings:
            self._report(finding)
        for rejected in outcome.rejected:
            self._out.append("reports/rejected.jsonl", report.rejected_as_json(job.shown, rejected))
        if self._options.keep_rejected and outcome.rejected:
            self._keep(job, outcome)
        if outcome.record is not None and outcome.usage is not None:
            label = self._groups.file(self._label(outcome.day, job.stem))
            self._out.append(f"{label}.jsonl", outcome.record)
            self._totals.add(label, outcome.usage)

    def _report(self, finding: Finding) -> None:
        self._out.append("reports/integrity-report.txt", report.as_text(finding).encode("utf-8", "backslashreplace"))
        self._out.append("reports/findings.jsonl", report.as_json(finding))

    def _stop_for(self, outcome: Outcome) -> None:
        invalid = outcome.left_out in ("session-id-mismatch", "timestamp-order")
        incomplete = outcome.left_out is not None or outcome.rejected
        if (self._options.on_invalid == "abort" and invalid) or (self._options.strict and incomplete):
            why = "--on-invalid abort" if invalid and self._options.on_invalid == "abort" else "--strict"
            first = next(
                f for f in outcome.findings if f.code == outcome.left_out or f.code in ("bad-line", "bad-entry")
            )
            raise StoppedError(f"stopped by {why}, nothing was written: {report.as_message(first)}")

    def _keep(self, job: Job, outcome: Outcome) -> None:
        """Copy the bytes of lines that could not be read; private, since nothing in them was anonymised."""
        with open(job.path, "rb") as file:
            for rejected in outcome.rejected:
                file.seek(rejected.offset)
                self._out.append("reports/rejected-lines.jsonl", file.read(rejected.length), private=True)


def described(options: Options) -> dict[str, object]:
    """The options that decide the output's bytes, as ``run.json`` holds them; the key as its fingerprint."""
    aside = ("workers", "force", "anonymize_key")
    chosen = {field.name: getattr(options, field.name) for field in fields(options) if field.name not in aside}
    key = options.anonymize_key if options.anonymize else None
    return {**chosen, "anonymize_key_fingerprint": fingerprint(key) if key else None}
