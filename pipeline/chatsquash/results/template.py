"""Tries a chat template on the records of datasets and reports losses and remedies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain, islice
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import structs

from chatsquash.checks import rules
from chatsquash.checks.template import Trial
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Conversation, Finding, Violation
from chatsquash.core.options import Options
from chatsquash.core.overview import Row
from chatsquash.core.text import escape, pluralize
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.datasets import rows
from chatsquash.records.reading import parse, record
from chatsquash.results.check import definitions
from chatsquash.results.remedies import Look, Remedies, RepairSearch, as_flags, repair_line

if TYPE_CHECKING:
    from chatsquash.templates.confined import Template
    from chatsquash.templates.trainers import TrainerTemplate


_SEARCH = 3
"""Limit of the final search for a remedy, in multiples of the render time per record."""


class Trials:
    """A template with the results of trying it so far."""

    def __init__(self, path: str, trainer: str | None = None, **bounds: Any) -> None:
        """Load a template, or the one that ``trainer`` uses for its model; ``bounds`` as in ``template``."""
        self._trainer_template = _choose(path, trainer)
        self._template = template(path, self._trainer_template, **bounds)
        self._remedies = Remedies(self._look)
        self._mending = RepairSearch(self._look)
        self._name = self._trainer_template.description if self._trainer_template else path
        self.records = 0
        self.intact = 0
        """Records whose rendering contains all their content."""
        self.counts: Counter[tuple[str, str]] = Counter()
        """Records per code and remedy."""
        self.passed_over = 0
        """Records not rendered because the template exceeded its limits too often."""
        self._deadline = 0.0
        """The time at which the current search for remedies must end."""

    def look(self, record: StoredRecord) -> Iterator[Violation]:
        """Yield the losses of a record with remedies; rendering starts at once, in the background."""
        if self._template.given_up:
            self.passed_over += 1
            return iter(())
        prepared = self._prepare(record)
        self._template.begin(prepared.messages, prepared.tools)
        return self._violations(record, prepared)

    def _prepare(self, record: StoredRecord) -> StoredRecord:
        return self._trainer_template.prepare_record(record) if self._trainer_template else record

    def _violations(self, record: StoredRecord, prepared: StoredRecord) -> Iterator[Violation]:
        trial = self._template.trial(prepared.messages)
        violations = list(judge(trial))
        self.records += 1
        self.intact += not violations
        wrong = frozenset(each.code for each in violations)
        remedies, remark = self._search(record, trial, wrong) if wrong else ({}, "")
        remarks = {code: f"{as_flags(remedies[code])} fixes it" if code in remedies else remark for code in wrong}
        self.counts.update(remarks.items())
        for each in violations:
            yield structs.replace(each, text=f"{each.text}: {remarks[each.code]}")

    def finish(self) -> Iterator[Finding]:
        """Yield findings about the template itself."""
        if self.passed_over:
            text = f"rendering was {self._template.given_up}: {pluralize(self.passed_over, 'record')} not rendered"
            yield Finding("template-error", "error", "", self._name, None, None, text)

    def summary(self) -> str:
        """Return a line about the tried records for the user."""
        which = f" ({self._template.description})" if self._template.description else ""
        return f"{pluralize(self.records, 'record')} rendered with {self._name}{which}: {self.intact:,} complete"

    def rows(self) -> Iterator[Row]:
        """Yield summary rows: remedies per code, and the number of records not rendered."""
        for (code, remedy), count in sorted(self.counts.items()):
            yield Row(code, count, (remedy,))
        if self.passed_over:
            yield Row("not rendered", self.passed_over, (f"rendering was {self._template.given_up}",))

    def repair(self) -> Iterator[str]:
        """Yield the command line that fixes as much as possible; nothing if all records are intact."""
        self._deadline = monotonic() + _SEARCH * self._template.bounds.seconds
        if not self._template.given_up and (repair := self._mending.find()):
            yield repair_line(repair, as_flags)

    def _search(self, record: StoredRecord, trial: Trial, wrong: frozenset[str]) -> tuple[dict[str, Options], str]:
        """Return the remedies of a record, and the remark for losses without one."""
        if trial.beyond:
            return {}, "no options were tried"
        began = monotonic()
        self._deadline = began + self._template.bounds.seconds
        conversation = Conversation(record.messages, definitions(record.tools))
        remedies = self._remedies.find(conversation, wrong, (wrong, trial.problem))
        self._mending.note(conversation, wrong, trial.problem, remedies.values())
        if monotonic() < self._deadline:
            return remedies, "no preset or other option fixes it"
        self._template.count_slow(monotonic() - began)
        return remedies, f"no options that fix it were found within {self._template.bounds.seconds:g} s"

    def _look(self, result: dict[str, Any]) -> Look:
        seconds = self._deadline - monotonic()
        if seconds <= 0:
            return Look(frozenset(["template-error"]), frozenset())
        prepared = self._prepare(record(result))
        trial = self._template.try_variant(prepared.messages, prepared.tools, seconds)
        return Look(frozenset(violation.code for violation in judge(trial)), trial.sought)


def show(datasets: tuple[str, ...], path: str, number: int, trainer: str | None = None, **bounds: Any) -> str:
    """Return the rendering of a record, counted from 1 over all datasets; raise ``UsageError`` for a larger number."""
    row = next(islice(chain.from_iterable(map(rows, datasets)), number - 1, None), None)
    if row is None:
        raise UsageError(f"--show {number}: the datasets have fewer records")
    try:
        prepared = record(parse(row.data))
    except NotARecordError as problem:
        raise UsageError(f"{row.file}:{row.number}: {problem}") from None
    trainer_template = _choose(path, trainer)
    prepared = trainer_template.prepare_record(prepared) if trainer_template else prepared
    rendering = template(path, trainer_template, **bounds).render(prepared.messages, prepared.tools)
    if rendering.text is None:
        raise UsageError(f"{row.file}:{row.number}: the template raises {rendering.problem}")
    return "\n".join(map(escape, rendering.text.split("\n")))


def _choose(path: str, trainer: str | None) -> TrainerTemplate | None:
    if trainer is None:
        return None
    from chatsquash.templates import trainers  # rarely needed

    return trainers.choose_template(trainer, path)


def require_model(trainer: str) -> NoReturn:
    """Raise ``UsageError`` for a trainer without a model, with the models that it has templates for."""
    from chatsquash.templates import trainers

    raise trainers.missing_template(trainer)


def template(
    path: str,
    trainer_template: TrainerTemplate | None = None,
    render_time: float | None = None,
    render_memory: int | None = None,
) -> Template:
    """Load a chat template.

    Args:
        path: The template file.
        trainer_template: The template that a trainer uses instead.
        render_time: Limit per record in seconds.
        render_memory: Limit per record in bytes.

    Raises:
        UsageError: The template is unusable, or jinja2 is not installed.
    """
    if find_spec("jinja2") is None:
        raise UsageError("--template requires the jinja2 package: pip install 'chatsquash[template]'")
    from chatsquash.templates.confined import BOUNDS, RenderBounds, Template

    bounds = RenderBounds(render_time or BOUNDS.seconds, render_memory or BOUNDS.memory)
    return Template(path, bounds, trainer_template.source if trainer_template else None)


def judge(trial: Trial) -> Iterator[Violation]:
    """Yield the violations of the template rules by a trial."""
    for rule in rules().values():
        if rule.kind == "template":
            yield from map(rule.violation, rule.function(trial))
