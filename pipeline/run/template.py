"""A chat template, tried on the records of datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from pipeline.checks import rules
from pipeline.checks.registry import counted, escaped
from pipeline.checks.template import Trial
from pipeline.errors import UsageError
from pipeline.model import Conversation, Found, Options
from pipeline.read.datasets import rows
from pipeline.read.records import NotARecordError, Record, parsed, record
from pipeline.run.check import defined
from pipeline.run.cures import Cures, Look, spelled

if TYPE_CHECKING:
    from pipeline.templates.render import Renderer


class Trials:
    """A template and what trying it gave so far."""

    def __init__(self, path: str) -> None:
        self._render = renderer(path)
        self._cures = Cures(self._look)
        self._name = path
        self.records = 0
        self.whole = 0
        """Records with all that they hold in their rendering."""
        self.counts: Counter[tuple[str, str]] = Counter()
        """Of each code and cure, how many records."""

    def look(self, held: Record) -> Iterator[Found]:
        """What a record loses, and what would cure that."""
        tried = self.trial(held.messages, held.tools)
        found = list(judged(tried))
        self.records += 1
        self.whole += not found
        wrong = frozenset(each.code for each in found)
        conversation = Conversation(held.messages, defined(held.tools))
        cures = self._cures.find(conversation, wrong, (wrong, tried.problem)) if wrong else {}
        for code in wrong:
            self.counts[code, _cure(cures.get(code))] += 1
        for each in found:
            yield each._replace(text=f"{each.text}: {_cure(cures.get(each.code))}")

    def summary(self) -> Iterator[str]:
        """What was tried and found, for people."""
        yield f"{counted(self.records, 'record')} rendered with {escaped(self._name)}: {self.whole:,} whole"
        for (code, cure), count in sorted(self.counts.items()):
            yield f"  {count:>7,}  {code}: {cure}"

    def trial(self, messages: list[Any], tools: Any) -> Trial:
        """What the template makes of a record."""
        from pipeline.templates.trial import trial

        return trial(self._render, messages, tools)

    def _look(self, made: dict[str, Any]) -> Look:
        held = record(made)
        tried = self.trial(held.messages, held.tools)
        kinds = frozenset(place.kind for place in tried.sought)
        return Look(frozenset(found.code for found in judged(tried)), kinds)


def show(datasets: tuple[str, ...], path: str, number: int) -> str:
    """The rendering of a record, counted over all datasets; raises ``UsageError`` where there is none."""
    row = next(islice(chain.from_iterable(map(rows, datasets)), number - 1, None), None)
    if row is None:
        raise UsageError(f"--show {number}: there are not so many records")
    try:
        held = record(parsed(row.data))
    except NotARecordError as problem:
        raise UsageError(f"{row.file}:{row.number}: {problem}") from None
    text, problem_ = renderer(path)(held.messages, held.tools)
    if text is None:
        raise UsageError(f"{row.file}:{row.number}: the template raises {problem_}")
    return "\n".join(map(escaped, text.split("\n")))


def renderer(path: str) -> Renderer:
    """The template of a file; raises ``UsageError`` where it cannot be used."""
    try:
        from pipeline.templates.render import Renderer
    except ImportError:
        raise UsageError("--template needs the package jinja2: pip install 'chatsquash[template]'") from None
    return Renderer(path)


def judged(tried: Trial) -> Iterator[Found]:
    """What the rules say of a trial."""
    for rule in rules().values():
        if rule.kind == "template":
            for fact in rule.function(tried):
                yield rule.found(fact)


def _cure(options: Options | None) -> str:
    return f"{spelled(options)} cures it" if options else "no preset or modifier cures it"
