"""What ``make train`` found, as it is kept in ``results.json``, and the tables of docs/training.md made of it."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .environments import Made
from .trainers import BY_NAME, NOT_RUN, TRAINERS

FILE = Path(__file__).parent / "results.json"


@dataclass(frozen=True)
class Result:
    """One training: how many replies it was to be trained on, those that it was not, and what it was trained on beyond."""

    block: str
    what: str
    expected: int
    missing: int
    beyond: int
    failed: bool = False
    remark: str = ""

    @property
    def good(self) -> bool:
        """Whether there were replies, and it was trained on exactly these, each once."""
        return self.expected > 0 and not (self.failed or self.missing or self.beyond)

    @property
    def notes(self) -> list[str]:
        """The notes on this training for the page."""
        reasons = ["failed" if self.failed else "", f"{self.beyond} other texts" if self.beyond else ""]
        only = "dataset only" if self.what.endswith("dataset only") else ""
        return [note for note in (*reasons, only, self.remark) if note]

    @property
    def told(self) -> str:
        """In words."""
        if self.failed:
            return "failed"
        rest = f", {self.beyond} other texts" if self.beyond else ""
        remark = f", {self.remark}" if self.remark else ""
        return f"{self.expected - self.missing} of {self.expected} replies{rest}{remark}"


@dataclass(frozen=True)
class Trained:
    """A trainer: the version that was run, what its environment took, and its trainings."""

    version: str
    seconds: float
    size: int
    results: tuple[Result, ...]


@dataclass(frozen=True)
class Results:
    """All that is kept."""

    torch: str = ""
    trainers: dict[str, Trained] = field(default_factory=dict)
    templates: dict[str, list[str]] = field(default_factory=dict)

    def of(self, name: str) -> tuple[Result, ...]:
        """The trainings of a trainer, or none."""
        return self.trainers[name].results if name in self.trainers else ()

    def without(self, name: str) -> "Results":
        """Without what was kept of a trainer."""
        return replace(self, trainers={each: kept for each, kept in self.trainers.items() if each != name})

    def with_trainer(self, name: str, version: str, made: Made, results: list[Result]) -> "Results":
        """With what a trainer gave."""
        trained = Trained(version, round(made.seconds), made.size, tuple(results))
        return replace(self, trainers={**self.trainers, name: trained})

    def with_templates(self, templates: dict[str, list[str]]) -> "Results":
        """With the templates that TRL knows, by what it does with them."""
        return replace(self, templates=templates)

    def with_torch(self, torch: str) -> "Results":
        """With the torch that all trainers shared."""
        return replace(self, torch=torch)


def read(file: Path = FILE) -> Results:
    """What is kept, or nothing."""
    if not file.exists():
        return Results()
    kept = json.loads(file.read_text(encoding="utf-8"))
    trainers = {
        name: Trained(**{**each, "results": tuple(Result(**result) for result in each["results"])})
        for name, each in kept["trainers"].items()
    }
    return Results(kept["torch"], trainers, kept["templates"])


def write(results: Results, file: Path = FILE) -> None:
    """Keep it, in the order of the table of trainers."""
    order = [trainer.name for trainer in TRAINERS if trainer.name in results.trainers]
    kept = replace(results, trainers={name: results.trainers[name] for name in order})
    file.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")


def regions() -> dict[str, str]:
    """The generated regions of docs/training.md."""
    results = read()
    return {"trained": _trained(results), "trl-templates": _templates(results)}


def _trained(results: Results) -> str:
    rows = [_trained_row(name, trained) for name, trained in results.trainers.items()]
    rows += [(title, "", "", "", f"not run: {why}") for title, why in NOT_RUN.items()]
    return _table(("trainer", "version", "runs", "replies trained on", "notes"), rows)


def _trained_row(name: str, trained: Trained) -> tuple[str, ...]:
    expected = sum(each.expected for each in trained.results)
    missing = sum(each.missing for each in trained.results)
    notes = dict.fromkeys(note for each in trained.results for note in each.notes)
    return (
        BY_NAME[name].title,
        trained.version,
        str(len(trained.results)),
        f"{expected - missing:,} of {expected:,}",
        "; ".join(notes),
    )


def _templates(results: Results) -> str:
    kinds = {"own": "has marks", "replaced": "is replaced", "refused": "is rejected"}
    rows = [(words, _words(tuple(results.templates.get(kind, ())))) for kind, words in kinds.items()]
    return _table(("template", "names in TRL"), rows)


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])
